#include "qed/manifold/ranks.hpp"

#include <algorithm>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 16;  // rows a thread takes at a time

/// The k columns of least distance but one, nearest first.
void nearest_of(const double* row, Index n, Index own, Index k, std::vector<Index>& found) {
    found.clear();
    for (Index j = 0; j < n; ++j) {
        if (j == own || (static_cast<Index>(found.size()) == k && !(row[j] < row[found.back()]))) {
            continue;
        }
        if (static_cast<Index>(found.size()) == k) {
            found.pop_back();
        }
        const auto after = std::upper_bound(found.begin(), found.end(), row[j],
                                            [row](double distance, Index other) { return distance < row[other]; });
        found.insert(after, j);
    }
}

}  // namespace

Index places_beyond(const double* reference, const double* other, const Index* own, Index m, Index n, Index k) {
    const Index blocks = blocks_of(m, kBlock);
    std::vector<Index> sums(static_cast<std::size_t>(blocks), 0);
    parallel_for(blocks, [&](Index block) {
        std::vector<Index> found;
        Index sum = 0;
        for (Index r = block * kBlock; r < std::min(m, (block + 1) * kBlock); ++r) {
            nearest_of(other + r * n, n, own[r], k, found);
            const double* row = reference + r * n;
            for (const Index column : found) {
                const double edge = row[column];
                Index nearer = 0;
                for (Index j = 0; j < n; ++j) {
                    nearer += row[j] < edge ? 1 : 0;
                }
                nearer -= row[own[r]] < edge ? 1 : 0;
                sum += std::max(nearer + 1 - k, Index{0});
            }
        }
        sums[static_cast<std::size_t>(block)] = sum;
    });
    Index total = 0;
    for (const Index sum : sums) {
        total += sum;
    }
    return total;
}

}  // namespace qed
