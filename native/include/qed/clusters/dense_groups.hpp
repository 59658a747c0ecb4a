/// Rows with many others near them, joined where they are near each other: DBSCAN, in linear memory.
///
/// A row is *core* if the rows within a radius of it, itself included, weigh at least so much. Core rows within the radius
/// of each other are in one group; other rows join the first group that a core row within the radius belongs to, or none.
/// Determinism: groups are sets, numbered by their first core row; the order of joins does not matter.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

struct DenseGroupsIn {
    double radius;
    double least;         ///< weight within the radius that makes a row core
    const double* weight;  ///< one number a row, or null for ones
};

/// label[i]: the group of row i, or -1; core[i]: whether it is core.
void dense_groups(const NeighborIndex& index, const double* x, const Measure& measure, const DenseGroupsIn& in,
                  Index* label, bool* core);

}  // namespace qed
