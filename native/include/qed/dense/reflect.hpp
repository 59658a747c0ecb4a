/// The triangular factor of a tall matrix, by reflections: least squares without squaring its columns.
///
/// Layout: `r` is row-major, q × q, with zeros below the diagonal; signs on the diagonal are whatever the reflections
/// leave. Determinism: shares and blocks of rows depend on shapes alone, a share swallows its blocks in order, and the
/// factors of shares are merged along a fixed tree. Rounding: column by column. The factor is exact for columns that
/// differ from the given ones by a small multiple of q units of 2^-53 of their own lengths. Memory: at most 64 MiB of
/// factors (one at least), a block of rows for each thread and a root for each weight; nothing is copied as a whole.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct TriangleOptions {
    const double* s = nullptr;      ///< a weight for each row, or null for ones
    const double* shift = nullptr;  ///< subtracted from each column of [x | y], or null
    const double* scale = nullptr;  ///< multiplies each column of [x | y] after the shift, or null
    bool ones = false;              ///< a column of ones stands first
};

/// r = triangular factor of √S [1 | ([x | y] - shift) scale]. The squares of what lies in a scaled column must stay
/// within the range of doubles; a remainder shorter than 1e-145 is taken for zero.
void triangle(const Matrix& x, const Matrix& y, const TriangleOptions& options, double* r);

}  // namespace qed
