"""One more pass over the rows: residuals and gradient at given coefficients, centred so that offsets do not cancel.

Used to correct coefficients found from squared columns, and to certify those found without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.linear_model._quadratic import UNIT
from qed.linear_model._triangle import centred_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Chunk

    Array = NDArray[np.float64]

__all__ = ["Residuals", "ResidualsOf"]


@dataclass(frozen=True)
class Residuals:
    """Sums over rows at coefficients ``w``: ``Xᵀr`` with the columns centred, ``Σ r²``, and the sizes that bound rounding."""

    gradient: Array  # (p, m)
    squares: Array  # (m,)
    reach: Array  # (m,), Σ (|x|·|w| + |y|)², what the residuals were subtracted from
    blocks: int

    def merge(self, other: Residuals) -> Residuals:
        """Return the sums over both sets of rows."""
        return Residuals(
            self.gradient + other.gradient,
            self.squares + other.squares,
            self.reach + other.reach,
            self.blocks + other.blocks,
        )

    def slack(self, length: Array) -> Array:
        """Bound the rounding of ``gradient`` by the lengths of the columns, shape (p, m)."""
        p = len(length)
        each = (p + 4) * UNIT * np.sqrt(self.reach)  # rounding of the residuals themselves
        summed = (ROWS + self.blocks) * UNIT * np.sqrt(self.squares)
        return np.multiply.outer(length, each + summed)


ROWS = 2048


@dataclass(frozen=True)
class ResidualsOf:
    """Makes the sums of a chunk; ``centre`` holds the means of features and targets (zero without intercept)."""

    w: Array  # (p, m)
    centre: Array  # (p + m,)

    def __call__(self, chunk: Chunk) -> Residuals:
        """Go through one chunk in blocks of rows."""
        p, m = self.w.shape
        total = Residuals(np.zeros((p, m)), np.zeros(m), np.zeros(m), 0)
        size = np.abs(self.w)
        for Z in centred_blocks(chunk, self.centre, ROWS):
            X, y = Z[:, :p], Z[:, p:]
            r = y - X @ self.w
            reach = np.abs(X) @ size + np.abs(y)
            squares = np.einsum("nm,nm->m", r, r)
            total = total.merge(Residuals(X.T @ r, squares, np.einsum("nm,nm->m", reach, reach), 1))
        return total
