"""A table that is read again for every product: each of them is a fold, and the solver does not know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.data import Chunk, Schema, Source, fold
from qed.data._parts import Changed, paired_parts
from qed.data._selected import count_rows, gathered
from qed.data._sources import View
from qed.designs._design import Adjoint, Design, Matrix, Vector, given_centre, operand, row_weights, taken_by_products
from qed.designs._tables import table_design

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.data import Executor
    from qed.data._parts import Part


class Chunked:
    """A design over a source, in memory that does not grow with its rows.

    Parameters
    ----------
    source : Source
        Where the rows come from; targets and weights of its chunks play no part.
    executor : Executor or int, optional
        Where chunks are multiplied; as in `qed.data.fold`.

    Notes
    -----
    Memory: that of `fold`, with a result of one chunk as the statistic, and the result.
    """

    def __init__(self, source: Source, executor: Executor | int | None = None) -> None:
        self._source, self._executor = source, executor
        self._n_rows = count_rows(source)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._n_rows, self._source.schema.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the data."""
        return self._source.schema.dtype

    @property
    def T(self) -> Adjoint:  # noqa: N802  as NumPy spells it
        """The transposed design."""
        return Adjoint(self)

    @property
    def centres_first(self) -> bool:
        """False: a source may hold sparse chunks, which centre afterwards."""
        return False

    def columns(self, index: Any) -> Chunked:
        """Return the design of some columns, which are picked from each chunk as it is read."""
        return Chunked(Picked(self._source, np.asarray(index)), self._executor)

    def with_constant(self, value: float) -> Chunked:
        """Return the design with a constant column at the end, which is put there as each chunk is read."""
        return Chunked(Widened(self._source, value), self._executor)

    def rows(self, index: Any) -> Design:
        """Return the design of some rows, gathered into memory in one reading of the source."""
        return table_design(gathered(self._source, np.arange(self._n_rows)[index])[0])

    def taken(self, index: Any, scale: Vector, centre: Vector | None = None) -> Matrix:
        """Return columns, centred, each row times ``scale``, in Fortran order: one pass."""
        return taken_by_products(self.columns(index), scale, None if centre is None else centre[index])

    def __matmul__(self, w: Any) -> Matrix:
        """Return X w."""
        return self.product(w)

    def product(self, w: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre') w."""
        p = self.shape[1]
        given = operand(w, p, "columns")
        of = partial(_product, w=given.columns, centre=given_centre(centre, p))
        return given.shaped(np.concatenate(fold(self._source, of, self._executor).parts))

    def adjoint_product(self, u: Any, centre: Vector | None = None) -> Matrix:
        """Return (X - 1 centre')' u."""
        n, p = self.shape
        given = operand(u, n, "rows")
        return given.shaped(self._added(partial(_adjoint, centre=given_centre(centre, p)), given.columns, None))

    def gram(self, c: Vector | None = None, centre: Vector | None = None) -> Matrix:
        """Return the weighted Gram matrix of the columns, (p, p)."""
        n, p = self.shape
        return self._added(partial(_gram, centre=given_centre(centre, p)), None, row_weights(c, n))

    def column_norms(self, c: Vector | None = None, centre: Vector | None = None) -> Vector:
        """Return the lengths of the (weighted, centred) columns."""
        n, p = self.shape
        return np.sqrt(self._added(partial(_squares, centre=given_centre(centre, p)), None, row_weights(c, n)))

    def fold_rows(
        self, of: Callable[[Chunk], tuple[tuple[Any, ...], tuple[Any, ...]]], u: Vector | None, c: Vector | None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Read the rows once: ``of`` gets chunks with rows of u as targets and of c as weights.

        It returns arrays with an entry for each row, which are put one below the other, and sums over rows, which are added
        with compensation; None stays None.
        """
        columns = None if u is None else u[:, np.newaxis] if u.ndim == 1 else u
        found = fold(Paired(self._source, columns, c), partial(_row_statistic, of=of), self._executor)
        rows = tuple(None if one is None else np.concatenate(one.parts) for one in found.rows)
        return rows, tuple(None if one is None else one.total() for one in found.sums)

    def _added(self, of: Callable[[Chunk], Added], u: Matrix | None, c: Vector | None) -> Matrix:
        """Fold a sum over chunks that bring their own rows of u as targets and of c as weights."""
        return fold(Paired(self._source, u, c), of, self._executor).total()


class Paired(View):
    """A source whose chunks carry the rows of u and c that belong to them: u in place of `y`, c in place of `s`."""

    def __init__(self, source: Source, u: Matrix | None, c: Vector | None) -> None:
        self._source, self._u, self._c = source, u, c

    @property
    def schema(self) -> Schema:
        """The columns of the source, with those of u as targets."""
        return replace(self._source.schema, n_targets=0 if self._u is None else self._u.shape[1])

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts, u and c as well."""
        return paired_parts(self._source.parts(), self._u, self._c)


class Picked(View):
    """A source of some columns of another."""

    def __init__(self, source: Source, index: np.ndarray[Any, Any]) -> None:
        self._source = source
        self._index = np.flatnonzero(index) if index.dtype == bool else index

    @property
    def schema(self) -> Schema:
        """The schema of the source, with these columns alone."""
        schema = self._source.schema
        names = None if schema.names is None else tuple(schema.names[j] for j in self._index)
        return replace(schema, n_features=len(self._index), names=names)

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [Changed(part, partial(_picked, index=self._index)) for part in self._source.parts()]


class Widened(View):
    """A source with a constant column at the end."""

    def __init__(self, source: Source, value: float) -> None:
        self._source, self._value = source, value

    @property
    def schema(self) -> Schema:
        """The schema of the source, with one more column."""
        return replace(self._source.schema, n_features=self._source.schema.n_features + 1, names=None)

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return [Changed(part, partial(_widened, value=self._value)) for part in self._source.parts()]


def _widened(chunk: Chunk, value: float) -> Chunk:
    table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return replace(chunk, X=np.column_stack([table, np.full(len(table), value, table.dtype)]))


def _picked(chunk: Chunk, index: np.ndarray[Any, Any]) -> Chunk:
    return replace(chunk, X=chunk.X[:, index])


@dataclass(frozen=True, eq=False)
class Stacked:
    """Results of consecutive chunks, one below the other."""

    parts: tuple[Matrix, ...]

    def merge(self, other: Self) -> Self:
        """Return these rows, then those of the other."""
        return type(self)(self.parts + other.parts)


@dataclass(frozen=True, eq=False)
class Added:
    """Results of chunks, added up with their rounding errors kept aside and added last."""

    high: Matrix
    low: Matrix | float = 0.0

    def merge(self, other: Self) -> Self:
        """Return the sum of both."""
        s = self.high + other.high
        c = s - self.high
        return type(self)(s, self.low + other.low + ((self.high - (s - c)) + (other.high - c)))

    def total(self) -> Matrix:
        """Return the sum, rounded once."""
        return np.asarray(self.high + self.low)


@dataclass(frozen=True, eq=False)
class RowStatistic:
    """What a pass finds: arrays of rows, stacked, and sums, added."""

    rows: tuple[Stacked | None, ...]
    sums: tuple[Added | None, ...]

    def merge(self, other: Self) -> Self:
        """Return what both parts found."""
        rows = (None if a is None or b is None else a.merge(b) for a, b in zip(self.rows, other.rows, strict=True))
        sums = (None if a is None or b is None else a.merge(b) for a, b in zip(self.sums, other.sums, strict=True))
        return type(self)(tuple(rows), tuple(sums))


def _row_statistic(chunk: Chunk, of: Callable[[Chunk], tuple[tuple[Any, ...], tuple[Any, ...]]]) -> RowStatistic:
    rows, sums = of(chunk)
    return RowStatistic(
        tuple(None if one is None else Stacked((one,)) for one in rows),
        tuple(None if one is None else Added(np.asarray(one)) for one in sums),
    )


def _product(chunk: Chunk, w: Matrix, centre: Vector | None) -> Stacked:
    return Stacked((table_design(chunk.X).product(w, centre),))


def _adjoint(chunk: Chunk, centre: Vector | None) -> Added:
    return Added(table_design(chunk.X).adjoint_product(chunk.y, centre))


def _gram(chunk: Chunk, centre: Vector | None) -> Added:
    return Added(table_design(chunk.X).gram(chunk.s, centre))


def _squares(chunk: Chunk, centre: Vector | None) -> Added:
    return Added(table_design(chunk.X).column_norms(chunk.s, centre) ** 2)
