/// Gradient descent of t-SNE.
///
/// Layout: points, velocities and gains are n x d, row after row. Similarities p are a symmetric graph whose numbers add up to
/// one. Determinism: every point sums its own forces in a fixed order; the normaliser is merged block after block.
#pragma once

#include "qed/manifold/graph.hpp"

namespace qed {

/// How points push each other away: by all pairs in double precision where `angle` is zero; else in single precision. Points
/// that lie in a box whose diagonal is shorter than `angle` times its distance push as one; boxes need d <= 3. With `by_grid`
/// they push through the nodes of a grid, wherever that costs less; grids need d <= 2.
struct TsnePush {
    double angle = 0.5;
    bool by_grid = false;
};

struct TsneRule {
    double exaggeration = 1.0;  // factor of p
    double momentum = 0.8;
    double learning_rate = 200.0;
    TsnePush push;
};

struct TsneValue {
    double divergence = 0.0;     // Kullback-Leibler, of p without exaggeration
    double gradient_norm = 0.0;  // of the gradient with it
};

/// So many steps. Gains grow by 0.2 where gradient and velocity point apart, and shrink by 0.8 elsewhere, to 0.01 at least.
/// Returns the value before the last step.
TsneValue tsne_steps(const Graph& p, Index d, double* y, double* velocity, double* gains, const TsneRule& rule, Index steps);

/// The sum over i in `rows` and all j of (1 + |y_i - y_j|^2 / f)^(-(f + 1) / 2), f the degrees of freedom, pairs of a point with
/// itself left out.
double student_sum(const double* y, Index n, Index d, const Index* rows, Index count);

/// The value at points, and the gradient.
TsneValue tsne_gradient(const Graph& p, Index d, const double* y, const TsnePush& push, double* gradient);

}  // namespace qed
