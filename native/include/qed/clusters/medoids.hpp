/// Rows that stand for groups: medoids, exchanged for other rows as long as that brings rows nearer (FasterPAM). Where each
/// row has a fee for being one, medoids also come and go alone, and the fees are part of the cost.
///
/// Candidates are judged in blocks of fixed size, each against all medoids at once; the best of a block is taken. So the
/// result does not depend on the number of threads.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct MedoidsIn {
    const double* distances;  ///< rows × rows; entry (i, j) is the distance of row j from medoid i
    const double* weight;     ///< one number a row, or null
    const double* fee;        ///< one number a row, not negative; or null, and the number of medoids stays
    Index rows;
    Index count;
    Index most;  ///< exchanges at most
};

/// medoids: read and written; `count` of them, with fees room for all rows. cost[t]: the weighted sum of distances to the
/// nearest medoid and the fees, before and after each exchange. Returns the number of exchanges; `done` tells that no
/// exchange lowers the cost.
struct MedoidsOut {
    Index* medoids;
    Index count;
    Index* label;
    double* cost;
    bool done;
};
Index swap_medoids(const MedoidsIn& in, MedoidsOut& out);

}  // namespace qed
