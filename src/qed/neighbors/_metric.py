"""Distances by name: what is done to rows first, which sum over the columns is compared, and what it is turned into.

======================================  =====================================================================================
name                                    distance of x and q
======================================  =====================================================================================
euclidean, l2                           root of the sum of squares of x - q
sqeuclidean                             sum of squares of x - q
manhattan, l1, cityblock                sum of absolute values of x - q
chebyshev                               largest absolute value of x - q
minkowski                               (sum of w |x - q|^p)^(1/p); p = 1, 2 and infinity are the three above
hamming                                 share of columns in which x and q differ
cosine                                  one minus the cosine of the angle between x and q; 1 from a row of zeros
correlation                             the same of rows less their means
======================================  =====================================================================================

Differences are formed before anything is squared, so that distances far from the origin keep their digits. The cosine
too: one minus it is half the squared length of the difference of the two directions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from qed.core._params import Array


MetricName = Literal[
    "minkowski",
    "euclidean",
    "l2",
    "sqeuclidean",
    "manhattan",
    "l1",
    "cityblock",
    "chebyshev",
    "hamming",
    "cosine",
    "correlation",
]

_SUMS = {"euclidean": 0, "manhattan": 1, "chebyshev": 2, "minkowski": 3, "hamming": 4}
_SQUARES = ("sqeuclidean", "cosine", "correlation")  # the sum itself is what is asked for
_SAME = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
_PLAIN = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}


class Metric(NamedTuple):
    """A distance, ready to be measured.

    Attributes
    ----------
    name : str
        Its name, the powers 1, 2 and infinity by theirs.
    power : float
        The p of a sum of powers; 2 elsewhere.
    factors : ndarray or None
        What differences in the columns are multiplied by.
    """

    name: str
    power: float = 2.0
    factors: Array | None = None

    @property
    def sums(self) -> tuple[int, float, Array | None]:
        """The number of the sum in native code, its power, and factors of the columns."""
        return _SUMS.get(self.name, 0), 1.0 if self.name in _SQUARES else self.power, self.factors

    @property
    def is_angle(self) -> bool:
        """Whether only the direction of a row matters."""
        return self.name in ("cosine", "correlation")

    def prepared(self, rows: Array) -> tuple[Array, Array]:
        """Return rows as they are measured, and which of them have no direction."""
        none = np.zeros(0, dtype=np.intp)
        if not self.is_angle:
            return rows, none
        if self.name == "correlation":
            rows = rows - rows.mean(axis=1, keepdims=True)
            rows = rows - rows.mean(axis=1, keepdims=True)  # what the rounding of a large mean leaves
        largest = np.abs(rows).max(axis=1, keepdims=True)
        scaled = rows / np.where(largest > 0, largest, 1.0)
        length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        blank = np.flatnonzero(largest[:, 0] == 0)
        # a row without direction stands at a right angle to all: in a column of its own
        directions = np.zeros((len(rows), rows.shape[1] + 1))
        np.divide(scaled, np.where(length > 0, length, 1.0), out=directions[:, :-1])
        directions[blank, -1] = 1.0
        return directions, blank

    def finished(self, distances: Array) -> Array:
        """Turn what is measured into distances."""
        if self.is_angle:
            return 0.5 * distances
        return distances

    def length(self, distance: float) -> float:
        """Turn a distance into what is measured."""
        if self.is_angle:
            return 2 * distance
        return distance


def named(owner: str, metric: str, p: float, params: dict[str, Any] | None, n_columns: int) -> Metric:
    """Read a metric as users write it.

    Parameters
    ----------
    owner : str
        The model, for messages.
    metric : str
        Name.
    p : float
        Power of minkowski.
    params : dict or None
        ``p`` and ``w`` of minkowski.
    n_columns : int
        Columns of the rows.
    """
    params = dict(params or {})
    if metric != "minkowski" and params:
        raise InvalidParameter(
            f"{owner}.metric_params holds {sorted(params)}, and metric {metric!r} has no parameters. Only 'minkowski' has: p and w."
        )
    name = _SAME.get(metric, metric)
    if name != "minkowski":
        return Metric(name)
    power = float(params.pop("p", p))
    weights = params.pop("w", None)
    if params:
        raise InvalidParameter(f"{owner}.metric_params holds {sorted(params)}; of metric 'minkowski' it takes p and w.")
    if not power > 0:
        raise InvalidParameter(f"{owner}.metric_params['p'] must be a real number > 0, got {power!r}.")
    factors = None if weights is None else _factors(owner, weights, power, n_columns)
    name = "minkowski" if factors is not None else _PLAIN.get(power, "minkowski")
    return Metric(name, power if math.isfinite(power) else 2.0, factors)


def _factors(owner: str, weights: Any, power: float, n_columns: int) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n_columns,):
        raise InvalidData(
            f"{owner}.metric_params['w'] has shape {w.shape}; X has {n_columns} columns, one weight for each."
        )
    if not (np.isfinite(w).all() and (w >= 0).all() and (w > 0).any()) or math.isinf(power):
        raise InvalidParameter(
            f"{owner}.metric_params['w'] must hold weights >= 0, one of them positive, beside a finite p; got"
            f" w={w!r:.100}, p={power}."
        )
    with np.errstate(over="ignore"):
        factors = np.asarray(w ** (1.0 / power))
    if not np.array_equal(factors > 1e-100, w > 0) or factors.max() > 1e100:
        raise InvalidParameter(
            f"{owner}.metric_params['w'] holds weights whose power 1/p leaves float64: w={w!r:.100}, p={power}. Take weights nearer"
            " to one, or a larger p."
        )
    return factors
