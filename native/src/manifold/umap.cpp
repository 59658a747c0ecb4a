#include "qed/manifold/umap.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

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

/// As many numbers as asked for, on the spot where that is known beforehand.
template <int Size>
struct Room {
    explicit Room(Index) {}
    float& operator[](Index i) noexcept { return values[i]; }
    const float& operator[](Index i) const noexcept { return values[i]; }
    float values[Size] = {};
};
template <>
struct Room<0> {
    explicit Room(Index size) : values(static_cast<std::size_t>(size)) {}
    float& operator[](Index i) noexcept { return values[static_cast<std::size_t>(i)]; }
    const float& operator[](Index i) const noexcept { return values[static_cast<std::size_t>(i)]; }
    std::vector<float> values;
};

/// A point and what moves it: one other that pulls, in the first lane, and seven that push.
template <int D>
class Mover {
  public:
    Mover(Index d, const UmapRule& rule)
        : d_(D > 0 ? D : d), a_(static_cast<float>(rule.curve.a)), b_(static_cast<float>(rule.curve.b)),
          push_(static_cast<float>(2.0 * rule.repulsion * rule.curve.b)), away_(d_ * kTogether) {}

    [[gnu::always_inline]] void place(int lane, const float* own, const float* other) {
        for (Index c = 0; c < d_; ++c) {
            away_[c * kTogether + lane] = own[c] - other[c];
        }
    }

    /// Moves `own` by all that were placed, and `pulled` the other way by what pulls, unless it stays where it is.
    void apply(float* own, float* pulled, float rate) {
        Floats square{};
        for (Index c = 0; c < d_; ++c) {
            square += lanes(c) * lanes(c);
        }
        const auto apart = square > 1e-30F;  // points that coincide neither pull nor push: their differences are zero
        const Floats safe = apart ? square : Floats{} + 1.0F;
        const Floats power = a_ * exp2_of(b_ * log2_of(safe));
        const Words is_pull = {-1, 0, 0, 0, 0, 0, 0, 0};
        const Floats above = is_pull ? -2.0F * b_ * power : Floats{} + push_;
        const Floats below = (is_pull ? safe : safe + static_cast<float>(kNear)) * (1.0F + power);
        const Floats factor = apart ? above / below : Floats{};
        for (Index c = 0; c < d_; ++c) {
            const Floats moves = clipped(factor * lanes(c));
            float sum = 0.0F;
            for (int lane = 0; lane < kTogether; ++lane) {
                sum += moves[lane];
            }
            own[c] += rate * sum;
            if (pulled != nullptr) {
                pulled[c] -= rate * moves[0];
            }
        }
        for (Index at = 0; at < d_ * kTogether; ++at) {
            away_[at] = 0.0F;
        }
    }

  private:
    [[gnu::always_inline]] Floats lanes(Index c) const {
        Floats v;
        __builtin_memcpy(&v, &away_[c * kTogether], sizeof(v));
        return v;
    }

    Index d_;
    float a_, b_, push_;
    Room<D * kTogether> away_;
};

/// Whether an edge of relative weight w is met in an epoch.
[[gnu::always_inline]] inline bool is_met(float w, float epoch) noexcept {
    return std::floor(epoch * w) > std::floor((epoch - 1.0F) * w);
}

struct Pair {
    std::int32_t first, second;
    float weight;
};

/// Every edge once, in classes of edges without a common end: those of a class can be met in any order, or at once.
struct Classes {
    std::vector<Pair> pairs;
    std::vector<Index> starts;

    explicit Classes(const Graph& graph) {
        std::vector<std::vector<std::uint64_t>> taken(static_cast<std::size_t>(graph.nodes));
        std::vector<std::vector<Pair>> classes;
        for (Index i = 0; i < graph.nodes; ++i) {
            for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
                const Index j = graph.ends[e];
                if (j <= i || graph.values[e] <= 0.0) {
                    continue;
                }
                const std::size_t free = first_free(taken[static_cast<std::size_t>(i)], taken[static_cast<std::size_t>(j)]);
                if (free == classes.size()) {
                    classes.emplace_back();
                }
                classes[free].push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                                         static_cast<float>(graph.values[e])});
            }
        }
        starts.push_back(0);
        for (const auto& one : classes) {
            pairs.insert(pairs.end(), one.begin(), one.end());
            starts.push_back(static_cast<Index>(pairs.size()));
        }
    }

  private:
    /// The first class that neither end is in yet; both are in it then.
    static std::size_t first_free(std::vector<std::uint64_t>& a, std::vector<std::uint64_t>& b) {
        for (std::size_t word = 0;; ++word) {
            if (a.size() == word) {
                a.push_back(0);
            }
            if (b.size() == word) {
                b.push_back(0);
            }
            if (const std::uint64_t open = ~(a[word] | b[word]); open != 0) {
                const std::uint64_t bit = open & (~open + 1);
                a[word] |= bit;
                b[word] |= bit;
                return word * 64 + static_cast<std::size_t>(__builtin_ctzll(bit));
            }
        }
    }
};

