"""How often each label was predicted where another was true: all that a score of predicted labels needs to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData
from qed.core._records import expect, expect_array, record
from qed.data import Counts
from qed.metrics._read import INDICATOR, label_pair, row_weights

if TYPE_CHECKING:
    from qed.core._params import Array

ROWS = 1 << 16  # rows counted together: their codes stay in cache


@record("confusion")
class Confusion:
    """Rows and weight of each pair of a true and a predicted label; merges.

    Attributes
    ----------
    labels : ndarray of shape (k,)
        Every label seen, true or predicted, sorted.
    counts : Counts
        Of the pairs: value ``i * k + j`` stands for label i predicted as label j.

    Notes
    -----
    Memory: 32 bytes for each pair that occurs, whatever the number of rows.
    """

    labels: np.ndarray[Any, Any]
    counts: Counts

    @classmethod
    def empty(cls) -> Self:
        """Return the statistic of no rows."""
        return cls(np.empty(0), Counts.empty())

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Self:
        """Count pairs of labels, one a row."""
        truth, guess, kind = label_pair(y_true, y_pred)
        if kind == INDICATOR:
            raise InvalidData("A confusion needs one label a row, got an indicator of several. Score each column.")
        return cls.of_labels(truth, guess, row_weights(sample_weight, len(truth)))

    @classmethod
    def of_labels(cls, truth: Array, guess: Array, s: Array | None) -> Self:
        """Count pairs of labels that have been read already."""
        coded = _integers(truth, guess)
        if coded is None:
            both = np.unique(np.concatenate([truth, guess]), return_inverse=True)
            labels, codes = both[0], both[1].reshape(2, -1)
            return cls._counted(codes[0], codes[1], 0, len(labels), labels, s)
        first, second, low, span = coded
        labels = np.arange(span) + low
        dtype = np.result_type(truth.dtype, guess.dtype)
        return cls._counted(first, second, low, span, labels.astype(dtype), s)

    @classmethod
    def _counted(cls, first: Array, second: Array, low: int, span: int, labels: Array, s: Array | None) -> Self:
        values, rows, weight = _pairs(first, second, low, span, s)
        seen = np.zeros(span, dtype=bool)
        seen[values // span] = seen[values % span] = True
        if not seen.all():
            place = np.cumsum(seen) - 1
            labels = labels[seen]
            values = place[values // span] * len(labels) + place[values % span]
        if s is not None:  # labels are kept, even of rows that weigh nothing
            kept = rows > 0
            values, rows, weight = values[kept], rows[kept], weight[kept]
        return cls(labels, Counts(values, rows, weight, np.zeros(len(values))))

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        if not len(other.labels):
            return self
        if not len(self.labels):
            return other
        if np.array_equal(self.labels, other.labels):
            return type(self)(self.labels, self.counts.merge(other.counts))
        words = [part.labels.dtype.kind in "UT" for part in (self, other)]
        if words[0] != words[1]:
            raise InvalidData(
                f"These labels are {self.labels.dtype}, the others {other.labels.dtype}. Only confusions of labels of"
                " one kind merge."
            )
        labels = np.union1d(self.labels, other.labels)
        return type(self)(labels, self._over(labels).merge(other._over(labels)))

    def _over(self, labels: Array) -> Counts:
        place = np.searchsorted(labels, self.labels)
        i, j = self.pairs
        codes = place[i] * len(labels) + place[j]  # in the same order: places grow with labels
        return Counts(codes, self.counts.rows, self.counts.weight, self.counts.weight_low)

    @property
    def pairs(self) -> tuple[Array, Array]:
        """True and predicted label of each pair that occurs, as numbers of labels."""
        i, j = np.divmod(self.counts.values.astype(np.int64), max(len(self.labels), 1))
        return i, j

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return int(self.counts.rows.sum())

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.weight.sum())

    @property
    def right(self) -> Array:
        """Weight of the rows of each label that were predicted right, (k,)."""
        i, j = self.pairs
        return np.bincount(i[i == j], self.counts.weight[i == j], len(self.labels))

    @property
    def true(self) -> Array:
        """Weight of the rows of each true label, (k,)."""
        return np.bincount(self.pairs[0], self.counts.weight, len(self.labels))

    @property
    def predicted(self) -> Array:
        """Weight of the rows of each predicted label, (k,)."""
        return np.bincount(self.pairs[1], self.counts.weight, len(self.labels))

    def table(self) -> Array:
        """Return the confusion matrix, (k, k): a row for each true label, a column for each predicted one."""
        k = len(self.labels)
        dense = np.zeros(k * k)
        dense[self.counts.values.astype(np.int64)] = self.counts.weight
        return dense.reshape(k, k)

    def check(self) -> None:
        """Refuse values from a model file that cannot be a confusion."""
        expect_array(self.labels, "confusion.labels", kinds="fiubU", shape=(None,), finite=True)
        expect(bool((self.labels[1:] > self.labels[:-1]).all()), "confusion.labels is not sorted")
        self.counts.check()
        values, k = self.counts.values, len(self.labels)
        expect(not len(values) or (values[0] >= 0 and values[-1] < k * k), "confusion.counts holds an unknown pair")


def _integers(truth: Array, guess: Array) -> tuple[Array, Array, int, int] | None:
    """Return integer labels of a range small enough to count pairs without sorting, with its start and its length."""
    if truth.dtype.kind not in "fiub" or guess.dtype.kind not in "fiub":
        return None
    first, second = (array.view(np.uint8) if array.dtype == bool else array for array in (truth, guess))
    low = min(int(first.min()), int(second.min()))
    high = max(int(first.max()), int(second.max()))
    span = high - low + 1
    if span * span > max(ROWS, 2 * len(first)) or max(abs(low), abs(high)) >= 1 << 53:
        return None
    return first, second, low, span


def _pairs(first: Array, second: Array, low: int, span: int, s: Array | None) -> tuple[Array, Array, Array]:
    """Return the pairs of codes that occur, sorted, with their rows of positive weight and their weight."""
    size, n = span * span, len(first)
    if size > max(ROWS, 2 * n):  # too many pairs to keep a counter for each
        code = (first - low) * span + (second - low)
        values, place = np.unique(code, return_inverse=True)
        rows = np.bincount(place, None if s is None else s > 0, len(values)).astype(np.int64)
        return values, rows, rows.astype(np.float64) if s is None else np.bincount(place, s, len(values))
    seen, rows, weight = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
    step = max(ROWS, 8 * size)
    for start in range(0, n, step):
        block = slice(start, start + step)
        code = first[block].astype(np.int64)
        code *= span
        code += second[block].astype(np.int64, copy=False)
        code -= low * (span + 1)
        seen += np.bincount(code, minlength=size)
        if s is not None:
            weight += np.bincount(code, s[block], size)
            rows += np.bincount(code[s[block] > 0], minlength=size)
    values = np.flatnonzero(seen)
    if s is None:
        return values, seen[values], seen[values].astype(np.float64)
    return values, rows[values], weight[values]
