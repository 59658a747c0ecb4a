#include "qed/density.hpp"

#include <algorithm>
#include <limits>

#include "qed/parallel.hpp"
#include "qed/scratch.hpp"

namespace qed {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr int kTogether = 4;
constexpr Index kTile = 64;  // octets whose distances are kept at a time
constexpr Index kTileRows = kTile * kOctet;
constexpr double kHalfPi = 1.5707963267948966;

[[gnu::always_inline]] inline Vector<double> square_root(Vector<double> v) noexcept {
    for (int lane = 0; lane < kLanes<double>; ++lane) {
        v[lane] = std::sqrt(v[lane]);
    }
    return v;
}

/// sin(x) for 0 <= x <= pi / 2, by its series.
[[gnu::always_inline]] inline Vector<double> sine(Vector<double> x) noexcept {
    const Vector<double> z = -(x * x);
    Vector<double> p = splat(1.0 / 51090942171709440000.0);
    p = p * z + 1.0 / 121645100408832000.0;
    p = p * z + 1.0 / 355687428096000.0;
    p = p * z + 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z + 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z + 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z + 1.0 / 6.0;
    return x + (x * z) * p;
}

/// Windows of which every value is at most one and none has to be scaled.
struct Tophat {
    static Vector<double> value(Vector<double> square) noexcept {
        return square < splat(1.0) ? splat(1.0) : Vector<double>{};
    }
};
struct Epanechnikov {
    static Vector<double> value(Vector<double> square) noexcept { return maximum(1.0 - square, Vector<double>{}); }
};
struct Linear {
    static Vector<double> value(Vector<double> square) noexcept {
        return maximum(1.0 - square_root(square), Vector<double>{});
    }
};
struct Cosine {
    // near the rim the cosine of u is the sine of what is left, which keeps its digits
    static Vector<double> value(Vector<double> square) noexcept {
        return sine(kHalfPi * maximum(1.0 - square_root(square), Vector<double>{}));
    }
};

/// A sum of exponentials of minus something, kept relative to the largest of them.
struct LogSum {
    double least = kFar;
    double total = 0.0;

