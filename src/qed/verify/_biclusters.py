"""Biclusters, checked: the table is normalised again; cuts, checkerboards, singular values and groups are recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ClustersCertificate

Array = np.ndarray[Any, Any]
SIDE = 1000  # rows or columns up to which a bound is stated


def check_cocluster(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute the normalised cut, and the bound by singular values."""
    x, k = _table(model, certificate, X), model.n_clusters
    n, p = x.shape
    x = x - min(float(x.min()), 0.0)
    _require_indicators(model, n, p, np.arange(k), np.arange(k))
    rows, columns = np.asarray(model.row_labels_), np.asarray(model.column_labels_)
    cut = 0.0
    for j in range(k):
        own, other = rows == j, columns == j
        volume = float(x[own].sum() + x[:, other].sum())
        leaving = float(x[np.ix_(own, ~other)].sum() + x[np.ix_(~own, other)].sum())
        cut += leaving / volume if volume > 0 else 0.0
    bound, near = 0.0, 1e-9 * k
    if min(n, p) <= SIDE:
        values = np.linalg.svd(_divided(x), compute_uv=False)[:k]
        bound = float(np.sum(1 - values)) + k - len(values)
    return _compared(model, certificate, cut, bound, near, float(k))


def check_checkerboard(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the means of blocks leave, and the bound by singular values."""
    raw = _table(model, certificate, X)
    n, p = raw.shape
    k, m = model.n_clusters if isinstance(model.n_clusters, tuple) else (model.n_clusters, model.n_clusters)
    _require_indicators(model, n, p, np.repeat(np.arange(k), m), np.tile(np.arange(m), k))
    rows, columns = np.asarray(model.row_labels_), np.asarray(model.column_labels_)
    if rows.max() >= k or columns.max() >= m:
        refuse(model, "it has more groups than were asked for")
    a = _normalised(raw, model.method)
    rest = 0.0
    for i in np.unique(rows):
        for j in np.unique(columns):
            block = a[np.ix_(rows == i, columns == j)]
            rest += float(np.sum((block - block.mean()) ** 2))
    total, bound = float(np.sum(a**2)), 0.0
    if min(n, p) <= SIDE:
        bound = float(np.sum(np.linalg.svd(a, compute_uv=False)[min(k, m) :] ** 2))
    return _compared(model, certificate, rest, bound, 1e-9 * (n + p) * total, total)


def _table(model: Any, certificate: ClustersCertificate, X: Any) -> Array:
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    table = read_data(model, X, None, None).X
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, np.float64)


def _require_indicators(model: Any, n: int, p: int, row_groups: Array, column_groups: Array) -> None:
    rows, columns = np.asarray(model.row_labels_), np.asarray(model.column_labels_)
    if rows.shape != (n,) or columns.shape != (p,):
        refuse(model, "its labels are not those of this table")
    if not np.array_equal(model.rows_, rows == row_groups[:, None]) or not np.array_equal(
        model.columns_, columns == column_groups[:, None]
    ):
        refuse(model, "its biclusters are not those of its labels")


def _divided(x: Array) -> Array:
    row, column = (np.where(s > 0, 1 / np.sqrt(np.where(s > 0, s, 1.0)), 0.0) for s in (x.sum(axis=1), x.sum(axis=0)))
    return np.asarray(row[:, None] * x * column)


def _normalised(x: Array, method: str) -> Array:
    if method == "log":
        logs = np.log(x + max(1.0 - float(x.min()), 0.0))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean())
    a = _divided(x - min(float(x.min()), 0.0))
    for _ in range(1000 if method == "bistochastic" else 0):
        before, a = a, _divided(a)
        if np.sqrt(np.sum((a - before) ** 2)) < 1e-11:
            break
    return a


def _compared(
    model: Any, certificate: ClustersCertificate, found: float, bound: float, near: float, null: float
) -> Verdict:
    if not abs(found - certificate.objective) <= near or not certificate.rounding <= near:
        refuse(model, f"its objective is {found:.10g}, not {certificate.objective:.10g}")
    if not abs(certificate.null_objective - null) <= near or certificate.drift != 0 or len(certificate.trace):
        refuse(model, "it states a drift, steps or a total that no fit has")
    if not certificate.bound <= bound + near:
        refuse(model, f"no bound of {certificate.bound:.8g} is known, only {bound:.8g}")
    return Verdict(certificate.statement, found, max(found - bound, 0.0), near, certificate.gap)
