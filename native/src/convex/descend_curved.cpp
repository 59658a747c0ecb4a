#include "qed/convex/curved.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "qed/convex/face.hpp"
#include "qed/convex/face_columns.hpp"
#include "qed/convex/narrow.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

constexpr Index kSweeps = 3;           // over the same model, more where all columns are many times those that take part
constexpr Index kMostSweeps = 24;
constexpr double kSettling = 0.3;      // a sweep that moves less than this share of the first one is the last
constexpr double kFewSigns = 0.03;     // signs that may change in a sweep before coefficients are solved for at once
constexpr double kFloor = 1e-12;       // least curvature of a row, relative to the largest
constexpr double kArmijo = 0.01;
constexpr int kHalvings = 40;
constexpr double kNoise = 1e-15;       // share of the loss that rounding may hide from a step
constexpr int kBlind = 3;              // steps that nothing but rounding judges
constexpr int kConjugate = 20;         // steps of conjugate gradients at first; twice as many once they lead well
constexpr int kMostConjugate = 320;
constexpr int kMostWait = 64;
constexpr double kGrow = 4.0;          // of the radius within which the model is trusted, after a step that led to its edge
constexpr Index kColumnsAtOnce = 256;

/// Slope and curvature of a row, each times its weight: visited together, so kept together.
struct Bent {
    double slope;
    double bend;
};

template <class T, class I>
class CurvedDescent {
  public:
    CurvedDescent(const CurvedIn& in, const Csr<T, I>& x, CurvedState& state)
        : in_(in), x_(x), s_(state), n_(x.columns), p_(x.rows), value_(at(n_)), bend_(at(n_)), scores_(at(n_)),
          bent_(at(n_)), squares_(at(p_)), edges_(at(p_)), next_(at(p_)) {
        entries_ = static_cast<double>(x_.entries());
    }

    CurvedDone run(const Goal& goal, double work) {
        const double target = goal.target;
        CurvedDone done{0, std::numeric_limits<double>::infinity(), false, false};
        make_scores();
        const bool is_first = s_.pace[1] == 0.0;
        Index signs = is_first ? p_ : static_cast<Index>(s_.pace[0]);  // that changed in the last sweep
        double sharp = is_first ? 0.1 : s_.pace[1];                    // to which conjugate gradients bring what is left
        int wait = static_cast<int>(s_.pace[2]);                       // rounds without them, after one that led nowhere
        int failures = static_cast<int>(s_.pace[3]);                   // of them, one after the other
        steps_ = is_first ? kConjugate : static_cast<int>(s_.pace[4]);
        radius_ = is_first ? std::numeric_limits<double>::infinity() : s_.pace[5];
        while (true) {
            look();
            done.gap = gap(s_.gradient);
            if (done.gap <= target || work_ > work || done.rounds >= goal.most) {
                break;
            }
            ++done.rounds;
            const Index used = Index(used_.size());
            bool moved = false;
            if (used > 0 && wait == 0 && static_cast<double>(signs) <= kFewSigns * static_cast<double>(used)) {
                Index crossed = 0;
                double length = 0.0;
                moved = face_step(sharp, target, crossed, length);
                if (has_dual_ && moved && crossed == 0 && length == 1.0) {
                    const double proved = dual_gap();
                    if (proved <= target) {
                        done.gap = proved;
                        done.has_dual = true;
                        break;
                    }
                }
                failures = moved ? 0 : failures + 1;
                wait = failures > 0 ? std::min(kMostWait, 1 << failures) : 0;
                steps_ = length < 0.4 ? std::max(kConjugate, steps_ / 2) : std::min(kMostConjugate, 2 * steps_);
                sharp = crossed * 200 > used ? 0.1 : std::max(0.1 * sharp, 1e-4);
                if (moved) {
                    look();
                }
            } else if (wait > 0) {
                --wait;
            }
            const bool stepped = sweep_round(signs, moved);
            if (!moved && !stepped) {
                done.is_over = true;
                break;
            }
        }
        s_.pace[0] = static_cast<double>(signs);
        s_.pace[1] = sharp;
        s_.pace[2] = static_cast<double>(wait);
        s_.pace[3] = static_cast<double>(failures);
        s_.pace[4] = static_cast<double>(steps_);
        s_.pace[5] = radius_;
        make_scores();
        look();
        if (!done.has_dual) {
            done.gap = gap(s_.gradient);
        }
        return done;
    }

