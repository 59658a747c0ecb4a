"""Limits on coefficients, few columns, powers of errors, classes by least squares: each beside its definition."""

from itertools import combinations, pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier as Theirs

import qed
from qed import CertificateError, InvalidData, InvalidParameter, ToleranceNotReached
from qed.compose import make_pipeline
from qed.convex import Logistic
from qed.linear_model import (
    ConstrainedLasso,
    ConstrainedRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PowerRegressor,
    Ridge,
    RidgeClassifier,
    best_sequence,
    best_subset,
    hard_thresholding,
    lasso_path,
)
from qed.preprocessing import BasisFunctions, PolynomialFeatures, RadialBasis

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6)) + 0.5
y = X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 3.0 + rng.normal(size=60)
weights = rng.integers(0, 3, 60)


@pytest.mark.covers("LIN-19")
@pytest.mark.parametrize("alpha", [0.1, 5.0, 300.0])
def test_a_length_and_a_strength_give_the_same_ridge(alpha):
    ridge = Ridge(alpha, fit_intercept=False, tol=1e-12).fit(X, y)
    model = ConstrainedRidge(float(np.linalg.norm(ridge.coef_)), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)
    assert model.alpha_ == pytest.approx(alpha, rel=1e-8)  # the strength itself, not twice it
    assert model.radius**2 <= y @ y / alpha
    w = cp.Variable(6)
    best = cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y)), [cp.norm(w) <= model.radius]).solve(solver=cp.CLARABEL)
    assert np.sum((X @ model.coef_ - y) ** 2) == pytest.approx(best, rel=1e-6)


@pytest.mark.covers("LIN-26")
@pytest.mark.parametrize("alpha", [0.01, 0.2, 1.0])
def test_a_sum_and_a_strength_give_the_same_lasso(alpha):
    lasso = Lasso(alpha, tol=1e-12).fit(X, y)
    radius = float(np.abs(lasso.coef_).sum())
    model = ConstrainedLasso(radius).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-9)
    assert model.alpha_ == pytest.approx(alpha, rel=1e-7)
    rows, target = X - X.mean(axis=0), y - y.mean()
    w, step = np.zeros(6), 1 / np.linalg.norm(rows, 2) ** 2
    for _ in range(3000):  # projected gradient, from the definition
        w = onto_ball(w - step * rows.T @ (rows @ w - target), radius)
    np.testing.assert_allclose(model.coef_, w, atol=1e-6)


def onto_ball(v, radius):
    if np.abs(v).sum() <= radius:
        return v
    size = np.sort(np.abs(v))[::-1]
    levels = (np.cumsum(size) - radius) / np.arange(1, len(v) + 1)
    level = levels[np.flatnonzero(size > levels)[-1]]
    return np.sign(v) * np.maximum(np.abs(v) - level, 0)


@pytest.mark.parametrize("kind", [ConstrainedRidge, ConstrainedLasso])
@pytest.mark.parametrize("radius", [0.0, 0.5, 2.0, 1e6])
def test_limits_are_proved_kept_and_weights_are_repetitions(kind, radius):
    model = kind(radius).fit(X, y, weights)
    assert model.certificate_.reached
    assert qed.verify(model, X, y, weights).holds
    repeated = kind(radius).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(model.coef_, repeated.coef_, atol=1e-8)
    size = np.linalg.norm(model.coef_) if kind is ConstrainedRidge else np.abs(model.coef_).sum()
    assert size <= radius
    for changed in (0.9 * model.coef_, 1.1 * model.coef_, model.coef_ + 0.1):
        other = kind(radius).fit(X, y, weights)
        other.coef_ = changed
        if not np.array_equal(changed, model.coef_):
            with pytest.raises(CertificateError):
                qed.verify(other, X, y, weights)


