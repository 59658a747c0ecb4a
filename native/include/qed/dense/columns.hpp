/// Sums over the columns of a matrix, and columns taken out of it.
///
/// Layout: rows or columns of `x` that are contiguous are read where they are; other strides go through a small copy.
/// Determinism: blocks of rows and chunks of columns depend on the shape alone; blocks are merged in order. Rounding:
/// at most 8192 rows are summed plainly, blocks by TwoSum.
#pragma once

#include "qed/dense/rows.hpp"

namespace qed {

/// Up to this many columns of u go with one pass.
inline constexpr Index kFewColumns = 8;

struct ColumnSums {
    double* cross;    ///< Σ u (x - shift), columns of x × columns of u, row-major; null if u has no columns
    double* squares;  ///< Σ s (x - shift)², one for each column; may be null
};
/// One pass over x. `u` has at most kFewColumns columns; `s` may be null for ones.
void column_sums(const Centred& x, const Matrix& u, const double* s, const ColumnSums& out);

/// out (column after column, each of x.rows doubles) = scale (x - shift) for the columns in `index`. `scale`, one
/// number for each row, may be null. Indices are trusted.
void take_columns(const Centred& x, const Index* index, Index count, const double* scale, double* out);

}  // namespace qed
