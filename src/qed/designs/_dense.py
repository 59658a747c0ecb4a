"""A table in memory, as it is: any strides, float32 or float64, never copied as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._errors import InvalidData
from qed.data._kernels import strided
from qed.designs import _kernels
from qed.designs._design import Adjoint, Matrix, Vector, given_centre, operand, row_weights

ENTRIES = 1 << 20  # of absolute values that are in memory at a time


class Dense:
    """A design over a NumPy array.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Float32 or float64, in any layout.

    Notes
    -----
    Memory beyond X and the result: nothing that grows with X; a centre is subtracted from each row on the way.
    """

    def __init__(self, X: np.ndarray[Any, Any]) -> None:
        if X.ndim != 2 or X.dtype.newbyteorder("=") not in (np.float32, np.float64):
            raise InvalidData(f"Dense takes float32 or float64 of two dimensions, got {X.dtype} of shape {X.shape}.")
        self._X = strided(X)

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
    def table(self) -> np.ndarray[Any, Any]:
        """The array itself, as it is, for compiled passes."""
        return self._X

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design."""
        return Adjoint(self)

    @property
    def centres_first(self) -> bool:
        """True: a centre is subtracted from each row, on the way."""
        return True

    def columns(self, index: Any) -> Dense:
        """Return the design of some columns, copied into the layout that products with rows like best."""
        return Dense(np.ascontiguousarray(self._X[:, index]))

    def rows(self, index: Any) -> Dense:
        """Return the design of some rows."""
        return Dense(np.ascontiguousarray(self._X[index]))

    def taken(self, index: Any, scale: Vector, centre: Vector | None = None) -> Matrix:
        """Return columns, centred, each row times ``scale``, in Fortran order."""
        return _kernels.take_columns(self._X, index, scale, given_centre(centre, self.shape[1]))

    def __matmul__(self, w: Any) -> Matrix:
        """Return X w."""
        return self.product(w)

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre') w."""
        p = self.shape[1]
        given = operand(w, p, "columns")
        return given.shaped(_kernels.product(self._X, given.columns, given_centre(centre, p)))

    def absolute_product(self, w: Any) -> Matrix:
        """Return abs(X) w, a few rows at a time: with abs(w) it bounds what rounding can do to a product."""
        n, p = self.shape
        given = operand(w, p, "columns")
        result = np.empty((n, given.columns.shape[1]))
        step = max(1, ENTRIES // max(p, 1))
        for first in range(0, n, step):
            rows = slice(first, first + step)
            result[rows] = _kernels.product(np.abs(self._X[rows]), given.columns, None)
        return given.shaped(result)

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' u."""
        n, p = self.shape
        given = operand(u, n, "rows")
        return given.shaped(_kernels.adjoint_product(self._X, given.columns, given_centre(centre, p)))

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns, (p, p)."""
        n, p = self.shape
        return _kernels.gram(self._X, row_weights(c, n), given_centre(centre, p), transpose=False)

    def rows_gram(self, centre: Vector | None = None, *, fast: bool = False) -> Matrix:
        """Return the Gram matrix of the rows, (X - 1 centre')(X - 1 centre')', (n, n): for tables wider than tall.

        With `fast`, float32 rows are multiplied in float32 and summed in float64; float64 rows are not affected.
        """
        fast = fast and self.dtype == np.float32
        return _kernels.gram(self._X, None, given_centre(centre, self.shape[1]), transpose=True, fast=fast)

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the lengths of the (weighted, centred) columns."""
        n, p = self.shape
        return np.sqrt(_kernels.column_squares(self._X, row_weights(c, n), given_centre(centre, p)))
