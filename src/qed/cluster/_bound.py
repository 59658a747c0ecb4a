r"""How good any k centres can be.

The rows of k clusters, each replaced by its mean, span at most k - 1 directions about the mean of all. So the inertia of
any clusters is at least what the best k - 1 directions leave out of the scatter: its trace less its k - 1 largest
eigenvalues (Zha, He, Ding, Gu and Simon 2001; Ding and He 2004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._tables import is_sparse
from qed.core._threads import one_blas_thread
from qed.data import Chunk, Moments
from qed.data._kernels import UNIT
from qed.designs import design
from qed.designs._pairs import error_of_all
from qed.designs._range import fingerprint, fingerprint_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.certificates import Fingerprint

    Array = NDArray[np.float64]


MAX_EIGEN_SIDE = 1000  # rows or columns of a matrix whose eigenvalues are found for the bound


class Scatter:
    """The spread of rows of positive weight about their mean, and its eigenvalues."""

    def __init__(self, X: Any, weight: Array | None) -> None:
        n, p = X.shape
        self.matrix: Array | None = None
        self.rounding_error = 0.0
        self.seen: Fingerprint
        if p <= MAX_EIGEN_SIDE and (n >= p or is_sparse(X)):
            moments = Moments.of(Chunk(X, None, weight))
            self.seen = fingerprint_of(moments)
            self.matrix, self.rounding_error = moments.XX, moments.rounding * float(np.sum(moments.peak))
        else:
            self.seen = fingerprint(X, np.empty((n, 0)), weight)
            if n <= MAX_EIGEN_SIDE and not is_sparse(X):
                root = np.ones(n) if weight is None else np.sqrt(weight)
                self.matrix = design(X).rows_gram(self.seen.mean) * np.multiply.outer(root, root)  # type: ignore[attr-defined]
                self.rounding_error = (p + 16) * UNIT * self.total

    @property
    def total(self) -> float:
        """The inertia of a single centre."""
        return float(np.sum(self.seen.spread))

    def least_inertia(self, k: int) -> tuple[float, float]:
        """Return a lower bound on the inertia of any k centres, rounding taken off, and the rounding of the total."""
        total = self.total
        rounding_error = (
            self.rounding_error + float(np.sum(self.seen.spread_rounding))
            if self.seen.spread_rounding is not None
            else self.rounding_error
        )
        if self.matrix is None or k - 1 >= len(self.matrix) or not 1e-120 < total < 1e120:
            return 0.0, rounding_error
        with one_blas_thread(self.matrix.size):
            values, vectors = np.linalg.eigh(self.matrix)
            values, vectors = values[::-1], vectors[:, ::-1]
            error = rounding_error + error_of_all(
                self.matrix, values, vectors
            )  # of products about a mean that is rounded itself
        left = float(np.sum(values[k - 1 :])) - (len(values) - k + 1) * error
        return max(left, 0.0), rounding_error
