#include "qed/online/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/convex/narrow.hpp"
#include "qed/dense/numbers.hpp"

namespace qed {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kRounds = 30;     // of Newton's method
constexpr double kFlattest = 1e-8;  // where hardly a row bends, models are solved much faster for it
constexpr double kShare = 0.1;    // of the effort, which its own gap may take,
constexpr double kLoose = 0.03;   // share of the distance by which another proof may be better
constexpr double kFree = 1e-7;    // and without a penalty, where a pull is charged for as far as the plane has gone
constexpr double kSharper = 0.3;  // how much less corners are rounded off each time the proof asks for it
constexpr int kCorners = 16;
constexpr double kReach = 10.0;   // how much further than the scores so far a bound without a penalty looks
constexpr int kHalvings = 60;

/// ℓ(t) = max_u u (t - kink) - bend u² / 2 - width |u| between low and high: every loss but the logistic one.
struct Piece {
    double kink;
    double low;
    double high;
    double bend;
    double width;

    [[nodiscard]] double pulled(double t) const noexcept {
        const double r = t - kink;
        return r > width ? r - width : (r < -width ? r + width : 0.0);
    }
    [[nodiscard]] double slope(double t) const noexcept {
        const double by = pulled(t);
        return by == 0.0 ? 0.0 : std::clamp(by / bend, low, high);
    }
    [[nodiscard]] double value(double t) const noexcept {
        const double u = slope(t);
        return u == 0.0 ? 0.0 : u * (pulled(t) - 0.5 * bend * u);
    }
    /// ℓ(t) + ℓ*(u) - t u, and the largest of its terms.
    [[nodiscard]] double excess(double t, double u, double& size) const noexcept {
        const double own = value(t);
        const double conjugate = 0.5 * bend * u * u + width * std::abs(u);
        const double product = (t - kink) * u;
        size = own + conjugate + std::abs(product);
        return own + conjugate - product;
    }
    /// By how much the slope changes at most while the score moves by `far`.
    [[nodiscard]] double jump(double far) const noexcept { return std::min(far / bend, high - low); }
};

/// log(1 + exp(-y t)).
struct Curve {
    double y;

    [[nodiscard]] double pulled(double t) const noexcept { return t; }
    [[nodiscard]] double slope(double t) const noexcept { return -y / (1.0 + std::exp(y * t)); }
    [[nodiscard]] double value(double t) const noexcept {
        const double m = y * t;
        return std::max(-m, 0.0) + std::log1p(std::exp(-std::abs(m)));
    }
    [[nodiscard]] double excess(double t, double u, double& size) const noexcept {
        const double q = std::clamp(-y * u, 0.0, 1.0);
        const auto entropy = [](double part) { return part > 0.0 ? part * std::log(part) : 0.0; };
        const double own = value(t);
        const double product = q * y * t;
        size = own + 1.0 + std::abs(product);
        return own + (entropy(q) + entropy(1.0 - q)) + product;
    }
    [[nodiscard]] double jump(double far) const noexcept { return std::min(0.25 * far, 1.0); }
};

class Proofs {
  public:
    explicit Proofs(const OnlineProofIn& in)
        : in_(in), x_(static_cast<const double*>(in.x.data)), n_(in.x.rows), p_(in.x.columns),
          c_(at(n_)), y_(at(n_)), kink_(at(n_)), low_(at(n_)),
          high_(at(n_)), t_(at(n_)), off_(at(n_)), nearer_t_(at(n_)), slope_(at(n_)), tried_(at(n_)), nearer_(at(p_)), gradient_(at(p_)), z_(at(p_)),
          rounding_error_(at(p_)), down_(at(p_), -in.lasso), up_(at(p_), in.lasso) {}

