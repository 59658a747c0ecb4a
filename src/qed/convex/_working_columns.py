"""Columns that a solver works on: taken out of the design once, centred and scaled by the roots of the row weights.

With ``A = diag(root) (X - 1 centre')[:, index]`` and a residual scaled by the same roots, weighted least squares is plain
least squares. Products of the columns with each other are made when they are asked for, and only those that are new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qed.convex import _kernels
from qed.designs import Compressed, Sparse

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.designs import Design


# seconds for a multiply-add, from measurements: in blocks of a product, along dense columns, among scattered entries
IN_BLOCKS, ALONG, SCATTERED = 3e-11, 4e-10, 2e-9
SWEEPS = 40  # over all columns, which a descent without the Gram matrix needs


class WorkingColumns(Protocol):
    """What a solver asks of its columns."""

    index: np.ndarray[Any, np.dtype[np.int64]]

    @property
    def places(self) -> Any:
        """Where the columns stand among all: their index, or a slice of everything."""
        ...

    def add(self, index: np.ndarray[Any, Any]) -> None:
        """Take more columns."""
        ...

    def product(self, w: Vector) -> Vector:
        """Return A w."""
        ...

    def adjoint(self, r: Vector) -> Vector:
        """Return A' diag(root) r: the rows r are scaled on the way."""
        ...

    def gram(self) -> Vector:
        """Return A'A."""
        ...

    def prefers_gram(self) -> bool:
        """Say whether making A'A and descending on it is predicted to be cheaper than descending along the columns."""
        ...

    def descend(
        self, penalty: tuple[Any, ...], goal: tuple[float, int], w: Vector, residual: Vector
    ) -> tuple[Vector, Vector, Vector, int, float]:
        """Minimise half the squared residual plus a penalty; return w, residual, gradient, sweeps and gap."""
        ...


def working_columns(design: Design, root: Vector, centre: Vector | None, index: np.ndarray[Any, Any]) -> WorkingColumns:
    """Take columns out of a design; all of them stay where they are if only their products are wanted."""
    if len(index) == design.shape[1]:
        whole = _WholeDesign(design, root, centre)
        if whole.prefers_gram():
            return whole
    return taken_columns(design, root, centre, index)


def taken_columns(
    design: Design,
    root: Vector,
    centre: Vector | None,
    index: np.ndarray[Any, Any],
    plain: Compressed | None = None,
) -> WorkingColumns:
    """Copy columns out of a design; compressed ones only have to be scaled if they are there already."""
    first = (
        design.taken(index, root, centre) if plain is None else plain._replace(values=plain.values * root[plain.rows])
    )
    if isinstance(first, Compressed):
        return _CompressedColumns(design, root, centre, index, first)
    return _DenseColumns(design, root, centre, index, first)


class _WholeDesign:
    """All columns of a design, for descents on their products with each other."""

    def __init__(self, design: Design, root: Vector, centre: Vector | None) -> None:
        self._design, self._root, self._centre = design, root, centre
        self.index = np.arange(design.shape[1])
        self.places = slice(None)
        self._share = root * root
        self._gram: Vector | None = None

    def add(self, index: np.ndarray[Any, Any]) -> None:
        """Refuse: there are no others."""
        raise IndexError(f"There are no columns {index} beside all of them.")

    def product(self, w: Vector) -> Vector:
        """Return A w."""
        return _scaled(self._design.product(w, self._centre), self._root)

    def adjoint(self, r: Vector) -> Vector:
        """Return A' diag(root) r."""
        return self._design.adjoint_product(_scaled(r, self._share), self._centre)

    def gram(self) -> Vector:
        """Return A'A."""
        if self._gram is None:
            self._gram = self._design.gram(self._share, self._centre)
        return self._gram

    def prefers_gram(self) -> bool:
        """Compare the predicted costs."""
        return _prefers_gram(*self._design.shape, 0)

    def descend(
        self, penalty: tuple[Any, ...], goal: tuple[float, int], w: Vector, residual: Vector
    ) -> tuple[Vector, Vector, Vector, int, float]:
        return taken_columns(self._design, self._root, self._centre, self.index).descend(penalty, goal, w, residual)


def _scaled(rows: Vector, root: Vector) -> Vector:
    return rows * (root if rows.ndim == 1 else root[:, np.newaxis])


def _prefers_gram(n: int, k: int, known: int) -> bool:
    """Compare what products of k dense columns cost, of which some are known, with descending along the columns."""
    make = IN_BLOCKS * n * (k - known) * (known + 0.5 * (k - known))
    return make + SWEEPS * ALONG * 0.5 * k * k < SWEEPS * ALONG * 1.5 * n * k


def _prefers_sparse_gram(n: int, k: int, entries: int) -> bool:
    """Compare the same for k compressed columns."""
    make = SCATTERED * entries * (1 + entries / max(n, 1)) + IN_BLOCKS * 30 * k * k
    return make + SWEEPS * ALONG * 0.5 * k * k < SWEEPS * SCATTERED * 1.5 * entries


def gram_pays(part: Design) -> bool:
    """Say whether a descent on a design is predicted to be cheaper on the products of its columns than along them."""
    n, k = part.shape
    return _prefers_sparse_gram(n, k, part.table.nnz) if isinstance(part, Sparse) else _prefers_gram(n, k, 0)


