/// Distances between points of an embedding against distances they should have.
///
/// Layout: points are k columns of n numbers, column after column; D is n x n, row after row, symmetric.
/// Determinism: rows are summed in blocks of fixed size, blocks in order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct StressSums {
    double stress = 0.0;   // sum over pairs of (D - d)^2
    double squares = 0.0;  // sum over pairs of d^2
};

/// One step of majorisation (Guttman's transform): out_i is the mean over j of D_ij / d_ij (x_i - x_j), points that coincide
/// adding nothing. Returns what the points x leave, not those of `out`.
StressSums guttman_step(const double* D, const double* x, Index n, Index k, double* out);

/// Distances of all pairs i < j, row after row.
void pair_distances(const double* x, Index n, Index k, double* out);

}  // namespace qed
