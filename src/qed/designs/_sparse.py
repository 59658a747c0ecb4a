"""A compressed sparse table, by rows or by columns, as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._errors import InvalidData
from qed.data._kernels import canonical, check_indices
from qed.designs import _kernels
from qed.designs._design import Adjoint, Compressed, Matrix, Vector, given_centre, operand, row_weights

PARTS = 4  # of the rows in a product with the Gram matrix, each with a result of its own: for each eight vectors so many threads


class Sparse:
    """A design over a SciPy CSR or CSC array or matrix, with int32 or int64 indices.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC of shape (n, p)
        Float32 or float64. Entries stored twice are added up, in a copy.

    Notes
    -----
    A centre would fill the zeros, so it is subtracted from the results: for columns whose mean is far larger than their
    spread this cancels, as it must. `gram` of a CSC table makes a CSR copy first.
    """

    def __init__(self, X: Any) -> None:
        if X.format not in ("csr", "csc") or X.dtype not in (np.float32, np.float64):
            raise InvalidData(f"Sparse takes float32 or float64 in CSR or CSC, got {X.dtype} in {X.format}.")
        check_indices(X)
        self._X = canonical(X)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self._X.shape
        return int(n), int(p)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the data."""
        dtype: np.dtype[Any] = self._X.dtype
        return dtype

    @property
    def table(self) -> Any:
        """The container itself, as it is, for compiled passes."""
        return self._X

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design."""
        return Adjoint(self)

    @property
    def centres_first(self) -> bool:
        """False: a centre would fill the zeros, so it is taken out of the results."""
        return False

    def columns(self, index: Any) -> Sparse:
        """Return the design of some columns, in the same format."""
        return Sparse(self._X[:, index])

    def rows(self, index: Any) -> Sparse:
        """Return the design of some rows, by rows."""
        return Sparse(self._X.tocsr()[index])

    def taken(self, index: Any, scale: Vector, centre: Vector | None = None) -> Compressed:  # noqa: ARG002
        """Return columns, compressed and not centred, each row times ``scale``."""
        return Compressed(*_kernels.csr_take_columns(self._X, index, scale))

    def __matmul__(self, w: Any) -> Matrix:
        """Return X w."""
        return self.product(w)

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre') w."""
        given, centre = operand(w, self.shape[1], "columns"), _centre(centre, self.shape[1])
        offset = None if centre is None else -(centre @ given.columns)
        return given.shaped(self._product(given.columns, offset))

    def absolute_product(self, w: Any) -> Matrix:
        """Return abs(X) w: with abs(w) it bounds what rounding can do to a product."""
        given = operand(w, self.shape[1], "columns")
        return given.shaped(self._product(given.columns, None, absolute=True))

    def _product(self, w: Matrix, offset: Vector | None, **reading: bool) -> Matrix:
        n, p = self.shape
        if self._X.format == "csr":
            return _kernels.csr_product(self._X, (n, p), w, offset, **reading)
        # the arrays of X by columns are those of its transpose by rows
        result = _kernels.csr_adjoint(self._X, (p, n), w, **reading)
        return result if offset is None else result + offset

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' u."""
        given, centre = operand(u, self.shape[0], "rows"), _centre(centre, self.shape[1])
        n, p = self.shape
        if self._X.format == "csr":
            result = _kernels.csr_adjoint(self._X, (n, p), given.columns)
        else:
            result = _kernels.csr_product(self._X, (p, n), given.columns)
        return given.shaped(result if centre is None else result - np.multiply.outer(centre, given.columns.sum(axis=0)))

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns, (p, p), dense."""
        n, p = self.shape
        c, centre = row_weights(c, n), _centre(centre, p)
        weight, sums, products = _kernels.csr_moments(self._X.tocsr(), c)
        if centre is None:
            return products
        # X'CX - s c' - c s' + W c c' written with one rounding less: half of the last term joins each of the others.
        cross = np.multiply.outer(sums - 0.5 * weight * centre, centre)
        centred: Matrix = products - (cross + cross.T)
        return centred

    def gram_product(self, v: Matrix, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns times v, without forming it: compressed rows are read once."""
        n, p = self.shape
        centre = _centre(centre, p)
        if self._X.format != "csr":
            scores = self.product(v, centre)
            return self.adjoint_product(scores if c is None else c[:, np.newaxis] * scores, centre)
        offset = None if centre is None else centre @ v
        product, sums = _kernels.csr_gram_product(self._X, v, offset, None if c is None else row_weights(c, n), PARTS)
        return product if centre is None else product - np.multiply.outer(centre, sums)

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the lengths of the (weighted, centred) columns."""
        n, p = self.shape
        c, centre = row_weights(c, n), _centre(centre, p)
        squares = self._plain_squares(c)
        if centre is None:
            return np.sqrt(squares)
        # A column that is mostly zeros is hardly moved by centring it: little cancels, and one formula does for all.
        weights = np.ones(n) if c is None else c
        moved = 2 * centre * self.adjoint_product(weights) - weights.sum() * centre**2
        if np.all(moved <= 0.5 * squares):
            return np.asarray(np.sqrt(squares - moved))
        rows, columns = self._coordinates(c is not None)
        entries = self._X.data.astype(np.float64)
        entries -= centre[columns]
        entries *= entries
        count: Vector | None = None if c is None else c[rows]
        stored = np.bincount(columns, entries if count is None else count * entries, minlength=p)
        absent = (n if c is None else c.sum()) - np.bincount(columns, count, minlength=p)
        return np.asarray(np.sqrt(stored + np.maximum(absent, 0.0) * centre**2))

    def _plain_squares(self, c: Vector | None) -> Vector:
        """Return the weighted sums of squares of the columns, not centred."""
        n, p = self.shape
        weights = np.ones((n, 1)) if c is None else c[:, np.newaxis]
        if self._X.format == "csr":
            return np.asarray(_kernels.csr_adjoint(self._X, (n, p), weights, squared=True)[:, 0])
        return np.asarray(_kernels.csr_product(self._X, (p, n), weights, squared=True)[:, 0])

    def _coordinates(self, with_rows: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return row and column of each stored entry; the rows of a table by rows only if they are wanted."""
        by_rows = self._X.format == "csr"
        if by_rows and not with_rows:
            return self._X.indices, self._X.indices
        outer = np.repeat(np.arange(len(self._X.indptr) - 1), np.diff(self._X.indptr))
        return (outer, self._X.indices) if by_rows else (self._X.indices, outer)


def _centre(centre: Any, n_columns: int) -> Vector | None:
    """Check a row to subtract; a row of zeros is the same as none, and leaves what is sparse alone."""
    centre = given_centre(centre, n_columns)
    return centre if centre is not None and centre.any() else None
