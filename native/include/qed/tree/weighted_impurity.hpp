#pragma once

#include <algorithm>
#include <cmath>

#include "qed/tree/columns.hpp"
#include "qed/tree/rows.hpp"

/// Impurities of nodes times their weights, from sums of targets: what a tree leaves is the sum over its leaves.
namespace qed {

/// Weight times impurity, from sums. Never negative. With kWidth of zero the width is known at run time alone.
template <Criterion kCriterion, Index kWidth>
double mass_of(const double* sums, Index any_width) noexcept {
    const Index width = kWidth > 0 ? kWidth : any_width;
    if constexpr (kCriterion == Criterion::squared) {
        double means = 0.0;
        for (Index k = 1; k + 1 < width; ++k) {
            means += sums[k] * sums[k];
        }
        return sums[0] > 0.0 ? std::max(sums[width - 1] - means / sums[0], 0.0) : 0.0;
    }
    double weight = 0.0;
    double terms = 0.0;
    for (Index k = 0; k < width; ++k) {
        weight += sums[k];
        terms = std::max(terms, sums[k]);
    }
    if constexpr (kCriterion != Criterion::misclassification) {
        terms = 0.0;
        for (Index k = 0; k < width && weight > 0.0; ++k) {
            if constexpr (kCriterion == Criterion::gini) {
                terms += sums[k] * sums[k] / weight;
            } else if (sums[k] > 0.0) {
                terms += sums[k] * (1.0 + std::log2(sums[k] / weight));
            }
        }
    }
    return std::max(weight - terms, 0.0);
}

/// Calls work with the criterion and, where it is small, the width as constants.
template <class Work>
auto with_criterion(Criterion criterion, Index width, const Work& work) {
    const auto with_width = [&]<Criterion kCriterion>() {
        switch (width) {
            case 2:
                return work.template operator()<kCriterion, 2>();
            case 3:
                return work.template operator()<kCriterion, 3>();
            default:
                return work.template operator()<kCriterion, 0>();
        }
    };
    switch (criterion) {
        case Criterion::gini:
            return with_width.template operator()<Criterion::gini>();
        case Criterion::entropy:
            return with_width.template operator()<Criterion::entropy>();
        case Criterion::misclassification:
            return with_width.template operator()<Criterion::misclassification>();
        default:
            return with_width.template operator()<Criterion::squared>();
    }
}

}  // namespace qed
