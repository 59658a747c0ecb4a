#include "qed/convex/narrow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "qed/convex/face.hpp"
#include "qed/dense/moments.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr double kArmijo = 0.01;
constexpr int kHalvings = 40;
constexpr int kUpdates = 12;       // of products of columns, before they are made afresh
constexpr Index kFewRows = 4;      // one row in so many may change for that
constexpr double kNoise = 1e-15;   // share of the loss that rounding may hide from a step
constexpr int kBlind = 3;          // steps that nothing but rounding judges
constexpr Index kSweeps = 2000;
constexpr double kReach = 10.0;
constexpr double kInner = 1e-5;    // share of the gap there is, to which a model is solved
constexpr double kTight = 1e-4;    // share of the gap asked for, below which none is solved

/// ℓ(t) = max_u u t - bend u²/2 - kink u - width |u| between low and high, with bend > 0: a quadratic between two lines.
void piece_rows(const DualLosses& loss, const double* t, Index rows, double* value, double* slope, double* bend) noexcept {
    for (Index i = 0; i < rows; ++i) {
        const double r = t[i] - loss.kink[i];
        const double pulled = r > loss.width ? r - loss.width : (r < -loss.width ? r + loss.width : 0.0);
        const double free = pulled / loss.bend;
        const double u = std::clamp(free, loss.low[i], loss.high[i]);
        slope[i] = u;
        value[i] = u * (pulled - 0.5 * loss.bend * u);
        bend[i] = pulled != 0.0 && u == free ? 1.0 / loss.bend : 0.0;
    }
}

class NarrowDescent {
  public:
    NarrowDescent(const NarrowIn& in, NarrowState& state)
        : in_(in), s_(state), n_(in.x.matrix.rows), p_(in.x.matrix.columns), value_(at(n_)), bend_(at(n_)),
          weighted_(at(n_)), trial_(at(n_)), second_(at(p_ * p_)), plain_(at(p_ * p_)), pull_(at(p_)), edge_(at(p_)), next_(at(p_)),
          direction_(at(p_)), model_gradient_(at(p_)) {
        has_kinks_ = std::any_of(in.penalty.low, in.penalty.low + p_, [](double one) { return one != 0.0; }) ||
                     std::any_of(in.penalty.high, in.penalty.high + p_, [](double one) { return one != 0.0; });
    }

    NarrowDone run(const Goal& goal) {
        scores(s_.w, s_.b, s_.t);
        NarrowDone done{0, 0.0, std::numeric_limits<double>::infinity(), false};
        done.loss = rows_at(s_.t, s_.slope, bend_.data());
        while (true) {
            gradient();
            done.gap = slope_gap(in_.penalty, p_, s_.w, s_.gradient, done.loss, square_);
            if (in_.has_intercept) {
                done.gap += kReach * std::abs(lean_);
            }
            if (done.gap <= goal.target || done.rounds >= goal.most) {
                return done;
            }
            loss_ = done.loss;
            const double rough = kInner * std::min(done.gap, done.loss);
            if (!model(std::max(kTight * goal.target, rough), kTight * goal.target) || !search(done.loss)) {
                done.is_over = true;
                return done;
            }
            ++done.rounds;
        }
    }

  private:
    void scores(const double* w, double b, double* t) const {
        multiply(in_.x, row_major(w, p_, 1, 1), &b, Kind::float64, t);
    }
    /// Writes slopes and curvatures, and returns the weighted mean loss.
    double rows_at(const double* t, double* slope, double* bend) {
        if (in_.loss.pieces != nullptr) {
            piece_rows(*in_.loss.pieces, t, n_, value_.data(), slope, bend);
        } else {
            loss_rows({.kind = in_.loss.kind, .t = t, .y = in_.loss.y, .rows = n_},
                      {.value = value_.data(), .slope = slope, .bend = bend});
        }
        return dot(value_.data(), in_.c, n_);
    }
    void gradient() {
        for (Index i = 0; i < n_; ++i) {
            weighted_[at(i)] = in_.c[i] * s_.slope[i];
        }
        lean_ = 0.0;
        square_ = 0.0;
        for (Index i = 0; i < n_; ++i) {
            lean_ += weighted_[at(i)];
            square_ += weighted_[at(i)] == 0.0 ? 0.0 : weighted_[at(i)] * s_.slope[i] / std::max(bend_[at(i)], 1e-300);
        }
        lean_ = in_.has_intercept ? lean_ : 0.0;
        multiply_transposed(in_.x, row_major(weighted_.data(), n_, 1, 1), s_.gradient);
    }

