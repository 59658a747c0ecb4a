/// From root to leaf: how packed nodes are followed, many rows at a time.
///
/// A row that goes down waits for each node and for each value of its own; kLanes16 of them wait together. A lane whose
/// row has arrived takes the next one, of the same tree or of another, so that no lane waits for the deepest leaf.
#pragma once

#include <bit>
#include <cstdint>

#include "qed/tree/tree.hpp"

namespace qed {

inline constexpr std::uint32_t kMissingLeft = 0x80000000U;
inline constexpr std::uint32_t kByCategory = 0x40000000U;
inline constexpr std::uint32_t kColumnBits = 0x3FFFFFFFU;
inline constexpr int kLanes16 = 16;
inline constexpr int kLevelsBetweenLooks = 4;  ///< levels that all lanes of deep trees go down between looks who arrived

/// A category goes left if its bit is set; what is no category that the fit has seen goes where missing values go.
inline bool is_in_set(const std::uint32_t* sets, const PackedNode& node, double value) noexcept {
    if (!(value >= 0.0 && value < 256.0)) {
        return (node.feature & kMissingLeft) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    const std::uint32_t* const set = sets + static_cast<Index>(node.threshold) * 16;
    const bool is_known = ((set[8 + category / 32] >> (category % 32)) & 1U) != 0;
    return is_known ? ((set[category / 32] >> (category % 32)) & 1U) != 0 : (node.feature & kMissingLeft) != 0;
}

/// From a node to the child that a value leads to.
template <bool kSets>
std::int32_t below(const PackedNode& node, double value, const std::uint32_t* sets) noexcept {
    if constexpr (kSets) {
        if ((node.feature & kByCategory) != 0) {
            return node.left + (is_in_set(sets, node, value) ? 0 : 1);
        }
    }
    // without branches: which way a row goes is what no processor can guess
    const auto is_missing = static_cast<std::uint32_t>(value != value);
    const auto goes_right = static_cast<std::uint32_t>(!(value <= node.threshold));
    return node.left + static_cast<std::int32_t>(goes_right & ~(is_missing & (node.feature >> 31)));
}

/// A row at the root of a tree; `number` is what the caller knows it by.
template <class T>
struct Descent {
    const PackedNode* root;
    const T* row;
    Index number;
};

/// Follows what `next(descent)` hands out, until it returns false, and calls done(number, packed leaf). It looks which
/// lanes have arrived after so many `levels`.
template <bool kSets, class T, class Next, class Done>
void follow(Index column_stride, const std::uint32_t* sets, int levels, Next&& next, Done&& done) {
    const PackedNode* nodes[kLanes16];
    const T* rows[kLanes16];
    Index numbers[kLanes16];
    const auto take = [&](int lane) {
        Descent<T> descent;
        if (!next(descent)) {
            return false;
        }
        nodes[lane] = descent.root;
        rows[lane] = descent.row;
        numbers[lane] = descent.number;
        return true;
    };
    const auto step = [&](int lane) {
        const PackedNode& node = *nodes[lane];
        const auto column = static_cast<Index>(node.feature & kColumnBits);
        const auto value = static_cast<double>(rows[lane][column * column_stride]);
        nodes[lane] += below<kSets>(node, value, sets);
    };
    if (!take(0)) {
        return;
    }
    std::uint32_t live = 1;
    for (int lane = 1; lane < kLanes16; ++lane) {
        if (take(lane)) {
            live |= 1U << lane;
        } else {  // goes along for nothing
            nodes[lane] = nodes[0];
            rows[lane] = rows[0];
        }
    }
    while (live != 0) {
        for (int level = 0; level < levels; ++level) {
            for (int lane = 0; lane < kLanes16; ++lane) {
                step(lane);
            }
        }
        std::uint32_t arrived = 0;
        for (int lane = 0; lane < kLanes16; ++lane) {
            arrived |= static_cast<std::uint32_t>(nodes[lane]->left <= 0) << lane;
        }
        for (arrived &= live; arrived != 0; arrived &= arrived - 1) {
            const int lane = std::countr_zero(arrived);
            done(numbers[lane], *nodes[lane]);
            if (!take(lane)) {
                live &= ~(1U << lane);
            }
        }
    }
}

}  // namespace qed
