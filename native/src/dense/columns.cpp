#include "qed/dense/columns.hpp"

#include <algorithm>
#include <utility>

#include "qed/dense/fold.hpp"
#include "qed/dense/pack.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// Wider matrices are cut into chunks of so many columns, one task each; the sums of a chunk stay in second-level
/// cache.
constexpr Index kChunkColumns = 2048;
/// Columns whose sums stay in first-level cache while rows pass by.
constexpr Index kTileColumns = 512;
constexpr int kRowsTogether = 4;
constexpr int kColumnsTogether = 4;

/// What the sums of one pass are made of.
struct Operands {
    const double* u;      ///< column after column
    Index length;         ///< of a column of u
    const double* s;      ///< or null for ones
    const double* shift;  ///< of the chunk, or null
};

template <class T>
struct Rows {
    const T* data;
    Index row_stride;
};

/// sums += contributions of R rows, tile of `width` columns; sums lie `stride` apart, squares after the M products.
template <int R, int M, bool Squares, class T>
void add_rows(const Rows<T>& x, Index row, Index column, Index width, const Operands& with, double* sums,
              Index stride) noexcept {
    const T* from[R];
    double factor[R][M + 1];
    for (int i = 0; i < R; ++i) {
        from[i] = x.data + i * x.row_stride + column;
        for (int a = 0; a < M; ++a) {
            factor[i][a] = with.u[a * with.length + row + i];
        }
        factor[i][M] = with.s == nullptr ? 1.0 : with.s[row + i];
    }
    const auto step = [&]<class V>(V, Index c) {
        constexpr bool kWhole = !std::is_same_v<V, double>;
        V entry[R];
        V origin{};
        if (with.shift != nullptr) {
            if constexpr (kWhole) {
                origin = load(with.shift + column + c);
            } else {
                origin = with.shift[column + c];
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
            if constexpr (kWhole) {
                entry[i] = load_wide(from[i] + c) - origin;
            } else {
                entry[i] = static_cast<double>(from[i][c]) - origin;
            }
        }
#pragma GCC unroll 9
        for (int a = 0; a < M + (Squares ? 1 : 0); ++a) {
            double* to = sums + a * stride + column + c;
            V total;
            if constexpr (kWhole) {
                total = load(to);
            } else {
                total = *to;
            }
#pragma GCC unroll 4
            for (int i = 0; i < R; ++i) {
                total += a < M ? entry[i] * factor[i][a] : entry[i] * entry[i] * factor[i][M];
            }
            if constexpr (kWhole) {
                store(to, total);
            } else {
                *to = total;
            }
        }
    };
    Index c = 0;
    for (; c + kLanes<double> <= width; c += kLanes<double>) {
        step(Vector<double>{}, c);
    }
    for (; c < width; ++c) {
        step(0.0, c);
    }
}

template <int M, bool Squares, class T>
void add_row_block(Rows<T> x, Index first, Index last, Index columns, const Operands& with, double* sums) noexcept {
    for (Index tile = 0; tile < columns; tile += kTileColumns) {
        const Index width = std::min(kTileColumns, columns - tile);
        Rows<T> at = x;
        Index row = first;
        for (; row + kRowsTogether <= last; row += kRowsTogether) {
            add_rows<kRowsTogether, M, Squares>(at, row, tile, width, with, sums, columns);
            at.data += kRowsTogether * x.row_stride;
        }
        for (; row < last; ++row) {
            add_rows<1, M, Squares>(at, row, tile, width, with, sums, columns);
            at.data += x.row_stride;
        }
    }
}

/// The same for contiguous columns: C of them at once.
template <int C, int M, bool Squares, class T>
void add_columns(const T* x, Index column_stride, Index first, Index count, Index column, Index columns,
                 const Operands& with, double* sums) noexcept {
    constexpr int kSums = M + (Squares ? 1 : 0);
    Vector<double> total[C][kSums] = {};
    double origin[C];
    for (int j = 0; j < C; ++j) {
        origin[j] = with.shift == nullptr ? 0.0 : with.shift[column + j];
    }
    const double* s = with.s == nullptr ? nullptr : with.s + first;
    const double* u = with.u + first;
    Index i = 0;
    for (; i + kLanes<double> <= count; i += kLanes<double>) {
        Vector<double> factor[M + 1];
#pragma GCC unroll 8
        for (int a = 0; a < M; ++a) {
            factor[a] = load(u + a * with.length + i);
        }
        factor[M] = s == nullptr ? splat(1.0) : load(s + i);
#pragma GCC unroll 4
        for (int j = 0; j < C; ++j) {
            const Vector<double> entry = load_wide(x + j * column_stride + i) - origin[j];
#pragma GCC unroll 8
            for (int a = 0; a < M; ++a) {
                total[j][a] += entry * factor[a];
            }
            if constexpr (Squares) {
                total[j][M] += entry * entry * factor[M];
            }
        }
    }
    for (int j = 0; j < C; ++j) {
        double rest[kSums] = {};
        for (Index k = i; k < count; ++k) {
            const double entry = static_cast<double>(x[j * column_stride + k]) - origin[j];
            for (int a = 0; a < M; ++a) {
                rest[a] += entry * u[a * with.length + k];
            }
            if constexpr (Squares) {
                rest[M] += entry * entry * (s == nullptr ? 1.0 : s[k]);
            }
        }
        for (int a = 0; a < kSums; ++a) {
            sums[a * columns + column + j] += sum_lanes(total[j][a]) + rest[a];
        }
    }
}

template <int M, bool Squares, class T>
void add_column_block(const T* x, Index column_stride, Index first, Index last, Index columns, const Operands& with,
                      double* sums) noexcept {
    Index j = 0;
    constexpr int kTogether = M > 4 ? 2 : kColumnsTogether;  // as many sums as there are registers
    for (; j + kTogether <= columns; j += kTogether) {
        add_columns<kTogether, M, Squares>(x + j * column_stride, column_stride, first, last - first, j, columns, with,
                                           sums);
    }
    for (; j < columns; ++j) {
        add_columns<1, M, Squares>(x + j * column_stride, column_stride, first, last - first, j, columns, with, sums);
    }
}

/// sums (M products, then squares; `columns` numbers each) += rows [first, last) of columns [column, column + columns).
template <int M, bool Squares>
void add_block(const Matrix& x, Index first, Index last, Index column, Index columns, const Operands& with,
               double* sums) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        if (x.row_stride == 1 && last - first > 1) {
            add_column_block<M, Squares>(x.at<T>(first, column), x.column_stride, first, last, columns, with, sums);
        } else if (x.column_stride == 1 || columns <= 1) {
            add_row_block<M, Squares>(Rows<T>{x.at<T>(first, column), x.row_stride}, first, last, columns, with, sums);
        } else {
            constexpr Index kCopied = 16;
            const ScratchArray<double> copy(kCopied * columns);
            for (Index row = first; row < last; row += kCopied) {
                const Index count = std::min(kCopied, last - row);
                load_rows(x, row, count, column, columns, copy.get(), columns);
                add_row_block<M, Squares>(Rows<double>{copy.get(), columns}, row, row + count, columns, with, sums);
            }
        }
    });
}

