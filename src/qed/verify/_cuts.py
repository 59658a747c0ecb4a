"""Cuts through columns, by definition: what every cut of every column leaves, from sums over sorted rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Sample", "least_of_depth", "least_of_one_cut", "mass_of"]

Array = np.ndarray[Any, Any]


class Sample(NamedTuple):
    """Targets (indicators of classes, or numbers) with weights, and the criterion that judges them."""

    criterion: str
    target: Array
    s: Array

    def of(self, rows: Array) -> Sample:
        """Return some of the rows."""
        return Sample(self.criterion, self.target[rows], self.s[rows])

    def mass(self) -> float:
        """Return weight times impurity of all rows together."""
        if self.criterion == "absolute_error":
            order = np.argsort(self.target[:, 0], kind="stable")
            below = np.cumsum(self.s[order])
            median = self.target[order[np.searchsorted(below, below[-1] / 2)], 0]
            return float(self.s @ np.abs(self.target[:, 0] - median))
        mean = (self.s @ self.target / self.s.sum())[None]
        group = np.zeros(len(self.s), dtype=np.intp)
        return float(mass_of(self.criterion, self.target, self.s, group, mean)[0])


def mass_of(criterion: str, target: Array, s: Array, group: Array, mean: Array) -> Array:
    """Return weight times impurity of each group, about the given means (shares of classes)."""
    if criterion in ("gini", "entropy"):
        weight = np.bincount(group, s)
        if criterion == "gini":
            return np.asarray(weight * (1 - (mean**2).sum(axis=1)))
        return np.asarray(-weight * (mean * np.log2(np.where(mean > 0, mean, 1))).sum(axis=1))
    if criterion == "poisson":
        own = mean[group, 0]
        excess = (target[:, 0] - own) / np.where(own > 0, own, 1)  # without events nothing deviates
        return np.bincount(group, s * own * _deviance(excess), minlength=len(mean))
    errors = ((target - mean[group]) ** 2).mean(axis=1)
    return np.bincount(group, s * errors, minlength=len(mean))


def least_of_one_cut(X: Array, sample: Sample, fewest: int = 1, lightest: float = 0.0) -> float:
    """Return the least that a single cut leaves, infinity if there is none; missing values on either side."""
    least = np.inf
    for column in X.T:
        for order, cuts in _orders(column):
            cuts = cuts[(cuts >= fewest) & (len(column) - cuts >= fewest)]  # noqa: PLW2901
            if not len(cuts):
                continue
            below = np.cumsum(sample.s[order])
            fine = (below[cuts - 1] >= lightest) & (below[-1] - below[cuts - 1] >= lightest)
            left = _prefixes(sample.of(order), cuts)[fine]
            if len(left):
                least = min(least, float(left.min()))
    return least


def least_of_depth(X: Array, sample: Sample, depth: int) -> float:
    """Return the least that trees of depth one or two leave, comparing all of them."""
    least = min(sample.mass(), least_of_one_cut(X, sample))
    if depth < 2:
        return least
    for column in X.T:
        for order, cuts in _orders(column):
            for cut in cuts:
                total = 0.0
                for side in (order[:cut], order[cut:]):
                    own = sample.of(side)
                    total += min(own.mass(), least_of_one_cut(X[side], own))
                least = min(least, total)
    return least


def _orders(column: Array) -> list[tuple[Array, Array]]:
    """Return orders of the rows, and after how many of them a cut may lie: missing values last, then first."""
    order = np.argsort(column, kind="stable")  # NaN last
    known = int(np.count_nonzero(~np.isnan(column)))
    values = column[order[:known]]
    between = np.flatnonzero(values[1:] > values[:-1]) + 1
    missing = len(column) - known
    if not missing:
        return [(order, between)]
    behind = np.append(between, known) if known else between
    return [(order, behind), (np.concatenate([order[known:], order[:known]]), between + missing)]


def _prefixes(sample: Sample, cuts: Array) -> Array:
    """Return what cuts leave on both sides together, for rows in order."""
    s, target = sample.s, sample.target
    if sample.criterion == "absolute_error":
        rows = np.arange(len(s))
        return np.array([sample.of(rows[:cut]).mass() + sample.of(rows[cut:]).mass() for cut in cuts])
    if sample.criterion == "squared_error":
        target = target - s @ target / s.sum()
    sums = np.cumsum(s[:, None] * target, axis=0)
    weight = np.cumsum(s)
    left, right = sums[cuts - 1], sums[-1] - sums[cuts - 1]
    here, there = weight[cuts - 1], weight[-1] - weight[cuts - 1]
    if sample.criterion == "gini":
        return np.asarray(here - (left**2).sum(axis=1) / here + there - (right**2).sum(axis=1) / there)
    if sample.criterion == "squared_error":
        squares = float((s @ target**2).sum())
        parted = (left**2).sum(axis=1) / here + (right**2).sum(axis=1) / there
        return np.asarray((squares - parted) / target.shape[1])
    if sample.criterion == "entropy":
        parts = _xlog2x(here) - _xlog2x(left).sum(axis=1) + _xlog2x(there) - _xlog2x(right).sum(axis=1)
        return np.asarray(parts)
    mean = float((s @ target)[0] / s.sum())
    if not mean > 0:
        return np.full(len(cuts), np.inf)
    excess = np.cumsum(s * (target[:, 0] - mean))
    low, high = excess[cuts - 1] / (here * mean), (excess[-1] - excess[cuts - 1]) / (there * mean)
    fine = np.minimum(here * (1 + low), there * (1 + high)) > 1e-13 * weight[-1]  # a side without events has no mean
    low, high = np.where(fine, low, 0), np.where(fine, high, 0)
    total = float(s @ _deviance((target[:, 0] - mean) / mean))
    return np.where(fine, mean * (total - here * _deviance(low) - there * _deviance(high)), np.inf)


def _deviance(r: Array) -> Array:
    """Return (1 + r) log(1 + r) - r, by the mean value of its second derivative where that is steadier: an integral by Gauss."""
    small = np.abs(r) < 0.1
    inside = np.where(small | (r <= -1), 0.0, r)
    plain = np.where(r <= -1, 1.0, (1 + inside) * np.log1p(inside) - inside)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    at = (nodes + 1) / 2  # r² times the integral of (1 - a) / (1 + a r) over a in [0, 1]
    near = np.where(small, r, 0.0)
    steady = near**2 * sum(w / 2 * (1 - a) / (1 + a * near) for a, w in zip(at, weights, strict=True))
    return np.asarray(np.where(small, steady, plain))


def _xlog2x(x: Array) -> Array:
    x = np.maximum(x, 0)
    return np.asarray(x * np.log2(np.where(x > 0, x, 1)))