  private:
    [[nodiscard]] Index first(Index j) const noexcept { return Index{x_.starts[j]}; }
    [[nodiscard]] double value(Index e) const noexcept { return static_cast<double>(x_.values[e]); }

    /// Makes the scores afresh.
    void make_scores() {
        std::fill(s_.t, s_.t + n_, s_.b);
        parallel_for(1, [&](Index) {
            for (Index j = 0; j < p_; ++j) {
                if (s_.w[j] != 0.0) {
                    add_column(j, s_.w[j], s_.t);
                }
            }
        });
        loss_ = loss_at(s_.t);
        work_ += entries_;
    }
    void add_column(Index j, double factor, double* to) const noexcept {
        for (Index e = first(j); e < first(j + 1); ++e) {
            to[x_.indices[e]] += factor * value(e);
        }
    }

    [[nodiscard]] double loss_at(const double* t) const {
        return loss_mean({.kind = in_.kind, .t = t, .y = in_.y, .rows = n_}, in_.c, false);
    }
    [[nodiscard]] double penalty_at(Index j, double w) const noexcept {
        return w == 0.0 ? 0.0 : w * (slope_at(in_.penalty, j, w) + 0.5 * in_.penalty.ridge * w);
    }
    [[nodiscard]] double penalty_of(const double* w) const noexcept {
        double total = 0.0;
        for (Index j = 0; j < p_; ++j) {
            total += penalty_at(j, w[j]);
        }
        return total;
    }

    /// The second-order model at the scores, its gradient for all columns, and which of them take part.
    void look() {
        loss_rows({.kind = in_.kind, .t = s_.t, .y = in_.y, .rows = n_},
                  {.slope = s_.slope, .bend = bend_.data()});
        double most = 0.0;
        for (Index i = 0; i < n_; ++i) {
            bend_[at(i)] *= in_.c[i];
            most = std::max(most, bend_[at(i)]);
        }
        total_ = 0.0;
        lean_ = 0.0;
        square_ = 0.0;
        for (Index i = 0; i < n_; ++i) {
            bend_[at(i)] = std::max(bend_[at(i)], kFloor * most);
            bent_[at(i)] = {in_.c[i] * s_.slope[i], bend_[at(i)]};
            square_ += bent_[at(i)].slope * bent_[at(i)].slope / bend_[at(i)];
            total_ += bend_[at(i)];
            lean_ += bent_[at(i)].slope;
        }
        const Effort effort(entries_);
        parallel_for(blocks_of(p_, kColumnsAtOnce), [&](Index block) {
            for (Index j = block * kColumnsAtOnce; j < std::min(p_, (block + 1) * kColumnsAtOnce); ++j) {
                look_column(j);
            }
        });
        work_ += entries_;
        active_.clear();
        used_.clear();
        for (Index j = 0; j < p_; ++j) {
            if (s_.w[j] != 0.0) {
                used_.push_back(j);
                active_.push_back(j);
            } else if (squares_[at(j)] > 0.0) {
                active_.push_back(j);
            }
        }
    }
    /// The gradient of a column; its curvature only if it takes part.
    void look_column(Index j) noexcept {
        double g[2] = {};
        Index e = first(j);
        const Index last = first(j + 1);
        for (; e + 2 <= last; e += 2) {
            g[0] += value(e) * bent_[at(x_.indices[e])].slope;
            g[1] += value(e + 1) * bent_[at(x_.indices[e + 1])].slope;
        }
        if (e < last) {
            g[0] += value(e) * bent_[at(x_.indices[e])].slope;
        }
        const double total = g[0] + g[1];
        s_.gradient[j] = total;
        squares_[at(j)] = 0.0;
        // the intercept's step takes its part with it: columns near the edge join
        if (s_.w[j] == 0.0 && -total <= in_.penalty.high[j] && -total >= in_.penalty.low[j]) {
            return;
        }
        double square = 0.0;
        double edge = 0.0;
        for (e = first(j); e < last; ++e) {
            const double bent = value(e) * bent_[at(x_.indices[e])].bend;
            square += bent * value(e);
            edge += bent;
        }
        edges_[at(j)] = in_.has_intercept ? edge : 0.0;
        squares_[at(j)] = in_.has_intercept ? std::max(square - edge * edge / total_, 1e-14 * square) : square;
    }

