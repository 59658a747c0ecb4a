"""The one penalty of the checker: ``l1 |w| + l2/2 w²``, by entries, rows or groups of rows, on all numbers or those not below 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.verify._rows import EXTENDED, UNIT

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Penalty:
    """Strengths as the documentation of the model gives them, for coefficients w of shape (p, k).

    Attributes
    ----------
    l1, l2 : float
        Strengths; of groups ``l1`` is a column, one strength for each.
    by_rows : bool
        Whether ``|w|`` is the length of a row of w rather than the size of an entry.
    positive : bool
        Whether negative coefficients are forbidden.
    groups : ndarray of int of shape (p,) or None
        The number of the group of each row, where ``|w|`` is the length of a whole group of rows.
    """

    l1: Any = 0.0
    l2: Any = 0.0
    by_rows: bool = False
    positive: bool = False
    groups: Array | None = None

    @property
    def is_bounding(self) -> bool:
        """Whether small enough dual points are feasible."""
        return bool(np.all(np.asarray(self.l1) > 0) or self.l2 > 0)

    def size(self, a: Array) -> Array:
        """Return what is penalised: sizes of entries, or lengths of rows or groups as a column."""
        if self.groups is not None:
            squares = np.zeros((len(np.asarray(self.l1)), 1), dtype=a.dtype)
            np.add.at(squares[:, 0], self.groups, np.sum(a * a, axis=1))
            return np.sqrt(squares)
        return np.asarray(np.sqrt(np.sum(a * a, axis=1, keepdims=True)) if self.by_rows else np.abs(a))

    def spread(self, sizes: Any) -> Any:
        """Give each row what belongs to its group."""
        return sizes if self.groups is None else np.asarray(sizes)[self.groups]

    def value(self, w: Array) -> Any:
        """Return the penalty."""
        return np.sum(self._l1 * self.size(w)) + EXTENDED(self.l2) / 2 * np.sum(w * w)

    def beyond(self, z: Array) -> Array:
        """Return how much of z exceeds l1: what only l2 can pay for."""
        size = np.maximum(z, 0) if self.positive else self.size(z)
        return np.asarray(np.maximum(size - self._l1, 0))

    def factor(self, z: Array, rounding_error: Array) -> Any:
        """Return the factor that brings z, uncertain by rounding_error, within l1, if l2 does not pay for the rest."""
        if self.l2 > 0:
            return EXTENDED(1)
        size = (np.maximum(z, 0) if self.positive else self.size(z)) + self.size(rounding_error)
        outside = size > self._l1
        if not outside.any():
            return EXTENDED(1)
        share = np.where(outside, self._l1 / np.where(outside, size, 1), 1)
        return np.min(share) * (1 - 4 * EXTENDED(UNIT))

    def left_over(self, w: Array, z: Array, rounding_error: Array) -> tuple[Any, Any]:
        """Return value + conjugate - w z for feasible z, and a bound on its rounding with z uncertain by rounding_error."""
        over = self.beyond(z) if self.l2 > 0 else np.zeros_like(self.size(z))
        paid = np.sum(over**2) / (2 * EXTENDED(self.l2)) if self.l2 > 0 else EXTENDED(0)
        product, whole = np.sum(w * z), self.value(w)
        best = over / EXTENDED(self.l2) if self.l2 > 0 else over  # size of the coefficients that z would be best for
        slack = np.sum(self.size(rounding_error) * np.maximum(np.abs(self.size(w) - best), UNIT * self.size(w)))
        if self.l2 > 0:
            slack = slack + np.sum(self.size(rounding_error) ** 2) / (2 * EXTENDED(self.l2))
            slack = slack + np.sum(self.size(rounding_error) * self.size(w - self._best(z)))
        else:
            slack = slack + np.sum(self.size(rounding_error) * self.size(w))
        terms = np.sum(np.abs(w * z)) + whole + paid
        return whole + paid - product, slack + (w.size + 16) * UNIT * terms

    def _best(self, z: Array) -> Array:
        """Return the coefficients for which z is the slope."""
        size = self.spread(self.size(z))
        direction = np.where(size > 0, z / np.where(size > 0, size, 1), 0)
        return np.asarray(direction * self.spread(self.beyond(z)) / EXTENDED(self.l2))

    @property
    def _l1(self) -> Any:
        return np.asarray(self.l1, dtype=EXTENDED)
