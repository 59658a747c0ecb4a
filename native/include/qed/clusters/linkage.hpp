/// Bottom-up clustering: the two nearest clusters become one, until one is left.
///
/// Each cluster remembers its nearest other one. A merge makes some of these out of date; they stay lower bounds, and are
/// found anew when their turn comes (Müllner's generic algorithm, which also holds for linkages whose heights may fall).
/// Merges therefore come in the order in which they happen.
///
/// Memory: rows of centroids for ward, centroid and median. Complete, average and weighted linkage measure from rows until
/// the square of the clusters that are left is half the square of the rows; then they keep one matrix.
/// Determinism: one order of sums, whatever the number of threads; of equal distances the first found counts.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

enum class Linkage : std::uint8_t { single, complete, average, weighted, ward, centroid, median };

/// One entry for each of rows - 1 merges: ids of the clusters (rows first, then merges in their order), the smaller first;
/// the height, and how many rows they hold together.
struct Merges {
    Index* first;
    Index* second;
    double* height;
    Index* size;
};

/// The nearest other row of each row, and how far it is: what merges begin with.
struct Nearest {
    const Index* id;
    const double* distance;
};

/// Ward, centroid, median: `x` is row-major, rows × columns, and not kept.
void link_centroids(const double* x, Index rows, Index columns, Linkage linkage, const Nearest& nearest,
                    const Merges& out);

/// Complete, average, weighted, of rows with a metric; the index keeps the order of the rows.
void link_rows(const NeighborIndex& index, const double* x, const Measure& measure, Linkage linkage,
               const Nearest& nearest, const Merges& out);

/// Of a symmetric matrix, which is written over: distances; their squares for ward, centroid and median.
void link_matrix(double* distances, Index rows, Linkage linkage, const Merges& out);

/// Single linkage of the edges of a tree, in the order given: children[2t] < children[2t + 1] are the clusters that edge t
/// joins.
void join_edges(const Index* first, const Index* second, Index edges, Index* children);

}  // namespace qed
