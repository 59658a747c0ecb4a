"""The vote of the nearest rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import Array, Classifier, fitted, param
from qed.core._validation import stream_data
from qed.neighbors._model import NeighborModel
from qed.neighbors._rows import look
from qed.neighbors._weights import WeightsOption, weights_of, why_no_weights

BLOCK_ROWS = 1 << 16  # rows whose votes are counted at a time


class KNeighborsClassifier(NeighborModel, Classifier):
    r"""k-nearest neighbours classification: the majority vote of the k nearest samples (rows).

    Objective
    ---------
    .. math:: \arg\max_c \sum_{i \in N_k(q)} v_i 1[y_i = c]

    for each query q, where N are the k nearest of all rows and v weighs them: by one, by one over the distance, or by a function
    of it. Of labels with as many votes the first in sorted order is taken.

    Certificate
    -----------
    SearchCertificate: the neighbours are those of all rows, none left out.

    Cost
    ----
    That of `NearestNeighbors`, and O(k) a query for the votes.

    Notes
    -----
    Several columns of labels raise an error: give each its own classifier with `qed.compose.MultiOutputClassifier`.

    Examples
    --------
    >>> from qed.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]).tolist(), model.predict_proba([[0.9]]).round(2).tolist()
    (['a'], [[0.67, 0.33]])
    """

    weights: WeightsOption = param(
        "uniform", "Votes of a neighbour: one each, one over the distance, or a function.", in_files=why_no_weights
    )

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    targets_: Array = fitted(
        "Index in ``classes_`` of the label of each row.", dtype="int64", shape="(n_samples_fit_,)", low=0, below="k"
    )
    outputs_2d_: bool = fitted("False: there is one label a row.", answers=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows and their labels."""
        data = self._fit_data(X, y, finite=False)
        self._keep(data)
        self.classes_, self.targets_, self.outputs_2d_ = data.classes, data.y.astype(np.int64), False
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Keep more rows beside those of earlier calls; every call copies all of them.

        Parameters
        ----------
        classes : array-like, optional
            All labels there will be; needed in the first call.
        """
        data, first = stream_data(self, X, y, None, classes, "rows_")
        rows, codes = np.array(data.X, dtype=np.float64, order="C"), data.y.astype(np.int64)
        if not first:
            rows, codes = np.concatenate([self.rows_, rows]), np.concatenate([self.targets_, codes])
        # the fingerprint is that of all rows, as if they had come at once, with the labels that occurred
        places = np.unique(codes, return_inverse=True)[1]
        seen = look(data._replace(X=rows, y=places, n_rows=len(rows)))
        self._store(rows, self._metric(rows.shape[1]), seen)
        self.targets_, self.outputs_2d_ = codes, False
        return self

    def predict(self, X: Any) -> Array:
        """Return the label with the most votes.

        Parameters
        ----------
        X : array-like or frame of shape (m, p) or None
            Rows with the columns of the fit; None for each row of the fit by its neighbours among the others.

        Returns
        -------
        ndarray of shape (m,)
            Labels.
        """
        distances, ids = self._near(X, None)
        shares = (self._shares(distances[at], ids[at]) for at in _blocks(len(ids)))
        return np.asarray(self.classes_[np.concatenate([part.argmax(axis=1) for part in shares])])

    def predict_proba(self, X: Any) -> Array:
        """Return the share of the votes of each label.

        Parameters
        ----------
        X : array-like or frame of shape (m, p) or None
            Rows with the columns of the fit; None as in `predict`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Shares, in the order of ``classes_``.
        """
        return self._shares(*self._near(X, None))

    def _shares(self, distances: Array, ids: Array) -> Array:
        n_rows, n_labels = len(ids), len(self.classes_)
        weights = weights_of(self.weights, distances)
        places = self.targets_[ids] + n_labels * np.arange(n_rows)[:, None]
        counted = None if weights is None else weights.reshape(-1)
        votes = np.bincount(places.reshape(-1), counted, n_rows * n_labels).reshape(n_rows, n_labels)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _blocks(n_rows: int) -> list[slice]:
    return [slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS)]
