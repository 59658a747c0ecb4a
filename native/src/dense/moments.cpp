#include "qed/dense/moments.hpp"

#include <algorithm>
#include <cmath>

#include "qed/dense/columns.hpp"
#include "qed/dense/fold.hpp"
#include "qed/dense/pack.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

/// One pass, one thread: the weights are a sliver of the data. Compensated, like everything that Σ s divides later.
double total_weight(const double* s, Index count) noexcept {
    double total = 0.0;
    double low = 0.0;
    for (Index i = 0; i < count; ++i) {
        add_compensated(total, low, s[i]);
    }
    return joined(total, low);
}

/// Means and spreads of the columns of one table, about a row that is given.
void spreads_of(const Matrix& x, const double* s, double total, const Spreads& out) {
    constexpr double kFar = 1e3;  // squared distance from the mean, in variances, up to which sums keep their digits
    const Index p = x.columns;
    ScratchArray<double> sums(2 * p);
    double* const squares = sums.get() + p;
    column_sums({x, out.origin}, row_major(s, x.rows, 1, 1), s, {sums.get(), squares});
    bool is_near = true;
    for (Index j = 0; j < p; ++j) {
        const double step = sums[j] / total;
        const double moved = sums[j] * step;
        out.mean[j] = out.origin[j] + step;
        out.spread[j] = squares[j] - moved;
        is_near = is_near && moved <= kFar * out.spread[j];
    }
    if (is_near) {
        return;
    }
    column_squares({x, out.mean}, s, out.spread);
    for (Index j = 0; j < p; ++j) {
        if (squares[j] == 0.0) {  // all values are that of the row: the mean may have rounded away from it
            out.spread[j] = 0.0;
        }
    }
}

}  // namespace

void moments(const Matrix& x, const Matrix& y, RowList list, const double* s, const double* shift,
             const MomentsOut& out) {
    Factor z{.parts = {x, y}, .column_shift = shift, .list = list};
    const Index n = z.depth();
    ScratchArray<double> roots(s == nullptr ? 0 : n);
    if (s == nullptr) {
        *out.weight = static_cast<double>(n);
    } else {
        for (Index i = 0; i < n; ++i) {
            roots[i] = std::sqrt(s[i]);
        }
        *out.weight = total_weight(s, n);
        z.row_scale = roots.get();
    }
    self_product(z, out.scatter, out.sums);
}

void typical_row(const Matrix& x, const Matrix& y, const double* s, Index step, double* out) {
    const Index n = x.rows;
    const Index q = x.columns + y.columns;
    Index one = 0;
    double total = 0.0;
    for (Index i = 0; i < n; i += step) {
        const double weight = s == nullptr ? 1.0 : s[i];
        if (total == 0.0 && weight > 0.0) {
            one = i;
        }
        total += weight;
    }
    const double* weights = total > 0.0 ? s : nullptr;  // where no row looked at counts, all of them do
    total = total > 0.0 ? total : static_cast<double>(blocks_of(n, step));
    const auto load = [&](Index row, double* to) {
        load_rows(x, row, 1, 0, x.columns, to, q);
        load_rows(y, row, 1, 0, y.columns, to + x.columns, q);
    };
    ScratchArray<double> rows(3 * q);
    double* const first = rows.get();
    double* const row = first + q;
    double* const sum = row + q;
    std::fill_n(sum, q, 0.0);
    load(one, first);
    for (Index i = 0; i < n; i += step) {
        const double share = (weights == nullptr ? 1.0 : weights[i]) / total;
        load(i, row);
        for (Index j = 0; j < q; ++j) {
            sum[j] += share * (row[j] - first[j]);
        }
    }
    for (Index j = 0; j < q; ++j) {
        out[j] = first[j] + sum[j];
    }
}

void column_spreads(const Matrix& x, const Matrix& y, const double* s, double total, const Spreads& out) {
    const Index p = x.columns;
    load_rows(x, 0, 1, 0, p, out.origin, p);
    load_rows(y, 0, 1, 0, y.columns, out.origin + p, y.columns);
    ScratchArray<double> ones(s == nullptr ? x.rows : 0);
    std::fill_n(ones.get(), s == nullptr ? x.rows : 0, 1.0);
    const double* weights = s == nullptr ? ones.get() : s;
    spreads_of(x, weights, total, {out.mean, out.spread, out.origin});
    spreads_of(y, weights, total, {out.mean + p, out.spread + p, out.origin + p});
}

void moment_rounding(const double* mean, const double* spread, const double* about, Index columns, double total,
                     Index terms, const MomentRounding& out) noexcept {
    constexpr double kUnit = 0x1p-53;
    const double rounding = (static_cast<double>(terms) + 16.0) * kUnit;
    for (Index j = 0; j < columns; ++j) {
        const double step = mean[j] - about[j];
        const double away = step * step + spread[j] / total;  // mean square of what was summed
        const double rounding_error = rounding * std::sqrt(away) + 2.0 * kUnit * std::abs(mean[j]);
        out.mean[j] = rounding_error;
        out.spread[j] = 4.0 * rounding * total * away + total * rounding_error * rounding_error;
    }
}

}  // namespace qed
