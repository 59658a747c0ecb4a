#include "qed/dense/rows.hpp"

#include <algorithm>
#include <vector>

#include "qed/dense/columns.hpp"
#include "qed/dense/fold.hpp"
#include "qed/dense/packed_rows.hpp"
#include "qed/dense/product.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// Up to this many columns, row by row beats packing.
constexpr Index kRowByRow = 4;

/// A small factor as contiguous doubles, column after column.
std::vector<double> columns_of(const Matrix& w) {
    std::vector<double> out(static_cast<std::size_t>(w.rows * w.columns));
    load_rows(w.transposed(), 0, w.columns, 0, w.rows, out.data(), w.rows);
    return out;
}

/// Kernels that read rows work on float or double; a float32 matrix that must be copied anyway is read as doubles.
template <class Work>
void with_row_type(const Centred& x, Work&& work) {
    if (x.shift == nullptr && x.matrix.kind == Kind::float32 && x.matrix.column_stride == 1) {
        work(static_cast<const float*>(nullptr));
    } else {
        work(static_cast<const double*>(nullptr));
    }
}

/// Rows of x, contiguous: the array itself where it is so already, a small copy as doubles otherwise.
template <class S>
class RowBlock {
  public:
    explicit RowBlock(const Centred& x)
        : x_(x.matrix),
          shift_(x.shift),
          direct_(std::is_same_v<S, float> || (shift_ == nullptr && x_.kind == Kind::float64 &&
                                               (x_.column_stride == 1 || x_.columns <= 1))),
          size_(std::clamp<Index>(3072 / std::max<Index>(x_.columns, 1) / 4 * 4, 4, 64)),
          copy_(direct_ ? 0 : size_ * x_.columns) {}

    /// Rows in a block; as many as fit into first-level cache.
    [[nodiscard]] Index size() const noexcept { return size_; }
    void move_to(Index row, Index count) noexcept {
        if (direct_) {
            data_ = x_.at<S>(row, 0);
            stride_ = x_.row_stride;
        } else if constexpr (std::is_same_v<S, double>) {
            load_rows(x_, row, count, 0, x_.columns, copy_.get(), x_.columns);
            data_ = copy_.get();
            stride_ = x_.columns;
            subtract_shift(count);
        }
    }
    [[nodiscard]] const S* row(Index i) const noexcept { return data_ + i * stride_; }

  private:
    void subtract_shift(Index count) noexcept {
        if (shift_ == nullptr) {
            return;
        }
        for (Index i = 0; i < count; ++i) {
            double* to = copy_.get() + i * stride_;
            for (Index j = 0; j < x_.columns; ++j) {
                to[j] -= shift_[j];
            }
        }
    }

    const Matrix& x_;
    const double* shift_;
    bool direct_;
    Index size_;
    ScratchArray<double> copy_;
    const S* data_ = nullptr;
    Index stride_ = 0;
};

/// out[i] = rows[i] · w for R rows at once.
template <int R, class S>
void dot_rows(const RowBlock<S>& rows, Index first, const double* w, Index length, double* out) noexcept {
    Vector<double> total[R] = {};
    const S* from[R];
    for (int i = 0; i < R; ++i) {
        from[i] = rows.row(first + i);
    }
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        const Vector<double> factor = load(w + c);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
            total[i] += load_wide(from[i] + c) * factor;
        }
    }
    for (int i = 0; i < R; ++i) {
        double rest = 0.0;
        for (Index j = c; j < length; ++j) {
            rest += static_cast<double>(from[i][j]) * w[j];
        }
        out[i] = sum_lanes(total[i]) + rest;
    }
}

/// out[i] = row i · w for `count` rows.
template <class S>
void dots(const RowBlock<S>& rows, Index count, const double* w, Index length, double* out) noexcept {
    Index i = 0;
    for (; i + 4 <= count; i += 4) {
        dot_rows<4>(rows, i, w, length, out + i);
    }
    for (; i < count; ++i) {
        dot_rows<1>(rows, i, w, length, out + i);
    }
}

/// g += sum over i of r[i] * row i.
template <int R, class S>
void add_rows_times(const RowBlock<S>& rows, Index first, const double* r, Index length, double* g) noexcept {
    const S* from[R];
    for (int i = 0; i < R; ++i) {
        from[i] = rows.row(first + i);
    }
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        Vector<double> total = load(g + c);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
            total += load_wide(from[i] + c) * r[i];
        }
        store(g + c, total);
    }
    for (; c < length; ++c) {
        for (int i = 0; i < R; ++i) {
            g[c] += static_cast<double>(from[i][c]) * r[i];
        }
    }
}

template <class S>
void add_gradient(const RowBlock<S>& rows, Index count, const double* r, Index length, double* g) noexcept {
    Index i = 0;
    for (; i + 4 <= count; i += 4) {
        add_rows_times<4>(rows, i, r + i, length, g);
    }
    for (; i < count; ++i) {
        add_rows_times<1>(rows, i, r + i, length, g);
    }
}

template <class S, class T>
void multiply_few(const Centred& x, const Matrix& w, const double* b, T* out) {
    const std::vector<double> columns = columns_of(w);
    const Index m = w.columns;
    const Index step = std::max<Index>(64, (Index{1} << 17) / std::max<Index>(x.matrix.columns, 1));
    parallel_for(blocks_of(x.matrix.rows, step), [&](Index block) {
        const Index last = std::min(x.matrix.rows, (block + 1) * step);
        RowBlock<S> rows(x);
        double result[64];
        for (Index row = block * step; row < last; row += rows.size()) {
            const Index count = std::min(rows.size(), last - row);
            rows.move_to(row, count);
            for (Index j = 0; j < m; ++j) {
                dots(rows, count, columns.data() + j * x.matrix.columns, x.matrix.columns, result);
                const double offset = b == nullptr ? 0.0 : b[j];
                for (Index i = 0; i < count; ++i) {
                    out[(row + i) * m + j] = static_cast<T>(result[i] + offset);
                }
            }
        }
    });
}

