"""Data is a stream of typed chunks, folded into statistics that merge.

Map: `Source` (arrays, files) gives `Chunk` after `Chunk`; a statistic (`Moments`, `ClassMoments`, `Counts`) is computed
of each, and `fold` merges them in order. An executor (`Serial`, `Threads`, or anything with an ordered ``map``) decides
where this happens, never what comes out.
"""

from __future__ import annotations

from qed.data._chunk import Chunk, Origin, Schema
from qed.data._class_moments import ClassMoments
from qed.data._counts import Counts
from qed.data._executors import Executor, Serial, Threads, executor
from qed.data._fold import Interrupted, Statistic, Stopped, fold
from qed.data._moments import Moments
from qed.data._parquet import ParquetSource, scan
from qed.data._sources import ArraySource, Source

__all__ = [
    "ArraySource",
    "Chunk",
    "ClassMoments",
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
