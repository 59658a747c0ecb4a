"""Least squares without squaring: the triangular factor of the design, by reflections.

``R`` from the QR decomposition of ``[X | y]`` holds all that least squares needs, at the full precision of the data,
where the products ``XᵀX`` keep half the digits. Factors merge: the factor of two stacked blocks is the factor of their
stacked factors, so the pass works on chunks, in threads and out of core like every other statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from qed.core._threads import one_blas_thread
from qed.linear_model._factors import Flat, Spectrum
from qed.linear_model._kernels import triangle
from qed.linear_model._quadratic import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Chunk
    from qed.linear_model._quadratic import Columns, Penalty, Quadratic, Targets

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Triangle:
    """An upper triangular factor of the columns of features and targets, after a column of ones if they are centred."""

    full: Array  # of columns that were multiplied by ``scale``
    scale: Array  # (q,), powers of two
    is_centred: bool

    @property
    def R(self) -> Array:  # noqa: N802  the name of the mathematics
        """The factor with ``RᵀR = ZᵀSZ`` for the centred columns ``Z``.

        The ones come first, so that what follows is orthogonal to them: centred exactly, though the means that were
        subtracted beforehand are rounded.
        """
        return (self.full[1:, 1:] if self.is_centred else self.full) / self.scale

    def merge(self, other: Triangle) -> Triangle:
        """Return the factor of both sets of rows."""
        return Triangle(triangle(np.vstack([self.full, other.full])), self.scale, self.is_centred)


SPARSE_ROWS = 4096  # that are written out at a time, or eight for each column


@dataclass(frozen=True, eq=False)
class TriangleOf:
    """Makes the factor of a chunk, columns centred by ``centre`` on the way."""

    centre: Array  # (q,)
    scale: Array  # (q,), powers of two that bring the columns near unit length, where their squares are safe
    is_centred: bool

    @classmethod
    def about(cls, quadratic: Quadratic) -> TriangleOf:
        """Prepare for the columns of a statistic: features, then targets."""
        length = np.concatenate([quadratic.columns.length, quadratic.target_length])
        centre = np.concatenate([quadratic.mean_x, quadratic.mean_y])
        return cls(centre, np.ldexp(1.0, -np.frexp(length)[1]), quadratic.columns.is_centred)

    def __call__(self, chunk: Chunk) -> Triangle:
        """Factorise one chunk; sparse rows are written out, a few at a time."""
        if isinstance(chunk.X, np.ndarray):
            return self._of(chunk.X, chunk, slice(None))
        size = max(SPARSE_ROWS, 8 * len(self.centre))
        blocks = [slice(first, first + size) for first in range(0, max(chunk.n_rows, 1), size)]
        return reduce(Triangle.merge, (self._of(chunk.X[rows].toarray(), chunk, rows) for rows in blocks))

    def _of(self, X: NDArray[np.floating], chunk: Chunk, rows: slice) -> Triangle:
        y = None if chunk.y is None else chunk.y[rows]
        s = None if chunk.s is None else chunk.s[rows]
        full = triangle(X, y, s, self.centre, self.scale, ones=self.is_centred)
        return Triangle(full, self.scale, self.is_centred)


def solve_triangle(
    triangle: Triangle, columns: Columns, penalty: Penalty, group: tuple[float, Targets], d: Array, rows: int
) -> tuple[Array, Spectrum]:
    """Solve for targets that share a strength; return the coefficients and the spectrum that judges them."""
    p = len(d)
    alpha, targets = group
    R = triangle.R
    design, rhs = R[:p, :p] * d, R[:p, p:][:, targets]
    prior = penalty.prior[:, targets]
    rhs = rhs - design @ np.divide(prior, d[:, None], out=np.zeros_like(prior), where=d[:, None] > 0)
    if alpha > 0:
        design = np.vstack([design, np.diag(np.sqrt(alpha) * d)])
        rhs = np.vstack([rhs, np.zeros((p, rhs.shape[1]))])
    with one_blas_thread():
        U, sigma, Vt = np.linalg.svd(design, full_matrices=False)
    cut = 2 * UNIT * max(rows, p) * np.max(sigma, initial=0.0)
    own = float(np.linalg.norm(columns.own_rounding * d))
    is_held = np.sqrt(alpha) * np.min(d, initial=np.inf, where=d > 0) >= own
    # what is shorter than the rounding of the values it is made of says nothing, unless a penalty holds it
    keep = sigma > (cut if is_held else max(cut, own))
    step = d[:, None] * (Vt[keep].T @ ((U[:, keep].T @ rhs) / sigma[keep, None]))
    spectrum = _judge(sigma[keep], Vt[keep].T, d, columns, 4 * cut)
    return prior + spectrum.shortest(step), spectrum


def _judge(sigma: Array, vectors: Array, d: Array, columns: Columns, error: float) -> Spectrum:
    complete = len(sigma) == np.count_nonzero(d) and bool(np.all(sigma > 4 * error))
    # ‖(X + E) z‖ >= ‖X z‖ - error ‖z‖, squared; with free directions about, (a - b)² >= ½a² - b²
    floor = (sigma - error) ** 2 if complete else 0.5 * sigma**2
    largest = float(sigma[0] ** 2) if len(sigma) else 1.0
    slack = 0.0 if complete else max(error**2, np.finfo(float).tiny)
    return Spectrum(sigma**2, floor, vectors, d, Flat.of(columns, d), slack, largest)
