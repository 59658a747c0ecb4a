#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "qed/face.hpp"
#include "qed/parallel.hpp"
#include "qed/triangular.hpp"

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
    [[nodiscard]] double value(Index j, Index targets, const double* w) const noexcept {
        double total = 0.0;
        for (Index t = 0; t < targets; ++t) {
            total += w[t] == 0.0 ? 0.0 : w[t] * (slope_at(kinks, j, w[t]) + 0.5 * kinks.ridge * w[t]);
        }
        return total;
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
    [[nodiscard]] double value(Index j, Index targets, const double* w) const noexcept {
        const double square = dot(w, w, targets);
        return lengths.strength[j] * std::sqrt(square) + 0.5 * lengths.ridge * square;
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

/// Sweeps over rows of coordinates. The gradient lies target after target, so that a step adds long lines to it.
template <class Penalty>
class RowDescent {
  public:
    RowDescent(const Quadratic& quadratic, Index targets, const Penalty& penalty, double* w)
        : q_(quadratic), m_(targets), penalty_(penalty), w_(w), g_(at(quadratic.size * targets)), pull_(at(targets)),
          step_(at(targets)) {
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
            for (Index t = 0; t < m_; ++t) {
                pull_[at(t)] = length * w[t] - g_[at(t * q_.size + j)];
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
                move(j, step_.data());
            }
        }
        return moved;
    }

    [[nodiscard]] double gap() noexcept {
        double factor = 1.0;
        for (Index j = 0; j < q_.size && penalty_.ridge() == 0.0; ++j) {
            factor = std::min(factor, penalty_.shrink(j, m_, pulled(j)));
        }
        double total = (1.0 - factor) * (1.0 - factor) * half(w_, g_);
        for (Index j = 0; j < q_.size; ++j) {
            total += penalty_.excess(j, m_, w_ + j * m_, pulled(j), factor);
        }
        return total;
    }

    /// Goes on along the way that the last sweeps have taken, as far as they seem to lead: the mixture of their points that
    /// would stand still if steps were linear. Taken where the objective falls; the gradient is the same mixture.
    void extrapolate() {
        points_.emplace_back(w_, w_ + q_.size * m_);
        slopes_.push_back(g_);
        if (static_cast<int>(points_.size()) <= kMixed) {
            return;
        }
        Numbers share;
        if (mixture(share)) {
            Numbers w(points_[0].size());
            Numbers g(g_.size());
            for (std::size_t k = 0; k < share.size(); ++k) {
                add_scaled(points_[k + 1].data(), share[k], w.data(), q_.size * m_);
                add_scaled(slopes_[k + 1].data(), share[k], g.data(), q_.size * m_);
            }
            if (objective(w.data(), g) < objective(w_, g_)) {
                std::copy(w.begin(), w.end(), w_);
                g_ = g;
            }
        }
        points_.clear();
        slopes_.clear();
    }

    /// The gradient row by row.
    void give(double* gradient) const noexcept {
        for (Index j = 0; j < q_.size; ++j) {
            for (Index t = 0; t < m_; ++t) {
                gradient[j * m_ + t] = g_[at(t * q_.size + j)];
            }
        }
    }

  private:
    static constexpr int kMixed = 5;

    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }
    void refresh() noexcept {
        for (Index j = 0; j < q_.size; ++j) {
            for (Index t = 0; t < m_; ++t) {
                g_[at(t * q_.size + j)] = -q_.linear[j * m_ + t];
            }
        }
        for (Index j = 0; j < q_.size; ++j) {
            const double* w = w_ + j * m_;
            if (std::any_of(w, w + m_, [](double v) { return v != 0.0; })) {
                move(j, w);
            }
        }
    }
    void move(Index j, const double* step) noexcept {
        for (Index t = 0; t < m_; ++t) {
            add_scaled(row(j), step[t], g_.data() + t * q_.size, q_.size);
        }
    }
    /// Minus the gradient of the quadratic.
    const double* pulled(Index j) noexcept {
        for (Index t = 0; t < m_; ++t) {
            pull_[at(t)] = -g_[at(t * q_.size + j)];
        }
        return pull_.data();
    }
    [[nodiscard]] double half(const double* w, const Numbers& g) const noexcept {
        double total = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            for (Index t = 0; t < m_; ++t) {
                total += w[j * m_ + t] * (g[at(t * q_.size + j)] - q_.linear[j * m_ + t]);
            }
        }
        return std::max(q_.constant + 0.5 * total, 0.0);
    }
    [[nodiscard]] double objective(const double* w, const Numbers& g) const noexcept {
        double total = half(w, g);
        for (Index j = 0; j < q_.size; ++j) {
            total += penalty_.value(j, m_, w + j * m_);
        }
        return total;
    }
    /// Shares of the last points, with a sum of one, whose steps cancel as far as they can; false where none stand out.
    [[nodiscard]] bool mixture(Numbers& share) const {
        const Index count = static_cast<Index>(points_.size()) - 1;
        Numbers steps(at(count) * points_[0].size());
        const Index length = q_.size * m_;
        for (Index k = 0; k < count; ++k) {
            std::copy(points_[at(k + 1)].begin(), points_[at(k + 1)].end(), steps.begin() + k * length);
            add_scaled(points_[at(k)].data(), -1.0, steps.data() + k * length, length);
        }
        Numbers products(at(count * count));
        double trace = 0.0;
        for (Index k = 0; k < count; ++k) {
            for (Index l = 0; l < count; ++l) {
                products[at(k * count + l)] = dot(steps.data() + k * length, steps.data() + l * length, length);
            }
            trace += products[at(k * count + k)];
        }
        for (Index k = 0; k < count; ++k) {
            products[at(k * count + k)] += 1e-12 * trace;
        }
        Numbers factor(at(count * count));
        if (cholesky(row_major(products.data(), count, count, count), factor.data()) >= 0) {
            return false;
        }
        const Matrix lower = row_major(factor.data(), count, count, count).transposed();
        const Numbers ones(at(count), 1.0);
        Numbers half_way(at(count));
        share.resize(at(count));
        solve_lower(lower, row_major(ones.data(), count, 1, 1), half_way.data());
        solve_lower_transposed(lower, row_major(half_way.data(), count, 1, 1), share.data());
        const double total = std::accumulate(share.begin(), share.end(), 0.0);
        for (double& one : share) {
            one /= total;
        }
        return std::isfinite(total) && total != 0.0;
    }

    const Quadratic& q_;
    Index m_;
    const Penalty& penalty_;
    double* w_;
    Numbers g_;
    Numbers pull_;
    Numbers step_;
    std::vector<Numbers> points_;
    std::vector<Numbers> slopes_;
};

template <class Penalty>
Descent descend_several(const Quadratic& quadratic, Index targets, const Penalty& penalty, const Goal& goal, double* w,
                        double* gradient) {
    RowDescent<Penalty> descent(quadratic, targets, penalty, w);
    Descent result{0, descent.gap()};
    while (result.gap > goal.target && result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(); });
        ++result.sweeps;
        result.gap = descent.gap();
        if (moved <= kNothing * quadratic.constant) {
            break;
        }
        if (result.gap > goal.target) {
            descent.extrapolate();
        }
    }
    descent.give(gradient);
    return result;
}

}  // namespace

Descent descend_targets(const Quadratic& quadratic, Index targets, const Kinks& penalty, const Goal& goal, double* w,
                        double* gradient) {
    return descend_several(quadratic, targets, Separate{penalty}, goal, w, gradient);
}

Descent descend_rows(const Quadratic& quadratic, Index targets, const RowLengths& penalty, const Goal& goal, double* w,
                     double* gradient) {
    return descend_several(quadratic, targets, Together{penalty}, goal, w, gradient);
}

}  // namespace qed
