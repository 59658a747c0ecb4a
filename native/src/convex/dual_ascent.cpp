#include "qed/convex/dual_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "qed/convex/simplex_level.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

/// Rows drawn together: neighbours share cache lines and pages.
constexpr Index kGroup = 8;
constexpr Index kAhead = 2;

/// Shuffles groups of neighbouring entries, then keeps the rest where it is.
void shuffle(Index* order, Index count, std::uint64_t& seed) noexcept {
    const Index groups = count / kGroup;
    for (Index i = groups - 1; i > 0; --i) {
        const Index j = static_cast<Index>(draw(seed) % static_cast<std::uint64_t>(i + 1));
        if (i != j) {
            std::swap_ranges(order + i * kGroup, order + (i + 1) * kGroup, order + j * kGroup);
        }
    }
    if (count < 4 * kGroup) {
        for (Index i = count - 1; i > 0; --i) {
            std::swap(order[i], order[static_cast<Index>(draw(seed) % static_cast<std::uint64_t>(i + 1))]);
        }
    }
}

/// What a visit to a row found: the new dual variable, how far from optimal the old one was, and whether it can rest.
struct Visit {
    double u;
    double slope;
    double excess;
    bool rests;
};

/// Pieces: ℓ*(u) = bend u²/2 + kink u + width |u| between low and high.
struct Pieces {
    const DualLosses& loss;

    [[nodiscard]] double best(Index i, double z, double curve) const noexcept {
        // the minimum of curve u²/2 - z u + width |u| over the interval
        const double pulled = z > loss.width ? z - loss.width : (z < -loss.width ? z + loss.width : 0.0);
        const double u = curve > 0.0 ? pulled / curve
                                     : (pulled > 0.0 ? loss.high[i] : (pulled < 0.0 ? loss.low[i] : 0.0));
        return std::clamp(u, loss.low[i], loss.high[i]);
    }
    [[nodiscard]] double conjugate(Index i, double u) const noexcept {
        return u * (0.5 * loss.bend * u + loss.kink[i]) + loss.width * std::fabs(u);
    }
    [[nodiscard]] Visit visit(Index i, double u, double t, double q, double threshold) const noexcept {
        const double z = t - loss.kink[i];
        Visit out{};
        const double free = best(i, z, loss.bend);
        out.excess = (conjugate(i, u) - u * t) - (conjugate(i, free) - free * t);
        // the slope of the dual towards larger u, and towards smaller
        const double push = z - loss.bend * u;
        const double up = push - (u >= 0.0 ? loss.width : -loss.width);
        const double down = push + (u <= 0.0 ? loss.width : -loss.width);
        const bool at_high = u >= loss.high[i];
        const bool at_low = u <= loss.low[i];
        out.slope = std::max(at_high ? 0.0 : std::max(up, 0.0), at_low ? 0.0 : std::max(-down, 0.0));
        out.rests = (at_high && down > threshold) || (at_low && up < -threshold);
        const double curve = loss.bend + q;
        out.u = curve > 0.0 ? best(i, z + q * u, curve) : free;
        return out;
    }
};

/// Logistic: with v = -y u in (0, 1) the conjugate is minus the entropy of a coin.
struct Coins {
    const DualLosses& loss;

    [[nodiscard]] Visit visit(Index i, double u, double t, double q, double threshold) const noexcept {
        static_cast<void>(threshold);
        const double y = loss.kink[i];
        const double m = y * t;
        double v = std::clamp(-y * u, 1e-300, 1.0 - 1e-16);
        const double before = v;
        Visit out{};
        const double entropy = v * std::log(v) + (1.0 - v) * std::log1p(-v);
        out.excess = entropy + v * m + (m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m);
        // minimise entropy + v m + q (v - before)²/2 in x = log(v / (1 - v)), where Newton's steps cannot leave the interval
        double x = std::log(v) - std::log1p(-v);
        out.slope = std::fabs(x + m);
        if (q == 0.0 || out.slope > 30.0) {
            x = std::clamp(-m, -700.0, 700.0);
            v = 1.0 / (1.0 + std::exp(-x));
        }
        for (int count = 0; count < 8 && q > 0.0; ++count) {
            const double f = x + m + q * (v - before);
            const double step = f / (1.0 + q * v * (1.0 - v));
            x -= step;
            v = 1.0 / (1.0 + std::exp(-x));
            if (std::fabs(step) < 1e-10) {
                break;
            }
        }
        out.u = -y * std::clamp(v, 1e-300, 1.0 - 1e-16);
        out.rests = false;
        return out;
    }
};

