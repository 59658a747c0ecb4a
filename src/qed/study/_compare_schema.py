"""What a model file says of its table besides the pipeline, held against the table: how entries are read, and what answers may be.

The pipeline is verified on numbers. How words, dates and formats become those numbers, which classes there are and in what range
answers are kept stands in the schema, and follows from the same rows: it is described again, as the user said it then.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, QedError
from qed.study._column_types import describe
from qed.study._task import describe_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._raw import RawColumn, RawTable
    from qed.study._schema import ColumnSchema, TargetSchema

OF_COLUMNS = ("kind", "words", "form")
OF_NOTICES = (
    "low",
    "high",
    "middle",
)  # no answer depends on them, and files of earlier versions lack them: NaN says nothing
OF_TARGETS = ("task", "labels", "counts", "form", "low", "high", "entries")


def read_as_then(raw: RawTable, columns: Sequence[ColumnSchema], target: TargetSchema | None = None) -> RawTable:
    """Read every column in the format in which the fit read it."""
    forms = {one.name: one.form for one in columns} | ({} if target is None else {target.name: target.form})
    return replace(raw, columns=tuple(one.read_as(forms.get(one.name, "")) for one in raw.columns))


def require_columns(columns: Sequence[ColumnSchema], rows: RawTable, target: RawColumn | None) -> None:
    """Refuse columns that are described otherwise than these rows show them; their kind may be one that the user said."""
    for column in columns:
        if not column.is_used:
            continue
        try:
            again = describe(rows.column(column.name), {column.name: column.kind}, target)
        except QedError as error:
            raise CertificateError(f"Column {column.name!r} is no {column.kind}: {error}") from error
        stated = tuple(name for name in OF_NOTICES if not math.isnan(getattr(column, name)))
        _require_same(column, again, (*OF_COLUMNS, *stated), f"column {column.name!r}")


def require_target(target: TargetSchema, column: RawColumn) -> None:
    """Refuse classes, a range or a form of targets that these do not have; ``column`` has no gaps."""
    try:
        again = describe_target(column, "counts" if target.counts else target.task)
    except QedError as error:
        raise CertificateError(f"The target {target.name!r} is not what the model says: {error}") from error
    _require_same(target, again, OF_TARGETS, f"the target {target.name!r}")


def _require_same(stored: Any, found: Any, names: Sequence[str], of: str) -> None:
    for name in names:
        here, there = getattr(stored, name), getattr(found, name)
        if isinstance(here, np.ndarray):
            same, words = here.tolist() == there.tolist(), f"{len(here)} of them, and {len(there)} are there"
        else:
            same = here == there or (here != here and there != there)  # noqa: PLR0124  NaN: of what has no order
            words = f"{here!r:.60}, and it is {there!r:.60}"
        if not same:
            raise CertificateError(
                f"The model says of {of} another {name} than these rows give ({words}). It was changed after the fit,"
                " written by an earlier version, or the rows are others. Fit again, or restore the model file from a copy."
            )
