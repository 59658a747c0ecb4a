"""Distances between all pairs of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _finite, _tables
from qed.core._errors import InvalidData, InvalidParameter
from qed.core._memory import require_memory
from qed.core._traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array

ROWS_AT_ONCE = 256  # rows whose differences from all others are held at once


def euclidean_distances(X: Any, Y: Any = None, *, squared: bool = False) -> Array:
    """Return Euclidean distances between the rows of X and those of Y.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    Y : array-like or sparse of shape (m, p), optional
        Other rows; those of X by default.
    squared : bool
        Whether to return the squares.

    Returns
    -------
    ndarray of shape (n, m)
        Distances; exactly zero between a row and itself.

    Examples
    --------
    >>> from qed.metrics.pairwise import euclidean_distances
    >>> euclidean_distances([[0.0, 0.0], [3.0, 4.0]]).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    rows, others = _read(X, Y)
    # about a common mean products cancel least; the largest of the squared lengths bounds what is left of their rounding
    centre = rows.mean(axis=0)
    a, b = rows - centre, others - centre
    own, other = np.einsum("ij,ij->i", a, a), np.einsum("ij,ij->i", b, b)
    found = (-2.0 * a) @ b.T
    found += own[:, None]
    found += other
    # nearly equal rows: from their differences
    i, j = np.nonzero(found <= (1e-6 * (own + other.max(initial=0.0)))[:, None])
    for start in range(0, len(i), 4096):
        some = slice(start, start + 4096)
        found[i[some], j[some]] = np.sum((rows[i[some]] - others[j[some]]) ** 2, axis=1)
    np.maximum(found, 0.0, out=found)
    return np.asarray(found if squared else np.sqrt(found, out=found))


def manhattan_distances(X: Any, Y: Any = None) -> Array:
    """Return sums of absolute differences between the rows of X and those of Y."""
    return _by_blocks(X, Y, lambda difference: np.sum(np.abs(difference), axis=2))


def cosine_similarity(X: Any, Y: Any = None, dense_output: bool = True) -> Array:  # noqa: ARG001
    """Return the cosines of the angles between rows; 0 for rows of zeros."""
    rows, others = _read(X, Y)
    return np.asarray(_unit(rows) @ _unit(others).T)


def cosine_distances(X: Any, Y: Any = None) -> Array:
    """Return one minus the cosine of the angle between rows."""
    found = np.clip(1.0 - cosine_similarity(X, Y), 0.0, 2.0)
    if Y is None or Y is X:
        np.fill_diagonal(found, 0.0)
    return found


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def _chebyshev(X: Any, Y: Any) -> Array:
    return _by_blocks(X, Y, lambda difference: np.max(np.abs(difference), axis=2))


METRICS: dict[str, Callable[[Any, Any], Array]] = {
    "chebyshev": _chebyshev,
    "cityblock": manhattan_distances,
    "cosine": cosine_distances,
    "euclidean": euclidean_distances,
    "l1": manhattan_distances,
    "l2": euclidean_distances,
    "manhattan": manhattan_distances,
    "sqeuclidean": lambda X, Y: euclidean_distances(X, Y, squared=True),
}


def pairwise_distances(
    X: Any, Y: Any = None, metric: Any = "euclidean", *, n_jobs: Any = None, ensure_all_finite: bool = True, **kwds: Any
) -> Array:
    """Return the distances between the rows of X and those of Y.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p), or distances of shape (n, n) if the metric is "precomputed"
        Rows.
    Y : array-like or sparse of shape (m, p), optional
        Other rows; those of X by default.
    metric : str or callable
        "euclidean" or "l2", "sqeuclidean", "manhattan", "cityblock" or "l1", "chebyshev", "minkowski" (with p), "cosine",
        "precomputed"; or a function of two rows.
    n_jobs : int, optional
        Not needed: products of matrices use the threads there are.
    ensure_all_finite : bool
        Must be True: a distance from a missing value is not defined.
    **kwds : object
        Passed to a function; ``p`` for "minkowski".

    Returns
    -------
    ndarray of shape (n, m)
        Distances.

    Examples
    --------
    >>> from qed.metrics import pairwise_distances
    >>> pairwise_distances([[0.0, 0.0]], [[3.0, 4.0]], metric="manhattan").tolist()
    [[7.0]]
    """
    if ensure_all_finite is not True:
        raise InvalidParameter("pairwise_distances needs ensure_all_finite=True: fill missing values first.")
    del n_jobs
    if callable(metric):
        return by_function("metric", metric, *_read(X, Y), kwds)
    if metric == "precomputed":
        return np.asarray(X)
    if metric == "minkowski":
        p = float(kwds.pop("p", 2.0))
        if not p >= 1:
            raise InvalidParameter(f"p of the Minkowski distance must be >= 1, got {p!r}.")
        return _by_blocks(X, Y, lambda difference: np.sum(np.abs(difference) ** p, axis=2) ** (1 / p))
    if metric not in METRICS or kwds:
        raise InvalidParameter(
            f"Unknown metric {metric!r} or options {sorted(kwds)}. Valid metrics are"
            f" {sorted([*METRICS, 'minkowski', 'precomputed'])}, or a function of two rows."
        )
    return METRICS[metric](X, Y)


def _read(X: Any, Y: Any) -> tuple[Array, Array]:
    tables = []
    for table, what in ((X, "X"), (X if Y is None else Y, "Y")):
        rows, names = _tables.read(table, what, Traits(sparse=True), "pairwise_distances")
        _finite.require(rows, what, None if names is None else list(names), "pairwise_distances")
        tables.append(np.asarray(rows.toarray() if _tables.is_sparse(rows) else rows, dtype=np.float64))
    if tables[0].shape[1] != tables[1].shape[1]:
        raise InvalidData(
            f"Incompatible dimension for X and Y matrices: X.shape[1] == {tables[0].shape[1]} while Y.shape[1] =="
            f" {tables[1].shape[1]}."
        )
    require_memory(
        16 * len(tables[0]) * len(tables[1]),
        "distances between all pairs of rows",
        "Pass fewer rows at once, or ask for near ones alone: qed.neighbors.NearestNeighbors",
    )
    return tables[0], tables[1]


def by_function(what: str, function: Any, rows: Array, others: Array, options: dict[str, Any]) -> Array:
    """Return what a function says of every pair of rows; raise InvalidParameter when it says no number."""
    try:
        if isinstance(function, np.ufunc):  # whose second argument is where it writes
            raise TypeError("it is a function of numbers")
        return np.array([[float(function(a, b, **options)) for b in others] for a in rows])
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"The {what} {getattr(function, '__name__', function)!r} gives no number of two rows ({error}). Pass a function of two"
            " rows that returns a number."
        ) from error


def _by_blocks(X: Any, Y: Any, combine: Callable[[Array], Array]) -> Array:
    """Combine differences of all pairs of rows, some rows at a time."""
    rows, others = _read(X, Y)
    found = np.empty((len(rows), len(others)))
    step = max(1, ROWS_AT_ONCE * 256 // max(1, others.shape[0]))
    for start in range(0, len(rows), step):
        found[start : start + step] = combine(rows[start : start + step, None, :] - others[None, :, :])
    return found
