"""Scores of probabilities and decision values: a loss for each row, folded into `Moments`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter, UndefinedMetricWarning
from qed.core._targets import encode
from qed.metrics._losses import NUMBERS, moments_of
from qed.metrics._read import INDICATOR, finite, labels_of, numbers, row_weights, same_length

if TYPE_CHECKING:
    from qed.core._params import Array
    from qed.data import Moments


class Probabilities(NamedTuple):
    """Read probabilities: the class of each row as a number, and the probability of every class."""

    codes: Array
    values: Array
    s: Array | None

    @property
    def of_truth(self) -> Array:
        """The probability that each row's own class was given."""
        picked: Array = np.take_along_axis(self.values, self.codes[:, np.newaxis], axis=1)[:, 0]
        return picked

    def squares(self) -> Array:
        """Sum over classes of the squared distance from the truth, (n,)."""
        away = self.values.copy()
        away[np.arange(len(away)), self.codes] -= 1
        squares: Array = np.einsum("ij,ij->i", away, away)
        return squares


def true_labels(y_true: Any) -> Array:
    """Read true labels, one a row."""
    truth, kind = labels_of(y_true, "y_true")
    if kind == INDICATOR:
        raise InvalidData(f"y_true is a {INDICATOR} of shape {truth.shape}; one label a row is needed.")
    if not len(truth):
        raise InvalidData("y_true is empty. A score needs at least one row.")
    return truth


def coded(truth: Array, labels: Any) -> tuple[Array, Array]:
    """Return the classes, sorted, and the number of each row's class among them."""
    if labels is None:
        return encode(truth)
    given, _ = labels_of(labels, "labels")
    classes = np.unique(given)
    place = np.searchsorted(classes, truth).clip(0, len(classes) - 1) if _comparable(classes, truth) else None
    if place is None or (classes[place] != truth).any():
        unknown = sorted(set(truth.tolist()) - set(classes.tolist()), key=str)
        raise InvalidData(f"y_true contains values {unknown} not belonging to the passed labels {classes.tolist()}.")
    return classes, place


def _comparable(a: Array, b: Array) -> bool:
    return (a.dtype.kind in "UT") == (b.dtype.kind in "UT")


def _in_unit_interval(y_proba: Any) -> Array:
    values = finite(numbers(y_proba, "y_proba", ndim=2), "y_proba")
    least, most = values.min(), values.max()
    if most > 1:
        raise InvalidData(f"y_proba contains values greater than 1: {most:g}. Pass probabilities (predict_proba).")
    if least < 0:
        raise InvalidData(f"y_proba contains values lower than 0: {least:g}. Pass probabilities (predict_proba).")
    return values


def read_probabilities(y_true: Any, y_proba: Any, sample_weight: Any, labels: Any) -> Probabilities:
    """Read labels and the probabilities of their classes; one column is that of the larger of two labels."""
    values = _in_unit_interval(y_proba)
    truth = true_labels(y_true)
    same_length(y_proba=values, y_true=truth)
    s = row_weights(sample_weight, len(truth))
    classes, codes = coded(truth, labels)
    if labels is not None and not np.array_equal(classes, np.asarray(labels)):
        warnings.warn(
            f"Labels passed were {list(labels)}. But this function assumes labels are ordered lexicographically. Pass the"
            f" ordered labels={classes.tolist()} and ensure that the columns of y_prob correspond to this ordering.",
            stacklevel=4,
        )
    if len(classes) == 1:
        if labels is None:
            raise InvalidData(
                f"y_true contains only one label ({classes[0]}). Please provide the list of all expected class labels"
                " explicitly through the labels argument."
            )
        raise InvalidData(f"The labels array needs to contain at least two labels, got {classes.tolist()}.")
    if values.ndim == 1 or values.shape[1] == 1:
        values = values.reshape(-1)
        values = np.stack([1 - values, values], axis=1)
    elif not np.isclose(values.sum(axis=1), 1, rtol=math.sqrt(np.finfo(values.dtype).eps)).all():
        warnings.warn("The y_prob values do not sum to one. Make sure to pass probabilities.", stacklevel=4)
    if len(classes) != values.shape[1]:
        if labels is None:
            raise InvalidData(
                f"y_true and y_prob contain different number of classes: {len(classes)} vs {values.shape[1]}. Please"
                " provide the true labels explicitly through the labels argument. Classes found in y_true:"
                f" {classes.tolist()}"
            )
        raise InvalidData(
            "The number of classes in labels is different from that in y_prob. Classes found in labels:"
            f" {classes.tolist()}; y_prob has {values.shape[1]} columns."
        )
    return Probabilities(codes, values, s)


