#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "qed/tree/optimal.hpp"
#include "qed/tree/rows.hpp"

/// What the search for an optimal tree hands around: sets of items, splits, intervals of cuts and their bounds.
namespace qed::optimal {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr Index kLeaf = -1;

/// Items of a node, in every order.
struct ItemSet {
    std::vector<TreeEntry> entries;  // orders × count; `place` is the number of an item
    std::vector<double> sums;
    Index count = 0;
    double floor = 0.0;
    std::uint64_t key[2] = {0, 0};
};

struct Found {
    double lower, upper;
    Index node;
};

struct Split {
    Index order;
    std::uint32_t rank;
    Index left, right;
};

/// Cuts first..last of an order; every one leaves at least `left` on its left side and `right` on its right one.
struct Interval {
    double bound;
    Index order, first, last;
    double left, right;

    /// The lowest bound comes first; of equal ones the widest interval, so that all columns are tried early.
    [[nodiscard]] bool operator<(const Interval& other) const noexcept {
        return std::tuple(other.bound, last - first, other.order, other.first) <
               std::tuple(bound, other.last - other.first, order, first);
    }
};

/// The best single cut of one side.
struct OneCut {
    double mass = kInfinite;
    Index order = kLeaf;
    std::uint32_t rank = 0;
};

}  // namespace qed::optimal