    OnlineProof prove(Index problem, const double* w, double b, double* u) {
        rows_of(problem);
        look(w, b);
        OnlineProof out{};
        out.objective = losses(t_.data()) + penalty(w);
        out.null = null();
        // the dual point zero: no objective is below zero
        std::fill_n(u, n_, 0.0);
        const Bound nothing = bound(w, u);
        out.rounding = nothing.rounding;
        out.gap = out.objective + nothing.rounding;
        out.radius = kInfinity;
        out.is_tight = out.null == 0.0;  // nothing is better than no coefficients
        double best = std::min(out.null, out.objective);
        double level = begin(w, b, best < out.null);
        double corner = first_corner();
        const double share = in_.ridge > 0.0 || in_.lasso > 0.0 ? kShare : kFree;
        double enough = in_.effort * out.null;
        for (int count = 0; !out.is_tight && count < kCorners; ++count) {
            level = approach(level, corner, share * enough);
            best = std::min(best, losses(nearer_t_.data()) + penalty(nearer_.data()));
            std::copy(slope_.begin(), slope_.end(), tried_.begin());
            balance(tried_.data());
            const Bound found = bound(w, tried_.data());
            if (found.gap + found.rounding < out.gap) {
                std::copy(tried_.begin(), tried_.end(), u);
                out.gap = found.gap + found.rounding;
                out.rounding = found.rounding;
                out.radius = found.radius;
            }
            // the plane is at least so far from the best one, of which a few hundredths more or less do not matter
            enough = std::max(enough, kLoose * (out.objective - best));
            out.is_tight = best - (out.objective - out.gap) - out.rounding <= enough;
            if (corner <= bend()) {  // the loss itself
                break;
            }
            corner = next_corner(corner);
        }
        return out;
    }

  private:
    struct Bound {
        double gap;
        double rounding;
        double radius;
    };

    /// The steepest slope of the loss.
    [[nodiscard]] double steepest() const noexcept {
        switch (in_.loss) {
            case OnlineLoss::perceptron:
            case OnlineLoss::hinge:
            case OnlineLoss::logistic:
            case OnlineLoss::insensitive: return 1.0;
            case OnlineLoss::modified_huber: return 4.0;
            case OnlineLoss::huber: return in_.width;
            default: return kInfinity;
        }
    }
    /// Weights, targets and ends of the dual variables of a problem.
    void rows_of(Index problem) noexcept {
        const OnlineTargets& given = in_.targets;
        const bool of_labels = in_.loss <= OnlineLoss::logistic;
        const double most = steepest();
        for (Index i = 0; i < n_; ++i) {
            const bool is_own = static_cast<Index>(given.y[i]) == problem;
            const double y = given.problems == 1 ? given.y[i] : (is_own ? 1.0 : -1.0);
            const double weight = given.weight == nullptr ? 1.0 : given.weight[i];
            const double favour = given.favour == nullptr ? 1.0 : given.favour[2 * problem + (y > 0.0 ? 1 : 0)];
            c_[at(i)] = weight * favour / static_cast<double>(n_);
            y_[at(i)] = y;
            low_[at(i)] = of_labels && y < 0.0 ? 0.0 : -most;
            high_[at(i)] = of_labels && y > 0.0 ? 0.0 : most;
        }
    }
    [[nodiscard]] double bend() const noexcept {
        switch (in_.loss) {
            case OnlineLoss::squared:
            case OnlineLoss::huber: return 1.0;
            case OnlineLoss::squared_hinge:
            case OnlineLoss::modified_huber:
            case OnlineLoss::squared_insensitive: return 0.5;
            default: return 0.0;
        }
    }
    [[nodiscard]] double width() const noexcept {
        return in_.loss == OnlineLoss::insensitive || in_.loss == OnlineLoss::squared_insensitive ? in_.width : 0.0;
    }
    /// Calls `work(i, loss)` for every row.
    template <class Work>
    void each_row(Work&& work) const {
        if (in_.loss == OnlineLoss::logistic) {
            for (Index i = 0; i < n_; ++i) {
                work(i, Curve{y_[at(i)]});
            }
            return;
        }
        Piece piece{0.0, 0.0, 0.0, bend(), width()};
        for (Index i = 0; i < n_; ++i) {
            piece.kink = in_.loss == OnlineLoss::perceptron ? 0.0 : y_[at(i)];
            piece.low = low_[at(i)];
            piece.high = high_[at(i)];
            work(i, piece);
        }
    }
    [[nodiscard]] double losses(const double* t) const {
        double sum = 0.0;
        each_row([&](Index i, const auto& loss) { sum += c_[at(i)] * loss.value(t[i]); });
        return sum;
    }
    [[nodiscard]] double penalty(const double* w) const noexcept {
        double sum = 0.0;
        for (Index j = 0; j < p_; ++j) {
            sum += 0.5 * in_.ridge * w[j] * w[j] + in_.lasso * std::abs(w[j]);
        }
        return sum;
    }

