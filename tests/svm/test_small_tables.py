"""Small tables in one compiled call: the same planes as one by one, and nothing that a listener would miss."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import qed
from qed.convex import L1, L2, EpsilonInsensitive, Hinge, Problem, SquaredHinge, solve
from qed.convex.solvers import DualAscent, InteriorPoint, Multipliers, ProximalNewton
from qed.convex.solvers._curved_columns import _stronger_penalties
from qed.core._events import Progress
from qed.designs import design
from qed.linear_model import _learn_convex
from qed.svm import LinearSVC, LinearSVR, _linear_svc, _linear_svr
from qed.verify import verify

MODELS = [
    LinearSVC(loss="hinge", C=0.05, tol=1e-10),
    LinearSVC(C=3.0, tol=1e-10, intercept_scaling=4.0),
    LinearSVC(penalty="l1", C=0.3, tol=1e-10),
    LinearSVC(loss="hinge", C=30.0, tol=1e-10, fit_intercept=False),
    LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-10),
    LinearSVR(epsilon=0.2, C=0.02, tol=1e-10),
    LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=1e-10),
]


def rows(model, n=120):
    random = np.random.default_rng(1)
    X = random.normal(size=(n, 5)) + 0.5
    score = X @ np.array([1.0, -1.0, 0.5, 0.0, 2.0]) + random.normal(size=n)
    y = np.digitize(score, [0.0, 2.0]) if isinstance(model, LinearSVC) else score
    return X, y, random.integers(0, 4, n).astype(float)


def no_small_tables(monkeypatch):
    for module, name in ((_linear_svc, "fit_small"), (_linear_svc, "fit_small_classes"), (_linear_svr, "fit_small")):
        monkeypatch.setattr(module, name, lambda *_, **__: None)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_planes_are_those_that_are_found_one_by_one(model, is_sparse, monkeypatch):
    X, y, weight = rows(model)
    if is_sparse:
        monkeypatch.setattr(_learn_convex, "MAX_CHEAP_ENTRIES", 0)  # few entries would be treated as an array
        X = csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    together = qed.clone(model).fit(X, y, weight)
    assert together.certificate_.reached
    assert verify(together, X, y, weight).holds
    assert verify(qed.clone(model).fit(X, y), X, y).holds
    no_small_tables(monkeypatch)
    alone = qed.clone(model).fit(X, y, weight)
    np.testing.assert_allclose(together.coef_, alone.coef_, atol=1e-4)
    np.testing.assert_allclose(together.intercept_, alone.intercept_, atol=1e-4)
    assert together.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-8)
    assert together.certificate_.null_objective == pytest.approx(alone.certificate_.null_objective, rel=1e-12)


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_steps_that_do_not_reach_are_said_so():
    model = LinearSVR(tol=0.0, max_iter=2)
    X, y, _ = rows(model)
    model.fit(X, y)
    assert model.certificate_.outcome == "max_iter"
    assert not model.certificate_.reached
    assert verify(model, X, y).holds


def line(loss, X, penalty):
    n = X.shape[0]
    return Problem(design(X), loss, penalty, np.full(n, 1 / n), free_intercept=False)


@pytest.mark.parametrize("solver", [Multipliers(), DualAscent(), InteriorPoint()], ids=lambda one: one.name)
def test_solvers_of_straight_pieces_agree(solver):
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 8))
    y = X @ random.normal(size=8) + random.standard_t(2, 200)
    for loss in (Hinge(np.sign(y)), EpsilonInsensitive(y, 0.3)):
        for alpha in (1e-3, 1.0):
            problem = line(loss, X, L2(alpha))
            assert solver.unsupported_reason(problem) is None
            found = solve(problem, solver, tol=1e-7, max_iter=2000, progress=Progress("test", 2000))
            best = solve(problem, InteriorPoint(), tol=1e-12, max_iter=500, progress=Progress("test", 500))
            assert found.outcome == "solved"
            assert found.gap.objective - best.gap.objective <= found.gap.value


def test_multipliers_say_what_they_do_not_take():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(30, 4)), np.sign(random.normal(size=30))
    solver = Multipliers()
    assert "l2" in solver.unsupported_reason(line(Hinge(y), X, L1(0.1)))
    assert "piecewise linear" in solver.unsupported_reason(line(SquaredHinge(y), X, L2(0.1)))
    assert "few columns" in solver.unsupported_reason(line(Hinge(y[:3]), X[:3], L2(0.1)))


def test_weak_absolute_values_on_a_wide_table_are_solved():
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 300))
    y = np.where(X[:, :5].sum(axis=1) + random.normal(size=60) > 0, 1, 0)
    model = LinearSVC(penalty="l1", C=100.0).fit(X, y)
    assert model.solver_used_ == "proximal newton"
    assert model.certificate_.reached
    assert verify(model, X, y).holds
    assert 0 < np.count_nonzero(model.coef_) <= 61
    problem = line(SquaredHinge(2.0 * y - 1), X, L1(1e-3))
    assert ProximalNewton().unsupported_reason(problem) is None
    assert "absolute values" in ProximalNewton().unsupported_reason(line(SquaredHinge(2.0 * y - 1), X, L2(1.0)))
    assert "quadratic" in ProximalNewton().unsupported_reason(line(Hinge(2.0 * y - 1), X, L1(1.0)))


@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_tables_of_few_rows_are_those_of_their_arrays(classes):
    random = np.random.default_rng(5)
    X = np.where(random.random((50, 80)) < 0.2, random.normal(size=(50, 80)), 0.0)
    y = np.digitize(X[:, :9].sum(axis=1), np.linspace(-0.5, 0.5, classes - 1))
    for model in (
        LinearSVC(C=10.0, tol=1e-9),
        LinearSVC(loss="hinge", tol=1e-9),
        LinearSVC(C=2.0, fit_intercept=False),
    ):
        dense, sparse = qed.clone(model).fit(X, y), qed.clone(model).fit(csr_array(X), y)
        assert sparse.certificate_.reached
        assert verify(sparse, csr_array(X), y).holds
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-2 * np.abs(dense.coef_).max())
        assert sparse.certificate_.objective == pytest.approx(dense.certificate_.objective, rel=1e-5)


def thin(n, p, share, seed):
    random = np.random.default_rng(seed)
    X = np.where(random.random((n, p)) < share, random.normal(size=(n, p)), 0.0)
    return csr_array(X), X @ random.normal(size=p) + 0.3 * random.normal(size=n)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_tables_are_solved_in_one_call_at_every_strength(kind):
    X, score = thin(300, 200, 0.05, 6)
    X = X.astype(kind)
    for C in (0.01, 1.0, 100.0):
        for model, y in (
            (LinearSVC(C=C, loss="hinge"), score > 0),
            (LinearSVC(C=C, fit_intercept=False), score > 0),
            (LinearSVR(C=C, epsilon=0.1), score),
            (LinearSVR(C=C, epsilon=0.5, loss="squared_epsilon_insensitive"), score),
        ):
            model.fit(X, y)
            assert model.certificate_.reached
            assert verify(model, X, y).holds
            dense = qed.clone(model).fit(X.toarray(), y)
            apart = model.certificate_.objective - dense.certificate_.objective
            assert -dense.certificate_.gap <= apart <= model.certificate_.gap


def test_weak_absolute_values_on_a_sparse_table_are_approached_by_stronger_ones():
    X, score = thin(400, 400, 0.05, 7)
    y = score > 0
    model = LinearSVC(penalty="l1", C=100.0).fit(X, y)
    assert model.solver_used_ == "coordinate descent"
    assert model.certificate_.reached
    assert verify(model, X, y).holds
    problem = line(SquaredHinge(2.0 * y - 1), X, L1(1.0 / (200.0 * 400)))
    times = _stronger_penalties(problem, np.zeros(400))
    assert times == sorted(times, reverse=True)
    assert times[-1] == 3.0
    assert _stronger_penalties(problem, np.ones(400)) == []
    assert _stronger_penalties(line(SquaredHinge(2.0 * y - 1), X, L1(1.0)), np.zeros(400)) == []


def test_classes_in_one_objective_listen_where_somebody_asks():
    model = LinearSVC(multi_class="crammer_singer", C=0.5)
    X, y, weight = rows(model)
    heard = []
    with qed.listen(heard.append):
        told = qed.clone(model).fit(X, y, weight)
    quiet = model.fit(X, y, weight)
    assert heard
    assert abs(told.certificate_.objective - quiet.certificate_.objective) <= (
        told.certificate_.gap + quiet.certificate_.gap
    )
