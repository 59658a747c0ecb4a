"""Standardisation: columns of mean zero and variance one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import ExactCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import KW_ONLY, Array, Traits, Transformer, fitted, param
from qed.core._params import needed_with
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse
from qed.preprocessing import _kernels
from qed.preprocessing._columns import (
    EPSILON,
    certificate,
    has_its_columns,
    is_weighted,
    looked_at,
    refuse_sparse_centring,
    scaled_sparse,
    without_zeros,
)

if TYPE_CHECKING:
    from qed.data import ColumnMoments


class StandardScaler(Transformer, sparse=True, chunks=True, allow_nan=True):
    r"""Standardisation: columns of mean zero and variance one.

    Objective
    ---------
    .. math:: z_{ij} = (x_{ij} - \mu_j) / \sigma_j, \quad \mu_j = \frac{1}{\sum_i s_i} \sum_i s_i x_{ij}, \quad
       \sigma_j^2 = \frac{1}{\sum_i s_i} \sum_i s_i (x_{ij} - \mu_j)^2

    Certificate
    -----------
    ExactCertificate: means and variances are those of the rows, up to a stated rounding.

    Cost
    ----
    One pass over memory to fit, one to transform; O(p) beyond the result.

    Notes
    -----
    The divisor is the number of rows (their weight), not one less. NaN is left out of the statistics and stays NaN. A column that
    does not vary is only centred. Sparse tables are scaled without centring.

    Examples
    --------
    >>> from qed.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0, 5.0], [3.0, 5.0]])
    >>> scaler.transform([[1.0, 5.0], [5.0, 6.0]])
    array([[-1.,  0.],
           [ 3.,  1.]])
    """

    _: KW_ONLY
    copy: bool = COPY
    with_mean: bool = param(True, "Whether to take the means away.")
    with_std: bool = param(True, "Whether to divide by the standard deviations.")

    mean_: Array | None = fitted(
        "Mean of each column; None when neither means nor deviations are used.",
        dtype="float",
        shape="(p,)",
        nan=True,
        check=needed_with("with_mean"),
    )
    var_: Array | None = fitted(
        "Variance of each column, with divisor n; None without ``with_std``.", dtype="float", shape="(p,)", nan=True
    )
    scale_: Array | None = fitted(
        "What columns are divided by: the deviation, 1 for constant columns; None without ``with_std``.",
        dtype="float",
        shape="(p,)",
        nan=True,
        check=needed_with("with_std"),
    )
    n_samples_seen_: int | float | Array = fitted(
        "Rows, or their weight; an array when columns have different numbers of gaps.",
        dtype="number",
        shape="(p,)",
        low=0,
    )
    statistics_: ColumnMoments = fitted(
        "The statistics behind, which further rows are merged into.", check=has_its_columns, answers=False
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return super()._traits()._replace(sparse=not self.with_mean)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn means and variances."""
        refuse_sparse_centring(X, "with_mean", centres=self.with_mean)
        data = self._fit_data(X, None, sample_weight, finite=False)
        weighted = is_weighted(data)
        return self._learn(looked_at(data, weighted=weighted), weighted=weighted)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far."""
        before = self.__dict__.get("statistics_")
        refuse_sparse_centring(X, "with_mean", centres=self.with_mean)
        data = self._fit_data(X, None, sample_weight, finite=False, reset=before is None)
        weighted = is_weighted(data)
        seen = looked_at(data, weighted=weighted)
        if before is not None:
            weighted = weighted or bool((before.weight != before.count).any())
            seen = before.merge(seen)
        return self._learn(seen, weighted=weighted)

    def _learn(self, seen: ColumnMoments, *, weighted: bool) -> Self:
        with np.errstate(invalid="ignore"):
            mean = np.where(seen.weight > 0, seen.mean, np.nan)
            var = seen.scatter / np.where(seen.weight > 0, seen.weight, np.nan)
        number = seen.weight if weighted else seen.count.astype(np.int64)
        self.n_samples_seen_ = number[0] if number.min() == number.max() else number
        self.mean_ = mean if self.with_mean or self.with_std else None
        self.var_ = var if self.with_std else None
        self.scale_ = None
        if self.with_std:
            # What rounding alone can make of a constant column is no variance.
            upper = seen.count * EPSILON * var + (seen.count * mean * EPSILON) ** 2
            self.scale_ = without_zeros(np.sqrt(var), (var <= upper) | (seen.low == seen.high))
        self.statistics_ = seen
        self.certificate_ = certificate("means and variances", seen)
        return self

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Standardise rows by the means and deviations of the fit.

        Parameters
        ----------
        copy : bool, optional
            Overrides the parameter of the same name.

        Returns
        -------
        ndarray, sparse container or frame
            The rows, in the type of X.
        """
        given = X
        refuse_sparse_centring(X, "with_mean", centres=self.with_mean)
        X = self._new_data(X)
        copy = self.copy if copy is None else copy
        if is_sparse(X):
            return X if self.scale_ is None else scaled_sparse(X, self.scale_, divides=True, copy=copy)
        first, second = self._factors(X.shape[1])
        return _kernels.moved(X, first, second, divides=True, in_place=not copy or _is_fresh(X, given))

    def _factors(self, p: int) -> tuple[Any, Any]:
        first = self.mean_ if self.with_mean else np.zeros(p)
        return first, np.ones(p) if self.scale_ is None else self.scale_

    def inverse_transform(self, X: Any, copy: bool | None = None) -> Any:
        """Give rows back in their original units.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, p)
            Standardised rows.
        copy : bool, optional
            Overrides the parameter of the same name.

        Returns
        -------
        ndarray or sparse container
            The rows, in the type of X.
        """
        refuse_sparse_centring(X, "with_mean", centres=self.with_mean)
        X = self._new_data(X)
        copy = self.copy if copy is None else copy
        if is_sparse(X):
            return X if self.scale_ is None else scaled_sparse(X, self.scale_, divides=False, copy=copy)
        first, second = self._factors(X.shape[1])
        return _kernels.moved(X, first, second, divides=False, in_place=not copy)


def _is_fresh(X: Any, given: Any) -> bool:
    """Tell whether the door made an array that nobody else holds."""
    return not np.may_share_memory(X, given) if isinstance(given, np.ndarray) else isinstance(given, list | tuple)


def scale(X: Any, *, axis: int = 0, with_mean: bool = True, with_std: bool = True, copy: bool = True) -> Any:
    """Standardise columns (or with ``axis=1`` rows) once, without a model to keep.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    axis : {0, 1}
        Whether columns or rows get mean zero and variance one.
    with_mean, with_std, copy : bool
        As for `StandardScaler`.

    Returns
    -------
    ndarray or sparse container
        The scaled table.
    """
    scaler = StandardScaler(with_mean=with_mean, with_std=with_std, copy=copy)
    if axis == 0:
        return scaler.fit_transform(X)
    return scaler.fit_transform(np.asarray(X).T).T
