#include "qed/convex/central_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/dense/moments.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/dense/rows.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/elementary.hpp"

namespace qed {
namespace {

using Lane = Vector<double>;
constexpr Index kLane = kLanes<double>;
constexpr double kShorten = 0.9995;  // of the way to the boundary
constexpr double kAway = 1e3;        // times the least distance so far: away from any optimum

double largest_lane(Lane v) noexcept {
    double most = v[0];
    for (int lane = 1; lane < kLane; ++lane) {
        most = std::max(most, v[lane]);
    }
    return most;
}

/// One number for each entry of the list, in parts that are padded to whole vectors.
class Path {
  public:
    Path(const PathIn& in, PathState& state)
        : in_(in), s_(state), q_(in.columns), part_(round_up(in.rows, kLane)),
          length_(in.copies * part_ + round_up(in.kinks, kLane)), weight_(at(length_)), kink_(at(length_)),
          low_(at(length_), -1.0), high_(at(length_), 1.0), above_(at(length_), 1.0), below_(at(length_), 1.0),
          u_(at(length_)), t_(at(length_)), stiff_(at(length_)), e_(at(length_)), du_(at(length_)), up_(at(length_)),
          down_(at(length_)), dt_(at(length_)), rows_(at(part_)), slopes_(at(q_)), right_(at(q_)), d_(at(q_)),
          half_(at(q_)), scale_(at(q_)), matrix_(at(q_ * q_)), scaled_(at(q_ * q_)), factor_(at(q_ * q_)) {
        copy_in(in.weight, weight_);
        copy_in(in.kink, kink_);
        copy_in(in.low, low_);
        copy_in(in.high, high_);
        copy_in(state.above, above_);
        copy_in(state.below, below_);
        copy_in(state.u, u_);
        for (Index j = 0; j + 1 < q_; ++j) {
            is_linear_ = is_linear_ && in.curvature[j] == 0.0;
        }
        forward(s_.w, t_);
    }

    PathDone run(double until, Index most) {
        PathDone done{std::numeric_limits<double>::infinity(), 0, false};
        double least = std::numeric_limits<double>::infinity();
        while (true) {
            done.distance = distance();
            least = std::min(least, kAway * done.distance);
            if (done.distance > least || !std::isfinite(done.distance)) {
                done.is_over = true;
                break;
            }
            if (done.distance <= until || done.steps >= most) {
                break;
            }
            if (!step()) {
                done.is_over = true;
                break;
            }
            ++done.steps;
        }
        copy_out(above_, s_.above);
        copy_out(below_, s_.below);
        copy_out(u_, s_.u);
        return done;
    }

  private:
    template <class Each>
    void parts(Each&& each) const {
        for (Index k = 0; k < in_.copies; ++k) {
            each(k * in_.rows, k * part_, in_.rows);
        }
        each(in_.copies * in_.rows, in_.copies * part_, in_.kinks);
    }
    void copy_in(const double* from, Numbers& to) const {
        parts([&](Index a, Index b, Index count) { std::copy_n(from + a, count, to.data() + b); });
    }
    void copy_out(const Numbers& from, double* to) const {
        parts([&](Index a, Index b, Index count) { std::copy_n(from.data() + b, count, to + a); });
    }

    /// out = scores of (w, b), and the coefficients that stand among them.
    void forward(const double* w, Numbers& out) const {
        const Matrix table = row_major(in_.table, in_.rows, q_, q_);
        multiply({table}, row_major(w, q_, 1, 1), nullptr, Kind::float64, out.data());
        for (Index k = 1; k < in_.copies; ++k) {
            std::copy_n(out.data(), in_.rows, out.data() + k * part_);
        }
        for (Index k = 0; k < in_.kinks; ++k) {
            out[at(in_.copies * part_ + k)] = w[in_.kinked[k]];
        }
    }
    /// out = Σ x (row of the table), where `x` is what `value` gives for a vector of the list.
    template <class Value>
    void backward(Value&& value, Numbers& out) {
        for (Index i = 0; i < part_; i += kLane) {
            Lane total = value(i);
            for (Index k = 1; k < in_.copies; ++k) {
                total += value(k * part_ + i);
            }
            store(rows_.data() + i, total);
        }
        multiply_transposed({row_major(in_.table, in_.rows, q_, q_)}, row_major(rows_.data(), in_.rows, 1, 1), out.data());
        for (Index k = 0; k < in_.kinks; k += kLane) {
            const Lane x = value(in_.copies * part_ + k);
            for (Index lane = 0; lane < std::min(kLane, in_.kinks - k); ++lane) {
                out[at(in_.kinked[k + lane])] += x[lane];
            }
        }
    }
    [[nodiscard]] Lane lane(const Numbers& from, Index i) const noexcept { return load(from.data() + i); }

