"""How mixed labels are, and what a split takes off."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.core import InvalidData, InvalidParameter

Array = np.ndarray[Any, Any]
Criterion = Literal["gini", "entropy", "misclassification"]
CLASS_CRITERIA = ("gini", "entropy", "misclassification")


def impurity(weights: Any, criterion: Criterion = "gini") -> Array:
    r"""Return how mixed labels are, from their counts, weights or shares.

    Parameters
    ----------
    weights : array-like of shape (..., k)
        Nonnegative numbers, one for each label, not all zero; they are divided by their sum.
    criterion : {"gini", "entropy", "misclassification"}
        :math:`1 - \sum_k p_k^2`, the chance that two draws differ; :math:`-\sum_k p_k \log_2 p_k`, in bits; or
        :math:`1 - \max_k p_k`, the share of errors of the most frequent label.

    Returns
    -------
    ndarray of shape (...)
        Zero where all weight is on one label.

    Examples
    --------
    >>> from qed.tree import impurity
    >>> float(impurity([1, 3])), float(impurity([1, 3], "misclassification"))
    (0.375, 0.25)
    """
    p = _weights(weights)
    p = p / p.sum(axis=-1, keepdims=True)
    if criterion == "gini":
        return np.asarray((p * (1 - p)).sum(axis=-1))
    if criterion == "entropy":
        return np.asarray(-(p * np.log2(np.where(p > 0, p, 1))).sum(axis=-1) + 0.0)
    if criterion == "misclassification":
        return np.asarray(1 - p.max(axis=-1))
    raise InvalidParameter(f"criterion must be one of {CLASS_CRITERIA}, got {criterion!r:.80}.")


def split_score(left: Any, right: Any, criterion: Criterion = "gini") -> Array:
    """Return what a split takes off: the impurity of the whole minus those of both sides, by their shares of the weight.

    Parameters
    ----------
    left, right : array-like of shape (..., k)
        Counts or weights of the labels on both sides, not all zero on either.
    criterion : {"gini", "entropy", "misclassification"}
        The impurity; of the entropy the score is the mutual information of side and label, in bits.

    Returns
    -------
    ndarray of shape (...)
        Never negative, but for rounding.

    Examples
    --------
    >>> from qed.tree import split_score
    >>> float(split_score([2, 0], [0, 2], "entropy"))
    1.0
    """
    left, right = _weights(left), _weights(right)
    share = left.sum(axis=-1) / (left.sum(axis=-1) + right.sum(axis=-1))
    parts = share * impurity(left, criterion) + (1 - share) * impurity(right, criterion)
    return np.asarray(impurity(left + right, criterion) - parts)


def _weights(given: Any) -> Array:
    weights = np.asarray(given, dtype=np.float64)
    if weights.ndim < 1 or not (
        np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum(axis=-1) > 0).all()
    ):
        raise InvalidData("Weights of labels must be finite numbers >= 0, and not all zero.")
    return weights
