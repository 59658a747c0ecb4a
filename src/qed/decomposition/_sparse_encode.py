r"""Sparse codes: rows as combinations of few atoms of a given dictionary."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.core import Array, InvalidData, InvalidParameter
from qed.decomposition import _kernels

EXACT = 1e-20  # share of the squared length of a row that a last sweep may still gain


def sparse_encode(
    X: Any,
    dictionary: Any,
    *,
    algorithm: Literal["lasso_lars", "lasso_cd", "omp", "threshold"] = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    alpha: float | None = None,
    max_iter: int = 10_000,
    positive: bool = False,
) -> Array:
    r"""Find sparse codes: approximate each row by a sparse combination of the atoms of a dictionary.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    dictionary : array-like of shape (k, p)
        Atoms, one a row; of length one by convention.
    algorithm : {"lasso_lars", "lasso_cd", "omp", "threshold"}
        What a code w of a row x is. The first two minimise :math:`\tfrac12 \|x - w D\|^2 + \alpha \|w\|_1`, and find the same.
        "omp" takes the atom of largest correlation with what is left, refits all, and goes on (orthogonal matching pursuit).
        "threshold" shrinks the correlations by alpha.
    n_nonzero_coefs : int, optional
        Most atoms of a code, for "omp"; a tenth of the columns by default, or all where ``alpha`` is given.
    alpha : float, optional
        Penalty strength, 1 by default; for "omp" the squared error that is small enough.
    max_iter : int
        Most sweeps over the atoms, for the first two.
    positive : bool
        Whether codes may not be negative; not for "omp".

    Returns
    -------
    ndarray of shape (n, k)
        Codes.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import sparse_encode
    >>> sparse_encode([[3.0, 0.5]], np.eye(2), alpha=1.0)
    array([[2., 0.]])
    """
    rows, atoms = _table(X, "X"), _table(dictionary, "dictionary")
    if rows.shape[1] != atoms.shape[1]:
        raise InvalidData(
            f"Dictionary and X have different numbers of features: dictionary.shape: {atoms.shape} X.shape: {rows.shape}."
        )
    if alpha is not None and not alpha >= 0:
        raise InvalidParameter(f"alpha must be a number >= 0, got {alpha!r}.")
    if max_iter < 1:
        raise InvalidParameter(f"max_iter must be at least 1, got {max_iter!r}.")
    G = _kernels.product(atoms, np.ascontiguousarray(atoms.T))
    P = _kernels.product(rows, np.ascontiguousarray(atoms.T))
    squares = np.sum(rows * rows, axis=1)
    if algorithm == "omp":
        return _pursued(G, P, squares, n_nonzero_coefs, alpha, rows.shape[1], positive=positive)
    if n_nonzero_coefs is not None:
        raise InvalidParameter(f"n_nonzero_coefs is for algorithm='omp', got {n_nonzero_coefs!r} with {algorithm!r}.")
    strength = 1.0 if alpha is None else float(alpha)
    if algorithm == "threshold":
        size = P - strength if positive else np.abs(P) - strength
        return np.asarray(np.where(P < 0, -1.0, 1.0) * np.maximum(size, 0.0))
    if algorithm not in ("lasso_lars", "lasso_cd"):
        raise InvalidParameter(
            f"algorithm must be 'lasso_lars', 'lasso_cd', 'omp' or 'threshold', got {algorithm!r}. 'lars' is not in qed, use"
            " sklearn.decomposition.sparse_encode."
        )
    W = np.zeros_like(P)
    _kernels.code_rows(G, P, W, EXACT * squares, strength, 0.0, positive=positive, sweeps=max_iter)
    return W


def _pursued(
    G: Array, P: Array, squares: Array, most: int | None, alpha: float | None, columns: int, *, positive: bool
) -> Array:
    k = len(G)
    if positive:
        raise InvalidParameter("positive=True is not for algorithm='omp'. Use 'lasso_cd'.")
    if most is None:
        most = k if alpha is not None else max(columns // 10, 1)
    if most < 1:
        raise InvalidParameter(f"n_nonzero_coefs must be at least 1, got {most!r}.")
    return _kernels.pursue_rows(G, P, squares, min(most, k), 0.0 if alpha is None else float(alpha))


def _table(given: Any, name: str) -> Array:
    table = np.ascontiguousarray(given, dtype=np.float64)
    if table.ndim != 2 or not all(table.shape):
        raise InvalidData(f"{name} must be a table with rows and columns, got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise InvalidData(f"{name} holds NaN or infinity.")
    return table
