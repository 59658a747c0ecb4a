"""Least squares, checked: objective, data and distance from the optimum, all recomputed.

The objective ``P(w, b) = Σ s (y - xw - b)² + alpha ‖w - prior‖²`` is quadratic, so its distance from the minimum is known from
the gradient and the curvature: ``g · A⁺ g`` with ``A = X̃ᵀSX̃ + alpha I``. Gradient and objective are summed in extended precision;
the curvature is decomposed by eigenvectors, and every doubt about its eigenvalues is carried into the rounding. Directions
without curvature are charged for steps up to the radius that the certificate states.

With more columns than rows the dual is used instead: any balanced ``u`` proves ``min P >= 2u·ỹ - ‖u‖² - ‖X̃ᵀu‖² / alpha``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, Estimator
from qed.verify._rows import EXTENDED, UNIT, Rows, read
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.core._certificates import LeastSquaresCertificate

__all__ = ["check"]

DOUBLE = 2.0**-53
LARGEST = 6000  # rows or columns whose square is decomposed; beyond, the plain bound by the penalty is used
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Seen:
    """What one pass tells: sizes, means and spreads of all columns, targets last."""

    rows: int
    weight: Any
    mean: Array  # (q,) extended
    spread: Array  # (q,) extended


@dataclass(frozen=True)
class _Point:
    """What a second pass tells at the model's coefficients."""

    squares: Array  # (m,) Σ s r², with the model's intercept
    offset: Array  # (m,) weighted mean of r
    gradient: Array  # (p, m) downhill, centred columns, without the penalty


def check(model: Estimator, certificate: LeastSquaresCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, y, sample_weight)
    alpha, prior, intercept = _objective(model, rows)
    w = np.atleast_2d(model.coef_).T.astype(EXTENDED)  # type: ignore[attr-defined]
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=EXTENDED), (rows.m,))  # type: ignore[attr-defined]
    _require_shapes(model, rows, w)
    seen = _look(rows)
    _require_same_data(certificate, seen, rows.p)
    mean = seen.mean if intercept else np.zeros_like(seen.mean)
    point = _evaluate(rows, w, b, mean, intercept=intercept)
    step = w - prior
    squares = point.squares + alpha * np.sum(step**2, axis=0)
    objective = float(np.sum(squares))
    # the best intercept takes out the mean residual; what is left is a problem in w alone
    off = seen.weight * point.offset**2 if intercept else np.zeros(rows.m, EXTENDED)
    length = np.sqrt(seen.spread if intercept else seen.spread + seen.weight * seen.mean**2)
    reach = length[: rows.p] @ np.abs(w) + length[rows.p :]
    g = point.gradient - alpha * step
    doubt = (seen.rows + rows.p + 16) * UNIT * np.multiply.outer(length[: rows.p], reach) + 8 * UNIT * alpha * np.abs(step)
    distance, rounding = _distance(rows, seen, mean, alpha, g, doubt, certificate.radius, point, squares, w, prior)
    size = np.abs(seen.mean[rows.p :]) + np.abs(seen.mean[: rows.p]) @ np.abs(w) + np.abs(b)
    rounding += float(np.sum(seen.weight * (2 * np.abs(point.offset) + 8 * UNIT * rows.p * size) * 8 * UNIT * rows.p * size))
    distance += float(np.sum(off))
    _require_close(model, certificate, objective, distance, rounding)
    return Verdict(certificate.statement, objective, distance, rounding, certificate.gap)


def _objective(model: Estimator, rows: Rows) -> tuple[Array, Array, bool]:
    """Read the documented objective from the model's parameters: strengths, prior, intercept."""
    params = model.get_params(deep=False)
    alpha = model.__dict__.get("alpha_", params.get("alpha", 0.0))
    prior = np.zeros((rows.p, rows.m), EXTENDED)
    if params.get("prior") is not None:
        prior[:] = np.atleast_2d(np.asarray(params["prior"], dtype=EXTENDED)).T
    return np.broadcast_to(np.asarray(alpha, dtype=EXTENDED), (rows.m,)), prior, bool(params["fit_intercept"])


