#include "qed/clusters/linkage.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/neighbors/measure_rows.hpp"
#include "qed/neighbors/neighbor_walk.hpp"

namespace qed {
namespace {

constexpr Index kChunkNumbers = 1 << 16;  // of a block of work: a few tens of microseconds
constexpr Index kColumnAhead = 24;        // entries of a column that are fetched before they are written
constexpr Index kBlock = 64;              // slots whose least value is known: the root of some thousands of them

Index at(std::size_t i) noexcept {
    return static_cast<Index>(i);
}
std::size_t place(Index i) noexcept {
    return static_cast<std::size_t>(i);
}

double least_lane(Vector<double> values) noexcept {
    double least = values[0];
    for (int lane = 1; lane < kLanes<double>; ++lane) {
        least = std::min(least, values[lane]);
    }
    return least;
}

/// The least of a block of values.
double least_of(const double* values) noexcept {
    Vector<double> least = load(values);
    for (Index i = kLanes<double>; i < kBlock; i += kLanes<double>) {
        least = minimum(least, load(values + i));
    }
    return least_lane(least);
}

/// Clusters in slots. A space measures one of them against all (`scan`, infinite for itself and for slots that are
/// empty), joins two (`merge`, into the first), and closes gaps (`compact`). Arrays of slots end with a whole block,
/// infinite behind the last slot.
template <class Space>
class Agglomeration {
  public:
    Agglomeration(Space& space, Index rows, const Merges& out)
        : space_(space),
          rows_(rows),
          slots_(rows),
          out_(out),
          id_(place(rows)),
          slot_(place(2 * rows), -1),
          size_(place(rows), 1),
          near_(place(round_up(rows, kBlock))),
          far_(place(round_up(rows, kBlock)), kFar),
          least_(place(blocks_of(rows, kBlock))),
          value_(place(round_up(rows, kBlock)), kFar) {
        for (Index i = 0; i < rows; ++i) {
            id_[place(i)] = slot_[place(i)] = i;
        }
    }

    void begin(const Nearest* nearest) {
        for (Index i = 0; i < rows_; ++i) {
            if (nearest != nullptr) {
                near_[place(i)] = static_cast<double>(nearest->id[i]);
                far_[place(i)] = space_.height_inverse(nearest->distance[i]);
            } else {
                renew(i);
            }
        }
        for (Index block = 0; block < at(least_.size()); ++block) {
            summarise(block);
        }
    }

    void run() {
        Index alive = rows_;
        for (Index step = 0; step + 1 < rows_; ++step) {
            const Index a = closest();
            const Index b = nearest_slot(a);
            write(step, a, b);
            space_.merge(a, b, size_[place(a)], size_[place(b)]);
            slot_[place(id_[place(a)])] = slot_[place(id_[place(b)])] = -1;
            size_[place(a)] += size_[place(b)];
            id_[place(a)] = rows_ + step;
            slot_[place(rows_ + step)] = a;
            id_[place(b)] = -1;
            put(b, kFar);
            --alive;
            parallel_for(1, [](Index /*block*/) {});  // interrupts are noticed here
            if (alive > 1) {
                welcome(a);
                if (10 * alive <= 7 * slots_) {
                    compact();
                }
            }
        }
    }

  private:
    void summarise(Index block) noexcept { least_[place(block)] = least_of(far_.data() + block * kBlock); }

    void put(Index slot, double value) noexcept {
        far_[place(slot)] = value;
        summarise(slot / kBlock);
    }

    /// Where the nearest cluster of a slot is, or was: -1 if it has been merged.
    [[nodiscard]] Index nearest_slot(Index slot) const noexcept {
        return slot_[static_cast<std::size_t>(near_[place(slot)])];
    }

    /// The first slot whose nearest cluster is nearest of all, and is still there.
    Index closest() {
        for (;;) {
            const auto block = std::min_element(least_.begin(), least_.end()) - least_.begin();
            const Index a = first_of(far_.data(), block, *(least_.begin() + block));
            if (nearest_slot(a) >= 0) {
                return a;
            }
            renew(a);
        }
    }

    static Index first_of(const double* values, Index block, double value) noexcept {
        const double* begin = values + block * kBlock;
        return block * kBlock + (std::find(begin, begin + kBlock, value) - begin);
    }

