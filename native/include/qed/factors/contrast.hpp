/// One pass of independent component analysis: the moments of all sources that a fixed-point step needs, in one go.
///
/// Rows are cut into chunks by shape alone and their sums are added in order, so the result does not depend on threads.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// The contrast G, its slope g and its curvature g'.
enum class Contrast : std::uint8_t {
    log_cosh,  ///< log(cosh(a y)) / a, tanh(a y), a (1 - tanh²)
    bell,      ///< -exp(-y² / 2), y exp(-y² / 2), (1 - y²) exp(-y² / 2)
    quartic,   ///< y⁴ / 4 and y³, as scikit-learn has them: 3 y²
};

/// Sums over rows z of Z (n, k), row-major, with sources y = W z for W (m, k):
/// slopes (m, k) of g(y_i) z_j, curvatures (m,) of g'(y_i), values (m,) of G(y_i).
void contrast_pass(const double* z, Index rows, Index width, const double* w, Index sources, Contrast kind, double a,
                   double* slopes, double* curvatures, double* values);

}  // namespace qed
