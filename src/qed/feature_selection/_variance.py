"""Columns that hardly vary are left out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import Array, InvalidData, NonNegative, fitted, param
from qed.data import ColumnMoments
from qed.feature_selection._selector import Selector


class VarianceThreshold(Selector, allow_nan=True):
    """Leave out columns of small variance; by default those that hold one value alone.

    Objective
    ---------
    Columns whose variance, of the entries that are there, is above the threshold.

    Certificate
    -----------
    ExactCertificate: the variances are those of the rows, up to rounding; that a column is constant is decided exactly.

    Cost
    ----
    One pass over the rows; O(p) beyond them.

    Examples
    --------
    >>> from qed.feature_selection import VarianceThreshold
    >>> VarianceThreshold().fit_transform([[0.0, 2.0, 0.0], [0.0, 1.0, 4.0], [0.0, 1.0, 1.0]])
    array([[2., 0.],
           [1., 4.],
           [1., 1.]])
    """

    threshold: NonNegative = param(0.0, "Columns of a variance at most this are left out.")

    variances_: Array = fitted(
        "The variance of each column; its range where that is less and the threshold 0.", shape="(p,)", low=0, nan=True
    )
    certificate_: ExactCertificate = fitted("What is proved about the variances.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compute the variances.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows; NaN is left out.
        """
        data = self._fit_data(X)
        moments = ColumnMoments.of(data.X)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            variance, extent = moments.scatter / moments.weight, moments.high - moments.low
        variance = np.where(extent == 0, 0.0, variance)  # a constant column, whatever its mean was rounded to
        if self.threshold == 0:
            variance = np.fmin(variance, np.where(np.isfinite(extent), extent, np.nan))
        self.variances_ = variance
        if not np.any(variance > self.threshold):
            alone = " (X contains only one sample)" if data.n_rows == 1 else ""
            raise InvalidData(f"No feature in X meets the variance threshold {self.threshold:.5f}{alone}")
        self.certificate_ = ExactCertificate(f"variances of {len(variance)} columns", data.n_rows, moments.rounding)
        return self

    def _kept(self) -> Array:
        return np.asarray(self.variances_ > self.threshold)
