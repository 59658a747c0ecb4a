"""Curves along a threshold, and the point on one where to stand."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._arrays import floats
from qed.core._errors import InvalidData, InvalidParameter, UndefinedMetricWarning
from qed.metrics._ranking import Ranking
from qed.metrics._read import one_of

if TYPE_CHECKING:
    from qed.core._params import Array


def confusion_matrix_at_thresholds(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> tuple[Array, Array, Array, Array, Array]:
    """Count true and false positives and negatives for every threshold.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_score : array-like of shape (n,)
        Scores; higher means more positive.
    pos_label : label, optional
        The positive label; needed unless labels are 0 and 1, or -1 and 1.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    tns, fps, fns, tps : ndarray of shape (k,)
        Weights, when rows with a score of at least the threshold are predicted positive.
    thresholds : ndarray of shape (k,)
        The distinct scores, descending.

    Examples
    --------
    >>> from qed.metrics import confusion_matrix_at_thresholds
    >>> tns, fps, fns, tps, thresholds = confusion_matrix_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fps
    array([0., 1., 1., 2.])
    """
    ranking = Ranking.of(y_true, y_score, sample_weight, pos_label=pos_label)
    fps, tps = ranking.cumulated()
    return fps[-1] - fps, fps, tps[-1] - tps, tps, _as_given(ranking.scores, y_score)


def _as_given(scores: Array, y_score: Any) -> Array:
    """Give integer scores back as integers."""
    dtype = getattr(y_score, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return scores.astype(dtype)
    if isinstance(y_score, list | tuple) and all(type(score) is int for score in y_score):
        return scores.astype(np.int64)
    return scores


def _corners(values: Array) -> Array:
    """Tell where a curve does not stand still both before and after."""
    return np.concatenate(([True], (np.diff(values[:-1]) != 0) | (np.diff(values[1:]) != 0), [True]))


def roc_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None, drop_intermediate: bool = True
) -> tuple[Array, Array, Array]:
    """Return the receiver operating characteristic: true against false positive rates.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As for `confusion_matrix_at_thresholds`.
    drop_intermediate : bool
        Whether to leave out points on the straight line between their neighbours.

    Returns
    -------
    fpr, tpr : ndarray of shape (k,)
        From (0, 0) to (1, 1); NaN, with a warning, when there are no negative or no positive rows.
    thresholds : ndarray of shape (k,)
        Descending, from infinity.

    Examples
    --------
    >>> from qed.metrics import roc_curve
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    ranking = Ranking.of(y_true, y_score, sample_weight, pos_label=pos_label)
    fps, tps = ranking.cumulated()
    thresholds = ranking.scores.astype(np.float64, copy=False)
    if drop_intermediate and len(fps) > 2:
        turns = np.ones(len(fps), dtype=bool)
        np.not_equal(ranking.negative[1:-1], ranking.negative[2:], out=turns[1:-1])
        turns[1:-1] |= ranking.positive[1:-1] != ranking.positive[2:]
        fps, tps, thresholds = fps[turns], tps[turns], thresholds[turns]
    fps, tps, thresholds = (
        np.concatenate(([first], part)) for first, part in ((0, fps), (0, tps), (np.inf, thresholds))
    )
    return _rates(fps, "negative", "false"), _rates(tps, "positive", "true"), thresholds


def _rates(sums: Array, kind: str, name: str) -> Array:
    if sums[-1] > 0:
        rates: Array = sums / sums[-1]
        return rates
    message = f"No {kind} samples in y_true, {name} positive value should be meaningless"
    warnings.warn(UndefinedMetricWarning(message), stacklevel=3)
    return np.full(len(sums), np.nan)


def precision_recall_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None, drop_intermediate: bool = False
) -> tuple[Array, Array, Array]:
    """Return precision and recall for every threshold.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As for `confusion_matrix_at_thresholds`.
    drop_intermediate : bool
        Whether to leave out thresholds at which the number of true positives stands still.

    Returns
    -------
    precision, recall : ndarray of shape (k + 1,)
        Recall falls along the way; the last point is (precision 1, recall 0), without a threshold.
    thresholds : ndarray of shape (k,)
        Ascending.

    Examples
    --------
    >>> from qed.metrics import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> recall
    array([1. , 1. , 0.5, 0.5, 0. ])
    """
    ranking = Ranking.of(y_true, y_score, sample_weight, pos_label=pos_label)
    fps, tps = ranking.cumulated()
    thresholds = _as_given(ranking.scores, y_score)
    if drop_intermediate and len(fps) > 2:
        kept = _corners(tps)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    predicted = tps + fps
    precision = np.divide(tps, predicted, out=np.zeros(len(tps)), where=predicted != 0)
    if tps[-1] > 0:
        recall = tps / tps[-1]
    else:
        warnings.warn("No positive class found in y_true, recall is set to one for all thresholds.", stacklevel=2)
        recall = np.ones(len(tps))
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


