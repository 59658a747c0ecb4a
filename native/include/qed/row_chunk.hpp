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
template <class S>
class RowChunk {
  public:
    RowChunk(const Matrix& x, Index most)
        : x_(x), direct_(is_direct(x)), copy_(direct_ ? 0 : std::max<Index>(1, most * x.columns)) {}

    static bool is_direct(const Matrix& x) noexcept {
        const bool same = (x.kind == Kind::float32) == std::is_same_v<S, float>;
        return same && (x.column_stride == 1 || x.columns <= 1);
    }
    void move_to(Index row, Index count) noexcept {
        if (direct_) {
            data_ = x_.at<S>(row, 0);
            stride_ = x_.row_stride;
        } else if constexpr (std::is_same_v<S, double>) {
            load_rows(x_, row, count, 0, x_.columns, copy_.get(), x_.columns);
            data_ = copy_.get();
            stride_ = x_.columns;
        }
    }
    [[nodiscard]] const S* row(Index i) const noexcept { return data_ + i * stride_; }

  private:
    const Matrix& x_;
    bool direct_;
    ScratchArray<double> copy_;
    const S* data_ = nullptr;
    Index stride_ = 0;
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
    for (; i < count; ++i) {
        add_shifted<1>(from + i, r + i, shift, length, g);
    }
}

}  // namespace qed
