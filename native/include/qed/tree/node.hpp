/// What a node predicts and how mixed it is.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/tree/tree.hpp"

namespace qed {

/// Rows side by side: weights (null for ones), and classes or numbers.
struct NodeRows {
    Index count;
    const double* weights;
    const std::uint32_t* codes;
    const double* numbers;
};

struct NodeSummary {
    double weight;
    double scale;  ///< weight times impurity, in units of gains
    bool is_pure;
};

/// Fills `values`, width of them: weights of the classes, or what the node predicts. `order`, where not null, is given
/// the rank of each number (absolute errors alone), and `sorted` the numbers in that order.
NodeSummary summarise(const TreeTargets& y, const NodeRows& rows, double* values, std::uint32_t* order, double* sorted);

/// (1 + r) log(1 + r) - r: half the Poisson deviance of a number from a mean of one that it exceeds by r. Never
/// negative.
double deviance_of(double r) noexcept;

/// What gains and scales are multiplied by to become impurities of the criterion's own units.
double unit_of(const TreeTargets& y) noexcept;

}  // namespace qed
