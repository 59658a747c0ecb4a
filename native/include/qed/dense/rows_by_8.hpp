/// Rows in groups of eight, and distances of all eight from a query at once.
///
/// Layout: an octet holds eight rows, column after column: entry (row r, column j) lies at j * 8 + r. The last octet is
/// filled up with infinities, and `ids` says which row each place holds, -1 where there is none.
/// Determinism: every distance is one chain of sums over the columns in their order, whichever loop computes it, so
/// that a tree, a scan and any number of threads see the same bits. Each step of the chain grows with its argument,
/// rounded or not: a bound for a box, computed by the same chain, never exceeds the distance of a row in the box.
/// (Powers do not grow so reliably: there a little is taken off the bound.)
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "qed/machine/elementary.hpp"
#include "qed/machine/matrix.hpp"
#include "qed/machine/simd.hpp"

namespace qed {

inline constexpr int kOctet = 8;
inline constexpr int kOctetVectors = kOctet / kLanes<double>;
static_assert(kOctet % kLanes<double> == 0);

enum class Metric : std::uint8_t { euclidean, manhattan, chebyshev, power, differing };

/// The power of a sum of powers, and what the difference in each column is multiplied by; null for ones, and elsewhere.
struct Exponent {
    double value;
    const double* factors = nullptr;
    operator double() const noexcept { return value; }
    [[nodiscard]] double factor(Index column) const noexcept { return factors == nullptr ? 1.0 : factors[column]; }
};

/// What is summed over the columns, how a sum becomes a distance, and a sum that none of at most a distance exceeds:
/// different sums may be rounded to the same distance.
inline double a_little_more(double sum) noexcept {
    return sum * (1 + 0x1p-50) + std::numeric_limits<double>::min();
}
struct Euclidean {
    static Vector<double> add(Vector<double> sum, Vector<double> d, double /*power*/) noexcept { return sum + d * d; }
    /// With a power of one the square itself is the distance.
    static double distance(double sum, double power, Index /*columns*/) noexcept {
        return power == 1.0 ? sum : std::sqrt(sum);
    }
    static double reach(double distance, double power, Index /*columns*/) noexcept {
        return power == 1.0 ? distance : a_little_more(distance * distance);
    }
};
struct Manhattan {
    static Vector<double> add(Vector<double> sum, Vector<double> d, double /*power*/) noexcept {
        return sum + absolute(d);
    }
    static double distance(double sum, double /*power*/, Index /*columns*/) noexcept { return sum; }
    static double reach(double distance, double /*power*/, Index /*columns*/) noexcept { return distance; }
};
struct Chebyshev {
    static Vector<double> add(Vector<double> sum, Vector<double> d, double /*power*/) noexcept {
        return maximum(sum, absolute(d));
    }
    static double distance(double sum, double /*power*/, Index /*columns*/) noexcept { return sum; }
    static double reach(double distance, double /*power*/, Index /*columns*/) noexcept { return distance; }
};
/// The same numbers, of which the compiler does not know that they are a product: products that are added in one
/// rounding here and in two there would be other bits.
[[gnu::always_inline]] inline Vector<double> apart(Vector<double> v) noexcept {
#if defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
    return v;
}

[[gnu::always_inline]] inline Vector<double> square_root(Vector<double> v) noexcept {
    for (int lane = 0; lane < kLanes<double>; ++lane) {
        v[lane] = std::sqrt(v[lane]);
    }
    return v;
}

/// A power of a difference over- and underflows long before the distance does, so that differences are divided by the
/// largest first: what stands for the sum is the distance itself.
struct Power {
    static Vector<double> raised(Vector<double> share, double power) noexcept {
        const int halves = power <= 8.0 ? static_cast<int>(2 * power) : 0;
        Vector<double> product = share;
        if (static_cast<double>(halves) == 2 * power) {  // products and roots
            product = halves % 2 == 1 ? square_root(share) : splat(1.0);
            for (int factor = 0; factor < halves / 2; ++factor) {
                product *= share;
            }
            return product;
        }
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            product[lane] = std::pow(share[lane], power);
        }
        return product;
    }
    /// Distances from differences(j) in each column; beyond the limit something that is beyond it too.
    template <class Differences>
    static Vector<double> measure(Index columns, double power, double limit, const Differences& differences) noexcept {
        Vector<double> top{};
        for (Index j = 0; j < columns; ++j) {
            top = maximum(top, absolute(differences(j)));
        }
        bool is_near = false;
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            is_near = is_near || top[lane] <= limit;
        }
        if (!is_near) {
            return top;
        }
        constexpr double infinity = std::numeric_limits<double>::infinity();
        Vector<double> unit = splat(1.0);
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            unit[lane] = top[lane] > 0.0 && top[lane] < infinity ? top[lane] : 1.0;
        }
        Vector<double> sum{};
        for (Index j = 0; j < columns; ++j) {
            sum += apart(raised(absolute(differences(j)) / unit, power));
        }
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            const bool is_plain = top[lane] > 0.0 && top[lane] < infinity;
            top[lane] = is_plain ? top[lane] * std::pow(sum[lane], 1.0 / power) : top[lane];
        }
        return top;
    }
    static double distance(double sum, double /*power*/, Index /*columns*/) noexcept { return sum; }
    static double reach(double distance, double /*power*/, Index /*columns*/) noexcept { return distance; }
    /// What the bound of a box may be rounded up by: powers of the library need not grow with their argument.
    static double less(double power, Index columns) noexcept {
        return 1.0 - 0x1p-50 * static_cast<double>(columns + 16) * std::fmax(1.0, 1.0 / power);
    }
};
struct Differing {
    static Vector<double> add(Vector<double> sum, Vector<double> d, double /*power*/) noexcept {
        return d == Vector<double>{} ? sum : sum + 1.0;
    }
    static double distance(double sum, double /*power*/, Index columns) noexcept {
        return sum / static_cast<double>(columns);
    }
    static double reach(double distance, double /*power*/, Index columns) noexcept {
        return a_little_more(distance * static_cast<double>(columns));
    }
};

