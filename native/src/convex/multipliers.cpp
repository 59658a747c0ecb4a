#include "qed/convex/multipliers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "qed/dense/moments.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/dense/rows.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/elementary.hpp"

namespace qed {
namespace {

using Lane = Vector<double>;
constexpr Index kLane = kLanes<double>;
constexpr double kShrink = 0.4;        // of the bend, each time that anchors move
constexpr double kLoose = 5.0;         // slopes may leave so many times what rounding off has cost
constexpr double kLeast = 1e-13;       // bend beside the first, below which rounding speaks
constexpr double kFlat = 0.3;          // share of its slope that a search along a line may leave
constexpr int kLooks = 30;             // at points of a line
constexpr int kUpdates = 12;           // of products of columns, before they are made afresh
constexpr Index kFewRows = 2;          // one row in so many may change for that
constexpr int kIdle = 3;               // steps that lead nowhere

class Multipliers {
  public:
    Multipliers(const MultipliersIn& in, MultipliersState& state)
        : in_(in), s_(state), n_(in.x.rows), p_(in.x.columns), length_(round_up(n_, kLane)), c_(at(length_)),
          kink_(at(length_)), low_(at(length_), -1.0), high_(at(length_), 1.0), anchor_(at(length_)), u_(at(length_)),
          t_(at(length_)), dt_(at(length_)), inside_(at(length_)), before_(at(length_)), rows_(at(length_)), g_(at(p_)),
          d_(at(p_)), half_(at(p_)), products_(at(p_ * p_)), second_(at(p_ * p_)), factor_(at(p_ * p_)) {
        std::copy_n(in.c, n_, c_.begin());
        std::copy_n(in.loss.kink, n_, kink_.begin());
        std::copy_n(in.loss.low, n_, low_.begin());
        std::copy_n(in.loss.high, n_, high_.begin());
        std::copy_n(state.anchor, n_, anchor_.begin());
    }

    MultipliersDone run(const Goal& goal) {
        MultipliersDone done{0, std::numeric_limits<double>::infinity(), false};
        scores(s_.w, t_.data());
        const double first = first_bend();
        s_.bend = s_.bend > 0.0 ? s_.bend : first;
        int idle = 0;
        look();
        while (true) {
            const double lack = slopes();
            const double left = excess();
            done.gap = lack + left;
            if (done.gap <= goal.target || done.rounds >= goal.most) {
                break;
            }
            if (!std::isfinite(done.gap) || idle > kIdle || !(s_.bend > kLeast * first)) {
                done.is_over = true;
                break;
            }
            if (lack <= kLoose * left) {
                move_anchors();
                continue;
            }
            ++done.rounds;
            if (!step()) {
                ++idle;
                move_anchors();
            }
        }
        std::copy_n(u_.begin(), n_, s_.u);
        std::copy_n(anchor_.begin(), n_, s_.anchor);
        return done;
    }

  private:
    [[nodiscard]] static Lane lane(const Numbers& from, Index i) noexcept { return load(from.data() + i); }

    void scores(const double* w, double* t) const {
        multiply({in_.x}, row_major(w, p_, 1, 1), nullptr, Kind::float64, t);
    }
    /// A bend for which most rows are where the loss is rounded off: the first step is one of least squares.
    [[nodiscard]] double first_bend() const noexcept {
        Lane apart{};
        Lane all{};
        Lane widest{};
        for (Index i = 0; i < length_; i += kLane) {
            apart += lane(c_, i) * absolute(lane(t_, i) - lane(kink_, i));
            all += lane(c_, i);
            widest = maximum(widest, lane(c_, i) > Lane{} ? lane(high_, i) - lane(low_, i) : Lane{});
        }
        double most = 0.0;
        for (int k = 0; k < kLane; ++k) {
            most = std::max(most, widest[k]);
        }
        const double found = 2.0 * sum_lanes(apart) / (sum_lanes(all) * most);
        return found > 0.0 && std::isfinite(found) ? found : 1.0;
    }