def _require_shapes(model: Estimator, rows: Rows, w: Array) -> None:
    if w.shape != (rows.p, rows.m) or not np.all(np.isfinite(w)):
        msg = (
            f"{type(model).__name__} has coefficients of shape {w.T.shape}, and these data need finite ones of shape "
            f"({rows.m}, {rows.p}). The model was changed, or the data are others."
        )
        raise CertificateError(msg)


def _look(rows: Rows) -> _Seen:
    """Find weight, means and spreads, relative to the first row so that offsets do not cancel."""
    first: Array | None = None
    count, weight = 0, EXTENDED(0)
    sums = squares = np.zeros(rows.p + rows.m, EXTENDED)
    for block in rows.blocks():
        z = np.hstack([block.X.astype(EXTENDED), block.y])
        first = z[0] if first is None else first
        z = z - first
        count, weight = count + len(z), weight + np.sum(block.s)
        sums, squares = sums + block.s @ z, squares + block.s @ z**2
    if first is None:
        msg = "There is no row of positive weight to verify on. Pass the rows of the fit."
        raise CertificateError(msg)
    return _Seen(count, weight, first + sums / weight, np.maximum(squares - sums**2 / weight, 0))


def _require_same_data(certificate: LeastSquaresCertificate, seen: _Seen, p: int) -> None:
    """Compare the fingerprint; the tolerance is far above rounding and far below any change worth making."""
    print_ = certificate.fingerprint
    same = print_.rows == seen.rows and print_.mean.shape == seen.mean.shape
    column = -1
    if same:
        deviation = np.sqrt(seen.spread / seen.weight)
        off_mean = np.abs(print_.mean - seen.mean) > 1e-9 * (deviation + 1e-6 * np.abs(seen.mean))
        whole = seen.spread + 1e-6 * seen.weight * seen.mean**2
        off_spread = np.abs(print_.spread - seen.spread) > 1e-9 * whole
        off = np.flatnonzero(off_mean | off_spread)
        column = int(off[0]) if len(off) else -1
        same = column < 0 and abs(print_.weight - seen.weight) <= 1e-9 * seen.weight
    if not same:
        where = ""
        if column >= 0:
            where = f" They differ in {f'column {column}' if column < p else f'target {column - p}'}."
        msg = (
            f"These are not the data of the certificate: it is about {print_.rows} rows of weight {print_.weight:.10g}, these are "
            f"{seen.rows} of weight {float(seen.weight):.10g}.{where} Pass the rows, targets and weights of the fit."
        )
        raise CertificateError(msg)


def _evaluate(rows: Rows, w: Array, b: Array, mean: Array, *, intercept: bool) -> _Point:
    """Sum objective and gradient at the model's coefficients."""
    p = rows.p
    squares, offset, weight = np.zeros(rows.m, EXTENDED), np.zeros(rows.m, EXTENDED), EXTENDED(0)
    gradient, plain = np.zeros((p, rows.m), EXTENDED), np.zeros(p, EXTENDED)
    centred_b = b - mean[p:] + mean[:p] @ w
    for block in rows.blocks():
        x = block.X - mean[:p]
        r = (block.y - mean[p:]) - x @ w - centred_b
        sr = block.s[:, None] * r
        squares, offset, weight = squares + np.sum(sr * r, axis=0), offset + np.sum(sr, axis=0), weight + np.sum(block.s)
        gradient, plain = gradient + x.T @ sr, plain + block.s @ x
    if intercept:
        gradient = gradient - np.multiply.outer(plain, offset / weight)
    return _Point(squares, offset / weight, gradient)


