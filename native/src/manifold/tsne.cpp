#include "qed/manifold/tsne.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/manifold/attraction.hpp"
#include "qed/manifold/grid.hpp"
#include "qed/manifold/repulsion.hpp"

namespace qed {
namespace {

template <class Real>
class Descent {
  public:
    Descent(const Graph& p, Index d)
        : size_(p.nodes * d), tail_(d), attraction_(p, d), boxes_(p.nodes, d), grid_(p.nodes, d),
          pulled_(static_cast<std::size_t>(size_)), pushed_(pulled_.size()) {}

    /// Leaves the gradient in `pulled_` and returns its norm.
    double gradient(const double* y, double exaggeration, const TsnePush& push) {
        bool by_grid = push.by_grid;
        attraction_.place(y);
        parallel_for(attraction_.blocks() + 1, [&](Index block) {
            if (block == 0) {  // one thread sorts the points while others pull
                by_grid = by_grid && grid_.arrange(y);
                if (!by_grid) {
                    boxes_.arrange(y, push.angle);
                }
            } else {
                attraction_.run(block - 1, pulled_.data());
            }
        });
        sum_ = by_grid ? grid_.run(pushed_.data()) : boxes_.run(push.angle, pushed_.data());
        double squares = 0.0;
        for (std::size_t i = 0; i < pulled_.size(); ++i) {
            pulled_[i] = tail_.factor() * (exaggeration * pulled_[i] - pushed_[i] / sum_);
            squares += pulled_[i] * pulled_[i];
        }
        return std::sqrt(squares);
    }

    [[nodiscard]] double divergence(const double* y) const { return attraction_.divergence(y, sum_); }
    [[nodiscard]] const double* values() const noexcept { return pulled_.data(); }

    void move(double* y, double* velocity, double* gains, const TsneRule& rule) const {
        for (Index i = 0; i < size_; ++i) {
            const double slope = pulled_[static_cast<std::size_t>(i)];
            const double gain = velocity[i] * slope < 0.0 ? gains[i] + 0.2 : gains[i] * 0.8;
            gains[i] = std::max(gain, 0.01);
            velocity[i] = rule.momentum * velocity[i] - rule.learning_rate * gains[i] * slope;
            y[i] += velocity[i];
        }
    }

  private:
    Index size_;
    Tail tail_;
    Attraction<Real> attraction_;
    Repulsion<Real> boxes_;
    GridRepulsion grid_;
    std::vector<double> pulled_;
    std::vector<double> pushed_;
    double sum_ = 1.0;
};

template <class Work>
void in_precision(double angle, Work&& work) {
    if (angle > 0.0) {
        work(float{});
    } else {
        work(double{});
    }
}

}  // namespace

TsneValue tsne_steps(const Graph& p, Index d, double* y, double* velocity, double* gains, const TsneRule& rule,
                     Index steps) {
    TsneValue value;
    in_precision(rule.push.angle, [&](auto real) {
        Descent<decltype(real)> descent(p, d);
        for (Index step = 0; step < steps; ++step) {
            value.gradient_norm = descent.gradient(y, rule.exaggeration, rule.push);
            if (step + 1 == steps) {
                value.divergence = descent.divergence(y);
            }
            descent.move(y, velocity, gains, rule);
        }
    });
    return value;
}

TsneValue tsne_gradient(const Graph& p, Index d, const double* y, const TsnePush& push, double* gradient) {
    TsneValue value;
    in_precision(push.angle, [&](auto real) {
        Descent<decltype(real)> descent(p, d);
        value.gradient_norm = descent.gradient(y, 1.0, push);
        value.divergence = descent.divergence(y);
        std::copy_n(descent.values(), p.nodes * d, gradient);
    });
    return value;
}

double student_sum(const double* y, Index n, Index d, const Index* rows, Index count) {
    const Index padded = round_up(n, LanesOf<double>::kCount);
    std::vector<double> columns(static_cast<std::size_t>(d * padded));
    for (Index c = 0; c < d; ++c) {
        for (Index i = 0; i < padded; ++i) {  // beyond the last point there are points too far away to count
            columns[static_cast<std::size_t>(c * padded + i)] = i < n ? y[i * d + c] : 1e150;
        }
    }
    const Tail tail(d);
    constexpr Index kTogether = 16;
    std::vector<double> parts(static_cast<std::size_t>(count));
    parallel_for(blocks_of(count, kTogether), [&](Index block) {
        for (Index r = block * kTogether; r < std::min(count, (block + 1) * kTogether); ++r) {
            Lanes<double> sum{};
            for (Index j = 0; j < padded; j += LanesOf<double>::kCount) {
                Lanes<double> square{};
                for (Index c = 0; c < d; ++c) {
                    Lanes<double> other;
                    __builtin_memcpy(&other, columns.data() + c * padded + j, sizeof(other));
                    const Lanes<double> away = y[rows[r] * d + c] - other;
                    square += away * away;
                }
                sum += tail.at(square).second;
            }
            double total = -1.0;  // itself
            for (Index lane = 0; lane < LanesOf<double>::kCount; ++lane) {
                total += sum[lane];
            }
            parts[static_cast<std::size_t>(r)] = total;
        }
    });
    double total = 0.0;
    for (const double part : parts) {
        total += part;
    }
    return total;
}

}  // namespace qed
