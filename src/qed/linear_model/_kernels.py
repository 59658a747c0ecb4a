"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed import _native
from qed.data._kernels import strided

Array = np.ndarray[Any, np.dtype[np.float64]]


def matmul(X: np.ndarray[Any, Any], w: Array, b: Array) -> Any:
    """Return ``X w + b`` in the type of ``X``."""
    return _native.matmul(X, np.ascontiguousarray(w), np.ascontiguousarray(b))


def column_sums(X: np.ndarray[Any, Any], s: Array, about: Array) -> tuple[Array, Array]:
    """Return weighted sums and sums of squares of the columns of ``X - about``, in one pass."""
    s = np.ascontiguousarray(s)
    sums, squares = _native.column_sums(strided(X), s, s, np.ascontiguousarray(about))
    return sums[:, 0], squares


def residual_sums(
    X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], w: Array, b: Array, s: Array | None, shift: Array
) -> tuple[Array, Array, Array, int]:
    """Return gradient, sums and squares of ``r = y - (X - shift) w - b``, and the longest chain of additions behind them."""
    s = None if s is None else np.ascontiguousarray(s)
    w, b, shift = np.ascontiguousarray(w), np.ascontiguousarray(b), np.ascontiguousarray(shift)
    gradient, sums, squares = _native.residual(strided(X), strided(y), w, b, s, shift)
    return gradient, sums, squares, int(_native.product_terms) + 64


def cholesky(A: Array) -> tuple[Array, int]:
    """Return the lower factor of ``A`` and the index of the first pivot that is not positive, -1 if all are."""
    L, bad = _native.cholesky(np.ascontiguousarray(A))
    return L, int(bad)


def solve_lower(L: Array, B: Array) -> Array:
    """Return ``L⁻¹ B``."""
    return np.asarray(_native.solve_lower(L, np.ascontiguousarray(B)))


def solve_lower_t(L: Array, B: Array) -> Array:
    """Return ``L⁻ᵀ B``."""
    return np.asarray(_native.solve_lower_t(L, np.ascontiguousarray(B)))


def projected_squares(X: np.ndarray[Any, Any], shift: Array, V: Array, D: Array, B: Array) -> tuple[Array, Array]:
    """Return ``Z² D`` and ``Z B`` for ``Z = (X - shift) V``, which is never stored."""
    squares, linear = _native.projected_squares(
        X, np.ascontiguousarray(shift), np.ascontiguousarray(V), np.ascontiguousarray(D), np.ascontiguousarray(B)
    )
    return squares, linear


def triangle(
    X: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any] | None = None,
    s: Array | None = None,
    shift: Array | None = None,
    scale: Array | None = None,
    *,
    ones: bool = False,
) -> Array:
    """Return the upper factor ``R`` with ``RᵀR = ZᵀSZ`` for ``Z = ([X | y] - shift) scale``, after ``ones`` if asked."""
    y = np.empty((len(X), 0)) if y is None else strided(y)
    s, shift, scale = (None if each is None else np.ascontiguousarray(each) for each in (s, shift, scale))
    return np.asarray(_native.triangle(strided(X), y, s, shift, scale, ones))


