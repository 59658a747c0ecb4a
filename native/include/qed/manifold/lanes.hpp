/// Vectors of one size at every instruction level, so that all give the same bits.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"

namespace qed {

inline constexpr int kBytes = 64;

template <class Real>
struct LanesOf {
    static constexpr Index kCount = kBytes / static_cast<Index>(sizeof(Real));
    using Type [[gnu::vector_size(kBytes)]] = Real;
};
template <class Real>
using Lanes = typename LanesOf<Real>::Type;

/// The coordinates of as many points of the plane as a vector holds: a point is loaded as one number, and vectors of
/// points are taken apart into vectors of coordinates.
template <class Real>
[[gnu::always_inline]] inline void load_pairs(const Real* points, const std::int32_t* ends, Lanes<Real>& x,
                                              Lanes<Real>& y) noexcept {
    using V = Lanes<Real>;
    constexpr Index kWide = LanesOf<Real>::kCount;
    if constexpr (sizeof(Real) == sizeof(float)) {
        const auto pair = [&](int lane) {
            std::int64_t bits;
            __builtin_memcpy(&bits, points + 2 * static_cast<Index>(ends[lane]), sizeof(bits));
            return bits;
        };
        using Pairs [[gnu::vector_size(kBytes)]] = std::int64_t;
        const Pairs low = {pair(0), pair(1), pair(2), pair(3), pair(4), pair(5), pair(6), pair(7)};
        const Pairs high = {pair(8), pair(9), pair(10), pair(11), pair(12), pair(13), pair(14), pair(15)};
        const V first = reinterpret_cast<V>(low);
        const V second = reinterpret_cast<V>(high);
        x = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        y = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    } else {
        Real columns[2][kWide];
        for (Index lane = 0; lane < kWide; ++lane) {
            columns[0][lane] = points[2 * static_cast<Index>(ends[lane])];
            columns[1][lane] = points[2 * static_cast<Index>(ends[lane]) + 1];
        }
        __builtin_memcpy(&x, columns[0], sizeof(x));
        __builtin_memcpy(&y, columns[1], sizeof(y));
    }
}

}  // namespace qed
