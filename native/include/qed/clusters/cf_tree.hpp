/// Rows that are put, one after the other, into a tree of clustering features: BIRCH.
///
/// A feature is how many rows a subcluster has, their mean, and the sum of their squared distances to it: what two of them
/// have together follows from both. A row goes down to the nearest mean, joins the subcluster there if its root mean
/// square distance to the mean stays within the threshold, and begins a new one otherwise. A node with too many entries
/// is split between the two that are farthest apart.
/// Layout: subclusters are numbered in the order in which they began. Determinism: one row after the other, one thread.
#pragma once

#include <vector>

#include "qed/machine/matrix.hpp"

namespace qed {

/// Subclusters, and the tree above them: entries of node v are `children[starts[v]]` up to `children[starts[v + 1]]`, the
/// number of another node or ~ that of a subcluster; the first node is the root.
struct CfTree {
    std::vector<double> means;  ///< subclusters × columns
    std::vector<double> weights;
    std::vector<double> squares;
    std::vector<Index> starts;
    std::vector<Index> children;
};

/// Adds rows; `place[i]` is the subcluster that row i joined or began.
void grow_cf_tree(CfTree& tree, const double* x, Index rows, Index columns, double threshold, Index branching,
                  Index* place);

}  // namespace qed
