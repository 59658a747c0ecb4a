/// Penalties on the lengths of groups of coefficients, and what their duality asks.
///
/// Layout: coefficients are row-major, `rows` × `columns`. Determinism: one thread, rows in order.
#pragma once

#include "qed/matrix.hpp"

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

/// The largest factor, one at most, by which every group of z, made longer by that of `doubt`, is within its strength.
double group_shrink(const Groups& groups, const double* z, const double* doubt);

/// Penalty plus conjugate less w z, for z pulled back to the balls of its groups (what sticks out meets the ridge): with
/// lengths |w|, |z| of a group it is |w| (strength - |z|) + |w| |z| |w/|w| - z/|z||² / 2, where nothing cancels.
struct GroupExcess {
    double value;
    double doubt;  ///< how much a z that is off by `doubt` may add
};
GroupExcess group_excess(const Groups& groups, const double* w, const double* z, const double* doubt);

}  // namespace qed