    /// What separates the coefficients from slopes whose adjoint product is `gradient`.
    [[nodiscard]] double gap(const double* gradient) const noexcept {
        return slope_gap(in_.penalty, p_, s_.w, gradient, loss_, square_) + (in_.has_intercept ? 10.0 * std::abs(lean_) : 0.0);
    }

    /// Visits the active columns a few times on one model, then goes as far as the objective falls.
    bool sweep_round(Index& signs, bool is_near) {
        for (const Index j : active_) {
            next_[at(j)] = s_.w[j];
        }
        offset_ = in_.has_intercept ? -lean_ / total_ : 0.0;
        order_ = active_;
        double start = 0.0;
        const Index others = p_ / std::max<Index>(1, Index(active_.size()));
        const Index most = is_near ? 1 : std::min(kMostSweeps, kSweeps * std::max<Index>(1, others / 2));
        for (Index sweep = 0; sweep < most; ++sweep) {
            double moved = 0.0;
            parallel_for(1, [&](Index) { moved = this->sweep(signs); });
            if (sweep == 0) {
                start = moved;
            } else if (moved <= kSettling * kSettling * start) {
                break;
            }
        }
        // along the change
        std::fill(scores_.begin(), scores_.end(), offset_);
        double fall = lean_ * offset_;
        bool any = offset_ != 0.0;
        parallel_for(1, [&](Index) {
            for (const Index j : active_) {
                const double d = next_[at(j)] - s_.w[j];
                if (d != 0.0) {
                    any = true;
                    add_column(j, d, scores_.data());
                    fall += s_.gradient[j] * d + penalty_at(j, next_[at(j)]) - penalty_at(j, s_.w[j]);
                }
            }
        });
        work_ += entries_ * static_cast<double>(active_.size()) / static_cast<double>(std::max<Index>(p_, 1));
        if (!any || !(fall < 0.0)) {
            return false;
        }
        double length = 1.0;
        for (int count = 0; count < kHalvings; ++count, length *= 0.5) {
            double change = 0.0;
            for (const Index j : active_) {
                const double w = s_.w[j] + length * (next_[at(j)] - s_.w[j]);
                change += penalty_at(j, w) - penalty_at(j, s_.w[j]);
            }
            if (take(length, change, kArmijo * length * fall)) {
                for (const Index j : active_) {
                    s_.w[j] = length == 1.0 ? next_[at(j)] : s_.w[j] + length * (next_[at(j)] - s_.w[j]);
                }
                s_.b += length * offset_;
                return true;
            }
        }
        return false;
    }

    /// Moves the scores by `length` times the change if the objective falls by `enough` (< 0).
    bool take(double length, double penalty_change, double enough) {
        trial_.resize(at(n_));
        for (Index i = 0; i < n_; ++i) {
            trial_[at(i)] = s_.t[i] + length * scores_[at(i)];
        }
        const double loss = loss_at(trial_.data());
        const double change = (loss - loss_) + penalty_change;
        if (!(change <= enough)) {
            if (blind_ >= kBlind || !(change <= enough + kNoise * loss_)) {
                return false;
            }
            ++blind_;
        }
        std::copy(trial_.begin(), trial_.end(), s_.t);
        loss_ = loss;
        return true;
    }

    /// One visit of every column in `order_`; those at rest at zero leave it. Returns how much the model fell at least.
    double sweep(Index& signs) noexcept {
        const Index count = Index(order_.size());
        for (Index i = count - 1; i > 0; --i) {
            std::swap(order_[at(i)], order_[at(Index(draw(seed_) % static_cast<std::uint64_t>(i + 1)))]);
        }
        const Kinks& penalty = in_.penalty;
        Index kept = 0;
        double moved = 0.0;
        signs = 0;
        for (Index a = 0; a < count; ++a) {
            const Index j = order_[at(a)];
            if (a + 2 < count) {
                const Index later = first(order_[at(a + 2)]);
                __builtin_prefetch(x_.indices + later);
                __builtin_prefetch(x_.values + later);
            }
            const Index begin = first(j);
            const Index end = first(j + 1);
            double sums[2] = {offset_ * edges_[at(j)], 0.0};
            Index e = begin;
            for (; e + 2 <= end; e += 2) {
                sums[0] += value(e) * bent_[at(x_.indices[e])].slope;
                sums[1] += value(e + 1) * bent_[at(x_.indices[e + 1])].slope;
            }
            if (e < end) {
                sums[0] += value(e) * bent_[at(x_.indices[e])].slope;
            }
            const double gradient = sums[0] + sums[1];
            const double w = next_[at(j)];
            const double curvature = squares_[at(j)] + penalty.ridge;
            if (!(curvature > 0.0)) {
                continue;
            }
            const double settled = settle(squares_[at(j)] * w - gradient, curvature, penalty.low[j], penalty.high[j]);
            if (w == 0.0 && settled == 0.0) {
                continue;
            }
            order_[at(kept++)] = j;
            const double step = settled - w;
            if (step == 0.0) {
                continue;
            }
            signs += w * settled <= 0.0 ? 1 : 0;
            next_[at(j)] = settled;
            moved += curvature * step * step;
            for (e = begin; e < end; ++e) {
                Bent& row = bent_[at(x_.indices[e])];
                row.slope += row.bend * value(e) * step;
            }
            offset_ -= edges_[at(j)] / total_ * step;
        }
        work_ += 2.0 * entries_ * static_cast<double>(count) / static_cast<double>(std::max<Index>(p_, 1));
        order_.resize(at(kept));
        return moved;
    }

