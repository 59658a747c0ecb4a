"""Bayesian regression against its definitions in fifty digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import det, eye, inverse, log, matrix, mp, mpf, pi, sqrt
from tests.truth.judged import Judged, fitted, ones, weights

from qed.linear_model import BayesianLinearRegression, BayesianRidge

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge models of one seed."""
    mp.dps = 50
    rng = np.random.default_rng([seed, 11])
    n, p = int(rng.integers(5, 14)), int(rng.integers(1, 4))
    yield from (_posterior if seed % 2 else _evidence)(rng, n, p)


def _vector(values: Any) -> list[Any]:
    return [mpf(float(value)) for value in np.ravel(values)]


def _products(X: Any, y: Any, v: Any, *, intercept: bool) -> tuple[Any, Any, Any]:
    rows = [_vector(row) + ([mpf(1)] if intercept else []) for row in X]
    q, targets = len(rows[0]), _vector(y)
    G, c = matrix(q, q), matrix(q, 1)
    for x, t, weight in zip(rows, targets, v, strict=True):
        z = matrix(x)
        G += weight * (z * z.T)
        c += weight * t * z
    return G, c, sum(weight * t * t for t, weight in zip(targets, v, strict=True))


def _posterior(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """Mean and covariance of the posterior, relative to what was summed; and the evidence by its definition, a density of rows."""
    X, y = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-3, 3, p), rng.normal(size=n)
    s = weights(rng, n)
    if s is not None and (s.max() > 1e20 or s.min() < 1e-20):
        s = None
    prior, noise = float(10.0 ** rng.uniform(-3, 3)), float(10.0 ** rng.uniform(-3, 3))
    intercept = bool(rng.random() < 0.5)
    model = BayesianLinearRegression(prior, noise_variance=noise, fit_intercept=intercept)
    if fitted(model, X, y, s) is None:
        return
    v = _vector(ones(s, n))
    G, c, yy = _products(X, y, v, intercept=intercept)
    q = p + intercept
    beta = 1 / mpf(noise)
    A = eye(q) / mpf(prior) + beta * G
    S = inverse(A)
    w = S * (beta * c)
    unit = [sqrt(A[i, i]) for i in range(q)]
    stored = np.append(model.coef_, model.intercept_) if intercept else model.coef_
    size = sqrt(sum((unit[i] * w[i]) ** 2 for i in range(q))) + sqrt(beta * yy)
    rounding = model.certificate_.rounding
    off = max(abs(mpf(float(stored[i])) - w[i]) * unit[i] / size for i in range(q))
    yield Judged(repr(model), rounding, float(off), "posterior mean")
    off = max(
        abs(mpf(float(model.covariance_[i, j])) - S[i, j]) / sqrt(S[i, i] * S[j, j]) for i in range(q) for j in range(q)
    )
    yield Judged(repr(model), rounding, float(off), "posterior covariance")
    if s is None:  # the density of the targets with the coefficients integrated out
        rows = matrix([_vector(row) + ([mpf(1)] if intercept else []) for row in X])
        K = mpf(prior) * (rows * rows.T) + mpf(noise) * eye(n)
        t = matrix(_vector(y))
        exact = -((t.T * inverse(K) * t)[0] + log(det(K)) + n * log(2 * pi)) / 2
        off = abs(mpf(model.log_evidence_) - exact)
        room = rounding * float(1 + n * (1 + abs(log(beta))) + q + abs(exact) + beta * yy)
        yield Judged(repr(model), room, float(off), "log evidence")


def _evidence(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """The evidence at the precisions that were found, by the determinant and the inverse of the covariance of the targets."""
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2, 2, p)
    y = X @ rng.normal(size=p) * float(rng.choice([0.0, 1.0])) + rng.normal(size=n)
    model = BayesianRidge(
        fit_intercept=False, method=str(rng.choice(["fixed-point", "em"])), max_iter=int(rng.integers(1, 60))
    )
    if fitted(model, X, y) is None:
        return
    alpha, strength = mpf(model.alpha_), mpf(float(np.ravel(model.lambda_)[0]))
    rows = matrix([_vector(row) for row in X])
    K = (rows * rows.T) / strength + eye(n) / alpha
    t = matrix(_vector(y))
    exact = -((t.T * inverse(K) * t)[0] + log(det(K)) + n * log(2 * pi)) / 2
    a1, a2, l1, l2 = (mpf(getattr(model, name)) for name in ("alpha_1", "alpha_2", "lambda_1", "lambda_2"))
    exact += a1 * log(alpha) - a2 * alpha + l1 * log(strength) - l2 * strength
    certificate = model.certificate_
    yield Judged(repr(model), certificate.rounding, float(abs(exact / n - mpf(certificate.objective))), "log evidence")
    yield Judged(
        repr(model), 2 * certificate.rounding, float(-np.diff(certificate.trace).min(initial=0.0)), "fall of a step"
    )
