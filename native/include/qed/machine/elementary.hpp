/// Exponential and logarithm of vectors, to about one unit in the last place over the whole range of doubles.
///
/// The same polynomial runs in every lane, so that the result for a number does not depend on its place in a block.
#pragma once

#include <cstdint>

#include "qed/machine/simd.hpp"

namespace qed {

using Bits [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = std::int64_t;

inline constexpr double kLog2High = 0x1.62e42fefa38p-1;  // ln 2 in 42 bits: its multiples by exponents are exact
inline constexpr double kLog2Low = 0x1.ef35793c7673p-45;

[[gnu::always_inline]] inline Vector<double> maximum(Vector<double> a, Vector<double> b) noexcept {
    return a > b ? a : b;
}
[[gnu::always_inline]] inline Vector<double> minimum(Vector<double> a, Vector<double> b) noexcept {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline Vector<double> absolute(Vector<double> a) noexcept {
    return maximum(a, -a);
}

/// 2^k for integers k of moderate size, given with 1.5 * 2^52 added, whose low bits are k itself.
[[gnu::always_inline]] inline Vector<double> power_of_two(Vector<double> shifted) noexcept {
    const Bits bits = reinterpret_cast<Bits>(shifted) << 52;
    return reinterpret_cast<Vector<double>>(bits + reinterpret_cast<Bits>(splat(1.0)));
}

/// exp(x): infinity above 709.78, zero below -745.13, NaN for NaN.
[[gnu::always_inline]] inline Vector<double> exponential(Vector<double> x) noexcept {
    constexpr double kMagic = 0x1.8p52;
    const Vector<double> within = minimum(maximum(x, splat(-746.0)), splat(710.0));
    const Vector<double> k = (within * 0x1.71547652b82fep0 + kMagic) - kMagic;
    const Vector<double> r = (within - k * kLog2High) - k * kLog2Low;
    // the series to the 13th power is exact to 2^-57 for |r| <= ln(2) / 2
    Vector<double> p = splat(1.0 / 6227020800.0);
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r) * r + r + 1.0;
    // in two factors: 2^1024 and 2^-1074 are not normal numbers
    const Vector<double> half = (k * 0.5 + kMagic) - kMagic;
    p = p * power_of_two(half + kMagic) * power_of_two((k - half) + kMagic);
    return x == x ? p : x;
}

/// log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
[[gnu::always_inline]] inline Vector<double> log_near_one(Vector<double> f) noexcept {
    const Vector<double> s = f / (f + 2.0);
    const Vector<double> z = s * s;
    Vector<double> p = splat(2.0 / 23.0);
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    // f itself carries the leading digits; only what is far smaller is rounded
    const Vector<double> square = f * f * 0.5;
    return f - (square - s * (square + p * z));
}

/// log(1 + e) for 0 <= e <= 1.
[[gnu::always_inline]] inline Vector<double> log_one_plus(Vector<double> e) noexcept {
    const auto large = e > splat(0.41421356237309503);
    const Vector<double> near = log_near_one(large ? (e - 1.0) * 0.5 : e);
    return large ? near + 0.6931471805599453 : near;
}

/// log(v) for normal v > 0; numbers below the smallest normal one are taken for it.
[[gnu::always_inline]] inline Vector<double> logarithm(Vector<double> v) noexcept {
    const Vector<double> normal = maximum(v, splat(0x1p-1022));
    const Bits bits = reinterpret_cast<Bits>(normal);
    const Bits offset = bits - 0x3fe6a09e667f3bcdLL;  // sqrt(1/2)
    const Bits exponent = offset >> 52;
    const Vector<double> mantissa = reinterpret_cast<Vector<double>>(bits - (exponent << 52));
    const Vector<double> k = __builtin_convertvector(exponent, Vector<double>);
    return k * kLog2High + (log_near_one(mantissa - 1.0) + k * kLog2Low);
}

}  // namespace qed