def read_binary_probability(y_true: Any, y_proba: Any, sample_weight: Any, pos_label: Any) -> Probabilities:
    """Read two labels and the probability of the positive one."""
    values = _in_unit_interval(y_proba).reshape(-1)
    truth = true_labels(y_true)
    same_length(y_proba=values, y_true=truth)
    s = row_weights(sample_weight, len(truth))
    classes, codes = encode(truth)
    if len(classes) > 2:
        raise InvalidData(
            f"The type of the target inferred from y_true is multiclass ({len(classes)} labels) but should be binary"
            " according to the shape of y_prob. Pass one column a class."
        )
    if pos_label is None:
        if truth.dtype.kind in "UT":
            listed = ", ".join(map(repr, classes.tolist()))
            raise InvalidData(
                f"y_true takes value in {{{listed}}} and pos_label is not specified: either make y_true take value in"
                " {0, 1} or {-1, 1} or pass pos_label explicitly."
            )
        usual = set(classes.tolist()) <= {0, 1} or set(classes.tolist()) <= {-1, 1}
        pos_label = 1 if usual else classes[-1]
    place = np.flatnonzero(classes == pos_label)
    codes = (codes == (place[0] if len(place) else -1)).astype(np.int64)
    return Probabilities(codes, np.stack([1 - values, values], axis=1), s)


def of_losses(losses: Array, s: Array | None, codes: Array | None = None, n_classes: int = 0) -> Moments:
    """Moments of one loss a row and, given the class of each, of the classes as targets: their means are shares."""
    classes = np.arange(n_classes)[:, np.newaxis]

    def lines(cut: slice) -> list[Array]:
        loss = losses[np.newaxis, cut].astype(np.float64, copy=False)
        return [loss] if codes is None else [loss, (codes[cut] == classes).astype(np.float64)]

    cuts = (slice(start, start + NUMBERS) for start in range(0, len(losses), NUMBERS))
    return moments_of(((lines(cut), None if s is None else s[cut]) for cut in cuts), n_classes)


def log_losses(read: Probabilities) -> Array:
    """Minus the logarithm of the probability of the truth, (n,); probabilities are kept off 0 and 1 by a rounding."""
    eps = np.finfo(read.values.dtype).eps
    losses: Array = -np.log(np.clip(read.of_truth, eps, 1 - eps))
    return losses


def log_loss_moments(y_true: Any, y_proba: Any, sample_weight: Any = None, *, labels: Any = None) -> Moments:
    """Moments of the log losses of the rows."""
    read = read_probabilities(y_true, y_proba, sample_weight, labels)
    return of_losses(log_losses(read), read.s)


def log_loss(
    y_true: Any, y_proba: Any, *, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> float:
    """Return the mean of minus the logarithm of the probability given to the truth.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_proba : array-like of shape (n,) or (n, k)
        Probability of the larger label, or of every label in sorted order.
    normalize : bool
        False gives the weighted sum instead of the mean.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    labels : array-like, optional
        All labels, needed when some do not occur among these rows.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import log_loss
    >>> log_loss(["spam", "ham", "ham", "spam"], [[.1, .9], [.9, .1], [.8, .2], [.35, .65]])
    0.216...
    """
    moments = log_loss_moments(y_true, y_proba, sample_weight, labels=labels)
    return float(moments.mean[0] * (1.0 if normalize else moments.weight))


def read_brier(y_true: Any, y_proba: Any, sample_weight: Any, pos_label: Any, labels: Any) -> Probabilities:
    """Read probabilities of one column as those of the positive label, of several as those of all labels."""
    shape = np.shape(y_proba)
    if len(shape) == 2 and shape[1] > 1:
        return read_probabilities(y_true, y_proba, sample_weight, labels)
    if labels is not None and pos_label is None:
        pos_label = np.unique(labels_of(labels, "labels")[0])[-1]
    return read_binary_probability(y_true, y_proba, sample_weight, pos_label)


def brier_moments(
    y_true: Any,
    y_proba: Any,
    sample_weight: Any = None,
    *,
    pos_label: Any = None,
    labels: Any = None,
    scale_by_half: Any = "auto",
) -> Moments:
    """Moments of the squared distances of probabilities from the truth."""
    read = read_brier(y_true, y_proba, sample_weight, pos_label, labels)
    if scale_by_half not in (True, False, "auto"):
        raise InvalidParameter(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}.")
    half = read.values.shape[1] < 3 if scale_by_half == "auto" else bool(scale_by_half)
    return of_losses(read.squares() * (0.5 if half else 1.0), read.s)


def brier_score_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Any = None,
    scale_by_half: Any = "auto",
) -> float:
    """Return the mean squared distance of probabilities from the truth.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_proba : array-like of shape (n,) or (n, k)
        Probability of the positive label, or of every label in sorted order.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    pos_label : label, optional
        The positive label, when `y_proba` is one column and labels are not 0 and 1, or -1 and 1.
    labels : array-like, optional
        All labels, needed when some do not occur among these rows.
    scale_by_half : bool or "auto"
        Whether to halve the sum over classes, so that it lies between 0 and 1; "auto" does for two classes.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import brier_score_loss
    >>> round(brier_score_loss([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 6)
    0.0375
    """
    moments = brier_moments(
        y_true, y_proba, sample_weight, pos_label=pos_label, labels=labels, scale_by_half=scale_by_half
    )
    return float(moments.mean[0])


