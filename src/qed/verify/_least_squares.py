"""Least squares, checked: objective, data and distance from the optimum, all recomputed.

The objective ``P(w, b) = Σ s (y - xw - b)² + alpha ‖w - prior‖²`` is quadratic, so its distance from the minimum is known from
the gradient and the curvature: ``g · A⁺ g`` with ``A = X̃ᵀSX̃ + alpha I``. Gradient and objective are summed in extended precision;
the curvature is decomposed by singular vectors, and every error of its eigenvalues is carried into the rounding. Directions
without curvature are charged for steps up to the radius that the certificate states.

With more columns than rows the dual is used instead: any balanced ``u`` proves ``min P >= 2u·ỹ - ‖u‖² - ‖X̃ᵀu‖² / alpha``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, Estimator
from qed.verify._declared import declares
from qed.verify._rows import EXTENDED, UNIT, Rows, read
from qed.verify._same_data import ColumnSummary, require_same_data, require_same_moments, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import LeastSquaresCertificate


DOUBLE = 2.0**-53
OBJECTIVE = 1e-9  # relative: what a fit tells of its objective, or adds to its gap
MAX_DECOMPOSED_SIDE = 6000  # rows or columns whose square is decomposed; beyond, the plain bound by the penalty is used
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Point:
    """What a second pass tells at the model's coefficients."""

    squares: Array  # (m,) Σ s r², with the model's intercept
    offset: Array  # (m,) weighted mean of r
    gradient: Array  # (p, m) downhill, centred columns, without the penalty


@dataclass(frozen=True)
class _Problem:
    """The problem in the coefficients alone, the best intercept taken out, at the coefficients of the model."""

    rows: Rows
    seen: ColumnSummary
    mean: Array  # (q,), zero without intercept
    length: Array  # (p,) of the columns
    reach: Array  # (m,) how long predictions and targets can be: the yardstick of rounding
    intercept: bool
    alpha: Array  # (m,)
    prior: Array  # (p, m)
    objective: Array  # (m,)
    g: Array  # (p, m), half the downhill gradient
    rounding_error: Array  # (p, m), a bound on its rounding

    @property
    def unit_length(self) -> Array:
        """The lengths of the columns before centring, by which a radius measures coefficients, shape (p,)."""
        return np.asarray(np.sqrt(self.length**2 + self.seen.weight * self.mean[: self.rows.p] ** 2))


def check(model: Estimator, certificate: LeastSquaresCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, y, sample_weight)
    alpha, prior, intercept = _objective(model, rows)
    w = np.atleast_2d(model.coef_).T.astype(EXTENDED)  # type: ignore[attr-defined]
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=EXTENDED), (rows.m,))  # type: ignore[attr-defined]
    _require_shapes(model, rows, w, b, alpha)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    if vars(model).get("moments_") is not None:
        require_same_moments(model, certificate.fingerprint, rows, seen)
    # any centre near the means will do, so it is one that both precisions hold exactly
    mean = seen.mean.astype(np.float64) if intercept else np.zeros(rows.p + rows.m)
    point = _evaluate(rows, w, b, mean, intercept=intercept)
    step = w - prior
    length = np.sqrt(seen.spread if intercept else seen.spread + seen.weight * seen.mean**2)
    reach = length[: rows.p] @ np.abs(w) + length[rows.p :]
    # the best intercept takes out the mean residual; what is left is a problem in w alone
    off, off_slack = _offset(rows, seen, point, w, b, reach) if intercept else (0.0, 0.0)
    problem = _Problem(
        rows=rows,
        seen=seen,
        mean=mean,
        length=length[: rows.p],
        reach=reach,
        intercept=intercept,
        alpha=alpha,
        prior=prior,
        objective=point.squares - off + alpha * np.sum(step**2, axis=0),
        g=point.gradient - alpha * step,
        rounding_error=rows.rounding(seen.rows) * np.multiply.outer(length[: rows.p], reach)
        + 8 * UNIT * alpha * np.abs(step),
    )
    _require_radius(model, certificate, problem, w)
    objective = float(np.sum(problem.objective + off))
    distance, rounding = float(np.sum(off)), float(np.sum(off_slack))
    cheap, slack = _plain(problem, certificate.radius)
    if distance + cheap <= certificate.gap:  # proof enough, and nothing had to be decomposed
        distance, rounding = distance + cheap, rounding + slack
    else:
        for strength in np.unique(alpha):
            value, slack = _distance(problem, np.flatnonzero(alpha == strength), certificate.radius)
            distance, rounding = distance + value, rounding + slack
    _require_close(model, certificate, distance, rounding)
    rounding_error = 1e-12 * float(np.sum(reach**2)) + rounding
    _require_objective(model, certificate, objective, rounding_error)
    # a fit tells those about its best intercept
    _require_residuals(
        model, point.squares, certificate.gap + rounding_error + np.asarray(off + off_slack, dtype=np.float64)
    )
    if not prior.any():
        known = certificate.fingerprint.spread_rounding  # what is left of rows that were forgotten
        forgotten = 0.0 if known is None else float(np.sum(known[rows.p :]))
        null = float(np.sum(length[rows.p :] ** 2))
        _require_null(model, certificate, null, rounding_error + min(forgotten, 1e-3 * null))
    return Verdict(certificate.statement, objective, distance, rounding, certificate.gap)


