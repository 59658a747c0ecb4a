/// Columns as ranks and as bins, made once for all trees of an ensemble.
///
/// Layout: bins are column-major, and row-major too, row_step() bytes a row: what needs all columns reads rows. Ranks and
/// values, where kept, are row-major; values are in single precision where that holds all of them. Bins are runs of ranks of about equal weight; a column with at most kBins distinct
/// values has a bin for each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qed/machine/scratch.hpp"
#include "qed/tree/columns.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

inline constexpr Index kBins = 255;                   ///< most bins of known values
inline constexpr std::uint8_t kMissingBin = 255;      ///< where missing values are
inline constexpr Index kGrouped = 8;                  ///< columns whose histograms are filled together
inline constexpr Index kPlaces = kBins + 1;           ///< bins of a histogram

struct RankedColumn {
    std::vector<double> values;           ///< distinct known values, ascending
    std::vector<std::uint32_t> last;      ///< highest rank of each bin
    bool has_missing = false;

    [[nodiscard]] Index bins() const noexcept { return static_cast<Index>(last.size()); }
    /// Whether each value has a bin of its own.
    [[nodiscard]] bool is_exact() const noexcept { return last.size() == values.size(); }
    /// Midway between a value and the next one that the given rank stands for.
    [[nodiscard]] static double between(double low, double high) noexcept {
        const double middle = low / 2.0 + high / 2.0;
        return middle >= low && middle < high ? middle : low;
    }
};

/// Bins of a table: column by column, and row by row, a row being as long as whole groups of kGrouped columns.
struct BinsView {
    const std::uint8_t* by_column;
    const std::uint8_t* by_row;
    Index rows, columns;

    [[nodiscard]] const std::uint8_t* column(Index j) const noexcept { return by_column + j * rows; }
    [[nodiscard]] Index groups() const noexcept { return blocks_of(columns, kGrouped); }
    [[nodiscard]] Index row_step() const noexcept { return groups() * kGrouped; }
    /// Bins of a histogram of all columns.
    [[nodiscard]] Index places() const noexcept { return row_step() * kPlaces; }
};

/// Values in one of two types, the other null: that of row i in column j is at i * step + j.
struct RowValues {
    const float* singles;
    const double* doubles;
    Index step;
};

/// From a row of so many numbers to the next: rows begin where a line of the cache does, if that takes an eighth more at
/// most.
template <class T>
[[nodiscard]] constexpr Index line_step(Index columns) noexcept {
    constexpr auto kLine = static_cast<Index>(kCacheLine / sizeof(T));
    const Index step = (columns + kLine - 1) / kLine * kLine;
    return 8 * step <= 9 * columns ? step : columns;
}

enum class Keeps : std::uint8_t { bins, bins_and_ranks, values };

class RankedTable {
  public:
    /// `weights` null for ones; `most` bins at most. Where values are kept nothing is ranked.
    RankedTable(const TreeTable& x, const double* weights, Index most, Keeps keeps);

    [[nodiscard]] Index rows() const noexcept { return rows_; }
    [[nodiscard]] Index columns() const noexcept { return columns_; }
    [[nodiscard]] const RankedColumn& column(Index j) const noexcept { return info_[static_cast<std::size_t>(j)]; }
    /// The rank of row i in column j is at i * columns() + j.
    [[nodiscard]] const std::uint32_t* ranks() const noexcept { return ranks_ != nullptr ? ranks_->get() : nullptr; }
    [[nodiscard]] RowValues values() const noexcept {
        return singles_ != nullptr ? RowValues{singles_->get(), nullptr, line_step<float>(columns_)}
                                   : RowValues{nullptr, doubles_->get(), line_step<double>(columns_)};
    }
    [[nodiscard]] const std::uint8_t* bins(Index j) const noexcept { return bins_->get() + j * rows_; }
    /// The bin of row i in column j is at i * row_step() + j; a row is as long as whole groups of kGrouped columns.
    [[nodiscard]] const std::uint8_t* bins_by_row() const noexcept { return bins_by_row_ != nullptr ? bins_by_row_->get() : nullptr; }
    [[nodiscard]] Index row_step() const noexcept { return blocks_of(columns_, kGrouped) * kGrouped; }
    [[nodiscard]] BinsView view() const noexcept { return {bins_->get(), bins_by_row_->get(), rows_, columns_}; }
    [[nodiscard]] const std::vector<RankedColumn>& info() const noexcept { return info_; }

  private:
    template <class T>
    using Kept = std::unique_ptr<ScratchArray<T>>;  // large pages: rows are read in any order

    template <class T>
    bool load_rows(const TreeTable& x, Kept<T>& values);
    void lay_rows();
    void read(const TreeEntry* entries, Index j, const double* weights, double total, Index most, const double* values);

    Index rows_, columns_;
    std::vector<RankedColumn> info_;
    Kept<std::uint32_t> ranks_;  // null where not kept
    Kept<std::uint8_t> bins_, bins_by_row_;
    Kept<float> singles_;
    Kept<double> doubles_;
};

/// Where bins of rows are written, and the lowest and highest value of each bin of each column so far.
struct BinsRoom {
    std::uint8_t* by_column;
    std::uint8_t* by_row;
    double* low;
    double* high;
};

/// Bins rows of which `rows` have room, from the place `first` on. `cuts` are ascending, those of column j end at ends[j]:
/// bin b holds what is above the cut before it, and at most cut b.
void bin_rows(const Matrix& x, const double* cuts, const Index* ends, Index first, Index rows, const BinsRoom& to);

}  // namespace qed
