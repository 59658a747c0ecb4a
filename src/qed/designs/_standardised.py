"""Columns centred and scaled without touching them: a wrapper, never a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData
from qed.designs._design import Adjoint, Design, Matrix, Vector, given_centre, operand, taken_by_products

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Standardised:
    """The design (X - 1 centre') diag(1 / scale) over another design.

    Parameters
    ----------
    inner : Design
        X; it is asked to centre, which a dense one does before multiplying, so that large offsets do not cancel.
    centre : array of shape (p,), optional
        Subtracted from each row; nothing by default.
    scale : array of shape (p,), optional
        Divides each column, finite and not zero; 1 by default.
    """

    def __init__(self, inner: Design, centre: ArrayLike | None = None, scale: ArrayLike | None = None) -> None:
        p = inner.shape[1]
        self._inner = inner
        self._centre = np.zeros(p) if centre is None else np.array(centre, dtype=np.float64)
        self._scale = np.ones(p) if scale is None else np.array(scale, dtype=np.float64)
        for name, row in (("centre", self._centre), ("scale", self._scale)):
            if row.shape != (p,) or not np.isfinite(row).all():
                raise InvalidData(f"Standardised.{name} must be {p} finite numbers, one for each column, got {row}.")
        if not self._scale.all():
            j = int(np.flatnonzero(self._scale == 0)[0])
            raise InvalidData(f"Standardised.scale must not be 0, got it for column {j}. Use 1 for constant columns.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._inner.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the data."""
        return self._inner.dtype

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design."""
        return Adjoint(self)

    @property
    def centres_first(self) -> bool:
        """As the inner design does."""
        return self._inner.centres_first

    def columns(self, index: Any) -> Standardised:
        """Return the design of some columns, with their centres and scales."""
        return Standardised(self._inner.columns(index), self._centre[index], self._scale[index])

    def rows(self, index: Any) -> Standardised:
        """Return the design of some rows, with the same centres and scales."""
        return Standardised(self._inner.rows(index), self._centre, self._scale)

    def taken(self, index: Any, scale: Vector, centre: Vector | None = None) -> Matrix:
        """Return columns, centred, each row times ``scale``, in Fortran order."""
        return taken_by_products(self.columns(index), scale, None if centre is None else centre[index])

    def __matmul__(self, w: Any) -> Matrix:
        """Return the product with w."""
        return self.product(w)

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return the product with w, after subtracting a further centre."""
        given = operand(w, self.shape[1], "columns")
        return given.shaped(self._inner.product(given.columns / self._scale[:, np.newaxis], self._joint(centre)))

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return the transposed product with u, after subtracting a further centre."""
        given = operand(u, self.shape[0], "rows")
        return given.shaped(
            self._inner.adjoint_product(given.columns, self._joint(centre)) / self._scale[:, np.newaxis]
        )

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns."""
        return self._inner.gram(c, self._joint(centre)) / np.multiply.outer(self._scale, self._scale)

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the lengths of the columns."""
        return self._inner.column_norms(c, self._joint(centre)) / np.abs(self._scale)

    def _joint(self, centre: Vector | None) -> Vector:
        """Return both centres as one, in the units of the inner design."""
        further = given_centre(centre, self.shape[1])
        return self._centre if further is None else self._centre + self._scale * further
