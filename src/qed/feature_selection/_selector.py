"""What every selector of columns shares: it keeps some columns as they are, and leaves the others out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, Transformer
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from qed.core import Array


class Selector(Transformer, sparse=True):
    """A transformer that keeps the columns of ``_kept()``."""

    def _kept(self) -> Array:
        """Return whether each column is kept, shape (p,)."""
        raise NotImplementedError

    def get_support(self, indices: bool = False) -> Array:
        """Return which columns are kept.

        Parameters
        ----------
        indices : bool
            Whether to return their numbers instead of yes or no for each.

        Returns
        -------
        ndarray
            Of bool, shape (p,); or of int.
        """
        self._check_is_fitted()
        kept = self._kept()
        return np.flatnonzero(kept) if indices else kept

    def transform(self, X: Any) -> Any:
        """Return the columns that are kept.

        Returns
        -------
        ndarray or sparse container of shape (n, k)
            In the type of X.
        """
        rows = self._new_data(X)
        columns = np.flatnonzero(self._kept())
        if not len(columns):
            warnings.warn(
                "No features were selected: either the data is too noisy or the selection test too strict.",
                stacklevel=3,
            )
        return rows[:, columns]

    def inverse_transform(self, X: Any) -> Any:
        """Return rows with all columns, zeros where a column was not kept.

        Parameters
        ----------
        X : array-like or sparse of shape (n, k)
            Rows with the columns that are kept.

        Returns
        -------
        ndarray or sparse container of shape (n, p)
            Rows with the columns of the fit.
        """
        self._check_is_fitted()
        kept = self._kept()
        rows = X.tocsc() if is_sparse(X) else np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != kept.sum():
            raise InvalidData(
                f"X has a different shape than during fitting: {type(self).__name__} keeps {int(kept.sum())} columns, got shape"
                f" {rows.shape}."
            )
        if is_sparse(X):
            from scipy import sparse  # noqa: PLC0415

            place = sparse.csc_array(
                (np.ones(rows.shape[1], dtype=rows.dtype), np.flatnonzero(kept), np.arange(rows.shape[1] + 1)),
                shape=(len(kept), rows.shape[1]),
            )
            return type(rows)(rows @ place.T)
        whole = np.zeros((len(rows), len(kept)), dtype=rows.dtype)
        whole[:, kept] = rows
        return whole

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns that are kept."""
        return np.asarray(super().get_feature_names_out(input_features)[self._kept()])
