"""The lasso: rows of the curriculum, laws of the fit, agreement with scikit-learn, and odd designs."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso as Theirs

import qed
from qed.convex import L1, Problem, Squared, solve
from qed.convex.solvers import CoordinateDescent, ProximalGradient
from qed.core import ToleranceNotReached
from qed.core._events import Progress
from qed.designs import design
from qed.linear_model import Lasso

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 12)) + 1.0
y = X[:, :4] @ np.array([2.0, -1.0, 0.5, 3.0]) + 1.0 + rng.normal(size=60)
WIDE = rng.normal(size=(40, 150))
TARGET = WIDE[:, :6] @ rng.normal(size=6) + 0.3 * rng.normal(size=40)
TIGHT = 1e-10


def objective(model, X, y, s=None):
    residual = y - model.predict(X)
    return 0.5 * np.average(residual**2, weights=s) + model.alpha * np.abs(model.coef_).sum()


@pytest.mark.covers("LIN-22")
def test_one_column_is_a_soft_threshold():
    def lasso(strength):  # |xw - y|^2 + strength |w|, in the units of the mean
        return Lasso(strength / 4, fit_intercept=False, tol=1e-12).fit([[1.0], [2.0]], [1.0, 2.0]).coef_

    assert lasso(2.0) == pytest.approx([0.8], abs=1e-12)
    assert lasso(10.0) == 0
    assert lasso(11.0) == 0
    problem = Problem(design(np.array([[1.0], [2.0]])), Squared(np.array([1.0, 2.0])), L1(0.5), np.full(2, 0.5), False)
    with Progress("proximal gradient", 10_000) as progress:
        found = solve(problem, ProximalGradient(), tol=1e-12, max_iter=10_000, progress=progress)
    assert found.w == pytest.approx([0.8], abs=1e-6)


@pytest.mark.covers("LIN-23")
def test_orthonormal_columns_are_thresholded_one_by_one():
    Q = np.linalg.qr(rng.normal(size=(30, 6)))[0]
    target = rng.normal(size=30)
    pull = Q.T @ target
    strength = float(np.median(np.abs(pull)))  # of |Qw - y|^2 + 2 strength |w|
    model = Lasso(strength / 30, fit_intercept=False, tol=1e-13).fit(Q, target)
    np.testing.assert_allclose(model.coef_, np.sign(pull) * np.maximum(np.abs(pull) - strength, 0), atol=1e-10)


@pytest.mark.covers("LIN-24")
def test_optimality_conditions_and_the_largest_strength():
    n, alpha = len(y), 0.2
    model = Lasso(alpha, tol=1e-14).fit(X, y)
    pull = (X - X.mean(axis=0)).T @ (y - model.predict(X)) / n
    active = model.coef_ != 0
    assert 0 < active.sum() < 12
    np.testing.assert_allclose(pull[active], alpha * np.sign(model.coef_[active]), atol=1e-7)
    assert np.all(np.abs(pull[~active]) <= alpha + 1e-9)
    largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / n
    assert not Lasso(largest * (1 + 1e-12)).fit(X, y).coef_.any()
    assert Lasso(largest * 0.999, tol=1e-12).fit(X, y).coef_.any()


@pytest.mark.parametrize("alpha", [1e-3, 0.05, 0.5])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_scikit_learn(alpha, positive, intercept):
    for table, target in ((X, y), (WIDE, TARGET)):
        params = {"positive": positive, "fit_intercept": intercept}
        ours = Lasso(alpha, tol=TIGHT, **params).fit(table, target)
        theirs = Theirs(alpha, tol=1e-13, max_iter=1_000_000, **params).fit(table, target)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-5)
        assert ours.certificate_.reached
        assert objective(ours, table, target) - ours.dual_gap_ <= objective(theirs, table, target) + 1e-12


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_the_gap_bounds_the_error(tol):
    best = objective(Lasso(0.01, tol=1e-13).fit(WIDE, TARGET), WIDE, TARGET)
    model = Lasso(0.01, tol=tol).fit(WIDE, TARGET)
    assert objective(model, WIDE, TARGET) - best <= model.dual_gap_
    assert model.certificate_.relative_gap <= tol * (1 + 1e-9) + model.certificate_.rounding


def test_no_worse_than_scikit_learn_at_defaults():
    table, target = load_diabetes(return_X_y=True)
    for alpha in (0.01, 0.1, 1.0):
        ours, theirs = Lasso(alpha).fit(table, target), Theirs(alpha).fit(table, target)
        assert objective(ours, table, target) <= objective(theirs, table, target) + 1e-4 * 0.5 * target.var()


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_is_dense(make, intercept):
    table = np.where(rng.random((80, 40)) < 0.15, rng.normal(size=(80, 40)), 0.0)
    target = table[:, :5].sum(axis=1) + 0.1 * rng.normal(size=80)
    dense = Lasso(0.01, tol=TIGHT, fit_intercept=intercept).fit(table, target)
    sparse = Lasso(0.01, tol=TIGHT, fit_intercept=intercept).fit(make(table), target)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    assert sparse.certificate_.reached
    np.testing.assert_array_equal(sparse.sparse_coef_.toarray()[0], sparse.coef_)


def test_layout_and_type_do_not_matter():
    first = Lasso(0.02, tol=TIGHT).fit(WIDE, TARGET)
    for table in (np.asfortranarray(WIDE), np.repeat(WIDE, 2, axis=1)[:, ::2], WIDE[::-1][::-1]):
        np.testing.assert_allclose(Lasso(0.02, tol=TIGHT).fit(table, TARGET).coef_, first.coef_, atol=1e-8)
    small = Lasso(0.02, tol=TIGHT).fit(WIDE.astype(np.float32), TARGET)
    np.testing.assert_allclose(small.coef_, first.coef_, atol=1e-4)
    assert small.predict(WIDE.astype(np.float32)).dtype == np.float32


def test_order_of_rows_and_columns_does_not_matter():
    rows, columns = rng.permutation(40), rng.permutation(150)
    first = Lasso(0.02, tol=TIGHT).fit(WIDE, TARGET)
    moved = Lasso(0.02, tol=TIGHT).fit(WIDE[rows][:, columns], TARGET[rows])
    np.testing.assert_allclose(moved.coef_, first.coef_[columns], atol=1e-5)


def test_a_weight_is_a_repetition():
    times = rng.integers(0, 4, size=60)
    weighted = Lasso(0.1, tol=TIGHT).fit(X, y, sample_weight=times.astype(float))
    repeated = Lasso(0.1, tol=TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    assert weighted.certificate_.gap == pytest.approx(repeated.certificate_.gap, abs=1e-7)


@pytest.mark.parametrize("shape", [(300, 20), (200, 900)])
def test_the_same_bits_on_any_number_of_threads(shape):
    table = rng.normal(size=shape)
    target = table[:, :9].sum(axis=1) + rng.normal(size=shape[0])
    found, before = [], qed.get_num_threads()
    for count in (1, 2, 5):
        qed.set_num_threads(count)
        model = Lasso(0.05, tol=1e-9).fit(table, target)
        found.append((model.coef_.tobytes(), model.intercept_, model.dual_gap_))
    qed.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_constant_and_repeated_columns():
    table = np.column_stack([X, np.full(60, 7.0), X[:, 3], np.zeros(60)])
    model = Lasso(0.05, tol=TIGHT).fit(table, y)
    assert model.coef_[12] == 0
    assert model.coef_[14] == 0
    assert model.certificate_.reached
    alone = Lasso(0.05, tol=TIGHT).fit(X, y)
    assert objective(model, table, y) == pytest.approx(objective(alone, X, y), abs=1e-8)


def test_a_warm_start_is_where_it_ended():
    model = Lasso(0.02, warm_start=True, tol=TIGHT).fit(WIDE, TARGET)
    before = model.coef_.copy()
    model.fit(WIDE, TARGET)
    np.testing.assert_allclose(model.coef_, before, atol=1e-6)
    assert model.n_iter_ == 1
    cold = Lasso(0.018, tol=TIGHT).fit(WIDE, TARGET)
    np.testing.assert_allclose(model.set_params(alpha=0.018).fit(WIDE, TARGET).coef_, cold.coef_, atol=1e-5)


def test_no_penalty_is_least_squares():
    model = Lasso(0.0, tol=1e-9).fit(X, y)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0], atol=1e-8)
    assert model.certificate_.reached


def test_several_targets_are_several_fits():
    Y = np.column_stack([y, 2 * y[::-1], np.ones(60)])
    model = Lasso(0.1, tol=TIGHT).fit(X, Y)
    assert model.coef_.shape == (3, 12)
    for at in range(3):
        np.testing.assert_allclose(model.coef_[at], Lasso(0.1, tol=TIGHT).fit(X, Y[:, at]).coef_, atol=1e-5)


def test_hints_change_nothing():
    first = Lasso(0.1).fit(X, y)
    for params in (
        {"precompute": True},
        {"precompute": X.T @ X},
        {"selection": "random", "random_state": 3},
        {"copy_X": False},
    ):
        np.testing.assert_array_equal(Lasso(0.1, **params).fit(X, y).coef_, first.coef_)


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_a_limit_is_an_outcome_and_strict_raises():
    hard = np.cumsum(rng.normal(size=(50, 400)), axis=1)
    target = hard[:, ::50].sum(axis=1)
    model = Lasso(1e-4, max_iter=1, tol=1e-12).fit(hard, target)
    assert model.certificate_.outcome == "max_iter"
    assert not model.certificate_.reached
    with pytest.raises(ToleranceNotReached, match="max_iter"):
        Lasso(1e-4, max_iter=1, tol=1e-12, strict=True).fit(hard, target)


def test_hard_columns_are_solved():
    hard = np.cumsum(rng.normal(size=(120, 300)), axis=1)  # neighbours are nearly equal
    target = hard[:, ::60].sum(axis=1) + rng.normal(size=120)
    model = Lasso(0.05, tol=1e-8).fit(hard, target)
    assert model.certificate_.reached
    assert model.certificate_.relative_gap < 2e-8


def test_a_file_keeps_the_model(tmp_path):
    model = Lasso(0.1).fit(X, y)
    model.save(tmp_path / "lasso.qed")
    again = qed.load(tmp_path / "lasso.qed")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.certificate_.gap == model.certificate_.gap


def test_coordinate_descent_is_what_was_used():
    assert Lasso(0.1).fit(X, y).solver_used_ == CoordinateDescent.name
