"""Models of models: changed parts that were once accepted, and honest ones that were once rejected."""

from __future__ import annotations

import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing
from tests.verify.attack_data import (
    X,
    coin,
    number,
    pipe,
    refused,
    rng,
    three,
    through_file,
    weight,
    words,
)

import qed
from qed.certificates import CompositeCertificate, Uncertified
from qed.compose import (
    ColumnTransformer,
    FeatureUnion,
    MultiOutputClassifier,
    MultiOutputRegressor,
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
    Pipeline,
    TransformedTargetRegressor,
)
from qed.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from qed.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
)
from qed.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
)
from qed.naive_bayes import GaussianNB
from qed.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder

# -- V2: every part is checked ---------------------------------------------------------------------------------

BROKEN = {"None": None, "Uncertified": Uncertified("x")}


@pytest.mark.parametrize("broken", BROKEN)
def test_v2_a_part_without_its_certificate_is_refused(broken, tmp_path):
    model = pipe()
    part = model.steps_[-1][1]
    part.coef_ *= -5
    part.certificate_ = BROKEN[broken]
    refused(model, X, number)
    with pytest.raises((qed.CertificateError, qed.core.ModelFileError)):
        qed.verify(through_file(model, tmp_path), X, number)
    model.certificate_ = CompositeCertificate({**model.certificate_.parts, "r": BROKEN[broken]})
    refused(model, X, number)
    del part.certificate_
    refused(model, X, number)


def several():
    pair = [("a", Ridge()), ("b", LinearRegression())]
    classifiers = [("a", LogisticRegression()), ("b", GaussianNB())]
    two = np.c_[number, -number]
    return {
        "pipeline": (pipe(), (X, number), lambda m: m.steps_[-1][1]),
        "union": (
            FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]).fit(X),
            (X,),
            lambda m: m.transformers_[0][1],
        ),
        "columns": (
            ColumnTransformer([("a", StandardScaler(), [0]), ("b", StandardScaler(), [2, 1])]).fit(X),
            (X,),
            lambda m: m.transformers_[1][1],
        ),
        "voting": (VotingRegressor(pair).fit(X, number), (X, number), lambda m: m.estimators_[0]),
        "votes": (VotingClassifier(classifiers).fit(X, coin), (X, coin), lambda m: m.estimators_[1]),
        "stack": (StackingRegressor(pair, Ridge()).fit(X, number), (X, number), lambda m: m.final_estimator_),
        "stacked": (
            StackingClassifier(classifiers, LogisticRegression()).fit(X, three),
            (X, three),
            lambda m: m.fold_estimators_[1][2],
        ),
        "rest": (OneVsRestClassifier(LogisticRegression()).fit(X, three), (X, three), lambda m: m.estimators_[2]),
        "one": (OneVsOneClassifier(LogisticRegression()).fit(X, three), (X, three), lambda m: m.estimators_[1]),
        "code": (
            OutputCodeClassifier(LogisticRegression(), code_size=3.0, random_state=0).fit(X, three),
            (X, three),
            lambda m: m.estimators_[0],
        ),
        "outputs": (MultiOutputRegressor(Ridge()).fit(X, two), (X, two), lambda m: m.estimators_[1]),
        "labels": (
            MultiOutputClassifier(LogisticRegression()).fit(X, np.c_[coin, three.astype(str)]),
            (X, np.c_[coin, three.astype(str)]),
            lambda m: m.estimators_[0],
        ),
        "target": (
            TransformedTargetRegressor(Ridge(), transformer=StandardScaler()).fit(X, number),
            (X, number),
            lambda m: m.regressor_,
        ),
        "ridge": (RidgeClassifier().fit(X, three), (X, three), lambda m: m.ridge_),
        "ridge_cv": (RidgeClassifierCV().fit(X, coin), (X, coin), lambda m: m.ridge_),
        "search": (
            GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(X, number),
            (X, number),
            lambda m: m.best_estimator_,
        ),
    }


SEVERAL = several()


