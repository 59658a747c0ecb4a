#include "qed/sparse/sparse.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <vector>

#include "sparse_arrays.hpp"

namespace qed::bindings {

bool is_wide(const Array& indices) {
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
    if (!wide && indices.dtype() != nb::dtype<std::int32_t>()) {
        throw nb::type_error("indices must be int32 or int64");
    }
    return wide;
}

Reading reading(bool absolute, bool squared) {
    return squared ? Reading::squared : absolute ? Reading::absolute : Reading::plain;
}

bool indices_within_of(const Array& indices, Index bound) {
    const bool wide = is_wide(indices);
    const auto count = static_cast<Index>(indices.size());
    require(indices.ndim() == 1 && (count <= 1 || indices.stride(0) == 1), "indices must be a contiguous vector");
    bool answer = false;
    run([&] { answer = indices_within(indices.data(), wide, count, bound); });
    return answer;
}

SparseRows sparse_rows(const Array& indptr, const Array& indices, const Array& data, const Shape& shape) {
    const auto contiguous = [](const Array& array) {
        return array.ndim() == 1 && (array.shape(0) <= 1 || array.stride(0) == 1);
    };
    require(contiguous(indptr) && contiguous(indices) && contiguous(data),
            "indptr, indices and data must be contiguous vectors");
    require(static_cast<Index>(indptr.shape(0)) == shape.first + 1,
            "indptr must have one entry more than there are rows");
    require(indices.shape(0) == data.shape(0), "indices and data must be equally long");
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
    if (indptr.dtype() != indices.dtype() || (!wide && indices.dtype() != nb::dtype<std::int32_t>())) {
        throw nb::type_error("indptr and indices must both be int32 or both be int64");
    }
    return {.rows = shape.first,
            .columns = shape.second,
            .wide = wide,
            .kind = matrix(data, "data").kind,
            .starts = indptr.data(),
            .indices = indices.data(),
            .values = data.data()};
}

namespace {

using nb::arg;

template <class T>
Numbers product_as(const SparseRows& x, const Matrix& w, const double* b) {
    Fresh<T> out({x.rows, w.columns});
    run([&] { sparse_multiply(x, w, b, out.get()); });
    return out.template give<Numbers>();
}

Numbers product_of(const Array& indptr, const Array& indices, const Array& data, const Shape& shape, const Array& W,
                   const MaybeArray& b, bool absolute, bool squared) {
    SparseRows x = sparse_rows(indptr, indices, data, shape);
    x.reading = reading(absolute, squared);
    const Matrix w = matrix(W, "W");
    require(x.columns == w.rows, "W must have as many rows as X has columns");
    const double* offset = vector(b, "b", w.columns);
    return x.kind == Kind::float32 ? product_as<float>(x, w, offset) : product_as<double>(x, w, offset);
}

Doubles transposed_product_of(const Array& indptr, const Array& indices, const Array& data, const Shape& shape,
                              const Array& U, bool absolute, bool squared) {
    SparseRows x = sparse_rows(indptr, indices, data, shape);
    x.reading = reading(absolute, squared);
    const Matrix u = matrix(U, "U");
    require(x.rows == u.rows, "X and U must have equally many rows");
    Fresh<double> out({x.columns, u.columns});
    run([&] { sparse_multiply_transposed(x, u, out.get()); });
    return out.give();
}

nb::tuple gram_product_of(const std::tuple<Array, Array, Array>& X, const Shape& shape, const Array& V,
                          const MaybeArray& offset, const MaybeArray& s, Index parts) {
    const auto& [indptr, indices, data] = X;
    const SparseRows x = sparse_rows(indptr, indices, data, shape);
    const Matrix v = matrix(V, "V");
    require(x.columns == v.rows, "V must have as many rows as X has columns");
    require(parts >= 1, "parts must be at least 1");
    const double* shift = vector(offset, "offset", v.columns);
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> out({x.columns, v.columns});
    Fresh<double> sums({v.columns});
    run([&] { sparse_gram_multiply(x, v, shift, weights, parts, out.get(), sums.get()); });
    return nb::make_tuple(out.give(), sums.give());
}

nb::tuple moments_of(const Array& indptr, const Array& indices, const Array& data, const Shape& shape, const Array& Y,
                     const MaybeArray& s) {
    const SparseRows x = sparse_rows(indptr, indices, data, shape);
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    const double* weights = vector(s, "s", x.rows);
    const Index q = x.columns + y.columns;
    double weight = 0.0;
    Fresh<double> sums({q});
    Fresh<double> scatter({q, q});
    run([&] { sparse_moments(x, y, weights, {&weight, sums.get(), scatter.get()}); });
    return nb::make_tuple(weight, sums.give(), scatter.give());
}

nb::tuple taken_of(const std::tuple<Array, Array, Array>& X, const Shape& shape, bool by_columns, const Array& index,
                   const MaybeArray& scale) {
    const auto& [indptr, indices, data] = X;
    const Shape stored = by_columns ? Shape{shape.second, shape.first} : shape;
    const SparseRows x = sparse_rows(indptr, indices, data, stored);
    const bool fits = index.ndim() == 1 && index.dtype() == nb::dtype<std::int64_t>() &&
                      (index.shape(0) <= 1 || index.stride(0) == 1);
    require(fits, "index must be a contiguous vector of int64");
    const auto* columns = static_cast<const Index*>(index.data());
    const Index count = static_cast<Index>(index.shape(0));
    for (Index j = 0; j < count; ++j) {
        require(columns[j] >= 0 && columns[j] < shape.second, "index must name columns of X");
    }
    const double* factors = vector(scale, "scale", shape.first);
    TakenColumns taken;
    run([&] { taken = take_sparse_columns(x, by_columns, columns, count, factors); });
    const auto given = []<class T>(const std::vector<T>& from) {
        Fresh<T> out({static_cast<Index>(from.size())});
        std::copy(from.begin(), from.end(), out.get());
        return out;
    };
    auto starts = given(taken.starts);
    auto rows = given(taken.rows);
    auto values = given(taken.values);
    return nb::make_tuple(starts.give(), rows.give(), values.give());
}

}  // namespace

void bind_sparse(nb::module_& module) {
    module.def(
        "csr_matmul", &product_of, arg("indptr"), arg("indices"), arg("data"), arg("shape"), arg("W"), arg("b").none(),
        arg("absolute") = false, arg("squared") = false,
        nb::sig("def csr_matmul(indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, int], W: Matrix, b: "
                "Vector | None, absolute: bool=False, squared: bool=False) -> Matrix"),
        R"doc(X W + b for compressed rows X, in the type of data. Columns need not be sorted; repeated ones add up.

``absolute`` reads |x| for each stored value, ``squared`` x². The indices are trusted: the caller has checked that
they lie inside ``shape``. This holds for all three kernels.)doc");
    module.def(
        "csr_rmatmul", &transposed_product_of, arg("indptr"), arg("indices"), arg("data"), arg("shape"), arg("U"),
        arg("absolute") = false, arg("squared") = false,
        nb::sig("def csr_rmatmul(indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, int], U: Matrix, "
                "absolute: bool=False, squared: bool=False) -> Vector"),
        R"doc(Xᵀ U, (p, m). For compressed columns exchange the two: their X W is this kernel on the transposed matrix.)doc");
    module.def(
        "csr_gram_matmul", &gram_product_of, arg("X"), arg("shape"), arg("V"), arg("offset").none(), arg("s").none(),
        arg("parts"),
        nb::sig("def csr_gram_matmul(X: tuple[Indices, Indices, Matrix], shape: tuple[int, int], V: Matrix, offset: "
                "Vector | None, s: Vector | None, parts: int) -> tuple[Vector, Vector]"),
        R"doc(Xᵀ s (X V − offset), (p, m), and the sums of s (X V − offset), (m,), in one pass over compressed rows.

X is (indptr, indices, data). The rows are cut into ``parts``, each with a result of its own: results depend on how many, not
on threads.)doc");
    module.def("indices_within", &indices_within_of, arg("indices"), arg("bound"),
               nb::sig("def indices_within(indices: Indices, bound: int) -> bool"),
               R"doc(Tell whether all indices lie in [0, bound).)doc");
    module.def(
        "csr_moments", &moments_of, arg("indptr"), arg("indices"), arg("data"), arg("shape"), arg("Y"), arg("s").none(),
        nb::sig("def csr_moments(indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, int], Y: Matrix, "
                "s: Vector | None) -> tuple[float, Vector, Vector]"),
        R"doc(Weight, sums and scatter of the rows [x | y] about zero, as ``moments`` with a shift of zero.)doc");
    module.def("csr_take_columns", &taken_of, arg("X"), arg("shape"), arg("by_columns"), arg("index"),
               arg("scale").none(),
               nb::sig("def csr_take_columns(X: tuple[Indices, Indices, Matrix], shape: tuple[int, int], by_columns: "
                       "bool, index: Indices, scale: Vector | None) -> tuple[Indices, Indices, Vector]"),
               R"doc(Columns of compressed rows (or, ``by_columns``, of compressed columns), each row times ``scale``.

The result holds starts (k + 1,), rows and values of the columns in ``index`` (int64), one after the other.)doc");
}

}  // namespace qed::bindings