    /// Minimises the second-order model, again and tighter if that leads nowhere: `direction_` and `shift_` lead there.
    bool model(double target, double tight) {
        double most = 0.0;
        for (Index i = 0; i < n_; ++i) {
            bend_[at(i)] *= in_.c[i];
            most = std::max(most, bend_[at(i)]);
        }
        if (!(most > 0.0)) {
            return false;
        }
        total_ = 0.0;
        double constant = 0.0;
        for (Index i = 0; i < n_; ++i) {
            bend_[at(i)] = std::max(bend_[at(i)], in_.flattest * most);
            total_ += bend_[at(i)];
            constant += 0.5 * weighted_[at(i)] * weighted_[at(i)] / bend_[at(i)];
        }
        products();
        level_ = in_.has_intercept ? lean_ / total_ : 0.0;
        if (in_.has_intercept) {
            multiply_transposed(in_.x, row_major(bend_.data(), n_, 1, 1), edge_.data());
            for (Index j = 0; j < p_; ++j) {
                add_scaled(edge_.data(), -edge_[at(j)] / total_, second_.data() + j * p_, p_);
            }
        }
        for (Index j = 0; j < p_; ++j) {
            pull_[at(j)] = -(s_.gradient[j] - level_ * edge_[at(j)]);
        }
        if (!has_kinks_) {
            return by_factor() && leads();
        }
        for (Index j = 0; j < p_; ++j) {
            const double along = dot(second_.data() + j * p_, s_.w, p_);
            constant += s_.w[j] * (pull_[at(j)] + 0.5 * along);
            pull_[at(j)] += along;
        }
        const Quadratic quadratic{second_.data(), p_, p_, pull_.data(), std::max(constant, 0.0)};
        std::copy(s_.w, s_.w + p_, next_.begin());
        for (const double goal : {target, tight}) {
            descend_gram(quadratic, in_.penalty, {goal, kSweeps}, next_.data(), model_gradient_.data());
            if (leads()) {
                return true;
            }
        }
        return false;
    }
    /// Writes products of columns with each other. Where few rows bend otherwise than before, only those are added.
    void products() {
        changed_.clear();
        if (updates_ > 0) {
            for (Index i = 0; i < n_; ++i) {
                if (bend_[at(i)] != before_[at(i)]) {
                    changed_.push_back(i);
                }
            }
        }
        const Index count = static_cast<Index>(changed_.size());
        if (updates_ == 0 || updates_ > kUpdates || kFewRows * count > n_) {
            gram(in_.x.matrix, {.s = bend_.data(), .shift = in_.x.shift}, plain_.data());
            updates_ = 1;
        } else {
            for (const double sign : {1.0, -1.0}) {
                add_changed(sign);
            }
            ++updates_;
        }
        before_ = bend_;
        second_ = plain_;
    }
    /// Adds the products of rows whose curvature rose, or takes away those where it fell.
    void add_changed(double sign) {
        weights_.clear();
        picked_.clear();
        for (const Index i : changed_) {
            const double change = sign * (bend_[at(i)] - before_[at(i)]);
            if (change > 0.0) {
                weights_.push_back(change);
                with_type(in_.x.matrix.kind, [&](auto type) {
                    using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                    for (Index j = 0; j < p_; ++j) {
                        const double shift = in_.x.shift == nullptr ? 0.0 : in_.x.shift[j];
                        picked_.push_back(static_cast<double>(*in_.x.matrix.template at<T>(i, j)) - shift);
                    }
                });
            }
        }
        if (weights_.empty()) {
            return;
        }
        part_.resize(at(p_ * p_));
        gram(row_major(picked_.data(), static_cast<Index>(weights_.size()), p_, p_), {.s = weights_.data()}, part_.data());
        add_scaled(part_.data(), sign, plain_.data(), p_ * p_);
    }
    /// Says whether the objective falls along the way to the minimum of the model.
    bool leads() {
        shift_ = -level_;
        bool any = shift_ != 0.0;
        double fall = 0.0;
        for (Index j = 0; j < p_; ++j) {
            const double d = next_[at(j)] - s_.w[j];
            direction_[at(j)] = d;
            any = any || d != 0.0;
            shift_ -= in_.has_intercept ? edge_[at(j)] / total_ * d : 0.0;
            fall += s_.gradient[j] * d + penalty_at(j, next_[at(j)]) - penalty_at(j, s_.w[j]);
        }
        fall_ = std::min(fall + lean_ * shift_, 0.0);
        return any && (fall_ < 0.0 || (blind_ < kBlind && fall + lean_ * shift_ <= kNoise * loss_));
    }
    bool by_factor() {
        for (Index j = 0; j < p_; ++j) {
            second_[at(j * p_ + j)] += in_.penalty.ridge;
            pull_[at(j)] -= in_.penalty.ridge * s_.w[j];
        }
        factor_.resize(at(p_ * p_));
        if (cholesky(row_major(second_.data(), p_, p_, p_), factor_.data()) >= 0) {
            return false;
        }
        // read by columns, what is written is the lower factor
        const Matrix lower = row_major(factor_.data(), p_, p_, p_).transposed();
        solve_lower(lower, row_major(pull_.data(), p_, 1, 1), model_gradient_.data());
        solve_lower_transposed(lower, row_major(model_gradient_.data(), p_, 1, 1), next_.data());
        for (Index j = 0; j < p_; ++j) {
            next_[at(j)] += s_.w[j];
        }
        return true;
    }

