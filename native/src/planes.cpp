#include "qed/planes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/multipliers.hpp"
#include "qed/narrow.hpp"
#include "qed/numbers.hpp"
#include "qed/rows.hpp"

namespace qed {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDigits = 4;       // times that a gap which the proof does not confirm is asked for with a digit more
constexpr Index kFew = 15'000;   // entries of a table on which further digits cost next to nothing
constexpr double kFurther = 1e-8;
constexpr Index kRounds = 50;      // with absolute values: where these do not do, others go on with listeners and pauses

/// A sum that keeps what rounding drops, so that a stated objective is as exact as its terms.
class Sum {
  public:
    void add(double x) noexcept {
        const double now = total_ + x;
        lost_ += std::abs(total_) >= std::abs(x) ? (total_ - now) + x : (x - now) + total_;
        total_ = now;
    }
    [[nodiscard]] double value() const noexcept { return total_ + lost_; }

  private:
    double total_ = 0.0;
    double lost_ = 0.0;
};

class Planes {
  public:
    explicit Planes(const PlanesIn& in)
        : in_(in), n_(in.x.rows), p_(in.x.columns),
          is_squared_(in.loss == PlaneLoss::squared_hinge || in.loss == PlaneLoss::squared_tube),
          is_hinge_(in.loss == PlaneLoss::hinge || in.loss == PlaneLoss::squared_hinge), lengths_(at(n_)), low_(at(n_)),
          high_(at(n_)), t_(at(n_)), anchor_(at(n_)), weighted_(at(n_)), z_(at(p_)),
          down_(at(p_), in.is_sparse ? -1.0 : 0.0), up_(at(p_), in.is_sparse ? 1.0 : 0.0) {
        const double* x = static_cast<const double*>(in.x.data);
        for (Index i = 0; i < n_; ++i) {
            const double* row = x + i * in.x.row_stride;
            lengths_[at(i)] = std::sqrt(dot(row, row, p_));
        }
    }

    PlaneDone find(const double* y, double* w, double* u) {
        y_ = y;
        PlaneDone out{};
        std::fill_n(w, p_, 0.0);
        std::fill_n(u, n_, 0.0);
        std::fill(anchor_.begin(), anchor_.end(), 0.0);
        ends();
        Sum null;
        for (Index i = 0; i < n_; ++i) {
            null.add(in_.c[i] * value(-y_[i], y_[i]));
        }
        out.null = null.value();
        const double target = in_.tol * out.null;
        double asked = (is_squared_ ? 0.5 : (n_ * p_ <= kFew ? kFurther : 0.1)) * target;
        double bend = 0.0;
        for (int digit = 0; digit < kDigits; ++digit, asked *= 0.1) {
            const Index left = (in_.is_sparse ? std::min(kRounds, in_.most) : in_.most) - out.steps;
            const bool is_over = is_squared_ ? descend(w, u, asked, left, out) : follow(w, u, asked, left, bend, out);
            prove(w, u, out);
            if (out.gap - out.rounding <= target || is_over || left <= 0 || out.steps >= in_.most) {
                break;
            }
        }
        return out;
    }

  private:
    /// Ends of the dual variables.
    void ends() noexcept {
        const double most = is_squared_ ? kInfinity : 1.0;
        for (Index i = 0; i < n_; ++i) {
            low_[at(i)] = is_hinge_ && y_[i] < 0.0 ? 0.0 : -most;
            high_[at(i)] = is_hinge_ && y_[i] > 0.0 ? 0.0 : most;
        }
    }
    [[nodiscard]] DualLosses pieces() const noexcept {
        return {.kind = DualLoss::pieces, .kink = y_, .low = low_.data(), .high = high_.data(), .bend = is_squared_ ? 1.0 : 0.0,
                .width = in_.width};
    }
    bool follow(double* w, double* u, double asked, Index most, double& bend, PlaneDone& out) {
        const MultipliersIn in{.loss = pieces(), .x = in_.x, .c = in_.c, .ridge = 1.0};
        MultipliersState state{w, u, anchor_.data(), bend};
        const MultipliersDone done = follow_multipliers(in, {asked, most}, state);
        bend = state.bend;
        out.steps += done.rounds;
        return done.is_over;
    }
    bool descend(double* w, double* u, double asked, Index most, PlaneDone& out) {
        const DualLosses parts = pieces();
        NarrowIn in{.loss = {LossKind::squared, nullptr, nullptr},
                    .x = {in_.x},
                    .c = in_.c,
                    .penalty = {down_.data(), up_.data(), in_.is_sparse ? 0.0 : 1.0},
                    .has_intercept = false};
        if (in_.loss == PlaneLoss::squared_hinge) {
            in.loss = {LossKind::squared_hinge, y_, nullptr};
        } else if (in_.width == 0.0) {
            in.loss = {LossKind::squared, y_, nullptr};
        } else {
            in.loss.pieces = &parts;
        }
        NarrowState state{w, 0.0, t_.data(), u, z_.data()};
        const NarrowDone done = descend_narrow(in, {asked, most}, state);
        out.steps += done.rounds;
        return done.is_over;
    }

