"""Pairs of directions of two tables, checked: both tables are standardised again, and what pairs explain is taken away from them.

Tables of what pairs before it left are formed here, one after the other, from the stored weights; each pair is held against all
singular values of their covariance. Canonical correlations are singular values of the product of two orthonormal bases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _targets
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import SubspaceCertificate

Array = np.ndarray[Any, Any]
SINGULAR = 1e6 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class _Tables:
    """Both tables, standardised."""

    X: Array
    Y: Array
    rounding: float  # of sums of products over rows, relative to the lengths of both tables

    @property
    def near(self) -> float:
        """What numbers derived from weights may differ by, relative to their size."""
        return 1e3 * self.rounding


def _read(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, what: str) -> _Tables:
    rows = read(model, X, y, None)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    n, p = seen.rows, rows.p
    if certificate.what != what or certificate.confidence != 1:
        refuse(model, f"it is about another quantity than the {what}")
    mean = seen.mean.astype(np.float64)
    deviation = np.sqrt((seen.spread / max(n - 1, 1)).astype(np.float64)) if model.scale else np.ones(len(mean))
    deviation = np.where(deviation > 0, deviation, 1.0)
    own_mean = np.concatenate([model.x_mean_, model.y_mean_ if hasattr(model, "y_mean_") else model.intercept_])
    own = np.concatenate([model.x_std_, model.y_std_])
    size = np.sqrt((seen.spread / n).astype(np.float64)) + 1e-6 * np.abs(mean)
    if own.shape != deviation.shape or not np.all(np.abs(own - deviation) <= 1e-10 * deviation):
        refuse(model, "columns are divided by other numbers than their standard deviations")
    if not np.all(np.abs(own_mean - mean) <= 1e-9 * size + 4 * DOUBLE * np.abs(mean)):
        refuse(model, "its means are not those of the columns")
    z = np.vstack([np.hstack([block.X, block.y]).astype(np.float64) for block in rows.blocks()])
    z = (z - own_mean) / own
    return _Tables(z[:, :p], z[:, p:], (n / 64 + p + 64) * DOUBLE * 8)


def check_covarying(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check partial least squares: pairs of largest covariance, one after the other."""
    from_scores = type(model).__name__ == "PLSCanonical"
    tables = _read(model, certificate, X, y, "squared covariance of both tables, of each pair that before it left")
    left, rest, unit = tables.X.copy(), tables.Y.copy(), (len(tables.X) - 1.0) ** 2
    objective = total = gap = 0.0
    for j in range(model.n_components):
        w, v = model.x_weights_[:, j], model.y_weights_[:, j]
        size = float(np.linalg.norm(tables.X) * np.linalg.norm(rest))
        C = left.T @ rest
        values = np.linalg.svd(C, compute_uv=False)
        if not w.any():
            noise = float(np.linalg.norm(rest)) <= 4 * tables.rounding * float(np.linalg.norm(tables.Y))
            if not noise and not values[0] <= 4 * tables.rounding * size:
                refuse(model, f"pair {j} is missing, and what is left of both tables still varies together")
            _require_nothing(model, j)
            continue
        _require_sign(model, w, j)
        t = left @ w
        length = float(t @ t)
        target = rest.T @ t / length
        unit_v = v if from_scores else v / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
        reached = float(w @ C @ unit_v)
        off = float(np.hypot(np.linalg.norm(C @ unit_v - reached * w), np.linalg.norm(C.T @ w - reached * unit_v)))
        if not off <= (certificate.backward_error + tables.rounding) * size:
            refuse(model, f"pair {j} is no singular pair of the covariance of what is left of both tables")
        objective += max(float(np.sum(values**2)) - reached**2, 0.0) / unit
        total += float(np.sum(values**2)) / unit
        gap += max(values[0] ** 2 - reached**2, 0.0) / unit
        u = rest @ v
        loading = rest.T @ u / max(float(u @ u), np.finfo(float).tiny) if from_scores else target
        _require_near(model, "x_loadings_", model.x_loadings_[:, j], left.T @ t / length, tables.near)
        _require_near(model, "y_loadings_", model.y_loadings_[:, j], loading, tables.near)
        if not from_scores:
            _require_near(model, "y_weights_", v, target, tables.near)
        left = left - np.outer(t, left.T @ t / length)
        rest = rest - np.outer(u if from_scores else t, loading)
    _require_orthonormal(model, certificate, model.x_weights_)
    if from_scores:
        _require_orthonormal(model, certificate, model.y_weights_, extra=tables.near)
    _require_maps(model, tables)
    _require_targets(model, y)
    return _stated(model, certificate, (objective, total, gap), tables)


