"""Medoids and cuts of graphs, checked: distances and similarities are measured again, with them costs, exchanges and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._distances import distances
from qed.verify._refusals import refuse
from qed.verify._rows import read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ClustersCertificate

Array = np.ndarray[Any, Any]
BOUND_ROWS = 2000  # rows of a graph whose eigenvalues are found


def check_medoids(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute the cost, all exchanges of one medoid, and the bound."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    data = read_data(model, X, None, sample_weight)
    x = np.asarray(data.X, np.float64)
    n, k, s = len(x), model.n_clusters, np.ones(len(x)) if data.weight is None else data.weight
    medoids, labels = np.asarray(model.medoid_indices_), np.asarray(model.labels_)
    if medoids.shape != (k,) or labels.shape != (n,) or len(np.unique(medoids)) != k:
        refuse(model, "its medoids are not as many rows as asked for")
    given = model.metric == "precomputed"
    if not given and not np.array_equal(vars(model).get("cluster_centers_"), x[medoids]):
        refuse(model, "the medoids that it keeps are other rows")
    D = 0.5 * (x + x.T) if given else distances(x, x, model.metric)
    np.fill_diagonal(D, 0.0)
    size = float(D.max()) * float(s.sum())
    near = 1e-10 * size
    away = D[medoids].T
    cost = float(s @ away[np.arange(n), labels])
    if not np.all(away[np.arange(n), labels] <= away.min(axis=1) + 1e-10 * float(D.max())):
        refuse(model, "a row is nearer to another medoid")
    for words, found in (("in its certificate", certificate.objective), ("it stores", model.inertia_)):
        if not abs(cost - found) <= near:
            refuse(model, f"the cost {words} is {found:.10g}, and that of its medoids {cost:.10g}")
    if not abs(float(np.min(D @ s)) - certificate.null_objective) <= near or certificate.drift != 0:
        refuse(model, "the cost of one medoid is another")
    trace = certificate.trace
    if (
        not len(trace)
        or not np.all(np.diff(trace) <= near)
        or not abs(trace[-1] - cost) <= near
        or not certificate.rounding <= near
    ):
        refuse(model, "its cost increased, or ended elsewhere than it states")
    if certificate.outcome == "solved":
        _require_no_exchange(model, D, s, medoids, cost, near)
    np.fill_diagonal(D, np.inf)
    bound = float(np.sum(np.sort(s * D.min(axis=1))[: n - k])) if n > 1 else 0.0
    if not certificate.bound <= bound + near:
        refuse(model, f"no bound of {certificate.bound:.8g} is known, only {bound:.8g}")
    return Verdict(certificate.statement, cost, cost - bound, near, certificate.gap)


def _require_no_exchange(model: Any, D: Array, s: Array, medoids: Array, cost: float, near: float) -> None:
    for j in range(len(medoids)):
        rest = np.delete(medoids, j)
        closest = D[rest].min(axis=0) if len(rest) else np.full(len(D), np.inf)
        least = min(float(s @ np.minimum(closest, row)) for row in D)
        if not least >= cost - near:
            refuse(model, f"exchanging medoid {j} lowers the cost to {least:.10g}")


def check_spectral(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute similarities, the cut and the eigenvalues that bound it."""
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x = np.asarray(read_data(model, X, None, None).X, np.float64)
    W, n, k = _similarities(model, x), len(x), model.n_clusters
    stored = model.affinity_matrix_
    stored = stored.toarray() if hasattr(stored, "toarray") else np.asarray(stored)
    if stored.shape != W.shape or not np.allclose(stored, W, rtol=1e-9, atol=1e-12 * float(W.max())):
        refuse(model, "its similarities are others")
    np.fill_diagonal(W, 0.0)
    degree, labels = W.sum(axis=1), np.asarray(model.labels_)
    if labels.shape != (n,):
        refuse(model, "its labels are not those of these rows")
    cut = 0.0
    for label in np.unique(labels):
        own = labels == label
        volume = float(degree[own].sum())
        cut += float(W[np.ix_(own, ~own)].sum()) / volume if volume > 0 else 0.0
    near = 1e-9 * k
    if (
        not abs(cut - certificate.objective) <= near
        or certificate.null_objective != float(k)
        or not certificate.rounding <= near
    ):
        refuse(model, f"the normalised cut is {cut:.10g}, not {certificate.objective:.10g}")
    if certificate.drift != 0 or len(certificate.trace):
        refuse(model, "it states a drift or steps that no fit has")
    bound = 0.0
    root = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
    _require_embedding(model, root[:, None] * W * root, root, labels)
    if n <= BOUND_ROWS:
        values = np.sort(np.linalg.eigvalsh(root[:, None] * W * root))[::-1]
        bound = max(float(np.sum(1 - values[:k])), 0.0)
    if not certificate.bound <= bound + near:
        refuse(model, f"no bound of {certificate.bound:.8g} on the cut is known, only {bound:.8g}")
    return Verdict(certificate.statement, cut, max(cut - bound, 0.0), near, certificate.gap)


