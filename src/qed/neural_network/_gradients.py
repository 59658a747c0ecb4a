"""Loss and gradient of a network, by hand-written backpropagation on PyTorch tensors.

Forwards ``z = a W + b``, ``a = φ(z)`` from layer to layer; backwards ``δ = φ'(z) ∘ (δ Wᵀ)``, and the gradients ``aᵀ δ`` and
``Σ δ``. Every product goes into a buffer that is there already. Rows are taken in blocks whose size depends on the network
alone; blocks run in any number of threads and are added in their order, so that the bits do not depend on it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.core._threads import get_num_threads
from qed.neural_network._heads import HEADS
from qed.neural_network._units import UNITS

if TYPE_CHECKING:
    from qed.core import Array
    from qed.neural_network._layout import Layout, Parameters


MOST_ROWS, FEWEST_ROWS = 1024, 64
WORK = 2**25  # multiplications of a pass through the layers that are worth a thread of their own
DENSE = 2**23  # entries up to which a sparse table is written out: products are then many times faster


@dataclass(frozen=True)
class Rows:
    """Rows of positive weight, as a network learns from them.

    Attributes
    ----------
    X : ndarray of shape (n, p) or CSR
        Features of each row.
    truth : ndarray of shape (n, k) or (n, 1)
        Targets, or numbers of classes.
    weight : ndarray of shape (n, 1) or None
        Weights of the rows.
    """

    X: Any
    truth: Array
    weight: Array | None

    @classmethod
    def of(cls, X: Any, truth: Array, weight: Array | None) -> Self:
        """Leave out rows of weight zero, and lay the others out in row-major order."""
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            X, truth, weight = X[used], truth[used], weight[used]
        if not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= DENSE:
            X = X.toarray()
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.tocsr()
        return cls(X, np.ascontiguousarray(truth), None if weight is None else weight[:, None])

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.truth)

    @property
    def mean_weight(self) -> float:
        """The mean of the weights."""
        return 1.0 if self.weight is None else float(self.weight.mean())

    def some(self, index: Array) -> Self:
        """Return some of the rows."""
        return type(self)(self.X[index], self.truth[index], None if self.weight is None else self.weight[index])


class _Views(NamedTuple):
    """The buffers of a block, cut to a number of rows."""

    x: Any
    truth: Any
    weight: Any
    units: list[Any]  # values of each layer but the first
    slopes: list[Any]  # of hidden layers
    spare: list[Any]


class _Block:
    """Buffers for some rows on their way through the layers and back."""

    def __init__(self, torch: Any, layout: Layout, rows: Rows, size: int, dtype: Any) -> None:
        self.torch, self.rows, self.layout = torch, rows, layout
        hidden = layout.sizes[1:-1]
        self.is_sparse = not isinstance(rows.X, np.ndarray)
        self.x = None if self.is_sparse else torch.empty((size, layout.sizes[0]), dtype=dtype)
        whole = rows.truth.dtype.kind == "i"
        self.truth = torch.empty((size, rows.truth.shape[1]), dtype=torch.int64 if whole else dtype)
        self.weight = None if rows.weight is None else torch.empty((size, 1), dtype=dtype)
        self.units = [torch.empty((size, width), dtype=dtype) for width in layout.sizes[1:]]
        self.slopes = [torch.empty((size, width), dtype=dtype) for width in hidden]
        self.spare = torch.empty(size * max(hidden, default=0), dtype=dtype)
        self.own: Any = None  # a gradient of this block, where there are several
        self.loaded: tuple[int, int] | None = None
        self.sparse: Any = None
        self.whole: Any = None  # all features, where they are gone through block by block over and over
        self._known: dict[int, _Views] = {}

    def load(self, index: Array | tuple[int, int]) -> _Views:
        """Bring rows in, by their numbers or from one to another; those that are there already stay."""
        if isinstance(index, tuple):
            views = self._views(index[1] - index[0])
            if index == self.loaded and self.whole is None:
                return views
            chosen: Any = slice(*index)
            self.loaded = index
        else:
            views, chosen, self.loaded = self._views(len(index)), index, None
        if self.is_sparse:
            self.sparse = self.rows.X[chosen]
        elif self.whole is not None:
            views = views._replace(x=self.whole[chosen])
        else:
            _copy(self.rows.X, chosen, views.x)
        _copy(self.rows.truth, chosen, views.truth)
        if self.rows.weight is not None:
            _copy(self.rows.weight, chosen, views.weight)
        return views

    def _views(self, m: int) -> _Views:
        if m not in self._known:
            hidden = self.layout.sizes[1:-1]
            self._known[m] = _Views(
                None if self.x is None else self.x[:m],
                self.truth[:m],
                None if self.weight is None else self.weight[:m],
                [unit[:m] for unit in self.units],
                [slope[:m] for slope in self.slopes],
                [self.spare[: m * width].view(m, width) for width in hidden],
            )
        return self._known[m]

    def times(self, x: Any, weights: Any, intercepts: Any, out: Any) -> None:
        """Put ``x W + b`` into ``out``."""
        if self.is_sparse:
            out.numpy()[...] = self.sparse @ weights.numpy()
            out.add_(intercepts)
        else:
            self.torch.addmm(intercepts, x, weights, out=out)

    def adjoint(self, x: Any, delta: Any, out: Any) -> None:
        """Put ``xᵀ δ`` into ``out``."""
        if self.is_sparse:
            out.numpy()[...] = self.sparse.T @ delta.numpy()
        else:
            self.torch.mm(x.t(), delta, out=out)

    def length(self, x: Any) -> float:
        """Return the root of the sum of squares of the features."""
        return float(np.linalg.norm(self.sparse.data)) if self.is_sparse else float(self.torch.linalg.vector_norm(x))


def _copy(source: Array, chosen: Any, target: Any) -> None:
    out = target.numpy()
    if isinstance(chosen, slice) or source.dtype != out.dtype:
        out[...] = source[chosen]
    else:
        np.take(source, chosen, axis=0, out=out, mode="clip")


class Gradients:
    """Losses and gradients of a network on rows.

    Parameters
    ----------
    torch : module
        PyTorch, kept to one thread by the caller.
    layout : Layout
        The network.
    activation, end : str
        Activations of hidden units and of the outputs.
    rows : Rows
        What is learnt from.
    most : int
        Most rows that are asked about at a time.
    dtype : torch dtype
        Of all arithmetic.
    measures : bool
        Whether to bound the size of the gradients of single rows, which rounding is relative to.
    """

    def __init__(
        self,
        torch: Any,
        layout: Layout,
        activation: str,
        end: str,
        rows: Rows,
        *,
        most: int,
        dtype: Any,
        measures: bool = False,
    ) -> None:
        self.torch, self.rows, self.measures = torch, rows, measures
        self.unit, self.head = UNITS[activation], HEADS[end]
        self.block = min(most, max(FEWEST_ROWS, min(MOST_ROWS, WORK // layout.n_parameters)))
        self.blocks = [_Block(torch, layout, rows, self.block, dtype)]
        self.pool: ThreadPoolExecutor | None = None
        if most > self.block:
            threads = min(get_num_threads(), -(-most // self.block))
            self.blocks += [_Block(torch, layout, rows, self.block, dtype) for _ in range(threads - 1)]
            whole = None
            if most == rows.n and isinstance(rows.X, np.ndarray) and rows.X.size <= DENSE:
                whole = torch.empty(
                    rows.X.shape, dtype=dtype
                )  # where a vector begins must not depend on who made the table
                whole.numpy()[...] = rows.X
            for one in self.blocks:
                one.whole = whole
                one.own = layout.parts(torch.empty(layout.n_parameters, dtype=dtype))
            if threads > 1:
                self.pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def at(
        self, theta: Parameters, index: Array | tuple[int, int], scale: float, out: Parameters
    ) -> tuple[float, float]:
        """Put the gradient of ``scale Σ s ℓ`` over some rows into ``out``.

        Parameters
        ----------
        theta : Parameters
            Where.
        index : ndarray of int, or (first, last)
            Which rows.
        scale : float
            What the sum is multiplied by.
        out : Parameters
            What the gradient is written to.

        Returns
        -------
        float, float
            The sum of weighted losses, not multiplied; and the size of what was summed, if that is measured.
        """
        first, last = index if isinstance(index, tuple) else (0, len(index))
        if last - first <= self.block:
            return self._slope(self.blocks[0], theta, index, scale, out)
        parts = [(k, min(k + self.block, last)) for k in range(first, last, self.block)]
        out.flat.zero_()
        total = size = 0.0
        for k in range(0, len(parts), len(self.blocks)):
            wave = list(zip(self.blocks, parts[k : k + len(self.blocks)], strict=False))
            for block, (loss, own) in zip(self.blocks, self._wave(theta, index, scale, wave), strict=False):
                total, size = total + loss, size + own
                out.flat.add_(block.own.flat)
        return total, size

    def _wave(
        self, theta: Parameters, index: Any, scale: float, wave: list[tuple[_Block, tuple[int, int]]]
    ) -> list[tuple[float, float]]:
        """Let each block do its part; return their losses in order."""

        def work(task: tuple[_Block, tuple[int, int]]) -> tuple[float, float]:
            block, part = task
            with self.torch.inference_mode():
                own = part if isinstance(index, tuple) else index[slice(*part)]
                return self._slope(block, theta, own, scale, block.own)

        return list(map(work, wave) if self.pool is None else self.pool.map(work, wave))

    def _slope(
        self, block: _Block, theta: Parameters, index: Any, scale: float, out: Parameters
    ) -> tuple[float, float]:
        torch, views = self.torch, block.load(index)
        last = len(theta.weights) - 1
        for k, (unit, weights, intercepts) in enumerate(zip(views.units, *theta[1:], strict=True)):
            if k == 0:
                block.times(views.x, weights, intercepts, unit)
            else:
                torch.addmm(intercepts, views.units[k - 1], weights, out=unit)
            if k < last:
                self.unit.forward(torch, unit)
        delta, size = views.units[last], 0.0
        loss = self.head.slope(torch, delta, views.truth, views.weight)
        delta.mul_(scale)
        for k in range(last, -1, -1):
            if k == 0:
                block.adjoint(views.x, delta, out.weights[0])
            else:
                torch.mm(views.units[k - 1].t(), delta, out=out.weights[k])
            torch.sum(delta, 0, out=out.intercepts[k])
            if self.measures:
                below = block.length(views.x) if k == 0 else float(torch.linalg.vector_norm(views.units[k - 1]))
                size += (below + len(delta) ** 0.5) * float(torch.linalg.vector_norm(delta))
            if k:
                torch.mm(delta, theta.weights[k].t(), out=views.slopes[k - 1])
                delta = views.slopes[k - 1]
                self.unit.backward(torch, views.units[k - 1], delta, views.spare[k - 1])
        return loss, size
