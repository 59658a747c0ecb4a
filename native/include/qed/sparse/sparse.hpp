/// Compressed sparse rows.
///
/// Layout: row i holds entries [starts[i], starts[i + 1]) of `columns` and `values`; columns need not be sorted and may
/// repeat (then they add up). Indices are 32 or 64 bits wide, both arrays alike. Compressed columns are the rows of the
/// transposed matrix. Determinism: blocks are cut by the number of entries; see fold.hpp. Indices are trusted: the
/// caller has checked them.
#pragma once

#include <vector>

#include "qed/machine/matrix.hpp"

namespace qed {

/// What a product reads for a stored value x: itself, |x| or x².
enum class Reading : std::uint8_t { plain, absolute, squared };

struct SparseRows {
    Index rows = 0;
    Index columns = 0;
    bool wide = false;  ///< 64-bit indices
    Kind kind = Kind::float64;
    const void* starts = nullptr;
    const void* indices = nullptr;
    const void* values = nullptr;
    Reading reading = Reading::plain;  ///< moments take values as they are, whatever this says
};

/// Do all indices lie in [0, bound)? Reads each once.
bool indices_within(const void* indices, bool wide, Index count, Index bound);

/// out = x w + b in the type of the values, row-major. `b` may be null.
void sparse_multiply(const SparseRows& x, const Matrix& w, const double* b, void* out);

/// out = xᵀ u, row-major doubles.
void sparse_multiply_transposed(const SparseRows& x, const Matrix& u, double* out);

/// out = xᵀ s (x v - offset) and sums = Σ s (x v - offset), row-major doubles: one pass over the entries for both products.
/// Rows are cut into `parts`, each with a result of its own, added up in order. `offset` and `s` may be null; the reading is plain.
void sparse_gram_multiply(const SparseRows& x, const Matrix& v, const double* offset, const double* s, Index parts,
                          double* out, double* sums);

/// Moments about zero of the rows z = [x | y]: Σ s, Σ s z, Σ s z zᵀ.
struct SparseMomentsOut {
    double* weight;
    double* sums;
    double* scatter;
};
void sparse_moments(const SparseRows& x, const Matrix& y, const double* s, const SparseMomentsOut& out);

/// Columns of doubles, column after column: entries of column i lie in [starts[i], starts[i + 1]).
struct TakenColumns {
    std::vector<Index> starts;
    std::vector<Index> rows;
    std::vector<double> values;
};

/// Columns taken out of compressed rows, or out of compressed columns, whose arrays are those of the `transposed`. Rows
/// ascend if they did. `scale`, one number for each row of the table, may be null.
TakenColumns take_sparse_columns(const SparseRows& x, bool transposed, const Index* index, Index count,
                                 const double* scale);

}  // namespace qed
