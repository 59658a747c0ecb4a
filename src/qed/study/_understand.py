"""What a table is about, before anything is fitted: the task, the columns, and what the user should look at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.study._column_types import describe, said_form
from qed.study._describe_table import ambiguities, begin_record, describe_column, read_as_said, require_used
from qed.study._model import usable_rows
from qed.study._schema import TableSchema
from qed.study._task import describe_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qed.study._clock import Clock
    from qed.study._raw import RawColumn, RawTable
    from qed.study._schema import ColumnSchema


Array = np.ndarray[Any, Any]

FEWEST_ROWS = 20
SHORTEST_NAME = 4  # letters of a target whose name inside another is no accident


def with_costs(schema: TableSchema, costs: tuple[float, float] | None) -> TableSchema:
    """Set the threshold of least expected cost, where p times the cost of a miss equals (1 - p) times that of an alarm."""
    if costs is None or schema.target.task != "binary":
        return schema
    alarm, missed = costs
    if not (alarm >= 0 and missed >= 0 and 0 < alarm + missed < float("inf")):
        raise InvalidParameter(f"Costs must be two numbers of at least zero, and not both zero, got {costs}.")
    return replace(schema, target=replace(schema.target, threshold=alarm / (alarm + missed)))


def understood(
    raw: RawTable,
    target: str,
    task: str | None,
    types: Mapping[str, str],
    drop: Sequence[str],
    seed: int,
    digest: str,
    command: str,
    clock: Clock,
) -> tuple[TableSchema, RawTable, Array]:
    """Decide task and columns; return them with the rows that have a target."""
    raw.column(target, "target column", InvalidParameter)
    raw = read_as_said(raw, types, drop)
    column = raw.column(target)
    if target in drop or (target in types and not said_form(target, types)):
        raise InvalidParameter(f"{target!r} is the target: say what it is with --task, and do not drop it.")
    present = ~column.gaps
    rows = raw if present.all() else raw.rows(present)
    lost = raw.n_rows - rows.n_rows
    notes = list(raw.notes)
    if lost:
        notes.append(f"{lost:,} row{'s' if lost > 1 else ''} without {target!r} left out.")
    notes += [f"The target {target!r}: {note}." for note in column.notes if "counted as missing" in note]
    notes += ambiguities(raw, drop)
    if rows.n_rows < FEWEST_ROWS:
        raise InvalidData(
            f"{rows.n_rows} row{' has' if rows.n_rows == 1 else 's have'} a value of {target!r}, and at least {FEWEST_ROWS} are"
            " needed to learn and to check. Add rows, or choose another target."
        )
    with Progress("columns") as progress:
        column = rows.column(target)
        goal = describe_target(column, task)
        columns = tuple(describe_column(one, types, drop, column) for one in rows.columns if one.name != target)
        progress.step(message=f"{goal.task}: {sum(one.is_used for one in columns)} of {len(columns)} columns used")
    if not columns:
        raise InvalidData("The target is the only column, so there is nothing to predict it from.")
    require_used(columns, purpose="to predict from")
    notes += _leaks(columns, types, rows, column)
    notes += _namesakes(columns, target)
    fit_record = begin_record(raw, rows.n_rows, seed=seed, digest=digest, command=command, clock=clock, notes=notes)
    schema = TableSchema(columns, goal, fit_record)
    _, y = usable_rows(rows, schema)
    return schema, rows, y


def _leaks(columns: Sequence[ColumnSchema], types: Mapping[str, str], rows: RawTable, target: RawColumn) -> list[str]:
    """Warn of columns that say the same as the target, left out or, where the user said so, used."""
    words = []
    for one in columns:
        if one.kind == "copy":
            words.append(
                f"Column {one.name!r} {one.reason}: left out, as it would not be known beforehand. Say --types {one.name}=… to"
                " keep it."
            )
        elif one.name in types and one.is_used:
            seen = describe(rows.column(one.name), {}, target)
            if seen.kind == "copy":
                words.append(f"Column {one.name!r} {seen.reason}, and is used because you said so.")
    return words


def _namesakes(columns: Sequence[ColumnSchema], target: str) -> list[str]:
    """Name the columns that are called after the target: they may be made of it, or known only after it."""
    plain = "".join(sign for sign in target.lower() if sign.isalnum())
    if len(plain) < SHORTEST_NAME:
        return []
    found = [
        one.name for one in columns if one.is_used and plain in "".join(s for s in one.name.lower() if s.isalnum())
    ]
    if not found:
        return []
    listed = ", ".join(repr(name) for name in found[:5])
    verb = "is" if len(found) == 1 else "are"
    return [f"{listed} {verb} called after the target: made of it, or known only after it? Then leave out with --drop."]