def _offset(rows: Rows, seen: ColumnSummary, point: _Point, w: Array, b: Array, reach: Array) -> tuple[Array, Array]:
    """Return what an intercept other than the best one costs, and a bound on the rounding of that."""
    p = len(w)
    size = np.abs(seen.mean[p:]) + np.abs(seen.mean[:p]) @ np.abs(w) + np.abs(b)
    rounding_error = 8 * UNIT * (p + 2) * size + rows.rounding(seen.rows) * reach / np.sqrt(seen.weight)
    return seen.weight * point.offset**2, seen.weight * (2 * np.abs(point.offset) + rounding_error) * rounding_error


def _objective(model: Estimator, rows: Rows) -> tuple[Array, Array, bool]:
    """Read the documented objective from the model's parameters: strengths, prior, intercept."""
    params = model.get_params(deep=False)
    alpha = model.alpha_ if declares(model, "alpha_") else params.get("alpha", 0.0)  # type: ignore[attr-defined]
    prior = np.zeros((rows.p, rows.m), EXTENDED)
    if params.get("prior") is not None:
        prior[:] = np.atleast_2d(np.asarray(params["prior"], dtype=EXTENDED)).T
    return np.broadcast_to(np.asarray(alpha, dtype=EXTENDED), (rows.m,)), prior, bool(params["fit_intercept"])


def _require_shapes(model: Estimator, rows: Rows, w: Array, b: Array, alpha: Array) -> None:
    finite = all(np.all(np.isfinite(one)) for one in (w, b, alpha))
    if w.shape != (rows.p, rows.m) or not finite or not np.all(alpha >= 0):
        msg = (
            f"{type(model).__name__} has coefficients of shape {w.T.shape}, and these data need finite ones of shape "
            f"({rows.m}, {rows.p}). The model was changed, or the data are others."
        )
        raise CertificateError(msg)


def _require_radius(model: Estimator, certificate: LeastSquaresCertificate, problem: _Problem, w: Array) -> None:
    """Refuse a radius so small that the claim says nothing: a fit states ten times what is asked for here.

    It is the length of the coefficients and targets in units of all columns together, times the length of the shortest column. Of
    columns that vary by no more than rounding nobody knows how short they are: with one of them any radius above zero will do.
    """
    if np.isinf(certificate.radius):
        return
    varies = problem.length > 1e-10 * problem.unit_length
    is_noise = (problem.unit_length > 0) & ~varies & problem.intercept
    whole = np.sqrt(np.sum(problem.length**2))
    target = np.sqrt(problem.seen.spread[problem.rows.p :])
    step = min(np.sum(w**2, axis=0), np.sum((w - problem.prior) ** 2, axis=0), key=np.max)
    size = np.sqrt(step) + (target / whole if whole > 0 else 0)
    shortest = 0 if np.any(is_noise) else np.min(problem.length[varies], initial=whole)
    least = max(np.max(size, initial=0) * shortest, np.finfo(np.float64).tiny if np.any(size > 0) else 0)
    if not certificate.radius >= least * (1 - 1e-6):
        msg = (
            f"The certificate of this {type(model).__name__} speaks of coefficients within {certificate.radius:.3g} alone, and"
            f" every fit to these data of at least {float(least):.3g}: the certificate was changed after the fit."
        )
        raise CertificateError(msg)


def _evaluate(rows: Rows, w: Array, b: Array, mean: Array, *, intercept: bool) -> _Point:
    """Sum objective and gradient at the model's coefficients."""
    p = rows.p
    squares, offset, weight = np.zeros(rows.m, EXTENDED), np.zeros(rows.m, EXTENDED), EXTENDED(0)
    gradient, plain = np.zeros((p, rows.m), EXTENDED), np.zeros(p, EXTENDED)
    centred_b = b - mean[p:] + mean[:p] @ w
    slopes, level = w.astype(rows.kind), centred_b.astype(rows.kind)
    for block in rows.blocks():
        x = block.X - mean[:p]
        r = (block.y - mean[p:]) - x @ slopes - level
        sr = block.s[:, None] * r
        squares, offset, weight = (
            squares + np.sum(sr * r, axis=0),
            offset + np.sum(sr, axis=0),
            weight + np.sum(block.s),
        )
        gradient, plain = gradient + x.T @ sr, plain + block.s @ x
    if intercept:
        gradient = gradient - np.multiply.outer(plain, offset / weight)
    return _Point(squares, offset / weight, gradient)


