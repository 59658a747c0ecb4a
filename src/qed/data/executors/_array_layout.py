"""How blocks of several arrays, such as those of a dask.array, become chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData
from qed.data._chunk import Chunk, Origin, Schema
from qed.data._sources import check_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class ArrayLayout:
    """How blocks of arrays become chunks."""

    n_features: int
    n_targets: int
    roles: tuple[str, ...]
    dtype: np.dtype[Any]
    batch_rows: int

    @property
    def schema(self) -> Schema:
        """The columns, which have no names."""
        return Schema(None, self.n_features, self.n_targets, self.dtype, "weight" in self.roles)

    def chunks(self, data: Sequence[Any], label: str) -> Iterator[Chunk]:
        """Cut blocks into chunks."""
        X = np.asarray(data[0], dtype=self.dtype)
        beside = dict(zip(self.roles, data[1:], strict=True))
        y = None if "target" not in beside else np.asarray(beside["target"], np.float64).reshape(len(X), -1)
        s = None if "weight" not in beside else np.asarray(beside["weight"], np.float64)
        for name, one in beside.items():
            if len(one) != len(X):
                raise InvalidData(
                    f"{label} has {len(X)} rows of X and {len(one)} of the {name}: cut both in the same places."
                )
        if s is not None:
            check_weights(s, f"The weights of {label}")
        for start in range(0, len(X), self.batch_rows):
            rows = slice(start, start + self.batch_rows)
            origin = Origin(((0, label, start),), ())
            yield Chunk(X[rows], None if y is None else y[rows], None if s is None else s[rows], origin)