@pytest.mark.covers("LIN-27")
def test_the_best_subset_is_that_of_all_subsets():
    for size in range(7):
        found = best_subset(X, y, size=size)
        every = [rest(columns) for k in range(size + 1) for columns in combinations(range(6), k)]
        assert found.objective == pytest.approx(min(every))
        assert found.gap == 0.0
        assert found.objective <= rest(greedy(size)) * (1 + 1e-12)
        assert np.flatnonzero(found.coef).tolist() == found.columns.tolist()
        steps = hard_thresholding(X, y, size)
        assert len(steps.columns) == size
        assert steps.objective == pytest.approx(rest(tuple(steps.columns)))  # least squares on the columns it names
        assert np.sum((y - X @ steps.coef - steps.intercept) ** 2) == pytest.approx(steps.objective)
        assert rest(range(6)) == pytest.approx(steps.bound)
        assert steps.bound <= found.objective * (1 + 1e-12) <= steps.objective * (1 + 2e-12)
    Q = np.linalg.qr(rng.normal(size=(20, 8)))[0]
    t = rng.normal(size=20)
    products = Q.T @ t
    priced = best_subset(Q, t, penalty=0.3, fit_intercept=False)
    np.testing.assert_allclose(priced.coef, np.where(products**2 > 0.3, products, 0.0), atol=1e-12)
    for size in (1, 3, 8):  # of columns across each other the largest products are best
        largest = np.abs(products) >= np.sort(np.abs(products))[-size]
        for found in (
            hard_thresholding(Q, t, size, fit_intercept=False),
            best_subset(Q, t, size=size, fit_intercept=False),
        ):
            np.testing.assert_allclose(found.coef, np.where(largest, products, 0.0), atol=1e-12)
            assert found.objective == pytest.approx(t @ t - np.sum(products[largest] ** 2))
    early = best_subset(X, y, size=3, max_nodes=2)
    least = min(rest(columns) for columns in combinations(range(6), 3))
    assert early.bound * (1 - 1e-12) <= least <= early.objective * (1 + 1e-12)  # each is rounded
    with pytest.raises(InvalidParameter, match="exactly one"):
        best_subset(X, y)


def rest(columns):
    rows = X[:, list(columns)] - X[:, list(columns)].mean(axis=0)
    target = y - y.mean()
    return (
        float(np.sum((target - rows @ np.linalg.lstsq(rows, target, rcond=None)[0]) ** 2))
        if columns
        else target @ target
    )


def greedy(size):
    chosen = ()
    for _ in range(size):
        chosen = min(((*chosen, j) for j in range(6) if j not in chosen), key=rest)
    return chosen


@pytest.mark.covers("LIN-28")
def test_a_price_for_columns_never_chooses_one_where_a_limit_does():
    rho = 0.4
    first, second = np.array([1.0, 0.0]), np.array([rho, np.sqrt(1 - rho**2)])
    rows, target = np.column_stack([first, second]), first - second
    squares = [best_subset(rows, target, size=k, fit_intercept=False).objective for k in range(3)]
    np.testing.assert_allclose(squares, [2 * (1 - rho), 1 - rho**2, 0.0], atol=1e-12)
    assert squares[1] > (squares[0] + squares[2]) / 2
    assert len(best_subset(rows, target, size=1, fit_intercept=False).columns) == 1
    chosen = {
        price: len(best_subset(rows, target, penalty=price, fit_intercept=False).columns)
        for price in np.linspace(0, 2, 81)
    }
    assert set(chosen.values()) == {0, 2}
    assert all(
        count == (2 if price < 1 - rho else 0) for price, count in chosen.items() if abs(price - (1 - rho)) > 1e-9
    )


