"""Ordinary least squares: rows of the curriculum, then examples, then a real table."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar, nnls
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Theirs

import qed
from qed.compose import make_pipeline
from qed.convex import Problem, Squared, Zero
from qed.designs import design
from qed.linear_model import Lasso, LinearRegression, Ridge
from qed.optimize import as_function, check_gradient
from qed.preprocessing import BasisFunctions, PolynomialFeatures
from qed.tree import DecisionTreeRegressor

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 4))
y = X @ [1.0, -2.0, 0.5, 0.0] + 3 + rng.normal(size=60)


def hat(X):
    """The matrix that maps targets to fitted values, column by column through the model itself."""
    n = len(X)
    return LinearRegression(fit_intercept=False).fit(X, np.eye(n)).predict(X)


@pytest.mark.covers("FND-04")
def test_the_toy_line_memorises_and_generalises():
    model = LinearRegression().fit([[2.0], [4.0]], [3.0, 5.0])
    np.testing.assert_allclose(model.predict([[4.0], [5.0]]), [5, 6], rtol=1e-14)


@pytest.mark.covers("LIN-01")
def test_closed_form():
    assert LinearRegression(fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0]).coef_ == pytest.approx(
        [1.0], rel=1e-15
    )
    model = LinearRegression(fit_intercept=False).fit(X, y)
    q, r = np.linalg.qr(X)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(r, q.T @ y), rtol=1e-12)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, rtol=1e-12)
    assert model.coef_.shape == (4,)


@pytest.mark.covers("LIN-02")
def test_dependent_columns_give_the_shortest_solution():
    twin = np.column_stack([X, X[:, 0]])
    model = LinearRegression(fit_intercept=False).fit(twin, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(twin) @ y, rtol=1e-10)
    np.testing.assert_allclose(twin.T @ twin @ model.coef_, twin.T @ y, rtol=1e-10)
    limit = Ridge(1e-5, fit_intercept=False).fit(twin, y)
    np.testing.assert_allclose(model.coef_, limit.coef_, rtol=1e-5)
    assert model.rank_ == 4
    inverse = np.linalg.inv(X.T @ X) @ X.T
    np.testing.assert_allclose(LinearRegression(fit_intercept=False).fit(X, y).coef_, inverse @ y, rtol=1e-12)


@pytest.mark.covers("LIN-03")
def test_projection():
    H = hat(X)
    np.testing.assert_allclose(H @ H, H, atol=1e-12)
    np.testing.assert_allclose(H, H.T, atol=1e-12)
    assert np.trace(H) == pytest.approx(4)
    residual = y - LinearRegression(fit_intercept=False).fit(X, y).predict(X)
    np.testing.assert_allclose(X.T @ residual, 0, atol=1e-11)


@pytest.mark.covers("LIN-04")
def test_smallest_cost_is_the_squared_distance_to_the_column_space():
    model = LinearRegression(fit_intercept=False).fit(X, y)
    outside = (np.eye(60) - hat(X)) @ y
    assert model.squared_residuals_ == pytest.approx(outside @ outside, rel=1e-12)
    inside = LinearRegression(fit_intercept=False).fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    assert inside.squared_residuals_ < 1e-24


@pytest.mark.covers("LIN-05", "DAT-01")
def test_intercept_is_a_constant_column():
    with_ones = LinearRegression(fit_intercept=False).fit(np.column_stack([X, np.ones(60)]), y)
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose([*model.coef_, model.intercept_], with_ones.coef_, rtol=1e-11)
    assert model.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ model.coef_, rel=1e-13)


@pytest.mark.covers("LIN-06")
def test_the_gradient_is_minus_twice_the_residuals_times_the_rows():
    """The loss is half the square, so that its gradient is X'(Xw - y); of the sum of squares it is twice that."""
    w = np.array([0.3, -1.0, 2.0, 0.7])
    half = as_function(Problem(design(X), Squared(y), Zero(), np.ones(60), free_intercept=False))
    residual = y - X @ w
    assert half.value(w) == pytest.approx(0.5 * residual @ residual, rel=1e-13)
    np.testing.assert_allclose(half.gradient(w), X.T @ (X @ w - y), rtol=1e-12)
    np.testing.assert_allclose(
        2 * half.gradient(w), -2 * sum(r * x for r, x in zip(residual, X, strict=True)), rtol=1e-11
    )
    np.testing.assert_allclose(X.T @ Squared(y).slope(X @ w), half.gradient(w), rtol=1e-12)
    # a parabola: central differences of any length are exact
    steps = [(half.value(w + h) - half.value(w - h)) / 2 for h in np.eye(4)]
    np.testing.assert_allclose(steps, half.gradient(w), rtol=1e-10)
    assert check_gradient(half, w).passed
    exact = as_function(Problem(design(X), Squared(X @ w), Zero(), np.ones(60), free_intercept=False))
    np.testing.assert_allclose(exact.gradient(w), 0, atol=1e-12)  # no residuals, no gradient
    best = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(half.gradient(best.coef_), 0, atol=1e-11)


