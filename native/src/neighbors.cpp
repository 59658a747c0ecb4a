#include "qed/neighbors.hpp"

#include <algorithm>
#include <limits>

#include "qed/parallel.hpp"
#include "qed/scratch.hpp"

namespace qed {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr Index kNobody = std::numeric_limits<Index>::max();
constexpr int kTogether = 4;         // queries that share a load of an octet
constexpr Index kQueryBlock = 64;    // queries of a block of work
constexpr Index kTileBytes = 1 << 17;  // octets that stay in the second-level cache while all queries of a block meet them
constexpr Index kBlockTerms = Index{1} << 24;  // terms of a block of work: a few milliseconds
constexpr Index kProbes = 16;        // queries that a tree is tried on before all of them go its way

/// A metric with its numbers.
template <class M>
struct Ruler {
    double power;
    Index columns;
    [[nodiscard]] double distance(double sum) const noexcept { return M::distance(sum, power, columns); }
    [[nodiscard]] double reach(double distance) const noexcept { return M::reach(distance, power, columns); }
};

bool nearer(const Near& a, const Near& b) noexcept {
    return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
}

/// The k best of what is offered: few in order, many as a heap whose root is the worst.
template <class M>
class Best {
  public:
    Best(Near* place, Index k, Ruler<M> ruler) noexcept : place_(place), k_(k), ruler_(ruler), sorted_(k <= kFew) {
        std::fill(place, place + k, Near{kFar, kNobody});
    }
    /// No sum beyond this can be among the best.
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) noexcept { put({ruler_.distance(sum), id}); }
    void put(const Near& one) noexcept {
        if (!nearer(one, worst())) {
            return;
        }
        if (sorted_) {
            Index at = k_ - 1;
            for (; at > 0 && nearer(one, place_[at - 1]); --at) {
                place_[at] = place_[at - 1];
            }
            place_[at] = one;
        } else {
            std::pop_heap(place_, place_ + k_, nearer);
            place_[k_ - 1] = one;
            std::push_heap(place_, place_ + k_, nearer);
        }
        limit_ = ruler_.reach(worst().distance);
    }
    void finish() noexcept {
        if (!sorted_) {
            std::sort_heap(place_, place_ + k_, nearer);
        }
    }

  private:
    static constexpr Index kFew = 32;
    [[nodiscard]] const Near& worst() const noexcept { return sorted_ ? place_[k_ - 1] : place_[0]; }

    Near* place_;
    Index k_;
    Ruler<M> ruler_;
    bool sorted_;
    double limit_ = kFar;
};

/// Everything within a radius.
template <class M>
class All {
  public:
    All(std::vector<Near>& place, double radius, Ruler<M> ruler) noexcept
        : place_(&place), radius_(radius), ruler_(ruler), limit_(ruler.reach(radius)) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) {
        if (const double distance = ruler_.distance(sum); distance <= radius_) {
            place_->push_back({distance, id});
        }
    }

  private:
    std::vector<Near>* place_;
    double radius_;
    Ruler<M> ruler_;
    double limit_;
};

/// Offers those rows of an octet that are near enough; `own` is the row that does not count.
template <class Keep>
[[gnu::always_inline]] inline void offer_octet(const NeighborIndex& index, Index octet,
                                               const Vector<double> (&sums)[kOctetVectors], Index own, Keep& keep) {
    unsigned bits = at_most(sums, keep.limit());
    while (bits != 0) {
        const int row = __builtin_ctz(bits);
        bits &= bits - 1;
        const Index id = index.ids[octet * kOctet + row];
        if (id >= 0 && id != own) {
            keep.offer(sums[row / kLanes<double>][row % kLanes<double>], id);
        }
    }
}

/// Up to four queries against some octets. `queries` are interleaved; absent ones are copies that nobody listens to.
template <class M, class Keep>
void scan(const NeighborIndex& index, Index first, Index last, const double* queries, int count, double power,
          const Index* own, Keep* keep) {
    const Index size = index.columns * kOctet;
    for (Index o = first; o < last; ++o) {
        Vector<double> sums[kTogether][kOctetVectors];
        octet_sums<M, kTogether>(index.octets + o * size, queries, index.columns, power, sums);
        for (int i = 0; i < count; ++i) {
            offer_octet(index, o, sums[i], own[i], keep[i]);
        }
    }
}

/// One query down the tree, the nearest box first. Boxes beyond what is kept already are passed by.
template <class M, class Keep>
class Walk {
  public:
    Walk(const NeighborIndex& index, const double* query, double power, Index own, Keep& keep) noexcept
        : index_(index), query_(query), power_(power), own_(own), keep_(keep) {}

