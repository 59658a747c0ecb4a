/// Dual coordinate ascent for Σ c ℓ(t) + α/2 |w|², one dual variable a row.
///
/// With u the dual variables and m a centre, w = -(1/α) Σ c u (x - m) and t = (x - m) w + b. One step changes one u so that
/// the dual is largest along it, and w with it: a row is read twice, nothing else. The centre is never subtracted from a
/// row: w is kept as `w` - `drift` m, so that a step costs as much as without one.
///
/// Determinism: one thread; the order of rows is drawn from the seed.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

enum class DualLoss : std::uint8_t {
    pieces,    ///< ℓ*(u) = bend u²/2 + kink u + width |u| between low and high
    logistic,  ///< log(1 + exp(-y t)), y = kink
};

/// One loss for each row.
struct DualLosses {
    DualLoss kind;
    const double* kink;
    const double* low;
    const double* high;
    double bend;
    double width;
};

/// Rows as they are multiplied; arrays of one number for each row.
struct DualRows {
    const double* weight;   ///< c
    const double* squares;  ///< |x - m|²
    const double* along;    ///< x m
    double centre_square;   ///< m m
    double alpha;
    double give;  ///< how far the intercept follows: b = base - give Σ c u; zero without an intercept
};

/// What changes.
struct DualState {
    double* u;
    double* w;
    Index* order;      ///< a permutation; the first `active` rows are visited
    Index active;
    double drift;      ///< Σ of the steps of w along x
    double along;      ///< m w of the kept part
    double base;
    double sum;        ///< Σ c u
    double threshold;  ///< rows at an end of their interval are left out beyond this slope
    double largest;    ///< largest slope seen in the last pass
    double gap;        ///< Σ c excess over the rows visited in the last pass, each as it was found
    std::uint64_t seed;
};

/// Visits the active rows `passes` times. Dense rows must be contiguous: column_stride 1.
void dual_ascent(const Matrix& x, const DualLosses& losses, const DualRows& rows, DualState& state, int passes);
void dual_ascent(const SparseRows& x, const DualLosses& losses, const DualRows& rows, DualState& state, int passes);

/// The same for the hinge of several classes, max_k(t_k + [k != y]) - t_y: k dual variables a row, v = u + e_y a row of
/// probabilities. A step projects v + (t + 1 - e_y) / q onto the simplex, which is exact. `u` is row-major, (rows, classes);
/// `w` is (classes, columns). There is no centre and no intercept.
struct ClassRows {
    const double* label;    ///< numbers of the classes
    const double* weight;   ///< c
    const double* squares;  ///< |x|²
    double alpha;
    Index classes;
};
struct ClassState {
    double* u;
    double* w;
    Index* order;
    Index active;
    double threshold;  ///< rows whose label leads by more than this beyond its margin are left out
    double largest;    ///< largest shortfall seen in the last pass
    double gap;        ///< Σ c excess over the rows visited in the last pass
    std::uint64_t seed;
};
void class_ascent(const Matrix& x, const ClassRows& rows, ClassState& state, int passes);
void class_ascent(const SparseRows& x, const ClassRows& rows, ClassState& state, int passes);

}  // namespace qed
