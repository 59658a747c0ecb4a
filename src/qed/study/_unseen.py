"""What new rows hold that those of the fit did not, gathered block by block and told at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._schema import ColumnSchema

Array = np.ndarray[Any, Any]
SHIFT = 0.2  # share of entries that may change sides of the median before it is said
FEWEST_FOR_A_SHIFT = 30
MARGIN = 0.1  # of the range: a little beyond it is what new rows are now and then
MOST_STRAYS = 1000  # distinct words of a column that are remembered for the message


@dataclass
class ColumnTally:
    """What was counted of one column: entries on either side of the median, far ones, and words that nobody knows."""

    notes: list[str] = field(default_factory=list)
    present: int = 0
    below: int = 0
    above: int = 0
    far: int = 0
    first_far: tuple[float, int] = (math.nan, 0)  # its number, and its row
    strays: dict[str, int] = field(default_factory=dict)  # words, and the rows where they come first
    stray_words: str = ""


class Unseen:
    """What new rows hold that the fit has not seen.

    Parameters
    ----------
    columns : sequence of ColumnSchema
        What the columns were at the fit.

    Attributes
    ----------
    n_rows : int
        Rows so far.
    """

    def __init__(self, columns: Sequence[ColumnSchema]) -> None:
        self.columns = columns
        self.n_rows = 0
        self.tallies: dict[str, ColumnTally] = {}
        self.rows: dict[str, list[Array]] = {}

    def tally(self, column: ColumnSchema) -> ColumnTally:
        """Return what was counted of a column."""
        return self.tallies.setdefault(column.name, ColumnTally())

    def note(self, column: ColumnSchema, words: Sequence[str]) -> None:
        """Remember sentences about a column, each once."""
        notes = self.tally(column).notes
        notes += [one for one in words if one not in notes]

    def numbers(self, column: ColumnSchema, values: Array) -> None:
        """Count entries on either side of the median of the fit, and those far beyond its range."""
        tally = self.tally(column)
        tally.present += int(np.count_nonzero(values == values))  # noqa: PLR0124  (NaN)
        tally.below += int(np.count_nonzero(values < column.middle))
        tally.above += int(np.count_nonzero(values > column.middle))
        room = MARGIN * (column.high - column.low)
        low, high = column.low - room, column.high + room
        if not (np.count_nonzero(values < low) or np.count_nonzero(values > high)):
            return  # also where the file of an earlier version knows no range
        rows = np.flatnonzero((values < low) | (values > high))
        if not tally.far:
            tally.first_far = float(values[rows[0]]), self.n_rows + int(rows[0])
        tally.far += len(rows)
        self.strange(column, rows)

    def strange(self, column: ColumnSchema, rows: Array) -> None:
        """Remember rows of this block whose entry is like nothing at the fit."""
        self.rows.setdefault(column.name, []).append(rows + self.n_rows)

    def words(self, column: ColumnSchema, strays: Sequence[tuple[str, int]], what: str) -> None:
        """Remember words that mean nothing to the model, with the rows of this block where they come first."""
        tally = self.tally(column)
        tally.stray_words = what
        for word, row in strays:
            if len(tally.strays) < MOST_STRAYS:
                tally.strays.setdefault(word, self.n_rows + row)

    def notices(self) -> list[str]:
        """Say what there is to say, column by column."""
        found: list[str] = []
        for column in self.columns:
            tally = self.tallies.get(column.name)
            if tally is not None:
                found += [*tally.notes, *_strays(column, tally), *_shift(column, tally), *_far(column, tally)]
        if self.rows:
            rows = len(np.unique(np.concatenate([one for rows in self.rows.values() for one in rows])))
            some = f"{rows:,} of {self.n_rows:,} rows hold" if rows != 1 else f"1 of {self.n_rows:,} rows holds"
            found.append(
                f"{some} something that the fit has not seen: there the predictions are guesses beyond the data."
            )
        return found

    def by_row(self) -> dict[int, list[str]]:
        """Return by row the columns whose entry is like nothing at the fit."""
        found: dict[int, list[str]] = {}
        for name, blocks in self.rows.items():
            for rows in blocks:
                for row in rows.tolist():
                    found.setdefault(row, []).append(name)
        return found


def _strays(column: ColumnSchema, tally: ColumnTally) -> list[str]:
    if not tally.strays:
        return []
    strays = list(tally.strays.items())
    shown = ", ".join(f"{word[:30]!r} (row {row + 1})" for word, row in strays[:3])
    more = f" and {len(strays) - 3} more" if len(strays) > 3 else ""
    verb = "is" if len(strays) == 1 else "are"
    return [f"Column {column.name!r}: {shown}{more} {verb} {tally.stray_words}."]


def _shift(column: ColumnSchema, tally: ColumnTally) -> list[str]:
    """Tell of a column most of whose entries lie on one side of the median of the fit, beyond what chance gives."""
    if math.isnan(column.middle) or tally.present < FEWEST_FOR_A_SHIFT:
        return []
    share = max(tally.below, tally.above) / tally.present
    if share <= 0.5 + SHIFT + 2 / math.sqrt(tally.present):  # four standard errors of a share
        return []
    side = "below" if tally.below > tally.above else "above"
    middle = f"{column.middle:.6g}" if _kind(column) == "number" else text_of(column.middle, _kind(column))
    return [
        f"Column {column.name!r} has shifted: {100 * share:.0f} % of its entries lie {side} {middle}, the median of the fit."
    ]


def _far(column: ColumnSchema, tally: ColumnTally) -> list[str]:
    if not tally.far:
        return []
    value, row = tally.first_far
    low, high, first = (text_of(one, _kind(column)) for one in (column.low, column.high, value))
    verb = "entry lies" if tally.far == 1 else "entries lie"
    words = (
        f"Column {column.name!r}: {tally.far:,} {verb} far outside {low} to {high}, the range of the fit, such as {first} in"
        f" row {row + 1}."
    )
    return [words]


def _kind(column: ColumnSchema) -> str:
    return "moment" if column.kind == "date" else "number"