def det_curve(
    y_true: Any, y_score: Any, pos_label: Any = None, sample_weight: Any = None, drop_intermediate: bool = False
) -> tuple[Array, Array, Array]:
    """Return the detection error tradeoff: false negative against false positive rates.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As for `confusion_matrix_at_thresholds`.
    drop_intermediate : bool
        Whether to leave out thresholds at which the number of true positives stands still.

    Returns
    -------
    fpr, fnr : ndarray of shape (k,)
        False positive rates, falling, and false negative rates, rising.
    thresholds : ndarray of shape (k,)
        Ascending.

    Examples
    --------
    >>> from qed.metrics import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fnr
    array([0. , 0.5, 0.5])
    """
    ranking = Ranking.of(y_true, y_score, sample_weight, pos_label=pos_label)
    fps, tps = (np.concatenate(([0.0], part)) for part in ranking.cumulated())
    thresholds = np.concatenate(([np.inf], ranking.scores.astype(np.float64, copy=False)))
    if not (fps[-1] > 0 and tps[-1] > 0):
        raise InvalidData(
            "Only one class is present in y_true. Detection error tradeoff curve is not defined in that case."
        )
    if drop_intermediate and len(fps) > 2:
        kept = _corners(tps)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    # From the last threshold without a false positive to the first without a false negative.
    cut = slice(int(np.searchsorted(fps, fps[0], side="right")) - 1, int(np.searchsorted(tps, tps[-1])) + 1)
    return fps[cut][::-1] / fps[-1], (tps[-1] - tps[cut])[::-1] / tps[-1], thresholds[cut][::-1]


class OperatingPoint(NamedTuple):
    """A threshold, and what predicting positive from it upwards achieves."""

    threshold: float
    precision: float
    recall: float
    f_score: float
    false_positive_rate: float


def operating_point(
    y_true: Any,
    y_score: Any,
    *,
    maximize: str = "f1",
    precision: float = 0.0,
    recall: float = 0.0,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> OperatingPoint:
    """Choose the threshold that is best among those that keep what is asked for.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As for `confusion_matrix_at_thresholds`.
    maximize : {"f1", "recall", "precision", "youden"}
        What the threshold shall maximise; "youden" is recall minus false positive rate. Of equals the highest
        threshold is taken.
    precision, recall : float
        The least that must be kept.

    Returns
    -------
    OperatingPoint
        The threshold, predicting positive from it upwards, with precision, recall, F score and false positive rate.

    Examples
    --------
    >>> from qed.metrics import operating_point
    >>> operating_point([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).threshold
    0.35
    """
    one_of("maximize", maximize, ("f1", "recall", "precision", "youden"))
    for name, least in (("precision", precision), ("recall", recall)):
        if not 0 <= least <= 1:
            raise InvalidParameter(f"{name} must be a number from 0 to 1, got {least!r}. It is the least to be kept.")
    ranking = Ranking.of(y_true, y_score, sample_weight, pos_label=pos_label)
    fps, tps = ranking.cumulated()
    if not (fps[-1] > 0 and tps[-1] > 0):
        raise InvalidData("Only one class is present in y_true, so no threshold is better than another.")
    precisions, recalls, rates = tps / (tps + fps), tps / tps[-1], fps / fps[-1]
    scores = 2 * tps / (tps + fps + tps[-1])
    kept = (precisions >= precision) & (recalls >= recall)
    if not kept.any():
        raise InvalidData(
            f"No threshold has a precision of at least {precision:g} and a recall of at least {recall:g}. The highest"
            f" precision is {precisions.max():.3g}."
        )
    aims = {"f1": scores, "recall": recalls, "precision": precisions, "youden": recalls - rates}
    best = int(np.argmax(np.where(kept, aims[maximize], -np.inf)))
    found = (ranking.scores, precisions, recalls, scores, rates)
    return OperatingPoint(*(float(part[best]) for part in found))


def auc(x: Any, y: Any) -> float:
    """Return the area under a curve by the trapezoidal rule.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Points of the curve; `x` rises or falls throughout.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> from qed.metrics import auc
    >>> auc([0, 0.5, 1], [0, 1, 1])
    0.75
    """
    across, up = (floats(np.asarray(part), name).reshape(-1) for part, name in ((x, "x"), (y, "y")))
    if len(across) != len(up):
        raise InvalidData(
            f"Found input variables with inconsistent numbers of samples: {[len(across), len(up)]}. Each x needs its y."
        )
    if len(across) < 2:
        raise InvalidData(f"At least 2 points are needed to compute area under curve, but x.shape = {across.shape}")
    steps = np.diff(across)
    falls = bool((steps < 0).any())
    if falls and (steps > 0).any():
        raise InvalidData(f"x is neither increasing nor decreasing : {across}. Sort the points first.")
    area = float(np.einsum("i,i->", steps, up[1:] + up[:-1])) / 2
    return -area if falls else area
