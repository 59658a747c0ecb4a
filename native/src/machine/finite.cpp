#include "qed/machine/finite.hpp"

#include <algorithm>
#include <cstdlib>

#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

constexpr Index kEntriesAtOnce = Index{1} << 17;

/// 0 * x is 0 for every finite x and NaN for the others, and NaN survives addition.
template <class T>
bool line_is_finite(const T* from, Index count, Index stride) noexcept {
    Index i = 0;
    T rest{0};
    if (stride == 1) {
        Vector<T> total[4] = {};
        for (; i + 4 * kLanes<T> <= count; i += 4 * kLanes<T>) {
            for (int j = 0; j < 4; ++j) {
                total[j] += load(from + i + j * kLanes<T>) * T{0};
            }
        }
        const Vector<T> all = (total[0] + total[1]) + (total[2] + total[3]);
        for (int lane = 0; lane < kLanes<T>; ++lane) {
            rest += all[lane];
        }
    }
    for (; i < count; ++i) {
        rest += from[i * stride] * T{0};
    }
    return rest == T{0};
}

}  // namespace

bool all_finite(const Matrix& given) {
    // Lines run along the axis with the smaller step; a matrix without gaps is one long line.
    Matrix x =
        std::abs(given.column_stride) <= std::abs(given.row_stride) || given.rows == 1 ? given : given.transposed();
    if (x.rows == 0 || x.columns == 0) {
        return true;
    }
    if (x.column_stride == 1 && x.row_stride == x.columns) {
        x.columns *= x.rows;
        x.row_stride = x.columns;
        x.rows = 1;
    }
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(x.columns));
    const Index piece = std::min(x.columns, kEntriesAtOnce);
    const Index pieces = blocks_of(x.columns, piece);
    const Index lines = std::max<Index>(1, kEntriesAtOnce / piece);
    std::atomic<bool> finite{true};
    parallel_for(blocks_of(x.rows, lines) * pieces, [&](Index block) {
        const Index first = block / pieces * lines;
        const Index column = block % pieces * piece;
        const Index width = std::min(piece, x.columns - column);
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index row = first; row < std::min(x.rows, first + lines) && finite; ++row) {
                if (!line_is_finite(x.at<T>(row, column), width, x.column_stride)) {
                    finite = false;
                }
            }
        });
    });
    return finite;
}

}  // namespace qed