@pytest.mark.covers("LIN-31")
def test_powers_lead_from_the_median_to_the_middle_of_the_range():
    values = np.array([0.0, 1.0, 2.0, 7.0, 30.0])
    nothing = np.zeros((5, 1))
    assert PowerRegressor(1.0).fit(nothing, values).intercept_ == pytest.approx(np.median(values))
    assert PowerRegressor(2.0).fit(nothing, values).intercept_ == pytest.approx(values.mean())
    assert PowerRegressor(np.inf).fit(nothing, values).intercept_ == pytest.approx(15.0)
    line = np.arange(10.0)[:, None]
    spoilt = np.where(np.arange(10) == 7, 500.0, 2 * line[:, 0] + 1)
    np.testing.assert_allclose(PowerRegressor(1.0).fit(line, spoilt).coef_, [2.0], atol=1e-9)
    assert PowerRegressor(2.0).fit(line, spoilt).coef_[0] > 10


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0, np.inf])
def test_powers_agree_with_an_interior_point_method_from_outside(p, intercept):
    model = PowerRegressor(p, fit_intercept=intercept).fit(X, y)
    w, b = cp.Variable(6), cp.Variable()
    best = cp.Problem(cp.Minimize(cp.pnorm(X @ w + (b if intercept else 0.0) - y, p, approx=False))).solve(
        solver=cp.CLARABEL
    )
    assert np.linalg.norm(model.predict(X) - y, p) == pytest.approx(best, rel=1e-5)
    assert model.certificate_.reached
    assert qed.verify(model, X, y).holds
    model.coef_ = 1.01 * model.coef_
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_the_largest_error_of_many_rows_is_that_of_the_few_that_decide():
    random = np.random.default_rng(3)
    rows = random.normal(size=(2000, 4))
    target = np.exp(rows[:, 0]) + rows[:, 1]
    model = PowerRegressor(np.inf).fit(rows, target)
    w, b = cp.Variable(4), cp.Variable()
    best = cp.Problem(cp.Minimize(cp.norm_inf(rows @ w + b - target))).solve(solver=cp.CLARABEL)
    assert model.certificate_.objective == pytest.approx(best, rel=1e-6)
    assert np.count_nonzero(model.certificate_.dual) <= 6  # one row more than coefficients
    assert qed.verify(model, rows, target).holds
    early = PowerRegressor(np.inf, max_iter=1)
    assert model.n_iter_ > 1
    with pytest.raises(ToleranceNotReached, match="The model so far is stored"):
        early.set_params(strict=True).fit(rows, target)
    assert qed.verify(early, rows, target).holds


@pytest.mark.covers("LIN-34")
def test_the_best_sequence_is_that_of_all_sequences():
    for seed in range(30):
        random = np.random.default_rng(seed)
        length, k = int(random.integers(1, 6)), int(random.integers(1, 4))
        scores = random.normal(size=(length, k))
        moves = random.normal(size=(k, k) if seed % 2 else (length - 1, k, k))
        steps = np.broadcast_to(moves, (max(length - 1, 0), k, k))

        def worth(path, scores=scores, steps=steps):
            return sum(scores[i, a] for i, a in enumerate(path)) + sum(
                steps[i, a, b] for i, (a, b) in enumerate(pairwise(path))
            )

        best = max(worth(path) for path in product(range(k), repeat=length))
        labels, value = best_sequence(scores, moves)
        assert value == pytest.approx(best)
        assert worth(labels.tolist()) == pytest.approx(best)
    with pytest.raises(InvalidData, match="transitions"):
        best_sequence([[0.0, 1.0]], [[1.0]])


@pytest.mark.covers("LIN-35")
def test_least_squares_on_signs_points_along_the_difference_of_the_means():
    a, b = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + np.array([1.0, 0.5, 0.0])
    rows, labels = np.vstack([a, b]), np.repeat([-1, 1], 40)
    model = RidgeClassifier(alpha=0.0).fit(rows, labels)
    spread = sum(40 * np.cov(part.T, bias=True) for part in (a, b))
    along = np.linalg.solve(spread, b.mean(axis=0) - a.mean(axis=0))
    cosine = model.coef_[0] @ along / np.linalg.norm(model.coef_[0]) / np.linalg.norm(along)
    assert cosine == pytest.approx(1.0, abs=1e-12)
    plain = LinearRegression().fit(rows, labels)
    np.testing.assert_allclose(model.coef_[0], plain.coef_, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(rows), np.where(plain.predict(rows) > 0, 1, -1))
    model.coef_, model.intercept_ = np.zeros((1, 3)), np.zeros(1)
    assert model.predict(rows[:1]).tolist() == [-1]  # a score of zero


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced", "alpha": 0.1}, {"fit_intercept": False}])
def test_ridge_classifiers_are_those_of_scikit_learn(options):
    rows, labels = load_iris(return_X_y=True)
    for some in (labels < 3, labels < 2):
        ours, theirs = (
            RidgeClassifier(**options).fit(rows[some], labels[some]),
            Theirs(**options).fit(rows[some], labels[some]),
        )
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
        assert qed.verify(ours, rows[some], labels[some]).holds
        ours.coef_ = 1.01 * ours.coef_
        with pytest.raises(CertificateError):
            qed.verify(ours, rows[some], labels[some])


