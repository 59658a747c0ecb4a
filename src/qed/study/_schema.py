"""What a model remembers about its table: columns, target, and how it was made. Records, so that a model file can hold them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import ModelFileError
from qed.core._records import expect, expect_array, record
from qed.study._number_formats import FORMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.study._model import TableModel
    from qed.study._unsupervised_model import UnsupervisedModel


KINDS = ("number", "code", "category", "yes/no", "date", "text", "identifier", "constant", "copy", "dropped", "nested")
UNUSED = frozenset({"identifier", "constant", "copy", "dropped", "nested"})
TASKS = ("regression", "binary", "multiclass")
MOST_WORDS = 100_000
TEXT_NUMBERS = 2  # about the length of a text, before its words
FACTORS = 3.0  # greatest over least target from which on errors may well grow with the target


@record("study-column")
class ColumnSchema:
    """What a column is, why it is taken so, and what it held.

    Attributes
    ----------
    name : str
        Its name in the table.
    kind : str
        One of ``KINDS``.
    reason : str
        Why it is taken so, in words.
    unit : str
        Its unit, when its name states one.
    words : ndarray of str
        Categories, in the order of their codes; of a text the words that are looked for.
    missing : float
        Share of rows without an entry.
    distinct : int
        How many different entries there were.
    shown : str
        A few entries, or the range, for people.
    form : str
        How its numbers or dates are written, where there are several ways, so that new rows are read alike.
    low, high : float
        The least and the greatest number, or day; NaN where there is no order.
    repeats : bool
        Whether it has many values that come back, as names and numbers of people or places do: the mean target of each may tell.
    middle : float
        The median of numbers and dates.
    """

    name: str
    kind: str
    reason: str
    unit: str
    words: NDArray[np.object_]
    missing: float
    distinct: int
    shown: str
    form: str = ""
    low: float = math.nan
    high: float = math.nan
    repeats: bool = False
    middle: float = math.nan

    @property
    def is_used(self) -> bool:
        """Whether a model sees it."""
        return self.kind not in UNUSED

    @property
    def width(self) -> int:
        """How many numbers it becomes in front of the pipeline."""
        if not self.is_used:
            return 0
        return TEXT_NUMBERS + len(self.words) if self.kind == "text" else 1

    def check(self) -> None:
        """Refuse what no table can have."""
        expect(self.kind in KINDS, f"a column is of the unknown kind {self.kind[:40]!r}")
        expect_array(self.words, "the categories of a column", kinds="O", shape=(None,))
        expect(all(type(word) is str for word in self.words), "a category is no word")
        expect(len(set(self.words)) == len(self.words) <= MOST_WORDS, "the categories of a column are not distinct")
        expect(0 <= self.missing <= 1 and self.distinct >= 0, "a column has an impossible number of gaps or entries")
        expect(set(self.form.split("; ")) <= FORMS | {""}, "a column has an unknown format")
        expect(not self.low > self.high, "the least number of a column is above its greatest")


@record("study-target")
class TargetSchema:
    """What is predicted.

    Attributes
    ----------
    name : str
        The column.
    task : {"regression", "binary", "multiclass"}
        What there is to do.
    reason : str
        Why it is taken so.
    unit : str
        Its unit, when its name states one.
    labels : ndarray of str
        The classes in the order of their numbers; of two the second one is the positive. Empty for numbers.
    counts : bool
        Whether the numbers are counts: 0, 1, 2 and so on.
    form : str
        How its numbers are written, where there are several ways.
    low, high : float
        The least and the greatest number at the fit.
    entries : {"word", "truth", "whole", "number"}
        What its entries are, so that predicted classes come back as what the table holds.
    threshold : float
        The probability from which on the second of two classes is predicted.
    """

    name: str
    task: str
    reason: str
    unit: str
    labels: NDArray[np.object_]
    counts: bool
    form: str = ""
    low: float = math.nan
    high: float = math.nan
    entries: str = "word"
    threshold: float = 0.5

    @property
    def possible(self) -> tuple[float, float]:
        """The range that predictions of a number are kept in: never below zero where no target is, nor far beyond what was seen.

        Far is more than the whole range of the targets: a line may well go on a little, an exponential must not explode.
        """
        if math.isnan(self.low):  # the file of an earlier version
            return -math.inf, math.inf
        room = self.high - self.low
        return 0.0 if self.low >= 0 else self.low - room, self.high + room

    @property
    def is_positive(self) -> bool:
        """Whether the targets are positive numbers that differ by factors."""
        return self.low > 0 and self.high > FACTORS * self.low

    def check(self) -> None:
        """Refuse what no target can be."""
        expect(self.entries in ("word", "truth", "whole", "number"), "the entries of the target are of an unknown kind")
        if self.entries in ("whole", "number"):
            expect(all(_is_number(word) for word in self.labels), "a label is no number, and the target holds numbers")
        expect(not self.low > self.high, "the least number of the target is above its greatest")
        expect(0 <= self.threshold <= 1, "the threshold is no probability")
        expect(self.task in TASKS, f"the task is the unknown {self.task[:40]!r}")
        expect_array(self.labels, "the labels of the target", kinds="O", shape=(None,))
        expect(all(type(word) is str for word in self.labels), "a label is no word")
        expect(len(set(self.labels)) == len(self.labels), "the labels of the target are not distinct")
        fits = {"regression": len(self.labels) == 0, "binary": len(self.labels) == 2}
        expect(fits.get(self.task, len(self.labels) > 2), "the labels do not fit the task")
        expect(set(self.form.split("; ")) <= FORMS | {""}, "the target has an unknown format")


@record("study-story")
class FitRecord:
    """How a model was made, so that it can be checked and made again.

    Attributes
    ----------
    source, digest : str
        Where the rows came from, and the SHA-256 of the file, empty where there is none.
    rows_read, rows_used : int
        Rows of the table, and rows with a target.
    rows_fitted : int
        Rows that the model was fitted on: all, unless time ran out.
    held_out : int
        Rows that the comparison never saw; the final fit did.
    seed : int
        What every random choice follows from.
    budget, seconds : float
        Seconds allowed and spent.
    candidate : str
        The winner, in words.
    command : str
        What was typed.
    scores : dict of str to float
        Scores on the held-out rows.
    versions : dict of str to str
        What it was made with.
    notes : tuple of str
        What was noticed.
    is_interrupted : bool
        Whether Ctrl-C ended the comparison.
    """

    source: str
    digest: str
    rows_read: int
    rows_used: int
    rows_fitted: int
    held_out: int
    seed: int
    budget: float
    seconds: float
    candidate: str
    command: str
    scores: dict[str, float]
    versions: dict[str, str]
    notes: tuple[str, ...]
    is_interrupted: bool

    def check(self) -> None:
        """Refuse numbers that no fit has."""
        expect(0 < self.rows_fitted <= self.rows_used <= self.rows_read, "the numbers of rows do not fit each other")
        expect(self.seed >= 0 and self.held_out >= 0, "the seed or the number of held-out rows is negative")


class _UsedColumns:
    """What records that hold columns can say of them."""

    __slots__ = ()
    columns: tuple[ColumnSchema, ...]

    @property
    def used(self) -> tuple[ColumnSchema, ...]:
        """The columns that the model sees."""
        return tuple(column for column in self.columns if column.is_used)

    @property
    def width(self) -> int:
        """How many numbers a row becomes in front of the pipeline."""
        return sum(column.width for column in self.columns)

    def check(self) -> None:
        """Refuse columns that cannot stand side by side."""
        names = [column.name for column in self.columns]
        expect(len(set(names)) == len(names), "two columns have the same name")
        expect(self.width > 0, "no column is used")

    def require_fit(self, pipeline: Any, name: str) -> None:
        """Refuse a pipeline from a file that takes other columns."""
        if not hasattr(pipeline, "steps_") or getattr(pipeline, "n_features_in_", None) != self.width:
            raise ModelFileError(
                f"{name!r}: its pipeline and its columns do not fit each other. Restore it from a copy."
            )


@record("study-sheet", earlier={"story": "fit_record"})
class TableSchema(_UsedColumns):
    """Columns, target, and how the model was made: what stands beside the pipeline in a model file."""

    columns: tuple[ColumnSchema, ...]
    target: TargetSchema
    fit_record: FitRecord

    def check(self) -> None:
        """Refuse columns that cannot stand side by side."""
        _UsedColumns.check(self)
        expect(all(self.target.name != column.name for column in self.columns), "the target is among the columns")

    def opened(self, pipeline: Any, name: str) -> TableModel:
        """Put a pipeline that came from a file behind its table.

        Parameters
        ----------
        pipeline : Pipeline
            What the file holds.
        name : str
            The file, for the message.
        """
        from qed.study._model import TableModel  # noqa: PLC0415  (a record is read before there is a model)

        self.require_fit(pipeline, name)
        return TableModel(pipeline, self)


OUTPUTS = {"clusters": "cluster", "embedding": "embed", "anomalies": "detect"}  # what is given, and by which command


@record("study-output")
class OutputSchema:
    """What a model without a target gives for each row.

    Attributes
    ----------
    task : {"clusters", "embedding", "anomalies"}
        What it gives: a cluster, coordinates, or an anomaly score.
    method : str
        How, in words.
    labels : ndarray of str
        Names of the clusters in the order of their numbers in the model, or of the coordinates. Empty for anomalies.
    scores : ndarray of float
        Anomaly scores of rows like those of the fit, rising: what a new score is compared with. Empty for the others.
    rate : float
        The share of such rows that is called anomalous; NaN for the others.
    threshold : float
        The anomaly score above which a row is called anomalous; NaN for the others.
    """

    task: str
    method: str
    labels: NDArray[np.object_]
    scores: NDArray[np.float64]
    rate: float = math.nan
    threshold: float = math.nan

    def check(self) -> None:
        """Refuse what no such model gives."""
        expect(self.task in OUTPUTS, f"the model gives the unknown {self.task[:40]!r}")
        expect_array(self.labels, "the names of clusters or coordinates", kinds="O", shape=(None,))
        expect(all(type(word) is str for word in self.labels), "the name of a cluster or coordinate is no word")
        expect(len(set(self.labels)) == len(self.labels), "two clusters or coordinates have the same name")
        expect_array(self.scores, "the anomaly scores", shape=(None,), finite=True)
        expect(bool(np.all(np.diff(self.scores) >= 0)), "the anomaly scores do not rise")
        if self.task == "anomalies":
            expect(len(self.scores) > 0 and not len(self.labels), "a model of anomalies needs scores, and no names")
            expect(0 < self.rate < 1 and math.isfinite(self.threshold), "the rate or the threshold is impossible")
        else:
            expect(
                len(self.labels) > 0 and not len(self.scores), "a model of clusters or coordinates needs their names"
            )


@record("study-unsupervised", earlier={"story": "fit_record"})
class UnsupervisedSchema(_UsedColumns):
    """Columns, what the model gives, and how it was made: what stands beside a pipeline that was fitted without a target."""

    columns: tuple[ColumnSchema, ...]
    output: OutputSchema
    fit_record: FitRecord

    def opened(self, pipeline: Any, name: str) -> UnsupervisedModel:
        """Put a pipeline that came from a file behind its table.

        Parameters
        ----------
        pipeline : Pipeline
            What the file holds.
        name : str
            The file, for the message.
        """
        from qed.study._unsupervised_model import UnsupervisedModel  # noqa: PLC0415  (a record is read before there is a model)

        self.require_fit(pipeline, name)
        return UnsupervisedModel(pipeline, self)


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word)) and abs(float(word)) < 2.0**63
    except ValueError:
        return False


def words_array(words: Any) -> NDArray[np.object_]:
    """Put words into an array of objects, whatever their number."""
    out = np.empty(len(words), object)
    out[:] = list(words)
    return out
