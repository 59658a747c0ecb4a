#include <algorithm>
#include <cmath>

#include "qed/convex/face.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// One row of coordinates, each penalised by itself.
struct Separate {
    const Kinks& kinks;
    [[nodiscard]] double ridge() const noexcept { return kinks.ridge; }
    void settle_row(Index j, Index targets, const double* pull, double curvature, double* w) const noexcept {
        for (Index t = 0; t < targets; ++t) {
            w[t] = settle(pull[t], curvature, kinks.low[j], kinks.high[j]);
        }
    }
    /// The largest factor that brings z into the conjugate's domain.
    [[nodiscard]] double shrink(Index j, Index targets, const double* z) const noexcept {
        double factor = 1.0;
        for (Index t = 0; t < targets; ++t) {
            const double bound = z[t] > 0 ? kinks.high[j] : kinks.low[j];
            if (z[t] > 0 ? z[t] > bound : z[t] < bound) {
                factor = std::min(factor, bound / z[t]);
            }
        }
        return factor;
    }
    [[nodiscard]] double excess(Index j, Index targets, const double* w, const double* z,
                                double factor) const noexcept {
        double total = 0.0;
        for (Index t = 0; t < targets; ++t) {
            const double inside = std::clamp(factor * z[t], kinks.low[j], kinks.high[j]);
            total += w[t] == 0.0 ? 0.0 : std::max(w[t] * (slope_at(kinks, j, w[t]) - inside), 0.0);
            if (kinks.ridge > 0.0) {
                const double apart = kinks.ridge * w[t] - (z[t] - inside);
                total += 0.5 * apart * apart / kinks.ridge;
            }
        }
        return total;
    }
};

/// One row of coordinates, penalised by its length.
struct Together {
    const RowLengths& lengths;
    [[nodiscard]] double ridge() const noexcept { return lengths.ridge; }
    void settle_row(Index j, Index targets, const double* pull, double curvature, double* w) const noexcept {
        const double length = std::sqrt(dot(pull, pull, targets));
        const double factor = length > lengths.strength[j] ? (1.0 - lengths.strength[j] / length) / curvature : 0.0;
        for (Index t = 0; t < targets; ++t) {
            w[t] = factor * pull[t];
        }
    }
    [[nodiscard]] double shrink(Index j, Index targets, const double* z) const noexcept {
        const double length = std::sqrt(dot(z, z, targets));
        return length > lengths.strength[j] ? lengths.strength[j] / length : 1.0;
    }
    [[nodiscard]] double excess(Index j, Index targets, const double* w, const double* z,
                                double factor) const noexcept {
        const double length = std::sqrt(dot(z, z, targets));
        const double kept = length > lengths.strength[j] ? lengths.strength[j] / length : 1.0;
        const double inside = std::min(factor, kept);
        double total = std::sqrt(dot(w, w, targets)) * lengths.strength[j] - inside * dot(w, z, targets);
        total = std::max(total, 0.0);
        for (Index t = 0; t < targets && lengths.ridge > 0.0; ++t) {
            const double apart = lengths.ridge * w[t] - (1.0 - inside) * z[t];
            total += 0.5 * apart * apart / lengths.ridge;
        }
        return total;
    }
};

template <class Penalty>
class RowDescent {
  public:
    RowDescent(const Quadratic& quadratic, Index targets, const Penalty& penalty, double* w, double* gradient)
        : q_(quadratic), m_(targets), penalty_(penalty), w_(w), g_(gradient), pull_(at(targets)), step_(at(targets)) {
        refresh();
    }

    double sweep() noexcept {
        double moved = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            const double length = row(j)[j];
            const double curvature = length + penalty_.ridge();
            if (!(curvature > 0.0)) {
                continue;
            }
            double* w = w_ + j * m_;
            double* g = g_ + j * m_;
            for (Index t = 0; t < m_; ++t) {
                pull_[at(t)] = length * w[t] - g[t];
            }
            penalty_.settle_row(j, m_, pull_.data(), curvature, step_.data());
            double size = 0.0;
            for (Index t = 0; t < m_; ++t) {
                const double step = step_[at(t)] - w[t];
                w[t] = step_[at(t)];
                step_[at(t)] = step;
                size += step * step;
            }
            if (size > 0.0) {
                moved += 0.5 * curvature * size;
                move(row(j), step_.data());
            }
        }
        return moved;
    }

    [[nodiscard]] double gap() noexcept {
        const Index count = q_.size * m_;
        const double half = std::max(q_.constant + 0.5 * (dot(w_, g_, count) - dot(w_, q_.linear, count)), 0.0);
        double factor = 1.0;
        for (Index j = 0; j < q_.size && penalty_.ridge() == 0.0; ++j) {
            factor = std::min(factor, penalty_.shrink(j, m_, pulled(j)));
        }
        double total = (1.0 - factor) * (1.0 - factor) * half;
        for (Index j = 0; j < q_.size; ++j) {
            total += penalty_.excess(j, m_, w_ + j * m_, pulled(j), factor);
        }
        return total;
    }

    void refresh() noexcept {
        for (Index i = 0; i < q_.size * m_; ++i) {
            g_[i] = -q_.linear[i];
        }
        for (Index j = 0; j < q_.size; ++j) {
            const double* w = w_ + j * m_;
            if (std::any_of(w, w + m_, [](double v) { return v != 0.0; })) {
                move(row(j), w);
            }
        }
    }

  private:
    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }
    void move(const double* line, const double* step) noexcept {
        for (Index i = 0; i < q_.size; ++i) {
            add_scaled(step, line[i], g_ + i * m_, m_);
        }
    }
    /// Minus the gradient of the quadratic.
    const double* pulled(Index j) noexcept {
        for (Index t = 0; t < m_; ++t) {
            pull_[at(t)] = -g_[j * m_ + t];
        }
        return pull_.data();
    }

    const Quadratic& q_;
    Index m_;
    const Penalty& penalty_;
    double* w_;
    double* g_;
    Numbers pull_;
    Numbers step_;
};

template <class Penalty>
DescentResult descend_several(const Quadratic& quadratic, Index targets, const Penalty& penalty, const Goal& goal,
                              double* w, double* gradient) {
    RowDescent<Penalty> descent(quadratic, targets, penalty, w, gradient);
    DescentResult result{0, descent.gap()};
    while (result.gap > goal.target && result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(); });
        ++result.sweeps;
        result.gap = descent.gap();
        if (moved <= kNothing * quadratic.constant) {
            break;
        }
    }
    return result;
}

}  // namespace

DescentResult descend_targets(const Quadratic& quadratic, Index targets, const Kinks& penalty, const Goal& goal,
                              double* w, double* gradient) {
    return descend_several(quadratic, targets, Separate{penalty}, goal, w, gradient);
}

DescentResult descend_rows(const Quadratic& quadratic, Index targets, const RowLengths& penalty, const Goal& goal,
                           double* w, double* gradient) {
    return descend_several(quadratic, targets, Together{penalty}, goal, w, gradient);
}

}  // namespace qed
