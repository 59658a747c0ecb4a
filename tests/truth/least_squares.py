"""Least squares against exact rationals: plain, ridge, weighted, out of a stream of additions and removals."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.reference.exact_least_squares import objective
from tests.truth.judged import Judged, fitted, ones, size, table, weights

import qed
from qed.linear_model import LinearRegression, Ridge, RidgeClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge least-squares models of one seed."""
    rng = np.random.default_rng([seed, 1])
    n, p = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    X, s, intercept = table(rng, n, p), weights(rng, n), bool(rng.random() < 0.6)
    y = size(rng) * (X[:, 0] / max(np.abs(X[:, 0]).max(), 1e-300) + rng.normal(size=n)) + rng.choice([0.0, 0.0, 1e6])
    alpha = float(rng.choice([0.0, 1.0, 10.0 ** rng.uniform(-12, 12)]))
    model = Ridge(alpha, fit_intercept=intercept) if alpha else LinearRegression(fit_intercept=intercept)
    if fitted(model, X, y, s) is not None:
        yield from judge(model, X, y, ones(s, n), alpha, intercept)
    if n > 2 and s is None:
        yield from _stream(rng, X, y, alpha, intercept)
    labels = y > np.median(y)
    if labels.any() and not labels.all():
        classifier = RidgeClassifier(alpha, fit_intercept=intercept)
        if fitted(classifier, X, labels, s) is not None:
            yield from judge(classifier.ridge_, X, np.where(labels, 1.0, -1.0), ones(s, n), alpha, intercept)


def _stream(rng: Any, X: Any, y: Any, alpha: float, intercept: bool) -> Iterator[Judged]:
    """Learn some rows, more rows of another size, and forget those, perhaps down to one."""
    model = Ridge(alpha, fit_intercept=intercept) if alpha else LinearRegression(fit_intercept=intercept)
    cut = int(rng.integers(1, len(X)))
    far = 10.0 ** rng.choice([0.0, 1.0, 4.0, 8.0])
    gone, lost = far * X[cut:] + rng.normal(size=X[cut:].shape), far ** rng.choice([0, 1]) * y[cut:]
    kept, own = X[:cut], y[:cut]
    try:
        with np.errstate(all="ignore"):
            model.partial_fit(kept, own).partial_fit(gone, lost).forget(gone, lost)
            yield from judge(model, kept, own, np.ones(cut), alpha, intercept, "after forgetting")
            if rng.random() < 0.7:
                model.partial_fit(X[cut:], y[cut:])
                yield from judge(model, X, y, np.ones(len(X)), alpha, intercept, "after forgetting and learning")
    except (qed.InvalidData, qed.ForgetError):
        return


def judge(model: Any, X: Any, y: Any, s: Any, alpha: float, intercept: bool, how: str = "") -> Iterator[Judged]:
    """Compare gap and objective with exact ones; within the radius, on the way to the exact solution."""
    certificate, used = model.certificate_, s > 0
    X, y, s = X[used], y[used], s[used]
    w, b = np.atleast_1d(np.squeeze(model.coef_)), float(np.squeeze(model.intercept_))
    here = objective(X, y, s, w, b, alpha)
    best_w, best_b = minimiser(X, y, s, alpha, intercept=intercept)
    if np.isfinite(certificate.radius):
        lengths = [
            sum(Fraction(float(v)) * Fraction(float(x)) ** 2 for v, x in zip(s, column, strict=True)) for column in X.T
        ]
        squared = sum(one * (Fraction(float(c)) - best) ** 2 for one, c, best in zip(lengths, w, best_w, strict=True))
        share = (
            Fraction(1)
            if squared <= Fraction(certificate.radius) ** 2
            else _root(Fraction(certificate.radius) ** 2 / squared)
        )
        best_w = [Fraction(float(c)) + share * (best - Fraction(float(c))) for c, best in zip(w, best_w, strict=True)]
        best_b = Fraction(b) + share * (best_b - Fraction(b))
    there = _value(X, y, s, best_w, best_b, Fraction(alpha))
    name = f"{model!r} {how}".strip()
    yield Judged(name, certificate.gap, _float(here - there))
    off = abs(_float(here - Fraction(certificate.objective)))
    null = _float(sum(Fraction(float(v)) * Fraction(float(t)) ** 2 for v, t in zip(s, y, strict=True)))
    # six digits of it are computed, or what products of columns leave of twelve of the sum of squares
    yield Judged(name, certificate.gap + 1e-6 * _float(here) + 1e-12 * null, off, "objective")


def minimiser(X: Any, y: Any, s: Any, alpha: float, *, intercept: bool) -> tuple[list[Fraction], Fraction]:
    """Return exact coefficients that are best, and the intercept: those of free directions are zero."""
    rows = [[Fraction(float(x)) for x in row] + [Fraction(1)] * intercept for row in X]
    k = len(rows[0])
    A = [[Fraction(0)] * (k + 1) for _ in range(k)]
    for row, target, weight in zip(rows, y, s, strict=True):
        for i in range(k):
            left = Fraction(float(weight)) * row[i]
            for j in range(k):
                A[i][j] += left * row[j]
            A[i][k] += left * Fraction(float(target))
    for i in range(k - intercept):
        A[i][i] += Fraction(alpha)
    pivots = []
    for j in range(k):
        at = next((i for i in range(len(pivots), k) if A[i][j] != 0), None)
        if at is None:
            continue
        r = len(pivots)
        A[r], A[at] = A[at], A[r]
        A[r] = [value / A[r][j] for value in A[r]]
        for i in range(k):
            if i != r and A[i][j] != 0:
                A[i] = [one - A[i][j] * other for one, other in zip(A[i], A[r], strict=True)]
        pivots.append(j)
    solution = [Fraction(0)] * k
    for r, j in enumerate(pivots):
        solution[j] = A[r][k]
    return (solution[:-1], solution[-1]) if intercept else (solution, Fraction(0))


def _value(X: Any, y: Any, s: Any, w: list[Fraction], b: Fraction, alpha: Fraction) -> Fraction:
    total = alpha * sum((c * c for c in w), Fraction(0))
    for row, target, weight in zip(X, y, s, strict=True):
        r = Fraction(float(target)) - sum(Fraction(float(x)) * c for x, c in zip(row, w, strict=True)) - b
        total += Fraction(float(weight)) * r * r
    return total


def _root(value: Fraction) -> Fraction:
    """Return a little less than the square root of a number below one."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * middle <= value else (low, middle)
    return low


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
