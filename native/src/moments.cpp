#include "qed/moments.hpp"

#include <cmath>

#include "qed/fold.hpp"
#include "qed/scratch.hpp"

namespace qed {
namespace {

/// One pass, one thread: the weights are a sliver of the data. Compensated, like everything that Σ s divides later.
double total_weight(const double* s, Index count) noexcept {
    double total = 0.0;
    double low = 0.0;
    for (Index i = 0; i < count; ++i) {
        add_compensated(total, low, s[i]);
    }
    return joined(total, low);
}

}  // namespace

void moments(const Matrix& x, const Matrix& y, const double* s, const double* shift, const MomentsOut& out) {
    const Index n = x.rows;
    ScratchArray<double> roots(s == nullptr ? 0 : n);
    Factor z{.parts = {x, y}, .column_shift = shift};
    if (s == nullptr) {
        *out.weight = static_cast<double>(n);
    } else {
        for (Index i = 0; i < n; ++i) {
            roots[i] = std::sqrt(s[i]);
        }
        *out.weight = total_weight(s, n);
        z.row_scale = roots.get();
    }
    self_product(z, out.scatter, out.sums);
}

}  // namespace qed
