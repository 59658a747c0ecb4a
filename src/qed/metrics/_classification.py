"""Scores of predicted labels: each is a formula over a `Confusion`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter, UndefinedMetricWarning
from qed.core._targets import as_target
from qed.metrics._confusion import Confusion
from qed.metrics._read import INDICATOR, label_pair, one_of, row_weights

if TYPE_CHECKING:
    from qed.core._params import Array


def accuracy_score(y_true: Any, y_pred: Any, *, normalize: bool = True, sample_weight: Any = None) -> float:
    """Return the share of rows whose label was predicted.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,), or indicator of shape (n, k)
        True and predicted labels. With several labels a row, all of them must be right.
    normalize : bool
        False gives the weight of the rows that are right instead of their share.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        Between 0 and 1, or a weight.

    Examples
    --------
    >>> from qed.metrics import accuracy_score
    >>> accuracy_score([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    truth, guess, kind = label_pair(y_true, y_pred)
    s = row_weights(sample_weight, len(truth))
    if kind == INDICATOR:
        right = (truth == guess).all(axis=1)
        return float(np.average(right, weights=s) if normalize else (right.sum() if s is None else s @ right))
    return accuracy(Confusion.of_labels(truth, guess, s), normalize=normalize)


def accuracy(confusion: Confusion, *, normalize: bool = True) -> float:
    """Accuracy of a confusion."""
    right = float(confusion.right.sum())
    return right / confusion.total if normalize else right


def zero_one_loss(y_true: Any, y_pred: Any, *, normalize: bool = True, sample_weight: Any = None) -> float:
    """Return the share of rows whose label was not predicted.

    Parameters
    ----------
    y_true, y_pred, normalize, sample_weight
        As for `accuracy_score`.

    Returns
    -------
    float
        One minus the accuracy, or the weight of the rows that are wrong.

    Examples
    --------
    >>> from qed.metrics import zero_one_loss
    >>> zero_one_loss([0, 1, 1, 0], [0, 1, 0, 0], normalize=False)
    1.0
    """
    right = accuracy_score(y_true, y_pred, normalize=normalize, sample_weight=sample_weight)
    if normalize:
        return 1 - right
    total = len(as_target(y_true, "y_true")) if sample_weight is None else np.sum(as_target(sample_weight, "weights"))
    return float(total - right)


def hamming_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of labels that are wrong; with one label a row this is `zero_one_loss`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,), or indicator of shape (n, k)
        True and predicted labels.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from qed.metrics import hamming_loss
    >>> hamming_loss([[0, 1], [1, 1]], [[0, 0], [1, 1]])
    0.25
    """
    truth, guess, kind = label_pair(y_true, y_pred)
    s = row_weights(sample_weight, len(truth))
    if kind == INDICATOR:
        return float(np.average((truth != guess).mean(axis=1), weights=s))
    return 1 - accuracy(Confusion.of_labels(truth, guess, s))


def confusion_matrix(
    y_true: Any, y_pred: Any, *, labels: Any = None, sample_weight: Any = None, normalize: str | None = None
) -> Array:
    """Count how often each label was predicted where another was true.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    labels : array-like of shape (k,), optional
        Which labels, in which order; by default all that occur, sorted. Rows with other labels are left out.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    normalize : {"true", "pred", "all"}, optional
        Divide by the sums of rows, of columns, or of everything; empty rows stay zero.

    Returns
    -------
    ndarray of shape (k, k)
        Row i, column j: weight of rows of label i predicted as label j. Integers unless weights are fractions.

    Examples
    --------
    >>> from qed.metrics import confusion_matrix
    >>> confusion_matrix([0, 1, 1, 0], [0, 1, 0, 0])
    array([[2, 0],
           [1, 1]])
    """
    one_of("normalize", normalize, ("true", "pred", "all", None))
    truth, guess, kind = label_pair(y_true, y_pred)
    if kind == INDICATOR:
        raise InvalidData(f"{INDICATOR} is not supported: a confusion matrix needs one label a row. Score each column.")
    s = row_weights(sample_weight, len(truth))
    confusion = Confusion.of_labels(truth, guess, s)
    table = confusion.table()
    if labels is not None:
        wanted = as_target(labels, "labels")
        if not wanted.size:
            raise InvalidData("'labels' should contain at least one label.")
        place = places_of(confusion.labels, wanted)
        if not confusion_has(confusion, place):
            raise InvalidData(f"At least one label specified must be in y_true, got labels={list(wanted)}.")
        table = np.pad(table, (0, 1))[np.ix_(place, place)]
    whole = s is None or as_target(sample_weight, "sample_weight").dtype.kind in "iub"
    table = table.astype(np.int64) if whole else table
    if normalize is not None:
        axis = {"true": 1, "pred": 0, "all": None}[normalize]
        sums = table.sum(axis=axis, keepdims=True)
        table = np.divide(table, sums, out=np.zeros(table.shape), where=sums != 0)
    if table.shape == (1, 1):
        warnings.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use"
            " the 'labels' parameter to pass all known labels.",
            stacklevel=2,
        )
    return table


def places_of(known: Array, wanted: Array) -> Array:
    """Return where each wanted label stands among the known ones, sorted; -1 where it does not."""
    if (known.dtype.kind in "UT") != (wanted.dtype.kind in "UTO"):
        return np.full(len(wanted), -1)
    place = np.searchsorted(known, wanted).clip(0, len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


def confusion_has(confusion: Confusion, place: Array) -> bool:
    """Tell whether one of the labels at these places is the true label of some row."""
    true = np.append(np.bincount(confusion.pairs[0], minlength=len(confusion.labels)) > 0, False)
    return bool(true[place].any())


def balanced_accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None, adjusted: bool = False) -> float:
    """Return the recall of each true label, averaged with equal weight.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    adjusted : bool
        Whether to rescale so that guessing scores 0 and perfection 1.

    Returns
    -------
    float
        1 is perfect.

    Examples
    --------
    >>> from qed.metrics import balanced_accuracy_score
    >>> balanced_accuracy_score([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    return balanced_accuracy(Confusion.of(y_true, y_pred, sample_weight), adjusted=adjusted)


def balanced_accuracy(confusion: Confusion, *, adjusted: bool = False) -> float:
    """Balanced accuracy of a confusion."""
    true = confusion.true
    if not true.all():
        warnings.warn("y_pred contains classes not in y_true", stacklevel=3)
    recalls = confusion.right[true > 0] / true[true > 0]
    score = float(recalls.mean())
    if adjusted:
        chance = 1 / len(recalls)
        with np.errstate(invalid="ignore", divide="ignore"):
            score = float(np.float64(score - chance) / (1 - chance))
    return score


def matthews_corrcoef(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the correlation of truth and prediction, between -1 and 1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        1 is perfect, 0 no better than chance. Also 0 when truth or prediction is constant.

    Examples
    --------
    >>> from qed.metrics import matthews_corrcoef
    >>> matthews_corrcoef([1, 1, 1, 0], [1, 0, 1, 1])
    -0.333...
    """
    return matthews(Confusion.of(y_true, y_pred, sample_weight))


def matthews(confusion: Confusion) -> float:
    """Matthews' correlation of a confusion."""
    true, predicted, total = confusion.true, confusion.predicted, confusion.total
    covariance = confusion.right.sum() * total - true @ predicted
    spread = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    return 0.0 if spread <= 0 else float(covariance / math.sqrt(spread))


def cohen_kappa_score(
    y1: Any,
    y2: Any,
    *,
    labels: Any = None,
    weights: str | None = None,
    sample_weight: Any = None,
    replace_undefined_by: float = np.nan,
) -> float:
    """Return how far two annotators agree beyond chance.

    Parameters
    ----------
    y1, y2 : array-like of shape (n,)
        Labels by one and by the other.
    labels : array-like, optional
        Which labels, in which order.
    weights : {"linear", "quadratic"}, optional
        How a disagreement grows with the distance of labels; by default every one counts the same.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    replace_undefined_by : float
        What is returned, with a warning, when chance agreement is complete.

    Returns
    -------
    float
        1 is complete agreement, 0 is that of chance.

    Examples
    --------
    >>> from qed.metrics import cohen_kappa_score
    >>> cohen_kappa_score(["no", "yes", "yes"], ["no", "yes", "no"])
    0.4
    """
    one_of("weights", weights, ("linear", "quadratic", None))
    confusion = Confusion.of(y1, y2, sample_weight)
    return kappa(confusion, labels=labels, weights=weights, replace_undefined_by=replace_undefined_by)


def kappa(
    confusion: Confusion, *, labels: Any = None, weights: str | None = None, replace_undefined_by: float = np.nan
) -> float:
    """Cohen's kappa of a confusion."""
    table = confusion.table()
    if labels is not None:
        place = places_of(confusion.labels, as_target(labels, "labels"))
        if not confusion_has(confusion, place):
            raise InvalidData(
                "At least one label in `labels` must be present in `y1` (even though `cohen_kappa_score` is otherwise"
                " agnostic to the order of `y1` and `y2`)."
            )
        table = np.pad(table, (0, 1))[np.ix_(place, place)]
    k = len(table)
    total = table.sum()
    cost = np.ones((k, k)) - np.eye(k)
    if weights is not None:
        cost = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64) ** (1 + (weights != "linear"))
    chance = 0.0 if total == 0 else float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / total)
    if chance == 0:
        _undefined(
            "`cohen_kappa_score` is undefined: `y1`, `y2` and `labels` have at most one label in common. It is set to"
            f" {replace_undefined_by}, the value of `replace_undefined_by`."
        )
        return replace_undefined_by
    return float(1 - (cost * table).sum() / chance)


def class_likelihood_ratios(
    y_true: Any, y_pred: Any, *, labels: Any = None, sample_weight: Any = None, replace_undefined_by: Any = np.nan
) -> tuple[float, float]:
    """Return the positive and the negative likelihood ratio of a binary prediction.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels, two of them.
    labels : array-like of shape (2,), optional
        The negative label, then the positive one.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    replace_undefined_by : float or dict with keys "LR+" and "LR-"
        What a quotient by zero gives, with a warning.

    Returns
    -------
    (float, float)
        Sensitivity over one minus specificity; one minus sensitivity over specificity.

    Examples
    --------
    >>> from qed.metrics import class_likelihood_ratios
    >>> class_likelihood_ratios([0, 1, 0, 1, 0], [1, 1, 0, 0, 0])
    (1.5, 0.75)
    """
    instead = _replacements(replace_undefined_by)
    confusion = Confusion.of(y_true, y_pred, sample_weight)
    if len(confusion.labels) > 2:
        raise InvalidData(
            "class_likelihood_ratios only supports binary classification problems, got targets of type: multiclass with"
            f" {len(confusion.labels)} labels."
        )
    table = confusion_matrix(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if table.shape != (2, 2):
        raise InvalidData(
            f"class_likelihood_ratios needs two labels, got {len(table)}. Pass labels=[negative, positive]."
        )
    (tn, fp), (fn, tp) = table.astype(np.float64)
    if tp + fn == 0:
        _undefined("No samples of the positive class are present in `y_true`. Both likelihood ratios are set to nan.")
        return float("nan"), float("nan")
    ratios = []
    for name, above, below in (("LR+", tp * (tn + fp), fp * (tp + fn)), ("LR-", fn * (tn + fp), tn * (tp + fn))):
        if below == 0:
            _undefined(f"`{name}` is a quotient by zero and set to {instead[name]}; see `replace_undefined_by`.")
        ratios.append(instead[name] if below == 0 else float(above / below))
    return ratios[0], ratios[1]


def _replacements(given: Any) -> dict[str, float]:
    if isinstance(given, dict):
        least, most = {"LR+": 1.0, "LR-": 0.0}, {"LR+": math.inf, "LR-": 1.0}
        sound = set(given) >= {"LR+", "LR-"} and all(
            math.isnan(given[name]) or least[name] <= given[name] <= most[name] for name in least
        )
        if not sound:
            raise InvalidParameter(
                "replace_undefined_by must be {'LR+': value from 1 to inf or nan, 'LR-': value from 0 to 1 or nan}, got"
                f" {given!r}."
            )
        return {name: float(given[name]) for name in least}
    if not (given == 1.0 or (isinstance(given, float) and math.isnan(given))):
        raise InvalidParameter(f"replace_undefined_by must be 1.0, nan or a dict, got {given!r}.")
    return {"LR+": float(given), "LR-": float(given)}


def _undefined(message: str) -> None:
    warnings.warn(UndefinedMetricWarning(message), stacklevel=4)
