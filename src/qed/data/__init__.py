"""Data is a stream of typed chunks, folded into statistics that merge.

Map: `Source` (arrays, files) gives `Chunk` after `Chunk`; a statistic (`Moments`, `ColumnMoments`, `ClassMoments`, `Counts`)
is computed of each, and `fold` merges them in order. An executor (`Serial`, `Threads`, or anything with an ordered ``map``)
decides where this happens, never what comes out.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qed.data._chunk import Chunk, Origin, Schema
from qed.data._executors import Executor, Serial, Threads, executor
from qed.data._fold import Interrupted, Statistic, Stopped, fold
from qed.data._moments import Moments
from qed.data._sources import ArraySource, Source

if TYPE_CHECKING:
    from qed.data._class_moments import ClassMoments
    from qed.data._column_moments import ColumnMoments
    from qed.data._counts import Counts
    from qed.data._parquet import ParquetSource, scan

__all__ = [
    "ArraySource",
    "Chunk",
    "ClassMoments",
    "ColumnMoments",
    "Counts",
    "Executor",
    "Interrupted",
    "Moments",
    "Origin",
    "ParquetSource",
    "Schema",
    "Serial",
    "Source",
    "Statistic",
    "Stopped",
    "Threads",
    "executor",
    "fold",
    "scan",
]

# Most fits need arrays and moments alone: the rest is loaded when it is first named.
_LATER = {
    "ClassMoments": "_class_moments",
    "ColumnMoments": "_column_moments",
    "Counts": "_counts",
    "ParquetSource": "_parquet",
    "scan": "_parquet",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
