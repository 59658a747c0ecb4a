/// Cholesky factors and triangular systems, in blocks of kDepth rows.
///
/// Determinism: blocks and tiles depend on sizes alone; every entry is updated block after block, by one thread at a
/// time.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

/// u = upper factor of a symmetric n × n matrix, a = uᵀ u, row-major n × n with zeros below the diagonal. (Read by
/// columns, u is the lower factor.) One triangle of `a` is read. Returns -1, or the index of the first pivot that is
/// not a positive number, and then `u` is unfinished.
Index cholesky(const Matrix& a, double* u);

/// x = l⁻¹ b, row-major, for lower triangular l; what l holds above its diagonal is not read.
void solve_lower(const Matrix& l, const Matrix& b, double* x);

/// x = l⁻ᵀ b, row-major.
void solve_lower_transposed(const Matrix& l, const Matrix& b, double* x);

}  // namespace qed
