#include <algorithm>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/fetch.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/sparse/csr.hpp"
#include "qed/tree/descend.hpp"
#include "qed/tree/forest.hpp"

namespace qed {
namespace {

constexpr Index kRowsOfBlock = 512;     // fewest that go through a tree together, while its nodes are near
// Tuned on one machine, in CPU time. Each block fetches all trees again: 262,144 rows in 16 trees of 1e5 nodes take
// 638 ms in blocks of 512 rows, 406 of 4096, 242 of 65,536, 215 in one; more cost memory for the leaves of rows.
constexpr Index kMaxRowsOfBlock = 65536;
// A tree with at most so many nodes for each row of a block is fetched as a whole. Of 1e5 nodes, 1000 rows take
// 4.0 -> 2.9 ms, 20,000 rows 32 -> 25; with 400 nodes a row nothing is gained.
constexpr Index kMaxNodesFetchedPerRow = 128;
constexpr Index kDescents = 16 * kLanes16;  // fewest at a time: few rows go through several trees together
// Tuned on one machine, for tables beyond its caches: rows that are fetched while those before them go down, and of wide
// rows the first columns. Fewer come too late, more push each other out; small tables pay for fetching what is there.
constexpr Index kAhead = 24;
constexpr Index kFetched = 64;
constexpr std::uint32_t kPassedOver = 0xFFFFFFFFU;

/// The rows [first, last) of a table, of which the first is row `number` of the whole.
struct RowBlock {
    const Matrix& x;
    Index first, last, number;

