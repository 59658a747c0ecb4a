"""Covariances, checked: moments are summed again, and everything that follows from them is computed by its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._declared import declares
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate, ExactCertificate, StationaryCertificate

Array = np.ndarray[Any, Any]


def _moments(rows: Rows, *, centered: bool) -> tuple[int, Any, Array, Array]:
    """Return count, weight, location and covariance of the rows."""
    seen = summarize_columns(rows)
    location = np.zeros(rows.p, EXTENDED) if centered else seen.mean[: rows.p]
    total = np.zeros((rows.p, rows.p), EXTENDED)
    for block in rows.blocks():
        apart = (block.X - location).astype(rows.kind)
        total = total + (block.s[:, None] * apart).T @ apart
    return seen.rows, seen.weight, location, total / seen.weight


def _near(model: Any, what: str, stored: Any, true: Array, slack: Array) -> None:
    if stored is None or stored.shape != true.shape or not np.all(np.abs(stored - true) <= slack):
        refuse(model, f"{what} is another")


def _require_location(model: Any, location: Array, covariance: Array) -> None:
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    _near(model, "its location", model.location_, location, 1e-9 * size + 1e-12 * np.abs(location))


def _require_inverse(model: Any, precision: Any, covariance: Array, *, is_stored: bool) -> None:
    """Hold a stored inverse against the covariance: C P C = C and P C P = P, and both are symmetric."""
    if not is_stored:
        if precision is not None:
            refuse(model, "it stores an inverse, and none was asked for")
        return
    C, p = covariance.astype(np.float64), len(covariance)
    if precision is None or precision.shape != C.shape or not np.allclose(precision, precision.T, rtol=1e-8, atol=0):
        refuse(model, "its precision is no symmetric matrix of its size")
    condition = float(np.linalg.norm(C, 2)) * float(np.linalg.norm(precision, 2))
    near = min(64 * p * DOUBLE * max(condition, 1.0), 1e-4) + 1e-9
    size = np.sqrt(np.outer(np.maximum(np.diagonal(C), 0), np.maximum(np.diagonal(C), 0)))
    back = C @ precision @ C
    if not np.all(np.abs(back - C) <= near * size + near * np.abs(C).max() * 1e-6):
        refuse(model, "its precision is not the inverse of its covariance")
    heights = np.sqrt(np.maximum(np.diagonal(precision), 0))
    again = precision @ C @ precision
    if not np.all(np.abs(again - precision) <= (near + 1e-6) * np.outer(heights, heights) + 1e-300):
        refuse(model, "its precision is not the inverse of its covariance")


def check_empirical(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check location, shrinkage, covariance and inverse."""
    rows = read(model, X, None, sample_weight)
    count, weight, location, covariance = _moments(rows, centered=model.assume_centered)
    if certificate.rows != count or certificate.what != "Location and covariance":
        refuse(model, f"it learnt from {certificate.rows} rows of positive weight, and these are {count}")
    name, p = type(model).__name__, rows.p
    amount = EXTENDED(0)
    if name == "ShrunkCovariance":
        amount = EXTENDED(model.shrinkage)
    if name in ("LedoitWolf", "OAS"):
        amount = _ledoit_wolf(rows, location, covariance, weight) if name == "LedoitWolf" else _oas(covariance, weight)
        if not abs(model.shrinkage_ - amount) <= 1e-8:
            refuse(model, f"it shrinks by {model.shrinkage_:.10g}, and these rows ask for {float(amount):.10g}")
        amount = EXTENDED(model.shrinkage_)
    true = (1 - amount) * covariance + amount * np.trace(covariance) / p * np.eye(p)
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    slack = 1e-9 * np.outer(size, size) + 1e-9 * amount * np.eye(p) * np.trace(covariance)
    _require_location(model, location, covariance + np.diag(location**2 * 1e-6))
    _near(
        model,
        "its covariance",
        model.covariance_,
        true,
        slack + 1e-12 * np.abs(true) + 1e-24 * np.outer(np.abs(location), np.abs(location)),
    )
    _require_inverse(model, model.precision_, model.covariance_, is_stored=model.store_precision)
    return Verdict(certificate.statement, float(weight), 0.0, 1e-9, certificate.rounding, measure="weight")


