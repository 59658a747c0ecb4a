/// Products of a tall matrix with a few columns, one pass over its rows each.
///
/// Layout: `w` and every small factor is any strided matrix; results are row-major. Determinism: see product.hpp and
/// fold.hpp.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// A matrix whose columns are shifted as it is read; `shift`, one number for each column, may be null.
struct Centred {
    Matrix matrix;
    const double* shift = nullptr;
};

/// out = x w + b, rounded to `kind`; `out` is row-major, rows of x × columns of w, of that kind. `b` may be null.
void multiply(const Centred& x, const Matrix& w, const double* b, Kind kind, void* out);

/// out = xᵀ u, row-major doubles, columns of x × columns of u.
void multiply_transposed(const Centred& x, const Matrix& u, double* out);

/// out[j] = Σ s (x - shift)² over column j. `s` may be null.
void column_squares(const Centred& x, const double* s, double* out);

/// What least squares asks of its residuals r = y - x w - b, without storing them.
struct ResidualOut {
    double* gradient;  ///< xᵀ S r, columns of x × columns of y
    double* sums;      ///< Σ s r for each column of y
    double* squares;   ///< Σ s r²
};
void residual(const Centred& x, const Matrix& y, const Matrix& w, const double* b, const double* s,
              const ResidualOut& out);

/// With z = (x - shift) v, found in blocks of rows and never stored: squares = z² d (entries squared) and fitted = z b,
/// both row-major.
struct ProjectOut {
    double* squares;
    double* fitted;
};
void project(const Matrix& x, const double* shift, const Matrix& v, const Matrix& d, const Matrix& b,
             const ProjectOut& out);

}  // namespace qed
