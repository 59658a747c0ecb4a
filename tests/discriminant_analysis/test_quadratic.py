"""Quadratic discriminant analysis: scikit-learn's estimates, the course's formulas, rows that come in parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Theirs

import qed
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(1)
Y = rng.integers(0, 3, 200)
X = np.stack([rng.normal(size=3) @ np.diag([1, 2, 0.5 + k]) + k * np.array([1.0, 0, 1]) for k in Y])
S = rng.integers(0, 3, 200).astype(float)
OPTIONS = [
    {},
    {"reg_param": 0.2, "store_covariance": True},
    {"priors": [0.1, 0.2, 0.7]},
    {"solver": "eigen", "shrinkage": 0.4},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_scikit_learn(options, classes):
    options = dict(options)
    if classes == 2 and "priors" in options:
        options["priors"] = [0.25, 0.75]
    rows, labels = X[classes > Y], Y[classes > Y]
    ours, theirs = QuadraticDiscriminantAnalysis(**options).fit(rows, labels), Theirs(**options).fit(rows, labels)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12)
    for name in ("scalings_", "covariance_"):
        for one, other in zip(getattr(ours, name, []), getattr(theirs, name, []), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-11)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.covers("GEN-17", "GEN-03")
def test_the_boundary_by_its_formula():
    rows, labels = X[Y < 2], Y[Y < 2]
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(rows, labels)
    (low, high), (first, second) = model.means_, model.covariance_
    share = np.mean(labels)
    a, b = rows - low, rows - high
    scores = 0.5 * (
        np.einsum("ij,jk,ik->i", a, np.linalg.inv(first), a) - np.einsum("ij,jk,ik->i", b, np.linalg.inv(second), b)
    )
    scores += 0.5 * np.log(np.linalg.det(first) / np.linalg.det(second)) + np.log(share / (1 - share))
    np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-9)
    assert np.array_equal(model.predict(rows), (scores > 0).astype(int))


@pytest.mark.covers("GEN-16")
def test_heights_and_weights():
    spread = np.linalg.cholesky([[49.0, 40.0], [40.0, 100.0]]).T
    women = rng.normal(size=(300, 2)) @ spread + [165, 62]
    men = women + np.array([13.0, 16.0])
    people, labels = np.vstack([women, men]), np.repeat(["woman", "man"], 300)
    for model in (QuadraticDiscriminantAnalysis(), LinearDiscriminantAnalysis()):
        model.fit(people, labels)
        np.testing.assert_allclose(model.means_, [men.mean(axis=0), women.mean(axis=0)], rtol=1e-12)
        assert model.predict(model.means_).tolist() == ["man", "woman"]
    np.testing.assert_allclose(model.predict_proba([people.mean(axis=0)]), [[0.5, 0.5]], atol=1e-9)


@pytest.mark.covers("GEN-23", "GEN-24", "GEN-25")
def test_density_draws_and_parameters():
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, Y)
    total = 0.0
    for share, mean, covariance in zip(model.priors_, model.means_, model.covariance_, strict=True):
        z = X - mean
        square = np.einsum("ij,jk,ik->i", z, np.linalg.inv(covariance), z)
        total = total + share * np.exp(-0.5 * square) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    np.testing.assert_allclose(np.exp(model.score_samples(X)), total, rtol=1e-9)
    assert model.score_samples([[50.0, 50.0, 50.0]])[0] < model.score_samples(X).min()
    drawn, labels = model.sample(20_000, random_state=3)
    for k in range(3):
        mine = drawn[labels == k]
        assert abs(len(mine) / 20_000 - model.priors_[k]) < 0.02
        np.testing.assert_allclose(mine.mean(axis=0), model.means_[k], atol=0.1)
        np.testing.assert_allclose(np.cov(mine.T), model.covariance_[k], atol=0.25)
    assert model.n_parameters_ == 2 + 3 * 3 + 3 * 6
    assert LinearDiscriminantAnalysis().fit(X, Y).n_parameters_ == 2 + 3 * 3 + 6


def test_chunks_streams_weights_and_forgetting():
    whole = QuadraticDiscriminantAnalysis().fit(X, Y, S)
    chunked = QuadraticDiscriminantAnalysis().fit(ArraySource(X, Y, S, chunk_rows=29))
    repeated = QuadraticDiscriminantAnalysis().fit(np.repeat(X, S.astype(int), axis=0), np.repeat(Y, S.astype(int)))
    stream = (
        QuadraticDiscriminantAnalysis()
        .partial_fit(X[:90], Y[:90], [0, 1, 2], S[:90])
        .partial_fit(X[90:], Y[90:], None, S[90:])
    )
    for other in (chunked, repeated, stream):
        np.testing.assert_allclose(other.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-11)
    left = QuadraticDiscriminantAnalysis().fit(X, Y).forget(X[:50], Y[:50])
    again = QuadraticDiscriminantAnalysis().fit(X[50:], Y[50:])
    np.testing.assert_allclose(left.predict_proba(X), again.predict_proba(X), atol=1e-9)


def test_columns_of_very_different_sizes_and_rows_far_away():
    scale = np.array([1e-4, 1.0, 1e4])
    plain, scaled = (
        QuadraticDiscriminantAnalysis(tol=0).fit(X, Y),
        QuadraticDiscriminantAnalysis(tol=0).fit(X * scale, Y),
    )
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-6)
    far = plain.predict_log_proba(np.array([[1e300, 0, 0], [0, -1e200, 1e200]]))
    assert not np.isnan(far).any()
    assert far.max(axis=1).tolist() == [0.0, 0.0]
    assert plain.predict([[0, 0, 1e300]]).tolist() == [2]  # the widest class along that column


def test_refusals_in_words_and_files():
    for options, words in (
        ({"shrinkage": 0.5}, "not supported with 'svd'"),
        ({"solver": "eigen", "reg_param": 0.5}, "reg_param goes with"),
        ({"priors": [0.5, 0.5]}, "Number of priors"),
    ):
        with pytest.raises(qed.InvalidParameter, match=words):
            QuadraticDiscriminantAnalysis(**options).fit(X, Y)
    with pytest.raises(qed.InvalidData, match="only 1 sample in class 1"):
        QuadraticDiscriminantAnalysis().fit(X[:5], [0, 0, 0, 0, 1])
    with pytest.raises(qed.InvalidData, match="not full rank"):
        QuadraticDiscriminantAnalysis().fit(np.column_stack([X, X[:, 0]]), Y)
    with pytest.raises(qed.InvalidData, match="NaN"):
        QuadraticDiscriminantAnalysis().fit(np.where(X > 2, np.nan, X), Y)
    model = QuadraticDiscriminantAnalysis().fit(X, Y)
    again = loads(dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    again.scalings_[0][-1] = 0.0
    with pytest.raises(qed.ModelFileError):
        loads(dumps(again))
