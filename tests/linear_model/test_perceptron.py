"""Perceptrons: traces by hand, the mistake bound, classes, what is rejected."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.reference.perceptron import most_mistakes, separable, slow

import qed
from qed import CertificateError
from qed.convex import Perceptron as PerceptronLoss
from qed.linear_model import Perceptron, RandomLinearClassifier, VotedPerceptron
from qed.svm import LinearSVC

THREE = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SIGNS = np.array([1, -1, 1])
XOR, PARITY = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([1, -1, -1, 1])


@pytest.mark.covers("CLS-07")
def test_the_trace_by_hand():
    model = Perceptron(shuffle=False).fit(THREE, SIGNS)
    assert_array_equal(model.coef_, [[2.0, -1.0]])
    assert_array_equal(model.intercept_, [0.0])
    assert model.certificate_.mistakes == 4
    assert slow(THREE, SIGNS)[2] == [0, 1, 2, 1]


@pytest.mark.covers("CLS-08")
@given(seed=st.integers(0, 99))
def test_through_the_origin_on_rows_with_a_one(seed):
    X, y, _ = separable(seed)
    with_offset = Perceptron(shuffle=False, tol=None, max_iter=3).fit(X, y)
    augmented = Perceptron(shuffle=False, tol=None, max_iter=3, fit_intercept=False).fit(
        np.column_stack([X, np.ones(len(X))]), y
    )
    assert with_offset.certificate_.mistakes == augmented.certificate_.mistakes
    assert_allclose(np.append(with_offset.coef_[0], with_offset.intercept_), augmented.coef_[0])
    assert augmented.intercept_ == 0.0


@given(seed=st.integers(0, 99), intercept=st.booleans(), kind=st.sampled_from(["dense", "float32", "csr", "fortran"]))
def test_same_as_row_by_row(seed, intercept, kind):
    from scipy.sparse import csr_array  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (20, 3)).astype(float), rng.choice([-1, 1], 20)
    y[:2] = 1, -1
    make = {"dense": np.array, "float32": np.float32, "csr": csr_array, "fortran": np.asfortranarray}[kind]
    model = Perceptron(shuffle=False, tol=None, max_iter=7, fit_intercept=intercept).fit(make(X), y)
    w, b, log, _ = slow(X, y, intercept=intercept, passes=7)
    assert_array_equal(model.coef_[0], w)
    assert_array_equal(model.intercept_, [b])
    assert model.certificate_.mistakes == len(log)


@pytest.mark.covers("CLS-09")
def test_the_length_of_a_step_changes_nothing_but_the_scale():
    X, y, _ = separable(3)
    one, long = (Perceptron(shuffle=False, eta0=eta).fit(X, y) for eta in (1.0, 8.0))
    assert_allclose(one.coef_[0], slow(X, y)[0])
    assert_allclose(8.0 * one.coef_, long.coef_)
    assert_array_equal(one.predict(X), long.predict(X))
    # a score of zero is a mistake: otherwise nothing would ever be learnt from zero
    for shown, mistakes in ((X[:1], 1), (np.zeros((3, 3)), 3)):
        begun = Perceptron(fit_intercept=False).partial_fit(shown, y[: len(shown)], classes=[-1, 1])
        assert begun.certificate_.mistakes == mistakes
    drawn = Perceptron(sampling="replacement", tol=None, max_iter=200).fit(X, y)
    assert drawn.score(X, y) == 1.0
    # rows across each other are learnt when they are drawn first, and never moved again: the others stay at zero
    signs = np.where(np.arange(400) % 3, 1, -1)
    visited = []
    for sampling, seed in (("passes", 0), ("replacement", 0), ("replacement", 1)):
        options = {"shuffle": False, "max_iter": 1, "tol": None, "fit_intercept": False, "random_state": seed}
        model = Perceptron(sampling=sampling, **options).fit(np.eye(400), signs)
        visited.append(model.coef_[0] != 0)
        assert_array_equal(model.coef_[0], np.where(visited[-1], signs, 0))
        assert model.certificate_.mistakes == visited[-1].sum()
    assert visited[0].all()
    for some in visited[1:]:  # each is missed with probability (1 - 1/400)^400, 1/e; six deviations of their number
        assert abs(some.sum() - 400 * (1 - np.exp(-1))) < 6 * np.sqrt(400 * np.exp(-1) * (1 - 2 * np.exp(-1)))
    assert np.any(visited[1] != visited[2])


@pytest.mark.covers("CLS-10")
@given(seed=st.integers(0, 99), eta=st.sampled_from([0.5, 1.0, 2.0]), intercept=st.booleans())
def test_one_update_raises_the_signed_score_by_the_square_of_the_row(seed, eta, intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2, 3))
    model = Perceptron(eta0=eta, fit_intercept=intercept).partial_fit(X[:1], [1], classes=[-1, 1])
    x = -X[:1] + 0.1 * X[1:]  # on the other side of what was just learnt
    before = model.decision_function(x)[0]
    if before > 0:
        return
    after = model.partial_fit(x, [1]).decision_function(x)[0]
    assert after - before == pytest.approx(eta * (np.sum(x**2) + intercept))


@pytest.mark.covers("CLS-11", "CLS-13")
@given(seed=st.integers(0, 99), c=st.sampled_from([1.0, 0.25, 16.0]))
def test_the_mistake_bound_and_the_invariants_of_its_proof(seed, c):
    X, y, w_star = separable(seed)
    R, gamma = np.linalg.norm(X, axis=1).max(), (y * (X @ w_star)).min()
    counts = []
    for order in (np.arange(len(X)), np.argsort(X[:, 0]), np.random.default_rng(seed).permutation(len(X))):
        model = Perceptron(shuffle=False, fit_intercept=False, tol=None, max_iter=10_000).fit(c * X[order], y[order])
        k, theta = model.certificate_.mistakes, model.coef_[0] / c
        counts.append(k)
        assert model.outcome_ == "solved"
        assert k == len(slow(X[order], y[order], intercept=False, passes=10_000)[2])
        assert k <= (R / gamma) ** 2
        assert k <= model.certificate_.bound
        assert model.certificate_.bound == pytest.approx(most_mistakes(X, y, theta), rel=1e-9)
        assert theta @ w_star >= k * gamma * (1 - 1e-12)
        assert theta @ theta <= k * R**2 * (1 + 1e-12)
        assert theta @ w_star / np.linalg.norm(theta) >= np.sqrt(k) * gamma / R * (1 - 1e-12)
    again = Perceptron(shuffle=False, fit_intercept=False, tol=None, max_iter=10_000).fit(X, y)
    assert again.certificate_.mistakes == counts[0]  # scale changes nothing


@pytest.mark.covers("CLS-11")
def test_lifted_parity_takes_three_mistakes_at_most():
    lifted = np.column_stack([XOR, XOR[:, 0] * XOR[:, 1]])
    for order in itertools.permutations(range(4)):
        rows = list(order)
        model = Perceptron(shuffle=False, fit_intercept=False).fit(lifted[rows], PARITY[rows])
        w, _, log, _ = slow(lifted[rows], PARITY[rows], intercept=False)
        assert_array_equal(model.coef_[0], w)
        assert model.certificate_.mistakes == len(log) <= 3 == most_mistakes(lifted, PARITY, np.array([0.0, 0.0, 1.0]))
        assert model.certificate_.bound == pytest.approx(most_mistakes(lifted, PARITY, w))
        assert model.score(lifted, PARITY) == 1.0


@pytest.mark.covers("CLS-12")
@given(seed=st.integers(0, 49))
def test_the_bound_with_an_offset(seed):
    X, y, _ = separable(seed)
    X = X + 0.5
    model = Perceptron(shuffle=False, tol=None, max_iter=20_000).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    margin = (y * (X @ w + b)).min() / np.sqrt(w @ w + b * b)
    assert model.certificate_.mistakes <= ((np.sum(X**2, axis=1)).max() + 1) / margin**2
    assert model.certificate_.bound == pytest.approx((np.sum(X**2, axis=1).max() + 1) / margin**2)


@pytest.mark.covers("CLS-14")
def test_a_step_is_one_of_gradient_descent_on_the_perceptron_loss():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.choice([-1, 1], 12)
    w = rng.normal(size=3)
    loss = PerceptronLoss(y.astype(float))
    wrong = y * (X @ w) < 0
    assert_allclose(X.T @ loss.slope(X @ w), -(y[wrong] @ X[wrong]))
    # all rows at once, from zero, where every row counts as wrong: the mean of the steps
    batch = Perceptron(batch_size=12, shuffle=False, max_iter=1, tol=None, fit_intercept=False).fit(X, y)
    assert_allclose(batch.coef_[0], (y @ X) / 12)
    pairs = Perceptron(batch_size=5, shuffle=False, max_iter=1, tol=None, fit_intercept=False).fit(X, y)
    v = np.zeros(3)
    for some in (slice(0, 5), slice(5, 10), slice(10, 12)):
        bad = y[some] * (X[some] @ v) <= 0
        v = v + (y[some][bad] @ X[some][bad]) / len(y[some])
    assert_allclose(pairs.coef_[0], v)


@pytest.mark.covers("CLS-17")
def test_parity_is_got_wrong_for_ever():
    passes = [Perceptron(shuffle=False, tol=None, max_iter=k).fit(XOR, PARITY) for k in (10, 11, 12, 13, 14, 15, 16)]
    counts = [model.certificate_.mistakes for model in passes]
    assert counts == [len(slow(XOR, PARITY, passes=k)[2]) for k in range(10, 17)]
    assert all(later > earlier for earlier, later in itertools.pairwise(counts))
    planes = [(*model.coef_[0], *model.intercept_) for model in passes]
    assert planes == [(*w, b) for w, b, _, _ in (slow(XOR, PARITY, passes=k) for k in range(10, 17))]
    assert len(set(planes)) < len(planes)  # it goes in circles
    assert not passes[-1].certificate_.reached
    assert np.isinf(passes[-1].certificate_.bound)
    best = RandomLinearClassifier(2000, random_state=0).fit(XOR, PARITY)
    assert best.mistakes_ == best.wrongs_.min() == (best.predict(XOR) != PARITY).sum() == 1  # of four: a quarter


@pytest.mark.covers("CLS-18")
@given(seed=st.integers(0, 99))
def test_a_count_is_no_criterion_to_train_on(seed):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(10, 2)), rng.choice([-1, 1], 10)
    t[:2] = 1, -1
    model = Perceptron(max_iter=2, tol=None, shuffle=False).fit(X, t)
    w, b, _, _ = slow(X, t, passes=2)
    scores = X @ w + b
    errors = int((t * scores <= 0).sum())
    assert_array_equal(model.predict(X), np.where(scores > 0, 1, -1))  # the threshold unit
    assert -(t @ model.predict(X)) == 2 * errors - len(t)
    loss = PerceptronLoss(t.astype(float))
    assert loss.value(model.decision_function(X)).sum() == pytest.approx(-(t * scores)[t * scores < 0].sum())
    # the count does not feel a small change of the plane; what is trained on falls along its slope
    slope = X.T @ loss.slope(scores)
    assert_allclose(slope, -(t[t * scores < 0] @ X[t * scores < 0]))
    model.coef_ = model.coef_ - 1e-9 * slope
    assert (model.predict(X) != t).sum() == errors
    assert loss.value(model.decision_function(X)).sum() <= loss.value(scores).sum()


@pytest.mark.covers("MUL-11")
@given(seed=st.integers(0, 99))
def test_classes_that_compete(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (15, 2)).astype(float), rng.integers(0, 3, 15)
    y[:3] = 0, 1, 2
    model = Perceptron(multi_class="machine", shuffle=False, max_iter=2, tol=None, fit_intercept=False).fit(X, y)
    W = np.zeros((3, 2))
    for x, label in zip(np.tile(X, (2, 1)), np.tile(y, 2), strict=True):
        scores = W @ x
        others = np.delete(np.arange(3), label)
        best = others[scores[others].argmax()]
        if scores[label] <= scores[best]:
            W[label] += x
            W[best] -= x
    assert_array_equal(model.coef_, W)  # a pass without mistakes, which would end the course, changes nothing
    # two classes: twice the step of one plane
    two = np.where(y == 0, 0, 1)
    plane, machine = (
        Perceptron(multi_class=kind, shuffle=False, max_iter=2, tol=None, fit_intercept=False).fit(X, two)
        for kind in ("ovr", "machine")
    )
    V = np.zeros((2, 2))
    for x, label in zip(np.tile(X, (2, 1)), np.tile(two, 2), strict=True):
        if (V[label] - V[1 - label]) @ x <= 0:
            V[label] += x
            V[1 - label] -= x
    assert_array_equal(V[1] - V[0], 2 * plane.coef_[0])
    assert_array_equal(V[1] - V[0], 2 * machine.coef_[0])
    assert_array_equal(machine.predict(X), (X @ (V[1] - V[0]) > 0).astype(int))


def test_all_classes_are_learnt_as_each_alone_would_be():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 6, 200)
    model = Perceptron(max_iter=3, tol=None, random_state=3).fit(X, y)
    for label in range(6):
        alone = Perceptron(max_iter=3, tol=None, random_state=3).fit(X, y == label)
        assert_array_equal(alone.coef_[0], model.coef_[label])


def test_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(5000, 8)), rng.integers(0, 9, 5000)
    before = qed.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3, 8):
            qed.set_num_threads(threads)
            found.append(Perceptron(max_iter=2, tol=None).fit(X, y).coef_)
    finally:
        qed.set_num_threads(before)
    for other in found[1:]:
        assert_array_equal(found[0], other)


@pytest.mark.covers("MET-04")
def test_costs_of_classes_multiply_steps():
    X, y = THREE, SIGNS
    model = Perceptron(class_weight={1: 3.0, -1: 0.5}, shuffle=False, max_iter=1, tol=None, fit_intercept=False).fit(
        X, y
    )
    w = np.zeros(2)
    for x, sign in zip(X, y, strict=True):
        if sign * (w @ x) <= 0:
            w = w + {1: 3.0, -1: 0.5}[sign] * sign * x
    assert_array_equal(model.coef_[0], w)
    # and of a support vector machine the slope of every hinge, to the optimum
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.choice([-1, 1], 60)
    s = np.where(y > 0, 3.0, 0.5)
    costly = LinearSVC(loss="hinge", class_weight={1: 3.0, -1: 0.5}, tol=1e-10).fit(X, y)
    weighed = LinearSVC(loss="hinge", tol=1e-10).fit(X, y, s)
    assert_allclose(costly.coef_, weighed.coef_, atol=1e-6)
    slope = s * np.where(y * (X @ costly.coef_[0] + costly.intercept_[0]) < 1, -y, 0.0)
    assert np.abs(costly.coef_[0] + X.T @ slope).max() <= 3.0 * 3 * np.abs(X).max()  # up to the rows on their kink
    assert np.abs(costly.coef_ - LinearSVC(loss="hinge", tol=1e-10).fit(X, y).coef_).max() > 0.01


def test_rows_of_weight_zero_are_left_out():
    X, y, _ = separable(8)
    s = np.ones(len(X))
    s[::3] = 0
    kept = s > 0
    assert_array_equal(Perceptron().fit(X, y, s).coef_, Perceptron().fit(X[kept], y[kept]).coef_)


def test_what_was_learnt_goes_through_a_file(tmp_path):
    X, y, _ = separable(10)
    model = Perceptron(variant="averaged").partial_fit(X, y, classes=[-1, 1])
    model.save(tmp_path / "model.qed")
    again = qed.load(tmp_path / "model.qed")
    assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_a_changed_plane_is_refused():
    X, y, _ = separable(11)
    model = Perceptron().fit(X, y)
    assert qed.verify(model, X, y).holds
    good = model.coef_.copy()
    model.coef_ = good + np.array([[0.0, 0.3, 0.0]])
    with pytest.raises(qed.CertificateError, match="margins"):
        qed.verify(model, X, y)
    model.coef_ = good
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X + 0.01, y)
    streamed = Perceptron().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(qed.CertificateError, match="stream"):
        qed.verify(streamed, X, y)


def test_the_best_plane_for_rows_held_out_is_kept():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + 0.8 * rng.normal(size=400) > 0).astype(int)
    model = Perceptron(early_stopping=True, random_state=0).fit(X, y)
    assert model.n_iter_ >= 6
    assert model.score(X, y) > 0.6


def test_what_is_refused():
    X, y, _ = separable(12)
    with pytest.raises(qed.InvalidData, match="one class"):
        Perceptron().fit(X, np.ones(len(X)))
    with pytest.raises(qed.InvalidParameter, match="classes must be passed"):
        Perceptron().partial_fit(X, y)
    model = Perceptron().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(qed.InvalidData, match="not among those"):
        model.partial_fit(X, np.where(y > 0, 1, 7))
    with pytest.raises(qed.InvalidParameter, match="same as on last call"):
        model.partial_fit(X, y, classes=[-1, 1, 2])
    with pytest.raises(qed.InvalidParameter, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(qed.InvalidParameter, match="neither batches"):
        Perceptron(multi_class="machine", batch_size=3).fit(X, np.arange(len(X)) % 3)


@pytest.mark.parametrize("model", [Perceptron(), Perceptron(variant="averaged"), VotedPerceptron()])
def test_rows_whose_squares_overflow_are_refused(model):
    X, y, *_ = separable(3)
    with pytest.raises(qed.InvalidData, match="overflow float64"):
        model.fit(X * 1e300, y)


@pytest.mark.parametrize("size", [1e-300, 1e150])
def test_margins_do_not_depend_on_the_size_of_the_weights(size):
    X, y, *_ = separable(3)
    plain = Perceptron().fit(X, y, sample_weight=np.ones(len(y)))
    model = Perceptron().fit(X, y, sample_weight=np.full(len(y), size))
    assert_allclose(model.certificate_.margins, plain.certificate_.margins, rtol=1e-9)
    assert qed.verify(model, X, y, np.full(len(y), size)).holds


def test_a_number_of_mistakes_that_no_course_makes_is_refused():
    rows = np.random.default_rng(0).normal(size=(200, 2))
    labels = (rows[:, 0] > 0).astype(int)
    model = Perceptron(shuffle=False, tol=None, max_iter=300).fit(rows, labels)
    honest = model.certificate_
    assert qed.verify(model, rows, labels).holds
    for forged in (
        {"mistakes": 0},
        {"mistakes": 10**6},
        {"rounds": 1},
        {"rounds": 3 * honest.rounds},
        {"bound": 2 * honest.bound},
    ):
        model.certificate_ = replace(honest, **forged)
        with pytest.raises(CertificateError):
            qed.verify(model, rows, labels)
