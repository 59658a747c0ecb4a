#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "loss_names.hpp"
#include "qed/convex/loss.hpp"
#include "qed/tree/boost.hpp"
#include "qed/tree/forest.hpp"
#include "qed/tree/rows.hpp"
#include "tree_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

template <class T, class Part>
nb::ndarray<nb::numpy, T> joined(const std::vector<ForestTree>& trees, Part part) {
    Index total = 0;
    for (const ForestTree& tree : trees) {
        total += static_cast<Index>((tree.*part).size());
    }
    Fresh<T> fresh({total});
    T* to = fresh.get();
    for (const ForestTree& tree : trees) {
        to = std::copy((tree.*part).begin(), (tree.*part).end(), to);
    }
    return fresh.give();
}

/// Columns, ranked and binned; Python keeps it and looks no further.
struct Ranked {
    RankedTable table;
};

Ranked ranked(const nb::object& X, const MaybeArray& s, Index most, const std::string& keeps) {
    const TreeTable table = table_of(X);
    require(most >= 2 && most <= kBins, "bins must be from 2 to 255");
    const double* const weights = vector(s, "s", table.rows());
    const Keeps kept = keeps == "values" ? Keeps::values : (keeps == "ranks" ? Keeps::bins_and_ranks : Keeps::bins);
    std::unique_ptr<Ranked> made;
    run([&] { made.reset(new Ranked{RankedTable(table, weights, most, kept)}); });
    return std::move(*made);
}

nb::tuple forest(const Ranked& x, const std::string& criterion, Index width, const Array& y, const MaybeArray& s,
                 const MaybeArray& share, const std::tuple<Index, Index, Index, double, double, Index, Index>& limits,
                 const std::tuple<bool, Index, Index, Index, bool, std::uint64_t>& rules, const nb::object& monotone,
                 const nb::object& by_category) {
    const TreeTargets targets = targets_of(criterion, width, y, s, x.table.rows());
    const double* const shares = vector(share, "share", x.table.rows());
    const auto [depth, split, leaf, leaf_weight, decrease, leaves, features] = limits;
    const auto [is_random, first, trees, draws, balances, seed] = rules;
    TreeLimits own{depth, split, leaf, leaf_weight, decrease, leaves, features, is_random, seed};
    Array directions;
    if (!monotone.is_none()) {
        directions = nb::cast<Array>(monotone);
        own.monotone = numbers_of<std::int8_t>(directions, "monotone", x.table.columns());
    }
    Array categories;
    if (!by_category.is_none()) {
        categories = nb::cast<Array>(by_category);
        own.by_category = numbers_of<std::uint8_t>(categories, "by_category", x.table.columns());
        require(targets.criterion != Criterion::absolute, "categories are not for medians");
    }
    require(!balances || targets.codes != nullptr, "only classes are balanced");
    std::vector<ForestTree> grown;
    run([&] { grown = grow_forest(x.table, targets, shares, own, {first, trees, draws, balances, seed}); });
    std::vector<Index> sizes;
    sizes.reserve(grown.size());
    Index inner = 0;
    for (ForestTree& tree : grown) {
        sizes.push_back(static_cast<Index>(tree.feature.size()));
        for (Index& node : tree.by_set) {
            node += inner;  // among the inner nodes of all trees
        }
        inner += static_cast<Index>(tree.threshold.size());
    }
    return nb::make_tuple(
        given(sizes), joined<std::int32_t>(grown, &ForestTree::feature), joined<double>(grown, &ForestTree::threshold),
        joined<std::uint8_t>(grown, &ForestTree::missing_left), joined<double>(grown, &ForestTree::values),
        joined<double>(grown, &ForestTree::weight), joined<double>(grown, &ForestTree::importance),
        joined<Index>(grown, &ForestTree::by_set), joined<std::uint32_t>(grown, &ForestTree::sets),
        joined<std::int32_t>(grown, &ForestTree::leaf));
}

nb::ndarray<nb::numpy, std::uint32_t> drawn(std::uint64_t seed, Index tree, Index draws, Index count,
                                            const MaybeArray& cumulated) {
    const double* const sums = vector(cumulated, "cumulated", count);
    Fresh<std::uint32_t> times({count});
    run([&] { draw_rows(seed_of_tree(seed, tree), draws, sums, count, times.get()); });
    return times.give();
}

