#include "qed/clusters/linkage.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "qed/neighbors/measure_rows.hpp"
#include "qed/neighbors/neighbor_walk.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kChunkOctets = 1024;  // octets of a block of work: a few tens of microseconds
constexpr Index kColumnAhead = 24;    // entries of a column that are fetched before they are written

Index at(std::size_t i) noexcept {
    return static_cast<Index>(i);
}
std::size_t place(Index i) noexcept {
    return static_cast<std::size_t>(i);
}

/// Clusters in slots. A space measures one of them against all (`scan`, infinite for itself and for slots that are
/// empty), joins two (`merge`, into the first), and closes gaps (`compact`).
template <class Space>
class Agglomeration {
  public:
    Agglomeration(Space& space, Index rows, const Merges& out)
        : space_(space), rows_(rows), slots_(rows), out_(out), id_(place(rows)), slot_(place(2 * rows), -1),
          size_(place(rows), 1), near_(place(rows)), far_(place(round_up(rows, kOctet)), kFar),
          value_(place(round_up(rows, kOctet)), kFar) {
        for (Index i = 0; i < rows; ++i) {
            id_[place(i)] = slot_[place(i)] = i;
        }
    }

    void begin(const Nearest* nearest) {
        for (Index i = 0; i < rows_; ++i) {
            if (nearest != nullptr) {
                near_[place(i)] = nearest->id[i];
                far_[place(i)] = space_.height_inverse(nearest->distance[i]);
            } else {
                renew(i);
            }
        }
    }

