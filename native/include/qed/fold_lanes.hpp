/// One number from the lanes of a vector, by halves: three steps for eight lanes instead of seven.
#pragma once

#include "qed/simd.hpp"

namespace qed {

template <class Operation>
[[gnu::always_inline]] inline double fold_lanes(Vector<double> v, const Operation& operation) noexcept {
    using Places = decltype(Vector<double>{} < Vector<double>{});
#pragma GCC unroll 4
    for (int step = kLanes<double> / 2; step > 0; step /= 2) {
        Places other = {};
#pragma GCC unroll 8
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            other[lane] = lane ^ step;
        }
        v = operation(v, __builtin_shuffle(v, other));
    }
    return v[0];
}

}  // namespace qed
