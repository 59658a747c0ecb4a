#include "qed/tree.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using SparseTable = std::tuple<Array, Array, Array, Shape>;

Criterion criterion_of(const std::string& name) {
    if (name == "gini") {
        return Criterion::gini;
    }
    if (name == "entropy") {
        return Criterion::entropy;
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

TreeTable table_of(const nb::object& X) {
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

TreeTargets targets_of(const std::string& criterion, Index width, const Array& y, const MaybeArray& s, Index rows) {
    TreeTargets targets{criterion_of(criterion), width, nullptr, nullptr, vector(s, "s", rows)};
    require(width >= 1, "width must be at least 1");
    if (targets.criterion == Criterion::gini || targets.criterion == Criterion::entropy) {
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

nb::tuple grown(const nb::object& X, const std::string& criterion, Index width, const Array& y, const MaybeArray& s,
                const std::tuple<Index, Index, Index, double, double, Index, Index>& limits,
                const std::tuple<bool, std::uint64_t>& random) {
    const TreeTable table = table_of(X);
    const TreeTargets targets = targets_of(criterion, width, y, s, table.rows());
    const auto [depth, split, leaf, leaf_weight, decrease, leaves, features] = limits;
    const TreeLimits rules{
        depth, split, leaf, leaf_weight, decrease, leaves, features, std::get<0>(random), std::get<1>(random)};
    GrownTree tree;
    run([&] { tree = grow_tree(table, targets, rules); });
    return nb::make_tuple(given(tree.left), given(tree.right), given(tree.feature), given(tree.threshold),
                          given(tree.missing_left), given(tree.impurity), given(tree.rows), given(tree.weight),
                          given(tree.values), tree.all_distinct);
}

double least(const nb::object& X, const std::string& criterion, Index width, const Array& y, const MaybeArray& s,
             Index depth, Index most) {
    const TreeTable table = table_of(X);
    const TreeTargets targets = targets_of(criterion, width, y, s, table.rows());
    double found = 0.0;
    run([&] { found = least_impurity(table, targets, depth, most); });
    return found;
}

double contradicting(const nb::object& X, const std::string& criterion, Index width, const Array& y,
                     const MaybeArray& s) {
    const TreeTable table = table_of(X);
    const TreeTargets targets = targets_of(criterion, width, y, s, table.rows());
    double found = 0.0;
    run([&] { found = contradictions(table, targets); });
    return found;
}

/// Nodes made ready for being followed; Python keeps it and looks no further.
struct PackedTree {
    Index columns;
    std::vector<PackedNode> nodes;
    std::vector<std::uint32_t> origin;
};

PackedTree packed(Index columns, const Array& left, const Array& right, const Array& feature, const Array& threshold,
                  const Array& missing_left) {
    const auto count = static_cast<Index>(left.size());
    require(count >= 1 && count < std::numeric_limits<std::int32_t>::max(),
            "a tree has at least one node, and fewer than 2^31");
    const TreeNodes nodes{count,
                          columns,
                          numbers_of<Index>(left, "left", count),
                          numbers_of<Index>(right, "right", count),
                          numbers_of<Index>(feature, "feature", count),
                          vector(threshold, "threshold", count),
                          numbers_of<std::uint8_t>(missing_left, "missing_left", count)};
    PackedTree tree{columns, std::vector<PackedNode>(static_cast<std::size_t>(count)),
                    std::vector<std::uint32_t>(static_cast<std::size_t>(count))};
    require(pack_tree(nodes, tree.nodes.data(), tree.origin.data()),
            "the nodes are not those of one tree over these columns");
    return tree;
}

nb::ndarray<nb::numpy, Index> leaves_of(const PackedTree& tree, const nb::object& X) {
    if (nb::isinstance<nb::tuple>(X)) {
        const auto [indptr, indices, data, shape] = nb::cast<SparseTable>(X);
        const SparseRows rows = sparse_rows(indptr, indices, data, shape);
        require(rows.columns == tree.columns, "X must have the columns of the tree");
        Fresh<Index> leaves({rows.rows});
        run([&] { find_leaves(rows, tree.nodes.data(), tree.origin.data(), leaves.get()); });
        return leaves.give();
    }
    const Matrix x = matrix(nb::cast<Array>(X), "X");
    require(x.columns == tree.columns, "X must have the columns of the tree");
    Fresh<Index> leaves({x.rows});
    run([&] { find_leaves(x, tree.nodes.data(), tree.origin.data(), leaves.get()); });
    return leaves.give();
}

}  // namespace

void bind_tree(nb::module_& module) {
    nb::class_<PackedTree>(module, "PackedTree").def("leaves", &leaves_of, arg("X"));
    module.def("grow_tree", &grown, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(), arg("limits"),
               arg("random"));
    module.def("least_impurity", &least, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(),
               arg("depth"), arg("most"));
    module.def("contradictions", &contradicting, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none());
    module.def("pack_tree", &packed, arg("columns"), arg("left"), arg("right"), arg("feature"), arg("threshold"),
               arg("missing_left"));
}

}  // namespace qed::bindings
