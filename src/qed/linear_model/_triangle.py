"""Least squares without squaring: the triangular factor of the design, built block by block.

``R`` from the QR decomposition of ``[X D | y]`` holds all that least squares needs, at the full precision of the data,
where the products ``XᵀX`` keep half the digits. Factors merge: the factor of two stacked blocks is the factor of their
stacked factors, so the pass works on chunks, in threads and out of core like every other statistic.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from qed.core._threads import get_num_threads
from qed.linear_model._factors import Flat, Spectrum
from qed.linear_model._kernels import one_blas_thread
from qed.linear_model._quadratic import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from qed.data import Chunk
    from qed.linear_model._quadratic import Columns, Penalty

    Array = NDArray[np.float64]

__all__ = ["Triangle", "TriangleOf", "centred_blocks", "solve_triangle"]


@dataclass(frozen=True)
class Triangle:
    """An upper triangular factor of the scaled columns of features and targets, after a column of ones if they are centred."""

    full: Array
    is_centred: bool

    @property
    def R(self) -> Array:  # noqa: N802  the name of the mathematics
        """The factor with ``RᵀR = ZᵀSZ`` for the scaled, centred columns ``Z``.

        The ones come first, so that what follows is orthogonal to them: centred exactly, though the means that were
        subtracted beforehand are rounded.
        """
        return self.full[1:, 1:] if self.is_centred else self.full

    def merge(self, other: Triangle) -> Triangle:
        """Return the factor of both sets of rows."""
        return Triangle(_upper([self.full, other.full]), self.is_centred)


def _upper(rows: list[Array]) -> Array:
    return np.asarray(np.linalg.qr(np.vstack(rows), mode="r"))


SHARES = 16  # of the rows of a chunk, whatever the number of threads: the order of merges fixes every bit
SHARE_ROWS = 8192  # below so many, a share is not worth a thread


@dataclass(frozen=True)
class TriangleOf:
    """Makes the factor of a chunk, columns centred by ``centre`` and multiplied by ``scale`` on the way."""

    centre: Array  # (q,)
    scale: Array  # (q,)
    is_centred: bool

    def __call__(self, chunk: Chunk) -> Triangle:
        """Factorise one chunk: shares of rows in threads, each in blocks that stay in cache, merged in order."""
        n = chunk.n_rows
        size = max(-(-n // SHARES), SHARE_ROWS)
        shares = [range(first, min(first + size, n)) for first in range(0, max(n, 1), size)]
        with one_blas_thread():
            if len(shares) == 1 or get_num_threads() == 1:
                return reduce(Triangle.merge, [self._share(chunk, share) for share in shares])
            with ThreadPoolExecutor(min(len(shares), get_num_threads())) as pool:
                return reduce(Triangle.merge, pool.map(lambda share: self._share(chunk, share), shares))

    def _share(self, chunk: Chunk, share: range) -> Triangle:
        q = len(self.centre)
        R: Array = np.zeros((0, q + self.is_centred))
        for Z, root in centred_blocks(chunk, self.centre, share, max(1024, 4 * q)):
            ones = [root] if self.is_centred else []
            R = _upper([R, np.hstack([*ones, Z * self.scale])])
        return Triangle(R, self.is_centred)


def centred_blocks(chunk: Chunk, centre: Array, share: range, rows: int) -> Iterator[tuple[Array, Array]]:
    """Yield blocks ``sqrt(s) ([X | y] - centre)`` of a share of rows, and ``sqrt(s)`` as a column, in float64."""
    p = chunk.X.shape[1]
    for first in range(share.start, share.stop, rows):
        block = slice(first, min(first + rows, share.stop))
        x = chunk.X[block]
        Z = np.empty((block.stop - first, len(centre)))
        Z[:, :p] = x if isinstance(x, np.ndarray) else x.toarray()
        if chunk.y is not None:
            Z[:, p:] = chunk.y[block]
        Z -= centre
        root = np.ones((len(Z), 1)) if chunk.s is None else np.sqrt(chunk.s[block])[:, None]
        yield Z if chunk.s is None else Z * root, root


def solve_triangle(
    triangle: Triangle, columns: Columns, penalty: Penalty, targets: NDArray[np.intp], d: Array, rows: int
) -> tuple[Array, Spectrum]:
    """Solve for targets that share a strength; return the coefficients and the spectrum that judges them."""
    p = len(d)
    alpha = float(penalty.alpha[targets[0]])
    design, rhs = triangle.R[:p, :p], triangle.R[:p, p + targets]
    prior = penalty.prior[:, targets]
    rhs = rhs - design @ np.divide(prior, d[:, None], out=np.zeros_like(prior), where=d[:, None] > 0)
    if alpha > 0:
        design = np.vstack([design, np.diag(np.sqrt(alpha) * d)])
        rhs = np.vstack([rhs, np.zeros((p, len(targets)))])
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