template <int M, bool Squares>
void sums_of(const Centred& x, const Operands& with, const ColumnSums& out) {
    constexpr int kSums = M + (Squares ? 1 : 0);
    const Matrix& matrix = x.matrix;
    const Index rows = matrix.rows;
    const Index step = fold_rows(rows, kDepth);
    const Index width = matrix.columns > 2 * kChunkColumns ? kChunkColumns : matrix.columns;
    const auto chunk = [&](Index number) {
        const Index column = number * width;
        const Index columns = std::min(width, matrix.columns - column);
        Operands here = with;
        here.shift = x.shift == nullptr ? nullptr : x.shift + column;
        const ScratchArray<double> total(kSums * columns);
        fold_blocks(blocks_of(rows, step), kSums * columns, total.get(), [&](Index block, double* part) {
            add_block<M, Squares>(matrix, block * step, std::min(rows, (block + 1) * step), column, columns, here,
                                  part);
        });
        for (Index j = 0; j < columns; ++j) {
            for (int a = 0; a < M; ++a) {
                out.cross[(column + j) * M + a] = total[a * columns + j];
            }
            if constexpr (Squares) {
                out.squares[column + j] = total[M * columns + j];
            }
        }
    };
    if (width == matrix.columns) {
        chunk(0);  // in threads over blocks of rows
    } else {
        parallel_for(blocks_of(matrix.columns, width), chunk);
    }
}

}  // namespace

void column_sums(const Centred& x, const Matrix& u, const double* s, const ColumnSums& out) {
    if (x.matrix.columns == 0) {
        return;
    }
    const Effort effort(static_cast<double>(x.matrix.rows) * static_cast<double>(x.matrix.columns) *
                        static_cast<double>(u.columns + 3));
    const ScratchArray<double> loaded(u.rows * u.columns);
    load_rows(u.transposed(), 0, u.columns, 0, u.rows, loaded.get(), u.rows);
    const Operands with{loaded.get(), u.rows, s, nullptr};
    const auto call = [&]<int M>(std::integral_constant<int, M>) {
        if (out.squares != nullptr) {
            sums_of<M, true>(x, with, out);
        } else if constexpr (M > 0) {
            sums_of<M, false>(x, with, out);
        }
    };
    const auto dispatch = [&]<int... M>(std::integer_sequence<int, M...>) {
        static_cast<void>(((u.columns == M ? (call(std::integral_constant<int, M>{}), true) : false) || ...));
    };
    dispatch(std::make_integer_sequence<int, static_cast<int>(kFewColumns) + 1>{});
}

void take_columns(const Centred& x, const Index* index, Index count, const double* scale, double* out) {
    const Matrix& from = x.matrix;
    const Effort effort(4.0 * static_cast<double>(from.rows) * static_cast<double>(count));
    with_type(from.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        // blocks of rows, so that a row that lies together in memory is read while its lines are near
        constexpr Index kRowsAtOnce = 64;
        parallel_for(blocks_of(from.rows, kRowsAtOnce), [&](Index block) {
            const Index first = block * kRowsAtOnce;
            const Index last = std::min(from.rows, first + kRowsAtOnce);
            for (Index j = 0; j < count; ++j) {
                const T* column = from.at<T>(0, index[j]);
                const double origin = x.shift == nullptr ? 0.0 : x.shift[index[j]];
                double* to = out + j * from.rows;
                for (Index i = first; i < last; ++i) {
                    const double entry = static_cast<double>(column[i * from.row_stride]) - origin;
                    to[i] = scale == nullptr ? entry : entry * scale[i];
                }
            }
        });
    });
}

}  // namespace qed
