"""Best subsets against all subsets, each solved in high precision within the radius of the claim; and thresholds against all."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf, sqrt
from tests.truth.judged import Judged, fitted, ones, size, table, weights

from qed.linear_model import BestSubsetRegressor, ThresholdClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge subsets and thresholds of one seed."""
    mp.dps = 60
    rng = np.random.default_rng([seed, 3])
    n, p = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    X, s = table(rng, n, p), weights(rng, n)
    if seed % 2:
        X, s = rng.integers(0, 3, (n, p)).astype(float), s if s is None else np.round(s)
        labels = rng.integers(0, 3, n)
        model = ThresholdClassifier()
        if fitted(model, X, labels, s) is not None:
            v = ones(s, n)
            wrong = v[model.predict(X) != labels].sum()
            least = min(_least_wrong(column, labels, v) for column in X.T)
            yield Judged(repr(model), 1e-9 * v.sum(), wrong - least, "weight of mistakes")
        return
    if p > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-15, -1) * rng.normal(size=n))
    y = size(rng) * rng.normal(size=n) + rng.choice([0.0, 0.0, 100.0])
    count, price = int(rng.integers(0, p + 1)), float(rng.choice([0.0, 0.0, 0.1, 1.0])) * float(np.var(y))
    intercept = bool(rng.random() < 0.6)
    model = BestSubsetRegressor(count, penalty=price, fit_intercept=intercept)
    if fitted(model, X, y, s) is None:
        return
    certificate, v = model.certificate_, ones(s, n)
    used = np.flatnonzero(v > 0)
    A, t, middle, level = _centred(X[used], y[used], v[used], intercept)
    w = [mpf(float(c)) for c in model.coef_]
    off = level - mpf(float(model.intercept_)) - sum((m * c for m, c in zip(middle, w, strict=True)), mpf(0))
    total = sum((mpf(float(one)) for one in v[used]), mpf(0))
    rest = [b - sum((row[j] * w[j] for j in range(p)), mpf(0)) for row, b in zip(A, t, strict=True)]
    own = sum((r * r for r in rest), mpf(0)) + total * off**2 * intercept + mpf(price) * len(model.columns_)
    best = min(
        _left(A, t, chosen, mpf(certificate.radius)) + mpf(price) * k
        for k in range(count + 1)
        for chosen in combinations(range(p), k)
    )
    null = float(sum((b * b for b in t), mpf(0)))
    raw = float(sum(mpf(float(a)) * mpf(float(b)) ** 2 for a, b in zip(v[used], y[used], strict=True)))
    yield Judged(repr(model), certificate.gap + 1e-14 * raw, float(own - best))
    yield Judged(
        repr(model),
        certificate.gap + 1e-9 * null + 1e-12 * raw,
        float(abs(own - mpf(certificate.objective))),
        "objective",
    )


def _centred(X: Any, y: Any, s: Any, intercept: bool) -> Any:
    s, y = [mpf(float(one)) for one in s], [mpf(float(one)) for one in y]
    rows = [[mpf(float(x)) for x in row] for row in X]
    total, p = sum(s, mpf(0)), len(rows[0])
    middle = [sum((w * row[j] for w, row in zip(s, rows, strict=True)), mpf(0)) / total * intercept for j in range(p)]
    level = sum((w * one for w, one in zip(s, y, strict=True)), mpf(0)) / total * intercept
    A = [[(row[j] - middle[j]) * sqrt(w) for j in range(p)] for row, w in zip(rows, s, strict=True)]
    return A, [(one - level) * sqrt(w) for one, w in zip(y, s, strict=True)], middle, level


def _left(A: Any, t: Any, chosen: tuple[int, ...], radius: Any) -> Any:
    """Return what the best coefficients leave, in columns of unit length, shrunk where they are beyond the radius."""
    basis: list[list[Any]] = []  # directions of length one, by Gram and Schmidt; exactly dependent columns add none
    triangle: list[list[Any]] = []
    for j in chosen:
        length = sqrt(sum(row[j] ** 2 for row in A))
        v = [row[j] / length if length else mpf(0) for row in A]
        along = [sum(a * b for a, b in zip(q, v, strict=True)) for q in basis]
        for c, q in zip(along, basis, strict=True):
            v = [a - c * b for a, b in zip(v, q, strict=True)]
        left = sqrt(sum(a * a for a in v))
        if left > mpf(10) ** -40 and len(basis) < len(t):
            basis.append([a / left for a in v])
            triangle.append([*along, left])
    seen = [sum(a * b for a, b in zip(q, t, strict=True)) for q in basis]
    w: list[Any] = [mpf(0)] * len(seen)
    for i in reversed(range(len(seen))):
        w[i] = (seen[i] - sum(triangle[k][i] * w[k] for k in range(i + 1, len(seen)))) / triangle[i][i]
    long = sqrt(sum(c * c for c in w))
    share = (
        min(mpf(1), radius / long) if long else mpf(1)
    )  # towards zero: what is left falls no less than in proportion
    whole = sum(b * b for b in t)
    return whole - (2 * share - share**2) * sum(c * c for c in seen)


def _least_wrong(column: Any, labels: Any, s: Any) -> float:
    """Return the least weight of mistakes of a split of one column, or of none."""

    def wrong(rows: Any) -> float:
        return float(s[rows].sum() - max((s[rows][labels[rows] == k].sum() for k in range(3)), default=0.0))

    cuts = [np.inf, *np.unique(column)]
    return min(wrong(column <= t) + wrong(column > t) for t in cuts)