def _distance(  # noqa: PLR0917
    rows: Rows,
    seen: _Seen,
    mean: Array,
    alpha: Array,
    g: Array,
    doubt: Array,
    radius: float,
    point: _Point,
    squares: Array,
    w: Array,
    prior: Array,
) -> tuple[float, float]:
    """Return the distance from the optimum and a bound on its error, summed over targets."""
    total, slack = 0.0, 0.0
    is_tall = rows.p <= min(max(seen.rows, 500), LARGEST)
    gram = _gram(rows, mean[: rows.p]) if is_tall else None
    for strength in np.unique(alpha):
        targets = np.flatnonzero(alpha == strength)
        a = float(strength)
        if gram is not None:
            value, error = _by_curvature(gram, a, g[:, targets], doubt[:, targets], radius, seen)
        elif a > 0:
            value, error = _by_penalty(rows, seen, mean, a, targets, w, prior, squares, g, doubt, point)
        else:
            value, error = _by_convexity(rows, mean, targets, g, doubt, radius, squares)
        total, slack = total + value, slack + error
    return total, slack


def _gram(rows: Rows, mean: Array) -> Array:
    S = np.zeros((rows.p, rows.p))
    for block in rows.blocks():
        x = (block.X - mean).astype(np.float64) * np.sqrt(block.s.astype(np.float64))[:, None]
        S += x.T @ x
    return S


def _by_curvature(S: Array, alpha: float, g: Array, doubt: Array, radius: float, seen: _Seen) -> tuple[float, float]:
    """Divide the gradient by the curvature, eigenvector by eigenvector, columns scaled to unit length."""
    p = len(S)
    diagonal = S.diagonal() + alpha
    d = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(S * d * d[:, None] + np.diag(alpha * d * d))
    error = (4096 + seen.rows / 4096 + 16 * p) * DOUBLE * p
    scaled = d[:, None] * g.astype(np.float64)
    # the step to extended precision is where digits matter: g is small, its scaling is harmless
    seen_g = vectors.T @ scaled
    e = np.linalg.norm(d[:, None] * doubt.astype(np.float64), axis=0) + 8 * p * DOUBLE * np.linalg.norm(scaled, axis=0)
    keep = values > 4 * error
    floor = values[keep] - error
    value = np.sum(seen_g[keep] ** 2 / values[keep, None], axis=0)
    worst = np.sum((np.abs(seen_g[keep]) + e) ** 2 / floor[:, None], axis=0)
    live = int(np.count_nonzero(d))
    if np.count_nonzero(keep) < live:
        steps = radius if np.isfinite(radius) else 10 * float(np.sqrt(np.max(seen.spread, initial=0)))
        free = np.linalg.norm(seen_g[~keep], axis=0) + e
        worst = worst + 2 * free * steps + 2 * error * steps**2
    flat = (d == 0) & np.any(g != 0, axis=1)
    if np.any(flat):
        worst = worst + 2 * np.sum(np.abs(g[flat]), axis=0).astype(np.float64) * (radius if np.isfinite(radius) else 0.0)
    return float(np.sum(value)), float(np.sum(worst - value))


