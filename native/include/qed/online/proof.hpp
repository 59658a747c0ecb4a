/// How far planes are from the best ones, on tables of few columns: all problems of a learner in one call.
///
/// A problem is Σ c ℓ(y, x w + b) + ridge / 2 |w|² + lasso |w|₁ with c the weights over the number of rows. Newton's method solves
/// it, with corners of the loss rounded off less and less; the slopes where it ends, of one weight on both sides where an
/// intercept is free and shrunk to what absolute values hold, are a dual point. What separates the plane from them, row by row
/// and coefficient by coefficient, is its distance, plus a bound on the rounding of every product and sum in it. The objective
/// where the method ends says how much of that distance the dual point, and not the plane, may be to blame for.
#pragma once

#include "qed/online/online.hpp"

namespace qed {

struct OnlineProofIn {
    Matrix x;             ///< float64, rows contiguous
    OnlineTargets targets;
    OnlineLoss loss;
    double width;
    double ridge;
    double lasso;
    bool intercept;
    const double* shift;  ///< of the columns, about their means; null without an intercept
    const double* spans;  ///< lengths of the columns less the shift: what a radius measures coefficients by
    double effort;        ///< how near to the best proof there is, relative to `null`
};

/// What is proved of one plane.
struct OnlineProof {
    double objective;
    double gap;       ///< rounding included
    double rounding;
    double null;      ///< objective without coefficients
    double radius;    ///< of the coefficients against which it holds
    bool is_tight;    ///< whether no dual point proves much more
};

/// `w` is problems x columns, `b` one number for each problem; `u`, problems x rows, gets the dual points.
void prove_online(const OnlineProofIn& in, const double* w, const double* b, double* u, OnlineProof* found);

}  // namespace qed
