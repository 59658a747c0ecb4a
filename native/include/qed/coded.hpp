/// Many planes of squared hinges, each for some classes against others: ½|w|² + C Σ max(0, 1 - y x w)².
///
/// Layout: rows are row-major and sorted by class, so that a class is a stretch of them; a book names the side of each class in
/// each problem: +1, -1, or 0 for rows left out.
/// What problems share is found once: the products of the columns of each class. At w = 0 every row is short of its margin, so
/// that the first curvature of a problem is a sum of those; from then on only rows that cross their margin change it.
/// Determinism: a problem is one block, and does not see the others.
#pragma once

#include <cstdint>

#include "qed/matrix.hpp"

namespace qed {

struct CodedRows {
    const double* x;  ///< rows x columns
    Index columns;
    const std::int64_t* starts;  ///< classes + 1
    Index classes;
};

/// What is known of a plane: `gap` bounds how far the objective is above the least one, `rounding` included.
struct CodedPlane {
    double objective;
    double gap;
    double rounding;
    Index rows;
    Index steps;
};

/// `book` is problems x classes; w gets problems x columns.
void coded_planes(const CodedRows& rows, Index problems, const std::int8_t* book, double strength, double tol, Index most,
                  double* w, CodedPlane* found);

}  // namespace qed
