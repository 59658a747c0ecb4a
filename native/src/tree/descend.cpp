#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"
#include "qed/tree/tree.hpp"

namespace qed {
namespace {

constexpr std::uint32_t kMissingLeft = 0x80000000U;
constexpr Index kRowsOfBlock = 1024;  // of a block
constexpr int kLanes8 = 8;            // rows that go down together, so that one waits while the others are fetched

std::uint32_t below(const PackedNode& node, double value) noexcept {
    // without branches: which way a row goes is what no processor can guess
    const auto is_missing = static_cast<std::uint32_t>(value != value);
    const auto goes_right = static_cast<std::uint32_t>(!(value <= node.threshold));
    return node.left + (goes_right & ~(is_missing & (node.feature >> 31)));
}

template <class Value>
std::uint32_t descend(const PackedNode* packed, const Value& value) noexcept {
    std::uint32_t at_node = 0;
    while (true) {
        const PackedNode& node = packed[at_node];
        if (node.left == at_node) {
            return at_node;
        }
        at_node = below(node, value(node.feature & ~kMissingLeft));
    }
}

template <class T>
void descend_rows(const Matrix& x, const PackedNode* packed, const std::uint32_t* origin, Index first, Index last,
                  Index* leaves) noexcept {
    Index i = first;
    for (; i + kLanes8 <= last; i += kLanes8) {
        std::uint32_t at_node[kLanes8] = {};
        const T* rows[kLanes8];
        for (int lane = 0; lane < kLanes8; ++lane) {
            rows[lane] = x.at<T>(i + lane, 0);
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (int lane = 0; lane < kLanes8; ++lane) {
                const PackedNode& node = packed[at_node[lane]];
                const auto column = static_cast<Index>(node.feature & ~kMissingLeft);
                const std::uint32_t next = below(node, static_cast<double>(rows[lane][column * x.column_stride]));
                moved |= next != at_node[lane];
                at_node[lane] = next;
            }
        }
        for (int lane = 0; lane < kLanes8; ++lane) {
            leaves[i + lane] = static_cast<Index>(origin[at_node[lane]]);
        }
    }
    for (; i < last; ++i) {
        const T* const row = x.at<T>(i, 0);
        const std::uint32_t leaf = descend(packed, [&](std::uint32_t column) {
            return static_cast<double>(row[static_cast<Index>(column) * x.column_stride]);
        });
        leaves[i] = static_cast<Index>(origin[leaf]);
    }
}

}  // namespace

bool pack_tree(const TreeNodes& nodes, PackedNode* packed, std::uint32_t* origin) {
    std::vector<bool> seen(at(nodes.count), false);
    Index filled = 1;
    origin[0] = 0;
    seen[0] = true;
    for (Index place = 0; place < filled; ++place) {
        const auto number = static_cast<Index>(origin[place]);
        const Index children[2] = {nodes.left[number], nodes.right[number]};
        if (children[0] < 0 && children[1] < 0) {
            // a leaf stays where it is, whatever the value in the first column
            packed[place] = {std::numeric_limits<double>::infinity(), kMissingLeft, static_cast<std::uint32_t>(place)};
            continue;
        }
        const Index feature = nodes.feature[number];
        const bool is_sound = feature >= 0 && feature < nodes.columns && !std::isnan(nodes.threshold[number]);
        for (const Index child : children) {
            if (!is_sound || child < 0 || child >= nodes.count || seen[at(child)]) {
                return false;
            }
            seen[at(child)] = true;
        }
        packed[place] = {nodes.threshold[number],
                         static_cast<std::uint32_t>(feature) | (nodes.missing_left[number] != 0 ? kMissingLeft : 0U),
                         static_cast<std::uint32_t>(filled)};
        origin[filled++] = static_cast<std::uint32_t>(children[0]);
        origin[filled++] = static_cast<std::uint32_t>(children[1]);
    }
    return filled == nodes.count;
}

void find_leaves(const Matrix& x, const PackedNode* packed, const std::uint32_t* origin, Index* leaves) {
    const Effort effort(64.0 * static_cast<double>(x.rows));
    parallel_for(blocks_of(x.rows, kRowsOfBlock), [&](Index block) {
        const Index last = std::min(x.rows, (block + 1) * kRowsOfBlock);
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            descend_rows<T>(x, packed, origin, block * kRowsOfBlock, last, leaves);
        });
    });
}

void find_leaves(const SparseRows& x, const PackedNode* packed, const std::uint32_t* origin, Index* leaves) {
    const Effort effort(256.0 * static_cast<double>(x.rows));
    parallel_for(blocks_of(x.rows, kRowsOfBlock), [&](Index block) {
        std::vector<double> values(at(x.columns), 0.0);
        with_csr(x, [&](auto csr) {
            const Index last = std::min(x.rows, (block + 1) * kRowsOfBlock);
            for (Index i = block * kRowsOfBlock; i < last; ++i) {
                for (Index e = csr.starts[i]; e < csr.starts[i + 1]; ++e) {
                    values[at(csr.indices[e])] = static_cast<double>(csr.values[e]);
                }
                leaves[i] =
                    static_cast<Index>(origin[descend(packed, [&](std::uint32_t column) { return values[column]; })]);
                for (Index e = csr.starts[i]; e < csr.starts[i + 1]; ++e) {
                    values[at(csr.indices[e])] = 0.0;
                }
            }
        });
    });
}

}  // namespace qed
