"""Precision, recall and what is made of them: three sums a label, a quotient, an average."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter, UndefinedMetricWarning
from qed.core._targets import as_target
from qed.metrics._classification import places_of
from qed.metrics._confusion import Confusion
from qed.metrics._read import INDICATOR, label_pair, one_of, row_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from qed.core._params import Array

AVERAGES = ("micro", "macro", "samples", "weighted", "binary", None)


class Sums(NamedTuple):
    """What precision and recall are quotients of, for each label (or, by "samples", for each row)."""

    right: Array
    predicted: Array
    true: Array
    total: Any

    def micro(self) -> Sums:
        """Return the sums over all labels."""
        return self.each(lambda part: np.atleast_1d(part.sum()))

    def each(self, change: Callable[[Array], Array]) -> Sums:
        """Change the three sums alike."""
        return Sums(change(self.right), change(self.predicted), change(self.true), self.total)


class Scored(NamedTuple):
    """Labels that were read once and are asked for several averages."""

    kind: str
    labels: Array
    confusion: Confusion | None
    indicators: tuple[Array, Array] | None
    s: Array | None
    is_counted: bool = False  # nothing was weighed: sums are counts, and integers

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, sample_weight: Any) -> Scored:
        """Read labels or indicators."""
        truth, guess, kind = label_pair(y_true, y_pred)
        s = row_weights(sample_weight, len(truth))
        if kind == INDICATOR:
            return cls(kind, np.arange(truth.shape[1]), None, (truth != 0, guess != 0), s)
        return cls.of_confusion(Confusion.of_labels(truth, guess, s))._replace(is_counted=s is None)

    @classmethod
    def of_confusion(cls, confusion: Confusion) -> Scored:
        """See a confusion that was counted, or merged, before."""
        kind = "binary" if len(confusion.labels) <= 2 else "multiclass"
        return cls(kind, confusion.labels, confusion, None, None)

    def sums(self, labels: Any, *, samplewise: bool = False) -> Sums:
        """Add up, for the labels asked for or for all."""
        if self.confusion is None:
            return self._indicated(labels, samplewise=samplewise)
        if samplewise:
            raise InvalidData("Samplewise metrics are not available outside of multilabel classification.")
        sums = Sums(self.confusion.right, self.confusion.predicted, self.confusion.true, self.confusion.total)
        if labels is not None:
            place = places_of(self.labels, as_target(labels, "labels"))
            sums = sums.each(lambda part: np.append(part, 0.0)[place])
        if self.is_counted:
            return sums.each(lambda part: part.astype(np.int64))._replace(total=int(sums.total))
        return sums

    def _indicated(self, labels: Any, *, samplewise: bool) -> Sums:
        truth, guess = self.indicators or (np.empty(0, bool), np.empty(0, bool))
        if labels is not None:
            wanted = as_target(labels, "labels").astype(np.int64)
            if len(wanted) and (wanted.max() >= truth.shape[1] or wanted.min() < 0):
                raise InvalidData(
                    f"All labels must be in [0, n labels) for multilabel targets. Got {list(wanted)} with"
                    f" {truth.shape[1]} labels."
                )
            truth, guess = truth[:, wanted], guess[:, wanted]
        s = self.s
        parts = Sums(np.logical_and(truth, guess), guess, truth, len(truth) if s is None else s.sum())
        if samplewise:
            each = np.ones(len(truth), np.int64) if s is None else s
            return parts.each(lambda part: each * part.sum(axis=1))._replace(total=each * truth.shape[1])
        return parts.each(lambda part: part.sum(axis=0) if s is None else s @ part)


def multilabel_confusion_matrix(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, labels: Any = None, samplewise: bool = False
) -> Array:
    """Return, for each label, the confusion matrix of that label against all others.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,), or indicator of shape (n, k)
        True and predicted labels.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    labels : array-like, optional
        Which labels, in which order.
    samplewise : bool
        One matrix a row instead of one a label; for indicators only.

    Returns
    -------
    ndarray of shape (k, 2, 2)
        ``[[true negatives, false positives], [false negatives, true positives]]``.

    Examples
    --------
    >>> from qed.metrics import multilabel_confusion_matrix
    >>> multilabel_confusion_matrix([0, 1, 2], [0, 1, 1])[1]
    array([[1, 1],
           [0, 1]])
    """
    sums = Scored.of(y_true, y_pred, sample_weight).sums(labels, samplewise=samplewise)
    fp, fn = sums.predicted - sums.right, sums.true - sums.right
    return np.stack([sums.total - sums.right - fp - fn, fp, fn, sums.right]).T.reshape(-1, 2, 2)


def chosen_labels(scored: Scored, average: Any, labels: Any, pos_label: Any) -> Any:
    """Return the labels that an average is over; for "binary" the positive one."""
    one_of("average", average, AVERAGES)
    if average != "binary":
        if pos_label is not None and not (isinstance(pos_label, int | float) and pos_label == 1):
            warnings.warn(
                f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). You"
                " may use labels=[pos_label] to specify a single positive class.",
                stacklevel=4,
            )
        return labels
    if scored.kind != "binary":
        options = [
            choice for choice in AVERAGES if choice != "binary" and (scored.kind == INDICATOR or choice != "samples")
        ]
        raise InvalidData(
            f"Target is {scored.kind} but average='binary'. Please choose another average setting, one of {options}."
        )
    present = scored.labels.tolist()
    if pos_label not in present and len(present) >= 2:
        raise InvalidData(f"pos_label={pos_label} is not a valid label. It should be one of {present}")
    return [pos_label]


def quotient(above: Array, below: Array, zero_division: Any, words: tuple[str, str, Any] | None) -> Array:
    """Divide, giving `zero_division` where there is nothing to divide by, with a warning where that is "warn"."""
    empty = below == 0
    result: Array = np.divide(above, np.where(empty, 1, below), dtype=np.float64)
    if empty.any():
        result[empty] = 0.0 if zero_division == "warn" else zero_division
        if words is not None and zero_division == "warn":
            metric, modifier, average = words
            row, label = ("label", "sample") if average == "samples" else ("sample", "label")
            where = "due to" if len(result) == 1 else f"in {label}s with"
            message = (
                f"{metric.capitalize()} is ill-defined and being set to 0.0 {where} no {modifier} {row}s. Use"
                " `zero_division` parameter to control this behavior."
            )
            warnings.warn(UndefinedMetricWarning(message), stacklevel=5)
    return result


def _check_zero_division(zero_division: Any, *, nan: bool = True) -> None:
    accepted = isinstance(zero_division, str) and zero_division == "warn"
    if isinstance(zero_division, int | float | np.floating | np.integer):
        accepted = zero_division in (0, 1) or (nan and math.isnan(zero_division))
    if not accepted:
        choices = "'warn', 0.0, 1.0" + (" or nan" if nan else "")
        raise InvalidParameter(f"zero_division must be {choices}, got {zero_division!r}.")


def averaged(values: Array, weights: Array | None) -> float:
    """Average what is not NaN."""
    there = ~np.isnan(values)
    if not there.any():
        return float("nan")
    kept = None if weights is None else weights[there]
    if kept is not None and kept.sum() == 0:
        return float(values[there].mean())
    return float(np.average(values[there], weights=kept))


def precision_recall_fscore(
    scored: Scored,
    *,
    beta: float = 1.0,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = None,
    warn_for: Collection[str] = ("precision", "recall", "f-score"),
    zero_division: Any = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F and support of labels that were read before."""
    _check_zero_division(zero_division)
    if not (isinstance(beta, int | float | np.floating | np.integer) and beta >= 0):
        raise InvalidParameter(
            f"beta must be a number >= 0, got {beta!r}. It is how much more recall counts than precision."
        )
    wanted = chosen_labels(scored, average, labels, pos_label)
    sums = scored.sums(wanted, samplewise=average == "samples")
    if average == "micro":
        sums = sums.micro()

    def words(metric: str, modifier: str) -> tuple[str, str, Any] | None:
        return (metric, modifier, average) if metric in warn_for else None

    precision = quotient(sums.right, sums.predicted, zero_division, words("precision", "predicted"))
    recall = quotient(sums.right, sums.true, zero_division, words("recall", "true"))
    if math.isinf(beta):
        score = recall
    elif beta == 0:
        score = precision
    else:
        below = beta**2 * sums.true + sums.predicted
        score = quotient((1 + beta**2) * sums.right, below, zero_division, words("f-score", "true nor predicted"))
    if average is None:
        return precision, recall, score, sums.true
    weights = sums.true if average == "weighted" else scored.s if average == "samples" else None
    return averaged(precision, weights), averaged(recall, weights), averaged(score, weights), None


