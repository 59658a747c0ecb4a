#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"
#include "qed/tree/forest.hpp"

namespace qed {
namespace {

constexpr std::uint32_t kMissingLeft = 0x80000000U;
constexpr std::uint32_t kByCategory = 0x40000000U;
constexpr std::uint32_t kColumn = 0x3FFFFFFFU;
constexpr Index kRowsOfBlock = 512;    // fewest that go through a tree together, while its nodes are near
constexpr Index kRowsOfLarge = 16384;  // most: each block fetches all trees again
constexpr int kLanes8 = 8;

/// A category goes left if its bit is set; what is no category that the fit has seen goes where missing values go.
bool is_in_set(const std::uint32_t* sets, const PackedNode& node, double value) noexcept {
    if (!(value >= 0.0 && value < 256.0)) {
        return (node.feature & kMissingLeft) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    const std::uint32_t* const set = sets + static_cast<Index>(node.threshold) * 16;
    const bool is_known = ((set[8 + category / 32] >> (category % 32)) & 1U) != 0;
    return is_known ? ((set[category / 32] >> (category % 32)) & 1U) != 0 : (node.feature & kMissingLeft) != 0;
}

template <bool kSets>
std::uint32_t below(const PackedNode& node, double value, const std::uint32_t* sets) noexcept {
    if constexpr (kSets) {
        if ((node.feature & kByCategory) != 0) {
            return node.left + (is_in_set(sets, node, value) ? 0U : 1U);
        }
    }
    const auto is_missing = static_cast<std::uint32_t>(value != value);
    const auto goes_right = static_cast<std::uint32_t>(!(value <= node.threshold));
    return node.left + (goes_right & ~(is_missing & (node.feature >> 31)));
}

/// Calls done(i, packed node) for the leaf of each row in [first, last) that `wants` asks for.
template <bool kSets, class T, class Wants, class Done>
void descend(const PackedForest& forest, Index tree, const Matrix& x, Index first, Index last, const Wants& wants,
             const Done& done) {
    const Index origin = forest.starts[at(tree)];
    const PackedNode* const nodes = forest.nodes.data() + origin;
    const std::uint32_t* const sets = forest.sets.data();
    Index next = first;
    while (next < last) {
        std::uint32_t at_node[kLanes8] = {};
        const T* rows[kLanes8];
        Index numbers[kLanes8];
        int filled = 0;
        for (; next < last && filled < kLanes8; ++next) {
            if (wants(next)) {
                numbers[filled] = next;
                rows[filled++] = x.at<T>(next, 0);
            }
        }
        for (int lane = filled; lane < kLanes8 && filled > 0; ++lane) {
            rows[lane] = rows[0];
        }
        for (bool moved = filled > 0; moved;) {
            moved = false;
            for (int lane = 0; lane < kLanes8; ++lane) {
                const PackedNode& node = nodes[at_node[lane]];
                const auto column = static_cast<Index>(node.feature & kColumn);
                const std::uint32_t next_node =
                    below<kSets>(node, static_cast<double>(rows[lane][column * x.column_stride]), sets);
                moved |= next_node != at_node[lane];
                at_node[lane] = next_node;
            }
        }
        for (int lane = 0; lane < filled; ++lane) {
            done(numbers[lane], origin + static_cast<Index>(at_node[lane]));
        }
    }
}

template <class Wants, class Done>
void descend_block(const PackedForest& forest, Index tree, const Matrix& x, Index first, Index last,
                   const Wants& wants, const Done& done) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        if (forest.sets.empty()) {
            descend<false, T>(forest, tree, x, first, last, wants, done);
        } else {
            descend<true, T>(forest, tree, x, first, last, wants, done);
        }
    });
}

template <class Each>
void for_blocks(const PackedForest& forest, const Matrix& x, const Each& each) {
    const auto trees = static_cast<Index>(forest.starts.size()) - 1;
    const Effort effort(40.0 * static_cast<double>(x.rows) * static_cast<double>(trees));
    // rows do not depend on one another: blocks may be as large as threads allow
    const Index size = std::clamp(blocks_of(x.rows, 2 * thread_count()), kRowsOfBlock, kRowsOfLarge);
    parallel_for(blocks_of(x.rows, size), [&](Index block) {
        const Index first = block * size;
        const Index last = std::min(x.rows, first + size);
        for (Index tree = 0; tree < trees; ++tree) {
            each(tree, x, first, last, first);
        }
    });
}

/// Rows of a sparse table, a block at a time as an array.
template <class Each>
void for_blocks(const PackedForest& forest, const SparseRows& x, const Each& each) {
    const auto trees = static_cast<Index>(forest.starts.size()) - 1;
    const Index size = std::clamp<Index>((Index{1} << 20) / std::max<Index>(x.columns, 1), 1, kRowsOfBlock);
    const Effort effort(40.0 * static_cast<double>(x.rows) * static_cast<double>(trees));
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
        for (Index tree = 0; tree < trees; ++tree) {
            each(tree, rows, 0, count, first);
        }
    });
}

template <class Table>
void add_all(const PackedForest& forest, const Table& x, const ForestSum& sum, double* out) {
    for_blocks(forest, x, [&](Index tree, const Matrix& rows, Index first, Index last, Index shift) {
        const Index offset = shift - first;
        const std::uint8_t* const bag = sum.bags == nullptr ? nullptr : sum.bags + tree * sum.bag_bytes;
        const auto wants = [&](Index i) {
            const Index row = i + offset;
            return bag == nullptr || ((bag[row / 8] >> (row % 8)) & 1) == 0;
        };
        const Index width = forest.width;
        const Index stride = sum.groups * width;
        double* const own = out + (tree % sum.groups) * width;
        descend_block(forest, tree, rows, first, last, wants, [&](Index i, Index node) {
            const double* const values = sum.values + static_cast<Index>(forest.leaf[at(node)]) * width;
            double* const to = own + (i + offset) * stride;
            for (Index k = 0; k < width; ++k) {
                to[k] += values[k];
            }
        });
    });
}

template <class Table>
void apply_all(const PackedForest& forest, const Table& x, std::int32_t* leaves) {
    const auto trees = static_cast<Index>(forest.starts.size()) - 1;
    for_blocks(forest, x, [&](Index tree, const Matrix& rows, Index first, Index last, Index shift) {
        descend_block(
            forest, tree, rows, first, last, [](Index) { return true; },
            [&](Index i, Index node) {
                leaves[(i + shift - first) * trees + tree] = static_cast<std::int32_t>(forest.leaf[at(node)]);
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
