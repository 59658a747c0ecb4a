"""Leading eigenpairs of a symmetric positive matrix that is known by its products alone.

A block of random vectors is multiplied by the matrix again and again; unlike a power method, which keeps the last product,
all of them are kept, made orthonormal, and the best pairs are taken from their span (Rayleigh and Ritz). The image of every
vector is kept too, so that residuals cost no product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.core._events import STOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]


FIRST_LOOK = 4  # steps before residuals are looked at; the next look comes after half as many again
LARGEST_BASIS = 24  # blocks that are kept before the span is narrowed to its best vectors


@dataclass(frozen=True, eq=False)
class Leading:
    """Ritz pairs, largest first."""

    values: Array  # (k,)
    vectors: Array  # (d, k)
    residual: float  # Frobenius norm of the images less values times vectors
    following: float  # the next Ritz value, 0 if there is none
    outcome: str
    steps: int


def leading(
    apply: Callable[[Array], Array],
    start: Array,
    k: int,
    *,
    steps: int,
    tol: float | None,
    progress: Progress,
) -> Leading:
    """Return the k leading pairs.

    Parameters
    ----------
    apply : callable
        Multiplies the matrix with a block of columns.
    start : ndarray of shape (d, b)
        The block to begin with, b >= k.
    k : int
        How many pairs.
    steps : int
        Most products of a block, after the first one.
    tol : float or None
        Residual, relative to the largest value, at which to stop; with None all steps are taken.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    basis = np.linalg.qr(start)[0]
    images = apply(basis)
    found, look, taken = _ritz(basis, images, k, "max_iter", 0), FIRST_LOOK, 0
    width = basis.shape[1]
    for taken in range(1, steps + 1):
        if basis.shape[1] >= len(basis):
            break  # the span is everything: nothing is approximated
        try:
            block = _orthonormal(basis, images[:, -width:])
            basis, images = np.hstack([basis, block]), np.hstack([images, apply(block)])
            stopped = progress.step() is STOP
        except KeyboardInterrupt:
            return _ritz(basis[:, : images.shape[1]], images, k, "interrupted", taken)
        if stopped:
            return _ritz(basis, images, k, "stopped", taken)
        if tol is not None and taken >= look:
            found, look = _ritz(basis, images, k, "solved", taken), taken + max(2, taken // 2)
            if found.residual <= tol * found.values[0]:
                return found
        if basis.shape[1] > LARGEST_BASIS * width and taken < steps:
            basis, images = _narrowed(basis, images, 2 * width)
    whole = basis.shape[1] >= len(basis)
    return _ritz(basis, images, k, "solved" if whole or tol is None else "max_iter", taken)


def _orthonormal(basis: Array, block: Array) -> Array:
    """Make a block orthonormal, to the basis as well; noise that is left of dependent vectors is made so the second time."""
    room = len(basis) - basis.shape[1]
    block = block[:, :room]
    for _ in range(2):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    return np.asarray(np.linalg.qr(block - basis @ (basis.T @ block))[0])


def _inside(basis: Array, images: Array) -> tuple[Array, Array]:
    """Return the eigenpairs of the matrix within a span, largest first."""
    small = basis.T @ images
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    return values[::-1], vectors[:, ::-1]


def _ritz(basis: Array, images: Array, k: int, outcome: str, steps: int) -> Leading:
    values, turn = _inside(basis, images)
    vectors, moved = basis @ turn[:, :k], images @ turn[:, :k]
    residual = float(np.linalg.norm(moved - vectors * values[:k]))
    following = float(max(values[k], 0.0)) if len(values) > k else 0.0
    return Leading(np.maximum(values[:k], 0.0), vectors, residual, following, outcome, steps)


def _narrowed(basis: Array, images: Array, width: int) -> tuple[Array, Array]:
    _, turn = _inside(basis, images)
    return basis @ turn[:, :width], images @ turn[:, :width]


def random_block(rng: Generator, rows: int, columns: int) -> Array:
    """Return independent normal numbers."""
    return rng.standard_normal((rows, min(rows, columns)))
