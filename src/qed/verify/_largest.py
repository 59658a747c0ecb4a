"""The largest error, checked: recomputed, and bounded from below by weights that the columns cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read
from qed.verify._same_data import difference, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate


def check(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute the largest error and the bound; raise CertificateError when they are not as claimed."""
    rows = read(model, X, y, sample_weight)
    words = difference(certificate.fingerprint, summarize_columns(rows), rows.p)
    if words is not None:
        raise CertificateError(words)
    blocks = list(rows.blocks())
    table = np.vstack([block.X[block.s > 0] for block in blocks]).astype(EXTENDED)
    target = np.concatenate([block.y[block.s > 0, 0] for block in blocks]).astype(EXTENDED)
    w = np.asarray(model.coef_, dtype=EXTENDED)
    if w.shape != (rows.p,) or not np.all(np.isfinite(w)) or not np.isfinite(model.intercept_):
        refuse(model, "its coefficients do not fit the columns")
    height = float(np.max(np.abs(target - table @ w - EXTENDED(model.intercept_))))
    scale = float(np.max(np.abs(target))) + height
    if not abs(height - certificate.objective) <= 1e-9 * scale + certificate.gap:
        refuse(model, f"the largest error is {height:.10g}, not {certificate.objective:.10g}")
    null = float((target.max() - target.min()) / 2 if model.fit_intercept else np.max(np.abs(target)))
    if not abs(null - certificate.null_objective) <= 1e-6 * null:
        refuse(model, f"the largest error of the null model is {null:.10g}")
    least = float(np.max(np.abs(w) * _sizes(table, intercept=bool(model.fit_intercept)), initial=0))
    if not certificate.radius >= least * (1 - 1e-6):
        refuse(model, f"it speaks of coefficients within {certificate.radius:.3g} alone")
    proved = _proved(table, target, certificate, intercept=bool(model.fit_intercept))
    distance, rounding = max(height - proved, 0.0), 1e-9 * scale
    if not (np.isfinite(rounding) and distance <= certificate.gap + rounding):
        refuse(model, f"the largest error could only be shown to be within {distance:.3g} of the least")
    return Verdict(certificate.statement, height, distance, rounding, certificate.gap)


def _sizes(table: Any, *, intercept: bool) -> Any:
    """Return the root mean squares of the columns, by which a radius measures coefficients."""
    return np.sqrt(np.mean((table - (table.mean(axis=0) if intercept else 0)) ** 2, axis=0))


def _proved(table: Any, target: Any, certificate: DualityGapCertificate, *, intercept: bool) -> float:
    """Return what no plane within the radius has its largest error below."""
    dual = certificate.dual
    if dual is None or dual.shape != target.shape or not np.any(dual):
        return 0.0
    v = dual.astype(EXTENDED)
    centre = table.mean(axis=0) if intercept else np.zeros(table.shape[1], EXTENDED)
    middle = (target.max() + target.min()) / 2 if intercept else EXTENDED(0)
    A = table - centre
    size = np.sqrt(np.mean(A * A, axis=0))
    A = A / np.where(size > 0, size, 1)
    if intercept:
        A = np.hstack([A, np.ones((len(A), 1), EXTENDED)])
    for _ in range(2):  # what the columns still see of the weights is taken away
        v = v - A @ np.linalg.lstsq(A.astype(np.float64), v.astype(np.float64), rcond=None)[0]
    total = np.abs(v).sum()
    seen = np.abs(A.T @ v).sum() * certificate.radius
    return max(float((v @ (target - middle) - seen) / total), 0.0) if total > 0 else 0.0  # no error is below zero
