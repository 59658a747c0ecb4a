#include "qed/svm/plane_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "qed/convex/curved.hpp"
#include "qed/convex/multipliers.hpp"
#include "qed/convex/narrow.hpp"
#include "qed/dense/conjugate.hpp"
#include "qed/dense/rows.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kFew = 15'000;      // entries of a table on which further digits cost next to nothing
constexpr double kFurther = 1e-8;
constexpr std::uint64_t kSeed = 20'011;
constexpr double kWork = 1.5e9;     // visits of entries for one plane: a few seconds at most
constexpr double kStrong = 30.0;    // pull beyond which a weak penalty is approached by stronger ones, elsewhere
constexpr double kNothing = 1e-15;  // slopes that rounding leaves
constexpr Index kMostRests = 50;    // passes after which rows that rest are looked at again
constexpr int kHalvings = 30;

LossKind kind_of(PlaneLoss loss) noexcept {
    return loss == PlaneLoss::squared_hinge ? LossKind::squared_hinge : LossKind::squared;
}

}  // namespace

NarrowTable::NarrowTable(const Matrix& x, const PlanesIn& in)
    : x_(x), is_squared_(in.loss == PlaneLoss::squared_hinge || in.loss == PlaneLoss::squared_tube),
      has_kinks_(in.has_kinks), lengths_(at(x.rows)), anchor_(at(x.rows)), t_(at(x.rows)), gradient_(at(x.columns)),
      low_(at(x.columns), in.has_kinks ? -1.0 : 0.0), high_(at(x.columns), in.has_kinks ? 1.0 : 0.0) {
    for (Index i = 0; i < x.rows; ++i) {
        const double* row = static_cast<const double*>(x.data) + i * x.row_stride;
        lengths_[at(i)] = std::sqrt(dot(row, row, x.columns));
    }
}

void NarrowTable::scores(const double* w, double* t) const {
    multiply({x_}, row_major(w, x_.columns, 1, 1), nullptr, Kind::float64, t);
}

void NarrowTable::combine(const double* factors, double* z) const {
    multiply_transposed({x_}, row_major(factors, x_.rows, 1, 1), z);
}

double NarrowTable::cautious(double target) const noexcept {
    return (is_squared_ ? 0.5 : (x_.rows * x_.columns <= kFew ? kFurther : 0.1)) * target;
}

void NarrowTable::begin() noexcept {
    std::fill(anchor_.begin(), anchor_.end(), 0.0);
    bend_ = 0.0;
}

Improved NarrowTable::improve(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    return is_squared_ ? descend(losses, goal, w, u) : follow(losses, goal, w, u);
}

Improved NarrowTable::follow(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    const MultipliersIn in{.loss = losses.pieces(), .x = x_, .c = losses.c(), .ridge = 1.0};
    MultipliersState state{w, u, anchor_.data(), bend_};
    const MultipliersDone done = follow_multipliers(in, goal, state);
    bend_ = state.bend;
    return {done.rounds, done.is_over};
}

Improved NarrowTable::descend(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    const DualLosses pieces = losses.pieces();
    const bool has_name = losses.is_hinge() || losses.width() == 0.0;
    const NarrowIn in{.loss = {losses.is_hinge() ? LossKind::squared_hinge : LossKind::squared,
                               has_name ? losses.y() : nullptr, has_name ? nullptr : &pieces},
                      .x = {x_},
                      .c = losses.c(),
                      .penalty = {low_.data(), high_.data(), has_kinks_ ? 0.0 : 1.0},
                      .has_intercept = false};
    NarrowState state{w, 0.0, t_.data(), u, gradient_.data()};
    const NarrowDone done = descend_narrow(in, goal, state);
    return {done.rounds, done.is_over};
}

LooseTable::LooseTable(const EndedRows& x, const PlanesIn& in)
    : x_(x), kind_(in.loss), has_kinks_(in.has_kinks), squares_(at(x.x.rows)), order_(at(x.x.rows)) {
    with_visited(x.x, [&](const auto& visited) {
        for (Index i = 0; i < x.x.rows; ++i) {
            squares_[at(i)] = visited.square(i);
            longest_ = std::max(longest_, visited.count(i) + 1);
            entries_ += static_cast<double>(visited.count(i));
        }
    });
    if (has_kinks_) {
        turn();
    }
}

void LooseTable::scores(const double* w, double* t) const {
    const double level = x_.constant != 0.0 ? x_.constant * w[x_.x.columns] : 0.0;
    with_visited(x_.x, [&](const auto& visited) {
        for (Index i = 0; i < x_.x.rows; ++i) {
            t[i] = visited.dot(i, w) + level;
        }
    });
}

