"""Rows from Parquet files, in memory that does not grow with them.

Memory, beyond the statistic: three chunks (one in work, one read ahead, one in Arrow's columns on its way), each of
``batch_rows * columns * 8`` bytes and by default at most 32 MiB, plus for each column one page of the file, packed and
unpacked, and a read buffer of at most 256 KiB. The size of the files and of their row groups does not enter.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.data._chunk import Schema
from qed.data._parquet_files import DECLARABLE, check_columns, read_footer
from qed.data._parquet_parts import Layout, cut_parts
from qed.data._sources import Readable, target_and_weight

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qed.data._parts import Part

CHUNK_BYTES = 1 << 25  # enough for the kernels to be busy, small enough to keep several
MOST_ROWS, FEWEST_ROWS = 1 << 16, 1 << 9


class ParquetSource(Readable):
    """Parquet files as one table; made by `scan`, whose parameters it takes (with files instead of patterns)."""

    def __init__(
        self,
        files: Sequence[str],
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        schema: Mapping[str, str] | None = None,
        batch_rows: int | None = None,
    ) -> None:
        self._declared = _checked_schema(schema)
        if batch_rows is not None and (isinstance(batch_rows, bool) or batch_rows < 1):
            raise InvalidParameter(f"scan's batch_rows must be an integer >= 1 or None, got {batch_rows!r}.")
        self._footers = tuple(read_footer(file) for file in files)
        self._targets = column_names("target", target)
        self._weight = weight
        others = {*self._targets, weight}
        every = [name for name in self._footers[0].types if name not in others]
        self._features = tuple(every) if features is None else column_names("features", features)
        self._check_roles()
        wanted = [*self._features, *self._targets, *([] if weight is None else [weight])]
        listed = [*wanted, *self._declared]
        check_columns(self._footers, listed, self._features, self._declared, all_of=features is None)
        dtype = np.dtype(np.float32 if self._is_single() else np.float64)
        first, rows = self._footers[0], chunk_rows(batch_rows, len(wanted))
        words = [j for j, name in enumerate(self._features) if name in first.words and name not in self._declared]
        layout = Layout(self._features, self._targets, weight, self._declared, dtype, rows, tuple(words))
        self._dtype, self._layout, self._parts = dtype, layout, cut_parts(self._footers, layout)

    @property
    def schema(self) -> Schema:
        """The columns; `X` is float32 when all features are stored or declared so, else float64."""
        layout = self._layout
        count = len(self._features), len(self._targets)
        return Schema(self._features, *count, self._dtype, self._weight is not None, layout.words)

    @property
    def n_rows(self) -> int:
        """Rows of all files together."""
        return sum(footer.n_rows for footer in self._footers)

    @property
    def in_memory(self) -> bool:
        """Always false: reading is worth overlapping with computing."""
        return False

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in the order they are read."""
        return tuple(footer.path for footer in self._footers)

    def __repr__(self) -> str:
        files = self._footers[0].name if len(self._footers) == 1 else f"{len(self._footers)} files"
        return f"<ParquetSource: {files}, {self.n_rows} rows, {len(self._features)} features, target {self._targets}>"

    def parts(self) -> Sequence[Part]:
        """Cut the files between row groups; each part can be read by another process that sees the files."""
        return self._parts

    def targets(self) -> Iterator[tuple[Any, Any]]:
        """Yield targets and weights of all chunks; no other column is read."""
        slim, layout = copy(self), replace(self._layout, features=(), words=())
        slim._parts = tuple(  # noqa: SLF001  (a copy of this source)
            replace(part, layout=layout) for part in self._parts
        )
        return slim.each(target_and_weight)

    def _check_roles(self) -> None:
        if not self._features:
            raise InvalidData(
                f"No column is left to learn from: {self._footers[0].name} has {list(self._footers[0].types)}."
            )
        for name in self._features:
            if name in self._targets or name == self._weight:
                role = "target" if name in self._targets else "weight"
                raise InvalidParameter(f"Column {name!r} is named as a feature and as the {role}. Choose one.")
        if self._weight in self._targets:
            raise InvalidParameter(f"Column {self._weight!r} is named as the target and as the weight. Choose one.")

    def _is_single(self) -> bool:
        """Say whether every feature of numbers is float32 (or narrower) in every file, or declared so, and there is one."""
        types = {(n, self._declared.get(n, footer.types[n])) for footer in self._footers for n in self._features}
        kinds = {kind for n, kind in types if n in self._declared or n not in self._footers[0].words}
        return bool(kinds) and kinds <= {"float", "halffloat", "float32"}


def chunk_rows(asked: int | None, n_columns: int) -> int:
    """Return the rows of a chunk: as asked for, or what fits into `CHUNK_BYTES`, within limits."""
    return asked or min(MOST_ROWS, max(FEWEST_ROWS, CHUNK_BYTES // (8 * max(1, n_columns))))


def column_names(role: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return column names as a tuple, each once."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) and role == "target" else tuple(given)
    if isinstance(given, str) and role != "target":
        raise InvalidParameter(
            f"scan's {role} must be several column names, got the single word {given!r}: [{given!r}]?"
        )
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameter(f"scan's {role} must be column names, got {given!r}.")
    if len(set(names)) < len(names):
        raise InvalidParameter(f"scan's {role} names a column twice: {list(names)}.")
    return names


def _checked_schema(schema: Mapping[str, str] | None) -> dict[str, str]:
    declared = dict(schema or {})
    for name, kind in declared.items():
        if kind not in DECLARABLE:
            raise InvalidParameter(f"scan's schema can declare {' or '.join(DECLARABLE)}, got {kind!r} for {name!r}.")
    return declared