/// Between the bins of each column: midway from the highest value of one to the lowest of the next.
nb::list cuts_of(const Ranked& x) {
    nb::list cuts;
    for (const RankedColumn& column : x.table.info()) {
        std::vector<double> own;
        for (Index bin = 0; bin + 1 < column.bins(); ++bin) {
            const std::uint32_t last = column.last[static_cast<std::size_t>(bin)];
            own.push_back(RankedColumn::between(column.values[last], column.values[last + 1]));
        }
        cuts.append(given(own));
    }
    return cuts;
}

nb::tuple boosted(const Ranked& x, Index classes, const std::tuple<Array, Array, MaybeArray, nb::object>& rows,
                  const MaybeArray& scores,
                  const std::tuple<Index, Index, Index, double, double, Index, std::uint64_t>& rule,
                  const nb::object& monotone, const nb::object& by_category,
                  const std::vector<std::vector<Index>>& groups) {
    const Index count = x.table.rows();
    const Index columns = x.table.columns();
    const auto& [slopes, curvatures, s, counts] = rows;
    require(x.table.bins_by_row() != nullptr && classes >= 1, "boosting needs bins by row, and a class");
    BoostRows input{vector(slopes, "slopes", count * classes),
                    vector(curvatures, "curvatures", count * classes),
                    classes,
                    vector(s, "s", count),
                    nullptr,
                    count};
    Array kept[3];
    const auto optional = [&]<class T>(const nb::object& object, int place, const char* name,
                                       Index length) -> const T* {
        if (object.is_none()) {
            return nullptr;
        }
        kept[place] = nb::cast<Array>(object);
        return numbers_of<T>(kept[place], name, length);
    };
    input.counts = optional.operator()<std::uint32_t>(counts, 0, "counts", count);
    const auto [leaves, depth, leaf_rows, ridge, rate, features, seed] = rule;
    BoostRules rules{leaves, depth, leaf_rows, ridge, rate, features, seed, nullptr, nullptr, groups};
    rules.monotone = optional.operator()<std::int8_t>(monotone, 1, "monotone", columns);
    rules.by_category = optional.operator()<std::uint8_t>(by_category, 2, "by_category", columns);
    const double* const before = vector(scores, "scores", count * classes);
    Fresh<double> after({before == nullptr ? 0 : count * classes});
    std::vector<BoostTree> trees;
    run([&] {
        if (before != nullptr) {
            std::copy_n(before, count * classes, after.get());
        }
        trees = grow_boosted(x.table, input, rules, before == nullptr ? nullptr : after.get());
    });
    nb::list grown;
    for (const BoostTree& tree : trees) {
        grown.append(nb::make_tuple(given(tree.nodes.feature), given(tree.nodes.threshold),
                                    given(tree.nodes.missing_left), given(tree.nodes.values), given(tree.nodes.weight),
                                    given(tree.by_set), given(tree.sets), given(tree.low), given(tree.high),
                                    given(tree.leaf)));
    }
    return nb::make_tuple(grown, after.give());
}

/// Value, slope and curvature of a loss at the scores of rows; the curvature of a softmax is the diagonal.
nb::tuple curve(const std::string& loss, const Array& t, const Array& y, Index classes) {
    const auto size = static_cast<Index>(t.size());
    require(classes >= 1 && size % classes == 0, "t must have a number for each row and class");
    const Index rows = size / classes;
    const LossRows in{loss_kind(loss), vector(t, "t", size), vector(y, "y", rows), rows, classes};
    Fresh<double> value({rows}), slope({size}), curvature({size});
    run([&] { loss_rows(in, {value.get(), slope.get(), curvature.get()}); });
    return nb::make_tuple(value.give(), slope.give(), curvature.give());
}

PackedForest packed(Index columns, Index width, const Array& sizes, const Array& feature, const Array& threshold,
                    const Array& missing_left, const Array& by_set, const Array& sets) {
    const auto inner = static_cast<Index>(threshold.size());
    const auto trees = static_cast<Index>(sizes.size());
    const auto count = static_cast<Index>(feature.size());
    const auto in_sets = static_cast<Index>(by_set.size());
    const ForestNodes nodes{columns,
                            trees,
                            count,
                            inner,
                            in_sets,
                            numbers_of<Index>(sizes, "sizes", trees),
                            numbers_of<std::int32_t>(feature, "feature", count),
                            vector(threshold, "threshold", inner),
                            numbers_of<std::uint8_t>(missing_left, "missing_left", inner),
                            numbers_of<Index>(by_set, "by_set", in_sets),
                            numbers_of<std::uint32_t>(sets, "sets", in_sets * 16)};
    PackedForest forest;
    forest.width = width;
    const char* fault = nullptr;
    run([&] { fault = pack_forest(nodes, forest); });
    require(fault == nullptr, fault == nullptr ? "" : fault);
    return forest;
}

