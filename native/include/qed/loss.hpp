/// Losses that compiled loops know: value, slope and second derivative of the score of a row.
///
/// Layout: scores and slopes are row-major, one row of `classes` numbers for the softmax; everything else is a vector of
/// one number for each row. Determinism: rows do not depend on one another, and each is computed alike wherever it lies.
#pragma once

#include "qed/matrix.hpp"

namespace qed {

enum class LossKind { logistic, poisson, squared, softmax };

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

}  // namespace qed
