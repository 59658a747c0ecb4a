"""Regression by a power of the error: from the median to the middle of the range."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from qed.convex import Absolute, Power, Squared, Zero
from qed.convex.solvers import InteriorPoint, Newton, NewtonCG
from qed.core import KW_ONLY, NonNegative, NonNegativeInt, PositiveInt, param
from qed.core._certificates import DualityGapCertificate
from qed.core._rules import Number
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._learn_convex import Declared, Rows, Wish, learn_rows

__all__ = ["PowerRegressor"]

REACH = 10.0
AtLeastOne = Annotated[float, Number(low=1, infinite=True)]


class PowerRegressor(ConvexRegressor):
    r"""Least powers of the error: absolute values for p = 1, squares for p = 2, the largest error for an infinite p.

    Objective
    ---------
    .. math:: \frac{1}{p \sum_i s_i} \sum_i s_i \, |y_i - x_i^\top w - b|^p,
              \qquad \text{or } \max_i |y_i - x_i^\top w - b| \text{ for an infinite } p

    Certificate
    -----------
    DualityGapCertificate: no coefficients within a radius lower the objective by more than ``gap``. For p = 1 and for an infinite
    p it keeps a dual variable for each row; these of an infinite p are weights, orthogonal to the columns, whose product with
    the target bounds the largest error of every plane.

    Cost
    ----
    A few passes of O(n p^2); for p = 1 as `QuantileRegressor`; for an infinite p a linear program of n rows.

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
    fit_intercept: bool = param(True, "Whether to fit an intercept.")
    tol: NonNegative = param(1e-7, "Largest accepted gap, relative to the objective of the intercept alone.")
    max_iter: PositiveInt = param(1000, "Most steps of the solver.")
    strict: bool = param(False, "Whether to raise NotReached when the gap is above tol.")
    verbose: NonNegativeInt = param(0, "How much progress to show: 0 for none.")

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = Rows.of(self._fit_data(X, y, sample_weight, finite=False))
        wish = Wish(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        if np.isinf(self.p):
            _least_largest(self, rows)
            return
        power = float(self.p)
        loss: Any = Absolute(rows.y) if power == 1 else Squared(rows.y) if power == 2 else Power(rows.y, power)
        solvers: list[Any] = [InteriorPoint()] if power == 1 else [Newton(), NewtonCG()]
        learn_rows(self, rows, declare=lambda _: Declared(loss, Zero()), solvers=solvers, wish=wish)


def _least_largest(model: Any, rows: Rows) -> None:
    """Solve the linear program: the least h with ``-h <= y - Xw - b <= h``, whose dual variables prove it."""
    from scipy.optimize import linprog  # noqa: PLC0415  a linear program, which nothing else here asks for

    table = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    n = len(rows.y)
    centre = rows.mean if model.fit_intercept else np.zeros(table.shape[1])
    size = np.where(rows.length > 0, rows.length, 1.0) if model.fit_intercept else np.hypot(rows.length, rows.mean)
    size = np.where(size > 0, size, 1.0)
    A = (np.asarray(table, dtype=np.float64) - centre) / size
    level = 0.5 * float(rows.y.min() + rows.y.max()) if model.fit_intercept else 0.0
    target = rows.y - level
    if model.fit_intercept:
        A = np.hstack([A, np.ones((n, 1))])
    unit = float(np.abs(target).max(initial=0.0)) or 1.0
    sides = np.vstack([np.hstack([A, -np.ones((n, 1))]), np.hstack([-A, -np.ones((n, 1))])])
    cost = np.append(np.zeros(A.shape[1]), 1.0)
    bounds = [(None, None)] * A.shape[1] + [(0, None)]
    found = linprog(cost, sides, np.concatenate([target, -target]) / unit, bounds=bounds, method="highs")
    v = np.asarray(found.ineqlin.marginals)
    dual = v[:n] - v[n:]
    w = found.x[:-1] * unit
    coef = w[: len(size)] / size
    model.coef_ = np.ascontiguousarray(coef)
    model.intercept_ = float(level + w[-1] - centre @ coef) if model.fit_intercept else 0.0
    height = float(np.max(np.abs(rows.y - (table @ coef + model.intercept_)), initial=0.0))
    proved, radius, rounding = _proved_height(A, target, dual, w, height)
    model.n_iter_, model.solver_used_ = int(found.nit), "linear program"
    null = unit if model.fit_intercept else float(np.abs(rows.y).max(initial=0.0))
    gap = max(height - proved, 0.0) + rounding
    model.certificate_ = DualityGapCertificate(
        gap=gap,
        rounding=rounding,
        objective=height,
        null_objective=null,
        tol=float(model.tol),
        radius=radius,
        outcome="solved" if gap - rounding <= model.tol * null else "stalled",
        fingerprint=rows.seen,
        dual=dual,
    )


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
