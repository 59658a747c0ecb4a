/// The search for a cut through one column of one node.
///
/// Every criterion is a running state: rows move from right to left one by one, and what a cut gains is known after
/// each. Gains are in units of weight: node impurity minus those of the children, each times its weight.
#pragma once

#include "qed/tree/columns.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

/// What a search sees of a node; arrays are indexed by place.
struct SplitView {
    Criterion criterion;
    Index width;  ///< classes, or numbers a row
    Index count;  ///< rows of the node
    double weight;
    const double* totals;        ///< width sums of the node: weights of classes, or of `pulls`
    double mean;                 ///< of the first target
    double origin;               ///< what the first target is measured from in `pulls`
    double scale;                ///< weight times impurity, in units of the gain
    const double* pulls;         ///< weighted targets, width a row: those of squares about the mean of the node
    const double* weights;       ///< null for ones
    const std::uint32_t* codes;  ///< classes
    const std::uint32_t* order;  ///< rank of the target within the node, for absolute errors
    const double* targets;       ///< by rank, for absolute errors, about the median of the node
    const double* xlogx;         ///< k log k, for whole numbers; null where weights are none
    bool is_uneven;              ///< whether weights differ so much that sides must not be found by subtraction
};

/// What both sides of a cut predict.
struct SideValues {
    double left, right;
};

struct SplitRule {
    Index leaf;
    double leaf_weight;
    int direction = 0;  ///< 1 where the right side must not predict less, -1 where not more
    double low = 0.0, high = 0.0;  ///< what sides may predict, where there is a direction

    [[nodiscard]] bool allows(const SideValues& sides) const noexcept {
        return sides.left >= low && sides.right >= low && sides.left <= high && sides.right <= high &&
               (sides.right - sides.left) * direction >= 0.0;
    }
};

/// A cut: the first `known` entries go left, and the missing ones if `missing_left`. Not found: a gain below zero.
struct TreeCut {
    double gain = -1.0;
    Index known = 0;
    bool missing_left = false;

    [[nodiscard]] bool is_found() const noexcept { return gain >= 0.0; }
};

/// The split that was found in a column.
struct ColumnSplit {
    Index column;
    TreeCut cut = {};
    std::uint32_t rank = 0;  ///< highest one that goes left, where columns are ranked
    double threshold = 0.0;  ///< where values are compared
    Index set = -1;          ///< number of the categories that go left, where the column holds categories
};

/// How many rows go left, and how many lack a value.
struct SideCounts {
    Index lefts = 0, missing = 0;
};

/// Sums over the bins of a column: `width` numbers a bin, which are the weighted targets and last the weight, or the
/// weights of classes; and how many rows each bin holds.
struct BinSums {
    const double* sums;
    const Index* counts;
    Index width;
    const std::uint8_t* filled;  ///< bins of known values that hold rows, ascending
    Index many;                  ///< how many of them
    Index missing;               ///< the bin of missing values
};

/// The best cut behind a bin: `known` of the result is that bin.
TreeCut best_bin(const SplitView& node, const SplitRule& rule, const BinSums& bins);

/// What it gains to send `count` rows of a known weight and sum of pulls to the left, for sums of one number a row.
TreeCut by_left_sum(const SplitView& node, const SplitRule& rule, Index count, double weight, double sum);

/// What it gains to send the rows at `count` places to the left. Not for absolute errors.
TreeCut one_side(const SplitView& node, const SplitRule& rule, const std::uint32_t* lefts, Index count);

/// Whether gains divide by the weights of sides: a light side must then not be found by subtraction.
bool divides_by_weights(Criterion criterion) noexcept;

/// How much more a later cut has to gain: sums of other orders round differently by less.
double beyond_rounding(double gain, double scale) noexcept;

/// How many of the entries, which are the last, are missing.
Index count_missing(const TreeEntry* entries, Index count) noexcept;

TreeCut best_cut(const SplitView& node, const SplitRule& rule, const TreeEntry* entries);

/// What a given cut gains; not found if the rule forbids it.
TreeCut one_cut(const SplitView& node, const SplitRule& rule, const TreeEntry* entries, Index known, bool missing_left);

}  // namespace qed