template <class Loss, class Table>
void one_pass(const Table& table, const Loss& loss, const DualRows& rows, DualState& state) noexcept {
    shuffle(state.order, state.active, state.seed);
    double gap = 0.0;
    double largest = 0.0;
    Index kept = 0;
    const bool shifts = rows.centre_square > 0.0;
    for (Index k = 0; k < state.active; ++k) {
        if (k + kAhead < state.active) {
            table.prefetch(state.order[k + kAhead]);
        }
        const Index i = state.order[k];
        double t = table.dot(i, state.w) + state.base - rows.give * state.sum;
        if (shifts) {
            t -= state.drift * rows.along[i] + state.along - state.drift * rows.centre_square;
        }
        const double c = rows.weight[i];
        const double q = c * (rows.squares[i] / rows.alpha + rows.give);
        const Visit found = loss.visit(i, state.u[i], t, q, state.threshold);
        if (found.rests) {
            continue;  // its place is taken by the next row that does not
        }
        std::swap(state.order[kept++], state.order[k]);
        gap += c * found.excess;
        largest = std::max(largest, found.slope);
        const double change = found.u - state.u[i];
        if (change != 0.0) {
            const double factor = -c * change / rows.alpha;
            state.u[i] = found.u;
            state.sum += c * change;
            table.add(i, factor, state.w);
            if (shifts) {
                state.drift += factor;
                state.along += factor * rows.along[i];
            }
        }
    }
    state.active = kept;
    state.gap = gap;
    state.largest = largest;
    state.threshold = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
}

template <class Table>
void passes_over(const Table& table, const DualLosses& losses, const DualRows& rows, DualState& state, int passes) {
    for (int pass = 0; pass < passes; ++pass) {
        if (losses.kind == DualLoss::logistic) {
            one_pass(table, Coins{losses}, rows, state);
        } else {
            one_pass(table, Pieces{losses}, rows, state);
        }
        state.base -= rows.give * state.sum;  // the next pass starts from the intercept that this one has found
    }
}

template <class Table>
void one_class_pass(const Table& table, Index columns, const ClassRows& rows, ClassState& state, double* scratch) noexcept {
    shuffle(state.order, state.active, state.seed);
    const Index classes = rows.classes;
    double* ahead = scratch;
    double* target = scratch + classes;
    double* work = scratch + 2 * classes;
    double gap = 0.0;
    double largest = 0.0;
    Index kept = 0;
    for (Index place = 0; place < state.active; ++place) {
        if (place + kAhead < state.active) {
            table.prefetch(state.order[place + kAhead]);
        }
        const Index i = state.order[place];
        const Index label = static_cast<Index>(rows.label[i]);
        double* u = state.u + i * classes;
        double top = -std::numeric_limits<double>::infinity();
        double best_other = top;
        for (Index k = 0; k < classes; ++k) {
            ahead[k] = table.dot(i, state.w + k * columns) + (k == label ? 0.0 : 1.0);
            top = std::max(top, ahead[k]);
            best_other = k == label ? best_other : std::max(best_other, ahead[k]);
        }
        double excess = 0.0;
        bool rests = best_other < ahead[label] - state.threshold;
        for (Index k = 0; k < classes; ++k) {
            const double v = u[k] + (k == label ? 1.0 : 0.0);
            excess += v * (top - ahead[k]);
            rests = rests && (k == label || u[k] == 0.0);
        }
        if (rests) {
            continue;
        }
        std::swap(state.order[kept++], state.order[place]);
        const double c = rows.weight[i];
        gap += c * excess;
        largest = std::max(largest, excess);
        const double q = c * rows.squares[i] / rows.alpha;
        if (!(q > 0.0)) {  // an empty row: all mass where the loss is largest
            for (Index k = 0; k < classes; ++k) {
                u[k] = (k == label ? -1.0 : 0.0);
            }
            for (Index k = 0; k < classes; ++k) {
                if (ahead[k] == top) {
                    u[k] += 1.0;
                    break;
                }
            }
            continue;
        }
        for (Index k = 0; k < classes; ++k) {
            target[k] = u[k] + (k == label ? 1.0 : 0.0) + (ahead[k] - top) / q;
        }
        const double level = simplex_level(target, work, classes);
        double others = 0.0;
        for (Index k = 0; k < classes; ++k) {
            if (k != label) {
                target[k] = std::max(target[k] - level, 0.0);
                others += target[k];
            }
        }
        target[label] = -std::min(others, 1.0);
        for (Index k = 0; k < classes; ++k) {
            const double change = target[k] - u[k];
            if (change != 0.0) {
                u[k] = target[k];
                table.add(i, -c * change / rows.alpha, state.w + k * columns);
            }
        }
    }
    state.active = kept;
    state.gap = gap;
    state.largest = largest;
    state.threshold = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
}

template <class Table>
void class_passes(const Table& table, Index columns, const ClassRows& rows, ClassState& state, int passes) {
    ScratchArray<double> scratch(3 * rows.classes);
    for (int pass = 0; pass < passes; ++pass) {
        one_class_pass(table, columns, rows, state, scratch.get());
    }
}

}  // namespace

void class_ascent(const Matrix& x, const ClassRows& rows, ClassState& state, int passes) {
    with_visited(x, [&](const auto& visited) { class_passes(visited, x.columns, rows, state, passes); });
}

void class_ascent(const SparseRows& x, const ClassRows& rows, ClassState& state, int passes) {
    with_visited(x, [&](const auto& visited) { class_passes(visited, x.columns, rows, state, passes); });
}

void dual_ascent(const Matrix& x, const DualLosses& losses, const DualRows& rows, DualState& state, int passes) {
    with_visited(x, [&](const auto& visited) { passes_over(visited, losses, rows, state, passes); });
}

void dual_ascent(const SparseRows& x, const DualLosses& losses, const DualRows& rows, DualState& state, int passes) {
    with_visited(x, [&](const auto& visited) { passes_over(visited, losses, rows, state, passes); });
}

}  // namespace qed
