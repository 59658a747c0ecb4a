/// The method of multipliers for losses made of straight pieces under a ridge, on a table of few columns.
///
/// The loss of each row is rounded off about a dual variable, its anchor: ℓ*(u) gains bend (u - anchor)²/2. What is left is
/// piecewise quadratic, and Newton's method ends on it after finitely many steps, of which each costs two products with the
/// table and the products of the rows whose dual variable is between its ends. The anchors then move to the dual variables,
/// the bend shrinks, and rows that do not lie on a kink stop to matter. Determinism: see product.hpp and fold.hpp.
#pragma once

#include "qed/convex/coordinate.hpp"
#include "qed/convex/dual_ascent.hpp"
#include "qed/machine/matrix.hpp"

namespace qed {

struct MultipliersIn {
    DualLosses loss;  ///< pieces, whose own bend is not looked at: it is zero
    Matrix x;
    const double* c;  ///< weights
    double ridge;     ///< > 0
};

/// What changes. `u` is only written: dual variables that belong to `w`. A bend of zero is chosen from the scores.
struct MultipliersState {
    double* w;
    double* u;
    double* anchor;
    double bend;
};

struct MultipliersDone {
    Index rounds;
    double gap;    ///< what separates w from u, at most
    bool is_over;  ///< whether rounding allows no further step
};

/// Goes on until the gap is within the target, for `goal.most` steps at most.
MultipliersDone follow_multipliers(const MultipliersIn& in, const Goal& goal, MultipliersState& state);

}  // namespace qed
