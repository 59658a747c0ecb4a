"""Perceptrons that vote, average or draw, and perceptrons that learn from a stream."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.reference.perceptron import most_mistakes, separable, slow

import qed
from qed.compose import OneVsOneClassifier, OutputCodeClassifier
from qed.linear_model import Perceptron, RandomLinearClassifier, SGDClassifier, VotedPerceptron
from qed.model_selection import prequential

THREE = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SIGNS = np.array([1, -1, 1])
XOR, PARITY = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([1, -1, -1, 1])


@pytest.mark.covers("CLS-15")
@given(seed=st.integers(0, 99))
def test_planes_vote_as_often_as_they_survived(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (15, 2)).astype(float), rng.choice([-1, 1], 15)
    y[:2] = 1, -1
    model = VotedPerceptron(shuffle=False, max_iter=3).fit(X, y)
    _, _, log, planes = slow(X, y, passes=3)
    total = np.zeros(len(X))
    before, rounds = (np.zeros(2), 0.0), itertools.cycle(zip(X, y, strict=True))
    for after, (x, sign) in zip(planes, rounds, strict=False):
        if sign * (x @ before[0] + before[1]) > 0:  # survived
            scores = X @ before[0] + before[1]
            total += np.where(scores > 0, 1, -1)
        before = after
    assert len(model.votes_) == len(log) + 1
    assert_allclose(model.decision_function(X) * max(model.votes_.sum(), 1), total, atol=1e-9)
    one = VotedPerceptron(max_iter=5, shuffle=False).fit([[1.0], [-1.0]], [1, -1])
    assert_array_equal(one.predict([[3.0], [-2.0]]), [1, -1])


@pytest.mark.covers("CLS-16")
@given(seed=st.integers(0, 99))
def test_the_average_is_the_mean_of_all_planes(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), rng.choice([-1, 1], 15)
    y[:2] = 1, -1
    planes = slow(X, y, passes=4)[3]
    for burn_in in (0, 1, 20, len(planes) - 1):
        settings = {"variant": "averaged", "burn_in": burn_in, "shuffle": False, "max_iter": 4, "tol": None}
        model = Perceptron(**settings).fit(X, y)
        assert_allclose(model.coef_[0], np.mean([w for w, _ in planes[burn_in:]], axis=0), atol=1e-12)
        assert_allclose(model.intercept_[0], np.mean([b for _, b in planes[burn_in:]]), atol=1e-12)


@pytest.mark.covers("CLS-19", "FND-03")
def test_predictions_come_before_labels():
    X, y, _ = separable(5, n=60)
    found = prequential(Perceptron(), X, y, classes=[-1, 1])
    _, _, log, planes = slow(X, y, passes=1)
    assert_array_equal(
        found.predictions, [1 if x @ w + b > 0 else -1 for x, (w, b) in zip(X[1:], planes, strict=False)]
    )
    assert_array_equal(found.losses, found.predictions != y[1:])
    assert found.mistakes == len(set(log) - {0})  # no row comes to lie on a plane
    assert found.first == 1
    for t in (1, 30, 59):  # neither the label of a round nor anything later can be felt in it
        later, changed = X.copy(), y.copy()
        later[t + 1 :], changed[t:] = -later[t + 1 :], -changed[t:]
        other = prequential(Perceptron(), later, changed, classes=[-1, 1])
        assert_array_equal(found.predictions[:t], other.predictions[:t])
    # a learner that is shown the stretch in order before it predicts is not online, and answers otherwise
    fitted = Perceptron(shuffle=False, max_iter=1, tol=None).fit(X, y)
    assert np.any(fitted.predict(X[1:]) != found.predictions)
    # the counting of the learner itself: the first row, on the plane zero, is a mistake as well
    model = Perceptron()
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None], [label], classes=[-1, 1])
    assert model.certificate_.rounds == len(X)
    assert model.certificate_.mistakes == len(log) == found.mistakes + 1
    # an adversary's order, as long as one likes: the bound does not know the number of rows
    for order in (np.arange(60), np.argsort(y), np.argsort(X[:, 0])):
        long = np.tile(X[order], (50, 1)), np.tile(y[order], 50)
        lasting = Perceptron(shuffle=False).partial_fit(*long, classes=[-1, 1])
        assert lasting.certificate_.mistakes == len(slow(X[order], y[order], passes=50)[2])
        separated = Perceptron(tol=None, max_iter=10_000).fit(X, y)
        bound = most_mistakes(X, y, separated.coef_[0], separated.intercept_[0])
        assert separated.certificate_.bound == pytest.approx(bound, rel=1e-9)
        assert lasting.certificate_.mistakes <= bound


@pytest.mark.covers("CLS-40")
def test_mistakes_of_a_stream_are_the_risk_of_its_planes():
    X, y = np.array([[1.0, 0.5], [-1.0, 0.5], [0.5, -1.0]]), np.array([1, -1, -1])
    p, T = np.array([0.5, 0.3, 0.2]), 4
    mean_risk = mean_mistakes = 0.0
    for sequence in itertools.product(range(3), repeat=T):
        chance = np.prod(p[list(sequence)])
        model = Perceptron(fit_intercept=False)
        risks, mistakes = [], 0
        for i in sequence:
            scores = np.zeros(3) if "coef_" not in model.__dict__ else X @ model.coef_[0]
            wrong = y * scores <= 0
            risks.append(p[wrong].sum())
            mistakes += wrong[i]
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
        assert mistakes == model.certificate_.mistakes
        mean_risk += chance * np.mean(risks)
        mean_mistakes += chance * mistakes
    assert mean_risk == pytest.approx(mean_mistakes / T)
    plane = Perceptron(fit_intercept=False).fit(X, y)
    assert plane.certificate_.bound == pytest.approx(most_mistakes(X, y, plane.coef_[0]))
    angles = np.linspace(0, 2 * np.pi, 2001)
    margins = (y[:, None] * (X @ [np.cos(angles), np.sin(angles)])).min(axis=0)
    widest = most_mistakes(X, y, np.array([np.cos(angles[margins.argmax()]), np.sin(angles[margins.argmax()])]))
    assert mean_risk <= widest / T <= plane.certificate_.bound / T * (1 + 1e-4)


@pytest.mark.covers("CLS-06")
def test_more_draws_are_never_worse():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.choice([0, 1], 50)
    errors = []
    for k in (1, 2, 5, 20, 100):
        model = RandomLinearClassifier(k, random_state=7).fit(X, y)
        planes = np.random.default_rng(model.seed_).standard_normal((k, 3))  # each draw, from the seed that is told
        wrongs = [int(np.sum((X @ w[:2] + w[2] > 0) != y)) for w in planes]
        assert_array_equal(model.wrongs_, wrongs)
        assert model.mistakes_ == min(wrongs) == (model.predict(X) != y).sum()
        assert_array_equal(np.append(model.coef_, model.intercept_), planes[np.argmin(wrongs)])
        assert model.draw_ == np.argmin(wrongs)
        errors.append(model.mistakes_)
    assert all(later <= earlier for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < errors[0]
    one = RandomLinearClassifier(1, random_state=7).fit(X, y)
    assert one.draw_ == 0
    assert qed.verify(one, X, y).holds
    one.coef_ = -one.coef_
    with pytest.raises(qed.CertificateError, match="draw 0"):
        qed.verify(one, X, y)


def test_votes_of_rows_that_weigh():
    rng = np.random.default_rng(8)
    X, y, s = rng.normal(size=(40, 2)), rng.choice([-1, 1], 40), rng.integers(0, 4, 40).astype(float)
    model = VotedPerceptron(class_weight={1: 2.0}, max_iter=3, shuffle=False).fit(X, y, s)
    w, factor, used = np.zeros(3), s * np.where(y > 0, 2.0, 1.0), np.flatnonzero(s)
    rows, sides, votes = np.column_stack([X, np.ones(40)]), np.zeros(40), 0
    for i in np.tile(used, 3):
        if y[i] * (rows[i] @ w) <= 0:
            w = w + factor[i] * y[i] * rows[i]
        else:
            sides, votes = sides + np.where(rows @ w > 0, 1, -1), votes + 1
    np.testing.assert_allclose(model.coef_[0], w[:2], rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), sides / votes, atol=1e-12)
    assert np.isinf(model.certificate_.bound)  # the theorem is about steps of equal length
    assert qed.verify(model, X, y, s).holds
    even = VotedPerceptron(class_weight="balanced").fit(X, y, s)
    assert qed.verify(even, X, y, s).holds
    model.steps_ = model.steps_ * 1.5
    with pytest.raises(qed.CertificateError, match="votes"):
        qed.verify(model, X, y, s)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_planes_drawn_count_their_mistakes_in_a_stream(make):
    rng = np.random.default_rng(3)
    X, y, s = rng.normal(size=(90, 3)), rng.choice(["a", "b"], 90), rng.random(90)
    whole = RandomLinearClassifier(70, random_state=5).fit(make(X), y, s)
    parts = RandomLinearClassifier(70, random_state=5)
    for rows in (slice(0, 1), slice(1, 40), slice(40, 90)):
        parts.partial_fit(make(X)[rows], y[rows], ["a", "b"], s[rows])
    np.testing.assert_allclose(parts.wrongs_, whole.wrongs_, rtol=1e-13)
    assert parts.draw_ == whole.draw_
    assert parts.coef_.tolist() == whole.coef_.tolist()
    assert parts.certificate_.rows == 90
    assert qed.verify(parts, make(X), y, s).holds
    with pytest.raises(qed.InvalidParameter, match="n_draws"):
        parts.set_params(n_draws=71).partial_fit(make(X), y)
    with pytest.raises(qed.InvalidParameter, match="classes must be passed"):
        RandomLinearClassifier().partial_fit(X, y)
    with pytest.raises(qed.InvalidData, match="3 classes"):
        RandomLinearClassifier().partial_fit(X, y, ["a", "b", "c"])
    with pytest.raises(qed.InvalidData, match="'c'"):
        parts.set_params(n_draws=70).partial_fit(X[:1], ["c"])


def test_a_stream_in_stretches_is_one_stream():
    X, y, _ = separable(9)
    for options in (
        {},
        {"variant": "averaged"},
        {"penalty": "elasticnet", "alpha": 0.01},
        {"penalty": "l2", "alpha": 0.05},
    ):
        whole = Perceptron(**options).partial_fit(X, y, classes=[-1, 1])
        parts = Perceptron(**options)
        for some in np.array_split(np.arange(len(X)), 7):
            parts.partial_fit(X[some], y[some], classes=[-1, 1])
        assert_allclose(whole.coef_, parts.coef_, atol=1e-12)
        assert_allclose(whole.intercept_, parts.intercept_, atol=1e-12)


def test_output_codes_are_followed_in_a_stream():
    X, y, *_ = separable(4, n=60)
    codes = np.where(X[:, 0] > 0, y + 1, 5)
    found = prequential(OutputCodeClassifier(Perceptron(), random_state=0), X, codes, chunk=10)
    assert len(found.predictions) == 50
    assert set(found.predictions.tolist()) <= set(codes.tolist())


def test_pairs_that_a_stream_has_not_reached_do_not_vote():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.array(list("abcd"))[np.digitize(rows[:, 0], [-0.7, 0.0, 0.7])]
    result = prequential(OneVsOneClassifier(SGDClassifier()), rows, labels)
    assert len(result.losses) == 59
    assert result.losses[:20].mean() > result.losses[-20:].mean()
    streamed = OneVsOneClassifier(Perceptron()).partial_fit(rows[:1], labels[:1], classes=list("abcd"))
    votes = streamed.votes(rows)
    assert votes.sum(axis=1).tolist() == [3] * 60  # the pairs of the one class seen
    with pytest.raises(qed.InvalidData, match="60 rows and y has 5 labels"):
        prequential(Perceptron(), rows, labels[:5])
    with pytest.raises(qed.InvalidParameter, match="delta is a probability"):
        result.risk_bound(0.0)
