"""Regression by a loss that stops growing: rows far off count little or nothing, and how much is told."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.convex import Absolute, Bounded, Squared, Zero, solve
from qed.convex._centres import weighted_quantile
from qed.convex.solvers import InteriorPoint
from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    fitted,
    param,
)
from qed.core._errors import tell_unreached
from qed.core._events import STOP, Progress
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._convex_regressor import SingleTarget
from qed.linear_model._learn_convex import ObjectiveSpec, TrainingData

UNIT = 2.0**-53
NORMAL = 1.4826  # a normal deviation over the median of its size
WIDTH = 3.0  # deviations at which errors count as large, if nothing is said
TINY, HUGE = 1e-140, 1e145
# largest third derivative of each loss, for a threshold of one
BENDS = {"exponential": 2.0, "rational": 2.34, "truncated": 0.0}
WIDER = (16.0, 8.0, 4.0, 2.0)  # thresholds, relative to the last, from which nearly convex losses lead to it


class BoundedRegressor(SingleTarget):
    r"""Robust regression with a bounded loss (redescending M-estimator): an outlier costs no more than a limit.

    Objective
    ---------
    .. math:: \sum_i s_i \, \rho(y_i - x_i^\top w - b) \Big/ \sum_i s_i, \qquad
              \rho(r) = \min_{0 \le h \le 1} h\, \frac{r^2}{2} + \frac{c^2}{2}\, \psi(h)

    with the threshold c and the charge :math:`\psi` for being taken less seriously: :math:`h \ln h - h + 1` (``exponential``,
    :math:`\rho = \frac{c^2}{2} (1 - e^{-r^2/c^2})`), :math:`(\sqrt h - 1)^2` (``rational``,
    :math:`\frac{c^2}{2} \frac{r^2}{c^2 + r^2}`) or :math:`1 - h` (``truncated``, :math:`\frac12 \min(r^2, c^2)`). It is not convex,
    and may have many minima.

    Certificate
    -----------
    StationaryCertificate: no coefficients whose predictions differ by at most ``radius`` from these lower the objective by more
    than ``gap``, and least squares with ``weights_`` gives the same coefficients; another minimum further away may be lower.

    Cost
    ----
    That of `PowerRegressor` with p = 1 for a start, then some ten steps of O(n p^2) each, twice.

    See Also
    --------
    HuberRegressor : Convex: rows far off count in proportion to their distance.
    qed.convex.Bounded : The loss.

    Notes
    -----
    Two starts are followed, and the lower end is kept: least absolute errors, and least squares through ever narrower thresholds.
    Every step lowers the objective. A weight counts as repetition. Where columns are dependent, the shortest coefficients are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import BoundedRegressor
    >>> x = np.arange(12.0)
    >>> y = 2 * x + 0.1 * (-1) ** x
    >>> y[10] = 90.0
    >>> model = BoundedRegressor().fit(x[:, np.newaxis], y)
    >>> model.coef_.round(1), model.weights_.round(1)[[9, 10]]
    (array([2.]), array([1., 0.]))
    """

    shape: Literal["exponential", "rational", "truncated"] = param("exponential", "How the loss levels off.")
    _: KW_ONLY
    threshold: Positive | None = param(
        None,
        "The error from which a row counts as far off, in units of y; None for three deviations, estimated by the median size of"
        " the errors of least absolute errors.",
    )
    fit_intercept: bool = FIT_INTERCEPT
    tol: NonNegative = param(1e-9, "Largest accepted gap, relative to the objective of the weighted median alone.")
    max_iter: PositiveInt = param(200, "Most steps from each start.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    threshold_: float = fitted("The threshold: as given, or estimated.", above=0)
    weights_: Array = fitted(
        "How much each row of the fit counts, from 0 to 1, shape (n,).", shape="(n,)", low=0, high=1
    )
    n_iter_: int = fitted("Steps from the start that was kept.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        data = self._fit_data(X, y, sample_weight, finite=False)
        rows = TrainingData.of(data, centred=self.fit_intercept)
        with one_blas_thread(rows.share.size * rows.mean.size):
            self._learn(rows)
        errors = np.asarray(data.y, dtype=np.float64) - (design(data.X).product(self.coef_) + self.intercept_)
        self.weights_ = _loss(np.zeros(len(errors)), self.shape, self.threshold_).weights(errors)
        if self.certificate_.outcome == "interrupted":
            raise KeyboardInterrupt
        if not self.certificate_.reached and (self.strict or self.certificate_.outcome == "max_iter"):
            tell_unreached(
                f"BoundedRegressor stopped at a gap of {self.certificate_.gap:.2e}, above tol={self.tol:.1e} of"
                f" {self.certificate_.null_objective:.3g} ({self.certificate_.outcome}). The model so far is stored; raise max_iter"
                " or tol",
                strict=self.strict,
            )
        return self

    def _learn(self, rows: TrainingData) -> None:
        start, early = _least_absolute(rows, intercept=self.fit_intercept)
        self.threshold_ = _threshold(rows, start) if self.threshold is None else float(self.threshold)
        if not TINY < self.threshold_ < HUGE:
            raise InvalidParameter(
                f"BoundedRegressor.threshold must lie between {TINY:g} and {HUGE:g}, where its square is a number, got"
                f" {self.threshold_:g}. It is compared with errors: give it in the units of the target."
            )
        descent = _Descent(rows, self.shape, self.threshold_, intercept=self.fit_intercept)
        null = descent.null_objective()
        with Progress("BoundedRegressor", 2 * int(self.max_iter), verbose=self.verbose) as progress:
            if early in ("interrupted", "stopped"):
                found = _Found(start, descent.value(start), 0, early)
            else:
                found = descent.run(start, float(self.tol) * null, int(self.max_iter), progress)
            if found.outcome not in ("interrupted", "stopped"):
                other = descent.run(descent.narrowed(), float(self.tol) * null, int(self.max_iter), progress)
                found = other if other.objective < found.objective * (1 - 1e-9) else found
        found = descent.shortest(found)
        proof = descent.proof(found.v)
        for _ in range(3):  # where the objective hardly bends, a step that gains little does not yet prove much
            if proof.gap <= self.tol * null or found.outcome != "solved" or not proof.radius > 0:
                break
            with Progress("BoundedRegressor", int(self.max_iter), verbose=self.verbose) as progress:
                target = 0.1 * float(self.tol) * null * min(float(self.tol) * null / proof.gap, 1.0)
                further = descent.run(found.v, target, int(self.max_iter), progress)
            found = descent.shortest(further._replace(steps=found.steps + further.steps))
            proof = descent.proof(found.v)
        self.coef_ = np.ascontiguousarray(found.v[: len(rows.mean)])
        self.intercept_ = float(found.v[-1] - rows.mean @ self.coef_) if self.fit_intercept else 0.0
        self.n_iter_ = found.steps
        objective, off = self._stored(rows)
        gap, rounding = proof.gap, 64 * (len(rows.y) + len(found.v)) * UNIT * (objective + null)
        rounding += off * (off + float(np.sqrt(2 * objective)))
        outcome = found.outcome if found.outcome != "max_iter" or gap > self.tol * null else "solved"
        self.certificate_ = StationaryCertificate(
            gap=gap + rounding,
            rounding=rounding,
            radius=proof.radius,
            objective=objective,
            null_objective=null,
            curvature=proof.curvature,
            tol=float(self.tol),
            outcome=outcome,
            fingerprint=rows.seen,
        )

    def _stored(self, rows: TrainingData) -> tuple[float, float]:
        """Return the objective of the coefficients as they are stored, and a bound on the rounding of a prediction."""
        plain, loss = design(rows.X), _loss(rows.y, self.shape, self.threshold_)
        value = float(rows.share @ loss.value(plain.product(self.coef_) + self.intercept_))
        sizes = design(abs(rows.X)).product(np.abs(self.coef_)) + abs(self.intercept_) + np.abs(rows.y)
        return value, 4 * (len(rows.mean) + 4) * UNIT * float(sizes.max(initial=0.0))


def _loss(y: Array, shape: Any, threshold: float) -> Bounded:
    return Bounded(Squared(y), shape, 0.5 * threshold**2)


def _least_absolute(rows: TrainingData, *, intercept: bool) -> tuple[Array, str]:
    """Return coefficients of the centred columns and the intercept that minimise absolute errors, and how that ended."""
    problem = rows.problem(ObjectiveSpec(Absolute(rows.y), Zero()), intercept=intercept)
    with Progress("BoundedRegressor", 200) as progress:
        found = solve(problem, InteriorPoint(), tol=1e-10, max_iter=200, progress=progress)
    return (np.append(found.w, found.b) if intercept else np.asarray(found.w)), found.outcome


def _threshold(rows: TrainingData, start: Array) -> float:
    """Return three deviations, by the median size of the errors; by their mean where most are zero."""
    p = len(rows.mean)
    centre = rows.mean if len(start) > p else None
    sizes = np.abs(rows.y - design(rows.X).product(start[:p], centre) - (start[p] if len(start) > p else 0.0))
    length = float(np.sqrt(rows.share @ rows.y**2))
    least = 1e-7 * length  # errors below are those of the start
    middle = NORMAL * float(weighted_quantile(sizes, rows.share, 0.5))
    middle = middle if middle > least else float(rows.share @ sizes)
    return WIDTH * middle if middle > least else length or 1.0


class _Found(NamedTuple):
    v: Array
    objective: float
    steps: int
    outcome: str


class _Proof(NamedTuple):
    gap: float
    radius: float
    curvature: float


class _Descent:
    """Steps of reweighted least squares, and Newton's where the objective is convex; both never rise."""

    def __init__(self, rows: TrainingData, shape: str, threshold: float, *, intercept: bool) -> None:
        self.rows, self.shape, self.threshold, self.intercept = rows, shape, threshold, intercept
        self.plain, self.c = design(rows.X), rows.share
        self.centre = rows.mean if intercept else None
        self.loss = _loss(rows.y, shape, threshold)

    def scores(self, v: Array) -> Array:
        """Return the predictions."""
        p = len(self.rows.mean)
        t = self.plain.product(v[:p], self.centre)
        return np.asarray(t + v[p] if self.intercept else t)

    def value(self, v: Array, loss: Bounded | None = None) -> float:
        """Return the objective."""
        return float(self.c @ (self.loss if loss is None else loss).value(self.scores(v)))

    def null_objective(self) -> float:
        """Return the objective of the weighted median alone."""
        middle = float(weighted_quantile(self.rows.y, self.c, 0.5)) if self.intercept else 0.0
        return float(self.c @ self.loss.value(np.full(len(self.rows.y), middle)))

    def gradient(self, slope: Array) -> Array:
        """Return the gradient for slopes of the rows."""
        g = self.plain.adjoint_product(self.c * slope, self.centre)
        return np.append(g, self.c @ slope) if self.intercept else np.asarray(g)

    def second(self, bend: Array) -> Array:
        """Return the products of columns, the intercept's last, weighted by curvatures of any sign."""
        whole = np.zeros((len(self.rows.mean) + self.intercept,) * 2)
        for sign in (1.0, -1.0):
            part = self.c * np.maximum(sign * bend, 0.0)
            if not part.any():
                continue
            p = len(self.rows.mean)
            whole[:p, :p] += sign * self.plain.gram(part, self.centre)
            if self.intercept:
                edge = self.plain.adjoint_product(part, self.centre)
                whole[:p, p] += sign * edge
                whole[p, :p] += sign * edge
                whole[p, p] += sign * part.sum()
        return whole

    def run(self, v: Array, target: float, most: int, progress: Progress) -> _Found:
        """Go down until a step promises no more than a hundredth of the target."""
        value, outcome, steps = self.value(v), "max_iter", 0
        try:
            for steps in range(1, most + 1):  # noqa: B007  the last is told
                new, fall = self._step(v, value)
                if new is None:
                    outcome = "solved" if fall <= target else "stalled"
                    break
                v, value = new, self.value(new)
                if fall <= 1e-2 * target:
                    outcome = "solved"
                    break
                if progress.step(fall) is STOP:
                    outcome = "stopped"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
        return _Found(v, value, steps, outcome)

    def _step(self, v: Array, value: float) -> tuple[Array | None, float]:
        """Return a lower point, or None, and what the reweighted fit promises."""
        t = self.scores(v)
        g = self.gradient(self.loss.slope(t))
        d = _least(self.second(self.loss.weights(t)), g)
        fall = 0.5 * float(g @ d)
        best, least = None, value
        moves = [d]
        if self.shape != "truncated":
            moves += [move for move in [_newton(self.second(self.loss.curvature(t)), g)] if move is not None]
        for move in moves:
            there = self.value(v - move)
            if there < least:
                best, least = v - move, there
        return best, fall

    def narrowed(self) -> Array:
        """Return where least squares leads, through thresholds that get narrower."""
        v = -_least(self.second(np.ones(len(self.c))), self.gradient(-self.rows.y))
        for wider in WIDER:
            loss = _loss(self.rows.y, self.shape, wider * self.threshold)
            for _ in range(5):
                t = self.scores(v)
                new = v - _least(self.second(loss.weights(t)), self.gradient(loss.slope(t)))
                if not self.value(new, loss) < self.value(v, loss):
                    break
                v = new
        return np.asarray(v)

    def shortest(self, found: _Found) -> _Found:
        """Return the shortest of all coefficients with the same predictions, where dependent columns leave a choice."""
        p = len(self.rows.mean)
        values, vectors = np.linalg.eigh(self.plain.gram(self.c, self.centre))
        keep = values > max(float(values[-1]), 0.0) * p * 1e-14
        if keep.all():
            return found
        v = found.v.copy()
        v[:p] = vectors[:, keep] @ (vectors[:, keep].T @ v[:p])
        value = self.value(v)
        # columns of very different size: what looks dependent among the long ones may be what the short ones need
        no_worse = value <= found.objective * (1 + 1e-12) + 1e-14 * self.threshold**2
        return found._replace(v=v, objective=value) if no_worse else found

    def proof(self, v: Array) -> _Proof:
        """Return what is proved near a point.

        With M the second derivatives of least squares, H those of the objective, ``H >= m M`` and a third derivative of at most K,
        the objective bends by ``m/2 M`` or more while predictions differ by at most ``m / 2K``: it then falls by at most
        ``g'M⁻¹g / m``. A truncated loss is quadratic until a prediction crosses the threshold.
        """
        t = self.scores(v)
        g, bend = self.gradient(self.loss.slope(t)), self.loss.curvature(t)
        M, H = self.second(np.ones(len(self.c))), self.second(bend)
        curvature = _least_ratio(H, M)
        if self.shape == "truncated":
            error = np.abs(self.rows.y - t)
            radius = float(np.min(np.abs(error - self.threshold), initial=np.inf)) * (1 - 1e-9)
            return _Proof(0.5 * float(g @ _least(H, g)), radius if np.isfinite(radius) else 0.0, curvature)
        if curvature > 1e-9:
            radius = 0.5 * curvature * self.threshold / BENDS[self.shape]
            return _Proof(float(g @ _least(M, g)) / curvature, radius * (1 - 1e-9), curvature)
        return _Proof(0.5 * float(g @ _least(self.second(self.loss.weights(t)), g)), 0.0, curvature)


