#include "qed/manifold/umap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/manifold/lanes.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 128;
constexpr Index kWide = kLanes<double>;
constexpr double kNear = 1e-3;  // added to squared distances, so that points that coincide push with finite force
constexpr float kMost = 4.0F;   // longest move along a coordinate, before the learning rate

// Moves are small and random: single precision does. What one vector holds moves at once.
constexpr int kTogether = static_cast<int>(LanesOf<float>::kCount);
using Floats = Lanes<float>;
using Words [[gnu::vector_size(kTogether * sizeof(std::int32_t))]] = std::int32_t;
using Numbers [[gnu::vector_size(kTogether * sizeof(std::uint64_t))]] = std::uint64_t;

/// Streams of random numbers, one for each edge and epoch (splitmix64), two from each state.
class Draws {
  public:
    Draws(std::uint64_t seed, std::uint64_t epoch, Numbers edges) noexcept
        : state_(mixed(Numbers{} + (seed + kStep * (epoch + 1))) ^ (edges * 0xd1b54a32d192ed03ULL)) {}

    Words below(std::uint64_t n) noexcept {
        if (left_ == 0) {
            state_ += kStep;
            word_ = mixed(state_);
            left_ = 2;
        }
        --left_;
        const Numbers half = left_ == 1 ? word_ >> 32 : word_ & 0xffffffffU;
        return __builtin_convertvector((half * n) >> 32, Words);
    }

  private:
    static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    static Numbers mixed(Numbers z) noexcept {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    Numbers state_;
    Numbers word_{};
    int left_ = 0;
};

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

/// Coordinates of points, one in each lane, on the spot where their number is known beforehand.
template <int D>
class Places {
  public:
    explicit Places(Index d) {
        if constexpr (D == 0) {
            columns_.resize(static_cast<std::size_t>(d));
        }
    }
    Floats& operator[](Index c) noexcept { return columns_[static_cast<std::size_t>(c)].lanes; }

    void load(const float* points, Words at, Index d) noexcept {
        alignas(Words) std::int32_t index[kTogether];
        __builtin_memcpy(index, &at, sizeof(at));
        if constexpr (D == 2) {
            load_pairs(points, index, (*this)[0], (*this)[1]);
        } else {
            for (Index c = 0; c < d; ++c) {
                for (int lane = 0; lane < kTogether; ++lane) {
                    (*this)[c][lane] = points[index[lane] * d + c];
                }
            }
        }
    }

    /// The first `many` lanes.
    void store(float* points, Words at, Index d, int many) noexcept {
        for (int lane = 0; lane < many; ++lane) {
            for (Index c = 0; c < d; ++c) {
                points[at[lane] * d + c] = (*this)[c][lane];
            }
        }
    }

  private:
    struct Column {
        Floats lanes{};
    };
    std::conditional_t<D == 0, std::vector<Column>, std::array<Column, D == 0 ? 1 : D>> columns_;
};

/// How points pull and push others, one pair in each lane.
template <int D>
class Mover {
  public:
    Mover(Index d, const UmapRule& rule)
        : d_(D > 0 ? D : d), a_(static_cast<float>(rule.curve.a)), b_(static_cast<float>(rule.curve.b)),
          push_(static_cast<float>(2.0 * rule.repulsion * rule.curve.b)), negatives_(rule.negatives), drawn_(d) {}

    /// Moves `own` and `other` towards each other, or `own` alone; then random ones of `count` points away from `own`, each
    /// from where the last one left it. `itself` is what stands in `points` for `own`, and lanes without `rate` stay.
    [[gnu::always_inline]] void move(Places<D>& own, Places<D>& other, bool stays, Words itself, const float* points,
                                     Index count, Draws draws, Floats rate) noexcept {
        Floats square = apart(own, other);
        Floats safe = square > kLeast ? square : Floats{} + 1.0F;
        Floats power = a_ * exp2_of(b_ * log2_of(safe));
        Floats factor = square > kLeast ? -2.0F * b_ * power / (safe * (1.0F + power)) : Floats{};
        for (Index c = 0; c < d_; ++c) {
            const Floats by = rate * clipped(factor * (own[c] - other[c]));
            own[c] += by;
            if (!stays) {
                other[c] -= by;
            }
        }
        for (Index t = 0; t < negatives_; ++t) {
            const Words at = draws.below(static_cast<std::uint64_t>(count));
            drawn_.load(points, at, d_);
            square = at == itself ? Floats{} : apart(own, drawn_);
            safe = square > kLeast ? square : Floats{} + 1.0F;
            power = a_ * exp2_of(b_ * log2_of(safe));
            factor = square > kLeast ? push_ / ((safe + static_cast<float>(kNear)) * (1.0F + power)) : Floats{};
            for (Index c = 0; c < d_; ++c) {
                own[c] += rate * clipped(factor * (own[c] - drawn_[c]));
            }
        }
    }