void LooseTable::combine(const double* factors, double* z) const {
    std::fill_n(z, columns(), 0.0);
    with_visited(x_.x, [&](const auto& visited) {
        double sum = 0.0;
        for (Index i = 0; i < x_.x.rows; ++i) {
            if (factors[i] != 0.0) {
                visited.add(i, factors[i], z);
                sum += factors[i];
            }
        }
        if (x_.constant != 0.0) {
            z[x_.x.columns] = x_.constant * sum;
        }
    });
}

double LooseTable::cautious(double target) const noexcept {
    return (has_kinks_ ? 0.5 : 1.0) * target;  // rows are looked at before a pass improves them
}

void LooseTable::begin() noexcept {
    std::iota(order_.begin(), order_.end(), Index{0});
    seed_ = kSeed;
    work_ = 0.0;
    pace_ = {};
    curved_pace_.assign(at(kCurvedPace), 0.0);
}

Improved LooseTable::improve(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    if (has_kinks_) {
        return descend(losses, goal, w, u);
    }
    return kind_ == PlaneLoss::squared_tube ? follow_gradients(losses, goal, w) : ascend(losses, goal, w, u);
}

/// Dual ascent. The coefficient of the constant column follows the sum of c u, as an intercept that gives way would.
Improved LooseTable::ascend(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    gives_duals_ = true;
    const Index n = rows();
    const double give = x_.constant * x_.constant;
    const DualLosses pieces = losses.pieces();
    const Numbers nothing(at(n));
    const DualRows about{.weight = losses.c(), .squares = squares_.data(), .along = nothing.data(), .centre_square = 0.0,
                         .alpha = 1.0, .give = give};
    Numbers weighted(at(n));
    double sum = 0.0;
    for (Index i = 0; i < n; ++i) {
        weighted[at(i)] = -losses.c()[i] * u[i];
        sum -= weighted[at(i)];
    }
    combine(weighted.data(), w);
    DualState state{.u = u, .w = w, .order = order_.data(), .active = n, .drift = 0.0, .along = 0.0, .base = 0.0, .sum = sum,
                    .threshold = kInfinity, .largest = kInfinity, .gap = kInfinity, .seed = seed_};
    Improved done{0, false};
    Index rests = 0;
    while (done.steps < goal.most && work_ <= kWork) {
        const bool is_whole = state.active == n;
        work_ += entries_ * static_cast<double>(state.active) / static_cast<double>(n);
        parallel_for(1, [&](Index) { dual_ascent(x_.x, pieces, about, state, 1); });
        state.base = 0.0;
        ++done.steps;
        ++rests;
        const bool is_near = state.gap <= goal.target;
        done.is_over = is_whole && state.largest <= kNothing;
        if ((is_near && is_whole) || done.is_over) {
            break;
        }
        if (is_near || rests >= kMostRests) {  // what rows at rest would add is told by a pass over all of them
            state.active = n;
            state.threshold = kInfinity;
            rests = 0;
        } else if (done.steps >= FacePace::kAlone && !pace_.waits) {
            with_visited(x_.x, [&](const auto& visited) { settle(visited, losses, goal.target, state); });
        } else {
            pace_.waits = false;
        }
    }
    seed_ = state.seed;
    if (x_.constant != 0.0) {
        w[x_.x.columns] = -x_.constant * state.sum;
    }
    done.is_over = done.is_over || work_ > kWork;
    return done;
}

