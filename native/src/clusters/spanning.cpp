#include "qed/clusters/spanning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "qed/neighbors/neighbor_walk.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kChunkOctets = 2048;  // octets of a block of work
constexpr Index kQueryOctets = 64;    // octets whose rows ask a tree, in one block

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

/// An edge between components, as a sum over columns that orders distances; of equal ones the smaller rows come first.
struct Edge {
    double key = kFar;
    Index low = kNobody;
    Index high = kNobody;
    Edge() = default;
    Edge(double length, Index i, Index j) : key(length), low(std::min(i, j)), high(std::max(i, j)) {}
    [[nodiscard]] bool before(const Edge& other) const noexcept {
        return key != other.key ? key < other.key : low != other.low ? low < other.low : high < other.high;
    }
};

class Components {
  public:
    explicit Components(Index rows) : up_(static_cast<std::size_t>(rows)) { std::iota(up_.begin(), up_.end(), 0); }
    Index find(Index i) noexcept {
        while (up_[at(i)] != i) {
            i = up_[at(i)] = up_[at(up_[at(i)])];
        }
        return i;
    }
    bool join(Index i, Index j) noexcept {
        i = find(i);
        j = find(j);
        up_[at(std::max(i, j))] = std::min(i, j);
        return i != j;
    }

  private:
    static std::size_t at(Index i) noexcept { return static_cast<std::size_t>(i); }
    std::vector<Index> up_;
};

/// Rounds of Borůvka's algorithm.
template <class M>
class Rounds {
  public:
    Rounds(const NeighborIndex& index, const double* x, Exponent power, const double* core)
        : index_(index), x_(x), power_(power), joined_(index.rows), component_(size(index.rows)),
          reach_(size(index.rows), 0.0), bound_(size(index.rows), 0.0), nearest_(size(index.rows)),
          least_(size(index.rows)), of_node_(size(index.node_count)), of_octet_(size(index.octet_count)) {
        const Ruler<M> ruler{power.value, index.columns};
        for (Index i = 0; i < index.rows; ++i) {
            component_[size(i)] = i;
            bound_[size(i)] = reach_[size(i)] = core == nullptr ? 0.0 : ruler.reach(core[i]);
        }
    }

    /// Joins components by their nearest edges, which go to `taken`.
    void round(std::vector<Edge>& taken) {
        tag(0);
        for (Index i = 0; i < index_.rows; ++i) {
            least_[size(i)].store(kFar, std::memory_order_relaxed);
        }
        for (Index i = 0; i < index_.rows; ++i) {
            if (!has_nearest(i)) {
                nearest_[size(i)] = Edge();
            } else {
                lower(component_[size(i)], nearest_[size(i)].key);
            }
        }
        parallel_for(blocks_of(index_.octet_count, kQueryOctets), [&](Index block) {
            const Index last = std::min(index_.octet_count, (block + 1) * kQueryOctets) * kOctet;
            for (Index k = block * kQueryOctets * kOctet; k < last; ++k) {
                if (const Index i = index_.ids[k]; i >= 0 && nearest_[size(i)].key == kFar) {
                    ask(i);
                }
            }
        });
        std::vector<Edge> best(size(index_.rows));
        for (Index i = 0; i < index_.rows; ++i) {
            Edge& known = best[size(component_[size(i)])];
            if (nearest_[size(i)].before(known)) {
                known = nearest_[size(i)];
            }
        }
        for (const Edge& edge : best) {
            if (edge.key < kFar && joined_.join(edge.low, edge.high)) {
                taken.push_back(edge);
            }
        }
        for (Index i = 0; i < index_.rows; ++i) {
            component_[size(i)] = joined_.find(i);
        }
    }

  private:
    static std::size_t size(Index i) noexcept { return static_cast<std::size_t>(i); }

