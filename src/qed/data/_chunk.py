"""What crosses from a source to a statistic: a few rows, typed, and the shape of all of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from qed.core._errors import InvalidData, InvalidDataType
from qed.core._mixed import Column, MixedTable
from qed.core._validation import only_numbers
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
    words : tuple of int
        Columns of `X` that hold words or categories; with any, chunks are `MixedChunk`.
    """

    names: tuple[str, ...] | None
    n_features: int
    n_targets: int
    dtype: np.dtype[Any]
    weighted: bool = False
    words: tuple[int, ...] = ()


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

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        own = self.X
        table = own.nbytes if isinstance(own, np.ndarray) else own.data.nbytes + own.indices.nbytes + own.indptr.nbytes
        return int(table) + _nbytes(self.y, self.s)

    def require_finite(self) -> None:
        """Raise an error that names the first value that is NaN or infinite by file, row and column; none is fine."""
        if any(table is not None and first_not_finite(table) is not None for table in (self.X, self.y)):
            raise_not_finite(self)

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])

    @property
    def table(self) -> Any:
        """The features as models take them: `X`."""
        return self.X

    def column(self, j: int) -> Column:
        """Return a feature of a table that is dense or sparse."""
        own = self.X[:, [j]]
        return Column(np.ascontiguousarray((own if isinstance(own, np.ndarray) else own.toarray())[:, 0]))

    def taken(self, rows: Any) -> Chunk:
        """Return some rows; the origin stays that of all."""
        y, s = (None if one is None else one[rows] for one in (self.y, self.s))
        return Chunk(self.X[rows], y, s, self.origin)

    @property
    def n_targets(self) -> int:
        """Number of columns of `y`, 0 without one."""
        return 0 if self.y is None else int(self.y.shape[1])


@dataclass(frozen=True, eq=False)
class MixedChunk:
    """Some rows of a table with string columns, which are numbers into lists of this chunk alone.

    Models that take words read `table` or `column`. Others ask for `X`, and are told which column they cannot take.

    Attributes
    ----------
    codes : ndarray of shape (n, p)
        Numbers as they are; of a column of words the place of each entry in its list, -1 where it is missing.
    words : tuple of (ndarray of object or None)
        For each column its list, not all of which need occur; None for numbers.
    y, s, origin
        As in `Chunk`.
    """

    codes: np.ndarray[Any, Any]
    words: tuple[np.ndarray[Any, Any] | None, ...]
    y: np.ndarray[Any, Any] | None = None
    s: np.ndarray[Any, Any] | None = None
    origin: Origin | None = None

    @property
    def X(self) -> NoReturn:  # noqa: N802  (the name that a chunk of numbers has)
        """Nothing: raise the error that names the first column of words."""
        j = next(j for j, own in enumerate(self.words) if own is not None)
        name = repr(self.origin.names[j]) if self.origin is not None and self.origin.names else str(j)
        place = f" of {self.origin.pieces[0][1]}" if self.origin is not None and self.origin.pieces[0][1] else ""
        raise InvalidDataType(only_numbers("What reads this source", f"column {name}{place}"))

    @property
    def table(self) -> MixedTable:
        """The columns."""
        return MixedTable([self.column(j) for j in range(self.n_features)], None, self.n_rows, None)

    def column(self, j: int) -> Column:
        """Return a feature."""
        own = self.words[j]
        if own is None:
            return Column(np.ascontiguousarray(self.codes[:, j]))
        return Column(None, self.codes[:, j].astype(np.intp), own)

    def taken(self, rows: Any) -> MixedChunk:
        """Return some rows; the origin stays that of all."""
        y, s = (None if one is None else one[rows] for one in (self.y, self.s))
        return MixedChunk(self.codes[rows], self.words, y, s, self.origin)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, and of the words."""
        lists = [own for own in self.words if own is not None]
        words = sum(sys.getsizeof(word) for own in lists for word in own.tolist())
        return words + _nbytes(self.codes, *lists, self.y, self.s)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.codes.shape[1])

    @property
    def n_targets(self) -> int:
        """Number of columns of `y`, 0 without one."""
        return 0 if self.y is None else int(self.y.shape[1])

    def require_finite(self) -> None:
        """Raise an error that names the first number that is NaN or infinite by file, row and column."""
        plain = [j for j, own in enumerate(self.words) if own is None]
        origin = self.origin
        if origin is not None and origin.names:
            origin = replace(origin, names=tuple(origin.names[j] for j in plain))
        Chunk(self.codes[:, plain], self.y, self.s, origin).require_finite()


def _nbytes(*arrays: np.ndarray[Any, Any] | None) -> int:
    return sum(one.nbytes for one in arrays if one is not None)


def described(a: Any) -> str:
    """Name an array by type and shape, for error messages."""
    return f"{a.dtype} of shape {tuple(a.shape)}"
