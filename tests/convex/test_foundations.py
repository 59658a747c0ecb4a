"""Foundations: losses, risks and what minimises them, row by row of the curriculum."""

from itertools import combinations, product

import numpy as np
import pytest
import sklearn.svm

import qed
from qed.convex import (
    L1,
    L2,
    Absolute,
    Bounded,
    CrammerSinger,
    Hinge,
    Huber,
    Logistic,
    LossDisplay,
    Perceptron,
    Power,
    Problem,
    Quantile,
    Softmax,
    Squared,
    SquaredHinge,
    Weighted,
    ZeroOne,
    risk,
    solve,
)
from qed.convex.solvers import CoordinateDescent, DualAscent, Newton
from qed.core._events import Progress
from qed.designs import design
from qed.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from qed.linear_model import Perceptron as PerceptronClassifier
from qed.metrics import log_loss
from qed.svm import LinearSVC

MARGINS = np.linspace(-5.0, 5.0, 401)
UNIT = np.ones_like(MARGINS)


def powers(x, degree):
    return np.column_stack([x**k for k in range(1, degree + 1)])


def coefficients(model, X, samples):
    """The coefficients of many data sets, one for each column, some hundreds at a time."""
    fits = [model.fit(X, samples[:, k : k + 400]).coef_ for k in range(0, samples.shape[1], 400)]
    return np.concatenate([np.reshape(fit, (-1, X.shape[1])) for fit in fits])


