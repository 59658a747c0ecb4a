/// Compressed rows with their types known, cut into blocks of about equal work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "qed/sparse/sparse.hpp"

namespace qed {

/// The typed face of SparseRows.
template <class T, class I>
struct Csr {
    Index rows;
    Index columns;
    const I* starts;
    const I* indices;
    const T* values;

    explicit Csr(const SparseRows& x) noexcept
        : rows(x.rows),
          columns(x.columns),
          starts(static_cast<const I*>(x.starts)),
          indices(static_cast<const I*>(x.indices)),
          values(static_cast<const T*>(x.values)) {}

    [[nodiscard]] Index entries() const noexcept { return rows == 0 ? 0 : Index{starts[rows]} - Index{starts[0]}; }
    /// First row of block `block` out of `count` with about equally many entries and rows each.
    [[nodiscard]] Index first_row(Index block, Index count) const noexcept {
        // entries plus rows grow strictly, so empty rows are shared out as well
        const Index work = entries() + rows;
        const Index target = block * (work / count) + std::min(block, work % count);
        Index low = 0;
        Index high = rows;
        while (low < high) {
            const Index middle = low + (high - low) / 2;
            if (Index{starts[middle]} - Index{starts[0]} + middle < target) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    [[nodiscard]] Index blocks(Index size) const noexcept { return blocks_of(entries() + rows, size); }
};

template <class Work>
void with_csr(const SparseRows& x, Work&& work) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        if (x.wide) {
            work(Csr<T, std::int64_t>(x));
        } else {
            work(Csr<T, std::int32_t>(x));
        }
    });
}

}  // namespace qed
