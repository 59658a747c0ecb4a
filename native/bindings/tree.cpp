#include "qed/tree/tree.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "qed/tree/columns.hpp"
#include "qed/tree/optimal.hpp"
#include "tree_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using LimitTuple = std::tuple<Index, Index, Index, double, double, Index, Index>;
using RandomTuple = std::tuple<bool, std::uint64_t>;

/// Columns sorted once, and the arrays that they were read from.
struct Sorted {
    nb::object X;
    SortedTable table;
};

Sorted sorted(const nb::object& X) {
    const TreeTable table = table_of(X);
    std::unique_ptr<SortedTable> made;
    run([&] { made = std::make_unique<SortedTable>(table); });
    return {X, std::move(*made)};
}

TreeLimits limits_of(const LimitTuple& limits, const RandomTuple& random) {
    const auto [depth, split, leaf, leaf_weight, decrease, leaves, features] = limits;
    return {depth, split, leaf, leaf_weight, decrease, leaves, features, std::get<0>(random), std::get<1>(random)};
}

nb::tuple as_arrays(const GrownTree& tree) {
    return nb::make_tuple(given(tree.left), given(tree.right), given(tree.feature), given(tree.threshold),
                          given(tree.missing_left), given(tree.impurity), given(tree.rows), given(tree.weight),
                          given(tree.values), given(tree.by_set), given(tree.sets), tree.all_distinct);
}

nb::tuple grown_again(const Sorted& X, const std::string& criterion, Index width, const Array& y, const MaybeArray& s,
                      const LimitTuple& limits, const RandomTuple& random) {
    const TreeTargets targets = targets_of(criterion, width, y, s, X.table.table.rows());
    const TreeLimits rules = limits_of(limits, random);
    GrownTree tree;
    run([&] { tree = grow_tree(X.table, targets, rules); });
    return as_arrays(tree);
}