def check_correlated(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check canonical correlations, which are those of the scores, and that no others are larger."""
    tables = _read(model, certificate, X, y, "squared canonical correlations")
    (Qx, sx, Vx), (Qy, sy, Vy) = (_basis(table) for table in (tables.X, tables.Y))
    K = Qx.T @ Qy
    rho = np.linalg.svd(K, compute_uv=False) if K.size else np.zeros(0)
    condition = max([s[0] / s[-1] for s in (sx, sy) if len(s)], default=1.0)
    near = 16 * tables.rounding * condition
    k = min(model.n_components, len(rho))
    sides = []
    for Q, V, W, R, P, table in (
        (Qx, Vx, model.x_weights_, model.x_rotations_, model.x_loadings_, tables.X),
        (Qy, Vy, model.y_weights_, model.y_rotations_, model.y_loadings_, tables.Y),
    ):
        for stored in (W, R, P):
            if stored[:, k:].any():
                refuse(model, "it has more pairs than its tables")
        T = table @ R[:, :k]
        length = np.sqrt(np.sum(T * T, axis=0))
        if not np.all(length > 0):
            refuse(model, "a score is always zero")
        outside = R[:, :k] - V @ (V.T @ R[:, :k])
        if not np.all(np.abs(outside) <= near * np.max(np.abs(R[:, :k]), axis=0, initial=0)):
            refuse(model, "directions have a part in which the table does not vary")
        _require_orthonormal(model, certificate, W[:, :k], extra=near)
        inside = W[:, :k].T @ R[:, :k]
        made = W[:, :k] @ np.triu(inside)
        if not np.all(np.abs(made - R[:, :k]) <= near * np.max(np.abs(R[:, :k]), axis=0, initial=0)):
            refuse(model, "weights are not its directions, made orthonormal in their order")
        if not np.all(np.abs(np.diag(inside) - 1) <= near):
            refuse(model, "its directions have another length than their weights")
        _require_near(model, "loadings", P[:, :k], table.T @ T / length**2, near)
        sides.append(Q.T @ (T / length))
    a, b = sides
    own = np.sum(a * (K @ b), axis=0)
    off = float(np.hypot(np.linalg.norm(K @ b - a * own), np.linalg.norm(K.T @ a - b * own)))
    if not off <= certificate.backward_error + near:
        refuse(model, "its scores are no canonical pairs")
    skew = float(np.hypot(np.linalg.norm(a.T @ a - np.eye(k)), np.linalg.norm(b.T @ b - np.eye(k))))
    if not skew <= 2 * certificate.orthogonality + near:
        refuse(model, "scores of one table are correlated")
    if not np.all(np.abs(model.correlations_[:k] - own) <= near) or model.correlations_[k:].any():
        refuse(model, "its correlations are others than stated")
    for j in range(k):
        _require_sign(model, model.x_weights_[:, j], j)
    _require_map(model, near)
    _require_targets(model, y)
    total, reached = float(np.sum(rho**2)), float(np.sum(own**2))
    found = (total - reached, total, float(np.sum(rho[:k] ** 2)) - reached)
    return _stated(model, certificate, found, tables, near * (1 + total))


def check_svd(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check singular pairs of the covariance of both tables."""
    tables = _read(model, certificate, X, y, "squared covariance of both tables")
    n, k = len(tables.X), model.n_components
    W, V = model.x_weights_, model.y_weights_
    C = tables.X.T @ tables.Y / (n - 1)
    values = np.linalg.svd(C, compute_uv=False)
    size = float(np.linalg.norm(tables.X) * np.linalg.norm(tables.Y)) / (n - 1)
    own = np.sum(W * (C @ V), axis=0)
    off = float(np.hypot(np.linalg.norm(C @ V - W * own), np.linalg.norm(C.T @ W - V * own)))
    if not off <= (certificate.backward_error + tables.rounding) * size:
        refuse(model, "its directions are no singular pairs of the covariance")
    _require_orthonormal(model, certificate, W)
    _require_orthonormal(model, certificate, V)
    for j in range(k):
        _require_sign(model, W[:, j], j)
    if not np.all(np.abs(model.covariances_ - own) <= tables.near * size):
        refuse(model, "its covariances are others than stated")
    total, reached = float(np.sum(values**2)), float(np.sum(own**2))
    found = (total - reached, total, float(np.sum(values[:k] ** 2)) - reached)
    return _stated(model, certificate, found, tables, 4 * tables.rounding * size * np.sqrt(min(C.shape) * total))


def _basis(A: Array) -> tuple[Array, Array, Array]:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > SINGULAR * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
    return U[:, kept], s[kept], Vt[kept].T


def _require_near(model: Any, name: str, stored: Array, found: Array, near: float) -> None:
    if not np.all(np.abs(stored - found) <= near * np.max(np.abs(found), initial=0.0)):
        refuse(model, f"its {name} are not those that its weights give")


def _require_sign(model: Any, w: Array, j: int) -> None:
    if not np.max(w) >= (1 - 1e-9) * np.max(-w):
        refuse(model, f"the largest weight of pair {j} is negative")


def _require_nothing(model: Any, j: int) -> None:
    names = ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_")
    if any(getattr(model, name)[:, j].any() for name in names):
        refuse(model, f"pair {j} has no weights, and other numbers")


def _require_orthonormal(model: Any, certificate: SubspaceCertificate, W: Array, extra: float = 0.0) -> None:
    used = W[:, np.any(W != 0, axis=0)]
    skew = float(np.linalg.norm(used.T @ used - np.eye(used.shape[1])))
    if not skew <= certificate.orthogonality + extra + (len(W) + 8) * DOUBLE * max(used.shape[1], 1):
        refuse(model, "its weights are not orthonormal")


def _require_maps(model: Any, tables: _Tables) -> None:
    """Hold rotations against weights and loadings."""
    for side in ("x", "y"):
        W, P, R = (getattr(model, f"{side}_{name}_") for name in ("weights", "loadings", "rotations"))
        used = np.any(W != 0, axis=0)
        inside = P[:, used].T @ W[:, used]
        values = np.linalg.svd(inside, compute_uv=False)
        values = values[values > 1e-12 * values[0]] if len(values) else np.ones(1)
        near = tables.near * (values[0] / values[-1])
        _require_near(model, f"{side}_rotations_", R[:, used], W[:, used] @ np.linalg.pinv(inside, rcond=1e-12), near)
    _require_map(model, tables.near)


def _require_map(model: Any, near: float) -> None:
    """Hold coefficients against rotations and loadings."""
    terms = (np.abs(model.x_rotations_) @ np.abs(model.y_loadings_.T) * model.y_std_).T / model.x_std_
    coef = (model.x_rotations_ @ model.y_loadings_.T * model.y_std_).T / model.x_std_
    if not np.all(np.abs(model.coef_ - coef) <= near * terms):
        refuse(model, "its coefficients are not those that scores and loadings give")


def _require_targets(model: Any, y: Any) -> None:
    if model.one_target_ != (_targets.as_target(y, "y").ndim == 1):
        refuse(model, "its predictions have another shape than the target")


def _stated(
    model: Any,
    certificate: SubspaceCertificate,
    found: tuple[float, float, float],
    tables: _Tables,
    extra: float = 0.0,
) -> Verdict:
    objective, total, gap = found
    near = tables.near * total + extra
    if not abs(objective - certificate.objective) <= near + certificate.gap:
        refuse(model, f"pairs leave out {objective:.10g}, not {certificate.objective:.10g}")
    if not abs(total - certificate.null_objective) <= near + certificate.gap:
        refuse(model, f"all of it is {total:.10g}, not {certificate.null_objective:.10g}")
    if not gap <= certificate.gap + near:
        refuse(model, f"other pairs leave out less by {gap:.3g}, and at most {certificate.gap:.3g} is claimed")
    if not (certificate.rounding <= certificate.gap and certificate.outcome == "solved"):
        refuse(model, "its rounding is more than its gap")
    return Verdict(certificate.statement, objective, max(gap, 0.0), near, certificate.gap)
