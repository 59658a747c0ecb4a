"""Search: the same table as scikit-learn's, with shared work, budgets, interrupts and resumption."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.linear_model as their_models
import sklearn.model_selection as theirs
from scipy.stats import binom, loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.pipeline import make_pipeline as their_pipeline
from sklearn.preprocessing import StandardScaler

import qed
import qed.model_selection as ours
from qed.compose import make_pipeline
from qed.core import CertificateError, InvalidParameter
from qed.core._events import STOP
from qed.linear_model import LinearRegression, LogisticRegression, Ridge
from qed.metrics import accuracy_score
from qed.model_selection import DummyClassifier
from qed.neighbors import KNeighborsClassifier
from qed.preprocessing import PolynomialFeatures
from qed.tree import DecisionTreeClassifier

X, Y = load_diabetes(return_X_y=True)
GRID = {"alpha": [0.01, 0.1, 1.0, 10.0], "fit_intercept": [True, False]}


@pytest.mark.covers("SEL-07")
@pytest.mark.parametrize("seed", range(4))
def test_the_degree_of_a_polynomial_is_recovered(seed):
    """The smallest mean validation error, computed by hand. Few rows to learn from and many to judge by find the true degree."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (60, 1))
    y = 1 - 2 * t[:, 0] + 4 * t[:, 0] ** 3 + 0.2 * rng.normal(size=60)
    model = make_pipeline(PolynomialFeatures(), LinearRegression(fit_intercept=False))
    folds = ours.ShuffleSplit(20, test_size=0.7, random_state=0)
    grid = {"polynomialfeatures__degree": range(8)}
    search = ours.GridSearchCV(model, grid, scoring="neg_mean_squared_error", cv=folds).fit(t, y)
    errors = []
    for degree in range(8):
        wrong = []
        for train, test in folds.split(t):
            w = np.linalg.lstsq(np.vander(t[train, 0], degree + 1), y[train], rcond=None)[0]
            wrong.append(np.mean((np.vander(t[test, 0], degree + 1) @ w - y[test]) ** 2))
        errors.append(np.mean(wrong))
    np.testing.assert_allclose(-search.cv_results_["mean_test_score"], errors, rtol=1e-7)
    assert search.best_index_ == np.argmin(errors)
    assert search.best_params_ == {"polynomialfeatures__degree": 3}


@pytest.mark.covers("SEL-11")
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize("model", [Ridge(), their_models.Ridge()])
def test_the_table_is_that_of_scikit_learn(model, scoring):
    mine = ours.GridSearchCV(model, GRID, scoring=scoring, cv=4).fit(X, Y)
    other = theirs.GridSearchCV(model, GRID, scoring=scoring, cv=4).fit(X, Y)
    assert mine.best_params_ == other.best_params_
    assert mine.best_index_ == other.best_index_
    assert set(mine.cv_results_) == set(other.cv_results_)
    for name in mine.cv_results_:
        if "test_score" in name and "rank" not in name:
            np.testing.assert_allclose(mine.cv_results_[name], other.cv_results_[name], rtol=1e-8, err_msg=name)
    np.testing.assert_array_equal(mine.cv_results_["rank_test_score"], other.cv_results_["rank_test_score"])
    np.testing.assert_array_equal(mine.cv_results_["param_alpha"], other.cv_results_["param_alpha"])
    np.testing.assert_allclose(mine.predict(X), other.predict(X), rtol=1e-8)
    np.testing.assert_allclose(mine.score(X, Y), other.score(X, Y), rtol=1e-8)


def test_shared_work_gives_what_single_fits_give():
    together = ours.GridSearchCV(Ridge(), GRID, cv=5).fit(X, Y)
    alone = ours.GridSearchCV(Ridge(), GRID, cv=5, return_train_score=True).fit(X, Y)
    np.testing.assert_allclose(together.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-9)
    assert qed.verify(together.best_estimator_, X, Y).holds


