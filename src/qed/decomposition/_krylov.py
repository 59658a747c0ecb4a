"""Leading eigenpairs of a symmetric positive matrix that is known by its products alone.

A block of random vectors is multiplied by the matrix again and again. Unlike a power method, which keeps the last product, all
of them are kept, made orthonormal, and the best pairs are taken from their span (block Lanczos with full orthogonalisation).
What a product has in the span is a column of the small matrix T whose eigenpairs are the answer; what it has outside is the
next block, so that residuals cost no product. When the span is as large as memory should allow, it is narrowed to its best
vectors and grows again (thick restart).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.core._events import STOP
from qed.decomposition import _kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]


BLOCK = (
    16  # vectors of a block: a product with so many costs little more than one read of the table, and long spans of few
)
# vectors converge after fewer products than short spans of many
FIRST_LOOK = 4  # steps before residuals are looked at; the next look comes where their fall says, after a quarter as many at most
NEARLY_DEPENDENT = 1e-5  # share of a column outside of the others, whose square products still tell from rounding
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
LARGEST_BASIS = 640  # vectors that are kept before the span is narrowed; twelve times those wanted if these are many


@dataclass(frozen=True, eq=False)
class Leading:
    """Ritz pairs, largest first."""

    values: Array  # (k,)
    vectors: Array  # (d, k)
    residual: float  # Frobenius norm of the images less values times vectors
    following: float  # the next Ritz value, 0 if there is none
    least: float  # the least one: below zero where the matrix is not positive, and seen to be so
    outcome: str
    steps: int


class _Span:
    """Orthonormal vectors V, of which all but the last block were multiplied, and T = V'AV among those."""

    def __init__(self, start: Array, most: int) -> None:
        self.V = np.zeros((len(start), min(len(start), most)), order="F")
        self.T = np.zeros((self.V.shape[1], self.V.shape[1]))
        self.size, self.last = 0, 0
        self.ahead = _orthonormalised(start)  # the block to come
        self.join = np.zeros((self.ahead.shape[1], 0))  # what couples it to the last one
        self._pairs: tuple[Array, Array] | None = None  # eigenpairs of T, once they were asked for

    def grow(self, apply: Callable[[Array], Array]) -> None:
        """Take the block ahead in, multiply it, and find the next one."""
        image = apply(self.ahead)
        self._pairs = None
        first, self.last = self.size, self.ahead.shape[1]
        self.size = first + self.last
        self.V[:, first : self.size] = self.ahead
        V = self.V[:, : self.size]
        inside = _kernels.adjoint(V, image)
        self.T[: self.size, first : self.size] = inside
        self.T[first : self.size, : self.size] = inside.T
        left = image - _kernels.product(V, inside)
        room = min(self.last, self.V.shape[0] - self.size)
        self.ahead = _orthonormal(V, left[:, :room])
        self.join = _kernels.adjoint(self.ahead, left)

    def is_whole(self) -> bool:
        return bool(self.size >= self.V.shape[0])

    def is_full(self) -> bool:
        return bool(self.size + self.ahead.shape[1] > self.V.shape[1])

    def pairs(self) -> tuple[Array, Array]:
        if self._pairs is None:
            T = self.T[: self.size, : self.size]
            values, turn = np.linalg.eigh((T + T.T) / 2)
            self._pairs = values[::-1], turn[:, ::-1]
        return self._pairs

    def residual(self, turn: Array) -> float:
        """Return how far Ritz vectors are from eigenvectors: what the last block couples to the one ahead."""
        return float(np.linalg.norm(self.join @ turn[self.size - self.last : self.size]))

    def narrow(self, keep: int) -> None:
        values, turn = self.pairs()
        self.V[:, :keep] = _kernels.product(self.V[:, : self.size], np.ascontiguousarray(turn[:, :keep]))
        self.T[:] = 0.0
        self.T[:keep, :keep] = np.diag(values[:keep])
        self.size, self._pairs = keep, None

    def leading(self, k: int, outcome: str, steps: int) -> Leading:
        values, turn = self.pairs()
        turn = np.ascontiguousarray(turn[:, :k])
        following = float(max(values[k], 0.0)) if len(values) > k else 0.0
        vectors = _kernels.product(self.V[:, : self.size], turn)
        held, least = np.maximum(values[:k], 0.0), float(values[-1])
        return Leading(held, vectors, self.residual(turn), following, least, outcome, steps)


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
        The block to begin with.
    k : int
        How many pairs.
    steps : int
        Most products of a block, after the first one and after those that make as many vectors as pairs.
    tol : float or None
        Residual, relative to the largest value, at which to stop; with None all steps are taken.
    progress : Progress
        Told of every step; it may ask to stop.
    """
    width = start.shape[1]
    least = -(-k // width)  # blocks that hold as many vectors as pairs
    most = max(LARGEST_BASIS, 12 * k, (steps + least) * width if tol is None else 0) + width
    span = _Span(start, most)
    outcome, look, taken = "max_iter" if tol is not None else "solved", least + FIRST_LOOK, 0
    looks: list[tuple[int, float]] = []
    for taken in range(steps + least):
        try:
            span.grow(apply)
            stopped = progress.step() is STOP
        except KeyboardInterrupt:
            if span.size < k:
                raise
            return span.leading(k, "interrupted", taken)
        if span.is_whole():
            outcome = "solved"  # nothing is approximated
            break
        if stopped and span.size >= k:
            return span.leading(k, "stopped", taken)
        if tol is not None and taken >= look:
            values, turn = span.pairs()
            looks.append((taken, span.residual(turn[:, :k]) / max(float(values[0]), SMALLEST_NORMAL)))
            if looks[-1][1] <= tol:
                outcome = "solved"
                break
            look = taken + min(max(2, taken // 4), _steps_to(tol, looks))
        if span.is_full():
            span.narrow(2 * k + width)
    return span.leading(k, outcome, taken)


def _steps_to(tol: float, looks: list[tuple[int, float]]) -> int:
    """Return after how many steps a residual that falls as it did between the last two looks reaches ``tol``."""
    if len(looks) < 2 or not 0 < tol < looks[-1][1] < looks[-2][1]:
        return 2
    (before, high), (now, low) = looks[-2:]
    return max(1, round(math.log(low / tol) / math.log(high / low) * (now - before)))


def _orthonormal(basis: Array, block: Array) -> Array:
    """Make a block orthonormal, to the basis as well; noise that is left of dependent vectors is made so the second time."""
    block = _orthonormalised(block)
    return _orthonormalised(block - _kernels.product(basis, _kernels.adjoint(basis, block)))


def _orthonormalised(block: Array) -> Array:
    """Make columns orthonormal by Cholesky factors of their products, twice or more; by reflections where they are dependent."""
    for _ in range(3 if block.size else 0):
        products = _kernels.adjoint(block, block)
        lengths = np.sqrt(products.diagonal())
        if not (lengths > 0).all():
            break
        try:
            factor = np.linalg.cholesky(products / np.outer(lengths, lengths))
        except np.linalg.LinAlgError:
            break
        least = float(np.min(factor.diagonal()))
        if least < NEARLY_DEPENDENT:
            break
        block = _kernels.product(block, np.linalg.inv(factor).T / lengths[:, None])
        if least > 0.999:  # they were orthonormal but for rounding, and are so now to the last digits
            return block
    return np.ascontiguousarray(np.linalg.qr(block)[0])


def random_block(rng: Generator, rows: int, columns: int) -> Array:
    """Return independent normal numbers."""
    return rng.standard_normal((rows, min(rows, columns)))
