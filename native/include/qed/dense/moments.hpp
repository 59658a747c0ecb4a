/// First and second moments of weighted rows, and Gram matrices.
#pragma once

#include "qed/dense/product.hpp"

namespace qed {

/// Rows z = [x | y] - shift. `scatter` is q × q row-major with q = columns of x + columns of y.
struct MomentsOut {
    double* weight;   ///< Σ s
    double* sums;     ///< Σ s z
    double* scatter;  ///< Σ s z zᵀ, both triangles
};

/// Adds up the listed rows of x and y (which have equally many), all of them without a list. `s` holds a weight for
/// each row that is added, or is null for ones; `shift` holds q numbers. Nothing is copied as a whole; see product.hpp
/// for order and rounding. NaN and infinities spread as arithmetic has it.
void moments(const Matrix& x, const Matrix& y, RowList list, const double* s, const double* shift,
             const MomentsOut& out);

/// A row near the mean of [x | y], from every `step`-th row: `out` holds q numbers. It is taken relative to one row
/// that counts, so that a constant column is hit exactly. Rows are added one by one: layouts and threads change no bit.
void typical_row(const Matrix& x, const Matrix& y, const double* s, Index step, double* out);

/// Mean and spread Σ s (z - mean)² of each column of z = [x | y], for a total weight. Sums are taken about the first
/// row, which is written to `origin`, so that a constant column has no spread at all; where that row is so far from the
/// others that its distance would cover their spread, sums are taken once more, about the mean.
struct Spreads {
    double* mean;
    double* spread;
    double* origin;
};
void column_spreads(const Matrix& x, const Matrix& y, const double* s, double total, const Spreads& out);

/// Bounds on the rounding of means and spreads that were summed about a row, in any order, with at most `terms`
/// additions. Also where columns are centred after they are summed, so that their whole length rounds and not their
/// spread.
struct MomentRounding {
    double* mean;
    double* spread;
};
void moment_rounding(const double* mean, const double* spread, const double* about, Index columns, double total,
                     Index terms, const MomentRounding& out) noexcept;

/// out = (x - shift)ᵀ S (x - shift), row-major, columns × columns; or, transposed, (x - shift) S (x - shift)ᵀ, rows ×
/// rows. `s` has one weight for each term of the sum: a row of x, or, transposed, a column of x. `shift` belongs to
/// columns of x always.
struct GramOptions {
    const double* s = nullptr;
    const double* shift = nullptr;
    bool transpose = false;
    bool fast = false;  ///< float strips: only sensible for float32 input
};
void gram(const Matrix& x, const GramOptions& options, double* out);

}  // namespace qed
