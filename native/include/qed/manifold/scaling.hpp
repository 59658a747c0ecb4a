/// Products of squared distances, for the eigenvectors of classical scaling.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// out_i = sum over j of D_ij^2 v_j, for D of m x n and v of n x c, both row after row. The squares are never stored.
/// Determinism: every row is summed by one thread, in order.
void squared_product(const double* D, Index m, Index n, const double* v, Index c, double* out);

}  // namespace qed
