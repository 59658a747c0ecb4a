/// Means of the rows within a radius of given points: one step of mean shift for many points at once.
///
/// Sums and counts of whole boxes are used where a box lies inside the ball, so that a step costs what the surface of the
/// ball costs, not its volume. Determinism: each point adds boxes and rows in the order of the tree.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

/// mean[q]: of the rows within the Euclidean radius of point q, the point itself where there is none; count[q]: how many.
void shift_means(const NeighborIndex& index, const double* points, Index count, double radius, double* mean,
                 Index* counts);

/// out[q]: the distance of query q to its k-th nearest row; the index has no tree.
void kth_distances(const NeighborIndex& index, const double* queries, Index count, Index k, double* out);

}  // namespace qed
