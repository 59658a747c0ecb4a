#include "qed/clusters/dense_groups.hpp"

#include <atomic>
#include <vector>

#include "qed/neighbors/neighbor_scan.hpp"
#include "qed/neighbors/neighbor_walk.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 64;  // rows of a block of work

/// The weight within the radius, until it is enough.
template <class M>
class Tally {
  public:
    static constexpr bool kLooks = true;
    Tally(const DenseGroupsIn& in, Ruler<M> ruler) noexcept : in_(&in), ruler_(ruler), limit_(ruler.reach(in.radius)) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    [[nodiscard]] bool is_enough() const noexcept { return total_ >= in_->least; }
    void offer(double sum, Index id) noexcept {
        if (ruler_.distance(sum) <= in_->radius) {
            total_ += in_->weight == nullptr ? 1.0 : in_->weight[id];
            if (total_ >= in_->least) {
                limit_ = -1.0;
            }
        }
    }

  private:
    const DenseGroupsIn* in_;
    Ruler<M> ruler_;
    double limit_;
    double total_ = 0.0;
};

/// Sets that grow together from many threads: the root of a set is its smallest row.
class Sets {
  public:
    explicit Sets(Index rows) : parent_(static_cast<std::size_t>(rows)) {
        for (Index i = 0; i < rows; ++i) {
            parent_[static_cast<std::size_t>(i)].store(i, std::memory_order_relaxed);
        }
    }
    Index root(Index i) noexcept {
        for (;;) {
            Index up = at(i).load(std::memory_order_relaxed);
            if (up == i) {
                return i;
            }
            const Index above = at(up).load(std::memory_order_relaxed);
            if (above != up) {
                at(i).compare_exchange_weak(up, above, std::memory_order_relaxed);  // halves the way
            }
            i = above;
        }
    }
    void join(Index a, Index b) noexcept {
        for (;;) {
            a = root(a);
            b = root(b);
            if (a == b) {
                return;
            }
            if (a > b) {
                std::swap(a, b);
            }
            Index own = b;
            if (at(b).compare_exchange_strong(own, a, std::memory_order_relaxed)) {
                return;
            }
        }
    }

  private:
    std::atomic<Index>& at(Index i) noexcept { return parent_[static_cast<std::size_t>(i)]; }
    std::vector<std::atomic<Index>> parent_;
};

/// Joins a core row with the core rows before it.
template <class M>
class Join {
  public:
    static constexpr bool kLooks = true;
    Join(Index own, const bool* core, Sets& sets, double radius, Ruler<M> ruler) noexcept
        : own_(own), core_(core), sets_(&sets), radius_(radius), ruler_(ruler), limit_(ruler.reach(radius)) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) noexcept {
        if (id < own_ && core_[id] && ruler_.distance(sum) <= radius_) {
            sets_->join(own_, id);
        }
    }

  private:
    Index own_;
    const bool* core_;
    Sets* sets_;
    double radius_;
    Ruler<M> ruler_;
    double limit_;
};

/// The first group within the radius.
template <class M>
class First {
  public:
    static constexpr bool kLooks = true;
    First(const Index* label, const bool* core, double radius, Ruler<M> ruler) noexcept
        : label_(label), core_(core), radius_(radius), ruler_(ruler), limit_(ruler.reach(radius)) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    [[nodiscard]] Index found() const noexcept { return found_ == kNobody ? -1 : found_; }
    void offer(double sum, Index id) noexcept {
        if (core_[id] && label_[id] < found_ && ruler_.distance(sum) <= radius_) {
            found_ = label_[id];
        }
    }

  private:
    const Index* label_;
    const bool* core_;
    double radius_;
    Ruler<M> ruler_;
    double limit_;
    Index found_ = kNobody;
};

/// Lets keep(row) meet the rows near each row of a list, and done(row, keep) have what it found.
template <class M, class Make, class Done>
void each(const NeighborIndex& index, const double* x, Exponent power, const std::vector<Index>& rows, const Make& make,
          const Done& done) {
    const auto count = static_cast<Index>(rows.size());
    parallel_for(blocks_of(count, kBlock), [&](Index block) {
        for (Index i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
            const Index row = rows[static_cast<std::size_t>(i)];
            auto keep = make(row);
            using Keep = decltype(keep);
            if (index.node_count != 0) {
                Walk<M, Keep>(index, x + row * index.columns, power, -1, keep).visit();
            } else {
                scan_one<M>(index, x + row * index.columns, power, keep);
            }
            done(row, keep);
        }
    });
}

}  // namespace

void dense_groups(const NeighborIndex& index, const double* x, const Measure& measure, const DenseGroupsIn& in,
                  Index* label, bool* core) {
    const Effort effort(static_cast<double>(index.rows) * 4000.0);
    std::vector<Index> order;  // rows that share an octet are near each other, and what they read is in the cache
    for (Index place = 0; place < index.octet_count * kOctet; ++place) {
        if (index.ids[place] >= 0) {
            order.push_back(index.ids[place]);
        }
    }
    with_metric(measure.metric, [&]<class M>(M) {
        const Ruler<M> ruler{measure.power.value, index.columns};
        each<M>(index, x, measure.power, order, [&](Index /*row*/) { return Tally<M>(in, ruler); },
                [&](Index row, const Tally<M>& tally) { core[row] = tally.is_enough(); });
        Sets sets(index.rows);
        std::vector<Index> some;
        std::vector<Index> others;
        for (const Index row : order) {
            (core[row] ? some : others).push_back(row);
        }
        each<M>(index, x, measure.power, some, [&](Index row) { return Join<M>(row, core, sets, in.radius, ruler); },
                [](Index /*row*/, const Join<M>& /*keep*/) {});
        Index groups = 0;
        for (Index i = 0; i < index.rows; ++i) {  // the root of a set is its first row
            label[i] = !core[i] ? -1 : sets.root(i) == i ? groups++ : label[sets.root(i)];
        }
        each<M>(index, x, measure.power, others, [&](Index /*row*/) { return First<M>(label, core, in.radius, ruler); },
                [&](Index row, const First<M>& keep) { label[row] = keep.found(); });
    });
}

}  // namespace qed
