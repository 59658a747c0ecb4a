#include "qed/neighbors/neighbors.hpp"

#include <algorithm>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/neighbors/neighbor_walk.hpp"

namespace qed {
namespace {

constexpr int kTogether = 4;       // queries that share a load of an octet
constexpr Index kQueryBlock = 64;  // queries of a block of work
constexpr Index kTileBytes =
    1 << 17;  // octets that stay in the second-level cache while all queries of a block meet them
constexpr Index kBlockTerms = Index{1} << 24;  // terms of a block of work: a few milliseconds
constexpr Index kProbes = 16;                  // queries that a tree is tried on before all of them go its way

/// Up to four queries against some octets. `queries` are interleaved; absent ones are copies that nobody listens to.
template <class M, class Keep>
void scan(const NeighborIndex& index, Index first, Index last, const double* queries, int count, Exponent power,
          const Index* own, Keep* keep) {
    const Index size = index.columns * kOctet;
    for (Index o = first; o < last; ++o) {
        Vector<double> sums[kTogether][kOctetVectors];
        double limits[kTogether];
        for (int i = 0; i < kTogether; ++i) {
            limits[i] = keep[std::min(i, count - 1)].limit();
        }
        octet_sums<M, kTogether>(index.octets + o * size, queries, index.columns, power, sums, limits);
        for (int i = 0; i < count; ++i) {
            offer_octet(index, o, sums[i], own[i], keep[i]);
        }
    }
}

/// A search of many queries: where they are, and which row each one is.
struct Asked {
    const double* queries;
    Index count;
    bool others;
    [[nodiscard]] Index own(Index query) const noexcept { return others ? query : -1; }
};

/// All queries of [first, last) against the octets of [low, high), tile after tile.
template <class M, class Keep>
void scan_block(const NeighborIndex& index, const Asked& asked, Exponent power, Index first, Index last, Index low,
                Index high, Keep* keep) {
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
            scan<M>(index, at, std::min(high, at + tile), packed.get() + g * index.columns * kTogether, count, power,
                    own, keep + g * kTogether);
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
void scan_all(const NeighborIndex& index, const Asked& asked, Index k, Exponent power, double* distance, Index* id) {
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
            std::vector<Best<M>> best(static_cast<std::size_t>(last - first), Best<M>(k, {power, index.columns}));
            scan_block<M>(index, asked, power, first, last, low, std::min(index.octet_count, low + chunk), best.data());
            for (std::size_t q = 0; q < best.size(); ++q) {
                std::copy_n(best[q].finish(), k, kept.data() + (work * block + static_cast<Index>(q)) * k);
            }
        });
        parallel_for(here, [&](Index b) {
            const Index first = (begin + b) * block;
            Best<M> best(k, {power, index.columns});
            for (Index q = first; q < std::min(asked.count, first + block); ++q) {
                const Near* own = kept.data() + (b * chunks * block + q - first) * k;
                if (chunks > 1) {
                    best.clear();
                    for (Index c = 0; c < chunks; ++c) {
                        for (Index i = 0; i < k; ++i) {
                            best.put(own[c * block * k + i]);
                        }
                    }
                    own = best.finish();
                }
                write(own, k, distance + q * k, id + q * k);
            }
        });
    }
}

template <class M>
Index walk_one(const NeighborIndex& index, const Asked& asked, Index query, Index k, Exponent power, Best<M>& best,
               double* distance, Index* id) {
    best.clear();
    Walk<M, Best<M>> walk(index, asked.queries + query * index.columns, power, asked.own(query), best);
    walk.visit();
    write(best.finish(), k, distance + query * k, id + query * k);
    return walk.seen();
}

/// Whether a tree passes most octets by, tried on queries from all over the table.
template <class M>
bool tree_pays(const NeighborIndex& index, const Asked& asked, Index k, Exponent power, double* distance, Index* id) {
    if (index.node_count == 0) {
        return false;
    }
    const Index probes = std::min(kProbes, asked.count);
    Best<M> best(k, {power, index.columns});
    Index seen = 0;
    for (Index i = 0; i < probes; ++i) {
        seen += walk_one<M>(index, asked, i * asked.count / probes, k, power, best, distance, id);
    }
    return 3 * seen <=
           probes * index.octet_count;  // an octet costs about three times as much when its turn comes alone
}

}  // namespace

Index nearest(const NeighborIndex& index, const double* queries, Index count, Index k, const Measure& measure,
              bool others, double* distance, Index* id) {
    const Asked asked{queries, count, others};
    const double scan_terms =
        static_cast<double>(count) * static_cast<double>(index.rows) * static_cast<double>(index.columns);
    std::atomic<Index> seen{0};
    with_metric(measure.metric, [&]<class M>(M) {
        if (tree_pays<M>(index, asked, k, measure.power, distance, id)) {
            const Effort effort(static_cast<double>(count) * 2000.0);
            parallel_for(blocks_of(count, kQueryBlock), [&](Index block) {
                Best<M> best(k, {measure.power, index.columns});
                Index own = 0;
                for (Index q = block * kQueryBlock; q < std::min(count, (block + 1) * kQueryBlock); ++q) {
                    own += walk_one<M>(index, asked, q, k, measure.power, best, distance, id);
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
                    Walk<M, All<M>>(index, at, measure.power, asked.own(q), keep.back()).visit();
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
