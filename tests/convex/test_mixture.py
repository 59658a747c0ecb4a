"""Mixtures of dual points, and bowls: true everywhere, no worse than what they are made of, exact where nothing is left open."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qed.convex import (
    L1,
    L2,
    ElasticNet,
    EpsilonInsensitive,
    Hinge,
    PointCache,
    Problem,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Zero,
    choose,
    solve,
)
from qed.convex._bowl import Bowl
from qed.convex._mixture import Met, mixed
from qed.convex._passes import Passes
from qed.convex.solvers import CoordinateDescent, DualAscent, InteriorPoint, Newton, ProximalGradient
from qed.core._events import Progress
from qed.designs import design

LOSSES = {
    "hinge": lambda y: Hinge(np.where(y > 0.3, 1.0, -1.0)),
    "squared_hinge": lambda y: SquaredHinge(np.where(y > 0.3, 1.0, -1.0)),
    "squared": Squared,
    "epsilon_insensitive": lambda y: EpsilonInsensitive(y, epsilon=0.2),
    "squared_epsilon_insensitive": lambda y: SquaredEpsilonInsensitive(y, epsilon=0.2),
}
SOLVERS = (DualAscent(), Newton(), CoordinateDescent(), InteriorPoint(), ProximalGradient())


def stated(loss, penalty, *, intercept=True, sparse=False, n=90, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < 0.7, rng.standard_normal((n, p)) + 0.5, 0.0)
    y = X @ rng.standard_normal(p) + rng.standard_normal(n)
    share = rng.uniform(0.5, 1.5, n)
    share /= share.sum()
    table = design(csr_array(X) if sparse else X)
    return Problem(table, LOSSES[loss](y), penalty, share, intercept, share @ X if intercept else None)


def optimum(problem):
    solver = choose(problem, SOLVERS, 1e-9)
    with Progress("test", 20_000) as progress:
        return solve(problem, solver, tol=1e-9, max_iter=20_000, progress=progress)


def met_near(problem, u, rng, noise):
    """Note a dual point as learners do: near another one, in single precision, some passes summed."""
    noisy = problem.loss.project(u + noise * rng.standard_normal(len(u)))
    return Met((8.0 * noisy).astype(np.float32), 1.0 / 8.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("intercept", "sparse"), [(True, False), (False, True), (True, True)])
def test_a_mixture_bounds_the_distance_and_is_no_worse_than_its_points(loss, intercept, sparse):
    problem = stated(loss, L2(0.05), intercept=intercept, sparse=sparse)
    best = optimum(problem)
    rng = np.random.default_rng(1)
    for away, noise in ((1e-3, 1e-3), (0.3, 0.1), (3.0, 1.0)):
        w, b = best.w + away * rng.standard_normal(len(best.w)), best.b + (away if intercept else 0.0)
        met = met_near(problem, best.gap.u if len(best.gap.u) else problem.loss.slope(problem.scores(w, b)), rng, noise)
        found = problem.certify(w, b, target=np.inf, known=mixed(problem, w, b, met))
        distance = problem.objective(w, b) - problem.objective(best.w, best.b)
        assert found.value >= distance - best.gap.value
        known = PointCache(t=problem.scores(w, b))
        dual = met.times * met.numbers.astype(np.float64)
        if loss != "squared":  # whose points an intercept moves, and does not shrink
            alone = [
                problem.certify(w, b, u, target=np.inf, known=known).value for u in (dual, problem.loss.slope(known.t))
            ]
            assert found.value <= min(*alone, problem.objective(w, b)) * (1 + 1e-9) + found.rounding
        assert found.value <= problem.objective(w, b) * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("penalty", [ElasticNet(0.02, 0.03), L1(0.05), Zero()], ids=["elastic", "lasso", "none"])
def test_other_penalties_are_bounded_too(loss, penalty):
    problem = stated(loss, penalty)
    best = optimum(problem)
    rng = np.random.default_rng(2)
    w, b = best.w + 0.1 * rng.standard_normal(4), best.b
    met = met_near(problem, problem.loss.slope(problem.scores(best.w, best.b)), rng, 0.1)
    found = problem.certify(w, b, target=0.0, known=mixed(problem, w, b, met), is_thorough=False)
    assert problem.objective(w, b) - problem.objective(best.w, best.b) - best.gap.value <= found.value
    assert found.value <= problem.objective(w, b) * (1 + 1e-9)


def test_a_dual_point_that_is_out_of_range_proves_nothing_and_says_so():
    problem = stated("hinge", L2(0.05))
    w = np.full(4, 1e300)
    known = mixed(problem, w, 0.0, Met(np.full(90, np.inf, dtype=np.float32)))
    assert not problem.certify(w, 0.0, target=np.inf, known=known).value < np.inf


@pytest.mark.parametrize(("intercept", "sparse"), [(True, False), (False, False), (True, True)])
def test_a_bowl_tells_the_distance_itself(intercept, sparse):
    problem = stated("squared", L2(1e-3), intercept=intercept, sparse=sparse)
    best = optimum(problem)
    rng = np.random.default_rng(3)
    for away in (1.0, 1e-3):
        w, b = best.w + away * rng.standard_normal(4), best.b + (away if intercept else 0.0)
        seen = Passes(problem).at(w, b, hessian=True)
        problem.kept["floor"] = Bowl.of(problem, seen.hessian)
        found = problem.certify(w, b, target=np.inf, known=seen.known)
        distance = problem.objective(w, b) - problem.objective(best.w, best.b)
        assert found.value >= distance - 1e-15
        assert found.value == pytest.approx(distance, rel=1e-6, abs=1e-12)
    problem.kept.clear()


def test_a_bowl_that_is_too_flat_is_none():
    X = np.ones((5, 2))
    X[:, 0] = np.arange(5.0)
    X[:, 1] = 2 * X[:, 0]
    problem = Problem(design(X), Squared(np.arange(5.0)), L2(1e-30), np.full(5, 0.2), True, X.mean(axis=0))
    seen = Passes(problem).at(np.zeros(2), 0.0, hessian=True)
    assert Bowl.of(problem, seen.hessian) is None
