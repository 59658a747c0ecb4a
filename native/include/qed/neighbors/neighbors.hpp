/// Nearest rows, exactly: by a tree of boxes in few columns, by a scan of all rows in many.
///
/// Order: nearest first, equal distances by the number of the row. The answer is a set of rows and nothing else, so it
/// does not depend on the way of the search or on the number of threads.
/// Ownership: the caller owns everything; an index is arrays that `arrange` writes once and searches read.
#pragma once

#include <vector>

#include "qed/dense/rows_by_8.hpp"

namespace qed {

/// Rows in octets, and boxes around them. A node has up to eight children, each with its box: `child` names another
/// node, ~octet, or kNoChild. The first node is the root; without nodes every search is a scan.
struct NeighborIndex {
    const double* octets;  // (octet_count, columns, 8)
    const Index* ids;      // (octet_count, 8)
    Index rows;
    Index columns;
    Index octet_count;
    const double* boxes;    // (node_count, 2, columns, 8): low ends, then high ends
    const Index* children;  // (node_count, 8)
    Index node_count;
};
inline constexpr Index kNoChild = -(Index{1} << 62);

struct Boxes {
    std::vector<double> ends;
    std::vector<Index> children;
};

/// Puts rows (row-major, contiguous) into octets. With `boxes` rows that are near one another share an octet: ranges are
/// halved at the median of the column in which they are widest; without, they keep their order.
void arrange(const double* x, Index rows, Index columns, double* octets, Index* ids, Boxes* boxes);

struct Measure {
    Metric metric;
    Exponent power;
};

/// distance[i, :] and id[i, :]: the k nearest rows of query i. With `others` query i is row i, and is left out.
/// Returns the octets looked at, for those who wonder what a tree saves.
Index nearest(const NeighborIndex& index, const double* queries, Index count, Index k, const Measure& measure, bool others,
              double* distance, Index* id);

/// All rows within a radius of each query, nearest first; their numbers go to `found`, one list a query.
struct Near {
    double distance;
    Index id;
};
void within(const NeighborIndex& index, const double* queries, Index count, double radius, const Measure& measure,
            bool others, std::vector<Near>* found);

}  // namespace qed
