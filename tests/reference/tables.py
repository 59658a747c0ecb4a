"""Random tables that are unkind on purpose: offsets, scales, weights from 0 to a million, all layouts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

OFFSETS = (0.0, 1.0, 1e8, -1e8)
SCALES = (1e-8, 1.0, 1e8)


class Table(NamedTuple):
    X: np.ndarray
    y: np.ndarray | None
    s: np.ndarray | None

    @property
    def whole(self) -> np.ndarray:
        """[X | y] in float64."""
        parts = [self.X] if self.y is None else [self.X, self.y]
        return np.concatenate([part.astype(np.float64) for part in parts], axis=1)

    def rows(self, start: int, stop: int) -> Table:
        cut = slice(start, stop)
        return Table(*(None if part is None else part[cut] for part in self))


def make_table(seed: int, n: int, p: int, m: int, *, weighted: bool, dtype: type = np.float64) -> Table:
    """A seeded table with columns of different offsets and scales."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, p + m)) * random.choice(SCALES, p + m) + random.choice(OFFSETS, p + m)
    if random.random() < 0.3 and n:
        z[:, random.integers(p + m)] = z[0, 0]  # a constant column
    s = None
    if weighted:
        s = random.choice([0.0, 1.0, 0.3, 1e-3, 1e6], n) * random.uniform(0.5, 1.5, n)
    return Table(z[:, :p].astype(dtype), z[:, p:].astype(dtype) if m else None, s)


@st.composite
def tables(draw: st.DrawFn, most_rows: int = 24) -> Table:
    return make_table(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(0, most_rows)),
        draw(st.integers(1, 3)),
        draw(st.integers(0, 2)),
        weighted=draw(st.booleans()),
        dtype=draw(st.sampled_from([np.float64, np.float32])),
    )


def laid_out(a: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers in another layout of memory."""
    n, p = a.shape
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "strided":
        room = np.full((2 * n, 3 * p), np.nan, a.dtype)
        room[::2, ::3] = a
        return room[::2, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]
    if layout == "unaligned":
        raw = np.empty(a.nbytes + 1, np.uint8)
        view = raw[1:].view(a.dtype).reshape(a.shape)
        view[:] = a
        return view
    if layout == "big-endian":
        return a.astype(a.dtype.newbyteorder(">"))
    return np.ascontiguousarray(a)


LAYOUTS = ("C", "F", "strided", "reversed")
