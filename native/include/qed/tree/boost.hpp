/// One tree of a boosted sum: it minimises the second-order model of a loss, leaf by leaf.
///
/// Sums of slopes and curvatures over bins are made of whole numbers (boost_sums.hpp): they do not depend on the order of
/// the rows nor on threads, and the sums of a node minus those of a child are exactly those of the other. What a leaf
/// predicts is then computed from the numbers themselves, in the order of the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/tree/forest.hpp"
#include "qed/tree/ranks.hpp"

namespace qed {

struct BoostRules {
    Index leaves;                      ///< most leaves; 0 for any number
    Index depth;                       ///< most splits above a leaf
    Index leaf_rows;                   ///< fewest rows of a leaf, by their counts
    double ridge;                      ///< added to the curvature of a leaf
    double rate;                       ///< what leaf values are multiplied by
    Index features;                    ///< columns looked at for a split
    std::uint64_t seed;
    const std::int8_t* monotone;       ///< by column: 1 rises, -1 falls; null for none
    const std::uint8_t* by_category;   ///< by column; null for none
    std::vector<std::vector<Index>> groups;  ///< columns that may meet on a path; empty for all
};

/// Slopes and curvatures of one class, `stride` numbers from row to row, before weights (null for ones); `counts` null
/// for ones.
struct BoostRows {
    const double* slopes;
    const double* curvatures;
    Index stride;
    const double* weights;
    const std::uint32_t* counts;
    Index count;

    [[nodiscard]] double slope(Index row) const noexcept {
        return weights == nullptr ? slopes[row * stride] : slopes[row * stride] * weights[row];
    }
    [[nodiscard]] double curvature(Index row) const noexcept {
        return weights == nullptr ? curvatures[row * stride] : curvatures[row * stride] * weights[row];
    }
};

struct BoostTree {
    ForestTree nodes;                     ///< one value a leaf; weight: rows of the leaf, by their counts
    std::vector<Index> by_set;            ///< inner nodes that look at categories
    std::vector<std::uint32_t> sets;      ///< sixteen words for each
    std::vector<double> low, high;        ///< by leaf: what constraints allow, before the rate
    std::vector<std::int32_t> leaf;       ///< by row, where no scores are given: its leaf
};

struct BoostScale;
struct Division;
struct Sums;

/// Where a tree that grows has its sums from: rows in memory here, or parts of them elsewhere.
class BoostSource {
  public:
    virtual ~BoostSource() = default;
    /// Puts all rows into node 0; fills its histogram, and returns their scale.
    virtual BoostScale start(bool fine, Sums& total, Sums* histogram) = 0;
    /// Divides nodes; `histograms` has room for that of the child that each division names, null where it names none.
    virtual void divide(const std::vector<Division>& divisions, const std::vector<Sums*>& histograms) = 0;
    /// Adds up slopes and curvatures of the rows of nodes.
    virtual void leaf_sums(const std::vector<Index>& nodes, double* slopes, double* curvatures) = 0;
    /// Tells what the leaves of the finished tree are worth.
    virtual void finish(const std::vector<Index>& leaves, const std::vector<double>& values) = 0;
    /// Whether asking costs so much that nodes are divided together, before it is known which of them will be.
    [[nodiscard]] virtual bool asks_together() const noexcept = 0;
};

/// Grows one tree; columns say what the bins stand for.
BoostTree grow_tree(BoostSource& source, const std::vector<RankedColumn>& columns, const BoostRules& rules,
                    std::uint64_t seed);

/// The trees of a round, one for each of the classes whose numbers lie side by side in `rows`; tree k is drawn by
/// seed + k. What they predict is added to `scores` (rows × classes) unless that is null.
std::vector<BoostTree> grow_boosted(const RankedTable& x, const BoostRows& rows, const BoostRules& rules,
                                    double* scores);

}  // namespace qed
