"""Leading pairs of the scatter of a table, by the cheapest way, and what is proved about them.

===============  ==========================================================  ============================================
found from       when                                                        solver_used_
===============  ==========================================================  ============================================
columns          more rows than columns, or rows that come in chunks         ``columns``; ``full`` adds singular values of
                                                                             a triangular factor of the rows
rows             fewer rows than columns                                     ``rows``; ``full``, singular values of the rows
products alone   many of both and few components, or sparse                  ``krylov``
===============  ==========================================================  ============================================

Of a matrix that was formed, all pairs are found where many are wanted; few of a large one by products with it, then proved to
be the leading ones by a Cholesky factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._interruptible import interruptible
from qed.core._threads import one_blas_thread
from qed.data._kernels import UNIT
from qed.decomposition._kernels import product
from qed.decomposition._krylov import BLOCK, leading, random_block
from qed.decomposition._proof import (
    DOUBT,
    Proof,
    ceiling_by_factor,
    ceiling_by_probes,
    excess,
    product_rounding,
    prove,
)
from qed.designs._pairs import error_of_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.core._events import Progress
    from qed.decomposition._rows import Rows

    Array = NDArray[np.float64]


MAX_DENSE_SIDE = 200  # a side up to which all pairs cost next to nothing
CONVERGED = 1e-13  # residual, relative to the largest value, that rounding allows


@dataclass(frozen=True, eq=False)
class Search:
    """What is looked for.

    Attributes
    ----------
    known : int or None
        How many components, None if the variances decide.
    choose : callable
        From all values, largest first, to that number.
    rng : callable
        Makes the generator of random numbers, for starts and probes, when some are needed.
    progress : Progress
        Told of steps.
    oversamples : int
        Vectors in a block beyond the components.
    power : int or None
        Products of a block; None goes on until rounding.
    tol : float
        Residual, relative to the largest value, that is small enough.
    """

    known: int | None
    choose: Callable[[Array], int]
    rng: Callable[[], Generator]
    progress: Progress
    oversamples: int = 10
    power: int | None = None
    tol: float = 0.0


@dataclass(frozen=True, eq=False)
class Components:
    """Components, their sums of squares, and the proof."""

    components: Array  # (k, p)
    values: Array  # (k,)
    total: float
    proof: Proof
    solver: str
    outcome: str = "solved"
    least: float = 0.0  # the least value that products with the matrix showed


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Leading pairs of a matrix, k of them, and by how much its k largest eigenvalues can exceed the sum of values."""

    values: Array
    vectors: Array
    slack: float
    rounding: float
    error: float
    exact: bool = True  # whether nothing but rounding is between them and the best ones


def from_columns(M: Array, rounding_error: float, search: Search, factor: Array | None = None) -> Components:
    """Find the pairs of the products of columns, known to within ``rounding_error``.

    ``factor`` is a triangular one of the rows, for more digits of small values.
    """
    unit = _unit(_trace(M))
    M, rounding_error = (M, rounding_error) if unit == 1 else (M / unit, rounding_error / unit)
    factor = factor if factor is None or unit == 1 else factor / np.sqrt(unit)
    with one_blas_thread(M.size):
        every = None
        if factor is not None:
            every = _by_singular_values(factor)
        pairs = _pairs(M, rounding_error, search, every)
        noise = (4 * len(M) * UNIT) ** (1 if factor is None else 2) * float(np.max(pairs.values, initial=0.0))
        is_noise = pairs.values <= noise
        V = _completed(np.where(is_noise, 0.0, pairs.vectors)) if is_noise.any() else _signed(pairs.vectors.T)
        proof = prove(V, pairs.values, M @ V.T, _bound(pairs, rounding_error, _trace(M)))
    return Components(
        V, unit * pairs.values, unit * _trace(M), proof.times(unit), "columns" if factor is None else "full"
    )


