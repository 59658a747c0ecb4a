"""Rows from frames that are partitions of one table: pandas, polars, Arrow; in memory, or wherever Dask has them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter
from qed.core._mixed import as_column
from qed.data._chunk import Chunk, MixedChunk, Origin, Schema
from qed.data._sources import Readable, check_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qed.data._parts import Part

WORDS = ("String", "Categorical")  # how the names of the types of words begin
CATEGORIES = "Categorical"
SHOWN = 200  # characters of a list of categories that an error shows as it is: two of them fit on a screen
UNKNOWN_TO_DASK = "__UNKNOWN_CATEGORIES__"  # what stands in a frame of no rows for categories that nobody has read yet
PIECE_BYTES = 1 << 23  # of a frame in this process that is sent elsewhere: Dask warns of tasks above 10 MB


@dataclass(frozen=True)
class FrameLayout:
    """What is read of each frame: which columns as what, their types, and how many rows at a time."""

    features: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None
    types: Mapping[str, str]
    dtype: np.dtype[Any]
    batch_rows: int

    @property
    def schema(self) -> Schema:
        """The columns."""
        count = len(self.features), len(self.targets)
        return Schema(self.features, *count, self.dtype, self.weight is not None, self.words)

    @property
    def words(self) -> tuple[int, ...]:
        """Features that hold words."""
        return tuple(j for j, name in enumerate(self.features) if self.types[name].startswith(WORDS))

    def chunks(self, frame: Any, label: str, first_row: int = 0) -> Iterator[Any]:
        """Cut a frame into chunks; its columns are compared with those of the first frame."""
        seen = _seen(frame, label)
        check_types(seen, self, label)
        n = len(seen)
        for start in range(0, n, self.batch_rows):
            rows = seen[start : min(start + self.batch_rows, n)]
            origin = Origin(((0, label, first_row + start),), self.features, self.targets)
            weight = None
            if self.weight is not None:
                weight = _numbers(rows, (self.weight,), np.dtype(np.float64), label, first_row + start, gaps=False)[
                    :, 0
                ]
                check_weights(weight, f"The weights in column {self.weight!r} of {label}", first_row=first_row + start)
            y = None
            if self.targets:
                y = _numbers(rows, self.targets, np.dtype(np.float64), label, first_row + start, gaps=False)
            if self.words:
                yield MixedChunk(*self._mixed(rows, label, first_row + start), y, weight, origin)
                continue
            yield Chunk(
                _numbers(rows, self.features, self.dtype, label, first_row + start, gaps=True), y, weight, origin
            )

    def _mixed(self, rows: Any, label: str, first_row: int) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
        """Return numbers and places of words, and the list of words of each column."""
        plain = [name for name in self.features if not self.types[name].startswith(WORDS)]
        table = np.empty((len(rows), len(self.features)), self.dtype, order="F")
        words: list[Any] = [None] * len(self.features)
        is_plain = [name in plain for name in self.features]
        table[:, is_plain] = _numbers(rows, plain, self.dtype, label, first_row, gaps=True)
        for j in self.words:
            table[:, j], words[j] = _coded(rows[self.features[j]])
        return table, tuple(words)


@dataclass(frozen=True, eq=False)
class FramePart:
    """Some rows of a frame in memory."""

    layout: FrameLayout
    frame: Any
    label: str
    first_row: int
    n_rows: int

    def chunks(self) -> Iterator[Any]:
        """Cut the frame."""
        return self.layout.chunks(self.frame, self.label, self.first_row)


class FrameSource(Readable):
    """Frames in memory as one table; made by `scan`, whose parameters it takes (with frames instead of paths)."""

    def __init__(self, frames: Sequence[Any], layout: FrameLayout) -> None:
        self._layout = layout
        parts: list[FramePart] = []
        size = max(1, PIECE_BYTES // (8 * len(layout.types)))
        first = _seen(frames[0], "partition 0") if frames else None
        for number, frame in enumerate(frames):
            label = f"partition {number}"
            seen = _seen(frame, label)
            check_types(seen, layout, label, first)
            cut = seen if len(seen) <= size else None  # small frames are sent as they are
            for start in range(0, len(seen), size):
                rows = seen if cut is not None else seen[start : start + size]
                parts.append(FramePart(layout, rows.to_native(), label, start, len(rows)))
        self._parts = tuple(parts)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._layout.schema

    @property
    def n_rows(self) -> int:
        """Rows of all frames."""
        return sum(part.n_rows for part in self._parts)

    @property
    def in_memory(self) -> bool:
        """False: a chunk is a converted copy of some rows, and workers of a cluster are sent theirs."""
        return False

    def parts(self) -> Sequence[Part]:
        """Cut frames into pieces that are small enough to send."""
        return self._parts or (empty_part(self._layout),)

    def __repr__(self) -> str:
        layout = self._layout
        return f"<FrameSource: {self.n_rows} rows, {len(layout.features)} features, target {layout.targets}>"


def empty_part(layout: FrameLayout) -> EmptyPart:
    """Return the part of a source without rows: one chunk that has the columns all the same."""
    targets = np.empty((0, len(layout.targets))) if layout.targets else None
    weight = None if layout.weight is None else np.empty(0)
    table = np.empty((0, len(layout.features)), layout.dtype)
    if layout.words:
        words = tuple(np.empty(0, object) if j in layout.words else None for j in range(len(layout.features)))
        return EmptyPart(MixedChunk(table, words, targets, weight))
    return EmptyPart(Chunk(table, targets, weight))


@dataclass(frozen=True, eq=False)
class EmptyPart:
    """No rows, and their columns."""

    chunk: Any
    n_rows: int = 0
    label: str = "no rows"

    def chunks(self) -> Iterator[Any]:
        """Give the one chunk."""
        return iter((self.chunk,))


def frame_layout(
    first: Any, *, target: Any, features: Any, weight: str | None, batch_rows: int | None, label: str = "partition 0"
) -> FrameLayout:
    """Decide what is read of every frame by looking at the first."""
    from qed.data._parquet import chunk_rows, column_names  # noqa: PLC0415  (the same rules as for files)

    seen = _seen(first, label)
    targets = column_names("target", target)
    every = [name for name in seen.columns if name not in {*targets, weight}]
    chosen = tuple(every) if features is None else column_names("features", features)
    wanted = [*chosen, *targets, *([] if weight is None else [weight])]
    if not chosen:
        raise InvalidData(f"No column is left to learn from: {label} has {list(seen.columns)}.")
    twice = sorted({name for name in wanted if wanted.count(name) > 1})
    if twice:
        raise InvalidParameter(f"Column {twice[0]!r} is named for two roles (features, target, weight). Choose one.")
    _require_columns(seen, wanted, label)
    types = {name: _type(seen, name, label, words=name in chosen) for name in wanted}
    plain = [types[name] for name in chosen if not types[name].startswith(WORDS)]
    single = bool(plain) and all(kind == "Float32" for kind in plain)
    dtype = np.dtype(np.float32 if single else np.float64)
    return FrameLayout(chosen, targets, weight, types, dtype, chunk_rows(batch_rows, len(wanted)))


def check_types(seen: Any, layout: FrameLayout, label: str, first: Any = None) -> None:
    """Refuse a frame that lacks a column, or whose types or categories differ from those of the first.

    With the first frame at hand, the error names a category that differs.
    """
    _require_columns(seen, list(layout.types), label)
    for name, known in layout.types.items():
        found = _type(seen, name, label, words=name in layout.features)
        if found != known and not (known == CATEGORIES and found.startswith(CATEGORIES)):
            differing = "" if first is None else _differing(first[name], seen[name], label)
            raise InvalidDataType(
                f"Column {name!r} is {known} in the first partition and {found} in {label}{differing}. Convert it, so that all"
                " agree."
            )


def _seen(frame: Any, label: str) -> Any:
    import narwhals as nw  # noqa: PLC0415  (most users have arrays)

    try:
        return nw.from_native(_as_table(frame), eager_only=True)
    except TypeError as error:
        raise InvalidDataType(
            f"{label} is a {type(frame).__name__}; a pandas, polars or Arrow frame, or a path, is needed."
        ) from error


def _as_table(frame: Any) -> Any:
    if type(frame).__module__.startswith("pyarrow") and type(frame).__name__ == "RecordBatch":
        import pyarrow as pa  # noqa: PLC0415  (the frame is of it)

        return pa.Table.from_batches([frame])
    return frame


def _require_columns(seen: Any, wanted: Sequence[str], label: str) -> None:
    lacking = [name for name in wanted if name not in seen.columns]
    if lacking:
        have = ", ".join(repr(name) for name in seen.columns[:20])
        raise InvalidData(f"Column {lacking[0]!r} is not in {label}. Its columns are {have}.")


def _type(seen: Any, name: str, label: str, *, words: bool) -> str:
    """Name the type of a column of numbers, or of words, with the categories that its type lists."""
    import narwhals as nw  # noqa: PLC0415  (loaded by whoever calls)

    column = seen[name]
    if column.dtype.is_numeric() or isinstance(column.dtype, nw.Boolean):
        return type(column.dtype).__name__
    if words and isinstance(column.dtype, nw.String):
        return "String"
    if words and isinstance(column.dtype, nw.Categorical | nw.Enum):
        listed = _listed_categories(column)
        if listed is None:
            return CATEGORIES
        if all(isinstance(one, str) for one in listed):
            return f"{CATEGORIES} of {_in_short(sorted(listed))}"
    accepted = "numbers and words" if words else "numbers"
    raise InvalidDataType(
        f"Column {name!r} of {label} is {column.dtype}, and only {accepted} are accepted. Leave it out by naming the"
        " features=[...] you want, or encode it first."
    )


def _in_short(words: list[str]) -> str:
    """Return a list of words as text; a long one as their number and a digest, since types go with every part to a cluster."""
    text = str(words)
    return text if len(text) <= SHOWN else f"{len(words):,} words (digest {sha256(text.encode()).hexdigest()[:16]})"


def _differing(first: Any, column: Any, label: str) -> str:
    """Say how many categories only one of two columns lists, and which is the first of them."""
    one, other = (_listed_categories(own) for own in (first, column))
    if not (one and other):
        return ""
    alone = set(one) ^ set(other)
    word = min(alone)
    place = "the first partition" if word in one else label
    return f". Words that only one of them lists: {len(alone):,}, the first of them {word!r}, in {place}"


def _listed_categories(column: Any) -> list[Any] | None:
    """Return the categories that the type of a column lists; None where they are those that occur."""
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):  # pandas
        listed = list(native.cat.categories)
        return None if listed == [UNKNOWN_TO_DASK] else listed
    categories = getattr(column.dtype, "categories", None)
    return None if categories is None else list(categories)


def _coded(column: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the place of each word of a column in a list, -1 where it is missing, and the list."""
    coded = as_column(column)
    if coded.codes is not None and coded.words is not None:
        return coded.codes, coded.words
    entries = coded.dense
    missing = np.asarray(column.is_null())
    words, codes = np.unique(entries[~missing].astype(str), return_inverse=True)
    places = np.full(len(entries), -1)
    places[~missing] = codes
    return places, words.astype(object)


def _numbers(
    rows: Any, names: Sequence[str], dtype: np.dtype[Any], label: str, first_row: int, *, gaps: bool
) -> np.ndarray[Any, Any]:
    """Return columns as a table of numbers; a gap becomes NaN, or raises an error where there may be none."""
    import narwhals as nw  # noqa: PLC0415  (loaded by whoever calls)

    table = np.empty((len(rows), len(names)), dtype, order="F")
    for j, name in enumerate(names):
        column = rows[name]
        missing = column.null_count() if gaps else column.is_null().to_numpy()
        if not gaps and np.any(missing):
            row = first_row + int(np.flatnonzero(missing)[0])
            raise InvalidData(
                f"Column {name!r} has no value in row {row} of {label}. Fill in or leave out such rows first; a target and a"
                " weight are needed in every row."
            )
        kind = nw.Float32 if dtype == np.float32 else nw.Float64
        table[:, j] = column.cast(kind).to_numpy()
    return table
