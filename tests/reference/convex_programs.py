"""Random convex problems, each said three times: for qed, for an interior-point solver, and as a sum in long double.

A problem is made in ordinary units and then moved to awkward ones (columns times 1e-8 to 1e8, offsets up to 1e8, weights
up to 1e6), so that the solver outside can be given the ordinary one and its answer can be translated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from qed import convex
from qed.convex import Problem
from qed.designs import design

LD = np.longdouble


def _positive(x):
    return np.maximum(x, 0)


def _cross_entropy(t, y):
    """Return log(1 + Σ exp(t_k - t_y)) over the other classes: exact however small it is."""
    others = np.exp(t - _of_label(t, y)[:, None])
    others[np.arange(len(t)), y.astype(int)] = 0
    return np.log1p(others.sum(axis=1))


def _half_deviance(t, y):
    """Return exp(t) - y t + y log y - y, exact near zero: y (exp(d) - 1 - d) for d = t - log y."""
    d = t - np.log(np.where(y > 0, y, 1))
    return np.where(y > 0, y * (np.expm1(d) - d), np.exp(t))


def _of_label(t, y):
    return t[np.arange(len(t)), y.astype(int)]


def _taken(t, y):
    """Return the scores of the labels as an expression."""
    return cp.sum(cp.multiply(np.eye(t.shape[1])[y.astype(int)], t), axis=1)


def _deviance(y):
    return np.where(y > 0, y * np.log(np.where(y > 0, y, 1)) - y, 0)


def _classes(t, y):
    """Return one where the class is not the label."""
    return 1.0 - np.eye(t.shape[1])[y.astype(int)]


# name: (kind of target, options, loss of each row in long double, the same as an expression)
LOSSES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "Squared": ("number", {}, lambda t, y: (t - y) ** 2 / 2, lambda t, y: cp.square(t - y) / 2),
    "Huber": (
        "number",
        {"knee": 0.7},
        lambda t, y: np.where(abs(t - y) <= 0.7, (t - y) ** 2 / 2, LD(0.7) * abs(t - y) - LD(0.7) ** 2 / 2),
        lambda t, y: cp.huber(t - y, 0.7) / 2,
    ),
    "Absolute": ("number", {}, lambda t, y: abs(t - y), lambda t, y: cp.abs(t - y)),
    "Quantile": (
        "number",
        {"tau": 0.75},
        lambda t, y: np.maximum((t - y) / 4, 3 * (y - t) / 4),
        lambda t, y: cp.maximum((t - y) / 4, 3 * (y - t) / 4),
    ),
    "EpsilonInsensitive": (
        "number",
        {"epsilon": 0.25},
        lambda t, y: _positive(abs(t - y) - LD(0.25)),
        lambda t, y: cp.pos(cp.abs(t - y) - 0.25),
    ),
    "SquaredEpsilonInsensitive": (
        "number",
        {"epsilon": 0.25},
        lambda t, y: _positive(abs(t - y) - LD(0.25)) ** 2 / 2,
        lambda t, y: cp.square(cp.pos(cp.abs(t - y) - 0.25)) / 2,
    ),
    "Logistic": ("sign", {}, lambda t, y: np.logaddexp(LD(0), -y * t), lambda t, y: cp.logistic(cp.multiply(-y, t))),
    "Hinge": ("sign", {}, lambda t, y: _positive(1 - y * t), lambda t, y: cp.pos(1 - cp.multiply(y, t))),
    "SquaredHinge": (
        "sign",
        {},
        lambda t, y: _positive(1 - y * t) ** 2 / 2,
        lambda t, y: cp.square(cp.pos(1 - cp.multiply(y, t))) / 2,
    ),
    "SmoothedHinge": (
        "sign",
        {"knee": 0.5},
        lambda t, y: np.where(1 - y * t <= 0.5, _positive(1 - y * t) ** 2, 1 - y * t - LD(0.25)),
        lambda t, y: cp.huber(cp.pos(1 - cp.multiply(y, t)), 0.5),
    ),
    "Poisson": (
        "count",
        {},
        _half_deviance,
        lambda t, y: cp.exp(t) - cp.multiply(y, t) + _deviance(y),
    ),
    "Softmax": (
        "class",
        {"n_classes": 3},
        _cross_entropy,
        lambda t, y: cp.log_sum_exp(t, axis=1) - _taken(t, y),
    ),
    "CrammerSinger": (
        "class",
        {"n_classes": 3},
        lambda t, y: (t + _classes(t, y)).max(axis=1) - _of_label(t, y),
        lambda t, y: cp.max(t + _classes(t, y), axis=1) - _taken(t, y),
    ),
}

# name: (strength in ordinary units, what `p` columns are multiplied by, p -> penalty of qed, its value in long double from the
# numbers that qed holds, the same as an expression in ordinary units, constraints)
PENALTIES: dict[str, tuple[Any, Any, Any, Any]] = {
    "L1": (
        lambda a, scale, p: convex.L1(a * scale),
        lambda q, w: LD(q.alpha) * abs(w).sum(),
        lambda a, w: a * cp.sum(cp.abs(w)),
        lambda a, w: [],
    ),
    "L2": (
        lambda a, scale, p: convex.L2(a * scale**2),
        lambda q, w: LD(q.alpha) / 2 * (w**2).sum(),
        lambda a, w: a / 2 * cp.sum_squares(w),
        lambda a, w: [],
    ),
    "Prior": (
        lambda a, scale, p: convex.L2(a * scale**2, 0.5 / scale),
        lambda q, w: LD(q.alpha) / 2 * ((w - LD(q.prior)) ** 2).sum(),
        lambda a, w: a / 2 * cp.sum_squares(w - 0.5),
        lambda a, w: [],
    ),
    "ElasticNet": (
        lambda a, scale, p: convex.ElasticNet(a * scale, a / 3 * scale**2),
        lambda q, w: LD(q.alpha) * abs(w).sum() + LD(q.ridge) / 2 * (w**2).sum(),
        lambda a, w: a * cp.sum(cp.abs(w)) + a / 6 * cp.sum_squares(w),
        lambda a, w: [],
    ),
    "Group": (
        lambda a, scale, p: convex.Group(a * scale, np.arange(p) // 2),
        lambda q, w: LD(q.alpha) * sum(np.sqrt((w[at : at + 2] ** 2).sum()) for at in range(0, len(w), 2)),
        lambda a, w: a * cp.sum([cp.norm(cp.vec(w[at : at + 2], order="C")) for at in range(0, w.shape[0], 2)]),
        lambda a, w: [],
    ),
    "Zero": (lambda a, scale, p: convex.Zero(), lambda q, w: LD(0), lambda a, w: 0.0, lambda a, w: []),
    "Nonnegative": (
        lambda a, scale, p: convex.Nonnegative(convex.L1(a * scale)),
        lambda q, w: LD(q.other.alpha) * abs(w).sum(),
        lambda a, w: a * cp.sum(w),
        lambda a, w: [w >= 0],
    ),
    "Box": (
        lambda a, scale, p: convex.Box(-a / scale, 2 * a / scale),
        lambda q, w: LD(0),
        lambda a, w: 0.0,
        lambda a, w: [w >= -a, w <= 2 * a],
    ),
}
KINKED = ("L1", "ElasticNet", "Nonnegative")  # what is zero stays zero while the rest is polished


@dataclass(frozen=True)
class Said:
    """A problem of qed, and how its objective is summed by hand.

    Attributes
    ----------
    problem : Problem
        For qed, in awkward units.
    X, y, s : ndarray
        The rows behind it, and weights.
    scale : float
        What ordinary columns were multiplied by.
    best : tuple of (w, b)
        The point of the solver outside; None where it found none.
    u : ndarray or None
        Its dual point.
    """

    problem: Problem
    loss: str
    penalty: str
    strength: float
    X: Any
    y: Any
    s: Any
    scale: float
    best: Any
    u: Any

    def objective(self, w: Any, b: Any) -> Any:
        """Sum the objective at w and b, of the columns as qed centres them, in long double."""
        centre = 0 if self.problem.centre is None else self.problem.centre.astype(LD)
        level, y = np.asarray(b, dtype=LD), self.y.astype(LD)
        if LOSSES[self.loss][0] == "number":  # offsets cancel before they can hide anything
            level, y = level - y, np.zeros_like(y)
        t = (self.X.astype(LD) - centre) @ w.astype(LD) + level
        c = self.s.astype(LD) / self.s.astype(LD).sum()
        whole = PENALTIES[self.penalty][1](self.problem.penalty, w.astype(LD))
        return c @ LOSSES[self.loss][2](t, y) + whole

    def within(self, w: Any, other: Any, radius: float) -> bool:
        """Say whether a point is within the radius of another."""
        spans = self.problem.spans if w.ndim == 1 else self.problem.spans[:, None]
        return bool(np.all(np.abs(w - other) * spans <= radius))


def say(seed: int, loss: str, penalty: str) -> Said:
    """Make one problem."""
    random = np.random.default_rng(seed)
    kind, options, _, expression = LOSSES[loss]
    n, p = [(30, 4), (12, 20), (40, 6), (25, 1), (3, 2)][random.integers(5)]
    X = random.normal(size=(n, p)) * 10.0 ** random.uniform(-0.5, 0.5, p)
    if p > 3 and random.random() < 0.4:
        X[:, 1], X[:, 2] = X[:, 0], 0.0  # twins, and a column of nothing
    signal = X @ (random.normal(size=p) * (random.random(p) < 0.5)) + random.normal()
    y = _targets(random, kind, signal)
    s = [np.ones(n), random.integers(1, 5, n).astype(float), np.exp(random.uniform(0, np.log(1e6), n))][
        random.integers(3)
    ]
    intercept, strength = bool(random.random() < 0.6), 10.0 ** random.uniform(-4, 0)
    scale = 10.0 ** random.choice([0.0, 0.0, -8.0, 8.0])
    shift = random.choice([0.0, 1.0, 1e8]) if intercept else 0.0
    best, u = _outside(X, y, s, intercept, strength, expression, penalty)
    choice = random.choice(["double", "double", "double", "single", "sparse"])
    shift = min(shift, 1.0) if choice == "single" else shift  # 1e8 would leave no digits for anything else
    columns = _moved(choice, (X + shift * random.normal(size=p)) * scale)
    dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
    share = s / s.sum()
    centre = share @ dense.astype(float) if intercept else None
    if loss == "Squared" and random.random() < 0.3:
        y = y + random.choice([1.0, 1e8]) if intercept else y
        best = (
            None  # another problem, whose answer the ordinary one gives by a shift: the bounds must see it themselves
        )
    model = getattr(convex, loss)(y, **options)
    problem = Problem(design(columns), model, PENALTIES[penalty][0](strength, scale, p), share, intercept, centre)
    if best is not None:
        best = (best[0] / scale, best[1])
    return Said(problem, loss, penalty, strength, dense, y, s, scale, best, u)


def _moved(choice, X):
    """Give the columns a container."""
    if choice == "sparse":
        return sp.csr_array(X)
    return X.astype(np.float32) if choice == "single" else X


def _targets(random, kind, signal):
    n = len(signal)
    if kind == "number":
        return signal + random.normal(size=n)
    if kind == "sign":
        y = np.where(signal - np.median(signal) + random.logistic(size=n) > 0, 1.0, -1.0)
        y[:2] = [1.0, -1.0]
        return y
    if kind == "count":
        y = random.poisson(np.exp(np.clip(signal / 4, -3, 3))).astype(float)
        y[0] += 1
        return y
    y = random.integers(0, 3, n).astype(float)
    y[:3] = [0.0, 1.0, 2.0]
    return y


def _outside(X, y, s, intercept, strength, expression, penalty):
    """Ask the solver outside, with columns centred; its multipliers are the dual point."""
    n, p = X.shape
    c = s / s.sum()
    X = X - c @ X if intercept else X
    flat = not np.array_equal(np.unique(y), [0.0, 1.0, 2.0]) or expression.__code__.co_names[-1] != "_taken"
    k = () if flat else (3,)
    w, b, t = cp.Variable((p, *k)), cp.Variable(k), cp.Variable((n, *k))
    level = b if flat else np.ones((n, 1)) @ cp.reshape(b, (1, 3), order="C")
    equal = t == X @ w + (level if intercept else 0)
    _, _, value, constraints = PENALTIES[penalty]
    whole = cp.sum(cp.multiply(c, expression(t, y))) + value(strength, w)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that stops early is still a point to compare with
            program = cp.Problem(cp.Minimize(whole), [equal, *constraints(strength, w)])
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cp.SolverError:
        return None, None
    if w.value is None or equal.dual_value is None or not np.all(np.isfinite(w.value)):
        return None, None
    multiplier = np.asarray(equal.dual_value)
    u = -multiplier / (c if flat else c[:, None])
    return (np.asarray(w.value), np.asarray(b.value) if intercept else np.zeros(k)), u


def points(said: Said, random: Any) -> list[tuple[Any, Any, Any]]:
    """Return points (w, b, u) to be judged, u possibly None: near the optimum, far from it, and the null model."""
    problem = said.problem
    w, b = problem.null_point
    found = [(w, b, None)]
    if said.best is None:
        near, level = polished(said, w, b)
    else:
        near, level = polished(said, allowed(said, said.best[0]), said.best[1] if w.ndim == 2 else float(said.best[1]))
    found.append((near, level, said.u))
    size = np.where(problem.spans > 0, problem.spans, 1.0)
    size = size if w.ndim == 1 else size[:, None]
    for step in 10.0 ** random.uniform(-13, 0, 4):
        moved = allowed(said, near + step * random.normal(size=w.shape) / size * (near != 0))
        if random.random() < 0.5:
            moved = allowed(said, moved + step * random.normal(size=w.shape) / size)
        along = step * random.normal(size=np.shape(level)) if problem.free_intercept else 0.0
        found.append((moved, level + along, said.u if random.random() < 0.5 else None))
    return found


def allowed(said: Said, w: Any) -> Any:
    """Return the nearest coefficients that the penalty allows."""
    if said.penalty == "Nonnegative":
        return np.maximum(w, 0.0)
    if said.penalty == "Box":
        return np.clip(w, said.problem.penalty.lo, said.problem.penalty.hi)
    return w


def polished(said: Said, w: Any, b: Any) -> tuple[Any, Any]:
    """Take Newton steps on the coefficients that are free, as long as the sum in long double falls."""
    problem = said.problem
    loss, penalty = problem.loss, problem.penalty
    if w.ndim == 2 or not loss.traits.has_curvature or said.penalty == "Group":
        return w, b
    most = np.max(np.abs(w), initial=0.0)
    if said.penalty in ("L1", "ElasticNet") and most > 0:
        w = np.where(np.abs(w) > 1e-6 * most, w, 0.0)
    if said.penalty == "Nonnegative" and most > 0:
        w = np.where(w > 1e-6 * most, w, 0.0)
    free = (w != 0) if said.penalty in KINKED else np.ones(len(w), dtype=bool)
    if said.penalty == "Box":
        low, high = np.broadcast_to(penalty.lo, w.shape), np.broadcast_to(penalty.hi, w.shape)
        w = np.where(w - low < 1e-6 * (high - low), low, np.where(high - w < 1e-6 * (high - low), high, w))
        free = (w > low) & (w < high)
    centre = 0.0 if problem.centre is None else problem.centre
    A = (said.X - centre).astype(float)[:, free]
    A = np.hstack([A, np.ones((len(A), 1))]) if problem.free_intercept else A
    worth = said.objective(w, b)
    for _ in range(12):
        with np.errstate(over="ignore"):
            t = problem.scores(w, b)
            slope, curvature = loss.slope(t), loss.curvature(t)
        own = np.append(penalty.slope(w)[free], [0.0] * problem.free_intercept)
        curve = np.append(np.broadcast_to(penalty.curvature(w), w.shape)[free], [0.0] * problem.free_intercept)
        g = A.T @ (problem.share * slope) + own
        squares = np.sum(problem.share[:, None] * A**2, axis=0)
        size = np.sqrt(np.where(squares > 0, squares, 1.0))
        H = (A / size).T @ ((problem.share * curvature)[:, None] * A / size) + np.diag(curve / size**2)
        if not (np.all(np.isfinite(H)) and np.all(np.isfinite(g))):
            break
        d = np.linalg.lstsq(H, g / size, rcond=1e-13)[0] / size
        new_w, new_b = w.copy(), b
        new_w[free] -= d[: free.sum()]
        new_b = b - d[-1] if problem.free_intercept else b
        value = said.objective(allowed(said, new_w), new_b) if np.all(np.isfinite(new_w)) else np.inf
        if not value < worth:
            break
        w, b, worth = allowed(said, new_w), new_b, value
    return w, b
