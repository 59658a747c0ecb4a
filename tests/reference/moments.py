"""Moments in exact rational arithmetic: slow, short, and with no rounding to argue about."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Exact(NamedTuple):
    rows: int
    weight: Fraction
    mean: list[Fraction]
    scatter: list[list[Fraction]]


def exact_moments(table: np.ndarray, weights: np.ndarray | None = None) -> Exact:
    """Weight, mean and centred scatter of the rows of a table."""
    rows = [[Fraction(float(value)) for value in row] for row in table]
    s = [Fraction(1)] * len(rows) if weights is None else [Fraction(float(value)) for value in weights]
    q = table.shape[1]
    total = sum(s, Fraction(0))
    if total == 0:
        return Exact(0, total, [Fraction(0)] * q, [[Fraction(0)] * q for _ in range(q)])
    mean = [sum((w * row[j] for w, row in zip(s, rows, strict=True)), Fraction(0)) / total for j in range(q)]
    scatter = [[Fraction(0)] * q for _ in range(q)]
    for w, row in zip(s, rows, strict=True):
        d = [value - centre for value, centre in zip(row, mean, strict=True)]
        for i in range(q):
            for j in range(q):
                scatter[i][j] += w * d[i] * d[j]
    return Exact(sum(w > 0 for w in s), total, mean, scatter)


def exact_integer_moments(table: np.ndarray, weights: np.ndarray) -> Exact:
    """The same for tables of integers, fast enough for many rows."""
    z = np.array([[int(value) for value in row] for row in table], dtype=object)
    s = np.array([int(value) for value in weights], dtype=object)
    total = int(s.sum())
    sums = s @ z
    products = z.T @ (z * s[:, np.newaxis])
    q = table.shape[1]
    scatter = [[Fraction(total * products[i, j] - sums[i] * sums[j], total) for j in range(q)] for i in range(q)]
    return Exact(int((weights > 0).sum()), Fraction(total), [Fraction(value, total) for value in sums], scatter)
