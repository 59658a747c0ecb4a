/// Losses of one score for each lane of a vector.
#pragma once

#include "qed/convex/loss.hpp"
#include "qed/machine/elementary.hpp"

namespace qed {

struct Lanes {
    Vector<double> value;
    Vector<double> slope;
    Vector<double> bend;
};

/// a log(a / m) - a + m for a, m >= 0, never negative, without cancellation where a is near m.
[[gnu::always_inline]] inline Vector<double> divergence(Vector<double> a, Vector<double> m,
                                                        Vector<double> log_m) noexcept {
    const Vector<double> zero{};
    const Vector<double> e = (a - m) / m;
    const auto near = absolute(e) < splat(0.03);
    const Vector<double> x = near ? e : zero;
    Vector<double> p = splat(-1.0 / 72.0);
    p = p * x + 1.0 / 56.0;
    p = p * x - 1.0 / 42.0;
    p = p * x + 1.0 / 30.0;
    p = p * x - 1.0 / 20.0;
    p = p * x + 1.0 / 12.0;
    p = p * x - 1.0 / 6.0;
    p = p * x + 0.5;
    const Vector<double> series = m * x * x * p;
    Vector<double> far = a * (logarithm(a) - log_m) - (a - m);
    far = a > zero ? maximum(far, zero) : m;
    far = m < splat(__builtin_inf()) ? far : m;
    return near ? series : far;
}

template <LossKind K>
struct LossLanes;

template <>
struct LossLanes<LossKind::logistic> {
    [[gnu::always_inline]] static Lanes at(Vector<double> t, Vector<double> y) noexcept {
        const Vector<double> m = y * t;
        const Vector<double> e = exponential(-absolute(m));
        const Vector<double> inverse = 1.0 / (e + 1.0);
        const Vector<double> other = m > Vector<double>{} ? e * inverse : inverse;
        return {maximum(-m, Vector<double>{}) + log_one_plus(e), -y * other, e * inverse * inverse};
    }
    [[gnu::always_inline]] static Vector<double> excess(Vector<double> t, Vector<double> y, Vector<double> u) noexcept {
        const Vector<double> zero{};
        const Vector<double> m = y * t;
        const Vector<double> q = -y * u;
        const Vector<double> e = exponential(-absolute(m));
        const Vector<double> inverse = 1.0 / (e + 1.0);
        const Vector<double> rest = log_one_plus(e);
        const auto right = m > zero;
        const Vector<double> other = right ? e * inverse : inverse;
        const Vector<double> same = right ? inverse : e * inverse;
        return divergence(q, other, -(maximum(m, zero) + rest)) +
               divergence(1.0 - q, same, -(maximum(-m, zero) + rest));
    }
    [[gnu::always_inline]] static Vector<double> project(Vector<double> y, Vector<double> u) noexcept {
        return -y * minimum(maximum(-y * u, Vector<double>{}), splat(1.0));
    }
};

template <>
struct LossLanes<LossKind::poisson> {
    [[gnu::always_inline]] static Lanes at(Vector<double> t, Vector<double> y) noexcept {
        const Vector<double> mean = exponential(t);
        return {divergence(y, mean, t), mean - y, mean};
    }
    [[gnu::always_inline]] static Vector<double> excess(Vector<double> t, Vector<double> y, Vector<double> u) noexcept {
        return divergence(maximum(u + y, Vector<double>{}), exponential(t), t);
    }
    [[gnu::always_inline]] static Vector<double> project(Vector<double> y, Vector<double> u) noexcept {
        return maximum(u, -y);
    }
};

template <>
struct LossLanes<LossKind::squared> {
    [[gnu::always_inline]] static Lanes at(Vector<double> t, Vector<double> y) noexcept {
        const Vector<double> r = t - y;
        return {r * r * 0.5, r, splat(1.0)};
    }
    [[gnu::always_inline]] static Vector<double> excess(Vector<double> t, Vector<double> y, Vector<double> u) noexcept {
        const Vector<double> r = t - y - u;
        return r * r * 0.5;
    }
    [[gnu::always_inline]] static Vector<double> project(Vector<double>, Vector<double> u) noexcept { return u; }
};

template <>
struct LossLanes<LossKind::squared_hinge> {
    [[gnu::always_inline]] static Lanes at(Vector<double> t, Vector<double> y) noexcept {
        const Vector<double> zero{};
        const Vector<double> lack = 1.0 - y * t;
        const Vector<double> part = maximum(lack, zero);
        return {part * part * 0.5, -y * part, lack > zero ? splat(1.0) : zero};
    }
    [[gnu::always_inline]] static Vector<double> excess(Vector<double> t, Vector<double> y, Vector<double> u) noexcept {
        const Vector<double> zero{};
        const Vector<double> lack = 1.0 - y * t;
        const Vector<double> q = -y * u;
        const Vector<double> off = maximum(lack, zero) - q;
        return off * off * 0.5 + q * maximum(-lack, zero);
    }
    [[gnu::always_inline]] static Vector<double> project(Vector<double> y, Vector<double> u) noexcept {
        return -y * maximum(-y * u, Vector<double>{});
    }
};

template <>
struct LossLanes<LossKind::hinge> {
    [[gnu::always_inline]] static Lanes at(Vector<double> t, Vector<double> y) noexcept {
        const Vector<double> zero{};
        const Vector<double> lack = 1.0 - y * t;
        return {maximum(lack, zero), lack > zero ? -y : zero, zero};
    }
    [[gnu::always_inline]] static Vector<double> excess(Vector<double> t, Vector<double> y, Vector<double> u) noexcept {
        const Vector<double> lack = 1.0 - y * t;
        const Vector<double> q = -y * u;
        return lack > Vector<double>{} ? (1.0 - q) * lack : -q * lack;
    }
    [[gnu::always_inline]] static Vector<double> project(Vector<double> y, Vector<double> u) noexcept {
        return -y * minimum(maximum(-y * u, Vector<double>{}), splat(1.0));
    }
};

/// Calls `work` with the lanes of a loss of one score.
template <class Work>
void with_loss(LossKind kind, Work&& work) {
    switch (kind) {
        case LossKind::logistic:
            work(LossLanes<LossKind::logistic>{});
            break;
        case LossKind::poisson:
            work(LossLanes<LossKind::poisson>{});
            break;
        case LossKind::squared_hinge:
            work(LossLanes<LossKind::squared_hinge>{});
            break;
        case LossKind::hinge:
            work(LossLanes<LossKind::hinge>{});
            break;
        case LossKind::squared:
        case LossKind::softmax:  // has a kernel of its own
            work(LossLanes<LossKind::squared>{});
            break;
    }
}

}  // namespace qed