    /// The nearest row of another component.
    class Outside {
      public:
        static constexpr bool kLooks = true;
        Outside(const Rounds& rounds, Index row, double limit) noexcept
            : rounds_(rounds), row_(row), own_(rounds.component_[size(row)]), limit_(limit) {}
        [[nodiscard]] double limit() const noexcept { return limit_; }
        [[nodiscard]] const Edge& found() const noexcept { return found_; }
        [[nodiscard]] bool skips(Index child) const noexcept {
            return (child >= 0 ? rounds_.of_node_[size(child)] : rounds_.of_octet_[size(~child)]) == own_;
        }
        void offer(double sum, Index id) noexcept {
            if (rounds_.component_[size(id)] == own_) {
                return;
            }
            const Edge edge(std::max({sum, rounds_.reach_[size(row_)], rounds_.reach_[size(id)]}), row_, id);
            if (edge.key <= limit_ && edge.before(found_)) {
                found_ = edge;
                limit_ = edge.key;
            }
        }

      private:
        const Rounds& rounds_;
        Index row_;
        Index own_;
        double limit_;
        Edge found_;
    };

    [[nodiscard]] bool has_nearest(Index i) const noexcept {
        const Edge& edge = nearest_[size(i)];
        return edge.key < kFar && component_[size(edge.low)] != component_[size(edge.high)];
    }

    void lower(Index component, double key) noexcept {
        std::atomic<double>& least = least_[size(component)];
        double before = least.load(std::memory_order_relaxed);
        while (key < before && !least.compare_exchange_weak(before, key, std::memory_order_relaxed)) {
        }
    }

    /// Looks for the nearest row outside, as long as that may be the nearest of the whole component.
    void ask(Index i) {
        const double limit = least_[size(component_[size(i)])].load(std::memory_order_relaxed);
        if (bound_[size(i)] > limit) {
            return;
        }
        Outside keep(*this, i, limit);
        Walk<M, Outside>(index_, x_ + i * index_.columns, power_, i, keep).visit();
        nearest_[size(i)] = keep.found();
        bound_[size(i)] = std::max(bound_[size(i)], keep.limit());
        if (keep.found().key < kFar) {
            lower(component_[size(i)], keep.found().key);
        }
    }

    /// Writes of which component all rows below a node are, or -1.
    Index tag(Index node) {
        Index common = kNobody;
        for (int c = 0; c < kOctet; ++c) {
            const Index child = index_.children[node * kOctet + c];
            if (child == kNoChild) {
                continue;
            }
            const Index one = child >= 0 ? tag(child) : tag_octet(~child);
            common = common == kNobody || common == one ? one : -1;
        }
        return of_node_[size(node)] = common;
    }

    Index tag_octet(Index octet) {
        Index common = kNobody;
        for (Index k = octet * kOctet; k < (octet + 1) * kOctet; ++k) {
            if (const Index i = index_.ids[k]; i >= 0) {
                const Index one = component_[size(i)];
                common = common == kNobody || common == one ? one : -1;
            }
        }
        return of_octet_[size(octet)] = common;
    }

    const NeighborIndex& index_;
    const double* x_;
    Exponent power_;
    Components joined_;
    std::vector<Index> component_;  // of each row: the smallest row of it
    std::vector<double> reach_;     // core distances as sums
    std::vector<double> bound_;     // no row outside is nearer
    std::vector<Edge> nearest_;     // to a row outside, or infinite
    std::vector<std::atomic<double>> least_;
    std::vector<Index> of_node_;
    std::vector<Index> of_octet_;
};

}  // namespace

void spanning_edges(const NeighborIndex& index, const double* x, const Measure& measure, const double* core,
                    const SpanningEdges& out) {
    with_metric(measure.metric, [&]<class M>(M) {
        Rounds<M> rounds(index, x, measure.power, core);
        std::vector<Edge> taken;
        while (static_cast<Index>(taken.size()) + 1 < index.rows) {
            const std::size_t before = taken.size();
            rounds.round(taken);
            if (taken.size() == before) {
                throw std::invalid_argument("distances must be finite");
            }
        }
        for (std::size_t e = 0; e < taken.size(); ++e) {
            const Index i = out.first[e] = taken[e].low;
            const Index j = out.second[e] = taken[e].high;
            const double far = distance<M>(x + i * index.columns, x + j * index.columns, index.columns, measure.power);
            out.distance[e] = core == nullptr ? far : std::max({far, core[i], core[j]});
        }
    });
}

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
