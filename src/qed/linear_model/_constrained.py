"""Least squares with norm-constrained coefficients: the strength of the penalty that the limit stands for, found exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import L1, L2, Problem, Squared, solve
from qed.convex.solvers import CoordinateDescent
from qed.core import KW_ONLY, InvalidData, InvalidParameter, NonNegative, PositiveInt, fitted, param
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.designs._range import require_finite_objective
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import ObjectiveSpec, TrainingData

if TYPE_CHECKING:
    from qed.convex._loss import Vector


LARGEST = 4000
STEPS = 100
PASSES = 200  # for one strength: signs are known long before, and the certificate is that of the last point anyway
TINY, HUGE = 1e-100, 1e145
EPS = float(np.finfo(np.float64).eps)


class ConstrainedRidge(ConvexRegressor):
    r"""Least squares with an L2 constraint: the norm of the coefficients is at most ``radius``.

    Objective
    ---------
    .. math:: \sum_i s_i (y_i - x_i^\top w - b)^2 \quad \text{subject to} \quad \|w\|_2 \le \text{radius}

    The solution is that of `Ridge` with the strength ``alpha_``, the multiplier of :math:`\|w\|^2`; zero where the limit does not
    bind.

    Certificate
    -----------
    DualityGapCertificate: no coefficients within the radius lower the objective by more than ``gap``. It speaks of the objective
    plus ``alpha_`` times what the squared length lacks to its limit, which no feasible coefficients can have below the optimum.

    Cost
    ----
    One pass of O(n p^2), one eigendecomposition of O(p^3), and O(p) for each step of the secular equation.

    See Also
    --------
    Ridge : The strength is given, and the length follows.

    Examples
    --------
    >>> from qed.linear_model import ConstrainedRidge
    >>> model = ConstrainedRidge(0.5, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_.round(9).tolist(), round(model.alpha_, 9)
    ([0.5], 5.0)
    """

    radius: NonNegative = param(1.0, "Largest length of the coefficients.")
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether to fit an intercept, which is not limited.")
    tol: NonNegative = param(1e-9, "Largest accepted gap, relative to the objective of the intercept alone.")

    alpha_: float = fitted("Strength of the penalty that gives the same coefficients.", low=0)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = TrainingData.of(self._fit_data(X, y, sample_weight, finite=False), centred=self.fit_intercept)
        _require_narrow(self, rows)
        _require_radius(self)
        with one_blas_thread(rows.share.size * rows.mean.size):
            gram, q, level = _products(rows, intercept=self.fit_intercept)
            values, vectors = np.linalg.eigh(gram)
            along = vectors.T @ q
            strength = _secular(np.maximum(values, 0.0), along, float(self.radius))
            keep = values + strength > EPS * len(q) * max(float(values[-1]) if len(q) else 0.0, 1e-300)
            w = vectors @ np.where(keep, along / np.where(keep, values + strength, 1.0), 0.0)
            length = float(np.linalg.norm(w))
            if length > self.radius:
                w = w * (self.radius / length) * (1 - EPS)
            declared = ObjectiveSpec(Squared(rows.y), L2(strength), 2.0 * rows.weight)
            problem = rows.problem(declared, intercept=self.fit_intercept)
            slack = 0.5 * strength * (self.radius**2 - float(w @ w))
            self.alpha_ = float(strength * rows.weight)
            _store(self, problem, w, level, slack, rows, declared.unit)
        self.solver_used_ = "secular equation"


class ConstrainedLasso(ConvexRegressor):
    r"""Least squares with an L1 constraint: the absolute values of the coefficients sum to at most ``radius``.

    Objective
    ---------
    .. math:: \frac{1}{2 \sum_i s_i} \sum_i s_i (y_i - x_i^\top w - b)^2
              \quad \text{subject to} \quad \|w\|_1 \le \text{radius}

    The solution is that of `Lasso` with the strength ``alpha_``, the multiplier of :math:`\|w\|_1`; zero where the limit does not
    bind.

    Certificate
    -----------
    DualityGapCertificate: no coefficients within the radius lower the objective by more than ``gap``. It speaks of the objective
    plus ``alpha_`` times what the sum lacks to its limit, which no feasible coefficients can have below the optimum.

    Cost
    ----
    Some lasso fits on the products of the columns, O(n p^2) once and O(p^2) a pass: on each segment of the path the sum is
    linear in the strength, so that few are needed.

    See Also
    --------
    Lasso : The strength is given, and the sum follows.

    Examples
    --------
    >>> from qed.linear_model import ConstrainedLasso
    >>> model = ConstrainedLasso(0.8, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_.round(9).tolist(), round(model.alpha_, 9)
    ([0.8], 0.5)
    """

    radius: NonNegative = param(1.0, "Largest sum of the absolute values of the coefficients.")
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether to fit an intercept, which is not limited.")
    tol: NonNegative = param(1e-9, "Largest accepted gap, relative to the objective of the intercept alone.")
    max_iter: PositiveInt = param(100_000, "Most passes of coordinate descent.")

    alpha_: float = fitted("Strength of the penalty that gives the same coefficients.", low=0)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = TrainingData.of(self._fit_data(X, y, sample_weight, finite=False), centred=self.fit_intercept)
        _require_narrow(self, rows)
        with (
            one_blas_thread(rows.share.size * rows.mean.size),
            Progress("ConstrainedLasso", self.max_iter) as progress,
        ):
            gram, q, level = _products(rows, intercept=self.fit_intercept)
            strength, w = self._search(rows, gram, q, progress)
            declared = ObjectiveSpec(Squared(rows.y), L1(strength), 1.0)
            problem = rows.problem(declared, intercept=self.fit_intercept)
            total = float(np.abs(w).sum())
            if total > self.radius:
                w = w * (self.radius / total) * (1 - EPS)
            slack = strength * max(float(self.radius) - float(np.abs(w).sum()), 0.0)
            self.alpha_ = float(strength)
            _store(self, problem, w, level, slack, rows, 1.0)
        self.solver_used_ = "coordinate descent along the path"

    def _search(self, rows: TrainingData, gram: Vector, q: Vector, progress: Progress) -> tuple[float, Vector]:
        """Find the strength at which the sum meets its limit: between two strengths, along segments where it is linear."""
        radius, low, high = float(self.radius), 0.0, float(np.abs(q).max(initial=0.0))
        least = np.asarray(np.linalg.lstsq(gram, q, rcond=None)[0], dtype=np.float64)
        if np.abs(least).sum() <= radius:
            return 0.0, least
        if radius == 0.0:
            return high, np.zeros_like(q)
        strength, w = 0.5 * high, np.zeros_like(q)
        for _ in range(STEPS):
            w = self._lasso(rows, strength, w, progress)
            used = np.flatnonzero(w)
            total = float(np.abs(w).sum())
            low, high = (strength, high) if total > radius else (low, strength)
            guess = strength
            if len(used):
                sign = np.sign(w[used])
                fit, fall = np.linalg.lstsq(gram[np.ix_(used, used)], np.column_stack([q[used], sign]), rcond=None)[0].T
                pull = float(sign @ fall)
                guess = (float(sign @ fit) - radius) / pull if pull > 0 else strength
                there = fit - guess * fall
                rest = np.abs(q - gram[:, used] @ there)
                same = np.all(there * sign >= 0) and np.all(np.delete(rest, used) <= guess * (1 + 1e-12))
                if guess >= 0 and same:
                    exact = np.zeros_like(q)
                    exact[used] = there
                    return guess, exact
            strength = guess if low < guess < high else 0.5 * (low + high)
        return strength, w

    def _lasso(self, rows: TrainingData, strength: float, w: Vector, progress: Progress) -> Vector:
        declared = ObjectiveSpec(Squared(rows.y), L1(strength))
        problem = rows.problem(declared, intercept=self.fit_intercept)
        level = problem.null_point[1]
        most = min(self.max_iter, PASSES)
        found = solve(problem, CoordinateDescent(), tol=1e-10, max_iter=most, progress=progress, start=(w, level))
        return found.w


def _products(rows: TrainingData, *, intercept: bool) -> tuple[Vector, Vector, float]:
    """Return mean products of the columns with each other and with the target, centred if asked, and the target's mean."""
    centre = rows.mean if intercept else None
    table = design(rows.X)
    level = float(rows.share @ rows.y) if intercept else 0.0
    return table.gram(rows.share, centre), table.adjoint_product(rows.share * (rows.y - level), centre), level


def _require_narrow(model: Any, rows: TrainingData) -> None:
    p = rows.X.shape[1]
    if p > LARGEST:
        raise InvalidData(
            f"{type(model).__name__} makes a table of all pairs of columns, and {p} columns are more than {LARGEST}. Choose"
            " columns, or use a penalty: Ridge and Lasso take any number of columns."
        )


def _require_radius(model: Any) -> None:
    if model.radius and not TINY < model.radius < HUGE:
        raise InvalidParameter(
            f"{type(model).__name__}.radius must be 0 or lie between {TINY:g} and {HUGE:g}, where its square is a number, got"
            f" {model.radius:g}. LinearRegression has no limit at all."
        )


def _secular(values: Vector, along: Vector, radius: float) -> float:
    """Return the least strength >= 0 at which the coefficients are no longer than the radius: Newton on one over the length."""
    used = np.abs(along) > 0
    values, along = values[used], along[used]
    if not len(along):
        return 0.0
    top = float(values.max())
    free = values > EPS * len(values) * top
    if np.linalg.norm(along[free] / values[free]) <= radius:
        return 0.0  # directions without any spread say nothing about the target
    if radius == 0.0:
        return float(np.linalg.norm(along)) / EPS
    low, high = 0.0, float(np.linalg.norm(along)) / radius
    strength = 0.0 if free.all() else EPS * top
    for _ in range(STEPS):
        shrunk = along / (values + strength)
        largest = float(np.max(np.abs(shrunk)))
        shares = shrunk / largest  # squares of what is tiny itself would vanish
        length = largest * float(np.linalg.norm(shares))
        low, high = (strength, high) if length > radius else (low, strength)
        slope = float(np.sum(shares**2 / (values + strength))) / float(shares @ shares)
        new = strength + (length / radius - 1) / slope
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - strength) <= 2 * EPS * max(new, EPS * top):
            return new
        strength = new
    return strength


def _store(
    model: Any, problem: Problem, w: Vector, level: float, slack: float, rows: TrainingData, unit: float
) -> None:
    """Keep coefficients and proof: the gap of the penalised problem, and what is left of the limit at that price."""
    null = problem.null_objective
    gap = problem.certify(w, level, target=0.01 * model.tol * null)
    require_finite_objective(type(model).__name__, unit * gap.objective, unit * null)
    model.coef_ = np.ascontiguousarray(w)
    model.intercept_ = float(level - rows.mean @ w) if model.fit_intercept else 0.0
    model.n_iter_ = 1
    value = gap.value + max(slack, 0.0)
    reached = value - gap.rounding <= model.tol * null
    model.certificate_ = DualityGapCertificate(
        gap=unit * value,
        rounding=unit * gap.rounding,
        objective=unit * gap.objective,
        null_objective=unit * null,
        tol=float(model.tol),
        radius=gap.radius,
        outcome="solved" if reached else "stalled",
        fingerprint=rows.seen,
    )
