"""Kernel k-means, checked: the kernel is formed again from the rows, by definition, and with it distances, labels and the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ClustersCertificate

Array = np.ndarray[Any, Any]
BOUND_ROWS = 2000  # rows of a kernel whose eigenvalues are found


def check(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    data = read_data(model, X, None, sample_weight)
    x = np.asarray(data.X, np.float64)
    s = np.ones(len(x)) if data.weight is None else data.weight
    if not np.array_equal(model.rows_, x) or not np.array_equal(model.weights_, s):
        refuse(model, "it keeps other rows or weights than these")
    K, k, labels = kernel_of(model, x), model.n_clusters, np.asarray(model.labels_)
    n = len(x)
    size = float(np.sum(s * np.abs(np.diag(K)))) + float(np.max(np.abs(K))) * float(s.sum())
    near = 1e-11 * n**0.5 * size + 256 * n * DOUBLE * size
    Z = np.zeros((n, k))
    Z[np.arange(n), labels] = s
    used = Z.sum(axis=0) > 0
    Z[:, used] /= Z[:, used].sum(axis=0)
    away = np.diag(K)[:, None] - 2 * (K @ Z) + np.where(used, np.einsum("ij,ij->j", Z, K @ Z), np.inf)
    own = away[np.arange(n), labels]
    inertia = float(np.sum(s * np.maximum(own, 0.0)))
    for words, found in (("in its certificate", certificate.objective), ("it stores", model.inertia_)):
        if not abs(inertia - found) <= near:
            refuse(model, f"the inertia {words} is {found:.12g}, and that of its labels {inertia:.12g}")
    per_row = 1e-11 * n**0.5 * float(np.max(np.abs(K)))
    if certificate.outcome == "solved" and not np.all((own - away.min(axis=1) <= per_row) | (s == 0)):
        refuse(model, "a row is nearer to another centre")
    total = float(s @ np.diag(K) - s @ K @ s / s.sum())
    if not abs(total - certificate.null_objective) <= near:
        refuse(model, "the total is another")
    if certificate.drift != 0 or not certificate.rounding <= 2 * near:
        refuse(model, "it states a drift or a rounding that no fit has")
    trace = certificate.trace
    if not np.all(np.diff(trace) <= near) or (len(trace) and not abs(trace[-1] - inertia) <= near):
        refuse(model, "its inertia increased between iterations, or ended elsewhere than it states")
    bound = _least(K, s, k)
    if not certificate.bound <= bound + near:
        refuse(model, f"no bound of {certificate.bound:.8g} on the inertia is known, only {bound:.8g}")
    return Verdict(certificate.statement, inertia, inertia - bound, near, certificate.gap)


def kernel_of(model: Any, x: Array) -> Array:
    """Form a kernel by definition, for each row."""
    name, n = model.kernel, len(x)
    if callable(name):
        return np.array([[float(name(a, b)) for b in x] for a in x])
    if name == "precomputed":
        return x
    gamma = 1.0 / x.shape[1] if model.gamma is None else model.gamma
    K = np.empty((n, n))
    length = np.sqrt(np.sum(x**2, axis=1))
    for i in range(n):
        if name == "rbf":
            K[i] = np.exp(-gamma * np.sum((x - x[i]) ** 2, axis=1))
        elif name == "laplacian":
            K[i] = np.exp(-gamma * np.sum(np.abs(x - x[i]), axis=1))
        else:
            K[i] = np.sum(x * x[i], axis=1)
    if name == "poly":
        return np.asarray((gamma * K + model.coef0) ** model.degree)
    if name == "sigmoid":
        return np.asarray(np.tanh(gamma * K + model.coef0))
    if name == "cosine":
        both = np.multiply.outer(length, length)
        return np.asarray(K / np.where(both > 0, both, 1.0))
    return K


def _least(K: Array, s: Array, k: int) -> float:
    """Return what the best k - 1 directions leave out of the spread."""
    if len(K) > BOUND_ROWS or k - 1 >= len(K):
        return 0.0
    root = np.sqrt(s)
    P = np.eye(len(K)) - np.multiply.outer(np.ones(len(K)), s / s.sum())
    values = np.sort(np.linalg.eigvalsh(root[:, None] * (P @ K @ P.T) * root))[::-1]
    return max(float(np.sum(values[k - 1 :])), 0.0) if values[-1] >= -1e-9 * abs(values[0]) else 0.0
