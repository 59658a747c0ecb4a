"""Cuts of graphs: what separates parts, and what it weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData

if TYPE_CHECKING:
    from qed.core._params import Array


def graph_laplacian(graph: Any, *, normed: bool = False) -> Any:
    """Return the Laplacian of a graph: degrees on the diagonal less the weights of the edges.

    Parameters
    ----------
    graph : array-like or sparse of shape (n, n)
        Symmetric weights of the edges, none negative.
    normed : bool
        Whether to divide by the roots of the degrees of both ends.

    Returns
    -------
    ndarray or sparse of shape (n, n)
        The Laplacian. Zero is an eigenvalue as often as the graph has components.

    Examples
    --------
    >>> from qed.cluster import graph_laplacian
    >>> graph_laplacian([[0.0, 1.0], [1.0, 0.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    W, degree = _read(graph)
    scale = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0)) if normed else np.ones(len(degree))
    if hasattr(W, "tocsr"):
        from scipy.sparse import diags_array  # noqa: PLC0415

        return diags_array(degree * scale**2) - diags_array(scale) @ W @ diags_array(scale)
    return np.diag(degree * scale**2) - scale[:, None] * W * scale


def _read(graph: Any) -> tuple[Any, Array]:
    W: Any = graph.tocsr().astype(np.float64) if hasattr(graph, "tocsr") else np.array(graph, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise InvalidData(f"A graph is a square table of weights, got shape {W.shape}.")
    values: Array = np.asarray(W.data if hasattr(W, "tocsr") else W)
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidData("Weights of edges must be finite and not negative.")
    if hasattr(W, "setdiag"):
        W.setdiag(0.0)
    else:
        np.fill_diagonal(W, 0.0)
    return W, np.asarray(W.sum(axis=1)).ravel()


def _parts(graph: Any, labels: Any) -> tuple[Array, Array, Array]:
    """Return for each part what its cut weighs, how many rows it has, and the sum of their degrees."""
    W, degree = _read(graph)
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    if len(codes) != len(degree):
        raise InvalidData(f"There are {len(codes)} labels and {len(degree)} rows of the graph.")
    k = int(codes.max()) + 1
    Z = np.zeros((len(codes), k))
    Z[np.arange(len(codes)), codes] = 1.0
    inside = np.einsum("ij,ij->j", Z, W @ Z)
    volume = Z.T @ degree
    return volume - inside, Z.sum(axis=0), volume


def cut_weight(graph: Any, labels: Any) -> float:
    """Return the cut of a partition of a graph: the weight of the edges between different parts, each counted once.

    Examples
    --------
    >>> from qed.cluster import cut_weight
    >>> cut_weight([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0, 0, 1])
    1.0
    """
    return float(np.sum(_parts(graph, labels)[0])) / 2


def ratio_cut(graph: Any, labels: Any) -> float:
    """Return the ratio cut of a partition: the sum over parts of the weight of their cut over the number of their rows.

    Examples
    --------
    >>> from qed.cluster import ratio_cut
    >>> ratio_cut([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0, 0, 1])
    1.5
    """
    cut, size, _ = _parts(graph, labels)
    return float(np.sum(cut / size))


def normalized_cut(graph: Any, labels: Any) -> float:
    """Return the normalised cut of a partition: the sum over parts of the weight of their cut over the sum of their degrees.

    Examples
    --------
    >>> from qed.cluster import normalized_cut
    >>> round(normalized_cut([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0, 0, 1]), 3)
    1.2
    """
    cut, _, volume = _parts(graph, labels)
    share = np.where(volume > 0, cut / np.where(volume > 0, volume, 1.0), 0.0)
    return float(np.sum(np.maximum(share, 0.0)))  # what leaves a part is a difference, and may round below zero
