/// Trees of small depth that leave least, by branch and bound, with a proven lower bound when the search is cut short.
///
/// Rows that agree in all columns are one item; what a leaf leaves is a function of sums over its items. Every column is
/// an order of the items; a column with missing values is two, one with the missing values last and one with them
/// first. Determinism: subproblems are searched one after the other, orders within one are compared by number; neither
/// threads nor the clock change what is searched, unless a limit on seconds ends it.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/tree/tree.hpp"

namespace qed {

struct OptimalItems {
    Index count, orders, width;
    const std::uint32_t* ranks;  ///< orders × count: places among the distinct values of the order
    const double* sums;          ///< count × width: weights of classes; or weight, weighted numbers, weighted squares
    const double* floors;        ///< what the rows of an item leave in every tree
    Criterion criterion;         ///< a criterion of classes, or squared
    double reach;                ///< most that a unit of weight adds to what a leaf leaves; infinite if unbounded
};

struct OptimalLimits {
    Index depth;
    double visits;   ///< values looked at before the search is given up
    double seconds;  ///< infinite: the clock is not looked at
};

/// Nodes in the order of a walk that goes left first; items whose rank is at most `rank` go left.
struct OptimalTree {
    std::vector<Index> left, right, order;
    std::vector<Index> rank;
    double objective = 0.0;  ///< what the leaves leave, not divided by the weight
    double lower = 0.0;      ///< what every tree within the limits leaves at least
    double visits = 0.0;
};

OptimalTree optimal_tree(const OptimalItems& items, const OptimalLimits& limits);

}  // namespace qed
