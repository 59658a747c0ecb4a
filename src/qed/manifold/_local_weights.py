"""The matrix of locally linear embedding: what points may not do without leaving the patches of their neighbourhoods.

Each function returns a sparse positive semidefinite matrix M, whose quadratic form is zero on constant vectors; the points are
its eigenvectors for the smallest eigenvalues after that of the constant one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.manifold._neighborhoods import neighbor_graph

if TYPE_CHECKING:
    from qed.core._params import Array

BLOCK_ENTRIES = 1 << 21  # numbers of neighbourhoods that are held at a time
TIE_FACTOR = (
    1 - 1e-9
)  # the median of an odd number of shares is one of them, and must not lie beyond itself by rounding


def barycenter_weights(queries: Array, rows: Array, ids: Array, reg: float) -> Array:
    """Return weights of sum one with which each query is nearest to the weighted mean of its neighbours.

    The squared lengths of weights count `reg` times the trace of the local products, so that there is one answer where neighbours
    are more than dimensions.
    """
    m, k = ids.shape
    weights = np.empty((m, k))
    step = max(1, BLOCK_ENTRIES // (k * max(rows.shape[1], k)))
    for first in range(0, m, step):
        some = slice(first, first + step)
        away = rows[ids[some]] - queries[some, None, :]
        products = away @ away.swapaxes(1, 2)
        trace = np.trace(products, axis1=1, axis2=2)
        products[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, reg)[:, None]
        try:
            found = np.linalg.solve(products, np.ones((len(away), k, 1)))[..., 0]
        except np.linalg.LinAlgError as error:
            raise InvalidData(
                f"The local products of {k} neighbours are singular, so that their weights are not determined. Raise reg,"
                f" which is {reg}."
            ) from error
        weights[some] = found / found.sum(axis=1, keepdims=True)
    return weights


def standard(rows: Array, ids: Array, reg: float) -> Any:
    """Return (I - W)'(I - W), W the weights of neighbours."""
    from scipy.sparse import identity  # noqa: PLC0415

    n = len(rows)
    left = (identity(n, format="csr") - neighbor_graph(barycenter_weights(rows, rows, ids, reg), ids, n)).tocsr()
    return (left.T @ left).tocsr()


def gathered(blocks: Array, nodes: Array, n: int) -> Any:
    """Return the sum of small matrices, each placed at its nodes."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415

    m, k = nodes.shape
    tails = np.broadcast_to(nodes[:, :, None], (m, k, k)).reshape(-1)
    heads = np.broadcast_to(nodes[:, None, :], (m, k, k)).reshape(-1)
    return coo_matrix((blocks.reshape(-1), (tails, heads)), shape=(n, n)).tocsr()


def tangent_alignment(rows: Array, ids: Array, d: int) -> Any:
    """Return what local tangent space alignment charges: coordinates that leave the tangents of their neighbourhood."""
    n, k = ids.shape
    blocks = np.empty((n, k, k))
    for i, (values, directions) in enumerate(_local_scores(rows, ids, d)):
        # a neighbourhood of equal rows has no tangent: what rounding leaves of it is no direction
        floor = 8 * k * np.finfo(float).eps * np.abs(rows[ids[i]]).max(initial=0.0)
        extent = np.pad(values, (0, d))[:d]
        G = np.column_stack([np.full(k, k**-0.5), directions * (extent > floor)])
        blocks[i] = np.eye(k) - G @ G.T
    return gathered(blocks, ids, n)


def hessian(rows: Array, ids: Array, d: int, tol: float) -> Any:
    """Return what Hessian eigenmaps charge: second derivatives along the tangents of a neighbourhood."""
    n, k = ids.shape
    second = d * (d + 1) // 2
    if k <= d + second:
        raise InvalidParameter(
            f"for method='hessian', n_neighbors must be greater than n_components * (n_components + 3) / 2 = {d + second}, got {k}."
        )
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    blocks = np.empty((n, k, k))
    for i, (_, directions) in enumerate(_local_scores(rows, ids, d)):
        squares = np.stack([directions[:, a] * directions[:, b] for a, b in pairs], axis=1)
        Q = np.linalg.qr(np.column_stack([np.ones(k), directions, squares]))[0]
        W = Q[:, d + 1 :]
        sums = W.sum(axis=0)
        sums[np.abs(sums) < tol] = 1.0
        W = W / sums
        blocks[i] = W @ W.T
    return gathered(blocks, ids, n)


def _local_scores(rows: Array, ids: Array, d: int) -> Any:
    """Yield singular values and the d leading left singular vectors of each centred neighbourhood."""
    for near in ids:
        local = rows[near] - rows[near].mean(axis=0)
        U, values, _ = np.linalg.svd(local, full_matrices=False)
        if U.shape[1] < d:  # fewer dimensions than asked for
            U = np.pad(U, ((0, 0), (0, d - U.shape[1])))
        yield values, U[:, :d]


def modified(rows: Array, ids: Array, d: int, reg: float, tol: float) -> Any:
    """Return what modified locally linear embedding charges: several weight vectors for each neighbourhood."""
    n, k = ids.shape
    if k < max(d, 2):
        raise InvalidParameter(f"modified LLE requires n_neighbors >= n_components and >= 2, got {k} and {d}.")
    weights = barycenter_weights(rows, rows, ids, reg)
    parts = [_eigen(rows[ids[i]] - rows[i]) for i in range(n)]
    values = np.stack([one for one, _ in parts])
    ratio = values[:, d:].sum(axis=1) / np.maximum(values[:, :d].sum(axis=1), np.finfo(float).tiny)
    eta = float(np.median(ratio))
    # how many of the smallest directions of a neighbourhood may count as noise
    sums = np.cumsum(values[:, ::-1], axis=1)
    shares = sums[:, :-1] / np.maximum(sums[:, -1:] - sums[:, :-1], np.finfo(float).tiny)
    blocks = np.zeros((n, k + 1, k + 1))
    for i in range(n):
        none = k - min(k, rows.shape[1])  # directions without any variance
        s = min(max(int(np.searchsorted(shares[i], eta * TIE_FACTOR)), none, 1), k - 1)
        V = parts[i][1][:, k - s :]
        alpha = float(np.linalg.norm(V.sum(axis=0))) / np.sqrt(s)
        h = alpha - V.sum(axis=0)
        size = float(np.linalg.norm(h))
        h = np.zeros_like(h) if size < tol else h / size
        W = V - 2 * np.outer(V @ h, h) + (1 - alpha) * weights[i][:, None]
        left = np.vstack([-np.ones((1, s)), W])
        blocks[i] = left @ left.T
    return gathered(blocks, np.column_stack([np.arange(n), ids]), n)


def _eigen(away: Array) -> tuple[Array, Array]:
    """Return all k eigenvalues of the local products, largest first, and their vectors: squares would lose small ones."""
    vectors, values, _ = np.linalg.svd(away)
    return np.pad(values**2, (0, len(away) - len(values))), vectors