/// Solves for the dual variables between their ends at once, by conjugate gradients; those that would leave stop there.
template <class Rows>
void LooseTable::settle(const Rows& visited, const PlaneLosses& losses, double target, DualState& state) {
    const DualLosses pieces = losses.pieces();
    const Index p = x_.x.columns;
    const double give = x_.constant * x_.constant;
    double* u = state.u;
    moving_.clear();
    for (Index i = 0; i < rows(); ++i) {
        if (u[i] > pieces.low[i] && u[i] < pieces.high[i] && (u[i] != 0.0 || pieces.width == 0.0)) {
            moving_.push_back(i);
        }
    }
    const Index m = Index(moving_.size());
    if (m == 0) {
        return;
    }
    // in units of c u, where second derivatives are products of rows
    const double* c = losses.c();
    const auto bend = [&](Index i) { return pieces.bend / c[i]; };
    const auto square = [&](Index i) { return squares_[at(i)] + give; };
    Numbers image(at(p));
    /// Σ factor x over the rows that move, and the sum of the factors
    const auto combined = [&](const Numbers& factors) {
        std::fill(image.begin(), image.end(), 0.0);
        double sum = 0.0;
        for (Index a = 0; a < m; ++a) {
            visited.add(moving_[at(a)], factors[at(a)], image.data());
            sum += factors[at(a)];
        }
        return sum;
    };
    Numbers push(at(m)), step(at(m));
    for (Index a = 0; a < m; ++a) {
        const Index i = moving_[at(a)];
        const double t = visited.dot(i, state.w) - give * state.sum;
        push[at(a)] = t - pieces.kink[i] - pieces.bend * u[i] - (u[i] > 0.0 ? pieces.width : -pieces.width);
    }
    Numbers left(push);
    const double own = 2.0 * entries_ * static_cast<double>(m) / static_cast<double>(rows());
    const Index steps = conjugate_gradients(
        left, step,
        [&](const Numbers& from, Numbers& out) {
            for (Index a = 0; a < m; ++a) {
                const Index i = moving_[at(a)];
                out[at(a)] = from[at(a)] / (square(i) + bend(i));
            }
        },
        [&](const Numbers& along, Numbers& out) {
            const double level = give * combined(along);
            for (Index a = 0; a < m; ++a) {
                const Index i = moving_[at(a)];
                out[at(a)] = visited.dot(i, image.data()) + level + (bend(i) + pace_.damping * square(i)) * along[at(a)];
            }
        },
        [&, count = Index{0}](double share) mutable {
            double lack = 0.0;  // about what is left of the gap, over these rows
            for (Index a = 0; a < m; ++a) {
                const double off = std::abs(left[at(a)]);
                lack += c[moving_[at(a)]] * (pieces.bend > 0.0 ? 0.5 * off * off : off);
            }
            return pace_.is_enough(count++, share, lack, target);
        });
    work_ += own * static_cast<double>(steps);
    // along the steps as far as the ends allow, then as far as the objective falls
    Numbers& change = left;
    double reach = 1.0;
    for (;; reach *= 0.5) {
        double fall = 0.0;
        double curve = 0.0;
        for (Index a = 0; a < m; ++a) {
            const Index i = moving_[at(a)];
            const double low = pieces.width > 0.0 && u[i] > 0.0 ? 0.0 : pieces.low[i];
            const double high = pieces.width > 0.0 && u[i] < 0.0 ? 0.0 : pieces.high[i];
            change[at(a)] = c[i] * (std::clamp(u[i] + reach * step[at(a)] / c[i], low, high) - u[i]);
            fall += push[at(a)] * change[at(a)];
            curve += bend(i) * change[at(a)] * change[at(a)];
        }
        const double sum = combined(change);
        curve += dot(image.data(), image.data(), p) + give * sum * sum;
        work_ += 0.5 * own;
        const double length = curve > 0.0 ? std::min(1.0, fall / curve) : 0.0;
        if (length < FacePace::kGoodLength && reach > FacePace::kLeastReach) {
            continue;
        }
        if (length > 0.0) {
            for (Index a = 0; a < m; ++a) {
                const Index i = moving_[at(a)];
                u[i] = std::clamp(u[i] + length * change[at(a)] / c[i], pieces.low[i], pieces.high[i]);
            }
            add_scaled(image.data(), -length, state.w, p);
            state.sum += length * sum;
        }
        break;
    }
    pace_.follow(reach);
}

/// Newton's method by conjugate gradients; without a tube its model is the objective itself.
Improved LooseTable::follow_gradients(const PlaneLosses& losses, const Goal& goal, double* w) {
    const Index n = rows();
    const Index p = columns();
    Numbers t(at(n)), weighted(at(n)), gradient(at(p)), step(at(p)), change(at(n)), trial(at(p));
    const auto objective = [&](const double* at_w, const double* scores) {
        double total = 0.5 * dot(at_w, at_w, p);
        for (Index i = 0; i < n; ++i) {
            total += losses.c()[i] * losses.value(i, scores[i] - losses.y()[i]);
        }
        return total;
    };
    scores(w, t.data());
    double now = objective(w, t.data());
    Improved done{0, false};
    while (done.steps < goal.most && work_ <= kWork) {
        moving_.clear();
        for (Index i = 0; i < n; ++i) {
            const double slope = losses.slope(i, t[at(i)] - losses.y()[i]);
            weighted[at(i)] = losses.c()[i] * slope;
            if (slope != 0.0) {
                moving_.push_back(i);
            }
        }
        combine(weighted.data(), gradient.data());
        add_scaled(w, 1.0, gradient.data(), p);
        const double gap = 0.5 * dot(gradient.data(), gradient.data(), p);
        if (gap <= goal.target) {
            return done;
        }
        const double enough = losses.width() == 0.0 ? 0.5 * goal.target : std::max(0.5 * goal.target, 0.01 * gap);
        with_visited(x_.x, [&](const auto& visited) {
            done.steps += solve_for_step(visited, losses, enough, gradient, step);
        });
        scores(step.data(), change.data());
        double length = 1.0;
        double next = now;
        for (int count = 0; count < kHalvings; ++count, length *= 0.5) {
            for (Index j = 0; j < p; ++j) {
                trial[at(j)] = w[j] + length * step[at(j)];
            }
            for (Index i = 0; i < n; ++i) {
                weighted[at(i)] = t[at(i)] + length * change[at(i)];
            }
            next = objective(trial.data(), weighted.data());
            if (next < now) {
                break;
            }
        }
        work_ += 3.0 * entries_;
        if (!(next < now)) {
            done.is_over = true;
            return done;
        }
        std::copy(trial.begin(), trial.end(), w);
        std::swap(t, weighted);
        now = next;
    }
    done.is_over = true;
    return done;
}

