"""Coordinate descent on working sets: every loss and design it takes reaches the optimum that others reach."""

import numpy as np
import pytest
import scipy.sparse

from qed.convex import L1, L2, Logistic, Poisson, Problem, Softmax, Squared, _kernels, solve
from qed.convex.penalties import ElasticNet, Group
from qed.convex.solvers import CoordinateDescent, ProximalGradient
from qed.core._events import STOP, Progress, listen
from qed.designs import Standardised, design

rng = np.random.default_rng(9)
X = rng.normal(size=(70, 40)) + 0.3
SCORE = X[:, :5] @ rng.normal(size=5)
SHARE = rng.random(70) + 0.2
SHARE /= SHARE.sum()
LOSSES = {
    "squared": Squared(SCORE + 0.3 * rng.normal(size=70)),
    "logistic": Logistic(np.where(SCORE + rng.normal(size=70) > 0, 1.0, -1.0)),
    "poisson": Poisson(rng.poisson(np.exp(np.clip(SCORE / 2, -3, 3))).astype(float)),
}


def problem_of(table, loss, penalty, *, intercept=True):
    plain = design(table)
    centre = plain.adjoint_product(SHARE) if intercept else None
    return Problem(plain, loss, penalty, SHARE, intercept, centre)


def solved(problem, solver, tol=1e-9, max_iter=1000, start=None):
    with Progress("test", max_iter) as progress:
        return solve(problem, solver, tol=tol, max_iter=max_iter, progress=progress, start=start)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "penalty", [L1(0.02), ElasticNet(0.02, 0.01), ElasticNet(0.03, 0.0, nonnegative=True)], ids=str
)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_loss_and_penalty_is_proved(loss, penalty, intercept):
    problem = problem_of(X, LOSSES[loss], penalty, intercept=intercept)
    found = solved(problem, CoordinateDescent())
    assert found.outcome == "solved"
    assert found.gap.value - found.gap.rounding <= 1e-9 * problem.null_objective
    # a second opinion that shares neither the solver nor its dual point
    other = solved(problem, ProximalGradient(), tol=1e-4, max_iter=3000) if loss != "poisson" else None
    if other is not None:
        assert other.outcome == "solved"
        assert found.gap.objective <= other.gap.objective + found.gap.value
        assert other.gap.objective - other.gap.value <= found.gap.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", ["csr", "csc", "fortran", "float32"])
def test_every_layout_has_the_same_optimum(loss, form):
    table = np.where(rng.random(X.shape) < 0.3, X, 0.0).astype(np.float32).astype(np.float64)
    first = solved(problem_of(table, LOSSES[loss], L1(0.01)), CoordinateDescent(), tol=1e-11)
    other = {
        "csr": scipy.sparse.csr_array(table),
        "csc": scipy.sparse.csc_array(table),
        "fortran": np.asfortranarray(table),
        "float32": table.astype(np.float32),
    }[form]
    again = solved(problem_of(other, LOSSES[loss], L1(0.01)), CoordinateDescent(), tol=1e-11)
    assert again.outcome == "solved"
    assert again.gap.objective == pytest.approx(first.gap.objective, abs=2e-10)
    np.testing.assert_allclose(again.w, first.w, atol=1e-4)


def test_along_columns_and_on_products_is_the_same(monkeypatch):
    """The two ways to descend, forced one after the other, dense and sparse."""
    table = rng.normal(size=(70, 300))
    for form in (table, scipy.sparse.csr_array(np.where(rng.random(table.shape) < 0.2, table, 0.0))):
        problem = problem_of(form, LOSSES["squared"], L1(0.01))
        found = []
        for prefers in (True, False):
            for kind in ("_DenseColumns", "_CompressedColumns"):
                monkeypatch.setattr(
                    f"qed.convex._working_columns.{kind}.prefers_gram", lambda _, prefers=prefers: prefers
                )
            found.append(solved(problem, CoordinateDescent(), tol=1e-12))
        assert found[0].outcome == found[1].outcome == "solved"
        np.testing.assert_allclose(found[0].w, found[1].w, atol=1e-6)


def test_strengths_of_their_own():
    strength = np.where(np.arange(40) < 20, 0.05, 0.005)
    problem = problem_of(X, LOSSES["squared"], L1(strength))
    found = solved(problem, CoordinateDescent(), tol=1e-11)
    pull = -problem.adjoint(problem.loss.slope(problem.scores(found.w, found.b)))
    used = found.w != 0
    np.testing.assert_allclose(pull[used], strength[used] * np.sign(found.w[used]), atol=1e-6)
    assert np.all(np.abs(pull) <= strength + 1e-6)


def test_unpenalised_coordinates_are_free():
    strength = np.where(np.arange(40) < 3, 0.0, 0.05)
    found = solved(problem_of(X, LOSSES["squared"], L1(strength)), CoordinateDescent(), tol=1e-7)
    assert found.outcome == "solved"
    assert np.all(found.w[:3] != 0)


def test_rows_of_coefficients():
    targets = np.column_stack([SCORE, SCORE[::-1], X[:, 0]])
    for penalty in (Group(0.05), Group(0.05, ridge=0.02), L1(0.03)):
        problem = problem_of(X, Squared(targets), penalty)
        found = solved(problem, CoordinateDescent(), tol=1e-9)
        other = solved(problem, ProximalGradient(), tol=1e-6, max_iter=5000)
        assert found.outcome == "solved"
        assert found.gap.objective <= other.gap.objective + found.gap.value
        assert other.gap.objective - other.gap.value <= found.gap.objective


