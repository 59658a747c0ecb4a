/// Penalties on the lengths of groups of coefficients, and what their duality asks.
///
/// Layout: coefficients are row-major, `rows` × `columns`. Determinism: one thread, rows and groups in order. Interrupts are
/// polled between sweeps.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// Σ strength |w_g| + ridge / 2 |w|² over groups g of rows.
struct Groups {
    const Index* number = nullptr;  ///< of the group of each row, below `count`; null means that every row is one
    Index rows = 0;
    Index columns = 0;
    Index count = 0;
    const double* strength = nullptr;
    Index stride = 0;  ///< from one strength to the next: zero if all groups share one
    double ridge = 0.0;

    [[nodiscard]] Index of(Index row) const noexcept { return number == nullptr ? row : number[row]; }
    [[nodiscard]] double bound(Index group) const noexcept { return strength[group * stride]; }
};

double group_value(const Groups& groups, const double* w);

/// The largest factor, one at most, by which every group of z, made longer by that of `rounding_error`, is within its strength.
double group_shrink(const Groups& groups, const double* z, const double* rounding_error);

/// Penalty plus conjugate less w z, for z pulled back to the balls of its groups (what sticks out meets the ridge): with
/// lengths |w|, |z| of a group it is |w| (strength - |z|) + |w| |z| |w/|w| - z/|z||² / 2, where nothing cancels.
struct GroupExcess {
    double value;
    double rounding_error;  ///< how much a z that is off by `rounding_error` may add
};
GroupExcess group_excess(const Groups& groups, const double* w, const double* z, const double* rounding_error);

/// Groups of coefficients that lie side by side, for sweeps of proximal steps: `bend` bounds the curvature of half the squared
/// error along a group, the ridge included.
struct SweptGroups {
    const Index* starts;  ///< count + 1 of them: group g is [starts[g], starts[g + 1])
    const double* bend;
    const double* strength;
    double ridge;
    Index count;
    const Index* visits;  ///< the groups that are visited, in order
    Index visited;
};

/// Points and states of sweeps that follow one another, a row each: the first row is given, each of the `sweeps` others follows
/// from the one before.
struct Sweeps {
    double* points;
    double* states;
    Index sweeps;
};

/// The state is the gradient of ½ wᵀQw - qᵀw; Q is row-major and symmetric, of the size of a point.
void sweep_products(const double* gram, const SweptGroups& groups, const Sweeps& on);

/// The state is the residual Aw - y of `rows` numbers; blocks[g] holds the columns of group g, column after column.
void sweep_columns(const double* const* blocks, Index rows, const SweptGroups& groups, const Sweeps& on);

}  // namespace qed
