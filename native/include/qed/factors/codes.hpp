/// Codes of rows: coefficients w of x = D'w + rest for each row x, with few or no negative entries.
///
/// Everything is told by products: G = D D' (k, k), row-major and symmetric, and a row p = D x of P (n, k) for each x.
/// Rows are independent of each other and are written in place, so the result does not depend on threads.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// The problem of every row: minimise w'(G + ridge)w / 2 - p'w + lasso |w|, over w >= 0 if `positive`.
struct CodeProblem {
    const double* gram;   ///< (k, k)
    const double* right;  ///< (n, k)
    Index rows;
    Index width;
    double lasso;
    double ridge;
    bool positive;
};

/// What sweeps found, summed over rows: the objective they left, and what entries of w could gain where they began, each alone.
struct CodeTally {
    Index unfinished;  ///< rows that stopped by the number of sweeps
    double value;
    double gain;
};

/// Sweeps over the coordinates of each row of w (n, k), from where it stands, until a sweep lowers the objective of the row by
/// no more than `enough` of it (n,) or after `sweeps`.
CodeTally code_rows(const CodeProblem& problem, const double* enough, Index sweeps, double* w);

/// So many sweeps over each row of w (n, k) >= 0, from where it stands, without looking whether it came to rest: several rows
/// at a time, which is quicker than one by one where most entries move. The problem must be `positive`.
CodeTally sweep_rows(const CodeProblem& problem, Index sweeps, double* w);

/// Orthogonal matching pursuit of each row: the entry of largest correlation joins, all are refitted, until there are `most`
/// of them or the squared rest, from `squares` (n,) on, is at most `tolerance`. An entry that depends on the others ends it.
void pursue_rows(const CodeProblem& problem, const double* squares, Index most, double tolerance, double* w);

}  // namespace qed