def test_groups_of_coordinates_take_the_slower_way():
    problem = problem_of(X, LOSSES["squared"], Group(0.05, np.arange(40) // 4))
    assert "compiled loops" in CoordinateDescent().unsupported_reason(problem)
    found = solved(problem, ProximalGradient(), tol=1e-7, max_iter=5000)
    assert found.outcome == "solved"
    used = (found.w != 0).reshape(10, 4)
    assert 0 < used.any(axis=1).sum() < 10
    np.testing.assert_array_equal(used.any(axis=1), used.all(axis=1))


def test_refusals():
    assert "compiled loops" in CoordinateDescent().unsupported_reason(problem_of(X, LOSSES["squared"], L2(1.0)))
    classes = Softmax(rng.integers(0, 3, size=70).astype(float), 3)
    assert "several scores" in CoordinateDescent().unsupported_reason(problem_of(X, classes, L1(0.1)))
    assert CoordinateDescent().unsupported_reason(problem_of(X, LOSSES["logistic"], L1(0.1))) is None


def test_designs_known_by_their_products():
    scale = rng.random(40) + 0.5
    standard = Standardised(design(X), np.zeros(40), scale)
    centre = standard.adjoint_product(SHARE)
    found = solved(Problem(standard, LOSSES["squared"], L1(0.02), SHARE, True, centre), CoordinateDescent())
    plain = solved(problem_of(X / scale, LOSSES["squared"], L1(0.02)), CoordinateDescent())
    np.testing.assert_allclose(found.w, plain.w, atol=1e-6)


def test_a_start_that_is_the_answer_takes_one_look():
    problem = problem_of(X, LOSSES["squared"], L1(0.02))
    found = solved(problem, CoordinateDescent(), tol=1e-10)
    assert solved(problem, CoordinateDescent(), tol=1e-6, start=(found.w, found.b)).n_iter == 1


def test_a_callback_stops_it():
    hard = np.cumsum(rng.normal(size=(70, 500)), axis=1)
    problem = problem_of(hard, LOSSES["squared"], L1(1e-4))
    with listen(lambda _: STOP):
        found = solved(problem, CoordinateDescent(), tol=1e-12)
    assert found.outcome in ("stopped", "solved")
    assert np.isfinite(found.gap.value)


@pytest.mark.parametrize("low", [-1.0, -np.inf], ids=["any sign", "nonnegative"])
@pytest.mark.parametrize("rank", [60, 25], ids=["independent", "dependent"])
def test_walks_from_face_to_face_end_at_the_optimum(rank, low):
    random = np.random.default_rng(rank)
    A = random.normal(size=(rank, 40)) @ np.diag(np.geomspace(0.1, 10.0, 40))
    y = A[:, :6].sum(axis=1) + random.normal(size=rank)
    Q, q, constant = A.T @ A, A.T @ y, 0.5 * float(y @ y)
    factor, w = _kernels.face_factor(), np.zeros(0)
    for size in (30, 40):  # a Gram matrix that grows keeps its factor
        w = np.append(w, np.zeros(size - len(w)))
        for alpha in np.geomspace(1.0, 1e-3, 8) * np.abs(q).max():
            penalty = (np.full(size, low * alpha), np.full(size, alpha), 0.0)
            part = np.ascontiguousarray(Q[:size, :size])
            goal, known = (1e-13 * constant, 500), None if size == 30 else part @ w - q[:size]
            ((w, g, _, gap),) = _kernels.descend_grams(
                [((part, q[:size], constant), penalty, goal, (w, known), factor)]
            )
            np.testing.assert_allclose(g, part @ w - q[:size], atol=1e-9 * np.abs(q).max())
            used, off = w != 0, 1e-7 * alpha
            np.testing.assert_allclose(-g[used], alpha * np.sign(w[used]), atol=off)
            assert np.all(-g[~used] <= alpha + off)
            assert np.all(-g[~used] >= low * alpha - off)
            assert gap <= goal[0]


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["array", "sparse"])
def test_compiled_rounds_keep_to_the_steps_allowed(form):
    problem = problem_of(form(np.where(np.abs(X) > 0.8, X, 0.0)), LOSSES["logistic"], L1(0.01))
    whole = solved(problem, CoordinateDescent(), tol=1e-10)
    assert whole.outcome == "solved"
    short = solved(problem, CoordinateDescent(), tol=1e-10, max_iter=2)
    assert (short.outcome, short.n_iter) == ("max_iter", 2)
    assert short.gap.objective - whole.gap.objective <= short.gap.value
    told = []
    with listen(lambda event: told.append(event.step)):
        heard = solved(problem, CoordinateDescent(), tol=1e-10)
    assert told[1:-1] == list(range(1, len(told) - 1))  # one step at a time, between start and end
    assert heard.gap.objective == pytest.approx(whole.gap.objective, abs=2e-10 * problem.null_objective)

    def press(event):
        if event.kind == "step" and event.step == 2:
            raise KeyboardInterrupt

    with listen(press):
        left = solved(problem, CoordinateDescent(), tol=1e-10)
    assert left.outcome == "interrupted"
    assert np.isfinite(left.gap.value)