def _ledoit_wolf(rows: Rows, location: Array, covariance: Array, weight: Any) -> Any:
    p = rows.p
    level, squares = np.trace(covariance) / p, np.sum(covariance**2)
    spread = squares - p * level**2
    if p == 1 or not spread > 1e-15 * squares:
        return EXTENDED(0)
    fourth = EXTENDED(0)
    for block in rows.blocks():
        fourth = fourth + block.s @ np.sum((block.X - location) ** 2, axis=1) ** 2
    noise = (fourth / weight - squares) / weight
    return min(max(noise, EXTENDED(0)), spread) / spread


def _oas(covariance: Array, weight: Any) -> Any:
    p = len(covariance)
    if p == 1:
        return EXTENDED(0)
    level, squares = np.trace(covariance) / p, np.mean(covariance**2)
    below = (weight + 1) * (squares - level**2 / p)
    return EXTENDED(1) if not below > 0 else min((squares + level**2) / below, EXTENDED(1))


# -- sparse inverses -----------------------------------------------------------------------------------------------


def _require_best_strength(model: Any) -> None:
    """Hold the strength to the table of held-out scores: the first of the best ones, and one that was asked for."""
    table = model.cv_results_
    alphas, scores = np.asarray(table["alphas"]), [table[name] for name in table if name.startswith("split")]
    best = alphas[int(np.argmax(np.stack(scores, axis=1).mean(axis=1)))]
    asked = [] if isinstance(model.alphas, int) else np.asarray(model.alphas, dtype=np.float64).tolist()
    if model.alpha_ != best or (asked and not set(alphas.tolist()) <= set(asked)):
        refuse(model, f"its scores call {best:.6g} the best strength, and {model.alpha_:.6g} is stored")


