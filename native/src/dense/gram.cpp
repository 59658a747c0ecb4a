#include <cmath>

#include "qed/dense/moments.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

void gram(const Matrix& x, const GramOptions& options, double* out) {
    Factor z{};
    z.parts[0] = options.transpose ? x.transposed() : x;
    (options.transpose ? z.row_shift : z.column_shift) = options.shift;
    const Index terms = z.depth();
    ScratchArray<double> roots(options.s == nullptr ? 0 : terms);
    if (options.s != nullptr) {
        for (Index i = 0; i < terms; ++i) {
            roots[i] = std::sqrt(options.s[i]);
        }
        z.row_scale = roots.get();
    }
    if (options.fast) {
        self_product_fast(z, out);
    } else {
        self_product(z, out, nullptr);
    }
}

}  // namespace qed
