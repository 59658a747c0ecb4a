/// Many planes, each for some classes against others: ½|w|² + strength Σ ℓ(y, (x - shift) w + b).
///
/// Layout: rows are row-major and sorted by class, so that a class is a stretch of them; a book names the side of each class in
/// each problem: +1, -1, or 0 for rows left out.
/// Newton's method on the passes of glm.hpp. The objective has a curvature of at least one by w, whatever the loss; an
/// intercept is balanced by multiplying the slopes of the heavier sign, which a proof may do.
/// Determinism: a problem is one block, and does not see the others.
#pragma once

#include <cstdint>

#include "qed/convex/loss.hpp"
#include "qed/machine/matrix.hpp"

namespace qed {

struct CodedRows {
    const double* x;  ///< rows x columns
    Index columns;
    const std::int64_t* starts;  ///< classes + 1
    Index classes;
};

struct CodedModel {
    LossKind kind;
    double bend;          ///< largest curvature of the loss of a row
    double strength;      ///< what losses are multiplied by
    const double* shift;  ///< one number for each column, never null
    bool has_intercept;   ///< whether b is free; without penalty
};

/// What is known of a plane: `gap` bounds how far the objective is above the least one, `rounding` included.
struct CodedPlane {
    double objective;
    double gap;
    double rounding;
    Index steps;
};

/// `book` is problems x classes; w, problems x columns, and b hold coefficients and intercepts to start from, then those found.
/// A problem is solved when its gap is within its target.
void coded_planes(const CodedRows& rows, const CodedModel& model, Index problems, const std::int8_t* book,
                  const double* target, Index most, double* w, double* b, CodedPlane* found);

}  // namespace qed
