"""Changes that were once overlooked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import qed
from qed.compose import OneVsRestClassifier
from qed.core import clone
from qed.datasets import load_iris
from qed.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from qed.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    OrdinalRegressor,
    Perceptron,
    PowerRegressor,
    RandomLinearClassifier,
    Ridge,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    VotedPerceptron,
)
from qed.verify._boosted_splits import BoostedSplits
from qed.verify._quantiles import distance_from_quantile

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 3))
TWO = (X[:, 0] > 0.1).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.5])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (Perceptron(), TWO),
        (Perceptron(), THREE),
        (VotedPerceptron(), TWO),
        (LogisticRegression(), TWO),
        (OneVsRestClassifier(LogisticRegression()), THREE),
        (OrdinalRegressor(), THREE),
    ],
    ids=lambda one: type(one).__name__,
)
def test_labels_in_another_order_are_refused(model, y):
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    model.classes_ = model.classes_[::-1].copy()
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


@pytest.mark.parametrize("change", [1.001, 0.5, 0.0])
def test_an_objective_other_than_the_stated_one_is_refused(change):
    for model, y in ((SGDClassifier(random_state=0), TWO), (Lasso(0.05), X[:, 0] + X[:, 1])):
        model.fit(X, y)
        assert qed.verify(model, X, y).holds
        model.coef_ = model.coef_ * change
        with pytest.raises(qed.CertificateError, match="objective"):
            qed.verify(model, X, y)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        Ridge(fit_intercept=False),
        RidgeCV(),
        HuberRegressor(),
        PowerRegressor(1.0),
        PowerRegressor(1.5),
        PowerRegressor(np.inf),
        OrdinalRegressor(),
    ],
    ids=str,
)
def test_a_tolerance_is_not_reached_by_raising_what_it_is_measured_by(model):
    y = THREE if isinstance(model, OrdinalRegressor) else X[:, 0] + 0.3 * rng.standard_normal(80)
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    model.certificate_ = replace(model.certificate_, null_objective=2 * model.certificate_.null_objective)
    with pytest.raises(qed.CertificateError, match="null model"):
        qed.verify(model, X, y)


def votes_that_moved(model):
    model.votes_ = model.votes_ + 1


def a_mistake_that_none_made(model):
    model.mistakes_ = model.mistakes_.copy()
    model.mistakes_[:2] += [[1.0], [-1.0]]  # their sum stays


def fewer_planes(model):
    model.votes_ = model.votes_[:-1]


@pytest.mark.parametrize("change", [votes_that_moved, a_mistake_that_none_made, fewer_planes])
@pytest.mark.parametrize("intercept", [True, False])
def test_planes_that_vote_are_those_of_the_rows(change, intercept):
    model = VotedPerceptron(fit_intercept=intercept).fit(X, TWO)
    assert qed.verify(model, X, TWO).holds
    change(model)
    with pytest.raises(qed.CertificateError, match=r"mistakes and votes|votes_ should have shape"):
        qed.verify(model, X, TWO)


@pytest.mark.parametrize(
    "model", [Perceptron(), VotedPerceptron(), RandomLinearClassifier(), RidgeClassifierCV()], ids=str
)
def test_parts_that_are_missing_are_refused_in_words(model):
    model.fit(X, TWO)
    coef, intercept = model.coef_, model.intercept_
    for model.coef_, model.intercept_ in ((coef[:, :-1], intercept), (coef, intercept[:0])):
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, TWO)


@pytest.mark.parametrize("model", [RidgeCV(), RidgeClassifierCV()], ids=str)
@pytest.mark.parametrize("alpha", [3.3, np.nan])
def test_a_strength_other_than_the_chosen_one_is_refused(model, alpha):
    model.fit(X, TWO)
    model.alpha_ = alpha
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, TWO)


WAVE = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5), {"interaction_cst": "no_interactions"}),
        (HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5), {"interaction_cst": [[0, 1]]}),
        (HistGradientBoostingRegressor(max_iter=5), {"max_iter": 4}),
        (GradientBoostingRegressor(n_estimators=5), {"n_estimators": 4}),
        (GradientBoostingRegressor(n_estimators=5), {"min_samples_split": 40}),
        (GradientBoostingRegressor(n_estimators=5), {"min_weight_fraction_leaf": 0.3}),
    ],
    ids=str,
)
def test_boosted_trees_keep_to_their_parameters(model, changes):
    for one in (model, clone(model).set_params(**changes)):
        one.fit(X, WAVE)
        assert qed.verify(one, X, WAVE).holds
    model.set_params(**changes)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, WAVE)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GradientBoostingRegressor(n_iter_no_change=3, random_state=0), WAVE),
        (GradientBoostingRegressor(loss="huber", n_iter_no_change=3, random_state=0), WAVE),
        (GradientBoostingClassifier(n_iter_no_change=3, random_state=0), THREE),
        (HistGradientBoostingRegressor(early_stopping=True, max_iter=20, random_state=0), WAVE),
        (HistGradientBoostingClassifier(early_stopping=True, max_iter=20, random_state=0), THREE),
    ],
    ids=lambda one: type(one).__name__,
)
def test_scores_of_rows_that_stopped_the_rounds_are_theirs(model, y):
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    model.validation_score_ = model.validation_score_.copy()
    model.validation_score_[-1] *= 0.9
    with pytest.raises(qed.CertificateError, match="validation_score_"):
        qed.verify(model, X, y)


def test_a_score_of_rows_with_categories_that_no_tree_has_met_is_theirs():
    table = np.column_stack([np.arange(80) % 40, X])
    model = HistGradientBoostingRegressor(
        early_stopping=True, max_iter=9, min_samples_leaf=2, categorical_features=[0], random_state=0
    ).fit(table, WAVE)
    assert qed.verify(model, table, WAVE).holds


def test_a_step_that_is_no_number_is_no_quantile():
    model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=2, min_samples_leaf=5).fit(X, WAVE)
    assert not distance_from_quantile(WAVE, np.ones(80), 0.5, 0.0, float("nan")) <= np.inf
    model.baseline_ = np.array([np.nan])
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, WAVE)


@pytest.mark.parametrize(
    "changes", [{"max_depth": None}, {"min_impurity_decrease": 0.1}, {"max_leaf_nodes": 9}], ids=str
)
def test_leaves_of_boosted_trees_end_where_parameters_end_them(changes):
    honest = GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0).set_params(**changes)
    assert qed.verify(honest.fit(X, WAVE), X, WAVE).holds
    limits = {"max_leaf_nodes": 3} if "max_leaf_nodes" in changes else {}
    model = GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0, **limits).fit(X, WAVE)
    assert qed.verify(model, X, WAVE).holds
    model.set_params(**changes)
    with pytest.raises(qed.CertificateError, match=r"could be split|min_impurity_decrease"):
        qed.verify(model, X, WAVE)


@pytest.mark.parametrize("seed", [10, 37, 38, 54])
def test_steps_of_labels_that_are_all_but_certain_are_accepted(seed):
    drawn = np.random.default_rng(seed)
    rows, labels = drawn.standard_normal((24, 2)), np.arange(24) % 3
    s = 10.0 ** drawn.uniform(-12, 3, 24)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(rows, labels, s)
    assert qed.verify(model, rows, labels, s).holds


def test_a_median_of_an_even_number_of_rows_lies_midway():
    y = np.repeat([0.0, 1.0, 3.0, 9.0], 20)
    rows = np.repeat([0.0, 1.0], 40)[:, None]
    model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=1, learning_rate=1.0).fit(rows, y)
    assert qed.verify(model, rows, y).holds
    medians = model.trees_.value[:, 0] + model.baseline_[0]
    assert np.array_equal(np.sort(medians), [0.5, 6.0])
    model.trees_.value[0, 0] += 0.25
    after = np.abs(y - model.predict(rows)).mean()
    assert after == np.abs(y - np.repeat(np.sort(medians), 40)).mean()  # as good a median, but not the stated one
    with pytest.raises(qed.CertificateError, match="should be"):
        qed.verify(model, rows, y)


def test_gains_that_rounding_decides_do_not_order_the_growth_of_a_tree():
    flowers, kinds = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(
        max_iter=38, learning_rate=0.03, max_leaf_nodes=16, min_samples_leaf=5, max_features=0.25, random_state=0,
        early_stopping=False,
    ).fit(flowers, kinds)  # fmt: skip
    assert qed.verify(model, flowers, kinds).holds


@pytest.mark.parametrize(
    ("on_the_way", "leaf", "is_refused"), [(3.0, 2.0, True), (0.5, 2.0, False), (3.0, 0.9, False)], ids=str
)
def test_a_leaf_that_was_waiting_gains_no_more_than_what_was_split(on_the_way, leaf, is_refused):
    # the root; its left child, which is split and gains 1; its right child, whose right child is a leaf that could be split
    tree = SimpleNamespace(feature=np.array([0, 0, -1, -1, 0, -1, -1]), right=np.array([4, 3, -1, -1, 6, -1, -1]))
    least = np.array([9.0, 1.0, -np.inf, -np.inf, on_the_way, -np.inf, leaf])
    most = np.array([9.0, 1.0, np.inf, np.inf, 3.0, np.inf, np.inf])
    splits = SimpleNamespace(model=SimpleNamespace(max_leaf_nodes=4))
    found = BoostedSplits._grows(splits, "the tree", tree, least, most, np.arange(7) == 6, is_whole=True)
    assert (found is not None) == is_refused