@pytest.mark.covers("FND-05")
def test_a_model_is_its_parameters_and_the_best_of_a_finite_class_is_found():
    model = Ridge(alpha=2.5, fit_intercept=False)
    assert Ridge(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(alpha=0.5).get_params()["alpha"] == 0.5
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    alphas = np.array([1e-3, 0.1, 1.0, 7.0, 100.0])

    def plane(rows, alpha):  # the member of the class of planes that ridge regression takes for some rows
        mean, level = X[rows].mean(axis=0), y[rows].mean()
        Z = X[rows] - mean
        w = np.linalg.solve(Z.T @ Z + alpha * np.eye(3), Z.T @ (y[rows] - level))
        return w, level - mean @ w

    def left_out(alpha):
        errors = []
        for i in range(12):
            w, b = plane(np.arange(12) != i, alpha)
            errors.append(X[i] @ w + b - y[i])
        return risk(Squared(np.zeros(12)), errors)

    best = alphas[np.argmin([left_out(alpha) for alpha in alphas])]
    found = RidgeCV(alphas).fit(X, y)
    assert found.alpha_ == best
    w, b = plane(np.arange(12), best)
    np.testing.assert_allclose(found.coef_, w, rtol=1e-9)
    assert found.intercept_ == pytest.approx(b)
    np.testing.assert_allclose(found.predict(X), X @ w + b, rtol=1e-9)


@pytest.mark.covers("FND-06")
def test_zero_one_loss():
    rng = np.random.default_rng(2)
    y, scores = rng.choice([-1.0, 1.0], 50), rng.normal(size=50)
    values = ZeroOne(y).value(scores)
    assert set(values) == {0.0, 1.0}
    assert risk(ZeroOne(y), scores) == np.mean(np.sign(scores) != y)
    assert ZeroOne(np.array([1.0, -1.0])).value(np.zeros(2)).tolist() == [1.0, 1.0]  # zero decides nothing


@pytest.mark.covers("FND-07")
def test_the_mean_minimises_the_squared_loss():
    assert Squared(np.array([3.0, 5.0])).constant(np.ones(2)) == 4.0
    y, probability = np.array([-2.0, 0.0, 1.0, 7.0]), np.array([0.1, 0.4, 0.3, 0.2])
    mean = probability @ y
    best = Squared(y).constant(probability)
    assert best == pytest.approx(mean, rel=1e-15)
    for other in (-1.0, 0.9 * mean, 3.0):
        more = risk(Squared(y), np.full(4, other), probability) - risk(Squared(y), np.full(4, best), probability)
        assert more == pytest.approx(0.5 * (other - mean) ** 2, rel=1e-12)


@pytest.mark.covers("FND-08")
@pytest.mark.parametrize("n", [1, 2, 5, 8, 21])
def test_the_median_minimises_the_absolute_loss(n):
    y = np.random.default_rng(n).normal(size=n)
    best = Absolute(y).constant(np.ones(n))
    assert best == pytest.approx(np.median(y), rel=1e-15)
    assert all(risk(Absolute(y), np.full(n, best)) <= risk(Absolute(y), np.full(n, other)) + 1e-15 for other in y)


@pytest.mark.covers("FND-09")
def test_powers_of_the_residual():
    r = np.array([-3.0, 0.5, 2.0])
    y, one = np.zeros(3), np.ones(3)
    np.testing.assert_allclose(Power(y, 2.0).value(r), Squared(y).value(r), rtol=1e-15)
    np.testing.assert_allclose(Power(y, 1.0 + 1e-12).value(r), Absolute(y).value(r), rtol=1e-11)
    norms = [float(np.sum(p * Power(y, p).value(r))) ** (1 / p) for p in (2.0, 8.0, 64.0, 512.0)]
    assert all(np.diff(norms) <= 0)
    assert norms[-1] == pytest.approx(np.max(np.abs(r)), rel=1e-10)  # the largest size, not the largest signed residual
    sample = np.array([0.0, 0.0, 10.0])
    assert Absolute(sample).constant(one) == 0.0
    assert Power(sample, 2.0).constant(one) == pytest.approx(10 / 3, rel=1e-14)
    for p in (1.5, 3.0, 10.0, 1e6):
        assert Power(sample, p).constant(one) == pytest.approx(10 / (1 + 2 ** (1 / (p - 1))), rel=1e-9)
    assert Power(sample, 1e6).constant(one) == pytest.approx(5.0, rel=1e-6)


@pytest.mark.covers("FND-11")
def test_perceptron_loss():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], 40)
    loss, w = Perceptron(y), rng.normal(size=3)
    margin = y * (X @ w)
    np.testing.assert_array_equal(loss.value(X @ w)[margin >= 0], 0.0)
    np.testing.assert_allclose(loss.value(X @ w)[margin < 0], -margin[margin < 0], rtol=1e-15)
    gradient = loss.slope(X @ w)[:, None] * X
    np.testing.assert_array_equal(gradient, np.where(margin < 0, -y, 0.0)[:, None] * X)
    assert risk(loss, X @ np.zeros(3)) == 0.0  # although nothing is separated
    assert risk(ZeroOne(y), X @ np.zeros(3)) == 1.0


@pytest.mark.covers("FND-12")
def test_hinge_loss():
    np.testing.assert_array_equal(Hinge(np.ones(4)).value(np.array([0.0, 0.5, 1.0, 2.0])), [1.0, 0.5, 0.0, 0.0])
    np.testing.assert_array_equal(Hinge(UNIT).value(MARGINS), Perceptron(UNIT).value(MARGINS - 1.0))
    assert Hinge is not Perceptron
    assert Hinge(np.ones(1)).value(np.zeros(1)) != Perceptron(np.ones(1)).value(np.zeros(1))


@pytest.mark.covers("FND-13")
def test_logistic_loss_in_both_forms():
    rng = np.random.default_rng(4)
    y, f = rng.choice([-1.0, 1.0], 60), 5 * rng.normal(size=60)
    binary = (y + 1) / 2
    np.testing.assert_allclose(Logistic(y).value(f), np.log1p(np.exp(f)) - binary * f, rtol=1e-12, atol=1e-14)
    assert Logistic(np.ones(1)).value(np.zeros(1))[0] == pytest.approx(np.log(2), rel=1e-15)
    np.testing.assert_allclose(
        Logistic(np.array([1.0, -1.0, 1.0, -1.0])).value(np.array([1e3, -1e3, -1e3, 1e3])), [0, 0, 1e3, 1e3]
    )
    assert risk(Logistic(y), f) == pytest.approx(np.mean(np.log1p(np.exp(f)) - binary * f), rel=1e-13)


