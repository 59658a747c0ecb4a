/// Rows told apart by class: sums for each class, and distances from the centre of each.
///
/// Layout: codes hold the class of each row as a whole number in [0, classes), written as a double; tables of classes are
/// row-major, a row for each class. Determinism: blocks of rows are cut by shape alone and merged in order.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct ClassSums {
    const double* codes;
    Index classes;
    const double* s;      ///< weights, or null for ones
    const double* shift;  ///< classes x columns, or null for zeros
    bool squares;         ///< whether squares are wanted as well
};

/// out = Σ s (x - shift) for each class and column, then, if wanted, Σ s (x - shift)². Returns the longest chain of
/// additions behind one of them.
Index sum_classes(const Matrix& x, const ClassSums& with, double* out);

/// out(i, k) = Σ_j ((x(i, j) - centre(k, j)) scale(k, j))², summed in double.
void class_distances(const Matrix& x, Index classes, const double* centre, const double* scale, double* out);

}  // namespace qed
