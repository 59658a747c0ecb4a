"""Losses of boosting: value, slope and curvature at the scores of rows, the best constant, and how a leaf is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.ensemble import _kernels

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class BoostLoss:
    """A loss by name; ``level`` is the quantile, or the threshold of Huber's.

    ====================  =====================================  =============================
    name                  loss of a score t                      what is predicted
    ====================  =====================================  =============================
    ``squared_error``     (t - y)² / 2                           t
    ``absolute_error``    abs(t - y)                             t, a median
    ``quantile``          pinball loss of the level              t, a quantile
    ``huber``             squares up to a threshold, then lines  t
    ``poisson``           exp(t) - y t, above its least          exp(t)
    ``gamma``             y exp(-t) + t, above its least         exp(t)
    ``log_loss``          log(1 + exp(-y t)), y = ±1             1 / (1 + exp(-t))
    ``softmax``           log of the sum of exp(t), minus t_y    shares of exp(t)
    ``exponential``       exp(-y t), y = ±1                      1 / (1 + exp(-2 t))
    ====================  =====================================  =============================
    """

    name: str
    level: float = 0.5

    @property
    def by_order(self) -> bool:
        """Whether a leaf predicts a quantile of what is left of its targets."""
        return self.name in ("absolute_error", "quantile")

    def curve(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return values (n,), slopes and curvatures (n, k) at scores (n, k)."""
        n, k = t.shape
        native = {"squared_error": "squared", "poisson": "poisson", "log_loss": "logistic", "softmax": "softmax"}
        if self.name in native:
            value, slope, curvature = _kernels.loss_curve(native[self.name], t.reshape(-1), y, k)
            return value, slope.reshape(n, k), curvature.reshape(n, k)
        r = t[:, 0] - y
        if self.by_order:
            value = np.where(r < 0, -self.level * r, (1 - self.level) * r)
            slope, curvature = (
                np.where(r <= 0, -self.level, 1 - self.level),
                np.ones(n),
            )  # at 0 that of errors below, as elsewhere
            if self.name == "absolute_error":
                value, slope = 2 * value, 2 * slope
        elif self.name == "huber":
            slope, curvature = np.clip(r, -self.level, self.level), np.ones(n)
            value = np.where(np.abs(r) <= self.level, 0.5 * r * r, self.level * (np.abs(r) - 0.5 * self.level))
        elif self.name == "gamma":
            ratio = y * np.exp(-t[:, 0])
            value, slope, curvature = ratio - 1 - np.log(ratio), 1 - ratio, ratio
        else:
            value = np.exp(-y * t[:, 0])
            slope, curvature = -y * value, value
        return value, slope[:, None], curvature[:, None]

    def constant(self, y: Array, s: Array, k: int) -> Array:
        """Return the best score that is the same for all rows."""
        if self.by_order:
            return np.array([weighted_quantile(y, s, self.level)])
        if self.name == "softmax":
            share = np.bincount(y.astype(np.intp), s, minlength=k) / s.sum()
            logs = np.log(np.maximum(share, 1e-300))
            return np.asarray(logs - logs.mean())
        if self.name in ("log_loss", "exponential"):
            share = weighted_mean(y > 0, s)
            odds = np.log(max(share, 1e-300)) - np.log(max(1 - share, 1e-300))
            return np.array([odds if self.name == "log_loss" else odds / 2])
        if self.name == "huber":
            return self._huber_constant(y, s)
        mean = weighted_mean(y, s)
        return np.array([np.log(mean) if self.name in ("poisson", "gamma") else mean])

    def _huber_constant(self, y: Array, s: Array) -> Array:
        low, high = float(y.min()), float(y.max())
        for _ in range(200):  # the slope rises with the constant: it is zero once
            middle = low / 2 + high / 2
            if weighted_mean(np.clip(middle - y, -self.level, self.level), s) > 0:
                high = middle
            else:
                low = middle
        return np.array([low / 2 + high / 2])

    def require(self, y: Array) -> None:
        """Refuse targets that the loss has no value for."""
        if self.name == "gamma" and not (y > 0).all():
            raise InvalidData(
                "loss='gamma' requires strictly positive y. Use 'poisson' for zeros, 'squared_error' otherwise."
            )
        if self.name == "poisson" and not ((y >= 0).all() and y.sum() > 0):
            raise InvalidData("loss='poisson' requires non-negative y and sum(y) > 0. Use 'squared_error' otherwise.")


def loss_named(name: str, quantile: float | None, y: Array, s: Array) -> BoostLoss:
    """Return the loss of a regressor: the threshold of Huber's is a quantile of the errors of the median."""
    if name == "quantile":
        return BoostLoss(name, 0.5 if quantile is None else float(quantile))
    if name == "huber":
        errors = np.abs(y - weighted_quantile(y, s, 0.5))
        level = weighted_quantile(errors, s, 0.9 if quantile is None else float(quantile))
        return BoostLoss(name, level if level > 0 else float(errors.max()) or 1.0)
    return BoostLoss(name)


def weighted_mean(values: Array, s: Array) -> float:
    """Return the mean. NumPy adds in one order; a product of BLAS adds in parts, as many as it has threads."""
    return float((s * values).sum() / s.sum())


def weighted_quantile(values: Array, s: Array, level: float, *, middle: bool = True) -> float:
    """Return the least value that has at least the level of all weight at or below it; the middle to the next if that is exact."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(s[order])
    goal = level * reached[-1]
    place = min(int(np.searchsorted(reached, goal - 1e-12 * reached[-1])), len(values) - 1)
    found = float(values[order[place]])
    if middle and abs(reached[place] - goal) <= 1e-12 * reached[-1] and place + 1 < len(values):
        return found / 2 + float(values[order[place + 1]]) / 2
    return found
