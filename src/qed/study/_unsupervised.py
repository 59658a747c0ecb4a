"""What `cluster`, `embed` and `detect` share: a table as rows of comparable numbers, and a fitted pipeline as a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.study._checked import Checked
from qed.study._clock import Clock, seconds_of
from qed.study._describe_table import ambiguities, begin_record, describe_column, read_as_said, require_used
from qed.study._encode import encode
from qed.study._recipes import MOST_CATEGORIES, places_of
from qed.study._schema import OutputSchema, UnsupervisedSchema, words_array
from qed.study._source import digest_of, read_table
from qed.study._stage import fit_quietly
from qed.study._table_pipeline import shuffled
from qed.study._unsupervised_model import UnsupervisedModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qed.compose import Pipeline
    from qed.study._raw import RawTable
    from qed.study._schema import ColumnSchema, FitRecord

Array = np.ndarray[Any, Any]

FEWEST_ROWS = 20
# Of a column whose third moment is larger than this, in standard deviations, a few entries decide every distance.
SKEWED = 1.0
MOST_CHECKED = 20_000_000  # numbers that are checked on the way: beyond, `qed verify` does it
SECONDS_TO_CHECK = 1.5e-6  # for a number, on the machine this was written on
SECONDS_TO_CHECK_TREES = 1e-3  # for a row


@dataclass(frozen=True)
class TableRows:
    """The rows of a table on their way into a model without a target.

    Attributes
    ----------
    rows : RawTable
        As they were read.
    columns : tuple of ColumnSchema
        What the columns are.
    X : ndarray of shape (n, width)
        The rows as numbers, NaN for gaps.
    order : ndarray of int of shape (n,)
        The rows at random, the same however the table is sorted.
    fit_record : FitRecord
        Where they come from.
    clock : Clock
        Time that is left.
    seed : int
        What every random choice follows from.
    """

    rows: RawTable
    columns: tuple[ColumnSchema, ...]
    X: Array
    order: Array
    fit_record: FitRecord
    clock: Clock
    seed: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def used(self) -> list[ColumnSchema]:
        """The columns that the model sees."""
        return [column for column in self.columns if column.is_used]

    def sample(self, most: int) -> Array:
        """Return so many rows at random, as numbers."""
        return self.X[self.order[:most]]


def table_rows(
    table: Any,
    *,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    budget: float | str = 60.0,
    command: str = "",
    clock: Clock | None = None,
) -> TableRows:
    """Read a table and decide what its columns are.

    Parameters
    ----------
    table : frame, dict of columns, path, query, or what `read_table` gave
        The rows.
    types, drop, seed, budget, command, clock
        As for `fit`.
    """
    clock = clock or Clock(seconds_of(budget))
    if not isinstance(seed, int) or seed < 0:
        raise InvalidParameter(f"The seed must be a whole number of at least zero, got {seed!r}.")
    with Progress("reading") as progress:
        raw = read_table(table, clock=clock)
        digest = raw.digest or digest_of(table)
        progress.step(message=raw.size)
    if raw.n_rows < FEWEST_ROWS:
        raise InvalidData(f"The table has {raw.n_rows} rows, and at least {FEWEST_ROWS} are needed. Add rows.")
    types = types or {}
    raw = read_as_said(raw, types, drop)
    with Progress("columns") as progress:
        columns = tuple(describe_column(one, types, drop, None) for one in raw.columns)
        progress.step(message=f"{sum(one.is_used for one in columns)} of {len(columns)} columns used")
    require_used(columns, purpose="to compare rows by")
    X = encode(raw, columns)
    notes = [*raw.notes, *ambiguities(raw, drop)]
    record = begin_record(raw, raw.n_rows, seed=seed, digest=digest, command=command, clock=clock, notes=notes)
    return TableRows(raw, columns, X, shuffled(X, np.zeros(len(X)), seed), record, clock, seed)


def prepared_pipeline(data: TableRows, model: Any) -> Pipeline:
    """Put a model behind a preparation that makes columns comparable.

    Each column has a variance of about one, whatever its unit and its number of categories, so that all count alike in a
    distance: numbers and dates are standardised, skewed numbers by Yeo and Johnson's power transform; categories become
    indicators, whose variances add up to less than one; texts become weighted words of length one. Gaps are filled with the median,
    and are a category of their own among categories.
    """
    from qed.compose import ColumnTransformer, Pipeline  # noqa: PLC0415
    from qed.preprocessing import (  # noqa: PLC0415
        DateFeatures,
        OneHotEncoder,
        PowerTransformer,
        SimpleImputer,
        StandardScaler,
        TfidfTransformer,
    )

    places = places_of(data.columns, form="linear")
    skewed = [at for at in places["number"] if _is_skewed(data.X[:, at])]
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    parts: list[tuple[str, Any, list[int]]] = []
    plain = [at for at in places["number"] if at not in skewed]
    if plain:
        parts.append(("numbers", Pipeline([("fill", fill), ("scale", StandardScaler())]), plain))
    if skewed:
        parts.append(("skewed numbers", Pipeline([("fill", fill), ("power", PowerTransformer())]), skewed))
    categories = sorted(places["category"] + places["yes/no"])
    if categories:
        encoder = OneHotEncoder(
            max_categories=MOST_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
        )
        parts.append(("categories", encoder, categories))
    if places["date"]:
        days = DateFeatures(["days_since"])
        parts.append(("dates", Pipeline([("days", days), ("fill", fill), ("scale", StandardScaler())]), places["date"]))
    if places["words"]:
        parts.append(("words", TfidfTransformer(), places["words"]))
    return Pipeline([("columns", ColumnTransformer(parts)), ("model", model)])


def prepare(data: TableRows, X: Array) -> Array:
    """Return rows as comparable numbers, by a preparation that is fitted on them."""
    columns = prepared_pipeline(data, None).steps[0][1]
    return np.asarray(columns.fit_transform(X), np.float64)


def require_different(Z: Array) -> None:
    """Refuse rows that are all alike."""
    if not np.any(np.ptp(Z, axis=0) > 0):
        raise InvalidData("All rows are the same in the columns that are used, so that there is nothing to tell apart.")


def has_only_numbers(data: TableRows) -> bool:
    """Say whether every column is a number or a date, so that a Gaussian density makes sense."""
    return all(column.kind in ("number", "date") for column in data.used)


def _is_skewed(values: Array) -> bool:
    present = values[~np.isnan(values)]
    spread = float(present.std()) if len(present) else 0.0
    if spread == 0:
        return False
    with np.errstate(over="ignore", under="ignore"):
        return bool(abs(float(np.mean(((present - present.mean()) / spread) ** 3))) > SKEWED)


def fit_final(data: TableRows, model: Any, rows: int, *, title: str) -> Any:
    """Fit preparation and model on so many rows."""
    with Progress("fitting") as progress:
        pipeline = prepared_pipeline(data, model)
        found = fit_quietly(pipeline, data.sample(rows), None, max(1.0, data.clock.left), data.clock)
        progress.step(message=f"{title} on {rows:,} rows")
    return found


def affordable_rows(data: TableRows, seconds: float, measured: int, most: int) -> int:
    """Return how many rows can be fitted in half of the time that is left, if some took so many seconds."""
    room = max(1.0, 0.5 * data.clock.left)
    return int(min(data.n_rows, most, max(measured, measured * room / max(seconds, 1e-6))))


def check(data: TableRows, pipeline: Any, rows: int, *, of_trees: bool = False) -> Checked | None:
    """Have the certificate checked by independent code, where that takes a moment."""
    from qed.verify import verify  # noqa: PLC0415

    size = rows * data.X.shape[1]
    seconds = SECONDS_TO_CHECK * size + SECONDS_TO_CHECK_TREES * rows * of_trees + 0.5
    if size > MOST_CHECKED or data.clock.left < seconds:
        return None
    with Progress("checking") as progress:
        try:
            verify(pipeline, data.sample(rows))
            found = Checked(
                True, "Every claim was computed again by code that shares nothing with the fit, and is true."
            )
        except CertificateError as error:
            found = Checked(False, str(error))
        progress.step(message="accepted" if found.is_accepted else "refused")
    return found


def finished_model(
    data: TableRows,
    pipeline: Any,
    output: OutputSchema,
    *,
    rows: int,
    scores: Mapping[str, float],
    notes: Sequence[str] = (),
) -> UnsupervisedModel:
    """Put a pipeline and what it remembers together, and close the record of the fit."""
    told = [*data.fit_record.notes, *notes]
    if rows < data.n_rows:
        told.append(f"The model was fitted on {rows:,} of {data.n_rows:,} rows: time or memory allow no more.")
    fit_record = replace(
        data.fit_record,
        rows_fitted=rows,
        seconds=data.clock.spent,
        candidate=output.method,
        scores=dict(scores),
        notes=tuple(told),
    )
    return UnsupervisedModel(pipeline, UnsupervisedSchema(data.columns, output, fit_record))


def output_of(task: str, method: str, labels: Sequence[str] = (), **others: Any) -> OutputSchema:
    """Say what a model gives."""
    given: dict[str, Any] = {"scores": np.zeros(0), **others}
    return OutputSchema(task, method, words_array(list(labels)), **given)
