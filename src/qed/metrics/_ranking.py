"""How two classes lie along a score: all that a curve or an area under one needs to know about the rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData
from qed.core._records import expect, expect_array, record
from qed.metrics import _kernels
from qed.metrics._probabilities import true_labels
from qed.metrics._read import finite, numbers, row_weights, same_length

if TYPE_CHECKING:
    from qed.core._params import Array

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Scores = np.ndarray[Any, np.dtype[np.floating[Any]]]


@record("ranking")
class Ranking:
    """The weight of positive and of negative rows at each distinct score, from high to low; merges.

    Attributes
    ----------
    scores : ndarray of shape (k,)
        Distinct scores, descending.
    positive, negative : ndarray of shape (k,)
        Weight of the positive and of the other rows with that score.
    rows : int
        Rows of positive weight.
    is_counted : bool
        Whether every weight is a whole number, so that weights are counts of rows.

    Notes
    -----
    Memory: 24 bytes for each distinct score.
    """

    scores: Scores
    positive: Numbers
    negative: Numbers
    rows: int
    is_counted: bool = True

    @classmethod
    def empty(cls) -> Self:
        """Return the statistic of no rows."""
        return cls(np.empty(0), np.empty(0), np.empty(0), 0)

    @classmethod
    def of(cls, y_true: Any, y_score: Any, sample_weight: Any = None, *, pos_label: Any = None) -> Self:
        """Rank the rows by score. Rows of weight zero are not there."""
        truth = true_labels(y_true)
        score = numbers(y_score, "y_score")
        same_length(y_true=truth, y_score=score)
        return cls.of_flags(positives(truth, pos_label), score, row_weights(sample_weight, len(truth)))

    @classmethod
    def of_flags(cls, positive: Array, score: Array, s: Array | None) -> Self:
        """Rank rows that have been read already."""
        rows, counted = len(score), True
        if s is not None:
            kept = s > 0
            if not kept.all():
                finite(score, "y_score")
                positive, score, s = positive[kept], score[kept], s[kept]
            rows, counted = len(score), bool((s == np.floor(s)).all())
        found = _kernels.ranked(score, positive, s)
        if found is None:
            finite(score, "y_score")
            raise InvalidData("y_score contains infinity.")
        return cls(*found, rows=rows, is_counted=counted)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        if not other.rows:
            return self
        if not self.rows:
            return other
        scores, place = np.unique(np.concatenate([-self.scores, -other.scores]), return_inverse=True)
        sums: list[Any] = [
            np.bincount(place, np.concatenate(parts), len(scores))
            for parts in ((self.positive, other.positive), (self.negative, other.negative))
        ]
        return type(self)(-scores, sums[0], sums[1], self.rows + other.rows, self.is_counted and other.is_counted)

    def cumulated(self) -> tuple[Array, Array]:
        """Return false and true positives when everything from each score upwards is predicted positive."""
        return np.cumsum(self.negative), np.cumsum(self.positive)

    def area(self) -> float:
        """Return the chance that a positive row scores above a negative one, ties counted half; NaN without both."""
        above = np.cumsum(self.positive)
        total = float(above[-1]) if len(above) else 0.0
        below = float(self.negative.sum())
        if not (total > 0 and below > 0):
            return float("nan")
        # Twice the number of positives above each score, and those at it once: no fraction appears before the end.
        above *= 2
        above -= self.positive
        return float(np.einsum("i,i->", above, self.negative) / (2 * total * below))

    def average_precision(self) -> float:
        """Return the area under the steps of the precision-recall curve; 0 without positive rows."""
        fps, tps = self.cumulated()
        if not tps[-1] > 0:
            warnings.warn("No positive class found in y_true, recall is set to one for all thresholds.", stacklevel=4)
            return 0.0
        fps += tps
        return float(np.einsum("i,i->", self.positive, tps / fps) / tps[-1])

    def check(self) -> None:
        """Refuse values from a model file that cannot be a ranking."""
        expect_array(self.scores, "ranking.scores", shape=(None,), finite=True)
        expect(bool((self.scores[1:] < self.scores[:-1]).all()), "ranking.scores does not descend")
        for name in ("positive", "negative"):
            weights = getattr(self, name)
            expect_array(weights, f"ranking.{name}", shape=self.scores.shape, finite=True)
            expect(bool((weights >= 0).all()), f"ranking.{name} is negative")
        expect(self.rows >= 0, "ranking.rows is negative")


def positives(truth: Array, pos_label: Any) -> Array:
    """Tell which rows are positive; without a positive label, labels must be 0 and 1, or -1 and 1."""
    if pos_label is not None:
        positive: Array = np.asarray(truth == pos_label)
        return positive if positive.shape == truth.shape else np.zeros(len(truth), dtype=bool)
    if truth.dtype.kind == "b":
        return truth
    if truth.dtype.kind not in "UT":
        positive = truth == 1
        low = truth.min()
        if low in (1, 0, -1) and np.count_nonzero((truth == low) | positive) == len(truth):
            return positive
    classes = np.unique(truth)
    if len(classes) > 2:
        raise InvalidData(
            f"multiclass format is not supported: y_true has {len(classes)} labels. Pass pos_label to compare one"
            " label with all others."
        )
    listed = ", ".join(map(repr, classes.tolist()))
    raise InvalidData(
        f"y_true takes value in {{{listed}}} and pos_label is not specified: either make y_true take value in {{0, 1}} or"
        " {-1, 1} or pass pos_label explicitly."
    )
