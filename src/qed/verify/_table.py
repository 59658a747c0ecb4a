"""Passes over the rows, for the checker of convex models: products, and second derivatives on some columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._rows import DOUBLE, EXTENDED, UNIT, Rows

if TYPE_CHECKING:
    from collections.abc import Callable


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Table:
    """Rows with targets and weights at hand, features read again in blocks for every product.

    Attributes
    ----------
    rows : Rows
        The rows.
    y, q : ndarray of shape (n, m) and (n,)
        Targets, and weights in the units of the objective.
    centre : ndarray of shape (p,)
        Subtracted from the columns: their means if there is an intercept, else zero. Doubles.
    length : ndarray of shape (p,)
        Bounds on the roots of the weighted sums of squares of the centred columns.
    intercept : bool
        Whether there is an intercept.
    """

    rows: Rows
    y: Array
    q: Array
    centre: Array
    length: Array
    intercept: bool

    @property
    def unit(self) -> float:
        """Unit roundoff of products within a block."""
        return UNIT if self.rows.kind is EXTENDED else DOUBLE

    def scores(self, w: Array, b: Array) -> Array:
        """Return ``Xw + b`` in extended precision, as exact as products within a block are."""
        level = b + self.centre.astype(EXTENDED) @ w
        slopes = w.astype(self.rows.kind)
        parts = [(block.X - self.centre) @ slopes for block in self.rows.blocks()]
        return np.asarray(np.vstack(parts).astype(EXTENDED) + level)

    def adjoint(self, u: Array) -> Array:
        """Return ``X' (q u)`` for the centred columns."""
        total, first = np.zeros((self.rows.p, u.shape[1]), EXTENDED), 0
        for block in self.rows.blocks():
            some = slice(first, first + len(block.X))
            total = total + (block.X - self.centre).T @ (self.q[some, None] * u[some]).astype(self.rows.kind)
            first = some.stop
        return total

    def off(self, w: Array, b: Array, t: Array) -> float:
        """Bound the error of scores: the root of the weighted sum of its squares."""
        sized = float(np.sum(self.length @ np.abs(w)))
        level = float(np.sum(np.abs(b + self.centre @ w)) + np.sum(np.abs(self.centre) @ np.abs(w)))
        plain = float(np.sqrt(np.sum(self.q[:, None] * t * t)))
        whole = float(np.sqrt(np.sum(self.q)))
        return (self.rows.p + 16) * (self.unit * sized + UNIT * level * whole) + 4 * UNIT * plain

    def adjoint_rounding(self, u: Array) -> Array:
        """Bound the error of each product of a column with u, (p, k)."""
        size = np.sqrt(np.sum(self.q[:, None] * u * u, axis=0))
        return np.asarray(np.multiply.outer(self.rows.rounding(len(self.q)) * self.length, size))

    def second(self, columns: Array, extra: Array, curvature: Callable[[slice], Array]) -> Array:
        """Return Σ q A' curvature A in doubles, for A of some columns and of extra ones given for each row, scores outermost."""
        total: Array | float = 0.0
        for some, x in self.pieces(columns, extra):
            weighted = self.q[some, None, None].astype(np.float64) * np.asarray(curvature(some), dtype=np.float64)
            k = weighted.shape[1]
            rows = [[x.T @ (weighted[:, left, right, None] * x) for right in range(k)] for left in range(k)]
            total = total + np.block(rows)
        return np.asarray(total)

    def pieces(self, columns: Array, extra: Array) -> Any:
        """Yield slices of rows with their columns in doubles: some of the features, then the extra ones."""
        first = 0
        for block in self.rows.blocks():
            some = slice(first, first + len(block.X))
            x = (block.X[:, columns] - self.centre[columns]).astype(np.float64)
            yield some, np.hstack([x, extra[some].astype(np.float64)])
            first = some.stop