def _with_classes(read: Probabilities, losses: Array) -> Moments:
    """Moments of a loss and, as targets, of the classes: their means are the best constant prediction."""
    return of_losses(losses, read.s, read.codes, read.values.shape[1])


def d2_log_loss_moments(y_true: Any, y_proba: Any, sample_weight: Any = None, *, labels: Any = None) -> Moments:
    """Moments of log losses and of classes."""
    read = read_probabilities(y_true, y_proba, sample_weight, labels)
    return _with_classes(read, log_losses(read))


def d2_brier_moments(
    y_true: Any, y_proba: Any, sample_weight: Any = None, *, pos_label: Any = None, labels: Any = None
) -> Moments:
    """Moments of squared distances and of classes."""
    read = read_brier(y_true, y_proba, sample_weight, pos_label, labels)
    return _with_classes(read, read.squares())


def d2_log(moments: Moments) -> float:
    """Explained log loss of `d2_log_loss_moments`."""
    share = moments.mean_y
    # One class has the entropy -0.0, and a loss divided by that would be minus infinity: the worst would look best.
    entropy = max(0.0, -float(np.sum(share[share > 0] * np.log(share[share > 0]))))
    with np.errstate(all="ignore"):
        return float(1 - moments.mean_x[0] / np.float64(entropy))


def d2_brier(moments: Moments) -> float:
    """Explained Brier score of `d2_brier_moments`."""
    with np.errstate(all="ignore"):
        return float(1 - moments.mean_x[0] / np.maximum(0.0, 1 - moments.mean_y @ moments.mean_y))


def d2_log_loss_score(y_true: Any, y_proba: Any, *, sample_weight: Any = None, labels: Any = None) -> float:
    """Return the share of the log loss that is explained.

    Parameters
    ----------
    y_true, y_proba, sample_weight, labels
        As for `log_loss`.

    Returns
    -------
    float
        1 is perfect; 0 is what predicting the shares of the classes achieves.

    Examples
    --------
    >>> from qed.metrics import d2_log_loss_score
    >>> d2_log_loss_score([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.2])
    0.763...
    """
    if _too_few(y_proba):
        return float("nan")
    return d2_log(d2_log_loss_moments(y_true, y_proba, sample_weight, labels=labels))


def d2_brier_score(
    y_true: Any, y_proba: Any, *, sample_weight: Any = None, pos_label: Any = None, labels: Any = None
) -> float:
    """Return the share of the Brier score that is explained.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As for `brier_score_loss`.

    Returns
    -------
    float
        1 is perfect; 0 is what predicting the shares of the classes achieves.

    Examples
    --------
    >>> from qed.metrics import d2_brier_score
    >>> round(d2_brier_score([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 6)
    0.85
    """
    if _too_few(y_proba):
        return float("nan")
    return d2_brier(d2_brier_moments(y_true, y_proba, sample_weight, pos_label=pos_label, labels=labels))


def _too_few(y_proba: Any) -> bool:
    few = len(y_proba) < 2
    if few:
        message = "D^2 score is not well-defined with less than two samples."
        warnings.warn(UndefinedMetricWarning(message), stacklevel=3)
    return few