    /// Finds the nearest cluster of a slot anew.
    void renew(Index a) {
        space_.scan(a, size_.data(), value_.data());
        double least = kFar;
        Index where = 0;
        for (Index block = 0; block < blocks_of(slots_, kBlock); ++block) {
            if (const double value = least_of(value_.data() + block * kBlock); value < least) {
                least = value;
                where = block;
            }
        }
        near_[place(a)] = static_cast<double>(id_[place(first_of(value_.data(), where, least))]);
        put(a, least);
    }

    /// Measures a new cluster against all, which may find it nearer than what they knew.
    void welcome(Index a) {
        renew(a);
        const Vector<double> id = splat(static_cast<double>(id_[place(a)]));
        for (Index block = 0; block < blocks_of(slots_, kBlock); ++block) {
            Vector<double> least = splat(kFar);
            for (Index x = block * kBlock; x < (block + 1) * kBlock; x += kLanes<double>) {
                const Vector<double> value = load(value_.data() + x);
                const Vector<double> before = load(far_.data() + x);
                const Vector<double> now = minimum(value, before);
                store(far_.data() + x, now);
                least = minimum(least, now);
                store(near_.data() + x, value < before ? id : load(near_.data() + x));
            }
            least_[place(block)] = least_lane(least);
        }
    }

    void write(Index step, Index a, Index b) {
        out_.first[step] = std::min(id_[place(a)], id_[place(b)]);
        out_.second[step] = std::max(id_[place(a)], id_[place(b)]);
        out_.height[step] = space_.height(far_[place(a)]);
        out_.size[step] = size_[place(a)] + size_[place(b)];
    }

    void compact() {
        std::vector<Index> kept;
        for (Index s = 0; s < slots_; ++s) {
            if (id_[place(s)] >= 0) {
                kept.push_back(s);
            }
        }
        space_.compact(kept);
        for (std::size_t to = 0; to < kept.size(); ++to) {
            const std::size_t from = place(kept[to]);
            id_[to] = id_[from];
            size_[to] = size_[from];
            near_[to] = near_[from];
            far_[to] = far_[from];
            slot_[place(id_[to])] = at(to);
        }
        slots_ = at(kept.size());
        std::fill(far_.begin() + slots_, far_.end(), kFar);
        std::fill(value_.begin() + slots_, value_.end(), kFar);
        least_.resize(place(blocks_of(slots_, kBlock)));
        for (Index block = 0; block < at(least_.size()); ++block) {
            summarise(block);
        }
    }

    Space& space_;
    Index rows_;
    Index slots_;
    Merges out_;
    std::vector<Index> id_;
    std::vector<Index> slot_;
    std::vector<Index> size_;
    std::vector<double> near_;  // numbers of clusters, as doubles, which are chosen in vectors
    std::vector<double> far_;
    std::vector<double> least_;  // of each block of far_
    std::vector<double> value_;
};

/// Clusters known by a point: values are squared distances, for ward times twice the harmonic weight.
class Centroids {
  public:
    Centroids(const double* x, Index rows, Index columns, Linkage linkage)
        : columns_(columns),
          slots_(rows),
          linkage_(linkage),
          octets_(place(blocks_of(rows, kOctet) * columns * kOctet), kFar),
          weight_(place(round_up(rows, kOctet)), 1.0),
          query_(place(columns)) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < columns; ++j) {
                octets_[entry(i, j)] = x[i * columns + j];
            }
        }
    }

    [[nodiscard]] double height(double value) const noexcept { return std::sqrt(value); }
    [[nodiscard]] double height_inverse(double distance) const noexcept { return distance * distance; }

    void scan(Index slot, const Index* sizes, double* values) {
        for (Index j = 0; j < columns_; ++j) {
            query_[place(j)] = octets_[entry(slot, j)];
        }
        const auto own = static_cast<double>(sizes[slot]);
        const Index count = blocks_of(slots_, kOctet);
        const Effort effort(static_cast<double>(slots_ * (columns_ + 4)));
        const Index chunk = std::max<Index>(1, kChunkNumbers / (kOctet * columns_));
        parallel_for(blocks_of(count, chunk), [&](Index block) {
            for (Index o = block * chunk; o < std::min(count, (block + 1) * chunk); ++o) {
                Vector<double> sums[1][kOctetVectors];
                octet_sums<Euclidean, 1>(octets_.data() + o * columns_ * kOctet, query_.data(), columns_, {2.0}, sums,
                                         {kFar});
                for (int v = 0; v < kOctetVectors; ++v) {
                    const Index first = o * kOctet + v * kLanes<double>;
                    Vector<double> value = sums[0][v];
                    if (linkage_ == Linkage::ward) {
                        const Vector<double> other = load(weight_.data() + first);
                        value *= 2.0 * own * other / (other + own);
                    }
                    store(values + first, value);
                }
            }
        });
        values[slot] = kFar;
    }

    void merge(Index a, Index b, Index size_a, Index size_b) {
        const double share =
            linkage_ == Linkage::median ? 0.5 : static_cast<double>(size_b) / static_cast<double>(size_a + size_b);
        for (Index j = 0; j < columns_; ++j) {
            double& mine = octets_[entry(a, j)];
            mine += share * (octets_[entry(b, j)] - mine);
            octets_[entry(b, j)] = kFar;
        }
        weight_[place(a)] = static_cast<double>(size_a + size_b);
    }

    void compact(const std::vector<Index>& kept) {
        for (std::size_t to = 0; to < kept.size(); ++to) {
            for (Index j = 0; j < columns_; ++j) {
                octets_[entry(at(to), j)] = octets_[entry(kept[to], j)];
            }
            weight_[to] = weight_[place(kept[to])];
        }
        slots_ = at(kept.size());
        for (Index s = slots_; s < round_up(slots_, kOctet); ++s) {
            for (Index j = 0; j < columns_; ++j) {
                octets_[entry(s, j)] = kFar;
            }
        }
    }

  private:
    [[nodiscard]] std::size_t entry(Index slot, Index column) const noexcept {
        return place((slot / kOctet * columns_ + column) * kOctet + slot % kOctet);
    }

    Index columns_;
    Index slots_;
    Linkage linkage_;
    std::vector<double> octets_;
    std::vector<double> weight_;
    std::vector<double> query_;
};

