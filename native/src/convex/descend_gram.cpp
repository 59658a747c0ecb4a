#include <algorithm>

#include "qed/convex/face.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

class GramDescent {
  public:
    GramDescent(const Quadratic& quadratic, const Kinks& penalty, double* w, double* gradient)
        : q_(quadratic), penalty_(penalty), w_(w), g_(gradient), squares_(at(quadratic.size)) {
        for (Index j = 0; j < q_.size; ++j) {
            squares_[at(j)] = row(j)[j];
        }
        refresh();
    }

    /// One sweep over all coordinates. Returns how much lower the objective is at least.
    double sweep() noexcept {
        double moved = 0.0;
        changed_ = 0;
        for (Index j = 0; j < q_.size; ++j) {
            const double length = squares_[at(j)];
            const double curvature = length + penalty_.ridge;
            if (!(curvature > 0.0)) {
                continue;
            }
            const double step = settle(length * w_[j] - g_[j], curvature, penalty_.low[j], penalty_.high[j]) - w_[j];
            if (step != 0.0) {
                w_[j] += step;
                add_scaled(row(j), step, g_, q_.size);
                moved += 0.5 * curvature * step * step;
                ++changed_;
            }
        }
        return moved;
    }

    /// Half the squared residual.
    [[nodiscard]] double half() const noexcept {
        double total = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            total += w_[j] * (g_[j] - q_.linear[j]);
        }
        return std::max(q_.constant + 0.5 * total, 0.0);
    }
    [[nodiscard]] double gap() const noexcept { return gap_of(penalty_, q_.size, w_, g_, half(), squares_.data()); }

    /// Multiply-adds of a sweep like the last one, and of a direct step, in which a factorisation runs faster.
    [[nodiscard]] double sweep_cost() const noexcept {
        return static_cast<double>(changed_) * static_cast<double>(q_.size);
    }
    [[nodiscard]] double step_cost() const noexcept {
        const auto s = static_cast<double>(std::count_if(w_, w_ + q_.size, [](double v) { return v != 0.0; }));
        return s * s * s / 20.0 + 2.0 * s * static_cast<double>(q_.size) + 2e3;
    }

    /// To the minimum of the face, or as far towards it as signs allow. False if nothing was gained.
    bool step() {
        const Face face(penalty_, q_.size, w_, g_);
        const Index s = face.size();
        if (s == 0) {
            return false;
        }
        const ScratchArray<double> matrix(s * s);
        const ScratchArray<double> factor(s * s);
        double largest = 0.0;
        for (Index a = 0; a < s; ++a) {
            const double* from = row(face.index[at(a)]);
            for (Index b = 0; b < s; ++b) {
                matrix[a * s + b] = from[face.index[at(b)]];
            }
            matrix[a * s + a] += penalty_.ridge;
            largest = std::max(largest, matrix[a * s + a]);
        }
        const Matrix view = row_major(matrix.get(), s, s, s);
        // a face whose columns depend on each other has no single minimum: a little more on the diagonal picks one
        for (const double extra : {0.0, 1e-12, 1e-8}) {
            for (Index a = 0; a < s; ++a) {
                matrix[a * s + a] += extra * largest;
            }
            if (cholesky(view, factor.get()) < 0) {
                return take(face, solved(factor.get(), face.pull));
            }
        }
        return false;
    }

    /// Gives one coordinate a value, and lets the gradient follow.
    void set(Index j, double value) noexcept {
        if (value != w_[j]) {
            add_scaled(row(j), value - w_[j], g_, q_.size);
            w_[j] = value;
        }
    }

    void refresh() noexcept { gradient_of(q_, w_, g_); }

  private:
    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }

    /// The solution of uᵀu d = pull.
    static Numbers solved(const double* u, const Numbers& pull) {
        const Index s = static_cast<Index>(pull.size());
        Numbers d = pull;
        for (Index a = 0; a < s; ++a) {
            d[at(a)] /= u[a * s + a];
            add_scaled(u + a * s + a + 1, -d[at(a)], d.data() + a + 1, s - a - 1);
        }
        for (Index a = s - 1; a >= 0; --a) {
            d[at(a)] = (d[at(a)] - dot(u + a * s + a + 1, d.data() + a + 1, s - a - 1)) / u[a * s + a];
        }
        return d;
    }

    bool take(const Face& face, const Numbers& direction) {
        Numbers change(at(q_.size));
        const auto apply = [&](const Numbers& move) {
            std::fill(change.begin(), change.end(), 0.0);
            double linear = 0.0;
            for (Index a = 0; a < face.size(); ++a) {
                if (move[at(a)] != 0.0) {
                    add_scaled(row(face.index[at(a)]), move[at(a)], change.data(), q_.size);
                }
            }
            for (Index a = 0; a < face.size(); ++a) {
                const Index j = face.index[at(a)];
                linear += move[at(a)] * (g_[j] + 0.5 * change[at(j)]);
            }
            return linear;
        };
        return take_step(penalty_, face, direction, w_, apply, [&] { add_scaled(change.data(), 1.0, g_, q_.size); });
    }

    const Quadratic& q_;
    const Kinks& penalty_;
    double* w_;
    double* g_;
    Numbers squares_;
    Index changed_ = 0;
};

