/// From any layout to strips, and back to plain rows.
///
/// Shifting, weighting and conversion happen here, on the way, so that no kernel ever copies its input as a whole.
#pragma once

#include <array>

#include "qed/machine/simd.hpp"

namespace qed {

/// Numbers of rows; null for every row in order.
struct RowList {
    const Index* rows = nullptr;
    Index count = 0;
};

/// One factor of a product, read as depth × columns: the sum runs along `rows` of its parts.
/// Up to three matrices stand side by side, so that [1 | X | Y] needs no copy. A list of row numbers selects rows, in its
/// order, so that the rows of a class need none either; row_shift and row_scale then follow the list.
struct Factor {
    std::array<Matrix, 3> parts{};
    const double* column_shift = nullptr;  ///< subtracted from each column, or null
    const double* row_shift = nullptr;     ///< subtracted from each row (the axis of the sum), or null
    const double* row_scale = nullptr;     ///< multiplies each row after the shift, or null
    RowList list{};                        ///< which rows are read; all of them without a list

    [[nodiscard]] Index depth() const noexcept { return list.rows == nullptr ? parts[0].rows : list.count; }
    [[nodiscard]] Index columns() const noexcept { return parts[0].columns + parts[1].columns + parts[2].columns; }
};

/// A single matrix as a factor, as it is.
inline Factor plain(const Matrix& part) noexcept {
    Factor out;
    out.parts[0] = part;
    return out;
}

template <class T>
inline Index strips_of(Index columns) noexcept {
    return blocks_of(columns, kStrip<T>);
}
/// Columns held by one strip of a matrix, padding included; the last strip may be narrow.
template <class T>
inline Index strip_width(Index columns, Index strip) noexcept {
    const Index left = columns - strip * kStrip<T>;
    return left >= kStrip<T> ? kStrip<T> : round_up(left, kGranule<T>);
}
/// Columns of a matrix, padding included.
template <class T>
inline Index padded(Index columns) noexcept {
    return round_up(columns, kGranule<T>);
}

/// Packs rows [row, row + depth) of one strip.
template <class T>
void pack_strip(const Factor& from, Index row, Index depth, Index strip, T* to) noexcept;

/// Packs rows [row, row + depth), strips [first, last); strip number `first + i` starts at to + i * kStrip * depth.
template <class T>
void pack_strips(const Factor& from, Index row, Index depth, Index first, Index last, T* to) noexcept {
    for (Index strip = first; strip < last; ++strip) {
        pack_strip(from, row, depth, strip, to + (strip - first) * kStrip<T> * depth);
    }
}

/// Writes rows [row, row + count), columns [column, column + width) as doubles to to[i * stride + j].
void load_rows(const Matrix& from, Index row, Index count, Index column, Index width, double* to,
               Index stride) noexcept;

extern template void pack_strip<double>(const Factor&, Index, Index, Index, double*) noexcept;
extern template void pack_strip<float>(const Factor&, Index, Index, Index, float*) noexcept;

}  // namespace qed