nb::tuple grown(const nb::object& X, const std::string& criterion, Index width, const Array& y, const MaybeArray& s,
                const LimitTuple& limits, const RandomTuple& random, const nb::object& monotone,
                const nb::object& by_category) {
    const TreeTable table = table_of(X);
    const TreeTargets targets = targets_of(criterion, width, y, s, table.rows());
    TreeLimits rules = limits_of(limits, random);
    Array directions;
    Array categories;
    if (!monotone.is_none()) {
        directions = nb::cast<Array>(monotone);
        rules.monotone = numbers_of<std::int8_t>(directions, "monotone", table.columns());
        require(width <= (targets.codes != nullptr ? 2 : 1), "directions are for two classes or one number");
    }
    if (!by_category.is_none()) {
        categories = nb::cast<Array>(by_category);
        rules.by_category = numbers_of<std::uint8_t>(categories, "by_category", table.columns());
        require(!table.is_sparse && targets.criterion != Criterion::absolute,
                "categories are for dense tables and no medians");
    }
    GrownTree tree;
    run([&] { tree = grow_tree(table, targets, rules); });
    return as_arrays(tree);
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

nb::tuple optimal(const std::string& criterion, Index count, Index orders, Index width, const Array& ranks,
                  const Array& sums, const Array& floors, double reach,
                  const std::tuple<Index, double, double>& limits) {
    require(count >= 1 && orders >= 1 && width >= 2, "there must be items, orders and sums");
    const OptimalItems items{count,
                             orders,
                             width,
                             numbers_of<std::uint32_t>(ranks, "ranks", orders * count),
                             vector(sums, "sums", count * width),
                             vector(floors, "floors", count),
                             criterion_of(criterion),
                             reach};
    require(items.criterion <= Criterion::squared && reach > 0.0, "no such criterion of optimal trees");
    const auto [depth, visits, seconds] = limits;
    const OptimalLimits own{depth, visits, seconds};
    OptimalTree tree;
    run([&] { tree = optimal_tree(items, own); });
    return nb::make_tuple(given(tree.left), given(tree.right), given(tree.order), given(tree.rank), tree.objective,
                          tree.lower, tree.visits);
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
    nb::class_<PackedTree>(module, "PackedTree", R"doc(Nodes laid out for being followed.)doc")
        .def(
            "leaves", &leaves_of, arg("X"), nb::sig("def leaves(self, X: Table) -> NDArray[np.int64]"),
            R"doc(Return the number of the leaf of each row; sparse rows come as (indptr, indices, data, (rows, columns)).)doc");
    module.def("grow_tree", &grown, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(), arg("limits"),
               arg("random"), arg("monotone").none(), arg("by_category").none(),
               nb::sig("def grow_tree(X: Table, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: Vector | "
                       "None, limits: tuple[int, int, int, float, float, int, int], random: tuple[bool, int], "
                       "monotone: NDArray[np.int8] | None, by_category: NDArray[np.uint8] | None) -> "
                       "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.uint8], "
                       "Vector, NDArray[np.int64], Vector, Vector, NDArray[np.int64], NDArray[np.uint32], bool]"),
               R"doc(Grow a decision tree.

``criterion`` is ``"gini"``, ``"entropy"`` or ``"misclassification"`` (``y``: numbers of classes, ``width`` of them),
``"squared_error"`` (``width`` numbers a row), ``"absolute_error"`` or ``"poisson"``. NaN in X is missing; rows of weight zero
are not seen. Limits: most depth, fewest rows to split and of a leaf, least weight of a leaf, least decrease, most leaves (0:
any number, depth first), columns a split. Random: whether thresholds are drawn, and a seed. Monotone: 1, -1 or 0 by column,
whether values (of the second class of two) rise, fall or are free. By category: whether each column holds categories, whole
numbers from 0 to 254: some of them go left.

Returns for each node, in the order of a walk that goes left first: left and right child (-1), column (-2), threshold (-2),
whether missing values go left, impurity, rows, weight, ``width`` values; the nodes that ask about sets of categories, sixteen
words of bits for each (those that go left, those that were met); and whether some column tells all rows apart.)doc");
    nb::class_<Sorted>(module, "SortedTable");
    module.def("sort_table", &sorted, arg("X"), nb::sig("def sort_table(X: Table) -> SortedTable"),
               R"doc(Sort the columns of a table once, for many trees that are grown on it; it keeps X alive.)doc");
    module.def("grow_sorted", &grown_again, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(),
               arg("limits"), arg("random"),
               nb::sig("def grow_sorted(X: SortedTable, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: "
                       "Vector | None, limits: tuple[int, int, int, float, float, int, int], random: tuple[bool, int]) "
                       "-> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.uint8], "
                       "Vector, NDArray[np.int64], Vector, Vector, NDArray[np.int64], NDArray[np.uint32], bool]"),
               R"doc(``grow_tree`` on sorted columns.)doc");
    module.def(
        "least_impurity", &least, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(), arg("depth"),
        arg("most"),
        nb::sig("def least_impurity(X: Table, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: Vector | "
                "None, depth: int, most: int) -> float"),
        R"doc(Return the least mean impurity of trees of depth one or two; NaN if the search would take more than ``most`` steps.)doc");
    module.def(
        "optimal_tree", &optimal, arg("criterion"), arg("count"), arg("orders"), arg("width"), arg("ranks"),
        arg("sums"), arg("floors"), arg("reach"), arg("limits"),
        nb::sig(
            "def optimal_tree(criterion: str, count: int, orders: int, width: int, ranks: NDArray[np.uint32], sums: "
            "Vector, floors: Vector, reach: float, limits: tuple[int, float, float]) -> tuple[NDArray[np.int64], "
            "NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], float, float, float]"),
        R"doc(Search the tree of a depth that leaves least.

Items have a rank in each order (``ranks``: orders × count, flat) and sums (count × ``width``, flat): weights of classes; or for
``"squared_error"`` weight, weighted numbers and the weighted sum of their squares. ``floors``: what an item leaves by itself;
``reach``: most that a unit of weight adds to what a leaf leaves. Limits: depth, values visited, seconds.

Returns for each node, in the order of a walk that goes left first: left and right child (-1), order (-1) and rank, up to which
items go left; then what the tree leaves, what all trees leave at least, and the values visited.)doc");
    module.def("contradictions", &contradicting, arg("X"), arg("criterion"), arg("width"), arg("y"), arg("s").none(),
               nb::sig("def contradictions(X: Table, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: "
                       "Vector | None) -> float"),
               R"doc(Return the mean impurity within groups of rows that agree in all columns.)doc");
    module.def(
        "pack_tree", &packed, arg("columns"), arg("left"), arg("right"), arg("feature"), arg("threshold"),
        arg("missing_left"),
        nb::sig("def pack_tree(columns: int, left: NDArray[np.int64], right: NDArray[np.int64], feature: "
                "NDArray[np.int64], threshold: Vector, missing_left: NDArray[np.uint8]) -> PackedTree"),
        R"doc(Lay nodes out; ValueError if the children are not those of one tree, or a column is none of X.)doc");
}

}  // namespace qed::bindings
