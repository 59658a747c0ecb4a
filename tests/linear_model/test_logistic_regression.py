"""LogisticRegression: rows of the curriculum, agreement with scikit-learn, then what can go wrong."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs

import qed
from qed import _native
from qed.convex import Logistic, Poisson, Squared
from qed.core import CertificateError, ConvergenceWarning, InvalidData, InvalidParameter, ToleranceNotReached, _events
from qed.core._events import STOP
from qed.decision import CostTable
from qed.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

CANCER = load_breast_cancer(return_X_y=True)
Z = (CANCER[0] - CANCER[0].mean(axis=0)) / CANCER[0].std(axis=0)
IRIS = load_iris(return_X_y=True)
rng = np.random.default_rng(4)
X = rng.standard_normal((120, 4))
y = (rng.random(120) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5, 0.0] - 0.3))).astype(int)
THREE = np.argmax(X[:, :3] + rng.gumbel(size=(120, 3)), axis=1)


def objective(model, X, y, C=1.0, l1_ratio=0.0, weight=None):
    w = model.coef_
    t = X @ w.T + model.intercept_
    t = np.concatenate([-t / 2, t / 2], axis=1) if len(w) == 1 else t
    log_p = t[np.arange(len(y)), np.searchsorted(model.classes_, y)] - np.logaddexp.reduce(t, axis=1)
    loss = -(log_p if weight is None else weight * log_p).sum()
    if not np.isfinite(C):
        return loss
    return C * loss + l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w**2).sum()


def best(rows=X, label=y, C=1.0, **options):
    """A fitted model whose gradient, written out from its coefficients alone, is zero."""
    model = LogisticRegression(C=C, tol=1e-14, **options).fit(rows, label)
    t = rows @ model.coef_.T + model.intercept_
    told = np.eye(len(model.classes_))[np.searchsorted(model.classes_, label)]
    if t.shape[1] == 1:
        t = np.column_stack([np.zeros(len(t)), t])
    p = np.exp(t) / np.exp(t).sum(axis=1, keepdims=True)
    pull = (told - p)[:, -len(model.coef_) :]
    np.testing.assert_allclose(pull.T @ rows, model.coef_ / C, atol=1e-7)
    np.testing.assert_allclose(pull.sum(axis=0), 0.0, atol=1e-7)
    return model


# ------------------------------------------------------------------ curriculum


@pytest.mark.covers("CLS-22", "CLS-21")
def test_the_intercept_alone_is_the_log_odds():
    model = LogisticRegression(C=np.inf, tol=1e-13).fit(np.zeros((10, 1)), [1] * 8 + [0] * 2)
    assert model.intercept_ == pytest.approx([np.log(4.0)], rel=1e-9)  # odds of 0.8 are 4
    proba = model.predict_proba([[0.0]])
    np.testing.assert_allclose(proba, [[0.2, 0.8]], rtol=1e-9)
    # a column of zeros and ones: the log-odds of one group, and by how much those of the other differ
    group, label = np.repeat([0.0, 1.0], [10, 8])[:, None], np.array([1] * 8 + [0] * 2 + [1] * 2 + [0] * 6)
    (w,), (b,) = best(group, label, np.inf).coef_[0], best(group, label, np.inf).intercept_
    assert b == pytest.approx(np.log(0.8 / 0.2), rel=1e-8)
    assert w == pytest.approx(np.log(0.25 / 0.75) - np.log(0.8 / 0.2), rel=1e-8)
    for coding in (label, 2 * label - 1, np.array(["no", "yes"])[label], label == 1):  # one model, whatever the names
        model = best(group, coding, np.inf)
        assert (model.coef_.item(), model.intercept_.item()) == (w, b)
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), [[0.2, 0.8], [0.75, 0.25]], rtol=1e-8)
    other = best(group, 1 - label, np.inf)  # the odds of the other label are one over them
    np.testing.assert_allclose([other.coef_.item(), other.intercept_.item()], [-w, -b], rtol=1e-8)


@pytest.mark.covers("CLS-23", "CLS-26")
def test_the_gradient_vanishes_in_both_codings():
    model = LogisticRegression(C=0.7, tol=1e-14).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(0.7 * X.T @ (y - p), model.coef_[0], atol=1e-8)
    assert abs(np.sum(y - p)) < 1e-8
    sign = 2 * y - 1
    np.testing.assert_allclose(
        0.7 * X.T @ (sign / (1 + np.exp(sign * model.decision_function(X)))), model.coef_[0], atol=1e-8
    )


@pytest.mark.covers("CLS-27")
def test_strong_absolute_values_leave_nothing():
    most = np.abs(X.T @ (y - 0.5)).max()
    assert not LogisticRegression(C=0.999 / most, l1_ratio=1.0, fit_intercept=False, tol=1e-12).fit(X, y).coef_.any()
    assert LogisticRegression(C=1.01 / most, l1_ratio=1.0, fit_intercept=False, tol=1e-12).fit(X, y).coef_.any()


@pytest.mark.covers("CLS-28")
def test_separable_classes_without_a_penalty_are_reported():
    table, label = np.array([[-2.0], [-1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    sizes = []
    for tol in (1e-2, 1e-4, 1e-8):
        with pytest.warns(UserWarning, match=r"linearly separable.*its infimum is 0.*finite C"):
            model = LogisticRegression(C=np.inf, tol=tol).fit(table, label)
        assert model.certificate_.outcome == "separable"
        assert np.isfinite(model.coef_).all()
        assert 0 < model.certificate_.objective <= tol * model.certificate_.null_objective
        assert model.certificate_.gap >= model.certificate_.objective
        assert model.n_iter_[0] < 60
        sizes.append(abs(model.coef_[0, 0]))
        np.testing.assert_array_equal(model.predict(table), label)
        likelihood = -np.logaddexp(0, -np.array([-1, -1, 1, 1]) * (table @ model.coef_[0] + model.intercept_)).sum()
        assert -np.log(2) < likelihood < 0  # so near to zero that every row is on its side
        assert model.certificate_.objective == pytest.approx(-likelihood, rel=1e-9)
    assert sizes[0] < sizes[1] < sizes[2]
    # a row of each class on the boundary: no strict separator, each costs log 2 at the least, and still nothing is attained
    touching, label = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [3.0]]), np.array([0, 0, 0, 1, 1, 1])
    sizes, least = [], 2 * np.log(2)
    for tol in (1e-2, 1e-4, 1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # whether it is said or not
            model = LogisticRegression(C=np.inf, tol=tol).fit(touching, label)
        value = np.logaddexp(0, -(2 * label - 1) * (touching @ model.coef_[0] + model.intercept_)).sum()
        assert model.certificate_.objective == pytest.approx(value, rel=1e-9)
        assert least < value <= least + model.certificate_.gap
        assert value - least <= tol * 6 * np.log(2)
        sizes.append(abs(model.coef_[0, 0]))
    assert sizes[0] + 1 < sizes[1] < sizes[2] - 1


@pytest.mark.covers("CLS-30", "CLS-29")
def test_labels_are_the_likelier_ones():
    model = best()
    score, proba = X @ model.coef_[0] + model.intercept_[0], model.predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-12)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (score > 0).astype(int))
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))
    np.testing.assert_array_equal(np.sign(2 * proba[:, 1] - 1), np.sign(score))
    offset = model.intercept_.copy()
    for threshold in (0.1, 0.5, 0.8):  # the same as an offset that is lower by its log-odds
        model.intercept_ = offset
        costs = CostTable.asymmetric(false_positive=threshold, false_negative=1 - threshold)
        assert costs.threshold == pytest.approx(threshold, rel=1e-15)
        decided = costs.decide(model.predict_proba(X))
        np.testing.assert_array_equal(decided, proba[:, 1] > threshold)
        model.intercept_ = offset - np.log(threshold / (1 - threshold))
        np.testing.assert_array_equal(decided, model.predict(X))
        assert 0 < decided.sum() < 120
        if threshold == 0.5:
            np.testing.assert_array_equal(decided, score > 0)


@pytest.mark.covers("CLS-38")
def test_confidence_far_away():
    model = best()
    size = np.linalg.norm(model.coef_)
    lengths = np.array([0.0, 1.0, 5.0, 20.0])
    told = model.predict_proba(lengths[:, None] * model.coef_ / size)[:, 1]
    np.testing.assert_allclose(told, 1 / (1 + np.exp(-size * lengths - model.intercept_)), rtol=1e-12)
    far = 1e3 * model.coef_ / size
    assert model.predict_proba(far)[0, 1] > 1 - 1e-12
    np.testing.assert_allclose(
        model.predict_log_proba(1e4 * far)[0], [-1e7 * size - model.intercept_[0], 0.0], rtol=1e-9
    )


@pytest.mark.covers("CLS-31")
def test_canonical_gradient_of_a_linear_model_family():
    table, noise = np.column_stack([X, np.ones(120)]), np.random.default_rng(5)
    numbers = X @ [1.0, 2.0, 0.0, -1.0] + noise.standard_normal(120)
    counts = noise.poisson(np.exp(X @ [0.3, 0.2, 0.0, -0.4]))
    family = {  # the model, its target, the mean from the score, its loss
        "identity": (LinearRegression(), numbers, lambda t: t, Squared(numbers)),
        "logit": (LogisticRegression(C=np.inf, tol=1e-14), y, lambda t: 1 / (1 + np.exp(-t)), Logistic(2.0 * y - 1)),
        "log": (PoissonRegressor(alpha=0.0, tol=1e-14), counts, np.exp, Poisson(counts.astype(float))),
    }
    for model, target, mean, loss in family.values():
        model.fit(X, target)
        score = X @ np.ravel(model.coef_) + np.ravel(model.intercept_)
        np.testing.assert_allclose(table.T @ (mean(score) - target), 0.0, atol=1e-6)
        told = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
        np.testing.assert_allclose(told, mean(score), rtol=1e-10)
        np.testing.assert_allclose(table.T @ loss.slope(score / 2), table.T @ (mean(score / 2) - target), atol=1e-9)
    w = np.linalg.lstsq(table, numbers, rcond=None)[0]  # identity link: ordinary least squares
    np.testing.assert_allclose(family["identity"][0].coef_, w[:-1], rtol=1e-9)


@pytest.mark.covers("MUL-14")
def test_probabilities_of_several_classes():
    model = LogisticRegression(C=2.0, tol=1e-14).fit(X, THREE)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    one_hot = np.eye(3)[THREE]
    np.testing.assert_allclose(2.0 * (one_hot - p).T @ X, model.coef_, atol=1e-7)
    np.testing.assert_allclose((one_hot - p).sum(axis=0), 0.0, atol=1e-7)


@pytest.mark.covers("MUL-15")
def test_a_common_change_of_all_scores_changes_nothing():
    model = best(X, THREE)
    before, coef, intercept = model.predict_proba(X), model.coef_, model.intercept_
    power = np.exp(X @ (coef[:-1] - coef[-1]).T + intercept[:-1] - intercept[-1])
    by_hand = np.column_stack([power, np.ones(120)]) / (1 + power.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(before, by_hand, rtol=1e-12)
    for vector, number in ((-coef[-1], -intercept[-1]), (np.array([1.0, -3.0, 0.2, 5.0]), 2.0)):
        model.coef_, model.intercept_ = coef + vector, intercept + number  # the last class as reference, and any change
        np.testing.assert_allclose(model.predict_proba(X), before, rtol=1e-11)
    model.coef_ = coef + np.eye(3, 4)  # not a common one
    assert np.abs(model.predict_proba(X) - before).max() > 0.1


@pytest.mark.covers("MUL-08")
def test_regions_are_convex():
    model = LogisticRegression().fit(*IRIS)
    label = model.predict(IRIS[0])
    np.testing.assert_array_equal(label, (IRIS[0] @ model.coef_.T + model.intercept_).argmax(axis=1))
    assert set(label) == {0, 1, 2}
    for k in range(3):
        rows = IRIS[0][label == k]
        middle = (rows[:, np.newaxis] + rows[np.newaxis]) / 2
        assert (model.predict(middle.reshape(-1, 4)) == k).all()
    # exact ties, which no row drawn has: the lowest index
    names = LogisticRegression().fit(IRIS[0], np.array(["b", "c", "a"])[IRIS[1]])
    for levels, told in (([1, 1, 1], "a"), ([0, 1, 1], "b"), ([1, 0, 1], "a"), ([0, 0, 1], "c")):
        names.coef_, names.intercept_ = np.zeros((3, 4)), np.array(levels, dtype=float)
        assert names.predict(IRIS[0][:2]).tolist() == [told] * 2


# ------------------------------------------------------------------ agreement


SETTINGS = [
    {},
    {"C": 0.01},
    {"C": 100.0, "fit_intercept": False},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0, 1: 0.5}},
]


@pytest.mark.parametrize("data", [(Z, CANCER[1]), IRIS, (X, y), (X, THREE)], ids=["cancer", "iris", "two", "three"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_agrees_with_scikit_learn(data, setting):
    weight = np.random.default_rng(0).random(len(data[0]))
    ours = LogisticRegression(tol=1e-13, **setting).fit(*data, sample_weight=weight)
    theirs = Theirs(tol=1e-10, max_iter=50_000, solver="newton-cholesky", **setting).fit(*data, sample_weight=weight)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape
    np.testing.assert_allclose(ours.predict_proba(data[0]), theirs.predict_proba(data[0]), atol=1e-7)
    np.testing.assert_array_equal(ours.predict(data[0]), theirs.predict(data[0]))


@pytest.mark.parametrize("data", [CANCER, (Z, CANCER[1]), IRIS, (X, y)], ids=["raw", "cancer", "iris", "two"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_no_worse_than_scikit_learn_at_its_defaults(data, C):
    ours = LogisticRegression(C=C).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(C=C).fit(*data)
    best = objective(ours, *data, C=C)
    assert best <= objective(theirs, *data, C=C) * (1 + 1e-9)
    assert ours.certificate_.reached
    assert ours.certificate_.objective == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_mixed_penalties(ratio):
    ours = LogisticRegression(C=0.5, l1_ratio=ratio, tol=1e-10).fit(Z, CANCER[1])
    assert ours.certificate_.reached
    # optimal if and only if minus the gradient is a subgradient of the penalty
    push = 0.5 * Z.T @ (CANCER[1] - ours.predict_proba(Z)[:, 1]) - (1 - ratio) * ours.coef_[0]
    used = ours.coef_[0] != 0
    assert 3 < used.sum() < 30
    np.testing.assert_allclose(push[used], ratio * np.sign(ours.coef_[0, used]), atol=1e-3)
    assert np.abs(push).max() <= ratio * (1 + 1e-3)
    assert ours.certificate_.objective == pytest.approx(objective(ours, Z, CANCER[1], 0.5, ratio), rel=1e-12)
    named = LogisticRegression("elasticnet", C=0.5, l1_ratio=ratio, tol=1e-10).fit(Z, CANCER[1])
    np.testing.assert_array_equal(named.coef_, ours.coef_)


def test_penalty_by_name():
    for name, ratio in (("l1", 1.0), ("l2", 0.0)):
        named, plain = LogisticRegression(name).fit(X, y), LogisticRegression(l1_ratio=ratio).fit(X, y)
        np.testing.assert_array_equal(named.coef_, plain.coef_)
    none, infinite = LogisticRegression(None).fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_array_equal(none.coef_, infinite.coef_)
    assert none.certificate_.objective == pytest.approx(objective(none, X, y, np.inf), rel=1e-10)


# ------------------------------------------------------------------ laws


@pytest.mark.parametrize("label", [y, THREE], ids=["two", "three"])
def test_a_weight_is_a_repetition(label):
    count = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = LogisticRegression(tol=1e-13).fit(X, label, sample_weight=count)
    repeated = LogisticRegression(tol=1e-13).fit(np.repeat(X, count, axis=0), np.repeat(label, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert weighted.certificate_.objective == pytest.approx(repeated.certificate_.objective, rel=1e-12)


@pytest.mark.parametrize("label", [y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("make", [csr_array, csc_array, np.asfortranarray, lambda a: a.astype(np.float32)])
def test_containers_agree(label, make):
    table = np.where(np.abs(X) > 0.7, X, 0).astype(np.float32).astype(float)
    want, got = (LogisticRegression(tol=1e-12).fit(t, label) for t in (table, make(table)))
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-8)
    np.testing.assert_allclose(got.predict_proba(make(table)), want.predict_proba(table), atol=1e-6)


def test_order_does_not_matter():
    order = np.random.default_rng(2).permutation(len(X))
    want, got = LogisticRegression(tol=1e-13).fit(X, y), LogisticRegression(tol=1e-13).fit(X[order], y[order])
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-10)
    flipped = LogisticRegression(tol=1e-13).fit(X, 1 - y)
    np.testing.assert_allclose(flipped.coef_, -want.coef_, atol=1e-10)


def test_labels_of_any_kind():
    words = np.array(["no", "yes"])[y]
    model = LogisticRegression().fit(X, words)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[LogisticRegression().fit(X, y).predict(X)])
    weighed = LogisticRegression(class_weight={"yes": 2.0}).fit(X, words)
    assert weighed.predict_proba(X)[:, 1].mean() > model.predict_proba(X)[:, 1].mean()


def test_large_offsets_and_units_do_not_matter():
    offset = LogisticRegression(C=1e6, tol=1e-12).fit(X + 1e6, y)
    plain = LogisticRegression(C=1e6, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(offset.coef_, plain.coef_, rtol=1e-6)
    assert offset.certificate_.reached


@pytest.mark.filterwarnings("ignore::qed.core.ConvergenceWarning")  # it stops early on purpose
def test_warm_start_goes_on():
    model = LogisticRegression(warm_start=True, max_iter=1, tol=1e-12).fit(X, y)
    first = model.certificate_.relative_gap
    for _ in range(8):
        model.fit(X, y)
    assert model.certificate_.relative_gap < 1e-3 * first
    three = LogisticRegression(warm_start=True, tol=1e-10).fit(X, THREE)
    assert three.fit(X, THREE).n_iter_[0] <= 2
    assert three.fit(X, y).coef_.shape == (1, 4)  # other classes: nothing to start from


# ------------------------------------------------------------------ what can go wrong


def test_one_class_is_refused():
    with pytest.raises(InvalidData, match="at least 2 classes"):
        LogisticRegression().fit(X, np.zeros(120))
    with pytest.raises(InvalidData, match="positive weight"):
        LogisticRegression().fit(X, y, sample_weight=(y == 0).astype(float))


def test_numbers_out_of_range_are_refused_in_words():
    with pytest.raises(InvalidData, match="overflow float64"):
        LogisticRegression().fit(X * 1e300, y)
    with pytest.raises(InvalidData, match="NaN"):
        LogisticRegression().fit(np.where(X > 2, np.nan, X), y)
    tiny = LogisticRegression().fit(X * 1e-100, y)
    assert np.isfinite(tiny.coef_).all()


def test_parameters_are_obeyed_or_refused():
    with pytest.raises(InvalidParameter, match="constant column"):
        LogisticRegression(intercept_scaling=2.0).fit(X, y)
    with pytest.raises(InvalidParameter, match="multiclass"):
        LogisticRegression(solver="liblinear").fit(X, np.arange(len(y)) % 3)
    with pytest.raises(InvalidParameter, match="l1_ratio must be a number"):
        LogisticRegression("elasticnet", l1_ratio=None).fit(X, y)
    with pytest.raises(InvalidParameter, match="C must be"):
        LogisticRegression(C=np.nan).fit(X, y)
    with pytest.raises(InvalidParameter, match="positive numbers"):
        LogisticRegression(class_weight={0: -1.0}).fit(X, y)
    with pytest.raises(ToleranceNotReached, match="max_iter"):
        LogisticRegression(max_iter=1, strict=True, tol=1e-12).fit(X, y)


def test_interrupts_leave_a_model_with_a_proof(monkeypatch):
    def press(self, *_args):
        raise KeyboardInterrupt

    many = np.random.default_rng(3).normal(size=(20_000, 12))  # few rows are solved in one step
    label = (many.sum(axis=1) + np.random.default_rng(4).logistic(size=20_000) > 0).astype(int)
    model = LogisticRegression(tol=1e-12)
    monkeypatch.setattr(_events.Progress, "step", press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(many, label)
    assert model.certificate_.outcome == "interrupted"
    assert model.coef_.shape == (1, 12)
    assert np.isfinite(model.certificate_.gap)
    monkeypatch.setattr(_events.Progress, "step", lambda *_args: STOP)
    assert LogisticRegression(tol=1e-12).fit(many, label).certificate_.outcome == "stopped"


@pytest.mark.parametrize("label", [y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("setting", [{}, {"l1_ratio": 1.0}, {"class_weight": "balanced"}, {"C": np.inf}], ids=str)
def test_the_checker_confirms(label, setting):
    model = LogisticRegression(**setting, max_iter=1000).fit(X, label)
    assert qed.verify(model, X, label).holds
    model.coef_ = model.coef_ * 1.5
    with pytest.raises(CertificateError, match="changed after the fit"):
        qed.verify(model, X, label)


def test_threads_do_not_change_a_bit():
    tall = np.random.default_rng(9).standard_normal((30_000, 8))
    label = (tall[:, 0] + np.random.default_rng(8).standard_normal(30_000) > 0).astype(int)
    before = _native.get_num_threads()
    try:
        coefs = []
        for count in (1, 2):
            _native.set_num_threads(count)
            coefs.append(LogisticRegression().fit(tall, label).coef_)
    finally:
        _native.set_num_threads(before)
    np.testing.assert_array_equal(*coefs)


def test_columns_that_are_centred_already_are_learnt_from_as_well_as_those_that_are_not():
    rng = np.random.default_rng(21)
    rows = rng.standard_normal((8000, 6))
    rows -= rows.mean(axis=0)
    labels = (rows @ rng.standard_normal((6, 4)) + rng.gumbel(size=(8000, 4))).argmax(axis=1)
    near, far = (LogisticRegression(tol=1e-10).fit(rows + away, labels) for away in (0.0, 3.0))
    np.testing.assert_allclose(near.coef_, far.coef_, atol=2e-5)
    np.testing.assert_allclose(near.intercept_, far.intercept_ + far.coef_.sum(axis=1) * 3.0, atol=2e-5)
    assert abs(near.certificate_.objective - far.certificate_.objective) <= near.certificate_.gap + far.certificate_.gap
    assert qed.verify(near, rows, labels).holds


def test_classes_that_meet_on_a_plane_alone_have_no_optimum_either():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 3))
    labels = (rows[:, 0] + random.logistic(size=200) > 0).astype(int)
    tells = (random.random(200) < 0.2) & (labels == 1)  # all rows that have it are of one class
    for table, target in (([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]), (np.column_stack([rows, tells]), labels)):
        with pytest.warns(UserWarning, match="quasi-separable"):
            model = LogisticRegression(C=np.inf).fit(table, target)
        assert model.certificate_.outcome == "quasi_separable"
        assert qed.verify(model, table, target).holds
    clear = LogisticRegression(C=np.inf).fit(rows, labels)  # and no warning, which would be an error here
    assert clear.certificate_.outcome == "solved"


def test_a_fit_that_stops_early_warns_and_says_by_how_much():
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 2
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        model = LogisticRegression(max_iter=1, tol=1e-12).fit(X, y)
    assert not model.certificate_.reached
    with pytest.warns(SklearnConvergenceWarning):  # code that knows scikit-learn's class sees it too
        LogisticRegression(max_iter=1, tol=1e-12).fit(X, y)
