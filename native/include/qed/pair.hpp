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

}  // namespace qed
