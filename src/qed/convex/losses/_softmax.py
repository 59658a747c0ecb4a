"""The cross-entropy of several classes: minus the log-likelihood of a label under a softmax of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import transport
from qed.convex._kernels import loss_excess, loss_slope, loss_value
from qed.convex._loss import LossTraits, Vector, require_classes
from qed.convex._simplex import to_simplex
from qed.core._once import cached_property

FURTHEST = 36.0  # how far below the others the constant score of a class without rows lies


@dataclass(frozen=True, eq=False)
class Softmax:
    """``log(sum_k exp(t_k)) - t_y`` for a label y among k classes; scores are matrices of one column a class.

    With ``v = u + e_y`` a row of probabilities, the conjugate is minus the entropy of v, and the excess is the divergence
    of v from the softmax of the scores. Adding the same number to all scores of a row changes nothing.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes, 0 to k - 1, as floats or integers.
    n_classes : int
        How many classes there are.
    """

    y: Vector
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse classes that there are not."""
        require_classes("Softmax", np.asarray(self.y), self.n_classes)

    @cached_property
    def traits(self) -> LossTraits:
        """Curvature at most a half in any direction; slope at most the square root of two."""
        return LossTraits(0.5, float(np.sqrt(2.0)), has_curvature=True, n_scores=self.n_classes, native="softmax")

    @cached_property
    def at(self) -> tuple[Any, Any]:
        """Where the entries of the labels are: rows and columns."""
        return np.arange(len(self.y)), np.asarray(self.y).astype(np.intp)

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return loss_value("softmax", t, self.y)

    def slope(self, t: Vector) -> Vector:
        """Return the probabilities, less one at the label."""
        return loss_slope("softmax", t, self.y)

    def curvature(self, t: Vector) -> Vector:
        """Return the variances of the indicators of the classes, (n, k)."""
        p = softmax(t)
        return np.asarray(p * (1.0 - p))

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return ``p (d - sum(p d))``."""
        p = softmax(t)
        return np.asarray(p * (d - np.sum(p * d, axis=1, keepdims=True)))

    def conjugate(self, u: Vector) -> Vector:
        """Return minus the entropy of ``u + e_y``, for u that sums to zero."""
        v = self._probabilities(u)
        inside = (v >= 0).all(axis=1) & (np.abs(v.sum(axis=1) - 1.0) <= 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(v > 0, v * np.log(v), 0.0).sum(axis=1)
        return np.asarray(np.where(inside, entropy, np.inf))

    def project(self, u: Vector) -> Vector:
        """Return u with ``u + e_y`` moved to the nearest row of probabilities."""
        v = self._probabilities(u)
        off = (v < 0).any(axis=1) | (np.abs(v.sum(axis=1) - 1.0) > 1e-15 * v.shape[1])
        if not off.any():
            return u
        out = np.array(u)
        out[off] = to_simplex(v[off])
        out[off, self.at[1][off]] -= 1.0
        return out

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with the weighted probabilities transported to the shares of the classes."""
        rows, columns = self.at
        v = transport(np.maximum(self._probabilities(u), 0.0), c, self._shares(c))
        v[rows, columns] = 0.0
        v[rows, columns] = -v.sum(axis=1)
        return v

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return the divergence of ``u + e_y`` from the softmax of the scores."""
        return loss_excess("softmax", t, self.y, u)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the minimiser by damped Newton steps, whose equations have a closed solution."""
        step = np.asarray(step, dtype=np.float64)
        step = np.broadcast_to(step if step.ndim < 1 or step.ndim == 2 else step[:, np.newaxis], (len(v), 1))
        t = np.array(v, dtype=np.float64)
        worth = self._prox_objective(t, v, step)
        for _ in range(200):
            p = softmax(t)
            g = self.slope(t) + (t - v) / step
            # (diag(d) - p p')^-1 g with d = p + 1/step, by Sherman and Morrison
            d = p + 1.0 / step
            left, right = g / d, p / d
            rest = 1.0 - np.sum(p * right, axis=1, keepdims=True)
            move = left + right * (np.sum(p * left, axis=1, keepdims=True) / rest)
            length = np.ones((len(t), 1))
            fall = np.sum(g * move, axis=1)
            for _ in range(50):
                new = t - length * move
                value = self._prox_objective(new, v, step)
                bad = value > worth - 1e-4 * length[:, 0] * fall + 1e-14 * (1.0 + np.abs(worth))
                if not bad.any():
                    break
                length = np.where(bad[:, np.newaxis], 0.5 * length, length)
            t, worth = new, value
            if np.all(np.abs(length * move) <= 1e-15 * (1.0 + np.abs(t))):
                break
        return t

    def constant(self, c: Vector) -> Any:
        """Return the logarithms of the shares of the classes, centred; of a class without rows a score far below."""
        share = self._shares(c)
        score = np.log(np.maximum(share, 1e-300))
        score = np.maximum(score, score.max() - 700.0) if (share > 0).all() else _far_below(score, share)
        return score - score.mean()

    def mean_of_constant(self, c: Vector, b: Vector) -> float:
        """Return the weighted mean loss where all rows have the same scores."""
        others = (
            b - b[:, np.newaxis]
        )  # of a class that is almost certain next to nothing is left: no difference of large numbers
        np.fill_diagonal(others, -np.inf)
        return float(self._shares(c) @ np.logaddexp(0.0, np.logaddexp.reduce(others, axis=1)))

    def take(self, rows: Any) -> Softmax:
        """Return the loss of some rows."""
        return Softmax(self.y[rows], self.n_classes)

    def _shares(self, c: Vector) -> Vector:
        """Return the weight of each class."""
        return np.bincount(self.at[1], c, minlength=self.n_classes).astype(np.float64)

    def _probabilities(self, u: Vector) -> Vector:
        v = np.array(u, dtype=np.float64)
        v[self.at] += 1.0
        return v

    def _prox_objective(self, t: Vector, v: Vector, step: Vector) -> Vector:
        return np.asarray(self.value(t) + np.sum((t - v) ** 2 / (2 * step), axis=1))


def softmax(t: Vector) -> Vector:
    """Return the probabilities of the scores of each row."""
    e = np.exp(t - t.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return np.asarray(e)


def _far_below(score: Vector, share: Vector) -> Vector:
    return np.asarray(np.where(share > 0, score, score[share > 0].min() - FURTHEST))