template <class Work>
void with_rows(const PackedForest& forest, const nb::object& X, const Work& work) {
    if (nb::isinstance<nb::tuple>(X)) {
        const auto [indptr, indices, data, shape] = nb::cast<SparseTable>(X);
        const SparseRows rows = sparse_rows(indptr, indices, data, shape);
        require(rows.columns == forest.columns, "X must have the columns of the trees");
        work(rows, rows.rows);
        return;
    }
    const Matrix x = matrix(nb::cast<Array>(X), "X");
    require(x.columns == forest.columns, "X must have the columns of the trees");
    work(x, x.rows);
}

Doubles summed(const PackedForest& forest, const nb::object& X, const Array& values, Index groups,
               const MaybeArray& bags, Index bag_bytes) {
    ForestSum sum{vector(values, "values", forest.leaves * forest.width), groups, nullptr, bag_bytes};
    require(groups >= 1, "groups must be at least 1");
    Doubles out;
    with_rows(forest, X, [&](const auto& rows, Index count) {
        if (bags) {
            require(bag_bytes * 8 >= count, "a bag must have a bit for each row");
            sum.bags = numbers_of<std::uint8_t>(*bags, "bags", forest.trees() * bag_bytes);
        }
        Fresh<double> fresh({count, groups * forest.width});
        std::fill_n(fresh.get(), count * groups * forest.width, 0.0);
        run([&] { add_leaves(forest, rows, sum, fresh.get()); });
        out = fresh.give();
    });
    return out;
}

nb::ndarray<nb::numpy, std::int32_t> leaves_of(const PackedForest& forest, const nb::object& X) {
    nb::ndarray<nb::numpy, std::int32_t> out;
    with_rows(forest, X, [&](const auto& rows, Index count) {
        Fresh<std::int32_t> fresh({count, forest.trees()});
        run([&] { apply_forest(forest, rows, fresh.get()); });
        out = fresh.give();
    });
    return out;
}

}  // namespace