@pytest.mark.parametrize("name", SEVERAL)
def test_v2_in_every_model_of_models(name, tmp_path):
    honest, data, part_of = SEVERAL[name]
    assert qed.verify(honest, *data).holds
    assert qed.verify(through_file(honest, tmp_path), *data).holds
    for broken in BROKEN.values():
        model = deepcopy(honest)
        part_of(model).certificate_ = broken
        refused(model, *data)
    model = deepcopy(honest)
    del part_of(model).certificate_
    refused(model, *data)
    model = deepcopy(honest)
    attribute = (
        "coef_" if hasattr(part_of(model), "coef_") else "theta_" if hasattr(part_of(model), "theta_") else "scale_"
    )
    setattr(part_of(model), attribute, getattr(part_of(model), attribute) * 1.1)
    refused(model, *data)


LISTS = {
    "pipeline": "steps_",
    "union": "transformers_",
    "columns": "transformers_",
    "voting": "estimators_",
    "votes": "estimators_",
    "stack": "estimators_",
    "stacked": "fold_estimators_",
    "rest": "estimators_",
    "one": "estimators_",
    "code": "estimators_",
    "outputs": "estimators_",
    "labels": "estimators_",
}


@pytest.mark.parametrize("name", LISTS)
def test_v2_parts_are_compared_in_number_and_order(name):
    honest, data, _ = SEVERAL[name]
    parts = getattr(honest, LISTS[name])
    for other in (parts[:1], parts[:-1], parts[::-1], [*parts, parts[0]], [], None, [None] * len(parts)):
        model = deepcopy(honest)
        setattr(model, LISTS[name], other)
        refused(model, *data)


def test_v2_a_part_must_have_the_parameters_of_the_whole():
    model = pipe()
    model.steps_[-1] = ("r", Ridge(1e6).fit(model[:-1].transform(X), number))
    model.certificate_ = CompositeCertificate({**model.certificate_.parts, "r": model.steps_[-1][1].certificate_})
    refused(model, X, number, match="parameters are not those")
    model.steps_[-1] = ("r", LinearRegression().fit(model[:-1].transform(X), number))
    refused(model, X, number, match="has a LinearRegression as 'r'")


def test_v2_a_part_of_another_library_is_not_passed_over():
    model = Pipeline([("s", sklearn.preprocessing.StandardScaler()), ("r", Ridge())]).fit(X, number)
    refused(model, X, number, match="'s' of this Pipeline is sklearn")


def test_v2_layout_and_columns_of_parts_are_settled_anew():
    honest, data, _ = SEVERAL["columns"]
    for change in (
        {"output_indices_": {"a": slice(0, 2), "b": slice(2, 3)}},
        {"sparse_output_": True},
        {"transformers_": [(name, part, columns[::-1]) for name, part, columns in honest.transformers_]},
    ):
        model = deepcopy(honest)
        vars(model).update(change)
        refused(model, *data)


# -- A1 to A5, A11: honest models ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}),
        GridSearchCV(Ridge(), [{"alpha": [0.1]}, {"fit_intercept": [False]}], scoring="r2", return_train_score=True),
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, scoring=["r2", "neg_mean_squared_error"], refit="r2"),
        RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=2, random_state=0),
        GridSearchCV(
            Pipeline([("s", StandardScaler()), ("r", Ridge())]), {"r__alpha": [0.1, 1.0], "s": [MinMaxScaler()]}
        ),
    ],
    ids=range(5),
)
def test_a1_searches_are_verified_and_saved(search, tmp_path):
    search.fit(X, number, weight)
    assert qed.verify(search, X, number, weight).holds
    again = through_file(search, tmp_path)
    assert qed.verify(again, X, number, weight).holds
    assert np.array_equal(again.predict(X), search.predict(X))
    assert list(again.cv_results_) == list(search.cv_results_)
    assert again.score(X, number) == search.score(X, number)
    for name, value in (("best_index_", 1 - search.best_index_), ("best_params_", {"alpha": 7.0})):
        changed = deepcopy(search)
        vars(changed)[name] = value
        refused(changed, X, number, weight)
    changed = deepcopy(search)
    key = next(name for name in search.cv_results_ if name.startswith("mean_test_"))
    changed.cv_results_[key] = changed.cv_results_[key][::-1] + 1.0
    refused(changed, X, number, weight)