    /// Returns how many octets were looked at.
    Index visit(Index node) {
        const Index size = index_.columns * kOctet;
        Vector<double> sums[kOctetVectors];
        box_sums<M>(index_.boxes + node * 2 * size, index_.boxes + node * 2 * size + size, query_, index_.columns, power_,
                    sums);
        double bound[kOctet];
        int order[kOctet];
        int count = 0;
        for (unsigned bits = at_most(sums, keep_.limit()); bits != 0; bits &= bits - 1) {
            const int c = __builtin_ctz(bits);
            if (index_.children[node * kOctet + c] == kNoChild) {
                continue;
            }
            const double value = sums[c / kLanes<double>][c % kLanes<double>];
            int at = count++;
            for (; at > 0 && value < bound[at - 1]; --at) {
                bound[at] = bound[at - 1];
                order[at] = order[at - 1];
            }
            bound[at] = value;
            order[at] = c;
        }
        Index seen = 0;
        for (int at = 0; at < count && bound[at] <= keep_.limit(); ++at) {
            const Index child = index_.children[node * kOctet + order[at]];
            seen += child >= 0 ? visit(child) : meet(~child);
        }
        return seen;
    }

  private:
    Index meet(Index octet) {
        Vector<double> sums[1][kOctetVectors];
        octet_sums<M, 1>(index_.octets + octet * index_.columns * kOctet, query_, index_.columns, power_, sums);
        offer_octet(index_, octet, sums[0], own_, keep_);
        return 1;
    }

    const NeighborIndex& index_;
    const double* query_;
    double power_;
    Index own_;
    Keep& keep_;
};

/// A search of many queries: where they are, and which row each one is.
struct Asked {
    const double* queries;
    Index count;
    bool others;
    [[nodiscard]] Index own(Index query) const noexcept { return others ? query : -1; }
};

/// All queries of [first, last) against the octets of [low, high), tile after tile.
template <class M, class Keep>
void scan_block(const NeighborIndex& index, const Asked& asked, double power, Index first, Index last, Index low, Index high,
                Keep* keep) {
    const Index groups = blocks_of(last - first, kTogether);
    const ScratchArray<double> packed(groups * index.columns * kTogether);
    for (Index g = 0; g < groups; ++g) {
        for (Index i = 0; i < kTogether; ++i) {
            const Index query = std::min(last - 1, first + g * kTogether + i);
            for (Index j = 0; j < index.columns; ++j) {
                packed[(g * index.columns + j) * kTogether + i] = asked.queries[query * index.columns + j];
            }
        }
    }
    const Index tile = std::max(Index{1}, kTileBytes / (index.columns * kOctet * static_cast<Index>(sizeof(double))));
    for (Index at = low; at < high; at += tile) {
        for (Index g = 0; g < groups; ++g) {
            const Index begin = first + g * kTogether;
            const int count = static_cast<int>(std::min(last - begin, Index{kTogether}));
            Index own[kTogether];
            for (Index i = 0; i < kTogether; ++i) {
                own[i] = asked.own(begin + i);
            }
            scan<M>(index, at, std::min(high, at + tile), packed.get() + g * index.columns * kTogether, count, power, own,
                    keep + g * kTogether);
        }
    }
}

/// Cuts the octets so that a block of work lasts a few milliseconds, and so that few queries keep all threads busy.
Index octets_of_chunk(const NeighborIndex& index, Index query_blocks, Index block_queries) noexcept {
    const Index fair = blocks_of(index.octet_count, std::max(Index{1}, 16 / query_blocks));
    const Index quick = kBlockTerms / (block_queries * index.columns * kOctet);
    return std::max({Index{1}, std::min(fair, quick), std::min(fair, Index{512} / index.columns)});
}

void write(const Near* best, Index k, double* distance, Index* id) noexcept {
    for (Index i = 0; i < k; ++i) {
        distance[i] = best[i].distance;
        id[i] = best[i].id;
    }
}

