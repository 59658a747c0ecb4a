"""Sets of columns: searches run by hand, counted, and on data where greed fails."""

from itertools import combinations

import numpy as np
import pytest

from qed import feature_selection as fs
from qed.core import InvalidParameter
from qed.linear_model import Lasso, LinearRegression, LogisticRegression
from qed.model_selection import KFold, ShuffleSplit, cross_val_score
from qed.neighbors import KNeighborsRegressor
from qed.preprocessing import BasisFunctions

# L(1) = .99, L(2) = 1, L(3) = .5, L(13) = L(23) = .51, L(12) = 0, L(123) = .01, columns counted from zero here
TABLE = {(0,): 0.99, (1,): 1.0, (2,): 0.5, (0, 2): 0.51, (1, 2): 0.51, (0, 1): 0.0, (0, 1, 2): 0.01, (): 2.0}


@pytest.mark.covers("SEL-17")
def test_the_score_of_a_set():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 0.0, -2.0] + rng.normal(size=60)
    score = fs.subset_score(LinearRegression(), X, y, cv=5, scoring="neg_mean_squared_error")
    whole = -cross_val_score(LinearRegression(), X, y, cv=5, scoring="neg_mean_squared_error").mean()
    assert score((0, 1, 2)) == pytest.approx(whole, rel=1e-12)
    folds = list(KFold(5).split(X))
    constant = np.mean([np.mean((y[test] - y[train].mean()) ** 2) for train, test in folds])
    assert score(()) == pytest.approx(constant, rel=1e-9)
    zero = fs.subset_score(LinearRegression(fit_intercept=False), X, y, cv=5, scoring="neg_mean_squared_error")
    assert zero(()) == pytest.approx(np.mean([np.mean(y[test] ** 2) for _, test in folds]), rel=1e-9)


@pytest.mark.covers("SEL-18", "SEL-19", "SEL-20", "SEL-21")
def test_forward_fails_where_backward_succeeds():
    forward, backward = fs.forward_selection(TABLE.__getitem__, 3), fs.backward_elimination(TABLE.__getitem__, 3)
    assert forward.columns == (2,)
    assert forward.path == (((2,), 0.5),)
    assert forward.evaluated == 3 + 2
    assert backward.columns == (0, 1)
    assert backward.path == (((0, 1, 2), 0.01), ((0, 1), 0.0))
    best = fs.exhaustive_search(TABLE.__getitem__, 3)
    assert best.columns == (0, 1)
    assert best.evaluated == 8
    assert best.score <= min(forward.score, backward.score)
    rng = np.random.default_rng(0)
    z, s, noise = 100 * rng.normal(size=40), rng.normal(size=40), rng.normal(size=(2, 40))
    X, y = np.column_stack([z + s, z, s + noise[0]]), s + 0.1 * noise[1]
    score = fs.subset_score(LinearRegression(), X, y, cv=5, scoring="neg_mean_squared_error")
    forward, backward = fs.forward_selection(score, 3), fs.backward_elimination(score, 3)
    assert forward.columns == (2,)
    assert set(backward.columns) >= {0, 1}
    assert backward.score < forward.score / 10


def test_two_columns_cannot_mislead_forward_selection():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.random(3)
        scores = dict(zip([(0,), (1,), (0, 1)], values.tolist(), strict=True))
        assert fs.forward_selection(scores.__getitem__, 2).score == values.min()


@pytest.mark.covers("SEL-27")
def test_what_searches_cost_and_for_whom_they_work():
    def falls(columns):
        return -float(len(columns))

    def rises(columns):
        return float(len(columns))

    for d in (1, 4, 6):
        assert fs.forward_selection(falls, d).evaluated == d * (d + 1) // 2
        assert fs.backward_elimination(rises, d).evaluated == d * (d + 1) // 2 + 1  # down to no column at all
        assert len(fs.backward_elimination(rises, d, min_columns=1).columns) == 1
        assert fs.exhaustive_search(falls, d).evaluated == 2**d
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    y = np.sign(X[:, 1]) + 0.1 * rng.normal(size=80)
    neighbours = fs.subset_score(KNeighborsRegressor(5), X, y, cv=4)
    assert fs.forward_selection(neighbours, 4, max_columns=1).columns == (1,)
    fits = 0

    class Counted(Lasso):
        def fit(self, X, y=None, sample_weight=None):
            nonlocal fits
            fits += 1
            return super().fit(X, y, sample_weight)

    for d in (2, 4):  # one fit for each strength, whatever the number of columns
        fits = 0
        path = fs.l1_selection(Counted(), X[:, :d], y, [2.0, 0.3, 1e-3])
        assert fits == path.fits == 3
        assert path.alphas == (2.0, 0.3, 1e-3)
        assert path.columns == ((), (1,), tuple(range(d)))
        for alpha, columns in zip(path.alphas, path.columns, strict=True):
            assert columns == tuple(np.flatnonzero(Lasso(alpha).fit(X[:, :d], y).coef_))
    with pytest.raises(InvalidParameter, match="linear model with a penalty"):
        fs.l1_selection(KNeighborsRegressor(5), X, y, [1.0])


