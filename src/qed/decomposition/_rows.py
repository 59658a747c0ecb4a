"""Centred, weighted rows as a matrix A that is never formed: A = √s (X - mean)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.designs import design

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.designs import Design

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of positive weight, their means taken out on the way."""

    X: Any
    plain: Design
    root: Array | None  # (n, 1) square roots of the weights
    centre: Array

    @classmethod
    def of(cls, X: Any, weight: Array | None, centre: Array) -> Rows:
        """Wrap a table."""
        return cls(X, design(X), None if weight is None else np.sqrt(weight)[:, None], centre)

    def divided(self, unit: float) -> Rows:
        """Return the same rows in other units."""
        if unit == 1:
            return self
        root = np.ones((self.shape[0], 1)) if self.root is None else self.root
        return Rows(self.X, self.plain, root / unit, self.centre)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.plain.shape

    def forward(self, V: Array) -> Array:
        """Return A V."""
        product = self.plain.product(V, self.centre)
        return product if self.root is None else product * self.root

    def back(self, U: Array) -> Array:
        """Return A' U."""
        return self.plain.adjoint_product(U if self.root is None else U * self.root, self.centre)

    def formed(self) -> Array:
        """Return A itself, for tables that are small."""
        A = np.asarray(self.X, dtype=np.float64) - self.centre
        return A if self.root is None else A * self.root

    def squared(self) -> Array:
        """Return A A', the products of the rows."""
        products: Array = self.plain.rows_gram(self.centre)  # type: ignore[attr-defined]
        return products if self.root is None else products * (self.root * self.root.T)
