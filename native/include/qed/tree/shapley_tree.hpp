/// One tree, prepared for Shapley values: where its nodes are, whom they belong to, and which way a value goes.
#pragma once

#include <algorithm>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/tree/shapley.hpp"

namespace qed {

struct ShapleyTree {
    Index count = 0;                      ///< nodes
    Index deepest = 0;
    Index most_players = 0;               ///< on one path
    const std::int32_t* feature = nullptr;
    std::vector<std::int32_t> depth, end; ///< by node; end: the first node behind its branch
    std::vector<std::int32_t> previous;   ///< depth of the last edge above of the same player; 0 for none
    std::vector<std::int32_t> player;     ///< of the edge into the node
    std::vector<std::int32_t> place;      ///< number of that player among those of the path, in order of appearance
    std::vector<std::int32_t> present;    ///< players on the path down to the node
    std::vector<Index> own;               ///< number of an inner node among inner nodes, of a leaf among leaves
    std::vector<std::int32_t> set;        ///< by node: number of its set, or -1
    std::vector<double> cover;            ///< by node: weight of the rows of the fit
    const ShapleyTrees* all = nullptr;

    /// Whether a value goes left; the same comparisons as those of prediction.
    [[nodiscard]] bool goes_left(Index node, double value) const noexcept {
        const Index inner = own[at(node)];
        const bool missing_left = all->missing_left[inner] != 0;
        if (const std::int32_t number = set[at(node)]; number >= 0) {
            if (!(value >= 0.0 && value < 256.0)) {
                return missing_left;
            }
            const auto category = static_cast<std::uint32_t>(value);
            const std::uint32_t* const words = all->sets + Index{16} * number;
            const bool is_known = ((words[8 + category / 32] >> (category % 32)) & 1U) != 0;
            return is_known ? ((words[category / 32] >> (category % 32)) & 1U) != 0 : missing_left;
        }
        return value <= all->threshold[inner] || (missing_left && value != value);
    }
    [[nodiscard]] bool is_left_child(Index node) const noexcept {
        return depth[at(node)] == depth[at(node - 1)] + 1;  // a left child follows its parent
    }
};

/// Prepares all trees, in order.
std::vector<ShapleyTree> prepare_shapley(const ShapleyTrees& trees);

}  // namespace qed
