/// Newton's method on a table of few columns: Σ c ℓ(x w + b) plus a penalty with kinks.
///
/// Every round writes the second derivatives down, products of columns with each other, and minimises the model on them:
/// by a Cholesky factor where the penalty is a ridge alone, by coordinates where it has kinks. A free intercept is
/// eliminated from the model. Determinism: see product.hpp and fold.hpp.
#pragma once

#include "qed/convex/coordinate.hpp"
#include "qed/convex/dual_ascent.hpp"
#include "qed/convex/loss.hpp"
#include "qed/dense/rows.hpp"

namespace qed {

/// A loss by name with its targets, or by the pieces of its conjugate, with bend > 0.
struct NarrowLoss {
    LossKind kind;
    const double* y;           ///< null for pieces
    const DualLosses* pieces;  ///< null for a name
};

struct NarrowIn {
    NarrowLoss loss;
    Centred x;
    const double* c;  ///< weights
    Kinks penalty;
    bool has_intercept;
    double flattest = 1e-12;  ///< curvature of a row, relative to the most curved one: less makes models singular
};

/// What changes; `t`, `slope` and `gradient` are those of w and b, made afresh.
struct NarrowState {
    double* w;
    double b;
    double* t;
    double* slope;
    double* gradient;
};

struct NarrowDone {
    Index rounds;
    double loss;   ///< Σ c ℓ
    double gap;    ///< what separates w from the slopes as a dual point, at most
    bool is_over;  ///< whether rounding allows no further step
};

/// Goes on until the gap is within the target, for `goal.most` rounds at most.
NarrowDone descend_narrow(const NarrowIn& in, const Goal& goal, NarrowState& state);

/// What separates w from the slopes whose adjoint product is `gradient`, as a dual point that is shrunk until it is
/// feasible; `loss` is the weighted mean loss, which a shrunk slope costs a share of, and `square` is Σ c slope² /
/// curvature, which it costs the square of that share of, about.
double slope_gap(const Kinks& penalty, Index size, const double* w, const double* gradient, double loss,
                 double square) noexcept;

}  // namespace qed