@pytest.mark.covers("FND-15")
def test_softmax_cross_entropy():
    rng = np.random.default_rng(5)
    for k in (2, 3, 10):
        y, f = rng.integers(0, k, 20), rng.normal(size=(20, k))
        loss = Softmax(y, k)
        np.testing.assert_allclose(loss.value(np.full((20, k), 1.7)), np.log(k), rtol=1e-14)
        probability = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(loss.slope(f), probability - np.eye(k)[y], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(loss.value(f), -np.log(probability[np.arange(20), y]), rtol=1e-13)
        np.testing.assert_allclose(loss.value(f + rng.normal(size=(20, 1))), loss.value(f), rtol=1e-12, atol=1e-14)


@pytest.mark.covers("FND-16")
def test_multi_class_hinge():
    loss = CrammerSinger(np.array([0, 0]), 3)
    np.testing.assert_array_equal(loss.value(np.array([[2.0, 1.5, 0.0], [3.0, 1.0, 0.0]])), [0.5, 0.0])
    rng = np.random.default_rng(6)
    y, f = rng.choice([-1.0, 1.0], 30), rng.normal(size=30)
    two = CrammerSinger((y > 0).astype(float), 2)
    np.testing.assert_allclose(two.value(np.column_stack([-f / 2, f / 2])), Hinge(y).value(f), rtol=1e-14, atol=1e-15)


@pytest.mark.covers("FND-17")
@pytest.mark.parametrize("kind", [Hinge, Logistic, Perceptron, ZeroOne])
def test_costs_by_class(kind):
    rng = np.random.default_rng(7)
    y, f = rng.choice([-1.0, 1.0], 40), rng.normal(size=40)
    cost = np.where(y > 0, 3.0, 1.0)
    loss = Weighted(kind(y), cost)
    assert risk(Weighted(kind(y), 2.5 * cost), f) == pytest.approx(2.5 * risk(loss, f), rel=1e-14)
    copies = np.repeat(np.arange(40), cost.astype(int))  # a whole cost is that many equal rows
    replicated = np.sum(kind(y[copies]).value(f[copies])) / 40
    assert risk(loss, f) == pytest.approx(replicated, rel=1e-14)
    np.testing.assert_allclose(loss.slope(f), cost * kind(y).slope(f), rtol=1e-15)


@pytest.mark.covers("FND-18")
def test_asymmetric_regression_cost():
    low, high = 3.0, 1.0  # for each unit below the target, and above it
    y = np.random.default_rng(8).normal(size=31)
    loss = Weighted(Quantile(y, low / (low + high)), low + high)
    for a in np.linspace(-2.0, 2.0, 9):
        direct = low * np.maximum(y - a, 0) + high * np.maximum(a - y, 0)
        np.testing.assert_allclose(loss.value(np.full(31, a)), direct, rtol=1e-14)
    best = loss.constant(np.ones(31))
    assert best == np.sort(y)[int(np.ceil(0.75 * 31)) - 1]
    assert np.mean(y <= best) >= 0.75 >= np.mean(y < best)
    assert risk(loss, np.full(31, best)) == pytest.approx(min(risk(loss, np.full(31, a)) for a in y), rel=1e-14)


@pytest.mark.covers("FND-19")
@pytest.mark.parametrize("knee", [0.3, 1.0, 2.5])
def test_huber_is_a_moreau_envelope(knee):
    loss = Huber(np.zeros_like(MARGINS), knee)
    outlier = (knee * L1()).prox(MARGINS, 1.0)  # the soft threshold
    np.testing.assert_allclose(outlier, np.sign(MARGINS) * np.maximum(np.abs(MARGINS) - knee, 0), rtol=1e-15)
    envelope = 0.5 * (outlier - MARGINS) ** 2 + knee * np.abs(outlier)
    np.testing.assert_allclose(loss.value(MARGINS), envelope, rtol=1e-13, atol=1e-15)
    size = np.abs(MARGINS)
    pieces = np.where(size <= knee, 0.5 * size**2, knee * size - 0.5 * knee**2)
    np.testing.assert_allclose(loss.value(MARGINS), pieces, rtol=1e-13)
    for s in np.linspace(-3, 3, 25):
        assert np.all(loss.value(MARGINS) <= 0.5 * (s - MARGINS) ** 2 + knee * abs(s) + 1e-14)
    edge = Huber(np.zeros(2), knee)
    at = np.array([np.nextafter(knee, 0), np.nextafter(knee, 9)])
    np.testing.assert_allclose(edge.value(at), 0.5 * knee**2, rtol=1e-14)
    np.testing.assert_allclose(edge.slope(at), knee, rtol=1e-14)


@pytest.mark.covers("FND-20")
@pytest.mark.parametrize(
    ("shape", "closed", "charge"),
    [
        ("rational", lambda size: size / (1 + size), lambda weight: (np.sqrt(weight) - 1) ** 2),
        ("truncated", lambda size: np.minimum(size, 1), lambda weight: 1 - weight),
        (
            "exponential",
            lambda size: 1 - np.exp(-size),
            lambda weight: weight * np.log(np.where(weight > 0, weight, 1.0)) - weight + 1,
        ),
    ],
)
def test_variational_losses(shape, closed, charge):
    base = Absolute(np.zeros(200))
    size = np.linspace(0.0, 12.0, 200)  # the loss to be bounded
    loss = Bounded(base, shape)
    np.testing.assert_allclose(loss.value(size), closed(size), rtol=1e-12, atol=1e-15)
    grid = np.linspace(0.0, 1.0, 2001)
    np.testing.assert_allclose(loss.charge(grid), charge(grid), rtol=1e-12, atol=1e-15)
    least = np.min(grid[:, None] * size + charge(grid)[:, None], axis=0)
    np.testing.assert_allclose(loss.value(size), least, atol=1e-3)
    assert np.all(loss.value(size) <= least + 1e-14)
    weights = loss.weights(size)
    np.testing.assert_allclose(weights * size + loss.charge(weights), loss.value(size), rtol=1e-12, atol=1e-14)
    assert np.all((weights >= 0) & (weights <= 1))
    assert np.all(np.diff(loss.value(size)) >= 0)
    assert np.all(loss.value(size) <= 1)
    # the weights are those of a weighted fit: at its own best constant a reweighted mean stays where it is
    y = np.array([0.0, 0.1, -0.2, 0.3, 50.0])
    robust = Bounded(Squared(y), shape)
    best = robust.constant(np.full(5, 0.2))
    again = Squared(y).constant(robust.weights(np.full(5, best)) + 1e-300)
    assert again == pytest.approx(best, abs=1e-7)
    assert abs(best) < 0.2


@pytest.mark.covers("FND-21")
def test_surrogates_lie_above_mistakes():
    mistakes = ZeroOne(UNIT).value(MARGINS)
    hinge, perceptron = Hinge(UNIT).value(MARGINS), Perceptron(UNIT).value(MARGINS)
    assert np.all(mistakes <= hinge)
    assert np.all(mistakes <= Logistic(UNIT).value(MARGINS) / np.log(2) + 1e-15)
    assert np.all(perceptron <= hinge)

    def is_convex(kind):
        loss = kind(UNIT)
        return all(
            np.all(loss.value((MARGINS + other) / 2) <= (loss.value(MARGINS) + loss.value(other * UNIT)) / 2 + 1e-12)
            for other in np.linspace(-4.0, 4.0, 33)
        )

    assert [is_convex(kind) for kind in (Hinge, Perceptron, Logistic, ZeroOne)] == [True, True, True, False]
    assert [kind(UNIT).traits.is_convex for kind in (Hinge, Perceptron, Logistic, ZeroOne)] == [True, True, True, False]


@pytest.mark.covers("FND-22")
@pytest.mark.parametrize("seed", range(5))
def test_mistakes_have_no_slope_and_their_least_number_bounds_every_line(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], 9)
    y[:2] = 1.0, -1.0
    loss = ZeroOne(y)

    def error(w, b):
        return risk(loss, X @ w + b)

    w, b, h = rng.normal(size=2), rng.normal(), 1e-7
    for direction in np.eye(2):
        assert error(w + h * direction, b) == error(w - h * direction, b)
    assert not loss.slope(X @ w + b).any()

    def fewest(y):  # every split of the plane moves to a line through two points, the two themselves on any side
        least = min(np.mean(y < 0), np.mean(y > 0))
        for i, j in combinations(range(9), 2):
            normal = np.array([X[j, 1] - X[i, 1], X[i, 0] - X[j, 0]])
            scores = (X - X[i]) @ normal
            for first, second, side in product([-1.0, 1.0], repeat=3):
                scores[i], scores[j] = first, second
                least = min(least, np.mean(np.sign(side * scores) != y))
        return least

    least = fewest(y)
    for model in (LinearRegression(), Ridge(1.0), Ridge(100.0, fit_intercept=False), RidgeClassifier(0.1)):
        table = np.column_stack([X, np.ones(9)]) if model.fit_intercept else X
        free = [getattr(model, "alpha", 0.0)] * 2 + [0.0] * model.fit_intercept  # no price for the offset
        scores = table @ np.linalg.solve(table.T @ table + np.diag(free), table.T @ y)
        sides = np.sign(model.fit(X, y).predict(X))
        np.testing.assert_array_equal(sides, np.sign(scores))
        assert risk(loss, sides) == np.mean(sides != y) >= least
    told = np.where(X @ w > np.median(X @ w) + 1e-9, 1.0, -1.0)  # by a line: the bound is zero, and attained
    assert fewest(told) == 0.0
    for model in (LogisticRegression(), LinearSVC(), PerceptronClassifier(max_iter=5000, tol=None)):
        mistakes = np.mean(model.fit(X, y).predict(X) != y)
        assert mistakes == risk(loss, X @ model.coef_[0] + model.intercept_[0]) >= least
        if "C" in model.get_params():
            model.set_params(C=1e6)
        np.testing.assert_array_equal(model.fit(X, told).predict(X), told)


