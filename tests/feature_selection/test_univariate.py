"""Scores of single columns and the selectors that use them, against scikit-learn and against what they mean."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.feature_selection as theirs

import qed
from qed import feature_selection as ours
from qed.core import CertificateError, InvalidData
from qed.core._persistence import dumps, loads


def _rows(seed, n=120, p=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-3, 3, p) + rng.normal(size=p)
    score = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std() + rng.normal(size=n)
    return X, score, np.digitize(score, [-0.7, 0.7])


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("name", ["f_classif", "f_regression", "r_regression", "chi2"])
def test_scores_agree_with_scikit_learn(name, layout):
    for seed in range(3):
        X, y, classes = _rows(seed)
        target = classes if name in ("f_classif", "chi2") else y
        table = layout(np.floor(np.abs(X)) if name == "chi2" else X)
        found, known = getattr(ours, name)(table, target), getattr(theirs, name)(table, target)
        np.testing.assert_allclose(
            np.stack(np.atleast_2d(found)), np.stack(np.atleast_2d(known)), rtol=1e-7, atol=1e-12
        )


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 5}, {"discrete_features": [0, 2]}])
def test_mutual_information_agrees_with_scikit_learn(options):
    X, y, classes = _rows(0)
    X = X.copy()
    X[:, [0, 2]] = np.round(X[:, [0, 2]] / X[:, [0, 2]].std(axis=0))
    for name, target in (("mutual_info_classif", classes), ("mutual_info_regression", y)):
        found = getattr(ours, name)(X, target, random_state=1, **options)
        known = getattr(theirs, name)(X, target, random_state=1, **options)
        # scikit-learn's distances are roots of squares: a last bit may count the k-th neighbour of a row among the nearer ones,
        # and each such row moves the mean of 120 digammas by at most 1 / 120
        np.testing.assert_allclose(found, known, atol=0.02)


def test_mutual_information_of_a_function_is_large_and_of_noise_small():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    table = np.column_stack([x, rng.normal(size=2000)])
    function, noise = ours.mutual_info_regression(table, np.sin(3 * x))
    assert function > 1.5
    assert noise < 0.1


def test_a_shift_changes_no_statistic():
    X, y, classes = _rows(1)
    X = X / X.std(axis=0)
    np.testing.assert_allclose(ours.f_classif(X + 1e6, classes)[0], ours.f_classif(X, classes)[0], rtol=1e-6)
    np.testing.assert_allclose(ours.f_regression(X + 1e6, y)[0], ours.f_regression(X, y)[0], rtol=1e-6)


def test_constant_and_perfect_columns():
    y = np.arange(10.0)
    X = np.column_stack([np.full(10, 0.1), y, -y])
    statistic, p_value = ours.f_regression(X, y)
    assert statistic[0] == 0
    assert p_value[0] == 1
    assert (p_value[1:] < 1e-12).all()
    with pytest.warns(UserWarning, match="constant"):
        statistic, p_value = ours.f_classif(X, y > 4)
    assert np.isnan(statistic[0])
    assert np.isnan(p_value[0])


CASES = [
    ("SelectKBest", {"k": 3}),
    ("SelectKBest", {"k": "all"}),
    ("SelectPercentile", {"percentile": 30}),
    ("SelectFpr", {"alpha": 0.2}),
    ("SelectFdr", {"alpha": 0.3}),
    ("SelectFwe", {"alpha": 0.3}),
    *[
        ("GenericUnivariateSelect", {"mode": mode, "param": value})
        for mode, value in (("percentile", 50), ("k_best", 2), ("fpr", 0.2), ("fdr", 0.3), ("fwe", 0.3))
    ],
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_selectors_keep_the_columns_of_scikit_learn(name, options):
    for seed in range(4):
        X, _, classes = _rows(seed)
        model = getattr(ours, name)(**options).fit(X, classes)
        known = getattr(theirs, name)(**options).fit(X, classes)
        assert model.get_support().tolist() == known.get_support().tolist()
        assert qed.verify(model, X, classes).holds
        again = loads(dumps(model))
        assert again.score_func is ours.f_classif
        np.testing.assert_array_equal(again.transform(X), X[:, known.get_support()])


def test_ties_are_broken_as_in_scikit_learn():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 3, axis=1)
    y = X[:, 0] > 0
    for options in ({"k": 2}, {"k": 4}):
        assert (
            ours.SelectKBest(**options).fit(X, y).get_support().tolist()
            == theirs.SelectKBest(**options).fit(X, y).get_support().tolist()
        )


def test_a_changed_score_or_p_value_is_refused():
    X, _, classes = _rows(2)
    for name in ("scores_", "pvalues_"):
        model = ours.SelectKBest(k=2).fit(X, classes)
        getattr(model, name)[3] *= 0.5
        with pytest.raises(CertificateError):
            qed.verify(model, X, classes)


def test_a_function_of_the_user():
    X, _, classes = _rows(3)
    model = ours.SelectKBest(lambda X, _: X.std(axis=0), k=2).fit(X, classes)
    assert set(model.get_support(indices=True)) == set(np.argsort(X.std(axis=0))[-2:])
    assert qed.verify(model, X, classes).holds


def test_errors_say_what_to_do():
    X, _, classes = _rows(0)
    with pytest.raises(InvalidData, match="SelectKBest"):
        ours.SelectFpr(ours.mutual_info_classif).fit(X, classes).get_support()
    with pytest.raises(InvalidData, match="non-negative"):
        ours.chi2(X, classes)
    with pytest.raises(InvalidData, match="inconsistent"):
        ours.SelectKBest().fit(X, classes[:-1])
    with pytest.warns(UserWarning, match="greater than n_features"):
        ours.SelectKBest(k=100).fit(X, classes)
    with pytest.raises(InvalidData, match="variance threshold"):
        ours.VarianceThreshold(1e30).fit(X)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_variance_threshold(layout):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(30, 0.1), rng.normal(size=30), np.zeros(30), rng.integers(0, 2, 30)])
    for threshold in (0.0, 0.3):
        model = ours.VarianceThreshold(threshold).fit(layout(X))
        known = theirs.VarianceThreshold(threshold).fit(layout(X))
        assert model.get_support().tolist() == known.get_support().tolist()
        np.testing.assert_allclose(model.variances_, known.variances_, rtol=1e-12, atol=1e-15)
        assert qed.verify(model, layout(X)).holds


def test_inverse_transform_of_sparse_rows():
    X = sp.random_array((20, 5), density=0.4, rng=np.random.default_rng(0), format="csr")
    model = ours.VarianceThreshold().fit(X)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back.toarray(), X.toarray() * model.get_support())
