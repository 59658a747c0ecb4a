"""Columns chosen by fitted models: SelectFromModel, RFE and RFECV against scikit-learn's, with the same models inside."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.feature_selection as theirs

import qed
from qed import feature_selection as ours
from qed.core import CertificateError, InvalidParameter, NotFitted
from qed.datasets import load_diabetes, make_classification, make_regression
from qed.linear_model import Lasso, LogisticRegression, Ridge, SGDClassifier
from qed.tree import DecisionTreeClassifier


def _numbers():
    return make_regression(80, 8, n_informative=3, noise=5.0, random_state=0)


def _labels():
    return make_classification(120, 8, n_informative=3, n_classes=3, random_state=0)


@pytest.mark.parametrize(
    "options", [{}, {"threshold": "median"}, {"threshold": "0.5*mean"}, {"max_features": 2}, {"threshold": 3.0}]
)
@pytest.mark.parametrize("model", [Ridge(), Lasso(1.0)])
def test_from_model_as_scikit_learn(options, model):
    X, y = _numbers()
    found, known = (kind.SelectFromModel(model, **options).fit(X, y) for kind in (ours, theirs))
    assert found.get_support().tolist() == known.get_support().tolist()
    assert found.threshold_ == pytest.approx(known.threshold_)
    assert qed.verify(found, X, y).holds


def test_from_model_of_trees_classes_and_fitted_models():
    X, y = _labels()
    for model in (DecisionTreeClassifier(max_depth=4), LogisticRegression()):
        known = theirs.SelectFromModel(model).fit(X, y)
        assert ours.SelectFromModel(model).fit(X, y).get_support().tolist() == known.get_support().tolist()
        ready = ours.SelectFromModel(model.fit(X, y), prefit=True).fit(X)
        assert ready.get_support().tolist() == known.get_support().tolist()
    with pytest.raises(NotFitted, match="prefit"):
        ours.SelectFromModel(Ridge(), prefit=True).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"1.25\*mean"):
        ours.SelectFromModel(Ridge(), threshold="best").fit(X, y)


def test_from_model_learns_from_a_stream():
    X, y = _labels()
    model = ours.SelectFromModel(SGDClassifier(random_state=0))
    model.partial_fit(X, y, classes=np.unique(y))
    assert model.transform(X).shape[1] == model.get_support().sum()
    assert not hasattr(ours.SelectFromModel(Lasso()), "partial_fit")


@pytest.mark.parametrize(
    "options", [{}, {"n_features_to_select": 3}, {"step": 3}, {"step": 0.3}, {"n_features_to_select": 0.25}]
)
def test_elimination_as_scikit_learn(options):
    X, y = _numbers()
    found, known = (kind.RFE(Ridge(), **options).fit(X, y) for kind in (ours, theirs))
    assert found.ranking_.tolist() == known.ranking_.tolist()
    np.testing.assert_allclose(found.predict(X), known.predict(X))
    assert found.score(X, y) == pytest.approx(known.score(X, y))
    assert qed.verify(found, X, y).holds


@pytest.mark.parametrize("options", [{}, {"step": 2}, {"min_features_to_select": 3, "cv": 3}])
def test_elimination_by_folds_as_scikit_learn(options):
    X, y = _labels()
    found, known = (kind.RFECV(LogisticRegression(), **options).fit(X, y) for kind in (ours, theirs))
    assert found.ranking_.tolist() == known.ranking_.tolist()
    assert set(found.cv_results_) == set(known.cv_results_)
    for key, value in known.cv_results_.items():
        np.testing.assert_allclose(found.cv_results_[key], value, err_msg=key)
    np.testing.assert_allclose(found.predict_proba(X), known.predict_proba(X), rtol=1e-6)
    assert qed.verify(found, X, y).holds


def test_weights_reach_the_model_and_folds():
    X, y = _labels()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for kind in (ours.RFE, ours.SelectFromModel, ours.RFECV):
        model = kind(LogisticRegression()).fit(X, y, sample_weight=weight)
        assert qed.verify(model, X, y, weight).holds


def test_a_changed_choice_is_refused():
    X, y = _numbers()
    model = ours.RFE(Ridge()).fit(X, y)
    model.ranking_[:] = model.ranking_[::-1].copy()
    model.support_ = model.ranking_ == 1
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_a_real_table():
    X, y = load_diabetes(return_X_y=True)
    assert {2, 8} <= set(ours.RFE(Ridge(1e-3), n_features_to_select=4).fit(X, y).get_support(indices=True))
