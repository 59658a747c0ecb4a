"""Mixtures, covariances and Bayesian regression against their definitions in fifty digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import det, diag, exp, eye, inverse, log, matrix, mp, mpf, pi, sqrt
from tests.truth.judged import Judged, fitted, ones, table, weights

from qed.covariance import OAS, EmpiricalCovariance, GraphicalLasso, LedoitWolf, ShrunkCovariance
from qed.linear_model import BayesianLinearRegression, BayesianRidge
from qed.mixture import BernoulliMixture, GaussianMixture, PoissonMixture

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = ("gaussians", "counts", "posterior", "evidence", "covariance", "precision")


def cases(seed: int) -> Iterator[Judged]:
    """Judge models of one seed."""
    mp.dps = 50
    rng = np.random.default_rng([seed, 11])
    n, p = int(rng.integers(5, 14)), int(rng.integers(1, 4))
    judge = {
        "gaussians": _gaussians,
        "counts": _counts,
        "posterior": _posterior,
        "evidence": _evidence,
        "covariance": _covariance,
        "precision": _precision,
    }[MODELS[seed % len(MODELS)]]
    yield from judge(rng, n, p)


def _exact(values: Any) -> Any:
    """Return a table in high precision, its entries as they are."""
    return matrix([[mpf(float(value)) for value in row] for row in np.atleast_2d(values)])


def _vector(values: Any) -> list[Any]:
    return [mpf(float(value)) for value in np.ravel(values)]


# ---------------------------------------------------------------- mixtures


def _gaussians(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """The objective at the fitted parameters, and what one more step adds."""
    X, s = table(rng, n, p), weights(rng, n)
    kind = str(rng.choice(["full", "tied", "diag", "spherical"]))
    model = GaussianMixture(
        int(rng.integers(1, 4)),
        covariance_type=kind,
        reg_covar=float(rng.choice([1e-6, 1e-3, 0.1])),
        max_iter=int(rng.integers(1, 20)),
        random_state=0,
    )
    if fitted(model, X, None, s) is None:
        return
    # a step may leave a component one direction: between it and the floor lie as many digits as an inverse needs
    mp.dps = 50 + max(0, round(2 * np.log10(np.abs(X).max() + 1.0) - np.log10(model.reg_covar)))
    rows, v = [_vector(row) for row in X], _vector(ones(s, n))
    k, floor = model.n_components, mpf(float(model.reg_covar))
    whole = [_square(model.covariances_, kind, j, p) for j in range(k)]
    here = (_vector(model.weights_), [_vector(mean) for mean in model.means_], whole)
    level, shares = _mixture(rows, v, here, floor)
    certificate = model.certificate_
    yield Judged(repr(model), certificate.rounding, float(abs(level - mpf(certificate.objective))), "objective")
    if not all(any(v[i] * shares[i][j] > 0 for i in range(n)) for j in range(k)):
        return  # a component that no row belongs to stays where it is
    after = _em_step(rows, v, shares, floor, kind, here)
    beyond = _mixture(rows, v, after, floor)[0]
    gain = beyond - level
    room = (20 if certificate.gain == 0 else 4) * certificate.rounding  # a gain that rounding hides is stated as zero
    # the step may lead to flatter components, where the objective rounds by more
    room += 64 * (p + 8) * 2.0**-53 * float(1 + abs(beyond)) * max(map(_condition, after[2]))
    yield Judged(repr(model), certificate.gain + room, float(gain), "gain of one more step")
    yield Judged(
        repr(model), 2 * certificate.rounding, float(-np.diff(certificate.trace).min(initial=0.0)), "fall of a step"
    )


def _square(found: Any, kind: str, j: int, p: int) -> Any:
    if kind == "full":
        return _exact(found[j])
    if kind == "tied":
        return _exact(found)
    return diag(_vector(found[j])) if kind == "diag" else mpf(float(found[j])) * eye(p)


def _condition(covariance: Any) -> float:
    """Return the condition number of a covariance, columns in units of their deviations."""
    p = covariance.rows
    root = [sqrt(covariance[i, i]) for i in range(p)]
    scaled = np.array([[float(covariance[i, j] / root[i] / root[j]) for j in range(p)] for i in range(p)])
    return float(np.linalg.cond(scaled))


def _mixture(rows: Any, v: Any, parameters: Any, floor: Any) -> tuple[Any, Any]:
    """Return the mean log-density of rows blurred by the floor, and responsibilities."""
    share, means, covariances = parameters
    p = len(rows[0])
    inverses = [inverse(one) for one in covariances]
    heights = [
        -(p * log(2 * pi) + log(det(one)) + floor * sum(back[i, i] for i in range(p))) / 2
        for one, back in zip(covariances, inverses, strict=True)
    ]
    total, shares = mpf(0), []
    for x, weight in zip(rows, v, strict=True):
        joint = []
        for w, mean, back, height in zip(share, means, inverses, heights, strict=True):
            z = matrix([a - b for a, b in zip(x, mean, strict=True)])
            joint.append((log(w) if w > 0 else mpf("-inf")) + height - (z.T * back * z)[0] / 2)
        top = max(joint)
        scaled = [exp(one - top) for one in joint]
        total += weight * (top + log(sum(scaled)))
        shares.append([one / sum(scaled) for one in scaled])
    return total / sum(v), shares


def _em_step(rows: Any, v: Any, shares: Any, floor: Any, kind: str, before: Any) -> Any:
    p, k = len(rows[0]), len(before[0])
    own = [[weight * one[j] for weight, one in zip(v, shares, strict=True)] for j in range(k)]
    sizes = [sum(one) for one in own]
    means, scatters = [], []
    for j in range(k):
        mean = [sum(a * x[c] for a, x in zip(own[j], rows, strict=True)) / sizes[j] for c in range(p)]
        scatter = matrix(p, p)
        for a, x in zip(own[j], rows, strict=True):
            z = matrix([x[c] - mean[c] for c in range(p)])
            scatter += a * (z * z.T)
        means.append(mean)
        scatters.append(scatter)
    blur = floor * eye(p)
    if kind == "tied":
        pooled = sum(scatters[1:], scatters[0]) / sum(sizes) + blur
        covariances = [pooled] * k
    else:
        covariances = [scatter / size + blur for scatter, size in zip(scatters, sizes, strict=True)]
    if kind in ("diag", "spherical"):
        covariances = [diag([one[i, i] for i in range(p)]) for one in covariances]
    if kind == "spherical":
        covariances = [sum(one[i, i] for i in range(p)) / p * eye(p) for one in covariances]
    return [size / sum(sizes) for size in sizes], means, covariances


def _counts(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """The objective of mixtures of coins and of events: the likelihood, and the prior by the weight of the rows."""
    s = weights(rng, n)
    alpha = float(rng.choice([0.1, 1.0]))
    if rng.random() < 0.5:
        X, model = rng.integers(0, 2, (n, p)).astype(float), BernoulliMixture(2, alpha=alpha, random_state=0)
    else:
        X, model = (
            rng.poisson(rng.choice([0.5, 5.0, 200.0]), (n, p)).astype(float),
            PoissonMixture(2, alpha=alpha, random_state=0),
        )
    if fitted(model, X, None, s) is None:
        return
    v, share = _vector(ones(s, n)), _vector(model.weights_)
    coins = isinstance(model, BernoulliMixture)
    theta = [_vector(row) for row in (model.probabilities_ if coins else model.rates_)]
    total = mpf(0)
    for x, weight in zip(X, v, strict=True):
        joint = mpf(0)
        for w, row in zip(share, theta, strict=True):
            one = w
            for value, t in zip(x, row, strict=True):
                one *= (t if value else 1 - t) if coins else t ** int(value) * exp(-t) / mp.factorial(int(value))
            joint += one
        total += weight * log(joint)
    if coins:
        prior = sum(log(t) + log(1 - t) for row in theta for t in row)
    else:
        middle = [
            (sum(w * mpf(float(x)) for w, x in zip(v, X[:, j], strict=True)) + 1) / (sum(v) + 1) for j in range(p)
        ]
        prior = sum(m * log(t) - t for row in theta for m, t in zip(middle, row, strict=True))
    objective = (total + mpf(alpha) * prior) / sum(v)
    certificate = model.certificate_
    yield Judged(repr(model), certificate.rounding, float(abs(objective - mpf(certificate.objective))), "objective")
    yield Judged(
        repr(model), 2 * certificate.rounding, float(-np.diff(certificate.trace).min(initial=0.0)), "fall of a step"
    )


# ---------------------------------------------------------------- Bayesian regression


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


# ---------------------------------------------------------------- covariances


def _moments(X: Any, v: Any) -> tuple[list[Any], Any]:
    p, total = X.shape[1], sum(v)
    rows = [_vector(row) for row in X]
    mean = [sum(w * x[j] for w, x in zip(v, rows, strict=True)) / total for j in range(p)]
    covariance = matrix(p, p)
    for x, weight in zip(rows, v, strict=True):
        z = matrix([x[j] - mean[j] for j in range(p)])
        covariance += weight * (z * z.T) / total
    return mean, covariance


def _covariance(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """Location and covariance of rows, entries relative to the squares that were summed; shrunk by the formula of each."""
    X, s = table(rng, n, p), weights(rng, n)
    model = (EmpiricalCovariance(), ShrunkCovariance(shrinkage=0.3), LedoitWolf(), OAS())[int(rng.integers(4))]
    if fitted(model, X, None, s) is None:
        return
    v = _vector(ones(s, n))
    mean, exact = _moments(X, v)
    amount = {"EmpiricalCovariance": mpf(0), "ShrunkCovariance": mpf(0.3)}.get(type(model).__name__)
    if amount is None:
        amount = mpf(model.shrinkage_)
        true = _ledoit_wolf(X, v, mean, exact) if isinstance(model, LedoitWolf) else _oas(exact, sum(v))
        yield Judged(repr(model), 1e-6, float(abs(true - amount)), "shrinkage")
    middle = sum(exact[i, i] for i in range(p)) / p
    drawn = (1 - amount) * exact + amount * middle * eye(p)
    # what was summed are squares about a row near the mean: at most the squares about the mean of the farthest row, four times
    reach = [max(abs(mpf(float(x)) - mean[j]) for x, w in zip(X[:, j], v, strict=True) if w > 0) ** 2 for j in range(p)]
    off = mpf(0)
    for i in range(p):
        for j in range(p):
            room = 4 * sqrt(reach[i] * reach[j]) + (4 * amount * max(reach) if i == j else 0)
            miss = abs(mpf(float(model.covariance_[i, j])) - drawn[i, j])
            off = max(off, miss / room if room > 0 else (mpf(0) if miss == 0 else mpf(1)))
    yield Judged(repr(model), model.certificate_.rounding + 8 * 2.0**-53, float(off), "covariance")


def _ledoit_wolf(X: Any, v: Any, mean: Any, exact: Any) -> Any:
    p, total = X.shape[1], sum(v)
    if p == 1:
        return mpf(0)
    middle = sum(exact[i, i] for i in range(p)) / p
    apart = sum((exact[i, j] - (middle if i == j else 0)) ** 2 for i in range(p) for j in range(p))
    noise = mpf(0)
    for x, weight in zip(X, v, strict=True):
        z = [mpf(float(x[j])) - mean[j] for j in range(p)]
        noise += weight * sum((z[i] * z[j] - exact[i, j]) ** 2 for i in range(p) for j in range(p))
    noise = min(noise / total / total, apart)
    return noise / apart if noise > 0 else mpf(0)


def _oas(exact: Any, n: Any) -> Any:
    p = exact.rows
    if p == 1:  # nothing to draw it towards
        return mpf(0)
    squares = sum(exact[i, j] ** 2 for i in range(p) for j in range(p)) / (p * p)
    trace = sum(exact[i, i] for i in range(p)) / p
    top, bottom = squares + trace**2, (n + 1) * (squares - trace**2 / p)
    return mpf(1) if bottom == 0 else min(top / bottom, mpf(1))


def _precision(rng: Any, n: int, p: int) -> Iterator[Judged]:
    """Two columns have a formula: the correlation is drawn towards zero by alpha, and the precision is the inverse."""
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 2)) * 10.0 ** rng.uniform(-3, 3, 2)
    size = abs(np.cov(X.T, bias=True)[0, 1])
    model = GraphicalLasso(
        alpha=float(size * rng.choice([0.0, 0.1, 0.5, 0.9, 1.5])), tol=float(rng.choice([1e-2, 1e-4, 1e-8]))
    )
    if fitted(model, X) is None:
        return
    _, S = _moments(X, _vector(np.ones(n)))
    alpha = mpf(model.alpha)

    def objective(T: Any) -> Any:
        return S[0, 0] * T[0, 0] + S[1, 1] * T[1, 1] + 2 * S[0, 1] * T[0, 1] - log(det(T)) + 2 * alpha * abs(T[0, 1])

    W = S.copy()
    drawn = max(abs(S[0, 1]) - alpha, mpf(0)) * (1 if S[0, 1] > 0 else -1)
    W[0, 1] = W[1, 0] = drawn
    above = objective(_exact(model.precision_)) - objective(inverse(W))
    yield Judged(repr(model), model.certificate_.gap, float(above))
