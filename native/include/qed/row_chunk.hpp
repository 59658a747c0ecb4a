/// A few rows of a matrix, contiguous, with sums over them: dot products and weighted sums, shifted on the way.
#pragma once

#include <algorithm>
#include <type_traits>

#include "qed/pack.hpp"
#include "qed/scratch.hpp"

namespace qed {

[[gnu::always_inline]] inline Vector<double> load_double(const double* from) noexcept {
    return load(from);
}
[[gnu::always_inline]] inline Vector<double> load_double(const float* from) noexcept {
    using Half [[gnu::vector_size(kVectorBytes / 2), gnu::may_alias, gnu::aligned(4)]] = float;
    return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Vector<double>);
}

/// Rows of x: the array itself where rows are contiguous, a small copy as doubles elsewhere (S must then be double).
///
/// Vectors that are multiplied by rows are padded with zeros to whole registers, `padded_length` of them. Where a row is
/// followed by the next one, or is a padded copy, so many of its entries may be read: what lies beyond counts for nothing.
template <class S>
class RowChunk {
  public:
    RowChunk(const Matrix& x, Index most)
        : x_(x),
          direct_(is_direct(x)),
          width_(padded_length(x.columns)),
          copy_(direct_ ? 0 : std::max<Index>(1, most * width_)) {
        if (!direct_) {
            std::fill_n(copy_.get(), most * width_, 0.0);
        }
    }

    static Index padded_length(Index columns) noexcept { return round_up(columns, kLanes<double>); }
    static bool is_direct(const Matrix& x) noexcept {
        const bool same = (x.kind == Kind::float32) == std::is_same_v<S, float>;
        return same && (x.column_stride == 1 || x.columns <= 1);
    }
    void move_to(Index row, Index count) noexcept {
        if (direct_) {
            data_ = x_.at<S>(row, 0);
            stride_ = x_.row_stride;
            length_ = x_.row_stride == x_.columns && row + count < x_.rows ? width_ : x_.columns;
            length_ = width_ - x_.columns <= x_.columns ? length_ : x_.columns;
        } else if constexpr (std::is_same_v<S, double>) {
            load_rows(x_, row, count, 0, x_.columns, copy_.get(), width_);
            data_ = copy_.get();
            stride_ = width_;
            length_ = width_;
        }
    }
    [[nodiscard]] const S* row(Index i) const noexcept { return data_ + i * stride_; }
    /// How many entries of each row may be read.
    [[nodiscard]] Index length() const noexcept { return length_; }

  private:
    const Matrix& x_;
    bool direct_;
    Index width_;
    ScratchArray<double> copy_;
    const S* data_ = nullptr;
    Index stride_ = 0;
    Index length_ = 0;
};

/// A vector as doubles, padded with zeros to whole registers.
class PaddedVector {
  public:
    PaddedVector(const double* from, Index count) : data_(round_up(count, kLanes<double>)) {
        std::fill_n(data_.get(), round_up(count, kLanes<double>), 0.0);
        std::copy_n(from, count, data_.get());
    }
    [[nodiscard]] const double* get() const noexcept { return data_.get(); }

  private:
    ScratchArray<double> data_;
};

/// Calls `work` with the type that rows of x are read in.
template <class Work>
void with_chunk_type(const Matrix& x, Work&& work) {
    if (RowChunk<float>::is_direct(x)) {
        work(static_cast<const float*>(nullptr));
    } else {
        work(static_cast<const double*>(nullptr));
    }
}

/// out[i] = (row i - shift) · w for R rows at once.
template <int R, class S>
void dot_shifted(const S* const* from, const double* shift, const double* w, Index length, double* out) noexcept {
    Vector<double> total[R] = {};
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        const Vector<double> factor = load(w + c);
        const Vector<double> away = load(shift + c);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            total[i] += (load_double(from[i] + c) - away) * factor;
        }
    }
    for (int i = 0; i < R; ++i) {
        double rest = 0.0;
        for (Index j = c; j < length; ++j) {
            rest += (static_cast<double>(from[i][j]) - shift[j]) * w[j];
        }
        out[i] = sum_lanes(total[i]) + rest;
    }
}

/// g += sum over i of r[i] * (row i - shift), for R rows at once.
template <int R, class S>
void add_shifted(const S* const* from, const double* r, const double* shift, Index length, double* g) noexcept {
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        const Vector<double> away = load(shift + c);
        Vector<double> total = load(g + c);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            total += (load_double(from[i] + c) - away) * r[i];
        }
        store(g + c, total);
    }
    for (; c < length; ++c) {
        double total = g[c];
        for (int i = 0; i < R; ++i) {
            total += (static_cast<double>(from[i][c]) - shift[c]) * r[i];
        }
        g[c] = total;
    }
}

/// out[i] = (row i - shift) · w for `count` rows given by pointers.
template <class S>
void dots_shifted(const S* const* from, Index count, const double* shift, const double* w, Index length,
                  double* out) noexcept {
    Index i = 0;
    for (; i + 8 <= count; i += 8) {
        dot_shifted<8>(from + i, shift, w, length, out + i);
    }
    for (; i < count; ++i) {
        dot_shifted<1>(from + i, shift, w, length, out + i);
    }
}

/// g += sum over `count` rows given by pointers.
template <class S>
void sum_shifted(const S* const* from, const double* r, Index count, const double* shift, Index length,
                 double* g) noexcept {
    Index i = 0;
    for (; i + 8 <= count; i += 8) {
        add_shifted<8>(from + i, r + i, shift, length, g);
    }
    if (i + 4 <= count) {
        add_shifted<4>(from + i, r + i, shift, length, g);
        i += 4;
    }
    if (i + 2 <= count) {
        add_shifted<2>(from + i, r + i, shift, length, g);
        i += 2;
    }
    for (; i < count; ++i) {
        add_shifted<1>(from + i, r + i, shift, length, g);
    }
}

}  // namespace qed
