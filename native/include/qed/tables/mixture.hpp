/// One step of expectation-maximisation for a mixture of Gaussians: responsibilities, and moments weighted by them.
///
/// Differences from the mean of a component are whitened (z = W (x - m), with W the inverse of a Cholesky factor of its
/// covariance), never squares of x from which others are subtracted: tight components far from zero keep their digits.
/// Layout: rows in the lanes of vectors, a block of rows column by column. Determinism: rows are cut into at most
/// kMostChunks chunks by their number alone; each is summed by one thread, and chunks are added in order.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"

namespace qed {

struct MixtureRows {
    Matrix x;
    const double* shift;    ///< subtracted from every row; columns of them
    const double* weights;  ///< >= 0; null for ones
};

struct GaussianComponents {
    Index count;
    const double* means;      ///< count × columns, less the shift
    const double* whiten;     ///< diagonals: columns for each component; else columns × columns, lower triangular
    Index whiten_step;        ///< from a component to the next; 0 where all share one
    const double* levels;     ///< what is added to -|z|²/2: logarithms of weights and of determinants
    bool is_diagonal;
};

/// Sums over rows; squares are products of differences from the means above, whole matrices or their diagonals.
struct MixtureSums {
    double likelihood = 0.0;  ///< weighted sum of the logarithms of densities
    double* weights;          ///< count
    double* firsts;           ///< count × columns
    double* squares;          ///< count × columns (× columns)
};

enum class Responsibilities : std::uint8_t { soft, hard, given };

/// Where not null, `density` is given the logarithm of the density of each row, and `shares` (rows × count) the
/// responsibilities, without weights. With `given` ones, `shares` is read instead, and likelihood and density are left.
/// Without `sums` nothing is added up.
void mixture_pass(const MixtureRows& rows, const GaussianComponents& components, Responsibilities kind, double* density,
                  double* shares, MixtureSums* sums);

}  // namespace qed
