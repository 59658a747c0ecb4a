"""Floors under the objective, and guesses of the curvature of classes: right wherever they are asked, tight near the optimum."""

import numpy as np
import pytest

import qed
from qed.convex import L2, Logistic, Poisson, Problem, Softmax, solve
from qed.convex._floor import Floor
from qed.convex._passes import ScorePasses
from qed.convex.solvers import LBFGS, Newton
from qed.convex.solvers._score_curvature import ClassCurvature
from qed.core._events import Progress
from qed.designs import design
from qed.linear_model import LogisticRegression, PoissonRegressor


def stated(kind, *, n=400, p=4, alpha=1e-3, intercept=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.array([1.0, 30.0, 0.01, 1.0])[:p]
    t = X @ (rng.standard_normal(p) / np.array([1.0, 30.0, 0.01, 1.0])[:p])
    loss = {
        "logistic": lambda: Logistic(np.where(t + rng.logistic(size=n) > 0, 1.0, -1.0)),
        "poisson": lambda: Poisson(rng.poisson(np.exp(0.5 * t)).astype(float)),
        "softmax": lambda: Softmax(
            (np.outer(t, [1.0, -0.5, 0.0]) + rng.gumbel(size=(n, 3))).argmax(axis=1).astype(float), 3
        ),
    }[kind]()
    share = rng.uniform(0.5, 1.5, n)
    share /= share.sum()
    return Problem(design(X), loss, L2(alpha), share, intercept, share @ X if intercept else None)


def solved(problem, solver, tol):
    with Progress("test", 1000) as progress:
        return solve(problem, solver, tol=tol, max_iter=1000, progress=progress)


def gradient(problem, w, b):
    t = problem.scores(w, b)
    slope = problem.loss.slope(t)
    last = problem.share @ slope if problem.free_intercept else np.zeros(np.shape(b))
    return t, np.concatenate([problem.adjoint(slope) + problem.penalty.slope(w), np.reshape(last, (1, *w.shape[1:]))])


@pytest.mark.parametrize("kind", ["logistic", "poisson", "softmax"])
@pytest.mark.parametrize(("intercept", "alpha"), [(True, 1e-3), (False, 0.1), (True, 0.0)])
def test_a_floor_bounds_the_true_distance_from_wherever_it_was_laid(kind, intercept, alpha):
    problem = stated(kind, alpha=alpha, intercept=intercept)
    best = solved(problem, LBFGS() if kind == "softmax" else Newton(), 1e-13)
    rng = np.random.default_rng(1)
    tight = 0
    for step in (1, 3):
        rows = slice(None, None, step)
        for away in (0.0, 0.1, 0.5):
            move = away * rng.standard_normal(best.w.shape) / problem.spans.reshape(-1, *[1] * (best.w.ndim - 1))
            floor = Floor.of(problem, rows, problem.scores(best.w + move, best.b)[rows])
            assert floor is not None
            for distance in (1.0, 1e-2, 1e-4):
                w = best.w + distance * rng.standard_normal(best.w.shape) / problem.spans.reshape(
                    -1, *[1] * (best.w.ndim - 1)
                )
                t, g = gradient(problem, w, best.b)
                found = floor.bound(w, t, g)
                true = problem.objective(w, best.b) - best.gap.objective
                assert found is None or sum(found) >= true - 1e-13
                assert floor.hint(w, t, g, 1e-6) >= min(true, 1e-6) - 1e-13
                tight += found is not None and sum(found) < (300 if kind == "softmax" else 30) * step * true
    assert tight >= (4 if kind == "softmax" else 6)  # near the optimum the bound says something


def test_a_floor_charges_constant_columns_and_common_changes():
    problem = stated("softmax", alpha=0.1)
    X = np.column_stack([problem.design.table, np.full(400, 3.0)])
    wide = Problem(design(X), problem.loss, problem.penalty, problem.share, True, problem.share @ X)
    assert wide.spans[-1] < 1e-12
    wide = Problem(wide.design, wide.loss, wide.penalty, wide.share, True, wide.centre, np.append(wide.spans[:-1], 0.0))
    best = solved(wide, LBFGS(), 1e-13)
    floor = Floor.of(wide, slice(None), wide.scores(best.w, best.b))
    for change in (np.eye(5)[:, :1] * [[1.0, 1.0, 1.0]], np.eye(5)[:, 4:] * [[0.3, 0.0, 0.0]]):
        w = best.w + change
        t, g = gradient(wide, w, best.b)
        true = wide.objective(w, best.b) - best.gap.objective
        assert true > 0.004
        assert sum(floor.bound(w, t, g)) >= true - 1e-12


def test_the_guess_of_class_curvature_is_close_for_normal_columns():
    rng = np.random.default_rng(3)
    n, p, k = 6000, 6, 4
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    y = (X @ rng.standard_normal((p, k)) * 0.5 + rng.gumbel(size=(n, k))).argmax(axis=1)
    share = np.full(n, 1 / n)
    problem = Problem(design(X), Softmax(y.astype(float), k), L2(1e-4), share, True, share @ X)
    best = solved(problem, LBFGS(), 1e-8)
    t = problem.scores(best.w, best.b)
    bends = ScorePasses(problem).bends(t)
    guess = ClassCurvature.of(problem, best.w, t, problem.design.gram(share, problem.centre))
    size = (p + 1) * k
    second = np.stack([bends(unit.reshape(p + 1, k)).ravel() for unit in np.eye(size)])
    second.reshape(p + 1, k, p + 1, k)[np.arange(p), :, np.arange(p), :] += 1e-4 * np.eye(k)
    inverse = np.stack([guess(unit.reshape(p + 1, k)).ravel() for unit in np.eye(size)])
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-8 * np.abs(inverse).max())
    values = np.sort(np.linalg.eigvals(inverse @ second).real)
    assert abs(values[0]) < 1e-9  # the same change of all intercepts
    assert values[1] > 0.6
    assert values[-1] < 1.6


