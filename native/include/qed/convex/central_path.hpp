/// The central path of a problem with kinks on a small table: Newton's method towards it and along it.
///
/// The list has one entry for each kink: `copies` for each row of the table, then one for each coefficient in `kinked`.
/// With t - kink = above - below and a dual variable u between low and high, optimality is above (high - u) = 0,
/// below (u - low) = 0, and Σ weight u (row of the table) + slope of what is smooth = 0; the path asks both products to
/// equal a small number instead. Layout: everything is contiguous doubles; the table is row-major, its last column the
/// intercept's (ones, or zeros without one). Determinism: see product.hpp and fold.hpp; the rest is one thread.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct PathIn {
    const double* table;  ///< rows × columns
    Index rows;
    Index columns;
    Index copies;
    const Index* kinked;
    Index kinks;           ///< how many there are in `kinked`
    const double* weight;  ///< these four: rows × copies + kinks numbers
    const double* kink;
    const double* low;
    const double* high;
    const double* curvature;  ///< these three: one number a column
    const double* pull;
    const double* size;
    bool has_intercept;
    double spread;  ///< what slopes are charged with in the distance from the optimum
};

struct PathState {
    double* w;      ///< one number a column, the intercept last
    double* above;  ///< these three: a number for each entry of the list
    double* below;
    double* u;
};

struct PathDone {
    double distance;
    Index steps;
    bool is_over;  ///< whether rounding allows no further step
};

/// Goes along the path until the distance from the optimum is within `until`, for `most` steps at most.
PathDone follow_path(const PathIn& in, double until, Index most, PathState& state);

}  // namespace qed