    /// The objective without coefficients: the root of the slope lies between the ends of the targets, and is closed in on.
    [[nodiscard]] double null() const {
        if (!in_.intercept || in_.loss == OnlineLoss::perceptron) {
            return losses_at(0.0);
        }
        if (in_.loss == OnlineLoss::logistic) {
            double sides[2] = {0.0, 0.0};
            for (Index i = 0; i < n_; ++i) {
                sides[y_[at(i)] > 0.0 ? 1 : 0] += c_[at(i)];
            }
            return sides[0] > 0.0 && sides[1] > 0.0 ? losses_at(std::log(sides[1] / sides[0])) : 0.0;
        }
        const auto ends = std::minmax_element(y_.begin(), y_.end());
        double left = *ends.first;
        double right = *ends.second;
        double level = 0.5 * (left + right);
        for (int count = 0; count < kHalvings && left < right; ++count) {
            double slope = 0.0;
            double bent = 0.0;
            each_row([&](Index i, const auto& loss) {
                const double own = loss.slope(level);
                slope += c_[at(i)] * own;
                bent += own > low_[at(i)] && own < high_[at(i)] ? c_[at(i)] : 0.0;
            });
            if (slope == 0.0) {
                break;
            }
            (slope > 0.0 ? right : left) = level;
            const double next = level - slope * bend() / bent;
            const bool is_inside = bend() > 0.0 && next > left && next < right;
            if (is_inside && std::abs(next - level) <= 4.0 * kUnit * std::abs(level)) {
                break;
            }
            level = is_inside ? next : 0.5 * (left + right);
        }
        return losses_at(level);
    }
    [[nodiscard]] double losses_at(double level) const {
        double sum = 0.0;
        each_row([&](Index i, const auto& loss) { sum += c_[at(i)] * loss.value(level); });
        return sum;
    }

