/// Isotonic least squares by pooling adjacent violators.
///
/// Layout: contiguous vectors. Determinism: one thread, one order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// Writes the best rising values for rows that are sorted by x: equal x share a value, which is the weighted mean of y over a
/// block of neighbours. Weights are positive; without any (nullptr) every row counts once. O(n) in time and memory.
void pool_adjacent_violators(const double* x, const double* y, const double* s, Index n, double* out);

}  // namespace qed
