/// Products of packed panels: the loops around the micro-kernel.
#pragma once

#include <algorithm>

#include "qed/dense/pack.hpp"

namespace qed {

/// `columns` columns packed into strips of `depth` rows, each strip at data + strip * kStrip * depth.
template <class T>
struct Panel {
    const T* data;
    Index depth;
    Index columns;

    [[nodiscard]] Index strips() const noexcept { return strips_of<T>(columns); }
    [[nodiscard]] Index width(Index strip) const noexcept { return strip_width<T>(columns, strip); }
    [[nodiscard]] const T* strip(Index number) const noexcept { return data + number * kStrip<T> * depth; }
    /// Strips [first, last) as a panel of their own.
    [[nodiscard]] Panel part(Index first, Index last) const noexcept {
        return {strip(first), depth, std::min(columns, last * kStrip<T>) - first * kStrip<T>};
    }
};

/// c += aᵀ b for R columns of a and V vectors of b.
template <class T, int R, int V, bool Subtract>
[[gnu::always_inline]] inline void multiply_tile(Index depth, const T* a, Index a_stride, const T* b, Index b_stride,
                                                 double* c, Index c_stride) noexcept {
    Tile<T, R, V> tile;
    tile.multiply(depth, a, a_stride, b, b_stride);
    tile.template add_to<Subtract>(c, c_stride);
}

/// c += aᵀ b for all columns of one strip a against `vectors` vectors of b. On a diagonal strip, vectors that lie
/// wholly left of the diagonal are passed over.
template <class T, bool Diagonal, bool Subtract>
void multiply_strips(Index depth, const T* a, Index a_width, const T* b, Index b_width, double* c,
                     Index c_stride) noexcept {
    for (Index g = 0; g < a_width;) {
        const Index skip = Diagonal ? g / kLanes<T> * kLanes<T> : 0;
        const Index vectors = (b_width - skip) / kLanes<T>;
        double* at = c + g * c_stride + skip;
        if (vectors == 1 && !Diagonal && a_width - g >= kTallRows) {
            multiply_tile<T, kTallRows, 1, Subtract>(depth, a + g, a_width, b, b_width, at, c_stride);
            g += kTallRows;
            continue;
        }
        if (vectors == 3) {
            multiply_tile<T, kRows, 3, Subtract>(depth, a + g, a_width, b + skip, b_width, at, c_stride);
        } else if (vectors == 2) {
            multiply_tile<T, kRows, 2, Subtract>(depth, a + g, a_width, b + skip, b_width, at, c_stride);
        } else {
            multiply_tile<T, kRows, 1, Subtract>(depth, a + g, a_width, b + skip, b_width, at, c_stride);
        }
        g += kRows;
    }
}

/// c += aᵀ b (or -=). `c` is row-major and padded: padded(a.columns) rows, c_stride >= padded(b.columns).
/// With Upper, a and b are the same panel and entries left of the diagonal are left unfinished.
template <class T, bool Upper, bool Subtract = false>
void multiply_panels(const Panel<T>& a, const Panel<T>& b, double* c, Index c_stride) noexcept {
    for (Index right = 0; right < b.strips(); ++right) {
        const Index b_width = b.width(right);
        const Index full = Upper ? right : a.strips();
        double* at = c + right * kStrip<T>;
        for (Index left = 0; left < full; ++left) {
            multiply_strips<T, false, Subtract>(a.depth, a.strip(left), a.width(left), b.strip(right), b_width,
                                                at + left * kStrip<T> * c_stride, c_stride);
        }
        if (Upper) {
            multiply_strips<T, true, Subtract>(a.depth, a.strip(right), b_width, b.strip(right), b_width,
                                               at + right * kStrip<T> * c_stride, c_stride);
        }
    }
}

/// The sums of one strip, V vectors wide. Two chains for each vector keep the adders busy.
template <int V>
void add_strip_sums(const double* from, Index depth, const double* scale, double* sums) noexcept {
    constexpr Index width = V * kLanes<double>;
    Vector<double> even[V] = {};
    Vector<double> odd[V] = {};
    Index k = 0;
    for (; k + 2 <= depth; k += 2) {
        const double first = scale == nullptr ? 1.0 : scale[k];
        const double second = scale == nullptr ? 1.0 : scale[k + 1];
#pragma GCC unroll 3
        for (int j = 0; j < V; ++j) {
            even[j] += load(from + k * width + j * kLanes<double>) * first;
            odd[j] += load(from + (k + 1) * width + j * kLanes<double>) * second;
        }
    }
    for (; k < depth; ++k) {
        for (int j = 0; j < V; ++j) {
            even[j] += load(from + k * width + j * kLanes<double>) * (scale == nullptr ? 1.0 : scale[k]);
        }
    }
    for (int j = 0; j < V; ++j) {
        store(sums + j * kLanes<double>, load(sums + j * kLanes<double>) + (even[j] + odd[j]));
    }
}

/// sums[c] += sum over rows k of scale[k] * panel(k, c); scale null means one.
inline void add_column_sums(const Panel<double>& panel, const double* scale, double* sums) noexcept {
    for (Index s = 0; s < panel.strips(); ++s) {
        const Index width = panel.width(s);
        const auto add = [&]<int V>(std::integral_constant<int, V>) {
            add_strip_sums<V>(panel.strip(s), panel.depth, scale, sums + s * kStrip<double>);
        };
        if (width == 3 * kLanes<double>) {
            add(std::integral_constant<int, 3>{});
        } else if (width == 2 * kLanes<double>) {
            add(std::integral_constant<int, 2>{});
        } else {
            add(std::integral_constant<int, 1>{});
        }
    }
}

}  // namespace qed
