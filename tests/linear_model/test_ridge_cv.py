"""Leave-one-out that is exact, folds that share their work."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV as Theirs
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, ShuffleSplit

import qed
from qed.data import ArraySource
from qed.linear_model import Ridge, RidgeCV

ALPHAS = np.geomspace(1e-2, 1e3, 6)
rng = np.random.default_rng(12)


def table(n, p, m=2):
    X = rng.normal(size=(n, p)) + 1
    return X, X[:, : min(p, 5)] @ rng.normal(size=(min(p, 5), m)) + rng.normal(size=(n, m))


@pytest.mark.parametrize("shape", [(40, 4), (12, 30)])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_is_what_refitting_gives(shape, intercept):
    X, Y = table(*shape)
    model = RidgeCV(ALPHAS, fit_intercept=intercept, store_cv_results=True).fit(X, Y)
    for i in (0, shape[0] // 2, shape[0] - 1):
        rest = np.arange(shape[0]) != i
        for k, alpha in enumerate(ALPHAS):
            refit = Ridge(alpha, fit_intercept=intercept).fit(X[rest], Y[rest])
            np.testing.assert_allclose(model.cv_results_[i, :, k], (Y[i] - refit.predict(X[[i]])[0]) ** 2, rtol=1e-7)
    assert qed.verify(model, X, Y).holds


@pytest.mark.parametrize("shape", [(40, 4), (12, 30)])
def test_a_row_of_any_weight_is_left_out_whole(shape):
    X, Y = table(*shape)
    s = rng.integers(1, 40, shape[0]) / 2
    weighted = RidgeCV(ALPHAS, store_cv_results=True).fit(X, Y, s)
    squares = np.zeros((shape[0], 2, len(ALPHAS)))
    for i in range(shape[0]):
        rest = np.arange(shape[0]) != i
        for k, alpha in enumerate(ALPHAS):
            refit = Ridge(alpha).fit(X[rest], Y[rest], s[rest])
            squares[i, :, k] = (Y[i] - refit.predict(X[[i]])[0]) ** 2
    np.testing.assert_allclose(weighted.cv_results_, squares, rtol=1e-6)
    scores = np.average(squares, axis=0, weights=s).mean(axis=0)
    assert weighted.alpha_ == ALPHAS[np.argmin(scores)]
    assert weighted.best_score_ == pytest.approx(-scores.min(), rel=1e-7)
    zero = RidgeCV(ALPHAS).fit(np.vstack([X, X + 5]), np.vstack([Y, Y]), np.append(s, np.zeros(shape[0])))
    assert zero.best_score_ == pytest.approx(weighted.best_score_, rel=1e-9)


@pytest.mark.parametrize("shape", [(60, 5), (25, 80)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "r2"},
        {"scoring": "neg_mean_absolute_error"},
        {"scoring": make_scorer(mean_absolute_error, greater_is_better=False)},
        {"alpha_per_target": True},
        {"cv": 4},
        {"cv": KFold(4, shuffle=True, random_state=0)},
        {"cv": ShuffleSplit(3, random_state=0), "scoring": "neg_mean_squared_error"},
        {"fit_intercept": False},
    ],
    ids=str,
)
def test_chooses_what_scikit_learn_chooses(shape, options):
    X, Y = table(*shape)
    ours, theirs = RidgeCV(ALPHAS, **options).fit(X, Y), Theirs(ALPHAS, **options).fit(X, Y)
    np.testing.assert_allclose(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)


def test_columns_of_very_different_size_do_not_drown_the_strength():
    X, Y = table(50, 3, 1)
    X = X * [1e8, 1.0, 1e-4]
    model = RidgeCV([1e-3, 1.0], store_cv_results=True).fit(X, Y[:, 0])
    i, rest = 7, np.arange(50) != 7
    for k, alpha in enumerate((1e-3, 1.0)):
        refit = Ridge(alpha).fit(X[rest], Y[rest, 0])
        assert model.cv_results_[i, k] == pytest.approx((Y[i, 0] - refit.predict(X[[i]])[0]) ** 2, rel=1e-5)


def test_a_source_of_chunks_is_refused_in_words():
    with pytest.raises(qed.InvalidData, match=r"all rows in memory.*cv=5"):
        RidgeCV().fit(ArraySource(np.ones((3, 1)), np.ones(3)))


def test_real_table():
    data = load_diabetes()
    ours, theirs = RidgeCV(ALPHAS).fit(data.data, data.target), Theirs(ALPHAS).fit(data.data, data.target)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert qed.verify(ours, data.data, data.target).holds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alphas": [0.0, 1.0]}, "numbers > 0"),
        ({"alphas": []}, "one or more"),
        ({"cv": 3, "store_cv_results": True}, "incompatible"),
        ({"cv": 3, "alpha_per_target": True}, "incompatible"),
        ({"cv": "three"}, "number of folds"),
        ({"cv": 99}, "between 2 and the number of rows"),
        ({"scoring": "accuracy"}, "neg_mean_absolute_error"),
    ],
)
def test_what_cannot_be_chosen_is_said(options, words):
    X, Y = table(20, 3, 1)
    with pytest.raises(qed.InvalidParameter, match=words):
        RidgeCV(**options).fit(X, Y)


def test_a_dense_copy_that_is_too_large_is_refused_and_folds_are_not(monkeypatch):
    X = sp.random_array((300, 40), density=0.1, random_state=np.random.default_rng(0), format="csr")
    y = np.arange(300.0)
    monkeypatch.setenv("QED_MEMORY_LIMIT", "50000")
    with pytest.raises(qed.MemoryLimit, match="cv=5"):
        RidgeCV().fit(X, y)
    assert RidgeCV(cv=5).fit(X, y).alpha_ > 0


def test_a_memory_limit_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv("QED_MEMORY_LIMIT", "4GB")
    with pytest.raises(qed.InvalidParameter, match="QED_MEMORY_LIMIT must be a whole number of bytes"):
        RidgeCV().fit(sp.eye_array(5, format="csr"), np.arange(5.0))
