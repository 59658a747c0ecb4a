"""What boosted sums of labels and of numbers predict, after all rounds and after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, Classifier, Regressor, fitted
from qed.ensemble._boosting import BoostedSum
from qed.tree._tree_model import float_like

if TYPE_CHECKING:
    from collections.abc import Iterator


def signed_or_codes(codes: Array, k: int) -> Array:
    """Return ±1 for two labels, the number of the label for more."""
    return np.ascontiguousarray(np.where(codes == 1, 1.0, -1.0) if k <= 2 else codes.astype(np.float64))


class BoostedRegressor(BoostedSum, Regressor):
    """A boosted sum that predicts numbers."""

    def predict(self, X: Any) -> Array:
        """Return what is predicted for each row.

        Returns
        -------
        ndarray of shape (n,)
            Float32 for float32 rows, float64 otherwise.
        """
        rows = self._new_data(X)
        return float_like(rows, self._inverse(self._scores(rows)[:, 0]))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield what is predicted after each round.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,)
            Predictions.
        """
        rows = self._new_data(X)
        for scores in self._staged_scores(rows):
            yield float_like(rows, self._inverse(scores[:, 0]))

    def _inverse(self, scores: Array) -> Array:
        return np.asarray(np.exp(scores) if self.loss in ("gamma", "poisson") else scores)  # type: ignore[attr-defined]


class BoostedClassifier(BoostedSum, Classifier):
    """A boosted sum that scores labels."""

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the labels: the sums of trees.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            For two labels, one score: positive for the second.
        """
        rows = self._new_data(X)
        scores = self._scores(rows)
        return float_like(rows, scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the labels."""
        rows = self._new_data(X)
        return float_like(rows, self._probabilities(self._scores(rows)))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row."""
        rows = self._new_data(X)
        return np.asarray(self.classes_[self._probabilities(self._scores(rows)).argmax(axis=1)])

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the labels that are predicted after each round.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,)
            Labels.
        """
        for probabilities in self.staged_predict_proba(X):
            yield np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities after each round.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n, k)
            Probabilities.
        """
        rows = self._new_data(X)
        for scores in self._staged_scores(rows):
            yield float_like(rows, self._probabilities(scores))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores after each round.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,) or (n, k)
            Scores.
        """
        rows = self._new_data(X)
        for scores in self._staged_scores(rows):
            yield float_like(rows, scores[:, 0] if scores.shape[1] == 1 else scores)

    def _probabilities(self, scores: Array) -> Array:
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if scores.shape[1] == 1:
            half = (1.0 if self.loss == "exponential" else 0.5) * scores[:, 0]  # type: ignore[attr-defined]
            second = 0.5 * (1 + np.tanh(half))  # the logistic function of twice that
            return np.column_stack([1 - second, second])
        apart = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(apart / apart.sum(axis=1, keepdims=True))