@pytest.mark.covers("LIN-11")
def test_as_many_coefficients_as_points_interpolate():
    t = np.array([0.0, 1.0, 2.0, 3.0])
    values = np.array([1.0, -1.0, 4.0, 2.0])
    V = np.vander(t, increasing=True)
    model = LinearRegression(fit_intercept=False).fit(V, values)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(V, values), rtol=1e-9)
    np.testing.assert_allclose(model.predict(V), values, atol=1e-11)


@pytest.mark.covers("LIN-12")
def test_norm_of_the_weights_rises_with_the_degree():
    noise = np.random.default_rng(3)
    t = np.sort(noise.uniform(-1, 1, 14))
    target = np.sin(3 * t) + 0.3 * noise.normal(size=14)
    norms = []
    for degree in (1, 4, 8, 12):
        powers = np.vander(t, degree + 1)
        w = LinearRegression(fit_intercept=False).fit(powers, target).coef_
        q, r = np.linalg.qr(powers)
        np.testing.assert_allclose(w, np.linalg.solve(r, q.T @ target), rtol=1e-7)
        norms.append(np.linalg.norm(w))
    assert norms == sorted(norms)
    assert norms[-1] > 100 * norms[0]


@pytest.mark.covers("LIN-32")
def test_targets_fitted_together_are_targets_fitted_one_by_one():
    Y = np.column_stack([y, y**2, -y])
    together = LinearRegression().fit(X, Y)
    for j in range(3):
        alone = LinearRegression().fit(X, Y[:, j])
        np.testing.assert_allclose(together.coef_[j], alone.coef_, rtol=1e-13)
        assert together.intercept_[j] == pytest.approx(alone.intercept_, rel=1e-13)
    assert together.predict(X).shape == (60, 3)


@pytest.mark.covers("LIN-37", "LIN-38")
def test_risk_and_unbiasedness():
    noise = np.random.default_rng(11)
    truth = np.array([1.0, -2.0, 0.5, 0.0])
    draws = X @ truth + noise.normal(size=(4000, 60))
    w = LinearRegression(fit_intercept=False).fit(X, draws.T).coef_
    error = np.mean(np.sum(((w - truth) @ X.T) ** 2, axis=1))
    # chi-squared with 4 degrees of freedom: mean 4, variance 8; the band is seven standard errors
    assert error == pytest.approx(4, abs=7 * np.sqrt(8 / 4000))
    spread = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) / 4000)
    assert np.all(np.abs(w.mean(axis=0) - truth) < 7 * spread)
    other = (
        np.linalg.inv(X.T @ np.diag(np.arange(1, 61)) @ X) @ X.T @ np.diag(np.arange(1, 61))
    )  # also linear and unbiased
    assert np.linalg.eigvalsh(other @ other.T - np.linalg.inv(X.T @ X)).min() > -1e-12
    np.testing.assert_allclose(np.cov(w.T), np.linalg.inv(X.T @ X), atol=7 * np.sqrt(2 / 4000) * 0.05)


@pytest.mark.covers("LIN-40")
def test_a_feature_map_makes_it_non_linear():
    t = np.linspace(-1, 1, 30)[:, None]
    target = np.sin(3 * t[:, 0]) + 0.1 * np.cos(40 * t[:, 0])
    waves = BasisFunctions({"one": np.ones_like, "wave": lambda x: np.sin(3 * x), "fold": np.abs})
    maps = (PolynomialFeatures(4), t ** np.arange(5)), (waves, np.column_stack([np.ones(30), np.sin(3 * t), np.abs(t)]))
    for features, phi in maps:
        curve = make_pipeline(features, LinearRegression(fit_intercept=False)).fit(t, target)
        np.testing.assert_allclose(curve[0].transform(t), phi, rtol=1e-13)
        w = np.linalg.lstsq(phi, target, rcond=None)[0]
        np.testing.assert_allclose(curve[-1].coef_, w, rtol=1e-7)
        np.testing.assert_allclose(curve.predict(t), phi @ w, rtol=1e-9, atol=1e-11)
        straight = LinearRegression().fit(t, target)
        assert np.sum((curve.predict(t) - target) ** 2) < np.sum((straight.predict(t) - target) ** 2) / 2


