"""Few eigenvectors of large symmetric matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.decomposition import _krylov as krylov

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array

MAX_DENSE_ROWS = 200  # rows up to which all eigenvectors cost no more than a few
MACHINE_EPSILON = float(np.finfo(np.float64).eps)
TIE_TOLERANCE = (
    1e-10  # of the size of a matrix: eigenvalues that are nearer leave their eigenvectors open, but for the space
)
OUTSIDE = 1e-8  # of its length: a column with less in a space lies outside of it, up to the digits of its axes
PIVOT = 0.1  # of the largest: share of a column that lies in such a space, from which the column can name an axis
CROWDED = 0.05  # share of entries that are not zero from which a factor of the matrix has no zeros to speak of
MAX_PRODUCTS = 200  # products with a block of vectors, at most
TOLERANCE = 1e-11  # residual relative to the largest eigenvalue


class Pairs(NamedTuple):
    """Eigenvalues in the order asked for, orthonormal eigenvectors as columns, and their largest residual."""

    values: Array
    vectors: Array
    residual: float


def leading(matrix: Any, k: int, *, steps: int = MAX_PRODUCTS, tol: float | None = TOLERANCE) -> Pairs:
    """Return the k largest eigenvalues of a symmetric matrix, dense or sparse, largest first.

    Large matrices are multiplied with blocks of vectors (block Lanczos) until the residual, relative to the largest value, is
    within `tol`, at most `steps` times; without `tol` exactly so often.
    """
    n = matrix.shape[0]
    if n <= max(MAX_DENSE_ROWS, 4 * k):
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        with one_blas_thread(n * n):
            values, vectors = np.linalg.eigh(dense)
            return _with_residual(dense, values[::-1][:k], vectors[:, ::-1][:, :k])
    start = np.random.default_rng(0).standard_normal((n, max(8, k + 2)))
    with Progress("eigenvectors") as progress, one_blas_thread():
        vectors = krylov.leading(
            lambda block: matrix @ block, start, k, steps=steps, tol=tol, progress=progress
        ).vectors
    values = np.einsum("ij,ij->j", vectors, matrix @ vectors)  # also where they are negative
    order = np.argsort(-values, kind="stable")
    return _with_residual(matrix, values[order], vectors[:, order])


def trailing(matrix: Any, k: int, null: Array) -> Pairs:
    """Return the k smallest eigenvalues of a sparse positive semidefinite matrix, smallest first, all but one.

    `null` is a vector of length one with eigenvalue zero, which is left out: eigenvectors are those orthogonal to it. Large
    matrices are inverted about a point slightly below zero, where they are definite.
    """
    n = matrix.shape[0]
    size = float(abs(matrix).sum(axis=1).max())
    if n <= max(MAX_DENSE_ROWS, 4 * k):
        with one_blas_thread(n * n):  # the null vector is moved to the other end of the spectrum
            values, vectors = np.linalg.eigh(matrix.toarray() + 2.0 * size * np.outer(null, null))
        values, vectors = values[:k], vectors[:, :k]
    else:
        null = null[:, None]
        solve = _factored(matrix, 1e-10 * size)

        def inverse(block: Array) -> Array:
            found = solve(block - null * (null.T @ block))
            return np.asarray(found - null * (null.T @ found))

        # several vectors at once: a graph in pieces has several eigenvalues of zero, which one vector finds one by one
        start = np.random.default_rng(0).standard_normal((n, k + 2))
        with Progress("eigenvectors") as progress, one_blas_thread():
            vectors = krylov.leading(
                inverse, start - null * (null.T @ start), k, steps=MAX_PRODUCTS, tol=TOLERANCE, progress=progress
            ).vectors
        values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], vectors[:, order]
    return _with_residual(matrix, values, vectors)


def _factored(matrix: Any, shift: float) -> Callable[[Array], Array]:
    """Return the solution of systems with a semidefinite matrix about a point slightly below zero."""
    n = matrix.shape[0]
    if matrix.nnz > CROWDED * n * n:
        from scipy.linalg import cho_factor, cho_solve  # noqa: PLC0415

        dense = matrix.toarray()
        dense[np.diag_indices(n)] += shift
        with one_blas_thread(n * n):
            root = cho_factor(dense, overwrite_a=True, check_finite=False)
        return lambda block: np.asarray(cho_solve(root, block, check_finite=False))
    from scipy.sparse.linalg import splu  # noqa: PLC0415

    found = splu((matrix + shift * _identity(n)).tocsc(), diag_pivot_thresh=0.0, permc_spec="MMD_AT_PLUS_A")
    return lambda block: np.asarray(found.solve(block))


def with_settled_axes(pairs: Pairs, size: float, rows: Any) -> Pairs:
    """Return eigenvectors whose axes are settled where eigenvalues tie: turned within their space, to the columns of the rows.

    The first axis is that along which the first column varies, of those that vary about as much as any; the next is found among
    what is left. So a table in another order of rows gives the same axes.
    """
    ends = np.flatnonzero(np.abs(np.diff(pairs.values)) > TIE_TOLERANCE * size) + 1
    vectors = pairs.vectors.copy()
    for own in np.split(np.arange(len(pairs.values)), ends):
        if len(own) > 1:
            centred = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, np.float64)
            centred = centred - centred[:1]  # exact where a column is constant: its mean is rounded
            centred = centred - centred.mean(axis=0)
            vectors[:, own] = vectors[:, own] @ _turn(vectors[:, own].T @ centred, np.linalg.norm(centred, axis=0))
    return Pairs(pairs.values, vectors, pairs.residual)


def _turn(shown: Array, lengths_of: Array) -> Array:
    """Return a rotation of k axes, (k, k), from what columns of these lengths, (p,), show of them, (k, p).

    Columns that lie outside of the space up to rounding show nothing.
    """
    left = shown * (np.linalg.norm(shown, axis=0) > OUTSIDE * lengths_of)
    axes: list[Array] = []
    while len(axes) < len(shown):
        lengths = np.sqrt(np.sum(left * left, axis=0))
        if not lengths.max(initial=0.0) > OUTSIDE * np.abs(shown).max(initial=0.0):
            break
        axis = left[:, np.argmax(lengths >= PIVOT * lengths.max())]
        for other in axes:  # once more, for the digits that were lost
            axis = axis - other * (other @ axis)
        axes.append(axis / np.linalg.norm(axis))
        left = left - np.outer(axes[-1], axes[-1] @ left)
    found = np.array(axes).reshape(-1, len(shown)).T
    rest = np.linalg.svd(found, full_matrices=True)[0][:, found.shape[1] :] if found.shape[1] else np.eye(len(shown))
    return np.hstack([found, rest])


def _identity(n: int) -> Any:
    from scipy.sparse import identity  # noqa: PLC0415

    return identity(n, format="csr")


def _with_residual(matrix: Any, values: Array, vectors: Array) -> Pairs:
    off = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    return Pairs(values, vectors, float(off.max(initial=0.0)))
