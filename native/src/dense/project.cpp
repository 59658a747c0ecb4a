#include <algorithm>

#include "qed/dense/packed_rows.hpp"
#include "qed/dense/rows.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// A small factor as strips of its whole depth, and where its product with z goes.
class Narrow {
  public:
    Narrow(const Matrix& from, double* out)
        : depth_(from.rows), columns_(from.columns), data_(strips() * kStrip<double> * depth_), out_(out) {
        pack_strips(plain(from), 0, depth_, 0, strips(), data_.get());
    }
    [[nodiscard]] Index strips() const noexcept { return strips_of<double>(columns_); }

    /// Rows [row, row + count) of the result, for `count` rows of z. Rows of z are broadcast from where they lie: packing
    /// them would cost as much as the product.
    template <bool Squared>
    void multiply(const double* z, Index stride, Index row, Index count) const noexcept {
        for (Index strip = 0; strip < strips(); ++strip) {
            const Index width = strip_width<double>(columns_, strip);
            for (Index i = 0; i < count; i += kRows) {
                const Index rows = std::min<Index>(kRows, count - i);
                if (width == 3 * kLanes<double>) {
                    tile<Squared, 3>(z + i * stride, stride, strip, row + i, rows);
                } else if (width == 2 * kLanes<double>) {
                    tile<Squared, 2>(z + i * stride, stride, strip, row + i, rows);
                } else {
                    tile<Squared, 1>(z + i * stride, stride, strip, row + i, rows);
                }
            }
        }
    }

  private:
    template <bool Squared, int V>
    void tile(const double* z, Index stride, Index strip, Index row, Index rows) const noexcept {
        constexpr Index width = V * kLanes<double>;
        const double* right = data_.get() + strip * kStrip<double> * depth_;
        Vector<double> sum[kRows][V] = {};
        for (Index k = 0; k < depth_; ++k) {
            Vector<double> factor[V];
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                factor[j] = load(right + k * width + j * kLanes<double>);
            }
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
                const double entry = z[r * stride + k];
                const double value = Squared ? entry * entry : entry;
#pragma GCC unroll 3
                for (int j = 0; j < V; ++j) {
                    sum[r][j] += factor[j] * value;
                }
            }
        }
        alignas(kCacheLine) double line[width];
        const Index first = strip * kStrip<double>;
        for (Index r = 0; r < rows; ++r) {
            for (int j = 0; j < V; ++j) {
                store(line + j * kLanes<double>, sum[r][j]);
            }
            std::copy_n(line, std::min(width, columns_ - first), out_ + (row + r) * columns_ + first);
        }
    }

    Index depth_;
    Index columns_;
    ScratchArray<double> data_;
    double* out_;
};

}  // namespace

void project(const Matrix& x, const double* shift, const Matrix& v, const Matrix& d, const Matrix& b,
             const ProjectOut& out) {
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(v.columns) *
                        static_cast<double>(x.columns + d.columns + b.columns));
    PackedRows<double> basis(plain(v), v.rows);
    basis.fill(0);
    const Narrow squares(d, out.squares);
    const Narrow fitted(b, out.fitted);
    Factor x_transposed = plain(x.transposed());
    x_transposed.row_shift = shift;
    const Index stride = padded<double>(v.columns);
    parallel_for(blocks_of(x.rows, kTile<double>), [&](Index tile) {
        const Index row = tile * kTile<double>;
        const Index count = std::min(kTile<double>, x.rows - row);
        const ScratchArray<double> z(padded<double>(count) * stride);
        std::fill_n(z.get(), padded<double>(count) * stride, 0.0);
        multiply_rows(x_transposed, tile, count, basis, z.get(), stride);
        fitted.multiply<false>(z.get(), stride, row, count);
        squares.multiply<true>(z.get(), stride, row, count);
    });
}

}  // namespace qed
