/// Sums of slopes and curvatures over the bins of all columns, in whole numbers.
///
/// Layout: a histogram has kPlaces bins a column, columns one after the other, padded to groups of kGrouped. Slopes and
/// curvatures are rounded once for each tree. Where 14 bits of the largest slope and 12 of the largest curvature are
/// enough to tell rows apart, the two and a count share one word, which is added in one step; sums over a block of rows
/// are then unpacked. Otherwise a row is a pair of words of 61 bits. Determinism: whole numbers do not depend on any
/// order, nor on how rows are dealt to threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qed/machine/scratch.hpp"
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

class BoostSums {
  public:
    /// `fine`: whether to round to 61 bits in any case.
    BoostSums(const RankedTable& x, const BoostRows& rows, bool fine);

    [[nodiscard]] const Units& units() const noexcept { return units_; }
    [[nodiscard]] const Sums& total() const noexcept { return total_; }
    [[nodiscard]] Index size() const noexcept { return groups_ * kGrouped * kPlaces; }

    /// Builds the histogram of some rows of the table, ascending; null for all.
    void fill(const std::uint32_t* rows, Index count, Sums* histogram) const;

  private:
    void scale(const BoostRows& rows, bool fine);
    void round(const BoostRows& rows, double slope, double curvature);
    void add_rows(const std::uint32_t* rows, Index first, Index last, Index group, Index end, Sums* histogram) const;
    void unpack(std::int64_t* packed, Index count, Sums* histogram) const noexcept;

    const RankedTable& x_;
    Index groups_;
    bool is_packed_ = false;
    std::unique_ptr<ScratchArray<std::int64_t>> words_;  ///< by row of the table: one each if packed, otherwise two
    Units units_;
    Sums total_;
};

}  // namespace qed