    /// Scores of the plane, and how far each may be off.
    void look(const double* w, double b) noexcept {
        for (Index i = 0; i < n_; ++i) {
            const double* row = x_ + i * in_.x.row_stride;
            double t = b;
            double size = std::abs(b) + std::abs(y_[at(i)]) + width();
            for (Index j = 0; j < p_; ++j) {
                t += row[j] * w[j];
                size += std::abs(row[j] * w[j]);
            }
            t_[at(i)] = t;
            off_[at(i)] = (static_cast<double>(p_) + 8.0) * kUnit * size;
        }
    }
    /// Begins at the plane, or where nothing is predicted; returns the level.
    double begin(const double* w, double b, bool at_plane) noexcept {
        double level = at_plane ? b : 0.0;
        for (Index j = 0; j < p_; ++j) {
            nearer_[at(j)] = at_plane ? w[j] : 0.0;
            level += in_.shift == nullptr ? 0.0 : in_.shift[j] * nearer_[at(j)];
        }
        for (Index i = 0; i < n_; ++i) {
            nearer_t_[at(i)] = at_plane ? t_[at(i)] : 0.0;
        }
        std::fill(slope_.begin(), slope_.end(), 0.0);
        return level;
    }
    /// How far corners are rounded off at first: so far that half of the rows bend that are not flat.
    [[nodiscard]] double first_corner() {
        needed_.clear();
        each_row([&](Index i, const auto& loss) {
            const double by = std::abs(loss.pulled(nearer_t_[at(i)]));
            if (by > 0.0 && loss.slope(nearer_t_[at(i)]) != 0.0) {
                needed_.push_back(by);
            }
        });
        return in_.loss == OnlineLoss::logistic || needed_.empty() ? 0.0 : middle() / steepest();
    }
    [[nodiscard]] double middle() noexcept {
        const auto half = needed_.begin() + static_cast<std::ptrdiff_t>(needed_.size() / 2);
        std::nth_element(needed_.begin(), half, needed_.end());
        return *half;
    }
    /// How far next: less, but so far that half of the rows that bend go on bending.
    [[nodiscard]] double next_corner(double corner) {
        const double own = bend();
        needed_.clear();
        each_row([&](Index i, const auto& loss) {
            const double u = slope_[at(i)];
            const double by = loss.pulled(nearer_t_[at(i)]);
            if (u > low_[at(i)] && u < high_[at(i)]) {
                needed_.push_back(by > 0.0 ? (by - own * high_[at(i)]) / (high_[at(i)] - u)
                                           : (own * low_[at(i)] - by) / (u - low_[at(i)]));
            }
        });
        const double less = kSharper * corner;
        if (needed_.empty()) {
            return less;
        }
        return std::max(less, own + middle());
    }
    /// Goes on to a better plane; returns its level. `slope_` gets slopes there, of a loss whose corners are rounded off: its
    /// conjugate has squares of the distance from the slopes so far in addition, so that rows which bend go on bending.
    double approach(double level, double corner, double target) {
        const double more = std::max(corner - bend(), 0.0);
        for (Index i = 0; i < n_; ++i) {
            kink_[at(i)] = y_[at(i)] - more * slope_[at(i)];
        }
        const DualLosses pieces{.kind = DualLoss::pieces,
                                .kink = kink_.data(),
                                .low = low_.data(),
                                .high = high_.data(),
                                .bend = std::max(bend(), corner),
                                .width = width()};
        const bool is_curve = in_.loss == OnlineLoss::logistic;
        const NarrowIn in{.loss = {LossKind::logistic, is_curve ? y_.data() : nullptr, is_curve ? nullptr : &pieces},
                          .x = {in_.x, in_.shift},
                          .c = c_.data(),
                          .penalty = {down_.data(), up_.data(), in_.ridge},
                          .has_intercept = in_.intercept,
                          .flattest = kFlattest};
        NarrowState state{nearer_.data(), in_.intercept ? level : 0.0, nearer_t_.data(), slope_.data(), gradient_.data()};
        descend_narrow(in, {target, kRounds}, state);
        return state.b;
    }
    /// Shrinks the heavier side, so that an intercept finds both of one weight.
    void balance(double* u) const noexcept {
        double over = 0.0;
        double under = 0.0;
        for (Index i = 0; i < n_ && in_.intercept; ++i) {
            (u[i] > 0.0 ? over : under) += c_[at(i)] * std::abs(u[i]);
        }
        if (over == under) {
            return;
        }
        const double factor = std::min(over, under) / std::max(over, under);
        for (Index i = 0; i < n_; ++i) {
            u[i] *= (u[i] > 0.0) == (over > under) ? factor : 1.0;
        }
    }