@pytest.mark.covers("FND-23")
def test_empirical_risk():
    y, scores = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 1.0])
    assert risk(Squared(y), scores) == pytest.approx((0.125 + 0.0 + 4.5) / 3, rel=1e-15)
    rng = np.random.default_rng(9)
    y, scores = rng.normal(size=30), rng.normal(size=30)
    parts = [slice(0, 4), slice(4, 17), slice(17, 30)]
    total = sum((part.stop - part.start) / 30 * risk(Huber(y[part]), scores[part]) for part in parts)
    assert risk(Huber(y), scores) == pytest.approx(total, rel=1e-14)
    weight = rng.integers(0, 3, 30).astype(float)
    copies = np.repeat(np.arange(30), weight.astype(int))
    assert risk(Huber(y), scores, weight) == pytest.approx(risk(Huber(y[copies]), scores[copies]), rel=1e-13)


@pytest.mark.covers("FND-24")
def test_true_risk_of_a_fixed_predictor():
    rng = np.random.default_rng(10)
    truth, w, noise = np.array([1.0, -2.0, 0.5]), np.array([0.5, -1.0, 0.0]), 0.7
    root = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.2, 0.6]])
    true = (w - truth) @ root @ root.T @ (w - truth) + noise**2
    for n in (100, 10_000, 1_000_000):
        X = rng.normal(size=(n, 3)) @ root.T
        y = X @ truth + noise * rng.normal(size=n)
        # the error of each row is normal, so that its square has variance 2 true**2
        assert abs(2 * risk(Squared(y), X @ w) - true) <= 5 * np.sqrt(2 / n) * true


