"""A pipeline that knows its table: it takes frames and files, in words and dates, and gives numbers, classes, probabilities."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, ModelFileError
from qed.core._persistence import load as load_estimator
from qed.study._column_types import YES
from qed.study._compare_schema import read_as_then, require_columns, require_target
from qed.study._contributions import BACKGROUND, FEWEST_ROWS, explained
from qed.study._encode import encode
from qed.study._losses import answers, decided
from qed.study._source import BLOCK_ROWS, read_table
from qed.study._table_pipeline import TablePipeline, shuffled, sound_parts
from qed.study._task import encode_target
from qed.study._unseen import Unseen

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from qed.inspection import Explanation
    from qed.metrics import Score
    from qed.study._raw import RawTable
    from qed.study._schema import TableSchema, TargetSchema

Array = np.ndarray[Any, Any]
MOST_WAITING = 2  # blocks that are encoded before the pipeline takes them


class TableModel(TablePipeline):
    """A fitted pipeline of one column, the target, together with what it remembers of its table.

    Parameters
    ----------
    pipeline : Pipeline
        Preparation and model, fitted on the numbers that `encode` makes of the table.
    schema : TableSchema
        Columns, target, and how the model was made.
    """

    schema: TableSchema

    @property
    def classes_(self) -> Array:
        """The labels; empty for numbers."""
        return self.schema.target.labels

    def answers(self, blocks: Iterable[RawTable]) -> Array:
        """Return predicted numbers within the possible range, or the probabilities of all classes, for rows that come in blocks.

        While the pipeline works on one block, the next one is read and encoded.

        Parameters
        ----------
        blocks : iterable of RawTable
            The rows, in order.
        """
        unseen, target = Unseen(self.schema.columns), self.schema.target
        said: list[Future[Array]] = []
        with sound_parts(), ThreadPoolExecutor(1) as worker:
            for block in blocks:
                if len(said) > MOST_WAITING:
                    said[-MOST_WAITING].result()
                said.append(worker.submit(answers, self.pipeline, encode(block, self.schema.columns, unseen), target))
            found = [one.result() for one in said]
        self._remember(unseen)
        if not len(self.classes_):
            self.notices += _beyond_targets(found, target)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def predict(self, table: Any) -> Array:
        """Predict for new rows.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            Rows; columns are found by name.

        Returns
        -------
        ndarray of shape (n,)
            Numbers, or labels: words, or what the table held, such as True and False or whole numbers.
        """
        if len(self.classes_):
            return np.asarray(typed_classes(self.schema.target)[decided(self.predict_proba(table), self.schema.target)])
        return self.answers(read_table(table).blocks(BLOCK_ROWS))

    def score(self, table: Any, target: Any = None) -> float:
        """Return R² of numbers, or the share of classes predicted right, on rows with the target.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            Rows, best such that the model was not fitted on.
        target : array-like of shape (n,), optional
            The target, where the table has it not.
        """
        raw, name = read_table(table), self.schema.target.name
        if target is not None:
            own = read_table({name: np.asarray(target).ravel()})
            if own.n_rows != raw.n_rows:
                raise InvalidData(f"The target has {own.n_rows:,} entries, and the table {raw.n_rows:,} rows.")
            raw = replace(raw, columns=(*own.columns, *(one for one in raw.columns if one.name != name)))
        rows, y = usable_rows(raw, self.schema)
        said = self.answers(rows.blocks(BLOCK_ROWS))
        if len(self.classes_):
            return float(np.mean(decided(said, self.schema.target) == y))
        total = float(np.sum((y - y.mean()) ** 2))
        return 1.0 - float(np.sum((y - said) ** 2)) / total if total > 0 else float("nan")

    def __repr__(self) -> str:
        fit_record, target = self.schema.fit_record, self.schema.target
        scores = ", ".join(f"{name} {value:.4g}" for name, value in fit_record.scores.items())
        return (
            f"<qed model of {target.name!r}: {fit_record.candidate}; {len(self.schema.used)} columns, {fit_record.rows_fitted:,}"
            f" rows of {fit_record.source}; held out: {scores}>"
        )

    def _repr_html_(self) -> str:
        return as_table(self.schema)

    def predict_proba(self, table: Any) -> Array:
        """Return the probability of every class, in the order of ``classes_``.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            Rows.

        Returns
        -------
        ndarray of shape (n, classes)
            Rows that add up to one.
        """
        if not len(self.classes_):
            raise InvalidData(f"{self.schema.target.name!r} is a number: there are no classes and no probabilities.")
        return self.answers(read_table(table).blocks(BLOCK_ROWS))

    def explain(self, table: Any, *, against: Any = None, rows: int | None = None, seed: int = 0) -> Explanation:
        """Return what each column contributes to the predictions of rows: Shapley values, compared with other rows.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            Rows to explain.
        against : frame, dict of columns, path or query, optional
            Rows to compare with, of which some are drawn: those of the fit, for example. By default those of ``table``.
        rows : int, optional
            How many rows to explain, from the first on; all by default.
        seed : int
            For the draw, and for models that are sampled.

        Returns
        -------
        Explanation
            In the columns of the table: base value plus contributions is the prediction, its probability or its score.
        """
        if rows is not None and rows < 1:
            raise InvalidParameter(f"At least one row must be explained, got {rows}.")
        others = None if against is None else encode(read_table(against), self.schema.columns)
        X = self._matrix(table)
        others = X if others is None else others
        if not len(X):
            raise InvalidData("The table has no rows to explain.")
        if len(others) < FEWEST_ROWS:
            raise InvalidData(
                f"A row is explained by what sets it apart from others, and {len(others)} are too few to compare with: at least"
                f" {FEWEST_ROWS} are needed. Name a table of others, such as that of the fit, with --against."
            )
        drawn = others[np.random.default_rng(seed).permutation(len(others))[:BACKGROUND]]
        with sound_parts():
            return explained(self.pipeline, X[:rows], drawn, self.schema.columns, self.schema.target, seed=seed)

    def rows_of_fit(self, table: Any) -> tuple[Array, Array]:
        """Return the numbers that the pipeline was fitted on, from the table that it was fitted on.

        Parameters
        ----------
        table : frame, dict of columns, path or query
            The same rows as at the fit.
        """
        raw = read_table(table)
        fit_record = self.schema.fit_record
        rows, y = usable_rows(raw, self.schema)
        unseen = Unseen(self.schema.columns)
        X = encode(rows, self.schema.columns, unseen)
        self.notices = unseen.notices()
        fitted = shuffled(X, y, fit_record.seed)[: fit_record.rows_fitted]
        return X[fitted], y[fitted]

    def _require_output(self, table: RawTable) -> None:
        """Refuse columns and a target that are not what these rows show."""
        columns, target = self.schema.columns, self.schema.target
        read = read_as_then(table, columns, target)
        present = ~read.column(target.name, "target column").gaps
        rows = read if present.all() else read.rows(present)
        column = rows.column(target.name)
        require_target(target, column)
        require_columns(columns, rows, column)


def typed_classes(target: TargetSchema) -> Array:
    """Return the classes as what the table held: words, truths, whole numbers or numbers."""
    if target.entries == "truth":
        return np.array([label.lower() in YES for label in target.labels])
    if target.entries in ("whole", "number"):
        return np.array([float(label) for label in target.labels]).astype(
            np.int64 if target.entries == "whole" else float
        )
    return target.labels


def _beyond_targets(said: list[Array], target: TargetSchema) -> list[str]:
    """Count predictions that no target of the fit comes near."""
    beyond = sum(int(np.count_nonzero((block < target.low) | (block > target.high))) for block in said)
    if not beyond:
        return []
    verb = "prediction lies" if beyond == 1 else "predictions lie"
    return [
        f"{beyond:,} {verb} outside {target.low:.6g} to {target.high:.6g}, the range of {target.name!r} at the fit."
    ]


def as_table(schema: TableSchema, scores: Mapping[str, Score] | None = None) -> str:
    """Show a model in a notebook, with the intervals of its scores where they are known."""
    fit_record = schema.fit_record
    judged = f"on {fit_record.held_out:,} rows kept aside until the final fit"
    known = {name: f"{value:.4g}" for name, value in fit_record.scores.items()}
    for name, one in (scores or {}).items():
        known[name] = f"{one.value:.4g} ({one.lower:.4g} to {one.upper:.4g})"
    rows = [
        ("predicts", f"{schema.target.name} ({schema.target.task})"),
        ("model", fit_record.candidate),
        ("columns", ", ".join(one.name for one in schema.used[:12]) + (" …" if len(schema.used) > 12 else "")),
        ("rows fitted", f"{fit_record.rows_fitted:,} of {fit_record.source}"),
        *((name, f"{value} {judged}") for name, value in known.items()),
    ]
    return html_table(rows)


def html_table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table for a notebook; the first entry of each row is its name."""
    from qed.core._escape import escaped  # noqa: PLC0415  (notebooks only)

    left = "style='text-align:left'"
    top = "".join(f"<th {left}>{escaped(one)}</th>" for one in head)
    cells = "".join(
        f"<tr><th {left}>{escaped(name)}</th>{''.join(f'<td {left}>{escaped(one)}</td>' for one in others)}</tr>"
        for name, *others in rows
    )
    return f"<table>{f'<tr>{top}</tr>' if head else ''}{cells}</table>"


