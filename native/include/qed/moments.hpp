/// First and second moments of weighted rows, and Gram matrices.
#pragma once

#include "qed/product.hpp"

namespace qed {

/// Rows z = [x | y] - shift. `scatter` is q × q row-major with q = columns of x + columns of y.
struct MomentsOut {
    double* weight;   ///< Σ s
    double* sums;     ///< Σ s z
    double* scatter;  ///< Σ s z zᵀ, both triangles
};

/// Adds up all rows of x and y (which have equally many). `s` holds a weight for each row, or is null for ones; `shift`
/// holds q numbers. Nothing is copied as a whole; see product.hpp for order and rounding. NaN and infinities spread as
/// arithmetic has it.
void moments(const Matrix& x, const Matrix& y, const double* s, const double* shift, const MomentsOut& out);

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