    [[nodiscard]] double penalty_at(Index j, double w) const noexcept {
        return w == 0.0 ? 0.0 : w * (slope_at(in_.penalty, j, w) + 0.5 * in_.penalty.ridge * w);
    }

    /// Goes along the direction as far as the objective falls.
    bool search(double& loss) {
        double length = 1.0;
        for (int count = 0; count < kHalvings; ++count, length *= 0.5) {
            double change = 0.0;
            for (Index j = 0; j < p_; ++j) {
                const double w = length == 1.0 ? next_[at(j)] : s_.w[j] + length * direction_[at(j)];
                pull_[at(j)] = w;
                change += penalty_at(j, w) - penalty_at(j, s_.w[j]);
            }
            const double b = s_.b + length * shift_;
            scores(pull_.data(), b, trial_.data());
            const double found = rows_at(trial_.data(), s_.slope, bend_.data());
            const double noise = blind_ < kBlind ? kNoise * loss : 0.0;
            if ((found - loss) + change <= kArmijo * length * fall_ + noise) {
                blind_ += (found - loss) + change <= kArmijo * length * fall_ ? 0 : 1;
                std::copy(pull_.begin(), pull_.end(), s_.w);
                std::copy(trial_.begin(), trial_.end(), s_.t);
                s_.b = b;
                loss = found;
                return true;
            }
        }
        loss = rows_at(s_.t, s_.slope, bend_.data());
        return false;
    }

    const NarrowIn& in_;
    NarrowState& s_;
    Index n_;
    Index p_;
    Numbers value_;
    Numbers bend_;  ///< curvature, then c times it
    Numbers weighted_;
    Numbers trial_;
    Numbers second_;  ///< second derivatives, the intercept eliminated
    Numbers plain_;   ///< the same as it is kept, with the curvatures it was made with
    Numbers before_;
    Numbers picked_;  ///< rows that changed
    Numbers weights_;
    Numbers part_;
    std::vector<Index> changed_;
    int updates_ = 0;
    int blind_ = 0;
    Numbers factor_;
    Numbers pull_;
    Numbers edge_;
    Numbers next_;
    Numbers direction_;
    Numbers model_gradient_;
    double loss_ = 0.0;
    double lean_ = 0.0;   ///< Σ c slope
    double square_ = 0.0; ///< Σ c slope² / curvature
    double level_ = 0.0;  ///< the best change of the intercept alone, negative
    double total_ = 0.0;  ///< Σ c curvature
    double shift_ = 0.0;
    double fall_ = 0.0;
    bool has_kinks_ = false;
};

}  // namespace

double slope_gap(const Kinks& penalty, Index size, const double* w, const double* gradient, double loss,
                 double square) noexcept {
    double factor = 1.0;
    double total = 0.0;
    for (Index j = 0; j < size; ++j) {
        const double z = -gradient[j];
        const double inside = std::clamp(z, penalty.low[j], penalty.high[j]);
        if (penalty.ridge > 0.0) {
            const double apart = penalty.ridge * w[j] - (z - inside);
            total += 0.5 * apart * apart / penalty.ridge;
            total += w[j] == 0.0 ? 0.0 : std::max(w[j] * (slope_at(penalty, j, w[j]) - inside), 0.0);
        } else if (z != inside) {
            if (inside == 0.0) {  // no kink, no ridge: nothing holds it, and it is charged for moving about as far again
                total += std::abs(z) * kReach * std::max(std::abs(w[j]), 1e-3);
            } else {
                factor = std::min(factor, inside / z);
            }
        }
    }
    if (penalty.ridge > 0.0) {
        return total;
    }
    total += (1.0 - factor) * std::min(loss, (1.0 - factor) * square);
    for (Index j = 0; j < size; ++j) {
        total += w[j] == 0.0 ? 0.0 : std::max(w[j] * (slope_at(penalty, j, w[j]) + factor * gradient[j]), 0.0);
    }
    return total;
}

NarrowDone descend_narrow(const NarrowIn& in, const Goal& goal, NarrowState& state) {
    return NarrowDescent(in, state).run(goal);
}

}  // namespace qed