@pytest.mark.covers("SEL-11", "SEL-25")
def test_ties_go_to_the_simpler_model():
    corners = np.repeat([[-1.0], [1.0]], 20, axis=0)
    label = np.repeat([0, 1], 20)  # every number of neighbours and every depth is right on every row
    grid = {"n_neighbors": [1, 3, 9]}  # many neighbours are the simpler model
    plain = ours.GridSearchCV(KNeighborsClassifier(), grid).fit(corners, label)
    assert plain.best_params_ == {"n_neighbors": 1}
    np.testing.assert_array_equal(plain.cv_results_["rank_test_score"], [1, 1, 1])
    rule = ours.Simplest(lambda setting: -setting["n_neighbors"])
    search = ours.GridSearchCV(KNeighborsClassifier(), grid, refit=rule).fit(corners, label)
    assert search.best_params_ == {"n_neighbors": 9}
    assert search.best_estimator_.n_neighbors == 9
    for depths in ([1, 2, 3], [3, 2, 1]):  # whatever the order
        rule = ours.Simplest(lambda setting: setting["max_depth"])
        search = ours.GridSearchCV(DecisionTreeClassifier(), {"max_depth": depths}, refit=rule).fit(corners, label)
        assert search.best_params_ == {"max_depth": 1}


@pytest.mark.covers("FND-41", "SEL-25")
def test_the_simplest_within_standard_errors():
    results = {
        "params": [{"k": k} for k in range(4)],
        "mean_test_score": np.array([0.5, 0.79, 0.8, 0.8]),
        "std_test_score": np.array([0.0, 0.0, 0.02, 0.0]),
        **{f"split{k}_test_score": np.zeros(4) for k in range(5)},
    }
    for errors, kept in ((0.0, 2), (0.99, 2), (1.01, 1), (100.0, 0)):  # one is 0.02 / sqrt(5 - 1)
        assert ours.Simplest(lambda setting: setting["k"], errors)(results) == kept
    assert ours.Simplest(lambda setting: -setting["k"])(results) == 3
    results["mean_test_score"][3] = np.nan
    assert ours.Simplest(lambda setting: -setting["k"])(results) == 2
    with pytest.raises(InvalidParameter, match="standard_errors must be"):
        ours.Simplest(abs, -1.0)
    with pytest.raises(InvalidParameter, match="function of a setting"):
        ours.Simplest("degree")
    with pytest.raises(InvalidParameter, match="the search has score"):
        ours.Simplest(lambda setting: 0.0, score="r2")(results)


@pytest.mark.covers("FND-41")
def test_under_fitting_comes_before_over_fitting():
    rng = np.random.default_rng(3)
    t = rng.uniform(-1, 1, (40, 1))
    y = 1 - 2 * t[:, 0] + 4 * t[:, 0] ** 3 + 0.3 * rng.normal(size=40)
    model = make_pipeline(PolynomialFeatures(), LinearRegression(fit_intercept=False))
    folds = ours.ShuffleSplit(20, test_size=0.3, random_state=0)
    degrees, name = list(range(13)), "polynomialfeatures__degree"
    train, test = ours.validation_curve(
        model, t, y, param_name=name, param_range=degrees, cv=folds, scoring="neg_mean_squared_error"
    )
    seen, unseen = -train, -test.mean(axis=1)
    assert (np.diff(seen, axis=0) <= 1e-9).all()  # training error never rises with the degree, in any fold
    best = int(np.argmin(unseen))
    assert 3 <= best < 12
    assert unseen[0] > 2 * unseen[best]  # it falls first
    assert unseen[12] > 1.5 * unseen[best]  # then it rises
    rule = ours.Simplest(lambda setting: setting[name], standard_errors=1.0)
    search = ours.GridSearchCV(model, {name: degrees}, cv=folds, scoring="neg_mean_squared_error", refit=rule).fit(t, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], -unseen, rtol=1e-9)
    assert search.best_params_[name] <= best
    limit = unseen[best] + test[best].std(ddof=1) / np.sqrt(20)
    assert search.best_params_[name] == min(d for d in degrees if unseen[d] <= limit)


def test_of_equal_settings_the_first_is_kept():
    search = ours.GridSearchCV(Ridge(), {"alpha": [1.0, 1.0, 1.0]}).fit(X, Y)
    assert search.best_index_ == 0
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], [1, 1, 1])


