"""One more pass over the rows: residuals and gradient at given coefficients, centred so that offsets do not cancel.

Used to correct coefficients found from squared columns, and to certify those found without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.designs import design
from qed.linear_model._kernels import residual_sums
from qed.linear_model._quadratic import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Chunk
    from qed.linear_model._quadratic import Quadratic

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Sums over rows at coefficients ``w``: ``X̃ᵀ S r``, ``Σ s r`` and ``Σ s r²``, columns and targets centred."""

    gradient: Array  # (p, m)
    sums: Array  # (m,), zero but for the rounding of the means
    squares: Array  # (m,)
    terms: int  # the longest chain of additions behind an entry

    def merge(self, other: Residuals) -> Residuals:
        """Return the sums over both sets of rows."""
        terms = max(self.terms, other.terms) + 1
        sums, squares = self.sums + other.sums, self.squares + other.squares
        return Residuals(self.gradient + other.gradient, sums, squares, terms)

    def slack(self, quadratic: Quadratic, w: Array) -> Array:
        """Bound the rounding of ``gradient``, shape (p, m).

        A residual is off by what it was subtracted from, ``|x|·|w| + |y|``, whose length over all rows is at most
        ``reach``; summing the gradient then rounds what it adds up, and the means it is taken about are off by a little.
        """
        each = (len(w) + 8) * UNIT * quadratic.reach(w)
        summed = ((self.terms + 8) * UNIT + quadratic.mean_rounding) * np.sqrt(self.squares)
        return np.asarray(np.multiply.outer(quadratic.columns.length, each + summed))


@dataclass(frozen=True, eq=False)
class ResidualsOf:
    """Makes the sums of a chunk; ``centre`` holds the means of features and targets (zero without intercept)."""

    w: Array  # (p, m)
    centre: Array  # (p + m,)

    def __call__(self, chunk: Chunk) -> Residuals:
        """Go through one chunk."""
        p = len(self.w)
        mean_x, mean_y = self.centre[:p], self.centre[p:]
        y = np.zeros((chunk.n_rows, 0)) if chunk.y is None else chunk.y
        if isinstance(chunk.X, np.ndarray):
            gradient, sums, squares, terms = residual_sums(chunk.X, y, self.w, mean_y, chunk.s, mean_x)
            return Residuals(gradient, sums, squares, terms)
        columns = design(chunk.X)
        r = (y - mean_y) - columns.product(self.w, mean_x)
        weighted = r if chunk.s is None else chunk.s[:, None] * r
        gradient = columns.adjoint_product(weighted, mean_x)
        return Residuals(gradient, weighted.sum(axis=0), np.einsum("nm,nm->m", r, weighted), chunk.n_rows)
