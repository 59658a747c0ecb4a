/// Support vector machines in one call: planes and the proof of each, on dense tables of few columns and on sparse tables.
///
/// Minimises ½ |w|² + Σ c ℓ(x w) (or |w|₁ in place of the squares) for one row of targets after the other. The proof is made
/// afresh from w and dual variables: what separates them, row by row and coefficient by coefficient, never negative, plus
/// a bound on the rounding of every product and sum in it.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

enum class PlaneLoss : std::uint8_t {
    hinge,          ///< max(0, 1 - y t)
    squared_hinge,  ///< ½ max(0, 1 - y t)²
    tube,           ///< max(0, |t - y| - width)
    squared_tube,   ///< ½ max(0, |t - y| - width)²
};

struct PlanesIn {
    const double* y;  ///< planes × rows: targets, or sides of -1 and 1
    const double* c;  ///< weights > 0
    Index planes;
    PlaneLoss loss;
    double width;     ///< of a tube, else zero
    bool has_kinks;   ///< whether absolute values are penalised, for losses with squares
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

/// A sparse table with one more column, all of whose entries are `constant`; zero for none.
struct EndedRows {
    SparseRows x;
    double constant;

    [[nodiscard]] Index columns() const noexcept { return x.columns + (constant != 0.0 ? 1 : 0); }
};

/// `x` is float64 with contiguous rows. `w` is planes × columns, `u` planes × rows: dual variables, slopes of the losses.
void find_planes(const Matrix& x, const PlanesIn& in, double* w, double* u, PlaneDone* found);
/// The same; gives up, with the gap that it has then, where this would take long.
void find_planes(const EndedRows& x, const PlanesIn& in, double* w, double* u, PlaneDone* found);

}  // namespace qed
