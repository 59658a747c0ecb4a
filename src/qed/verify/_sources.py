"""Independent components, checked: that sources are white, within the leading directions, and solve their equations.

Moments of the sources are summed again from the rows, by the definitions of the contrasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._ascents import require
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import StationaryCertificate

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-8  # relative, of moments of white rows


def check(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute the equations; raise CertificateError when they lack more than is stated."""
    rows = read(model, X, None, None)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    A = np.asarray(model.components_)
    mean = _require_mean(model, seen)
    unit = np.sqrt(seen.rows) if model.whiten == "arbitrary-variance" else 1.0
    products, B, values, curved = _moments(model, rows, unit * A, mean)
    k, size = len(A), float(np.sum(B * B))
    if model.whiten:
        _require_white(model, rows, seen, products, A)
    else:
        off = float(np.max(np.abs(A @ A.T - np.eye(k))))
        require(model, "its directions are not orthonormal", off, 0.0, 64 * (k + 8) * DOUBLE)
    _require_signs(model, A)
    back = np.linalg.pinv(A, rcond=1e-15)
    away = float(np.max(np.abs(model.mixing_ - back)))
    require(model, "its mixing is not the inverse of its unmixing", away, 0.0, 1e-7 * float(np.max(np.abs(back))))
    above = np.triu_indices(k, 1)
    signed = B * np.where(np.diag(B) < curved, -1.0, 1.0)[:, None]
    lacking = signed[above] - signed.T[above] if model.algorithm == "parallel" else B[above]
    objective = float(np.sum(lacking**2))
    near = RELATIVE_TOLERANCE * (size + 1)
    off = RELATIVE_TOLERANCE * (size + 1) ** 0.5  # of a moment, which is squared
    if certificate.step != "rotation of the sources" or certificate.radius != 0 or certificate.curvature != 0:
        refuse(model, "it speaks of another step")
    require(
        model,
        "what its equations lack is another",
        objective,
        certificate.objective,
        off**2 + 2 * off * objective**0.5,
    )
    require(model, "the moments have another size", size, certificate.null_objective, near)
    if not objective <= certificate.gap + near or not certificate.rounding <= certificate.gap + near:
        refuse(model, f"its equations lack {objective:.3g}, and {certificate.gap:.3g} is claimed")
    if not certificate.rounding <= 128 * (k + 8) * np.sqrt(seen.rows) * DOUBLE * (size + 1):
        refuse(model, "its rounding is more than sums of so many rows have")
    if model.algorithm == "parallel" and isinstance(model.fun, str) and not _falls(np.abs(values - _normal(model))):
        refuse(model, "its sources are not in the order of their contrast")
    return Verdict(certificate.statement, objective, objective, near, certificate.gap)


def _require_mean(model: Any, seen: ColumnSummary) -> Array:
    if not model.whiten:
        if "mean_" in model.__dict__ or "whitening_" in model.__dict__:
            refuse(model, "it stores a mean or a whitening, and rows were to be taken as they are")
        return np.zeros(len(seen.mean))
    stored = np.asarray(model.mean_, dtype=EXTENDED)
    deviation = np.sqrt(seen.spread / seen.weight)
    if not np.all(np.abs(stored - seen.mean) <= 1e-9 * deviation + 1e-12 * np.abs(seen.mean)):
        refuse(model, "its means are not those of the rows")
    return np.asarray(model.mean_)


def _contrast(model: Any, y: Array) -> tuple[Array, Array, Array]:
    """Return g, G and g' of sources."""
    if not isinstance(model.fun, str):
        g, curved = model.fun(y.T, **(model.fun_args or {}))
        curved = np.asarray(curved)
        return np.asarray(g).T, np.zeros_like(y), np.broadcast_to(curved if curved.ndim == 1 else curved.T, y.shape)
    if model.fun == "exp":
        bell = np.exp(-(y**2) / 2)
        return y * bell, -bell, (1 - y**2) * bell
    if model.fun == "cube":
        return y**3, y**4 / 4, 3 * y**2
    a = float((model.fun_args or {}).get("alpha", 1.0))
    slope = np.tanh(a * y)
    return slope, np.logaddexp(a * y, -a * y) / a - np.log(2) / a, a * (1 - slope**2)


def _normal(model: Any) -> float:
    """Return the mean contrast of a standard normal variable, by a sum over a fine grid."""
    v = np.linspace(-12, 12, 4001)
    weight = np.exp(-(v**2) / 2)
    return float(np.sum(weight * _contrast(model, v)[1]) / np.sum(weight))


def _moments(model: Any, rows: Rows, A: Array, mean: Array) -> tuple[Array, Array, Array, Array]:
    """Return the means of y y', of g(y) y', of G(y) and of g'(y)."""
    k = len(A)
    products, B = np.zeros((k, k), EXTENDED), np.zeros((k, k), EXTENDED)
    values, curved = np.zeros(k, EXTENDED), np.zeros(k, EXTENDED)
    count = 0
    for block in rows.blocks():
        y = ((block.X - mean.astype(rows.kind)) @ A.T.astype(rows.kind)).astype(np.float64)
        g, G, curvature = _contrast(model, y)
        products, B, count = products + y.T @ y, B + g.T @ y, count + len(y)
        values, curved = values + G.sum(axis=0), curved + curvature.sum(axis=0)
    return tuple((total / count).astype(np.float64) for total in (products, B, values, curved))  # type: ignore[return-value]


def _require_white(model: Any, rows: Rows, seen: ColumnSummary, products: Array, A: Array) -> None:
    """Hold sources to a covariance of one, and their span to that of the leading directions of the rows."""
    k, p = A.shape
    S = np.zeros((p, p), EXTENDED)
    for block in rows.blocks():
        z = block.X - seen.mean.astype(rows.kind)
        S = S + z.T @ z
    S = (S / seen.rows).astype(np.float64)
    values = np.sort(np.linalg.eigvalsh(S))[::-1]
    asked = min(seen.rows, p) if model.n_components is None else min(model.n_components, seen.rows, p)
    used = values[:asked]
    # where the rows have no further directions there are no further sources; how small is none, rounding decides
    if not k <= asked or (k < asked and not used[k] <= 1e-11 * used[0]) or not used[k - 1] >= 1e-13 * used[0]:
        refuse(model, f"it has {k} sources, and the rows have other directions")
    flat = float(values[0] / max(used[k - 1], np.finfo(float).tiny))  # small variances are rounded by this much more
    near = 64 * (p + 8) * DOUBLE * flat + 1e-12
    require(model, "its sources are not white", float(np.max(np.abs(products - np.eye(k)))), 0.0, near)
    basis = np.linalg.qr(A.T)[0]
    held, best = float(np.sum(basis * (S @ basis))), float(np.sum(values[:k]))
    require(model, "its sources are not within the leading directions", held, best, (near + 1e-12) * best)


def _require_signs(model: Any, A: Array) -> None:
    size = np.abs(A)
    largest = size >= (1 - 1e-9) * np.max(size, axis=1, keepdims=True)
    if not ((A > 0) & largest).any(axis=1).all():
        refuse(model, "the largest entry of a source is negative")


def _falls(values: Array) -> bool:
    return bool(np.all(np.diff(values) <= 1e-9 * (1 + np.max(np.abs(values)))))
