/// Shapley values of trees, exactly.
///
/// The value of a leaf reaches a row through a product with one factor for each player (column, or group of columns)
/// on its path. With every player present with probability t, a factor is z(1 - t) + o t: o says whether the row meets
/// all conditions of the player, z is the share of the rows of the fit that follow them (path-dependent game), or
/// whether a row of a background does (interventional game). A Shapley value is the integral over t of the derivative
/// by one factor (Owen 1972). On a path of m players that is a polynomial of degree m - 1, so that ceil(m / 2) nodes of
/// Gauss give it exactly; all factors lie in (0, 1], so that nothing cancels at any depth.
///
/// Layout: nodes of each tree in the order of a walk that goes left first; rows go through a tree in lanes. The walk
/// carries the product down and sums of leaves up: what an edge adds to its player is linear in the sum below it.
/// Determinism: a block of rows is one thread's work, and trees are added in their order.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"

namespace qed {

/// Trees as they are stored, and what a leaf is worth. Trees are trusted: they passed pack_forest.
struct ShapleyTrees {
    Index trees;
    Index columns;
    Index players;
    Index groups;                 ///< tree number t adds to outputs [t % groups * width, ... + width)
    Index width;                  ///< numbers a leaf
    const Index* sizes;           ///< nodes of each tree
    const std::int32_t* feature;  ///< by node; negative for leaves
    const double* threshold;      ///< by inner node
    const std::uint8_t* missing_left;
    const double* weight;         ///< by leaf: weight of the rows of the fit
    const double* values;         ///< by leaf, width of them
    const Index* by_set;          ///< inner nodes that ask for sets of categories, rising
    const std::uint32_t* sets;    ///< sixteen words each
    Index set_count;
    const std::int32_t* player;   ///< by column

    [[nodiscard]] Index outputs() const noexcept { return groups * width; }
};

/// Adds to out: rows × players × outputs. Path-dependent game.
void add_path_values(const ShapleyTrees& trees, const Matrix& x, double* out);

/// Adds to out: rows × players × outputs. Interventional game: players that are absent take their values from a row of
/// the background, each as often.
void add_background_values(const ShapleyTrees& trees, const Matrix& x, const Matrix& background, double* out);

}  // namespace qed
