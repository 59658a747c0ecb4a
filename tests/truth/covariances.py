"""Covariances in fifty digits; the graphical lasso against its dual, solved coordinate by coordinate in as many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import det, log, matrix, mp, mpf, sqrt
from tests.truth.judged import Judged, fitted, table

from qed.covariance import OAS, EmpiricalCovariance, GraphicalLasso, LedoitWolf, ShrunkCovariance

if TYPE_CHECKING:
    from collections.abc import Iterator

SWEEPS = 400


def cases(seed: int) -> Iterator[Judged]:
    """Judge covariances of one seed."""
    mp.dps = 50
    rng = np.random.default_rng([seed, 9])
    n, p = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    X, centred = table(rng, n, p), bool(rng.random() < 0.2)
    yield from (_plain if seed % 2 else _sparse)(rng, X, centred)


def exact(X: Any) -> list[list[Any]]:
    """Return rows as numbers of fifty digits."""
    return [[mpf(float(x)) for x in row] for row in X]


def scatter(X: Any, *, centred: bool) -> tuple[list[Any], Any]:
    """Return means and covariance."""
    rows, n, p = exact(X), len(X), X.shape[1]
    mean = [mpf(0) if centred else sum(row[j] for row in rows) / n for j in range(p)]
    Z = matrix([[row[j] - mean[j] for j in range(p)] for row in rows])
    return mean, Z.T * Z / n


def _plain(rng: Any, X: Any, centred: bool) -> Iterator[Judged]:
    model = [
        EmpiricalCovariance(assume_centered=centred),
        ShrunkCovariance(shrinkage=float(rng.random()), assume_centered=centred),
        LedoitWolf(assume_centered=centred),
        OAS(assume_centered=centred),
    ][int(rng.integers(4))]
    if fitted(model, X) is None:
        return
    p, (mean, S) = X.shape[1], scatter(X, centred=centred)
    share = mpf(float(getattr(model, "shrinkage_", getattr(model, "shrinkage", 0.0))))
    if isinstance(model, LedoitWolf | OAS):
        true = _share(model, X, mean, S)
        yield Judged(
            repr(model), 1e-6 if true is None else 1e-7, float(abs(share - (share if true is None else true))), "share"
        )
    level = sum(S[j, j] for j in range(p)) / p
    length = [sqrt(S[j, j]) for j in range(p)]
    size = max(level, max((x * x for x in length), default=mpf(0)))
    largest = [max(abs(mpf(float(x))) for x in X[:, j]) for j in range(p)]
    rounding = mpf(model.certificate_.rounding) * 4 + mpf(2) ** -48
    worst = far = mpf(0)
    for i in range(p):
        allowed = length[i] * rounding + largest[i] * mpf(2) ** -50
        off = abs(mpf(float(model.location_[i])) - mean[i])
        far = max(far, off / allowed if allowed else off)
        for j in range(p):
            drawn = (1 - share) * S[i, j] + (share * level if i == j else 0)
            unit = length[i] * length[j] + share * size + (length[i] + length[j]) * max(largest) * mpf(2) ** -50
            if unit:
                worst = max(worst, abs(mpf(float(model.covariance_[i, j])) - drawn) / unit)
    yield Judged(repr(model), 1.0, float(far), "location, in stated roundings")
    yield Judged(repr(model), float(rounding), float(worst), "covariance")


def _share(model: Any, X: Any, mean: list[Any], S: Any) -> Any:
    """Return the share by the formula of its authors; None where nothing tells variances apart."""
    n, p = X.shape
    level = sum(S[j, j] for j in range(p)) / p
    squares = sum(S[i, j] ** 2 for i in range(p) for j in range(p)) / p
    apart = squares - level**2
    if p == 1 or apart <= mpf(2) ** -40 * squares or not level:
        return None
    if isinstance(model, OAS):
        up = squares * p + (level * p) ** 2
        alpha = squares / p  # the mean of all squared entries
        return min((alpha + level**2) / ((n + 1) * (alpha - level**2 / p)), mpf(1)) if up else None
    noise = mpf(0)
    for row in exact(X):
        z = [x - m for x, m in zip(row, mean, strict=True)]
        noise += sum((z[i] * z[j] - S[i, j]) ** 2 for i in range(p) for j in range(p)) / p
    return min(noise / n**2, apart) / apart


def _sparse(rng: Any, X: Any, centred: bool) -> Iterator[Judged]:
    alpha = float(rng.choice([0.01, 0.1, 0.5, 2.0])) * float(np.var(X) or 1.0)
    model = GraphicalLasso(alpha, assume_centered=centred)
    if not np.isfinite(alpha) or alpha <= 0 or fitted(model, X) is None:
        return
    p, (_, S) = X.shape[1], scatter(X, centred=centred)
    K = matrix([[mpf(float(x)) for x in row] for row in model.precision_])
    inside = det(K)
    if not inside > 0:
        yield Judged(repr(model), 0.0, 1.0, "determinant of the precision that is not positive")
        return
    pairs = [(i, j) for i in range(p) for j in range(p)]
    own = sum(S[i, j] * K[i, j] for i, j in pairs) - log(inside)
    own += mpf(alpha) * sum(abs(K[i, j]) for i, j in pairs if i != j)
    best = log(det(_dual(S, mpf(alpha)))) + p
    yield Judged(repr(model), model.certificate_.gap, float(own - best))


def _dual(S: Any, alpha: Any) -> Any:
    """Return the covariance of largest determinant whose correlations are within alpha of those given: entry by entry."""
    p = S.rows
    W = S.copy()
    for i in range(p):
        for j in range(p):
            if i != j:  # inside of the cone: where nothing is correlated
                W[i, j] = S[i, j] - max(-alpha, min(alpha, S[i, j]))
    for _ in range(SWEEPS if p > 2 else 1):
        moved, before = mpf(0), W.copy()
        for i in range(p):
            for j in range(i):
                at = []
                for value in (mpf(-1), mpf(0), mpf(1)):
                    W[i, j] = W[j, i] = value * sqrt(S[i, i] * S[j, j])
                    at.append(det(W))
                bend, slope = (at[0] + at[2]) / 2 - at[1], (at[2] - at[0]) / 2  # a parabola in this entry
                top = -slope / (2 * bend) * sqrt(S[i, i] * S[j, j]) if bend < 0 else mpf(0)
                new = max(S[i, j] - alpha, min(S[i, j] + alpha, top))
                moved = max(moved, abs(new - before[i, j]) / sqrt(S[i, i] * S[j, j]))
                W[i, j] = W[j, i] = new
        if moved < mpf(10) ** -25:
            break
    return W