def from_rows(rows: Rows, spread: Array, search: Search, *, full: bool, shift: float = 0.0) -> Components:
    """Find the pairs of the products of rows, and carry them to the columns; ``spread`` holds the squared lengths of columns.

    ``shift`` bounds what rows have more about a mean that was rounded than about the exact one: weight times squared distance.
    """
    unit = _unit(float(np.sum(spread)))
    p, total, rows = rows.shape[1], float(np.sum(spread)) / unit, rows.divided(np.sqrt(unit))
    shift /= unit
    rounding_error = product_rounding(p) * total + shift
    M = rows.squared()
    with one_blas_thread(rows.shape[0] * p):
        every = None
        if full:
            formed = rows.formed().T
            _, triangle = interruptible(np.linalg.qr, formed, work=4.0 * formed.size * min(formed.shape))
            every = _by_singular_values(triangle)
        pairs = _pairs(M, rounding_error, search, every)
        k = len(pairs.values) if search.known is None else search.known
        V = _carried(rows.back(pairs.vectors), k)
        values = np.concatenate([pairs.values, np.zeros(k - len(pairs.values))])
        CV = rows.back(rows.forward(V.T))
        far = 2 * product_rounding(p) * total + product_rounding(rows.shape[0]) * total + shift
        proof = prove(V, values, CV, _bound(pairs, far, total))
    return Components(V, unit * values, unit * total, proof.times(unit), "full" if full else "rows")