/// Moves the rows and columns of ascending slots to the front of a square matrix.
void keep_slots(double* values, Index stride, const std::vector<Index>& kept) noexcept {
    for (std::size_t to = 0; to < kept.size(); ++to) {
        const double* from = values + kept[to] * stride;
        double* into = values + at(to) * stride;
        for (std::size_t x = 0; x < kept.size(); ++x) {
            into[x] = from[kept[x]];
        }
    }
}

/// A square matrix of distances between clusters; columns of empty slots hold anything.
class Square {
  public:
    Square(double* values, Index slots, Index stride, Linkage linkage)
        : values_(values), slots_(slots), stride_(stride), linkage_(linkage), empty_(place(slots), 0.0) {}

    void scan(Index slot, double* values) const {
        const double* own = values_ + slot * stride_;
        for (Index x = 0; x < slots_; ++x) {
            values[x] = empty_[place(x)] > 0 ? kFar : own[x];
        }
        values[slot] = kFar;
    }

    void merge(Index a, Index b, Index size_a, Index size_b) {
        double* own = values_ + a * stride_;
        const double* other = values_ + b * stride_;
        const double share =
            linkage_ == Linkage::weighted ? 0.5 : static_cast<double>(size_b) / static_cast<double>(size_a + size_b);
        if (linkage_ == Linkage::complete) {
            combine(own, other, [](double mine, double its) { return its > mine ? its : mine; });
        } else if (linkage_ == Linkage::single) {
            combine(own, other, [](double mine, double its) { return its < mine ? its : mine; });
        } else {
            combine(own, other, [share](double mine, double its) { return mine + share * (its - mine); });
        }
        empty_[place(b)] = 1.0;
        for (Index x = 0; x < slots_; ++x) {
            if (x + kColumnAhead < slots_) {
                __builtin_prefetch(values_ + (x + kColumnAhead) * stride_ + a, 1);
            }
            values_[x * stride_ + a] = own[x];
        }
    }

    void compact(const std::vector<Index>& kept) {
        keep_slots(values_, stride_, kept);
        slots_ = at(kept.size());
        empty_.assign(kept.size(), 0.0);
    }

  private:
    template <class Rule>
    void combine(double* own, const double* other, Rule rule) const noexcept {
        for (Index x = 0; x < slots_; ++x) {
            own[x] = rule(own[x], other[x]);
        }
    }

    double* values_;
    Index slots_;
    Index stride_;
    Linkage linkage_;
    std::vector<double> empty_;
};

class Given : public Square {
  public:
    using Square::Square;
    void scan(Index slot, const Index* /*sizes*/, double* values) const { Square::scan(slot, values); }
    [[nodiscard]] double height(double value) const noexcept { return value; }
    [[nodiscard]] double height_inverse(double distance) const noexcept { return distance; }
};

