"""Life inside scikit-learn: the tools people use, with our models in them.

scikit-learn's own battery does not notice when routing, ``set_output``, HTML, cloning, pickled state or parameter
validation are missing, so each is used here for what it is for.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
import toys
from sklearn import model_selection
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer, make_scorer, r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 3))
NUMBERS = X @ [1.0, 2.0, 3.0] + 1000
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
S = RNG.integers(1, 4, size=60).astype(float)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{i}" for i in range(60)])


def test_pipeline() -> None:
    pipe = make_pipeline(StandardScaler(), toys.Centre(), toys.CentroidClassifier()).fit(X, LABELS)
    assert pipe.score(X, LABELS) > 0.8
    assert pipe.predict_proba(X).shape == (60, 2)
    assert pipe[:-1].get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    assert "CentroidClassifier" in pipe._repr_html_()
    pipe.set_params(centroidclassifier=toys.CentroidClassifier())
    assert not pipe.__sklearn_is_fitted__()


def test_weights_by_step_name() -> None:
    pipe = Pipeline([("scale", StandardScaler()), ("mean", toys.MeanRegressor())])
    pipe.fit(X, NUMBERS, mean__sample_weight=S)
    assert pipe[-1].mean_ == pytest.approx(np.average(NUMBERS, weights=S))


def test_searches() -> None:
    grid = model_selection.GridSearchCV(
        make_pipeline(toys.Centre(), toys.MeanRegressor()), {"meanregressor__alpha": [0.0, 1.0, 100.0]}, cv=3
    ).fit(X, NUMBERS)
    assert grid.best_params_ == {"meanregressor__alpha": 0.0}
    random = model_selection.RandomizedSearchCV(
        toys.MeanRegressor(), {"alpha": [0.0, 5.0]}, n_iter=2, cv=3, scoring="neg_mean_squared_error", random_state=0
    )
    assert random.fit(X, NUMBERS).best_estimator_.__sklearn_is_fitted__()
    bad = model_selection.GridSearchCV(toys.MeanRegressor(), {"alpha": [-1.0]}, cv=3, error_score="raise")
    with pytest.raises(ValueError, match=r"MeanRegressor.alpha must be"):
        bad.fit(X, NUMBERS)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_in_and_out_of_process(n_jobs: int) -> None:
    scores = model_selection.cross_val_score(toys.CentroidClassifier(), X, LABELS, cv=3, n_jobs=n_jobs)
    assert scores.mean() > 0.8
    predicted = model_selection.cross_val_predict(toys.MeanRegressor(), X, NUMBERS, cv=3, n_jobs=n_jobs)
    assert predicted.shape == (60,)


def test_errors_cross_processes() -> None:
    """An error of both libraries is raised in a worker and arrives as one."""
    from joblib import Parallel, delayed  # noqa: PLC0415

    with pytest.raises(NotFittedError, match="MeanRegressor instance is not fitted yet"):
        Parallel(n_jobs=2)(delayed(toys.MeanRegressor().predict)(X) for _ in range(2))


def test_columns_and_unions() -> None:
    table = ColumnTransformer([("centre", toys.Centre(), ["a", "b"]), ("mix", toys.RandomColumns(), ["b", "c"])])
    table.set_output(transform="pandas")
    out = table.fit_transform(FRAME)
    assert out.columns.tolist() == ["centre__a", "centre__b", "mix__randomcolumns0", "mix__randomcolumns1"]
    assert out.index.tolist() == FRAME.index.tolist()
    union = FeatureUnion([("a", toys.Centre()), ("b", toys.Groups())]).set_output(transform="polars")
    assert union.fit_transform(FRAME).columns[:3] == ["a__a", "a__b", "a__c"]


def test_meta_estimators() -> None:
    assert (
        VotingClassifier([("a", toys.CentroidClassifier()), ("b", toys.CentroidClassifier())], voting="soft")
        .fit(X, LABELS)
        .score(X, LABELS)
        > 0.8
    )
    assert CalibratedClassifierCV(toys.CentroidClassifier(), cv=3).fit(X, LABELS).score(X, LABELS) > 0.8
    three = np.arange(60) % 3
    assert OneVsRestClassifier(toys.CentroidClassifier()).fit(X, three).predict(X).shape == (60,)
    both = np.column_stack([NUMBERS, -NUMBERS])
    assert MultiOutputRegressor(toys.MeanRegressor()).fit(X, both).predict(X).shape == (60, 2)
    assert BaggingRegressor(toys.MeanRegressor(), n_estimators=3, random_state=0).fit(X, NUMBERS).predict(X).shape == (
        60,
    )
    stack = StackingRegressor([("mean", toys.MeanRegressor())], final_estimator=LinearRegression(), cv=3)
    assert stack.fit(X, NUMBERS).predict(X).shape == (60,)
    target = TransformedTargetRegressor(toys.MeanRegressor(), transformer=toys.Centre())
    assert target.fit(X, NUMBERS).predict(X).mean() == pytest.approx(NUMBERS.mean())
    importance = permutation_importance(toys.CentroidClassifier().fit(X, LABELS), X, LABELS, random_state=0)
    assert importance.importances_mean.argmax() == 0
    with pytest.raises(ValueError, match=r"feature_importances_|coef_"):
        SelectFromModel(toys.MeanRegressor()).fit(X, NUMBERS).transform(X)


def test_questions_about_an_estimator() -> None:
    assert is_regressor(toys.MeanRegressor())
    assert is_classifier(toys.CentroidClassifier())
    assert is_clusterer(toys.Groups())
    assert is_outlier_detector(toys.FarFromMean())
    assert has_fit_parameter(toys.MeanRegressor(), "sample_weight")
    with pytest.raises(NotFittedError):
        check_is_fitted(toys.MeanRegressor())
    check_is_fitted(toys.MeanRegressor().fit(X, NUMBERS))
    assert get_scorer("r2")(toys.MeanRegressor().fit(X, NUMBERS), X, NUMBERS) == pytest.approx(0)


@pytest.mark.parametrize("kind", toys.ALL)
def test_check_estimator_itself(kind: type[Any]) -> None:
    results = check_estimator(kind(), on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}


def test_clone_keeps_parameters_and_forgets_fits() -> None:
    model = toys.RandomColumns(n_components=1, random_state=np.random.default_rng(0)).fit(X)
    copy = clone(model)
    assert copy.n_components == 1
    assert copy.random_state is not model.random_state
    assert not hasattr(copy, "components_")


def test_global_settings_are_obeyed() -> None:
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(toys.Centre().fit_transform(FRAME), pd.DataFrame)
        assert isinstance(toys.Centre().set_output(transform="default").fit_transform(FRAME), np.ndarray)
    assert isinstance(toys.Centre().fit_transform(FRAME), np.ndarray)
    with sklearn.config_context(display="text"):
        assert set(toys.Centre()._repr_mimebundle_()) == {"text/plain"}
    with sklearn.config_context(transform_output="nonsense"), pytest.raises(ValueError, match="output config must be"):
        toys.Centre().fit_transform(FRAME)


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_through_a_pipeline_and_a_search() -> None:
    mean = toys.MeanRegressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    centre = toys.Centre().set_fit_request(sample_weight=False)
    pipe = make_pipeline(centre, mean).fit(X, NUMBERS, sample_weight=S)
    assert pipe[-1].mean_ == pytest.approx(np.average(NUMBERS, weights=S))
    assert pipe[0].mean_ == pytest.approx(X.mean(axis=0))
    grid = model_selection.GridSearchCV(pipe, {"meanregressor__alpha": [0.0, 50.0]}, cv=3)
    grid.fit(X, NUMBERS, sample_weight=S)
    assert grid.best_estimator_[-1].mean_ == pytest.approx(np.average(NUMBERS, weights=S))
    again = pickle.loads(pickle.dumps(grid))
    assert again.best_estimator_[-1].get_metadata_routing().fit.requests == {"sample_weight": True}


@pytest.mark.usefixtures("routing")
def test_requests() -> None:
    model = toys.MeanRegressor().set_fit_request(sample_weight="w")
    assert model.get_metadata_routing().fit.requests == {"sample_weight": "w"}
    pipe = make_pipeline(model).fit(X, NUMBERS, w=S)
    assert pipe[-1].mean_ == pytest.approx(np.average(NUMBERS, weights=S))
    assert clone(model).get_metadata_routing().fit.requests == {"sample_weight": "w"}
    with pytest.raises(UnsetMetadataPassedError):
        make_pipeline(toys.MeanRegressor()).fit(X, NUMBERS, sample_weight=S)
    with pytest.raises(TypeError, match=r"Unexpected args: \{'weights'\} in fit"):
        model.set_fit_request(weights=True)
    with pytest.raises(ValueError, match="alias"):
        model.set_fit_request(sample_weight="not an identifier")
    assert toys.MeanRegressor.set_fit_request(model, sample_weight=False) is model
    assert not hasattr(toys.FarFromMean(), "set_fit_request"), "nothing to request"
    scorer = make_scorer(r2_score).set_score_request(sample_weight=True)
    scores = model_selection.cross_validate(
        toys.MeanRegressor().set_fit_request(sample_weight=True),
        X,
        NUMBERS,
        scoring=scorer,
        params={"sample_weight": S},
    )
    assert scores["test_score"].shape == (5,)


def test_requests_need_routing() -> None:
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        toys.MeanRegressor().set_fit_request(sample_weight=True)


def test_learning_and_validation_curves() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_selection.learning_curve(toys.MeanRegressor(), X, NUMBERS, cv=3, train_sizes=[10, 30])
        model_selection.validation_curve(
            toys.MeanRegressor(), X, NUMBERS, param_name="alpha", param_range=[0.0, 1.0], cv=3
        )