    /// Solves for the coefficients in use at once, by conjugate gradients on the model as far as it is trusted: rows that come
    /// and go bend the objective beyond that, and signs that change stop at zero.
    bool face_step(double sharp, double target, Index& crossed, double& length) {
        const Kinks& penalty = in_.penalty;
        const Index m = Index(used_.size());
        FaceColumns columns(x_, used_);
        Numbers d(at(m)), left(at(m)), p(at(m)), product(at(m));
        const double level = in_.has_intercept ? -lean_ / total_ : 0.0;
        double size = 0.0;
        for (Index a = 0; a < m; ++a) {
            const Index j = used_[at(a)];
            left[at(a)] = -(s_.gradient[j] + level * edges_[at(j)] + penalty.ridge * s_.w[j] + slope_at(penalty, j, s_.w[j]));
            p[at(a)] = left[at(a)] / curvature(j);
            size += left[at(a)] * p[at(a)];
        }
        const double start = size;
        double farthest = 0.0;
        double size_d = 0.0;  // square of the length of d, each coefficient in units of its curvature
        bool is_at_edge = false;
        const double enough = 0.1 * target / std::max(loss_ + penalty_of(s_.w), 1e-300);  // share of a slope that a proof may give up
        for (int step = 0; step < steps_ && size > 0.0 && !is_at_edge; ++step) {
            farthest = 0.0;
            for (Index a = 0; a < m; ++a) {
                const double strength = std::max(std::abs(slope_at(penalty, used_[at(a)], s_.w[used_[at(a)]])), 1e-300);
                farthest = std::max(farthest, std::abs(left[at(a)]) / strength);
            }
            if (size <= sharp * sharp * start || farthest <= enough) {
                break;
            }
            double shift = 0.0;
            for (Index a = 0; a < m; ++a) {
                shift -= edges_[at(used_[at(a)])] * p[at(a)];
            }
            shift /= total_;
            double square = columns.curve(p, shift, bend_, scores_, product);
            square += penalty.ridge * dot(p.data(), p.data(), m);
            if (!(square > 0.0)) {
                break;
            }
            double cross = 0.0;
            double ahead = 0.0;
            for (Index a = 0; a < m; ++a) {
                const double bent = curvature(used_[at(a)]) * p[at(a)];
                cross += bent * d[at(a)];
                ahead += bent * p[at(a)];
            }
            double far = size / square;
            const double room = radius_ * radius_ - size_d;
            is_at_edge = far * (2.0 * cross + far * ahead) >= room;
            if (is_at_edge) {
                far = (std::sqrt(cross * cross + ahead * std::max(room, 0.0)) - cross) / ahead;
            }
            size_d += far * (2.0 * cross + far * ahead);
            double fresh = 0.0;
            for (Index a = 0; a < m; ++a) {
                d[at(a)] += far * p[at(a)];
                left[at(a)] -= far * (product[at(a)] + penalty.ridge * p[at(a)]);
                product[at(a)] = left[at(a)] / curvature(used_[at(a)]);
                fresh += left[at(a)] * product[at(a)];
            }
            const double keep = fresh / size;
            for (Index a = 0; a < m; ++a) {
                p[at(a)] = product[at(a)] + keep * p[at(a)];
            }
            size = fresh;
            work_ += 3.0 * entries_ * static_cast<double>(m) / static_cast<double>(std::max<Index>(p_, 1));
        }
        has_dual_ = !is_at_edge && farthest <= 10.0 * enough;
        length = 1.0;
        for (int count = 0; count < 6; ++count, length *= 0.5) {
            crossed = 0;
            double change = 0.0;
            double fall = lean_ * level * length;
            double shift = level * length;
            for (Index a = 0; a < m; ++a) {
                const Index j = used_[at(a)];
                double w = s_.w[j] + length * d[at(a)];
                if (w * s_.w[j] < 0.0) {
                    w = 0.0;
                    ++crossed;
                }
                next_[at(j)] = w;
                p[at(a)] = w - s_.w[j];
                shift -= edges_[at(j)] / total_ * p[at(a)];
                const double more = penalty_at(j, w) - penalty_at(j, s_.w[j]);
                change += more;
                fall += s_.gradient[j] * p[at(a)] + more;
            }
            columns.combine(p, shift, scores_);
            if (fall < 0.0 && take(1.0, change, kArmijo * fall)) {
                for (const Index j : used_) {
                    s_.w[j] = next_[at(j)];
                }
                s_.b += shift;
                if (length < 1.0) {
                    radius_ = length * std::sqrt(size_d);
                } else if (is_at_edge) {
                    radius_ *= kGrow;
                }
                return true;
            }
        }
        radius_ = length * std::sqrt(size_d);
        return false;
    }
    [[nodiscard]] double curvature(Index j) const noexcept { return squares_[at(j)] + in_.penalty.ridge; }