def check_graphical_lasso(
    model: Any, certificate: DualityGapCertificate, X: Any, _: Any, sample_weight: Any
) -> Verdict:
    """Check the objective at the stored precision, and bound its distance from the optimum by a dual point."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, _about(summarize_columns(rows), model), rows.p)
    is_given = getattr(model, "covariance", None) == "precomputed"
    _, _, location, S = _moments(rows, centered=model.assume_centered or is_given)
    if is_given:
        S = np.vstack([block.X for block in rows.blocks()])
        S, location = (S + S.T) / 2, np.zeros(rows.p, EXTENDED)
    if declares(model, "alpha_"):
        _require_best_strength(model)
    alpha = EXTENDED(model.alpha_ if declares(model, "alpha_") else model.alpha)
    _require_location(model, location, S)
    T = model.precision_
    if T is None or T.shape != S.shape or not np.array_equal(T, T.T) or not np.isfinite(T).all():
        refuse(model, "its precision is no symmetric matrix of its size")
    S = S.astype(np.float64)
    lower = _cholesky(T)
    if lower is None:
        refuse(model, "its precision is not positive definite")
    inverse = np.linalg.inv(lower)
    W = inverse.T @ inverse
    size = np.sqrt(np.diagonal(W))
    near = min(256 * rows.p * DOUBLE * np.linalg.cond(lower / np.sqrt(np.diagonal(T))[:, None]) ** 2, 1e-3) + 1e-10
    _near(model, "its covariance", model.covariance_, W, near * np.outer(size, size))
    off = ~np.eye(rows.p, dtype=bool)
    largest = float(np.max(np.abs(S[off]), initial=0.0))
    share = 1.0 if largest <= alpha else float(alpha / largest)
    simple = np.where(off, (1 - share) * S, S)
    base = _dual(simple)
    objective = float(np.sum(S * T) - 2 * np.log(np.diagonal(lower)).sum() + alpha * np.sum(np.abs(T[off]))) - base
    U = np.where(off, S + np.clip(W - S, -float(alpha), float(alpha)), S)
    dual = max(_dual((1 - step) * U + step * simple) for step in (0.0, 0.1, 0.5, 1.0)) - base
    terms = rows.p + abs(base) + float(np.sum(np.abs(S * T)) + alpha * np.sum(np.abs(T)))
    # a log-determinant moves by the rounding of the factored matrix times its inverse
    for one, other in ((T, W), (simple, np.linalg.inv(simple))):
        unit = np.sqrt(np.diagonal(one))
        terms += float(unit @ np.abs(other) @ unit)
    rounding = 256 * (rows.p + 8) * DOUBLE * terms
    if not certificate.rounding <= rounding or not certificate.gap >= certificate.rounding:
        refuse(model, "its certificate states a rounding that no fit has")
    null = float(np.log(np.diagonal(S)).sum()) + rows.p - base
    if not abs(certificate.null_objective - max(null, 0.0)) <= 1e-8 * abs(null) + rounding:
        refuse(model, f"the objective of the diagonal is {null:.10g}, and {certificate.null_objective:.10g} is stated")
    if not abs(certificate.objective - max(objective, 0.0)) <= 1e-9 * abs(objective) + rounding:
        refuse(model, f"its objective is {objective:.10g}, and {certificate.objective:.10g} is stated")
    distance = max(objective - dual, 0.0)
    if not distance <= certificate.gap + rounding or not np.isinf(certificate.radius) or certificate.dual is not None:
        refuse(model, f"its gap is {distance:.3g}, and {certificate.gap:.3g} is stated")
    return Verdict(certificate.statement, objective, distance, rounding, certificate.gap)


def _about(seen: Any, model: Any) -> Any:
    """Return what a fingerprint says of the rows: about zero where their mean is known to be zero."""
    from dataclasses import replace  # noqa: PLC0415

    if not (model.assume_centered or getattr(model, "covariance", None) == "precomputed"):
        return seen
    return replace(seen, mean=np.zeros_like(seen.mean), spread=seen.spread + seen.weight * seen.mean**2)


def _cholesky(matrix: Array) -> Any:
    unit = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    try:
        return np.linalg.cholesky(matrix / np.outer(unit, unit)) * unit[:, None]
    except np.linalg.LinAlgError:
        return None


def _dual(U: Array) -> float:
    lower = _cholesky(U)
    return -np.inf if lower is None else 2 * float(np.log(np.diagonal(lower)).sum()) + len(U)


# -- robust --------------------------------------------------------------------------------------------------------


def check_robust(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check that the raw support is at rest, and that location, covariance and threshold follow from it."""
    from scipy.special import chdtri  # noqa: PLC0415  (SciPy costs a fifth of a second)

    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, _about(summarize_columns(rows), model), rows.p)
    table = np.vstack([block.X for block in rows.blocks()]).astype(EXTENDED)
    n, p = table.shape
    h = int(np.ceil(0.5 * (n + p + 1))) if model.support_fraction is None else int(model.support_fraction * n)
    support = model.raw_support_
    if support.shape != (n,) or support.dtype != bool or int(support.sum()) != h:
        refuse(model, f"its raw support is not of {h} rows")
    location, covariance = _described(table[support], centered=model.assume_centered)
    far = _distances(table, location, covariance)
    correction = float(np.median(far)) / float(chdtri(p, 0.5))
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0)).astype(np.float64) + 1e-300
    _near(model, "its raw location", model.raw_location_, location, 1e-8 * size + 1e-12 * np.abs(location))
    shift = 1e-24 * np.outer(np.abs(location), np.abs(location))
    _near(model, "its raw covariance", model.raw_covariance_, covariance, 1e-9 * np.outer(size, size) + shift)
    near, edge = far / max(correction, 1e-300), float(chdtri(p, 0.025))
    kept = model.support_
    is_near = (kept == (near < edge)) | (np.abs(near - edge) <= 1e-6 * edge) if kept.shape == (n,) else np.zeros(1)
    if kept.dtype != bool or (correction > 0 and not np.all(is_near)) or not kept.any():
        refuse(model, "its support is not that of the distances")
    location, final = _described(table[kept], centered=model.assume_centered)
    size = np.sqrt(np.maximum(np.diagonal(final), 0)).astype(np.float64) + 1e-300
    _near(model, "its location", model.location_, location, 1e-9 * size + 1e-12 * np.abs(location))
    _near(
        model,
        "its covariance",
        model.covariance_,
        final,
        1e-9 * np.outer(size, size) + 1e-24 * np.outer(np.abs(location), np.abs(location)),
    )
    _require_inverse(model, model.precision_, model.covariance_, is_stored=model.store_precision)
    true = _distances(table, location, final)
    if model.dist_.shape != (n,) or not np.all(np.abs(model.dist_ - true) <= 1e-5 * (1 + np.abs(true))):
        refuse(model, "its distances are others")
    if hasattr(model, "offset_"):
        cut = float(np.percentile(-model.dist_, 100.0 * model.contamination))
        if not abs(model.offset_ - cut) <= 1e-9 * (1 + abs(cut)):
            refuse(model, f"its threshold is {model.offset_:.10g}, and its distances give {cut:.10g}")
    return _require_rest(model, certificate, table, support, far, h)


