#include "qed/manifold/tsne.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr int kBytes = 64;
constexpr Index kBlock = 512;  // points whose forces are one piece of work
constexpr Index kChunk = 64;   // sources that are added up in single precision before doubles take over
constexpr Index kLeaf = 16;    // points in the smallest boxes

template <class Real>
struct LanesOf {
    static constexpr Index kCount = kBytes / static_cast<Index>(sizeof(Real));
    using Type [[gnu::vector_size(kBytes)]] = Real;
};
template <class Real>
using Lanes = typename LanesOf<Real>::Type;

template <class V>
[[gnu::always_inline]] inline V root(V v) noexcept {
    V out;
    for (std::size_t lane = 0; lane < sizeof(V) / sizeof(v[0]); ++lane) {
        out[lane] = std::sqrt(v[lane]);
    }
    return out;
}

/// Student's t with as many degrees of freedom as the embedding has dimensions less one, one at least.
struct Tail {
    Index freedom;
    explicit Tail(Index d) : freedom(std::max<Index>(d - 1, 1)) {}
    [[nodiscard]] double factor() const noexcept {
        return 2.0 * static_cast<double>(freedom + 1) / static_cast<double>(freedom);
    }
    /// (1 + s / freedom)^-1 from the squared distance s, and its power (freedom + 1) / 2.
    template <class V>
    [[gnu::always_inline]] std::pair<V, V> at(V square) const noexcept {
        if (freedom == 1) {
            const V inverse = 1 / (1 + square);
            return {inverse, inverse};
        }
        const V inverse = 1 / (1 + square / static_cast<decltype(square[0] + 0)>(freedom));
        V power = (freedom + 1) % 2 == 1 ? root(inverse) : 1 + V{};
        for (Index i = 0; i < (freedom + 1) / 2; ++i) {
            power *= inverse;
        }
        return {inverse, power};
    }
};

template <class Real>
class Repulsion {
  public:
    Repulsion(Index n, Index d)
        : n_(n), d_(d), tail_(d), order_(static_cast<std::size_t>(n)), keys_(order_.size()),
          points_(static_cast<std::size_t>(d * round_up(n, kGroup))) {}

    /// Adds up, for every point, inverse * power * (y_i - y_j) over all j, and returns the sum of powers over all pairs.
    double run(const double* y, double angle, double* force) {
        arrange(y, angle);
        const Index groups = blocks_of(n_, kGroup);
        std::vector<double> sums(static_cast<std::size_t>(groups));
        constexpr Index kGroupsTogether = 16;
        parallel_for(blocks_of(groups, kGroupsTogether), [&](Index block) {
            Group group(*this);
            for (Index g = block * kGroupsTogether; g < std::min(groups, (block + 1) * kGroupsTogether); ++g) {
                sums[static_cast<std::size_t>(g)] = group.run(g, static_cast<Real>(angle * angle), force);
            }
        });
        double total = -static_cast<double>(n_);  // a point does not push itself
        for (const double sum : sums) {
            total += sum;
        }
        return total;
    }

  private:
    static constexpr Index kGroup = LanesOf<Real>::kCount;  // points that are pushed together
    using V = Lanes<Real>;

    /// A box is followed by those inside it, and knows where what is outside goes on.
    struct Box {
        std::array<Real, 3> centre;
        Real width_square;  // of its diagonal
        Real count;
        std::int32_t begin, end;  // its points
        std::int32_t after;       // the next box outside of it
        bool is_leaf;
    };

    [[nodiscard]] const Real* column(Index c) const noexcept { return points_.data() + c * round_up(n_, kGroup); }
    [[nodiscard]] Real* column(Index c) noexcept { return points_.data() + c * round_up(n_, kGroup); }

    /// Sorts points so that near ones follow each other (Morton's curve), and puts boxes around them.
    void arrange(const double* y, double angle) {
        for (Index i = 0; i < n_; ++i) {
            order_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
        }
        if (angle > 0.0) {
            sort_by_place(y);
        }
        const Index padded = round_up(n_, kGroup);
        for (Index c = 0; c < d_; ++c) {
            Real* to = column(c);
            for (Index i = 0; i < padded; ++i) {
                const Index from = order_[static_cast<std::size_t>(std::min(i, n_ - 1))];
                to[i] = static_cast<Real>(y[from * d_ + c]);
            }
        }
        boxes_.clear();
        if (angle > 0.0) {
            enclose(0, n_, static_cast<int>(d_) * kDigits);
        } else {
            boxes_.push_back(leaf(0, n_));
        }
    }

    static constexpr int kDigits = 16;  // binary digits of a coordinate within the whole

