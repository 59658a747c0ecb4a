/// Sums of outer products: the one driver behind moments, Gram matrices and transposed products.
///
/// Determinism: the cut into superblocks and tiles depends on shapes alone, panels of kDepth rows are summed in
/// registers, panels of a superblock in order, superblocks in order. Rounding: narrow results, and wide ones with
/// `sums`, merge superblocks by TwoSum, so that an entry is off by at most kProductTerms units of 2^-53 times the sum
/// of absolute products, however many rows there are.
#pragma once

#include "qed/dense/pack.hpp"

namespace qed {

/// kDepth terms in a panel, 64 panels in a superblock, two roundings in each factor, and the merge.
inline constexpr Index kProductTerms = kDepth + 64 + 8;

/// A result no wider than this is summed by superblocks of rows; a wider one is split into tiles.
inline constexpr Index kNarrow = 384;

/// c = aᵀ a, all of it. `c` holds columns × columns doubles, row-major. If `sums` is not null it receives, for each
/// column, the sum of row_scale times the packed entry (row_scale = √s makes this Σ s z).
void self_product(const Factor& a, double* c, double* sums);

/// The same with float strips (at most kDepth products are summed in float, then joined in double).
void self_product_fast(const Factor& a, double* c);

/// c = aᵀ b, row-major, columns of a × columns of b.
void cross_product(const Factor& a, const Factor& b, double* c);

/// Copies the upper triangle of a row-major n × n matrix onto the lower one.
void mirror_upper(double* c, Index n);

}  // namespace qed