    struct Bent {
        Lane u;
        Lane pulled;
        Lane free;
    };
    /// The dual variable of the rounded loss at scores t.
    [[nodiscard]] Bent bent(Index i, Lane t, double one_over) const noexcept {
        const Lane r = t - lane(kink_, i) + lane(anchor_, i) * s_.bend;
        const Lane pulled = maximum(r - in_.loss.width, Lane{}) + minimum(r + in_.loss.width, Lane{});
        const Lane free = pulled * one_over;
        return {minimum(maximum(free, lane(low_, i)), lane(high_, i)), pulled, free};
    }
    /// Dual variables at the scores, and which of them are between their ends.
    void look() noexcept {
        const double one_over = 1.0 / s_.bend;
        const bool is_sharp = in_.loss.width == 0.0;
        for (Index i = 0; i < length_; i += kLane) {
            const Bent now = bent(i, lane(t_, i), one_over);
            store(u_.data() + i, now.u);
            Lane inside = now.free > lane(low_, i) ? (now.free < lane(high_, i) ? splat(1.0) : Lane{}) : Lane{};
            if (!is_sharp) {
                inside = now.pulled == Lane{} ? Lane{} : inside;
            }
            store(inside_.data() + i, inside);
        }
    }
    void move_anchors() noexcept {
        anchor_ = u_;
        s_.bend *= kShrink;
        look();
    }
    /// Slopes of the rounded objective in w; returns what separates w from the coefficients that u asks for.
    double slopes() {
        for (Index i = 0; i < length_; i += kLane) {
            store(rows_.data() + i, lane(c_, i) * lane(u_, i));
        }
        multiply_transposed({in_.x}, row_major(rows_.data(), n_, 1, 1), g_.data());
        add_scaled(s_.w, in_.ridge, g_.data(), p_);
        return 0.5 * dot(g_.data(), g_.data(), p_) / in_.ridge;
    }
    /// What separates the scores from the dual variables under the loss itself.
    [[nodiscard]] double excess() const noexcept {
        Lane total{};
        const double width = in_.loss.width;
        for (Index i = 0; i < length_; i += kLane) {
            const Lane r = lane(t_, i) - lane(kink_, i);
            const Lane up = maximum(lane(u_, i), Lane{});
            const Lane down = maximum(-lane(u_, i), Lane{});
            const Lane over = maximum(r - width, Lane{}) * (lane(high_, i) - up) + maximum(width - r, Lane{}) * up;
            const Lane under = maximum(-r - width, Lane{}) * (-lane(low_, i) - down) + maximum(r + width, Lane{}) * down;
            total += lane(c_, i) * (over + under);
        }
        return sum_lanes(total);
    }

    struct Along {
        double slope;
        double value;
    };
    /// The rounded losses at a distance along the line: their slope in the distance, and their sum.
    [[nodiscard]] Along along(double far) const noexcept {
        const double one_over = 1.0 / s_.bend;
        Lane slope{};
        Lane value{};
        for (Index i = 0; i < length_; i += kLane) {
            const Lane dt = lane(dt_, i);
            const Bent now = bent(i, lane(t_, i) + dt * far, one_over);
            const Lane weighted = lane(c_, i) * now.u;
            slope += weighted * dt;
            value += weighted * (now.pulled - now.u * (0.5 * s_.bend));
        }
        return {sum_lanes(slope), sum_lanes(value)};
    }