def _plain(problem: _Problem, radius: float) -> tuple[float, float]:
    """Return the bound that needs no curvature: from the penalty alone, or from convexity within the radius."""
    value = slack = 0.0
    for target in range(problem.rows.m):
        alpha, one = float(problem.alpha[target]), np.array([target])
        if alpha > 0:
            size = float(np.sum(problem.g[:, one] ** 2))
            both = float(np.sum((np.abs(problem.g[:, one]) + problem.rounding_error[:, one]) ** 2))
            value, slack = value + size / alpha, slack + (both - size) / alpha
        else:
            more, rounding_error = _by_convexity(problem, one, radius)
            value, slack = value + more, slack + rounding_error
    return value, slack


def _distance(problem: _Problem, targets: Array, radius: float) -> tuple[float, float]:
    """Return the distance from the optimum of targets that share a strength, and a bound on its error."""
    alpha = float(problem.alpha[targets[0]])
    if problem.rows.p <= min(max(problem.seen.rows, 500), MAX_DECOMPOSED_SIDE):
        return _by_curvature(problem, alpha, targets, radius)
    if alpha > 0:
        return _by_penalty(problem, alpha, targets)
    return _by_convexity(problem, targets, radius)


def _by_curvature(problem: _Problem, alpha: float, targets: Array, radius: float) -> tuple[float, float]:
    """Divide the gradient by the curvature along the singular vectors of the columns, scaled to unit length."""
    g, rounding_error = problem.g[:, targets].astype(np.float64), problem.rounding_error[:, targets].astype(np.float64)
    p = len(g)
    length = problem.unit_length if np.isfinite(radius) else problem.length
    spread = (length**2).astype(np.float64) + alpha
    d = np.where(spread > 0, 1 / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)
    R: Array = np.diag(np.sqrt(alpha) * d)
    for block in problem.rows.blocks():
        x = (block.X - problem.mean[:p]).astype(np.float64) * d * np.sqrt(block.s.astype(np.float64))[:, None]
        R = np.asarray(np.linalg.qr(np.vstack([R, x]), mode="r"))
    _, sigma, vectors = np.linalg.svd(R)
    vectors = vectors[: len(sigma)]
    error = 8 * DOUBLE * max(problem.seen.rows, p) * np.max(sigma, initial=0.0)
    keep = sigma > 4 * error
    scaled = d[:, None] * g
    along = vectors @ scaled
    e = np.linalg.norm(d[:, None] * rounding_error, axis=0) + 8 * p * DOUBLE * np.linalg.norm(scaled, axis=0)
    value = np.sum((along[keep] / sigma[keep, None]) ** 2, axis=0)
    slack = np.sum(((np.abs(along[keep]) + e) / (sigma[keep, None] - error)) ** 2, axis=0) - value
    if np.isfinite(radius):  # a step beyond the radius is outside the claim: go along it as far as the claim goes
        steps = np.linalg.norm(along[keep] / sigma[keep, None] ** 2, axis=0)
        share = np.minimum(1.0, radius / np.maximum(steps, np.finfo(float).tiny))
        value = value * share * (2 - share)
    if np.count_nonzero(keep) < np.count_nonzero(d):  # some directions are free: charged up to the radius
        if not np.isfinite(radius):  # nobody knows how far they lead, and all of the objective could be gained
            return _by_convexity(problem, targets, radius)
        free = np.linalg.norm(scaled - vectors[keep].T @ along[keep], axis=0)
        value, slack = value + 2 * free * radius, slack + 2 * e * radius + (error * radius) ** 2
    return float(np.sum(value)), float(np.sum(slack))


