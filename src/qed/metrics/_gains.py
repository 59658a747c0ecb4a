"""Discounted cumulative gain: how much of what matters a ranking puts first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._targets import as_target, weights
from qed.metrics._read import finite, numbers

if TYPE_CHECKING:
    from qed.core._params import Array


def dcg_score(
    y_true: Any,
    y_score: Any,
    *,
    k: Any = None,
    log_base: float = 2,
    sample_weight: Any = None,
    ignore_ties: bool = False,
) -> float:
    """Sum the gains of a ranking, each divided by the logarithm of its place, and average over the rows.

    Parameters
    ----------
    y_true : array-like of shape (n, m)
        What each of m items is worth, in each of n rankings.
    y_score : array-like of shape (n, m)
        By what they are ranked, largest first.
    k : int, optional
        Only the first k places count.
    log_base : float
        Base of the logarithm: small values make the first places matter more.
    sample_weight : array-like of shape (n,), optional
        How often each ranking counts.
    ignore_ties : bool
        Whether no two scores of a ranking are equal; otherwise items with equal scores share the mean of their gains.

    Returns
    -------
    float
        At least 0 for gains that are.

    Examples
    --------
    >>> from qed.metrics import dcg_score
    >>> round(dcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 3)
    9.499
    """
    gains, scores = _read(y_true, y_score, k, log_base)
    return _mean(_discounted(gains, scores, k, log_base, ignore_ties=ignore_ties), sample_weight)


def ndcg_score(
    y_true: Any, y_score: Any, *, k: Any = None, sample_weight: Any = None, ignore_ties: bool = False
) -> float:
    """Divide the discounted gain of a ranking by that of the best one, and average over the rows.

    Parameters
    ----------
    y_true : array-like of shape (n, m)
        What each of m items is worth, in each of n rankings; not negative.
    y_score : array-like of shape (n, m)
        By what they are ranked, largest first.
    k : int, optional
        Only the first k places count.
    sample_weight : array-like of shape (n,), optional
        How often each ranking counts.
    ignore_ties : bool
        Whether no two scores of a ranking are equal; otherwise items with equal scores share the mean of their gains.

    Returns
    -------
    float
        Between 0 and 1; 1 for the best ranking. A row in which nothing is worth anything counts as 0.

    Examples
    --------
    >>> from qed.metrics import ndcg_score
    >>> round(ndcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 3)
    0.696
    """
    gains, scores = _read(y_true, y_score, k, 2)
    if gains.min() < 0:
        raise InvalidData("ndcg_score should not be used on negative y_true values.")
    if gains.shape[1] <= 1:
        raise InvalidData(
            f"Computing NDCG is only meaningful when there is more than 1 document. Got {gains.shape[1]} instead."
        )
    found = _discounted(gains, scores, k, 2, ignore_ties=ignore_ties)
    best = _discounted(gains, gains, k, 2, ignore_ties=True)
    return _mean(np.divide(found, best, out=np.zeros_like(found), where=best > 0), sample_weight)


def _read(y_true: Any, y_score: Any, k: Any, log_base: float) -> tuple[Array, Array]:
    gains, scores = as_target(y_true, "y_true"), as_target(y_score, "y_score")
    if gains.ndim != 2 or gains.shape != scores.shape:
        raise InvalidData(
            f"y_true and y_score must be tables of one shape, a ranking in each row, got {gains.shape} and {scores.shape}."
            " A single ranking is written [[...]]."
        )
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise InvalidParameter(f"k must be an integer >= 1 or None, got {k!r}.")
    if not log_base > 0 or log_base == 1:
        raise InvalidParameter(f"log_base must be a number > 0 other than 1, got {log_base!r}.")
    found = [finite(numbers(one, what, ndim=2), what) for one, what in ((gains, "y_true"), (scores, "y_score"))]
    return found[0].astype(np.float64), found[1].astype(np.float64)


def _discounted(gains: Array, scores: Array, k: Any, base: float, *, ignore_ties: bool) -> Array:
    """Return the discounted gain of each row."""
    n, m = gains.shape
    discount = np.log(base) / np.log(np.arange(m) + 2.0)
    if k is not None:
        discount[k:] = 0.0
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(gains, order, axis=1)
    if ignore_ties:
        return np.asarray(ranked @ discount)
    # places of equal scores form groups: each group has the mean of its gains in every place
    values = np.take_along_axis(scores, order, axis=1)
    starts = np.concatenate([np.ones((n, 1), dtype=bool), values[:, 1:] != values[:, :-1]], axis=1)
    group = np.cumsum(starts.reshape(-1)) - 1
    size = np.bincount(group)
    mean = np.bincount(group, weights=ranked.reshape(-1)) / size
    return np.asarray(mean[group].reshape(n, m) @ discount)


def _mean(values: Array, sample_weight: Any) -> float:
    return float(np.average(values, weights=weights(sample_weight, len(values))))
