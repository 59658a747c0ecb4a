"""Transformations that look at a row, or at an entry, and at nothing else: norms and thresholds."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, Transformer, fitted, param
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse


class Normalizer(Transformer, sparse=True, requires_fit=False):
    r"""Normalisation of samples (rows) to unit norm.

    Objective
    ---------
    .. math:: z_i = x_i / \|x_i\|

    Certificate
    -----------
    ExactCertificate: nothing is learnt, so nothing can be wrong.

    Cost
    ----
    One pass over memory.

    Examples
    --------
    >>> from qed.preprocessing import Normalizer
    >>> Normalizer().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    norm: Literal["l1", "l2", "max"] = param("l2", "Which length becomes one.")
    _: KW_ONLY
    copy: bool = COPY

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Look at the columns; nothing is learnt."""
        data = self._fit_data(X)
        self.certificate_ = ExactCertificate("nothing is learnt", data.n_rows, 0.0)
        return self

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Scale every row to length one; rows of zeros stay.

        Parameters
        ----------
        copy : bool, optional
            Overrides the parameter of the same name.

        Returns
        -------
        ndarray, sparse container or frame
            The rows.
        """
        X = self._new_data(X)
        return _normalized(X, self.norm, copy=self.copy if copy is None else copy)[0]


def _normalized(X: Any, norm: str, *, copy: bool) -> tuple[Any, Any]:
    sparse = is_sparse(X)
    if sparse:
        X = X.tocsr(copy=copy)
        sizes = np.abs(X.data) if norm != "l2" else X.data.astype(np.float64) ** 2
        row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        if norm == "max":
            norms = np.zeros(X.shape[0])
            np.maximum.at(norms, row_of, sizes)
        else:
            norms = np.bincount(row_of, sizes, X.shape[0])
    elif norm == "l2":
        norms = np.einsum("ij,ij->i", X, X)
    else:
        norms = np.abs(X).sum(axis=1) if norm == "l1" else np.abs(X).max(axis=1)
    if norm == "l2":
        norms = np.sqrt(norms)
    norms = np.where(norms < 10 * np.finfo(X.dtype).eps, 1.0, norms).astype(X.dtype, copy=False)
    if sparse:
        X.data /= norms[row_of]
        return X, norms
    return np.divide(X, norms[:, np.newaxis], out=None if copy or not X.flags.writeable else X), norms


class Binarizer(Transformer, sparse=True, requires_fit=False):
    r"""Binarisation: one for entries above a threshold, zero for all others.

    Objective
    ---------
    .. math:: z_{ij} = 1 \text{ if } x_{ij} > t \text{ else } 0

    Certificate
    -----------
    ExactCertificate: nothing is learnt, so nothing can be wrong.

    Cost
    ----
    One pass over memory.

    Examples
    --------
    >>> from qed.preprocessing import Binarizer
    >>> Binarizer(threshold=1.0).fit_transform([[1.0, 2.0]])
    array([[0., 1.]])
    """

    _: KW_ONLY
    threshold: float = param(0.0, "Entries above it become one.")
    copy: bool = COPY

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Look at the columns; nothing is learnt."""
        data = self._fit_data(X)
        self.certificate_ = ExactCertificate("nothing is learnt", data.n_rows, 0.0)
        return self

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Compare every entry with the threshold.

        Parameters
        ----------
        copy : bool, optional
            Overrides the parameter of the same name.

        Returns
        -------
        ndarray, sparse container or frame
            Zeros and ones.
        """
        X = self._new_data(X)
        copy = self.copy if copy is None else copy
        if is_sparse(X):
            if self.threshold < 0:
                raise InvalidData("Cannot binarize a sparse matrix with threshold < 0: every zero would become a one.")
            X = X.copy() if copy else X
            X.data = (X.data > self.threshold).astype(X.dtype)
            X.eliminate_zeros()
            return X
        if copy or not X.flags.writeable:
            return (self.threshold < X).astype(X.dtype)
        return np.greater(X, self.threshold, out=X, casting="unsafe")


def normalize(
    X: Any, norm: Literal["l1", "l2", "max"] = "l2", *, axis: int = 1, copy: bool = True, return_norm: bool = False
) -> Any:
    """Scale rows (or with ``axis=0`` columns) to length one, once.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    norm : {"l1", "l2", "max"}
        Which length becomes one.
    axis : {0, 1}
        Whether rows or columns are scaled.
    copy : bool
        Whether to leave the given array as it is.
    return_norm : bool
        Whether to return the lengths too.

    Returns
    -------
    ndarray or sparse container, or a pair of that and an ndarray
        The scaled table, and the lengths.
    """
    model = Normalizer(norm, copy=copy)
    data = model._fit_data(X)  # noqa: SLF001
    table = data.X if axis == 1 else data.X.T
    scaled, norms = _normalized(table, norm, copy=copy)
    scaled = scaled if axis == 1 else scaled.T
    return (scaled, norms) if return_norm else scaled


def binarize(X: Any, *, threshold: float = 0.0, copy: bool = True) -> Any:
    """Compare every entry with a threshold, once.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    threshold : float
        Entries above it become one.
    copy : bool
        Whether to leave the given array as it is.

    Returns
    -------
    ndarray or sparse container
        Zeros and ones.
    """
    return Binarizer(threshold=threshold, copy=copy).fit_transform(X)


def add_dummy_feature(X: Any, value: float = 1.0) -> Any:
    """Put a constant column before the others: homogeneous coordinates.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    value : float
        What the column holds.

    Returns
    -------
    ndarray or sparse container of shape (n, p + 1)
        The longer rows.
    """
    data = Normalizer()._fit_data(X)  # noqa: SLF001  any model's door will do
    if is_sparse(data.X):
        from scipy import sparse  # noqa: PLC0415

        column = sparse.csc_array(np.full((data.n_rows, 1), value))
        return sparse.hstack([column, data.X], format=data.X.format)
    out = np.empty((data.n_rows, data.X.shape[1] + 1), data.X.dtype)
    out[:, 0], out[:, 1:] = value, data.X
    return out
