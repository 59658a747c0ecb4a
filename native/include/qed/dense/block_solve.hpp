/// The step that Cholesky factorisation and triangular solves share: solve a block of rows, then clear it from the rows
/// below.
///
/// Layout: `rows` is row-major with a stride of either sign. The block of rows is packed into strips, solved there,
/// written back, and the strips go on to serve as a factor of the update.
#pragma once

#include "qed/dense/packed_rows.hpp"

namespace qed {

/// A row-major matrix that is being changed in place.
struct Rows {
    double* data;
    Index rows;
    Index columns;
    Index stride;

    [[nodiscard]] double* at(Index i, Index j) const noexcept { return data + i * stride + j; }
    [[nodiscard]] Matrix view() const noexcept { return row_major(data, rows, columns, stride); }
    [[nodiscard]] Rows from(Index i, Index j) const noexcept { return {at(i, j), rows - i, columns - j, stride}; }
};

/// Strips whose depth is rounded up to whole groups of kRows with rows of zeros, so that a group may be solved at once.
class SolvedStrips {
  public:
    SolvedStrips(Index rows, Index columns)
        : rows_(rows), depth_(round_up(rows, kRows)), columns_(columns), data_(strips() * kStrip<double> * depth_) {}

    [[nodiscard]] Index strips() const noexcept { return strips_of<double>(columns_); }
    [[nodiscard]] Panel<double> panel() const noexcept { return {data_.get(), depth_, columns_}; }
    [[nodiscard]] Index rows() const noexcept { return rows_; }

    /// Packs one strip of `from`, which has as many rows and columns as this.
    void pack(const Factor& from, Index strip) const noexcept {
        const Index width = strip_width<double>(columns_, strip);
        double* to = start(strip);
        pack_strip(from, 0, rows_, strip, to);
        std::fill_n(to + rows_ * width, (depth_ - rows_) * width, 0.0);
    }
    [[nodiscard]] double* start(Index strip) const noexcept { return data_.get() + strip * kStrip<double> * depth_; }

  private:
    Index rows_;
    Index depth_;
    Index columns_;
    ScratchArray<double> data_;
};

/// strip = triangleᵀ⁻¹ strip, in place; `triangle` holds the packed upper factor of the block.
void solve_strip(const SolvedStrips& triangle, double* strip, Index width) noexcept;

/// Packs all strips of `block`, solves them with the triangle and writes them back.
void solve_block(const SolvedStrips& triangle, const Rows& block, const SolvedStrips& solved);

/// rows -= aᵀ b, tile by tile. With Upper, a and b are the same and only the upper triangle is kept up to date.
template <bool Upper>
void clear_block(const Panel<double>& a, const Panel<double>& b, const Rows& rows);

}  // namespace qed