template <class Work>
void with_metric(Metric metric, Work&& work) {
    switch (metric) {
        case Metric::euclidean:
            work(Euclidean{});
            break;
        case Metric::manhattan:
            work(Manhattan{});
            break;
        case Metric::chebyshev:
            work(Chebyshev{});
            break;
        case Metric::power:
            work(Power{});
            break;
        case Metric::differing:
            work(Differing{});
            break;
    }
}

/// Sums of eight rows for Q queries, which lie interleaved: entry (query i, column j) at j * Q + i. Of sums beyond the
/// limit of a query no more need be known than that.
template <class M, int Q>
[[gnu::always_inline]] inline void octet_sums(const double* octet, const double* queries, Index columns, Exponent power,
                                              Vector<double> (&sums)[Q][kOctetVectors],
                                              const double (&limits)[Q]) noexcept {
    if constexpr (std::is_same_v<M, Power>) {
        for (int i = 0; i < Q; ++i) {
            for (int v = 0; v < kOctetVectors; ++v) {
                const double* at = octet + v * kLanes<double>;
                sums[i][v] = Power::measure(columns, power, limits[i], [&](Index j) {
                    return (load(at + j * kOctet) - splat(queries[j * Q + i])) * power.factor(j);
                });
            }
        }
        return;
    } else {
        for (int i = 0; i < Q; ++i) {
            for (int v = 0; v < kOctetVectors; ++v) {
                sums[i][v] = Vector<double>{};
            }
        }
        for (Index j = 0; j < columns; ++j) {
            const double* at = octet + j * kOctet;
            const double* query = queries + j * Q;
#pragma GCC unroll 8
            for (int i = 0; i < Q; ++i) {
                const Vector<double> value = splat(query[i]);
#pragma GCC unroll 4
                for (int v = 0; v < kOctetVectors; ++v) {
                    sums[i][v] = M::add(sums[i][v], load(at + v * kLanes<double>) - value, power);
                }
            }
        }
    }
}

/// Least sums that a row in each of eight boxes can have; low and high ends lie like the rows of two octets.
template <class M>
[[gnu::always_inline]] inline void box_sums(const double* low, const double* high, const double* query, Index columns,
                                            Exponent power, Vector<double> (&sums)[kOctetVectors],
                                            double limit) noexcept {
    if constexpr (std::is_same_v<M, Power>) {
        for (int v = 0; v < kOctetVectors; ++v) {
            const double* from = low + v * kLanes<double>;
            const double* to = high + v * kLanes<double>;
            sums[v] = Power::less(power, columns) * Power::measure(columns, power, limit, [&](Index j) {
                          const Vector<double> value = splat(query[j]);
                          return maximum(maximum(load(from + j * kOctet) - value, value - load(to + j * kOctet)),
                                         Vector<double>{}) *
                                 power.factor(j);
                      });
        }
        return;
    } else {
        for (int v = 0; v < kOctetVectors; ++v) {
            sums[v] = Vector<double>{};
        }
        for (Index j = 0; j < columns; ++j) {
            const Vector<double> value = splat(query[j]);
#pragma GCC unroll 4
            for (int v = 0; v < kOctetVectors; ++v) {
                const Index at = j * kOctet + v * kLanes<double>;
                const Vector<double> outside = maximum(load(low + at) - value, value - load(high + at));
                sums[v] = M::add(sums[v], maximum(outside, Vector<double>{}), power);
            }
        }
    }
}

/// Which of eight sums are at most a limit, as bits.
[[gnu::always_inline]] inline unsigned at_most(const Vector<double> (&sums)[kOctetVectors], double limit) noexcept {
    unsigned bits = 0;
#pragma GCC unroll 4
    for (int v = 0; v < kOctetVectors; ++v) {
        const Bits within = sums[v] <= splat(limit);
#if defined(__AVX2__) && !defined(__AVX512F__)
        bits |= static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<Vector<double>>(within)))
                << (v * kLanes<double>);
#else
        for (int lane = 0; lane < kLanes<double>; ++lane) {
            bits |= static_cast<unsigned>(within[lane] & 1) << (v * kLanes<double> + lane);
        }
#endif
    }
    return bits;
}

}  // namespace qed
