"""Data is a stream of typed chunks, folded into statistics that merge.

Map: `Source` (arrays, files) gives `Chunk` after `Chunk`; a statistic (`Moments`, `ColumnMoments`, `ClassMoments`, `ClassSpreads`,
`ClassSums`, `CategoryCounts`, `Counts`) is computed of each, and `fold` merges them in order. An executor (`Serial`, `Threads`,
or anything with an ordered ``map``) decides where this happens, never what comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._missing import later
from qed.data._chunk import Chunk, Origin, Schema
from qed.data._executors import Executor, Serial, Threads, executor
from qed.data._fold import Interrupted, Statistic, Stopped, fold
from qed.data._moments import Moments
from qed.data._sources import ArraySource, Source

if TYPE_CHECKING:
    from qed.data._class_moments import ClassMoments
    from qed.data._class_spreads import ClassSpreads
    from qed.data._class_sums import CategoryCounts, ClassSums
    from qed.data._column_moments import ColumnMoments
    from qed.data._counts import Counts
    from qed.data._parquet import ParquetSource, scan

__all__ = [
    "ArraySource",
    "CategoryCounts",
    "Chunk",
    "ClassMoments",
    "ClassSpreads",
    "ClassSums",
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
_HOMES = {
    "_class_moments": ("ClassMoments",),
    "_class_spreads": ("ClassSpreads",),
    "_class_sums": ("CategoryCounts", "ClassSums"),
    "_column_moments": ("ColumnMoments",),
    "_counts": ("Counts",),
    "_parquet": ("ParquetSource", "scan"),
}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
