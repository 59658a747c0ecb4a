/// Vectors of the instruction set this file is compiled for, and the micro-kernel that everything rests on.
///
/// Layout: a *strip* holds `width` columns of a matrix for `depth` consecutive rows, row after row, so that entry (k,
/// c) lies at k * width + c. Strips are aligned to a cache line and padded with zeros to a multiple of kGranule
/// columns. The same strip serves as the left factor (kRows columns at a time, broadcast) and as the right one (as
/// vectors).
#pragma once

#include <type_traits>

#include "qed/machine/matrix.hpp"

namespace qed {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kRows = 8;
inline constexpr int kVectors = 3;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kRows = 4;
inline constexpr int kVectors = 3;
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kRows = 4;
inline constexpr int kVectors = 2;
#endif

/// Rows of a tile that is one vector wide: as many sums in flight as in a full one.
inline constexpr int kTallRows = kRows * kVectors;

template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int kGranule = kLanes<T> > kRows ? kLanes<T> : kRows;
/// Columns of a full strip.
template <class T>
inline constexpr int kStrip = kVectors * kLanes<T>;
static_assert(kStrip<double> % kGranule<double> == 0 && kStrip<float> % kGranule<float> == 0);

/// Rows a panel sums before its result joins an accumulator: two strips of doubles fit into 32 KiB of first-level
/// cache.
inline constexpr Index kDepth = 128;

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
    using Type [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = double;
    using Loose [[gnu::vector_size(kVectorBytes), gnu::may_alias, gnu::aligned(8)]] = double;
};
template <>
struct VectorOf<float> {
    using Type [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = float;
    using Loose [[gnu::vector_size(kVectorBytes), gnu::may_alias, gnu::aligned(4)]] = float;
};
template <class T>
using Vector = typename VectorOf<T>::Type;

template <class T>
inline Vector<T> load(const T* from) noexcept {
    return *reinterpret_cast<const typename VectorOf<T>::Loose*>(from);
}
template <class T>
inline void store(T* to, Vector<T> value) noexcept {
    *reinterpret_cast<typename VectorOf<T>::Loose*>(to) = value;
}
template <class T>
inline Vector<T> splat(T value) noexcept {
    return value - Vector<T>{};
}

/// A vector or a single number from where either may lie, and back: loops over lanes and what is left say the same thing.
template <class V>
[[gnu::always_inline]] inline V take(const double* from) noexcept {
    if constexpr (std::is_same_v<V, double>) {
        return *from;
    } else {
        return load(from);
    }
}
[[gnu::always_inline]] inline void put(double* to, double value) noexcept {
    *to = value;
}
[[gnu::always_inline]] inline void put(double* to, Vector<double> value) noexcept {
    store(to, value);
}

/// A vector of doubles from numbers of either type.
[[gnu::always_inline]] inline Vector<double> load_wide(const double* from) noexcept {
    return load(from);
}
[[gnu::always_inline]] inline Vector<double> load_wide(const float* from) noexcept {
    using Half [[gnu::vector_size(kVectorBytes / 2), gnu::may_alias, gnu::aligned(4)]] = float;
    return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Vector<double>);
}

/// The sum of the lanes, in one fixed order.
inline double sum_lanes(Vector<double> v) noexcept {
    double total = 0.0;
    for (int lane = 0; lane < kLanes<double>; ++lane) {
        total += v[lane];
    }
    return total;
}

/// total[i][j] = sum over k of a[k * a_stride + i] * b[k * b_stride + j], for R values of i and V vectors of j.
template <class T, int R, int V>
struct Tile {
    Vector<T> total[R][V];

    [[gnu::always_inline]] void multiply(Index depth, const T* a, Index a_stride, const T* b, Index b_stride) noexcept {
        Vector<T> sum[R][V] = {};
        for (Index k = 0; k < depth; ++k) {
            Vector<T> right[V];
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                right[j] = *reinterpret_cast<const Vector<T>*>(b + j * kLanes<T>);
            }
#pragma GCC unroll 24
            for (int i = 0; i < R; ++i) {
#pragma GCC unroll 3
                for (int j = 0; j < V; ++j) {
                    sum[i][j] += right[j] * a[i];
                }
            }
            a += a_stride;
            b += b_stride;
        }
#pragma GCC unroll 24
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                total[i][j] = sum[i][j];
            }
        }
    }

    /// c += total (or -=). Strips of floats join an accumulator of doubles.
    template <bool Subtract>
    [[gnu::always_inline]] void add_to(double* c, Index c_stride) const noexcept {
#pragma GCC unroll 24
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                double* at = c + i * c_stride + j * kLanes<T>;
                if constexpr (std::is_same_v<T, double>) {
                    store(at, Subtract ? load(at) - total[i][j] : load(at) + total[i][j]);
                } else {
                    add_floats(at, total[i][j]);
                }
            }
        }
    }

  private:
    /// Through memory: compilers turn a direct conversion of a vector to twice its size into scalar moves.
    [[gnu::always_inline]] static void add_floats(double* at, Vector<float> value) noexcept {
        using Half [[gnu::vector_size(kVectorBytes / 2), gnu::may_alias]] = float;
        alignas(kVectorBytes) float lanes[kLanes<float>];
        store(lanes, value);
        for (int half = 0; half < 2; ++half) {
            double* to = at + half * kLanes<double>;
            const auto part = *reinterpret_cast<const Half*>(lanes + half * kLanes<double>);
            store(to, load(to) + __builtin_convertvector(part, Vector<double>));
        }
    }
};

}  // namespace qed