    /// The loss of a row whose score is r beyond its kink.
    [[nodiscard]] double value(double r, double y) const noexcept {
        double beyond = 0.0;
        if (is_hinge_) {
            beyond = std::max(0.0, y > 0.0 ? -r : r);
        } else {
            beyond = std::max(0.0, std::abs(r) - in_.width);
        }
        return is_squared_ ? 0.5 * beyond * beyond : beyond;
    }
    /// What separates a score that is r beyond its kink from a dual variable, for losses made of straight pieces.
    [[nodiscard]] double excess(Index i, double r, double u) const noexcept {
        const double up = std::max(u, 0.0);
        const double down = std::max(-u, 0.0);
        const double width = in_.width;
        return std::max(r - width, 0.0) * (high_[at(i)] - up) + std::max(width - r, 0.0) * up +
               std::max(-r - width, 0.0) * (-low_[at(i)] - down) + std::max(r + width, 0.0) * down;
    }

    struct Slopes {
        double squares;
        double crossed;
    };
    void prove(const double* w, double* u, PlaneDone& out) {
        multiply({in_.x}, row_major(w, p_, 1, 1), nullptr, Kind::float64, t_.data());
        const double length = std::sqrt(dot(w, w, p_));
        const double terms = static_cast<double>(n_ + p_) + 32.0;
        Sum sum;
        double apart = 0.0;   // Σ c excess
        double off = 0.0;     // what errors of the scores can hide of it
        double moved = 0.0;   // Σ c |u| |x|, which bounds what rounds in Σ c u x
        double squares = 0.0; // Σ c u²
        double crossed = 0.0; // Σ c |u| (error of the score)
        for (Index i = 0; i < n_; ++i) {
            const double c = in_.c[i];
            const double r = t_[at(i)] - y_[i];
            const double doubt = (static_cast<double>(p_) + 8.0) * kUnit * lengths_[at(i)] * length +
                                 8.0 * kUnit * (std::abs(t_[at(i)]) + std::abs(y_[i]) + in_.width);
            sum.add(c * value(r, y_[i]));
            if (is_squared_) {
                const double pulled = std::max(r - in_.width, 0.0) + std::min(r + in_.width, 0.0);
                u[i] = std::clamp(pulled, low_[at(i)], high_[at(i)]);
                off += c * doubt * doubt;
                squares += c * u[i] * u[i];
                crossed += c * std::abs(u[i]) * doubt;
            } else {
                apart += c * excess(i, r, u[i]);
                off += c * doubt * (high_[at(i)] - low_[at(i)]);
            }
            weighted_[at(i)] = c * u[i];
            moved += std::abs(weighted_[at(i)]) * lengths_[at(i)];
        }
        const double losses = sum.value();
        multiply_transposed({in_.x}, row_major(weighted_.data(), n_, 1, 1), z_.data());
        double rounding = off;
        double gap = apart;
        if (in_.is_sparse) {
            out.objective = losses + by_absolute_values(w, terms * kUnit * moved, {squares, crossed}, gap, rounding);
        } else {
            add_scaled(w, 1.0, z_.data(), p_);
            const double square = dot(z_.data(), z_.data(), p_);
            const double doubt = terms * kUnit * (length + moved);
            gap += 0.5 * square;
            rounding += std::sqrt(square) * doubt + 0.5 * doubt * doubt;
            out.objective = losses + 0.5 * length * length;
        }
        rounding += terms * kUnit * gap + 8.0 * kUnit * out.objective;
        out.rounding = rounding;
        out.gap = gap + rounding;
    }
    /// Shrinks the dual variables until no coefficient is pulled by more than one, and charges what that costs; returns |w|₁.
    double by_absolute_values(const double* w, double doubt, Slopes slopes, double& gap, double& rounding) const noexcept {
        double most = 0.0;
        double sum = 0.0;
        for (Index j = 0; j < p_; ++j) {
            most = std::max(most, std::abs(z_[at(j)]) + doubt);
            sum += std::abs(w[j]);
        }
        const double share = most > 1.0 ? (1.0 - 4.0 * kUnit) / most : 1.0;
        for (Index j = 0; j < p_; ++j) {
            gap += std::max(0.0, std::abs(w[j]) + share * z_[at(j)] * w[j]);
        }
        gap += 0.5 * (1.0 - share) * (1.0 - share) * slopes.squares;
        rounding += sum * (doubt + 8.0 * kUnit) + (1.0 - share) * slopes.crossed;
        return sum;
    }

    const PlanesIn& in_;
    Index n_;
    Index p_;
    bool is_squared_;
    bool is_hinge_;
    const double* y_ = nullptr;
    Numbers lengths_;  ///< of the rows
    Numbers low_, high_, t_, anchor_, weighted_, z_, down_, up_;
};

}  // namespace

void find_planes(const PlanesIn& in, double* w, double* u, PlaneDone* found) {
    Planes planes(in);
    for (Index k = 0; k < in.planes; ++k) {
        found[k] = planes.find(in.y + k * in.x.rows, w + k * in.x.columns, u + k * in.x.rows);
    }
}

}  // namespace qed
