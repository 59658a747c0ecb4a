"""Regression by evidence, checked: the posterior and the evidence at the stored precisions, and one more step from there.

Products of columns are summed again, and the posterior precision is decomposed in extended precision. The step that follows from
the stored precisions must gain and move as much as the certificate states: from changed ones it does otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._ascents import require, require_none
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]


class Products(NamedTuple):
    """Products of the columns that are kept, about their means where there is an intercept."""

    G: Array
    c: Array
    yy: Any
    weight: Any
    unit: float  # relative rounding of the sums of a fit


class State(NamedTuple):
    """Precisions, and what follows from them."""

    alpha: Any
    precision: Array
    mean: Array
    covariance: Array
    squares: Any
    value: Any
    condition: float


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, y, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    require_none(model, certificate)
    shared = np.ndim(model.lambda_) == 0
    precision = np.broadcast_to(np.asarray(model.lambda_, dtype=EXTENDED), (rows.p,))
    kept = np.arange(rows.p) if shared else np.flatnonzero(model.lambda_ < model.threshold_lambda)
    if not shared and not np.all(np.delete(model.lambda_, kept) == max(float(model.threshold_lambda), 1e-300)):
        refuse(model, "columns that were left out have another precision than the threshold")
    centre = seen.mean if model.fit_intercept else np.zeros(rows.p + 1, EXTENDED)
    products = _products(rows, centre, kept, seen)
    here = _state(model, products, EXTENDED(model.alpha_), precision[kept], shared=shared)
    _require_posterior(model, here, kept, centre, seen, certificate.rounding)
    rounding = certificate.rounding
    most = 4096 * products.unit * (_size(here, products, certificate) + _noise(here, products))
    if not rounding <= most:
        refuse(model, f"a rounding of {rounding:.3g} is stated, and sums round by {most:.3g} at most")
    _require_ascent(model, certificate)
    objective = float(here.value / products.weight)
    require(model, "its log evidence is another", objective, certificate.objective, 2 * rounding)
    _require_gain(model, certificate, products, here)
    moved = _moved(model, products, here, shared=shared)
    moved = 0.0 if certificate.displacement == 0 and moved <= 580 * rounding else moved
    allowed = 1e-6 * certificate.displacement + 64 * rounding
    require(model, "the next step moves differently", moved, certificate.displacement, allowed)
    off = abs(objective - certificate.objective)
    return Verdict(certificate.statement, objective, off, rounding, certificate.rounding, measure="log evidence")


def _products(rows: Rows, centre: Array, kept: Array, seen: ColumnSummary) -> Products:
    p, k = rows.p, len(kept)
    G, c, yy = np.zeros((k, k), EXTENDED), np.zeros(k, EXTENDED), EXTENDED(0)
    for block in rows.blocks():
        x, t = (block.X - centre[:p])[:, kept], block.y[:, 0] - centre[p]
        x, t = x.astype(rows.kind), t.astype(rows.kind)
        sx = block.s[:, None] * x
        G, c, yy = G + sx.T @ x, c + sx.T @ t, yy + block.s @ t**2
    # a fit sums in blocks too; this many roundings are more than its longest chain has
    return Products(G, c, yy, seen.weight, 8 * (16384 + 64 * (k + 8)) * DOUBLE)


def _state(model: Any, products: Products, alpha: Any, precision: Array, *, shared: bool) -> State:
    """Return the posterior and the objective at given precisions."""
    A = np.diag(precision) + alpha * products.G
    unit = np.sqrt(np.diagonal(A))
    lower = _cholesky(model, A / np.outer(unit, unit))
    inverse = _inverse(lower)
    white = inverse.T @ inverse
    covariance = white / np.outer(unit, unit)
    mean = alpha * (covariance @ products.c)
    squares = max(products.yy - 2 * mean @ products.c + mean @ products.G @ mean, EXTENDED(0))
    log_det = 2 * np.sum(np.log(np.diagonal(lower))) + 2 * np.sum(np.log(unit))
    value = np.sum(np.log(precision)) + products.weight * (np.log(alpha) - np.log(2 * np.pi * EXTENDED(1)))
    value = (value - alpha * squares - precision @ mean**2 - log_det) / 2
    own = precision[:1] if shared else precision
    value = value + model.alpha_1 * np.log(alpha) - model.alpha_2 * alpha
    value = value + np.sum(model.lambda_1 * np.log(own) - model.lambda_2 * own)
    condition = max(float(np.trace(white)) * len(unit), 1.0) if len(unit) else 1.0
    return State(alpha, precision, mean, covariance, squares, value, condition)


def _cholesky(model: Any, matrix: Array) -> Array:
    """Return the lower factor, column by column, in extended precision."""
    p = len(matrix)
    lower = np.zeros((p, p), EXTENDED)
    for j in range(p):
        left = matrix[j:, j] - lower[j:, :j] @ lower[j, :j]
        if not left[0] > 0:
            refuse(model, "the posterior precision of its coefficients is not positive definite")
        lower[j:, j] = left / np.sqrt(left[0])
    return lower


def _inverse(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, row by row."""
    inverse = np.eye(len(lower), dtype=EXTENDED)
    for i in range(len(lower)):
        inverse[i] = (inverse[i] - lower[i, :i] @ inverse[:i]) / lower[i, i]
    return inverse


