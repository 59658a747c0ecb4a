/// Columns as ranks and as bins, made once for all trees of an ensemble.
///
/// Layout: bins lie in groups of `together` columns, so that bin (i, j) of a table of n rows is at
/// (j / together) * n * together + i * together + j % together; with one column a group they are column-major. Ranks,
/// where kept, are row-major; values are kept both ways: large nodes read columns, small ones rows. Bins are runs of ranks of about equal weight; a column with at most kBins distinct
/// values has a bin for each.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/scratch.hpp"
#include "qed/tree.hpp"
#include "qed/tree_columns.hpp"

namespace qed {

inline constexpr Index kBins = 255;                   ///< most bins of known values
inline constexpr std::uint8_t kMissingBin = 255;      ///< where missing values are
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

enum class Keeps : std::uint8_t { bins, bins_and_ranks, values };

class RankedTable {
  public:
    /// `weights` null for ones; `most` bins at most. Where values are kept nothing is ranked.
    RankedTable(const TreeTable& x, const double* weights, Index most, Index together, Keeps keeps);

    [[nodiscard]] Index rows() const noexcept { return rows_; }
    [[nodiscard]] Index columns() const noexcept { return columns_; }
    [[nodiscard]] Index together() const noexcept { return together_; }
    [[nodiscard]] const RankedColumn& column(Index j) const noexcept { return info_[static_cast<std::size_t>(j)]; }
    /// The rank of row i in column j is at i * columns() + j.
    [[nodiscard]] const std::uint32_t* ranks() const noexcept { return ranks_.data(); }
    [[nodiscard]] const double* values(Index j) const noexcept { return values_.data() + j * rows_; }
    /// The value of row i in column j is at i * columns() + j.
    [[nodiscard]] const double* values_by_row() const noexcept { return values_by_row_.data(); }
    /// The bin of row i is at this plus i * together().
    [[nodiscard]] const std::uint8_t* bins(Index j) const noexcept {
        return bins_.data() + (j / together_) * rows_ * together_ + j % together_;
    }
    /// Bins of a group of columns, together() for each row.
    [[nodiscard]] const std::uint8_t* group(Index g) const noexcept { return bins_.data() + g * rows_ * together_; }

  private:
    void read(const TreeEntry* entries, Index j, const double* weights, double total, Index most, const double* values);

    Index rows_, columns_, together_;
    std::vector<RankedColumn> info_;
    std::vector<std::uint32_t> ranks_;
    std::vector<std::uint8_t> bins_;
    std::vector<double> values_, values_by_row_;
};

}  // namespace qed
