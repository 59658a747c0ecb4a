"""The one door from `qed.convex` to native code: fixes layout, type and alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.convex._loss import Vector

__all__ = [
    "compressed_adjoint",
    "compressed_product",
    "cross",
    "descend_columns",
    "descend_gram",
    "descend_grams",
    "descend_rows",
    "descend_sparse",
    "descend_targets",
    "gram",
]

Goal = tuple[float, int]


def _numbers(penalty: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return vectors as contiguous float64, and the ridge as a number."""
    return (*(np.ascontiguousarray(one, dtype=np.float64) for one in penalty[:-1]), float(penalty[-1]))


def gram(A: Vector) -> Vector:
    """Return A'A."""
    return np.asarray(_native.gram(A, None, None, transpose=False))


def cross(A: Vector, B: Vector) -> Vector:
    """Return A'B."""
    return np.asarray(_native.rmatmul(A, B, None))


def descend_gram(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise ``w'Qw/2 - q'w + constant`` plus a penalty with kinks; return w, Qw - q, sweeps and gap."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_gram(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def descend_grams(problems: list[tuple[Any, Any, Goal, Vector]]) -> list[tuple[Vector, Vector, int, float]]:
    """Minimise several such problems in threads; each is a quadratic (Q, q, constant), a penalty, a goal and a start."""
    return _native.descend_grams(
        [
            ((Q, np.ascontiguousarray(q), float(constant)), _numbers(penalty), goal, np.ascontiguousarray(w))
            for (Q, q, constant), penalty, goal, w in problems
        ]
    )


def descend_targets(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise the same over w of several columns, every entry penalised by itself."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_targets(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def descend_rows(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise the same over w of several columns, rows penalised by their lengths."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_rows(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def descend_columns(
    A: Vector, penalty: tuple[Any, ...], goal: Goal, w: Vector, residual: Vector
) -> tuple[Vector, Vector, Vector, int, float]:
    """Minimise half the squared residual plus a penalty with kinks; return w, residual, gradient, sweeps and gap."""
    return _native.descend_columns(A, _numbers(penalty), goal, np.ascontiguousarray(w), np.ascontiguousarray(residual))


def descend_sparse(
    A: tuple[Any, Any, Any],
    centring: tuple[Vector, Vector],
    penalty: tuple[Any, ...],
    goal: Goal,
    w: Vector,
    residual: Vector,
) -> tuple[Vector, Vector, Vector, int, float]:
    """Minimise the same for compressed columns less root times their centre."""
    centre, root = (np.ascontiguousarray(one) for one in centring)
    return _native.descend_sparse_columns(
        A, (centre, root), _numbers(penalty), goal, np.ascontiguousarray(w), np.ascontiguousarray(residual)
    )


def compressed_product(starts: Any, rows: Any, values: Vector, n: int, w: Vector) -> Vector:
    """Return A w for compressed columns of n rows."""
    shape = (len(starts) - 1, n)
    return np.asarray(_native.csr_rmatmul(starts, rows, values, shape, np.ascontiguousarray(w)))


def compressed_adjoint(starts: Any, rows: Any, values: Vector, n: int, r: Vector) -> Vector:
    """Return A'r for compressed columns of n rows."""
    shape = (len(starts) - 1, n)
    return np.asarray(_native.csr_matmul(starts, rows, values, shape, np.ascontiguousarray(r), None))
