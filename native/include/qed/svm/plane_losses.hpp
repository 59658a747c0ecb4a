/// The losses of a support vector machine for one row of targets: their values, slopes, and how dual variables fit scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/convex/dual_ascent.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/svm/planes.hpp"

namespace qed {

class PlaneLosses {
  public:
    PlaneLosses(const PlanesIn& in, Index rows)
        : kind_(in.loss), c_(in.c), width_(in.width), rows_(rows), low_(at(rows)), high_(at(rows)) {}

    /// Sets the targets, and with them the ends of the dual variables.
    void take(const double* y) noexcept {
        y_ = y;
        const double most = is_squared() ? std::numeric_limits<double>::infinity() : 1.0;
        for (Index i = 0; i < rows_; ++i) {
            low_[at(i)] = is_hinge() && y[i] < 0.0 ? 0.0 : -most;
            high_[at(i)] = is_hinge() && y[i] > 0.0 ? 0.0 : most;
        }
    }

    [[nodiscard]] bool is_squared() const noexcept {
        return kind_ == PlaneLoss::squared_hinge || kind_ == PlaneLoss::squared_tube;
    }
    [[nodiscard]] bool is_hinge() const noexcept { return kind_ == PlaneLoss::hinge || kind_ == PlaneLoss::squared_hinge; }
    [[nodiscard]] Index rows() const noexcept { return rows_; }
    [[nodiscard]] const double* y() const noexcept { return y_; }
    [[nodiscard]] const double* c() const noexcept { return c_; }
    [[nodiscard]] double width() const noexcept { return width_; }
    [[nodiscard]] DualLosses pieces() const noexcept {
        return {.kind = DualLoss::pieces, .kink = y_, .low = low_.data(), .high = high_.data(),
                .bend = is_squared() ? 1.0 : 0.0, .width = width_};
    }

    /// How far a score that is r beyond its kink falls short.
    [[nodiscard]] double value(Index i, double r) const noexcept {
        const double beyond = std::max(0.0, (is_hinge() ? (y_[i] > 0.0 ? -r : r) : std::abs(r)) - width_);
        return is_squared() ? 0.5 * beyond * beyond : beyond;
    }
    /// Of losses with squares.
    [[nodiscard]] double slope(Index i, double r) const noexcept {
        return std::clamp(std::max(r - width_, 0.0) + std::min(r + width_, 0.0), low_[at(i)], high_[at(i)]);
    }
    /// What separates a score that is r beyond its kink from a dual variable: a sum of parts that are never negative.
    [[nodiscard]] double excess(Index i, double r, double u) const noexcept {
        const double up = std::max(u, 0.0);
        const double down = std::max(-u, 0.0);
        if (is_squared()) {
            const double own = slope(i, r);
            const double inside = r - own;  // within the tube, or beyond the margin
            return 0.5 * (u - own) * (u - own) + up * std::max(width_ - inside, 0.0) + down * std::max(width_ + inside, 0.0);
        }
        return std::max(r - width_, 0.0) * (high_[at(i)] - up) + std::max(width_ - r, 0.0) * up +
               std::max(-r - width_, 0.0) * (-low_[at(i)] - down) + std::max(r + width_, 0.0) * down;
    }
    /// How fast that changes with the score, at most, over scores that are off by `off`.
    [[nodiscard]] double steepness(Index i, double r, double u, double off) const noexcept {
        return is_squared() ? std::abs(u - slope(i, r)) + off : high_[at(i)] - low_[at(i)];
    }

  private:
    PlaneLoss kind_;
    const double* y_ = nullptr;
    const double* c_;
    double width_;
    Index rows_;
    Numbers low_, high_;
};

}  // namespace qed