def online_passes(
    X: Any,
    y: Array,
    weight: Array | None,
    favour: Array | None,
    rule: tuple[Any, ...],
    arrays: tuple[Any, ...],
    numbers: Array,
    visits: tuple[bool, bool],
    seed: int,
    stop: tuple[Any, ...],
    *,
    sums_losses: bool,
) -> tuple[list[float], list[int], int]:
    """Show rows to a learner one at a time; ``arrays``, ``numbers`` and the arrays of ``stop`` are changed.

    ``arrays`` holds w, b, scale, lag, b_sum, mass, paid, log and slopes, those with two axes with one row a problem.
    """
    w, b, scale, lag, b_sum, mass, paid, log, slopes = arrays
    flat: list[Any] = [None if part is None else part.reshape(-1) for part in (w, lag, paid)]
    order = np.arange(X.shape[0], dtype=np.uint32)
    rule = (*rule[:-1], min(rule[-1], max(X.shape[0], 1)))  # a batch has no more rows than there are
    favour = None if favour is None else np.ascontiguousarray(favour).reshape(-1)
    weight = None if weight is None else np.ascontiguousarray(weight)
    given = (
        len(b),
        np.ascontiguousarray(y, dtype=np.float64),
        weight,
        favour,
        rule,
        (flat[0], b, scale, flat[1], b_sum, mass, flat[2], order, log, slopes),
        numbers,
    )
    rest: Any = (tuple(visits), seed, stop, sums_losses)
    if isinstance(X, np.ndarray):
        return _native.online_passes(rows_in_order(X), *given, *rest)
    X = X.tocsr()
    return _native.csr_online_passes((X.indptr, X.indices, X.data), X.shape, *given, *rest)


def coded_planes(
    table: tuple[Array, np.ndarray[Any, Any], Array],
    book: np.ndarray[Any, Any],
    model: tuple[str, float, float, bool],
    begin: tuple[Array, Array],
    goal: tuple[Array, int],
) -> tuple[Array, Array, Array]:
    """Return hyperplanes for the rows of a code matrix, their intercepts, and objective, gap, rounding and steps of each.

    ``table`` is rows sorted by class, where each class begins, and what is subtracted from each row; ``book[k, c]`` is the
    side of class c in problem k. ``model`` is the name of a loss, its largest curvature, what it is multiplied by, and whether
    an intercept is free; ``begin`` are coefficients and intercepts, ``goal`` is a gap for each problem and a number of steps.
    """
    X, starts, shift = table
    plain = np.ascontiguousarray(starts, dtype=np.int64), np.ascontiguousarray(book, dtype=np.int8)
    found: Any = _native.coded_planes(X, *plain, model, shift, begin, goal[0], int(goal[1]))
    return found[0], found[1], found[2]


def margins(X: Any, y: Array, w: Array, b: Array) -> tuple[Array, float]:
    """Return for each problem the least ``y (x w + b)``, and the largest squared length of a row."""
    y, flat = np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(w).reshape(-1)
    if isinstance(X, np.ndarray):
        return _native.online_margins(rows_in_order(X), len(b), y, flat, np.ascontiguousarray(b))
    X = X.tocsr()
    return _native.csr_online_margins((X.indptr, X.indices, X.data), X.shape, len(b), y, flat, np.ascontiguousarray(b))


def online_proofs(
    X: np.ndarray[Any, Any],
    y: Array,
    weight: Array | None,
    favour: Array | None,
    model: tuple[int, float, float, float, bool, float],
    columns: tuple[Array | None, Array],
    planes: tuple[Array, Array],
) -> tuple[Array, list[tuple[float, float, float, float, float, bool]]]:
    """Return dual points, and objective, gap, rounding, null objective, radius and tightness of each hyperplane.

    ``model`` holds loss, width, ridge, lasso, intercept and effort; ``columns`` are their means, None without an intercept, and
    lengths without them.
    """
    (shift, spans), (w, b) = columns, planes
    favour = None if favour is None else np.ascontiguousarray(favour).reshape(-1)
    weight = None if weight is None else np.ascontiguousarray(weight)
    plain = np.ascontiguousarray(X, dtype=np.float64), len(b), np.ascontiguousarray(y, dtype=np.float64)
    flat = np.ascontiguousarray(w).reshape(-1)
    u, found = _native.online_proofs(*plain, weight, favour, model, shift, spans, flat, b)
    return np.asarray(u, dtype=np.float64), found


def rows_in_order(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return X with the entries of a row side by side, copied if they are not."""
    return X if X.strides[1] == X.itemsize or X.shape[1] <= 1 else np.ascontiguousarray(X)