class _DenseColumns:
    """Columns as arrays, in blocks as they came."""

    def __init__(self, design: Design, root: Vector, centre: Vector | None, index: Any, first: Vector) -> None:
        self._design, self._root, self._centre = design, root, centre
        self.index = np.asarray(index, dtype=np.int64)
        self._blocks = [first]
        self._gram: Vector | None = None

    @property
    def places(self) -> Any:
        """Where the columns stand among all."""
        return self.index

    def add(self, index: np.ndarray[Any, Any]) -> None:
        """Take more columns."""
        block = np.asarray(self._design.taken(index, self._root, self._centre))
        self._blocks = [*self._blocks, block] if len(self.index) else [block]
        self.index = np.concatenate([self.index, index])

    def product(self, w: Vector) -> Vector:
        """Return A w."""
        total = np.zeros((len(self._root), *w.shape[1:]))
        at = 0
        for block in self._blocks:
            k = block.shape[1]
            part = w[at : at + k]
            used = np.flatnonzero(part if part.ndim == 1 else part.any(axis=1))
            if 4 * len(used) < k:
                block, part = block[:, used], part[used]  # noqa: PLW2901
            total += block @ part
            at += k
        return total

    def adjoint(self, r: Vector) -> Vector:
        """Return A' diag(root) r."""
        r = _scaled(r, self._root)
        return np.concatenate([block.T @ r for block in self._blocks])

    def gram(self) -> Vector:
        """Return A'A."""
        known = 0 if self._gram is None else len(self._gram)
        k = len(self.index)
        if self._gram is not None and known == k:
            return self._gram
        old, new = self._split(known)
        Q = np.empty((k, k))
        if old is not None:
            Q[:known, :known] = self._gram
            Q[:known, known:] = _kernels.cross(old, new)
            Q[known:, :known] = Q[:known, known:].T
        Q[known:, known:] = _kernels.gram(new)
        self._gram = Q
        return Q

    def _split(self, known: int) -> tuple[Vector | None, Vector]:
        """Return the columns whose products are known, and the others, each as one block."""
        whole = self._whole()
        return (whole[:, :known] if known else None), whole[:, known:]

    def _whole(self) -> Vector:
        if len(self._blocks) > 1:
            n, k = len(self._root), len(self.index)
            whole = np.empty((n, k), order="F")
            np.concatenate(self._blocks, axis=1, out=whole)
            self._blocks = [whole]
        return self._blocks[0]

    def prefers_gram(self) -> bool:
        """Compare the predicted costs."""
        return _prefers_gram(len(self._root), len(self.index), 0 if self._gram is None else len(self._gram))

    def descend(
        self, penalty: tuple[Any, ...], goal: tuple[float, int], w: Vector, residual: Vector
    ) -> tuple[Vector, Vector, Vector, int, float]:
        return _kernels.descend_columns(self._whole(), penalty, goal, w, residual)


class _CompressedColumns:
    """Compressed columns, centred on the way."""

    def __init__(self, design: Design, root: Vector, centre: Vector | None, index: Any, first: Compressed) -> None:
        self._design, self._root = design, root
        self._whole_centre = np.zeros(design.shape[1]) if centre is None else centre
        self.index = np.asarray(index, dtype=np.int64)
        self._arrays = first
        self._gram: Vector | None = None

    @property
    def _centre(self) -> Vector:
        return self._whole_centre[self.index]

    @property
    def places(self) -> Any:
        """Where the columns stand among all."""
        return self.index

    def add(self, index: np.ndarray[Any, Any]) -> None:
        """Take more columns."""
        more = Compressed(*self._design.taken(index, self._root))
        old = self._arrays
        self._arrays = Compressed(
            np.concatenate([old.starts, old.starts[-1] + more.starts[1:]]),
            np.concatenate([old.rows, more.rows]),
            np.concatenate([old.values, more.values]),
        )
        self.index = np.concatenate([self.index, index])
        self._gram = None

    def product(self, w: Vector) -> Vector:
        """Return A w."""
        plain = _kernels.compressed_product(*self._arrays, len(self._root), w)
        middle = self._centre @ w
        return np.asarray(plain.reshape((len(self._root), *w.shape[1:])) - np.multiply.outer(self._root, middle))

    def adjoint(self, r: Vector) -> Vector:
        """Return A' diag(root) r."""
        r = _scaled(r, self._root)
        plain = _kernels.compressed_adjoint(*self._arrays, len(self._root), r)
        return np.asarray(
            plain.reshape((len(self.index), *r.shape[1:])) - np.multiply.outer(self._centre, self._root @ r)
        )

    def gram(self) -> Vector:
        """Return A'A."""
        if self._gram is None:
            self._gram = self._design.columns(self.index).gram(self._root**2, self._centre)
        return self._gram

    def prefers_gram(self) -> bool:
        """Compare the predicted costs."""
        return _prefers_sparse_gram(len(self._root), len(self.index), len(self._arrays.values))

    def descend(
        self, penalty: tuple[Any, ...], goal: tuple[float, int], w: Vector, residual: Vector
    ) -> tuple[Vector, Vector, Vector, int, float]:
        return _kernels.descend_sparse(self._arrays, (self._centre, self._root), penalty, goal, w, residual)
