/// Working columns of several folds: their weighted products as columns come, and residuals as coefficients change.
///
/// Layout: columns are contiguous, one after the other; rows that count in a fold come first. Determinism: the work is cut
/// into tiles of columns and blocks of rows by shape alone, and every entry is summed by one thread in one order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// A fold whose columns from `old` on are fresh. `weighted` holds them times the weights, `counted` rows each.
struct FreshColumns {
    const double* columns;
    Index rows;
    Index counted;
    Index old;
    Index count;
    const double* weighted;
    double* products;  ///< symmetric, row-major; rows and columns from `old` to `count` are written
    Index stride;
};
void extend_products(const FreshColumns* folds, Index count);

/// residual[order[i]] = target[i] - Σ w_j column_j[i], for entries `step` apart.
struct FoldResidual {
    const double* columns;
    Index rows;
    Index count;
    const double* w;
    const double* target;
    const Index* order;
    double* residual;
    Index step;
};
void make_residuals(const FoldResidual* folds, Index count);

}  // namespace qed
