"""Ordered classes, checked: the likelihood by its definition, and a lower bound from slopes that balance at every threshold."""

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

NEWTON_STEPS = 3  # each squares what is missing; fits end near the optimum


def check(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute objective and bound; raise CertificateError when they are not as claimed."""
    rows = read(model, X, y, sample_weight)
    words = difference(certificate.fingerprint, summarize_columns(rows), rows.p)
    if words is not None:
        raise CertificateError(words)
    blocks = list(rows.blocks())
    table = np.vstack([block.X[block.s > 0] for block in blocks]).astype(EXTENDED)
    weight = np.concatenate([block.s[block.s > 0] for block in blocks]).astype(EXTENDED)
    labels = np.asarray(rows.classes)[np.concatenate([block.y[block.s > 0, 0] for block in blocks]).astype(int)]
    order = np.asarray(vars(model).get("order_", model.classes_)).tolist()  # files of old have the order of the labels
    if model.order is not None and order != [label for label in np.asarray(model.order).tolist() if label in order]:
        refuse(model, "the order of the labels is not the one that was asked for")
    code = np.array([order.index(label) if label in order else -1 for label in np.unique(labels).tolist()])
    if (code < 0).any() or sorted(order) != model.classes_.tolist():
        refuse(model, "labels and their order do not fit the data")
    code = code[np.searchsorted(np.unique(labels), labels)]
    w, cuts = np.asarray(model.coef_, dtype=EXTENDED), np.asarray(model.thresholds_, dtype=EXTENDED)
    if not (np.all(np.isfinite(w)) and np.all(np.isfinite(cuts))):
        refuse(model, "coefficients or thresholds are not finite")
    if w.shape != (rows.p,) or cuts.shape != (len(model.classes_) - 1,) or not np.all(np.diff(cuts) > 0):
        refuse(model, "coefficients and thresholds do not fit the data")
    q = EXTENDED(model.C) * weight
    high, low = _sides(table, code, w, cuts)
    # P(y) = σ(high) - σ(low), from the side where nothing cancels
    flip = low > 0
    chance = np.where(flip, _sigmoid(-low) - _sigmoid(-high), _sigmoid(high) - _sigmoid(low))
    objective = float(w @ w / 2 - q @ np.log(chance))
    if not np.isfinite(objective):
        refuse(model, "the objective at its coefficients is not finite")
    if not abs(objective - certificate.objective) <= 1e-7 * abs(objective) + certificate.gap:
        refuse(model, f"the objective is {objective:.10g}, not {certificate.objective:.10g}")
    parts = np.array([q[code == j].sum() for j in range(len(model.classes_))])
    null = float(-np.sum(parts * np.log(parts / parts.sum())))
    if not abs(null - certificate.null_objective) <= 1e-6 * null:
        refuse(model, f"the null model's objective is {null:.10g}")
    proved = _bound(table, q, code, len(cuts), _sigmoid(-high), _sigmoid(low))
    for _ in range(NEWTON_STEPS):
        if objective - proved <= certificate.gap:
            break
        w, cuts = _newton_step(table, q, code, w, cuts)
        if not np.all(np.diff(cuts) > 0):  # NaN too
            break
        proved = max(proved, _bound(table, q, code, len(cuts), *_slopes(table, code, w, cuts)))
    distance, rounding = max(objective - proved, 0.0), 1e-12 * abs(objective)
    if not (np.isfinite(rounding) and distance <= certificate.gap + rounding):
        refuse(model, f"the objective could only be shown to be within {distance:.3g} of the least")
    return Verdict(certificate.statement, objective, distance, rounding, certificate.gap)


def _sides(table: Any, code: Any, w: Any, cuts: Any) -> tuple[Any, Any]:
    """Return how far below the upper cut point of its class, and below the lower one, each row lies."""
    t = table @ w
    ends = np.concatenate([[-np.inf], cuts, [np.inf]]).astype(EXTENDED)
    return ends[code + 1] - t, ends[code] - t


def _slopes(table: Any, code: Any, w: Any, cuts: Any) -> tuple[Any, Any]:
    high, low = _sides(table, code, w, cuts)
    return _sigmoid(-high), _sigmoid(low)


def _newton_step(table: Any, q: Any, code: Any, w: Any, cuts: Any) -> tuple[Any, Any]:
    """Go nearer to the optimum, where slopes prove more: the square of what is left of the gradient is what they miss."""
    m = len(cuts)
    u, v = _slopes(table, code, w, cuts)
    above, below = (code[:, np.newaxis] == np.arange(m)), (code[:, np.newaxis] == np.arange(1, m + 1))
    inner = np.array([q[code == j].sum() for j in range(1, m)], dtype=EXTENDED)
    near = -np.expm1(-np.diff(cuts))
    pushes, curvatures = inner * (1 - near) / near, inner * (1 - near) / near**2
    # scores fall by a coefficient and rise by a cut point: rows of the matrices of both sides
    sides = np.hstack([table, -above.astype(EXTENDED)]), np.hstack([table, -below.astype(EXTENDED)])
    gradient = np.concatenate([w, np.zeros(m, EXTENDED)]) + sides[0].T @ (q * u) - sides[1].T @ (q * v)
    apart = np.hstack([np.zeros((m - 1, len(w))), np.diff(np.eye(m), axis=0)]).astype(EXTENDED)
    gradient -= apart.T @ pushes
    curvature = sum(one.T @ ((q * s * (1 - s))[:, np.newaxis] * one) for one, s in zip(sides, (u, v), strict=True))
    curvature += apart.T @ (curvatures[:, np.newaxis] * apart) + np.diag(np.r_[np.ones(len(w)), np.zeros(m)])
    scale = 1 / np.sqrt(np.diagonal(curvature))
    try:
        step = np.linalg.solve(
            (curvature * scale * scale[:, np.newaxis]).astype(float), (scale * gradient).astype(float)
        )
    except np.linalg.LinAlgError:
        return w, np.full(m, np.nan, EXTENDED)
    moved = np.concatenate([w, cuts]) - scale * step
    return moved[: len(w)], moved[len(w) :]


def _bound(table: Any, q: Any, code: Any, m: int, u: Any, v: Any) -> float:
    """Return a value that no coefficients and cut points go below: minus the conjugates, at slopes that balance."""
    u, v = np.where(code < m, u, 0), np.where(code > 0, v, 0)
    left = np.array([q[code == j] @ u[code == j] for j in range(m)], dtype=EXTENDED)
    right = np.array([q[code == j + 1] @ v[code == j + 1] for j in range(m)], dtype=EXTENDED)
    inner = np.array([q[code == j].sum() for j in range(1, m)], dtype=EXTENDED)
    # what a class between two cut points may be pulled apart by, cut after cut; slopes beyond are taken back
    pull, inner_pulls = EXTENDED(0), []
    for j in range(m):
        goes = min(pull + right[j] - left[j], EXTENDED(0)) if j < m - 1 else EXTENDED(0)
        more = right[j] - left[j] - (goes - pull)
        if more > 0:
            v = np.where(code == j + 1, v * max(1 - more / right[j], 0), v)
        elif more < 0:
            u = np.where(code == j, u * max(1 + more / left[j], 0), u)
        if (
            not abs(q[code == j + 1] @ v[code == j + 1] - q[code == j] @ u[code == j] - (goes - pull))
            <= 1e-15 * q.sum()
        ):
            return 0.0
        pull = goes
        if j < m - 1:
            inner_pulls.append(pull)
    s = np.array(inner_pulls, dtype=EXTENDED) / inner
    apart = np.log1p(-1 / s[s < 0])
    barriers = inner[s < 0] @ (s[s < 0] * apart + np.log(-np.expm1(-apart)))
    conjugates = q @ (_entropy(u) + _entropy(v)) + barriers
    z = table.T @ (q * (u - v))
    return float(-conjugates - z @ z / 2)


def _entropy(x: Any) -> Any:
    inside = (x > 0) & (x < 1)
    safe = np.where(inside, x, EXTENDED(0.5))
    return np.where(inside, safe * np.log(safe) + (1 - safe) * np.log1p(-safe), 0)


def _sigmoid(t: Any) -> Any:
    return np.exp(-np.logaddexp(EXTENDED(0), -t))
