/// Losses that compiled loops know: value, slope and second derivative of the score of a row.
///
/// Layout: scores and slopes are row-major, one row of `classes` numbers for the softmax; everything else is a vector of
/// one number for each row. Determinism: rows do not depend on one another, and each is computed alike wherever it lies.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

enum class LossKind { logistic, poisson, squared, squared_hinge, hinge, softmax };

/// Scores t and targets y of `rows` rows; `classes` is one unless the loss is the softmax.
struct LossRows {
    LossKind kind;
    const double* t;
    const double* y;
    Index rows;
    Index classes = 1;
};

/// Each may be null. Slope and bend have the shape of t; the bend of a softmax is the diagonal.
struct LossOut {
    double* value = nullptr;
    double* slope = nullptr;
    double* bend = nullptr;
};
void loss_rows(const LossRows& in, const LossOut& out);

/// What separates scores and dual variables u, of the shape of t, from equality in Fenchel and Young's inequality.
void loss_excess(const LossRows& in, const double* u, double* out);

/// Σ c ℓ of a loss of one score a row; with `is_constant` t is a single score, the same for all rows.
double loss_mean(const LossRows& in, const double* c, bool is_constant);

/// A dual variable for each row, `times` numbers that somebody has noted; what leaves the domain is moved to its edge.
struct Given {
    const float* numbers = nullptr;  ///< null for none
    double times = 1.0;
};

/// Slopes whose signs are multiplied apart, so that an intercept is balanced, and what a proof asks of the result.
///
/// u = slope times `up` where it is positive, `down` elsewhere, plus the same of dual variables that are given. `sums` holds
/// Σ c max(u, 0), Σ c max(-u, 0), Σ c u², Σ c excess(t, u) and Σ c (slope - u)². Rounding: at most kSideTerms units of 2^-53
/// of the sum of absolute terms.
struct Sides {
    const double* c;
    const double* slope;
    double up;
    double down;
    Given given = {};
    double given_up = 0.0;
    double given_down = 0.0;
};
inline constexpr Index kSideTerms = 128;
inline constexpr Index kSideSums = 5;
void scale_sides(const LossRows& in, const Sides& sides, double* u, double* sums);

}  // namespace qed
