/// Vectors of float64: multiples added, dot products. Sums go along lanes in an order that depends on the length alone.
#pragma once

#include <cstddef>
#include <vector>

#include "qed/machine/matrix.hpp"
#include "qed/machine/simd.hpp"

namespace qed {

using Numbers = std::vector<double>;

inline std::size_t at(Index i) noexcept {
    return static_cast<std::size_t>(i);
}

inline void add_scaled(const double* __restrict from, double factor, double* __restrict to, Index count) noexcept {
    for (Index i = 0; i < count; ++i) {
        to[i] += factor * from[i];
    }
}

inline double dot(const double* a, const double* b, Index count) noexcept {
    Vector<double> total[4] = {};
    Index i = 0;
    for (; i + 4 * kLanes<double> <= count; i += 4 * kLanes<double>) {
        for (int v = 0; v < 4; ++v) {
            total[v] += load(a + i + v * kLanes<double>) * load(b + i + v * kLanes<double>);
        }
    }
    double rest = 0.0;
    for (; i < count; ++i) {
        rest += a[i] * b[i];
    }
    return sum_lanes((total[0] + total[1]) + (total[2] + total[3])) + rest;
}

}  // namespace qed
