"""Ridge: rows of the curriculum, then examples, then a real table."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge as Theirs

import qed
from qed.linear_model import LinearRegression, Ridge

rng = np.random.default_rng(8)
X = rng.normal(size=(50, 5))
y = X @ rng.normal(size=5) + 2 + rng.normal(size=50)


def closed(X, y, alpha, prior=0.0):
    p = X.shape[1]
    return np.linalg.solve(X.T @ X + alpha * np.eye(p), X.T @ y + alpha * np.broadcast_to(prior, p))


@pytest.mark.covers("LIN-13")
def test_sum_of_squares_form():
    assert Ridge(5.0, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0]).coef_ == pytest.approx([0.5], rel=1e-15)
    np.testing.assert_allclose(Ridge(3.0, fit_intercept=False).fit(X, y).coef_, closed(X, y, 3.0), rtol=1e-12)


@pytest.mark.covers("LIN-14", "FND-25")
def test_mean_of_squares_form_needs_n_times_the_strength():
    strength = 0.2
    mean_form = np.linalg.solve(X.T @ X / 50 + strength * np.eye(5), X.T @ y / 50)
    np.testing.assert_allclose(Ridge(50 * strength, fit_intercept=False).fit(X, y).coef_, mean_form, rtol=1e-12)
    prior = np.arange(5.0)
    far = Ridge(1e12, fit_intercept=False, prior=prior).fit(X, y)
    np.testing.assert_allclose(far.coef_, prior, atol=1e-8)


@pytest.mark.covers("LIN-15")
def test_solvable_with_fewer_rows_than_columns():
    wide = rng.normal(size=(10, 80))
    target = rng.normal(size=10)
    model = Ridge(0.5, fit_intercept=False).fit(wide, target)
    assert np.linalg.eigvalsh(wide.T @ wide + 0.5 * np.eye(80)).min() >= 0.5 - 1e-12
    np.testing.assert_allclose(model.coef_, closed(wide, target, 0.5), rtol=1e-9, atol=1e-12)
    assert model.solver_used_ == "dual cholesky"


@pytest.mark.covers("LIN-16")
def test_limits_and_monotonicity():
    twin = np.column_stack([X, X[:, 0]])
    shortest = LinearRegression(fit_intercept=False).fit(twin, y).coef_
    np.testing.assert_allclose(Ridge(1e-5, fit_intercept=False).fit(twin, y).coef_, shortest, rtol=1e-5)
    huge = Ridge(1e10, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(1e10 * huge.coef_, X.T @ y, rtol=1e-7)
    models = [Ridge(alpha).fit(X, y) for alpha in np.geomspace(1e-3, 1e4, 12)]
    norms = [np.linalg.norm(model.coef_) for model in models]
    errors = [model.squared_residuals_ for model in models]
    assert norms == sorted(norms, reverse=True)
    assert errors == sorted(errors)
    assert errors[0] >= LinearRegression().fit(X, y).squared_residuals_


@pytest.mark.covers("LIN-17")
def test_shrink_factors_and_degrees_of_freedom():
    sigma = np.linalg.svd(X, compute_uv=False)
    hat = Ridge(2.0, fit_intercept=False).fit(X, np.eye(50)).predict(X)
    assert np.trace(hat) == pytest.approx(np.sum(sigma**2 / (sigma**2 + 2)))
    assert np.trace(LinearRegression(fit_intercept=False).fit(X, np.eye(50)).predict(X)) == pytest.approx(5)


@pytest.mark.covers("LIN-20")
def test_units_matter_to_ridge_and_not_to_least_squares():
    scaled = X * [1, 100, 1, 1, 1]
    first, second = ((Z - Z.mean(axis=0)) / Z.std(axis=0) for Z in (X, scaled))

    def told(model, Z):  # with the penalty's optimum in closed form beside it
        centred, strength = Z - Z.mean(axis=0), getattr(model, "alpha", 0.0)
        found = model.fit(Z, y).predict(Z)
        np.testing.assert_allclose(found, y.mean() + centred @ closed(centred, y, strength), rtol=1e-9)
        return found

    np.testing.assert_allclose(told(LinearRegression(), X), told(LinearRegression(), scaled), rtol=1e-10)
    assert np.abs(told(Ridge(10.0), X) - told(Ridge(10.0), scaled)).max() > 1e-3
    np.testing.assert_allclose(told(Ridge(10.0), first), told(Ridge(10.0), second), rtol=1e-10)


@pytest.mark.covers("LIN-21")
def test_intercept_is_not_penalised():
    model = Ridge(7.0).fit(X, y)
    centred = closed(X - X.mean(axis=0), y - y.mean(), 7.0)
    np.testing.assert_allclose(model.coef_, centred, rtol=1e-11)
    shifted = Ridge(7.0).fit(X, y + 1000)
    np.testing.assert_allclose(shifted.predict(X), model.predict(X) + 1000, rtol=1e-12)


@pytest.mark.covers("LIN-36")
def test_shrinks_towards_a_prior():
    prior = rng.normal(size=5)
    model = Ridge(4.0, fit_intercept=False, prior=prior).fit(X, y)
    np.testing.assert_allclose(model.coef_, closed(X, y, 4.0, prior), rtol=1e-12)
    assert qed.verify(model, X, y).holds


@pytest.mark.covers("BAY-24")
@pytest.mark.parametrize(("noise", "spread"), [(0.5, 2.0), (1.0, 1.0), (3.0, 0.2)])
def test_ridge_is_the_most_probable_under_a_normal_prior(noise, spread):
    """The strength is the variance of the noise over that of the prior; one over the latter only for unit noise."""
    model = Ridge(noise**2 / spread**2, fit_intercept=False).fit(X, y)
    precision = X.T @ X / noise**2 + np.eye(5) / spread**2  # of the posterior, a normal distribution
    mean = np.linalg.solve(precision, X.T @ y / noise**2)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-10)
    slope = X.T @ (y - X @ model.coef_) / noise**2 - model.coef_ / spread**2  # of the log posterior
    np.testing.assert_allclose(slope, 0, atol=1e-9 * np.abs(X.T @ y).max() / noise**2)
    other = Ridge(1 / spread**2, fit_intercept=False).fit(X, y).coef_
    assert np.allclose(other, mean, rtol=1e-8) == (noise == 1.0)


def test_each_target_its_own_strength():
    Y = np.column_stack([y, -y, y**2])
    strengths = np.array([0.1, 10.0, 0.1])
    model = Ridge(strengths).fit(X, Y)
    for j, alpha in enumerate(strengths):
        np.testing.assert_allclose(model.coef_[j], Ridge(alpha).fit(X, Y[:, j]).coef_, rtol=1e-12)
    assert qed.verify(model, X, Y).holds
    with pytest.raises(qed.InvalidParameter, match="2 penalty strengths and y has 3 targets"):
        Ridge([1.0, 2.0]).fit(X, Y)


@pytest.mark.parametrize("shape", [(50, 5), (30, 200)])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e3])
def test_agrees_with_scikit_learn(shape, alpha):
    A = rng.normal(size=shape) + 3
    t = rng.normal(size=(shape[0], 2))
    s = rng.uniform(0.1, 2, shape[0])
    for intercept in (True, False):
        ours = Ridge(alpha, fit_intercept=intercept).fit(A, t, s)
        theirs = Theirs(alpha, fit_intercept=intercept, solver="svd").fit(A, t, s)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-10)
        assert qed.verify(ours, A, t, s).holds


def test_every_solver_of_scikit_learn_is_a_hint():
    reference = Ridge().fit(X, y).coef_
    for solver in ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"):
        model = Ridge(solver=solver, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.coef_, reference)
        assert model.solver_used_ == "cholesky"


def test_prior_of_the_wrong_shape_is_refused():
    with pytest.raises(qed.InvalidParameter, match=r"prior has shape \(3,\)"):
        Ridge(prior=np.zeros(3)).fit(X, y)


def test_standard_errors_are_refused_with_the_reason_and_given_without_a_penalty():
    with pytest.raises(qed.InvalidData, match=r"No standard errors: a penalty shrinks"):
        Ridge(1.0).fit(X, y).coefficient_table()
    table = Ridge(0.0).fit(X, y).coefficient_table()
    np.testing.assert_allclose(table.standard_error, LinearRegression().fit(X, y).coefficient_table().standard_error)
    assert repr(table) == str(table)


def test_real_table():
    data = load_diabetes()
    ours, theirs = Ridge(0.1).fit(data.data, data.target), Theirs(0.1).fit(data.data, data.target)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert qed.verify(ours, data.data, data.target).holds
    assert str(ours.certificate_.fingerprint.rows) in str(ours.certificate_)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e10])
@pytest.mark.parametrize("shape", [(40, 3), (5, 80)])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_prior_whose_squares_overflow_is_refused(alpha, shape, sparse):
    noise = np.random.default_rng(4)
    rows = scipy.sparse.csr_array(np.tile(noise.normal(size=shape), (1, 50))) if sparse else noise.normal(size=shape)
    target = noise.normal(size=shape[0])
    for size in (1e300, 1e155):
        prior = np.zeros(rows.shape[1])
        prior[1] = -size
        with pytest.raises(qed.InvalidParameter, match=r"prior holds .* overflow"):
            Ridge(alpha, prior=prior).fit(rows, target)
    model = Ridge(alpha, prior=np.full(rows.shape[1], 1e100)).fit(rows, target)
    assert qed.verify(model, rows, target).holds
    with pytest.raises(qed.InvalidParameter, match="prior holds"):
        Ridge(alpha, prior=prior).partial_fit(rows, target)