    /// The slopes of the model after the last step of the face, as a dual point, and what it leaves.
    double dual_gap() {
        for (Index i = 0; i < n_; ++i) {
            const double slope = in_.c[i] * s_.slope[i] + bend_[at(i)] * scores_[at(i)];
            s_.dual[i] = in_.c[i] > 0.0 ? slope / in_.c[i] : 0.0;
            if (in_.kind == LossKind::squared_hinge) {
                s_.dual[i] = in_.y[i] * std::min(in_.y[i] * s_.dual[i], 0.0);
            }
            bent_[at(i)].slope = in_.c[i] * s_.dual[i];
        }
        Numbers gradient(at(p_));
        const Effort effort(entries_);
        parallel_for(blocks_of(p_, kColumnsAtOnce), [&](Index block) {
            for (Index j = block * kColumnsAtOnce; j < std::min(p_, (block + 1) * kColumnsAtOnce); ++j) {
                double total = 0.0;
                for (Index e = first(j); e < first(j + 1); ++e) {
                    total += value(e) * bent_[at(x_.indices[e])].slope;
                }
                gradient[at(j)] = total;
            }
        });
        work_ += entries_;
        loss_excess({.kind = in_.kind, .t = s_.t, .y = in_.y, .rows = n_}, s_.dual, value_.data());
        double excess = 0.0;
        lean_ = 0.0;
        for (Index i = 0; i < n_; ++i) {
            excess += in_.c[i] * value_[at(i)];
            lean_ += bent_[at(i)].slope;
        }
        return std::isfinite(excess) ? excess + gap(gradient.data()) : std::numeric_limits<double>::infinity();
    }

    const CurvedIn& in_;
    const Csr<T, I>& x_;
    CurvedState& s_;
    Index n_;
    Index p_;
    Numbers value_;
    Numbers bend_;    ///< c times curvature
    Numbers scores_;  ///< a change of them
    Numbers trial_;
    std::vector<Bent> bent_;
    Numbers squares_;
    Numbers edges_;
    Numbers next_;
    std::vector<Index> active_;
    std::vector<Index> used_;
    std::vector<Index> order_;
    double entries_ = 0.0;
    double loss_ = 0.0;
    double total_ = 0.0;   ///< Σ c curvature
    double lean_ = 0.0;    ///< Σ c slope
    double square_ = 0.0;  ///< Σ c slope² / curvature
    double offset_ = 0.0;  ///< step of the intercept
    double work_ = 0.0;
    bool has_dual_ = false;
    int steps_ = kConjugate;
    double radius_ = std::numeric_limits<double>::infinity();  ///< within which the model is trusted
    int blind_ = 0;
    std::uint64_t seed_ = 20'011;
};

}  // namespace

CurvedDone descend_curved(const CurvedIn& in, const Goal& goal, double work, CurvedState& state) {
    CurvedDone done{};
    with_csr(in.columns, [&](const auto& x) { done = CurvedDescent(in, x, state).run(goal, work); });
    return done;
}

}  // namespace qed
