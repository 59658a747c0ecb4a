"""Words of a source as numbers: their categories from one pass, and a source of their places among them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.data._chunk import Chunk
from qed.data._column_counts import ColumnCounts, Limit
from qed.data._fold import expect_passes, fold
from qed.data._parts import Changed
from qed.data._sources import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.data._chunk import MixedChunk, Schema
    from qed.data._parts import Part
    from qed.data._sources import Source

Array = np.ndarray[Any, Any]


def _count_words(chunk: Any, limit: Limit) -> ColumnCounts:  # all chunks of such a source hold words
    return ColumnCounts.of_words(chunk, limit)


def learn_words(source: Source, *, name: str, most: int, refusal: str) -> dict[int, Array]:
    """Return the categories of each column of words, sorted, None last where words are missing; one pass.

    A column of more than ``most`` categories ends it, with an error that says ``refusal`` after "Column 'a' has more than".
    """
    expect_passes(source)  # what comes next reads all columns again
    limit = Limit(source.schema.names, most, refusal)
    seen = fold(source, partial(_count_words, limit=limit), name=name)
    found = {}
    for place, j in enumerate(source.schema.words):
        values = seen.values[place]
        found[j] = np.array([*values, *([None] if seen.missing(place) else [])], dtype=object)
    return found


class Coded(View):
    """A source whose words are numbers: their places among categories; NaN where they are missing, or none of them.

    Parameters
    ----------
    source : Source
        It has string columns.
    categories : dict of int to ndarray
        Of each of these columns.
    """

    def __init__(self, source: Source, categories: dict[int, Array]) -> None:
        self._source = source
        self._places = {
            j: {word: float(place) for place, word in enumerate(known.tolist()) if word is not None}
            for j, known in categories.items()
        }

    @property
    def schema(self) -> Schema:
        """The columns, all of them numbers."""
        return replace(self._source.schema, words=())

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [Changed(part, partial(_coded, places=self._places)) for part in self._source.parts()]

    def targets(self) -> Any:
        """Yield targets and weights of all chunks; files are read without their features."""
        return self._source.targets()


def _coded(chunk: MixedChunk, places: dict[int, dict[str, float]]) -> Chunk:
    table = chunk.codes.copy(order="F")
    for j, known in places.items():
        own: Any = chunk.words[j]
        numbers = np.array([*(known.get(word, np.nan) for word in own.tolist()), np.nan])
        table[:, j] = numbers[chunk.codes[:, j].astype(np.intp)]
    return Chunk(table, chunk.y, chunk.s, chunk.origin)
