#include "qed/tree_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "qed/csr.hpp"
#include "qed/numbers.hpp"
#include "qed/parallel.hpp"
#include "qed/scratch.hpp"

namespace qed {
namespace {

constexpr Index kComparing = 1024;  // rows up to which comparing beats counting digits
constexpr Index kTogether = 8;      // columns of a row-major table that share a cache line
constexpr int kDigit = 11;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

struct Keyed {
    std::uint64_t key;
    std::uint32_t place;
};

bool before(const Keyed& a, const Keyed& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
}

/// An integer in the order of the values; both zeros are one, and NaN comes last.
std::uint64_t key_of(double value) noexcept {
    if (std::isnan(value)) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return (bits & kTop) != 0 ? ~bits : bits | kTop;
}

/// Sorts by key; items come in the order of their places, which equal keys keep.
void sort_items(Keyed* items, Keyed* spare, Index count) noexcept {
    if (count <= kComparing) {
        std::sort(items, items + count, before);
        return;
    }
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    for (Index i = 0; i < count; ++i) {
        low = std::min(low, items[i].key);
        high = std::max(high, items[i].key);
    }
    // three digits tell nearly all values apart; the few that agree in them are sorted by comparing
    const int shift = std::max(0, static_cast<int>(std::bit_width(high - low)) - 3 * kDigit);
    constexpr std::uint64_t mask = (std::uint64_t{1} << kDigit) - 1;
    std::vector<std::uint32_t> starts(3 * (mask + 1), 0);
    for (Index i = 0; i < count; ++i) {
        const std::uint64_t head = (items[i].key - low) >> shift;
        for (int digit = 0; digit < 3; ++digit) {
            ++starts[static_cast<std::size_t>(digit) * (mask + 1) + ((head >> (digit * kDigit)) & mask)];
        }
    }
    Keyed* from = items;
    Keyed* to = spare;
    for (int digit = 0; digit < 3; ++digit) {
        std::uint32_t* const own = starts.data() + static_cast<std::size_t>(digit) * (mask + 1);
        const auto digit_of = [&](const Keyed& item) { return (((item.key - low) >> shift) >> (digit * kDigit)) & mask; };
        if (own[digit_of(from[0])] == static_cast<std::uint32_t>(count)) {
            continue;
        }
        std::uint32_t total = 0;
        for (std::uint64_t value = 0; value <= mask; ++value) {
            total += std::exchange(own[value], total);
        }
        for (Index i = 0; i < count; ++i) {
            to[own[digit_of(from[i])]++] = from[i];
        }
        std::swap(from, to);
    }
    if (from != items) {
        std::copy_n(from, count, items);
    }
    for (Index first = 0; shift > 0 && first < count;) {
        const std::uint64_t head = (items[first].key - low) >> shift;
        Index last = first + 1;
        bool in_order = true;
        for (; last < count && ((items[last].key - low) >> shift) == head; ++last) {
            in_order = in_order && items[last - 1].key <= items[last].key;
        }
        if (!in_order) {
            std::sort(items + first, items + last, before);
        }
        first = last;
    }
}

/// Writes ranks; returns how many distinct values there are.
Index rank_items(const Keyed* items, Index count, TreeEntry* entries) noexcept {
    std::uint32_t rank = 0;
    for (Index i = 0; i < count; ++i) {
        rank += i > 0 && items[i].key != items[i - 1].key ? 1U : 0U;
        const bool is_missing = items[i].key == std::numeric_limits<std::uint64_t>::max();
        entries[i] = {is_missing ? kMissingRank : rank, items[i].place};
    }
    return static_cast<Index>(rank) + 1;
}

template <class T>
void load_dense(const Matrix& x, const std::uint32_t* rows, Index count, Index first, Index columns, Keyed* items) noexcept {
    for (Index i = 0; i < count; ++i) {
        const T* at = x.at<T>(static_cast<Index>(rows[i]), first);
        for (Index j = 0; j < columns; ++j) {
            items[j * count + i] = {key_of(static_cast<double>(at[j * x.column_stride])), static_cast<std::uint32_t>(i)};
        }
    }
}

void load_sparse(const SparseRows& x, const std::uint32_t* rows, Index count, Index column, Keyed* items) {
    std::vector<double> values(static_cast<std::size_t>(x.columns), 0.0);
    with_csr(x, [&](auto csr) {
        for (Index e = csr.starts[column]; e < csr.starts[column + 1]; ++e) {
            values[static_cast<std::size_t>(csr.indices[e])] = static_cast<double>(csr.values[e]);
        }
    });
    for (Index i = 0; i < count; ++i) {
        items[i] = {key_of(values[rows[i]]), static_cast<std::uint32_t>(i)};
    }
}

std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}

/// Zeros add nothing, so that those which are not stored need not be visited.
std::uint64_t hash_of(double value, Index column) noexcept {
    return value == 0.0 ? 0 : mixed(mixed(static_cast<std::uint64_t>(column) + 1) ^ key_of(value));
}

}  // namespace

double value_at(const TreeTable& x, Index row, Index column) noexcept {
    double value = 0.0;
    if (x.is_sparse) {
        with_csr(x.by_columns, [&](auto csr) {
            const auto* const first = csr.indices + csr.starts[column];
            const auto* const last = csr.indices + csr.starts[column + 1];
            const auto* const found = std::lower_bound(first, last, row, [](auto index, Index wanted) { return index < wanted; });
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
    const Index together = !x.is_sparse && x.dense.column_stride == 1 && count > kComparing ? kTogether : 1;
    const Index blocks = blocks_of(columns, together);
    std::vector<Index> distinct(at(blocks), 0);
    parallel_for(blocks, [&](Index block) {
        const Index first = block * together;
        const Index here = std::min(together, columns - first);
        const ScratchArray<Keyed> items(count * here);
        const ScratchArray<Keyed> spare(count);
        if (x.is_sparse) {
            load_sparse(x.by_columns, rows, count, first, items.get());
        } else {
            with_type(x.dense.kind, [&](auto type) {
                using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                load_dense<T>(x.dense, rows, count, first, here, items.get());
            });
        }
        for (Index j = 0; j < here; ++j) {
            sort_items(items.get() + j * count, spare.get(), count);
            const Index many = rank_items(items.get() + j * count, count, entries + (first + j) * count);
            distinct[at(block)] = std::max(distinct[at(block)], many);
        }
    });
    return *std::max_element(distinct.begin(), distinct.end());
}

void hash_rows(const TreeTable& x, std::uint64_t* hashes) {
    std::fill_n(hashes, x.rows(), std::uint64_t{0});
    if (x.is_sparse) {
        with_csr(x.by_columns, [&](auto csr) {
            for (Index j = 0; j < csr.rows; ++j) {
                for (Index e = csr.starts[j]; e < csr.starts[j + 1]; ++e) {
                    hashes[csr.indices[e]] += hash_of(static_cast<double>(csr.values[e]), j);
                }
            }
        });
        return;
    }
    constexpr Index kRowsOfBlock = 4096;
    parallel_for(blocks_of(x.dense.rows, kRowsOfBlock), [&](Index block) {
        const Index stop = std::min(x.dense.rows, (block + 1) * kRowsOfBlock);
        with_type(x.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = block * kRowsOfBlock; i < stop; ++i) {
                for (Index j = 0; j < x.dense.columns; ++j) {
                    hashes[i] += hash_of(static_cast<double>(*x.dense.at<T>(i, j)), j);
                }
            }
        });
    });
}

}  // namespace qed
