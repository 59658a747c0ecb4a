#include "qed/tables/density.hpp"

#include <algorithm>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/neighbors/neighbor_walk.hpp"

namespace qed {
namespace {

constexpr int kTogether = 4;
constexpr Index kTile = 64;  // octets whose distances are kept at a time
constexpr Index kTileRows = kTile * kOctet;
constexpr double kHalfPi = 1.5707963267948966;

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

/// exp(x) for x <= 0, zero below -600, where it is far less than any rounding of a sum that one belongs to:
/// exponentials without leading digits are slow.
[[gnu::always_inline]] inline Vector<double> small_exponential(Vector<double> x) noexcept {
    const Vector<double> low = splat(-600.0);
    const Vector<double> value = exponential(maximum(x, low));
    return x < low ? Vector<double>{} : value;
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
                sum.total += add_up(squares, rows, s,
                                    [shift](Vector<double> e) noexcept { return small_exponential(shift - e); });
            }
            break;
        }
        case Window::tophat:
            sum.total += add_up(squares, rows, s, Tophat::value);
            break;
        case Window::epanechnikov:
            sum.total += add_up(squares, rows, s, Epanechnikov::value);
            break;
        case Window::linear:
            sum.total += add_up(squares, rows, s, Linear::value);
            break;
        case Window::cosine:
            sum.total += add_up(squares, rows, s, Cosine::value);
            break;
    }
}

/// Squares of u for four queries and some octets: entry (query, row) at query * kTileRows + row.
template <class M>
void measure_tile(const NeighborIndex& index, Index first, Index last, const double* queries, Exponent power,
                  double bandwidth, double* squares) noexcept {
    const Index size = index.columns * kOctet;
    const double inverse = 1.0 / bandwidth;
    for (Index o = first; o < last; ++o) {
        Vector<double> sums[kTogether][kOctetVectors];
        octet_sums<M, kTogether>(index.octets + o * size, queries, index.columns, power, sums,
                                 {kFar, kFar, kFar, kFar});
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

bool is_compact(Window window) noexcept {
    return window != Window::gaussian && window != Window::exponential;
}

template <class M>
double square_of(double sum, const Kernel& kernel, const Ruler<M>& ruler) noexcept {
    const double inverse = 1.0 / kernel.bandwidth;
    if constexpr (std::is_same_v<M, Euclidean>) {
        return (sum * inverse) * inverse;
    }
    const double u = ruler.distance(sum) * inverse;
    return u * u;
}

/// Gathers the rows whose windows count at one query, and sums them tile by tile.
template <class M>
class Gather {
  public:
    static constexpr bool kLooks = true;
    Gather(const Kernel& kernel, Ruler<M> ruler, double radius, const double* s)
        : kernel_(kernel), ruler_(ruler), limit_(ruler.reach(radius)), s_(s), squares_(kTileRows), weights_(kTileRows) {
        sum_.least = is_compact(kernel.window) ? 0.0 : kFar;
    }
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) noexcept {
        squares_[count_] = square_of(sum, kernel_, ruler_);
        weights_[count_] = s_ == nullptr ? 1.0 : s_[id];
        if (++count_ == kTileRows) {
            flush();
        }
    }
    [[nodiscard]] double log() noexcept {
        flush();
        return sum_.log();
    }

  private:
    void flush() noexcept {
        const Index rows = round_up(count_, kOctet);
        std::fill(squares_.get() + count_, squares_.get() + rows, kFar);
        std::fill(weights_.get() + count_, weights_.get() + rows, 0.0);
        add_tile(kernel_.window, squares_.get(), rows, weights_.get(), sum_);
        count_ = 0;
    }

    Kernel kernel_;
    Ruler<M> ruler_;
    double limit_;
    const double* s_;
    ScratchArray<double> squares_;
    ScratchArray<double> weights_;
    Index count_ = 0;
    LogSum sum_{};
};

/// What a call is about.
struct Task {
    const NeighborIndex& index;
    const double* queries;
    const double* s;        // in the order of the rows
    const double* ordered;  // in the order of the octets
    Kernel kernel;
    Exponent power;
    double depth;  // windows smaller than the largest by this power of e are lost in its rounding, all together
};

/// The log-density at one query from boxes that its window reaches; false where these are too many.
template <class M>
bool from_boxes(const Task& task, const double* query, double& out) {
    const Ruler<M> ruler{task.power, task.index.columns};
    const Index most = task.index.octet_count / 10;
    const double h = task.kernel.bandwidth;
    double radius = h;
    if (!is_compact(task.kernel.window)) {
        Best<M> best(1, ruler);
        Walk<M, Best<M>> walk(task.index, query, task.power, -1, best, most);
        walk.visit();
        if (walk.gave_up()) {
            return false;
        }
        const double nearest = best.finish()->distance;
        radius = task.kernel.window == Window::gaussian ? std::sqrt(nearest * nearest + 2 * task.depth * h * h)
                                                        : nearest + task.depth * h;
    }
    Count reached(ruler.reach(radius));
    Walk<M, Count> counts(task.index, query, task.power, -1, reached, most);
    counts.visit();
    if (counts.gave_up()) {
        return false;
    }
    Gather<M> gather(task.kernel, ruler, radius, task.s);
    Walk<M, Gather<M>>(task.index, query, task.power, -1, gather).visit();
    out = gather.log();
    return true;
}

/// Up to four queries against all rows; `which` are their numbers.
template <class M>
void four_queries(const Task& task, const Index* which, int count, double* out) {
    const NeighborIndex& index = task.index;
    const ScratchArray<double> packed(index.columns * kTogether);
    const ScratchArray<double> squares(kTogether * kTileRows);
    for (Index i = 0; i < kTogether; ++i) {
        const double* query = task.queries + which[std::min(i, Index{count} - 1)] * index.columns;
        for (Index j = 0; j < index.columns; ++j) {
            packed[j * kTogether + i] = query[j];
        }
    }
    LogSum sums[kTogether];
    if (is_compact(task.kernel.window)) {
        std::fill(sums, sums + kTogether, LogSum{0.0, 0.0});
    }
    for (Index at = 0; at < index.octet_count; at += kTile) {
        const Index last = std::min(index.octet_count, at + kTile);
        measure_tile<M>(index, at, last, packed.get(), task.power, task.kernel.bandwidth, squares.get());
        for (int i = 0; i < count; ++i) {
            // the last octet is filled up by infinities, whose windows are zero
            add_tile(task.kernel.window, squares.get() + i * kTileRows, (last - at) * kOctet,
                     task.ordered == nullptr ? nullptr : task.ordered + at * kOctet, sums[i]);
        }
    }
    for (int i = 0; i < count; ++i) {
        out[which[i]] = sums[i].log();
    }
}

}  // namespace