    [[nodiscard]] Index count() const noexcept { return last - first; }
};

/// Asks for all nodes of a tree, in order: rows that go down would wait for one after the other.
void fetch_tree(const PackedForest& forest, Index tree) noexcept {
    fetch_lines(forest.nodes(tree), forest.nodes_of(tree));
}

/// The leaf of each row of a block in the trees [tree, tree + many); rows that lie in the bag of a tree are passed over.
void find_leaves(const PackedForest& forest, const RowBlock& block, const ForestSum& sum, Index tree, Index many,
                 std::uint32_t* leaves) {
    const Index count = block.count();
    const bool has_bags = sum.bags != nullptr;
    with_type(block.x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        Index row = 0;
        Index own = 0;
        const Index fetched = block.x.column_stride == 1 ? std::min(block.x.columns, kFetched) : 0;
        const auto next = [&](Descent<T>& descent) {
            for (; own < many; ++own, row = 0) {
                if (row == 0 && forest.nodes_of(tree + own) <= kMaxNodesFetchedPerRow * count) {
                    fetch_tree(forest, tree + own);
                }
                for (; row < count; ++row) {
                    const Index bit = block.number + row;
                    if (has_bags && ((sum.bags[(tree + own) * sum.bag_bytes + bit / 8] >> (bit % 8)) & 1) != 0) {
                        leaves[own * count + row] = kPassedOver;
                        continue;
                    }
                    descent = {forest.nodes(tree + own),
                               block.x.at<T>(block.first + row, 0), own * count + row};
                    fetch_lines(block.x.at<T>(block.first + std::min(row + kAhead, count - 1), 0), fetched);
                    ++row;
                    return true;
                }
            }
            return false;
        };
        const auto done = [&](Index number, const PackedNode& leaf) {
            leaves[number] = static_cast<std::uint32_t>(leaf_number(leaf));
        };
        if (forest.sets.empty()) {
            follow<false, T>(block.x.column_stride, nullptr, forest.levels, next, done);
        } else {
            follow<true, T>(block.x.column_stride, forest.sets.data(), forest.levels, next, done);
        }
    });
}

/// Calls each(tree, leaves of the rows) for all trees, in order.
template <class Each>
void for_trees(const PackedForest& forest, const RowBlock& block, const ForestSum& sum, const Each& each) {
    const Index trees = forest.trees();
    const Index together = std::min(trees, blocks_of(kDescents, block.count()));
    const ScratchArray<std::uint32_t> leaves(together * block.count());
    for (Index tree = 0; tree < trees; tree += together) {
        const Index many = std::min(together, trees - tree);
        find_leaves(forest, block, sum, tree, many, leaves.get());
        for (Index own = 0; own < many; ++own) {
            each(tree + own, leaves.get() + own * block.count());
        }
    }
}

template <class Work>
void for_blocks(const PackedForest& forest, const Matrix& x, const Work& work) {
    const Effort effort(40.0 * static_cast<double>(x.rows) * static_cast<double>(forest.trees()));
    // rows do not depend on one another: blocks may be as large as threads allow
    const Index size = std::clamp(blocks_of(x.rows, thread_count()), kRowsOfBlock, kMaxRowsOfBlock);
    parallel_for(blocks_of(x.rows, size), [&](Index block) {
        const Index first = block * size;
        work(RowBlock{x, first, std::min(x.rows, first + size), first});
    });
}

/// Rows of a sparse table, a block at a time as an array.
template <class Work>
void for_blocks(const PackedForest& forest, const SparseRows& x, const Work& work) {
    const Index size = std::clamp<Index>((Index{1} << 20) / std::max<Index>(x.columns, 1), 1, kRowsOfBlock);
    const Effort effort(40.0 * static_cast<double>(x.rows) * static_cast<double>(forest.trees()));
    parallel_for(blocks_of(x.rows, size), [&](Index block) {
        const Index first = block * size;
        const Index count = std::min(x.rows - first, size);
        std::vector<double> values(at(count * x.columns), 0.0);
        with_csr(x, [&](auto csr) {
            for (Index i = 0; i < count; ++i) {
                for (Index e = csr.starts[first + i]; e < csr.starts[first + i + 1]; ++e) {
                    values[at(i * x.columns + csr.indices[e])] = static_cast<double>(csr.values[e]);
                }
            }
        });
        const Matrix rows = row_major(values.data(), count, x.columns, x.columns);
        work(RowBlock{rows, 0, count, first});
    });
}

template <class Table>
void add_all(const PackedForest& forest, const Table& x, const ForestSum& sum, double* out) {
    const Index width = forest.width;
    const Index stride = sum.groups * width;
    for_blocks(forest, x, [&](const RowBlock& block) {
        for_trees(forest, block, sum, [&](Index tree, const std::uint32_t* leaves) {
            double* const own = out + block.number * stride + (tree % sum.groups) * width;
            for (Index i = 0; i < block.count(); ++i) {
                if (leaves[i] == kPassedOver) {
                    continue;
                }
                const double* const values = sum.values + static_cast<Index>(leaves[i]) * width;
                for (Index k = 0; k < width; ++k) {
                    own[i * stride + k] += values[k];
                }
            }
        });
    });
}

template <class Table>
void apply_all(const PackedForest& forest, const Table& x, std::int32_t* leaves) {
    const Index trees = forest.trees();
    for_blocks(forest, x, [&](const RowBlock& block) {
        for_trees(forest, block, ForestSum{}, [&](Index tree, const std::uint32_t* own) {
            for (Index i = 0; i < block.count(); ++i) {
                leaves[(block.number + i) * trees + tree] = static_cast<std::int32_t>(own[i]);
            }
        });
    });
}

}  // namespace

void add_leaves(const PackedForest& forest, const Matrix& x, const ForestSum& sum, double* out) {
    add_all(forest, x, sum, out);
}
void add_leaves(const PackedForest& forest, const SparseRows& x, const ForestSum& sum, double* out) {
    add_all(forest, x, sum, out);
}
void apply_forest(const PackedForest& forest, const Matrix& x, std::int32_t* leaves) {
    apply_all(forest, x, leaves);
}
void apply_forest(const PackedForest& forest, const SparseRows& x, std::int32_t* leaves) {
    apply_all(forest, x, leaves);
}

}  // namespace qed