def _require_rest(model: Any, certificate: Any, table: Array, support: Array, far: Array, h: int) -> Verdict:
    """Take one more step of concentration; the determinant must not fall by more than is stated."""
    closest = np.argsort(far, kind="stable")[:h]
    covariances = [
        _described(part, centered=model.assume_centered)[1] for part in (table[support], table[closest], table)
    ]
    found = [_determinant_per_column(one, len(table)) for one in covariances]
    sizes = [size for size, _ in found]
    slack = 1e-7 * sizes[0] + found[0][1] + 1e-300
    if not abs(certificate.objective - sizes[0]) <= slack:
        refuse(model, f"its determinant per column is {sizes[0]:.10g}, and {certificate.objective:.10g} is stated")
    whole = max(sizes[2], sizes[0])
    if not abs(certificate.null_objective - whole) <= 1e-7 * whole + max(found[2][1], found[0][1]) + 1e-300:
        refuse(model, "the determinant of all rows is another")
    if certificate.step != "concentration step":
        refuse(model, "its certificate speaks of another step than one of concentration")
    fall = max(sizes[0] - sizes[1], 0.0)
    if not fall <= certificate.gap + slack + found[1][1] or certificate.radius != 0 or certificate.curvature != 0:
        refuse(
            model, f"one more step lowers its determinant by {fall:.3g}, and at most {certificate.gap:.3g} is claimed"
        )
    return Verdict(certificate.statement, sizes[0], fall, slack, certificate.gap)


def _determinant_per_column(covariance: Array, n: int) -> tuple[float, float]:
    """Return the root of the determinant, one of p for p columns, and how far the rounding of sums of n rows can move it.

    Variances along axes of columns of unit variance are off by that rounding: where one of them is no larger, rows lie in a
    hyperplane as far as float64 can tell, and the determinant is anything from zero on.
    """
    variance = np.diag(covariance).astype(np.float64)
    if not np.all(variance > 0):
        return 0.0, 0.0
    root = np.sqrt(variance)
    along = np.linalg.eigvalsh(covariance.astype(np.float64) / np.outer(root, root))
    rounding = (n + 16 * len(root)) * 2.0**-53
    with np.errstate(divide="ignore"):
        low, size, high = (
            float(np.exp(np.mean(np.log(np.maximum(along + shift, 0.0)) + np.log(variance))))
            for shift in (-rounding, 0.0, rounding)
        )
    return size, high - low


def _described(rows: Array, *, centered: bool) -> tuple[Array, Array]:
    location = np.zeros(rows.shape[1], EXTENDED) if centered else rows.mean(axis=0)
    apart = rows - location
    return location, apart.T @ apart / len(rows)


def _distances(rows: Array, location: Array, covariance: Array) -> Array:
    apart = (rows - location).astype(np.float64)
    lower = _cholesky(covariance.astype(np.float64))
    if lower is None:
        inverse = np.linalg.pinv(covariance.astype(np.float64), hermitian=True)
        return np.asarray(np.einsum("ij,ij->i", apart @ inverse, apart))
    return np.asarray(np.sum(np.linalg.solve(lower, apart.T) ** 2, axis=0))