@pytest.mark.covers("FND-32")
def test_the_conditional_mean_is_the_best_predictor():
    rng = np.random.default_rng(11)
    joint = rng.random((4, 5))
    joint /= joint.sum()  # of four inputs and five outputs
    outputs = np.array([-1.0, 0.0, 0.5, 2.0, 3.0])
    best = np.array([Squared(outputs).constant(row) for row in joint])
    np.testing.assert_allclose(best, joint @ outputs / joint.sum(axis=1), rtol=1e-14)
    y, weight = np.tile(outputs, 4), joint.ravel()

    def error(predictor):
        return 2 * risk(Squared(y), np.repeat(predictor, 5), weight)

    for _ in range(10):
        other = 2 * rng.normal(size=4)
        assert error(other) - error(best) == pytest.approx(joint.sum(axis=1) @ (other - best) ** 2, rel=1e-12)


@pytest.mark.covers("FND-33")
@pytest.mark.parametrize("rank", [3, 5])
def test_training_error_is_optimistic(rank):
    """The expectations, exactly: predictions are a matrix times the targets, and noise has a covariance."""
    rng = np.random.default_rng(12)
    n, sigma = 20, 1.5
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 5))
    hat = LinearRegression(fit_intercept=False).fit(X, np.eye(n)).predict(X)
    train = sigma**2 * np.sum((np.eye(n) - hat) ** 2) / n
    fresh = sigma**2 * (n + np.sum(hat**2)) / n
    assert train == pytest.approx(sigma**2 * (1 - rank / n), rel=1e-10)
    assert fresh == pytest.approx(sigma**2 * (1 + rank / n), rel=1e-10)
    assert train < fresh


