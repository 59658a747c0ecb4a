"""The hinge of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import transport
from qed.convex._loss import LossTraits, Vector, require_classes
from qed.convex._simplex import to_simplex
from qed.core._once import cached_property

SLACK = 1e-12  # how far the sum of a row may be from zero by rounding


@dataclass(frozen=True, eq=False)
class CrammerSinger:
    """How much the score of the label falls short of one above the best other, ``max_k(t_k + [k != y]) - t_y``.

    With ``v = u + e_y`` a row of probabilities and ``a = t + 1 - e_y``, the excess is ``sum_k v_k (max(a) - a_k)``.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes, 0 to k - 1, as floats or integers.
    n_classes : int
        How many classes there are.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import CrammerSinger
    >>> CrammerSinger(np.array([0, 0]), 3).value(np.array([[2.0, 1.5, 0.0], [3.0, 1.0, 0.0]]))
    array([0.5, 0. ])
    """

    y: Vector
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse classes that there are not."""
        require_classes("CrammerSinger", np.asarray(self.y), self.n_classes)

    @property
    def traits(self) -> LossTraits:
        """Not differentiable where classes tie; slopes as long as the square root of two."""
        return LossTraits(
            np.inf, float(np.sqrt(2.0)), has_curvature=False, n_scores=self.n_classes, native="crammer_singer"
        )

    @cached_property
    def at(self) -> tuple[Any, Any]:
        """Where the entries of the labels are: rows and columns."""
        return np.arange(len(self.y)), np.asarray(self.y).astype(np.intp)

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.asarray(np.max(self._ahead(t), axis=1))

    def slope(self, t: Vector) -> Vector:
        """Return plus one at the best class and minus one at the label; zero where they are the same."""
        ahead = self._ahead(t)
        best = np.argmax(ahead, axis=1)
        rows, label = self.at
        best = np.where(ahead[rows, best] > 0, best, label)
        out = np.zeros_like(t)
        out[rows, best] += 1.0
        out[rows, label] -= 1.0
        return out

    def curvature(self, t: Vector) -> Vector:
        """Return zero."""
        return np.zeros_like(t)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:  # noqa: ARG002
        """Return zero."""
        return np.zeros_like(d)

    def conjugate(self, u: Vector) -> Vector:
        """Return ``u_y``, minus the mass that has left the label, for u that sums to zero."""
        v = self._mass(u)
        inside = (v >= 0).all(axis=1) & (np.abs(u.sum(axis=1)) <= SLACK)
        return np.where(inside, u[self.at], np.inf)

    def project(self, u: Vector) -> Vector:
        """Return u with ``u + e_y`` moved to the nearest row of probabilities."""
        v = self._mass(u)
        off = (v < 0).any(axis=1) | (np.abs(u.sum(axis=1)) > 1e-15 * v.shape[1])
        if not off.any():
            return u
        out = np.array(u)
        out[off] = to_simplex(v[off])
        return self._closed(out, off)

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u with the mass of the classes transported to their shares."""
        share = np.bincount(self.at[1], c, minlength=self.n_classes).astype(np.float64)
        return self._closed(transport(np.maximum(self._mass(u), 0.0), c, share), np.ones(len(u), dtype=bool))

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``sum_k v_k (max(a) - a_k)``, for u in the domain."""
        ahead = self._ahead(t)
        behind = ahead.max(axis=1, keepdims=True) - ahead
        v = np.maximum(self._mass(u), 0.0)
        return np.asarray(np.sum(v * behind, axis=1))

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return v less the step times the projection that Moreau's identity asks for."""
        size = np.asarray(step, dtype=np.float64)
        size = size[:, np.newaxis] if size.ndim == 1 else size
        wanted = (v + 1.0) / size
        wanted[self.at] += 1.0 - (1.0 / size).ravel()
        mass = to_simplex(wanted)
        mass[self.at] -= 1.0
        return np.asarray(v - size * mass)

    def constant(self, c: Vector) -> Any:
        """Return one for a class that weighs more than all others together and zero for the others, else zeros."""
        share = np.bincount(self.at[1], c, minlength=self.n_classes).astype(np.float64)
        return (share > 0.5 * share.sum()).astype(np.float64)

    def take(self, rows: Any) -> CrammerSinger:
        """Return the loss of some rows."""
        return CrammerSinger(self.y[rows], self.n_classes)

    def _ahead(self, t: Vector) -> Vector:
        """Return how far each class, with its head start of one, is ahead of the label."""
        ahead = t - t[self.at][:, np.newaxis] + 1.0
        ahead[self.at] = 0.0
        return np.asarray(ahead)

    def _mass(self, u: Vector) -> Vector:
        v = np.array(u, dtype=np.float64)
        v[self.at] += 1.0
        return v

    def _closed(self, v: Vector, rows: Vector) -> Vector:
        """Set the entry of the label so that the row sums to zero: the sum of the others keeps its digits."""
        which, label = self.at[0][rows], self.at[1][rows]
        v[which, label] = 0.0
        v[which, label] = -np.minimum(v[which].sum(axis=1), 1.0)
        return v