def _require_posterior(
    model: Any, here: State, kept: Array, centre: Array, seen: ColumnSummary, rounding: float
) -> None:
    """Hold coefficients, covariance and intercept against the posterior."""
    p = len(centre) - 1
    own = np.zeros(p, EXTENDED)
    own[kept] = here.mean
    unit = 1 / np.sqrt(np.diagonal(here.covariance))
    slack = min(_unit(len(kept)) * here.condition + 4 * rounding, 1e-4)
    spread = np.zeros(p, EXTENDED)
    spread[kept] = slack * (np.sqrt(np.sum((unit * here.mean) ** 2)) + 1) / unit * np.sqrt(EXTENDED(here.condition))
    if model.coef_.shape != (p,) or not np.all(np.abs(model.coef_ - own) <= spread + 4 * DOUBLE * np.abs(own)):
        refuse(model, "its coefficients are not the posterior mean at its precisions")
    deviations = np.sqrt(np.diagonal(here.covariance))
    if model.sigma_.shape != here.covariance.shape or not np.all(
        np.abs(model.sigma_ - here.covariance) <= (slack + 1e-12) * np.outer(deviations, deviations)
    ):
        refuse(model, "sigma_ is not the posterior covariance at its precisions")
    deviation = np.sqrt(seen.spread / seen.weight)
    near = 1e-9 * (deviation + np.abs(seen.mean)) + np.finfo(float).tiny
    if not np.all(np.abs(model.X_offset_ - centre[:p]) <= near[:p]) or not np.all(model.X_scale_ == 1):
        refuse(model, "columns are centred elsewhere than at their means")
    level = centre[p] - centre[:p] @ model.coef_.astype(EXTENDED)
    size = (
        near[p] + near[:p] @ np.abs(model.coef_) + 1e-12 * (np.abs(centre[:p]) @ np.abs(model.coef_) + abs(centre[p]))
    )
    if not abs(model.intercept_ - level) <= size:
        refuse(model, "its intercept does not follow from its coefficients")


def _unit(k: int) -> float:
    return (16384 + 256 * (k + 8)) * DOUBLE


def _size(at: State, products: Products, certificate: AscentCertificate) -> float:
    """Return how large the terms of the objective are, per unit of weight."""
    largest = float(np.max(np.abs(certificate.trace)))
    spread = len(at.precision) * at.condition / float(products.weight)
    return float(min(1 + largest + float(at.alpha * products.yy / products.weight) + spread, 1e300))


def _noise(at: State, products: Products) -> float:
    """Return what rounding of a fit moves the next precisions by, as logarithms, in units of that rounding."""
    variances = np.diagonal(at.covariance).astype(np.float64)
    own = at.mean.astype(np.float64) ** 2 + variances
    known = np.clip(1 - at.precision.astype(np.float64) * variances, 1e-6, 1.0)
    size = min(float(np.max(np.sum(own) / np.maximum(own, 1e-300), initial=1.0)), 1e6) / float(
        np.min(known, initial=1.0)
    )
    free = max(float(products.weight) - known.sum(), 1e-6 * float(products.weight)) / float(products.weight)
    ratio = min(products.yy / (at.squares + EXTENDED(1e-300)), EXTENDED(1e15))
    return float(size * at.condition / free * (1 + ratio))


