/// Sums of windows around the rows, as logarithms: what a kernel density is but for its constant.
///
/// Determinism: octets are summed in their order, or in that of a walk from the nearest box on where a window reaches few
/// of them, in tiles of fixed size; threads share out the queries, and each query chooses its way alone.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

/// With u the distance over the bandwidth: exp(-u²/2), 1, 1 - u², exp(-u), 1 - u, cos(pi u / 2); all but the two
/// exponentials are zero from u = 1 on.
enum class Window : std::uint8_t { gaussian, tophat, epanechnikov, exponential, linear, cosine };

struct Kernel {
    Window window;
    double bandwidth;
};

/// out[i]: log of the sum over the rows of s times the window at query i; minus infinity where every window is zero. `s`
/// is one positive number a row, null for ones. Metrics that count columns are not for densities.
void log_densities(const NeighborIndex& index, const double* queries, Index count, const double* s, const Kernel& kernel,
                   const Measure& measure, double* out);

}  // namespace qed