/// Solves (1 + Σ c x xᵀ over the rows that move) step = -gradient until half the square of what is left is `enough`.
template <class Rows>
Index LooseTable::solve_for_step(const Rows& visited, const PlaneLosses& losses, double enough, const Numbers& gradient,
                                 Numbers& step) {
    const Index p = columns();
    const Index last = x_.x.columns;
    const double constant = x_.constant;
    bend_.assign(at(p), 1.0);
    for (const Index i : moving_) {
        const double c = losses.c()[i];
        visited.each(i, [&](Index j, double x) { bend_[at(j)] += c * x * x; });
        if (constant != 0.0) {
            bend_[at(last)] += c * constant * constant;
        }
    }
    Numbers left(at(p));
    std::fill(step.begin(), step.end(), 0.0);
    add_scaled(gradient.data(), -1.0, left.data(), p);
    const double own = entries_ * static_cast<double>(moving_.size()) / static_cast<double>(std::max<Index>(rows(), 1));
    const Index steps = conjugate_gradients(
        left, step,
        [&](const Numbers& from, Numbers& out) {
            for (Index j = 0; j < p; ++j) {
                out[at(j)] = from[at(j)] / bend_[at(j)];
            }
        },
        [&](const Numbers& along, Numbers& out) {
            std::copy(along.begin(), along.end(), out.begin());
            const double level = constant != 0.0 ? constant * along[at(last)] : 0.0;
            double pulled = 0.0;
            for (const Index i : moving_) {
                const double factor = losses.c()[i] * (visited.dot(i, along.data()) + level);
                visited.add(i, factor, out.data());
                pulled += factor;
            }
            if (constant != 0.0) {
                out[at(last)] += constant * pulled;
            }
            work_ += 2.0 * own;
        },
        [&](double) { return work_ > kWork || 0.5 * dot(left.data(), left.data(), p) <= enough; });
    return std::max<Index>(steps, 1);
}

Improved LooseTable::descend(const PlaneLosses& losses, const Goal& goal, double* w, double* u) {
    if (work_ == 0.0 && pull(losses) > kStrong) {
        return {0, true};
    }
    const CurvedIn in{.kind = kind_of(kind_),
                      .y = losses.y(),
                      .c = losses.c(),
                      .columns = {.rows = columns(), .columns = rows(), .wide = true, .kind = Kind::float64,
                                  .starts = by_columns_.starts.data(), .indices = by_columns_.rows.data(),
                                  .values = by_columns_.values.data()},
                      .penalty = {low_.data(), high_.data(), 0.0},
                      .has_intercept = false};
    CurvedState state{curved_pace_.data(), w, 0.0, t_.data(), slope_.data(), gradient_.data(), u};
    const CurvedDone done = descend_curved(in, goal, kWork - work_, state);
    gives_duals_ = done.has_dual;
    work_ += entries_ * static_cast<double>(done.rounds);
    return {done.rounds, done.is_over || done.gap > goal.target};
}

/// How hard the losses pull at most on a coefficient where all of them are zero; the penalty holds with one.
double LooseTable::pull(const PlaneLosses& losses) {
    for (Index i = 0; i < rows(); ++i) {
        slope_[at(i)] = losses.c()[i] * losses.slope(i, -losses.y()[i]);
    }
    combine(slope_.data(), gradient_.data());
    double most = 0.0;
    for (const double one : gradient_) {
        most = std::max(most, std::abs(one));
    }
    return most;
}

/// Compresses the table by columns, the constant one at the end.
void LooseTable::turn() {
    std::vector<Index> every(at(x_.x.columns));
    std::iota(every.begin(), every.end(), Index{0});
    by_columns_ = take_sparse_columns(x_.x, false, every.data(), x_.x.columns, nullptr);
    if (x_.constant != 0.0) {
        for (Index i = 0; i < rows(); ++i) {
            by_columns_.rows.push_back(i);
            by_columns_.values.push_back(x_.constant);
        }
        by_columns_.starts.push_back(Index(by_columns_.rows.size()));
    }
    low_.assign(at(columns()), -1.0);
    high_.assign(at(columns()), 1.0);
    t_.resize(at(rows()));
    slope_.resize(at(rows()));
    gradient_.resize(at(columns()));
}

}  // namespace qed
