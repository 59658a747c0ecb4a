/// Topics of documents by variational inference: the parameters of each document for given topics, from its counts of words.
///
/// Documents are compressed rows of counts. Rows are independent of each other and are written in place, so the result does not
/// depend on threads.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// Counts of words: starts (n + 1), words and counts of all entries.
struct WordCounts {
    const Index* starts;
    const Index* words;
    const double* counts;
    Index rows;
    Index columns;
};

/// exp(digamma(x)) of positive numbers, to a few units in the last place, in place.
void exp_digamma(double* x, Index count);

/// For each document with gamma (n, k), theta = exp(digamma(gamma) - digamma(sum gamma)) and topics (words, k), where phi =
/// theta' topics[w] for each of its words: repeats gamma = prior + theta * sum of counts / phi * topics[w], until entries of gamma
/// change by less than `tol` on average or after `sweeps`. Writes theta and the ratios counts / phi at the end, and the sum of
/// counts * log(phi) at the start.
void topics_of_rows(const WordCounts& x, const double* topics, Index width, double prior, double tol, Index sweeps,
                    double* gamma, double* theta, double* ratios, double* likelihood);

}  // namespace qed
