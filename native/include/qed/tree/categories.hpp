/// Cuts through a column of categories: some of them go left, the others right.
///
/// With the categories in the order of their mean target, the best set for one number or two classes is some first part
/// of them, whatever the criterion but absolute errors. For more classes, or several numbers a row, the first parts of
/// the orders by each of them are compared. Missing values are no category: they go to the side where they gain more.
#pragma once

#include <cstdint>

#include "qed/tree/columns.hpp"
#include "qed/tree/split.hpp"

namespace qed {

inline constexpr std::uint8_t kMissingCategory = 255;  ///< what stands for a missing value among categories
inline constexpr Index kCategories = 256;

/// Eight words of bits, the categories that go left, and eight more, those that the node has met.
struct CategorySet {
    std::uint32_t words[16] = {};

    void add(std::uint8_t category, bool goes_left) noexcept {
        const std::uint32_t bit = 1U << (category % 32);
        words[8 + category / 32] |= bit;
        words[category / 32] |= goes_left ? bit : 0U;
    }
    [[nodiscard]] bool has(std::uint8_t category) const noexcept {
        return ((words[category / 32] >> (category % 32)) & 1U) != 0;
    }
};

struct CategoryCut {
    TreeCut cut;
    CategorySet set;
};

/// The category that a value stands for: whole numbers from 0 to 254, or NaN.
inline std::uint8_t category_of(double value) noexcept {
    return value != value ? kMissingCategory : static_cast<std::uint8_t>(value);
}

/// The best set of categories. `codes` are those of the rows at the places from `first` on; there is room for as many
/// entries.
CategoryCut best_set(const SplitView& node, const SplitRule& rule, Index first, const std::uint8_t* codes,
                     TreeEntry* entries);

/// One drawn set: as many of the categories as is drawn, the first ones in an order that is drawn.
CategoryCut drawn_set(const SplitView& node, const SplitRule& rule, Index first, const std::uint8_t* codes,
                      TreeEntry* entries, std::uint64_t stream);

}  // namespace qed
