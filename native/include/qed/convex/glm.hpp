/// One pass over the rows of a smooth convex problem.
///
/// With scores t = (x - shift) w + b and weights c, one read of x gives the weighted loss, its slopes' sums by sign, the
/// gradient split in the same way (what a certificate needs to balance an intercept without a further pass), and, when
/// asked, the weighted second derivatives, or the same products of dual variables that are given beside the slopes.
/// Determinism and rounding: see fold.hpp.
#pragma once

#include "qed/convex/loss.hpp"
#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

struct GlmIn {
    LossKind kind;
    const double* y;
    const double* c;
    const double* w;
    double b;
    const double* shift;  ///< one number for each column, never null
    Given given = {};
};

inline constexpr Index kGlmSums = 6;
/// Sums of mixtures. With the parts v of a mixture, which are the positive and negative slopes, then the positive and negative
/// given variables: Σ c v of the given two, Σ c y v of all four, Σ c v² of all four, and Σ c of a slope times a given one, the
/// signs ++, +-, -+, --.
inline constexpr Index kGivenSums = 14;

/// `sums` holds Σ c ℓ, Σ c ℓ' over positive slopes, the same over negative ones, Σ c ℓ'', Σ c t², Σ c ℓ'². `rise` and `fall` are
/// (x - shift)ᵀ of c times the slopes of either sign. `scores`, `slopes`, `bend` (c times curvature, a row each) and
/// `hessian` (columns and a constant, (p + 1)², both triangles) may be null.
struct GlmOut {
    double* sums;
    double* rise;
    double* fall;
    double* scores = nullptr;
    double* slopes = nullptr;
    double* bend = nullptr;
    double* hessian = nullptr;
    double* given_sums = nullptr;  ///< these three are asked for exactly when dual variables are given
    double* given_rise = nullptr;
    double* given_fall = nullptr;
};

void glm_pass(const Matrix& x, const GlmIn& in, const GlmOut& out);

/// The same for several scores: t = (x - shift) w + b, one column of w for each class, or for each target.
struct ScoresIn {
    const double* y;  ///< numbers of the classes; or targets, row-major
    const double* c;
    const double* w;  ///< row-major, columns of x × classes
    const double* b;
    const double* shift;
    Index classes;
};

inline constexpr Index kScoresSums = 3;

/// `sums` holds Σ c ℓ and the weighted sums of squares of scores and of slopes. `gradient` is row-major, one row more than x
/// has columns: (x - shift)ᵀ of c times the slopes, then their sums. `scores` has a row for each of x.
struct ScoresOut {
    double* sums;
    double* gradient;
    double* scores;
};

void softmax_pass(const Matrix& x, const ScoresIn& in, const ScoresOut& out);
/// Half the squared distance of each score from its target.
void targets_pass(const Matrix& x, const ScoresIn& in, const ScoresOut& out);

/// Second derivatives of that loss times a change v of coefficients and, in its last row, of intercepts; `p` are the
/// probabilities of the classes, row-major. The result has the shape of v.
struct SoftmaxBend {
    const double* p;
    const double* c;
    const double* v;
    const double* shift;
    Index classes;
};

void softmax_curvature(const Matrix& x, const SoftmaxBend& in, double* out);

/// All of them, for few columns: `out` is square, classes × columns of x wide, class after class. The scores of a row matter up
/// to a constant, so that the blocks of a class add up to zero: those on the diagonal follow from the others, and nothing
/// cancels.
void softmax_hessian(const Matrix& x, const double* p, const double* c, Index classes, double* out);

/// The same for compressed rows; `hessian` must be null.
void glm_pass(const SparseRows& x, const GlmIn& in, const GlmOut& out);

/// out (p + 1 numbers) = [x - shift | 1]ᵀ diag(weight) [x - shift | 1] v.
void curvature_product(const Matrix& x, const double* weight, const double* shift, const double* v, double* out);
void curvature_product(const SparseRows& x, const double* weight, const double* shift, const double* v, double* out);

/// The largest Σ_j ((x - shift)_j scale_j)² of a row; zero without rows.
double longest_square(const Matrix& x, const double* shift, const double* scale);

}  // namespace qed
