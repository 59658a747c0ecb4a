"""Least squares in rational arithmetic: every float is a fraction, so objective and optimum are exact, whatever the data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exactly(a):
    """Return an array as nested lists of fractions."""
    return [[Fraction(float(x)) for x in row] for row in np.atleast_2d(np.asarray(a, dtype=float))]


def objective(X, y, s, w, b, alpha=0.0, prior=None):
    """Return Σ s (y - xw - b)² + alpha ‖w - prior‖² for one target."""
    rows = exactly(X)
    w = exactly(w)[0]
    prior = [Fraction(0)] * len(w) if prior is None else exactly(prior)[0]
    b, alpha = Fraction(float(b)), Fraction(float(alpha))
    total = alpha * sum((one - two) ** 2 for one, two in zip(w, prior, strict=True))
    for row, target, weight in zip(rows, y, s, strict=True):
        r = Fraction(float(target)) - sum(x * c for x, c in zip(row, w, strict=True)) - b
        total += Fraction(float(weight)) * r * r
    return total


def optimum(X, y, s, alpha=0.0, prior=None, *, intercept=True):
    """Return the smallest value of the same, by exact elimination on the normal equations."""
    rows = exactly(X)
    p = len(rows[0])
    prior = [Fraction(0)] * p if prior is None else exactly(prior)[0]
    alpha = Fraction(float(alpha))
    columns = p + intercept
    A = [[Fraction(0)] * (columns + 1) for _ in range(columns)]
    yy = alpha * sum(one * one for one in prior)
    numbers = zip(rows, map(Fraction, map(float, y)), map(Fraction, map(float, s)), strict=True)
    for row, target, weight in numbers:
        full = row + [Fraction(1)] * intercept
        for i in range(columns):
            left = weight * full[i]
            for j in range(columns):
                A[i][j] += left * full[j]
            A[i][columns] += left * target
        yy += weight * target * target
    for i in range(p):
        A[i][i] += alpha
        A[i][columns] += alpha * prior[i]
    # eliminate: each pivot takes (its right-hand side)² / pivot off the objective; a zero pivot is a free direction
    left = list(range(columns))
    while left:
        k = next((k for k in left if A[k][k] != 0), None)
        if k is None:
            break
        left.remove(k)
        yy -= A[k][columns] ** 2 / A[k][k]
        for i in left:
            factor = A[i][k] / A[k][k]
            if factor:
                for j in [*left, columns]:
                    A[i][j] -= factor * A[k][j]
    return yy
