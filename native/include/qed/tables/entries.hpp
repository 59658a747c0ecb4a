/// Columns one at a time: what they hold, and tables made of them entry by entry.
///
/// Layout: any strides, as everywhere. Determinism: rows are cut into blocks by shape alone and blocks merge in order.
/// Missing entries are NaN; they are counted out, never averaged.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"

namespace qed {

/// Six numbers for each of p columns, as six rows of p: entries present, their weight, mean, sum of squared deviations
/// from the mean, least and largest entry (+inf and -inf of a column without entries).
inline constexpr int kLookRows = 6;

/// One pass over memory: each block is read twice while it is in cache, so that the deviations are from its own mean.
/// Returns the longest chain of roundings behind any sum.
Index look_columns(const Matrix& x, const double* s, double* out);

/// A matrix to write to.
struct Target {
    void* data = nullptr;
    Index row_stride = 0;
    Index column_stride = 0;

    template <class T>
    [[nodiscard]] T* at(Index i, Index j) const noexcept {
        return static_cast<T*>(data) + i * row_stride + j * column_stride;
    }
};

/// How a column is moved: (x - first) / second, or x * second + first; then cut off at low and high if they are given.
struct Move {
    const double* first = nullptr;
    const double* second = nullptr;
    bool divides = true;
    bool clips = false;
    double low = 0.0;
    double high = 0.0;
};

/// Writes each column moved; `out` has the type and shape of x, and may be x itself.
void move_columns(const Matrix& x, const Move& move, const Target& out);

/// `length` columns from `target` on are those from `source` on, times column `factor` of x.
struct Run {
    Index target;
    Index source;
    Index length;
    Index factor;
};

/// Products of columns: x is copied to the columns from `first` on, then the runs are worked off in order, row by row.
/// `out` is row-major of the type of x; columns before `first` are set to one.
void monomials(const Matrix& x, const Run* runs, Index count, Index first, void* out, Index out_columns);

/// Compressed rows, and where the products of each row go: as many places as it has products.
struct SparseEntries {
    const Index* starts;
    const Index* indices;
    const void* data;
    Kind kind;
    Index rows;
    Index columns;
};

/// Products of the entries of compressed rows, of every degree from `low` to `high`, columns rising within a row.
/// A product of column j and a product at place r of the degree below stands at offsets[(degree - 2) * columns + j] +
/// r; `first` is the place of column 0 itself; a row begins with a one at place 0 if `ones`.
struct Products {
    const Index* offsets;
    Index low;
    Index high;
    Index first;
    bool distinct;
    bool ones;
};
void sparse_monomials(const SparseEntries& x, const Products& how, const Index* out_starts, std::int32_t* out_indices,
                      void* out_data);

/// Numbers equal words of `width` bytes in the order of their first appearance. codes is (n,), firsts has room for n.
/// Returns how many differ.
Index number_words(const std::uint8_t* words, Index n, Index width, Index stride, std::int32_t* codes, Index* firsts);

/// MurmurHash3 of 32 bits, seed zero, of words that follow each other in memory: word i ends before ends[i].
void hash_words(const std::uint8_t* bytes, const Index* ends, Index count, std::int32_t* out) noexcept;

}  // namespace qed
