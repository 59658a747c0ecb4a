"""A table in memory, as it is: any strides, float32 or float64, never copied as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData
from qed.designs import _kernels
from qed.designs._design import Adjoint, Matrix, Vector, given_centre, operand, row_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

SUM_ROWS = 1 << 10  # squares added in a row; longer sums would round more
BLOCK = 1 << 19  # entries of X centred at a time: 4 MiB, large enough for all threads, small enough for the cache


class Dense:
    """A design over a NumPy array.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Float32 or float64, in any layout.

    Notes
    -----
    Memory beyond X and the result: nothing, or 4 MiB where a centre is subtracted or float32 is squared.
    """

    def __init__(self, X: np.ndarray[Any, Any]) -> None:
        if X.ndim != 2 or X.dtype.newbyteorder("=") not in (np.float32, np.float64):
            raise InvalidData(f"Dense takes float32 or float64 of two dimensions, got {X.dtype} of shape {X.shape}.")
        self._X = _kernels.strided(X)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self._X.shape
        return n, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the data."""
        dtype: np.dtype[Any] = self._X.dtype
        return dtype

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design."""
        return Adjoint(self)

    def __matmul__(self, w: Any) -> Matrix:
        """Return X w."""
        return self.product(w)

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre') w."""
        n, p = self.shape
        given, centre = operand(w, p, "columns"), given_centre(centre, p)
        if centre is None:
            return given.shaped(_kernels.product(self._X, given.columns))
        result = np.empty((n, given.columns.shape[1]))
        for rows, block in self._centred(centre):
            result[rows] = _kernels.product(block, given.columns)
        return given.shaped(result)

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' u."""
        n, p = self.shape
        given, centre = operand(u, n, "rows"), given_centre(centre, p)
        if centre is None:
            return given.shaped(_kernels.adjoint_product(self._X, given.columns))
        result = np.zeros((p, given.columns.shape[1]))
        for rows, block in self._centred(centre):
            result += _kernels.adjoint_product(block, given.columns[rows])
        return given.shaped(result)

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns, (p, p)."""
        n, p = self.shape
        return _kernels.gram(self._X, row_weights(c, n), given_centre(centre, p), transpose=False)

    def rows_gram(self, centre: Vector | None = None) -> Matrix:
        """Return the Gram matrix of the rows, (X - 1 centre')(X - 1 centre')', (n, n): for tables wider than tall."""
        return _kernels.gram(self._X, None, given_centre(centre, self.shape[1]), transpose=True)

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the lengths of the (weighted, centred) columns."""
        n, p = self.shape
        c, centre = row_weights(c, n), given_centre(centre, p)
        squares = np.zeros(p)
        for rows, block in self._centred(np.zeros(p) if centre is None else centre, SUM_ROWS):
            # einsum without BLAS: the same bits whatever the number of threads.
            squares += np.einsum("ij,ij->j", block, block if c is None else block * c[rows, np.newaxis])
        return np.sqrt(squares)

    def _centred(self, centre: Vector, most_rows: int = BLOCK) -> Iterator[tuple[slice, Matrix]]:
        """Subtract the centre a few rows at a time, in float64: nothing cancels, and nothing large is copied."""
        n, p = self.shape
        size = max(1, min(most_rows, BLOCK // max(1, p)))
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            yield rows, np.subtract(self._X[rows], centre, dtype=np.float64)
