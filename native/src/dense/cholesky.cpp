#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "qed/dense/block_solve.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kCopyRows = 32;

/// The upper triangle of a, and zeros below.
void copy_upper(const Matrix& a, double* u) {
    const Index n = a.rows;
    parallel_for(blocks_of(n, kCopyRows), [&](Index block) {
        const Index first = block * kCopyRows;
        const Index count = std::min(kCopyRows, n - first);
        load_rows(a, first, count, first, n - first, u + first * n + first, n);
        for (Index i = first; i < first + count; ++i) {
            std::fill_n(u + i * n, i, 0.0);
        }
    });
}

void subtract_row(const double* __restrict from, double factor, double* __restrict to, Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        to[j] -= factor * from[j];
    }
}

/// Factors one diagonal block in place, row by row. Returns -1 or the first bad pivot.
Index factor_corner(double* u, Index size, Index stride) noexcept {
    for (Index k = 0; k < size; ++k) {
        double* row = u + k * stride;
        if (!(row[k] > 0.0)) {
            return k;
        }
        const double pivot = std::sqrt(row[k]);
        row[k] = pivot;
        for (Index j = k + 1; j < size; ++j) {
            row[j] /= pivot;
        }
        for (Index i = k + 1; i < size; ++i) {
            subtract_row(row + i, row[i], u + i * stride + i, size - i);
        }
        std::fill_n(row, k, 0.0);  // what a tile on the diagonal left behind
    }
    return -1;
}

}  // namespace

Index cholesky(const Matrix& a, double* u) {
    const Index n = a.rows;
    const Effort effort(static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 6);
    // The matrix is symmetric: read it along the axis that is contiguous.
    copy_upper(std::abs(a.column_stride) <= std::abs(a.row_stride) ? a : a.transposed(), u);
    const Rows whole{u, n, n, n};
    for (Index k = 0; k < n; k += kDepth) {
        const Index rows = std::min(kDepth, n - k);
        const Index bad = factor_corner(whole.at(k, k), rows, n);
        if (bad >= 0) {
            return k + bad;
        }
        const Index rest = n - k - rows;
        if (rest == 0) {
            break;
        }
        const SolvedStrips triangle(rows, rows);
        const Factor corner = plain(row_major(whole.at(k, k), rows, rows, n));
        for (Index strip = 0; strip < triangle.strips(); ++strip) {
            triangle.pack(corner, strip);
        }
        const SolvedStrips solved(rows, rest);
        solve_block(triangle, {whole.at(k, k + rows), rows, rest, n}, solved);
        clear_block<true>(solved.panel(), solved.panel(), whole.from(k + rows, k + rows));
    }
    return -1;
}

}  // namespace qed
