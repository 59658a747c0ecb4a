#include "qed/tables/by_class.hpp"

#include <algorithm>

#include "qed/dense/fold.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

constexpr Index kPanelRows = 256;
/// Rows that are copied row-major before use where columns do not lie side by side.
constexpr Index kCopiedRows = 64;
constexpr Index kDistanceRows = 512;

/// Rows [first, last) one after the other, each contiguous: as they lie, or through a small copy.
template <class T, class Work>
void each_row(const Matrix& x, Index first, Index last, Work&& work) {
    if (x.column_stride == 1 || x.columns <= 1) {
        for (Index i = first; i < last; ++i) {
            work(i, x.at<T>(i, 0));
        }
        return;
    }
    const ScratchArray<T> copy(kCopiedRows * x.columns);
    for (Index start = first; start < last; start += kCopiedRows) {
        const Index count = std::min(kCopiedRows, last - start);
        for (Index j = 0; j < x.columns; ++j) {
            const T* from = x.at<T>(start, j);
            for (Index i = 0; i < count; ++i) {
                copy[i * x.columns + j] = from[i * x.row_stride];
            }
        }
        for (Index i = 0; i < count; ++i) {
            work(start + i, copy.get() + i * x.columns);
        }
    }
}

/// sums += w (x - shift), squares += w (x - shift)², for the columns of one row.
template <bool Shifted, bool Squares, class T>
void add_row(const T* x, Index columns, double w, const double* shift, double* sums, double* squares) noexcept {
    Index j = 0;
    for (; j + kLanes<double> <= columns; j += kLanes<double>) {
        Vector<double> entry = load_wide(x + j);
        if constexpr (Shifted) {
            entry -= load(shift + j);
        }
        const Vector<double> part = entry * w;
        store(sums + j, load(sums + j) + part);
        if constexpr (Squares) {
            store(squares + j, load(squares + j) + part * entry);
        }
    }
    for (; j < columns; ++j) {
        const double entry = static_cast<double>(x[j]) - (Shifted ? shift[j] : 0.0);
        const double part = entry * w;
        sums[j] += part;
        if constexpr (Squares) {
            squares[j] += part * entry;
        }
    }
}

template <bool Shifted, bool Squares, class T>
void add_panel(const Matrix& x, const ClassSums& with, Index first, Index last, double* out) {
    const Index p = x.columns;
    const Index size = with.classes * p;
    each_row<T>(x, first, last, [&](Index i, const T* row) {
        const double w = with.s == nullptr ? 1.0 : with.s[i];
        const Index at = static_cast<Index>(with.codes[i]) * p;
        add_row<Shifted, Squares>(row, p, w, Shifted ? with.shift + at : nullptr, out + at,
                                  Squares ? out + size + at : nullptr);
    });
}

template <class T>
void add_rows(const Matrix& x, const ClassSums& with, Index first, Index last, double* out) {
    if (with.squares) {
        with.shift == nullptr ? add_panel<false, true, T>(x, with, first, last, out)
                              : add_panel<true, true, T>(x, with, first, last, out);
    } else {
        with.shift == nullptr ? add_panel<false, false, T>(x, with, first, last, out)
                              : add_panel<true, false, T>(x, with, first, last, out);
    }
}

/// Σ ((x - centre) scale)² over the columns of R rows that lie `stride` apart.
template <int R, class T>
void squared_distances(const T* x, Index stride, Index columns, const double* centre, const double* scale, double* out,
                       Index out_stride) noexcept {
    Vector<double> total[R] = {};
    Index j = 0;
    for (; j + kLanes<double> <= columns; j += kLanes<double>) {
        const Vector<double> from = load(centre + j);
        const Vector<double> times = load(scale + j);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const Vector<double> z = (load_wide(x + r * stride + j) - from) * times;
            total[r] += z * z;
        }
    }
    for (int r = 0; r < R; ++r) {
        double sum = sum_lanes(total[r]);
        for (Index rest = j; rest < columns; ++rest) {
            const double z = (static_cast<double>(x[r * stride + rest]) - centre[rest]) * scale[rest];
            sum += z * z;
        }
        out[r * out_stride] = sum;
    }
}

template <class T>
void distances_of(const T* x, Index stride, Index rows, Index columns, Index classes, const double* centre,
                  const double* scale, double* out) noexcept {
    Index i = 0;
    for (; i + 4 <= rows; i += 4) {
        for (Index k = 0; k < classes; ++k) {
            squared_distances<4>(x + i * stride, stride, columns, centre + k * columns, scale + k * columns,
                                 out + i * classes + k, classes);
        }
    }
    for (; i < rows; ++i) {
        for (Index k = 0; k < classes; ++k) {
            squared_distances<1>(x + i * stride, stride, columns, centre + k * columns, scale + k * columns,
                                 out + i * classes + k, classes);
        }
    }
}

}  // namespace

Index sum_classes(const Matrix& x, const ClassSums& with, double* out) {
    const Index size = with.classes * x.columns * (with.squares ? 2 : 1);
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(x.columns));
    // a panel has several rows for each class, so that adding it up costs less than reading it
    const Index panel = std::max(kPanelRows, 8 * with.classes);
    const Index block_rows = fold_rows(x.rows, panel);
    with_type(x.kind, [&]<class T>(const T*) {
        fold_blocks(blocks_of(x.rows, block_rows), size, out, [&](Index block, double* part) {
            const Index first = block * block_rows;
            const Index last = std::min(x.rows, first + block_rows);
            if (last - first <= panel) {
                add_rows<T>(x, with, first, last, part);
                return;
            }
            const ScratchArray<double> sums(size);
            for (Index at = first; at < last; at += panel) {
                std::fill_n(sums.get(), size, 0.0);
                add_rows<T>(x, with, at, std::min(last, at + panel), sums.get());
                for (Index i = 0; i < size; ++i) {
                    part[i] += sums[i];
                }
            }
        });
    });
    return panel + blocks_of(block_rows, panel) + 8;
}

void class_distances(const Matrix& x, Index classes, const double* centre, const double* scale, double* out) {
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(x.columns) * static_cast<double>(classes));
    const Index p = x.columns;
    with_type(x.kind, [&]<class T>(const T*) {
        parallel_for(blocks_of(x.rows, kDistanceRows), [&](Index block) {
            const Index first = block * kDistanceRows;
            const Index last = std::min(x.rows, first + kDistanceRows);
            if (x.column_stride == 1 || p <= 1) {
                distances_of(x.at<T>(first, 0), x.row_stride, last - first, p, classes, centre, scale,
                             out + first * classes);
                return;
            }
            each_row<T>(x, first, last, [&](Index i, const T* row) {
                distances_of(row, p, 1, p, classes, centre, scale, out + i * classes);
            });
        });
    });
}

}  // namespace qed
