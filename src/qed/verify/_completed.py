"""Completed tables, checked: rows are completed again from the components, and a dual point bounds what other tables gain."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, _cut, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate

Array = np.ndarray[Any, Any]
SAME = 1e-10


def completed(model: Any, x: Array) -> Array:
    """Return the expected entries of rows: for each, the best of |x - a B|² / 2 + alpha |a|² / 2 over what is there."""
    B, mean = np.asarray(model.components_), np.asarray(model.mean_)
    found = np.tile(mean, (len(x), 1)).astype(np.float64)
    if len(B):
        ridge = np.sqrt(max(float(model.alpha), SAME * float(np.max(np.sum(B * B, axis=1)))))
        for i, row in enumerate(x):
            there = ~np.isnan(row)
            stacked = np.vstack([B[:, there].T, ridge * np.eye(len(B))])
            right = np.concatenate([(row - mean)[there], np.zeros(len(B))])
            found[i] += np.linalg.lstsq(stacked, right, rcond=None)[0] @ B
    return found


def check(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute objective and gap; raise CertificateError when they are not as stated."""
    table = np.asarray(read_data(model, X, None, None).X, dtype=np.float64)
    there = ~np.isnan(table)
    both = np.hstack([np.where(there, table, 0.0), there])
    require_same_data(
        certificate.fingerprint,
        summarize_columns(Rows(partial(_cut, both, None, None, EXTENDED), both.shape[1], 0, EXTENDED)),
        both.shape[1],
    )
    n, p = table.shape
    filled = np.where(there, table, 0.0)
    mean = filled.sum(axis=0) / there.sum(axis=0) if model.center else np.zeros(p)
    size = np.sqrt(np.sum(filled**2, axis=0) / there.sum(axis=0))
    if not np.all(np.abs(model.mean_ - mean) <= 8 * (n + 8) * DOUBLE * size):
        refuse(model, "what it subtracts are not the means of what is there")
    B, values = np.asarray(model.components_), np.asarray(model.singular_values_)
    if B.shape != (model.n_components_, p) or not np.all(
        np.abs(np.sum(B * B, axis=1) - values) <= 1e-9 * np.max(values, initial=0)
    ):
        refuse(model, "its components are not as long as its singular values say")
    if not np.all(np.max(B, axis=1, initial=0) >= (1 - 1e-9) * np.max(np.abs(B), axis=1, initial=0)):
        refuse(model, "the largest entry of a component is negative")
    if not np.all(np.diff(values) <= 0):
        refuse(model, "its singular values are not in order")
    x = np.where(there, table - model.mean_, 0.0)
    Z = completed(model, table) - model.mean_
    rest, alpha = np.where(there, x - Z, 0.0), float(model.alpha)
    norm = float(np.sum(np.linalg.svd(Z, compute_uv=False)))
    objective, null = float(np.sum(rest * rest)) / 2 + alpha * norm, float(np.sum(x * x)) / 2
    most = float(np.linalg.svd(rest, compute_uv=False)[0])
    dual = rest * (min(1.0, alpha / most) if most > 0 else 1.0)
    gap = objective - float(np.sum(x * dual)) + float(np.sum(dual * dual)) / 2
    near = 256 * (n + p + 8) * DOUBLE * max(null, objective)
    for found, stated, what in (
        (objective, certificate.objective, "objective"),
        (null, certificate.null_objective, "null objective"),
    ):
        if not abs(found - stated) <= near:
            refuse(model, f"its {what} is {found:.10g}, not {stated:.10g}")
    if not gap <= certificate.gap + near or certificate.radius != np.inf or certificate.dual is not None:
        refuse(model, f"other tables may be lower by {gap:.3g}, and at most {certificate.gap:.3g} is claimed")
    if not certificate.rounding <= certificate.gap:
        refuse(model, "its rounding is more than its gap")
    return Verdict(certificate.statement, objective, max(gap, 0.0), near, certificate.gap)
