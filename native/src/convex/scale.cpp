#include "qed/convex/scale.hpp"

#include <cmath>
#include <limits>

#include "qed/machine/simd.hpp"

namespace qed {
namespace {

struct Sums {
    double inside;   ///< Σ c r² of rows within the limit
    double outside;  ///< Σ c of the others
    double beyond;   ///< Σ c |r| of the others
};

Sums sums_at(Index n, const double* r, const double* c, double limit) noexcept {
    Vector<double> inside[2] = {};
    Vector<double> outside[2] = {};
    Vector<double> beyond[2] = {};
    constexpr Index step = 2 * kLanes<double>;
    const Vector<double> end = splat(limit);
    const Vector<double> zero = {};
    Index i = 0;
    for (; i + step <= n; i += step) {
#pragma GCC unroll 2
        for (int j = 0; j < 2; ++j) {
            const Vector<double> x = load(r + i + j * kLanes<double>);
            const Vector<double> weight = load(c + i + j * kLanes<double>);
            const Vector<double> size = x < zero ? -x : x;
            const Vector<double> far = size > end ? weight : zero;
            inside[j] += (weight - far) * x * x;
            outside[j] += far;
            beyond[j] += far * size;
        }
    }
    Sums total{sum_lanes(inside[0] + inside[1]), sum_lanes(outside[0] + outside[1]),
               sum_lanes(beyond[0] + beyond[1])};
    for (; i < n; ++i) {
        const double size = std::fabs(r[i]);
        if (size > limit) {
            total.outside += c[i];
            total.beyond += c[i] * size;
        } else {
            total.inside += c[i] * size * size;
        }
    }
    return total;
}

}  // namespace

ScaledSpread scaled_spread(Index n, const double* r, const double* c, double knee, double guess) noexcept {
    const Sums all = sums_at(n, r, c, std::numeric_limits<double>::infinity());
    double s = all.inside;
    if (std::isinf(knee) || !(s > 0.0)) {
        const double scale = std::sqrt(s);
        return {scale, scale};
    }
    // Both sides are concave in s = σ²: a tangent from the right comes nearer from the right, one from the left lands there.
    if (guess > 0.0 && guess * guess < s) {
        const Sums there = sums_at(n, r, c, knee * guess);
        const double slope = knee * knee * there.outside;
        const double then = there.inside / (1.0 - slope);
        if (slope < 0.99 && then > 0.0 && then < s) {
            s = then;
        }
    }
    Sums at = sums_at(n, r, c, knee * std::sqrt(s));
    for (int count = 0; count < 200; ++count) {
        const double slope = knee * knee * at.outside;
        if (slope >= 1.0 || !(at.inside > 0.0)) {
            s = 0.0;
            break;
        }
        const double then = at.inside / (1.0 - slope);
        if (then >= s * (1.0 - 4e-16)) {
            break;
        }
        s = then;
        at = sums_at(n, r, c, knee * std::sqrt(s));
    }
    if (s == 0.0) {
        const Sums none = sums_at(n, r, c, 0.0);
        return {0.0, knee * none.beyond};
    }
    const double scale = std::sqrt(s);
    const double near = 0.5 * at.inside / scale;
    const double far = knee * at.beyond - 0.5 * knee * knee * scale * at.outside;
    return {scale, 0.5 * scale + near + far};
}

}  // namespace qed
