/// Rows that are visited one at a time, in any order: multiplied, added, fetched ahead; and draws for that order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "qed/dense/rows_by_4.hpp"
#include "qed/machine/simd.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

/// The next number of a stream (splitmix64), and its state.
inline std::uint64_t draw(std::uint64_t& seed) noexcept {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// Dense rows with contiguous entries.
template <class T>
class DenseRows {
  public:
    static constexpr bool kQuads = true;

    explicit DenseRows(const Matrix& x) noexcept
        : data_(static_cast<const T*>(x.data)), stride_(x.row_stride), columns_(x.columns) {}

    [[nodiscard]] Index row_bytes(Index) const noexcept { return columns_ * static_cast<Index>(sizeof(T)); }
    void prefetch(Index row) const noexcept {
        const char* start = reinterpret_cast<const char*>(data_ + row * stride_);
        const Index bytes = std::min<Index>(columns_ * static_cast<Index>(sizeof(T)), 1024);
        for (Index at = 0; at < bytes; at += 64) {
            __builtin_prefetch(start + at);
        }
    }
    /// Four rows, by their numbers.
    [[nodiscard]] RowQuad<T> quad(const std::uint32_t* rows) const noexcept {
        return {{data_ + rows[0] * stride_, data_ + rows[1] * stride_, data_ + rows[2] * stride_, data_ + rows[3] * stride_},
                columns_};
    }
    [[nodiscard]] double dot(Index row, const double* w) const noexcept {
        const T* x = data_ + row * stride_;
        if constexpr (sizeof(T) == sizeof(double)) {
            Vector<double> total[4] = {};
            Index j = 0;
            for (; j + 4 * kLanes<double> <= columns_; j += 4 * kLanes<double>) {
#pragma GCC unroll 4
                for (int k = 0; k < 4; ++k) {
                    total[k] += load(x + j + k * kLanes<double>) * load(w + j + k * kLanes<double>);
                }
            }
            for (; j + kLanes<double> <= columns_; j += kLanes<double>) {
                total[0] += load(x + j) * load(w + j);
            }
            double sum = sum_lanes((total[0] + total[1]) + (total[2] + total[3]));
            for (; j < columns_; ++j) {
                sum += x[j] * w[j];
            }
            return sum;
        } else {
            double sums[4] = {};
            Index j = 0;
            for (; j + 4 <= columns_; j += 4) {
                for (int k = 0; k < 4; ++k) {
                    sums[k] += static_cast<double>(x[j + k]) * w[j + k];
                }
            }
            for (; j < columns_; ++j) {
                sums[0] += static_cast<double>(x[j]) * w[j];
            }
            return (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }
    [[nodiscard]] Index count(Index) const noexcept { return columns_; }
    /// |x|² of a row.
    [[nodiscard]] double square(Index row) const noexcept {
        const T* x = data_ + row * stride_;
        Vector<double> total = {};
        Index j = 0;
        for (; j + kLanes<double> <= columns_; j += kLanes<double>) {
            total += load_wide(x + j) * load_wide(x + j);
        }
        double sum = sum_lanes(total);
        for (; j < columns_; ++j) {
            sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
        }
        return sum;
    }
    /// work(j, x_j) for every entry of a row.
    template <class Work>
    void each(Index row, Work&& work) const noexcept {
        const T* x = data_ + row * stride_;
        for (Index j = 0; j < columns_; ++j) {
            work(j, static_cast<double>(x[j]));
        }
    }
    /// work(j, x) for every entry of a row, a vector of neighbours at a time while they last.
    template <class Work>
    [[gnu::always_inline]] void each_lanes(Index row, Work&& work) const noexcept {
        const T* x = data_ + row * stride_;
        Index j = 0;
        for (; j + kLanes<double> <= columns_; j += kLanes<double>) {
            work(j, load_wide(x + j));
        }
        for (; j < columns_; ++j) {
            work(j, static_cast<double>(x[j]));
        }
    }
    void add(Index row, double factor, double* __restrict w) const noexcept {
        const T* __restrict x = data_ + row * stride_;
        for (Index j = 0; j < columns_; ++j) {
            w[j] += factor * static_cast<double>(x[j]);
        }
    }

  private:
    const T* data_;
    Index stride_;
    Index columns_;
};

template <class T, class I>
class CompressedRows {
  public:
    static constexpr bool kQuads = false;

    explicit CompressedRows(const SparseRows& x) noexcept
        : starts_(static_cast<const I*>(x.starts)),
          indices_(static_cast<const I*>(x.indices)),
          values_(static_cast<const T*>(x.values)) {}

    /// On average.
    [[nodiscard]] Index row_bytes(Index rows) const noexcept {
        return rows == 0 ? 0 : Index{starts_[rows]} * static_cast<Index>(sizeof(T) + sizeof(I)) / rows;
    }
    void prefetch(Index row) const noexcept {
        const I begin = starts_[row];
        const I end = std::min<I>(starts_[row + 1], begin + kFetched);
        for (I k = begin; k < end; k += static_cast<I>(64 / sizeof(T))) {
            __builtin_prefetch(values_ + k);
        }
        for (I k = begin; k < end; k += static_cast<I>(64 / sizeof(I))) {
            __builtin_prefetch(indices_ + k);
        }
    }
    [[nodiscard]] double dot(Index row, const double* w) const noexcept {
        double sums[4] = {};  // four sums in flight: one would wait for itself
        const I end = starts_[row + 1];
        I k = starts_[row];
        for (; k + 4 <= end; k += 4) {
#pragma GCC unroll 4
            for (int at = 0; at < 4; ++at) {
                sums[at] += static_cast<double>(values_[k + at]) * w[indices_[k + at]];
            }
        }
        for (; k < end; ++k) {
            sums[0] += static_cast<double>(values_[k]) * w[indices_[k]];
        }
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    [[nodiscard]] Index count(Index row) const noexcept { return Index{starts_[row + 1]} - Index{starts_[row]}; }
    [[nodiscard]] double square(Index row) const noexcept {
        double sum = 0.0;
        for (I k = starts_[row]; k < starts_[row + 1]; ++k) {
            sum += static_cast<double>(values_[k]) * static_cast<double>(values_[k]);
        }
        return sum;
    }
    template <class Work>
    void each(Index row, Work&& work) const noexcept {
        for (I k = starts_[row]; k < starts_[row + 1]; ++k) {
            work(static_cast<Index>(indices_[k]), static_cast<double>(values_[k]));
        }
    }
    void add(Index row, double factor, double* w) const noexcept {
        for (I k = starts_[row]; k < starts_[row + 1]; ++k) {
            w[indices_[k]] += factor * static_cast<double>(values_[k]);
        }
    }

  private:
    static constexpr I kFetched = 256;  ///< entries of a row that are fetched ahead

    const I* starts_;
    const I* indices_;
    const T* values_;
};

/// Calls `work` with the typed rows of a matrix whose column_stride is 1, or of compressed rows.
template <class Work>
void with_visited(const Matrix& x, Work&& work) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        work(DenseRows<T>(x));
    });
}
template <class Work>
void with_visited(const SparseRows& x, Work&& work) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        if (x.wide) {
            work(CompressedRows<T, std::int64_t>(x));
        } else {
            work(CompressedRows<T, std::int32_t>(x));
        }
    });
}

}  // namespace qed
