/// Numbers as unevaluated sums of two doubles: about 32 digits, for merging statistics.
///
/// Determinism: entry by entry, in a fixed order of operations; threads cannot change the result.
#pragma once

#include "qed/matrix.hpp"

namespace qed {

/// A value high + low with |low| at most half a unit in the last place of high.
struct Pair {
    double high;
    double low;
};

/// Two row-major arrays of equal size, read as pairs; `low` may be null for zeros, and both may be null for no array at all.
struct PairsView {
    const double* high = nullptr;
    const double* low = nullptr;
};

/// out = a + b + factor * step stepᵀ, entry by entry; a, b and out are q × q, step has q entries. b may be absent. Symmetric
/// when a and b are.
void add_outer(PairsView a, PairsView b, Index q, PairsView step, Pair factor, double* high, double* low);

/// Moments about the mean of q columns, as pairs: the mean itself, and the scatter, q × q.
struct CentredOut {
    double* mean;
    double* mean_low;
    double* scatter;
    double* scatter_low;
};

/// From sums Σ s z and products Σ s z zᵀ about a shift: mean = shift + sums / weight, and scatter = products less weight
/// times what the shift was off, an outer product. Diagonal entries that rounding leaves below zero become zero. `weight` is
/// positive; `shift` may be null for zero.
void centre_moments(double weight, const double* shift, const double* sums, const double* products, Index q,
                    const CentredOut& out);

}  // namespace qed
