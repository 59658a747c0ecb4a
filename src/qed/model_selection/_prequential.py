"""Prequential evaluation: predict a row, then see its label, then learn it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import as_target
from qed.model_selection._judge import is_classifier
from qed.model_selection._subset import countable, rows_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class PrequentialResult:
    """Predictions that were each made before the label was seen.

    Attributes
    ----------
    predictions : ndarray of shape (n,)
        What the model said of each row; rows of the first stretch, before anything was learnt, are left out.
    losses : ndarray of shape (n,)
        0 or 1 for labels, squares for numbers.
    mean_losses : ndarray of shape (n,)
        Running means of the losses: the curve to look at.
    first : int
        Index of the first row that was predicted.
    """

    predictions: Array
    losses: Array
    mean_losses: Array
    first: int

    @property
    def mistakes(self) -> float:
        """Sum of the losses."""
        return float(self.losses.sum())

    def risk_bound(self, delta: float = 0.05) -> float:
        """Bound the error rate on new rows of a model drawn at random from all those that predicted.

        Parameters
        ----------
        delta : float
            Probability that the bound is wrong.

        Returns
        -------
        float
            Mean loss plus ``sqrt(log(1 / delta) / (2 n))``: losses between 0 and 1 of models that had not seen the row differ
            from their risks by a martingale, for rows that come independently from one distribution.
        """
        if self.losses.max(initial=0.0) > 1:
            raise InvalidParameter("A bound on the risk needs losses between 0 and 1; squares of errors have no bound.")
        if not 0.0 < delta < 1.0:
            raise InvalidParameter(f"delta is a probability, above 0 and below 1, got {delta!r}.")
        n = max(len(self.losses), 1)
        return float(min(1.0, self.losses.mean() + np.sqrt(np.log(1 / delta) / (2 * n))))


def prequential(model: Any, X: Any, y: Any, *, chunk: int = 1, classes: Any = None) -> PrequentialResult:
    """Let a model go along a stream: each stretch is predicted, then learnt.

    Parameters
    ----------
    model : Estimator
        A model with ``partial_fit``; it is left as it is after the last row. One that has learnt before predicts from the
        first row on.
    X : table of n rows
        The stream.
    y : array-like of shape (n,)
        Labels or numbers.
    chunk : int
        Rows that are predicted before any of them is learnt.
    classes : array-like, optional
        All labels there can be; those of y when left out.

    Returns
    -------
    PrequentialResult
        Predictions and losses.

    Examples
    --------
    >>> from qed.linear_model import Perceptron
    >>> from qed.model_selection import prequential
    >>> X, y = [[1.0], [-1.0], [2.0], [-2.0]] * 5, [1, -1] * 10
    >>> prequential(Perceptron(), X, y, classes=[-1, 1]).mistakes
    0.0
    """
    if not hasattr(model, "partial_fit"):
        raise InvalidParameter(f"{type(model).__name__} has no partial_fit, which online learning needs.")
    if chunk < 1:
        raise InvalidParameter(f"chunk must be at least 1, got {chunk!r}.")
    truth = as_target(y, "y")
    labels = is_classifier(model)
    options = {"classes": np.unique(truth) if classes is None else classes} if labels else {}
    told = []
    n = len(truth)
    X = countable(X)
    there = X.shape[0] if hasattr(X, "shape") else len(X)
    if there != n:
        raise InvalidData(f"X has {there} rows and y has {n} labels: a stream brings one with each row.")
    known = bool(getattr(model, "__sklearn_is_fitted__", lambda: hasattr(model, "coef_"))())
    first = 0 if known else min(chunk, n)
    for begin in range(0, n, chunk):
        stretch = np.arange(begin, min(begin + chunk, n))
        rows = rows_of(X, stretch)
        if known:
            told.append(model.predict(rows))
        model.partial_fit(rows, truth[stretch], **options)
        known = True
    predictions = np.concatenate(told) if told else truth[:0]
    seen = truth[first:]
    losses = (predictions != seen).astype(float) if labels else (predictions.astype(float) - seen.astype(float)) ** 2
    means = np.cumsum(losses) / np.arange(1, len(losses) + 1)
    return PrequentialResult(predictions, losses, means, first)
