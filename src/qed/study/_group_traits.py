"""What sets a group of rows apart from the rest: means and shares, in standard deviations of the column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._schema import TEXT_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qed.study._schema import ColumnSchema

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Trait:
    """One number or category of a column, inside a group and in the other rows.

    Attributes
    ----------
    column : str
        The column.
    level : str
        The category, or the word of a text; empty for numbers and dates.
    kind : str
        What the column is.
    inside, outside : float
        Mean in the group and in the other rows; of a category its shares.
    difference : float
        Inside minus outside, in standard deviations of the column over all rows.
    """

    column: str
    level: str
    kind: str
    inside: float
    outside: float
    difference: float

    @property
    def name(self) -> str:
        """The column, and the category where there is one."""
        return f"{self.column} = {self.level}" if self.level else self.column


def group_traits(X: Array, columns: Sequence[ColumnSchema], groups: Array, n_groups: int) -> list[list[Trait]]:
    """Return what sets each group apart, the largest standardised difference first.

    Parameters
    ----------
    X : ndarray of shape (n, width)
        Rows as `encode` gives them.
    columns : sequence of ColumnSchema
        What the columns are.
    groups : ndarray of int of shape (n,)
        The group of each row, from zero.
    n_groups : int
        How many groups there are.
    """
    found: list[list[Trait]] = [[] for _ in range(n_groups)]
    for column, level, values in _indicators(X, columns):
        present = ~np.isnan(values)
        own, entries = groups[present], values[present]
        spread = float(entries.std()) if len(entries) else 0.0
        if spread == 0:
            continue
        counts = np.bincount(own, minlength=n_groups)
        sums = np.bincount(own, entries, minlength=n_groups)
        for group in range(n_groups):
            rest = len(entries) - counts[group]
            if counts[group] and rest:
                inside = float(sums[group] / counts[group])
                outside = float((sums.sum() - sums[group]) / rest)
                found[group].append(
                    Trait(column.name, level, column.kind, inside, outside, (inside - outside) / spread)
                )
    return [_strongest(one) for one in found]


def _strongest(traits: list[Trait]) -> list[Trait]:
    """Sort by size; of two categories of one column that say the same, yes and no for instance, one is enough."""
    found: list[Trait] = []
    for one in sorted(traits, key=lambda trait: -abs(trait.difference)):
        twin = any(
            one.level and other.column == one.column and np.isclose(other.difference, -one.difference)
            for other in found
        )
        if not twin:
            found.append(one)
    return found


def _indicators(X: Array, columns: Sequence[ColumnSchema]) -> Iterator[tuple[ColumnSchema, str, Array]]:
    """Return every number, and of every category and word whether a row has it."""
    at = 0
    for column in columns:
        if not column.is_used:
            continue
        if column.kind in ("number", "date"):
            yield column, "", X[:, at]
        elif column.kind == "text":
            for place, word in enumerate(column.words):
                yield column, str(word), X[:, at + TEXT_NUMBERS + place]
        else:
            codes = X[:, at]
            often = np.bincount(codes[codes >= 0].astype(np.int64), minlength=len(column.words))
            for place in np.flatnonzero(often).tolist():
                yield column, str(column.words[place]), np.where(np.isnan(codes), np.nan, codes == place)
        at += column.width
