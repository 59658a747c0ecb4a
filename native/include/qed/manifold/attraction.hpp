/// How similar rows of t-SNE pull their points together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/manifold/graph.hpp"
#include "qed/manifold/student.hpp"

namespace qed {

inline constexpr Index kBlock = 512;  // points whose forces are one piece of work

/// What pulls points together, in numbers half as long where that will do.
template <class Real>
class Attraction {
  public:
    Attraction(const Graph& p, Index d)
        : n_(p.nodes), d_(d), tail_(d), starts_(p.starts), ends_(static_cast<std::size_t>(p.starts[p.nodes])),
          values_(ends_.size()), points_(static_cast<std::size_t>(p.nodes * d)) {
        for (std::size_t e = 0; e < ends_.size(); ++e) {
            ends_[e] = static_cast<std::int32_t>(p.ends[e]);
            values_[e] = static_cast<Real>(p.values[e]);
        }
        const auto count = static_cast<Index>(ends_.size());
        for (Index e = 0; e < count; e += kLanes<double>) {
            const Vector<double> v = some(p.values + e, std::min<Index>(kLanes<double>, count - e));
            add_to(entropy_, v * logarithm(v));  // of zero, a finite number times zero
        }
    }

    /// Takes points.
    void place(const double* y) {
        for (std::size_t i = 0; i < points_.size(); ++i) {
            points_[i] = static_cast<Real>(y[i]);
        }
    }

    /// How many pieces of work a run is made of.
    [[nodiscard]] Index blocks() const noexcept { return blocks_of(n_, kBlock); }

    /// Adds up p_ij * inverse * (y_i - y_j) for every point of a block.
    void run(Index block, double* force) const {
        for (Index i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); ++i) {
            if (d_ == 2) {
                pull<2>(i, force + i * d_);
            } else {
                pull<0>(i, force + i * d_);
            }
        }
    }

    /// The divergence of p from the distribution of the points, whose powers add up to `sum`.
    [[nodiscard]] double divergence(const double* y, double sum) const {
        std::vector<double> parts(static_cast<std::size_t>(blocks()));
        parallel_for(static_cast<Index>(parts.size()), [&](Index block) {
            double part = 0.0;
            for (Index i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); ++i) {
                for (Index e = starts_[i]; e < starts_[i + 1]; e += kLanes<double>) {
                    Vector<double> weight{};
                    Vector<double> square{};
                    for (Index lane = 0; lane < std::min<Index>(kLanes<double>, starts_[i + 1] - e); ++lane) {
                        const auto at = static_cast<std::size_t>(e + lane);
                        weight[lane] = static_cast<double>(values_[at]);
                        for (Index c = 0; c < d_; ++c) {
                            const double away = y[i * d_ + c] - y[ends_[at] * d_ + c];
                            square[lane] += away * away;
                        }
                    }
                    add_to(part, weight * logarithm(1.0 + square / static_cast<double>(tail_.freedom)));
                }
            }
            parts[static_cast<std::size_t>(block)] = part;
        });
        double total = 0.0;
        for (const double part : parts) {
            total += part;
        }
        return entropy_ + 0.5 * static_cast<double>(tail_.freedom + 1) * total + std::log(sum);
    }

  private:
    static Vector<double> some(const double* from, Index count) noexcept {
        Vector<double> v{};
        for (Index lane = 0; lane < count; ++lane) {
            v[lane] = from[lane];
        }
        return v;
    }
    static void add_to(double& sum, Vector<double> v) noexcept {
        for (Index lane = 0; lane < kLanes<double>; ++lane) {
            sum += v[lane];
        }
    }

    static constexpr Index kWide = LanesOf<Real>::kCount;
    using V = Lanes<Real>;

    template <int D>
    void pull(Index i, double* force) const {
        const Index d = D > 0 ? D : d_;
        const Real* own = points_.data() + i * d;
        constexpr std::size_t kMost = D > 0 ? D : 1;
        V pulled[kMost] = {};
        std::vector<double> rest(D > 0 ? 0 : static_cast<std::size_t>(d));
        for (Index e = starts_[i]; e < starts_[i + 1]; e += kWide) {
            const Index many = std::min(kWide, starts_[i + 1] - e);
            if constexpr (D > 0) {
                V away[2];
                V weight{};
                const std::int32_t* ends = ends_.data() + e;
                std::array<std::int32_t, kWide> last;
                if (many == kWide) {
                    __builtin_memcpy(&weight, values_.data() + e, sizeof(weight));
                } else {  // the rest are the point itself, with no weight
                    last.fill(static_cast<std::int32_t>(i));
                    std::copy_n(ends, many, last.data());
                    for (Index lane = 0; lane < many; ++lane) {
                        weight[lane] = values_[static_cast<std::size_t>(e + lane)];
                    }
                    ends = last.data();
                }
                load_pairs(points_.data(), ends, away[0], away[1]);
                away[0] = own[0] - away[0];
                away[1] = own[1] - away[1];
                const V square = away[0] * away[0] + away[1] * away[1];
                const V factor = weight * tail_.at(square).first;
                for (std::size_t c = 0; c < kMost; ++c) {
                    pulled[c] += factor * away[c];
                }
            } else {
                for (Index lane = 0; lane < many; ++lane) {
                    const Real* other = points_.data() + ends_[static_cast<std::size_t>(e + lane)] * d;
                    double square = 0.0;
                    for (Index c = 0; c < d; ++c) {
                        const double away = static_cast<double>(own[c] - other[c]);
                        square += away * away;
                    }
                    const double factor = static_cast<double>(values_[static_cast<std::size_t>(e + lane)]) /
                                          (1.0 + square / static_cast<double>(tail_.freedom));
                    for (Index c = 0; c < d; ++c) {
                        rest[static_cast<std::size_t>(c)] += factor * static_cast<double>(own[c] - other[c]);
                    }
                }
            }
        }
        for (Index c = 0; c < d; ++c) {
            if constexpr (D > 0) {
                double sum = 0.0;
                for (Index lane = 0; lane < kWide; ++lane) {
                    sum += static_cast<double>(pulled[c][lane]);
                }
                force[c] = sum;
            } else {
                force[c] = rest[static_cast<std::size_t>(c)];
            }
        }
    }

    Index n_;
    Index d_;
    Tail tail_;
    const Index* starts_;
    std::vector<std::int32_t> ends_;
    std::vector<Real> values_;
    std::vector<Real> points_;
    double entropy_ = 0.0;
};

}  // namespace qed
