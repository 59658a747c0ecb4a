"""Losses that stop growing, checked: the objective, the implied weights, and what gradient and curvature prove nearby.

The losses are written out again. Sums are made in extended precision, decompositions in double: what they round is far below the
slack of a billionth that is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import StationaryCertificate


Array = np.ndarray[Any, Any]


def check(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute everything that is claimed; raise CertificateError when it is not so."""
    rows = read(model, X, y, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    if certificate.step != "reweighted fit":
        refuse(model, "it speaks of another step than a reweighted fit")
    w, c = np.asarray(model.coef_, dtype=EXTENDED), EXTENDED(model.threshold_)
    if w.shape != (rows.p,) or not np.all(np.isfinite(w)):
        refuse(model, "its coefficients do not fit the columns")
    if not c > 0 or (model.threshold is not None and float(model.threshold) != model.threshold_):
        refuse(model, "its threshold is not the one that was asked for")
    blocks = list(rows.blocks())
    table = np.vstack([block.X for block in blocks]).astype(EXTENDED)
    target = np.concatenate([block.y[:, 0] for block in blocks]).astype(EXTENDED)
    q = np.concatenate([block.s for block in blocks]).astype(EXTENDED) / EXTENDED(seen.weight)
    error = table @ w + EXTENDED(model.intercept_) - target
    z = (error / c) ** 2
    value, weight, curvature = _parts(model.shape, z)
    objective = float(q @ (c**2 / 2 * value))
    middles = _medians(target, q) if model.fit_intercept else [EXTENDED(0)]
    nulls = [float(q @ (c**2 / 2 * _parts(model.shape, ((target - one) / c) ** 2)[0])) for one in middles]
    null = min(nulls, key=lambda one: abs(one - certificate.null_objective))
    slack = 1e-9 * (objective + null)
    # errors are those of float64, which cancel where targets are far from zero
    off = 8 * DOUBLE * float(np.max(np.abs(target) + np.abs(table) @ np.abs(w) + abs(EXTENDED(model.intercept_))))
    noise = off * float(c)  # no shape has a steeper slope than its threshold
    if not abs(objective - certificate.objective) <= slack + noise + 4 * min(certificate.rounding, 1e-6 * null):
        refuse(model, f"its objective is {objective:.10g}, not {certificate.objective:.10g}")
    if not abs(null - certificate.null_objective) <= 1e-6 * null + slack + noise:
        refuse(model, f"the median alone has an objective of {null:.10g}")
    _require_weights(model, X, y, off / float(c))
    A = table - (seen.mean[: rows.p] if model.fit_intercept else 0)
    if model.fit_intercept:
        A = np.hstack([A, np.ones((len(A), 1), EXTENDED)])
    size = np.sqrt(q @ A**2)
    A = (A / np.where(size > 0, size, 1))[:, size > 0].astype(np.float64)
    proved, radius, least = _proved(
        model.shape, float(c), A, q.astype(np.float64), error.astype(np.float64), weight, curvature
    )
    if not certificate.radius <= radius * (1 + 1e-6) + 1e-6 * float(c):
        refuse(model, f"within {certificate.radius:.3g} it need not be convex; within {radius:.3g} it is")
    if not certificate.curvature <= least + 1e-6:
        refuse(model, f"it is curved by {least:.3g} of least squares, and {certificate.curvature:.3g} is claimed")
    if not proved <= certificate.gap + slack:
        refuse(model, f"nearby it may be lower by {proved:.3g}, and at most {certificate.gap:.3g} is claimed")
    return Verdict(certificate.statement, objective, proved, slack, certificate.gap)


def _parts(shape: str, z: Array) -> tuple[Array, Array, Array]:
    """Return loss, weight and curvature for squared errors in units of the threshold, for a limit of one."""
    if shape == "truncated":
        inside = z < 1
        return np.minimum(z, 1), inside.astype(EXTENDED), inside.astype(EXTENDED)
    if shape == "rational":
        return z / (1 + z), 1 / (1 + z) ** 2, (1 - 3 * z) / (1 + z) ** 3
    fall = np.exp(-z)
    return -np.expm1(-z), fall, fall * (1 - 2 * z)


def _proved(
    shape: str, c: float, A: Array, q: Array, error: Array, weight: Array, curvature: Array
) -> tuple[float, float, float]:
    """Return by how much the objective can fall nearby, how near that is, and how much it is curved."""
    g = A.T @ (q * weight.astype(np.float64) * error)
    values, vectors = np.linalg.eigh((A.T * q) @ A)
    keep = values > values[-1:].max(initial=0.0) * len(values) * 1e-13
    to = vectors[:, keep] / np.sqrt(values[keep])  # coordinates in which the curvature of least squares is one
    slope = to.T @ g
    H = to.T @ ((A.T * (q * curvature.astype(np.float64))) @ A) @ to
    own, along = np.linalg.eigh(0.5 * (H + H.T))
    least = float(own[0]) if len(own) else 1.0
    if shape == "truncated":
        seen = own > 1e-12
        radius = float(np.min(np.abs(np.abs(error) - c), initial=np.inf))
        return 0.5 * float(np.sum((along[:, seen].T @ slope) ** 2 / own[seen])), radius, least
    if least > 1e-10:
        steepest = 2.0 if shape == "exponential" else 2.34
        return float(slope @ slope) / least, 0.5 * least * c / steepest, least
    step = to.T @ ((A.T * (q * weight.astype(np.float64))) @ A) @ to
    own, along = np.linalg.eigh(0.5 * (step + step.T))
    seen = own > 1e-12
    return 0.5 * float(np.sum((along[:, seen].T @ slope) ** 2 / own[seen])), 0.0, least


def _require_weights(model: Any, X: Any, y: Any, off: float) -> None:
    """Check how much each row counts, rows without weight included; errors round by ``off`` thresholds."""
    data = read_data(model, X, y, None)
    table = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    error = table.astype(EXTENDED) @ np.asarray(model.coef_, EXTENDED) + EXTENDED(model.intercept_) - data.y
    true = _parts(model.shape, (error / EXTENDED(model.threshold_)) ** 2)[1]
    edge = np.abs(np.abs(error) / EXTENDED(model.threshold_) - 1) < 1e-9 + off if model.shape == "truncated" else False
    stored = np.asarray(model.weights_)
    if stored.shape != true.shape or not np.all((np.abs(stored - true) <= 1e-7 + 2 * off) | edge):
        refuse(model, "weights_ are not those that the errors of the rows imply")


def _medians(values: Array, q: Array) -> list[Any]:
    """Return the weighted median; where shares are equal, also both numbers that it lies between."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(q[order])
    half = reached[-1] / 2
    low = min(int(np.searchsorted(reached, half * (1 - EXTENDED(1e-11)))), len(values) - 1)
    high = min(int(np.searchsorted(reached, half * (1 + EXTENDED(1e-11)))), len(values) - 1)
    first, last = values[order[low]], values[order[high]]
    return [first, last, (first + last) / 2]