def _require_embedding(model: Any, S: Array, root: Array, labels: Array) -> None:
    """Refuse columns that are no eigenvectors, and labels whose means are farther than those of others."""
    V = np.asarray(model.embedding_, np.float64)
    count = min(model.n_clusters if model.n_components is None else model.n_components, len(S))
    if V.shape != (len(S), count):
        refuse(model, f"its embedding has shape {V.shape}")
    U = V / root[:, None]
    values = np.einsum("ij,ij->j", U, S @ U)
    if not np.all(np.abs(U.T @ U - np.eye(count)) <= 1e-6) or not np.all(np.abs(S @ U - U * values) <= 1e-6):
        refuse(model, "its embedding is not made of eigenvectors")
    if model.assign_labels == "kmeans":
        means = np.stack(
            [
                V[labels == j].mean(axis=0) if (labels == j).any() else np.full(count, np.inf)
                for j in range(model.n_clusters)
            ]
        )
        away = np.stack([np.sum((V - c) ** 2, axis=1) for c in means], axis=1)
        if not np.all(away[np.arange(len(V)), labels] <= away.min(axis=1) * (1 + 1e-6) + 1e-12 * float(np.max(V**2))):
            refuse(model, "a row is nearer to the mean of another part")


def _similarities(model: Any, x: Array) -> Array:  # noqa: PLR0911  one line for each
    name, n = model.affinity, len(x)
    if name == "nearest_neighbors":
        D = distances(x, x, "euclidean")
        np.fill_diagonal(D, -1.0)  # a row is the nearest to itself
        k = min(model.n_neighbors, n)
        one = np.zeros((n, n))
        for i in range(n):
            one[i, np.argsort(D[i], kind="stable")[:k]] = 1.0
        return 0.5 * (one + one.T)
    if name in ("precomputed", "precomputed_nearest_neighbors"):
        return np.asarray(0.5 * (x + x.T))
    if callable(name):
        found = np.array([[float(name(a, b, **(model.kernel_params or {}))) for b in x] for a in x])
        return np.asarray(0.5 * (found + found.T))
    if name == "rbf":
        return np.asarray(np.exp(-model.gamma * distances(x, x, "sqeuclidean")))
    if name == "laplacian":
        return np.asarray(np.exp(-model.gamma * distances(x, x, "manhattan")))
    products = np.stack([x @ row for row in x])
    if name in ("poly", "polynomial"):
        return np.asarray((model.gamma * products + model.coef0) ** model.degree)
    if name == "sigmoid":
        return np.asarray(np.tanh(model.gamma * products + model.coef0))
    if name == "cosine":
        size = np.sqrt(np.diag(products))
        both = np.multiply.outer(size, size)
        return np.asarray(products / np.where(both > 0, both, 1.0))
    return products