    double distance() {
        backward([&](Index i) { return lane(weight_, i) * lane(u_, i); }, slopes_);
        Lane left{};
        for (Index i = 0; i < length_; i += kLane) {
            const Lane u = lane(u_, i);
            left += lane(weight_, i) * (lane(above_, i) * (lane(high_, i) - u) + lane(below_, i) * (u - lane(low_, i)));
        }
        left_ = sum_lanes(left);
        double off = 0.0;
        for (Index j = 0; j < q_; ++j) {
            slopes_[at(j)] += in_.pull[j] + in_.curvature[j] * s_.w[j];
        }
        if (!in_.has_intercept) {
            slopes_[at(q_ - 1)] = 0.0;
        }
        for (Index j = 0; j < q_; ++j) {
            off += std::abs(slopes_[at(j)]) / in_.size[j];
        }
        return left_ + in_.spread * off;
    }

    bool step() {
        for (Index i = 0; i < length_; i += kLane) {
            const Lane u = lane(u_, i);
            const Lane stiff = 1.0 / (lane(above_, i) / (lane(high_, i) - u) + lane(below_, i) / (u - lane(low_, i)));
            store(stiff_.data() + i, stiff);
            store(e_.data() + i, lane(t_, i) - lane(kink_, i));
        }
        if (!factorise()) {
            return false;
        }
        solve();
        double long_p = 0.0;
        double long_d = 0.0;
        Lane then{};
        advance([](Index, Lane) { return Pair{}; }, long_p, long_d);
        for (Index i = 0; i < length_; i += kLane) {
            const Lane room_up = lane(high_, i) - lane(u_, i);
            const Lane room_down = lane(u_, i) - lane(low_, i);
            const Lane du = lane(du_, i) * long_d;
            then += lane(weight_, i) * ((lane(above_, i) + lane(up_, i) * long_p) * (room_up - du) +
                                        (lane(below_, i) + lane(down_, i) * long_p) * (room_down + du));
        }
        Lane all{};
        for (Index i = 0; i < length_; i += kLane) {
            all += lane(weight_, i);
        }
        const double after = sum_lanes(then);
        const double mean = std::max(after, 0.0) / (2.0 * sum_lanes(all));
        const double mu = std::max({(after / left_) * (after / left_) * mean, 1e-3 * mean, 1e-300});
        // the corrector: the same matrix, with the products that the predictor left behind
        for (Index i = 0; i < length_; i += kLane) {
            const Lane du = lane(du_, i);
            const Lane more_up = (lane(up_, i) * du + mu) / (lane(high_, i) - lane(u_, i));
            const Lane more_down = (mu - lane(down_, i) * du) / (lane(u_, i) - lane(low_, i));
            store(e_.data() + i, lane(t_, i) - lane(kink_, i) - more_up + more_down);
            store(up_.data() + i, more_up);
            store(down_.data() + i, more_down);
        }
        solve();
        advance([&](Index i, Lane) { return Pair{lane(up_, i), lane(down_, i)}; }, long_p, long_d);
        long_p = std::min(1.0, kShorten * long_p);
        long_d = std::min(1.0, kShorten * long_d);
        if (!std::all_of(d_.begin(), d_.end(), [](double x) { return std::isfinite(x); }) ||
            !(std::max(long_p, long_d) >= 1e-10)) {
            return false;
        }
        for (Index j = 0; j < q_; ++j) {
            s_.w[j] += long_p * d_[at(j)];
        }
        for (Index i = 0; i < length_; i += kLane) {
            store(t_.data() + i, lane(t_, i) + lane(dt_, i) * long_p);
            const auto is_real = lane(weight_, i) > Lane{};
            store(above_.data() + i, is_real ? lane(above_, i) + lane(up_, i) * long_p : splat(1.0));
            store(below_.data() + i, is_real ? lane(below_, i) + lane(down_, i) * long_p : splat(1.0));
            store(u_.data() + i, lane(u_, i) + lane(du_, i) * long_d);
        }
        return true;
    }