/// Squared distances of points, one for each cluster, for ward times twice the harmonic weight: by the formula of Lance
/// and Williams. The two that are joined are the nearest, so that nothing cancels: each new value is three quarters of
/// an old one at least.
class Squares {
  public:
    Squares(double* values, Index slots, Linkage linkage)
        : values_(values), slots_(slots), stride_(slots), linkage_(linkage), size_(place(slots), 1.0) {}

    [[nodiscard]] double height(double value) const noexcept { return std::sqrt(value); }
    [[nodiscard]] double height_inverse(double distance) const noexcept { return distance * distance; }

    void scan(Index slot, const Index* /*sizes*/, double* values) const {
        std::copy_n(values_ + slot * stride_, slots_, values);
    }

    void merge(Index a, Index b, Index size_a, Index size_b) {
        double* own = values_ + a * stride_;
        const double* other = values_ + b * stride_;
        const auto na = static_cast<double>(size_a);
        const auto nb = static_cast<double>(size_b);
        const double apart = own[b];
        const double share = linkage_ == Linkage::median ? 0.5 : nb / (na + nb);
        for (Index x = 0; x < slots_; ++x) {
            const double n = size_[place(x)];
            own[x] = linkage_ == Linkage::ward
                         ? ((na + n) * own[x] + (nb * other[x] + n * (other[x] - apart))) / (na + nb + n)
                         : own[x] + share * (other[x] - own[x]) - share * (1.0 - share) * apart;
        }
        size_[place(a)] = na + nb;
        for (Index x = 0; x < slots_; ++x) {
            if (x == a || gone(x)) {
                own[x] = kFar;
            }
            values_[x * stride_ + a] = own[x];
        }
        for (Index x = 0; x < slots_; ++x) {
            values_[x * stride_ + b] = values_[b * stride_ + x] = kFar;
        }
        size_[place(b)] = 0.0;
    }

    void compact(const std::vector<Index>& kept) {
        keep_slots(values_, stride_, kept);
        for (std::size_t to = 0; to < kept.size(); ++to) {
            size_[to] = size_[place(kept[to])];
        }
        slots_ = at(kept.size());
    }

  private:
    [[nodiscard]] bool gone(Index slot) const noexcept { return size_[place(slot)] == 0.0; }

    double* values_;
    Index slots_;
    Index stride_;
    Linkage linkage_;
    std::vector<double> size_;  // zero where the slot is empty
};

/// Clusters known by their rows, and from some point on by a matrix. The distance of two clusters is the largest of
/// their rows' (complete), or their sum, each times the shares of both rows (average, weighted). Until there is a
/// matrix the slot of a cluster is one of its rows; the other rows are listed as absorbed.
template <class M>
class Members {
  public:
    Members(const NeighborIndex& index, const double* x, Exponent power, Linkage linkage)
        : index_(index),
          x_(x),
          power_(power),
          linkage_(linkage),
          slot_(place(index.rows)),
          share_(place(index.rows), 1.0),
          next_(place(index.rows), -1),
          last_(place(index.rows)),
          row_(place(round_up(index.rows, kOctet))) {
        for (Index i = 0; i < index.rows; ++i) {
            slot_[place(i)] = last_[place(i)] = i;
        }
    }

    [[nodiscard]] double height(double value) const noexcept { return value; }
    [[nodiscard]] double height_inverse(double distance) const noexcept { return distance; }

    void scan(Index slot, const Index* /*sizes*/, double* values) {
        if (matrix_) {
            matrix_->scan(slot, values);
            return;
        }
        measure(slot, values, row_.data());
        values[slot] = kFar;
    }

    void merge(Index a, Index b, Index size_a, Index size_b) {
        if (matrix_) {
            matrix_->merge(a, b, size_a, size_b);
            return;
        }
        const double both = static_cast<double>(size_a + size_b);
        scale(a, linkage_ == Linkage::weighted ? 0.5 : static_cast<double>(size_a) / both);
        scale(b, linkage_ == Linkage::weighted ? 0.5 : static_cast<double>(size_b) / both);
        for (Index i = b; i >= 0; i = next_[place(i)]) {
            slot_[place(i)] = a;
        }
        next_[place(last_[place(a)])] = b;
        last_[place(a)] = last_[place(b)];
        absorbed_.push_back(b);
    }

    void compact(const std::vector<Index>& kept) {
        if (matrix_) {
            matrix_->compact(kept);
        } else {
            fill(kept);
        }
    }

