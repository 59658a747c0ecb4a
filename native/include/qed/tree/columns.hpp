/// The sorted columns of a table, and single values of it.
#pragma once

#include <cstdint>

#include "qed/tree/tree.hpp"

namespace qed {

/// One value of a column: its rank among the distinct values of the column, and the place of its row.
struct TreeEntry {
    std::uint32_t rank;
    std::uint32_t place;
};

/// Missing values rank behind all others.
inline constexpr std::uint32_t kMissingRank = 0xFFFFFFFFU;

double value_at(const TreeTable& x, Index row, Index column) noexcept;

/// Sorts all columns of the given rows: `entries` has room for columns × count. Returns the most distinct values of a
/// column.
Index sort_columns(const TreeTable& x, const std::uint32_t* rows, Index count, TreeEntry* entries);

/// Adds up a hash of each row that does not depend on the layout; rows that agree in all columns have equal ones.
void hash_rows(const TreeTable& x, std::uint64_t* hashes);

}  // namespace qed
