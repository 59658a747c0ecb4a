r"""What models of a dictionary share: codes of new rows, and rows from codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, InvalidData, Transformer
from qed.decomposition import _kernels
from qed.decomposition._dictionary import Rules
from qed.decomposition._sparse_encode import sparse_encode


class SparseCoding(Transformer):
    """Codes of rows for atoms, whether these were learnt or given."""

    if TYPE_CHECKING:
        n_features_in_: int
        alpha: float
        split_sign: bool
        positive_code: bool
        positive_dict: bool
        transform_algorithm: Any
        transform_n_nonzero_coefs: int | None
        transform_alpha: float | None
        transform_max_iter: int

    def _atoms(self, columns: int) -> Array:  # noqa: ARG002
        """Return the atoms, one a row, for rows of so many columns."""
        atoms: Array = self.components_  # type: ignore[attr-defined]
        return atoms

    def _strength(self) -> float | None:
        """Return the penalty on codes of new rows; for a pursuit the squared error that is small enough, None for any."""
        pursues = self.transform_algorithm == "omp"
        return self.alpha if self.transform_alpha is None and not pursues else self.transform_alpha

    def _rules(self) -> Rules:
        """Return the penalty of the fit, and what may not be negative."""
        return Rules(float(self.alpha), self.positive_code, self.positive_dict)

    def _n_features_out(self) -> int:
        return (2 if self.split_sign else 1) * len(self._atoms(self.n_features_in_))

    def transform(self, X: Any) -> Any:
        """Return sparse codes of rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, 2k) with ``split_sign``
            In the type of X.
        """
        X = self._new_data(X)
        codes = self._codes(X)
        codes = np.hstack([np.maximum(codes, 0), np.maximum(-codes, 0)]) if self.split_sign else codes
        return codes.astype(X.dtype, copy=False)

    def _codes(self, X: Array) -> Array:
        return sparse_encode(
            X,
            self._atoms(X.shape[1]),
            algorithm=self.transform_algorithm,
            n_nonzero_coefs=self.transform_n_nonzero_coefs,
            alpha=self._strength(),
            max_iter=self.transform_max_iter,
            positive=self.positive_code and self.transform_algorithm != "omp",
        )

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their codes.

        Parameters
        ----------
        X : array-like of shape (n, k), or (n, 2k) with ``split_sign``
            Codes.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the codes.
        """
        self._check_is_fitted()
        codes, sides = np.asarray(X), 2 if self.split_sign else 1
        codes = codes if codes.dtype in (np.float32, np.float64) else codes.astype(np.float64)
        atoms = self._atoms(codes.shape[1] // sides) if codes.ndim == 2 else None
        if atoms is None or codes.shape[1] != sides * len(atoms):
            raise InvalidData(f"{type(self).__name__} has another number of atoms: got codes of shape {codes.shape}.")
        k = len(atoms)
        return _kernels.mapped(codes[:, :k] - codes[:, k:] if self.split_sign else codes, atoms)
