/// A few rows of a matrix in a near cache, as doubles less a shift, and sums over them.
///
/// Layout: row i starts at row(i), aligned to a register; it is padded with zeros to a multiple of kGranule, as strips
/// are. Vectors that are multiplied by rows are padded with zeros to the same length.
#pragma once

#include <algorithm>
#include <type_traits>

#include "qed/dense/pack.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

/// A vector as doubles, padded with zeros as rows are.
class PaddedVector {
  public:
    PaddedVector(const double* from, Index count) : data_(round_up(count, kGranule<double>)) {
        std::fill_n(data_.get(), round_up(count, kGranule<double>), 0.0);
        std::copy_n(from, count, data_.get());
    }
    [[nodiscard]] const double* get() const noexcept { return data_.get(); }

  private:
    ScratchArray<double> data_;
};

class CentredRows {
  public:
    CentredRows(const Matrix& x, const double* shift, Index most)
        : x_(x), shift_(shift, x.columns), width_(padded_length(x.columns)), data_(std::max<Index>(1, most * width_)) {}

    static Index padded_length(Index columns) noexcept { return round_up(columns, kGranule<double>); }
    /// Reads rows [row, row + count).
    void take(Index row, Index count) noexcept {
        if (x_.column_stride == 1 || x_.columns <= 1) {
            with_type(x_.kind, [&](auto type) {
                using S = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                if constexpr (std::is_same_v<S, double> || std::is_same_v<S, float>) {
                    take_contiguous(x_.at<S>(row, 0), count);
                }
            });
            return;
        }
        load_rows(x_, row, count, 0, x_.columns, data_.get(), width_);
        for (Index i = 0; i < count; ++i) {
            double* to = data_.get() + i * width_;
            std::fill(to + x_.columns, to + width_, 0.0);
            for (Index c = 0; c < x_.columns; ++c) {
                to[c] -= shift_.get()[c];
            }
        }
    }
    [[nodiscard]] const double* row(Index i) const noexcept { return data_.get() + i * width_; }
    [[nodiscard]] Index width() const noexcept { return width_; }
    [[nodiscard]] Index columns() const noexcept { return x_.columns; }

  private:
    template <class S>
    void take_contiguous(const S* from, Index count) noexcept {
        constexpr Index kPage = 4096 / static_cast<Index>(sizeof(S));  // entries: that is where streams are lost
        constexpr Index kLine = kCacheLine / sizeof(S);
        const Index columns = x_.columns;
        // rows of a sample lie apart, and no stream finds them
        const Index ahead = x_.row_stride <= 2 * columns ? kPage : 6 * x_.row_stride;
        const double* shift = shift_.get();
        for (Index i = 0; i < count; ++i, from += x_.row_stride) {
            double* to = data_.get() + i * width_;
            for (Index c = 0; c < columns; c += kLine) {
                __builtin_prefetch(from + c + ahead);
            }
            Index c = 0;
            for (; c + kLanes<double> <= columns; c += kLanes<double>) {
                store(to + c, load_wide(from + c) - load(shift + c));
            }
            for (; c < columns; ++c) {
                to[c] = static_cast<double>(from[c]) - shift[c];
            }
            for (; c < width_; ++c) {
                to[c] = 0.0;
            }
        }
    }

    const Matrix& x_;
    PaddedVector shift_;
    Index width_;
    ScratchArray<double> data_;
};

/// out[i] = row i · w for R rows.
template <int R>
[[gnu::always_inline]] inline void dot_rows(const double* from, Index width, const double* w, double* out) noexcept {
    Vector<double> total[R] = {};
    for (Index c = 0; c < width; c += kLanes<double>) {
        const Vector<double> factor = load(w + c);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            total[i] += load(from + i * width + c) * factor;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
        out[i] = sum_lanes(total[i]);
    }
}

/// out[i] = row i · w for the first `count` rows.
inline void dot_rows(const CentredRows& rows, Index count, const double* w, double* out) noexcept {
    Index i = 0;
    for (; i + 8 <= count; i += 8) {
        dot_rows<8>(rows.row(i), rows.width(), w, out + i);
    }
    for (; i < count; ++i) {
        dot_rows<1>(rows.row(i), rows.width(), w, out + i);
    }
}

/// g += sum over i of r[i] * from[i], V vectors of columns.
template <int V>
[[gnu::always_inline]] inline void add_columns(const double* const* from, const double* r, Index count, Index at,
                                               double* g) noexcept {
    Vector<double> even[V] = {};
    Vector<double> odd[V] = {};
    Index i = 0;
    for (; i + 2 <= count; i += 2) {
        const double* one = from[i] + at;
        const double* two = from[i + 1] + at;
#pragma GCC unroll 6
        for (int j = 0; j < V; ++j) {
            even[j] += load(one + j * kLanes<double>) * r[i];
            odd[j] += load(two + j * kLanes<double>) * r[i + 1];
        }
    }
    for (; i < count; ++i) {
#pragma GCC unroll 6
        for (int j = 0; j < V; ++j) {
            even[j] += load(from[i] + at + j * kLanes<double>) * r[i];
        }
    }
#pragma GCC unroll 6
    for (int j = 0; j < V; ++j) {
        double* to = g + at + j * kLanes<double>;
        store(to, load(to) + (even[j] + odd[j]));
    }
}

/// g += sum over `count` rows, given by pointers, of r[i] times the row.
inline void add_rows(const double* const* from, const double* r, Index count, Index width, double* g) noexcept {
    constexpr int kMost = kVectorBytes == 64 ? 6 : 5;  // registers hold twice as many sums
    Index at = 0;
    for (; at + kMost * kLanes<double> <= width; at += kMost * kLanes<double>) {
        add_columns<kMost>(from, r, count, at, g);
    }
    for (; at + 2 * kLanes<double> <= width; at += 2 * kLanes<double>) {
        add_columns<2>(from, r, count, at, g);
    }
    if (at < width) {
        add_columns<1>(from, r, count, at, g);
    }
}

}  // namespace qed
