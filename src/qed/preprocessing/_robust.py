"""Columns centred by their median and scaled by the distance of two quantiles, so that outliers do not matter."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, InvalidParameter, Traits, Transformer, fitted, param
from qed.core._params import needed_with
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.preprocessing import _kernels
from qed.preprocessing._columns import refuse_sparse_centring, scaled_sparse, without_zeros
from qed.preprocessing._quantiles import source_percentiles


class RobustScaler(Transformer, sparse=True, chunks=True, allow_nan=True):
    r"""Robust scaling: columns of median zero and interquartile range one.

    Objective
    ---------
    .. math:: z_{ij} = (x_{ij} - q_{0.5}(x_j)) / (q_b(x_j) - q_a(x_j))

    Certificate
    -----------
    ExactCertificate: medians and quantiles are those of the rows, up to the rounding of one interpolation.

    Cost
    ----
    O(n) a column to fit, by partition; one pass over memory to transform. Four passes over a source, with counts of at most 65,536
    buckets a column and quantile in memory.

    Examples
    --------
    >>> from qed.preprocessing import RobustScaler
    >>> RobustScaler().fit_transform([[1.0], [2.0], [3.0], [4.0], [100.0]]).ravel()
    array([-1. , -0.5,  0. ,  0.5, 48.5])
    """

    _: KW_ONLY
    with_centering: bool = param(True, "Whether to take the medians away.")
    with_scaling: bool = param(True, "Whether to divide by the quantile range.")
    quantile_range: Any = param((25.0, 75.0), "The two quantiles, in percent.")
    copy: bool = COPY
    unit_variance: bool = param(False, "Whether normal columns get variance one.")

    center_: Array | None = fitted(
        "Median of each column; None without ``with_centering``.",
        dtype="float",
        shape="(p,)",
        nan=True,
        check=needed_with("with_centering"),
    )
    scale_: Array | None = fitted(
        "Quantile range of each column, 1 where it is zero; None without ``with_scaling``.",
        dtype="float",
        shape="(p,)",
        nan=True,
        check=needed_with("with_scaling"),
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return super()._traits()._replace(sparse=not self.with_centering)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn medians and quantiles."""
        refuse_sparse_centring(X, "with_centering", centres=self.with_centering)
        data = self._fit_data(X)
        low, high = self._quantiles()
        n_rows, percents = data.n_rows, (low, 50.0, high)
        if is_source(data.X):
            n_rows, quantiles = source_percentiles(data.X, np.array(percents), data.owner)
        else:
            table = data.X.tocsc() if is_sparse(data.X) else data.X
            quantiles = np.array([_of_column(table, j, percents) for j in range(table.shape[1])]).T
        self.center_ = quantiles[1].copy() if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            self.scale_ = without_zeros(quantiles[2] - quantiles[0])
            if self.unit_variance:
                from scipy.special import ndtri  # noqa: PLC0415

                self.scale_ = self.scale_ / (ndtri(high / 100) - ndtri(low / 100))
        what = f"medians and quantiles of {quantiles.shape[1]} columns"
        self.certificate_ = ExactCertificate(what, n_rows, 4 * 2.0**-53)
        return self

    def _quantiles(self) -> tuple[float, float]:
        given = self.quantile_range
        if not isinstance(given, tuple | list) or len(given) != 2 or not 0 <= given[0] <= given[1] <= 100:
            raise InvalidParameter(f"Invalid quantile range: {given!r}. Pass two percentages, the lower one first.")
        return float(given[0]), float(given[1])

    def transform(self, X: Any) -> Any:
        """Centre and scale rows.

        Returns
        -------
        ndarray, sparse container or frame
            The rows, in the type of X.
        """
        return self._moved(X, divides=True)

    def inverse_transform(self, X: Any) -> Any:
        """Give rows back in their original units.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, p)
            Scaled rows.

        Returns
        -------
        ndarray or sparse container
            The rows.
        """
        return self._moved(X, divides=False)

    def _moved(self, X: Any, *, divides: bool) -> Any:
        refuse_sparse_centring(X, "with_centering", centres=self.with_centering)
        X = self._new_data(X)
        if is_sparse(X):
            return X if self.scale_ is None else scaled_sparse(X, self.scale_, divides=divides, copy=self.copy)
        first = np.zeros(X.shape[1]) if self.center_ is None else self.center_
        second = np.ones(X.shape[1]) if self.scale_ is None else self.scale_
        return _kernels.moved(X, first, second, divides=divides, in_place=not self.copy)


def _of_column(table: Any, j: int, percents: tuple[float, float, float]) -> Any:
    """Return three percentiles of what is there of a column; NaN if nothing is."""
    if is_sparse(table):
        stored = table.data[table.indptr[j] : table.indptr[j + 1]]
        column = np.zeros(table.shape[0], table.dtype)
        column[: len(stored)] = stored
    else:
        column = np.ascontiguousarray(table[:, j])
    column = column.astype(np.float64, copy=False)
    gaps = np.isnan(column)
    if gaps.any():
        column = column[~gaps]
    return np.percentile(column, percents) if len(column) else np.full(3, np.nan)


def robust_scale(
    X: Any,
    *,
    axis: int = 0,
    with_centering: bool = True,
    with_scaling: bool = True,
    quantile_range: tuple[float, float] = (25.0, 75.0),
    copy: bool = True,
    unit_variance: bool = False,
) -> Any:
    """Centre by medians and scale by quantiles once, without a model to keep.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    axis : {0, 1}
        Whether columns or rows are scaled.
    with_centering, with_scaling, quantile_range, copy, unit_variance : object
        As for `RobustScaler`.

    Returns
    -------
    ndarray or sparse container
        The scaled table.
    """
    scaler = RobustScaler(
        with_centering=with_centering,
        with_scaling=with_scaling,
        quantile_range=quantile_range,
        copy=copy,
        unit_variance=unit_variance,
    )
    return scaler.fit_transform(X) if axis == 0 else scaler.fit_transform(np.asarray(X).T).T