def _least(matrix: Array, g: Array) -> Array:
    """Solve equations that may be singular, in units that make the diagonal one."""
    size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    unit = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)
    values, vectors = np.linalg.eigh(matrix * np.multiply.outer(unit, unit))
    keep = values > max(float(values[-1]), 0.0) * len(values) * 1e-14
    return np.asarray(unit * (vectors[:, keep] @ ((vectors[:, keep].T @ (unit * g)) / values[keep])))


def _newton(matrix: Array, g: Array) -> Array | None:
    """Return the Newton step where the second derivatives are positive, None elsewhere."""
    size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    if not (size > 0).all():
        return None
    try:
        root = np.linalg.cholesky(matrix / np.multiply.outer(size, size))
    except np.linalg.LinAlgError:
        return None
    if not root.diagonal().min() > 1e-6:
        return None
    return np.asarray(np.linalg.solve(root.T, np.linalg.solve(root, g / size)) / size)


def _least_ratio(H: Array, M: Array) -> float:
    """Return the least of d'Hd / d'Md over directions that M sees."""
    size = np.sqrt(np.maximum(M.diagonal(), 0.0))
    unit = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)
    scale = np.multiply.outer(unit, unit)
    values, vectors = np.linalg.eigh(M * scale)
    keep = values > float(values[-1]) * len(values) * 1e-14
    if not keep.any():
        return 1.0
    to = vectors[:, keep] / np.sqrt(values[keep])
    return float(min(np.linalg.eigvalsh(to.T @ (H * scale) @ to)[0], 1.0))
