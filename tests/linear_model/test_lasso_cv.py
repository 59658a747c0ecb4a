"""Strengths chosen by folds."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as theirs
from sklearn.model_selection import KFold

import qed
import qed.linear_model as ours
from qed.convex._fold_paths import FoldPaths
from qed.core import InvalidData, InvalidParameter

rng = np.random.default_rng(8)
X = rng.normal(size=(90, 25)) + 1.0
W = np.zeros((25, 2))
W[:5] = rng.normal(size=(5, 2))
Y = X @ W + rng.normal(size=(90, 2)) + 3.0
y = Y[:, 0]


def compare(name, table, target, weight=None, **params):
    mine = getattr(ours, name)(alphas=12, tol=1e-9, **params)
    other = getattr(theirs, name)(alphas=12, tol=1e-12, max_iter=100_000, **params)
    if weight is None:
        mine.fit(table, target)
        other.fit(table, target)
    else:
        mine.fit(table, target, sample_weight=weight)
        other.fit(table, target, sample_weight=weight)
    assert mine.alpha_ == pytest.approx(other.alpha_, rel=1e-9)
    np.testing.assert_allclose(mine.alphas_, other.alphas_, rtol=1e-9)
    np.testing.assert_allclose(mine.mse_path_, other.mse_path_, rtol=1e-4)
    assert mine.mse_path_.shape == other.mse_path_.shape
    np.testing.assert_allclose(mine.coef_, other.coef_, atol=1e-4)
    assert mine.certificate_.reached
    return mine


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"cv": 3},
        {"cv": KFold(4, shuffle=True, random_state=0)},
        {"cv": [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]},
        {"fit_intercept": False},
        {"positive": True},
    ],
    ids=str,
)
def test_lasso_agrees_with_scikit_learn(params):
    compare("LassoCV", X, y, **params)


def test_weights_sparse_designs_and_wide_ones():
    compare("LassoCV", X, y, weight=rng.integers(1, 4, size=90).astype(float))
    compare("LassoCV", scipy.sparse.csr_array(np.where(X > 1, X, 0.0)), y)
    wide = rng.normal(size=(50, 120))
    few = wide[:, :3].sum(axis=1) + rng.normal(size=50)
    compare("LassoCV", wide, few)
    compare("LassoCV", scipy.sparse.csr_array(np.where(np.abs(wide) > 1, wide, 0.0)), few, eps=0.1)
    compare("MultiTaskLassoCV", wide, np.c_[few, -few], eps=0.1)


def test_a_fold_that_loses_its_way_is_solved_by_itself(monkeypatch):
    wide = rng.normal(size=(40, 70))
    few = wide[:, :3].sum(axis=1) + rng.normal(size=40)
    plain = ours.LassoCV(alphas=6, cv=3, tol=1e-8).fit(wide, few)
    follow = FoldPaths.at

    def lost(self, alpha, ridge, tol):
        found = follow(self, alpha, ridge, tol)
        return found._replace(gap=np.array([np.inf, np.nan, np.inf]), residual=0.0 * found.residual)

    monkeypatch.setattr(FoldPaths, "at", lost)
    np.testing.assert_allclose(
        ours.LassoCV(alphas=6, cv=3, tol=1e-8).fit(wide, few).mse_path_, plain.mse_path_, rtol=1e-4
    )


def test_paths_are_exact_to_their_weak_end():
    """Where there are nearly as many coefficients as rows, a strength changes most signs, and columns become dependent."""
    wide = rng.normal(size=(60, 400))
    few = wide[:, :5].sum(axis=1) + rng.normal(size=60)
    threads = qed.get_num_threads()
    try:
        found = []
        for count in (1, 3):
            qed.set_num_threads(count)
            found.append(ours.LassoCV(cv=4).fit(wide, few).mse_path_)
    finally:
        qed.set_num_threads(threads)
    np.testing.assert_array_equal(*found)
    deep = ours.LassoCV(cv=4, tol=1e-13).fit(wide, few).mse_path_
    np.testing.assert_allclose(found[0], deep, rtol=1e-6)


def test_elastic_net_chooses_the_ratio():
    model = compare("ElasticNetCV", X, y, l1_ratio=[0.3, 0.9])
    assert model.l1_ratio_ in (0.3, 0.9)
    compare("ElasticNetCV", X, y)


def test_several_targets():
    compare("MultiTaskLassoCV", X, Y)
    assert compare("MultiTaskElasticNetCV", X, Y).l1_ratio_ == 0.5


def test_the_refit_is_the_plain_model():
    model = ours.LassoCV(alphas=10, tol=1e-8).fit(X, y)
    plain = ours.Lasso(model.alpha_, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.dual_gap_ == plain.dual_gap_


def test_given_strengths_are_sorted():
    model = ours.LassoCV(alphas=[0.01, 1.0, 0.1]).fit(X, y)
    np.testing.assert_array_equal(model.alphas_, [1.0, 0.1, 0.01])
    assert model.mse_path_.shape == (3, 5)


def test_refusals_in_words():
    with pytest.raises(InvalidParameter, match="number of folds"):
        ours.LassoCV(cv=200).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"LassoCV\.cv"):
        ours.LassoCV(cv="five").fit(X, y)
    with pytest.raises(InvalidData, match="no row of positive weight"):
        ours.LassoCV(cv=3).fit(X, y, sample_weight=np.r_[np.zeros(30), np.ones(60)])
    with pytest.raises(InvalidParameter, match="l1_ratio=0"):
        ours.ElasticNetCV(l1_ratio=0.0).fit(X, y)


@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV", "MultiTaskLassoCV"])
def test_squares_that_overflow_are_refused_before_any_fold(name):
    X = rng.standard_normal((20, 3))
    y = X[:, :2] if name.startswith("Multi") else X[:, 0]
    with pytest.raises(InvalidData, match="overflow float64"):
        getattr(ours, name)(cv=3).fit(X * 1e300, y)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_a_search_that_is_interrupted_keeps_the_best_model_so_far(kind):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 60))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + random.normal(size=40)

    def interrupt(event):
        if event.kind == "step" and event.total == 50 and event.step == 10:
            raise KeyboardInterrupt

    model, whole = ours.LassoCV(alphas=50), ours.LassoCV(alphas=50).fit(kind(X), y)
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(kind(X), y)
    np.testing.assert_allclose(model.mse_path_[:10], whole.mse_path_[:10], rtol=1e-6)
    assert np.isnan(model.mse_path_[10:]).all()
    assert model.alpha_ == model.alphas_[model.mse_path_[:10].mean(axis=1).argmin()]
    assert model.certificate_.reached
    assert qed.verify(model, kind(X), y).holds
    with qed.listen(lambda event: qed.STOP if event.total == 50 and event.step == 10 else None):
        stopped = ours.LassoCV(alphas=50).fit(kind(X), y)
    assert stopped.alpha_ == model.alpha_
