"""Data is a stream of typed chunks, folded into statistics that merge.

Map: `Source` (arrays, files) gives `Chunk` after `Chunk`; a statistic (`Moments`, `ColumnMoments`, `ClassMoments`, `ClassSpreads`,
`ClassSums`, `CategoryCounts`, `Counts`) is computed of each, and `fold` merges them in order. An executor (`Serial`, `Threads`,
or anything with an ordered ``map``) decides where this happens, never what comes out.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
