"""LogisticRegressionCV: the strength that scikit-learn chooses, from fits that share their way."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegressionCV as Theirs
from sklearn.model_selection import KFold, StratifiedKFold

import qed
from qed.core import InvalidData, InvalidParameter, NotSupported
from qed.linear_model import LogisticRegression, LogisticRegressionCV
from qed.linear_model._logistic_folds import Path, follow_path, follow_together
from qed.linear_model._logistic_regression import Strength

rng = np.random.default_rng(14)
X = rng.standard_normal((90, 5))
y = (rng.random(90) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5, 0.0, 0.0]))).astype(int)
IRIS = load_iris(return_X_y=True)
GRID = np.logspace(-3, 2, 4)
THEIRS = {
    "l1_ratios": (0.0,),
    "use_legacy_attributes": False,
    "tol": 1e-9,
    "max_iter": 5000,
    "solver": "newton-cholesky",
}


@pytest.mark.parametrize("data", [(X, y), IRIS], ids=["two", "three"])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "balanced_accuracy"])
def test_chooses_as_scikit_learn_does(data, scoring):
    ours = LogisticRegressionCV(Cs=GRID, cv=3, scoring=scoring, tol=1e-12).fit(*data)
    theirs = Theirs(Cs=GRID, cv=3, scoring=scoring, **THEIRS).fit(*data)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-6)
    assert ours.C_ == theirs.C_
    np.testing.assert_allclose(ours.coefs_paths_, theirs.coefs_paths_, atol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.score(*data) == pytest.approx(theirs.score(*data), abs=1e-7)


def test_folds_are_those_of_scikit_learn():
    shuffled = np.random.default_rng(0).permutation(IRIS[1])
    made = LogisticRegressionCV(Cs=[1.0], cv=4).fit(IRIS[0], shuffled)
    given = LogisticRegressionCV(Cs=[1.0], cv=StratifiedKFold(4)).fit(IRIS[0], shuffled)
    np.testing.assert_array_equal(made.scores_, given.scores_)
    pairs = LogisticRegressionCV(Cs=[1.0], cv=list(KFold(3).split(X))).fit(X, y)
    assert pairs.scores_.shape == (3, 1, 1)


def test_the_last_fit_is_logistic_regression():
    chosen = LogisticRegressionCV(Cs=GRID, cv=3, class_weight="balanced").fit(X, y)
    plain = LogisticRegression(C=chosen.C_, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(chosen.coef_, plain.coef_)
    assert chosen.certificate_ == plain.certificate_ or chosen.certificate_.gap == plain.certificate_.gap
    assert qed.verify(chosen, X, y).holds


def test_mixtures_are_chosen_too():
    model = LogisticRegressionCV(Cs=[0.05, 1.0], l1_ratios=[0.0, 1.0], cv=3, scoring="neg_log_loss").fit(X, y)
    assert model.scores_.shape == (3, 2, 2)
    assert model.l1_ratio_ in (0.0, 1.0)
    best = model.scores_.mean(axis=0)
    assert best[model.l1_ratios_.tolist().index(model.l1_ratio_), model.Cs_.tolist().index(model.C_)] == best.max()


def test_a_function_can_judge():
    def share_of_ones(model, table, truth):
        assert set(truth) <= {"a", "b"}
        return np.mean(model.predict(table) == "b")

    model = LogisticRegressionCV(Cs=GRID, cv=3, scoring=share_of_ones).fit(X, np.array(["a", "b"])[y])
    assert model.scores_.min() >= 0
    assert model.score(X, ["a"] * len(X)) == share_of_ones(model, X, ["a"])


def test_sparse_agrees():
    table = np.where(np.abs(X) > 0.5, X, 0)
    dense, sparse = (LogisticRegressionCV(Cs=GRID, cv=3, tol=1e-11).fit(t, y) for t in (table, csr_array(table)))
    np.testing.assert_allclose(dense.coefs_paths_, sparse.coefs_paths_, atol=1e-6)


def test_refusals():
    with pytest.raises(InvalidParameter, match="between 2 and the rows of the largest class"):
        LogisticRegressionCV(cv=1).fit(X, y)
    with pytest.raises(InvalidParameter, match="scoring must be one of"):
        LogisticRegressionCV(scoring="beauty").fit(X, y)
    with pytest.raises(InvalidParameter, match="Cs must hold numbers > 0"):
        LogisticRegressionCV(Cs=[-1.0]).fit(X, y)
    with pytest.raises(InvalidParameter, match="gave NaN"):
        LogisticRegressionCV(scoring=lambda *_: np.nan, cv=3).fit(X, y)
    with pytest.raises(NotSupported, match="coefs_paths_"):
        LogisticRegressionCV(refit=False).fit(X, y)
    with pytest.raises(InvalidData, match="at least 2 classes"):
        LogisticRegressionCV(cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
def test_folds_found_at_once_are_those_found_one_by_one(intercept):
    rng = np.random.default_rng(8)
    rows = rng.normal([0.0, 50.0, 0.0, 0.0], size=(120, 4))
    labels = rows @ [1.0, 0.5, 0.0, -1.0] + rng.standard_normal(120) > 25.0
    halves = [np.flatnonzero(rng.random(120) < 0.5) for _ in range(3)]  # that overlap, and leave some rows out of all
    pairs = [(half, np.setdiff1d(np.arange(120), half)) for half in halves]
    model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], cv=pairs, fit_intercept=intercept, tol=1e-12).fit(rows, labels)
    path = Path(tuple(Strength(C) for C in model.Cs_), intercept, 1e-12, 100, 0)
    data = model._fit_data(rows, labels, None)
    assert follow_together(path, data, halves) is not None
    for number, half in enumerate(halves):
        w, b = follow_path("LogisticRegressionCV", path, data, half)
        np.testing.assert_allclose(model.coefs_paths_[number, 0, :, :, :-1], w, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.coefs_paths_[number, 0, :, :, -1], b, rtol=1e-6, atol=1e-7)
    twice = [(np.append(half, half[:3]), test) for half, test in pairs]  # rows that count twice are no book of codes
    assert follow_together(path, data, [train for train, _ in twice]) is None
    again = LogisticRegressionCV(Cs=[1.0], cv=twice, fit_intercept=intercept).fit(rows, labels)
    w, _ = follow_path("LogisticRegressionCV", path, data, twice[0][0])
    np.testing.assert_allclose(again.coefs_paths_[0, 0, 0, :, :-1], w[1], rtol=1e-3)


def test_a_search_that_is_interrupted_keeps_the_model_of_the_folds_so_far():
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 4))
    y = np.digitize(X[:, 0] + random.logistic(size=90), [-1.0, 1.0])
    whole = LogisticRegressionCV(Cs=4, l1_ratios=(0.0, 0.5), cv=3).fit(X, y)
    ends = []

    def interrupt(event):
        ends.append(event.kind == "end")
        if event.kind == "step" and sum(ends) == 5:  # two shares of three folds: in the last of them
            raise KeyboardInterrupt

    model = LogisticRegressionCV(Cs=4, l1_ratios=(0.0, 0.5), cv=3)
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_allclose(model.scores_[:, 0], whole.scores_[:, 0])
    assert np.isnan(model.scores_[2, 1]).all()
    assert model.l1_ratio_ == 0.0  # the other was not seen on all folds
    assert model.Cs_[model.scores_[:, 0].mean(axis=0).argmax()] == model.C_
    assert qed.verify(model, X, y).holds
