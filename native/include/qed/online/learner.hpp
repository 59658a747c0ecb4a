/// One problem of an online learner: coefficients under a scale, their running mean and penalties, and a step of one row or of
/// four rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "qed/machine/simd.hpp"
#include "qed/online/online.hpp"

namespace qed {

/// Below this the scale joins the coefficients.
inline constexpr double kSmallScale = 1e-6;

/// Length of step t.
[[gnu::always_inline]] inline double step_size(const OnlineRule& rule, double t) noexcept {
    switch (rule.steps) {
        case StepRule::optimal: return 1.0 / (rule.alpha * (rule.offset + t));
        case StepRule::power:  // a root is many times faster than a power
            return rule.eta / (rule.power == 0.25  ? std::sqrt(std::sqrt(t + 1.0))
                               : rule.power == 0.5 ? std::sqrt(t + 1.0)
                                                   : std::pow(t + 1.0, rule.power));
        default: return rule.eta;
    }
}

/// The same of four steps from t on, side by side.
[[gnu::always_inline]] inline void step_sizes(const OnlineRule& rule, double t, double (&out)[4]) noexcept {
    const auto each = [&](auto&& size) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            out[k] = size(t + static_cast<double>(k));
        }
    };
    if (rule.steps == StepRule::optimal) {
        each([&](double at) { return 1.0 / (rule.alpha * (rule.offset + at)); });
    } else if (rule.steps == StepRule::power && rule.power == 0.25) {
        each([&](double at) { return rule.eta / std::sqrt(std::sqrt(at + 1.0)); });
    } else {
        each([&](double at) { return step_size(rule, at); });
    }
}

/// Four steps, one after the other.
struct Four {
    double pairs[6];    ///< products of the rows with one another
    double squares[4];  ///< |x|², where they are needed
    double far[4];      ///< how far a row moves the coefficients against a slope of one; of one problem
    double shrunk[4];   ///< what the coefficients are multiplied by up to and with each step
    double grown[4];    ///< 1 / shrunk
    double intercept;   ///< one, or zero without one
    int counts;         ///< step from which on coefficients join the running mean
};

/// What four rows were when they were met, and the penalties at that time.
struct Did {
    double t[4];
    double slope[4];
    double penalty;
};

/// One of the problems, as the loop sees it.
template <class Table>
class Learner {
  public:
    Learner(const Table& table, Index columns, Index problem, const OnlineRule& rule, OnlineState& state, bool weighs) noexcept
        : table_(table),
          rule_(rule),
          columns_(columns),
          problem_(problem),
          weighs_(weighs && (rule.ridge > 0.0 || rule.lasso > 0.0) && rule.steps < StepRule::passive),
          w_(state.w + problem * columns),
          lag_(state.lag == nullptr ? nullptr : state.lag + problem * columns),
          paid_(state.paid == nullptr ? nullptr : state.paid + problem * columns),
          b_(state.b[problem]),
          scale_(state.scale[problem]),
          mass_(state.mass[problem]),
          b_sum_(state.b_sum[problem]) {
        for (Index j = 0; j < columns_ && weighs_; ++j) {
            square_ += w_[j] * w_[j];
            total_ += std::fabs(w_[j]);
        }
    }

    [[nodiscard]] Index problem() const noexcept { return problem_; }
    [[nodiscard]] double score(Index row) noexcept {
        dot_ = table_.dot(row, w_);
        return scale_ * dot_ + b_;
    }
    /// Whether somebody asks for the sum of squares of the coefficients.
    [[nodiscard]] bool weighs_squares() const noexcept { return weighs_ && rule_.ridge > 0.0; }
    /// What the penalty comes to, or zero where nobody asks.
    [[nodiscard]] double penalty() const noexcept {
        return scale_ * (0.5 * rule_.ridge * scale_ * square_ + rule_.lasso * total_);
    }

    void shrink(double eta) noexcept {
        if (rule_.ridge > 0.0) {
            scale_ *= std::max(0.0, 1.0 - eta * rule_.ridge);
            if (scale_ < kSmallScale) {
                rescale();
            }
        }
    }
    /// Moves along the row that was scored last, whose |x|² is `square` where sums of squares are asked for.
    void move_scored(Index row, double by, double square) noexcept {
        const double factor = by / scale_;
        square_ += factor * (2.0 * dot_ + factor * square);
        add(row, by, factor);
    }
    void move(Index row, double by) noexcept {
        const double factor = by / scale_;
        if (weighs_) {
            table_.each(row, [&](Index j, double x) { weigh(w_[j], w_[j] + factor * x); });
        }
        add(row, by, factor);
    }
    void add(Index row, double by, double factor) noexcept {
        table_.add(row, factor, w_);
        if (lag_ != nullptr && mass_ != 0.0) {
            table_.add(row, factor * mass_, lag_);
        }
        if (rule_.intercept) {
            b_ += by;
        }
    }
    /// Pulls the coefficients of a row towards zero by what the penalty has come to since they were last pulled.
    void settle(Index row, double owed) noexcept {
        const double inverse = 1.0 / scale_;
        table_.each(row, [&](Index j, double) {
            const double before = scale_ * w_[j];
            const double after = pulled(before, owed, paid_[j]);
            paid_[j] += after - before;
            const double next = after * inverse;
            weigh(w_[j], next);
            if (lag_ != nullptr) {
                lag_[j] += (next - w_[j]) * mass_;
            }
            w_[j] = next;
        });
    }
    /// Both in one go.
    void move_and_settle(Index row, double by, double owed) noexcept {
        const double inverse = 1.0 / scale_;
        const double factor = by * inverse;
        if constexpr (Table::kQuads) {
            change_all(row, factor, inverse, owed);
        } else {
            table_.each(row, [&](Index j, double x) {
                const double now = w_[j];
                const double before = scale_ * (now + factor * x);
                const double after = pulled(before, owed, paid_[j]);
                const double next = after * inverse;
                paid_[j] += after - before;
                weigh(now, next);
                w_[j] = next;
                if (lag_ != nullptr) {
                    lag_[j] += (next - now) * mass_;
                }
            });
        }
        if (rule_.intercept) {
            b_ += by;
        }
    }
    void count() noexcept {
        mass_ += scale_;
        b_sum_ += b_;
    }

