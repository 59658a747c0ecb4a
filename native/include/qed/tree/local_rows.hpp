/// The rows of a node, copied to where they stay in a cache while everything below it grows.
///
/// Layout: the copy knows its rows by their number in it. Values are row-major, as in the table; ranks and bins are
/// column-major.
#pragma once

#include <cstdint>

#include "qed/machine/scratch.hpp"
#include "qed/tree/ranks.hpp"

namespace qed {

/// Ranks of a column by number of the row, `step` apart.
struct RankView {
    const std::uint32_t* first;
    Index step;

    std::uint32_t operator[](std::uint32_t row) const noexcept { return first[static_cast<Index>(row) * step]; }
};

class LocalRows {
  public:
    /// `has_values`: whether the trees compare values; `has_copies`: whether nodes are grown one below the other.
    LocalRows(const RankedTable& x, bool has_values, bool has_copies);

    void start() noexcept { is_copied_ = false; }
    /// Goes on to the rows of a node while `open` others wait: leaves a copy that the node is not below of, and, if the
    /// node `is_open` and has few enough rows, copies and renumbers them.
    void enter(std::uint32_t* rows, Index count, Index open, bool is_open);
    /// Gives rows their number in the table again.
    void restore(std::uint32_t* rows, Index count) const noexcept;

    [[nodiscard]] RankView ranks(Index column) const noexcept;
    [[nodiscard]] const std::uint8_t* bins(Index column) const noexcept;
    [[nodiscard]] RowValues values() const noexcept;

  private:
    const RankedTable& x_;
    bool has_values_;
    Index most_;  ///< rows
    Index step_;  ///< from a column to the next: not a power of two, which would share few places of the cache
    ScratchArray<std::uint32_t> rows_, ranks_;
    ScratchArray<std::uint8_t> bins_;
    RowValues all_;  ///< of the table, where trees compare values
    ScratchArray<float> singles_;
    ScratchArray<double> doubles_;
    bool is_copied_ = false;
    Index depth_ = 0;  ///< nodes that waited when the rows were copied
};

}  // namespace qed
