/// Similarities of a row to its neighbours, their spread chosen so that they add up to what is asked for.
///
/// Layout: distances are n x k, row after row, nearest first. Rows do not depend on one another.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// out_ij = exp(-b_i d_ij^2) / sum over j, with b_i such that the entropy of row i is log(perplexity), to 1e-10 where such a
/// b_i exists: equal distances have one entropy only. precision[i] = b_i.
void perplexity_similarities(const double* distances, Index n, Index k, double perplexity, double* out, double* precision);

/// out_ij = exp(-(d_ij - near_i)_+ / s_i) with s_i such that a row adds up to `wanted`, near_i the distance of the nearest
/// other row, interpolated at `connected` of those that are not at distance zero; s_i is at least a thousandth of the mean
/// distance of the row.
void membership_similarities(const double* distances, Index n, Index k, double wanted, double connected, double* out,
                             double* near, double* spread);

}  // namespace qed