def test_several_scores():
    scoring = ["r2", "neg_mean_squared_error"]
    mine = ours.GridSearchCV(Ridge(), GRID, scoring=scoring, refit="r2", return_train_score=True).fit(X, Y)
    other = theirs.GridSearchCV(Ridge(), GRID, scoring=scoring, refit="r2", return_train_score=True).fit(X, Y)
    assert set(mine.cv_results_) == set(other.cv_results_)
    np.testing.assert_allclose(mine.cv_results_["mean_train_r2"], other.cv_results_["mean_train_r2"], rtol=1e-9)
    with pytest.raises(InvalidParameter, match="which one chooses"):
        ours.GridSearchCV(Ridge(), GRID, scoring=scoring).fit(X, Y)


def test_random_settings():
    search = ours.RandomizedSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, n_iter=7, random_state=0).fit(X, Y)
    again = ours.RandomizedSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, n_iter=7, random_state=0).fit(X, Y)
    assert len(search.cv_results_["params"]) == 7
    assert search.cv_results_["params"] == again.cv_results_["params"]
    listed = ours.RandomizedSearchCV(Ridge(), GRID, n_iter=5, random_state=0).fit(X, Y)
    assert len({tuple(sorted(one.items())) for one in listed.cv_results_["params"]}) == 5


def test_searches_nest_both_ways():
    A, y = load_breast_cancer(return_X_y=True)
    model = their_pipeline(StandardScaler(), their_models.LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0]}
    mine = ours.GridSearchCV(model, grid, cv=3).fit(A, y)
    other = theirs.GridSearchCV(model, grid, cv=3).fit(A, y)
    np.testing.assert_allclose(mine.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    np.testing.assert_allclose(mine.predict_proba(A), other.predict_proba(A))
    np.testing.assert_array_equal(mine.classes_, [0, 1])
    nested = theirs.cross_val_score(ours.GridSearchCV(Ridge(), GRID, cv=3), X, Y, cv=3)
    expected = theirs.cross_val_score(theirs.GridSearchCV(Ridge(), GRID, cv=3), X, Y, cv=3)
    np.testing.assert_allclose(nested, expected, rtol=1e-8)
    assert clone(mine).get_params()["cv"] == 3


def test_methods_are_those_of_the_model():
    search = ours.GridSearchCV(Ridge(), GRID)
    assert hasattr(search, "predict")
    assert not hasattr(search, "predict_proba")
    with pytest.raises(qed.core.NotFitted):
        search.predict(X)
    search = ours.GridSearchCV(Ridge(), GRID, refit=False).fit(X, Y)
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(X)


def test_a_search_survives_pickling():
    search = ours.GridSearchCV(Ridge(), GRID).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))


def test_a_budget_leaves_out_settings_and_says_so():
    search = ours.GridSearchCV(LinearRegression(), {"fit_intercept": [True, False] * 50}, budget=1e-9).fit(X, Y)
    assert search.outcome_ == "budget"
    assert 1 <= len(search.cv_results_["params"]) < 100
    assert hasattr(search, "best_estimator_")


def test_a_stopped_search_resumes_where_it_was():
    search = ours.GridSearchCV(LinearRegression(), {"fit_intercept": [True, False, True, False]}, resume=True)
    with qed.listen(lambda event: STOP if event.kind == "step" and event.step == 2 else None):
        search.fit(X, Y)
    assert search.outcome_ == "stopped"
    assert len(search.cv_results_["params"]) == 2
    seen = []
    with qed.listen(lambda event: seen.append(event) if event.kind == "step" and "Search" in event.source else None):
        search.fit(X, Y)
    assert search.outcome_ == "searched"
    assert len(search.cv_results_["params"]) == 4
    assert len(seen) == 2