@pytest.mark.covers("FND-34")
def test_degree_ten_fits_noise():
    rng = np.random.default_rng(13)
    x, test = np.sort(rng.uniform(-1, 1, 15)), rng.uniform(-1, 1, 500)
    y, unseen = 2 * x + 0.3 * rng.normal(size=15), 2 * test + 0.3 * rng.normal(size=500)
    train_error, test_error = [], []
    for degree in range(1, 11):
        model = LinearRegression().fit(powers(x, degree), y)
        train_error.append(risk(Squared(y), model.predict(powers(x, degree))))
        test_error.append(risk(Squared(unseen), model.predict(powers(test, degree))))
    assert np.all(np.diff(train_error) <= 1e-12)
    assert test_error[-1] > test_error[0]
    few = LinearRegression().fit(powers(x[:8], 7), y[:8])
    np.testing.assert_allclose(few.predict(powers(x[:8], 7)), y[:8], rtol=1e-7, atol=1e-9)


@pytest.mark.covers("FND-35")
@pytest.mark.parametrize("alpha", [0.0, 2.0, 10.0])
def test_bias_and_variance_of_a_shrunken_mean(alpha):
    rng = np.random.default_rng(14)
    n, repeats, mean, sigma = 8, 4000, 1.2, 0.9
    samples = mean + sigma * rng.normal(size=(n, repeats))  # each column is a data set
    estimates = coefficients(Ridge(alpha, fit_intercept=False), np.ones((n, 1)), samples).ravel()
    s = n / (n + alpha)
    np.testing.assert_allclose(estimates, s * samples.mean(axis=0), rtol=1e-10, atol=1e-12)
    bias, variance = (1 - s) ** 2 * mean**2, s**2 * sigma**2 / n
    deviation = np.sqrt(variance / repeats)
    assert abs(estimates.mean() - s * mean) <= 5 * deviation
    assert np.var(estimates) == pytest.approx(variance, rel=5 * np.sqrt(2 / repeats))
    fresh = mean + sigma * rng.normal(size=repeats)
    errors = 2 * Squared(fresh).value(estimates)
    assert abs(errors.mean() - (bias + variance + sigma**2)) <= 5 * errors.std() / np.sqrt(repeats)


