/// How far neighbours in one space stand in the order of distances in another.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// The sum, over rows r and over the k columns that are nearest in `other`, of how far beyond place k the column stands in
/// `reference`. Both are m x n distances, row after row; own[r] is the column of row r itself, which is left out. Equal
/// distances: the lower column is nearer, and places are counted from one by the columns strictly nearer.
Index places_beyond(const double* reference, const double* other, const Index* own, Index m, Index n, Index k);

}  // namespace qed
