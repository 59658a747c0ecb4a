"""Convex models, checked: data, objective and distance from the optimum, all recomputed.

The objective is read from the model's public parameters. Any feasible dual point u proves that no coefficients lie below
``-Σ q ℓ*(u) - Ω*(-X'(q u))``; the distance of the model from that is summed over the rows in extended precision, from what the
Fenchel-Young inequality leaves over. Dual points are looked for until one confirms the claim. None of them can confirm a false
one, whoever made it: each is repaired until it is feasible, and what cannot be repaired is charged.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, Estimator
from qed.core._threads import one_blas_thread
from qed.verify._declared import declares
from qed.verify._losses import HALF, Scaled
from qed.verify._objectives import Objective, Sums, objective_of
from qed.verify._rows import DOUBLE, EXTENDED, UNIT, Block, Rows, read
from qed.verify._same_data import ColumnSummary, difference, summarize_columns
from qed.verify._search import Point, dual_points, point_at
from qed.verify._table import Table
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.certificates import DualityGapCertificate


Array = np.ndarray[Any, Any]
MAX_DENSE_UNKNOWNS = 1500
MOST_COLUMNS_ALONE = (
    256  # a product of a block takes milliseconds then, and waiting for a second thread of BLAS may take longer
)
# of both objectives; of 10,000 honest fits, four times what one stated was six tenths of this
MAX_BELIEVED_ROUNDING = 1e-4
HALVINGS = 48  # of the range of targets: what is left moves no objective by a millionth


@dataclass(frozen=True)
class _Judge:
    """Bounds the distance of one point by dual points."""

    table: Table
    objective: Objective
    at: Point
    rms: Array  # root mean squares of the columns: what a radius measures coefficients by
    radius: float

    def distance(self, u: Array) -> tuple[float, float]:
        """Return the distance that a dual point shows, and a bound on its rounding."""
        table, at, loss, penalty = self.table, self.at, self.objective.loss, self.objective.penalty
        q, y = table.q, table.y
        u = loss.repaired(u, q, y, balance=table.intercept)
        if not np.all(np.isfinite(u)):
            return np.inf, 0.0
        z, rounding_error = -table.adjoint(u), table.adjoint_rounding(u)
        lean = self._lean(u) if table.intercept else 0.0
        rounding_error = rounding_error + lean * np.multiply.outer(
            table.length, np.sqrt(np.sum(q[:, None] * u * u, axis=0))
        )
        value, slack = EXTENDED(0), EXTENDED(lean) * 4 * np.abs(at.objective)
        if penalty.is_bounding:
            factor = penalty.factor(z, rounding_error)
            u, z = factor * u, factor * z
        elif not np.isfinite(self.radius) and np.any(u):
            return np.inf, 0.0
        elif np.any(u):
            outside = np.maximum(z, 0) if penalty.positive else np.abs(z)
            reach = np.where(self.rms > 0, self.radius / np.where(self.rms > 0, self.rms, 1), 0)[:, None]
            value, slack = np.sum(outside * reach), slack + np.sum(rounding_error * reach)
            z = np.minimum(z, 0) if penalty.positive else np.zeros_like(z)
        rows, sizes = loss.left_over(at.t, u, y, at.scale)
        more, more_slack = penalty.left_over(at.w, z, rounding_error)
        value = value + q @ rows + more
        slack = slack + more_slack + (len(q) + 16) * UNIT * (q @ sizes) + self._score_slack(u)
        if not np.isfinite(value + slack):
            return np.inf, 0.0
        return float(np.maximum(value, 0)), float(slack)

    def _lean(self, u: Array) -> float:
        """Return the share of u that would have to go for its weighted sum to be exactly zero."""
        q = self.table.q
        up, down = q @ np.maximum(u, 0), q @ np.maximum(-u, 0)
        off = np.abs(up - down) + len(q) * UNIT * (up + down)
        heavier = np.maximum(up, down)
        return float(np.max(np.where(heavier > 0, off / np.where(heavier > 0, heavier, 1), 0)))

    def _score_slack(self, u: Array) -> float:
        """Bound what the error of the scores can hide."""
        table, at, loss = self.table, self.at, self.objective.loss
        off = table.off(at.w, at.b, at.t)
        if not loss.has_curvature:
            return off * float(np.sqrt(table.q.sum()))
        apart = loss.slope(at.t, table.y, at.scale) - u
        apart_size = float(np.sqrt(np.sum(table.q[:, None] * apart * apart)))
        curvature = float(np.max(np.abs(np.asarray(loss.curvature(at.t, table.y, at.scale))), initial=0.0))
        return off * (apart_size + 2 * curvature * off)

    def by_curvature(self) -> tuple[float, float]:
        """Return the distance that gradient and curvature show, where nothing is penalised and no radius is claimed."""
        table, at, loss = self.table, self.at, self.objective.loss
        k, used = at.w.shape[1], np.flatnonzero(table.length > 0)
        m = len(used) + table.intercept
        if (
            not np.isfinite(loss.self_concordance)
            or self.objective.penalty.positive
            or k * m > MAX_DENSE_UNKNOWNS
            or (k > 1 and loss.self_concordance)
        ):
            return np.inf, 0.0
        u = loss.slope(at.t, table.y, at.scale)
        ones = np.ones((len(table.q), int(table.intercept)))
        g = np.vstack([table.adjoint(u)[used], (table.q @ u)[None, :]] if table.intercept else [table.adjoint(u)[used]])
        weight = np.asarray(loss.curvature(at.t, table.y, at.scale), dtype=np.float64)[:, :1, :1]
        second = table.second(used, ones, lambda some: weight[some])
        size = np.sqrt(second.diagonal())
        if not np.all(size > 0):
            return np.inf, 0.0
        values, vectors = np.linalg.eigh(second / np.multiply.outer(size, size))
        error = 8 * 2.0**-53 * (4096 + len(values)) * len(values)
        if not values[0] > max(4 * error, 1e-12 * values[-1]):
            return np.inf, 0.0
        along = vectors.T @ (g / size[:, None]).astype(np.float64)
        fall = np.sqrt(np.sum(along**2 / values[:, None], axis=0))
        rounding_error = np.vstack(
            [table.adjoint_rounding(u)[used], np.full((int(table.intercept), k), UNIT * len(table.q))]
        )
        rounding_error = (
            rounding_error + 2 * float(weight.max(initial=0.0)) * table.off(at.w, at.b, at.t) * size[:, None]
        )
        e = np.linalg.norm((rounding_error / size[:, None]).astype(np.float64), axis=0) / np.sqrt(values[0] - error)
        longest = 0.0
        if loss.self_concordance:
            to = vectors / np.sqrt(values) / size[:, None]
            squares = [np.sum((x @ to) ** 2, axis=1).max() for _, x in table.pieces(used, ones)]
            longest = loss.self_concordance * float(np.sqrt(max(squares))) * 1.001
        value = sum(_largest_fall(float(one), longest) for one in fall)
        most = fall / np.sqrt(1 - error / values[0]) + e  # where curvature and slopes are off by as much as they can be
        whole = sum(_largest_fall(float(one), longest) for one in most)
        rounding = whole - value + 64 * (len(values) + 16) * 2.0**-53 * whole  # of the products above, in doubles
        return (value, rounding) if np.isfinite(whole) else (np.inf, 0.0)


def _largest_fall(decrement: float, longest: float) -> float:
    x = decrement * longest
    if not x < 1:
        return np.inf
    if x < 1e-4:
        return decrement**2 * (0.5 + x / 6 + x * x / 12 + x**3 / 10)
    return float(((1 - x) * np.log1p(-x) + x) / longest**2)


def check(model: Estimator, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, y, sample_weight)
    with one_blas_thread() if rows.p <= MOST_COLUMNS_ALONE else nullcontext():
        return _check(model, certificate, rows)


def _check(model: Estimator, certificate: DualityGapCertificate, rows: Rows) -> Verdict:
    _require_classes(model, rows)
    y_all, s = _gathered(rows)
    sums = Sums(s.sum(), _class_sums(rows, y_all, s), len(s))
    objective = objective_of(model, sums)
    weighted = s if objective.class_weight is None else s * objective.class_weight[y_all[:, 0].astype(int)]
    seen = summarize_columns(rows)
    _require_same_rows(certificate, seen, rows, weighted)
    w, b = _coefficients(model, rows)
    intercept = bool(vars(model).get("fit_intercept", True))  # a class without the parameter has one
    if objective.constant is not None:
        seen, intercept = _seen_with(seen, rows.p, objective.constant), False
        rows = _with_constant(rows, objective.constant)
        w, b = np.vstack([w, b / objective.constant]), np.zeros_like(b)
    centre = seen.mean[: rows.p].astype(np.float64) if intercept else np.zeros(rows.p)
    q = objective.factor * weighted
    spread = seen.spread[: rows.p] if intercept else seen.spread[: rows.p] + seen.weight * seen.mean[: rows.p] ** 2
    length = np.sqrt(spread * np.max(q / s)) * (1 + 1e-9)
    table = Table(rows, y_all, q, centre, length, intercept)
    at = point_at(table, objective, w, b, _scale_of(model, objective))
    if not np.isfinite(at.objective) or (objective.penalty.positive and np.any(w < 0)):
        raise CertificateError(
            f"The coefficients of this {type(model).__name__} are outside its objective's domain: {_CHANGED}"
        )
    _require_scale(model, objective, y_all, at.t, weighted)
    _require_null(model, certificate, table, objective)
    noise = _noise(table, objective, at.t, at.scale) + _float64_noise(table, objective, at)
    _require_objective(model, certificate, float(at.objective), noise)
    rms = np.sqrt(spread / seen.weight)
    _require_radius(model, certificate, rms, w)
    judge = _Judge(table, objective, at, rms, certificate.radius)
    distance, rounding = _least_distance(judge, certificate.dual, certificate.gap, noise)
    if objective.slack is not None:
        distance += _left_of_limit(model, objective, w)
    _require_close(model, certificate, distance, rounding)
    return Verdict(certificate.statement, float(at.objective), distance, rounding, certificate.gap)


def _require_radius(model: Any, certificate: DualityGapCertificate, rms: Array, w: Array) -> None:
    """Refuse a radius within which not even the null model lies: a fit states ten times that."""
    least = float(np.max(np.abs(w) * rms[:, None], initial=0))
    if not certificate.radius >= least * (1 - 1e-6):
        raise CertificateError(
            f"The certificate of this {type(model).__name__} speaks of coefficients within {certificate.radius:.3g} alone, and"
            f" every fit to these data of at least {least:.3g}: {_CHANGED}"
        )


def _left_of_limit(model: Any, objective: Objective, w: Array) -> float:
    """Return what a limit on the coefficients leaves, at its price; refuse coefficients beyond it."""
    assert objective.slack is not None  # noqa: S101  asked for before
    left = float(objective.slack(w))
    size = np.sqrt(np.sum(w * w)) if objective.limit == 2 else np.sum(np.abs(w))
    if not size <= EXTENDED(model.radius) * (1 + EXTENDED(1e-12)):
        raise CertificateError(
            f"The coefficients of this {type(model).__name__} have size {float(size):.10g}, beyond its radius: {_CHANGED}"
        )
    return max(left, 0.0)


_CHANGED = "the coefficients, parameters or certificate were changed after the fit. Fit again, or load the model from its file."


def _least_distance(judge: _Judge, dual: Array | None, gap: float, noise: float) -> tuple[float, float]:
    """Look for a dual point that confirms a gap; return the least distance found."""
    claimed = gap + 4 * noise  # whoever finds an objective lower by more has refuted it
    best = (np.inf, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if not judge.objective.penalty.is_bounding:
            best = judge.by_curvature()
        if best[0] <= gap + best[1]:
            return best
        for u in dual_points(judge.table, judge.objective, judge.at, dual, claimed):
            found = judge.distance(u)
            best = min(best, found, key=sum)
            if best[0] <= gap + best[1]:
                break
    return best


def _with_constant(rows: Rows, value: Any) -> Rows:
    """Return the rows with a constant column at the end."""

    def blocks() -> Iterator[Block]:
        for block in rows.blocks():
            column = np.full((len(block.X), 1), value, dtype=block.X.dtype)
            yield replace(block, X=np.hstack([block.X, column]))

    return replace(rows, blocks=blocks, p=rows.p + 1)


def _seen_with(seen: ColumnSummary, p: int, value: Any) -> ColumnSummary:
    return replace(seen, mean=np.insert(seen.mean, p, value), spread=np.insert(seen.spread, p, 0))


def _gathered(rows: Rows) -> tuple[Array, Array]:
    """Return targets and weights of all rows in extended precision."""
    parts = [(block.y, block.s) for block in rows.blocks()]
    if not parts:
        raise CertificateError("There is no row of positive weight to verify on. Pass the rows of the fit.")
    return np.vstack([y for y, _ in parts]).astype(EXTENDED), np.concatenate([s for _, s in parts]).astype(EXTENDED)


def _require_classes(model: Any, rows: Rows) -> None:
    """Refuse labels that the model was not fitted to."""
    if not declares(model, "classes_"):
        return
    known = model.classes_
    if rows.classes is None or not np.array_equal(known, rows.classes):
        raise CertificateError(
            f"These are not the data of the certificate: {type(model).__name__} was fitted to the classes "
            f"{np.asarray(known).tolist()}, these rows have {None if rows.classes is None else rows.classes.tolist()}. "
            "Pass the rows and labels of the fit."
        )


def _class_sums(rows: Rows, y: Array, s: Array) -> Array | None:
    if rows.classes is None:
        return None
    return np.array([s[y[:, 0] == label].sum() for label in range(len(rows.classes))], dtype=EXTENDED)


def _require_same_rows(certificate: Any, seen: ColumnSummary, rows: Rows, weighted: Array) -> None:
    """Compare the fingerprint with the rows as they were given, or as classes weigh them."""
    words = difference(certificate.fingerprint, seen, rows.p)
    if words is None:
        return
    first = 0
    total = weighted.sum()
    mean = np.zeros(rows.p + rows.m, EXTENDED)
    for block in rows.blocks():
        part = weighted[first : first + len(block.X)]
        mean, first = mean + part @ np.hstack([block.X, block.y]) / total, first + len(block.X)
    spread, first = np.zeros_like(mean), 0
    for block in rows.blocks():
        part = weighted[first : first + len(block.X)]
        spread, first = spread + part @ (np.hstack([block.X, block.y]) - mean) ** 2, first + len(block.X)
    if difference(certificate.fingerprint, replace(seen, weight=total, mean=mean, spread=spread), rows.p) is not None:
        raise CertificateError(words)


def _coefficients(model: Any, rows: Rows) -> tuple[Array, Array]:
    """Return coefficients (p, k) and intercept (k,) in extended precision, and refuse shapes that the data cannot have."""
    w = np.atleast_2d(np.asarray(model.coef_)).T.astype(EXTENDED)
    k = rows.m
    if rows.classes is not None:
        k = 1 if len(rows.classes) == 2 else len(rows.classes)
    b = np.asarray(model.intercept_, dtype=EXTENDED).ravel()
    if w.shape != (rows.p, k) or len(b) not in (1, k):
        raise CertificateError(
            f"The coefficients of this {type(model).__name__} have shape {np.shape(model.coef_)}, and {rows.p} columns with "
            f"{k} scores need {(rows.p, k)[::-1]}: the model was changed, or the data are others."
        )
    if not (np.all(np.isfinite(w)) and np.all(np.isfinite(b))):
        raise CertificateError(f"The coefficients of this {type(model).__name__} are not finite: {_CHANGED}")
    return w, np.broadcast_to(b, (k,)).astype(EXTENDED)


def _scale_of(model: Any, objective: Objective) -> Any:
    """Return the scale that the model itself estimated, where its objective has one: a root of a mean square is none."""
    if (
        not isinstance(objective.loss, Scaled)
        or not np.isfinite(objective.loss.epsilon)
        or not declares(model, "scale_")
    ):
        return None
    return EXTENDED(model.scale_)


def _require_scale(model: Any, objective: Objective, y: Array, t: Array, s: Array) -> None:
    """Refuse a root of the mean squared residual that is not that of the coefficients."""
    if not isinstance(objective.loss, Scaled) or np.isfinite(objective.loss.epsilon) or not declares(model, "scale_"):
        return
    target = np.ravel(y).astype(EXTENDED)
    true, size = (np.sqrt(np.sum(s * one**2) / np.sum(s)) for one in (target - np.ravel(t), target))
    if not abs(EXTENDED(model.scale_) - true) <= 1e-9 * true + 1e-12 * size:
        raise CertificateError(
            f"The scale_ of this {type(model).__name__} is {model.scale_:.10g}, and the residuals have the root mean square"
            f" {float(true):.10g}: {_CHANGED}"
        )


def _require_close(model: Any, certificate: DualityGapCertificate, distance: float, rounding: float) -> None:
    if not (np.isfinite(rounding) and distance <= certificate.gap + rounding):
        order = ""
        if certificate.dual is not None:
            order = " This claim rests on a number for each row: the rows must come in the order of the fit."
        raise CertificateError(
            f"The certificate of this {type(model).__name__} is false: it claims that the objective is at most "
            f"{certificate.gap:.3g} above the optimum, and it could only be shown to be at most {distance:.3g} above "
            f"(recomputed, to within {rounding:.1g}): {_CHANGED}{order}"
        )


def _noise(table: Table, objective: Objective, t: Array, scale: Any) -> float:
    """Bound the rounding of a sum of losses, whose terms may cancel: of counts that are all alike nothing else is left."""
    _, sizes = objective.loss.left_over(t, np.zeros_like(t), table.y, scale)
    return float((len(table.q) + 16) * UNIT * (table.q @ sizes))


def _float64_noise(table: Table, objective: Objective, at: Point) -> float:
    """Bound how far an objective is off whose scores and residuals are float64: those of targets far from zero cancel."""
    size = np.sqrt(np.sum(table.q * (np.sum(np.abs(at.t), axis=1) + np.sum(np.abs(table.y), axis=1)) ** 2))
    off = DOUBLE / UNIT * table.off(at.w, at.b, at.t) + 4 * DOUBLE * float(size)
    slope = objective.loss.slope(at.t, table.y, at.scale)
    return 2 * off * float(np.sqrt(np.sum(table.q[:, None] * slope * slope)))


def _require_objective(model: Any, certificate: DualityGapCertificate, objective: float, noise: float) -> None:
    slack = 1e-9 * (abs(objective) + certificate.null_objective) + noise
    most = MAX_BELIEVED_ROUNDING * (abs(objective) + certificate.null_objective)
    slack += min(4 * min(certificate.rounding, certificate.gap), most)  # the one is a part of the other
    if not abs(objective - certificate.objective) <= slack:
        raise CertificateError(
            f"The certificate of this {type(model).__name__} states an objective of {certificate.objective:.10g}, and it is "
            f"{objective:.10g}: {_CHANGED}"
        )


def _of_constant(table: Table, objective: Objective, b: Array) -> tuple[float, float]:
    """Return the objective of a model without columns, and a bound on its rounding."""
    t = np.broadcast_to(b, (len(table.q), len(b))).astype(EXTENDED)
    scale = objective.loss.best_scale(t, table.y, table.q) if isinstance(objective.loss, Scaled) else None
    return float(table.q @ objective.loss.value(t, table.y, scale)), _noise(table, objective, t, scale)


def _levels(table: Table, objective: Objective) -> list[Array]:
    """Return two numbers that the best constant score lies between, by halving: slopes of a convex loss rise."""
    loss, q, y = objective.loss, table.q, table.y
    # no loss of numbers gains beyond all targets, none of labels that has no closed form beyond its margin of one
    low, high = min(EXTENDED(-1), y.min()), max(EXTENDED(1), y.max())
    for _ in range(HALVINGS):
        middle = HALF * (low + high)
        t = np.full((len(q), 1), middle, EXTENDED)
        scale = loss.best_scale(t, y, q) if isinstance(loss, Scaled) else None
        low, high = (low, middle) if q @ loss.slope(t, y, scale)[:, 0] > 0 else (middle, high)
    return [np.full(1, low), np.full(1, high)]


def _between(table: Table, objective: Objective, low: Array, high: Array) -> float:
    """Bound how far a convex objective can fall from the ends of an interval to a number inside."""
    slopes = []
    for end in (low, high):
        t = np.broadcast_to(end, (len(table.q), 1)).astype(EXTENDED)
        scale = objective.loss.best_scale(t, table.y, table.q) if isinstance(objective.loss, Scaled) else None
        slopes.append(abs(float(table.q @ objective.loss.slope(t, table.y, scale)[:, 0])))
    return float(high[0] - low[0]) * max(slopes)


def _require_null(model: Any, certificate: DualityGapCertificate, table: Table, objective: Objective) -> None:
    """Compare the null model's objective, by which the tolerance is measured."""
    k = np.atleast_2d(model.coef_).shape[0]
    b = objective.loss.constant(table.q, table.y) if table.intercept else np.zeros(k, EXTENDED)
    levels = [b] if b is not None else _levels(table, objective)
    null, noise = min(_of_constant(table, objective, level) for level in levels)
    if len(levels) == 2:  # the best number lies between: convexity bounds how much less it leaves
        noise += _between(table, objective, levels[0], levels[1])
    slack = 1e-9 * abs(null) + 1e-12 * abs(certificate.objective) + noise
    if not abs(certificate.null_objective - null) <= slack:
        raise CertificateError(
            f"The certificate of this {type(model).__name__} states that the null model has an objective of "
            f"{certificate.null_objective:.10g}, and it has {null:.10g}: {_CHANGED}"
        )
