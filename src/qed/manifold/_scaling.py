"""Classical scaling: points whose inner products are those that distances imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed.core import InvalidData
from qed.manifold._eigenvectors import MACHINE_EPSILON, leading
from qed.manifold._kernels import squared_product

if TYPE_CHECKING:
    from qed.core._params import Array

NEAREST = 1e-70  # a largest distance whose fourth power float64 holds with all its digits, summed over many rows
ROWS_AT_ONCE = 64  # whose squares stay at hand while they are summed


class InnerProducts:
    """The matrix -J D^2 J / 2 of symmetric distances D: inner products of centred points so far apart. It is not formed."""

    def __init__(self, D: Array) -> None:
        self._D, self.shape = D, D.shape
        n, farthest = len(D), float(np.max(D, initial=0.0))
        if farthest > 0 and not NEAREST <= farthest <= 1 / NEAREST:
            raise InvalidData(
                f"Rows are {farthest:.3g} apart at most, and the strain is made of fourth powers of distances, which float64 does"
                " not hold there. Divide the columns, or the distances, by a constant."
            )
        self._mean = np.empty(n)  # of a row of squares
        fourth = 0.0
        self.largest = 0.0
        for first in range(0, n, ROWS_AT_ONCE):
            squares = D[first : first + ROWS_AT_ONCE] ** 2
            self._mean[first : first + ROWS_AT_ONCE] = squares.mean(axis=1)
            fourth += float(np.vdot(squares, squares))
            self.largest = max(self.largest, float(squares.max()))
        total = float(self._mean.mean())
        # the mean is taken out of the squares in both directions
        self.squares = 0.25 * max(fourth - 2.0 * n * float(self._mean @ self._mean) + (n * total) ** 2, 0.0)

    def __matmul__(self, v: Array) -> Array:
        found = -0.5 * squared_product(self._D, v - v.mean(axis=0))
        found -= found.mean(axis=0)
        return found

    def toarray(self) -> Array:
        """Return the matrix."""
        total = self._mean.mean()
        return np.asarray(-0.5 * (self._D**2 - self._mean - (self._mean - total)[:, None]))


class Scaled(NamedTuple):
    """Points, eigenvalues of their axes, the strain they leave, and the residual of eigenvectors, relative to the first value."""

    points: Array
    values: Array
    strain: float
    residual: float


def scaled(D: Array, n_components: int) -> Scaled:
    """Return points of classical scaling for symmetric distances; axes beyond their number, or of negative value, are zero."""
    products = InnerProducts(D)
    k = min(n_components, len(D))
    pairs = leading(products, k)
    positive = np.maximum(pairs.values, 0.0)
    points, values = np.zeros((len(D), n_components)), np.zeros(n_components)
    points[:, :k], values[:k] = pairs.vectors * np.sqrt(positive), pairs.values
    strain = max(products.squares - float(positive @ positive), 0.0)
    top = max(abs(float(pairs.values[0])), MACHINE_EPSILON * products.largest)
    return Scaled(points, values, strain, pairs.residual / top if top > 0 else 0.0)
