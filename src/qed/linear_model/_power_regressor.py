"""Regression by a power of the error: from the median to the middle of the range."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import Absolute, Power, Squared, Zero
from qed.convex.solvers import InteriorPoint, Newton, NewtonCG
from qed.core import KW_ONLY, InvalidData, NonNegative, NonNegativeInt, PositiveInt, param
from qed.core._errors import tell_unreached
from qed.core._events import STOP, Progress
from qed.core._rules import Number
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.designs._range import require_finite_objective
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_rows

REACH = 10.0
ROUNDS = 50  # of ever smaller tolerances
HIGHEST, DIGITS = 100.0, 200.0  # power, and decimal digits of powers of errors, that are computed with
AtLeastOne = Annotated[float, Number(low=1, infinite=True)]


class PowerRegressor(ConvexRegressor):
    r"""Lp regression: least absolute deviations (p = 1), least squares (p = 2), minimax (p infinite), or any power between.

    Objective
    ---------
    .. math:: \frac{1}{p \sum_i s_i} \sum_i s_i \, |y_i - x_i^\top w - b|^p,
              \qquad \text{or } \max_i |y_i - x_i^\top w - b| \text{ for an infinite } p

    Certificate
    -----------
    DualityGapCertificate: no coefficients within a radius lower the objective by more than ``gap``. For p = 1 and for an infinite
    p it keeps a dual variable for each row; these of an infinite p are weights, orthogonal to the columns, whose product with
    the target bounds the largest error of every hyperplane.

    Cost
    ----
    A few passes of O(n p^2); for p = 1 as `QuantileRegressor`; for an infinite p linear programs of some
    rows, to which those that stick out are added, with one pass of O(n p) each.

    See Also
    --------
    QuantileRegressor : Other quantiles than the median, and few coefficients.

    Notes
    -----
    A constant fitted by itself is the median for p = 1, the mean for p = 2 and the middle of the range for an infinite p. The
    larger p, the more the worst rows decide. For an infinite p a weight only says whether a row counts.

    Examples
    --------
    >>> from qed.linear_model import PowerRegressor
    >>> X, y = [[0.0]] * 3, [0.0, 1.0, 8.0]
    >>> [round(float(PowerRegressor(p).fit(X, y).intercept_), 6) for p in (1.0, 2.0, float("inf"))]
    [1.0, 3.0, 4.0]
    """

    p: AtLeastOne = param(2.0, "The power, from 1 to infinity.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    tol: NonNegative = param(
        1e-7,
        "Largest accepted gap, relative to the objective of the intercept alone. For p > 2 steps go on until the gap is within it"
        " of the objective itself, which is often smaller by many powers of ten.",
    )
    max_iter: PositiveInt = param(1000, "Most steps of the solver.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = TrainingData.of(self._fit_data(X, y, sample_weight, finite=False), centred=self.fit_intercept)
        options = FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        if np.isinf(self.p):
            _least_largest(self, rows)
            return
        power = float(self.p)
        _require_power(rows, power, intercept=self.fit_intercept)
        loss: Any = Absolute(rows.y) if power == 1 else Squared(rows.y) if power == 2 else Power(rows.y, power)
        solvers: list[Any] = [InteriorPoint()] if power == 1 else [Newton(), NewtonCG()]

        def learn(options: FitOptions, start: Any = None) -> None:
            learn_rows(
                self, rows, declare=lambda _: ObjectiveSpec(loss, Zero()), solvers=solvers, options=options, start=start
            )

        learn(options)
        found, steps = self.certificate_, int(self.n_iter_)
        # a high power of the null model's errors is so much larger than the optimum that tol of it says nothing
        for _ in range(ROUNDS if power > 2 else 0):
            if found.outcome != "solved" or found.gap - found.rounding <= self.tol * found.objective:
                break
            near = 0.1 * self.tol * found.objective / found.null_objective
            learn(
                options._replace(tol=near, max_iter=max(self.max_iter - steps, 1), strict=False),
                (self.coef_, self.intercept_),
            )
            found, steps = self.certificate_, steps + int(self.n_iter_)
        outcome = "solved" if found.reached and found.outcome == "stalled" else found.outcome
        self.certificate_, self.n_iter_ = replace(found, tol=float(self.tol), outcome=outcome), steps


def _require_power(rows: TrainingData, power: float, *, intercept: bool) -> None:
    """Refuse powers of errors that float64 does not hold."""
    low, high = (float(rows.y.min()), float(rows.y.max())) if intercept else (0.0, float(np.abs(rows.y).max()))
    size = max(high - low, 0.0)
    if power > HIGHEST or (size > 0 and not -0.5 * DIGITS < power * np.log10(2.0 * size) < DIGITS):
        raise InvalidData(
            f"PowerRegressor.p={power:g} of errors up to {size:.3g} leaves float64's range. Divide the target by {size:.0e}, take"
            f" a power of {HIGHEST:g} at most, or p=inf: high powers come close to it."
        )


def _least_largest(model: Any, rows: TrainingData) -> None:
    """Solve the linear program: the least h with ``-h <= y - Xw - b <= h``, whose dual variables prove it."""
    table = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    n = len(rows.y)
    centre = rows.mean if model.fit_intercept else np.zeros(table.shape[1])
    size = rows.length if model.fit_intercept else np.hypot(rows.length, rows.mean)
    size = np.where(size > 0, size, 1.0)
    A = (np.asarray(table, dtype=np.float64) - centre) / size
    level = 0.5 * float(rows.y.min() + rows.y.max()) if model.fit_intercept else 0.0
    target = rows.y - level
    if model.fit_intercept:
        A = np.hstack([A, np.ones((n, 1))])
    unit = float(np.abs(target).max(initial=0.0)) or 1.0
    with one_blas_thread(A.size):
        found = _exchanged(A, target / unit, int(model.max_iter), int(model.verbose))
    dual, w = found.dual, found.w * unit
    coef = w[: len(size)] / size
    model.coef_ = np.ascontiguousarray(coef)
    model.intercept_ = float(level + w[-1] - centre @ coef) if model.fit_intercept else 0.0
    height = float(np.max(np.abs(rows.y - (table @ coef + model.intercept_)), initial=0.0))
    proved, radius, rounding = _proved_height(A, target, dual, w, height)
    # errors are measured at the intercept as it is stored, in numbers as large as the targets and what is predicted
    sizes = np.abs(rows.y) + np.abs(table) @ np.abs(coef) + abs(model.intercept_)
    rounding += 2 * (len(size) + 4) * 2.0**-53 * float(np.max(sizes, initial=0.0))
    model.n_iter_, model.solver_used_ = found.rounds, "linear program"
    null = float(np.abs(target).max(initial=0.0))
    require_finite_objective("PowerRegressor", height, null)
    gap = max(height - proved, 0.0) + rounding
    outcome = "solved" if gap - rounding <= model.tol * null and found.outcome != "interrupted" else found.outcome
    model.certificate_ = DualityGapCertificate(
        gap=gap,
        rounding=rounding,
        objective=height,
        null_objective=null,
        tol=float(model.tol),
        radius=radius,
        outcome=outcome,
        fingerprint=rows.seen,
        dual=dual,
    )
    if outcome == "interrupted":
        raise KeyboardInterrupt
    if not model.certificate_.reached and (model.strict or outcome == "max_iter"):
        tell_unreached(
            f"PowerRegressor stopped at a relative gap of {model.certificate_.relative_gap:.2e}, above tol={model.tol:.1e}"
            f" ({outcome}). The model so far is stored; raise max_iter or tol",
            strict=model.strict,
        )


class _Exchange(NamedTuple):
    """Coefficients, the weights of rows that prove them, how many programs were solved, and how it ended."""

    w: Any
    dual: Any
    rounds: int
    outcome: str


def _exchanged(A: Any, target: Any, max_iter: int, verbose: int) -> _Exchange:
    """Solve for few rows, and let those join that are further off than the rest, until none is.

    At most one row more than there are columns decides; what is proved for some rows holds for all.
    """
    from qed.optimize import linear_program  # noqa: PLC0415  other powers do without

    n, k = A.shape
    w = np.linalg.lstsq(A, target, rcond=None)[0]
    error = target - A @ w
    more = min(n, 4 * (k + 1))
    used = np.zeros(n, dtype=bool)
    used[np.argpartition(-np.abs(error), more - 1)[:more]] = True
    cost = np.append(np.zeros(k), 1.0)
    dual, outcome, rounds = np.zeros(n), "max_iter", 0
    with Progress("PowerRegressor", max_iter, verbose=verbose) as progress:
        try:
            for rounds in range(1, max_iter + 1):  # noqa: B007  the last is told
                some = np.flatnonzero(used)
                down = -np.ones((len(some), 1))
                sides = np.vstack([np.hstack([A[some], down]), np.hstack([-A[some], down]), -cost[np.newaxis]])
                limits = np.concatenate([target[some], -target[some], [0.0]])
                start = np.append(w, np.abs(error[some]).max(initial=0.0))
                found = linear_program(cost, sides, limits, start=start, tol=1e-12)
                w, height = found.point[:-1], float(found.point[-1])
                prices = found.multipliers["inequalities"]
                dual = np.zeros(n)
                dual[some] = prices[len(some) : 2 * len(some)] - prices[: len(some)]
                error = target - A @ w
                beyond = np.abs(error) - height * (1 + 1e-13)
                beyond[used] = -np.inf
                count = min(int(np.count_nonzero(beyond > 1e-13)), 2 * (k + 1))
                if not count:
                    outcome = "stalled"  # all rows have been heard; what is left is rounding
                    break
                used[np.argpartition(-beyond, count - 1)[:count]] = True
                if progress.step(float(beyond.max(initial=0.0))) is STOP:
                    outcome = "stopped"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
    return _Exchange(w, dual, rounds, outcome)


def _proved_height(A: Any, target: Any, dual: Any, w: Any, height: float) -> tuple[float, float, float]:
    """Return a height that no coefficients within a radius go below, the radius, and a bound on rounding.

    For weights v with ``A'v = 0`` and ``Σ|v| = 1`` every plane has ``max|y - Aw| >= v·(y - Aw) = v·y``; what is left of A'v is
    charged for coefficients up to the radius.
    """
    eps = float(np.finfo(np.float64).eps)
    total = float(np.abs(dual).sum())
    radius = REACH * max(float(np.abs(w).max(initial=0.0)), float(np.abs(target).max(initial=0.0)), 1e-300)
    rounding = 8 * len(target) * eps * (height + float(np.abs(target).max(initial=0.0)))
    if not total > 0:
        return 0.0, radius, rounding
    v = dual / total
    left = float(np.abs(A.T @ v).sum()) * radius
    return max(float(v @ target) - left, 0.0), radius, rounding