def hinge_moments(y_true: Any, pred_decision: Any, sample_weight: Any = None, *, labels: Any = None) -> Moments:
    """Moments of the hinge losses of the rows."""
    decision = finite(numbers(pred_decision, "pred_decision", ndim=2), "pred_decision").astype(np.float64, copy=False)
    truth = true_labels(y_true)
    same_length(y_true=truth, pred_decision=decision)
    s = row_weights(sample_weight, len(truth))
    classes, codes = coded(truth, labels)
    if len(classes) > 2:
        if decision.ndim != 2 or decision.shape[1] != len(classes):
            advice = "" if labels is not None else " Please include all labels in y_true or pass labels."
            raise InvalidData(
                f"The shape of pred_decision is not consistent with the number of classes: {len(classes)} classes and"
                f" shape {decision.shape}; (n_samples, n_classes) = {(len(truth), len(classes))} is needed.{advice}"
            )
        rows = np.arange(len(codes))
        own = decision[rows, codes]
        others = decision.copy()
        others[rows, codes] = -np.inf
        margin = own - others.max(axis=1)
    else:
        if decision.ndim == 2 and decision.shape[1] != 1:
            raise InvalidData(
                f"pred_decision has shape {decision.shape} and y_true two labels. Pass one number a row, or, where some"
                " labels do not occur, all of them as labels."
            )
        positive = codes == 1 if len(classes) == 2 else np.zeros(len(codes), dtype=bool)
        margin = np.where(positive, decision.reshape(-1), -decision.reshape(-1))
    return of_losses(np.maximum(1 - margin, 0.0), s)


def hinge_loss(y_true: Any, pred_decision: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Return the mean of max(0, 1 - margin).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    pred_decision : array-like of shape (n,) or (n, k)
        Decision value of the larger of two labels, or of every label in sorted order; the margin is then the distance
        of the true label's value to the largest other.
    labels : array-like, optional
        All labels, needed when some do not occur among these rows.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import hinge_loss
    >>> hinge_loss([-1, 1, 1], [-2.0, 0.5, 3.0])
    0.166...
    """
    return float(hinge_moments(y_true, pred_decision, sample_weight, labels=labels).mean[0])


def top_k_moments(y_true: Any, y_score: Any, sample_weight: Any = None, *, k: int = 2, labels: Any = None) -> Moments:
    """Moments of hits: 1 where the truth is among the k highest scores, 0 elsewhere."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise InvalidParameter(f"k must be an integer >= 1, got {k!r}. It is how many guesses a row has.")
    score = finite(numbers(y_score, "y_score", ndim=2), "y_score")
    truth = true_labels(y_true)
    same_length(y_true=truth, y_score=score)
    s = row_weights(sample_weight, len(truth))
    if labels is not None and not np.array_equal(np.unique(labels), np.asarray(labels)):
        raise InvalidData(f"Parameter 'labels' must be ordered and unique, got {list(labels)}.")
    classes, codes = coded(truth, labels)
    columns = score.shape[1] if score.ndim == 2 and score.shape[1] > 1 else 2
    if len(classes) != columns:
        raise InvalidData(
            f"Number of classes in 'y_true' ({len(classes)}) not equal to the number of classes in 'y_score' ({columns})."
            " You can provide a list of all known classes by assigning it to the `labels` parameter."
        )
    if k >= len(classes):
        message = (
            f"'k' ({k}) greater than or equal to 'n_classes' ({len(classes)}) will result in a perfect score and is"
            " therefore meaningless."
        )
        warnings.warn(UndefinedMetricWarning(message), stacklevel=4)
    if columns == 2 and (score.ndim == 1 or score.shape[1] == 1):
        score = score.reshape(-1)
        threshold = 0.5 if score.min() >= 0 and score.max() <= 1 else 0.0
        hits = np.ones(len(codes), dtype=bool) if k > 1 else (score > threshold) == (codes == 1)
    else:
        # Of equal scores the later label comes first, as in a descending stable sort read backwards.
        own = score[np.arange(len(codes)), codes][:, np.newaxis]
        later = np.arange(columns) > codes[:, np.newaxis]
        hits = ((score > own) | ((score == own) & later)).sum(axis=1) < k
    return of_losses(hits.astype(np.float64), s)


def top_k_accuracy_score(
    y_true: Any, y_score: Any, *, k: int = 2, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> float:
    """Return the share of rows whose label is among the k highest scores.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_score : array-like of shape (n,) or (n, c)
        Score of the larger of two labels, or of every label in sorted order.
    k : int
        How many guesses a row has.
    normalize : bool
        False gives the weight of the hits instead of their share.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    labels : array-like, optional
        All labels, sorted; needed when some do not occur among these rows.

    Returns
    -------
    float
        Between 0 and 1, or a weight.

    Examples
    --------
    >>> from qed.metrics import top_k_accuracy_score
    >>> top_k_accuracy_score([0, 1, 2], [[.5, .2, .2], [.3, .4, .2], [.7, .2, .1]], k=2)
    0.666...
    """
    moments = top_k_moments(y_true, y_score, sample_weight, k=k, labels=labels)
    return float(moments.mean[0] * (1.0 if normalize else moments.weight))
