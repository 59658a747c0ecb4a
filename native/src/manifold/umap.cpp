#include "qed/manifold/umap.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kPhases = 8;
constexpr Index kBlock = 128;
constexpr Index kWide = kLanes<double>;
constexpr double kNear = 1e-3;  // added to squared distances, so that points that coincide push with finite force
constexpr float kMost = 4.0F;   // longest move along a coordinate, before the learning rate

/// A stream of random numbers of its own for each edge and epoch (splitmix64), two from each state.
class Draws {
  public:
    Draws(std::uint64_t seed, std::uint64_t epoch, std::uint64_t edge) noexcept
        : state_(mixed(seed + kStep * (epoch + 1)) ^ (edge * 0xd1b54a32d192ed03ULL)) {}

    Index below(Index n) noexcept {
        if (left_ == 0) {
            state_ += kStep;
            word_ = mixed(state_);
            left_ = 2;
        }
        --left_;
        const std::uint64_t half = left_ == 1 ? word_ >> 32 : word_ & 0xffffffffU;
        return static_cast<Index>((half * static_cast<std::uint64_t>(n)) >> 32);
    }

  private:
    static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    static std::uint64_t mixed(std::uint64_t z) noexcept {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
    std::uint64_t word_ = 0;
    int left_ = 0;
};

// Moves are small and random: single precision does, eight points at a time at every instruction level.
constexpr int kTogether = 8;
using Floats [[gnu::vector_size(kTogether * sizeof(float))]] = float;
using Words [[gnu::vector_size(kTogether * sizeof(float))]] = std::int32_t;

/// Binary logarithm of positive numbers, to about 1e-6: the series of atanh, from mantissas between sqrt(1/2) and sqrt(2).
[[gnu::always_inline]] inline Floats log2_of(Floats v) noexcept {
    const Words bits = reinterpret_cast<Words>(v);
    const Words exponent = (bits - 0x3f3504f3) >> 23;
    const Floats f = reinterpret_cast<Floats>(bits - (exponent << 23));
    const Floats t = (f - 1.0F) / (f + 1.0F);
    const Floats z = t * t;
    const Floats series = ((0.41219858F * z + 0.57707801F) * z + 0.96179669F) * z + 2.8853900F;
    return __builtin_convertvector(exponent, Floats) + t * series;
}

/// Two to a power between -126 and 126, to about 1e-6.
[[gnu::always_inline]] inline Floats exp2_of(Floats v) noexcept {
    constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: whole numbers are what is left after adding it
    const Floats low = v < -126.0F ? Floats{} - 126.0F : v;
    const Floats within = low > 126.0F ? Floats{} + 126.0F : low;
    const Floats shifted = within + kMagic;
    const Floats r = (within - (shifted - kMagic)) * 0.69314718F;
    const Floats p = ((((r / 120.0F + 1.0F / 24.0F) * r + 1.0F / 6.0F) * r + 0.5F) * r + 1.0F) * r + 1.0F;
    const Words scale = (reinterpret_cast<Words>(shifted) << 23) + 0x3f800000;
    return p * reinterpret_cast<Floats>(scale);
}

[[gnu::always_inline]] inline Floats clipped(Floats v) noexcept {
    const Floats low = v < -kMost ? Floats{} - kMost : v;
    return low > kMost ? Floats{} + kMost : low;
}

/// One point and what moves it. Up to eight others move it at once: they are placed lane by lane, then applied.
template <int D>
class Mover {
  public:
    Mover(Index d, const UmapRule& rule)
        : d_(D > 0 ? D : d), a_(static_cast<float>(rule.curve.a)), b_(static_cast<float>(rule.curve.b)),
          push_(static_cast<float>(2.0 * rule.repulsion * rule.curve.b)), own_(d_), away_(d_ * kTogether) {}

    void start(const float* from) {
        std::copy_n(from, d_, &own_[0]);
        clear();
    }
    void finish(float* to) const { std::copy_n(&own_[0], d_, to); }

    /// The first `kPulls` lanes pull, the others push.
    static constexpr int kPulls = 2;
    [[gnu::always_inline]] void place(int lane, const float* other) {
        for (Index c = 0; c < d_; ++c) {
            away_[c * kTogether + lane] = own_[c] - other[c];
        }
    }

