"""Areas under curves, of two classes and, averaged, of more."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter, NotSupported, UndefinedMetricWarning
from qed.core._targets import as_target
from qed.metrics._curves import auc
from qed.metrics._probabilities import coded
from qed.metrics._ranking import Ranking, positives
from qed.metrics._read import INDICATOR, finite, labels_of, numbers, one_of, row_weights, same_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array

AVERAGES = ("micro", "macro", "samples", "weighted", None)


def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    sample_weight: Any = None,
    max_fpr: float | None = None,
    multi_class: str = "raise",
    labels: Any = None,
) -> Any:
    """Return the area under the ROC curve: the chance that a positive row scores above a negative one, ties half.

    Parameters
    ----------
    y_true : array-like of shape (n,), or indicator of shape (n, k)
        True labels; of two the larger is positive.
    y_score : array-like of shape (n,) or (n, k)
        Scores; for more than two labels the probabilities of all of them.
    average : {"macro", "weighted", "micro", "samples"}, optional
        How labels are averaged; None gives one number a label.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    max_fpr : float, optional
        Area up to this false positive rate alone, rescaled so that chance is one half (McClish).
    multi_class : {"raise", "ovr", "ovo"}
        More than two labels: each against the rest, or every pair by itself.
    labels : array-like, optional
        All labels, sorted; needed when some do not occur among these rows.

    Returns
    -------
    float, or ndarray of shape (k,)
        1 is perfect, one half is chance. NaN, with a warning, when only one class is there.

    Examples
    --------
    >>> from qed.metrics import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    one_of("average", average, AVERAGES)
    one_of("multi_class", multi_class, ("raise", "ovr", "ovo"))
    if max_fpr is not None and not 0 < max_fpr <= 1:
        raise InvalidParameter(f"max_fpr must be a number above 0 and at most 1, got {max_fpr!r}.")
    truth, kind = labels_of(y_true, "y_true")
    score = numbers(y_score, "y_score", ndim=2)
    same_length(y_true=truth, y_score=score)
    if score.ndim == 2 and score.shape[1] == 1:
        score = score.reshape(-1)
    s = row_weights(sample_weight, len(truth))

    def area(positive: Array, column: Array, weight: Array | None) -> float:
        return binary_area(Ranking.of_flags(positive, column, weight), max_fpr)

    if kind == INDICATOR:
        return averaged_columns(area, truth != 0, score, average, s)
    classes, codes = coded(truth, None)
    if len(classes) <= 2 and not (score.ndim == 2 and score.shape[1] > 2):
        if score.ndim != 1:
            raise InvalidData(
                f"y_score has shape {score.shape} and y_true two labels. Pass the scores of the larger one."
            )
        return area(codes == 1 if len(classes) == 2 else codes != 0, score, s)
    if max_fpr not in (None, 1):
        raise InvalidData(
            "Partial AUC computation not available in multiclass setting, 'max_fpr' must be set to `None`, received"
            f" `max_fpr={max_fpr}` instead"
        )
    if multi_class == "raise":
        raise InvalidData(
            f"multi_class must be in ('ovo', 'ovr') for {len(classes)} labels: each against the rest, or every pair."
        )
    return _multiclass(truth, score, s, labels, multi_class, average, area)


def _multiclass(
    truth: Array,
    score: Array,
    s: Array | None,
    labels: Any,
    multi_class: str,
    average: str | None,
    area: Callable[[Array, Array, Array | None], float],
) -> Any:
    finite(score, "y_score")
    if score.ndim != 2:
        raise InvalidData(
            "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains multiple classes. Got"
            f" `y_score.shape={score.shape}`."
        )
    if not np.allclose(1, score.sum(axis=1)):
        raise InvalidData(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum up to 1.0 over classes"
        )
    accepted = ("macro", "weighted", None) if multi_class == "ovo" else ("micro", "macro", "weighted", None)
    if average not in accepted:
        raise InvalidData(f"average must be one of {accepted} for multiclass problems, got {average!r}.")
    if labels is not None:
        given = as_target(labels, "labels")
        if not np.array_equal(np.unique(given), given):
            raise InvalidData(f"Parameter 'labels' must be ordered and unique, got {list(given)}.")
    classes, codes = coded(truth, labels)
    if len(classes) != score.shape[1]:
        raise InvalidData(
            f"Number of {'given labels' if labels is not None else 'classes in y_true'}, {len(classes)}, not equal to the"
            f" number of columns in 'y_score', {score.shape[1]}. Pass all labels, in the order of the columns."
        )
    if multi_class == "ovr":
        return averaged_columns(area, np.arange(len(classes)) == codes[:, np.newaxis], score, average, s)
    if average is None:
        raise NotSupported("average=None is not implemented for multi_class='ovo'. Use 'macro' or 'weighted'.")
    if s is not None:
        raise InvalidData(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this case."
        )
    areas, shares = [], []
    for a, b in combinations(np.unique(codes), 2):
        both = (codes == a) | (codes == b)
        shares.append(both.mean())
        of_pair = codes[both]
        areas.append((area(of_pair == a, score[both, a], None) + area(of_pair == b, score[both, b], None)) / 2)
    return float(np.average(areas, weights=shares if average == "weighted" else None))


