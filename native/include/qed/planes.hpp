/// Support vector machines on tables of few columns: planes and the proof of each, in one call.
///
/// Minimises ½ |w|² + Σ c ℓ(x w) (or |w|₁ in place of the squares) for one row of targets after the other. The proof is made
/// afresh from w and dual variables: what separates them, row by row and coefficient by coefficient, never negative, plus
/// a bound on the rounding of every product and sum in it.
#pragma once

#include <cstdint>

#include "qed/matrix.hpp"

namespace qed {

enum class PlaneLoss : std::uint8_t {
    hinge,          ///< max(0, 1 - y t)
    squared_hinge,  ///< ½ max(0, 1 - y t)²
    tube,           ///< max(0, |t - y| - width)
    squared_tube,   ///< ½ max(0, |t - y| - width)²
};

struct PlanesIn {
    Matrix x;         ///< float64, rows contiguous
    const double* y;  ///< planes × rows: targets, or sides of -1 and 1
    const double* c;  ///< weights > 0
    Index planes;
    PlaneLoss loss;
    double width;     ///< of a tube, else zero
    bool is_sparse;   ///< whether absolute values are penalised, for losses with squares
    double tol;       ///< the gap asked for, relative to the objective without coefficients
    Index most;       ///< steps for each plane
};

/// What is proved of one plane.
struct PlaneDone {
    double objective;
    double gap;       ///< rounding included
    double rounding;
    double null;      ///< objective without coefficients
    Index steps;
};

/// `w` is planes × columns, `u` planes × rows: dual variables, slopes of the losses.
void find_planes(const PlanesIn& in, double* w, double* u, PlaneDone* found);

}  // namespace qed
