/// Columns as ranks and as bins, made once for all trees of an ensemble.
///
/// Layout: bins are column-major, and row-major too, row_step() bytes a row: what needs all columns reads rows. Ranks and
/// values, where kept, are row-major; values are in single precision where that holds all of them. Bins are runs of ranks of about equal weight; a column with at most kBins distinct
/// values has a bin for each.
#pragma once

#include <cstdint>
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

/// Rows of values one after the other, in one of two types.
struct RowValues {
    const float* singles;
    const double* doubles;
    bool is_single;
};

enum class Keeps : std::uint8_t { bins, bins_and_ranks, values };

class RankedTable {
  public:
    /// `weights` null for ones; `most` bins at most. Where values are kept nothing is ranked.
    RankedTable(const TreeTable& x, const double* weights, Index most, Keeps keeps);

    [[nodiscard]] Index rows() const noexcept { return rows_; }
    [[nodiscard]] Index columns() const noexcept { return columns_; }
    [[nodiscard]] const RankedColumn& column(Index j) const noexcept { return info_[static_cast<std::size_t>(j)]; }
    /// The rank of row i in column j is at i * columns() + j.
    [[nodiscard]] const std::uint32_t* ranks() const noexcept { return ranks_.data(); }
    /// The value of row i in column j is at i * columns() + j.
    [[nodiscard]] RowValues values() const noexcept { return {singles_.data(), values_.data(), !singles_.empty()}; }
    [[nodiscard]] const std::uint8_t* bins(Index j) const noexcept { return bins_.data() + j * rows_; }
    /// The bin of row i in column j is at i * row_step() + j; a row is as long as whole groups of kGrouped columns.
    [[nodiscard]] const std::uint8_t* bins_by_row() const noexcept { return bins_by_row_.data(); }
    [[nodiscard]] Index row_step() const noexcept { return blocks_of(columns_, kGrouped) * kGrouped; }

  private:
    template <class T>
    bool load_rows(const TreeTable& x, std::vector<T>& values);
    void lay_rows();
    void read(const TreeEntry* entries, Index j, const double* weights, double total, Index most, const double* values);

    Index rows_, columns_;
    std::vector<RankedColumn> info_;
    std::vector<std::uint32_t> ranks_;
    std::vector<std::uint8_t> bins_, bins_by_row_;
    std::vector<float> singles_;
    std::vector<double> values_;
};

}  // namespace qed
