"""Cuts through columns, by definition: what every cut of every column leaves, from sums over sorted rows."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
LABELS = ("gini", "entropy", "misclassification")  # criteria of classes
TOGETHER = 1 << 19  # numbers that are held for sets of rows of like size


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
    """Return weight times impurity of each group, about the given means; classes are counted, which needs none."""
    if criterion in LABELS:
        counts = [np.bincount(group, s * own, minlength=len(mean)) for own in target.T]
        return _mixed(criterion, np.stack(counts, axis=1))
    weight = np.bincount(group, s, minlength=len(mean))
    apart = target - mean[group]
    # means are rounded: what that leaves is no impurity
    off = np.stack([np.bincount(group, s * own, minlength=len(mean)) / weight for own in apart.T], axis=1)
    if criterion == "poisson":
        level = np.where(mean[:, 0] > 0, mean[:, 0], 1)  # without events nothing deviates
        sums = np.bincount(group, s * mean[group, 0] * _deviance(apart[:, 0] / level[group]), minlength=len(mean))
        return np.asarray(sums - weight * mean[:, 0] * _deviance(off[:, 0] / level))
    sums = np.bincount(group, s * (apart**2).mean(axis=1), minlength=len(mean))
    return np.asarray(sums - weight * (off**2).mean(axis=1))


def _mixed(criterion: str, sums: Array) -> Array:
    """Return weight times impurity from the weights of classes, (m, k); only positive numbers are added."""
    others = np.zeros_like(sums)
    others[:, 1:] += np.cumsum(sums[:, :-1], axis=1)
    others[:, :-1] += np.cumsum(sums[:, :0:-1], axis=1)[:, ::-1]
    if criterion == "gini":
        total = sums.sum(axis=1)
        return np.asarray((sums * (others / np.where(total > 0, total, 1)[:, None])).sum(axis=1))
    if criterion == "misclassification":
        return np.asarray(np.take_along_axis(others, sums.argmax(axis=1)[:, None], axis=1)[:, 0])
    own = np.where(sums > 0, sums, 1)
    return np.asarray((sums * np.log1p(others / own)).sum(axis=1) / np.log(2))


class Directions(NamedTuple):
    """Columns in which values must rise (1) or fall (-1), and between what they must stay there."""

    by_column: Array
    low: float
    high: float
    near: float  # rounding: cuts that are allowed by less than this are left out

    def allow(self, j: int, sample: Sample, cuts: Array) -> Array:
        """Return which cuts of rows in order the column allows for sure."""
        direction = int(self.by_column[j])
        if not direction:
            return np.ones(len(cuts), dtype=bool)
        own = sample.target[:, -1]
        weight, total = np.cumsum(sample.s), np.cumsum(sample.s * own)
        left = total[cuts - 1] / weight[cuts - 1]
        right = (total[-1] - total[cuts - 1]) / (weight[-1] - weight[cuts - 1])
        inside = (np.minimum(left, right) >= self.low + self.near) & (np.maximum(left, right) <= self.high - self.near)
        return np.asarray(inside & ((right - left) * direction >= self.near))


def least_of_one_cut(
    X: Array, sample: Sample, fewest: int = 1, lightest: float = 0.0, directions: Directions | None = None
) -> float:
    """Return the least that a single cut leaves, infinity if there is none; missing values on either side."""
    least = np.inf
    for j, column in enumerate(X.T):
        for order, cuts in _orders(column):
            cuts = cuts[(cuts >= fewest) & (len(column) - cuts >= fewest)]  # noqa: PLW2901
            if not len(cuts):
                continue
            below = np.cumsum(sample.s[order])
            fine = (below[cuts - 1] >= lightest) & (below[-1] - below[cuts - 1] >= lightest)
            if directions is not None:
                fine &= directions.allow(j, sample.of(order), cuts)
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
    if sample.criterion == "absolute_error":
        rows = np.arange(len(sample.s))
        return np.array([sample.of(rows[:cut]).mass() + sample.of(rows[cut:]).mass() for cut in cuts])
    before, after = _running(sample), _running(sample.of(np.arange(len(sample.s))[::-1]))[::-1]
    return np.asarray(before[cuts - 1] + after[cuts])


def _running(sample: Sample) -> Array:
    return np.asarray(running(sample.criterion, sample.s[None], sample.target[None])[0])


def running(criterion: str, s: Array, target: Array) -> Array:
    """Return weight times impurity of the first row, the first two, and so on, (g, m): each adds something positive.

    Sides are never found by subtracting one from the whole: a light side would be the rounding of a heavy one. Rows without weight
    may stand at the end.
    """
    if criterion in LABELS:
        sums = np.cumsum(s[:, :, None] * target, axis=1)
        return _mixed(criterion, sums.reshape(-1, sums.shape[2])).reshape(s.shape)
    weight = np.cumsum(s, axis=1)
    origin = 0.0 if criterion == "poisson" else target[:, :1]  # events are added, squares are about a row
    mean = origin + np.cumsum(s[:, :, None] * (target - origin), axis=1) / weight[:, :, None]
    step = target[:, 1:] - mean[:, :-1]  # from the mean so far to the next row
    old, new = weight[:, :-1], s[:, 1:]
    if criterion == "squared_error":
        more = (step**2).mean(axis=2) * (new / weight[:, 1:]) * old
    else:
        level = np.maximum(mean[:, 1:, 0], 0)
        part = step[:, :, 0] / np.where(level > 0, level, 1)
        whole = weight[:, 1:]
        more = level * (old * _deviance(-new / whole * part) + new * _deviance(old / whole * part))
    return np.concatenate([np.zeros((len(s), 1)), np.cumsum(more, axis=1)], axis=1)


class Cuts:
    """The least that cuts leave of many sets of rows, found for sets of like size together."""

    def __init__(self, sample: Sample, fewest: int, lightest: float, count: int) -> None:
        self.sample, self.fewest, self.lightest = sample, fewest, lightest
        self.least = np.full(count, np.inf)
        self._waiting: dict[int, list[tuple[int, Array, Array]]] = {}

    def add(self, number: int, rows: Array, column: Array, directions: Directions | None = None) -> None:
        """Look at the cuts of a column of some rows, for the set of this number."""
        if self.sample.criterion == "absolute_error" or np.isnan(column).any() or directions is not None:
            own = least_of_one_cut(column[:, None], self.sample.of(rows), self.fewest, self.lightest, directions)
            self.least[number] = min(self.least[number], own)
            return
        width = 1 << max(len(rows) - 1, 1).bit_length()
        listed = self._waiting.setdefault(width, [])
        listed.append((number, rows, column))
        if len(listed) * width * self.sample.target.shape[1] >= TOGETHER:
            self._find_cuts(width)

    def found(self) -> Array:
        """Return what has been found for each set, infinity where there is no cut."""
        for width in list(self._waiting):
            self._find_cuts(width)
        return self.least

    def _find_cuts(self, width: int) -> None:
        listed = self._waiting.pop(width)
        sizes = np.array([len(rows) for _, rows, _ in listed])
        rows, values = np.zeros((len(listed), width), dtype=np.intp), np.full((len(listed), width), np.inf)
        for place, (_, own, column) in enumerate(listed):
            rows[place, : len(own)], values[place, : len(own)] = own, column
        places = np.arange(width)
        order = np.argsort(values, axis=1, kind="stable")
        values, rows = np.take_along_axis(values, order, axis=1), np.take_along_axis(rows, order, axis=1)
        s = np.where(places < sizes[:, None], self.sample.s[rows], 0.0)
        before = running(self.sample.criterion, s, self.sample.target[rows])
        back = np.where(places < sizes[:, None], sizes[:, None] - 1 - places, places)
        rows, turned = np.take_along_axis(rows, back, axis=1), np.take_along_axis(s, back, axis=1)
        after = running(self.sample.criterion, turned, self.sample.target[rows])
        # a cut after so many rows leaves the others, of which as many are counted from the end
        cut = places[1:]
        other = np.maximum(sizes[:, None] - cut - 1, 0)
        left = before[:, :-1] + np.take_along_axis(after, other, axis=1)
        below = np.cumsum(s, axis=1)
        fine = (values[:, 1:] > values[:, :-1]) & (cut < sizes[:, None])
        fine &= (cut >= self.fewest) & (sizes[:, None] - cut >= self.fewest)
        fine &= (below[:, :-1] >= self.lightest) & (below[:, -1:] - below[:, :-1] >= self.lightest)
        least = np.where(fine, left, np.inf).min(axis=1)
        np.minimum.at(self.least, [number for number, _, _ in listed], least)


def _deviance(r: Array) -> Array:
    """Return (1 + r) log(1 + r) - r, by the mean value of its second derivative where that is steadier: an integral by Gauss."""
    small = np.abs(r) < 0.1
    inside = np.where(small | (r <= -1), 0.0, r)
    plain = np.where(r <= -1, 1.0, (1 + inside) * np.log1p(inside) - inside)
    at, weights = _nodes()  # r² times the integral of (1 - a) / (1 + a r) over a in [0, 1]
    near = np.where(small, r, 0.0)
    steady = near**2 * ((1 / (1 + np.multiply.outer(near, at))) @ (weights * (1 - at)))
    return np.asarray(np.where(small, steady, plain))


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Return nodes and weights of Gauss on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return (nodes + 1) / 2, weights / 2
