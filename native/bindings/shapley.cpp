#include "qed/tree/shapley.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "tree_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

/// sizes, feature, threshold, missing_left, by_set, sets, weight, values, player; then groups, width, players.
using Nodes = std::tuple<Array, Array, Array, Array, Array, Array, Array, Array, Array>;

ShapleyTrees trees_of(const Nodes& nodes, const std::tuple<Index, Index, Index>& sizes) {
    const auto& [tree_sizes, feature, threshold, missing_left, by_set, sets, weight, values, player] = nodes;
    ShapleyTrees trees{};
    std::tie(trees.groups, trees.width, trees.players) = sizes;
    trees.trees = static_cast<Index>(tree_sizes.size());
    trees.columns = static_cast<Index>(player.size());
    const auto count = static_cast<Index>(feature.size());
    const auto inner = static_cast<Index>(threshold.size());
    trees.set_count = static_cast<Index>(by_set.size());
    require(trees.groups >= 1 && trees.width >= 1 && trees.players >= 1 && trees.columns >= 1 &&
                count == 2 * inner + trees.trees,
            "the trees and their sizes do not fit together");
    trees.sizes = numbers_of<Index>(tree_sizes, "sizes", trees.trees);
    trees.feature = numbers_of<std::int32_t>(feature, "feature", count);
    trees.threshold = vector(threshold, "threshold", inner);
    trees.missing_left = numbers_of<std::uint8_t>(missing_left, "missing_left", inner);
    trees.by_set = numbers_of<Index>(by_set, "by_set", trees.set_count);
    trees.sets = numbers_of<std::uint32_t>(sets, "sets", trees.set_count * 16);
    trees.weight = vector(weight, "weight", inner + trees.trees);
    trees.values = vector(values, "values", (inner + trees.trees) * trees.width);
    trees.player = numbers_of<std::int32_t>(player, "player", trees.columns);
    require(std::all_of(trees.player, trees.player + trees.columns,
                        [&](std::int32_t one) { return one >= 0 && one < trees.players; }),
            "a column belongs to a player that is not there");
    return trees;
}

Doubles shapley(const Nodes& nodes, const std::tuple<Index, Index, Index>& sizes, const Array& X,
                const MaybeArray& background) {
    const ShapleyTrees trees = trees_of(nodes, sizes);
    const Matrix x = matrix(X, "X");
    require(x.columns == trees.columns, "X must have the columns of the trees");
    Fresh<double> out({x.rows, trees.players * trees.outputs()});
    std::fill_n(out.get(), x.rows * trees.players * trees.outputs(), 0.0);
    if (background) {
        const Matrix others = matrix(*background, "background");
        require(others.columns == trees.columns && others.rows >= 1,
                "the background must have rows, and the columns of the trees");
        run([&] { add_background_values(trees, x, others, out.get()); });
    } else {
        run([&] { add_path_values(trees, x, out.get()); });
    }
    return out.give();
}

}  // namespace

void bind_shapley(nb::module_& module) {
    module.def(
        "shapley_values", &shapley, arg("nodes"), arg("sizes"), arg("X"), arg("background").none(),
        nb::sig("def shapley_values(nodes: tuple[NDArray[Any], ...], sizes: tuple[int, int, int], X: Matrix, "
                "background: Matrix | None) -> Matrix"),
        R"doc(Return the Shapley values of the rows of X, (rows, players × outputs): path-dependent, or against a background.

Nodes: sizes of the trees; by node the column (-1 for leaves); by inner node thresholds and whether missing values go left;
numbers of the inner nodes that ask for sets, and their words; by leaf weights and values; by column the player. Sizes: groups,
numbers a leaf, players; tree number t adds to group ``t % groups``.)doc");
}

}  // namespace qed::bindings
