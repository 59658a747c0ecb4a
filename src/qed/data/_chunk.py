"""What crosses from a source to a statistic: a few rows, typed, and the shape of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core._errors import InvalidData
from qed.data._finite import first_not_finite, raise_not_finite

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True)
class Schema:
    """The columns of a source: the same for every chunk.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features, in the order of the columns of `X`.
    n_features, n_targets : int
        Columns of `X` and of `y` (0 when there is no target).
    dtype : numpy.dtype
        float32 or float64, the type of `X`.
    weighted : bool
        Whether chunks bring weights.
    """

    names: tuple[str, ...] | None
    n_features: int
    n_targets: int
    dtype: np.dtype[Any]
    weighted: bool = False


@dataclass(frozen=True)
class Origin:
    """Where a chunk was read, so that an error about a value can name its file, its row and its column.

    Attributes
    ----------
    pieces : tuple of (int, str, int)
        For each file the chunk draws on: the chunk's first row that is from there, the name of the file, and the number
        of that row in it. An array has no name.
    names, targets : tuple of str
        Names of the columns of `X` and of `y`; empty where they have none.
    kept : ndarray of int or None
        Which of the rows read there the chunk holds; None means all.
    """

    pieces: tuple[tuple[int, str, int], ...]
    names: tuple[str, ...]
    targets: tuple[str, ...] = ()
    kept: np.ndarray[Any, Any] | None = None

    def row(self, row: int) -> str:
        """Name a row of the chunk by its file and its number there."""
        read = row if self.kept is None else int(self.kept[row])
        start, place, first = next(piece for piece in reversed(self.pieces) if piece[0] <= read)
        return f"row {read - start + first}" + (f" of {place}" if place else "")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table. Nobody writes into the arrays of a chunk.

    Attributes
    ----------
    X : ndarray of shape (n, p), or scipy.sparse CSR or CSC
        Float32 or float64; a dense one may have any strides.
    y : ndarray of shape (n, m) or None
        Float32 or float64 targets.
    s : ndarray of shape (n,) or None
        Float64 weights, finite and not negative; None stands for one each.
    origin : Origin or None
        Where the rows were read.
    """

    X: Any
    y: np.ndarray[Any, Any] | None = None
    s: np.ndarray[Any, Any] | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        """Check shapes and types, never values: that is the work of the source."""
        if self.X.ndim != 2 or self.X.dtype not in FLOATS:
            raise InvalidData(f"Chunk.X must be a float32 or float64 table of two dimensions, got {described(self.X)}.")
        n = self.X.shape[0]
        if self.y is not None and (self.y.ndim != 2 or self.y.shape[0] != n or self.y.dtype not in FLOATS):
            raise InvalidData(f"Chunk.y must be float32 or float64 of shape ({n}, m), got {described(self.y)}.")
        if self.s is not None and (self.s.shape != (n,) or self.s.dtype != np.float64):
            raise InvalidData(f"Chunk.s must be float64 of shape ({n},), got {described(self.s)}.")

    @property
    def n_rows(self) -> int:
        """Number of rows, those of weight zero included."""
        return int(self.X.shape[0])

    def require_finite(self) -> None:
        """Raise an error that names the first value that is NaN or infinite by file, row and column; none is fine."""
        if any(table is not None and first_not_finite(table) is not None for table in (self.X, self.y)):
            raise_not_finite(self)

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])

    @property
    def n_targets(self) -> int:
        """Number of columns of `y`, 0 without one."""
        return 0 if self.y is None else int(self.y.shape[1])


def described(a: Any) -> str:
    """Name an array by type and shape, for error messages."""
    return f"{a.dtype} of shape {tuple(a.shape)}"
