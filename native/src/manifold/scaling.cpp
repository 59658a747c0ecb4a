#include "qed/manifold/scaling.hpp"

#include <algorithm>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 32;    // rows a thread takes at a time
constexpr Index kTogether = 4;  // rows that share the numbers of v while these are in registers
constexpr Index kWide = kLanes<double>;

/// A strip of v, kWide columns of it, times the squares of `kCount` rows.
template <Index kCount>
void strip(const double* D, Index n, const double* v, Index c, Index first, double* out) {
    Vector<double> sums[kCount] = {};
    for (Index j = 0; j < n; ++j) {
        const Vector<double> right = load(v + j * c + first);
        for (Index r = 0; r < kCount; ++r) {
            const double d = D[r * n + j];
            sums[r] += splat(d * d) * right;
        }
    }
    for (Index r = 0; r < kCount; ++r) {
        store(out + r * c + first, sums[r]);
    }
}

}  // namespace

void squared_product(const double* D, Index m, Index n, const double* v, Index c, double* out) {
    const Index padded = blocks_of(c, kWide) * kWide;
    std::vector<double> right(static_cast<std::size_t>(n * padded), 0.0);
    for (Index j = 0; j < n; ++j) {
        std::copy_n(v + j * c, c, right.data() + j * padded);
    }
    parallel_for(blocks_of(m, kBlock), [&](Index block) {
        std::vector<double> sums(static_cast<std::size_t>(kTogether * padded));
        const Index last = std::min(m, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < last; i += kTogether) {
            const Index count = std::min(kTogether, last - i);
            for (Index first = 0; first < padded; first += kWide) {
                if (count == kTogether) {
                    strip<kTogether>(D + i * n, n, right.data(), padded, first, sums.data());
                } else {
                    for (Index r = 0; r < count; ++r) {
                        strip<1>(D + (i + r) * n, n, right.data(), padded, first, sums.data() + r * padded);
                    }
                }
            }
            for (Index r = 0; r < count; ++r) {
                std::copy_n(sums.data() + r * padded, c, out + (i + r) * c);
            }
        }
    });
}

}  // namespace qed
