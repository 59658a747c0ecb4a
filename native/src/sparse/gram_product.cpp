#include <algorithm>
#include <vector>

#include "qed/dense/fold.hpp"
#include "qed/dense/pack.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kWidth = 8;  ///< vectors at a time: what an entry reads and adds to is one line of the cache

/// A line of eight numbers, in as many registers as the instruction level needs.
using Line = double __attribute__((vector_size(kWidth * sizeof(double)), aligned(sizeof(double)), may_alias));

const Line& line_of(const double* from, Index at) noexcept {
    return *reinterpret_cast<const Line*>(from + at * kWidth);
}

Line& line_of(double* from, Index at) noexcept { return *reinterpret_cast<Line*>(from + at * kWidth); }

/// out += xᵀ s (x v - offset) for some rows; the line after the last column takes the sum of s (x v - offset).
template <class T, class I>
void add_rows(const Csr<T, I>& x, Index first, Index last, const double* v, const double* offset, const double* s,
              double* out) noexcept {
    const Line start = -line_of(offset, 0);
    Line sum = {};
    for (Index i = first; i < last; ++i) {
        const Index begin = x.starts[i];
        const Index end = x.starts[i + 1];
        Line z = start;
        for (Index e = begin; e < end; ++e) {
            z += static_cast<double>(x.values[e]) * line_of(v, x.indices[e]);
        }
        z *= s == nullptr ? 1.0 : s[i];
        sum += z;
        for (Index e = begin; e < end; ++e) {
            line_of(out, x.indices[e]) += static_cast<double>(x.values[e]) * z;
        }
    }
    line_of(out, x.columns) += sum;
}

}  // namespace

void sparse_gram_multiply(const SparseRows& x, const Matrix& v, const double* offset, const double* s, Index parts,
                          double* out, double* sums) {
    const Index m = v.columns;
    const Index panels = blocks_of(m, kWidth);
    const Index lines = x.columns + 1;
    const Index size = lines * kWidth;
    const ScratchArray<double> packed(panels * size);
    const ScratchArray<double> shift(panels * kWidth);
    std::fill_n(packed.get(), panels * size, 0.0);
    std::fill_n(shift.get(), panels * kWidth, 0.0);
    parallel_for(panels, [&](Index panel) {
        const Index first = panel * kWidth;
        const Index count = std::min(kWidth, m - first);
        load_rows(v, 0, x.columns, first, count, packed.get() + panel * size, kWidth);
        if (offset != nullptr) {
            std::copy_n(offset + first, count, shift.get() + first);
        }
    });
    const ScratchArray<double> part(panels * parts * size);
    with_csr(x, [&]<class T, class I>(const Csr<T, I>& csr) {
        const Effort effort(4.0 * static_cast<double>(csr.entries()) * static_cast<double>(m));
        parallel_for(panels * parts, [&](Index task) {
            const Index panel = task / parts;
            const Index block = task % parts;
            double* mine = part.get() + task * size;
            std::fill_n(mine, size, 0.0);
            add_rows(csr, csr.first_row(block, parts), csr.first_row(block + 1, parts), packed.get() + panel * size,
                     shift.get() + panel * kWidth, s, mine);
        });
    });
    constexpr Index kLinesAtOnce = 512;
    const Effort effort(static_cast<double>(parts * lines * m));
    parallel_for(blocks_of(lines, kLinesAtOnce), [&](Index chunk) {
        const Index last = std::min(lines, (chunk + 1) * kLinesAtOnce);
        for (Index line = chunk * kLinesAtOnce; line < last; ++line) {
            double* to = line == x.columns ? sums : out + line * m;
            for (Index j = 0; j < m; ++j) {
                const double* from = part.get() + (j / kWidth) * parts * size + line * kWidth + j % kWidth;
                double total = 0.0;
                for (Index block = 0; block < parts; ++block) {
                    total += from[block * size];
                }
                to[j] = total;
            }
        }
    });
}

}  // namespace qed