@pytest.mark.covers("LIN-08", "LIN-10")
def test_functions_of_a_column_make_a_linear_model():
    t = np.linspace(0, 1, 25)[:, None]
    waves = [lambda x: np.sin(2 * np.pi * x), lambda x: np.cos(2 * np.pi * x)]
    model = make_pipeline(BasisFunctions(waves), LinearRegression()).fit(t, np.sin(2 * np.pi * t[:, 0]))
    np.testing.assert_allclose(model[-1].coef_, [1.0, 0.0], atol=1e-10)
    table = BasisFunctions(["1", "x", "x^2", np.cosh]).fit(t).transform(t)
    assert table.shape == (25, 4)
    for j, function in enumerate((np.ones_like, lambda x: x, np.square, np.cosh)):
        np.testing.assert_allclose(table[:, j], function(t[:, 0]))
    linear, both = LinearRegression().fit(table, t[:, 0]), rng.normal(size=(2, 4))
    said = []
    for w in (both[0], both[1], both.sum(axis=0)):
        linear.coef_, linear.intercept_ = w, 0.0
        said.append(linear.predict(table))
    np.testing.assert_allclose(said[2], said[0] + said[1], atol=1e-12)


@pytest.mark.covers("LIN-09")
def test_radial_functions_see_the_distance_alone():
    centre = np.array([[1.0, -2.0]])
    basis = RadialBasis(centers=centre, width=0.7).fit(np.zeros((2, 2)))
    rows = rng.normal(size=(20, 2))
    angle = 0.9
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = (rows - centre) @ turn.T + centre
    np.testing.assert_allclose(basis.transform(turned), basis.transform(rows), atol=1e-12)
    for centres, width in ((centre, 0.7), (rng.normal(size=(3, 2)), 1.6)):
        distances = np.array([[np.hypot(*(row - c)) for c in centres] for row in rows])
        found = RadialBasis(centers=centres, width=width).fit_transform(rows)
        np.testing.assert_allclose(found, np.exp(-0.5 * (distances / width) ** 2), rtol=1e-12)


@pytest.mark.covers("LIN-41")
def test_the_path_of_the_lasso_is_straight_between_its_knots():
    rows, target = X - X.mean(axis=0), y - y.mean()
    top = np.abs(rows.T @ target).max() / len(y)
    alphas = np.linspace(top, 0.02 * top, 400)
    strengths, coefs, _ = lasso_path(rows, target, alphas=alphas, tol=1e-13)
    np.testing.assert_array_equal(strengths, alphas)
    pulls = rows.T @ (target[:, None] - rows @ coefs) / len(y)  # optimal: alpha where a column is used, less elsewhere
    np.testing.assert_allclose(pulls[coefs != 0], (alphas * np.sign(coefs))[coefs != 0], atol=1e-8)
    assert np.all(np.abs(pulls) <= alphas + 1e-8)
    bends = np.abs(np.diff(coefs, n=2, axis=1)).max(axis=0) > 1e-7
    used = (np.abs(coefs) > 1e-12).astype(int)
    knots = np.flatnonzero(np.abs(np.diff(used, axis=1)).max(axis=0))
    assert 3 <= len(knots) <= 12
    for at in np.flatnonzero(bends):
        assert np.abs(knots - at).min() <= 2  # slopes change where a column comes in or leaves, and nowhere else
    assert bends.sum() <= 3 * len(knots)