/// Every query meets every row. Chunks of rows have their own best, merged in order.
template <class M>
void scan_all(const NeighborIndex& index, const Asked& asked, Index k, double power, double* distance, Index* id) {
    const Index block = std::min(kQueryBlock, asked.count);
    const Index blocks = blocks_of(asked.count, block);
    const Index chunk = octets_of_chunk(index, blocks, block);
    const Index chunks = blocks_of(index.octet_count, chunk);
    // what is kept at a time stays below 64 MB, or is what one block needs
    const Index round = std::clamp((Index{1} << 22) / std::max(Index{1}, chunks * block * k), Index{1}, blocks);
    std::vector<Near> kept(static_cast<std::size_t>(round * chunks * block * k));
    for (Index begin = 0; begin < blocks; begin += round) {
        const Index here = std::min(round, blocks - begin);
        parallel_for(here * chunks, [&](Index work) {
            const Index first = (begin + work / chunks) * block;
            const Index last = std::min(asked.count, first + block);
            const Index low = (work % chunks) * chunk;
            std::vector<Best<M>> best;
            best.reserve(static_cast<std::size_t>(last - first));
            for (Index q = first; q < last; ++q) {
                best.emplace_back(kept.data() + (work * block + q - first) * k, k, Ruler<M>{power, index.columns});
            }
            scan_block<M>(index, asked, power, first, last, low, std::min(index.octet_count, low + chunk), best.data());
        });
        parallel_for(here, [&](Index b) {
            const Index first = (begin + b) * block;
            for (Index q = first; q < std::min(asked.count, first + block); ++q) {
                Near* own = kept.data() + (b * chunks * block + q - first) * k;
                if (chunks > 1) {
                    std::vector<Near> merged(static_cast<std::size_t>(k));
                    Best<M> best(merged.data(), k, {power, index.columns});
                    for (Index c = 0; c < chunks; ++c) {
                        for (Index i = 0; i < k; ++i) {
                            best.put(own[c * block * k + i]);
                        }
                    }
                    std::copy(merged.begin(), merged.end(), own);
                }
                std::sort(own, own + k, nearer);
                write(own, k, distance + q * k, id + q * k);
            }
        });
    }
}

template <class M>
Index walk_one(const NeighborIndex& index, const Asked& asked, Index query, Index k, double power, std::vector<Near>& room,
               double* distance, Index* id) {
    room.resize(static_cast<std::size_t>(k));
    Best<M> best(room.data(), k, {power, index.columns});
    const double* at = asked.queries + query * index.columns;
    const Index seen = Walk<M, Best<M>>(index, at, power, asked.own(query), best).visit(0);
    best.finish();
    write(room.data(), k, distance + query * k, id + query * k);
    return seen;
}

/// Whether a tree passes most octets by, tried on queries from all over the table.
template <class M>
bool tree_pays(const NeighborIndex& index, const Asked& asked, Index k, double power, double* distance, Index* id) {
    if (index.node_count == 0) {
        return false;
    }
    const Index probes = std::min(kProbes, asked.count);
    std::vector<Near> room;
    Index seen = 0;
    for (Index i = 0; i < probes; ++i) {
        seen += walk_one<M>(index, asked, i * asked.count / probes, k, power, room, distance, id);
    }
    return 3 * seen <= probes * index.octet_count;  // an octet costs about three times as much when its turn comes alone
}

}  // namespace

Index nearest(const NeighborIndex& index, const double* queries, Index count, Index k, const Measure& measure, bool others,
              double* distance, Index* id) {
    const Asked asked{queries, count, others};
    const double scan_terms = static_cast<double>(count) * static_cast<double>(index.rows) * static_cast<double>(index.columns);
    std::atomic<Index> seen{0};
    with_metric(measure.metric, [&]<class M>(M) {
        if (tree_pays<M>(index, asked, k, measure.power, distance, id)) {
            const Effort effort(static_cast<double>(count) * 2000.0);
            parallel_for(blocks_of(count, kQueryBlock), [&](Index block) {
                std::vector<Near> room;
                Index own = 0;
                for (Index q = block * kQueryBlock; q < std::min(count, (block + 1) * kQueryBlock); ++q) {
                    own += walk_one<M>(index, asked, q, k, measure.power, room, distance, id);
                }
                seen += own;
            });
        } else {
            const Effort effort(scan_terms / 4);
            scan_all<M>(index, asked, k, measure.power, distance, id);
            seen = count * index.octet_count;
        }
    });
    return seen;
}

void within(const NeighborIndex& index, const double* queries, Index count, double radius, const Measure& measure,
            bool others, std::vector<Near>* found) {
    const Asked asked{queries, count, others};
    const Effort effort(static_cast<double>(count) * static_cast<double>(index.rows * index.columns));
    with_metric(measure.metric, [&]<class M>(M) {
        parallel_for(blocks_of(count, kTogether), [&](Index block) {
            const Index first = block * kTogether;
            const Index last = std::min(count, first + kTogether);
            std::vector<All<M>> keep;
            for (Index q = first; q < last; ++q) {
                keep.emplace_back(found[q], radius, Ruler<M>{measure.power, index.columns});
                if (index.node_count != 0) {
                    const double* at = queries + q * index.columns;
                    Walk<M, All<M>>(index, at, measure.power, asked.own(q), keep.back()).visit(0);
                }
            }
            if (index.node_count == 0) {
                scan_block<M>(index, asked, measure.power, first, last, 0, index.octet_count, keep.data());
            }
            for (Index q = first; q < last; ++q) {
                std::sort(found[q].begin(), found[q].end(), nearer);
            }
        });
    });
}

}  // namespace qed
