/// Newton's method by coordinates: Σ c ℓ(x w + b) plus a penalty with kinks, x compressed by columns.
///
/// Every round replaces the loss by its second-order model at the scores so far. Coefficients that are not zero and those
/// that want to leave it are visited a few times, in a drawn order; the best intercept of the model follows every step.
/// Once few signs change, conjugate gradients solve for all coefficients that are not zero at once, within a radius that
/// follows from how far the steps before have led, and signs that would change stop at zero. The slopes of the model after such a step are a dual point that is better than those of the loss.
/// Determinism: sweeps are one thread, the order is drawn from the seed; what runs in threads writes to places of its own,
/// cut by shape alone, and is merged in order. Interrupts are polled between sweeps.
#pragma once

#include <cstdint>

#include "qed/convex/coordinate.hpp"
#include "qed/convex/loss.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

struct CurvedIn {
    LossKind kind;      ///< of one score a row
    const double* y;    ///< targets
    const double* c;    ///< weights
    SparseRows columns; ///< a row for each column of x, entries sorted
    Kinks penalty;
    bool has_intercept;
};

/// What changes; `t`, `slope` and `gradient` are written afresh at the end, `dual` where there is one.
inline constexpr Index kCurvedPace = 6;
struct CurvedState {
    double* pace;  ///< kCurvedPace numbers that one call hands to the next: zeros at first
    double* w;
    double b;
    double* t;
    double* slope;
    double* gradient;
    double* dual;
};

struct CurvedDone {
    Index rounds;
    double gap;     ///< what separates w from the slope, or the dual point, to within a small factor
    bool has_dual;  ///< whether it is the dual point
    bool is_over;   ///< whether rounding allows no further step
};

/// Goes on until the gap is within the target, for `goal.most` rounds or about `work` visits of entries at most.
CurvedDone descend_curved(const CurvedIn& in, const Goal& goal, double work, CurvedState& state);

}  // namespace qed