    /// What separates the plane from a dual point, which is shrunk where absolute values alone hold its pull.
    Bound bound(const double* w, double* u) {
        const double terms = static_cast<double>(n_) + 32.0;
        Bound out{0.0, 0.0, kInfinity};
        // what rounding leaves of the sum of u is given up, as a share of the heavier side: that share of the losses, at most
        const double lean = in_.intercept ? 4.0 * terms * kUnit : 0.0;
        pull(u, (terms + 4.0) * kUnit + lean);
        if (in_.ridge == 0.0 && in_.lasso > 0.0) {
            shrink(u);
        }
        double weight = 0.0;
        each_row([&](Index i, const auto& loss) {
            double size = 0.0;
            const double off = off_[at(i)];
            const double apart = std::abs(loss.slope(t_[at(i)]) - u[i]) + loss.jump(off);
            out.gap += c_[at(i)] * std::max(0.0, loss.excess(t_[at(i)], u[i], size));
            out.rounding += c_[at(i)] * (8.0 * kUnit * size + off * apart);
            weight += c_[at(i)] * loss.value(t_[at(i)]);
        });
        out.rounding += lean * weight;
        if (in_.ridge == 0.0 && in_.lasso == 0.0) {
            beyond(w, out);
        }
        for (Index j = 0; j < p_ && (in_.ridge > 0.0 || in_.lasso > 0.0); ++j) {
            const double inside = std::clamp(z_[at(j)], -in_.lasso, in_.lasso);
            out.gap += std::max(0.0, in_.lasso * std::abs(w[j]) - inside * w[j]);
            out.rounding += 8.0 * kUnit * (in_.lasso + std::abs(inside)) * std::abs(w[j]);
            if (in_.ridge > 0.0) {
                const double apart = in_.ridge * w[j] - (z_[at(j)] - inside);
                const double far = rounding_error_[at(j)] + 4.0 * kUnit * (in_.ridge * std::abs(w[j]) + std::abs(z_[at(j)]));
                out.gap += 0.5 * apart * apart / in_.ridge;
                out.rounding += (std::abs(apart) + 0.5 * far) * far / in_.ridge;
            } else {
                out.rounding += rounding_error_[at(j)] * std::abs(w[j]);
            }
        }
        out.rounding += terms * kUnit * out.gap + 8.0 * kUnit * (weight + penalty(w));
        return out;
    }
    /// z = -Σ c u (x - shift), and how far each may be off for a relative error of its terms.
    void pull(const double* u, double error) noexcept {
        std::fill(z_.begin(), z_.end(), 0.0);
        std::fill(rounding_error_.begin(), rounding_error_.end(), 0.0);
        for (Index i = 0; i < n_; ++i) {
            const double* row = x_ + i * in_.x.row_stride;
            const double by = c_[at(i)] * u[i];
            for (Index j = 0; j < p_ && by != 0.0; ++j) {
                const double shift = in_.shift == nullptr ? 0.0 : in_.shift[j];
                z_[at(j)] -= by * (row[j] - shift);
                rounding_error_[at(j)] += error * std::abs(by) * (std::abs(row[j]) + std::abs(shift));
            }
        }
    }
    void shrink(double* u) noexcept {
        double factor = 1.0;
        for (Index j = 0; j < p_; ++j) {
            const double most = (std::abs(z_[at(j)]) + rounding_error_[at(j)]) * (1.0 + 4.0 * kUnit);
            factor = most > in_.lasso ? std::min(factor, in_.lasso / most) : factor;
        }
        for (Index i = 0; i < n_; ++i) {
            u[i] *= factor;
        }
        for (Index j = 0; j < p_; ++j) {
            z_[at(j)] *= factor;
        }
    }
    /// Without a penalty nothing holds a pull: it is charged for coefficients that move up to a radius.
    void beyond(const double* w, Bound& out) const noexcept {
        double total = 0.0;
        double mean = 0.0;
        double target = 0.0;
        for (Index i = 0; i < n_; ++i) {
            total += c_[at(i)];
            mean += c_[at(i)] * t_[at(i)];
            target += c_[at(i)] * y_[at(i)] * y_[at(i)];
        }
        double square = 0.0;
        for (Index i = 0; i < n_; ++i) {
            const double from = t_[at(i)] - mean / total;
            square += c_[at(i)] * from * from;
        }
        double span = std::max(std::sqrt(square / total), std::min(1.0, std::sqrt(target / total)));
        for (Index j = 0; j < p_; ++j) {
            span = std::max(span, std::abs(w[j]) * in_.spans[j]);
        }
        out.radius = kReach * span;
        for (Index j = 0; j < p_; ++j) {
            if (in_.spans[j] > 0.0) {
                const double step = out.radius / in_.spans[j];
                out.gap += std::abs(z_[at(j)]) * step;
                out.rounding += rounding_error_[at(j)] * step;
            }
        }
    }

    const OnlineProofIn& in_;
    const double* x_;
    Index n_;
    Index p_;
    Numbers c_, y_, kink_, low_, high_;
    Numbers t_, off_;              ///< scores of the plane
    Numbers nearer_t_, slope_;     ///< those of a better one, and slopes there
    Numbers tried_;                ///< slopes as a dual point
    Numbers nearer_, gradient_;
    Numbers needed_;
    Numbers z_, rounding_error_, down_, up_;
};

}  // namespace

void prove_online(const OnlineProofIn& in, const double* w, const double* b, double* u, OnlineProof* found) {
    Proofs proofs(in);
    for (Index k = 0; k < in.targets.problems; ++k) {
        found[k] = proofs.prove(k, w + k * in.x.columns, b[k], u + k * in.x.rows);
    }
}

}  // namespace qed