def objective(model, X, y, s):
    t = X @ model.coef_.T + model.intercept_
    t = np.column_stack([np.zeros(len(y)), t]) if t.shape[1] == 1 else t
    top = t.max(axis=1)
    losses = top + np.log(np.exp(t - top[:, np.newaxis]).sum(axis=1)) - t[np.arange(len(y)), y]
    return float(s @ losses) + 0.5 * float(np.sum(model.coef_**2))


KINDS = ("plain", "scaled", "sorted", "rare", "weights", "periodic", "heavy")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_samples_never_mislead_a_fit(kind, classes):
    from scipy.optimize import minimize  # noqa: PLC0415

    rng = np.random.default_rng(11)
    n, p = 8000, 5
    X = rng.standard_t(2, size=(n, p)) if kind == "heavy" else rng.standard_normal((n, p))
    shift = np.array([-7.0, *[0.0] * (classes - 1)]) if kind == "rare" else 0.0
    y = (X @ rng.standard_normal((p, classes)) + shift + rng.gumbel(size=(n, classes))).argmax(axis=1)
    s = rng.integers(0, 3, n).astype(float) if kind == "weights" else np.ones(n)
    if kind == "sorted":
        order = np.lexsort((X[:, 0], y))
        X, y = X[order], y[order]
    if kind == "periodic":
        X[::16] *= 1e-2  # every sample of each so many rows sees others than the rest
    if kind == "scaled":
        X = X * np.geomspace(1e-3, 1e3, p)
    model = LogisticRegression().fit(X, y, sample_weight=s)
    proof = model.certificate_
    assert proof.reached
    assert qed.verify(model, X, y, sample_weight=s).holds
    # a reference that shares nothing with it, in columns of length one
    scale = X.std(axis=0)
    k = classes if classes > 2 else 1

    def wrong(v):
        v = v.reshape(k, p + 1)
        t = (X / scale) @ v[:, :-1].T + v[:, -1]
        t = np.column_stack([np.zeros(n), t]) if k == 1 else t
        e = np.exp(t - t.max(axis=1, keepdims=True))
        total = e.sum(axis=1, keepdims=True)
        loss = np.log(total[:, 0]) + t.max(axis=1) - t[np.arange(n), y]
        slope = e / total
        slope[np.arange(n), y] -= 1.0
        slope = s[:, np.newaxis] * slope[:, -k:]
        g = np.column_stack([slope.T @ (X / scale) + v[:, :-1] / scale**2, slope.sum(axis=0)])
        return s @ loss + 0.5 * np.sum((v[:, :-1] / scale) ** 2), g.ravel()

    start = np.column_stack([np.atleast_2d(model.coef_) * scale, np.atleast_1d(model.intercept_)]).ravel()
    found = minimize(wrong, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 300})
    true = objective(model, X, y, s) - found.fun
    assert true <= proof.gap + 1e-10 * proof.null_objective
    assert proof.gap <= 1e-7 * proof.null_objective + proof.rounding


@pytest.mark.parametrize("classes", [2, 4])
def test_bits_do_not_depend_on_threads(classes):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((7000, 8))
    y = (X @ rng.standard_normal((8, classes)) + rng.gumbel(size=(7000, classes))).argmax(axis=1)
    before = qed.get_num_threads()
    coefficients = []
    try:
        for threads in (1, 2, 3):
            qed.set_num_threads(threads)
            coefficients.append(LogisticRegression().fit(X, y).coef_)
    finally:
        qed.set_num_threads(before)
    assert np.array_equal(coefficients[0], coefficients[1])
    assert np.array_equal(coefficients[0], coefficients[2])


def test_few_passes_over_many_rows(monkeypatch):
    from qed.convex import _kernels  # noqa: PLC0415

    rows = []
    for name, at in (("dense_pass", 1), ("softmax_pass", 0)):
        plain = getattr(_kernels, name)
        monkeypatch.setattr(
            _kernels, name, lambda *a, plain=plain, at=at, **k: rows.append(len(a[at])) or plain(*a, **k)
        )
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40_000, 10))
    scores = X @ rng.standard_normal((10, 4)) / 2
    for model, y, most in (
        (LogisticRegression(), (scores[:, 0] + rng.logistic(size=40_000) > 0).astype(int), 4),
        (LogisticRegression(), (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), 6),
        (PoissonRegressor(alpha=0.1), rng.poisson(np.exp(0.3 * scores[:, 0])), 4),
    ):
        rows.clear()
        assert model.fit(X, y).certificate_.reached
        assert sum(number == 40_000 for number in rows) <= most