    void sort_by_place(const double* y) {
        std::array<double, 3> low{};
        double width = 0.0;
        for (Index c = 0; c < d_; ++c) {
            double least = std::numeric_limits<double>::infinity();
            double most = -least;
            for (Index i = 0; i < n_; ++i) {
                least = std::min(least, y[i * d_ + c]);
                most = std::max(most, y[i * d_ + c]);
            }
            low[static_cast<std::size_t>(c)] = least;
            width = std::max(width, most - least);
        }
        const double scale = width > 0.0 ? 65535.0 / width : 0.0;
        for (Index i = 0; i < n_; ++i) {
            std::uint64_t key = 0;
            for (Index c = 0; c < d_; ++c) {
                const double place = (y[i * d_ + c] - low[static_cast<std::size_t>(c)]) * scale;
                key |= spread(static_cast<std::uint64_t>(place > 0.0 ? place : 0.0)) << c;
            }
            keys_[static_cast<std::size_t>(i)] = key;
        }
        radix_sort();
    }

    /// The binary digits of a coordinate, d_ apart.
    [[nodiscard]] std::uint64_t spread(std::uint64_t v) const noexcept {
        if (d_ == 1) {
            return v;
        }
        if (d_ == 2) {
            v = (v | (v << 8)) & 0x00ff00ffU;
            v = (v | (v << 4)) & 0x0f0f0f0fU;
            v = (v | (v << 2)) & 0x33333333U;
            return (v | (v << 1)) & 0x55555555U;
        }
        v = (v | (v << 32)) & 0x1f00000000ffffULL;
        v = (v | (v << 16)) & 0x1f0000ff0000ffULL;
        v = (v | (v << 8)) & 0x100f00f00f00f00fULL;
        v = (v | (v << 4)) & 0x10c30c30c30c30c3ULL;
        return (v | (v << 2)) & 0x1249249249249249ULL;
    }

    void radix_sort() {
        std::vector<std::uint64_t> keys(keys_.size());
        std::vector<std::int32_t> order(order_.size());
        for (int shift = 0; shift < static_cast<int>(d_) * kDigits; shift += 8) {
            std::array<std::size_t, 257> starts{};
            for (const std::uint64_t key : keys_) {
                ++starts[((key >> shift) & 255U) + 1];
            }
            for (std::size_t digit = 0; digit < 256; ++digit) {
                starts[digit + 1] += starts[digit];
            }
            for (std::size_t i = 0; i < keys_.size(); ++i) {
                const std::size_t to = starts[(keys_[i] >> shift) & 255U]++;
                keys[to] = keys_[i];
                order[to] = order_[i];
            }
            keys_.swap(keys);
            order_.swap(order);
        }
    }

    [[nodiscard]] Box leaf(Index begin, Index end) const {
        Box box{};
        box.begin = static_cast<std::int32_t>(begin);
        box.end = static_cast<std::int32_t>(end);
        box.count = static_cast<Real>(end - begin);
        box.is_leaf = true;
        box.after = static_cast<std::int32_t>(boxes_.size()) + 1;
        return box;
    }

    /// Centre and width from the points themselves.
    void measure(Box& box) const {
        for (Index c = 0; c < d_; ++c) {
            const Real* at = column(c);
            Real low = at[box.begin];
            Real high = low;
            double sum = 0.0;
            for (std::int32_t i = box.begin; i < box.end; ++i) {
                low = std::min(low, at[i]);
                high = std::max(high, at[i]);
                sum += static_cast<double>(at[i]);
            }
            box.centre[static_cast<std::size_t>(c)] = static_cast<Real>(sum / static_cast<double>(box.end - box.begin));
            box.width_square += (high - low) * (high - low);
        }
    }

    void enclose(Index begin, Index end, int digits) {
        if (end - begin <= kLeaf || digits == 0) {
            Box box = leaf(begin, end);
            measure(box);
            boxes_.push_back(box);
            return;
        }
        const int below = digits - static_cast<int>(d_);
        std::array<Index, 9> cuts{};
        const std::uint64_t parts = std::uint64_t{1} << d_;
        cuts[0] = begin;
        const auto first = keys_.begin();
        for (std::uint64_t part = 1; part <= parts; ++part) {
            const auto until = std::partition_point(first + cuts[part - 1], first + end, [&](std::uint64_t key) {
                return ((key >> below) & (parts - 1)) < part;
            });
            cuts[part] = until - first;
        }
        for (std::uint64_t part = 0; part < parts; ++part) {
            if (cuts[part] == begin && cuts[part + 1] == end) {  // all in one part: no box of its own
                enclose(begin, end, below);
                return;
            }
        }
        const std::size_t at = boxes_.size();
        Box box = leaf(begin, end);
        box.is_leaf = false;
        measure(box);
        boxes_.push_back(box);
        for (std::uint64_t part = 0; part < parts; ++part) {
            if (cuts[part] < cuts[part + 1]) {
                enclose(cuts[part], cuts[part + 1], below);
            }
        }
        boxes_[at].after = static_cast<std::int32_t>(boxes_.size());
    }

