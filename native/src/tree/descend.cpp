#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"
#include "qed/tree/descend.hpp"
#include "qed/tree/tree.hpp"

namespace qed {
namespace {

constexpr Index kRowsOfBlock = 1024;

template <class T>
void follow_rows(const Matrix& x, const PackedNode* packed, const std::uint32_t* origin, Index first, Index last,
                 Index* leaves) {
    Index i = first;
    const auto next = [&](Descent<T>& descent) {
        if (i == last) {
            return false;
        }
        descent = {packed, x.at<T>(i, 0), i};
        ++i;
        return true;
    };
    follow<false, T>(x.column_stride, nullptr, kLevelsBetweenLooks, next, [&](Index row, const PackedNode& leaf) {
        leaves[row] = static_cast<Index>(origin[&leaf - packed]);
    });
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
            packed[place] = {std::numeric_limits<double>::infinity(), kMissingLeft, 0};
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
                         static_cast<std::int32_t>(filled - place)};
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
            follow_rows<T>(x, packed, origin, block * kRowsOfBlock, last, leaves);
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
                const PackedNode* node = packed;
                for (std::int32_t on = 1; on != 0; node += on) {
                    on = below<false>(*node, values[node->feature & kColumnBits], nullptr);
                }
                leaves[i] = static_cast<Index>(origin[node - packed]);
                for (Index e = csr.starts[i]; e < csr.starts[i + 1]; ++e) {
                    values[at(csr.indices[e])] = 0.0;
                }
            }
        });
    });
}

}  // namespace qed
