#include "qed/convex/groups.hpp"

#include <algorithm>
#include <cmath>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"

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

/// Makes `step` the way of a group, whose pull is there, to the end of its proximal step; false if it goes nowhere.
bool stepped(const SweptGroups& groups, Index g, const double* w, double* step) noexcept {
    const Index size = groups.starts[g + 1] - groups.starts[g];
    const double bend = groups.bend[g];
    for (Index i = 0; i < size; ++i) {
        step[i] = w[i] - (step[i] + groups.ridge * w[i]) / bend;
    }
    const double length = std::sqrt(dot(step, step, size));
    const double kept = length * bend > groups.strength[g] ? 1.0 - groups.strength[g] / (bend * length) : 0.0;
    bool moves = false;
    for (Index i = 0; i < size; ++i) {
        step[i] = kept * step[i] - w[i];
        moves = moves || step[i] != 0.0;
    }
    return moves;
}

/// Sweep after sweep, each from a copy of the last point and state: pull(g, state, out) writes the gradient of a group,
/// move(g, step, state) keeps the state up.
template <class Pull, class Move>
void sweep(const SweptGroups& groups, Index state_size, const Sweeps& on, Pull&& pull, Move&& move) {
    const Index size = groups.starts[groups.count];
    Index widest = 0;
    for (Index g = 0; g < groups.count; ++g) {
        widest = std::max(widest, groups.starts[g + 1] - groups.starts[g]);
    }
    Numbers step(at(widest));
    for (Index number = 0; number < on.sweeps; ++number) {
        double* w = on.points + (number + 1) * size;
        double* state = on.states + (number + 1) * state_size;
        std::copy_n(w - size, size, w);
        std::copy_n(state - state_size, state_size, state);
        parallel_for(1, [&](Index) {  // polled
            for (Index visit = 0; visit < groups.visited; ++visit) {
                const Index g = groups.visits[visit];
                double* mine = w + groups.starts[g];
                pull(g, state, step.data());
                if (stepped(groups, g, mine, step.data())) {
                    move(g, step.data(), state);
                    add_scaled(step.data(), 1.0, mine, groups.starts[g + 1] - groups.starts[g]);
                }
            }
        });
    }
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

double group_shrink(const Groups& groups, const double* z, const double* rounding_error) {
    const Numbers length = lengths(groups, z);
    const Numbers more = lengths(groups, rounding_error);
    double factor = 1.0;
    for (Index g = 0; g < groups.count; ++g) {
        const double whole = length[at(g)] + more[at(g)];
        if (!(whole <= groups.bound(g))) {
            factor = std::min(factor, groups.bound(g) / whole);
        }
    }
    return factor;
}

GroupExcess group_excess(const Groups& groups, const double* w, const double* z, const double* rounding_error) {
    const Index k = groups.columns;
    const Numbers length_w = lengths(groups, w);
    const Numbers length_z = lengths(groups, z);
    const Numbers length_rounding = lengths(groups, rounding_error);
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
        const double off = length_rounding[at(g)];
        if (groups.ridge == 0.0) {
            total.rounding_error += length_w[at(g)] * off;
            continue;
        }
        total.value += 0.5 * apart[at(g)] / groups.ridge;
        if (off > 0.0) {  // without rounding error a ridge next to zero adds nothing
            total.rounding_error += std::sqrt(apart[at(g)]) / groups.ridge * off;
            total.rounding_error += length_z[at(g)] + off > bound ? 0.5 * off * off / groups.ridge : 0.0;
        }
    }
    return total;
}

void sweep_products(const double* gram, const SweptGroups& groups, const Sweeps& on) {
    const Index size = groups.starts[groups.count];
    const auto pull = [&](Index g, const double* state, double* out) {
        std::copy(state + groups.starts[g], state + groups.starts[g + 1], out);
    };
    const auto move = [&](Index g, const double* step, double* state) {
        for (Index i = groups.starts[g]; i < groups.starts[g + 1]; ++i) {
            add_scaled(gram + i * size, step[i - groups.starts[g]], state, size);
        }
    };
    sweep(groups, size, on, pull, move);
}

void sweep_columns(const double* const* blocks, Index rows, const SweptGroups& groups, const Sweeps& on) {
    const auto pull = [&](Index g, const double* state, double* out) {
        for (Index i = 0; i < groups.starts[g + 1] - groups.starts[g]; ++i) {
            out[i] = dot(blocks[g] + i * rows, state, rows);
        }
    };
    const auto move = [&](Index g, const double* step, double* state) {
        for (Index i = 0; i < groups.starts[g + 1] - groups.starts[g]; ++i) {
            add_scaled(blocks[g] + i * rows, step[i], state, rows);
        }
    };
    sweep(groups, rows, on, pull, move);
}

}  // namespace qed