@pytest.mark.covers("SEL-22", "SEL-23")
def test_absolute_values_select_and_fit_together():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 12))
    w = np.zeros(12)
    w[[2, 5, 7]] = [3.0, -2.0, 1.5]
    y = X @ w + 0.1 * rng.normal(size=200)
    assert np.flatnonzero(Lasso(alpha=0.2).fit(X, y).coef_).tolist() == [2, 5, 7]
    basis = np.linalg.qr(rng.normal(size=(200, 6)))[0] * np.sqrt(200)
    y = basis @ np.array([0.5, -3.0, 1.0, 0.0, 2.0, -0.1])
    # of orthonormal columns the best set of k columns has the k largest products, and lasso takes them in that order
    products = np.abs(basis.T @ y) / 200
    score = {  # residual sum of squares of every set, by least squares
        (): float(y @ y)
    }

    def residual(columns):
        if columns not in score:
            part = basis[:, list(columns)]
            score[columns] = float(np.sum((y - part @ np.linalg.lstsq(part, y, rcond=None)[0]) ** 2))
        return score[columns]

    order = np.argsort(-products)
    entered = []
    for alpha in np.linspace(products.max() * 1.01, 0.01, 300):
        support = np.flatnonzero(np.abs(Lasso(alpha=alpha, fit_intercept=False, tol=1e-10).fit(basis, y).coef_) > 1e-9)
        entered += [j for j in support.tolist() if j not in entered]
    assert entered == order[: len(entered)].tolist()
    path = fs.forward_selection(residual, 6).path
    for size in range(1, 5):
        best = min((residual(c), c) for c in combinations(range(6), size))[1]
        assert set(best) == set(order[:size].tolist()) == set(path[size - 1][0])


@pytest.mark.covers("SEL-15")
def test_complexity_need_not_be_a_degree():
    x = np.linspace(-2, 2, 60)[:, np.newaxis]
    functions = {
        "1": np.ones_like,
        "x": lambda t: t,
        "x^2": lambda t: t**2,
        "sin": np.sin,
        "x cos": lambda t: t * np.cos(t),
    }
    table = BasisFunctions(functions).fit_transform(x)
    assert table.shape == (60, 5)
    w = np.array([0.5, -1.0, 0.25, 2.0, -0.75])
    model = LinearRegression(fit_intercept=False).fit(table, table @ w)
    np.testing.assert_allclose(model.coef_, w, atol=1e-9)


@pytest.mark.covers("SEL-06")
def test_judging_an_algorithm_and_judging_a_hypothesis():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + rng.normal(size=400) > 0
    splits = ShuffleSplit(20, test_size=0.25, random_state=0)
    scores = cross_val_score(LogisticRegression(), X, y, cv=splits)
    by_hand = [LogisticRegression().fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits.split(X)]
    np.testing.assert_allclose(scores, by_hand)  # the algorithm is fitted anew for each split
    fixed = LogisticRegression().fit(X[:100], y[:100])
    before = fixed.coef_.copy()
    held_out = fixed.certify(X[100:], y[100:], delta=0.05)  # a hypothesis needs rows it has not seen, and no fit
    np.testing.assert_array_equal(fixed.coef_, before)
    assert held_out.observed == pytest.approx(np.mean(fixed.predict(X[100:]) != y[100:]))
    assert held_out.bound > held_out.observed


def test_refusals():
    for search in (fs.forward_selection, fs.backward_elimination, fs.exhaustive_search):
        with pytest.raises(InvalidParameter, match="n_columns"):
            search(len, 0)