    /// Points that are next to each other on the curve, and what pushes them.
    class Group {
      public:
        explicit Group(const Repulsion& all)
            : all_(all), targets_(static_cast<std::size_t>(all.d_)), pushed_(targets_.size()),
              sources_(static_cast<std::size_t>(all.d_ * kChunk)), totals_(static_cast<std::size_t>(all.d_ * kGroup)) {}

        double run(Index group, Real angle_square, double* force) {
            const Index begin = group * kGroup;
            const Index size = std::min(kGroup, all_.n_ - begin);
            for (Index c = 0; c < all_.d_; ++c) {
                const Real* at = all_.column(c) + begin;
                for (Index lane = 0; lane < kGroup; ++lane) {
                    targets_[static_cast<std::size_t>(c)][lane] = at[lane];
                }
            }
            std::fill(totals_.begin(), totals_.end(), 0.0);
            sum_.fill(0.0);
            search(begin, size, angle_square);
            push();
            double sum = 0.0;
            for (Index lane = 0; lane < size; ++lane) {
                sum += sum_[static_cast<std::size_t>(lane)];
                double* to = force + all_.order_[static_cast<std::size_t>(begin + lane)] * all_.d_;
                for (Index c = 0; c < all_.d_; ++c) {
                    to[c] = totals_[static_cast<std::size_t>(c * kGroup + lane)];
                }
            }
            return sum;
        }

      private:
        void search(Index begin, Index size, Real angle_square) {
            const auto d = static_cast<std::size_t>(std::min<Index>(all_.d_, 3));
            std::array<Real, 3> low{};
            std::array<Real, 3> high{};
            for (std::size_t c = 0; c < d; ++c) {
                const Real* at = all_.column(static_cast<Index>(c)) + begin;
                low[c] = *std::min_element(at, at + size);
                high[c] = *std::max_element(at, at + size);
            }
            const std::vector<Box>& boxes = all_.boxes_;
            for (std::size_t b = 0; b < boxes.size();) {
                const Box& box = boxes[b];
                Real away = 0;
                for (std::size_t c = 0; c < d; ++c) {
                    const Real beyond = std::max(std::max(low[c] - box.centre[c], box.centre[c] - high[c]), Real{0});
                    away += beyond * beyond;
                }
                if (angle_square > 0 && box.width_square < angle_square * away) {
                    add(box.centre.data(), 1, box.count);
                    b = static_cast<std::size_t>(box.after);
                } else if (box.is_leaf) {
                    for (std::int32_t i = box.begin; i < box.end; ++i) {
                        add(all_.column(0) + i, round_up(all_.n_, kGroup), Real{1});
                    }
                    b = static_cast<std::size_t>(box.after);
                } else {
                    ++b;
                }
            }
        }

        [[gnu::always_inline]] void add(const Real* from, Index stride, Real count) {
            for (Index c = 0; c < all_.d_; ++c) {
                sources_[static_cast<std::size_t>(c * kChunk + filled_)] = from[c * stride];
            }
            counts_[static_cast<std::size_t>(filled_)] = count;
            if (++filled_ == kChunk) {
                push();
            }
        }

        void push() {
            if (all_.d_ == 2) {
                push_in<2>();
            } else {
                push_in<0>();
            }
            filled_ = 0;
        }