/// Descends on the whole of a quadratic.
DescentResult descend_whole(GramDescent& descent, double constant, const Goal& goal) {
    Pace pace;
    DescentResult result{0, descent.gap()};
    int idle = 0;
    while (result.gap > goal.target && result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(); });
        ++result.sweeps;
        result.gap = descent.gap();
        pace.note(result.gap);
        if (result.gap <= goal.target) {
            break;
        }
        const bool still = moved <= kNothing * constant;
        if (still || pace.sweeps_left(goal.target) * descent.sweep_cost() > descent.step_cost()) {
            const bool gained = descent.step();
            descent.refresh();
            result.gap = descent.gap();
            pace.restart();
            idle = still && !gained ? idle + 1 : 0;
            if (idle > 1) {
                break;
            }
        }
    }
    return result;
}

/// The coordinates that move: those in use, and those that want to be. Their products lie together, so that sweeps over
/// them cost no more than they must; the others follow when all is done.
class Part {
  public:
    Part(const Quadratic& whole, const Kinks& penalty, double half, const double* w, const double* gradient)
        : whole_(&whole), inside_(at(whole.size), false), ridge_(penalty.ridge), half_(half) {
        for (Index j = 0; j < whole.size; ++j) {
            if (w[j] != 0.0 || wants(penalty, j, gradient[j])) {
                inside_[at(j)] = true;
                index_.push_back(j);
            }
        }
        for (const Index j : index_) {
            low_.push_back(penalty.low[j]);
            high_.push_back(penalty.high[j]);
            w_.push_back(w[j]);
            gradient_.push_back(gradient[j]);
        }
    }
    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index_.size()); }

    /// Descends on the part, and lets all coordinates of `descent` follow. Returns sweeps.
    Index descend(GramDescent& descent, double scale, const Goal& goal) const {
        const Index s = size();
        const ScratchArray<double> gram(s * s);
        for (Index a = 0; a < s; ++a) {
            const double* from = whole_->gram + index_[at(a)] * whole_->stride;
            for (Index b = 0; b < s; ++b) {
                gram[a * s + b] = from[index_[at(b)]];
            }
        }
        // the linear part and the constant that give the gradient and the residual there are
        Numbers linear(at(s));
        double constant = half_;
        for (Index a = 0; a < s; ++a) {
            linear[at(a)] = dot(gram.get() + a * s, w_.data(), s) - gradient_[at(a)];
            constant -= 0.5 * w_[at(a)] * (gradient_[at(a)] - linear[at(a)]);
        }
        const Quadratic quadratic{gram.get(), s, s, linear.data(), constant};
        const Kinks penalty{low_.data(), high_.data(), ridge_};
        Numbers w = w_;
        Numbers gradient(at(s));
        GramDescent part(quadratic, penalty, w.data(), gradient.data());
        const Index sweeps = descend_whole(part, scale, goal).sweeps;
        for (Index a = 0; a < s; ++a) {
            descent.set(index_[at(a)], w[at(a)]);
        }
        return sweeps;
    }
    /// Whether coordinates outside the part want to be used.
    [[nodiscard]] bool grows(const Kinks& penalty, const double* gradient) const noexcept {
        for (Index j = 0; j < whole_->size; ++j) {
            if (!inside_[at(j)] && wants(penalty, j, gradient[j])) {
                return true;
            }
        }
        return false;
    }

  private:
    static bool wants(const Kinks& penalty, Index j, double gradient) noexcept {
        return -gradient > penalty.high[j] || -gradient < penalty.low[j];
    }
    const Quadratic* whole_;
    std::vector<bool> inside_;
    std::vector<Index> index_;
    Numbers low_, high_, w_, gradient_;
    double ridge_;
    double half_;
};

}  // namespace

void gradient_of(const Quadratic& quadratic, const double* w, double* gradient) noexcept {
    for (Index j = 0; j < quadratic.size; ++j) {
        gradient[j] = -quadratic.linear[j];
    }
    for (Index j = 0; j < quadratic.size; ++j) {
        if (w[j] != 0.0) {
            add_scaled(quadratic.gram + j * quadratic.stride, w[j], gradient, quadratic.size);
        }
    }
}

DescentResult descend_gram(const Quadratic& quadratic, const Kinks& penalty, const Goal& goal, double* w,
                           double* gradient) {
    constexpr Index kSmall = 64;
    GramDescent descent(quadratic, penalty, w, gradient);
    DescentResult result{0, descent.gap()};
    double target = 0.5 * goal.target;
    while (result.gap > goal.target && result.sweeps < goal.most) {
        const Part part(quadratic, penalty, descent.half(), w, gradient);
        const Goal inner{target, goal.most - result.sweeps};
        if (quadratic.size <= kSmall || 5 * part.size() > 3 * quadratic.size) {
            const DescentResult done = descend_whole(descent, quadratic.constant, {goal.target, inner.most});
            return {result.sweeps + done.sweeps, done.gap};
        }
        const double before = result.gap;
        result.sweeps += std::max<Index>(1, part.descend(descent, quadratic.constant, inner));
        result.gap = descent.gap();
        if (result.gap > 0.9 * before && !part.grows(penalty, gradient)) {
            target *= 0.1;  // nothing is missing, so the part needs more digits
            if (target < 1e-6 * goal.target || target == 0.0) {
                break;
            }
        }
    }
    return result;
}

}  // namespace qed
