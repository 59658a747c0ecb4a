"""Sparse components, and codes for given atoms, checked: scores or codes are found anew, and held against what could be gained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._found import codes as require_codes
from qed.verify._factors import NEAR, dense, refuse, require_stated
from qed.verify._rows import DOUBLE, read
from qed.verify._same_data import look, require_same_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate, ExactCertificate, StationaryCertificate

Array = np.ndarray[Any, Any]
RULES = {"omp": "Codes by orthogonal matching pursuit", "threshold": "Codes by shrunk correlations"}


def check_components(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Find the best scores for the components; raise CertificateError when objective or gap are not as stated."""
    rows = read(model, X, None, None)
    seen = look(rows)
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
    U = _scores(x @ V.T, V @ V.T, null)
    rest = x - U @ V
    objective = float(np.sum(rest * rest)) / 2 + alpha * float(np.sum(np.abs(V)))
    slope, curvature = -U.T @ rest, np.maximum(np.sum(U * U, axis=0), np.finfo(float).tiny)[:, None]
    wanted = curvature * V - slope
    best = np.sign(wanted) * np.maximum(np.abs(wanted) - alpha, 0.0) / curvature
    step = V - best
    gains = slope * step - curvature / 2 * step**2 + alpha * (np.abs(V) - np.abs(best))
    gap = float(np.sum(np.maximum(gains, 0.0)))
    near = NEAR * max(null, objective)
    words = "change of a single entry of the codes or of a single atom"
    require_stated(model, certificate, words, (objective, null, gap), near)
    return Verdict(certificate.statement, objective, gap, near, certificate.gap)


def _scores(P: Array, G: Array, null: float) -> Array:
    """Minimise tr(G U'U) / 2 - tr(P'U) over columns of U in the unit ball: projected gradient with momentum, and restarts."""
    U = ahead = np.zeros_like(P)
    steep = float(np.linalg.norm(G, 2)) if G.any() else 1.0
    weight, value = 1.0, 0.0
    for _ in range(50_000):
        after = ahead - (ahead @ G - P) / steep
        after = after / np.maximum(np.sqrt(np.sum(after * after, axis=0)), 1.0)
        new = float(np.vdot(after @ G, after)) / 2 - float(np.vdot(P, after))
        if new > value and ahead is not U:  # momentum overshot
            ahead, weight = U, 1.0
            continue
        moved = float(np.sum((after - U) ** 2)) * steep
        following = (1 + np.sqrt(1 + 4 * weight**2)) / 2
        U, ahead, weight, value = after, after + (weight - 1) / following * (after - U), following, new
        if moved <= 1e-16 * null:
            break
    return U


def check_coder(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Bound what other codes of the rows gain, by a dual point for each, from the codes that the model gives."""
    if model.transform_algorithm in RULES:
        refuse(model, "it speaks of an objective, and its codes follow from a rule")
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, look(rows), rows.p)
    x, D = dense(model, X), np.asarray(model.dictionary, dtype=np.float64)
    alpha = 1.0 if model.transform_alpha is None else float(model.transform_alpha)
    k = len(D)
    U = np.asarray(model.transform(x), dtype=np.float64)
    require_codes(model, x, U)
    U = U[:, :k] - U[:, k:] if model.split_sign else U
    if model.positive_code and not np.all(U >= 0):
        refuse(model, "a code is negative")
    rest = x - U @ D
    pull = rest @ D.T
    most = np.max(pull if model.positive_code else np.abs(pull), axis=1)
    dual = rest * np.minimum(1.0, alpha / np.maximum(most, np.finfo(float).tiny))[:, None]
    objective = float(np.sum(rest**2)) / 2 + alpha * float(np.sum(np.abs(U)))
    # half the squared length of x less that of x - dual: what every code costs at least
    below = float(np.sum(x * x) - np.sum((x - dual) ** 2)) / 2
    null = float(np.sum(x * x)) / 2
    near = 64 * (D.size + 8) * DOUBLE * max(null, objective)
    gap = objective - below
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
    n, D = look(rows).rows, np.asarray(model.dictionary, dtype=np.float64)
    if certificate.what != RULES.get(model.transform_algorithm) or certificate.rows != n:
        refuse(model, "it speaks of other codes, or of other rows")
    if not certificate.rounding <= (D.shape[1] + 1) * DOUBLE:
        refuse(model, "it states more rounding than there can be")
    x = dense(model, X)
    require_codes(model, x, model.transform(x))
    return Verdict(certificate.statement, 0.0, 0.0, certificate.rounding, certificate.rounding, measure="")
