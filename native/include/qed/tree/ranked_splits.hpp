/// The best split of a column of ranks: between bins where a node has many rows, between all values where it has few.
#pragma once

#include <cstdint>

#include "qed/machine/scratch.hpp"
#include "qed/tree/local_rows.hpp"
#include "qed/tree/ranks.hpp"
#include "qed/tree/rows.hpp"
#include "qed/tree/split.hpp"

namespace qed {

/// What a search sees of one column: rows of the node by their place, and what the column holds of them.
struct RankedNode {
    const std::uint32_t* rows;
    const std::uint8_t* bins;
    RankView ranks;
    Index first;  ///< place of the first row
};

class RankedSplits {
  public:
    RankedSplits(const RankedTable& x, const TreeTargets& y, bool by_sum, bool is_used);

    /// To be called before the columns of a node are searched.
    void start_node() noexcept { has_pairs_ = false; }
    /// Looks for the best cut of a column; false if the column holds a single value.
    bool search(const RankedNode& node, const SplitView& view, const SplitRule& rule, bool by_rows, ColumnSplit& found);
    /// 1 for each row that goes right, 0 for others; and the threshold midway between the values next to the cut.
    SideCounts part(const RankedNode& node, Index column, Index count, const TreeCut& cut, std::uint32_t* sides,
                    double& threshold) const;

  private:
    int search_bins(const RankedNode& node, const SplitView& view, const SplitRule& rule, ColumnSplit& found);
    bool search_sorted(const RankedNode& node, const SplitView& view, const SplitRule& rule, ColumnSplit& found);
    void sort_keys(Index first, Index count);
    void fill_bins(const RankedNode& node, const SplitView& view);
    void count_rows(const RankedNode& node, const SplitView& view, Index leaf);

    const RankedTable& x_;
    bool has_classes_;  ///< whether a bin holds a weight for each class
    Index width_;       ///< numbers a bin
    ScratchArray<std::uint32_t> keys_;
    ScratchArray<TreeEntry> entries_;
    ScratchArray<double> pairs_, sums_;
    Index counts_[kPlaces] = {};
    bool has_pairs_ = false;
};

}  // namespace qed
