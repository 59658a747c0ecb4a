/// Products of packed panels: the loops around the micro-kernel.
#pragma once

#include <algorithm>

#include "qed/pack.hpp"

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

template <class T, bool Subtract>
[[gnu::always_inline]] inline void multiply_tile(Index vectors, Index depth, const T* a, Index a_stride, const T* b,
                                                 Index b_stride, double* c, Index c_stride) noexcept {
    const auto with = [&]<int V>(std::integral_constant<int, V>) {
        Tile<T, V> tile;
        tile.multiply(depth, a, a_stride, b, b_stride);
        tile.template add_to<Subtract>(c, c_stride);
    };
    if (vectors == 3) {
        with(std::integral_constant<int, 3>{});
    } else if (vectors == 2) {
        with(std::integral_constant<int, 2>{});
    } else {
        with(std::integral_constant<int, 1>{});
    }
}

/// c += aᵀ b (or -=). `c` is row-major and padded: padded(a.columns) rows, c_stride >= padded(b.columns).
/// With Upper, a and b are the same panel and entries left of the diagonal are left unfinished.
template <class T, bool Upper, bool Subtract = false>
void multiply_panels(const Panel<T>& a, const Panel<T>& b, double* c, Index c_stride) noexcept {
    for (Index right = 0; right < b.strips(); ++right) {
        const Index b_width = b.width(right);
        const T* b_data = b.strip(right);
        const Index last = Upper ? right + 1 : a.strips();
        for (Index left = 0; left < last; ++left) {
            const Index a_width = a.width(left);
            for (Index g = 0; g < a_width; g += kRows) {
                const Index skip = Upper && left == right ? g / kLanes<T> * kLanes<T> : 0;
                multiply_tile<T, Subtract>((b_width - skip) / kLanes<T>, a.depth, a.strip(left) + g, a_width,
                                           b_data + skip, b_width,
                                           c + (left * kStrip<T> + g) * c_stride + right * kStrip<T> + skip, c_stride);
            }
        }
    }
}

/// sums[c] += sum over rows k of scale[k] * panel(k, c); scale null means one.
inline void add_column_sums(const Panel<double>& panel, const double* scale, double* sums) noexcept {
    for (Index s = 0; s < panel.strips(); ++s) {
        const Index width = panel.width(s);
        for (Index c = 0; c < width; c += kLanes<double>) {
            const double* from = panel.strip(s) + c;
            Vector<double> total{};
            for (Index k = 0; k < panel.depth; ++k) {
                const Vector<double> entry = load(from + k * width);
                total += scale == nullptr ? entry : entry * scale[k];
            }
            double* to = sums + s * kStrip<double> + c;
            store(to, load(to) + total);
        }
    }
}

}  // namespace qed