template <class T>
void multiply_many(const Centred& x, const Matrix& w, const double* b, T* out) {
    const Index m = w.columns;
    const Index stride = padded<double>(m);
    Factor x_transposed = plain(x.matrix.transposed());
    x_transposed.row_shift = x.shift;
    PackedRows<double> right(plain(w), w.rows);
    right.fill(0);
    parallel_for(blocks_of(x.matrix.rows, kTile<double>), [&](Index tile) {
        const Index row = tile * kTile<double>;
        const Index count = std::min(kTile<double>, x.matrix.rows - row);
        const ScratchArray<double> result(padded<double>(count) * stride);
        std::fill_n(result.get(), padded<double>(count) * stride, 0.0);
        multiply_rows(x_transposed, tile, count, right, result.get(), stride);
        for (Index i = 0; i < count; ++i) {
            for (Index j = 0; j < m; ++j) {
                out[(row + i) * m + j] = static_cast<T>(result[i * stride + j] + (b == nullptr ? 0.0 : b[j]));
            }
        }
    });
}

/// The part of a fold over rows that belongs to residuals: gradient (column after column), then sums, then squares.
struct ResidualPart {
    double* gradient;
    double* sums;
    double* squares;
};

/// Turns fitted values into weighted residuals and takes their sums.
void take_residuals(const double* y, const double* s, Index count, double offset, double* fitted, double& sum,
                    double& square) noexcept {
    double total = 0.0;
    double squares = 0.0;
    for (Index i = 0; i < count; ++i) {
        const double r = (y[i] - offset) - fitted[i];  // targets far from zero lose no digits to their mean
        const double weighted = s == nullptr ? r : r * s[i];
        total += weighted;
        squares += weighted * r;
        fitted[i] = weighted;
    }
    sum += total;
    square += squares;
}

template <class S>
void add_residuals(const Centred& x, const Matrix& y, const double* w, const double* b, const double* s, Index first,
                   Index last, const ResidualPart& part) {
    RowBlock<S> rows(x);
    double target[64];
    double fitted[64];
    for (Index row = first; row < last; row += rows.size()) {
        const Index count = std::min(rows.size(), last - row);
        rows.move_to(row, count);
        for (Index j = 0; j < y.columns; ++j) {
            load_rows(y, row, count, j, 1, target, 1);
            dots(rows, count, w + j * x.matrix.columns, x.matrix.columns, fitted);
            take_residuals(target, s == nullptr ? nullptr : s + row, count, b[j], fitted, part.sums[j],
                           part.squares[j]);
            add_gradient(rows, count, fitted, x.matrix.columns, part.gradient + j * x.matrix.columns);
        }
    }
}

/// Multiply-adds of a product; reading a row costs as much as a few columns.
double operations(const Centred& x, const Matrix& w) noexcept {
    return static_cast<double>(x.matrix.rows) * static_cast<double>(x.matrix.columns) *
           static_cast<double>(w.columns + 2);
}

}  // namespace

void multiply(const Centred& x, const Matrix& w, const double* b, Kind kind, void* out) {
    const Effort effort(operations(x, w));
    with_type(kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        if (w.columns <= kRowByRow) {
            with_row_type(x, [&](auto row_type) {
                using S = std::remove_cv_t<std::remove_pointer_t<decltype(row_type)>>;
                multiply_few<S>(x, w, b, static_cast<T*>(out));
            });
        } else {
            multiply_many(x, w, b, static_cast<T*>(out));
        }
    });
}

void multiply_transposed(const Centred& x, const Matrix& u, double* out) {
    const Effort effort(operations(x, u));
    if (u.columns <= kFewColumns) {
        column_sums(x, u, nullptr, {out, nullptr});
    } else {
        Factor left = plain(x.matrix);
        left.column_shift = x.shift;
        cross_product(left, plain(u), out);
    }
}

void column_squares(const Centred& x, const double* s, double* out) {
    column_sums(x, Matrix{.rows = x.matrix.rows}, s, {nullptr, out});
}

void residual(const Centred& x, const Matrix& y, const Matrix& w, const double* b, const double* s,
              const ResidualOut& out) {
    const Effort effort(2 * operations(x, w));
    const Index p = x.matrix.columns;
    const Index m = y.columns;
    const Index size = (p + 2) * m;
    const Index step = fold_rows(x.matrix.rows, kDepth);
    const std::vector<double> columns = columns_of(w);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(x.matrix.rows, step), size, total.get(), [&](Index block, double* part) {
        const Index first = block * step;
        with_row_type(x, [&](auto type) {
            using S = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            add_residuals<S>(x, y, columns.data(), b, s, first, std::min(x.matrix.rows, first + step),
                             {part, part + p * m, part + (p + 1) * m});
        });
    });
    for (Index i = 0; i < p; ++i) {
        for (Index j = 0; j < m; ++j) {
            out.gradient[i * m + j] = total[j * p + i];
        }
    }
    std::copy_n(total.get() + p * m, m, out.sums);
    std::copy_n(total.get() + (p + 1) * m, m, out.squares);
}

}  // namespace qed
