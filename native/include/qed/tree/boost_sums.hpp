/// Sums of slopes and curvatures over the bins of all columns, in whole numbers.
///
/// Layout: a histogram has kPlaces bins a column, columns one after the other, padded to groups of kGrouped. Slopes and
/// curvatures are rounded once for each tree. Where 14 bits of the largest slope and 12 of the largest curvature are
/// enough to tell rows apart, the two and a count share one word, which is added in one step; sums over a block of rows
/// are then unpacked. Otherwise a row is a pair of words of 61 bits. Where several classes have the same rows, their words
/// lie side by side: one pass over the bins adds them all. Determinism: whole numbers do not depend on any
/// order, nor on how rows are dealt to threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qed/tree/boost.hpp"
#include "qed/tree/ranks.hpp"

namespace qed {

struct Sums {
    std::int64_t slope = 0, rest = 0;  ///< rest: curvature and, in its lowest bits, the count

    Sums& operator+=(const Sums& other) noexcept {
        slope += other.slope;
        rest += other.rest;
        return *this;
    }
    Sums operator-(const Sums& other) const noexcept { return {slope - other.slope, rest - other.rest}; }
};

/// From whole numbers back to numbers.
struct Units {
    double slope = 1.0, curvature = 1.0;
    int count_bits = 1;

    [[nodiscard]] double slope_of(const Sums& sums) const noexcept { return static_cast<double>(sums.slope) * slope; }
    [[nodiscard]] double curvature_of(const Sums& sums) const noexcept {
        return static_cast<double>(sums.rest >> count_bits) * curvature;
    }
    [[nodiscard]] Index count_of(const Sums& sums) const noexcept {
        return sums.rest & ((Index{1} << count_bits) - 1);
    }
};

/// What the scale of the rounding depends on; that of all rows is that of their parts, added.
struct BoostExtent {
    double slopes = 0.0, squares = 0.0, curvatures = 0.0, largest = 0.0, steepest = 0.0;
    Index count = 0;

    void add(const BoostExtent& other) noexcept;
};

BoostExtent extent_of(const BoostRows& rows);

/// How slopes and curvatures become whole numbers: one word a row, or a pair.
struct BoostScale {
    Units units;
    bool is_coarse = false, is_packed = false;
};

/// Powers of two: by the largest slope and curvature where few bits do, by their sums otherwise. `fine`: 61 bits in any case.
BoostScale scale_of(const BoostExtent& extent, bool has_counts, bool fine);

/// Words of a row that are added at a bin in one step: those of as many classes lie side by side in a line of the cache.
inline constexpr Index kWordsTogether = 8;

class BoostSums {
  public:
    /// `words`: by row of the table, one each if packed, otherwise two.
    BoostSums(const BinsView& x, const BoostScale& scale, std::int64_t* words)
        : x_(x), groups_(x.groups()), scale_(scale), words_(words) {}

    /// Rounds all rows into their words; returns their sum.
    Sums round(const BoostRows& rows) const;

    /// Builds the histograms of the same rows for some classes over one table, in one pass for kWordsTogether words of a
    /// row. Rows are ascending; null for all.
    static void fill(std::span<const BoostSums* const> classes, const std::uint32_t* rows, Index count,
                     Sums* const* histograms);

  private:
    struct Together;
    static void fill(const Together& own, const std::uint32_t* rows, Index count, Sums* const* histograms);
    static void gather(const Together& own, const std::uint32_t* rows, Index from, Index count, std::int64_t* to);
    static void add_rows(const Together& own, const std::uint32_t* rows, Index first, Index last, Index group, Index end,
                         Sums* const* histograms);
    void take(const std::int64_t* added, Index slots, Index count, Sums* histogram) const noexcept;
    [[nodiscard]] Index width() const noexcept { return scale_.is_packed ? 1 : 2; }

    BinsView x_;
    Index groups_;
    BoostScale scale_;
    std::int64_t* words_;
};

}  // namespace qed
