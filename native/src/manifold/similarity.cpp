#include "qed/manifold/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 256;
constexpr int kHalvings = 200;  // more than doubles have room for

/// Entropy of the row, and its similarities, unless the sum is lost.
double entropy(const double* d, Index k, double precision, double* out) noexcept {
    const double nearest = d[0] * d[0];
    double sum = 0.0;
    double mean = 0.0;
    for (Index j = 0; j < k; ++j) {
        const double away = d[j] * d[j] - nearest;  // the largest similarity is one, however far the row is from all
        out[j] = std::exp(-precision * away);
        sum += out[j];
        mean += away * out[j];
    }
    for (Index j = 0; j < k; ++j) {
        out[j] /= sum;
    }
    return std::log(sum) + precision * mean / sum;
}

/// Where a falling function meets `wanted`, by doubling and halving; `value` also leaves its result behind.
template <class Value>
double meet(double start, double wanted, double tolerance, Value&& value) {
    double low = 0.0;
    double high = std::numeric_limits<double>::infinity();
    double at = start;
    for (int i = 0; i < kHalvings; ++i) {
        const double found = value(at);
        if (std::abs(found - wanted) <= tolerance) {
            break;
        }
        (found > wanted ? low : high) = at;
        const double next = std::isinf(high) ? 2.0 * at : 0.5 * (low + high);
        if (next == at || !std::isfinite(next)) {
            break;
        }
        at = next;
    }
    return at;
}

}  // namespace

void perplexity_similarities(const double* distances, Index n, Index k, double perplexity, double* out,
                             double* precision) {
    const double wanted = std::log(perplexity);
    parallel_for(blocks_of(n, kBlock), [&](Index block) {
        for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            const double* d = distances + i * k;
            double mean = 0.0;
            for (Index j = 0; j < k; ++j) {
                mean += d[j] * d[j] - d[0] * d[0];
            }
            const double start = mean > 0.0 ? static_cast<double>(k) / mean : 1.0;
            precision[i] = meet(start, wanted, 1e-10, [&](double b) { return entropy(d, k, b, out + i * k); });
        }
    });
}

void membership_similarities(const double* distances, Index n, Index k, double wanted, double connected, double* out,
                             double* near, double* spread) {
    constexpr double kLeast = 1e-3;
    parallel_for(blocks_of(n, kBlock), [&](Index block) {
        for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            const double* d = distances + i * k;
            double* row = out + i * k;
            double mean = 0.0;
            Index zeros = 0;
            for (Index j = 0; j < k; ++j) {
                mean += d[j] / static_cast<double>(k);
            }
            for (Index j = 0; j < k; ++j) {  // rows that differ by rounding are one
                zeros += d[j] > 1e-12 * mean ? 0 : 1;
            }
            const double* positive = d + zeros;
            const auto whole = static_cast<Index>(std::floor(connected));
            const double part = connected - static_cast<double>(whole);
            if (k - zeros >= std::max<Index>(whole, 1)) {
                const double first = whole > 0 ? positive[whole - 1] : 0.0;
                const double after = whole < k - zeros ? positive[whole] : positive[k - zeros - 1];
                near[i] = first + part * (after - first);
            } else {
                near[i] = zeros < k ? d[k - 1] : 0.0;
            }
            const auto sum = [&](double rate) {
                double added = 0.0;
                for (Index j = 0; j < k; ++j) {
                    const double away = d[j] - near[i];
                    row[j] = away > 0.0 ? std::exp(-away * rate) : 1.0;
                    added += row[j];
                }
                return added;
            };
            const double rate = meet(1.0 / std::max(mean, 1e-300), wanted, 1e-9, sum);
            spread[i] = std::max(1.0 / rate, kLeast * mean);
            spread[i] = spread[i] > 0.0 ? spread[i] : 1.0;
            sum(1.0 / spread[i]);
        }
    });
}

}  // namespace qed
