"""The one penalty of the checker: ``l1 |w| + l2/2 w²``, by entries or by rows of entries, on all numbers or those not below 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.verify._rows import EXTENDED, UNIT

__all__ = ["Penalty"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Penalty:
    """Strengths as the documentation of the model gives them, for coefficients w of shape (p, k).

    Attributes
    ----------
    l1, l2 : float
        Strengths.
    by_rows : bool
        Whether ``|w|`` is the length of a row of w rather than the size of an entry.
    positive : bool
        Whether negative coefficients are forbidden.
    """

    l1: Any = 0.0
    l2: Any = 0.0
    by_rows: bool = False
    positive: bool = False

    @property
    def is_bounding(self) -> bool:
        """Whether small enough dual points are feasible."""
        return bool(self.l1 > 0 or self.l2 > 0)

    def size(self, a: Array) -> Array:
        """Return what is penalised: sizes of entries, or lengths of rows as a column."""
        return np.sqrt(np.sum(a * a, axis=1, keepdims=True)) if self.by_rows else np.abs(a)

    def value(self, w: Array) -> Any:
        """Return the penalty."""
        return EXTENDED(self.l1) * np.sum(self.size(w)) + EXTENDED(self.l2) / 2 * np.sum(w * w)

    def beyond(self, z: Array) -> Array:
        """Return how much of z exceeds l1: what only l2 can pay for."""
        size = np.maximum(z, 0) if self.positive else self.size(z)
        return np.maximum(size - EXTENDED(self.l1), 0)

    def factor(self, z: Array, doubt: Array) -> Any:
        """Return the factor that brings z, uncertain by doubt, within l1, if l2 does not pay for the rest."""
        if self.l2 > 0:
            return EXTENDED(1)
        size = (np.maximum(z, 0) if self.positive else self.size(z)) + self.size(doubt)
        most = np.max(size, initial=EXTENDED(0))
        return EXTENDED(1) if most <= self.l1 else EXTENDED(self.l1) / most * (1 - 4 * EXTENDED(UNIT))

    def left_over(self, w: Array, z: Array, doubt: Array) -> tuple[Any, Any]:
        """Return value + conjugate - w z for feasible z, and a bound on its rounding with z uncertain by doubt."""
        over = self.beyond(z) if self.l2 > 0 else np.zeros_like(self.size(z))
        paid = np.sum(over**2) / (2 * EXTENDED(self.l2)) if self.l2 > 0 else EXTENDED(0)
        product, whole = np.sum(w * z), self.value(w)
        best = over / EXTENDED(self.l2) if self.l2 > 0 else over  # size of the coefficients that z would be best for
        slack = np.sum(self.size(doubt) * np.maximum(np.abs(self.size(w) - best), UNIT * self.size(w)))
        if self.l2 > 0:
            slack = slack + np.sum(self.size(doubt) ** 2) / (2 * EXTENDED(self.l2))
            slack = slack + np.sum(self.size(doubt) * self.size(w - self._best(z)))
        else:
            slack = slack + np.sum(self.size(doubt) * self.size(w))
        terms = np.sum(np.abs(w * z)) + whole + paid
        return whole + paid - product, slack + (w.size + 16) * UNIT * terms

    def _best(self, z: Array) -> Array:
        """Return the coefficients for which z is the slope."""
        size = self.size(z)
        return np.where(size > 0, z / np.where(size > 0, size, 1), 0) * self.beyond(z) / EXTENDED(self.l2)
