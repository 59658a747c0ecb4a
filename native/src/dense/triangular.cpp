#include "qed/dense/triangular.hpp"

#include <algorithm>

#include "qed/dense/block_solve.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// The group of kRows rows that starts at `first`: subtract what is solved already, then go through the small triangle.
template <int V>
void solve_group(const SolvedStrips& triangle, Index first, double* strip) noexcept {
    constexpr Index width = V * kLanes<double>;
    const Panel<double> upper = triangle.panel();
    const Index number = first / kStrip<double>;
    const Index inside = first % kStrip<double>;
    const Index stride = upper.width(number);
    const double* factor = upper.strip(number) + inside;  // entry (k, first + i) at factor[k * stride + i]
    double* group = strip + first * width;
    multiply_tile<double, kRows, V, true>(first, factor, stride, strip, width, group, width);
    for (Index i = 0; i < std::min<Index>(kRows, triangle.rows() - first); ++i) {
        const double pivot = factor[(first + i) * stride + i];
#pragma GCC unroll 3
        for (int j = 0; j < V; ++j) {
            Vector<double> value = load(group + i * width + j * kLanes<double>);
            for (Index k = 0; k < i; ++k) {
                value -= load(group + k * width + j * kLanes<double>) * factor[(first + k) * stride + i];
            }
            store(group + i * width + j * kLanes<double>, value / pivot);
        }
    }
}

void clear_tile_at_edge(const Panel<double>& a, const Panel<double>& b, bool diagonal, const Rows& rows) {
    const ScratchArray<double> buffer(kTile<double> * kTile<double>);
    for (Index i = 0; i < padded<double>(a.columns); ++i) {
        double* line = buffer.get() + i * kTile<double>;
        const Index filled = i < a.columns ? b.columns : 0;
        std::copy_n(rows.at(std::min(i, a.columns - 1), 0), filled, line);
        std::fill_n(line + filled, padded<double>(b.columns) - filled, 0.0);
    }
    if (diagonal) {
        multiply_panels<double, true, true>(a, b, buffer.get(), kTile<double>);
    } else {
        multiply_panels<double, false, true>(a, b, buffer.get(), kTile<double>);
    }
    for (Index i = 0; i < a.columns; ++i) {
        std::copy_n(buffer.get() + i * kTile<double>, b.columns, rows.at(i, 0));
    }
}

/// l seen backwards along both axes and across: the transposed system, lower triangular again.
Matrix reversed_across(const Matrix& l) noexcept {
    Matrix out = l;
    if (l.rows > 0) {
        with_type(l.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            out.data = l.at<T>(l.rows - 1, l.columns - 1);
        });
    }
    out.row_stride = -l.column_stride;
    out.column_stride = -l.row_stride;
    return out;
}

Matrix part_of(const Matrix& whole, Index row, Index column, Index rows, Index columns) noexcept {
    Matrix out{whole.data, whole.kind, rows, columns, whole.row_stride, whole.column_stride};
    with_type(whole.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        out.data = whole.at<T>(row, column);
    });
    return out;
}

/// x holds the right-hand sides on entry and the solution on return.
void solve_in_place(const Matrix& l, const Rows& x) {
    const Index n = l.rows;
    const Matrix u = l.transposed();
    for (Index k = 0; k < n; k += kDepth) {
        const Index rows = std::min(kDepth, n - k);
        const Index below = n - k - rows;
        const SolvedStrips triangle(rows, rows);
        const Factor corner = plain(part_of(u, k, k, rows, rows));
        parallel_for(triangle.strips(), [&](Index strip) { triangle.pack(corner, strip); });
        const SolvedStrips solved(rows, x.columns);
        solve_block(triangle, {x.at(k, 0), rows, x.columns, x.stride}, solved);
        if (below == 0) {
            break;
        }
        const SolvedStrips factor(rows, below);
        const Factor right = plain(part_of(u, k, k + rows, rows, below));
        parallel_for(blocks_of(factor.strips(), 4), [&](Index block) {
            for (Index strip = block * 4; strip < std::min(factor.strips(), block * 4 + 4); ++strip) {
                factor.pack(right, strip);
            }
        });
        clear_block<false>(factor.panel(), solved.panel(), x.from(k + rows, 0));
    }
}

/// A single right-hand side costs one look at l, so it is solved along the contiguous axis of l, without packing.
bool is_plain(const Matrix& l) noexcept {
    return l.kind == Kind::float64 && (l.row_stride == 1 || l.column_stride == 1);
}

void subtract_scaled(const double* __restrict from, double factor, double* __restrict to, Index count) noexcept {
    for (Index i = 0; i < count; ++i) {
        to[i] -= factor * from[i];
    }
}