def precision_recall_fscore_support(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float = 1.0,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = None,
    warn_for: Collection[str] = ("precision", "recall", "f-score"),
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Return precision, recall, F score and support, of each label or averaged.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,), or indicator of shape (n, k)
        True and predicted labels.
    beta : float
        How much more recall counts than precision in the F score.
    labels : array-like, optional
        Which labels; by default all that occur.
    pos_label : label
        The positive class, for ``average="binary"``.
    average : {"binary", "micro", "macro", "weighted", "samples"}, optional
        None gives one number a label. "binary" is the positive class alone; "micro" adds up all labels before dividing;
        "macro" averages labels with equal weight, "weighted" by support; "samples" averages rows of indicators.
    warn_for : collection of str
        Of which quotients by zero to warn.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    zero_division : {"warn", 0.0, 1.0, nan}
        The value of a quotient by zero; "warn" is 0 and a warning, NaN is left out of averages.

    Returns
    -------
    precision, recall, fbeta_score, support
        Arrays of shape (k,) without an average, otherwise numbers, and None for the support.

    Examples
    --------
    >>> from qed.metrics import precision_recall_fscore_support
    >>> precision_recall_fscore_support([0, 1, 1, 1], [0, 1, 1, 0], average="binary")
    (1.0, 0.666..., 0.8, None)
    """
    return precision_recall_fscore(
        Scored.of(y_true, y_pred, sample_weight),
        beta=beta,
        labels=labels,
        pos_label=pos_label,
        average=average,
        warn_for=warn_for,
        zero_division=zero_division,
    )


def precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Return the share of rows predicted positive that are positive.

    Parameters
    ----------
    y_true, y_pred, labels, pos_label, average, sample_weight, zero_division
        As for `precision_recall_fscore_support`.

    Returns
    -------
    float, or ndarray of shape (k,)
        Between 0 and 1; one number a label for ``average=None``.

    Examples
    --------
    >>> from qed.metrics import precision_score
    >>> precision_score([0, 1, 1, 0], [1, 1, 1, 0])
    0.666...
    """
    return precision_recall_fscore(
        Scored.of(y_true, y_pred, sample_weight),
        labels=labels,
        pos_label=pos_label,
        average=average,
        warn_for=("precision",),
        zero_division=zero_division,
    )[0]


def recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Return the share of positive rows that were predicted positive.

    Parameters
    ----------
    y_true, y_pred, labels, pos_label, average, sample_weight, zero_division
        As for `precision_recall_fscore_support`.

    Returns
    -------
    float, or ndarray of shape (k,)
        Between 0 and 1; one number a label for ``average=None``.

    Examples
    --------
    >>> from qed.metrics import recall_score
    >>> recall_score([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """
    return precision_recall_fscore(
        Scored.of(y_true, y_pred, sample_weight),
        labels=labels,
        pos_label=pos_label,
        average=average,
        warn_for=("recall",),
        zero_division=zero_division,
    )[1]


def fbeta_score(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Return the weighted harmonic mean of precision and recall.

    Parameters
    ----------
    y_true, y_pred, beta, labels, pos_label, average, sample_weight, zero_division
        As for `precision_recall_fscore_support`.

    Returns
    -------
    float, or ndarray of shape (k,)
        Between 0 and 1; one number a label for ``average=None``.

    Examples
    --------
    >>> from qed.metrics import fbeta_score
    >>> fbeta_score([0, 1, 1, 0], [1, 1, 1, 0], beta=2)
    0.909...
    """
    return precision_recall_fscore(
        Scored.of(y_true, y_pred, sample_weight),
        beta=beta,
        labels=labels,
        pos_label=pos_label,
        average=average,
        warn_for=("f-score",),
        zero_division=zero_division,
    )[2]


def f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Return the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    y_true, y_pred, labels, pos_label, average, sample_weight, zero_division
        As for `precision_recall_fscore_support`.

    Returns
    -------
    float, or ndarray of shape (k,)
        Between 0 and 1; one number a label for ``average=None``.

    Examples
    --------
    >>> from qed.metrics import f1_score
    >>> f1_score([0, 1, 1, 0], [1, 1, 1, 0])
    0.8
    """
    return fbeta_score(
        y_true,
        y_pred,
        beta=1,
        labels=labels,
        pos_label=pos_label,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
    )


def jaccard_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Return the overlap of true and predicted positives, TP / (TP + FP + FN).

    Parameters
    ----------
    y_true, y_pred, labels, pos_label, average, sample_weight
        As for `precision_recall_fscore_support`.
    zero_division : {"warn", 0.0, 1.0}
        The value of a quotient by zero; "warn" is 0 and a warning.

    Returns
    -------
    float, or ndarray of shape (k,)
        Between 0 and 1; one number a label for ``average=None``.

    Examples
    --------
    >>> from qed.metrics import jaccard_score
    >>> jaccard_score([0, 1, 1, 0], [1, 1, 1, 0])
    0.666...
    """
    scored = Scored.of(y_true, y_pred, sample_weight)
    return jaccard(scored, labels=labels, pos_label=pos_label, average=average, zero_division=zero_division)


def jaccard(
    scored: Scored, *, labels: Any = None, pos_label: Any = 1, average: Any = "binary", zero_division: Any = "warn"
) -> Any:
    """Jaccard's overlap of labels that were read before."""
    _check_zero_division(zero_division, nan=False)
    wanted = chosen_labels(scored, average, labels, pos_label)
    sums = scored.sums(wanted, samplewise=average == "samples")
    support = sums.true
    if average == "micro":
        sums = sums.micro()
    below = sums.true + sums.predicted - sums.right
    values = quotient(sums.right, below, zero_division, ("jaccard", "true or predicted", average))
    if average is None:
        return values
    weights = support if average == "weighted" else scored.s if average == "samples" else None
    return averaged(values, None if weights is None or not np.any(weights) else weights)