@pytest.mark.covers("CLS-20")
def test_the_sigmoid():
    x, label = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0]), np.array([0, 1, 0, 1, 0, 1])
    model = LogisticRegression(C=5.0, tol=1e-14).fit(x[:, None], label)
    (w,), (b,) = model.coef_[0], model.intercept_
    pull = label - 1 / (1 + np.exp(-(w * x + b)))
    assert 5.0 * pull @ x == pytest.approx(w, rel=1e-8)  # the optimum, by the sigmoid written out
    assert pull.sum() == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(model.predict_proba(x[:, None])[:, 1], label - pull, rtol=1e-12)
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    t = np.array([-1000.0, -3.0, -0.5, 0.0, 0.5, 3.0, 1000.0])
    sigmoid = model.predict_proba(t[:, None])[:, 1]
    np.testing.assert_allclose(sigmoid[1:-1], 1 / (1 + np.exp(-t[1:-1])), rtol=1e-14)
    np.testing.assert_allclose(sigmoid[::-1], 1 - sigmoid, atol=1e-15)
    assert sigmoid[3] == 0.5
    assert sigmoid[0] == 0.0
    assert sigmoid[-1] == 1.0
    slope = Logistic(np.ones(7)).curvature(t)
    np.testing.assert_allclose(slope, sigmoid * (1 - sigmoid), atol=1e-15)
    assert slope.max() == 0.25
    middle = t[1:-1, None]
    change = model.predict_proba(middle + 1e-6)[:, 1] - model.predict_proba(middle - 1e-6)[:, 1]
    np.testing.assert_allclose(change / 2e-6, slope[1:-1], rtol=1e-6)


@pytest.mark.covers("CLS-36")
def test_a_quadratic_classifier_is_linear_in_the_lifted_row():
    lift = PolynomialFeatures(2).fit(X[:, :3])
    lifted = lift.transform(X[:, :3])
    label = X[:, 0] * X[:, 1] + X[:, 2] > 0.5
    model = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-14).fit(lifted, label)
    w = model.coef_[0]
    Q, p, b = np.zeros((3, 3)), w[1:4] / np.sqrt(2), w[0]
    for weight, powers in zip(w, lift.powers_, strict=True):
        if powers.sum() == 2:
            i, j = np.repeat(np.arange(3), powers)
            Q[i, j] += weight / 2
            Q[j, i] += weight / 2
    by_hand = np.einsum("ni,ij,nj->n", X[:, :3], Q, X[:, :3]) + np.sqrt(2) * X[:, :3] @ p + b
    scores = model.decision_function(lifted)
    assert scores.shape == (60,)
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)
    monomials = np.array([np.prod(X[:, :3] ** powers, axis=1) for powers in lift.powers_])
    np.testing.assert_allclose(2.0 * monomials @ (label - 1 / (1 + np.exp(-by_hand))), w, atol=1e-7)  # the best Q, p, b


@pytest.mark.parametrize("radius", [1.0, 100.0])
def test_columns_that_repeat_each_other_stay_within_the_length_and_verify(radius):
    twice = np.column_stack([X, X])  # the sum of absolute values is then above the length, whose price may be zero
    model = ConstrainedRidge(radius).fit(twice, y)
    assert np.linalg.norm(model.coef_) <= radius * (1 + 1e-12)
    assert qed.verify(model, twice, y).holds
    model.coef_ = model.coef_ + np.repeat([radius, -radius], 6)  # as good a fit, and too long
    with pytest.raises(CertificateError):
        qed.verify(model, twice, y)


@pytest.mark.parametrize("p", [1.1, 1.5, 1.9])
def test_rows_that_are_met_exactly_have_no_finite_curvature_and_no_effect_on_that_of_others(p):
    level = np.full(60, 0.1)
    model = PowerRegressor(p).fit(X, level)
    np.testing.assert_allclose(model.predict(X), level, rtol=1e-12)
    assert qed.verify(model, X, level).holds
    some = np.where(np.arange(60) < 45, X @ [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], y)
    model = PowerRegressor(p).fit(X, some)
    w, b = cp.Variable(6), cp.Variable()
    best = cp.Problem(cp.Minimize(cp.sum(cp.power(cp.abs(X @ w + b - some), p, approx=False)) / p / 60)).solve(
        solver=cp.CLARABEL
    )
    assert model.certificate_.objective - model.certificate_.gap <= best * (1 + 1e-6)
    assert qed.verify(model, X, some).holds
    assert model.certificate_.reached
    assert model.certificate_.outcome == "solved"