    void rescale(double smallest) noexcept {
        if (smallest < least) {
            total *= std::exp(smallest - least);  // zero at first
            least = smallest;
        }
    }
    [[nodiscard]] double log() const noexcept { return total > 0 ? std::log(total) - least : -kFar; }
};

template <class Value>
double add_up(const double* squares, Index rows, const double* s, Value&& value) noexcept {
    Vector<double> sums[kOctetVectors] = {};
    for (Index at = 0; at < rows; at += kOctet) {
        for (int v = 0; v < kOctetVectors; ++v) {
            const Index here = at + v * kLanes<double>;
            const Vector<double> one = value(load(squares + here));
            sums[v] += s == nullptr ? one : one * load(s + here);
        }
    }
    double total = 0.0;
    for (const Vector<double>& sum : sums) {
        total += sum_lanes(sum);
    }
    return total;
}

double smallest_of(const double* values, Index rows) noexcept {
    Vector<double> least = splat(kFar);
    for (Index at = 0; at < rows; at += kLanes<double>) {
        least = minimum(least, load(values + at));
    }
    double out = kFar;
    for (int lane = 0; lane < kLanes<double>; ++lane) {
        out = std::min(out, least[lane]);
    }
    return out;
}

/// Adds the windows of a tile, given squares of u, to what a query has gathered.
void add_tile(Window window, double* squares, Index rows, const double* s, LogSum& sum) noexcept {
    switch (window) {
        case Window::gaussian:
        case Window::exponential: {
            const bool is_square = window == Window::gaussian;
            for (Index at = 0; at < rows; at += kLanes<double>) {
                const Vector<double> square = load(squares + at);
                store(squares + at, is_square ? 0.5 * square : square_root(square));
            }
            const double smallest = smallest_of(squares, rows);
            if (smallest < kFar) {
                sum.rescale(smallest);
                const Vector<double> shift = splat(sum.least);
                sum.total += add_up(squares, rows, s, [shift](Vector<double> e) noexcept { return exponential(shift - e); });
            }
            break;
        }
        case Window::tophat: sum.total += add_up(squares, rows, s, Tophat::value); break;
        case Window::epanechnikov: sum.total += add_up(squares, rows, s, Epanechnikov::value); break;
        case Window::linear: sum.total += add_up(squares, rows, s, Linear::value); break;
        case Window::cosine: sum.total += add_up(squares, rows, s, Cosine::value); break;
    }
}

/// Squares of u for four queries and some octets: entry (query, row) at query * kTileRows + row.
template <class M>
void measure_tile(const NeighborIndex& index, Index first, Index last, const double* queries, double power,
                  double bandwidth, double* squares) noexcept {
    const Index size = index.columns * kOctet;
    const double inverse = 1.0 / bandwidth;
    for (Index o = first; o < last; ++o) {
        Vector<double> sums[kTogether][kOctetVectors];
        octet_sums<M, kTogether>(index.octets + o * size, queries, index.columns, power, sums);
        for (int i = 0; i < kTogether; ++i) {
            for (int v = 0; v < kOctetVectors; ++v) {
                Vector<double> u = sums[i][v];
                if constexpr (std::is_same_v<M, Euclidean>) {
                    u = (u * inverse) * inverse;
                } else {
                    if constexpr (std::is_same_v<M, Power>) {
                        for (int lane = 0; lane < kLanes<double>; ++lane) {
                            u[lane] = M::distance(u[lane], power, index.columns);
                        }
                    }
                    u = u * inverse;
                    u = u * u;
                }
                store(squares + i * kTileRows + (o - first) * kOctet + v * kLanes<double>, u);
            }
        }
    }
}

template <class M>
void four_queries(const NeighborIndex& index, const double* queries, Index first, int count, const double* s,
                  const Kernel& kernel, double power, double* out) {
    const ScratchArray<double> packed(index.columns * kTogether);
    const ScratchArray<double> squares(kTogether * kTileRows);
    for (Index i = 0; i < kTogether; ++i) {
        const double* query = queries + std::min(first + i, first + count - 1) * index.columns;
        for (Index j = 0; j < index.columns; ++j) {
            packed[j * kTogether + i] = query[j];
        }
    }
    LogSum sums[kTogether];
    if (kernel.window != Window::gaussian && kernel.window != Window::exponential) {
        std::fill(sums, sums + kTogether, LogSum{0.0, 0.0});
    }
    for (Index at = 0; at < index.octet_count; at += kTile) {
        const Index last = std::min(index.octet_count, at + kTile);
        measure_tile<M>(index, at, last, packed.get(), power, kernel.bandwidth, squares.get());
        for (int i = 0; i < count; ++i) {
            // the last octet is filled up by infinities, whose windows are zero
            add_tile(kernel.window, squares.get() + i * kTileRows, (last - at) * kOctet,
                     s == nullptr ? nullptr : s + at * kOctet, sums[i]);
        }
    }
    for (int i = 0; i < count; ++i) {
        out[first + i] = sums[i].log();
    }
}

}  // namespace

void log_densities(const NeighborIndex& index, const double* queries, Index count, const double* s, const Kernel& kernel,
                   const Measure& measure, double* out) {
    const double pairs = static_cast<double>(count) * static_cast<double>(index.rows);
    const Effort effort(pairs * (static_cast<double>(index.columns) + 8.0) / 4);
    with_metric(measure.metric, [&]<class M>(M) {
        parallel_for(blocks_of(count, kTogether), [&](Index block) {
            const Index first = block * kTogether;
            const int here = static_cast<int>(std::min(count - first, Index{kTogether}));
            four_queries<M>(index, queries, first, here, s, kernel, measure.power, out);
        });
    });
}

}  // namespace qed