/// Random points push `own`, `others` of them to choose from; what pulls is placed already.
template <int D>
[[gnu::always_inline]] inline void push(Mover<D>& mover, float* own, float* pulled, Index itself, const float* others,
                                        Index count, Index d, const UmapRule& rule, Draws draws, float rate) {
    int lane = 1;
    for (Index t = 0; t < rule.negatives; ++t) {
        if (lane == kTogether) {
            mover.apply(own, pulled, rate);
            lane = 1;
        }
        const Index other = draws.below(count);
        if (other != itself) {
            mover.place(lane++, own, others + other * d);
        }
    }
    mover.apply(own, pulled, rate);
}

float rate_of(const UmapRule& rule, Index epoch) noexcept {
    return static_cast<float>(rule.learning_rate * (1.0 - static_cast<double>(epoch) / static_cast<double>(rule.epochs)));
}

/// Both ends of an edge move. Points that push stand where they stood when the epoch began.
template <int D>
void move_all(const Classes& classes, std::vector<float>& y, Index d, const UmapRule& rule, Index first, Index last) {
    const Index n = static_cast<Index>(y.size()) / d;
    std::vector<float> before;
    for (Index epoch = std::max<Index>(first, 1); epoch < last; ++epoch) {
        before = y;
        const float rate = rate_of(rule, epoch);
        for (std::size_t one = 0; one + 1 < classes.starts.size(); ++one) {
            const Index begin = classes.starts[one];
            const Index end = classes.starts[one + 1];
            parallel_for(blocks_of(end - begin, kBlock), [&](Index block) {
                Mover<D> mover(d, rule);
                for (Index at = begin + block * kBlock; at < std::min(end, begin + (block + 1) * kBlock); ++at) {
                    const Pair& pair = classes.pairs[static_cast<std::size_t>(at)];
                    if (!is_met(pair.weight, static_cast<float>(epoch))) {
                        continue;
                    }
                    float* a = y.data() + pair.first * d;
                    float* b = y.data() + pair.second * d;
                    const auto number = static_cast<std::uint64_t>(2 * at);
                    const auto when = static_cast<std::uint64_t>(epoch);
                    mover.place(0, a, b);
                    push(mover, a, b, pair.first, before.data(), n, d, rule, Draws(rule.seed, when, number), rate);
                    mover.place(0, b, a);
                    push(mover, b, a, pair.second, before.data(), n, d, rule, Draws(rule.seed, when, number + 1), rate);
                }
            });
        }
    }
}

/// Points move among others that stay. Each draws the same numbers wherever it stands, so that it is placed alike in every company.
template <int D>
void move_among(const Graph& graph, std::vector<float>& y, const std::vector<float>& fixed, Index d, const UmapRule& rule,
                Index first, Index last) {
    const Index m = static_cast<Index>(fixed.size()) / d;
    parallel_for(blocks_of(graph.nodes, kBlock), [&](Index block) {
        Mover<D> mover(d, rule);
        for (Index i = block * kBlock; i < std::min(graph.nodes, (block + 1) * kBlock); ++i) {
            float* own = y.data() + i * d;
            for (Index epoch = std::max<Index>(first, 1); epoch < last; ++epoch) {
                for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
                    if (is_met(static_cast<float>(graph.values[e]), static_cast<float>(epoch))) {
                        mover.place(0, own, fixed.data() + graph.ends[e] * d);
                        const Draws draws(rule.seed, static_cast<std::uint64_t>(epoch),
                                          static_cast<std::uint64_t>(e - graph.starts[i]));
                        push(mover, own, nullptr, -1, fixed.data(), m, d, rule, draws, rate_of(rule, epoch));
                    }
                }
            }
        }
    });
}

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
    std::vector<float> points(y, y + graph.nodes * d);
    const auto run = [&](auto dimension) {
        if (fixed == nullptr) {
            move_all<dimension()>(Classes(graph), points, d, rule, first, last);
        } else {
            move_among<dimension()>(graph, points, std::vector<float>(fixed, fixed + m * d), d, rule, first, last);
        }
    };
    if (d == 2) {
        run(std::integral_constant<int, 2>{});
    } else {
        run(std::integral_constant<int, 0>{});
    }
    std::copy(points.begin(), points.end(), y);
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
