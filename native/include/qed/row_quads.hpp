/// Four dense rows at a time: their products with a vector and with one another, and their sum added to it.
///
/// Learning from four rows one after the other is a chain: each needs the coefficients that the one before left. Once the
/// products of the rows with one another are known, what a row adds to the scores of the next ones is a multiplication, and all
/// long sums are independent.
#pragma once

#include "qed/simd.hpp"

namespace qed {

/// Sums of the lanes of four vectors.
[[gnu::always_inline]] inline void sum_lanes_of_four(const Vector<double> (&v)[4], double* out) noexcept {
    if constexpr (kLanes<double> == 4) {
        using Places [[gnu::vector_size(kVectorBytes)]] = std::int64_t;
        constexpr Places kEven = {0, 4, 2, 6};
        constexpr Places kOdd = {1, 5, 3, 7};
        constexpr Places kFirst = {0, 1, 4, 5};
        constexpr Places kSecond = {2, 3, 6, 7};
        const Vector<double> a = __builtin_shuffle(v[0], v[1], kEven) + __builtin_shuffle(v[0], v[1], kOdd);
        const Vector<double> b = __builtin_shuffle(v[2], v[3], kEven) + __builtin_shuffle(v[2], v[3], kOdd);
        store(out, __builtin_shuffle(a, b, kFirst) + __builtin_shuffle(a, b, kSecond));
    } else {
        for (int k = 0; k < 4; ++k) {
            out[k] = sum_lanes(v[k]);
        }
    }
}

template <class T>
struct RowQuad {
    const T* x[4];
    Index columns;

    /// x_k w.
    void dots(const double* w, double* out) const noexcept {
        Vector<double> total[4] = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> own = load(w + j);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                total[k] += load_wide(x[k] + j) * own;
            }
        }
        sum_lanes_of_four(total, out);
        for (; j < columns; ++j) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                out[k] += static_cast<double>(x[k][j]) * w[j];
            }
        }
    }
    /// x_0 x_1, x_0 x_2, x_1 x_2, x_0 x_3, x_1 x_3, x_2 x_3: for each row its products with those before it. `out` has room for 8.
    void pairs(double* out) const noexcept {
        Vector<double> first[4] = {};
        Vector<double> rest[4] = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> a = load_wide(x[0] + j);
            const Vector<double> b = load_wide(x[1] + j);
            const Vector<double> c = load_wide(x[2] + j);
            const Vector<double> d = load_wide(x[3] + j);
            first[0] += a * b;
            first[1] += a * c;
            first[2] += b * c;
            first[3] += a * d;
            rest[0] += b * d;
            rest[1] += c * d;
        }
        sum_lanes_of_four(first, out);
        sum_lanes_of_four(rest, out + 4);
        for (; j < columns; ++j) {
            const auto a = static_cast<double>(x[0][j]);
            const auto b = static_cast<double>(x[1][j]);
            const auto c = static_cast<double>(x[2][j]);
            const auto d = static_cast<double>(x[3][j]);
            out[0] += a * b;
            out[1] += a * c;
            out[2] += b * c;
            out[3] += a * d;
            out[4] += b * d;
            out[5] += c * d;
        }
    }
    /// |x_k|².
    void squares(double* out) const noexcept {
        Vector<double> total[4] = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                const Vector<double> own = load_wide(x[k] + j);
                total[k] += own * own;
            }
        }
        sum_lanes_of_four(total, out);
        for (; j < columns; ++j) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) {
                out[k] += static_cast<double>(x[k][j]) * static_cast<double>(x[k][j]);
            }
        }
    }
    /// w += Σ factor_k x_k.
    void add(const double* factor, double* w) const noexcept {
        Index j = 0;
        for (; j + kLanes<double> <= columns; j += kLanes<double>) {
            const Vector<double> left = load_wide(x[0] + j) * factor[0] + load_wide(x[1] + j) * factor[1];
            const Vector<double> right = load_wide(x[2] + j) * factor[2] + load_wide(x[3] + j) * factor[3];
            store(w + j, load(w + j) + (left + right));
        }
        for (; j < columns; ++j) {
            const double left = static_cast<double>(x[0][j]) * factor[0] + static_cast<double>(x[1][j]) * factor[1];
            const double right = static_cast<double>(x[2][j]) * factor[2] + static_cast<double>(x[3][j]) * factor[3];
            w[j] += left + right;
        }
    }
};

}  // namespace qed
