#include "qed/manifold/stress.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 16;  // rows whose sums are one summand of the total

[[gnu::always_inline]] inline double root(double v) noexcept {
    return std::sqrt(v);
}
[[gnu::always_inline]] inline Vector<double> root(Vector<double> v) noexcept {
    Vector<double> out;
#pragma GCC unroll 8
    for (int lane = 0; lane < kLanes<double>; ++lane) {
        out[lane] = std::sqrt(v[lane]);
    }
    return out;
}
[[gnu::always_inline]] inline double total(double v) noexcept {
    return v;
}
[[gnu::always_inline]] inline double total(Vector<double> v) noexcept {
    return sum_lanes(v);
}

/// A vector of numbers, or one.
template <bool IsWide>
struct Number {
    using Type = Vector<double>;
};
template <>
struct Number<false> {
    using Type = double;
};

/// As many numbers as there are columns: on the spot where their count is known beforehand.
template <bool IsWide, int K>
class PerColumn {
    using V = typename Number<IsWide>::Type;

  public:
    explicit PerColumn(Index) {}
    [[gnu::always_inline]] V& operator[](Index c) noexcept { return values_[c]; }
    [[gnu::always_inline]] const V& operator[](Index c) const noexcept { return values_[c]; }
    [[nodiscard]] static constexpr Index size() noexcept { return K; }

  private:
    V values_[K] = {};
};
template <bool IsWide>
class PerColumn<IsWide, 0> {
    using V = typename Number<IsWide>::Type;

  public:
    explicit PerColumn(Index k) : values_(static_cast<std::size_t>(k)) {}
    V& operator[](Index c) noexcept { return values_[static_cast<std::size_t>(c)].value; }
    const V& operator[](Index c) const noexcept { return values_[static_cast<std::size_t>(c)].value; }
    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(values_.size()); }

  private:
    struct Held {
        V value{};
    };
    std::vector<Held> values_;
};

/// What one point gets from others, a vector or a single one of them at a time.
template <bool IsWide, int K>
struct Sums {
    using V = typename Number<IsWide>::Type;
    V stress{};
    V squares{};
    PerColumn<IsWide, K> moved;
    explicit Sums(Index k) : moved(k) {}

    [[gnu::always_inline]] void add(const PerColumn<false, K>& own, const double* x, Index n, const double* wanted) {
        V square{};
        for (Index c = 0; c < own.size(); ++c) {
            const V away = own[c] - take<V>(x + c * n);
            square += away * away;
        }
        const V distance = root(square);
        const V target = take<V>(wanted);
        const V miss = target - distance;
        stress += miss * miss;
        squares += square;
        const V ratio = distance > 0.0 ? target / distance : V{};
        for (Index c = 0; c < own.size(); ++c) {
            moved[c] += ratio * (own[c] - take<V>(x + c * n));
        }
    }
};

template <int K>
StressSums step(const double* D, const double* x, Index n, Index k, double* out) {
    const Index blocks = blocks_of(n, kBlock);
    std::vector<StressSums> parts(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](Index block) {
        PerColumn<false, K> own(k);
        StressSums& part = parts[static_cast<std::size_t>(block)];
        for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            for (Index c = 0; c < own.size(); ++c) {
                own[c] = x[c * n + i];
            }
            Sums<true, K> wide(k);
            Sums<false, K> rest(k);
            Index j = 0;
            for (; j + kLanes<double> <= n; j += kLanes<double>) {
                wide.add(own, x + j, n, D + i * n + j);
            }
            for (; j < n; ++j) {
                rest.add(own, x + j, n, D + i * n + j);
            }
            part.stress += 0.5 * (total(wide.stress) + rest.stress);  // each pair is met twice
            part.squares += 0.5 * (total(wide.squares) + rest.squares);
            for (Index c = 0; c < own.size(); ++c) {
                out[c * n + i] = (total(wide.moved[c]) + rest.moved[c]) / static_cast<double>(n);
            }
        }
    });
    StressSums all;
    for (const StressSums& part : parts) {
        all.stress += part.stress;
        all.squares += part.squares;
    }
    return all;
}

}  // namespace

StressSums guttman_step(const double* D, const double* x, Index n, Index k, double* out) {
    return k == 2 ? step<2>(D, x, n, k, out) : k == 3 ? step<3>(D, x, n, k, out) : step<0>(D, x, n, k, out);
}

void pair_distances(const double* x, Index n, Index k, double* out) {
    parallel_for(blocks_of(n, kBlock), [&](Index block) {
        for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            double* row = out + i * n - i * (i + 1) / 2 - i - 1;
            for (Index j = i + 1; j < n; ++j) {
                double square = 0.0;
                for (Index c = 0; c < k; ++c) {
                    const double away = x[c * n + i] - x[c * n + j];
                    square += away * away;
                }
                row[j] = std::sqrt(square);
            }
        }
    });
}

}  // namespace qed