def from_products(rows: Rows, spread: Array, search: Search, *, shift: float = 0.0) -> Components:
    """Find leading pairs by products with the rows alone; ``shift`` is that of ``from_rows``."""
    unit = _unit(float(np.sum(spread)))
    (n, p), total, rows = rows.shape, float(np.sum(spread)) / unit, rows.divided(np.sqrt(unit))
    k = search.known
    assert k is not None  # noqa: S101  (a share of the variance is refused before)
    flip = n < p

    def inner(Q: Array) -> Array:
        return rows.forward(rows.back(Q)) if flip else rows.around(Q)

    with one_blas_thread():
        width = rows.block if search.power is None else k + search.oversamples
        start = random_block(rng := search.rng(), min(n, p), width)
        tol = max(search.tol, CONVERGED) if search.power is None else None
        steps = max(100, 4 * min(n, p) // start.shape[1]) if search.power is None else search.power
        found = leading(inner, start, k, steps=steps, tol=tol, progress=search.progress)
        V = _carried(rows.back(found.vectors), k) if flip else _signed(found.vectors.T)
        rounding_error = rows.rounding * total + shift / unit

        def outside(Q: Array) -> Array:
            """Multiply by the scatter outside of the directions, or by the products of rows without them."""
            if flip:
                return rows.forward(_without(V, rows.back(Q)))
            return _without(V, rows.around(_without(V, Q)))

        CV = rows.around(np.ascontiguousarray(V.T))
        proved, proof = _proved_by_probes(V, CV, outside, (min(n, p), total, rounding_error), rng)
    return Components(V, unit * proved, unit * total, proof.times(unit), "krylov", found.outcome)


def from_similarities(apply: Callable[[Array], Array], n: int, total: float, search: Search) -> Components:
    """Find leading pairs of a positive matrix of n rows and a known trace, by products with it alone."""
    k, rng = search.known, search.rng()
    assert k is not None  # noqa: S101
    tol = max(search.tol, CONVERGED)
    found = leading(apply, random_block(rng, n, BLOCK), k, steps=max(100, n // 4), tol=tol, progress=search.progress)
    V = _signed(found.vectors.T)
    rounding_error = 2 * product_rounding(n) * total
    outside = lambda Q: _without(V, apply(_without(V, Q)))  # noqa: E731
    values, proof = _proved_by_probes(V, apply(np.ascontiguousarray(V.T)), outside, (n, total, rounding_error), rng)
    return Components(V, values, total, proof, "krylov", found.outcome, found.least)


def _proved_by_probes(
    V: Array, CV: Array, outside: Callable[[Array], Array], size: tuple[int, float, float], rng: Generator
) -> tuple[Array, Proof]:
    """Return the values of directions, and what probes of the rest prove; ``size`` holds the side, the trace and its rounding."""
    side, total, rounding_error = size
    k = len(V)
    held = np.sum(V.T * CV, axis=0)
    residual = float(np.linalg.norm(CV - V.T * held)) + rounding_error
    rest = max(total - float(np.sum(held)), 0.0) + rounding_error
    ceiling = ceiling_by_probes(outside, side, rng, enough=float(np.min(held)) / 2) + rounding_error
    slack = excess(held, residual, ceiling, rest) + k * rounding_error
    pairs = _Pairs(held, V.T, slack, k * rounding_error, slack + rounding_error, exact=False)
    return held, prove(V, held, CV, _bound(pairs, rounding_error, total, 1 - DOUBT))


def _pairs(M: Array, rounding_error: float, search: Search, every: tuple[Array, Array] | None) -> _Pairs:
    """Find the pairs of a matrix that is known to within ``rounding_error``: few of many by products, else all of them."""
    k, d = search.known, len(M)
    if every is None and k is not None and d > MAX_DENSE_SIDE and k > 0 and 8 * (k + search.oversamples) <= d:
        few = _few(M, rounding_error, k, search)
        if few is not None:
            return few
    if every is None:
        values, vectors = interruptible(np.linalg.eigh, M, work=9.0 * d**3)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    else:
        values, vectors = every
    k = search.choose(values) if k is None else k
    error = rounding_error + error_of_all(M, values, vectors)
    return _Pairs(values[:k], vectors[:, :k], k * error, k * error, error)


def _few(M: Array, rounding_error: float, k: int, search: Search) -> _Pairs | None:
    start = random_block(search.rng(), len(M), BLOCK)
    steps = 2 * len(M) // start.shape[1]
    tol = max(search.tol, CONVERGED)
    found = leading(lambda Q: product(M, Q), start, k, steps=steps, tol=tol, progress=search.progress)
    if found.outcome == "interrupted":
        raise KeyboardInterrupt
    if found.outcome != "solved" or not found.values[-1] > 0:
        return None
    ceiling = ceiling_by_factor(M, found.values, found.vectors, found.following)
    if ceiling is None:
        return None
    noise = product_rounding(len(M)) * _trace(M)
    rest = max(_trace(M) - float(np.sum(found.values)), 0.0) + noise
    beyond = excess(found.values, found.residual + noise, ceiling + noise, rest)
    rounding = k * (rounding_error + noise)
    slack = beyond + rounding
    exact = tol == CONVERGED
    return _Pairs(
        found.values, found.vectors, slack, slack if exact else rounding, beyond + rounding_error + noise, exact
    )


def _by_singular_values(A: Array) -> tuple[Array, Array]:
    """Return the squared singular values of a square matrix and its right singular vectors."""
    _, sigma, Vh = interruptible(np.linalg.svd, A, work=20.0 * A.size * min(A.shape))
    return sigma**2, Vh.T


def _without(V: Array, Q: Array) -> Array:
    """Take the rows of V out of the columns of Q."""
    return Q - V.T @ (V @ Q)


def _carried(V: Array, k: int) -> Array:
    """Make directions (p, ·) that come with their lengths orthonormal, and return k of them as rows.

    A row that counts twice allows one direction more, without variance.
    """
    lengths = np.sqrt(np.sum(V * V, axis=0))
    is_noise = lengths <= 1e-7 * np.max(lengths, initial=0.0)
    whole = np.zeros((len(V), k))
    whole[:, : V.shape[1]] = np.where(is_noise, 0.0, V / np.where(is_noise, 1.0, lengths))
    return _completed(whole)


def _completed(V: Array) -> Array:
    """Make directions (p, k) orthonormal, the leading ones first; zeros are replaced by what completes the set.

    Directions without variance are not told by the rows: here they follow from the others alone.
    """
    basis, turn = interruptible(np.linalg.qr, V, work=4.0 * V.size * min(V.shape))
    return _signed((basis * np.where(turn.diagonal() < 0, -1.0, 1.0)).T)


def _signed(V: Array) -> Array:
    """Turn each row so that its largest entry is positive: nothing else tells a direction from its opposite."""
    V = np.array(V, order="C")
    if V.size:
        largest = V[np.arange(len(V)), np.argmax(np.abs(V), axis=1)]
        V[largest < 0] *= -1
    return V


def _unit(total: float) -> float:
    """Return what to divide sums of squares by, so that their squares stay within doubles."""
    return 1.0 if 1e-120 < total < 1e120 or total == 0 else total


def _trace(M: Array) -> float:
    return float(np.sum(M.diagonal()))


def _bound(pairs: _Pairs, rounding_error: float, total: float, confidence: float = 1.0) -> dict[str, Any]:
    return {
        "slack": pairs.slack,
        "rounding": pairs.rounding,
        "error": pairs.error + 4 * UNIT * total,
        "rounding_error": rounding_error,
        "total": total,
        "confidence": confidence,
        "exact": pairs.exact,
    }
