"""Sparse components, and codes for given atoms, checked: what other entries, scores and codes could still gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._found import codes as require_codes
from qed.verify._factors import RELATIVE_TOLERANCE, dense, lacking, require_stated
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate, ExactCertificate, StationaryCertificate

Array = np.ndarray[Any, Any]
RULES = {"omp": "Codes by orthogonal matching pursuit", "threshold": "Codes by shrunk correlations"}


def check_components(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """See what single entries and single scores gain; raise CertificateError when objective or gap are not as stated."""
    rows = read(model, X, None, None)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    C, lengths = np.asarray(model.components_), np.asarray(model.component_norms_)
    if len(C) != (model.n_components or rows.p) or model.n_components_ != len(C):
        refuse(model, "it has more or fewer components than asked for")
    size = np.sqrt((seen.spread / seen.rows).astype(np.float64)) + 1e-6 * np.abs(seen.mean.astype(np.float64))
    if not np.all(np.abs(model.mean_ - seen.mean) <= 1e-9 * size + 4 * DOUBLE * np.abs(seen.mean)):
        refuse(model, "its means are not those of the columns")
    if not np.all(np.abs(np.sum(C * C, axis=1) - (lengths > 0)) <= 1e-12 * (rows.p + 8)):
        refuse(model, "its components are not of length one")
    largest = np.max(C, axis=1, initial=0)
    if not np.all(largest >= (1 - 1e-9) * np.max(np.abs(C), axis=1, initial=0)):
        refuse(model, "the largest entry of a component is negative")
    x = dense(model, X) - np.asarray(model.mean_)
    alpha, V = float(model.alpha), C * lengths[:, None]
    null = float(np.sum(x * x)) / 2
    U = np.asarray(model.scores_)
    if U.shape != (len(x), len(V)) or not np.all(np.sum(U * U, axis=0) <= 1 + 1e-12):
        refuse(model, "its scores are of other rows, or longer than they may be")
    rest = x - U @ V
    objective = float(np.sum(rest * rest)) / 2 + alpha * float(np.sum(np.abs(V)))
    slope, curvature = -U.T @ rest, np.maximum(np.sum(U * U, axis=0), np.finfo(float).tiny)[:, None]
    wanted = curvature * V - slope
    best = np.sign(wanted) * np.maximum(np.abs(wanted) - alpha, 0.0) / curvature
    step = V - best
    gains = slope * step - curvature / 2 * step**2 + alpha * (np.abs(V) - np.abs(best))
    gap = float(np.sum(np.maximum(gains, 0.0)))
    for j in np.flatnonzero(lengths):
        use = float(V[j] @ V[j])
        target = U[:, j] + rest @ V[j] / use
        place = target / max(float(np.linalg.norm(target)), 1.0)
        gap += use / 2 * max(float(np.sum((U[:, j] - target) ** 2) - np.sum((place - target) ** 2)), 0.0)
    near = RELATIVE_TOLERANCE * max(null, objective)
    words = "change of a single entry of the codes or of a single atom"
    require_stated(model, certificate, words, (objective, null, gap), near)
    return Verdict(certificate.statement, objective, gap, near, certificate.gap)


def _atoms(model: Any, p: int) -> Array:
    return np.eye(p) if model.dictionary is None else np.asarray(model.dictionary, dtype=np.float64)


def check_coder(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Bound what other codes of the rows gain, by a dual point for each, from the codes that the model gives."""
    if model.transform_algorithm in RULES:
        refuse(model, "it speaks of an objective, and its codes follow from a rule")
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x, D = dense(model, X), _atoms(model, rows.p)
    alpha = 1.0 if model.transform_alpha is None else float(model.transform_alpha)
    k = len(D)
    U = np.asarray(model.transform(x), dtype=np.float64)
    require_codes(model, x, U)
    U = U[:, :k] - U[:, k:] if model.split_sign else U
    if model.positive_code and not np.all(U >= 0):
        refuse(model, "a code is negative")
    rest = x - U @ D
    objective = float(np.sum(rest**2)) / 2 + alpha * float(np.sum(np.abs(U)))
    null = float(np.sum(x * x)) / 2
    reach = np.sqrt(np.sum(x * x, axis=1)) + np.abs(U) @ np.sqrt(np.sum(D * D, axis=1))
    near = 64 * (sum(D.shape) + 8) * DOUBLE * float(np.sum(reach**2))
    gap = float(np.sum(lacking(x, D, U, alpha, positive=model.positive_code)))
    for found, stated, what in (
        (objective, certificate.objective, "objective"),
        (null, certificate.null_objective, "null objective"),
    ):
        if not abs(found - stated) <= near:
            refuse(model, f"its {what} is {found:.10g}, not {stated:.10g}")
    if not gap <= certificate.gap + near or certificate.radius != np.inf or certificate.dual is not None:
        refuse(model, f"other codes may be lower by {gap:.3g}, and at most {certificate.gap:.3g} is claimed")
    if not certificate.rounding <= certificate.gap:
        refuse(model, "its rounding is more than its gap")
    return Verdict(certificate.statement, objective, max(gap, 0.0), near, certificate.gap)


def check_rule(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """See that codes follow from their rule."""
    rows = read(model, X, None, None)
    n, D = summarize_columns(rows).rows, _atoms(model, rows.p)
    if certificate.what != RULES.get(model.transform_algorithm) or certificate.rows != n:
        refuse(model, "it speaks of other codes, or of other rows")
    if not certificate.rounding <= (D.shape[1] + 1) * DOUBLE:
        refuse(model, "it states more rounding than there can be")
    x = dense(model, X)
    require_codes(model, x, model.transform(x))
    return Verdict(certificate.statement, 0.0, 0.0, certificate.rounding, certificate.rounding, measure="")