def _by_penalty(problem: _Problem, alpha: float, targets: Array) -> tuple[float, float]:
    """Bound by a dual point: from an own solve with the products of rows, or plainly where those are too many."""
    rows, seen = problem.rows, problem.seen
    if seen.rows > MAX_DECOMPOSED_SIDE:
        size = float(np.sum(problem.g[:, targets] ** 2))
        both = float(np.sum((np.abs(problem.g[:, targets]) + problem.rounding_error[:, targets]) ** 2))
        return size / alpha, (both - size) / alpha
    x, y, root = _gathered(problem)
    v = (root / np.sqrt(np.sum(root**2)))[:, 0] if problem.intercept else np.zeros(len(root), EXTENDED)

    def balanced(a: Array) -> Array:
        return np.asarray(a - np.multiply.outer(v, v @ a))

    wide = x.astype(EXTENDED)
    rhs = balanced(y[:, targets] - wide @ problem.prior[:, targets])
    K = balanced(balanced(x @ x.T).T).astype(np.float64)
    system = K + alpha * np.eye(len(K))
    a = np.zeros_like(rhs)
    left = rhs
    for _ in range(3):  # solved in double, corrected in extended precision
        a = balanced(a + np.linalg.solve(system, left.astype(np.float64)))
        left = balanced(rhs - wide @ (wide.T @ a) - alpha * a)
    u = alpha * a
    back = wide.T @ u
    dual = 2 * np.sum(u * rhs, axis=0) - np.sum(u**2, axis=0) - np.sum(back**2, axis=0) / alpha
    primal = problem.objective[targets]
    size = np.abs(primal) + np.sum(rhs**2, axis=0) + np.sum(back**2, axis=0) / alpha
    return float(max(np.sum(primal - dual), 0)), float(np.sum(16 * (rows.p + seen.rows) * UNIT * size))


def _by_convexity(problem: _Problem, targets: Array, radius: float) -> tuple[float, float]:
    """No penalty and no affordable curvature: the objective itself bounds the distance, or the gradient does in a radius."""
    length = problem.unit_length.astype(np.float64)
    unit = np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0)[:, None]
    whole = problem.objective[targets].astype(np.float64)
    slack = 16 * UNIT * problem.rows.p * problem.reach[targets].astype(np.float64) ** 2
    if not np.isfinite(radius):
        return float(np.sum(whole)), float(np.sum(slack))
    inside = 2 * np.linalg.norm(unit * problem.g[:, targets].astype(np.float64), axis=0) * radius
    error = 2 * np.linalg.norm(unit * problem.rounding_error[:, targets].astype(np.float64), axis=0) * radius
    return float(np.sum(np.minimum(inside, whole))), float(np.sum(np.where(inside < whole, error, slack)))


def _gathered(problem: _Problem) -> tuple[Array, Array, Array]:
    """Return all rows at once, centred and weighted: features and targets, and the square roots of the weights."""
    p = problem.rows.p
    blocks = list(problem.rows.blocks())
    root = np.sqrt(np.concatenate([block.s for block in blocks]))[:, None]
    x = np.vstack([(block.X - problem.mean[:p]).astype(np.float64) for block in blocks]) * root.astype(np.float64)
    y = (np.vstack([block.y for block in blocks]) - problem.mean[p:]) * root
    return x, y, root


def _require_close(model: Estimator, certificate: LeastSquaresCertificate, distance: float, rounding: float) -> None:
    name = type(model).__name__
    if not (np.isfinite(rounding) and distance <= certificate.gap + rounding):
        msg = (
            f"The certificate of this {name} is false: it claims that the objective is at most {certificate.gap:.3g} above the "
            f"optimum, and it is {distance:.3g} above (recomputed, to within {rounding:.1g}). The coefficients, the parameters or "
            "the certificate were changed after the fit. Fit again, or load the model from its file."
        )
        raise CertificateError(msg)


def _require_residuals(model: Any, squares: Array, near: Array) -> None:
    """Compare the residuals that standard errors are computed from, as closely as the objective."""
    stored = np.atleast_1d(np.asarray(model.squared_residuals_, dtype=EXTENDED))
    if stored.shape != squares.shape or not (np.abs(stored - squares) <= OBJECTIVE * squares + near).all():
        raise CertificateError(
            f"This {type(model).__name__} stores squared residuals of {float(stored.flat[0]):.10g}, and they are"
            f" {float(squares.flat[0]):.10g}. It was changed after the fit."
        )


def _require_objective(
    model: Estimator, certificate: LeastSquaresCertificate, objective: float, rounding_error: float
) -> None:
    if not abs(objective - certificate.objective) <= OBJECTIVE * abs(objective) + certificate.gap + rounding_error:
        msg = (
            f"The certificate of this {type(model).__name__} states an objective of {certificate.objective:.10g}, and it is "
            f"{objective:.10g}. The coefficients, the parameters or the certificate were changed after the fit."
        )
        raise CertificateError(msg)


def _require_null(model: Estimator, certificate: LeastSquaresCertificate, null: float, rounding_error: float) -> None:
    if not abs(null - certificate.null_objective) <= OBJECTIVE * null + rounding_error:
        msg = (
            f"The certificate of this {type(model).__name__} states that the null model has an objective of "
            f"{certificate.null_objective:.10g}, and it has {null:.10g}: the certificate was changed after the fit."
        )
        raise CertificateError(msg)
