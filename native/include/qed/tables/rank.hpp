/// Distinct scores from high to low, and how much weight of each of two classes lies at each of them.
///
/// Layout: scores are one column of a Matrix; `positive` holds one byte a row, zero or not; weights are contiguous.
/// Determinism: rows are dealt to buckets by fixed blocks and each bucket is sorted stably, so equal scores are added
/// up in the order of the rows whatever the number of threads. Memory: two copies of the scores (and weights) while it
/// runs.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"

namespace qed {

struct Ranked {
    void* scores;      ///< of the type of the given scores
    double* positive;  ///< weight of positive rows at each score
    double* negative;  ///< weight of the other rows at each score
};

/// Returns how many distinct scores were written, or -1 when a score is NaN or infinite. Weights may be null: ones.
/// `out` has room for as many entries as there are rows. Both zeros count as one score.
Index rank_scores(const Matrix& scores, const std::uint8_t* positive, const double* weights, const Ranked& out);

}  // namespace qed