    /// One Newton step and the search along it; false if the rounded objective does not fall.
    bool step() {
        if (!factorise()) {
            return false;
        }
        const Matrix lower = row_major(factor_.data(), p_, p_, p_).transposed();
        solve_lower(lower, row_major(g_.data(), p_, 1, 1), half_.data());
        solve_lower_transposed(lower, row_major(half_.data(), p_, 1, 1), d_.data());
        for (double& one : d_) {
            one = -one;
        }
        scores(d_.data(), dt_.data());
        const double far = length_of();
        if (!(far > 0.0)) {
            return false;
        }
        add_scaled(d_.data(), far, s_.w, p_);
        for (Index i = 0; i < length_; i += kLane) {
            store(t_.data() + i, lane(t_, i) + lane(dt_, i) * far);
        }
        look();
        return true;
    }
    /// How far the rounded objective falls along `d_`: its slope there is small, and its value less than here.
    [[nodiscard]] double length_of() const noexcept {
        const double start = dot(g_.data(), d_.data(), p_);
        if (!(start < 0.0)) {
            return 0.0;
        }
        const double tilt = in_.ridge * dot(s_.w, d_.data(), p_);
        const double curve = in_.ridge * dot(d_.data(), d_.data(), p_);
        const double here = along(0.0).value;
        double near = 0.0;
        double near_slope = start;
        double beyond = std::numeric_limits<double>::infinity();
        double beyond_slope = 0.0;
        double far = 1.0;
        for (int count = 0; count < kLooks; ++count) {
            const Along at_far = along(far);
            const double slope = at_far.slope + tilt + far * curve;
            const double change = at_far.value - here + far * (tilt + 0.5 * far * curve);
            if (std::abs(slope) <= -kFlat * start && change <= 0.0) {
                return far;
            }
            if (slope < 0.0) {
                near = far;
                near_slope = slope;
            } else {
                beyond = far;
                beyond_slope = slope;
            }
            if (std::isinf(beyond)) {
                far *= 2.0;
                continue;
            }
            const double room = beyond - near;
            const double guess = near - near_slope * room / (beyond_slope - near_slope);
            far = std::clamp(guess, near + 0.1 * room, beyond - 0.1 * room);
        }
        return near;
    }

    bool factorise() {
        products();
        const double one_over = 1.0 / s_.bend;
        for (Index k = 0; k < p_ * p_; ++k) {
            second_[at(k)] = products_[at(k)] * one_over;
        }
        for (Index j = 0; j < p_; ++j) {
            second_[at(j * p_ + j)] += in_.ridge;
        }
        return cholesky(row_major(second_.data(), p_, p_, p_), factor_.data()) < 0;
    }
    /// Products of columns over the rows inside: where few of them have changed, only those are added or taken away.
    void products() {
        Index inside = 0;
        Index changed = 0;
        for (Index i = 0; i < n_; ++i) {
            inside += inside_[at(i)] != 0.0 ? 1 : 0;
            changed += inside_[at(i)] != before_[at(i)] ? 1 : 0;
        }
        if (updates_ == 0 || updates_ > kUpdates || kFewRows * changed > inside) {
            std::fill(before_.begin(), before_.end(), 0.0);
            std::fill(products_.begin(), products_.end(), 0.0);
            updates_ = 0;
        }
        ++updates_;
        for (const double sign : {1.0, -1.0}) {
            add_changed(sign);
        }
        before_ = inside_;
    }
    void add_changed(double sign) {
        weights_.clear();
        picked_.clear();
        for (Index i = 0; i < n_; ++i) {
            if (sign * (inside_[at(i)] - before_[at(i)]) > 0.0) {
                pick(i);
            }
        }
        if (weights_.empty()) {
            return;
        }
        part_.resize(at(p_ * p_));
        gram(row_major(picked_.data(), static_cast<Index>(weights_.size()), p_, p_), {.s = weights_.data()}, part_.data());
        add_scaled(part_.data(), sign, products_.data(), p_ * p_);
    }
    void pick(Index i) {
        weights_.push_back(c_[at(i)]);
        with_type(in_.x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index j = 0; j < p_; ++j) {
                picked_.push_back(static_cast<double>(*in_.x.template at<T>(i, j)));
            }
        });
    }

    const MultipliersIn& in_;
    MultipliersState& s_;
    Index n_;
    Index p_;
    Index length_;  ///< rows, padded to whole vectors by rows without weight
    Numbers c_, kink_, low_, high_, anchor_, u_, t_, dt_;
    Numbers inside_, before_;  ///< one for rows between their ends, now and when the products were made
    Numbers rows_, g_, d_, half_;
    Numbers products_, second_, factor_;
    Numbers weights_, picked_, part_;
    int updates_ = 0;
};

}  // namespace

MultipliersDone follow_multipliers(const MultipliersIn& in, const Goal& goal, MultipliersState& state) {
    return Multipliers(in, state).run(goal);
}

}  // namespace qed
