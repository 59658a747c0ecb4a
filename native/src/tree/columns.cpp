#include "qed/tree/columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kComparing = 64;  // rows up to which comparing beats counting digits
constexpr Index kMany = 2048;     // rows from which digits are long
constexpr Index kTogether = 16;   // columns that are loaded together
constexpr Index kRowsOfBlock = 4096;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
constexpr std::uint64_t kMissing = std::numeric_limits<std::uint64_t>::max();

/// The first 32 bits that tell keys apart, and the place of the row.
struct Item {
    std::uint32_t head;
    std::uint32_t place;
};

/// An integer in the order of the values; both zeros are one, and NaN comes last.
std::uint64_t key_of(double value) noexcept {
    if (std::isnan(value)) {
        return kMissing;
    }
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return (bits & kTop) != 0 ? ~bits : bits | kTop;
}

/// Sorts by head, digit by digit; equal heads stay in their order. Returns which of the two holds the result.
Item* sort_heads(Item* items, Item* spare, Index count) noexcept {
    const int bits = count >= kMany ? 11 : 8;
    const int digits = count >= kMany ? 3 : 4;
    const std::uint32_t mask = (1U << bits) - 1;
    std::uint32_t starts[3 << 11];
    std::fill_n(starts, digits << bits, 0U);
    for (Index i = 0; i < count; ++i) {
        for (int digit = 0; digit < digits; ++digit) {
            ++starts[(digit << bits) + static_cast<int>((items[i].head >> (digit * bits)) & mask)];
        }
    }
    for (int digit = 0; digit < digits; ++digit) {
        std::uint32_t* const own = starts + (digit << bits);
        if (own[(items[0].head >> (digit * bits)) & mask] == static_cast<std::uint32_t>(count)) {
            continue;
        }
        std::uint32_t total = 0;
        for (std::uint32_t value = 0; value <= mask; ++value) {
            total += std::exchange(own[value], total);
        }
        for (Index i = 0; i < count; ++i) {
            spare[own[(items[i].head >> (digit * bits)) & mask]++] = items[i];
        }
        std::swap(items, spare);
    }
    return items;
}

/// Sorts a column by its keys, places in order where they are equal, and writes ranks; returns how many distinct values
/// there are.
Index rank_keys(const std::uint64_t* keys, Index count, Item* items, Item* spare, TreeEntry* entries) noexcept {
    std::uint64_t low = kMissing;
    std::uint64_t high = 0;
    for (Index i = 0; i < count; ++i) {
        low = std::min(low, keys[i]);
        high = std::max(high, keys[i]);
    }
    const int shift = std::max(0, static_cast<int>(std::bit_width(high - low)) - 32);
    for (Index i = 0; i < count; ++i) {
        items[i] = {static_cast<std::uint32_t>((keys[i] - low) >> shift), static_cast<std::uint32_t>(i)};
    }
    const auto before = [&](const Item& a, const Item& b) {
        return keys[a.place] != keys[b.place] ? keys[a.place] < keys[b.place] : a.place < b.place;
    };
    if (count <= kComparing) {
        std::sort(items, items + count, before);
    } else {
        items = sort_heads(items, spare, count);
        for (Index first = 0; shift > 0 && first < count;) {  // the few that agree in their heads
            Index last = first + 1;
            bool in_order = true;
            for (; last < count && items[last].head == items[first].head; ++last) {
                in_order = in_order && keys[items[last - 1].place] <= keys[items[last].place];
            }
            if (!in_order) {
                std::sort(items + first, items + last, before);
            }
            first = last;
        }
    }
    std::uint32_t rank = 0;
    for (Index i = 0; i < count; ++i) {
        const bool is_new = i > 0 && (items[i].head != items[i - 1].head ||
                                      (shift > 0 && keys[items[i].place] != keys[items[i - 1].place]));
        rank += is_new ? 1U : 0U;
        entries[i] = {rank, items[i].place};
    }
    const Index distinct = static_cast<Index>(rank) + 1;
    for (Index i = count; high == kMissing && i-- > 0 && keys[items[i].place] == kMissing;) {
        entries[i].rank = kMissingRank;
    }
    return distinct;
}

template <class T>
void load_dense(const Matrix& x, const std::uint32_t* rows, Index count, Index first, Index columns,
                std::uint64_t* keys, Index stride) noexcept {
    for (Index i = 0; i < count; ++i) {
        const T* at = x.at<T>(static_cast<Index>(rows[i]), first);
        for (Index j = 0; j < columns; ++j) {
            keys[j * stride + i] = key_of(static_cast<double>(at[j * x.column_stride]));
        }
    }
}

