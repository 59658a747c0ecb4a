#include "qed/groups.hpp"

#include <algorithm>
#include <cmath>

#include "qed/numbers.hpp"

namespace qed {
namespace {

/// Lengths of the groups of a table of coefficients.
Numbers lengths(const Groups& groups, const double* w) {
    Numbers out(at(groups.count), 0.0);
    for (Index i = 0; i < groups.rows; ++i) {
        const double* row = w + i * groups.columns;
        out[at(groups.of(i))] += dot(row, row, groups.columns);
    }
    std::transform(out.begin(), out.end(), out.begin(), [](double square) { return std::sqrt(square); });
    return out;
}

double inverse(double length) noexcept {
    return length > 0.0 ? 1.0 / length : 0.0;
}

}  // namespace

double group_value(const Groups& groups, const double* w) {
    const Numbers length = lengths(groups, w);
    double total = 0.0;
    for (Index g = 0; g < groups.count; ++g) {
        total += groups.bound(g) * length[at(g)];
    }
    if (groups.ridge > 0.0) {
        total += 0.5 * groups.ridge * dot(w, w, groups.rows * groups.columns);
    }
    return total;
}

double group_shrink(const Groups& groups, const double* z, const double* doubt) {
    const Numbers length = lengths(groups, z);
    const Numbers more = lengths(groups, doubt);
    double factor = 1.0;
    for (Index g = 0; g < groups.count; ++g) {
        const double whole = length[at(g)] + more[at(g)];
        if (!(whole <= groups.bound(g))) {
            factor = std::min(factor, groups.bound(g) / whole);
        }
    }
    return factor;
}

GroupExcess group_excess(const Groups& groups, const double* w, const double* z, const double* doubt) {
    const Index k = groups.columns;
    const Numbers length_w = lengths(groups, w);
    const Numbers length_z = lengths(groups, z);
    const Numbers length_doubt = lengths(groups, doubt);
    Numbers angle(at(groups.count), 0.0);  // squared distance of the directions
    Numbers apart(at(groups.count), 0.0);  // squared length of ridge w less what of z sticks out
    for (Index i = 0; i < groups.rows; ++i) {
        const Index g = groups.of(i);
        const double over_w = inverse(length_w[at(g)]);
        const double over_z = inverse(length_z[at(g)]);
        const double bound = groups.bound(g);
        const double out = length_z[at(g)] > bound ? 1.0 - bound * over_z : 0.0;
        for (Index j = i * k; j < (i + 1) * k; ++j) {
            const double turn = w[j] * over_w - z[j] * over_z;
            const double left = groups.ridge * w[j] - out * z[j];
            angle[at(g)] += turn * turn;
            apart[at(g)] += left * left;
        }
    }
    GroupExcess total{0.0, 0.0};
    for (Index g = 0; g < groups.count; ++g) {
        const double bound = groups.bound(g);
        const double inside = std::min(length_z[at(g)], bound);
        total.value += length_w[at(g)] * ((bound - inside) + 0.5 * inside * angle[at(g)]);
        const double off = length_doubt[at(g)];
        if (groups.ridge == 0.0) {
            total.doubt += length_w[at(g)] * off;
            continue;
        }
        total.value += 0.5 * apart[at(g)] / groups.ridge;
        total.doubt += std::sqrt(apart[at(g)]) / groups.ridge * off;
        if (length_z[at(g)] + off > bound) {
            total.doubt += 0.5 * off * off / groups.ridge;
        }
    }
    return total;
}

}  // namespace qed
