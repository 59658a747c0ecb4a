/// Columns of a face, cut into blocks of rows: products with them stay in the cache, and threads take blocks.
///
/// Layout: each block holds its part of every column, column after column, rows counted from the first of the block.
/// Determinism: blocks depend on the shape and the number of entries alone; sums over blocks are merged in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {

class FaceColumns {
  public:
    template <class T, class I>
    FaceColumns(const Csr<T, I>& x, const std::vector<Index>& index) : rows_(x.columns), count_(Index(index.size())) {
        Index entries = 0;
        for (const Index j : index) {
            entries += Index{x.starts[j + 1]} - Index{x.starts[j]};
        }
        const double sparse = static_cast<double>(rows_) * static_cast<double>(count_) / static_cast<double>(std::max<Index>(entries, 1));
        block_ = std::max(kRowsAtOnce, static_cast<Index>(static_cast<double>(kFragment) * sparse));
        block_ = std::max(block_, blocks_of(rows_, 64));
        parts_.resize(at(blocks_of(rows_, block_)));
        const Effort effort(static_cast<double>(2 * entries));
        parallel_for(Index(parts_.size()), [&](Index b) { fill(x, index, b); });
        work_ = 3.0 * static_cast<double>(entries);
    }

    /// image = Σ factor × column + shift.
    void combine(const Numbers& factors, double shift, Numbers& image) const {
        const Effort effort(work_);
        parallel_for(Index(parts_.size()), [&](Index b) { combine_block(b, factors, shift, image); });
    }

    /// The same, then product = columns' (bend image); returns image' bend image.
    double curve(const Numbers& factors, double shift, const Numbers& bend, Numbers& image, Numbers& product) {
        const Effort effort(work_);
        const Index blocks = Index(parts_.size());
        sums_.resize(at(blocks * count_));
        squares_.resize(at(blocks));
        parallel_for(blocks, [&](Index b) {
            combine_block(b, factors, shift, image);
            const Part& part = parts_[at(b)];
            double* here = image.data() + b * block_;
            const double* weight = bend.data() + b * block_;
            const Index rows = std::min(block_, rows_ - b * block_);
            double square = 0.0;
            for (Index i = 0; i < rows; ++i) {
                const double bent = weight[i] * here[i];
                square += bent * here[i];
                here[i] = bent;
            }
            squares_[at(b)] = square;
            double* out = sums_.data() + b * count_;
            for (Index a = 0; a < count_; ++a) {
                double total = 0.0;
                for (std::uint32_t e = part.starts[at(a)]; e < part.starts[at(a + 1)]; ++e) {
                    total += part.values[e] * here[part.rows[e]];
                }
                out[a] = total;
            }
        });
        std::fill(product.begin(), product.end(), 0.0);
        double square = 0.0;
        for (Index b = 0; b < blocks; ++b) {
            square += squares_[at(b)];
            add_scaled(sums_.data() + b * count_, 1.0, product.data(), count_);
        }
        return square;
    }

  private:
    struct Part {
        std::vector<std::uint32_t> starts;
        std::vector<std::uint32_t> rows;  ///< counted from the first of the block
        Numbers values;
    };

    template <class T, class I>
    void fill(const Csr<T, I>& x, const std::vector<Index>& index, Index b) {
        Part& part = parts_[at(b)];
        const Index first = b * block_;
        const Index last = std::min(rows_, first + block_);
        part.starts.assign(at(count_ + 1), 0);
        std::vector<Index> from(at(count_));
        for (Index a = 0; a < count_; ++a) {
            const I* begin = x.indices + x.starts[index[at(a)]];
            const I* end = x.indices + x.starts[index[at(a)] + 1];
            const I* low = std::lower_bound(begin, end, static_cast<I>(first));
            const I* high = last == rows_ ? end : std::lower_bound(low, end, static_cast<I>(last));
            from[at(a)] = low - x.indices;
            part.starts[at(a + 1)] = part.starts[at(a)] + static_cast<std::uint32_t>(high - low);
        }
        part.rows.resize(part.starts.back());
        part.values.resize(part.starts.back());
        for (Index a = 0; a < count_; ++a) {
            Index e = from[at(a)];
            for (std::uint32_t to = part.starts[at(a)]; to < part.starts[at(a + 1)]; ++to, ++e) {
                part.rows[to] = static_cast<std::uint32_t>(Index{x.indices[e]} - first);
                part.values[to] = static_cast<double>(x.values[e]);
            }
        }
    }

    void combine_block(Index b, const Numbers& factors, double shift, Numbers& image) const noexcept {
        const Part& part = parts_[at(b)];
        double* here = image.data() + b * block_;
        std::fill(here, here + std::min(block_, rows_ - b * block_), shift);
        for (Index a = 0; a < count_; ++a) {
            const double factor = factors[at(a)];
            for (std::uint32_t e = part.starts[at(a)]; e < part.starts[at(a + 1)]; ++e) {
                here[part.rows[e]] += factor * part.values[e];
            }
        }
    }

    static constexpr Index kRowsAtOnce = 4096;  // whose scores a first-level cache holds
    static constexpr Index kFragment = 8;       // entries of a column in a block of rows, about, at least

    Index rows_;
    Index count_;
    Index block_ = 0;
    std::vector<Part> parts_;
    Numbers sums_;
    Numbers squares_;
    double work_ = 0.0;
};

}  // namespace qed