double dot(const double* a, const double* b, Index count) noexcept {
    Vector<double> total[4] = {};
    Index i = 0;
    for (; i + 4 * kLanes<double> <= count; i += 4 * kLanes<double>) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            total[j] += load(a + i + j * kLanes<double>) * load(b + i + j * kLanes<double>);
        }
    }
    double sum = sum_lanes((total[0] + total[1]) + (total[2] + total[3]));
    for (; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// x = l⁻¹ x for one column, by columns of l or by its rows, whichever is contiguous.
void solve_one(const Matrix& l, double* x) {
    const Index n = l.rows;
    for (Index k = 0; k < n; ++k) {
        const double pivot = *l.at<double>(k, k);
        if (l.row_stride == 1) {
            x[k] /= pivot;
            subtract_scaled(l.at<double>(k + 1, k), x[k], x + k + 1, n - k - 1);
        } else {
            x[k] = (x[k] - dot(l.at<double>(k, 0), x, k)) / pivot;
        }
    }
}

/// x = l⁻ᵀ x for one column.
void solve_one_transposed(const Matrix& l, double* x) {
    const Index n = l.rows;
    for (Index k = n - 1; k >= 0; --k) {
        const double pivot = *l.at<double>(k, k);
        if (l.row_stride == 1) {
            x[k] = (x[k] - dot(l.at<double>(k + 1, k), x + k + 1, n - k - 1)) / pivot;
        } else {
            x[k] /= pivot;
            subtract_scaled(l.at<double>(k, 0), x[k], x, k);
        }
    }
}

}  // namespace

void solve_strip(const SolvedStrips& triangle, double* strip, Index width) noexcept {
    for (Index first = 0; first < triangle.rows(); first += kRows) {
        if (width == 3 * kLanes<double>) {
            solve_group<3>(triangle, first, strip);
        } else if (width == 2 * kLanes<double>) {
            solve_group<2>(triangle, first, strip);
        } else {
            solve_group<1>(triangle, first, strip);
        }
    }
}

void solve_block(const SolvedStrips& triangle, const Rows& block, const SolvedStrips& solved) {
    const Factor from = plain(block.view());
    parallel_for(blocks_of(solved.strips(), 4), [&](Index chunk) {
        for (Index strip = chunk * 4; strip < std::min(solved.strips(), chunk * 4 + 4); ++strip) {
            const Index width = strip_width<double>(block.columns, strip);
            const Index column = strip * kStrip<double>;
            const Index filled = std::min<Index>(kStrip<double>, block.columns - column);
            solved.pack(from, strip);
            solve_strip(triangle, solved.start(strip), width);
            for (Index i = 0; i < block.rows; ++i) {
                std::copy_n(solved.start(strip) + i * width, filled, block.at(i, column));
            }
        }
    });
}

template <bool Upper>
void clear_block(const Panel<double>& a, const Panel<double>& b, const Rows& rows) {
    const Index high = blocks_of(a.columns, kTile<double>);
    const Index wide = blocks_of(b.columns, kTile<double>);
    parallel_for(high * wide, [&](Index block) {
        const Index i = block / wide;
        const Index j = block % wide;
        if (Upper && i > j) {
            return;
        }
        const auto strips_in = [](const Panel<double>& panel, Index tile) {
            return panel.part(tile * kTileStrips<double>, std::min(panel.strips(), (tile + 1) * kTileStrips<double>));
        };
        const Panel<double> left = strips_in(a, i);
        const Panel<double> right = strips_in(b, j);
        const Rows at = rows.from(i * kTile<double>, j * kTile<double>);
        const bool diagonal = Upper && i == j;
        if (left.columns % kGranule<double> != 0 || right.columns % kGranule<double> != 0) {
            clear_tile_at_edge(left, right, diagonal, at);
        } else if (diagonal) {
            multiply_panels<double, true, true>(left, right, at.data, at.stride);
        } else {
            multiply_panels<double, false, true>(left, right, at.data, at.stride);
        }
    });
}

template void clear_block<true>(const Panel<double>&, const Panel<double>&, const Rows&);
template void clear_block<false>(const Panel<double>&, const Panel<double>&, const Rows&);

namespace {

/// Multiply-adds of solving for `b`.
double operations(const Matrix& b) noexcept {
    return 0.5 * static_cast<double>(b.rows) * static_cast<double>(b.rows) * static_cast<double>(b.columns);
}

}  // namespace

void solve_lower(const Matrix& l, const Matrix& b, double* x) {
    const Effort effort(operations(b));
    load_rows(b, 0, b.rows, 0, b.columns, x, b.columns);
    if (b.columns == 1 && is_plain(l)) {
        parallel_for(1, [&](Index) { solve_one(l, x); });
    } else {
        solve_in_place(l, {x, b.rows, b.columns, b.columns});
    }
}

void solve_lower_transposed(const Matrix& l, const Matrix& b, double* x) {
    const Effort effort(operations(b));
    load_rows(b, 0, b.rows, 0, b.columns, x, b.columns);
    if (b.columns == 1 && is_plain(l)) {
        parallel_for(1, [&](Index) { solve_one_transposed(l, x); });
    } else if (b.rows > 0) {
        solve_in_place(reversed_across(l), {x + (b.rows - 1) * b.columns, b.rows, b.columns, -b.columns});
    }
}

}  // namespace qed