def load_predictor(path: str | os.PathLike[str]) -> TableModel:
    """Read a model file of ``qed fit``; a model without a target raises an error."""
    found = load(path)
    if not isinstance(found, TableModel):
        raise InvalidParameter(
            f"{str(path)!r} has no target: it gives clusters, coordinates or anomalies. This needs a model of qed fit."
        )
    return found


def load(path: str | os.PathLike[str]) -> TablePipeline:
    """Read a model file of ``qed fit``, ``qed cluster``, ``qed embed`` or ``qed detect``.

    Parameters
    ----------
    path : str or path-like
        The file, trusted or not.

    Returns
    -------
    TableModel or UnsupervisedModel
        The model.
    """
    found = load_estimator(path)
    if not isinstance(found, TablePipeline):
        raise ModelFileError(
            f"{str(path)!r} holds {type(found).__name__} and nothing about a table, so it takes numbers alone: use"
            " qed.load in Python."
        )
    return found


def usable_rows(raw: RawTable, schema: TableSchema) -> tuple[RawTable, Array]:
    """Return the rows that have a target, and their targets."""
    y, strange = encode_target(raw.column(schema.target.name, "target column"), schema.target)
    if strange:
        raise InvalidData(f"Column {schema.target.name!r} holds {strange[0][:40]!r}, which is no class of the model.")
    present = ~np.isnan(y)
    return (raw, y) if present.all() else (raw.rows(present), y[present])
