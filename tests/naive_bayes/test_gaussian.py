"""Gaussian naive Bayes: its formulas, its agreement with scikit-learn, and rows that come and go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB as Theirs

import qed
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.datasets import load_iris
from qed.discriminant_analysis import QuadraticDiscriminantAnalysis
from qed.linear_model import Hyperplane, LogisticRegression
from qed.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 3.0] + [0.0, 100.0, 1e4, -5.0]
Y = np.array(["a", "b", "c"])[rng.integers(0, 3, 120)]
X[Y == "b"] += 0.5
S = rng.integers(0, 4, 120).astype(float)


@pytest.mark.covers("GEN-02", "GEN-06")
@pytest.mark.parametrize("options", [{}, {"priors": [0.2, 0.5, 0.3]}, {"var_smoothing": 0.1}])
def test_estimates_are_those_of_the_classes_and_of_scikit_learn(options):
    ours, theirs = GaussianNB(**options).fit(X, Y), Theirs(**options).fit(X, Y)
    for k, label in enumerate(["a", "b", "c"]):
        rows = X[label == Y]
        np.testing.assert_allclose(ours.theta_[k], rows.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(ours.var_[k] - ours.epsilon_, rows.var(axis=0), rtol=1e-9)
        if "priors" not in options:
            assert ours.class_prior_[k] == np.mean(label == Y)
    for name in ("theta_", "var_", "class_prior_", "class_count_", "epsilon_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-11)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-11)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    truth = np.searchsorted(ours.classes_, Y)
    stated = theirs.predict_joint_log_proba(X)[np.arange(len(X)), truth].mean()
    assert ours.certificate_.log_likelihood == pytest.approx(stated, rel=1e-7)


@pytest.mark.covers("GEN-01", "GEN-03")
def test_bayes_rule():
    model = GaussianNB().fit(X, Y)
    joint, posterior = model.predict_joint_log_proba(X), model.predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(posterior, np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True), rtol=1e-12)
    # the largest joint probability wins: dividing by P(x) cannot change which
    assert np.array_equal(model.predict(X), model.classes_[joint.argmax(axis=1)])
    two = Y != "c"
    model = GaussianNB().fit(X[two], Y[two])
    joint = model.predict_joint_log_proba(X)
    ratio = joint[:, 1] - joint[:, 0]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-ratio)), rtol=1e-12)
    assert np.array_equal(model.predict(X) == "b", ratio > 0)


@pytest.mark.covers("GEN-05")
def test_factors_multiply_and_the_prior_enters_once():
    model = GaussianNB(priors=[0.7, 0.2, 0.1]).fit(X, Y)
    density = np.exp(-0.5 * (X[:, None] - model.theta_) ** 2 / model.var_) / np.sqrt(2 * np.pi * model.var_)
    product = model.class_prior_ * density.prod(axis=2)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(X)), product, rtol=1e-9)
    # within a class columns are independent; over all rows they are not, because both follow the class
    drawn, labels = GaussianNB(var_smoothing=0).fit([[0.0, 0], [2, 2], [9, 9], [11, 11]], [0, 0, 1, 1]).sample(4000, 0)
    assert np.corrcoef(drawn.T)[0, 1] > 0.9
    assert abs(np.corrcoef(drawn[labels == 0].T)[0, 1]) < 0.1
    # ten thousand columns: every density underflows, and the answer does not
    wide = rng.normal(size=(20, 10_000)) + np.repeat([0, 1], 10)[:, None]
    model = GaussianNB().fit(wide, np.repeat([0, 1], 10))
    assert np.exp(model.predict_joint_log_proba(wide)).max() == 0
    assert np.array_equal(model.predict(wide), np.repeat([0, 1], 10))
    assert np.isfinite(model.predict_log_proba(wide)).all()


@pytest.mark.covers("GEN-07", "GEN-20")
def test_equal_variances_make_a_plane():
    unit = GaussianNB(var_smoothing=0).fit([[-2.0], [0], [0], [2]], [0, 0, 1, 1])
    t = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(np.diff(unit.predict_log_proba(t)).ravel(), 2 * t.ravel(), atol=1e-12)  # w = 2, w0 = 0
    base = rng.normal(size=(50, 3))
    rows = np.vstack([base, base[:30] - base[:30].mean(axis=0) + 1])
    rows[50:] *= rows[:50].std(axis=0) / rows[50:].std(axis=0)
    model = GaussianNB(var_smoothing=0).fit(rows, np.repeat([0, 1], [50, 30]))
    variance, (low, high) = model.var_[0], model.theta_
    np.testing.assert_allclose(model.var_[1], variance, rtol=1e-12)
    w = (high - low) / variance
    w0 = np.log(30 / 50) + ((low**2 - high**2) / (2 * variance)).sum()
    np.testing.assert_allclose(np.diff(model.predict_log_proba(rows)).ravel(), rows @ w + w0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-(rows @ w + w0))), rtol=1e-9)
    # logistic regression has the same form; its weights differ on few rows, and come near on many
    drawn = {n: model.sample(n, random_state=1) for n in (60, 60_000)}
    apart = {}
    for n, (some, labels) in drawn.items():
        logistic, own = LogisticRegression(C=1e6).fit(some, labels), GaussianNB().fit(some, labels)
        pooled = ((own.class_count_ / n)[:, None] * own.var_).sum(axis=0)
        apart[n] = np.abs(logistic.coef_[0] - (own.theta_[1] - own.theta_[0]) / pooled).max()
    assert apart[60] > 0.05
    assert apart[60_000] < 0.03


@pytest.mark.covers("GEN-08")
def test_unequal_variances_give_two_thresholds_and_equal_ones_the_midpoint():
    model = GaussianNB(var_smoothing=0).fit([[-1.0], [1], [-2], [4]], [0, 0, 1, 1])
    (m0, m1), (v0, v1) = model.theta_.ravel(), model.var_.ravel()
    # log densities are equal where a x² + b x + c = 0
    a, b = 0.5 / v0 - 0.5 / v1, m1 / v1 - m0 / v0
    c = 0.5 * (m0**2 / v0 - m1**2 / v1 + np.log(v0 / v1))
    roots = np.sort(np.roots([a, b, c]))
    np.testing.assert_allclose(model.predict_proba(roots[:, None]), 0.5, atol=1e-12)
    assert model.predict([[roots[0] - 0.01], [roots.mean()], [roots[1] + 0.01]]).tolist() == [1, 0, 1]
    equal = GaussianNB(var_smoothing=0).fit([[0.0], [2], [10], [12]], [0, 0, 1, 1])
    np.testing.assert_allclose(equal.predict_proba([[6.0]]), [[0.5, 0.5]], atol=1e-12)


@pytest.mark.covers("GEN-14")
def test_a_column_twice_counts_twice():
    two = Y != "c"
    one, twice = GaussianNB().fit(X[two, :1], Y[two]), GaussianNB().fit(X[two][:, [0, 0]], Y[two])
    prior = np.log(one.class_prior_[1] / one.class_prior_[0])
    lead = [np.diff(model.predict_log_proba(rows)).ravel() for model, rows in ((one, X[:, :1]), (twice, X[:, [0, 0]]))]
    np.testing.assert_allclose(lead[1] - prior, 2 * (lead[0] - prior), rtol=1e-8, atol=1e-12)


@pytest.mark.covers("GEN-23", "GEN-24", "GEN-25")
def test_density_draws_and_parameters():
    model = GaussianNB().fit(X, Y)
    far = X.mean(axis=0) + 50 * X.std(axis=0)
    density = np.exp(model.predict_joint_log_proba(X)).sum(axis=1)
    np.testing.assert_allclose(np.exp(model.score_samples(X)), density, rtol=1e-12)
    assert model.score_samples([far])[0] < model.score_samples(X).min()  # an outlier is where P(x) is low
    drawn, labels = model.sample(20_000, random_state=0)
    assert drawn.shape == (20_000, 4)
    for k, label in enumerate(model.classes_):
        mine = drawn[labels == label]
        assert abs(len(mine) / 20_000 - model.class_prior_[k]) < 0.02
        assert (np.abs(mine.mean(axis=0) - model.theta_[k]) < 0.06 * np.sqrt(model.var_[k])).all()
        np.testing.assert_allclose(mine.var(axis=0), model.var_[k], rtol=0.08)
    assert model.n_parameters_ == 2 + 2 * 3 * 4
    assert Hyperplane.of(LogisticRegression().fit(X[Y != "c"], Y[Y != "c"])).n_parameters == 4 + 1


def test_chunks_and_streams_give_the_same_model():
    whole = GaussianNB().fit(X, Y, S)
    stream = GaussianNB()
    for start in range(0, 120, 37):
        rows = slice(start, start + 37)
        stream.partial_fit(X[rows], Y[rows], ["a", "b", "c"], S[rows])
    codes = np.searchsorted(["a", "b", "c"], Y)
    source = ArraySource(X, codes, S, chunk_rows=11)
    folded = GaussianNB().fit(source)
    repeated = GaussianNB().fit(np.repeat(X, S.astype(int), axis=0), np.repeat(Y, S.astype(int)))
    for other in (stream, folded, repeated):
        np.testing.assert_allclose(other.theta_, whole.theta_, rtol=1e-13)
        np.testing.assert_allclose(other.var_, whole.var_, rtol=1e-9)
        np.testing.assert_allclose(other.class_prior_, whole.class_prior_, rtol=1e-14)
    assert folded.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(folded.predict(source), codes_of(whole.predict(X)))
    more = GaussianNB().fit(X[30:], Y[30:]).partial_fit(X[:30], Y[:30])
    left = more.forget(X[:30], Y[:30])
    np.testing.assert_allclose(left.var_, GaussianNB().fit(X[30:], Y[30:]).var_, rtol=1e-9)
    with pytest.raises(qed.ForgetError, match="of class number 0"):
        left.forget(X, Y)
    with pytest.raises(qed.ForgetError, match="all the rows"):
        left.forget(X[30:], Y[30:])
    late = GaussianNB().partial_fit(X[Y != "c"], Y[Y != "c"], ["a", "b", "c"])
    assert late.predict_proba(X)[:, 2].max() == 0  # a class that has not come yet


def codes_of(labels: np.ndarray) -> np.ndarray:
    return np.searchsorted(["a", "b", "c"], labels)


@pytest.mark.parametrize("layout", ["float32", "fortran", "reversed", "frame", "one thread"])
def test_layouts_and_threads(layout):
    rows = {"float32": X.astype(np.float32), "fortran": np.asfortranarray(X), "reversed": X[::-1][::-1]}.get(layout, X)
    if layout == "frame":
        rows = pd.DataFrame(X, columns=list("pqrs"))
    reference = GaussianNB().fit(np.asarray(rows, dtype=np.float64), Y)
    before = qed.get_num_threads()
    qed.set_num_threads(1 if layout == "one thread" else 3)
    try:
        model = GaussianNB().fit(rows, Y)
        answer = model.predict_log_proba(rows)
    finally:
        qed.set_num_threads(before)
    np.testing.assert_array_equal(model.theta_, reference.theta_)
    np.testing.assert_array_equal(model.var_, reference.var_)
    # products of float32 rows are added up in another order, by the width of a vector: last digits differ
    digits = 1e-13 if layout == "float32" else 0.0
    np.testing.assert_allclose(answer, reference.predict_log_proba(np.asarray(rows, dtype=np.float64)), rtol=digits)


def test_same_bits_on_any_number_of_threads():
    big = rng.normal(size=(40_000, 9))
    labels = rng.integers(0, 4, 40_000)
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            model = GaussianNB().fit(big, labels)
            found.append((model.theta_.tobytes(), model.var_.tobytes(), model.predict_proba(big).tobytes()))
    finally:
        qed.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_what_cannot_be_a_density_is_refused_in_words():
    for rows, labels, words in (
        ([[1.0], [1.0], [2.0]], [0, 0, 1], "variance of column 0 within class 0 is zero"),
        ([[1e300], [0.0]], [0, 1], "overflow float64"),
        ([[np.nan], [0.0]], [0, 1], "NaN"),
        ([[1.0]], [0], "1 sample"),
    ):
        with pytest.raises(qed.InvalidData, match=words):
            GaussianNB(var_smoothing=0).fit(rows, labels)
    with pytest.raises(qed.InvalidParameter, match="sum of the priors should be 1"):
        GaussianNB(priors=[0.5, 0.1, 0.1]).fit(X, Y)
    with pytest.raises(qed.InvalidData, match="infinity"):
        GaussianNB().fit(X, Y).predict([[np.inf, 0, 0, 0]])


def test_rows_beyond_all_squares_are_still_told_apart():
    model = GaussianNB(var_smoothing=0).fit([[-1.0], [1], [4], [6]], [0, 0, 1, 1])
    assert model.predict([[1e300], [-1e300], [1.7e308]]).tolist() == [1, 0, 1]
    probability = model.predict_proba([[1e300], [-1.7e308]])
    assert np.array_equal(probability, [[0, 1], [1, 0]])
    three = GaussianNB().fit([[-1.0], [1], [4], [6], [8], [11]], [0, 0, 1, 1, 2, 2])
    assert np.isfinite(three.predict_proba([[1e307]])).all()
    assert three.predict([[1e307]]).tolist() == [2]


def test_files_hold_the_model_and_hostile_ones_are_refused():
    model = GaussianNB().fit(X, Y)
    again = loads(dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X[:5], Y[:5])
    for name, value in (
        ("var_", -model.var_),
        ("theta_", model.theta_[:, :2]),
        ("class_prior_", model.class_prior_ * np.nan),
    ):
        broken = loads(dumps(model))
        setattr(broken, name, value)
        with pytest.raises(qed.ModelFileError):
            loads(dumps(broken))


@pytest.mark.covers("GEN-15")
def test_uncorrelated_columns_make_the_full_model_the_naive_one():
    grid = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    rows = np.vstack([grid * [1, 2], grid * [3, 1] + 1])
    labels = np.repeat([0, 1], 4)
    naive, full = GaussianNB(var_smoothing=0).fit(rows, labels), QuadraticDiscriminantAnalysis().fit(rows, labels)
    some = rng.normal(size=(20, 2))
    np.testing.assert_allclose(naive.predict_proba(some), full.predict_proba(some), rtol=1e-12)
    iris = load_iris()
    correlated = QuadraticDiscriminantAnalysis(store_covariance=True).fit(iris.data, iris.target)
    for k in range(3):
        mine = iris.data[iris.target == k]
        np.testing.assert_allclose(correlated.means_[k], mine.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(correlated.covariance_[k], np.cov(mine.T, bias=True), rtol=1e-10, atol=1e-14)
