#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/tree/columns.hpp"
#include "qed/tree/node.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

double contradictions(const TreeTable& x, const TreeTargets& y) {
    const Index count = x.rows();
    std::vector<std::uint64_t> hashes(at(count));
    hash_rows(x, hashes.data());
    std::vector<std::pair<std::uint64_t, Index>> sorted;
    double total_weight = 0.0;
    for (Index i = 0; i < count; ++i) {
        const double w = y.weights != nullptr ? y.weights[i] : 1.0;
        total_weight += w;
        if (w > 0.0) {
            sorted.emplace_back(hashes[at(i)], i);
        }
    }
    std::sort(sorted.begin(), sorted.end());
    const auto agree = [&](Index a, Index b) {
        for (Index j = 0; j < x.columns(); ++j) {
            const double first = value_at(x, a, j);
            const double second = value_at(x, b, j);
            if (!(first == second || (std::isnan(first) && std::isnan(second)))) {
                return false;
            }
        }
        return true;
    };
    double scale = 0.0;
    std::vector<double> weights, numbers, values(at(y.width));
    std::vector<std::uint32_t> codes;
    for (std::size_t first = 0; first < sorted.size();) {
        std::size_t last = first;
        weights.clear();
        numbers.clear();
        codes.clear();
        for (; last < sorted.size() && sorted[last].first == sorted[first].first; ++last) {
            const Index row = sorted[last].second;
            if (last > first && !agree(sorted[first].second, row)) {
                continue;  // rows of equal hashes that differ: leaving one out only lowers the bound
            }
            weights.push_back(y.weights != nullptr ? y.weights[row] : 1.0);
            if (y.codes != nullptr) {
                codes.push_back(static_cast<std::uint32_t>(y.codes[row]));
            } else {
                numbers.insert(numbers.end(), y.numbers + row * y.width, y.numbers + (row + 1) * y.width);
            }
        }
        if (weights.size() > 1) {
            const NodeRows rows{static_cast<Index>(weights.size()), weights.data(), codes.data(), numbers.data()};
            scale += summarise(y, rows, values.data(), nullptr, nullptr).scale;
        }
        first = last;
    }
    return scale * unit_of(y) / total_weight;
}

}  // namespace qed