def _require_ascent(model: Any, certificate: AscentCertificate) -> None:
    trace, slack = certificate.trace, 2 * certificate.rounding
    if not np.all(np.diff(trace) >= -slack) or not abs(float(trace[-1]) - certificate.objective) <= slack:
        refuse(model, "its log evidence fell between steps, or ended elsewhere than it states")
    if certificate.what != "log evidence" or len(trace) - 1 > model.max_iter or len(trace) - 1 > model.n_iter_:
        refuse(model, "it speaks of another objective, or of more steps than were taken")
    gained = float(trace[-1] - trace[-2]) if len(trace) > 1 else 0.0
    if certificate.outcome == "solved" and not gained <= certificate.tol + slack:
        refuse(model, "it says that the ascent came to rest, and its last step gained more than the tolerance")


def _next(model: Any, products: Products, at: State, method: str, *, shared: bool) -> tuple[Any, Array]:
    """Return the precisions of one more step."""
    variances = np.diagonal(at.covariance)
    known = np.clip(1 - at.precision * variances, 0, 1)
    if method == "em":
        tops, squares = np.ones_like(known), at.mean**2 + variances
        noise_top, noise = products.weight, at.squares + known.sum() / at.alpha
    else:
        tops, squares = known, at.mean**2
        noise_top, noise = max(products.weight - known.sum(), EXTENDED(0)), at.squares
    if shared:
        tops, squares = np.full_like(known, tops.sum()), np.full_like(known, squares.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = (tops + 2 * EXTENDED(model.lambda_1)) / (squares + 2 * EXTENDED(model.lambda_2))
        alpha = (noise_top + 2 * EXTENDED(model.alpha_1)) / (noise + 2 * EXTENDED(model.alpha_2))
    if not np.isfinite(alpha) or not np.isfinite(precision).all():
        refuse(model, "no step follows from its precisions")
    return np.clip(alpha, 1e-300, 1e300), np.clip(precision, 1e-300, 1e300)


def _require_gain(model: Any, certificate: AscentCertificate, products: Products, at: State) -> None:
    """Take one more step: that of the method, or of EM where it lowers the evidence, or where rounding hides whether it does."""
    shared, size = np.ndim(model.lambda_) == 0, _size(at, products, certificate)
    for method in dict.fromkeys((model.method, "em")):
        after = _state(model, products, *_next(model, products, at, method, shared=shared), shared=shared)
        gained = float((after.value - at.value) / products.weight)
        # it may end where sums round more
        slack = certificate.rounding * max(_size(after, products, certificate) / size, 1.0)
        near = 72 if certificate.gain == 0 else 8
        if (method == "em" or gained >= -8 * slack) and abs(gained - certificate.gain) <= near * slack:
            return
        if gained > 8 * slack:
            break
    refuse(model, f"the next step gains {gained:.12g}, not {certificate.gain:.12g}; {slack:.2g} is within rounding")


def _moved(model: Any, products: Products, at: State, *, shared: bool) -> float:
    alpha, precision = _next(model, products, at, model.method, shared=shared)
    change = np.abs(np.log(precision / at.precision))
    return float(np.hypot(np.log(alpha / at.alpha), np.max(change, initial=EXTENDED(0))))


# -- any Gaussian prior, and precisions that are given -----------------------------------------------------------


def check_posterior(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute the posterior and the evidence of a Gaussian prior; raise CertificateError when they are others."""
    rows = read(model, X, y, sample_weight)
    seen = summarize_columns(rows)
    if certificate.rows != seen.rows or certificate.what != "Mean and covariance of the posterior":
        refuse(model, f"it speaks of {certificate.rows} rows, and these are {seen.rows}")
    q = rows.p + bool(model.fit_intercept)
    G, c, yy = _plain_products(rows, q)
    mean = np.zeros(q, EXTENDED) if model.prior_mean is None else np.asarray(model.prior_mean, dtype=EXTENDED)
    if np.ndim(model.prior_covariance) == 0:
        precision, log_prior = np.eye(q, dtype=EXTENDED) / EXTENDED(model.prior_covariance), None
        log_prior = -q * np.log(EXTENDED(model.prior_covariance))
    else:
        factor = _cholesky(model, np.asarray(model.prior_covariance, dtype=EXTENDED))
        root = _inverse(factor)
        precision, log_prior = root.T @ root, -2 * np.sum(np.log(np.diagonal(factor)))
    beta = EXTENDED(1) if model.noise_variance is None else 1 / EXTENDED(model.noise_variance)
    A = precision + beta * G
    unit = np.sqrt(np.diagonal(A))
    lower = _cholesky(model, A / np.outer(unit, unit))
    inverse = _inverse(lower)
    white = inverse.T @ inverse
    S = white / np.outer(unit, unit)
    w = mean + S @ (beta * (c - G @ mean))
    log_dets = log_prior - 2 * np.sum(np.log(np.diagonal(lower))) - 2 * np.sum(np.log(unit))
    squares, step = max(yy - 2 * w @ c + w @ G @ w, EXTENDED(0)), w - mean
    fit, shift = beta * squares, step @ precision @ step
    condition = max(float(np.trace(white)) * q, 1.0)
    near = min(4 * certificate.rounding, _unit(q) * condition, 1e-3)
    if not certificate.rounding <= 64 * _unit(q) * condition or certificate.backward_error != 0:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {near:.3g} at most")
    size = (np.sqrt(np.sum((unit * w) ** 2)) + np.sqrt(beta * yy)) / unit
    stored = np.append(model.coef_, model.intercept_) if model.fit_intercept else model.coef_
    if stored.shape != (q,) or not np.all(np.abs(stored - w) <= near * size + 4 * DOUBLE * np.abs(w)):
        refuse(model, "its coefficients are not the posterior mean")
    if not model.fit_intercept and model.intercept_ != 0:
        refuse(model, "it has an intercept, and none was asked for")
    found = _evidence_of(model, seen.weight, fit, shift, log_dets)
    scale = found[1] / found[0] if model.noise_variance is None else EXTENDED(1)
    deviations = np.sqrt(np.diagonal(S) * scale)
    # a sum of squares that nearly cancels rounds by a part of what was summed
    loose = near * (1 + beta * yy / max(fit + shift + 2 * EXTENDED(model.noise_rate), EXTENDED(1e-300)))
    if model.covariance_.shape != S.shape or not np.all(
        np.abs(model.covariance_ - S * scale) <= min(near + loose, 1e-3) * np.outer(deviations, deviations)
    ):
        refuse(model, "its covariance is not that of the posterior")
    # squares cancel by themselves, and are at rest where the posterior mean is
    terms = 1 + float(seen.weight) * (1 + abs(np.log(beta))) + q + abs(float(found[2])) + float(shift)
    allowed = near * terms + 8 * near / condition * float(beta * yy)
    words = ("shape of the noise", "rate of the noise", "log evidence", "log Occam factor")
    numbers = (model.noise_shape_, model.noise_rate_, model.log_evidence_, model.log_occam_factor_)
    for word, number, true in zip(words, numbers, found, strict=True):
        require(model, f"its {word} is another", float(number), float(true), float(allowed) + 1e-12 * abs(float(true)))
    level = float(allowed / seen.weight) + 1e-12
    require(
        model, "its log evidence a row is another", certificate.log_likelihood, float(found[2] / seen.weight), level
    )
    return Verdict(
        certificate.statement, float(found[2]), 0.0, float(allowed), certificate.rounding, measure="log evidence"
    )


def _plain_products(rows: Rows, q: int) -> tuple[Array, Array, Any]:
    G, c, yy = np.zeros((q, q), EXTENDED), np.zeros(q, EXTENDED), EXTENDED(0)
    for block in rows.blocks():
        x, t = block.X, block.y[:, 0]
        if q > rows.p:
            x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
        sx = block.s[:, None] * x
        G, c, yy = G + sx.T @ x, c + sx.T @ t, yy + block.s @ t**2
    return G, c, yy


def _evidence_of(model: Any, weight: Any, fit: Any, shift: Any, log_dets: Any) -> tuple[Any, Any, Any, Any]:
    """Return shape and rate of the noise, the evidence, and its Occam factor."""
    log_two_pi = np.log(2 * np.pi * EXTENDED(1))
    a, b = EXTENDED(model.noise_shape), EXTENDED(model.noise_rate)
    if model.noise_variance is not None:
        occam = (log_dets - shift) / 2
        return a, b, occam - (weight * (log_two_pi + np.log(EXTENDED(model.noise_variance))) + fit) / 2, occam
    from scipy.special import gammaln  # noqa: PLC0415  (SciPy costs a fifth of a second)

    shape, rate = a + weight / 2, b + (fit + shift) / 2
    evidence = (log_dets - weight * log_two_pi) / 2 + a * np.log(b) - shape * np.log(rate)
    evidence = evidence + gammaln(float(shape)) - gammaln(float(a))
    best = weight * (np.log(shape / rate) - log_two_pi) / 2 - fit * shape / rate / 2
    return shape, rate, evidence, evidence - best
