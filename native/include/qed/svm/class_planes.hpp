/// The planes of several classes in one objective (Crammer and Singer), and their proof, in one call.
///
/// Minimises ½ Σ |w_k|² + Σ c max_k(x w_k + [k != y] - x w_y) by dual ascent, one row at a time; once that has found which
/// classes compete for which rows, conjugate gradients solve for all of their dual variables at once. The proof is made afresh
/// from w and dual variables: see planes.hpp.
#pragma once

#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"
#include "qed/svm/planes.hpp"

namespace qed {

struct ClassPlanesIn {
    const double* label;  ///< numbers of the classes
    const double* c;      ///< weights > 0
    Index classes;
    double tol;           ///< the gap asked for, relative to the objective without coefficients
    Index most;           ///< passes
};

/// `w` is classes × columns, `u` rows × classes: slopes of the losses. Dense rows must be contiguous. Gives up, with the gap
/// that it has then, where this would take long.
PlaneDone find_class_planes(const Matrix& x, const ClassPlanesIn& in, double* w, double* u);
PlaneDone find_class_planes(const SparseRows& x, const ClassPlanesIn& in, double* w, double* u);

}  // namespace qed