def _by_penalty(  # noqa: PLR0917
    rows: Rows,
    seen: _Seen,
    mean: Array,
    alpha: float,
    targets: Array,
    w: Array,
    prior: Array,
    squares: Array,
    g: Array,
    doubt: Array,
    point: _Point,
) -> tuple[float, float]:
    """Bound by a dual point: from an own solve with the products of rows, or plainly where those are too many."""
    plain = np.sum((np.abs(g[:, targets]) + doubt[:, targets]) ** 2) / alpha
    if seen.rows > LARGEST:
        return float(np.sum(g[:, targets] ** 2) / alpha), float(plain - np.sum(g[:, targets] ** 2) / alpha)
    x, y, root = _gathered(rows, mean)
    intercept_direction = root[:, 0] / np.sqrt(np.sum(root**2)) if np.any(mean) else None
    K = (x @ x.T).astype(np.float64)
    rhs = y[:, targets] - x @ prior[:, targets].astype(np.float64)
    if intercept_direction is not None:
        v = intercept_direction
        rhs = rhs - np.multiply.outer(v, v @ rhs)
        K = K - np.multiply.outer(v, v @ K)
        K = K - np.multiply.outer(K @ v, v)
    system = K + alpha * np.eye(len(K))
    a = np.linalg.solve(system, rhs.astype(np.float64)).astype(EXTENDED)
    xw = x.astype(EXTENDED)
    for _ in range(2):
        left = rhs - xw @ (xw.T @ a) - alpha * a
        if intercept_direction is not None:
            left = left - np.multiply.outer(v, v @ left)
        a = a + np.linalg.solve(system, left.astype(np.float64))
    u = alpha * a
    if intercept_direction is not None:
        u = u - np.multiply.outer(v, v @ u)
    back = xw.T @ u
    dual = 2 * np.sum(u * rhs, axis=0) - np.sum(u**2, axis=0) - np.sum(back**2, axis=0) / alpha
    offset = seen.weight * point.offset[targets] ** 2 if intercept_direction is not None else 0
    primal = squares[targets] - offset
    error = 16 * (rows.p + seen.rows) * UNIT * (np.abs(primal) + np.sum(rhs**2, axis=0) + np.sum(back**2, axis=0) / alpha)
    return float(max(np.sum(primal - dual), 0)), float(np.sum(error))


def _by_convexity(
    rows: Rows, mean: Array, targets: Array, g: Array, doubt: Array, radius: float, squares: Array
) -> tuple[float, float]:
    """No penalty and no affordable curvature: the objective itself bounds the distance, or the gradient does in a radius."""
    x, _, _ = _gathered(rows, mean) if rows.p <= 50 * LARGEST else (None, None, None)
    length = np.sqrt(np.einsum("np,np->p", x, x)) if x is not None else np.ones(rows.p)
    unit = np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0)[:, None]
    steps = radius if np.isfinite(radius) else np.inf
    by_radius = 2 * np.linalg.norm(unit * g[:, targets].astype(np.float64), axis=0) * steps
    error = 2 * np.linalg.norm(unit * doubt[:, targets].astype(np.float64), axis=0) * steps
    whole = squares[targets].astype(np.float64)
    value = np.minimum(np.where(np.isnan(by_radius), np.inf, by_radius), whole)
    return float(np.sum(value)), float(np.sum(np.minimum(np.where(np.isnan(error), np.inf, error), 16 * UNIT * rows.p * whole)))


def _gathered(rows: Rows, mean: Array) -> tuple[Array, Array, Array]:
    """Return all rows at once, centred and weighted: features and targets, and the square roots of the weights."""
    blocks = list(rows.blocks())
    root = np.sqrt(np.concatenate([block.s for block in blocks]))[:, None]
    x = np.vstack([(block.X - mean[: rows.p]).astype(np.float64) for block in blocks]) * root.astype(np.float64)
    y = (np.vstack([block.y for block in blocks]) - mean[rows.p :]) * root
    return x, y, root


def _require_close(
    model: Estimator, certificate: LeastSquaresCertificate, objective: float, distance: float, rounding: float
) -> None:
    name = type(model).__name__
    if not distance <= 2 * certificate.gap + rounding:
        msg = (
            f"The certificate of this {name} is false: it claims that the objective is at most {certificate.gap:.3g} above the "
            f"optimum, and it is {distance:.3g} above (recomputed, to within {rounding:.1g}). The coefficients, the parameters or "
            "the certificate were changed after the fit. Fit again, or load the model from its file."
        )
        raise CertificateError(msg)
    scale = abs(objective) + certificate.null_objective * 1e-6 + rounding
    if not abs(objective - certificate.objective) <= 1e-5 * scale:
        msg = (
            f"The certificate of this {name} states an objective of {certificate.objective:.10g}, and it is {objective:.10g}. The "
            "coefficients, the parameters or the certificate were changed after the fit."
        )
        raise CertificateError(msg)
