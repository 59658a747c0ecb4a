/// Losses of one score, as learners that see one row at a time need them.
#pragma once

#include <algorithm>
#include <cmath>

#include "qed/online/online.hpp"

namespace qed {

/// A loss of one score: slope and value at t.
template <OnlineLoss kind>
struct Loss {
    double width;

    [[nodiscard]] double slope(double t, double y) const noexcept {
        const double m = y * t;
        if constexpr (kind == OnlineLoss::perceptron) {
            return m <= 0.0 ? -y : 0.0;
        } else if constexpr (kind == OnlineLoss::hinge) {
            return m < 1.0 ? -y : 0.0;
        } else if constexpr (kind == OnlineLoss::squared_hinge) {
            return m < 1.0 ? -2.0 * y * (1.0 - m) : 0.0;
        } else if constexpr (kind == OnlineLoss::modified_huber) {
            return m >= 1.0 ? 0.0 : (m >= -1.0 ? -2.0 * y * (1.0 - m) : -4.0 * y);
        } else if constexpr (kind == OnlineLoss::logistic) {
            return -y / (1.0 + std::exp(m));
        } else {
            const double r = t - y;
            if constexpr (kind == OnlineLoss::squared) {
                return r;
            } else if constexpr (kind == OnlineLoss::huber) {
                return std::clamp(r, -width, width);
            } else {
                const double over = std::fabs(r) - width;
                const double size = kind == OnlineLoss::insensitive ? 1.0 : 2.0 * over;
                return over > 0.0 ? std::copysign(size, r) : 0.0;
            }
        }
    }
    [[nodiscard]] double value(double t, double y) const noexcept {
        const double m = y * t;
        if constexpr (kind == OnlineLoss::perceptron) {
            return std::max(0.0, -m);
        } else if constexpr (kind == OnlineLoss::hinge) {
            return std::max(0.0, 1.0 - m);
        } else if constexpr (kind == OnlineLoss::squared_hinge) {
            return m < 1.0 ? (1.0 - m) * (1.0 - m) : 0.0;
        } else if constexpr (kind == OnlineLoss::modified_huber) {
            return m >= 1.0 ? 0.0 : (m >= -1.0 ? (1.0 - m) * (1.0 - m) : -4.0 * m);
        } else if constexpr (kind == OnlineLoss::logistic) {
            return m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
        } else {
            const double r = std::fabs(t - y);
            if constexpr (kind == OnlineLoss::squared) {
                return 0.5 * r * r;
            } else if constexpr (kind == OnlineLoss::huber) {
                return r <= width ? 0.5 * r * r : width * (r - 0.5 * width);
            } else {
                const double over = std::max(0.0, r - width);
                return kind == OnlineLoss::insensitive ? over : over * over;
            }
        }
    }
    static constexpr bool kOfLabels = kind <= OnlineLoss::logistic;
    /// Second derivative of losses whose slope grows without bound.
    static constexpr double kBend =
        kind == OnlineLoss::squared ? 1.0
        : kind == OnlineLoss::squared_hinge || kind == OnlineLoss::squared_insensitive ? 2.0
                                                                                       : 0.0;
};

/// Runs `work` with the loss as a type.
template <class Work>
void with_loss(const OnlineRule& rule, Work&& work) {
    switch (rule.loss) {
        case OnlineLoss::perceptron: return work(Loss<OnlineLoss::perceptron>{rule.width});
        case OnlineLoss::hinge: return work(Loss<OnlineLoss::hinge>{rule.width});
        case OnlineLoss::squared_hinge: return work(Loss<OnlineLoss::squared_hinge>{rule.width});
        case OnlineLoss::modified_huber: return work(Loss<OnlineLoss::modified_huber>{rule.width});
        case OnlineLoss::logistic: return work(Loss<OnlineLoss::logistic>{rule.width});
        case OnlineLoss::squared: return work(Loss<OnlineLoss::squared>{rule.width});
        case OnlineLoss::huber: return work(Loss<OnlineLoss::huber>{rule.width});
        case OnlineLoss::insensitive: return work(Loss<OnlineLoss::insensitive>{rule.width});
        case OnlineLoss::squared_insensitive: return work(Loss<OnlineLoss::squared_insensitive>{rule.width});
    }
}

}  // namespace qed