    struct Pair {
        Lane up{};
        Lane down{};
    };
    /// Changes of dual variables and distances that follow from `dt_` and `e_`, and how far they can go.
    template <class More>
    void advance(More&& more, double& long_p, double& long_d) {
        Lane primal = splat(kShorten);
        Lane dual = splat(kShorten);
        for (Index i = 0; i < length_; i += kLane) {
            const Lane u = lane(u_, i);
            const Lane above = lane(above_, i);
            const Lane below = lane(below_, i);
            const Lane one_up = 1.0 / (lane(high_, i) - u);
            const Lane one_down = 1.0 / (u - lane(low_, i));
            const Lane du = lane(stiff_, i) * (lane(dt_, i) + lane(e_, i));
            const Pair extra = more(i, du);
            const Lane up = extra.up + above * one_up * du - above;
            const Lane down = extra.down - below * one_down * du - below;
            store(du_.data() + i, du);
            store(up_.data() + i, up);
            store(down_.data() + i, down);
            const Lane farthest = maximum(-up / above, -down / below);
            primal = maximum(primal, lane(weight_, i) > Lane{} ? farthest : Lane{});  // what pads a vector weighs nothing
            dual = maximum(dual, maximum(du * one_up, -du * one_down));
        }
        double p = largest_lane(primal);
        double d = largest_lane(dual);
        if (!is_linear_) {  // the smooth part of the penalty ties both together
            p = d = std::max(p, d);
        }
        long_p = 1.0 / p;
        long_d = 1.0 / d;
    }

    /// Second derivatives, scaled to a unit diagonal, with a little more diagonal where they are singular.
    bool factorise() {
        for (Index i = 0; i < part_; i += kLane) {
            Lane total = lane(weight_, i) * lane(stiff_, i);
            for (Index k = 1; k < in_.copies; ++k) {
                total += lane(weight_, k * part_ + i) * lane(stiff_, k * part_ + i);
            }
            store(rows_.data() + i, total);
        }
        gram(row_major(in_.table, in_.rows, q_, q_), {.s = rows_.data()}, matrix_.data());
        for (Index j = 0; j < q_; ++j) {
            matrix_[at(j * q_ + j)] += in_.curvature[j];
        }
        for (Index k = 0; k < in_.kinks; ++k) {
            const Index i = in_.copies * part_ + k;
            matrix_[at(in_.kinked[k] * (q_ + 1))] += weight_[at(i)] * stiff_[at(i)];
        }
        if (!in_.has_intercept) {
            matrix_[at(q_ * q_ - 1)] = 1.0;
        }
        for (Index j = 0; j < q_; ++j) {
            const double own = matrix_[at(j * q_ + j)];
            scale_[at(j)] = own > 0.0 ? 1.0 / std::sqrt(own) : 1.0;
        }
        for (const double more : {0.0, 1e-14, 1e-12, 1e-10, 1e-8}) {
            bool is_finite = true;
            for (Index j = 0; j < q_; ++j) {
                for (Index k = 0; k < q_; ++k) {
                    scaled_[at(j * q_ + k)] = matrix_[at(j * q_ + k)] * scale_[at(j)] * scale_[at(k)];
                    is_finite = is_finite && std::isfinite(scaled_[at(j * q_ + k)]);
                }
                scaled_[at(j * q_ + j)] += more;
            }
            if (!is_finite) {
                return false;
            }
            if (cholesky(row_major(scaled_.data(), q_, q_, q_), factor_.data()) < 0) {
                return true;
            }
        }
        return false;
    }
    /// d = -(second derivatives)⁻¹ (slopes + Σ weight stiff e (row)), and `dt_` along it.
    void solve() {
        backward([&](Index i) { return lane(weight_, i) * lane(stiff_, i) * lane(e_, i); }, right_);
        if (!in_.has_intercept) {
            right_[at(q_ - 1)] = 0.0;
        }
        for (Index j = 0; j < q_; ++j) {
            right_[at(j)] = -(right_[at(j)] + slopes_[at(j)]) * scale_[at(j)];
        }
        const Matrix lower = row_major(factor_.data(), q_, q_, q_).transposed();
        solve_lower(lower, row_major(right_.data(), q_, 1, 1), half_.data());
        solve_lower_transposed(lower, row_major(half_.data(), q_, 1, 1), d_.data());
        for (Index j = 0; j < q_; ++j) {
            d_[at(j)] *= scale_[at(j)];
        }
        forward(d_.data(), dt_);
    }

    const PathIn& in_;
    PathState& s_;
    Index q_;
    Index part_;
    Index length_;
    Numbers weight_, kink_, low_, high_, above_, below_, u_, t_;
    Numbers stiff_, e_, du_, up_, down_, dt_;
    Numbers rows_, slopes_, right_, d_, half_, scale_;
    Numbers matrix_, scaled_, factor_;
    double left_ = 0.0;  ///< what is left of the products
    bool is_linear_ = true;
};

}  // namespace

PathDone follow_path(const PathIn& in, double until, Index most, PathState& state) {
    return Path(in, state).run(until, most);
}

}  // namespace qed
