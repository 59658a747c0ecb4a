#include "qed/tree/node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "qed/dense/numbers.hpp"

namespace qed {
namespace {

double xlogx(double x) noexcept {
    return x > 0.0 ? x * std::log(x) : 0.0;
}

NodeSummary of_classes(const TreeTargets& y, const NodeRows& rows, double* values) noexcept {
    std::fill_n(values, y.width, 0.0);
    bool is_pure = true;
    if (rows.weights == nullptr && y.width == 2) {  // whole numbers, of which one is enough
        Index ones = 0;
        for (Index i = 0; i < rows.count; ++i) {
            ones += static_cast<Index>(rows.codes[i]);
        }
        values[0] = static_cast<double>(rows.count - ones);
        values[1] = static_cast<double>(ones);
        is_pure = ones == 0 || ones == rows.count;
    } else {
        for (Index i = 0; i < rows.count; ++i) {
            values[rows.codes[i]] += rows.weights != nullptr ? rows.weights[i] : 1.0;
            is_pure = is_pure && rows.codes[i] == rows.codes[0];
        }
    }
    double weight = 0.0;
    for (Index k = 0; k < y.width; ++k) {
        weight += values[k];
    }
    double terms = 0.0;
    for (Index k = 0; k < y.width; ++k) {
        if (y.criterion == Criterion::misclassification) {
            terms = std::max(terms, values[k]);
        } else {
            terms += y.criterion == Criterion::gini ? values[k] * values[k] : -weight * xlogx(values[k] / weight);
        }
    }
    const double scale = y.criterion == Criterion::entropy
                             ? terms
                             : weight - (y.criterion == Criterion::gini ? terms / weight : terms);
    return {weight, is_pure ? 0.0 : std::max(scale, 0.0) / (y.criterion == Criterion::gini && y.width == 2 ? 2.0 : 1.0),
            is_pure};
}

/// Means are taken about the first row: equal numbers have exactly themselves as their mean.
NodeSummary of_means(const TreeTargets& y, const NodeRows& rows, double* values) noexcept {
    const Index width = y.width;
    std::fill_n(values, width, 0.0);
    double weight = 0.0;
    bool is_pure = true;
    for (Index i = 0; i < rows.count; ++i) {
        const double w = rows.weights != nullptr ? rows.weights[i] : 1.0;
        weight += w;
        for (Index k = 0; k < width; ++k) {
            const double apart = rows.numbers[i * width + k] - rows.numbers[k];
            values[k] += w * apart;
            is_pure = is_pure && apart == 0.0;
        }
    }
    for (Index k = 0; k < width; ++k) {
        values[k] = rows.numbers[k] + values[k] / weight;
    }
    double scale = 0.0;
    for (Index k = 0; k < width && !is_pure; ++k) {
        const double value = values[k];
        double off = 0.0;  // what the rounding of the mean leaves, which is no impurity
        for (Index i = 0; i < rows.count; ++i) {
            const double w = rows.weights != nullptr ? rows.weights[i] : 1.0;
            const double apart = rows.numbers[i * width + k] - value;
            off += w * apart;
            scale += w * (y.criterion == Criterion::squared ? apart * apart : value * deviance_of(apart / value));
        }
        off /= weight;
        scale -= weight * (y.criterion == Criterion::squared ? off * off : value * deviance_of(off / value));
    }
    return {weight, std::max(scale, 0.0), is_pure};
}

NodeSummary of_median(const NodeRows& rows, double* values, std::uint32_t* order, double* sorted) {
    std::vector<std::uint32_t> by_number(at(rows.count));
    for (Index i = 0; i < rows.count; ++i) {
        by_number[at(i)] = static_cast<std::uint32_t>(i);
    }
    std::stable_sort(by_number.begin(), by_number.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rows.numbers[a] < rows.numbers[b]; });
    const auto weight_of = [&](Index rank) {
        return rows.weights != nullptr ? rows.weights[by_number[at(rank)]] : 1.0;
    };
    const auto number_of = [&](Index rank) { return rows.numbers[by_number[at(rank)]]; };
    double weight = 0.0;
    for (Index rank = 0; rank < rows.count; ++rank) {
        weight += weight_of(rank);
        if (order != nullptr) {
            order[by_number[at(rank)]] = static_cast<std::uint32_t>(rank);
            sorted[rank] = number_of(rank);
        }
    }
    // halves whose sums differ by their rounding alone are equal, whatever unit the weights have
    const double half = weight / 2.0;
    const double slack = static_cast<double>(rows.count + 16) * std::numeric_limits<double>::epsilon() * weight;
    double below = 0.0;
    Index rank = 0;
    for (; rank < rows.count - 1; ++rank) {
        below += weight_of(rank);
        if (below >= half - slack) {
            break;
        }
    }
    // where halves of the weight lie on both sides, the middle between them is as good and fairer
    const bool is_even = rank < rows.count - 1 && std::abs(below - half) <= slack;
    values[0] = is_even ? number_of(rank) / 2.0 + number_of(rank + 1) / 2.0 : number_of(rank);
    double scale = 0.0;
    for (Index i = 0; i < rows.count; ++i) {
        scale += weight_of(i) * std::abs(number_of(i) - values[0]);
    }
    return {weight, scale, number_of(0) == number_of(rows.count - 1)};
}

}  // namespace

NodeSummary summarise(const TreeTargets& y, const NodeRows& rows, double* values, std::uint32_t* order,
                      double* sorted) {
    if (y.codes != nullptr) {
        return of_classes(y, rows, values);
    }
    return y.criterion == Criterion::absolute ? of_median(rows, values, order, sorted) : of_means(y, rows, values);
}

double deviance_of(double r) noexcept {
    if (std::abs(r) > 0.1) {
        return r > -1.0 ? std::max((1.0 + r) * std::log1p(r) - r, 0.0) : 1.0;
    }
    double sum = 0.0;  // the series, from its end: nothing cancels
    for (double k = 17.0; k >= 2.0; k -= 1.0) {
        sum = 1.0 / (k * (k - 1.0)) - r * sum;
    }
    return r * r * sum;
}

double unit_of(const TreeTargets& y) noexcept {
    switch (y.criterion) {
        case Criterion::gini:
            return y.width == 2 ? 2.0 : 1.0;
        case Criterion::entropy:
            return 1.0 / std::numbers::ln2;
        case Criterion::squared:
            return 1.0 / static_cast<double>(y.width);
        default:
            return 1.0;
    }
}

}  // namespace qed
