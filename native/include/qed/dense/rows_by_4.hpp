/// Four dense rows at a time: their products with a vector and with one another, and their sum added to it.
///
/// Learning from four rows one after the other is a chain: each needs the coefficients that the one before left. Once the
/// products of the rows with one another are known, what a row adds to the scores of the next ones is a multiplication, and all
/// long sums are independent.
#pragma once

#include "qed/machine/simd.hpp"

namespace qed {

/// Sums of the lanes of four vectors, and of one number more for each.
[[gnu::always_inline]] inline void sum_lanes_of_four(const Vector<double> (&v)[4], const double (&more)[4],
                                                     double (&out)[4]) noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)
    const auto halves = [](Vector<double> a, Vector<double> b) noexcept {
        return __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    };
    const Vector<double> a = halves(v[0], v[1]);
    const Vector<double> b = halves(v[2], v[3]);
    const Vector<double> sum = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
    const Vector<double> rest = {more[0], more[1], more[2], more[3]};
    store(out, sum + rest);
#else
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
        out[k] = sum_lanes(v[k]) + more[k];
    }
#endif
}

template <class T>
struct RowQuad {
    const T* x[4];
    Index columns;

    /// x_k w.
    [[gnu::always_inline]] void dots(const double* w, double (&out)[4]) const noexcept {
        const T* const a = x[0];
        const T* const b = x[1];
        const T* const c = x[2];
        const T* const d = x[3];
        Vector<double> total[4] = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> own = load(w + j);
            total[0] += load_wide(a + j) * own;
            total[1] += load_wide(b + j) * own;
            total[2] += load_wide(c + j) * own;
            total[3] += load_wide(d + j) * own;
        }
        double rest[4] = {};
        for (; j < columns; ++j) {
            rest[0] += static_cast<double>(a[j]) * w[j];
            rest[1] += static_cast<double>(b[j]) * w[j];
            rest[2] += static_cast<double>(c[j]) * w[j];
            rest[3] += static_cast<double>(d[j]) * w[j];
        }
        sum_lanes_of_four(total, rest, out);
    }
    /// x_0 x_1, x_0 x_2, x_1 x_2, x_0 x_3, x_1 x_3, x_2 x_3: for each row its products with those before it.
    [[gnu::always_inline]] void pairs(double (&out)[6]) const noexcept {
        Vector<double> first[4] = {};
        Vector<double> second[4] = {};
        const T* const p = x[0];
        const T* const q = x[1];
        const T* const r = x[2];
        const T* const s = x[3];
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> a = load_wide(p + j);
            const Vector<double> b = load_wide(q + j);
            const Vector<double> c = load_wide(r + j);
            const Vector<double> d = load_wide(s + j);
            first[0] += a * b;
            first[1] += a * c;
            first[2] += b * c;
            first[3] += a * d;
            second[0] += b * d;
            second[1] += c * d;
        }
        double rest[4] = {};
        double last[4] = {};
        for (; j < columns; ++j) {
            const auto a = static_cast<double>(p[j]);
            const auto b = static_cast<double>(q[j]);
            const auto c = static_cast<double>(r[j]);
            const auto d = static_cast<double>(s[j]);
            rest[0] += a * b;
            rest[1] += a * c;
            rest[2] += b * c;
            rest[3] += a * d;
            last[0] += b * d;
            last[1] += c * d;
        }
        double four[4];
        double two[4];
        sum_lanes_of_four(first, rest, four);
        sum_lanes_of_four(second, last, two);
        out[0] = four[0];
        out[1] = four[1];
        out[2] = four[2];
        out[3] = four[3];
        out[4] = two[0];
        out[5] = two[1];
    }
    /// |x_k|².
    void squares(double (&out)[4]) const noexcept {
        Vector<double> total[4] = {};
        double rest[4] = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                const Vector<double> own = load_wide(x[k] + j);
                total[k] += own * own;
            }
        }
        for (; j < columns; ++j) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                rest[k] += static_cast<double>(x[k][j]) * static_cast<double>(x[k][j]);
            }
        }
        sum_lanes_of_four(total, rest, out);
    }
    /// w += Σ factor_k x_k.
    [[gnu::always_inline]] void add(const double (&factor)[4], double* __restrict w) const noexcept {
        const T* const p = x[0];
        const T* const q = x[1];
        const T* const r = x[2];
        const T* const s = x[3];
        const double a = factor[0];
        const double b = factor[1];
        const double c = factor[2];
        const double d = factor[3];
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> left = load_wide(p + j) * a + load_wide(q + j) * b;
            const Vector<double> right = load_wide(r + j) * c + load_wide(s + j) * d;
            store(w + j, load(w + j) + (left + right));
        }
        for (; j < columns; ++j) {
            const double left = static_cast<double>(p[j]) * a + static_cast<double>(q[j]) * b;
            const double right = static_cast<double>(r[j]) * c + static_cast<double>(s[j]) * d;
            w[j] += left + right;
        }
    }
};

}  // namespace qed
