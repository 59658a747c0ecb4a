"""Columns in a given range: by least and largest entry, or by the largest size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import ExactCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import KW_ONLY, Array, InvalidDataType, InvalidParameter, Transformer, fitted, param
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse
from qed.preprocessing import _kernels
from qed.preprocessing._columns import certificate, has_its_columns, looked_at, scaled_sparse, without_zeros

if TYPE_CHECKING:
    from qed.data import ColumnMoments


class MinMaxScaler(Transformer, chunks=True, allow_nan=True):
    r"""Min-max scaling: columns scaled to a given range.

    Objective
    ---------
    .. math:: z_{ij} = a + (b - a) (x_{ij} - \min_j) / (\max_j - \min_j)

    Certificate
    -----------
    ExactCertificate: least and largest entries are those of the rows, exactly.

    Cost
    ----
    One pass over memory to fit, one to transform; O(p) beyond the result.

    Notes
    -----
    NaN is left out and stays NaN. A column that does not vary goes to the lower end of the range.

    Examples
    --------
    >>> from qed.preprocessing import MinMaxScaler
    >>> MinMaxScaler().fit_transform([[1.0], [2.0], [5.0]]).ravel()
    array([0.  , 0.25, 1.  ])
    """

    feature_range: Any = param((0, 1), "The ends of the range.")
    _: KW_ONLY
    copy: bool = COPY
    clip: bool = param(False, "Whether to clip new entries to the range.")

    min_: Array = fitted(
        "What is added to each column after scaling.", dtype="float", shape="(p,)", finite=False, nan=True
    )
    scale_: Array = fitted("What each column is multiplied by.", dtype="float", shape="(p,)", finite=False, nan=True)
    data_min_: Array = fitted("Least entry of each column.", dtype="float", shape="(p,)", finite=False, nan=True)
    data_max_: Array = fitted("Largest entry of each column.", dtype="float", shape="(p,)", finite=False, nan=True)
    data_range_: Array = fitted("Their difference.", dtype="float", shape="(p,)", finite=False, nan=True)
    n_samples_seen_: int = fitted("Rows seen.", low=0)
    statistics_: ColumnMoments = fitted(
        "The statistics behind, which further rows are merged into.", check=has_its_columns, answers=False
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the least and largest entries."""
        return self._learn(X, None)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far."""
        return self._learn(X, self.__dict__.get("statistics_"))

    def _learn(self, X: Any, before: ColumnMoments | None) -> Self:
        self._validate_params()
        low, high = self._ends()
        if is_sparse(X):
            raise InvalidDataType("MinMaxScaler does not support sparse input. Consider using MaxAbsScaler instead.")
        data = self._fit_data(X, finite=False, reset=before is None)
        seen = looked_at(data) if before is None else before.merge(looked_at(data))
        here = seen.count > 0
        self.data_min_, self.data_max_ = np.where(here, seen.low, np.nan), np.where(here, seen.high, np.nan)
        self.data_range_ = self.data_max_ - self.data_min_
        self.scale_ = (high - low) / without_zeros(self.data_range_)
        self.min_ = low - self.data_min_ * self.scale_
        self.n_samples_seen_ = seen.rows
        self.statistics_ = seen
        self.certificate_ = certificate("least and largest entries", seen, rounded=False)
        return self

    def _ends(self) -> tuple[float, float]:
        ends = self.feature_range
        numbers = isinstance(ends, tuple | list) and all(isinstance(end, int | float | np.number) for end in ends)
        if not numbers or len(ends) != 2 or not ends[0] < ends[1]:
            raise InvalidParameter(
                f"Minimum of desired feature range must be smaller than maximum. Got {ends!r}: pass a pair (least, largest)."
            )
        return float(ends[0]), float(ends[1])

    def transform(self, X: Any) -> Any:
        """Scale rows.

        Returns
        -------
        ndarray or frame
            The rows, in the type of X.
        """
        X = self._new_data(X)
        clip = self._ends() if self.clip else None
        return _kernels.moved(X, self.min_, self.scale_, divides=False, clip=clip, in_place=not self.copy)

    def inverse_transform(self, X: Any) -> Any:
        """Give rows back in their original units.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Scaled rows.

        Returns
        -------
        ndarray
            The rows.
        """
        return _kernels.moved(self._new_data(X), self.min_, self.scale_, divides=True, in_place=not self.copy)


class MaxAbsScaler(Transformer, sparse=True, chunks=True, allow_nan=True):
    r"""Scaling by the maximum absolute value, which keeps zeros (sparse tables).

    Objective
    ---------
    .. math:: z_{ij} = x_{ij} / \max_i |x_{ij}|

    Certificate
    -----------
    ExactCertificate: the largest sizes are those of the rows, exactly.

    Cost
    ----
    One pass over memory to fit, one to transform; sparse tables stay sparse.

    Examples
    --------
    >>> from qed.preprocessing import MaxAbsScaler
    >>> MaxAbsScaler().fit_transform([[1.0], [-4.0]]).ravel()
    array([ 0.25, -1.  ])
    """

    _: KW_ONLY
    copy: bool = COPY
    clip: bool = param(False, "Whether to clip new entries to -1 and 1.")

    scale_: Array = fitted("What each column is divided by.", dtype="float", shape="(p,)", finite=False, nan=True)
    max_abs_: Array = fitted("Largest size in each column.", dtype="float", shape="(p,)", finite=False, nan=True)
    n_samples_seen_: int = fitted("Rows seen.", low=0)
    statistics_: ColumnMoments = fitted(
        "The statistics behind, which further rows are merged into.", check=has_its_columns, answers=False
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the largest sizes."""
        return self._learn(X, None)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far."""
        return self._learn(X, self.__dict__.get("statistics_"))

    def _learn(self, X: Any, before: ColumnMoments | None) -> Self:
        data = self._fit_data(X, finite=False, reset=before is None)
        seen = looked_at(data) if before is None else before.merge(looked_at(data))
        sizes = np.maximum(np.abs(seen.low), np.abs(seen.high))
        self.max_abs_ = np.where(seen.count > 0, sizes, np.nan)
        self.scale_ = without_zeros(self.max_abs_)
        self.n_samples_seen_ = seen.rows
        self.statistics_ = seen
        self.certificate_ = certificate("largest sizes", seen, rounded=False)
        return self

    def transform(self, X: Any) -> Any:
        """Scale rows.

        Returns
        -------
        ndarray, sparse container or frame
            The rows, in the type of X.
        """
        X = self._new_data(X)
        if is_sparse(X):
            X = scaled_sparse(X, self.scale_, divides=True, copy=self.copy)
            if self.clip:
                np.clip(X.data, -1.0, 1.0, out=X.data)
            return X
        clip = (-1.0, 1.0) if self.clip else None
        return _kernels.moved(X, np.zeros(X.shape[1]), self.scale_, divides=True, clip=clip, in_place=not self.copy)

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
        X = self._new_data(X)
        if is_sparse(X):
            return scaled_sparse(X, self.scale_, divides=False, copy=self.copy)
        return _kernels.moved(X, np.zeros(X.shape[1]), self.scale_, divides=False, in_place=not self.copy)


def minmax_scale(X: Any, feature_range: tuple[float, float] = (0, 1), *, axis: int = 0, copy: bool = True) -> Any:
    """Scale columns (or with ``axis=1`` rows) to a range once, without a model to keep.

    Parameters
    ----------
    X : array-like of shape (n, p)
        The table.
    feature_range : (float, float)
        The ends of the range.
    axis : {0, 1}
        Whether columns or rows are scaled.
    copy : bool
        Whether to leave the given array as it is.

    Returns
    -------
    ndarray
        The scaled table.
    """
    scaler = MinMaxScaler(feature_range, copy=copy)
    return scaler.fit_transform(X) if axis == 0 else scaler.fit_transform(np.asarray(X).T).T


def maxabs_scale(X: Any, *, axis: int = 0, copy: bool = True) -> Any:
    """Divide columns (or with ``axis=1`` rows) by their largest size once, without a model to keep.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    axis : {0, 1}
        Whether columns or rows are scaled.
    copy : bool
        Whether to leave the given array as it is.

    Returns
    -------
    ndarray or sparse container
        The scaled table.
    """
    scaler = MaxAbsScaler(copy=copy)
    return scaler.fit_transform(X) if axis == 0 else scaler.fit_transform(X.T).T