def test_a1_searches_inside_other_models_are_verified():
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]})
    for model in (Pipeline([("s", StandardScaler()), ("g", search)]), VotingRegressor([("g", search), ("r", Ridge())])):
        assert qed.verify(model.fit(X, number), X, number).holds
    refused(GridSearchCV(Ridge(), {"alpha": [1.0]}, refit=False).fit(X, number), X, number)


@pytest.mark.parametrize("target", [number, coin, three], ids=["number", "coin", "three"])
@pytest.mark.parametrize("cv", [5, KFold(3, shuffle=True)], ids=["five", "drawn"])
@pytest.mark.parametrize("smooth", ["auto", 2.0])
def test_a2_models_behind_a_target_encoder_are_verified(target, cv, smooth, tmp_path):
    last = Ridge() if target is number else LogisticRegression()
    model = Pipeline([("t", TargetEncoder(cv=cv, smooth=smooth)), ("r", last)]).fit(words, target)
    assert qed.verify(model, words, target).holds
    if cv == 5:
        assert qed.verify(through_file(model, tmp_path), words, target).holds
    changed = deepcopy(model)
    changed.steps_[0][1].folds_ = np.roll(changed.steps_[0][1].folds_, 1)
    refused(changed, words, target)


def test_a2_in_columns_and_nested():
    frame = pd.DataFrame({"c": words[:, 0], "d": words[:, 1], "x": X[:, 0], "z": X[:, 1]})
    inner = Pipeline([("t", TargetEncoder(random_state=0)), ("s", StandardScaler())])
    columns = ColumnTransformer(
        [("t", TargetEncoder(), ["c"]), ("n", inner, ["c", "d"]), ("o", OneHotEncoder(), ["d"])],
        remainder="passthrough",
    )
    model = Pipeline([("c", columns), ("r", Ridge())]).fit(frame, number)
    assert qed.verify(model, frame, number).holds
    framed = ColumnTransformer([("t", TargetEncoder(), ["c", "d"])], remainder="passthrough")
    model = Pipeline([("c", framed), ("r", Ridge())]).set_output(transform="pandas").fit(frame, number)
    assert qed.verify(model, frame, number).holds
    union = FeatureUnion([("t", TargetEncoder(random_state=0)), ("o", OneHotEncoder())])
    model = Pipeline([("u", union), ("r", Ridge())]).fit(words, number)
    assert qed.verify(model, words, number).holds


def test_a3_weights_reach_the_transformer_of_the_target():
    times = rng.integers(1, 4, 60)
    weighted = TransformedTargetRegressor(Lasso(0.1), transformer=StandardScaler()).fit(X, number, times.astype(float))
    repeated = TransformedTargetRegressor(Lasso(0.1), transformer=StandardScaler()).fit(
        np.repeat(X, times, axis=0), np.repeat(number, times)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    assert qed.verify(weighted, X, number, times.astype(float)).holds


def test_a4_weights_of_one_step_are_verified_for_that_step():
    model = Pipeline([("s", StandardScaler()), ("r", Ridge())]).fit(X, number, r__sample_weight=weight)
    assert model.weighted_ == ["r"]
    assert qed.verify(model, X, number, weight).holds
    refused(model, X, number)
    both = Pipeline([("s", StandardScaler()), ("r", Ridge())]).fit(X, number, weight)
    assert both.weighted_ == ["s", "r"]
    assert qed.verify(both, X, number, weight).holds
    assert qed.verify(both[:1], X, number, weight).holds


def test_a5_a_column_of_labels_is_verified():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [RidgeClassifier().fit(X, coin[:, None]), RidgeClassifierCV().fit(X, coin[:, None])]
    for model in models:
        assert qed.verify(model, X, coin[:, None]).holds


def test_a11_a_pipeline_that_claims_nothing_says_so():
    model = Pipeline([("f", FunctionTransformer())]).fit(X)
    verdict = qed.verify(model, X)
    assert verdict.claims_nothing
    assert "nothing is claimed" in verdict.statement
    assert str(verdict).startswith("Nothing to verify")
    behind = Pipeline([("f", FunctionTransformer(np.exp)), ("r", Ridge())]).fit(X, number)
    verdict = qed.verify(behind, X, number)
    assert not verdict.claims_nothing
    assert "nothing is claimed of f" in verdict.statement
    behind.steps_[0][1].certificate_ = behind.steps_[1][1].certificate_
    refused(behind, X, number)
