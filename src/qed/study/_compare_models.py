"""Two models on the same rows: which one errs less, by how much, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.study._encode import encode
from qed.study._losses import row_losses
from qed.study._model import usable_rows
from qed.study._source import digest_of, read_table
from qed.study._table_pipeline import sound_parts
from qed.study._unseen import Unseen

if TYPE_CHECKING:
    from qed.study._model import TableModel


@dataclass(frozen=True)
class Versus:
    """The paired difference of two models' losses, first minus second: positive where the second is better.

    Attributes
    ----------
    measure : str
        What the loss is.
    first, second : float
        Mean loss of each model.
    difference, lower, upper : float
        Mean difference and the ends of its 95 % interval.
    n_rows : int
        Rows that were compared.
    notes : tuple of str
        What the reader should know.
    """

    measure: str
    first: float
    second: float
    difference: float
    lower: float
    upper: float
    n_rows: int
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the two lose the same on every row, as one model does compared with itself."""
        return self.lower == self.difference == self.upper == 0

    @property
    def better(self) -> int:
        """1 or 2 for the better model; 0 where the rows cannot tell."""
        return 0 if self.lower <= 0 <= self.upper else 2 if self.difference > 0 else 1


def versus(first: TableModel, second: TableModel, data: Any) -> Versus:
    """Compare two models on each row.

    Parameters
    ----------
    first, second : TableModel
        Models of the same target.
    data : frame, dict of columns, path or query
        Rows with the target; best rows that neither model was fitted on.

    Returns
    -------
    Versus
        The paired difference, with an interval over rows.
    """
    one, two = first.schema.target, second.schema.target
    if one.name != two.name or one.task != two.task:
        raise InvalidData(
            f"The first model predicts {one.name!r} ({one.task}), the second {two.name!r} ({two.task}): there is nothing to"
            " compare."
        )
    if sorted(one.labels) != sorted(two.labels):
        raise InvalidData("The two models know different classes.")
    table = read_table(data)
    losses = []
    for model in (first, second):
        rows, y = usable_rows(table, model.schema)
        unseen = Unseen(model.schema.columns)
        X = encode(rows, model.schema.columns, unseen)
        with sound_parts():
            found = row_losses(model.pipeline, X, y, model.schema.target)
        # absolute errors are in the unit of the target and less at the mercy of a few rows
        losses.append((np.sqrt(found) if one.task == "regression" else found, unseen.notices()))
    (a, notes_a), (b, notes_b) = losses
    if len(a) < 2:
        raise InvalidData(f"{len(a)} rows have a value of {one.name!r}, and at least two are needed.")
    gap = a - b
    half = 1.96 * float(gap.std(ddof=1)) / math.sqrt(len(gap))
    mean = float(gap.mean())
    digest = table.digest or digest_of(data)
    notes = [f"Model {at}: {note}" for at, noted in ((1, notes_a), (2, notes_b)) for note in noted]
    for at, model in ((1, first), (2, second)):
        if digest and digest == model.schema.fit_record.digest:
            notes.append(
                f"Model {at} was fitted on these very rows, which flatters it. Compare on rows that neither has seen."
            )
    measure = "mean absolute error" if one.task == "regression" else "log loss"
    return Versus(measure, float(a.mean()), float(b.mean()), mean, mean - half, mean + half, len(gap), tuple(notes))