    void apply(float rate) {
        Floats square{};
        for (Index c = 0; c < d_; ++c) {
            square += lanes(c) * lanes(c);
        }
        const auto apart = square > 1e-30F;  // points that coincide neither pull nor push: their differences are zero
        const Floats safe = apart ? square : Floats{} + 1.0F;
        const Floats power = a_ * exp2_of(b_ * log2_of(safe));
        const Words is_pull = {-1, -1, 0, 0, 0, 0, 0, 0};
        const Floats above = is_pull ? -2.0F * b_ * power : Floats{} + push_;
        const Floats below = (is_pull ? safe : safe + static_cast<float>(kNear)) * (1.0F + power);
        const Floats factor = apart ? above / below : Floats{};
        for (Index c = 0; c < d_; ++c) {
            const Floats moves = clipped(factor * lanes(c));
            float sum = 0.0F;
            for (int lane = 0; lane < kTogether; ++lane) {
                sum += moves[lane];
            }
            own_[c] += rate * sum;
        }
        clear();
    }

  private:
    [[gnu::always_inline]] Floats lanes(Index c) const {
        Floats v;
        __builtin_memcpy(&v, &away_[c * kTogether], sizeof(v));
        return v;
    }
    [[gnu::always_inline]] void clear() {
        for (Index at = 0; at < d_ * kTogether; ++at) {
            away_[at] = 0.0F;
        }
    }

    /// As many numbers as asked for, on the spot where that is known beforehand.
    template <int Size>
    struct Room {
        explicit Room(Index) {}
        float& operator[](Index i) noexcept { return values[i]; }
        const float& operator[](Index i) const noexcept { return values[i]; }
        float values[Size] = {};
    };
    struct Heap {
        explicit Heap(Index size) : values(static_cast<std::size_t>(size)) {}
        float& operator[](Index i) noexcept { return values[static_cast<std::size_t>(i)]; }
        const float& operator[](Index i) const noexcept { return values[static_cast<std::size_t>(i)]; }
        std::vector<float> values;
    };

    Index d_;
    float a_, b_, push_;
    std::conditional_t<(D > 0), Room<D>, Heap> own_;
    std::conditional_t<(D > 0), Room<D * kTogether>, Heap> away_;
};

/// Whether an edge of relative weight w is met in an epoch.
[[gnu::always_inline]] inline bool is_met(float w, float epoch) noexcept {
    return std::floor(epoch * w) > std::floor((epoch - 1.0F) * w);
}

/// What all epochs share.
struct Layout {
    const Graph& graph;
    std::vector<float> weights;
    std::vector<float> y;
    std::vector<float> fixed;  // empty where the points themselves are named
    Index d;
    const UmapRule& rule;

    [[nodiscard]] const float* others() const noexcept { return fixed.empty() ? y.data() : fixed.data(); }
    [[nodiscard]] Index drawn_from() const noexcept { return static_cast<Index>((fixed.empty() ? y : fixed).size()) / d; }

    /// All that one point meets in an epoch. An edge pulls, and random points push. Where both ends move, an edge pulls each of
    /// them twice, once in each direction: the second time together with the next edge that is met.
    template <int D>
    void move(Mover<D>& mover, Index i, Index epoch, float rate) const {
        const float* at = others();
        const Index n = drawn_from();
        const bool is_own = fixed.empty();
        const float* again = nullptr;
        for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
            if (!is_met(weights[static_cast<std::size_t>(e)], static_cast<float>(epoch))) {
                continue;
            }
            const float* pulling = at + graph.ends[e] * d;
            mover.place(0, pulling);
            if (again != nullptr) {
                mover.place(1, again);
            }
            Draws draws(rule.seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(e));
            int lane = Mover<D>::kPulls;
            for (Index t = 0; t < rule.negatives; ++t) {
                if (lane == kTogether) {
                    mover.apply(rate);
                    lane = Mover<D>::kPulls;
                }
                const Index other = draws.below(n);
                if (!is_own || other != i) {
                    mover.place(lane++, at + other * d);
                }
            }
            mover.apply(rate);
            again = is_own ? pulling : nullptr;
        }
        if (again != nullptr) {
            mover.place(1, again);
            mover.apply(rate);
        }
    }

