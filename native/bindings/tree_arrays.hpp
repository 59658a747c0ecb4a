/// Tables, targets and arrays of trees, between NumPy and views.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "qed/tree/tree.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {

using SparseTable = std::tuple<Array, Array, Array, Shape>;

inline Criterion criterion_of(const std::string& name) {
    if (name == "gini") {
        return Criterion::gini;
    }
    if (name == "entropy") {
        return Criterion::entropy;
    }
    if (name == "misclassification") {
        return Criterion::misclassification;
    }
    if (name == "squared_error") {
        return Criterion::squared;
    }
    if (name == "poisson") {
        return Criterion::poisson;
    }
    require(name == "absolute_error", "no such criterion: " + name);
    return Criterion::absolute;
}

template <class T>
const T* numbers_of(const Array& array, const char* name, Index length) {
    if (array.dtype() != nb::dtype<T>()) {
        throw nb::type_error((std::string(name) + " has the wrong type").c_str());
    }
    const bool fits =
        array.ndim() == 1 && static_cast<Index>(array.shape(0)) == length && (length <= 1 || array.stride(0) == 1);
    require(fits, std::string(name) + " must be contiguous and as long as expected");
    return static_cast<const T*>(array.data());
}

inline TreeTable table_of(const nb::object& X) {
    TreeTable table;
    if (nb::isinstance<nb::tuple>(X)) {
        const auto [indptr, indices, data, shape] = nb::cast<SparseTable>(X);
        table.is_sparse = true;
        table.by_columns = sparse_rows(indptr, indices, data, shape);
    } else {
        table.dense = matrix(nb::cast<Array>(X), "X");
    }
    require(table.rows() >= 1 && table.columns() >= 1, "X must have rows and columns");
    require(table.rows() < std::numeric_limits<std::int32_t>::max() &&
                table.columns() < std::numeric_limits<std::int32_t>::max(),
            "X must have fewer than 2^31 rows and columns");
    return table;
}

inline TreeTargets targets_of(const std::string& criterion, Index width, const Array& y, const MaybeArray& s, Index rows) {
    TreeTargets targets{criterion_of(criterion), width, nullptr, nullptr, vector(s, "s", rows)};
    require(width >= 1, "width must be at least 1");
    if (targets.criterion <= Criterion::misclassification) {
        targets.codes = numbers_of<Index>(y, "y", rows);
        require(std::all_of(targets.codes, targets.codes + rows, [&](Index code) { return code >= 0 && code < width; }),
                "y must number the classes from 0");
    } else {
        require(width == 1 || targets.criterion == Criterion::squared, "only squares take several numbers a row");
        targets.numbers = numbers_of<double>(y, "y", rows * width);
    }
    return targets;
}

template <class T>
nb::ndarray<nb::numpy, T> given(const std::vector<T>& values) {
    Fresh<T> fresh({static_cast<Index>(values.size())});
    std::copy(values.begin(), values.end(), fresh.get());
    return fresh.give();
}

}  // namespace qed::bindings
