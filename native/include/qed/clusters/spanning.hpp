/// Rows one after the other, each the nearest to those before it: Prim's algorithm without a matrix.
///
/// The distance of row i, reached, and row j, not yet reached, is the largest of their distance, from[i] and to[j]. With
/// neither this is a minimum spanning tree (single linkage), with both that of mutual reachability (HDBSCAN), with `from`
/// alone the order of OPTICS. Rows beyond the limit are not reached; the next of them by number then begins anew.
/// Determinism: of equally near rows the first by number comes next.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

struct SpanningIn {
    const double* from;  ///< one number a row, or null; infinite for rows that nothing is reached from
    const double* to;    ///< one number a row, or null
    double limit;        ///< distances beyond it do not count
};

/// order[t]: the t-th row; parent[row] and distance[row]: from which row it was reached, -1 if from none, and how far.
struct SpanningOut {
    Index* order;
    Index* parent;
    double* distance;
};
void span_rows(const NeighborIndex& index, const double* x, const Measure& measure, const SpanningIn& in,
               const SpanningOut& out);

/// The edges of a minimum spanning tree, rows - 1 of them, in no order.
struct SpanningEdges {
    Index* first;
    Index* second;
    double* distance;
};

/// Borůvka's algorithm on an index with boxes: in each round every component finds its nearest other one, and joins it.
/// Distances are those of mutual reachability with `core`, one number a row, or plain where it is null. A row keeps the
/// nearest row outside that it has found, until its component takes that in. Edges are ordered by length, then by rows,
/// so that the tree is the same whatever the number of threads.
void spanning_edges(const NeighborIndex& index, const double* x, const Measure& measure, const double* core,
                    const SpanningEdges& out);

}  // namespace qed
