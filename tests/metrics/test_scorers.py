"""Scorers do what scikit-learn's do, in its searches and out of them, and the two are interchangeable."""

import pickle

import numpy as np
import pytest
import sklearn
import sklearn.metrics as theirs
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression as Logistic
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.svm import LinearSVC
from tests.metrics.rows import compare, outcome

from qed import metrics as ours
from qed.core import InvalidData, InvalidDataType, InvalidParameter
from qed.datasets import load_penguins
from qed.linear_model import Ridge

CLUSTERINGS = {
    "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
    "homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score",
}  # fmt: skip


@pytest.fixture(scope="module")
def models():
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    two = (y > 0).astype(int)
    return {
        "three": (Logistic().fit(X, y), X, y),
        "two": (Logistic().fit(X, two), X, two),
        "words": (Logistic().fit(X, np.where(two, "yes", "no")), X, np.where(two, "yes", "no")),
        "margin": (LinearSVC().fit(X, two), X, two),
        "numbers": (Ridge().fit(X, y + 1.0), X, y + 1.0),
        "their numbers": (TheirRidge().fit(X, y + 1.0), X, y + 1.0),
    }


def test_names_are_theirs():
    assert set(ours.get_scorer_names()) == set(theirs.get_scorer_names()) - CLUSTERINGS


@pytest.mark.parametrize("name", ours.get_scorer_names())
@pytest.mark.parametrize("model", ["three", "two", "words", "margin", "numbers", "their numbers"])
def test_every_scorer_agrees(models, model, name):
    fitted, X, y = models[model]
    got, refused, _ = outcome(ours.get_scorer(name), fitted, X, y)
    want, refused_there, _ = outcome(theirs.get_scorer(name), fitted, X, y)
    assert refused == refused_there, (got, want)
    compare(got, want, rtol=1e-6, atol=1e-9)


@pytest.mark.covers("SEL-12")
@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2"])
def test_a_search_of_scikit_learn_honours_our_scorer(scoring):
    X, y = load_penguins(return_X_y=True)
    search = {
        kind: GridSearchCV(Ridge(), {"alpha": [0.1, 10.0, 1e5]}, scoring=scorer, cv=3).fit(X, y)
        for kind, scorer in {"ours": ours.get_scorer(scoring), "theirs": scoring}.items()
    }
    assert search["ours"].best_params_ == search["theirs"].best_params_
    scores = [search[kind].cv_results_["mean_test_score"] for kind in ("ours", "theirs")]
    np.testing.assert_allclose(*scores, rtol=1e-9)
    other = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0, 1e5]}, scoring="neg_max_error", cv=3).fit(X, y)
    assert not np.allclose(other.cv_results_["mean_test_score"], scores[0])


def test_several_scorers_mix(models):
    _, X, y = models["two"]
    mixed = {"ours": ours.get_scorer("roc_auc"), "theirs": theirs.get_scorer("roc_auc"), "name": "accuracy"}
    table = cross_validate(Logistic(), X, y, scoring=mixed, cv=3)
    np.testing.assert_allclose(table["test_ours"], table["test_theirs"], rtol=1e-9)
    model = Logistic().fit(X, y)
    both = ours.check_scoring(model, {"ours": "roc_auc", "theirs": theirs.get_scorer("roc_auc")})(model, X, y)
    assert both["ours"] == pytest.approx(both["theirs"], rel=1e-12)
    assert set(ours.check_scoring(model, ["accuracy", "f1"])(model, X, y)) == {"accuracy", "f1"}
    failing = ours.check_scoring(model, {"bad": lambda *_: 1 / 0}, raise_exc=False)(model, X, y)
    assert "ZeroDivisionError" in failing["bad"]


def test_weights_reach_the_score(models):
    model, X, y = models["two"]
    s = np.random.default_rng(0).random(len(y))
    got = ours.get_scorer("accuracy")(model, X, y, sample_weight=s)
    assert got == pytest.approx(theirs.accuracy_score(y, model.predict(X), sample_weight=s))


def test_routing(models):
    _, X, y = models["two"]
    s = np.random.default_rng(0).random(len(y))
    with pytest.raises(RuntimeError, match="routing"):
        ours.get_scorer("accuracy").set_score_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Logistic().set_fit_request(sample_weight=False)
        scorers = [kind.get_scorer("accuracy").set_score_request(sample_weight=True) for kind in (ours, theirs)]
        tables = [cross_validate(model, X, y, cv=3, scoring=each, params={"sample_weight": s}) for each in scorers]
        got, want = (table["test_score"] for table in tables)
    np.testing.assert_allclose(got, want)


def test_made_scorers_agree_and_print(models):
    model, X, y = models["three"]
    options = {"greater_is_better": False, "average": "macro", "beta": 2}
    scorers = [kind.make_scorer(kind.fbeta_score, **options) for kind in (ours, theirs)]
    assert scorers[0](model, X, y) == pytest.approx(scorers[1](model, X, y))
    assert repr(scorers[0]) == repr(scorers[1])
    assert repr(pickle.loads(pickle.dumps(scorers[0]))) == repr(scorers[0])
    own = ours.check_scoring(model)
    assert own(model, X, y) == model.score(X, y)
    assert repr(own) == "LogisticRegression.score"


def test_refusals(models):
    model, X, y = models["two"]
    with pytest.raises(InvalidData, match=r"not a valid scoring value. Did you mean 'roc_auc'"):
        ours.get_scorer("auc")
    with pytest.raises(InvalidData, match="make_scorer"):
        ours.check_scoring(model, ours.accuracy_score)
    with pytest.raises(InvalidDataType, match="'score' method"):
        ours.check_scoring(type("Bare", (), {"fit": None})())
    assert ours.check_scoring(type("Bare", (), {"fit": None})(), allow_none=True) is None
    with pytest.raises(InvalidParameter, match="method 'fit'"):
        ours.check_scoring(3)
    with pytest.raises(InvalidParameter, match="response_method"):
        ours.make_scorer(ours.accuracy_score, response_method="transform")
    with pytest.raises(InvalidData, match="Duplicate"):
        ours.check_scoring(model, ["f1", "f1"])
    with pytest.raises(InvalidData, match="empty"):
        ours.check_scoring(model, [])
    with pytest.raises(AttributeError, match="none of the following"):
        ours.get_scorer("neg_log_loss")(LinearSVC().fit(X, y), X, y)
    with pytest.raises(InvalidData, match="pos_label=7"):
        ours.make_scorer(ours.f1_score, pos_label=7)(model, X, y)
