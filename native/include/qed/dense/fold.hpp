/// Sums over blocks of rows, merged in order.
///
/// Determinism: parts are merged in the order of their blocks, whoever made them. Rounding: the merge is compensated,
/// so the number of blocks does not matter. Memory: at most 32 MiB of parts at a time (one part at least), beside total
/// and its low half.
#pragma once

#include <algorithm>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

/// total + low += value, exactly up to the rounding of `low`; infinities and NaN pass through `total`.
inline void add_compensated(double& total, double& low, double value) noexcept {
    const double sum = total + value;
    const double part = sum - total;
    low += (total - (sum - part)) + (value - part);
    total = sum;
}

/// The two halves joined. Overflow leaves NaN in `low`, which must not hide the infinity in `total`.
inline double joined(double total, double low) noexcept {
    return low == low ? total + low : total;
}

inline void merge_row(const double* __restrict from, double* __restrict total, double* __restrict low,
                      Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        add_compensated(total[j], low[j], from[j]);
    }
}

/// Rows of a block: enough blocks to keep many threads busy, and at most 64 panels, so that rounding stays bounded.
inline Index fold_rows(Index rows, Index panel) noexcept {
    return std::clamp(round_up(blocks_of(rows, 64), panel), 4 * panel, 64 * panel);
}

/// total[i] = sum over blocks of part[i], for `size` numbers; work(block, part) finds its part zeroed and fills it.
template <class Work>
void fold_blocks(Index count, Index size, double* total, Work&& work) {
    constexpr Index kMergedAtOnce = 2048;
    constexpr Index kPartNumbers = Index{1} << 22;
    std::fill_n(total, size, 0.0);
    if (count == 0 || size == 0) {
        return;
    }
    if (count == 1) {
        parallel_for(1, [&](Index block) { work(block, total); });
        return;
    }
    std::vector<double> low(static_cast<std::size_t>(size));
    const Index at_once = std::min(count, std::clamp<Index>(kPartNumbers / size, 1, 256));
    const ScratchArray<double> parts(at_once * size);
    for (Index first = 0; first < count; first += at_once) {
        const Index now = std::min(at_once, count - first);
        parallel_for(now, [&](Index block) {
            double* part = parts.get() + block * size;
            std::fill_n(part, size, 0.0);
            work(first + block, part);
        });
        parallel_for(blocks_of(size, kMergedAtOnce), [&](Index chunk) {
            const Index at = chunk * kMergedAtOnce;
            for (Index block = 0; block < now; ++block) {
                merge_row(parts.get() + block * size + at, total + at, low.data() + at,
                          std::min(kMergedAtOnce, size - at));
            }
        });
    }
    for (Index i = 0; i < size; ++i) {
        total[i] = joined(total[i], low[static_cast<std::size_t>(i)]);
    }
}

}  // namespace qed
