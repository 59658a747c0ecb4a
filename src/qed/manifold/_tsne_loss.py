"""What t-SNE lowers: the divergence between neighbour probabilities of rows and of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._tables import csr, is_sparse, read
from qed.core._traits import Traits
from qed.manifold import _kernels
from qed.manifold._kernels import Edges
from qed.manifold._neighborhoods import AnyMetric, Space, neighbor_graph, require_neighbors

if TYPE_CHECKING:
    from qed.core._params import Array

ALL_PAIRS = 4e8  # similarities of points that are summed exactly; beyond, of some points with all others


def degrees_of_freedom(n_components: int) -> int:
    """Return those of Student's t for points of so many coordinates."""
    return max(n_components - 1, 1)


def probabilities(distances: Array, ids: Array, perplexity: float) -> Any:
    """Return joint probabilities of rows from the distances to their neighbours, as a CSR container of sum one."""
    conditional = neighbor_graph(_kernels.perplexity_similarities(distances, perplexity), ids, len(ids))
    joint = (conditional + conditional.T).tocsr()
    joint.sort_indices()
    joint.data /= joint.data.sum()
    return joint


def normaliser_rows(n: int) -> Array:
    """Return the rows whose similarities estimate the sum of all: every row up to 20,000, then fewer, spread evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, max(1000, int(ALL_PAIRS / n)))).astype(np.int64))


def divergence(p: Edges, points: Array, rows: Array) -> float:
    """Return the Kullback-Leibler divergence, its normaliser estimated from the similarities of some rows."""
    n, d = points.shape
    freedom = degrees_of_freedom(d)
    tails = np.repeat(np.arange(n), np.diff(p.starts))
    away = points[tails] - points[p.ends]
    squares = np.einsum("ij,ij->i", away, away)
    total = _kernels.student_sum(points, rows) * (n / len(rows))
    used = p.values > 0
    entropy = float(np.sum(p.values[used] * np.log(p.values[used])))
    return float(entropy + 0.5 * (freedom + 1) * float(p.values @ np.log1p(squares / freedom)) + np.log(total))


def imbalance(p: Edges, points: Array, rows: Array, total: float) -> float:
    """Return what is left of the forces on some points, relative to what pulls or pushes them, the stronger of both."""
    d = points.shape[1]
    freedom = degrees_of_freedom(d)
    pulled = pushed = left = 0.0
    for i in rows:
        away = points[i] - points
        inverse = 1.0 / (1.0 + np.einsum("ij,ij->i", away, away) / freedom)
        some = slice(p.starts[i], p.starts[i + 1])
        ends = p.ends[some]
        pull = (p.values[some] * inverse[ends]) @ away[ends]
        push = (inverse ** (0.5 * (freedom + 1) + 1)) @ away / total
        pulled, pushed = pulled + float(pull @ pull), pushed + float(push @ push)
        left += float(np.sum((pull - push) ** 2))
    strongest = max(pulled, pushed)  # equal rows may lie at one point, where nothing pulls
    return float(np.sqrt(left / strongest)) if strongest > 0 else 0.0


def joint_probabilities(
    X: Any, *, perplexity: float = 30.0, n_neighbors: int | None = None, metric: AnyMetric = "euclidean"
) -> Any:
    r"""Return the neighbour probabilities of rows that t-SNE matches.

    .. math:: p_{j|i} \propto e^{-\beta_i d_{ij}^2}, \qquad p_{ij} = (p_{j|i} + p_{i|j}) / 2n

    with :math:`\beta_i` such that the entropy of row i is the logarithm of the perplexity.

    Parameters
    ----------
    X : array-like of shape (n, p), or (n, n) if the metric is "precomputed"
        Rows.
    perplexity : float
        Effective number of neighbours of each row.
    n_neighbors : int, optional
        Neighbours with a probability above zero; three times the perplexity by default.
    metric : str
        Distance of the rows, as in `qed.neighbors`; "precomputed" for a table of distances.

    Returns
    -------
    csr_matrix of shape (n, n)
        Symmetric, of sum one.

    Examples
    --------
    >>> from qed.manifold import joint_probabilities
    >>> P = joint_probabilities([[0.0], [1.0], [2.0], [4.0]], perplexity=2.0, n_neighbors=3)
    >>> round(float(P.sum()), 12)
    1.0
    """
    rows, _ = read(X, "X", Traits(), "joint_probabilities")
    space = Space.of("joint_probabilities", rows, metric)
    n = space.n_rows
    require_perplexity(perplexity, n)
    k = min(n - 1, int(3 * perplexity + 1)) if n_neighbors is None else n_neighbors
    distances, ids = space.nearest(require_neighbors("joint_probabilities", k, n))
    return probabilities(distances, ids, perplexity)


def require_perplexity(perplexity: float, n_rows: int) -> None:
    """Refuse more effective neighbours than there are other rows."""
    if not 1 <= perplexity < n_rows:
        raise InvalidParameter(
            f"perplexity must be less than n_samples, and at least 1: got {perplexity!r}, n_samples = {n_rows}. It is the effective"
            " number of neighbours of a row."
        )


def tsne_divergence(P: Any, points: Any) -> tuple[float, Array]:
    r"""Return the objective of t-SNE and its gradient, from all pairs.

    .. math:: \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad q_{ij} \propto (1 + \|y_i - y_j\|^2 / f)^{-(f + 1)/2}

    with f the dimension of the points less one, at least one.

    Parameters
    ----------
    P : array-like or sparse of shape (n, n)
        Joint probabilities: symmetric, of sum one.
    points : array-like of shape (n, d)
        Points.

    Returns
    -------
    value : float
        The divergence, in nats.
    gradient : ndarray of shape (n, d)
        With respect to the points.

    Examples
    --------
    >>> from qed.manifold import joint_probabilities, tsne_divergence
    >>> P = joint_probabilities([[0.0], [1.0], [2.0], [4.0]], perplexity=2.0)
    >>> value, gradient = tsne_divergence(P, [[0.0], [1.0], [2.0], [4.0]])
    >>> gradient.shape
    (4, 1)
    """
    places, _ = read(points, "points", Traits(), "tsne_divergence")
    places = np.asarray(places, dtype=np.float64)
    n = len(places)
    joint = P.tocsr() if is_sparse(P) else None
    if joint is None:
        dense = np.asarray(P, dtype=np.float64)
        if dense.shape != (n, n):
            raise InvalidData(f"P has shape {dense.shape}, and there are {n} points: a probability for each pair.")
        tails, heads = np.nonzero(dense)
        starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))])
        joint = csr(dense[tails, heads], heads, starts, (n, n))
    if joint.shape != (n, n) or not abs(float(joint.sum()) - 1.0) <= 1e-6:
        raise InvalidData(
            f"P must have shape ({n}, {n}) and sum to one; got {joint.shape} and {float(joint.sum()):.6g}."
        )
    return _kernels.tsne_gradient(Edges.of(joint), places)
