"""k-means against all partitions, and principal components against eigenvalues in high precision."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import eigsy, matrix, mp, mpf
from tests.truth.judged import LD, Judged, fitted, ones, table, weights

from qed.cluster import KMeans
from qed.decomposition import PCA

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge clusters or components of one seed."""
    rng = np.random.default_rng([seed, 4])
    n, p = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    X, s = table(rng, n, p), weights(rng, n)
    yield from (_clusters if seed % 2 else _components)(rng, X, s)


def _clusters(rng: Any, X: Any, s: Any) -> Iterator[Judged]:
    k = int(rng.integers(1, min(3, len(X)) + 1))
    model = KMeans(k, random_state=0)
    if fitted(model, X, None, s) is None:
        return
    certificate, v = model.certificate_, ones(s, len(X)).astype(LD)
    rows, v = X[v > 0].astype(LD), v[v > 0]
    away = np.stack([np.sum((rows - c) ** 2, axis=1) for c in model.cluster_centers_.astype(LD)], axis=1)
    own = float(v @ away.min(axis=1))
    best = min(_inertia(rows, v, np.array(labels)) for labels in product(range(k), repeat=len(rows)))
    yield Judged(repr(model), best * (1 + 1e-15), certificate.bound, "inertia that no centres are below")
    yield Judged(repr(model), certificate.rounding, abs(own - certificate.objective), "inertia")
    yield Judged(repr(model), certificate.gap, own - best)


def _inertia(X: Any, s: Any, labels: Any) -> float:
    total = LD(0)
    for k in np.unique(labels):
        own = labels == k
        mean = s[own] @ X[own] / s[own].sum()
        total += s[own] @ np.sum((X[own] - mean) ** 2, axis=1)
    return float(total)


def _components(rng: Any, X: Any, s: Any) -> Iterator[Judged]:
    mp.dps = 60
    k = int(rng.integers(1, min(X.shape) + 1))
    model = PCA(k)
    if len(X) < 2 or fitted(model, X) is None:
        return
    del s
    certificate, n, p = model.certificate_, len(X), X.shape[1]
    rows = [[mpf(float(x)) for x in row] for row in X]
    mean = [sum(row[j] for row in rows) / n for j in range(p)]
    Z = matrix([[row[j] - mean[j] for j in range(p)] for row in rows])
    S = Z.T * Z / (n - 1)
    values = sorted(eigsy(S, eigvals_only=True), reverse=True)
    total = sum(values)
    V = matrix([[mpf(float(x)) for x in row] for row in model.components_])
    gram = V * V.T
    explained = V * S * V.T
    # what directions that are not quite orthonormal explain is that of the space they span
    own = total - sum((gram**-1 * explained)[i, i] for i in range(k))
    least = total - sum(values[:k])
    yield Judged(repr(model), certificate.gap, float(own - least))
    yield Judged(repr(model), certificate.gap, float(abs(own - mpf(certificate.objective))), "variance left out")
    off = max(abs(values[i] - mpf(float(model.explained_variance_[i]))) for i in range(k))
    yield Judged(repr(model), certificate.variance_error, float(off), "error of a variance")