@pytest.mark.covers("BAY-19")
def test_normal_noise_makes_least_squares_the_most_likely():
    model = LinearRegression().fit(X, y)
    variance = model.squared_residuals_ / 60

    def nll(told, v):
        return -norm.logpdf(y, told, np.sqrt(v)).sum()

    for v in (variance, 0.3, 2.0):  # n/2 ln(2 pi v) + RSS / 2v
        formula = 30 * np.log(2 * np.pi * v) + Squared(y).value(model.predict(X)).sum() / v
        assert nll(model.predict(X), v) == pytest.approx(formula, rel=1e-12)
    assert nll(model.predict(X), variance) == pytest.approx(30 * np.log(2 * np.pi * variance) + 30)
    assert model.squared_residuals_ == pytest.approx(np.sum((y - model.predict(X)) ** 2), rel=1e-12)
    # the likeliest coefficients, found by a minimiser that knows only densities, are those of least squares
    ones = np.column_stack([X, np.ones(60)])
    found = minimize(lambda w: nll(ones @ w, 1.0), np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(found.x, [*model.coef_, model.intercept_], atol=1e-5)
    assert minimize_scalar(lambda v: nll(model.predict(X), v), bounds=(0.01, 9), method="bounded").x == pytest.approx(
        variance, rel=1e-3
    )
    # any function class: of several curves the likeliest is the one with the smallest squared error
    curves = [make_pipeline(PolynomialFeatures(k), LinearRegression()).fit(X, y) for k in (1, 2)]
    curves += [DecisionTreeRegressor(max_depth=k).fit(X, y) for k in (1, 2, 6)] + [model]
    told = [curve.predict(X) for curve in curves]
    errors = [np.sum((one - y) ** 2) for one in told]
    assert (
        np.argsort(errors, kind="stable").tolist()
        == np.argsort([nll(one, 0.5) for one in told], kind="stable").tolist()
    )


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_columns_do_not_matter(scale):
    units = np.array([1.0, scale, 1 / scale, 1.0])
    model = LinearRegression().fit(X * units, y)
    np.testing.assert_allclose(model.coef_ * units, LinearRegression().fit(X, y).coef_, rtol=1e-10)
    assert model.rank_ == 4
    U, sigma, Vt = np.linalg.svd((X - X.mean(axis=0)), full_matrices=False)
    np.testing.assert_allclose(model.coef_ * units, Vt.T @ ((U.T @ (y - y.mean())) / sigma), rtol=1e-10)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8, 1e10])
def test_digits_follow_the_condition_number_not_its_square(condition):
    noise = np.random.default_rng(5)
    U, _ = np.linalg.qr(noise.normal(size=(200, 8)))
    V, _ = np.linalg.qr(noise.normal(size=(8, 8)))
    A = U @ np.diag(np.geomspace(1, 1 / condition, 8)) @ V.T
    truth = V[:, 0] + V[:, -1]
    model = LinearRegression(fit_intercept=False).fit(A, A @ truth)
    assert np.linalg.norm(model.coef_ - truth) < 1e-14 * condition * 50 * np.linalg.norm(truth)
    assert ("qr" in model.solver_used_) == (condition > 1e6)


def test_agrees_with_scikit_learn_on_a_real_table():
    data = load_diabetes()
    for intercept in (True, False):
        ours = LinearRegression(fit_intercept=intercept).fit(data.data, data.target)
        theirs = Theirs(fit_intercept=intercept).fit(data.data, data.target)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
        np.testing.assert_allclose(ours.predict(data.data), theirs.predict(data.data), rtol=1e-10)
        assert ours.score(data.data, data.target) == pytest.approx(theirs.score(data.data, data.target), rel=1e-12)
        assert qed.verify(ours, data.data, data.target).holds


def test_weight_two_is_the_row_twice():
    s = rng.integers(0, 4, 60).astype(float)
    weighted = LinearRegression().fit(X, y, s)
    repeated = LinearRegression().fit(np.repeat(X, s.astype(int), axis=0), np.repeat(y, s.astype(int)))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-12)
    a, b = weighted.coefficient_table(), repeated.coefficient_table()
    np.testing.assert_allclose(a.standard_error, b.standard_error, rtol=1e-11)


def test_float32_rows_give_float32_coefficients_and_predictions():
    model = LinearRegression().fit(X.astype(np.float32), y)
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert model.predict(X).dtype == np.float64
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-6)


def test_positive_is_refused_in_words():
    with pytest.raises(qed.NotSupported, match=r"positive=True is not in qed. Use Lasso\(alpha=0.0, positive=True\)"):
        LinearRegression(positive=True).fit(X, y)
    named = Lasso(alpha=0.0, positive=True, fit_intercept=False, tol=1e-12).fit(X, y)  # which has the same optimum
    np.testing.assert_allclose(named.coef_, nnls(X, y)[0], atol=1e-5)


def test_strict_raises_and_keeps_the_model(no_squares):
    big = np.random.default_rng(0)
    A = sp.random_array((400, 200), density=0.05, random_state=big, format="csr")
    model = LinearRegression(strict=True, max_iter=1, tol=1e-12)
    with pytest.raises(qed.ToleranceNotReached, match="raise max_iter or tol"):
        model.fit(A, big.normal(size=400))
    assert model.certificate_.outcome == "max_iter"
    assert not model.certificate_.reached