class Interrupting(LinearRegression):
    """Behaves like a fit in which somebody presses Ctrl-C, at the third setting."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Interrupting.fits += 1
        if Interrupting.fits == 11:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_an_interrupted_search_keeps_the_best_so_far():
    Interrupting.fits = 0
    search = ours.GridSearchCV(Interrupting(), {"fit_intercept": [False, True, True]}, cv=5)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.outcome_ == "interrupted"
    assert search.best_params_ == {"fit_intercept": True}
    assert search.predict(X).shape == Y.shape


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ours.GridSearchCV(None, GRID).fit(X, Y), "must be a model"),
        (lambda: ours.GridSearchCV(Ridge()).fit(X, Y), "param_grid is missing"),
        (lambda: ours.GridSearchCV(Ridge(), {"alpha": 3}).fit(X, Y), "needs to be a list"),
        (lambda: ours.GridSearchCV(Ridge(), {"alpha": []}).fit(X, Y), "non-empty"),
        (lambda: ours.GridSearchCV(Ridge(), {"alhpa": [1]}).fit(X, Y), "alhpa"),
        (lambda: ours.GridSearchCV(Ridge(), [1]).fit(X, Y), "not a dict"),
    ],
)
def test_bad_settings_are_refused_in_words(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()


@pytest.mark.covers("SEL-14")
def test_training_scores_of_nested_models_only_rise():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=60)
    y = np.sin(3 * x) + 0.1 * rng.normal(size=60)
    powers = x[:, None] ** np.arange(1, 9)
    learnt = [
        ours.cross_validate(LinearRegression(), powers[:, :k], y, cv=[(np.arange(60), np.arange(60))])["test_score"][0]
        for k in range(1, 9)
    ]
    assert np.all(np.diff(learnt) >= -1e-9)
    sizes, train, test = ours.learning_curve(LinearRegression(), powers[:, :3], y, cv=5)
    expected = theirs.learning_curve(LinearRegression(), powers[:, :3], y, cv=5)
    np.testing.assert_array_equal(sizes, expected[0])
    np.testing.assert_allclose(train, expected[1], rtol=1e-9)
    np.testing.assert_allclose(test, expected[2], rtol=1e-9)


@pytest.mark.covers("SEL-26")
def test_the_drawn_curve_is_the_table():
    pytest.importorskip("matplotlib").use("Agg")
    alphas = [0.01, 0.1, 1.0, 10.0]
    train, test = ours.validation_curve(Ridge(), X, Y, param_name="alpha", param_range=alphas, cv=4)
    other = theirs.validation_curve(Ridge(), X, Y, param_name="alpha", param_range=alphas, cv=4)
    np.testing.assert_allclose(train, other[0], rtol=1e-9)
    np.testing.assert_allclose(test, other[1], rtol=1e-9)
    shown = ours.ValidationCurveDisplay.from_estimator(Ridge(), X, Y, param_name="alpha", param_range=alphas, cv=4)
    lines = shown.ax_.get_lines()
    np.testing.assert_allclose(lines[0].get_ydata(), train.mean(axis=1))
    np.testing.assert_allclose(lines[1].get_ydata(), test.mean(axis=1))
    shown = ours.LearningCurveDisplay.from_estimator(Ridge(), X, Y, cv=4)
    np.testing.assert_array_equal(shown.ax_.get_lines()[0].get_xdata(), shown.train_sizes)


@pytest.mark.covers("SEL-13")
def test_choosing_the_best_of_many_guesses_fits_the_test_set():
    n, m, trials = 50, 40, 60
    rows, rng = np.zeros((n, 1)), np.random.default_rng(0)
    best, again = [], []
    for trial in range(trials):
        truth, fresh = rng.integers(0, 2, size=(2, n))
        coins = [
            DummyClassifier(strategy="uniform", random_state=m * trial + k).fit([[0.0]] * 2, [0, 1]) for k in range(m)
        ]
        told = [coin.predict(rows) for coin in coins]
        accuracies = [accuracy_score(truth, one) for one in told]
        best.append(max(accuracies))
        again.append(accuracy_score(fresh, told[int(np.argmax(accuracies))]))
    # the largest of m binomial counts is at least k with probability 1 - F(k - 1)^m
    expected = sum(1 - binom.cdf(k - 1, n, 0.5) ** m for k in range(1, n + 1)) / n
    assert expected > 0.6
    assert accuracy_score(truth, truth) == 1
    assert abs(np.mean(best) - expected) < 7 * np.std(best) / np.sqrt(trials)
    assert abs(np.mean(again) - 0.5) < 7 * 0.5 / np.sqrt(n * trials)  # on rows that did not choose, a coin


def test_verbose_three_shows_the_score_of_every_fold(capsys):
    X = np.arange(20.0)[:, None]
    ours.GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3, verbose=3).fit(X, X[:, 0])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[CV ")]
    assert len(lines) == 6
    assert lines[0].startswith("[CV 1/3] END alpha=0.1; score=")


HALVINGS = {
    "default": {},
    "from 20 rows": {"min_resources": 20},
    "aggressive": {"min_resources": "smallest", "aggressive_elimination": True, "max_resources": 100},
    "by a parameter": {"resource": "max_iter", "max_resources": 300},
}


@pytest.mark.parametrize("options", HALVINGS.values(), ids=HALVINGS)
def test_halving_has_the_rounds_and_rows_of_scikit_learn(options):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X[:400] - X.mean(axis=0)) / X.std(axis=0)
    grid = {"C": [1e-4, 1e-3, 1e-2, 0.1, 1]}
    mine = ours.HalvingGridSearchCV(LogisticRegression(), grid, random_state=0, **options).fit(X, y[:400])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its solver does not converge with few iterations
        his = theirs.HalvingGridSearchCV(their_models.LogisticRegression(tol=1e-10), grid, random_state=0, **options)
        his.fit(X, y[:400])
    for name in ("n_resources_", "n_candidates_", "n_remaining_candidates_", "n_iterations_", "best_params_"):
        assert getattr(mine, name) == getattr(his, name)
    assert set(mine.cv_results_) == set(his.cv_results_)
    if "resource" not in options:
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], his.cv_results_["mean_test_score"], atol=1e-12)
    qed.verify(mine, X, y[:400])


def test_halving_draws_as_many_settings_as_the_rows_allow():
    X = np.random.default_rng(0).normal(size=(270, 2))
    search = ours.HalvingRandomSearchCV(Ridge(), {"alpha": np.linspace(0.1, 5, 90).tolist()}, random_state=1)
    search.fit(X, X @ [1.0, 2.0])
    assert search.n_candidates_ == [27, 9, 3, 1]
    assert search.n_resources_ == [10, 30, 90, 270]
    assert search.cv_results_["iter"].tolist() == [0] * 27 + [1] * 9 + [2] * 3 + [3]
    best = search.cv_results_["mean_test_score"]
    kept = {search.cv_results_["params"][k]["alpha"] for k in np.argsort(best[:27])[-9:]}
    assert {one["alpha"] for one in search.cv_results_["params"][27:36]} == kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resource": "trees"}, "resource must be 'n_samples' or a parameter of Ridge"),
        ({"resource": "alpha", "max_resources": 9}, "also a parameter to search"),
        ({"resource": "max_iter"}, "Give max_resources a number"),
        ({"min_resources": 500}, "greater than max_resources_=40"),
        ({"scoring": ["r2", "neg_max_error"]}, "must be one score"),
        ({"factor": 1}, "factor must be a real number > 1"),
    ],
)
def test_halving_says_what_it_cannot_do(options, words):
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match=words):
        ours.HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **options).fit(X, X[:, 0])


def test_a_halving_search_that_kept_other_settings_is_refused():
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = X @ [1.0, 2.0] + np.random.default_rng(1).normal(size=90)
    model = ours.HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 1e4, 1e5]}, factor=2, random_state=0).fit(X, y)
    model.cv_results_["params"][-1] = {"alpha": 1e5}
    model.best_params_ = {"alpha": 1e5}
    model.best_estimator_ = Ridge(alpha=1e5).fit(X, y)
    with pytest.raises(CertificateError, match="keeps other settings"):
        qed.verify(model, X, y)


def test_a_scorer_may_come_from_no_module():
    space = {}
    exec("def score(model, X, y): return -abs(y - model.predict(X)).max()", space)  # noqa: S102  as notebooks and consoles do
    space["score"].__module__ = None
    assert (ours.cross_val_score(LinearRegression(), X, Y, scoring=space["score"], cv=3) < 0).all()
