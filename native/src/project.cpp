#include <algorithm>

#include "qed/packed_rows.hpp"
#include "qed/rows.hpp"
#include "qed/parallel.hpp"

namespace qed {
namespace {

/// out (rows × columns, no padding) = z times the packed matrix.
void multiply_block(const Matrix& z, const PackedRows<double>& right, Index columns, double* out) {
    const Index stride = padded<double>(columns);
    const ScratchArray<double> result(padded<double>(z.rows) * stride);
    std::fill_n(result.get(), padded<double>(z.rows) * stride, 0.0);
    multiply_rows(plain(z.transposed()), 0, z.rows, right, result.get(), stride);
    for (Index i = 0; i < z.rows; ++i) {
        std::copy_n(result.get() + i * stride, columns, out + i * columns);
    }
}

}  // namespace

void project(const Matrix& x, const double* shift, const Matrix& v, const Matrix& d, const Matrix& b,
             const ProjectOut& out) {
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(v.columns) *
                        static_cast<double>(x.columns + d.columns + b.columns));
    PackedRows<double> basis(plain(v), v.rows);
    PackedRows<double> squares(plain(d), d.rows);
    PackedRows<double> fitted(plain(b), b.rows);
    for (PackedRows<double>* each : {&basis, &squares, &fitted}) {
        each->fill(0);
    }
    Factor x_transposed = plain(x.transposed());
    x_transposed.row_shift = shift;
    const Index stride = padded<double>(v.columns);
    parallel_for(blocks_of(x.rows, kTile<double>), [&](Index tile) {
        const Index row = tile * kTile<double>;
        const Index count = std::min(kTile<double>, x.rows - row);
        const ScratchArray<double> z(padded<double>(count) * stride);
        std::fill_n(z.get(), padded<double>(count) * stride, 0.0);
        multiply_rows(x_transposed, tile, count, basis, z.get(), stride);
        const Matrix block = row_major(z.get(), count, v.columns, stride);
        multiply_block(block, fitted, b.columns, out.fitted + row * b.columns);
        for (Index i = 0; i < count * stride; ++i) {
            z[i] *= z[i];
        }
        multiply_block(block, squares, d.columns, out.squares + row * d.columns);
    });
}

}  // namespace qed
