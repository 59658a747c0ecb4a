/// Layout of a weighted graph by sampled attraction and repulsion, as UMAP has it.
///
/// Layout: points are n x d, row after row. Determinism: edges are met in classes without a common end, class after class; random
/// numbers depend on seed, epoch and edge alone, and points that push are looked at as they were when the epoch began.
#pragma once

#include <cstdint>

#include "qed/manifold/graph.hpp"

namespace qed {

/// Membership of two points at distance r is 1 / (1 + a r^(2b)).
struct UmapCurve {
    double a = 1.0;
    double b = 1.0;
};

struct UmapRule {
    UmapCurve curve;
    double repulsion = 1.0;   // factor of what pushes
    Index negatives = 5;      // points drawn to push away for each one that pulls
    double learning_rate = 1.0;
    Index epochs = 200;       // of the whole layout: the rate falls evenly to zero
    std::uint64_t seed = 0;
};

/// Epochs first … last - 1, in single precision. The numbers of the graph are weights relative to the heaviest; an edge of
/// weight w is met in every 1/w-th epoch. Without `fixed` the graph holds each edge in both directions, and its two ends move
/// towards each other twice, once for each; else `y` moves among `fixed`, m points that the edges and the random draws name.
void umap_epochs(const Graph& graph, Index d, double* y, const double* fixed, Index m, const UmapRule& rule, Index first,
                 Index last);

/// What the layout lowers in the mean over its random draws, added up over `rows`: for each, the sum over edges of
/// -w log(q), and over all other points of -log(1 - q) times repulsion * (sum of w) / (2 n): as often as they are drawn. q is the
/// membership, squared distances raised by 0.001.
double umap_cross_entropy(const Graph& graph, Index d, const double* y, const UmapCurve& curve, double repulsion,
                          const Index* rows, Index count);

}  // namespace qed
