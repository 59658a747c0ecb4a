/// What a kernel sees of an array that somebody else owns.
///
/// Layout: element (i, j) of a Matrix lies at data + i * row_stride + j * column_stride, counted in elements; strides
/// may be of either sign and any size, so C order, Fortran order, slices and reversed views are all the same thing.
/// Ownership: none; a view lives no longer than the array. Kernels never write through a Matrix.
#pragma once

#include <cstdint>

namespace qed {

using Index = std::int64_t;

enum class Kind : std::uint8_t { float32, float64 };

struct Matrix {
    const void* data = nullptr;
    Kind kind = Kind::float64;
    Index rows = 0;
    Index columns = 0;
    Index row_stride = 0;
    Index column_stride = 0;

    /// The same numbers with the two axes exchanged.
    [[nodiscard]] Matrix transposed() const noexcept { return {data, kind, columns, rows, column_stride, row_stride}; }
    template <class T>
    [[nodiscard]] const T* at(Index i, Index j) const noexcept {
        return static_cast<const T*>(data) + i * row_stride + j * column_stride;
    }
};

/// Calls `work` with a null pointer of the element type, which tells it the type and nothing else.
template <class Work>
void with_type(Kind kind, Work&& work) {
    if (kind == Kind::float32) {
        work(static_cast<const float*>(nullptr));
    } else {
        work(static_cast<const double*>(nullptr));
    }
}

/// A row-major view of doubles inside a larger array.
inline Matrix row_major(const double* data, Index rows, Index columns, Index stride) noexcept {
    return {data, Kind::float64, rows, columns, stride, 1};
}

inline Index blocks_of(Index count, Index size) noexcept {
    return (count + size - 1) / size;
}
inline Index round_up(Index count, Index size) noexcept {
    return blocks_of(count, size) * size;
}

}  // namespace qed
