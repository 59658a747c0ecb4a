"""Stochastic gradients: steps by hand, optima, averages, streams, certificates."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import qed
from qed.linear_model import LogisticRegression, SGDClassifier, SGDRegressor

LABEL_LOSSES = ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron")
NUMBER_LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


def slope(loss, t, y, width):
    m, r = y * t, t - y
    over = abs(r) - width
    return {
        "perceptron": -y if m <= 0 else 0.0,
        "hinge": -y if m < 1 else 0.0,
        "squared_hinge": -2 * y * max(1 - m, 0),
        "modified_huber": 0.0 if m >= 1 else (-2 * y * (1 - m) if m >= -1 else -4.0 * y),
        "log_loss": -y / (1 + np.exp(m)),
        "squared_error": r,
        "huber": np.clip(r, -width, width),
        "epsilon_insensitive": np.sign(r) * (over > 0),
        "squared_epsilon_insensitive": 2 * np.sign(r) * max(over, 0),
    }[loss]


def slow(model, X, y, s, step):
    """Go through the rows one at a time: shrink, then move."""
    w, b = np.zeros(X.shape[1]), 0.0
    total, total_b = np.zeros(X.shape[1]), 0.0
    for t, (x, target, weight) in enumerate(zip(X, y, s, strict=True)):
        g = slope(model.loss, x @ w + b, target, model.epsilon)
        eta = step(t)
        w = w * max(0.0, 1 - eta * model.alpha) - eta * weight * g * x
        b = b - eta * weight * g
        total, total_b = total + w, total_b + b
    n = len(X)
    return (total / n, total_b / n) if model.average else (w, b)


def some_rows(seed, n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    return X, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("loss", [*LABEL_LOSSES, *NUMBER_LOSSES])
def test_steps_by_hand(loss, average):
    X, y, s = some_rows(0)
    options = {"alpha": 0.1, "shuffle": False, "max_iter": 1, "tol": None, "average": average}
    for rate, step in (("constant", lambda t: 0.02), ("invscaling", lambda t: 0.02 / (t + 1) ** 0.3)):
        steps = {"learning_rate": rate, "eta0": 0.02, "power_t": 0.3}
        kind = SGDClassifier if loss in LABEL_LOSSES else SGDRegressor
        model = kind(loss, **options, **steps).fit(X, y, s)
        w, b = slow(model, X, y, s, step)
        assert_allclose(np.ravel(model.coef_), w, rtol=1e-10, atol=1e-13)
        assert_allclose(model.intercept_, [b], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
def test_same_first_pass_as_scikit_learn(loss):
    X, y, _ = some_rows(1)
    options = {
        "penalty": "elasticnet",
        "alpha": 0.02,
        "l1_ratio": 0.5,
        "shuffle": False,
        "max_iter": 1,
        "tol": None,
        "learning_rate": "constant",
        "eta0": 0.03,
    }
    ours = SGDClassifier(loss, **options).fit(X, y)
    theirs = sklearn.linear_model.SGDClassifier(loss=loss, **options).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-12)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-12)


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
def test_passive_aggressive_steps_go_as_far_as_the_loss_asks(rate):
    X, y, _ = some_rows(2)
    model = SGDClassifier("hinge", penalty=None, learning_rate=rate, eta0=0.7, shuffle=False, max_iter=1, tol=None).fit(
        X, y
    )
    w, b = np.zeros(3), 0.0
    for x, sign in zip(X, y, strict=True):
        loss, square = max(0.0, 1 - sign * (x @ w + b)), x @ x
        step = min(0.7, loss / square) if rate == "pa1" else loss / (square + 1 / 1.4)
        w, b = w + step * sign * x, b + step * sign
    assert_allclose(model.coef_[0], w)
    assert_allclose(model.intercept_, [b])


@pytest.mark.covers("CLS-24")
def test_many_passes_come_near_the_optimum():
    X, y, _ = some_rows(3, n=200)
    model = SGDClassifier("log_loss", alpha=0.05, max_iter=300, tol=None, random_state=0).fit(X, y)
    best = LogisticRegression(C=1 / (0.05 * len(X)), tol=1e-14).fit(X, y)
    w, b = best.coef_[0], best.intercept_[0]
    slopes = -y / (1 + np.exp(y * (X @ w + b)))
    assert_allclose(slopes @ X / 200 + 0.05 * w, 0.0, atol=1e-8)  # the optimum, by hand
    assert model.certificate_.relative_gap < 1e-6
    assert_allclose(model.coef_[0], w, atol=1e-3)
    assert_allclose(model.intercept_, b, atol=1e-3)
    numbers = SGDRegressor(alpha=0.05, learning_rate="optimal", max_iter=300, tol=None, random_state=0).fit(X, y)
    centred = X - X.mean(axis=0)
    ridge = np.linalg.solve(centred.T @ centred + 0.05 * 200 * np.eye(3), centred.T @ y)
    assert_allclose(numbers.coef_, ridge, atol=1e-3)
    batches = SGDClassifier("log_loss", alpha=0.05, batch_size=20, max_iter=300, tol=None, random_state=0).fit(X, y)
    assert_allclose(batches.coef_[0], w, atol=1e-3)
    # all rows at once are gradient descent on the mean: to the last digits
    steps = {"learning_rate": "constant", "eta0": 1.0, "tol": None, "shuffle": False, "alpha": 0.05}
    whole = SGDClassifier("log_loss", batch_size=200, max_iter=300, **steps).fit(X, y)
    assert_allclose(whole.coef_[0], w, rtol=1e-8)
    assert_allclose(whole.intercept_, b, rtol=1e-7)
    two = SGDClassifier("log_loss", batch_size=200, max_iter=2, **steps).fit(X, y)
    v, c = np.zeros(3), 0.0
    for _ in range(2):
        slopes = -y / (1 + np.exp(y * (X @ v + c)))
        v, c = v - (slopes @ X / 200 + 0.05 * v), c - slopes.mean()
    assert_allclose(np.append(two.coef_, two.intercept_), [*v, c], rtol=1e-12)


@pytest.mark.covers("CLS-26")
def test_the_penalty_shrinks_by_its_share_of_a_step():
    X, y, _ = some_rows(4)
    eta, lam = 0.01, 0.3
    plain, shrunk = (
        SGDClassifier("log_loss", alpha=a, learning_rate="constant", eta0=eta, max_iter=1, tol=None, shuffle=False)
        for a in (0.0, lam)
    )
    for model in (plain, shrunk):
        model.partial_fit(X, y, classes=[-1, 1])
    before, x, sign = shrunk.coef_[0].copy(), X[:1], y[:1]
    g = slope("log_loss", float(shrunk.decision_function(x)[0]), sign[0], 0)
    shrunk.partial_fit(x, sign)
    # half the squares times lam in the mean objective: a step takes lam eta of the coefficients
    assert_allclose(shrunk.coef_[0], before * (1 - lam * eta) - eta * g * x[0])
    assert np.linalg.norm(shrunk.coef_) < np.linalg.norm(plain.coef_)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error", "epsilon_insensitive"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
def test_the_gap_bounds_the_truth(loss, penalty):
    X, y, _ = some_rows(5, n=60)
    kind = SGDClassifier if loss in LABEL_LOSSES else SGDRegressor
    options = {"penalty": penalty, "alpha": 0.1, "random_state": 0}
    rough, long = (kind(loss, max_iter=k, tol=None, average=k > 5, **options).fit(X, y) for k in (2, 2000))
    distance = rough.certificate_.objective - long.certificate_.objective
    assert distance <= rough.certificate_.gap
    assert long.certificate_.gap < rough.certificate_.gap


def test_a_stream_in_stretches_is_one_stream():
    X, y, s = some_rows(6)
    for options in ({}, {"average": 7}, {"penalty": "l1", "alpha": 0.01}):
        whole = SGDClassifier("log_loss", **options).partial_fit(X, y, [-1, 1], s)
        parts = SGDClassifier("log_loss", **options)
        for some in np.array_split(np.arange(len(X)), 4):
            parts.partial_fit(X[some], y[some], [-1, 1], s[some])
        assert_allclose(whole.coef_, parts.coef_, atol=1e-12)
    assert whole.certificate_.rounds == len(X)


def test_order_is_drawn_from_the_seed_and_shows_every_row():
    rng = np.random.default_rng(7)
    X = np.zeros((300_000, 1))
    X[:, 0] = 1.0
    y = np.arange(300_000) / 300_000
    # with steps 1/t the coefficient is the mean of what was shown: every row once
    model = SGDRegressor(
        penalty=None, learning_rate="invscaling", eta0=1.0, power_t=1.0, fit_intercept=False, max_iter=1, tol=None
    )
    model.set_params(random_state=0).fit(X, y)
    assert model.coef_[0] == pytest.approx(y.mean(), abs=1e-9)
    one, other = (
        model.set_params(random_state=seed, learning_rate="constant", eta0=0.1).fit(X, y).coef_[0] for seed in (1, 2)
    )
    assert one != other
    assert model.set_params(random_state=1).fit(X, y).coef_[0] == one
    # neighbours are far apart: the last rows of an unshuffled pass would all be near 1
    assert abs(one - 0.5) < 0.5
    del rng


def test_several_classes_and_probabilities():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ [[1.0, -1.0, 0.0], [0.0, 0.5, 1.0]], axis=1)]
    model = SGDClassifier("log_loss", random_state=0).fit(X, y)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.85
    assert set(model.certificate_.parts) == {"a", "b", "c"}
    assert not hasattr(SGDClassifier("hinge"), "predict_proba")
    assert_allclose(np.exp(model.predict_log_proba(X)), P)


def test_no_step_overshoots_its_row():
    X, y, _ = some_rows(9)
    # where scikit-learn's steps explode, these do not
    for model in (
        SGDRegressor(learning_rate="constant", eta0=10.0, tol=None, max_iter=300, random_state=0),
        SGDClassifier("squared_hinge", random_state=0),
        SGDRegressor("squared_epsilon_insensitive", random_state=0),
    ):
        model.fit(100 * X, y)
        assert np.abs(model.coef_).max() < 1
    one = SGDRegressor(penalty=None, learning_rate="constant", eta0=1e9, max_iter=1, tol=None).fit(X[:1], y[:1])
    assert_allclose(one.predict(X[:1]), y[:1])  # as far as the row asks, and no further


def test_coefficients_out_of_range_are_said_in_words():
    X, y, _ = some_rows(9)
    with pytest.raises(qed.InvalidData, match="Standardise"):
        SGDClassifier("hinge", penalty=None, learning_rate="constant", eta0=1e300, tol=None, max_iter=2).fit(1e9 * X, y)


def test_rows_held_out_stop_the_course():
    X, y, _ = some_rows(10, n=400)
    model = SGDClassifier("log_loss", early_stopping=True, random_state=0).fit(X, y)
    assert model.n_iter_ < 1000
    assert SGDRegressor(early_stopping=True, random_state=0).fit(X, y).score(X, y) > 0.2


@given(seed=st.integers(0, 30))
def test_sparse_rows_give_the_same_model(seed):
    from scipy.sparse import csc_array, csr_array  # noqa: PLC0415

    X, y, s = some_rows(seed)
    X[np.abs(X) < 0.5] = 0
    options = {"penalty": "elasticnet", "alpha": 0.01, "max_iter": 3, "tol": None, "random_state": seed}
    dense = SGDClassifier("log_loss", **options).fit(X, y, s)
    for make in (csr_array, csc_array):
        sparse = SGDClassifier("log_loss", **options).fit(make(X), y, s)
        # absolute values are settled when a column is next seen, and zeros are not seen
        assert_allclose(sparse.coef_, dense.coef_, atol=0.1)
    ridge = {**options, "penalty": "l2"}
    assert_allclose(
        SGDClassifier("log_loss", **ridge).fit(csr_array(X), y, s).coef_,
        SGDClassifier("log_loss", **ridge).fit(X, y, s).coef_,
    )


def test_warm_start_goes_on():
    X, y, _ = some_rows(11, n=100)
    model = SGDClassifier("log_loss", warm_start=True, max_iter=1, tol=None, random_state=0, average=True)
    t = [model.fit(X, y).t_ for _ in range(3)]
    assert t == [101.0, 201.0, 301.0]


def test_a_parameter_that_cannot_be():
    X, y, _ = some_rows(12)
    with pytest.raises(qed.InvalidParameter, match="alpha must be > 0"):
        SGDClassifier(alpha=0.0).fit(X, y)
    with pytest.raises(qed.InvalidParameter, match="eta0 must be"):
        SGDClassifier(learning_rate="constant", eta0=0.0).fit(X, y)
    with pytest.raises(qed.InvalidParameter, match="l1_ratio must be"):
        SGDClassifier(penalty="elasticnet", l1_ratio=None).fit(X, y)


@pytest.mark.parametrize("loss", [*LABEL_LOSSES, *NUMBER_LOSSES])
def test_the_certificate_is_confirmed_and_a_changed_model_refused(loss):
    X, y, s = some_rows(13, n=60)
    kinds = [SGDClassifier] if loss in LABEL_LOSSES else [SGDClassifier, SGDRegressor]
    for kind in kinds:
        for options in ({}, {"penalty": "elasticnet", "fit_intercept": False}):
            model = kind(loss, alpha=0.1, random_state=0, **options).fit(X, y, s)
            assert qed.verify(model, X, y, s).distance <= 2 * model.certificate_.gap
            model.coef_ = model.coef_ + 0.5
            with pytest.raises(qed.CertificateError):
                qed.verify(model, X, y, s)


def test_every_class_against_the_others_is_confirmed():
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    model = SGDClassifier("log_loss", alpha=0.1, class_weight={0: 2.0}, random_state=0).fit(X, y)
    assert qed.verify(model, X, y).holds
    model.intercept_ = model.intercept_ + np.array([0.0, 0.4, 0.0])
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)
    for labels in (y, y > 0):
        even = SGDClassifier(alpha=0.1, class_weight="balanced", random_state=0).fit(X, labels)
        assert qed.verify(even, X, labels).holds


def test_what_was_learnt_goes_through_a_file(tmp_path):
    X, y, _ = some_rows(15)
    for model in (SGDClassifier("log_loss", average=True), SGDRegressor(penalty="l1")):
        model.set_params(random_state=0).fit(X, y).save(tmp_path / "model.qed")
        again = qed.load(tmp_path / "model.qed")
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


@pytest.mark.parametrize("columns", [4, 11, 50])
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
def test_four_rows_at_a_time_are_four_rows_one_after_the_other(loss, columns):
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(203, columns))
    y = np.where(X[:, 0] + rng.normal(size=203) > 0, 1.0, -1.0)
    for kind in (np.float64, np.float32):
        rows = X.astype(kind)
        for average in (False, True):
            options = {"alpha": 0.01, "learning_rate": "constant", "eta0": 0.01, "shuffle": False, "average": average}
            model = SGDClassifier(loss, max_iter=1, tol=None, **options).fit(rows, y)
            w, b = slow(model, rows.astype(np.float64), y, np.ones(203), lambda _: 0.01)
            learnt, level = model.memory_.coefficients  # those stored are rounded to the type of the rows
            assert_allclose(learnt[0], w, rtol=1e-10, atol=1e-13)
            assert_allclose(level[0], b, rtol=1e-10, atol=1e-13)
            assert_array_equal(model.coef_, learnt.astype(kind))


# with both penalties at once scikit-learn does not count what absolute values take from the sum of squares
@pytest.mark.parametrize("penalty", ["l2", "l1", None])
def test_passes_end_where_those_of_scikit_learn_end(penalty):
    rng = np.random.default_rng(16)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=150), [-1.0, 1.0])
    for loss in ("hinge", "log_loss"):
        ours = SGDClassifier(loss, penalty=penalty, shuffle=False).fit(X, y)
        theirs = sklearn.linear_model.SGDClassifier(loss=loss, penalty=penalty, shuffle=False).fit(X, y)
        assert ours.n_iter_ == theirs.n_iter_
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)
    target = X @ [1.0, -1.0, 0.5, 0.0]
    ours = SGDRegressor(penalty=penalty, shuffle=False).fit(X, target)
    assert ours.n_iter_ == sklearn.linear_model.SGDRegressor(penalty=penalty, shuffle=False).fit(X, target).n_iter_


def test_slopes_that_rows_had_prove_a_small_gap():
    rng = np.random.default_rng(17)
    X = rng.normal(size=(20_000, 10))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=20_000) > 0, 1.0, -1.0)
    for loss, relative in (("hinge", 0.1), ("log_loss", 0.05)):
        model = SGDClassifier(loss, max_iter=10, tol=None, alpha=1e-3, random_state=0).fit(X, y)
        assert model.certificate_.relative_gap < relative
        assert qed.verify(model, X, y).holds


def test_a_class_whose_rows_all_have_weight_zero_is_verified():
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    weight = np.where(y == 0, 0.0, 1.0)
    for loss in ("log_loss", "hinge", "modified_huber"):
        model = SGDClassifier(loss, random_state=0).fit(X, y, weight)
        assert model.certificate_.parts["0"].null_objective == 0
        assert qed.verify(model, X, y, weight).holds
