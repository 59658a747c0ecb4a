#include "qed/dense/fourier.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace qed {
namespace {

using V = WaveLanes;

[[gnu::always_inline]] inline Wave operator+(const Wave& a, const Wave& b) noexcept {
    return {a.re + b.re, a.im + b.im};
}
[[gnu::always_inline]] inline Wave operator-(const Wave& a, const Wave& b) noexcept {
    return {a.re - b.re, a.im - b.im};
}
[[gnu::always_inline]] inline Wave scaled(const Wave& a, float by) noexcept {
    return {a.re * by, a.im * by};
}
/// a times -i.
[[gnu::always_inline]] inline Wave turned(const Wave& a) noexcept {
    return {a.im, -a.re};
}

/// The transform of `Radix` numbers.
template <Index Radix>
[[gnu::always_inline]] inline void butterfly(Wave* t) noexcept {
    if constexpr (Radix == 2) {
        const Wave a = t[0];
        t[0] = a + t[1];
        t[1] = a - t[1];
    } else if constexpr (Radix == 3) {
        const Wave sum = t[1] + t[2];
        const Wave side = scaled(turned(t[1] - t[2]), 0.86602540378443864676F);
        const Wave middle = t[0] - scaled(sum, 0.5F);
        t[0] = t[0] + sum;
        t[1] = middle + side;
        t[2] = middle - side;
    } else if constexpr (Radix == 4) {
        const Wave even = t[0] + t[2];
        const Wave odd = t[0] - t[2];
        const Wave sum = t[1] + t[3];
        const Wave side = turned(t[1] - t[3]);
        t[0] = even + sum;
        t[1] = odd + side;
        t[2] = even - sum;
        t[3] = odd - side;
    } else {
        static_assert(Radix == 5);
        constexpr float c1 = 0.30901699437494742410F;
        constexpr float c2 = -0.80901699437494742410F;
        constexpr float s1 = 0.95105651629515357212F;
        constexpr float s2 = 0.58778525229247312917F;
        const Wave sum1 = t[1] + t[4];
        const Wave sum2 = t[2] + t[3];
        const Wave side1 = turned(t[1] - t[4]);
        const Wave side2 = turned(t[2] - t[3]);
        const Wave first = t[0] + scaled(sum1, c1) + scaled(sum2, c2);
        const Wave second = t[0] + scaled(sum1, c2) + scaled(sum2, c1);
        const Wave across1 = scaled(side1, s1) + scaled(side2, s2);
        const Wave across2 = scaled(side1, s2) - scaled(side2, s1);
        t[0] = t[0] + sum1 + sum2;
        t[1] = first + across1;
        t[2] = second + across2;
        t[3] = second - across2;
        t[4] = first - across1;
    }
}

/// One pass of Stockham's transform: sequences of length rest * Radix, `stride` of them interleaved, become Radix times as
/// many of length `rest`.
template <Index Radix>
void pass(const Wave* x, Wave* y, Index rest, Index stride, const float* twiddles) noexcept {
    for (Index p = 0; p < rest; ++p) {
        const float* factors = twiddles + 2 * (Radix - 1) * p;
        for (Index q = 0; q < stride; ++q) {
            Wave t[Radix];
            for (Index j = 0; j < Radix; ++j) {
                t[j] = x[q + stride * (p + j * rest)];
            }
            butterfly<Radix>(t);
            Wave* to = y + q + stride * Radix * p;
            to[0] = t[0];
            for (Index j = 1; j < Radix; ++j) {
                const float c = factors[2 * (j - 1)];
                const float s = factors[2 * (j - 1) + 1];
                to[stride * j] = {t[j].re * c - t[j].im * s, t[j].re * s + t[j].im * c};
            }
        }
    }
}

template <int Step>
[[gnu::always_inline]] inline void exchange(WaveBlock& rows) noexcept {
    for (Index i = 0; i < kWaveLanes; ++i) {
        if ((i & Step) != 0) {
            continue;
        }
        const V a = rows[i];
        const V b = rows[i + Step];
        if constexpr (Step == 8) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            rows[i + Step] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        } else if constexpr (Step == 4) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            rows[i + Step] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        } else if constexpr (Step == 2) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            rows[i + Step] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        } else {
            rows[i] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            rows[i + Step] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        }
    }
}

}  // namespace

void transpose(WaveBlock& rows) noexcept {
    exchange<8>(rows);
    exchange<4>(rows);
    exchange<2>(rows);
    exchange<1>(rows);
}

Fourier::Fourier(Index length) : length_(length) {
    Index rest = length;
    for (const Index radix : {4, 2, 3, 5}) {
        while (rest % radix == 0) {
            const Index before = rest;
            rest /= radix;
            passes_.push_back({radix, rest, static_cast<Index>(twiddles_.size())});
            for (Index p = 0; p < rest; ++p) {
                for (Index j = 1; j < radix; ++j) {
                    const double angle =
                        -2.0 * std::numbers::pi * static_cast<double>(p * j) / static_cast<double>(before);
                    twiddles_.push_back(static_cast<float>(std::cos(angle)));
                    twiddles_.push_back(static_cast<float>(std::sin(angle)));
                }
            }
        }
    }
}

Wave* Fourier::run(Wave* x, Wave* scratch) const noexcept {
    Index stride = 1;
    for (const Pass& each : passes_) {
        const float* factors = twiddles_.data() + each.twiddles;
        switch (each.radix) {
            case 2: pass<2>(x, scratch, each.rest, stride, factors); break;
            case 3: pass<3>(x, scratch, each.rest, stride, factors); break;
            case 4: pass<4>(x, scratch, each.rest, stride, factors); break;
            default: pass<5>(x, scratch, each.rest, stride, factors); break;
        }
        stride *= each.radix;
        std::swap(x, scratch);
    }
    return x;
}

Index Fourier::fitting(Index count) noexcept {
    for (Index length = count + count % 2;; length += 2) {
        Index rest = length;
        for (const Index factor : {2, 3, 5}) {
            while (rest % factor == 0) {
                rest /= factor;
            }
        }
        if (rest == 1) {
            return length;
        }
    }
}

}  // namespace qed