  private:
    void scale(Index slot, double factor) {
        for (Index i = slot; i >= 0; i = next_[place(i)]) {
            share_[place(i)] *= factor;
        }
    }

    /// values[x] = distance of a cluster to each slot; `row` is room for the distances of one row.
    void measure(Index slot, double* values, double* row) const {
        const bool is_largest = linkage_ == Linkage::complete;
        const double* shares = share_.data();
        std::fill_n(values, index_.rows, 0.0);
        for (Index a = slot; a >= 0; a = next_[place(a)]) {
            measure_row<M>(index_, x_ + a * index_.columns, power_, row);
            const double own = shares[a];
            if (is_largest) {
                for (Index i = 0; i < index_.rows; ++i) {
                    values[i] = row[i] > values[i] ? row[i] : values[i];
                }
                for (const Index i : absorbed_) {
                    double& value = values[slot_[place(i)]];
                    value = std::max(value, row[i]);
                }
            } else {
                for (Index i = 0; i < index_.rows; ++i) {
                    values[i] += own * shares[i] * row[i];
                }
                for (const Index i : absorbed_) {
                    values[slot_[place(i)]] += own * shares[i] * row[i];
                }
            }
        }
        for (const Index i : absorbed_) {
            values[i] = kFar;
        }
    }

    void fill(const std::vector<Index>& kept) {
        const Index slots = at(kept.size());
        memory_ = std::make_unique<ScratchArray<double>>(slots * slots);
        const Effort effort(static_cast<double>(index_.rows) * static_cast<double>(index_.rows * (index_.columns + 4)));
        parallel_for(slots, [&](Index slot) {
            const ScratchArray<double> row(round_up(index_.rows, kOctet));
            const ScratchArray<double> values(index_.rows);
            measure(kept[place(slot)], values.get(), row.get());
            double* into = memory_->get() + slot * slots;
            for (Index x = 0; x < slots; ++x) {
                into[x] = values[kept[place(x)]];
            }
            into[slot] = kFar;
        });
        matrix_ = std::make_unique<Square>(memory_->get(), slots, slots, linkage_);
    }

    const NeighborIndex& index_;
    const double* x_;
    Exponent power_;
    Linkage linkage_;
    std::vector<Index> slot_;
    std::vector<double> share_;
    std::vector<Index> next_;
    std::vector<Index> last_;
    std::vector<Index> absorbed_;
    std::vector<double> row_;
    std::unique_ptr<ScratchArray<double>> memory_;
    std::unique_ptr<Square> matrix_;
};

}  // namespace

void link_centroids(const double* x, Index rows, Index columns, Linkage linkage, const Nearest& nearest,
                    const Merges& out) {
    Centroids space(x, rows, columns, linkage);
    Agglomeration<Centroids> run(space, rows, out);
    run.begin(&nearest);
    run.run();
}

void link_rows(const NeighborIndex& index, const double* x, const Measure& measure, Linkage linkage,
               const Nearest& nearest, const Merges& out) {
    with_metric(measure.metric, [&]<class M>(M) {
        Members<M> space(index, x, measure.power, linkage);
        Agglomeration<Members<M>> run(space, index.rows, out);
        run.begin(&nearest);
        run.run();
    });
}

void link_matrix(double* distances, Index rows, Linkage linkage, const Merges& out) {
    for (Index i = 0; i < rows; ++i) {
        distances[i * rows + i] = kFar;
    }
    const auto run = [&](auto space) {
        Agglomeration<decltype(space)> merges(space, rows, out);
        merges.begin(nullptr);
        merges.run();
    };
    if (linkage == Linkage::ward || linkage == Linkage::centroid || linkage == Linkage::median) {
        run(Squares(distances, rows, linkage));
    } else {
        run(Given(distances, rows, rows, linkage));
    }
}

void join_edges(const Index* first, const Index* second, Index edges, Index* children) {
    const Index rows = edges + 1;
    std::vector<Index> up(place(rows + edges));
    std::iota(up.begin(), up.end(), 0);
    const auto find = [&up](Index i) {
        while (up[place(i)] != i) {
            i = up[place(i)] = up[place(up[place(i)])];
        }
        return i;
    };
    for (Index t = 0; t < edges; ++t) {
        const Index a = find(first[t]);
        const Index b = find(second[t]);
        children[2 * t] = std::min(a, b);
        children[2 * t + 1] = std::max(a, b);
        up[place(a)] = up[place(b)] = rows + t;
    }
}

}  // namespace qed