    void run() {
        Index alive = rows_;
        for (Index step = 0; step + 1 < rows_; ++step) {
            const Index a = closest();
            const Index b = slot_[place(near_[place(a)])];
            write(step, a, b);
            space_.merge(a, b, size_[place(a)], size_[place(b)]);
            slot_[place(id_[place(a)])] = slot_[place(id_[place(b)])] = -1;
            size_[place(a)] += size_[place(b)];
            id_[place(a)] = rows_ + step;
            slot_[place(rows_ + step)] = a;
            id_[place(b)] = -1;
            far_[place(b)] = kFar;
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
    /// The slot whose nearest cluster is nearest of all, and is still there.
    Index closest() {
        for (;;) {
            const Index a = at(static_cast<std::size_t>(std::min_element(far_.begin(), far_.begin() + slots_) - far_.begin()));
            if (slot_[place(near_[place(a)])] >= 0) {
                return a;
            }
            renew(a);
        }
    }

    /// Finds the nearest cluster of a slot anew.
    void renew(Index a) {
        space_.scan(a, size_.data(), value_.data());
        const auto best = std::min_element(value_.begin(), value_.begin() + slots_);
        near_[place(a)] = id_[static_cast<std::size_t>(best - value_.begin())];
        far_[place(a)] = *best;
    }

    /// Measures a new cluster against all, which may find it nearer than what they knew.
    void welcome(Index a) {
        renew(a);
        const Index id = id_[place(a)];
        for (Index x = 0; x < slots_; ++x) {
            if (value_[place(x)] < far_[place(x)] && x != a) {
                far_[place(x)] = value_[place(x)];
                near_[place(x)] = id;
            }
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
    }

    Space& space_;
    Index rows_;
    Index slots_;
    Merges out_;
    std::vector<Index> id_;
    std::vector<Index> slot_;
    std::vector<Index> size_;
    std::vector<Index> near_;
    std::vector<double> far_;
    std::vector<double> value_;
};

/// Clusters known by a point: values are squared distances, for ward times twice the harmonic weight.
class Centroids {
  public:
    Centroids(const double* x, Index rows, Index columns, Linkage linkage)
        : columns_(columns), slots_(rows), linkage_(linkage), octets_(place(blocks_of(rows, kOctet) * columns * kOctet), kFar),
          weight_(place(round_up(rows, kOctet)), 1.0), query_(place(columns)) {
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
        parallel_for(blocks_of(count, kChunkOctets), [&](Index block) {
            for (Index o = block * kChunkOctets; o < std::min(count, (block + 1) * kChunkOctets); ++o) {
                Vector<double> sums[1][kOctetVectors];
                octet_sums<Euclidean, 1>(octets_.data() + o * columns_ * kOctet, query_.data(), columns_, {2.0}, sums, {kFar});
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
        const double share = linkage_ == Linkage::median
                                 ? 0.5
                                 : static_cast<double>(size_b) / static_cast<double>(size_a + size_b);
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

/// A square matrix of distances between clusters; columns of empty slots are infinite.
class Square {
  public:
    Square(double* values, Index slots, Index stride, Linkage linkage)
        : values_(values), slots_(slots), stride_(stride), linkage_(linkage) {}

    void scan(Index slot, double* values) const {
        std::copy_n(values_ + slot * stride_, slots_, values);
        values[slot] = kFar;
    }

    void merge(Index a, Index b, Index size_a, Index size_b) {
        double* own = values_ + a * stride_;
        double* other = values_ + b * stride_;
        const double share = linkage_ == Linkage::weighted
                                 ? 0.5
                                 : static_cast<double>(size_b) / static_cast<double>(size_a + size_b);
        for (Index x = 0; x < slots_; ++x) {
            if (linkage_ == Linkage::complete) {
                own[x] = std::max(own[x], other[x]);
            } else if (linkage_ == Linkage::single) {
                own[x] = std::min(own[x], other[x]);
            } else if (own[x] < kFar) {
                own[x] += share * (other[x] - own[x]);
            }
        }
        own[a] = own[b] = kFar;
        for (Index x = 0; x < slots_; ++x) {
            if (x + kColumnAhead < slots_) {
                __builtin_prefetch(values_ + (x + kColumnAhead) * stride_ + a, 1);
                __builtin_prefetch(values_ + (x + kColumnAhead) * stride_ + b, 1);
            }
            values_[x * stride_ + a] = own[x];
            values_[x * stride_ + b] = kFar;
        }
        std::fill_n(other, slots_, kFar);
    }

    void compact(const std::vector<Index>& kept) {
        for (std::size_t to = 0; to < kept.size(); ++to) {
            const double* from = values_ + kept[to] * stride_;
            double* into = values_ + at(to) * stride_;
            for (std::size_t x = 0; x < kept.size(); ++x) {
                into[x] = from[kept[x]];
            }
        }
        slots_ = at(kept.size());
    }

  private:
    double* values_;
    Index slots_;
    Index stride_;
    Linkage linkage_;
};

class Given : public Square {
  public:
    using Square::Square;
    void scan(Index slot, const Index* /*sizes*/, double* values) const { Square::scan(slot, values); }
    [[nodiscard]] double height(double value) const noexcept { return value; }
    [[nodiscard]] double height_inverse(double distance) const noexcept { return distance; }
};

/// Clusters known by their rows, and from some point on by a matrix. The distance of two clusters is the largest of
/// their rows' (complete), or their sum, each times the shares of both rows (average, weighted).
template <class M>
class Members {
  public:
    Members(const NeighborIndex& index, const double* x, Exponent power, Linkage linkage)
        : index_(index), x_(x), power_(power), linkage_(linkage), slots_(index.rows), slot_(place(index.rows)),
          share_(place(index.rows), 1.0), next_(place(index.rows), -1), head_(place(index.rows)), last_(place(index.rows)),
          row_(place(round_up(index.rows, kOctet))) {
        for (Index i = 0; i < slots_; ++i) {
            slot_[place(i)] = head_[place(i)] = last_[place(i)] = i;
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
        for (Index i = head_[place(b)]; i >= 0; i = next_[place(i)]) {
            slot_[place(i)] = a;
        }
        next_[place(last_[place(a)])] = head_[place(b)];
        last_[place(a)] = last_[place(b)];
        head_[place(b)] = -1;
    }

    void compact(const std::vector<Index>& kept) {
        if (matrix_) {
            matrix_->compact(kept);
            return;
        }
        for (std::size_t to = 0; to < kept.size(); ++to) {
            head_[to] = head_[place(kept[to])];
            last_[to] = last_[place(kept[to])];
            for (Index i = head_[to]; i >= 0; i = next_[place(i)]) {
                slot_[place(i)] = at(to);
            }
        }
        slots_ = at(kept.size());
        fill();
    }

  private:
    void scale(Index slot, double factor) {
        for (Index i = head_[place(slot)]; i >= 0; i = next_[place(i)]) {
            share_[place(i)] *= factor;
        }
    }

    /// values[x] = distance of a cluster to each slot; `row` is room for the distances of one row.
    void measure(Index slot, double* values, double* row) const {
        const bool is_largest = linkage_ == Linkage::complete;
        std::fill_n(values, slots_, is_largest ? -1.0 : 0.0);
        for (Index a = head_[place(slot)]; a >= 0; a = next_[place(a)]) {
            measure_row<M>(index_, x_ + a * index_.columns, power_, row);
            const double own = share_[place(a)];
            if (is_largest) {
                for (Index i = 0; i < index_.rows; ++i) {
                    double& value = values[slot_[place(i)]];
                    value = std::max(value, row[i]);
                }
            } else {
                for (Index i = 0; i < index_.rows; ++i) {
                    values[slot_[place(i)]] += own * share_[place(i)] * row[i];
                }
            }
        }
        for (Index s = 0; s < slots_; ++s) {
            if (head_[place(s)] < 0) {
                values[s] = kFar;
            }
        }
    }

    void fill() {
        memory_.reset(new double[place(slots_ * slots_)]);
        const Effort effort(static_cast<double>(index_.rows) * static_cast<double>(index_.rows * (index_.columns + 4)));
        parallel_for(slots_, [&](Index slot) {
            const ScratchArray<double> row(round_up(index_.rows, kOctet));
            double* values = memory_.get() + slot * slots_;
            measure(slot, values, row.get());
            values[slot] = kFar;
        });
        matrix_ = std::make_unique<Square>(memory_.get(), slots_, slots_, linkage_);
    }

    const NeighborIndex& index_;
    const double* x_;
    Exponent power_;
    Linkage linkage_;
    Index slots_;
    std::vector<Index> slot_;
    std::vector<double> share_;
    std::vector<Index> next_;
    std::vector<Index> head_;
    std::vector<Index> last_;
    std::vector<double> row_;
    std::unique_ptr<double[]> memory_;
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
    Given space(distances, rows, rows, linkage);
    Agglomeration<Given> run(space, rows, out);
    run.begin(nullptr);
    run.run();
}

}  // namespace qed
