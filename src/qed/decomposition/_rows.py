"""Centred, weighted rows as a matrix A that is never formed: A = √s (X - mean)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._tables import is_sparse
from qed.data._kernels import UNIT
from qed.decomposition._krylov import BLOCK
from qed.decomposition._proof import product_rounding
from qed.designs import design

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.designs import Design

    Array = NDArray[np.float64]

ENTRY_BLOCK = 8  # vectors of a block for sparse rows: an entry reads one line of the cache for them, as it does for one


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

    def around(self, V: Array) -> Array:
        """Return A' A V."""
        if not is_sparse(self.X):
            return self.back(self.forward(V))
        weight = None if self.root is None else np.square(self.root[:, 0])
        return self.plain.gram_product(V, weight, self.centre)  # type: ignore[attr-defined,no-any-return]

    @property
    def block(self) -> int:
        """How many vectors a product is best at, in a search that spans what all products give."""
        return ENTRY_BLOCK if is_sparse(self.X) else BLOCK

    @property
    def rounding(self) -> float:
        """Bound the rounding of products with A and A', relative to the sum of squares of A."""
        n, p = self.shape
        if not is_sparse(self.X):
            return product_rounding(n) + product_rounding(p)
        longest = int(np.max(np.diff(self.X.indptr), initial=0)) if self.X.format == "csr" else p
        return (n + longest + 16) * UNIT  # entries of a column are added one after the other

    def formed(self) -> Array:
        """Return A itself, for tables that are small."""
        A = np.asarray(self.X, dtype=np.float64) - self.centre
        return A if self.root is None else A * self.root

    def squared(self) -> Array:
        """Return A A', the products of the rows."""
        products: Array = self.plain.rows_gram(self.centre)  # type: ignore[attr-defined]
        return products if self.root is None else products * (self.root * self.root.T)
