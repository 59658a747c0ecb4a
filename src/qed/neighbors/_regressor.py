"""The mean of the nearest rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import Array, Regressor, fitted, param
from qed.neighbors._model import NeighborModel
from qed.neighbors._weights import WeightsOption, weights_of, why_no_weights


class KNeighborsRegressor(NeighborModel, Regressor, multi_output=True):
    r"""k-nearest neighbours regression: the mean target of the k nearest samples (rows).

    Objective
    ---------
    .. math:: \min_t \sum_{i \in N_k(q)} v_i (y_i - t)^2

    for each query q, where N are the k nearest of all rows and v weighs them: by one, by one over the distance, or by a function
    of it.

    Certificate
    -----------
    SearchCertificate: the neighbours are those of all rows, none left out.

    Cost
    ----
    That of `NearestNeighbors`, and O(k) a query and target for the means.

    Examples
    --------
    >>> from qed.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[1.6]]).tolist()
    [2.5]
    """

    weights: WeightsOption = param(
        "uniform", "Weight of a neighbour: one each, one over the distance, or a function.", in_files=why_no_weights
    )

    targets_: Array = fitted("Targets of the rows, (n,) or (n, m).", shape="(n_samples_fit_,) or (n_samples_fit_, m)")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows and their targets."""
        data = self._fit_data(X, y, finite=False)
        self._keep(data)
        self.targets_ = np.array(data.y, dtype=np.float64, order="C")
        return self

    def predict(self, X: Any) -> Array:
        """Return the mean target of the neighbours.

        Parameters
        ----------
        X : array-like or frame of shape (m, p) or None
            Rows with the columns of the fit; None for each row of the fit by its neighbours among the others.

        Returns
        -------
        ndarray of shape (m,) or (m, n_targets)
            Means.
        """
        distances, ids = self._near(X, None)
        weights = weights_of(self.weights, distances)
        targets = self.targets_[ids]
        if weights is None:
            return np.asarray(targets.mean(axis=1))
        return np.asarray(np.einsum("ij...,ij->i...", targets, weights / weights.sum(axis=1, keepdims=True)))