void bind_ensemble(nb::module_& module) {
    nb::class_<Ranked>(module, "RankedTable",
                       R"doc(Columns of a table as bins, with ranks where asked for; or as values.)doc")
        .def("cuts", &cuts_of, nb::sig("def cuts(self) -> list[Vector]"),
             R"doc(Return, for each column, midway points between its bins, one fewer than there are bins.)doc");
    module.def(
        "rank_table", &ranked, arg("X"), arg("s").none(), arg("most"), arg("keeps"),
        nb::sig("def rank_table(X: Table, s: Vector | None, most: int, keeps: str) -> RankedTable"),
        R"doc(Bin columns into runs of values of about equal weight, at most ``most`` (up to 255) and one for missing values.

``together`` columns, 1 or 8, lie side by side. ``keeps`` is ``"bins"``, ``"ranks"`` (bins and ranks) or ``"values"`` alone.)doc");
    module.def(
        "grow_forest", &forest, arg("x"), arg("criterion"), arg("width"), arg("y"), arg("s").none(),
        arg("share").none(), arg("limits"), arg("rules"), arg("monotone").none(), arg("by_category").none(),
        nb::sig("def grow_forest(x: RankedTable, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: Vector "
                "| None, share: Vector | None, limits: tuple[int, int, int, float, float, int, int], rules: "
                "tuple[bool, int, int, int, bool, int], monotone: NDArray[np.int8] | None, by_category: "
                "NDArray[np.uint8] | None) -> tuple[NDArray[np.int64], NDArray[np.int32], Vector, NDArray[np.uint8], "
                "Vector, Vector, Vector, NDArray[np.int64], NDArray[np.uint32], NDArray[np.int32]]"),
        R"doc(Grow trees on rows drawn for each; criteria and limits as in ``grow_tree``, the weight of a leaf as a share of its tree.

``share`` is the weight of a row in the drawing, ``s`` multiplies how often it was drawn. Rules: whether thresholds are drawn
(values must be kept; otherwise ranks), number of the first tree, how many, rows drawn with replacement (0: all once), whether
classes are balanced within each tree, and the seed.

Returns nodes of each tree; by node the column (-1 for leaves); by inner node thresholds and whether missing values go left; by
leaf ``width`` values and the weight; by tree the decrease of the impurity of each column; the inner nodes that ask about sets
of categories, and their sets as in ``grow_tree``. Nodes are in the order of a walk that goes left first.)doc");
    module.def("grow_boosted", &boosted, arg("x"), arg("classes"), arg("rows"), arg("scores").none(), arg("rule"),
               arg("monotone").none(), arg("by_category").none(), arg("groups"),
               nb::sig("def grow_boosted(x: RankedTable, classes: int, rows: tuple[Vector, Vector, Vector | None, "
                       "NDArray[np.uint32] | None], scores: Vector | None, rule: tuple[int, int, int, float, float, "
                       "int, int], monotone: NDArray[np.int8] | None, by_category: NDArray[np.uint8] | None, groups: "
                       "list[list[int]]) -> tuple[list[tuple[NDArray[np.int32], Vector, NDArray[np.uint8], Vector, "
                       "Vector, NDArray[np.int64], NDArray[np.uint32], Vector, Vector, NDArray[np.int32]]], Vector]"),
               R"doc(Grow the trees of a round of boosting, one for each class, over bins that lie by row.

Rows: slopes and curvatures (rows × classes), weights that multiply them, whole counts. Rule: most leaves (0: any number), most
depth, fewest rows of a leaf, ridge, learning rate, columns a split, seed.

Returns for each tree column, threshold, side of missing values, value and count by node, inner node or leaf as ``grow_forest``
does; inner nodes that look at categories and their sets, sixteen words each; between what constraints hold the value of each
leaf; and, where no scores are given, the leaf of each row. Then the scores with what the trees add to them.)doc");
    module.def(
        "loss_curve", &curve, arg("loss"), arg("t"), arg("y"), arg("classes"),
        nb::sig("def loss_curve(loss: str, t: Vector, y: Vector, classes: int) -> tuple[Vector, Vector, Vector]"),
        R"doc(Return value, slope and curvature of a loss at the scores of rows; the curvature of a softmax is the diagonal.)doc");
    module.def(
        "draw_rows", &drawn, arg("seed"), arg("tree"), arg("draws"), arg("count"), arg("cumulated").none(),
        nb::sig("def draw_rows(seed: int, tree: int, draws: int, count: int, cumulated: Vector | None) -> "
                "NDArray[np.uint32]"),
        R"doc(Return how often each row is drawn for a tree; ``cumulated`` weights, or None for equal ones.)doc");
    nb::class_<PackedForest>(module, "PackedForest", R"doc(Nodes of many trees laid out for being followed.)doc")
        .def(
            "sums", &summed, arg("X"), arg("values"), arg("groups"), arg("bags").none(), arg("bag_bytes"),
            nb::sig("def sums(self, X: Table, values: Vector, groups: int, bags: NDArray[np.uint8] | None, bag_bytes: "
                    "int) -> NDArray[np.float64]"),
            R"doc(Add up values by leaf over trees, tree t into group t % groups; rows whose bit is set in the bag of a tree pass it.)doc")
        .def("leaves", &leaves_of, arg("X"), nb::sig("def leaves(self, X: Table) -> NDArray[np.int32]"),
             R"doc(Return the leaf of each row in each tree, numbered over all trees.)doc");
    module.def("pack_forest", &packed, arg("columns"), arg("width"), arg("sizes"), arg("feature"), arg("threshold"),
               arg("missing_left"), arg("by_set"), arg("sets"),
               nb::sig("def pack_forest(columns: int, width: int, sizes: NDArray[np.int64], feature: "
                       "NDArray[np.int32], threshold: Vector, missing_left: NDArray[np.uint8], by_set: "
                       "NDArray[np.int64], sets: NDArray[np.uint32]) -> PackedForest"),
               R"doc(Lay nodes out; ValueError if they are not those of trees over these columns.)doc");
}

}  // namespace qed::bindings
