/// Coordinate descent for the Newton direction of a sparse precision matrix (graphical lasso).
///
/// Layout: contiguous row-major symmetric matrices, p by p. Determinism: one thread, one order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// Adds to D, which is zero at first, a direction from T that lowers
///   tr((S - W) D) + tr(W D W D) / 2 + alpha * sum over i != j of |T_ij + D_ij|,
/// where W is the inverse of T. Entries that are zero and whose gradient is at most alpha stay zero. At most `sweeps` passes over
/// the others; they end when a pass changes D by less than a hundredth of what it holds. O(p) an entry and pass.
void precision_descent(const double* S, const double* T, const double* W, double alpha, Index p, Index sweeps, double* D);

}  // namespace qed