  private:
    static constexpr float kLeast = 1e-30F;  // points that coincide neither pull nor push

    [[gnu::always_inline]] Floats apart(Places<D>& own, Places<D>& other) noexcept {
        Floats square{};
        for (Index c = 0; c < d_; ++c) {
            square += (own[c] - other[c]) * (own[c] - other[c]);
        }
        return square;
    }

    Index d_;
    float a_, b_, push_;
    Index negatives_;
    Places<D> drawn_;
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
        const Floats rate = Floats{} + rate_of(rule, epoch);
        for (std::size_t one = 0; one + 1 < classes.starts.size(); ++one) {
            const Index begin = classes.starts[one];
            const Index end = classes.starts[one + 1];
            parallel_for(blocks_of(end - begin, kBlock), [&](Index block) {
                Mover<D> mover(d, rule);
                Places<D> a(d);
                Places<D> b(d);
                Words first_ends{};
                Words second_ends{};
                Numbers numbers{};
                int met = 0;
                const auto when = static_cast<std::uint64_t>(epoch);
                const auto move = [&] {  // lanes beyond those met hold old pairs, and are not stored
                    a.load(y.data(), first_ends, d);
                    b.load(y.data(), second_ends, d);
                    mover.move(a, b, false, first_ends, before.data(), n, Draws(rule.seed, when, numbers), rate);
                    mover.move(b, a, false, second_ends, before.data(), n, Draws(rule.seed, when, numbers + 1), rate);
                    a.store(y.data(), first_ends, d, met);
                    b.store(y.data(), second_ends, d, met);
                    met = 0;
                };
                for (Index at = begin + block * kBlock; at < std::min(end, begin + (block + 1) * kBlock); ++at) {
                    const Pair& pair = classes.pairs[static_cast<std::size_t>(at)];
                    if (is_met(pair.weight, static_cast<float>(epoch))) {
                        first_ends[met] = pair.first;
                        second_ends[met] = pair.second;
                        numbers[met] = static_cast<std::uint64_t>(2 * at);
                        if (++met == kTogether) {
                            move();
                        }
                    }
                }
                if (met > 0) {
                    move();
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
    parallel_for(blocks_of(graph.nodes, kTogether), [&](Index block) {
        Mover<D> mover(d, rule);
        Places<D> own(d);
        Places<D> other(d);
        const Index begin = block * kTogether;
        const auto many = static_cast<int>(std::min<Index>(kTogether, graph.nodes - begin));
        Words nodes{};
        Index most = 0;
        for (int lane = 0; lane < many; ++lane) {
            nodes[lane] = static_cast<std::int32_t>(begin + lane);
            most = std::max(most, graph.starts[begin + lane + 1] - graph.starts[begin + lane]);
        }
        own.load(y.data(), nodes, d);
        for (Index epoch = std::max<Index>(first, 1); epoch < last; ++epoch) {
            for (Index t = 0; t < most; ++t) {
                Words ends{};
                Floats rates{};
                for (int lane = 0; lane < many; ++lane) {
                    const Index e = graph.starts[begin + lane] + t;
                    if (e < graph.starts[begin + lane + 1] &&
                        is_met(static_cast<float>(graph.values[e]), static_cast<float>(epoch))) {
                        ends[lane] = static_cast<std::int32_t>(graph.ends[e]);
                        rates[lane] = rate_of(rule, epoch);
                    }
                }
                other.load(fixed.data(), ends, d);
                const Draws draws(rule.seed, static_cast<std::uint64_t>(epoch), Numbers{} + static_cast<std::uint64_t>(t));
                mover.move(own, other, true, Words{} - 1, fixed.data(), m, draws, rates);
            }
        }
        own.store(y.data(), nodes, d, many);
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
