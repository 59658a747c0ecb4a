"""The protocol of designs, and what all of them share: the transposed view and the shapes of operands."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from qed.core._errors import InvalidData
from qed.data._kernels import plain

Vector = np.ndarray[Any, np.dtype[np.float64]]
Matrix = np.ndarray[Any, np.dtype[np.float64]]


@runtime_checkable
class Design(Protocol):
    """A table X of n rows and p columns, known by its products.

    Every method takes a `centre`, the row that is subtracted from each row of X first: X - 1 centre'. A design that can
    does so before multiplying, where nothing cancels; one that would be filled by it (a sparse one) does so afterwards.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the data, float32 or float64; results are float64 all the same."""
        ...

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design: ``design.T @ u``."""
        ...

    @property
    def centres_first(self) -> bool:
        """Whether a centre is subtracted before multiplying, so that rounding is that of centred columns."""
        ...

    def columns(self, index: Any) -> Design:
        """Return the design of some columns, in the order given; a copy of them, laid out for many products."""
        ...

    def rows(self, index: Any) -> Design:
        """Return the design of some rows, in the order given; a copy of them, in memory."""
        ...

    def taken(self, index: Any, scale: Vector, centre: Vector | None = None) -> Matrix | Compressed:
        """Return columns, each row times ``scale``, as an array in Fortran order with the centre subtracted first.

        A design that a centre would fill returns them compressed, and not centred.
        """
        ...

    def __matmul__(self, w: Any) -> Matrix:
        """Return X w for w of shape (p,) or (p, m)."""
        ...

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre') w for w of shape (p,) or (p, m)."""
        ...

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' u for u of shape (n,) or (n, m)."""
        ...

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' diag(c) (X - 1 centre'), (p, p), for weights c >= 0, one each by default."""
        ...

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the square roots of the diagonal of `gram`, without computing the rest of it."""
        ...


class Compressed(NamedTuple):
    """Columns with few entries, column after column: those of column j are ``[starts[j], starts[j + 1])`` of the rest."""

    starts: np.ndarray[Any, np.dtype[np.int64]]
    rows: np.ndarray[Any, np.dtype[np.int64]]
    values: Vector


class Adjoint:
    """The transposed view of a design: ``design.T @ u``."""

    def __init__(self, design: Design) -> None:
        self._design = design

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of the design."""
        n, p = self._design.shape
        return p, n

    @property
    def T(self) -> Design:  # noqa: N802  as NumPy spells it
        """The design itself."""
        return self._design

    def __matmul__(self, u: Any) -> Matrix:
        """Return X' u for u of shape (n,) or (n, m)."""
        return self._design.adjoint_product(u)


class Operand(NamedTuple):
    """A vector or matrix to be multiplied, always of two dimensions, and how to give the result its own shape."""

    columns: Matrix
    is_vector: bool

    def shaped(self, result: Matrix) -> Matrix:
        """Return a result of two dimensions as a vector when the operand was one."""
        return result[:, 0] if self.is_vector else result


def taken_by_products(part: Design, scale: Vector, centre: Vector | None) -> Matrix:
    """Return all columns of a design as an array, for designs that are known by their products alone."""
    columns = part.product(np.eye(part.shape[1]), centre)
    return np.asfortranarray(columns * scale[:, np.newaxis])


def operand(a: Any, length: int, meaning: str) -> Operand:
    """Check the length of what a design is multiplied by, and make it float64."""
    a = np.asarray(a, dtype=np.float64)
    if a.ndim not in (1, 2) or a.shape[0] != length:
        raise InvalidData(f"A design with {length} {meaning} cannot be multiplied by an array of shape {a.shape}.")
    return Operand(a[:, np.newaxis] if a.ndim == 1 else a, a.ndim == 1)


def row_weights(c: Any, n_rows: int) -> Vector | None:
    """Check the weights of a Gram matrix: one for each row, none negative."""
    if c is None:
        return None
    c = np.asarray(c, dtype=np.float64)
    if c.shape != (n_rows,):
        raise InvalidData(f"A design with {n_rows} rows needs weights of shape ({n_rows},), got {c.shape}.")
    if not c.min(initial=0.0) >= 0:
        raise InvalidData(f"Weights of a Gram matrix must be >= 0, got {float(c.min())!r}.")
    return plain(c)


def given_centre(centre: Any, n_columns: int) -> Vector | None:
    """Check a row to subtract."""
    if centre is None:
        return None
    row: Vector = plain(centre)
    if row.shape != (n_columns,):
        raise InvalidData(f"A design with {n_columns} columns needs a centre of shape ({n_columns},), got {row.shape}.")
    return row