void load_sparse(const SparseRows& x, const std::uint32_t* rows, Index count, Index column, std::uint64_t* keys) {
    std::vector<double> values(static_cast<std::size_t>(x.columns), 0.0);
    with_csr(x, [&](auto csr) {
        for (Index e = csr.starts[column]; e < csr.starts[column + 1]; ++e) {
            values[static_cast<std::size_t>(csr.indices[e])] = static_cast<double>(csr.values[e]);
        }
    });
    for (Index i = 0; i < count; ++i) {
        keys[i] = key_of(values[rows[i]]);
    }
}

std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}

std::uint64_t column_mark(Index column) noexcept {
    return mixed(static_cast<std::uint64_t>(column) + 1);
}

/// Zeros add nothing, so that those which are not stored need not be visited.
std::uint64_t hash_of(double value, std::uint64_t mark) noexcept {
    return value == 0.0 ? 0 : mixed(mark ^ key_of(value));
}

}  // namespace

double value_at(const TreeTable& x, Index row, Index column) noexcept {
    double value = 0.0;
    if (x.is_sparse) {
        with_csr(x.by_columns, [&](auto csr) {
            const auto* const first = csr.indices + csr.starts[column];
            const auto* const last = csr.indices + csr.starts[column + 1];
            const auto* const found =
                std::lower_bound(first, last, row, [](auto index, Index wanted) { return index < wanted; });
            if (found != last && *found == row) {
                value = static_cast<double>(csr.values[found - csr.indices]);
            }
        });
        return value;
    }
    with_type(x.dense.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        value = static_cast<double>(*x.dense.at<T>(row, column));
    });
    return value;
}

Index sort_columns(const TreeTable& x, const std::uint32_t* rows, Index count, TreeEntry* entries) {
    const Index columns = x.columns();
    std::vector<Index> distinct(at(columns), 0);
    const ScratchArray<std::uint64_t> keys(count * std::min(columns, kTogether));
    for (Index first = 0; first < columns; first += kTogether) {
        const Index here = std::min(kTogether, columns - first);
        if (!x.is_sparse) {  // a row gives all these columns from few cache lines
            parallel_for(blocks_of(count, kRowsOfBlock), [&](Index block) {
                const Index from = block * kRowsOfBlock;
                const Index many = std::min(kRowsOfBlock, count - from);
                with_type(x.dense.kind, [&](auto type) {
                    using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                    load_dense<T>(x.dense, rows + from, many, first, here, keys.get() + from, count);
                });
            });
        }
        parallel_for(here, [&](Index j) {
            std::uint64_t* const own = keys.get() + j * count;
            if (x.is_sparse) {
                load_sparse(x.by_columns, rows, count, first + j, own);
            }
            const ScratchArray<Item> items(2 * count);
            distinct[at(first + j)] =
                rank_keys(own, count, items.get(), items.get() + count, entries + (first + j) * count);
        });
    }
    return *std::max_element(distinct.begin(), distinct.end());
}

void hash_rows(const TreeTable& x, std::uint64_t* hashes) {
    std::fill_n(hashes, x.rows(), std::uint64_t{0});
    if (x.is_sparse) {
        with_csr(x.by_columns, [&](auto csr) {
            for (Index j = 0; j < csr.rows; ++j) {
                for (Index e = csr.starts[j]; e < csr.starts[j + 1]; ++e) {
                    hashes[csr.indices[e]] += hash_of(static_cast<double>(csr.values[e]), column_mark(j));
                }
            }
        });
        return;
    }
    std::vector<std::uint64_t> marks;
    for (Index j = 0; j < x.dense.columns; ++j) {
        marks.push_back(column_mark(j));
    }
    parallel_for(blocks_of(x.dense.rows, kRowsOfBlock), [&](Index block) {
        const Index stop = std::min(x.dense.rows, (block + 1) * kRowsOfBlock);
        with_type(x.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = block * kRowsOfBlock; i < stop; ++i) {
                for (Index j = 0; j < x.dense.columns; ++j) {
                    hashes[i] += hash_of(static_cast<double>(*x.dense.at<T>(i, j)), marks[at(j)]);
                }
            }
        });
    });
}

}  // namespace qed