def averaged_columns(
    area: Callable[[Array, Array, Array | None], float],
    positive: Array,
    score: Array,
    average: str | None,
    s: Array | None,
) -> Any:
    """Average the areas of the columns of an indicator."""
    if score.shape != positive.shape:
        raise InvalidData(f"y_score has shape {score.shape} and y_true {positive.shape}. Pass one column a label.")
    if average == "micro":
        weight = None if s is None else np.repeat(s, positive.shape[1])
        return area(positive.ravel(), score.ravel(), weight)
    shares: Array | None = None
    if average == "weighted":
        shares = positive.sum(axis=0).astype(np.float64) if s is None else s @ positive
        if shares.sum() == 0:
            return 0
    if average == "samples":
        positive, score, shares, s = positive.T, score.T, s, None
    areas = np.array([area(positive[:, k], np.ascontiguousarray(score[:, k]), s) for k in range(positive.shape[1])])
    if average is None:
        return areas
    if shares is not None:
        areas[shares == 0] = 0.0
    return float(np.average(areas, weights=shares))


def binary_area(ranking: Ranking, max_fpr: float | None = None) -> float:
    """Area under the ROC curve of a ranking, or the part of it up to a false positive rate."""
    whole = ranking.area()
    if np.isnan(whole):
        message = "Only one class is present in y_true. ROC AUC score is not defined in that case."
        warnings.warn(UndefinedMetricWarning(message), stacklevel=4)
        return whole
    if max_fpr is None or max_fpr == 1:
        return whole
    fps, tps = (np.concatenate(([0.0], part / part[-1])) for part in ranking.cumulated())
    stop = int(np.searchsorted(fps, max_fpr, side="right"))
    height = np.interp(max_fpr, fps[stop - 1 : stop + 1], tps[stop - 1 : stop + 1])
    part = auc(np.append(fps[:stop], max_fpr), np.append(tps[:stop], height))
    least = max_fpr**2 / 2
    return float((1 + (part - least) / (max_fpr - least)) / 2)


def average_precision_score(
    y_true: Any, y_score: Any, *, average: str | None = "macro", pos_label: Any = 1, sample_weight: Any = None
) -> Any:
    """Return the area under the steps of the precision-recall curve.

    Parameters
    ----------
    y_true : array-like of shape (n,), or indicator of shape (n, k)
        True labels; more than two are each told from the rest.
    y_score : array-like of shape (n,) or (n, k)
        Scores; one column a label when there are more than two.
    average : {"macro", "weighted", "micro", "samples"}, optional
        How labels are averaged; None gives one number a label.
    pos_label : label
        The positive label of two.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float, or ndarray of shape (k,)
        1 is perfect. Chance is the share of positive rows, not one half.

    Examples
    --------
    >>> from qed.metrics import average_precision_score
    >>> average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.833...
    """
    one_of("average", average, AVERAGES)
    truth, kind = labels_of(y_true, "y_true")
    score = numbers(y_score, "y_score", ndim=2)
    same_length(y_true=truth, y_score=score)
    s = row_weights(sample_weight, len(truth))

    def area(positive: Array, column: Array, weight: Array | None) -> float:
        return Ranking.of_flags(positive, column, weight).average_precision()

    if kind != INDICATOR:
        classes, codes = coded(truth, None)
        if len(classes) <= 2:
            if len(classes) == 2 and pos_label not in classes.tolist():
                raise InvalidData(f"pos_label={pos_label} is not a valid label. It should be one of {classes.tolist()}")
            return area(positives(truth, pos_label), numbers(score, "y_score"), s)
        truth = np.arange(len(classes)) == codes[:, np.newaxis]
    if pos_label != 1:
        many = INDICATOR if kind == INDICATOR else "multiclass"
        raise InvalidData(
            f"Parameter pos_label is fixed to 1 for {many} y_true. Do not set pos_label or set pos_label to 1."
        )
    if score.shape != truth.shape:
        raise InvalidData(
            "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains multiple classes. Got"
            f" `y_score.shape={score.shape}`."
        )
    return averaged_columns(area, truth != 0, score, average, s)
