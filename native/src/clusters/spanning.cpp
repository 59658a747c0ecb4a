#include "qed/clusters/spanning.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/neighbors/neighbor_walk.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kChunkOctets = 2048;  // octets of a block of work

struct Least {
    double value = kFar;
    double id = kFar;
    Index slot = -1;
    void take(double other, double number, Index where) noexcept {
        if (where >= 0 && (other < value || (other == value && number < id))) {
            value = other;
            id = number;
            slot = where;
        }
    }
};

/// Rows not reached yet, in octets without gaps, each with the nearest row reached so far. Values are sums over the
/// columns, which order distances; numbers of rows are kept as doubles, which compare in vectors.
template <class M>
class Frontier {
  public:
    Frontier(const NeighborIndex& index, Exponent power, const SpanningIn& in)
        : columns_(index.columns), left_(index.rows), power_(power), ruler_{power.value, index.columns},
          limit_(in.limit < kFar ? ruler_.reach(in.limit) : kFar),
          octets_(index.octets, index.octets + index.octet_count * index.columns * kOctet) {
        const auto size = static_cast<std::size_t>(index.octet_count * kOctet);
        id_.resize(size, kFar);
        best_.resize(size, kFar);
        parent_.resize(size, -1.0);
        to_.resize(in.to == nullptr ? 0 : size, 0.0);
        for (Index i = 0; i < index.rows; ++i) {
            id_[static_cast<std::size_t>(i)] = static_cast<double>(i);
            if (in.to != nullptr) {
                to_[static_cast<std::size_t>(i)] = ruler_.reach(in.to[i]);
            }
        }
    }

    [[nodiscard]] Index left() const noexcept { return left_; }
    [[nodiscard]] Index row(Index slot) const noexcept { return static_cast<Index>(id_[static_cast<std::size_t>(slot)]); }
    [[nodiscard]] Index parent(Index slot) const noexcept {
        return static_cast<Index>(parent_[static_cast<std::size_t>(slot)]);
    }

    /// Takes a row out: the last one moves to its place.
    void remove(Index slot) noexcept {
        const Index last = --left_;
        for (Index j = 0; j < columns_; ++j) {
            octets_[entry(slot, j)] = octets_[entry(last, j)];
        }
        const auto to = static_cast<std::size_t>(slot);
        const auto from = static_cast<std::size_t>(last);
        id_[to] = id_[from];
        best_[to] = best_[from];
        parent_[to] = parent_[from];
        if (!to_.empty()) {
            to_[to] = to_[from];
        }
        id_[from] = best_[from] = kFar;
    }

    /// Measures all rows from one that was reached; returns the nearest of all.
    Least meet(const double* query, Index number, double from) {
        const Index count = blocks_of(left_, kOctet);
        const Index chunks = blocks_of(count, kChunkOctets);
        std::vector<Least> found(static_cast<std::size_t>(chunks));
        const double start = from < kFar ? (from > 0 ? ruler_.reach(from) : 0.0) : kFar;
        const Effort effort(static_cast<double>(left_ * (columns_ + 6)));
        parallel_for(chunks, [&](Index chunk) {
            found[static_cast<std::size_t>(chunk)] =
                part(query, static_cast<double>(number), start, chunk * kChunkOctets,
                     std::min(count, (chunk + 1) * kChunkOctets));
        });
        Least least;
        for (const Least& one : found) {
            least.take(one.value, one.id, one.slot);
        }
        return least;
    }

  private:
    [[nodiscard]] std::size_t entry(Index slot, Index column) const noexcept {
        return static_cast<std::size_t>((slot / kOctet * columns_ + column) * kOctet + slot % kOctet);
    }

    Least part(const double* query, double number, double start, Index first, Index last) noexcept {
        const Vector<double> none = splat(kFar);
        Vector<double> value[kOctetVectors];
        Vector<double> id[kOctetVectors];
        Vector<double> where[kOctetVectors];
        for (int v = 0; v < kOctetVectors; ++v) {
            value[v] = id[v] = none;
            where[v] = splat(-1.0);
        }
        for (Index o = first; o < last; ++o) {
            Vector<double> sums[1][kOctetVectors];
            octet_sums<M, 1>(octets_.data() + o * columns_ * kOctet, query, columns_, power_, sums, {kFar});
            for (int v = 0; v < kOctetVectors; ++v) {
                const Index at = o * kOctet + v * kLanes<double>;
                Vector<double> key = maximum(sums[0][v], splat(start));
                if (!to_.empty()) {
                    key = maximum(key, load(to_.data() + at));
                }
                const Vector<double> number_of = load(id_.data() + at);
                key = number_of < none ? key : none;  // places behind the last row
                key = key <= splat(limit_) ? key : none;
                const Vector<double> before = load(best_.data() + at);
                const auto nearer = key < before;
                const Vector<double> now = nearer ? key : before;
                store(best_.data() + at, now);
                store(parent_.data() + at, nearer ? splat(number) : load(parent_.data() + at));
                const auto takes = (now < value[v]) | ((now == value[v]) & (number_of < id[v]));
                value[v] = takes ? now : value[v];
                id[v] = takes ? number_of : id[v];
                where[v] = takes ? splat(static_cast<double>(at)) : where[v];
            }
        }
        Least least;
        for (int v = 0; v < kOctetVectors; ++v) {
            for (int lane = 0; lane < kLanes<double>; ++lane) {
                const auto slot = static_cast<Index>(where[v][lane]);
                least.take(value[v][lane], id[v][lane], slot < 0 ? slot : slot + lane);
            }
        }
        return least;
    }

    Index columns_;
    Index left_;
    Exponent power_;
    Ruler<M> ruler_;
    double limit_;
    std::vector<double> octets_;
    std::vector<double> id_;
    std::vector<double> best_;
    std::vector<double> parent_;
    std::vector<double> to_;
};

template <class M>
double distance(const double* a, const double* b, Index columns, Exponent power) {
    alignas(64) double octet[kOctet];
    Vector<double> sum{};
    if constexpr (std::is_same_v<M, Power>) {
        sum = Power::measure(columns, power, kFar, [&](Index j) { return splat((a[j] - b[j]) * power.factor(j)); });
    } else {
        for (Index j = 0; j < columns; ++j) {
            sum = M::add(sum, splat(a[j] - b[j]), power);
        }
    }
    store(octet, sum);
    return M::distance(octet[0], power, columns);
}

}  // namespace

void span_rows(const NeighborIndex& index, const double* x, const Measure& measure, const SpanningIn& in,
               const SpanningOut& out) {
    with_metric(measure.metric, [&]<class M>(M) {
        Frontier<M> frontier(index, measure.power, in);
        Index slot = 0;
        for (Index step = 0; step < index.rows; ++step) {
            const Index row = frontier.row(slot);
            const Index parent = frontier.parent(slot);
            out.order[step] = row;
            out.parent[row] = parent;
            out.distance[row] = kFar;
            if (parent >= 0) {
                double far = distance<M>(x + row * index.columns, x + parent * index.columns, index.columns, measure.power);
                far = in.from == nullptr ? far : std::max(far, in.from[parent]);
                out.distance[row] = in.to == nullptr ? far : std::max(far, in.to[row]);
            }
            frontier.remove(slot);
            if (frontier.left() > 0) {
                slot = frontier.meet(x + row * index.columns, row, in.from == nullptr ? 0.0 : in.from[row]).slot;
            }
        }
    });
}

}  // namespace qed
