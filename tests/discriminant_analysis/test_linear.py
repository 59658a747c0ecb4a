"""Linear discriminant analysis: scikit-learn's estimates, the course's formulas, rows that come in parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Theirs

import qed
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.datasets import load_iris, load_wine
from qed.decomposition import PCA
from qed.discriminant_analysis import LinearDiscriminantAnalysis
from qed.linear_model import LogisticRegression, fisher_discriminant

rng = np.random.default_rng(0)
MIX = rng.normal(size=(4, 4))
Y = rng.integers(0, 3, 150)
X = rng.normal(size=(150, 4)) @ MIX + Y[:, None] * [0.5, 1.0, -0.5, 0.2] + 10
S = rng.integers(0, 3, 150).astype(float)
PRIORS = [0.2, 0.3, 0.5]
OPTIONS = [
    {},
    {"priors": PRIORS, "store_covariance": True},
    {"solver": "lsqr"},
    {"solver": "lsqr", "priors": PRIORS, "shrinkage": 0.3},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto", "priors": PRIORS, "n_components": 1},
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_scikit_learn(options, classes):
    options = dict(options)
    if classes == 2 and "priors" in options:
        options["priors"] = [0.25, 0.75]
    rows, labels = X[classes > Y], Y[classes > Y]
    ours, theirs = LinearDiscriminantAnalysis(**options).fit(rows, labels), Theirs(**options).fit(rows, labels)
    for name in ("coef_", "intercept_", "means_", "priors_", "xbar_", "covariance_", "explained_variance_ratio_"):
        if hasattr(theirs, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-11)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-10)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    if ours.solver != "lsqr":
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-8, atol=1e-9)
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_real_tables_and_degenerate_columns():
    iris, wine = load_iris(), load_wine()
    assert LinearDiscriminantAnalysis().fit(iris.data, iris.target).score(iris.data, iris.target) == 0.98
    assert LinearDiscriminantAnalysis().fit(wine.data, wine.target).score(wine.data, wine.target) == 1.0
    # a column twice and one that is constant change nothing: their directions are left out
    more = np.column_stack([X, X[:, 0], np.full(150, 7.0)])
    plain, fuller = LinearDiscriminantAnalysis().fit(X, Y), LinearDiscriminantAnalysis().fit(more, Y)
    np.testing.assert_allclose(fuller.predict_proba(more), plain.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(
        Theirs().fit(more, Y).predict_proba(more),
        LinearDiscriminantAnalysis().fit(more, Y).predict_proba(more),
        atol=1e-9,
    )
    shifted = LinearDiscriminantAnalysis().fit(X + 1e7, Y)
    np.testing.assert_allclose(shifted.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.covers("GEN-18", "GEN-21")
def test_planes_by_their_formula_and_priors_move_only_the_offset():
    rows, labels = X[Y < 2], Y[Y < 2]
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(rows, labels)
    low, high = (rows[labels == k].mean(axis=0) for k in (0, 1))
    inverse = np.linalg.inv(model.covariance_)
    share = np.mean(labels)
    w = inverse @ (high - low)
    w0 = 0.5 * (low @ inverse @ low - high @ inverse @ high) + np.log(share / (1 - share))
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], w0, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(rows), rows @ w + w0, rtol=1e-8, atol=1e-9)
    other = LinearDiscriminantAnalysis(priors=[0.9, 0.1]).fit(rows, labels)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-11)
    moved = np.log(0.1 / 0.9) - np.log(share / (1 - share))
    np.testing.assert_allclose(other.intercept_ - model.intercept_, moved, rtol=1e-9)
    # with classes of one size the direction is Fisher's
    few = min(np.sum(labels == 0), np.sum(labels == 1))
    even = np.concatenate([np.flatnonzero(labels == k)[:few] for k in (0, 1)])
    ours = LinearDiscriminantAnalysis().fit(rows[even], labels[even]).coef_[0]
    fisher = fisher_discriminant(rows[even], labels[even]).coef
    np.testing.assert_allclose(ours / np.linalg.norm(ours), fisher, rtol=1e-9)


@pytest.mark.covers("GEN-19")
def test_equal_means_leave_it_to_the_priors():
    base = rng.normal(size=(30, 2))
    base -= base.mean(axis=0)
    model = LinearDiscriminantAnalysis().fit(np.vstack([base, base, 2 * base]), np.repeat([0, 1], [30, 60]))
    np.testing.assert_allclose(
        model.predict_proba(rng.normal(size=(9, 2)) * 5), np.tile([1 / 3, 2 / 3], (9, 1)), atol=1e-12
    )


@pytest.mark.covers("GEN-20", "GEN-28")
def test_logistic_regression_has_the_same_form_and_fewer_assumptions():
    def apart(n):
        labels = rng.integers(0, 2, n)
        rows = rng.normal(size=(n, 2)) + labels[:, None] * [1.0, 0.5]
        ours, other = LinearDiscriminantAnalysis().fit(rows, labels), LogisticRegression(C=1e8).fit(rows, labels)
        scores = rows @ ours.coef_[0] + ours.intercept_
        np.testing.assert_allclose(ours.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-9)
        return float(np.abs(ours.coef_ - other.coef_).max())

    assert apart(60) > 0.01
    assert apart(60_000) < 0.03
    # a few rows far behind their own side pull the means, and with them the plane, but leave the odds alone
    side = rng.normal(size=2000)
    rows = np.column_stack([side, rng.normal(size=2000)])
    labels = (side > 0).astype(int)
    rows[:40, 0], labels[:40] = 400.0, 1
    ours, other = LinearDiscriminantAnalysis().fit(rows, labels), LogisticRegression().fit(rows, labels)
    assert ours.score(rows, labels) < 0.9
    assert other.score(rows, labels) > 0.98


@pytest.mark.covers("GEN-22")
def test_the_best_direction_separates_and_is_not_the_longest():
    labels = np.repeat([0, 1], 200)
    rows = rng.normal(size=(400, 2)) * [0.3, 5.0] + labels[:, None] * [3.0, 0.0]
    longest = PCA(1).fit(rows).components_[0]
    best = LinearDiscriminantAnalysis().fit(rows, labels).scalings_[:, 0]
    assert abs(longest[1]) > 0.98
    assert abs(best[0]) / np.linalg.norm(best) > 0.98


def test_chunks_streams_weights_and_forgetting():
    whole = LinearDiscriminantAnalysis().fit(X, Y, S)
    repeated = LinearDiscriminantAnalysis().fit(np.repeat(X, S.astype(int), axis=0), np.repeat(Y, S.astype(int)))
    chunked = LinearDiscriminantAnalysis().fit(ArraySource(X, Y, S, chunk_rows=17))
    stream = LinearDiscriminantAnalysis()
    for start in range(0, 150, 60):
        rows = slice(start, start + 60)
        stream.partial_fit(X[rows], Y[rows], [0, 1, 2], S[rows])
    for other in (repeated, chunked, stream):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=1e-10)
    assert np.array_equal(chunked.predict(ArraySource(X, chunk_rows=31)), whole.predict(X))
    left = LinearDiscriminantAnalysis().fit(X, Y).forget(X[:40], Y[:40])
    np.testing.assert_allclose(
        left.coef_, LinearDiscriminantAnalysis().fit(X[40:], Y[40:]).coef_, rtol=1e-9, atol=1e-11
    )
    auto = LinearDiscriminantAnalysis("lsqr", "auto")
    both = [auto.fit(rows).coef_ for rows in (ArraySource(X, Y, S), ArraySource(X, Y, S, chunk_rows=23))]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-11)
    heavy = auto.fit(np.repeat(X, S.astype(int), axis=0), np.repeat(Y, S.astype(int))).coef_
    np.testing.assert_allclose(both[0], heavy, rtol=1e-10)
    with pytest.raises(qed.InvalidParameter, match="rows that come by partial_fit are gone"):
        auto.partial_fit(X, Y)


def test_refusals_in_words_and_narrow_rows():
    for options, words in (
        ({"shrinkage": 0.5}, "not supported with 'svd'"),
        ({"n_components": 3}, "n_components cannot be larger"),
        ({"priors": [0.5, 0.5]}, "2 probabilities"),
        ({"priors": [0.5, 0.7, -0.2]}, "non-negative"),
        ({"priors": [0.5, 0.5, 0.0]}, "holds a zero"),
    ):
        with pytest.raises(qed.InvalidParameter, match=words):
            LinearDiscriminantAnalysis(**options).fit(X, Y)
    with pytest.raises(qed.NotSupported, match="covariance_estimator"):
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=object()).fit(X, Y)
    with pytest.raises(NotImplementedError, match="use 'svd' or 'eigen'"):
        LinearDiscriminantAnalysis("lsqr").fit(X, Y).transform(X)
    with pytest.raises(qed.InvalidData, match="number of samples must be more"):
        LinearDiscriminantAnalysis().fit(X[:2], [0, 1])
    with pytest.raises(qed.InvalidData, match="do not vary within"):
        LinearDiscriminantAnalysis().fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    with pytest.raises(qed.InvalidData, match="overflow"):
        LinearDiscriminantAnalysis().fit(X * 1e300, Y)
    with pytest.warns(UserWarning, match="Renormalizing"):
        LinearDiscriminantAnalysis(priors=[1, 1, 2]).fit(X, Y)
    narrow = LinearDiscriminantAnalysis().fit(X.astype(np.float32), Y)
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32
    assert np.isfinite(narrow.predict_log_proba(np.full((1, 4), 1e30))).all()
    model = LinearDiscriminantAnalysis().fit(X, Y)
    again = loads(dumps(model))
    assert np.array_equal(again.transform(X), model.transform(X))
    again.means_ = again.means_[:, :2]
    with pytest.raises(qed.ModelFileError):
        loads(dumps(again))