        template <int D>
        void push_in() {
            const Index d = D > 0 ? D : all_.d_;
            V sum{};
            for (Index c = 0; c < d; ++c) {
                pushed_[static_cast<std::size_t>(c)] = V{};
            }
            V near[D > 0 ? D : 1];
            V moved[D > 0 ? D : 1] = {};
            if constexpr (D > 0) {
                for (Index c = 0; c < D; ++c) {
                    near[c] = targets_[static_cast<std::size_t>(c)];
                }
            }
            for (Index s = 0; s < filled_; ++s) {
                V square{};
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? near[D > 0 ? c : 0] : targets_[static_cast<std::size_t>(c)];
                    const V away = from - sources_[static_cast<std::size_t>(c * kChunk + s)];
                    square += away * away;
                }
                const auto [inverse, power] = all_.tail_.at(square);
                const V counted = power * counts_[static_cast<std::size_t>(s)];
                sum += counted;
                const V factor = counted * inverse;
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? near[D > 0 ? c : 0] : targets_[static_cast<std::size_t>(c)];
                    V& to = D > 0 ? moved[D > 0 ? c : 0] : pushed_[static_cast<std::size_t>(c)];
                    to += factor * (from - sources_[static_cast<std::size_t>(c * kChunk + s)]);
                }
            }
            for (Index lane = 0; lane < kGroup; ++lane) {
                sum_[static_cast<std::size_t>(lane)] += static_cast<double>(sum[lane]);
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? moved[D > 0 ? c : 0] : pushed_[static_cast<std::size_t>(c)];
                    totals_[static_cast<std::size_t>(c * kGroup + lane)] += static_cast<double>(from[lane]);
                }
            }
        }

        const Repulsion& all_;
        std::vector<V> targets_;
        std::vector<V> pushed_;
        std::vector<Real> sources_;
        std::vector<double> totals_;
        std::array<Real, kChunk> counts_{};
        std::array<double, kGroup> sum_{};
        Index filled_ = 0;
    };

    Index n_;
    Index d_;
    Tail tail_;
    std::vector<std::int32_t> order_;
    std::vector<std::uint64_t> keys_;
    std::vector<Real> points_;
    std::vector<Box> boxes_;
};

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
            entropy_ += p.values[e] > 0.0 ? p.values[e] * std::log(p.values[e]) : 0.0;
        }
    }

    /// Adds up p_ij * inverse * (y_i - y_j) for every point.
    void run(const double* y, double* force) {
        for (std::size_t i = 0; i < points_.size(); ++i) {
            points_[i] = static_cast<Real>(y[i]);
        }
        parallel_for(blocks_of(n_, kBlock), [&](Index block) {
            for (Index i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); ++i) {
                if (d_ == 2) {
                    pull<2>(i, force + i * d_);
                } else {
                    pull<0>(i, force + i * d_);
                }
            }
        });
    }

    /// The divergence of p from the distribution of the points, whose powers add up to `sum`.
    [[nodiscard]] double divergence(const double* y, double sum) const {
        std::vector<double> parts(static_cast<std::size_t>(blocks_of(n_, kBlock)));
        parallel_for(static_cast<Index>(parts.size()), [&](Index block) {
            double part = 0.0;
            for (Index i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); ++i) {
                for (Index e = starts_[i]; e < starts_[i + 1]; ++e) {
                    double square = 0.0;
                    for (Index c = 0; c < d_; ++c) {
                        const double away = y[i * d_ + c] - y[ends_[static_cast<std::size_t>(e)] * d_ + c];
                        square += away * away;
                    }
                    part += static_cast<double>(values_[static_cast<std::size_t>(e)]) *
                            std::log1p(square / static_cast<double>(tail_.freedom));
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
                V away[kMost];
                V weight{};
                for (Index lane = 0; lane < many; ++lane) {
                    const Real* other = points_.data() + ends_[static_cast<std::size_t>(e + lane)] * D;
                    for (std::size_t c = 0; c < kMost; ++c) {
                        away[c][lane] = own[c] - other[c];
                    }
                    weight[lane] = values_[static_cast<std::size_t>(e + lane)];
                }
                for (Index lane = many; lane < kWide; ++lane) {
                    for (std::size_t c = 0; c < kMost; ++c) {
                        away[c][lane] = 0;
                    }
                }
                V square{};
                for (std::size_t c = 0; c < kMost; ++c) {
                    square += away[c] * away[c];
                }
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

template <class Real>
class Descent {
  public:
    Descent(const Graph& p, Index d)
        : size_(p.nodes * d), tail_(d), attraction_(p, d), repulsion_(p.nodes, d),
          pulled_(static_cast<std::size_t>(size_)), pushed_(pulled_.size()) {}

    /// Leaves the gradient in `pulled_` and returns its norm.
    double gradient(const double* y, double exaggeration, double angle) {
        attraction_.run(y, pulled_.data());
        sum_ = repulsion_.run(y, angle, pushed_.data());
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
    Repulsion<Real> repulsion_;
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
    in_precision(rule.angle, [&](auto real) {
        Descent<decltype(real)> descent(p, d);
        for (Index step = 0; step < steps; ++step) {
            value.gradient_norm = descent.gradient(y, rule.exaggeration, rule.angle);
            if (step + 1 == steps) {
                value.divergence = descent.divergence(y);
            }
            descent.move(y, velocity, gains, rule);
        }
    });
    return value;
}

TsneValue tsne_gradient(const Graph& p, Index d, const double* y, double angle, double* gradient) {
    TsneValue value;
    in_precision(angle, [&](auto real) {
        Descent<decltype(real)> descent(p, d);
        value.gradient_norm = descent.gradient(y, 1.0, angle);
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