    /// Learns from four rows: `slope(k, t)` is that of the loss of row k at score t. `did` gets scores and slopes as they were met.
    template <class Quad, class Slope>
    [[gnu::always_inline]] void learn(const Quad& rows, const Four& four, Did& did, Slope&& slope) noexcept {
        if (scale_ < kSmallScale) {
            rescale();
        }
        const double start = scale_;
        const double inverse = 1.0 / start;
        double dots[4];
        double factor[4];
        double level[4];
        rows.dots(w_, dots);
        double b = b_;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 4
            for (int before = 0; before < k; ++before) {
                dots[k] += factor[before] * four.pairs[k * (k - 1) / 2 + before];
            }
            const double shrunk = k == 0 ? start : start * four.shrunk[k - 1];
            did.t[k] = shrunk * dots[k] + b;
            did.slope[k] = slope(k, did.t[k]);
            const double by = four.far[k] * did.slope[k];
            factor[k] = by * (inverse * four.grown[k]);
            b += four.intercept * by;
            level[k] = b;
        }
        b_ = b;
        scale_ = start * four.shrunk[3];
        if (weighs_) {
            double shrunk = start;
            for (int k = 0; k < 4; ++k) {
                did.penalty += 0.5 * rule_.ridge * shrunk * shrunk * square_;
                square_ += factor[k] * (2.0 * dots[k] + factor[k] * four.squares[k]);
                shrunk = start * four.shrunk[k];
            }
        }
        if (factor[0] != 0.0 || factor[1] != 0.0 || factor[2] != 0.0 || factor[3] != 0.0) {
            rows.add(factor, w_);
        }
        if (lag_ != nullptr) {
            for (int k = 0; k < 4; ++k) {
                factor[k] *= mass_;
                if (k >= four.counts) {
                    mass_ += start * four.shrunk[k];
                    b_sum_ += level[k];
                }
            }
            rows.add(factor, lag_);
        }
    }

  private:
    /// Moves and settles all coefficients; sums for the penalty are made afresh.
    void change_all(Index row, double factor, double inverse, double owed) noexcept {
        double square = 0.0;
        double total = 0.0;
        Vector<double> squares = {};
        Vector<double> totals = {};
        table_.each_lanes(row, [&](Index j, auto x) __attribute__((always_inline)) {
            using V = decltype(x);
            const V now = take<V>(w_ + j);
            const V paid = take<V>(paid_ + j);
            const V before = scale_ * (now + factor * x);
            const V after = pulled(before, owed, paid);
            const V next = after * inverse;
            put(paid_ + j, paid + (after - before));
            put(w_ + j, next);
            if (lag_ != nullptr) {
                put(lag_ + j, take<V>(lag_ + j) + (next - now) * mass_);
            }
            const V size = next < 0.0 ? -next : next;
            if constexpr (std::is_same_v<V, double>) {
                square += next * next;
                total += size;
            } else {
                squares += next * next;
                totals += size;
            }
        });
        square_ = square + sum_lanes(squares);
        total_ = total + sum_lanes(totals);
    }
    /// A coefficient, or several, nearer to zero by what is owed beyond what has been paid; none goes past zero.
    template <class V>
    [[gnu::always_inline]] static V pulled(V before, double owed, V paid) noexcept {
        const V zero = {};
        const V down = before - (owed + paid);
        const V up = before + (owed - paid);
        const V above = down > zero ? down : zero;
        const V below = up < zero ? up : zero;
        return before > zero ? above : (before < zero ? below : before);
    }
    void weigh(double before, double after) noexcept {
        square_ += after * after - before * before;
        total_ += std::fabs(after) - std::fabs(before);
    }
    void rescale() noexcept {
        square_ *= scale_ * scale_;
        total_ *= scale_;
        dot_ *= scale_;
        if (scale_ == 0.0) {  // everything was forgotten
            if (lag_ != nullptr) {
                for (Index j = 0; j < columns_; ++j) {
                    lag_[j] -= mass_ * w_[j];
                }
            }
            std::fill_n(w_, columns_, 0.0);
            mass_ = 0.0;
            scale_ = 1.0;
            return;
        }
        for (Index j = 0; j < columns_; ++j) {
            w_[j] *= scale_;
        }
        mass_ /= scale_;
        scale_ = 1.0;
    }

    const Table& table_;
    const OnlineRule& rule_;
    Index columns_;
    Index problem_;
    bool weighs_;
    double* w_;
    double* lag_;
    double* paid_;
    double& b_;
    double& scale_;
    double& mass_;
    double& b_sum_;
    double dot_ = 0.0;     ///< of the row scored last, before the scale
    double square_ = 0.0;  ///< Σ w² and Σ |w|, before the scale, kept for the penalty where somebody asks
    double total_ = 0.0;
};

}  // namespace qed
