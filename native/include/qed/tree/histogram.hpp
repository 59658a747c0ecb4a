/// Histograms: sums over the rows of a node, bin by bin, of two numbers a row.
///
/// Layout: two words a bin, kPlaces bins a column, columns of a group side by side. Determinism: rows are added in their
/// order by one thread; whole words (int64) do not depend on any order.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"
#include "qed/tree/ranks.hpp"

namespace qed {

template <class Word>
struct PairOf;
template <>
struct PairOf<double> {
    using Type [[gnu::vector_size(16), gnu::may_alias]] = double;
};
template <>
struct PairOf<std::int64_t> {
    using Type [[gnu::vector_size(16), gnu::may_alias]] = std::int64_t;
};

/// Adds pairs, one a row in the order of `rows` (null: all rows), to the bins of a group of columns.
template <Index kTogether, class Word>
void add_pairs(const std::uint8_t* group, const std::uint32_t* rows, Index count, const Word* pairs,
               Word* sums) noexcept {
    using Pair = typename PairOf<Word>::Type;
    const auto* const from = reinterpret_cast<const Pair*>(pairs);
    auto* const to = reinterpret_cast<Pair*>(sums);
    for (Index i = 0; i < count; ++i) {
        const Index row = rows != nullptr ? static_cast<Index>(rows[i]) : i;
        const std::uint8_t* const bins = group + row * kTogether;
        const Pair pair = from[i];
        for (Index c = 0; c < kTogether; ++c) {
            to[c * kPlaces + bins[c]] += pair;
        }
    }
}

}  // namespace qed
