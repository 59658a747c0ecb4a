/// Projection of a few numbers onto the simplex.
#pragma once

#include <algorithm>

#include "qed/machine/matrix.hpp"

namespace qed {

/// Returns the level by which `count` numbers are lowered so that what is left above zero sums to one; `work` is overwritten.
inline double simplex_level(const double* a, double* work, Index count) noexcept {
    std::copy(a, a + count, work);
    double sum = 0.0;
    for (Index k = 0; k < count; ++k) {
        sum += work[k];
    }
    Index left = count;
    double level = (sum - 1.0) / static_cast<double>(left);
    for (Index round = 0; round < count; ++round) {  // Michelot: numbers below the level never return
        Index kept = 0;
        sum = 0.0;
        for (Index k = 0; k < left; ++k) {
            if (work[k] > level) {
                sum += work[k];
                work[kept++] = work[k];
            }
        }
        if (kept == left || kept == 0) {
            break;
        }
        left = kept;
        level = (sum - 1.0) / static_cast<double>(left);
    }
    return level;
}

}  // namespace qed
