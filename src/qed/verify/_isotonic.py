"""Monotone curves, checked by the conditions that only the best one meets, in extended precision.

Rows with one value of the curve form a level. A curve that never falls is the best one within its bounds exactly when, in every
level, the errors ``y - f`` of its rows, summed with their weights from its low end, are never below zero on the way and zero at its
high end. A level on the upper bound need not end at zero; one on the lower bound may begin above it. These sums are the multipliers
of the constraints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _tables, _targets
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, read_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate


Array = np.ndarray[Any, Any]


def check(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Check the conditions level by level."""
    data = read_data(model, _as_table(X), y, sample_weight)
    if not (certificate.what == "The best monotone curve" and certificate.rows == data.n_rows):
        refuse(model, f"its certificate is not about a curve of {data.n_rows} rows")
    s = np.ones(data.n_rows) if data.weight is None else data.weight
    x, target, s = data.X[s > 0, 0].astype(np.float64), data.y[s > 0].astype(np.float64), s[s > 0]
    places, at = np.unique(x, return_inverse=True)
    _require_direction(model, at, target, s)
    sign = 1 if model.increasing_ else -1
    curve = sign * _curve(model, places).astype(EXTENDED)
    target, s = sign * target.astype(EXTENDED), s.astype(EXTENDED)
    low, high = _bounds(model, sign)
    if not (np.all(np.diff(curve) >= 0) and curve[0] >= low and curve[-1] <= high):
        refuse(model, "its curve is not monotone, or leaves its bounds")
    error = s * (target - curve[at])
    sums, sizes, weight = (np.zeros(len(places), EXTENDED) for _ in range(3))
    for total, values in ((sums, error), (sizes, np.abs(error)), (weight, s)):
        np.add.at(total, at, values)
    counts = np.bincount(at)
    starts = np.flatnonzero(np.concatenate([[True], curve[1:] != curve[:-1]]))
    off = 0.0
    for begin, end in zip(starts, [*starts[1:], len(places)], strict=True):
        own, level = slice(begin, end), curve[begin]
        total = weight[own].sum()
        slack = DOUBLE * ((64 + counts[own].sum()) * sizes[own].sum() + 64 * total * abs(level))
        if not _is_best(sums[own], slack, on_low=level == low, on_high=level == high):
            refuse(
                model, f"at x = {places[begin]:.12g} another monotone curve is better than {float(sign * level):.12g}"
            )
        if level not in (low, high):
            off = max(off, float(abs(sums[own].sum()) / total))
    objective = float(s @ (target - curve[at]) ** 2)
    near = DOUBLE * (64 + math.sqrt(data.n_rows))
    return Verdict(certificate.statement, objective, off, near, certificate.rounding, "sum of squares")


def _is_best(sums: Array, slack: Any, *, on_low: bool, on_high: bool) -> bool:
    """Tell whether no part of a level would rather be lower at its low end, or higher at its high end."""
    if on_low and on_high:
        return True
    if on_low:  # what is summed from the high end must not be above zero
        return bool(np.all(np.cumsum(sums[::-1]) <= slack))
    reached = np.cumsum(sums)
    return bool(np.all(reached >= -slack)) and (on_high or bool(abs(reached[-1]) <= slack))


def _curve(model: Any, places: Array) -> Array:
    """Return the curve at the distinct x of the fit, once its ends are found to be some of them."""
    ends, values = np.asarray(model.X_thresholds_), np.asarray(model.y_thresholds_)
    if not (len(ends) and np.isin(ends, places).all() and ends[0] == places[0] and ends[-1] == places[-1]):
        refuse(model, "the ends of its levels are not x of these rows")
    if not (model.X_min_ == places[0] and model.X_max_ == places[-1]):
        refuse(model, f"these rows lie between {places[0]:.12g} and {places[-1]:.12g}")
    after = np.searchsorted(ends, places)
    is_end = ends[after] == places
    if not np.array_equal(values[after][~is_end], values[after - 1][~is_end]):
        refuse(model, "its curve has a knot between two rows, or a level lacks one of its ends")
    return np.asarray(values[after])


def _bounds(model: Any, sign: int) -> tuple[float, float]:
    low = -math.inf if model.y_min is None else float(model.y_min)
    high = math.inf if model.y_max is None else float(model.y_max)
    return (low, high) if sign > 0 else (-high, -low)


def _require_direction(model: Any, at: Array, target: Array, s: Array) -> None:
    """Refuse a curve that rises where it was to fall, or by the correlation of ranks should."""
    if model.increasing != "auto":
        if model.increasing_ is not bool(model.increasing):
            refuse(model, f"increasing={model.increasing!r} was asked for, and increasing_ is {model.increasing_!r}")
        return
    first, second = (_middle_ranks(values, s) for values in (at, target))
    spread = np.sqrt((s @ first**2) * (s @ second**2))
    product = s @ (first * second)
    # ranks round; a correlation of nothing has either sign
    if abs(product) > 1e-9 * spread and bool(product > 0) is not model.increasing_:
        refuse(
            model, f"Spearman's correlation is {float(product / spread):.6g}, and increasing_ is {model.increasing_!r}"
        )


def _middle_ranks(values: Array, s: Array) -> Array:
    """Return the weight below each value and half of that of its equals, about the mean."""
    order = np.argsort(values, kind="stable")
    ordered, reached = values[order], np.concatenate([[0], np.cumsum(s[order].astype(EXTENDED))])
    below, upto = (reached[np.searchsorted(ordered, values, side)] for side in ("left", "right"))
    middle = (below + upto) / 2
    return np.asarray(middle - s @ middle / s.sum())


def _as_table(X: Any) -> Any:
    """Return numbers in one dimension as one column."""
    if _tables.is_sparse(X) or hasattr(X, "columns"):
        return X
    array = _targets.as_target(X, "X")
    return array[:, np.newaxis] if array.ndim == 1 else X
