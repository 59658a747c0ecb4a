/// Coordinate descent: a quadratic plus a penalty that takes coordinates, or rows of coordinates, one at a time.
///
/// The penalty of a coordinate is given by its slopes on both sides of zero, low <= 0 <= high (low may be -infinity,
/// which keeps the coordinate nonnegative), plus ridge / 2 w². Between full sweeps the face of the current signs is
/// searched directly (a Newton step from a Cholesky factor, or conjugate gradients), which makes hard problems end.
/// Determinism: one sweep is one thread; what runs in threads writes to places of its own. Interrupts are polled
/// between sweeps.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct Kinks {
    const double* low;
    const double* high;
    double ridge;
};

/// ½ wᵀQw - qᵀw + constant, never negative. `gram` is symmetric, row-major with a stride; `linear` is size × targets.
struct Quadratic {
    const double* gram;
    Index stride;
    Index size;
    const double* linear;
    double constant;
};

/// Qw - q, without what rounding has added up on the way to w.
void gradient_of(const Quadratic& quadratic, const double* w, double* gradient) noexcept;

/// When to stop: at a duality gap of the quadratic problem, or after so many sweeps.
struct Goal {
    double target;
    Index most;
};

struct DescentResult {
    Index sweeps;
    double gap;
};

/// Minimises quadratic plus penalty from w on. `gradient` receives Qw - q (without the ridge).
DescentResult descend_gram(const Quadratic& quadratic, const Kinks& penalty, const Goal& goal, double* w,
                           double* gradient);

/// Several such problems, in threads, for w that are near. Without a ridge they are solved from face to face, with a
/// factor that belongs to one of them and is kept until the next strength; with one they are swept.
class FaceFactor;
struct GramTask {
    Quadratic quadratic;
    Kinks penalty;
    Goal goal;
    double* w;
    double* gradient;
    bool knows_gradient;  ///< whether `gradient` is there at the start already, for all coordinates
    FaceFactor* factor;
    DescentResult done;
};
void descend_grams(GramTask* tasks, Index count);

/// The same for w of size × targets, each coordinate penalised by itself (the same kinks for all targets of a row).
DescentResult descend_targets(const Quadratic& quadratic, Index targets, const Kinks& penalty, const Goal& goal,
                              double* w, double* gradient);

/// The same with the penalty Σ strength |w_j| of the rows' lengths, plus the ridge.
struct RowLengths {
    const double* strength;
    double ridge;
};
DescentResult descend_rows(const Quadratic& quadratic, Index targets, const RowLengths& penalty, const Goal& goal,
                           double* w, double* gradient);

/// Columns of a least-squares problem, centred and scaled by the roots of the weights; `count` columns of `rows`.
struct DenseColumns {
    const double* data;  ///< column after column
    Index rows;
    Index count;
};
/// The same, compressed: entry e of column j is values[e] - centre[j] root[row] everywhere, stored where values are.
struct SparseColumns {
    const Index* starts;
    const Index* indices;
    const double* values;
    const double* centre;
    const double* root;
    Index rows;
    Index count;
};

/// Minimises ½ |residual + A (w - w at the start)|² plus penalty; `residual` follows, `gradient` is Aᵀ residual.
DescentResult descend_columns(const DenseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                              double* residual, double* gradient);
DescentResult descend_columns(const SparseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                              double* residual, double* gradient);

}  // namespace qed
