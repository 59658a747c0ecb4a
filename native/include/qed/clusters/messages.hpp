/// Messages between rows that elect exemplars: affinity propagation, and prices that bound what any election can reach.
///
/// Layout: all tables are rows × rows, row-major, with what row i says of row k at (i, k); diagonals are kept in vectors
/// beside them, and that of `similarity` is minus infinity. Determinism: rows are cut into blocks by their number alone,
/// sums of columns are merged in the order of the blocks.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct Messages {
    const double* similarity;
    const double* preference;     ///< similarity of each row to itself
    double* responsibility;       ///< how well row k would serve row i, less the best other one
    double* availability;         ///< how much of row k's support row i may count on
    double* own_responsibility;   ///< diagonals
    double* own_availability;
    double* support;              ///< sums of columns of positive responsibilities, the diagonal as it is
    Index rows;
    double damping;
};

/// One round of both kinds of messages. Availabilities of a round are written at the beginning of the next one; their
/// diagonal is up to date. is_exemplar[k]: whether row k elects itself.
void pass_messages(const Messages& messages, bool is_first, bool* is_exemplar);

/// Prices of rows, such that none is too dear: for each k the sum over i of what price[i] exceeds cost(i, k) by is at most
/// fee[k]; then the sum of prices bounds the cost of every election from below. cost(i, k) = best[i] − similarity(i, k),
/// and nothing for k = i. All prices rise together, in `rounds` rounds, until each is held back.
void raise_prices(const double* similarity, const double* best, const double* fee, Index rows, Index rounds,
                  double* price);

}  // namespace qed