@pytest.mark.covers("FND-36")
def test_ridge_trades_variance_for_bias():
    rng = np.random.default_rng(15)
    n, sigma, repeats = 12, 0.8, 4000
    X, w = rng.normal(size=(n, 4)), np.array([1.0, -2.0, 0.5, 0.0])
    _, singular, V = np.linalg.svd(X, full_matrices=False)
    alphas = [0.0, 0.1, 1.0, 10.0, 100.0]
    variances, biases = [], []
    samples = (X @ w)[:, None] + sigma * rng.normal(size=(n, repeats))
    for alpha in alphas:
        model = Ridge(alpha, fit_intercept=False)
        maps = model.fit(X, np.eye(n)).coef_.T  # coefficients are this matrix times the targets
        variance, bias = sigma**2 * np.sum(maps**2), np.sum((maps @ X @ w - w) ** 2)
        closed = sigma**2 * np.sum(singular**2 / (singular**2 + alpha) ** 2)
        assert variance == pytest.approx(closed, rel=1e-10)
        shrunk = np.sum(alpha**2 * (V @ w) ** 2 / (singular**2 + alpha) ** 2)
        assert bias == pytest.approx(shrunk, rel=1e-9, abs=1e-20)
        estimates = coefficients(model, X, samples)
        assert np.sum(np.var(estimates, axis=0)) == pytest.approx(variance, rel=5 * np.sqrt(2 / repeats))
        deviation = np.linalg.norm(estimates.mean(axis=0) - maps @ X @ w)
        assert deviation <= 5 * np.sqrt(variance / repeats)
        variances.append(variance)
        biases.append(bias)
    assert np.all(np.diff(variances) < 0)
    assert biases[0] < 1e-20
    assert np.all(np.diff(biases) > 0)


@pytest.mark.covers("FND-37")
def test_two_readings_of_bias():
    rng = np.random.default_rng(16)
    x = np.linspace(-1, 1, 25)
    truth = powers(x, 5) @ np.array([1.0, -2.0, 0.0, 3.0, 0.5]) + 0.7
    best = LinearRegression().fit(powers(x, 5), truth).predict(powers(x, 5))
    assert risk(Squared(truth), best) <= 1e-25  # the class contains the truth: nothing is lost
    for degree, alpha in ((2, 0.0), (2, 3.0), (5, 3.0)):
        X = powers(x, degree)
        model = LinearRegression() if alpha == 0 else Ridge(alpha)
        best = LinearRegression().fit(X, truth).predict(X)
        loss_of_class = 2 * risk(Squared(truth), best)
        # predictions are linear in the targets, so that the average fit is the fit of the average target
        average = model.fit(X, truth).predict(X)
        bias = 2 * risk(Squared(truth), average)
        noisy = model.fit(X, truth[:, None] + rng.normal(size=(25, 400))).predict(X).mean(axis=1)
        np.testing.assert_allclose(noisy, average, rtol=0, atol=5 / np.sqrt(400))
        if alpha == 0:
            assert bias == pytest.approx(loss_of_class, rel=1e-10)
        else:
            assert bias > loss_of_class + 1e-3


@pytest.mark.covers("FND-38")
def test_a_line_learnt_elsewhere():
    nodes, weights = np.polynomial.legendre.leggauss(8)  # integrals of polynomials up to degree 15, exactly
    here, there, weights = (nodes + 1) / 2, (nodes + 3) / 2, weights / 2

    def error(model, x):
        return 2 * risk(Squared(x**2), model.predict(x[:, None]), weights)

    model = LinearRegression().fit(here[:, None], here**2, sample_weight=weights)
    assert model.coef_ == pytest.approx([1.0], rel=1e-12)
    assert model.intercept_ == pytest.approx(-1 / 6, rel=1e-12)
    assert error(model, here) == pytest.approx(1 / 180, rel=1e-12)
    assert error(model, there) == pytest.approx(241 / 180, rel=1e-12)
    assert error(model.fit(there[:, None], there**2, sample_weight=weights), there) == pytest.approx(1 / 180, rel=1e-11)


