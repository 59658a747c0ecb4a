/// Random splits: one threshold a column, drawn between the least and the largest value of a node.
///
/// Layout: up to kDrawnTogether columns of the rows of a node lie side by side, row after row, and each is a lane of the
/// vectors that go through them: a node of few rows takes few steps for all of its columns. Lanes beyond the columns
/// read on into the next row, and are passed over. Determinism: a threshold depends on the seed of the node and on the
/// column; sums are added in the order of the rows.
#pragma once

#include <cstdint>

#include "qed/machine/scratch.hpp"
#include "qed/tree/ranks.hpp"
#include "qed/tree/rows.hpp"
#include "qed/tree/split.hpp"

namespace qed {

inline constexpr Index kDrawnTogether = 8;  ///< columns: as many doubles as a cache line holds

class DrawnSplits {
  public:
    /// Memory for at most so many columns at a time; 0 if no threshold is drawn.
    DrawnSplits(const RankedTable& x, Index columns);

    /// Reads ascending columns of the rows of a node.
    void gather(const RowValues& values, const std::uint32_t* rows, Index count, const Index* columns, Index many);
    /// Draws a threshold for each of the columns.
    void draw(std::uint64_t seed);
    /// Whether the column of a lane tells rows apart.
    [[nodiscard]] bool is_varied(Index lane) const noexcept { return lanes_[lane].is_varied; }
    /// Adds up the pulls and weights of the left sides of all columns, where a sum of one number a row is what counts.
    void add(const SplitView& view, Index first);
    /// What the split of a lane gains. `by_sums`: from what was added up; `by_rows`: from rows in order, not from sides.
    ColumnSplit evaluate(const SplitView& view, const SplitRule& rule, Index first, Index lane, bool by_sums,
                         bool by_rows);

    /// The lane of a column; -1 if it is not one of those that were read last.
    [[nodiscard]] Index lane_of(Index column) const noexcept;
    /// 1 for each row that goes right, 0 for others.
    SideCounts part(Index lane, double threshold, bool missing_left, std::uint32_t* sides) const;
    /// The categories of the rows in a lane.
    void read_categories(Index lane, std::uint8_t* codes) const;

  private:
    struct Lane {
        Index column;
        double threshold;
        double sum, left;  ///< of the left side: pulls and weight
        Index count;       ///< rows of the left side
        bool is_varied, missing_left;
    };
    template <bool kMissing>
    void add_lanes(const SplitView& view, Index first);
    [[nodiscard]] bool goes_left(const Lane& lane, double value) const noexcept {
        return value <= lane.threshold || (lane.missing_left && value != value);
    }

    const RankedTable& x_;
    ScratchArray<double> values_;  ///< many_ a row, and a cache line that belongs to no row
    ScratchArray<TreeEntry> entries_;
    ScratchArray<std::uint32_t> lefts_;
    Index many_ = 0, count_ = 0;
    bool has_missing_ = false;  ///< whether one of the columns lacks values in some row of the table
    Lane lanes_[kDrawnTogether] = {};
};

}  // namespace qed