    template <int D>
    void run(Index first, Index last) {
        const Index n = graph.nodes;
        std::vector<float> moved(y.size());
        for (Index epoch = std::max<Index>(first, 1); epoch < last; ++epoch) {
            const double share = 1.0 - static_cast<double>(epoch) / static_cast<double>(rule.epochs);
            const auto rate = static_cast<float>(rule.learning_rate * share);
            for (Index phase = 0; phase < kPhases; ++phase) {
                const Index many = phase < n ? (n - phase - 1) / kPhases + 1 : 0;
                parallel_for(blocks_of(many, kBlock), [&](Index block) {
                    Mover<D> mover(d, rule);
                    for (Index k = block * kBlock; k < std::min(many, (block + 1) * kBlock); ++k) {
                        const Index i = phase + k * kPhases;
                        mover.start(y.data() + i * d);
                        move(mover, i, epoch, rate);
                        mover.finish(moved.data() + i * d);
                    }
                });
                for (Index i = phase; i < n; i += kPhases) {
                    std::copy_n(moved.data() + i * d, d, y.data() + i * d);
                }
            }
        }
    }
};

/// log(a s^b), s the raised squared distance.
[[gnu::always_inline]] inline double log_odds(const double* x, const double* y, Index d, const UmapCurve& curve) noexcept {
    double square = kNear;
    for (Index c = 0; c < d; ++c) {
        square += (x[c] - y[c]) * (x[c] - y[c]);
    }
    return std::log(curve.a) + curve.b * std::log(square);
}

/// log(1 + exp(v)) without overflow.
[[gnu::always_inline]] inline double log_one_plus_exp(double v) noexcept {
    return v > 0.0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v));
}

/// Sum of log(1 + 1 / (a s^b)) over all points, itself among them.
double pushed_by_all(const double* columns, Index n, Index d, const double* own, const UmapCurve& curve) {
    Vector<double> sum{};
    double rest = 0.0;
    const double level = std::log(curve.a);
    Index j = 0;
    for (; j + kWide <= n; j += kWide) {
        Vector<double> square = splat(kNear);
        for (Index c = 0; c < d; ++c) {
            const Vector<double> away = own[c] - load(columns + c * n + j);
            square += away * away;
        }
        const Vector<double> v = level + curve.b * logarithm(square);
        const Vector<double> size = absolute(v);
        sum += log_one_plus(exponential(-size)) + (v < 0.0 ? size : Vector<double>{});
    }
    for (; j < n; ++j) {
        double square = kNear;
        for (Index c = 0; c < d; ++c) {
            square += (own[c] - columns[c * n + j]) * (own[c] - columns[c * n + j]);
        }
        rest += log_one_plus_exp(-(level + curve.b * std::log(square)));
    }
    return sum_lanes(sum) + rest;
}

}  // namespace

void umap_epochs(const Graph& graph, Index d, double* y, const double* fixed, Index m, const UmapRule& rule, Index first,
                 Index last) {
    const Index edges = graph.starts[graph.nodes];
    Layout layout{graph,
                  std::vector<float>(graph.values, graph.values + edges),
                  std::vector<float>(y, y + graph.nodes * d),
                  fixed == nullptr ? std::vector<float>{} : std::vector<float>(fixed, fixed + m * d),
                  d,
                  rule};
    if (d == 2) {
        layout.run<2>(first, last);
    } else {
        layout.run<0>(first, last);
    }
    std::copy(layout.y.begin(), layout.y.end(), y);
}

double umap_cross_entropy(const Graph& graph, Index d, const double* y, const UmapCurve& curve, double repulsion,
                          const Index* rows, Index count) {
    const Index n = graph.nodes;
    std::vector<double> columns(static_cast<std::size_t>(n * d));
    for (Index i = 0; i < n; ++i) {
        for (Index c = 0; c < d; ++c) {
            columns[static_cast<std::size_t>(c * n + i)] = y[i * d + c];
        }
    }
    const double itself = log_one_plus_exp(-log_odds(y, y, d, curve));
    std::vector<double> parts(static_cast<std::size_t>(count));
    constexpr Index kRowsTogether = 16;
    parallel_for(blocks_of(count, kRowsTogether), [&](Index block) {
        for (Index r = block * kRowsTogether; r < std::min(count, (block + 1) * kRowsTogether); ++r) {
            const double* own = y + rows[r] * d;
            double pulled = 0.0;
            double degree = 0.0;
            for (Index e = graph.starts[rows[r]]; e < graph.starts[rows[r] + 1]; ++e) {
                degree += graph.values[e];
                pulled += graph.values[e] * log_one_plus_exp(log_odds(own, y + graph.ends[e] * d, d, curve));
            }
            const double share = repulsion * degree / (2.0 * static_cast<double>(n));
            const double part = pulled + share * (pushed_by_all(columns.data(), n, d, own, curve) - itself);
            parts[static_cast<std::size_t>(r)] = part;
        }
    });
    double total = 0.0;
    for (const double part : parts) {
        total += part;
    }
    return total;
}

}  // namespace qed
