/// The tree of merges as HDBSCAN reads it: a split of which one side is small lets the rows of that side leave.
#pragma once

#include <vector>

#include "qed/machine/matrix.hpp"

namespace qed {

/// One entry for each row, and for each cluster but the first: which cluster it leaves, at which density, and how many
/// rows it holds. Clusters are numbered from `rows` on; the first holds all.
struct Condensed {
    std::vector<Index> parent;
    std::vector<Index> child;
    std::vector<Index> size;
    std::vector<double> density;
};

/// `children` (rows - 1, 2) are the merges, numbered from `rows` on, each after those that it joins; `density` is one
/// number a merge; sides of fewer than `least` rows are small.
Condensed condense(const Index* children, const double* density, Index rows, Index least);

}  // namespace qed
