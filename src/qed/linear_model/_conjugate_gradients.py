"""Least squares by products alone: for designs whose ``p x p`` matrix is never worth making.

Conjugate gradients on the normal equations, which are never formed: each step costs one product with the design and one with
its transpose. Columns are scaled to equal length when a penalty makes the answer unique; without one the scale is left
alone, because then the iterates stay in the row space and their limit is the shortest solution.

The gap needs no second solver. With a penalty, ``P(w) - min P <= ‖g‖² / alpha``, since the curvature is at least ``alpha``;
without one, ``2 Σ_j |g_j| |step_j|`` for steps up to a radius, since ``P`` is convex. With a penalty and fewer rows than
columns the iteration runs on the dual, ``(K + alpha I) a = ỹ``, where what is left of the equations is itself the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import Fingerprint
from qed.designs import Dense, Sparse, Standardised
from qed.linear_model._dual import certified
from qed.linear_model._quadratic import UNIT
from qed.linear_model._solve import Fit, Proof, in_single

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._events import Progress
    from qed.designs import Design
    from qed.linear_model._dual import Wide
    from qed.linear_model._quadratic import Penalty

    Array = NDArray[np.float64]


RISE = 1e-8  # relative rise of an objective that only rounding can explain


@dataclass(frozen=True, eq=False)
class Products:
    """A least-squares problem known by the products of its design, columns centred, with weights and targets."""

    design: Design  # centred
    mean_x: Array
    mean_y: Array
    y: Array  # (n, m), centred, not weighted
    s: Array | None  # (n, 1), None for ones
    weight: float  # their sum
    length: Array  # (p,), weighted lengths of the columns
    whole: Array  # (p,), the same before centring: sparse products centre after they are summed, and round accordingly
    plain: Dense | Sparse  # not centred; the products of its absolute values bound rounding
    has_intercept: bool

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, *, intercept: bool) -> Products:
        """Centre the columns, if there is an intercept, without touching them."""
        n, p = X.shape
        s = np.ones(n) if weight is None else weight
        total = float(s.sum())
        plain = Dense(X) if isinstance(X, np.ndarray) else Sparse(X)
        mean_x, mean_y = np.zeros(p), np.zeros(y.shape[1])
        if intercept:
            mean_x, mean_y = plain.T @ s / total, y[0] + s @ (y - y[0]) / total
        centred = Standardised(plain, mean_x) if intercept else plain
        length = centred.column_norms(weight)
        whole = np.hypot(length, np.sqrt(total) * mean_x)  # what centring took off comes back
        column = None if weight is None else weight[:, None]
        return cls(centred, mean_x, mean_y, y - mean_y, column, total, length, whole, plain, intercept)

    def fingerprint(self) -> Fingerprint:
        """Recognise the data, whose means and lengths are known; only with an intercept are the lengths centred."""
        rows = len(self.y) if self.s is None else int(np.count_nonzero(self.s))
        spread = np.concatenate([self.length**2, self.size(self.y) ** 2])
        return Fingerprint(rows, self.weight, np.concatenate([self.mean_x, self.mean_y]), spread)

    def weighted(self, r: Array) -> Array:
        """Return numbers, one per row of the data, times the weights of the rows."""
        return r if self.s is None else self.s * r

    def squares(self, r: Array) -> Array:
        """Return the weighted squared lengths of columns of numbers, one per row of the data."""
        return np.asarray(np.einsum("nm,nm->m", r, self.weighted(r)))

    def size(self, r: Array) -> Array:
        """Return the weighted lengths of such columns."""
        return np.asarray(np.sqrt(self.squares(r)))

    def gradient(self, r: Array, v: Array, alpha: Array) -> Array:
        """Return half the downhill gradient at residuals ``r`` and step ``v`` from the prior."""
        return self.design.T @ self.weighted(r) - alpha * v


@dataclass(eq=False)
class _State:
    """Where the iteration stands: step from the prior, residuals, gradient, direction, and the path so far."""

    v: Array
    r: Array
    g: Array
    d: Array
    gamma: Array
    value: Array  # (m,), lowest objective so far
    lengths: list[float] = field(default_factory=list)  # of the steps for the first target
    turns: list[float] = field(default_factory=list)

    @property
    def condition(self) -> float:
        """Estimate the condition number of the scaled design from the tridiagonal matrix that the steps define."""
        k = min(len(self.lengths), 256)
        a, c = np.array(self.lengths[:k]), np.array(self.turns[:k])
        if k == 0 or not np.all(a > 0):
            return 1.0
        T = np.diag(1 / a)
        T[np.arange(1, k), np.arange(1, k)] += c[: k - 1] / a[: k - 1]
        T[np.arange(1, k), np.arange(k - 1)] = np.sqrt(np.maximum(c[: k - 1], 0.0)) / a[: k - 1]
        values = np.linalg.eigvalsh(T)  # reads the lower triangle
        return float(np.sqrt(values[-1] / max(values[0], values[-1] * UNIT)))


def from_products(
    problem: Products,
    penalty: Penalty,
    *,
    tol: float,
    max_iter: int,
    start: Array | None,
    progress: Progress,
    single: float | None = None,
) -> tuple[Fit, int]:
    """Iterate until the gap is within ``tol`` of the null model's objective; return the fit and the number of steps.

    Ctrl-C and callbacks end the iteration with what it has: ``Fit.outcome`` says so.
    """
    rhs = problem.y - (problem.design @ penalty.prior if np.any(penalty.prior) else 0.0)
    null = problem.squares(rhs)
    squared = problem.length[:, None] ** 2 + penalty.alpha
    scale = np.where(penalty.alpha > 0, 1 / np.where(squared > 0, squared, 1.0), 1.0)
    v = np.zeros_like(penalty.prior) if start is None else start - penalty.prior
    r = rhs - problem.design @ v if start is not None else rhs.copy()
    g = problem.gradient(r, v, penalty.alpha)
    at_null = g if start is None else problem.gradient(rhs, np.zeros_like(v), penalty.alpha)
    first = np.linalg.norm(at_null, axis=0)
    state = _State(v, r, g, scale * g, np.einsum("pm,pm->m", g, scale * g), _value(problem, penalty, v, r))
    outcome, steps = "max_iter", 0
    # With a penalty the gap falls with the square of the gradient: a few more steps bring it far below what was asked.
    aim = np.where(penalty.alpha > 0, min(tol, max(tol**2, 1e-12)), tol) * null
    patience = _Patience()
    try:
        while steps < max_iter:
            gap = _gap(problem, penalty, state.v + penalty.prior, state.g)[0]
            small = np.linalg.norm(state.g, axis=0) <= max(tol, 4 * UNIT) * first
            is_over = ((gap <= aim) & small) | ~(state.gamma > 0)
            if np.all(is_over) or patience.is_over(float(np.sum(gap))):
                outcome = "solved"  # or as close as rounding allows, which the certificate then says
                break
            _advance(problem, penalty, state, scale)
            steps += 1
            if progress.step(float(np.sum(gap) / max(np.sum(null), 1e-300))) is not None:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    null_objective, condition = float(np.sum(null)), state.condition
    fit = in_single(
        lambda w: _certified(problem, penalty, w, null_objective, condition), state.v + penalty.prior, single
    )
    return replace(fit, outcome=outcome), steps


def from_wide_products(
    wide: Wide, penalty: Penalty, *, tol: float, max_iter: int, progress: Progress, single: float | None = None
) -> tuple[Fit, int]:
    """Iterate on the dual until what is left of its equations is the gap asked for; all strengths must be positive."""
    rhs = wide.balanced(wide.y - (wide.dot(penalty.prior) if np.any(penalty.prior) else 0.0))
    null = np.einsum("nm,nm->m", rhs, rhs)
    aim = min(tol, max(tol**2, 1e-12)) * null
    a, left = np.zeros_like(rhs), rhs.copy()
    d, gamma = left, null
    outcome, steps = "max_iter", 0
    try:
        while steps < max_iter:
            if np.all(gamma <= aim):  # gamma is the squared length of what is left: the gap
                outcome = "solved"
                break
            q = wide.balanced(wide.dot(wide.adjoint(d))) + penalty.alpha * d
            length = gamma / np.maximum(np.einsum("nm,nm->m", d, q), np.finfo(float).tiny)
            a, left = a + length * d, left - length * q
            before, gamma = gamma, np.einsum("nm,nm->m", left, left)
            d = left + gamma / np.maximum(before, np.finfo(float).tiny) * d
            steps += 1
            if progress.step(float(np.sum(gamma) / max(np.sum(null), 1e-300))) is not None:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    # not centred: sparse products centre after they are summed, and round accordingly
    size = np.linalg.norm(wide.design.column_norms(wide.root[:, 0] ** 2))
    known = replace(wide, length=1.001 * float(size))
    condition = float(np.sqrt(known.length**2 / np.min(penalty.alpha) + 1))
    fit, _ = certified(known, penalty, rhs, wide.balanced(a), condition)
    if single is not None:
        fit = in_single(lambda w: certified(known, penalty, rhs, wide.balanced(a), condition, w)[0], fit.w, single)
    return replace(fit, outcome=outcome, solver="dual conjugate gradients"), steps


@dataclass(eq=False)
class _Patience:
    """Notices that rounding has taken over: no halving of the gap in so many steps."""

    steps: int = 1000
    best: float = np.inf
    since: int = 0

    def is_over(self, gap: float) -> bool:
        if gap < 0.5 * self.best:
            self.best, self.since = gap, 0
        else:
            self.since += 1
        return self.since > self.steps


def _advance(problem: Products, penalty: Penalty, state: _State, scale: Array) -> None:
    """Take one step; the state changes only at its end, so that an interrupt leaves it whole.

    In exact arithmetic every step lowers the objective. A target whose objective rises has met its rounding: it stays where
    it is and takes no further step, whatever the other targets still have to do.
    """
    q = problem.design @ state.d
    curvature = problem.squares(q) + penalty.alpha * np.einsum("pm,pm->m", state.d, state.d)
    length = np.divide(state.gamma, curvature, out=np.zeros_like(curvature), where=curvature > 0)
    v = state.v + length * state.d
    q *= -length  # has served its turn: its memory becomes the residuals
    r = np.add(q, state.r, out=q)
    value = _value(problem, penalty, v, r)
    is_lost = ~(value <= (1 + RISE) * state.value)
    if np.any(is_lost):
        v, r = np.where(is_lost, state.v, v), np.where(is_lost, state.r, r)
    g = problem.gradient(r, v, penalty.alpha)
    z = scale * g
    gamma = np.where(is_lost, 0.0, np.einsum("pm,pm->m", g, z))
    turn = np.divide(gamma, state.gamma, out=np.zeros_like(gamma), where=state.gamma > 0)
    state.v, state.r, state.g, state.d, state.gamma = v, r, g, z + turn * state.d, gamma
    state.value = np.where(is_lost, state.value, np.minimum(value, state.value))
    state.lengths.append(float(length[0]))
    state.turns.append(float(turn[0]))


def _value(problem: Products, penalty: Penalty, v: Array, r: Array) -> Array:
    """Return the objective of each target at step ``v`` from the prior, where the residuals are ``r``."""
    return np.asarray(problem.squares(r) + penalty.alpha * np.einsum("pm,pm->m", v, v))


def _gap(problem: Products, penalty: Penalty, w: Array, g: Array, *, joint: bool = False) -> tuple[Array, Array]:
    """Bound ``P(w)`` minus its minimum for each target; also return the radius, zero standing for none needed.

    Each target has a radius of its own while the iteration runs; a certificate states one for all, the ``joint`` one.
    """
    if np.all(penalty.alpha > 0):
        return np.einsum("pm,pm->m", g, g) / penalty.alpha, np.zeros(len(penalty.alpha))
    length = np.where(problem.length > 0, problem.length, 1.0)[:, None]
    norm = np.linalg.norm(g, axis=0)
    reach = 10 * (np.linalg.norm(problem.length[:, None] * w, axis=0) + problem.size(problem.y))
    reach = np.full_like(reach, np.max(reach, initial=0.0)) if joint else reach
    convex = 2 * np.linalg.norm(np.where(problem.length[:, None] > 0, g, 0.0) / length, axis=0) * reach
    strong = np.divide(norm**2, penalty.alpha, out=np.full_like(norm, np.inf), where=penalty.alpha > 0)
    is_strong = penalty.alpha > 0
    return np.where(is_strong, strong, convex), np.where(is_strong, 0.0, reach)


def _certified(problem: Products, penalty: Penalty, w: Array, null: float, condition: float) -> Fit:
    """Certify what will be stored, from products computed afresh."""
    r = problem.y - problem.design @ w
    weight = problem.weight
    mean_r = problem.weighted(r).sum(axis=0) / weight if problem.has_intercept else np.zeros(r.shape[1])
    b = problem.mean_y - problem.mean_x @ w + mean_r
    r = r - mean_r
    g = problem.gradient(r, w - penalty.prior, penalty.alpha)
    n, p = problem.design.shape
    squares = problem.squares(r)
    # what the residuals were subtracted from: |X||w| + |mean||w| + |y|, row by row
    sizes = np.abs(w)
    whole = problem.size(problem.plain.absolute_product(sizes) + np.abs(problem.mean_x) @ sizes + np.abs(problem.y))
    slack = (n + p + 16) * UNIT * np.multiply.outer(problem.whole, whole)
    slack += 4 * UNIT * penalty.alpha * np.abs(w - penalty.prior)
    exact, _ = _gap(problem, penalty, w, g, joint=True)
    gap, reach = _gap(problem, penalty, w, np.abs(g) + slack, joint=True)
    off = np.zeros_like(squares)
    if problem.has_intercept:
        off = np.abs(problem.mean_y - problem.mean_x @ w + mean_r - b)
        off += (n + p) * UNIT * (np.abs(problem.mean_y) + np.abs(problem.mean_x) @ np.abs(w) + whole / np.sqrt(weight))
    size = np.sqrt(np.sum(problem.length**2))
    residual = np.sqrt(squares + penalty.value(w))
    error = np.minimum(
        np.linalg.norm(np.abs(g) + slack, axis=0) / np.where(residual * size > 0, residual * size, 1.0),
        residual / np.where(whole > 0, whole, 1.0),
    )
    proof = Proof(
        gap=float(np.sum(gap + weight * off**2)),
        rounding=float(np.sum(gap - exact + weight * off**2)),
        objective=float(np.sum(squares + penalty.value(w))),
        null_objective=null,
        backward_error=float(np.max(error, initial=0.0)),
        radius=float(np.max(reach)) if np.any(reach) else np.inf,
        condition=condition,
        rank=min(n, p),
    )
    return Fit(w, b, squares, proof, "conjugate gradients")
