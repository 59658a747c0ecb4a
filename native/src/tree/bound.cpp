#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/tree/columns.hpp"
#include "qed/tree/node.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

namespace {

bool same_value(double first, double second) noexcept {
    return first == second || (std::isnan(first) && std::isnan(second));
}

bool rows_agree(const TreeTable& x, Index a, Index b) noexcept {
    bool agree = true;
    if (x.is_sparse) {
        for (Index j = 0; j < x.columns() && agree; ++j) {
            agree = same_value(value_at(x, a, j), value_at(x, b, j));
        }
        return agree;
    }
    with_type(x.dense.kind, [&](auto type) {  // asked once for all columns
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        for (Index j = 0; j < x.dense.columns && agree; ++j) {
            agree = same_value(static_cast<double>(*x.dense.at<T>(a, j)), static_cast<double>(*x.dense.at<T>(b, j)));
        }
    });
    return agree;
}

}  // namespace

double contradictions(const TreeTable& x, const TreeTargets& y) {
    const Index count = x.rows();
    std::vector<std::uint64_t> hashes(at(count));
    hash_rows(x, hashes.data());
    std::vector<std::pair<std::uint64_t, Index>> sorted;
    sorted.reserve(at(count));
    double total_weight = 0.0;
    for (Index i = 0; i < count; ++i) {
        const double w = y.weights != nullptr ? y.weights[i] : 1.0;
        total_weight += w;
        if (w > 0.0) {
            sorted.emplace_back(hashes[at(i)], i);
        }
    }
    std::sort(sorted.begin(), sorted.end());
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
            if (last > first && !rows_agree(x, sorted[first].second, row)) {
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
