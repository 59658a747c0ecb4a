#include "qed/tables/isotonic.hpp"

#include <algorithm>
#include <vector>

namespace qed {
namespace {

struct Pool {
    double mean;
    double weight;
    Index end;
};

/// The mean of both, from the heavier one, so that neither is lost in a sum.
Pool merged(const Pool& first, const Pool& second) noexcept {
    const double weight = first.weight + second.weight;
    const bool is_first = first.weight >= second.weight;
    const Pool& heavy = is_first ? first : second;
    const Pool& light = is_first ? second : first;
    return {heavy.mean + (light.mean - heavy.mean) * (light.weight / weight), weight, second.end};
}

}  // namespace

void pool_adjacent_violators(const double* x, const double* y, const double* s, Index n, double* out) {
    std::vector<Pool> pools;
    for (Index i = 0; i < n;) {
        Pool next{y[i], s == nullptr ? 1.0 : s[i], i + 1};
        for (++i; i < n && x[i] == x[i - 1]; ++i) {
            next = merged(next, {y[i], s == nullptr ? 1.0 : s[i], i + 1});
        }
        while (!pools.empty() && pools.back().mean >= next.mean) {
            next = merged(pools.back(), next);
            pools.pop_back();
        }
        pools.push_back(next);
    }
    // Merging rounds a mean many times. Summing what is left around it corrects it once.
    Index begin = 0;
    double reached = 0.0;
    for (const Pool& pool : pools) {
        double left = 0.0;
        double weight = 0.0;
        for (Index i = begin; i < pool.end; ++i) {
            const double own = s == nullptr ? 1.0 : s[i];
            left += own * (y[i] - pool.mean);
            weight += own;
        }
        const double mean = pool.mean + left / weight;
        reached = begin == 0 ? mean : std::max(reached, mean);
        std::fill(out + begin, out + pool.end, reached);
        begin = pool.end;
    }
}

}  // namespace qed
