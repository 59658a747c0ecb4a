/// Orders in which rows are visited, drawn from a seed alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {

/// Bytes of neighbouring rows that stay together when rows are shuffled, how many such groups are mixed at a time, and the size
/// of a table whose rows are all near one another.
inline constexpr Index kGroupBytes = 1 << 16;
inline constexpr int kHandBits = 2;
inline constexpr Index kHands = Index{1} << kHandBits;
inline constexpr Index kDraws = 64 / kHandBits;  ///< hands that one draw names
inline constexpr Index kNearBytes = 1 << 20;

/// A number below `count` < 2^32, each as likely as the others up to count / 2^32.
inline Index draw_below(Index count, std::uint64_t& seed) noexcept {
    return static_cast<Index>(((draw(seed) >> 32) * static_cast<std::uint64_t>(count)) >> 32);
}

inline void shuffle(std::uint32_t* order, Index count, std::uint64_t& seed) noexcept {
    for (Index i = count - 1; i > 0; --i) {
        std::swap(order[i], order[draw_below(i + 1, seed)]);
    }
}

/// A new order of all rows. Of a large table groups of neighbouring rows are dealt out in random order to some hands, and every
/// row is the next one of a hand drawn at random: memory is then read in a few streams, while a row drawn from anywhere would
/// cost a page walk, which takes longer than learning from it.
inline void reorder(std::uint32_t* order, Index rows, Index row_bytes, std::uint64_t& seed) {
    const Index group = std::max<Index>(1, kGroupBytes / std::max<Index>(1, row_bytes));
    if (rows * row_bytes <= kNearBytes || group == 1) {
        return shuffle(order, rows, seed);
    }
    std::vector<std::uint32_t> groups(static_cast<std::size_t>(blocks_of(rows, group)));
    std::iota(groups.begin(), groups.end(), 0U);
    shuffle(groups.data(), static_cast<Index>(groups.size()), seed);
    struct Hand {
        Index next;
        Index end;
    };
    Hand hands[kHands];
    Index held = 0;
    std::size_t dealt = 0;
    const auto deal = [&](Hand& hand) {
        if (dealt == groups.size()) {
            return false;
        }
        const Index begin = static_cast<Index>(groups[dealt++]) * group;
        hand = {begin, std::min(rows, begin + group)};
        return true;
    };
    while (held < kHands && deal(hands[held])) {
        ++held;
    }
    std::uint64_t bits = 0;
    for (Index filled = 0; filled < rows; ++filled) {
        bits = filled % kDraws == 0 ? draw(seed) : bits >> kHandBits;
        Hand& hand = hands[held == kHands ? static_cast<Index>(bits & (kHands - 1)) : draw_below(held, seed)];
        order[filled] = static_cast<std::uint32_t>(hand.next++);
        if (hand.next == hand.end && !deal(hand)) {
            hand = hands[--held];
        }
    }
}

}  // namespace qed
