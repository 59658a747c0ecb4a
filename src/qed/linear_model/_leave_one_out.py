"""Exact leave-one-out errors of ridge for many strengths, from one decomposition.

Leaving out row ``i`` of weight ``s`` and refitting changes its residual ``e`` to ``e / (1 - s h)``, where

    h_i(alpha) = 1/weight + Σ_k z_ik² / (lambda_k + alpha)

is the leverage of one observation, ``z`` the row in the coordinates of the eigenvectors. A row is left out whole, whatever its
weight: what is left of a repeated row would tell the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._interruptible import interruptible
from qed.core._threads import one_blas_thread
from qed.data import ArraySource, fold
from qed.linear_model._kernels import projected_squares
from qed.linear_model._quadratic import UNIT, Quadratic
from qed.linear_model._triangle import TriangleOf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from qed.data import Moments
    from qed.linear_model._dual import Wide

    Array = NDArray[np.float64]


ROWS = 1 << 16  # rows whose leverages are in memory at a time


def predictions_left_out(
    X: NDArray[Any],
    y: Array,
    s: Array | None,
    moments: Moments,
    alphas: Array,
    *,
    intercept: bool,
) -> Iterator[tuple[slice | NDArray[np.intp], Array]]:
    """Yield, for blocks of rows, predictions for rows that the fit did not see, shape (rows, m, strengths)."""
    quadratic = Quadratic.of(moments, intercept=intercept)
    values, vectors = _spectrum(quadratic, alphas, X, y, s)
    shrink = 1 / (values[:, None] + alphas)
    p, m, k = len(values), y.shape[1], len(alphas)
    coordinates = vectors.T @ quadratic.c
    fitted = (coordinates[:, :, None] * shrink[:, None, :]).reshape(p, m * k)
    base = 1 / quadratic.columns.weight if intercept else 0.0
    for first in range(0, len(X), ROWS):
        rows = slice(first, min(first + ROWS, len(X)))
        lever, predicted = projected_squares(X[rows], quadratic.mean_x, vectors, shrink, fitted)
        share = 1.0 if s is None else s[rows][:, None]
        kept = 1 - share * (lever + base)
        residual = (y[rows] - quadratic.mean_y)[:, :, None] - predicted.reshape(-1, m, k)
        yield rows, y[rows][:, :, None] - residual / kept[:, None, :]


def wide_left_out(wide: Wide, K: Array, y: Array, alphas: Array) -> Array:
    """Return the same for fewer rows than columns, from the products of rows; shape (n, m, strengths).

    In the basis of eigenvectors ``q`` of ``K`` the kept share of a row is ``Σ_k q_ik² alpha / (lambda_k + alpha)``, a sum of
    positive terms: nothing cancels, however small alpha is. The direction of the intercept is left out of the sum.
    """
    v = wide.direction
    if wide.has_intercept:
        K = K + (1 + np.trace(K)) * np.multiply.outer(v, v)  # moves that direction to the top, where it is dropped
    with one_blas_thread():
        values, vectors = interruptible(np.linalg.eigh, K, work=9.0 * len(K) ** 3)
    if wide.has_intercept:
        values, vectors = values[:-1], vectors[:, :-1]
    shrink = alphas / (np.maximum(values, 0.0)[:, None] + alphas)
    kept = vectors**2 @ shrink
    residual = np.einsum("ik,km,ka->ima", vectors, vectors.T @ wide.y, shrink, optimize=True)
    return np.asarray(y[:, :, None] - residual / (wide.root * kept)[:, None, :])


def wide_path(wide: Wide, alphas: Array) -> tuple[Array, Array]:
    """Return coefficients (p, m, strengths) and intercepts (m, strengths) for fewer rows than columns."""
    with one_blas_thread():
        products = wide.products()
        values, vectors = interruptible(np.linalg.eigh, products, work=9.0 * len(products) ** 3)
    floor = np.maximum(values, len(values) * UNIT * values[-1])
    inside = (vectors.T @ wide.y)[:, :, None] / (floor[:, None] + alphas)[:, None, :]
    n, m, k = inside.shape
    a = wide.balanced(vectors @ inside.reshape(n, m * k))
    w = wide.adjoint(a).reshape(-1, m, k)
    return w, wide.mean_y[:, None] - np.einsum("p,pma->ma", wide.mean_x, w)


def _spectrum(quadratic: Quadratic, alphas: Array, X: NDArray[Any], y: Array, s: Array | None) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of ``S``; by the columns themselves where squaring would drown alpha."""
    with one_blas_thread():
        values, vectors = interruptible(np.linalg.eigh, quadratic.S, work=9.0 * len(quadratic.S) ** 3)
    if len(values) * UNIT * values[-1] <= 1e-8 * (max(values[0], 0.0) + alphas.min()):
        return np.maximum(values, 0.0), vectors
    triangle = fold(ArraySource(X, y, s), TriangleOf.about(quadratic))
    p = len(values)
    with one_blas_thread():
        _, sigma, Vt = np.linalg.svd(triangle.R[:p, :p])
    return sigma**2, Vt.T


def ridge_path(moments: Moments, alphas: Array, *, intercept: bool, digits: float | None = None) -> tuple[Array, Array]:
    """Return coefficients (p, m, strengths) and intercepts (m, strengths) for many strengths, from one decomposition.

    Raises FloatingPointError if squaring the columns would cost the smallest strength more than the ``digits`` allowed.
    """
    quadratic = Quadratic.of(moments, intercept=intercept)
    with one_blas_thread():
        values, vectors = interruptible(np.linalg.eigh, quadratic.S, work=9.0 * len(quadratic.S) ** 3)
    if digits is not None and len(values) * UNIT * values[-1] > digits * (max(values[0], 0.0) + alphas.min()):
        raise FloatingPointError("the columns are too nearly dependent for their products")
    floor = np.maximum(values, len(values) * UNIT * values[-1])
    inside = (vectors.T @ quadratic.c)[:, :, None] / (floor[:, None] + alphas)[:, None, :]
    w = np.einsum("pk,kma->pma", vectors, inside, optimize=True)
    return w, quadratic.mean_y[:, None] - np.einsum("p,pma->ma", quadratic.mean_x, w)