void log_densities(const NeighborIndex& index, const double* queries, Index count, const double* s,
                   const Kernel& kernel, const Measure& measure, double* out) {
    const double pairs = static_cast<double>(count) * static_cast<double>(index.rows);
    const Effort effort(pairs * (static_cast<double>(index.columns) + 8.0) / (index.node_count == 0 ? 4 : 16));
    std::vector<double> ordered(s == nullptr ? 0 : static_cast<std::size_t>(index.octet_count * kOctet));
    double share = static_cast<double>(index.rows);  // all weight over the least one
    if (s != nullptr) {
        for (std::size_t i = 0; i < ordered.size(); ++i) {
            ordered[i] = index.ids[i] < 0 ? 0.0 : s[index.ids[i]];
        }
        share *= *std::max_element(s, s + index.rows) / *std::min_element(s, s + index.rows);
    }
    const Task task{
        index, queries, s, ordered.empty() ? nullptr : ordered.data(), kernel, measure.power, 45 + std::log(share)};
    with_metric(measure.metric, [&]<class M>(M) {
        parallel_for(blocks_of(count, kTogether), [&](Index block) {
            Index left[kTogether];
            int waiting = 0;
            for (Index q = block * kTogether; q < std::min(count, (block + 1) * kTogether); ++q) {
                if (index.node_count == 0 || !from_boxes<M>(task, queries + q * index.columns, out[q])) {
                    left[waiting++] = q;
                }
            }
            if (waiting > 0) {
                four_queries<M>(task, left, waiting, out);
            }
        });
    });
}

}  // namespace qed
