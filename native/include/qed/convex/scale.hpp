/// Residuals and their scale, estimated together: σ² = Σ c min(r², knee² σ²).
///
/// Determinism: one thread, one order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct ScaledSpread {
    double scale;   ///< the largest σ that solves the equation
    double spread;  ///< σ/2 + Σ c σ h(r/σ), h(x) = x²/2 up to the knee, knee |x| - knee²/2 beyond
};

/// `guess` is where to start looking; anything not positive means: nowhere in particular. `knee` may be infinite.
ScaledSpread scaled_spread(Index n, const double* r, const double* c, double knee, double guess) noexcept;

}  // namespace qed
