"""What the columns of a table are, with a target or without, and the beginning of the record of a fit."""

from __future__ import annotations

import platform
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qed.core import InvalidData, InvalidParameter, __version__
from qed.study._column_types import describe, said_form
from qed.study._schema import ColumnSchema, FitRecord, words_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qed.study._clock import Clock
    from qed.study._raw import RawColumn, RawTable

OTHER_FORM = {"month first": "day first", "decimal point": "decimal comma"}  # of what is read in the more usual way


def read_as_said(raw: RawTable, types: Mapping[str, str], drop: Sequence[str]) -> RawTable:
    """Read columns in the format that the user says, or the others have; refuse names that the table has not."""
    for name in (*types, *drop):
        raw.column(name, error=InvalidParameter)
    said = tuple(one.read_as(said_form(one.name, types)) for one in raw.columns)
    return replace(raw, columns=_as_the_others(said))


def _as_the_others(columns: Sequence[RawColumn]) -> tuple[RawColumn, ...]:
    """Read what may be read in two ways as the other columns of the table are written, where those agree."""
    told = {part for one in columns if not one.ambiguity for part in one.form.split("; ")}
    if any(_has_points(one) for one in columns):
        told.add("decimal point")
    out = []
    for one in columns:
        usual = one.form.split("; ")[-1]
        other = OTHER_FORM.get(usual, "")
        out.append(one.read_as(other) if one.ambiguity and other in told and usual not in told else one)
    return tuple(out)


def _has_points(column: RawColumn) -> bool:
    """Whether a column holds fractions written in the usual way."""
    if column.kind != "number" or column.form or column.values is None:
        return False
    known = column.values[~column.gaps]
    return bool((known != np.floor(known)).any())


def describe_column(
    column: RawColumn, types: Mapping[str, str], drop: Sequence[str], target: RawColumn | None
) -> ColumnSchema:
    """Decide what a column is, unless it is left out."""
    if column.name in drop:
        return ColumnSchema(column.name, "dropped", "you said so", "", words_array([]), 0.0, 0, "")
    return describe(column, types, target)


def require_used(columns: Sequence[ColumnSchema], *, purpose: str) -> None:
    """Refuse a table of which no column can be used: say of each why, and how to use it all the same."""
    if any(one.is_used for one in columns):
        return
    why = "; ".join(f"{one.name[:40]!r} is left out ({one.kind}: {one.reason[:100]})" for one in columns[:4])
    more = f"; and {len(columns) - 4} more" if len(columns) > 4 else ""
    raise InvalidData(
        f"No column is left {purpose}: {why}{more}. Say what a column is, such as --types {columns[0].name[:40]}=category:"
        " number, code, category, yes/no, date or text."
    )


def ambiguities(raw: RawTable, drop: Sequence[str]) -> list[str]:
    """Say what was read in one of two ways, and how to have it the other way."""
    return [
        f"Column {one.name!r}: {one.ambiguity}. If that is wrong, say --types"
        f" {shlex.quote(one.name + '=' + OTHER_FORM[one.form.split('; ')[-1]].replace(' ', '-'))}."
        for one in raw.columns
        if one.ambiguity and one.name not in drop
    ]


def begin_record(
    raw: RawTable, rows: int, *, seed: int, digest: str, command: str, clock: Clock, notes: Sequence[str]
) -> FitRecord:
    """Note where the rows come from; how the fit went is filled in at its end."""
    versions = {"qed": __version__, "python": platform.python_version(), "numpy": np.__version__}
    return FitRecord(
        raw.source, digest, raw.n_rows, rows, rows, 0, seed, clock.budget, 0.0, "", command, {}, versions, tuple(notes), False
    )  # fmt: skip
