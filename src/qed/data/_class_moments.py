"""Moments of the features class by class: what discriminant analysis and naive Bayes need to know about the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData
from qed.core._records import expect, record
from qed.data._double_double import add
from qed.data._finite import raise_not_finite
from qed.data._moments import Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data._chunk import Chunk
    from qed.data._double_double import Pair


@record("class-moments")
class ClassMoments:
    """One `Moments` of the features for each class; merges and subtracts class by class, under the same laws.

    Attributes
    ----------
    parts : tuple of Moments
        Of class 0, 1, …; a class without rows has empty moments.

    Notes
    -----
    Memory: K (16 p**2 + 40 p) bytes for K classes, and 17 bytes for each row of a chunk while it is counted.
    """

    parts: tuple[Moments, ...]

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return the statistic of no rows."""
        return cls((Moments.empty(n_features),) * n_classes)

    @classmethod
    def of(cls, chunk: Chunk, n_classes: int) -> Self:
        """Compute the statistic of a chunk whose `y` holds class numbers 0 to ``n_classes - 1`` in one column.

        For `fold`, which gives the chunk alone: ``functools.partial(ClassMoments.of, n_classes=3)``.
        """
        codes = class_codes(chunk, n_classes)
        order = np.argsort(codes.astype(np.min_scalar_type(n_classes)), kind="stable")  # of small integers a radix sort
        ends = np.cumsum(np.bincount(codes, minlength=n_classes))
        columns = replace(chunk, y=None)
        try:
            return cls(tuple(Moments.of(columns, rows) for rows in np.split(order, ends[:-1])))
        except InvalidData:
            raise_not_finite(chunk)  # again, on the whole chunk, where the row has its right number

    @property
    def n_classes(self) -> int:
        """Number of classes, those without rows included."""
        return len(self.parts)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.parts[0].n_features

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of positive weight of each class."""
        return np.array([part.rows for part in self.parts], dtype=np.int64)

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weight of each class."""
        return np.array([part.weight for part in self.parts])

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each class, (K, p); zero where there are no rows."""
        return np.stack([part.mean for part in self.parts])

    def scatter(self, k: int) -> NDArray[np.float64]:
        """Return the scatter of class `k` about its own mean, (p, p)."""
        return self.parts[k].scatter

    def pooled(self) -> NDArray[np.float64]:
        """Return the scatter within classes, each about its own mean, added up, (p, p)."""
        total: Pair = reduce(add, (part.scatter_pair for part in self.parts))
        pooled: NDArray[np.float64] = total.high
        return pooled

    def total(self) -> Moments:
        """Return the moments of all rows, whatever their class."""
        return reduce(Moments.merge, self.parts)

    @property
    def peak(self) -> NDArray[np.float64]:
        """Yardstick of `rounding`, added up over the classes."""
        total: NDArray[np.float64] = np.sum([part.peak for part in self.parts], axis=0)
        return total

    @property
    def rounding(self) -> float:
        """Scalar c such that entries of `pooled` are within ``c * sqrt(peak[i] * peak[j])`` of the exact values."""
        return max(part.rounding for part in self.parts)

    def merge(self, other: Self) -> Self:
        """Return the statistic of the rows of both."""
        return type(self)(tuple(map(Moments.merge, self.parts, self._same_classes(other))))

    def subtract(self, other: Self) -> Self:
        """Return the statistic without the rows of `other`; raises `ForgetError` as `Moments` does."""
        return type(self)(tuple(map(Moments.subtract, self.parts, self._same_classes(other))))

    def check(self) -> None:
        """Refuse values from a model file that cannot be class moments."""
        expect(len(self.parts) > 0, "class-moments has no class")
        columns = {(part.n_features, part.n_targets) for part in self.parts}
        expect(len(columns) == 1, "class-moments holds moments of different columns")

    def _same_classes(self, other: Self) -> tuple[Moments, ...]:
        if self.n_classes != other.n_classes:
            raise InvalidData(
                f"These class moments are of {self.n_classes} classes, the others of {other.n_classes}. "
                "Only statistics of the same classes merge."
            )
        return other.parts


def class_codes(chunk: Chunk, n_classes: int) -> NDArray[np.int64]:
    """Return the class numbers in the one target column of a chunk, or refuse what is not one."""
    if chunk.y is None or chunk.n_targets != 1:
        raise InvalidData(f"Class moments need one column of class numbers in y, got {chunk.n_targets}.")
    given: NDArray[Any] = chunk.y[:, 0]
    is_class = (given >= 0) & (given < n_classes) & (given == np.floor(given))
    if not is_class.all():
        row = int(np.flatnonzero(~is_class)[0])
        raise InvalidData(
            f"Class numbers must be integers from 0 to {n_classes - 1}, got {float(given[row])!r} in row {row}."
        )
    return given.astype(np.int64)
