"""A design in plain NumPy: the table as it is, multiplied as the formulas say."""

from __future__ import annotations

import numpy as np


class PlainDesign:
    def __init__(self, X: np.ndarray, centre: np.ndarray | None = None, scale: np.ndarray | None = None) -> None:
        self.Z = np.array(X, dtype=np.float64)
        if centre is not None:
            self.Z = self.Z - centre
        if scale is not None:
            self.Z = self.Z / scale

    def product(self, w: np.ndarray) -> np.ndarray:
        return self.Z @ w

    def adjoint_product(self, u: np.ndarray) -> np.ndarray:
        return self.Z.T @ u

    def gram(self, c: np.ndarray | None = None) -> np.ndarray:
        return self.Z.T @ (self.Z if c is None else self.Z * c[:, np.newaxis])

    def rows_gram(self) -> np.ndarray:
        return self.Z @ self.Z.T

    def column_norms(self, c: np.ndarray | None = None) -> np.ndarray:
        return np.sqrt(np.sum(self.Z**2 if c is None else c[:, np.newaxis] * self.Z**2, axis=0))
