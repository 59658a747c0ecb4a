/// Numbers as unevaluated sums of two doubles: about 32 digits, for merging statistics.
///
/// Determinism: entry by entry, in a fixed order of operations; threads cannot change the result.
#pragma once

#include "qed/machine/matrix.hpp"

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

/// Where c u sums to over the rows of a row-major table u, for each column: out holds the sums of positive products, then
/// those of negative ones without sign, then their difference. Products are exact and sums compensated: the difference is off
/// by a rounding of itself and (rows * 2^-53)² of both together.
void side_sums(const double* c, const double* u, Index rows, Index columns, double* out) noexcept;

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