@pytest.mark.covers("FND-14")
def test_log_loss_of_a_probability():
    rng = np.random.default_rng(0)
    f, y = 3 * rng.standard_normal(50), rng.integers(0, 2, 50)
    p = 1 / (1 + np.exp(-f))
    by_hand = np.mean(y * np.log(1 / p) + (1 - y) * np.log(1 / (1 - p)))
    assert log_loss(y, p) == pytest.approx(by_hand, rel=1e-12)
    assert by_hand == pytest.approx(np.mean(Logistic(2.0 * y - 1.0).value(f)), rel=1e-12)
    sure = log_loss([0, 1, 1], [0.0, 1.0, 0.0])  # sure and right twice, sure and wrong once
    assert np.isfinite(sure)
    assert sure > 10


@pytest.mark.covers("FND-26")
def test_any_loss_with_any_penalty():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = np.where(X @ [1.0, -2.0, 0.0, 0.5] + 0.7 * rng.standard_normal(60) > 0, 1.0, -1.0)
    share = np.full(60, 1 / 60)

    def found(loss, penalty, solver, *, intercept=False):
        problem = Problem(design(X), loss, penalty, share, intercept)
        with Progress("test") as progress:
            return solve(problem, solver, tol=1e-10, max_iter=5000, progress=progress)

    ridge = found(Squared(y), L2(0.3), Newton())
    assert_close = np.testing.assert_allclose
    assert_close(ridge.w, Ridge(0.3 * 60, fit_intercept=False).fit(X, y).coef_, rtol=1e-7)
    machine = found(Hinge(y), L2(0.1), DualAscent())
    theirs = sklearn.svm.SVC(kernel="linear", C=1 / (0.1 * 60), tol=1e-10).fit(X, y)
    centred = Problem(design(X), Hinge(y), L2(0.1), share, free_intercept=True)
    with Progress("test") as progress:
        free = solve(centred, DualAscent(), tol=1e-9, max_iter=5000, progress=progress)
    assert free.gap.objective == pytest.approx(centred.objective(theirs.coef_[0], theirs.intercept_[0]), abs=1e-7)
    assert machine.outcome == "solved"
    sparse = found(Logistic(y), L1(0.05), CoordinateDescent())
    twin = LogisticRegression(C=1 / (0.05 * 60), l1_ratio=1.0, fit_intercept=False, tol=1e-12).fit(X, y)
    assert_close(sparse.w, twin.coef_[0], atol=1e-5)
    smooth = found(SquaredHinge(y), L2(0.1), Newton())
    assert smooth.gap.value < 1e-8


@pytest.mark.covers("FND-39")
def test_losses_are_drawn_as_they_are():
    against_margin = {"hinge": Hinge, "logistic": Logistic, "mistake": ZeroOne}
    display = LossDisplay.from_losses(against_margin, grid=MARGINS)
    for line, (name, make) in zip(display.lines_, against_margin.items(), strict=True):
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_xdata(), MARGINS)
        np.testing.assert_array_equal(line.get_ydata(), make(UNIT).value(MARGINS))
    errors = LossDisplay.from_losses(
        {"squared": Squared, "huber": Huber}, against="error", grid=MARGINS, ax=display.ax_
    )
    np.testing.assert_array_equal(errors.values["huber"], Huber(np.zeros_like(MARGINS)).value(MARGINS))
    assert errors.figure_ is display.figure_
    with pytest.raises(qed.InvalidParameter, match="'margin' or 'error'"):
        LossDisplay.from_losses({"hinge": Hinge}, against="time")
    with pytest.raises(qed.InvalidParameter, match="dict of names"):
        LossDisplay.from_losses([Hinge])
