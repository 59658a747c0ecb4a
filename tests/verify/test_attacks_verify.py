"""Changed models that were once accepted, and honest ones that were once refused; the letters are those of the list of attacks."""

from __future__ import annotations

import itertools
import re
import warnings
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing

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
from qed.core._records import public_name
from qed.discriminant_analysis import LinearDiscriminantAnalysis
from qed.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from qed.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrdinalRegressor,
    Perceptron,
    PowerRegressor,
    QuantileRegressor,
    RandomLinearClassifier,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    ThresholdClassifier,
    VotedPerceptron,
)
from qed.model_selection import (
    DummyClassifier,
    DummyRegressor,
    GridSearchCV,
    KFold,
    LookupClassifier,
    RandomizedSearchCV,
)
from qed.naive_bayes import GaussianNB
from qed.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor
from qed.verify._families import all_entries

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 4))
number = X @ rng.normal(size=4) + 0.5 * rng.normal(size=60)
coin = np.where(number > 0, "yes", "no")
three = np.digitize(number, np.quantile(number, [1 / 3, 2 / 3]))
weight = rng.random(60) + 0.1
words = rng.choice(list("abc"), size=(60, 2)).astype(object)


def through_file(model, tmp_path):
    model.save(tmp_path / "model.qed")
    return qed.load(tmp_path / "model.qed")


def refused(model, *data, match=None):
    with pytest.raises(qed.CertificateError, match=match):
        qed.verify(model, *data)


# -- V1: the class decides what is checked ---------------------------------------------------------------------


def test_v1_a_certificate_of_another_kind_is_refused():
    model, other = LogisticRegression().fit(X, coin), DummyClassifier().fit(X, coin)
    model.coef_ = -model.coef_
    model.certificate_ = other.certificate_
    refused(model, X, coin, match="should be DualityGapCertificate")
    model.class_prior_ = other.class_prior_
    refused(model, X, coin, match="class_prior_ is held")


def test_v1_parts_of_a_model_without_parts_are_refused():
    model, scaler = Ridge().fit(X, number), StandardScaler().fit(X)
    model.coef_ *= -9
    model.steps_ = [("s", scaler)]
    model.certificate_ = CompositeCertificate({"s": scaler.certificate_})
    refused(model, X, number, match="steps_ is held")
    del model.steps_
    refused(model, X, number, match="should be LeastSquaresCertificate")


def test_v1_statistics_of_naive_bayes_do_not_verify_a_linear_model():
    model, other = LogisticRegression().fit(X, coin), GaussianNB().fit(X, coin)
    model.coef_ = -model.coef_
    for name in ("theta_", "var_", "class_prior_", "class_count_", "epsilon_", "moments_", "certificate_"):
        setattr(model, name, getattr(other, name))
    refused(model, X, coin)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, coin)
    tree.certificate_ = DummyClassifier().fit(X, coin).certificate_
    refused(tree, X, coin, match="should be TreeCertificate")


@pytest.mark.parametrize("certificate", [None, Uncertified("x"), 3, "claim"], ids=repr)
def test_v1_a_class_that_claims_must_carry_its_claim(certificate):
    model = Ridge().fit(X, number)
    model.certificate_ = certificate
    refused(model, X, number)
    del model.certificate_
    refused(model, X, number, match="certificate_ is missing")


def test_v1_a_missing_attribute_and_a_method_of_the_instance_are_refused():
    model = LassoCV(alphas=5, cv=3).fit(X, number)
    del model.alpha_
    refused(model, X, number, match="alpha_ is missing")
    model = Ridge().fit(X, number)
    model.predict = lambda rows: np.zeros(len(rows))
    refused(model, X, number, match="predict is held")


def test_v1_a_class_of_somebody_else_is_refused_in_words():
    class Mine(Ridge):
        """Predicts something else."""

        def predict(self, X):
            return np.zeros(len(X))

    refused(Mine().fit(X, number), X, number, match="does not know the class .*It derives from Ridge")


def test_v1_every_public_class_has_a_check_or_a_reason():
    public = {public_name(kind) for _, kind in qed.all_estimators()}
    known = all_entries()
    assert public == known.keys()
    for _, kind in qed.all_estimators():
        entry, hint = known[public_name(kind)], kind._results.get("certificate_")
        assert bool(entry.checks or entry.parts) != bool(entry.claims_nothing)
        if entry.claims_nothing or hint is None:
            assert hint is None or hint.written == "Uncertified"
            continue
        carried = {one.__name__ for one in entry.checks} | ({"CompositeCertificate"} if entry.parts else set())
        declared = set(hint.written.split(" | ")) - {"Uncertified"}
        assert declared == carried, kind


# -- V2: every part is checked ---------------------------------------------------------------------------------

BROKEN = {"None": None, "Uncertified": Uncertified("x")}


def pipe():
    return Pipeline([("s", StandardScaler()), ("r", Ridge())]).fit(X, number)


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


# -- V3: objectives come from declarations ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "target", "changes"),
    [
        (Ridge(1e6), number, {"alpha": 1.0, "alpha_": 1e6}),
        (Lasso(10.0), number, {"alpha": 0.1, "alpha_": 10.0}),
        (ElasticNet(0.1, l1_ratio=1.0), number, {"l1_ratio": 0.0, "l1_ratio_": 1.0}),
        (LogisticRegression(C=1e-6), coin, {"C": 1.0, "C_": 1e-6}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v3_injected_strengths_are_not_read(model, target, changes):
    model.fit(X, target)
    vars(model).update(changes)
    refused(model, X, target, match="is held")
    del vars(model)[next(name for name in changes if name.endswith("_"))]
    refused(model, X, target)


# -- V4: nothing infinite is small -----------------------------------------------------------------------------


def test_v4_overflowing_objectives_are_refused():
    model = OrdinalRegressor().fit(X, three)
    model.coef_ = np.full(4, 1e6)
    refused(model, X, three)
    model = OrdinalRegressor().fit(X, three)
    model.thresholds_[-1] = 1e5
    refused(model, X, three)
    for value in (np.inf, np.nan, 1e300):
        model = PowerRegressor(np.inf).fit(X, number)
        model.intercept_ = value
        refused(model, X, number)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=repr)
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (Ridge(), number),
        (Lasso(0.1), number),
        (QuantileRegressor(alpha=0.1), number),
        (LogisticRegression(), coin),
        (OrdinalRegressor(), three),
        (PowerRegressor(np.inf), number),
        (Perceptron(), coin),
        (DummyRegressor(), number),
        (GaussianNB(), coin),
        (LinearDiscriminantAnalysis(), three),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v4_no_number_that_is_not_finite_passes(model, target, value):
    model.fit(X, target)
    for name, stored in list(vars(model).items()):
        if name in ("coef_", "intercept_", "thresholds_", "constant_", "theta_", "var_", "means_", "scalings_"):
            changed = deepcopy(model)
            vars(changed)[name] = np.asarray(stored, dtype=float) * 0 + value if np.ndim(stored) else value
            refused(changed, X, target)
    fields = ("gap", "rounding", "objective", "null_objective", "radius", "log_likelihood")
    for name in fields:
        if hasattr(model.certificate_, name) and not (name in ("radius", "rounding") and np.isposinf(value)):
            changed = deepcopy(model)
            changed.certificate_ = replace(model.certificate_, **{name: value})
            refused(changed, X, target)


# -- V5: labels are those of the targets -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        RidgeClassifierCV(),
        RandomLinearClassifier(random_state=0),
        Perceptron(),
        VotedPerceptron(),
        LogisticRegression(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2),
        DummyClassifier(),
        ThresholdClassifier(),
        LookupClassifier(),
        SGDClassifier(),
        VotingClassifier([("a", LogisticRegression())]),
        StackingClassifier([("a", LogisticRegression())], LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_v5_renamed_labels_are_refused(model, tmp_path):
    model.fit(X, coin)
    assert qed.verify(model, X, coin).holds
    for labels in (["NEVER", "yes"], ["healthy", "sick"], ["nz", "zz"], ["yes", "no"], ["no"], ["no", "yes", "zz"]):
        changed = deepcopy(model)
        changed.classes_ = np.array(labels)
        refused(changed, X, coin)


# -- V6, V7, V8: what a certificate states is bounded ----------------------------------------------------------


def test_v6_an_infinite_radius_is_not_believed_where_directions_are_free():
    noise = np.random.default_rng(1)
    a, b = noise.normal(size=4096), noise.normal(size=4096)
    table = np.c_[a, a + b * 2.0**-40]
    target = (table[:, 1] - table[:, 0]) * 2.0**40
    model = LinearRegression(fit_intercept=False).fit(table, target)
    assert qed.verify(model, table, target).holds
    model.certificate_ = replace(model.certificate_, radius=np.inf, gap=1e-6, rounding=0.0)
    refused(model, table, target, match="is false")


@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-3])
def test_v6_a_radius_that_makes_the_claim_empty_is_refused(radius):
    model = LinearRegression().fit(X, number)
    model.coef_ *= -3
    model.intercept_ = float(number.mean() - X.mean(0) @ model.coef_)
    objective = float(((number - model.predict(X)) ** 2).sum())
    model.certificate_ = replace(model.certificate_, objective=objective, gap=1e-9, radius=radius)
    refused(model, X, number)
    convex = QuantileRegressor(alpha=0.0).fit(X, number)
    assert qed.verify(convex, X, number).holds
    convex.certificate_ = replace(convex.certificate_, radius=radius)
    refused(convex, X, number)


def test_v7_a_stated_rounding_is_not_believed_without_limit():
    scaler = StandardScaler().fit(X)
    scaler.mean_ += 0.1
    scaler.certificate_ = replace(scaler.certificate_, rounding=0.9)
    refused(scaler, X, match="rounding")
    dummy = DummyRegressor().fit(X, number)
    dummy.constant_ += 1e-3
    for rounding in (1e-3, 0.9, 1e9):
        dummy.certificate_ = replace(dummy.certificate_, rounding=rounding)
        refused(dummy, X, number)


def test_v8_a_fingerprint_of_nan_fits_no_data(tmp_path):
    for model, target in ((Ridge(), number), (Lasso(0.1), number), (LogisticRegression(), coin)):
        model.fit(X, target)
        seen = model.certificate_.fingerprint
        forged = replace(seen, mean=seen.mean * np.nan, spread=seen.spread * np.nan)
        model.certificate_ = replace(model.certificate_, fingerprint=forged)
        refused(model, X, target, match="no number")
    refused(through_file(model, tmp_path), X, target)


# -- V10, V11: other attributes --------------------------------------------------------------------------------


def test_v10_votes_and_mistakes_are_those_of_the_passes():
    model = VotedPerceptron(max_iter=5).fit(X, coin, weight)
    assert qed.verify(model, X, coin, weight).holds
    for name in ("votes_", "mistakes_", "steps_"):
        stored = getattr(model, name)
        for other in (stored[::-1], np.roll(stored, 1, axis=0), stored[:-1]):
            changed = deepcopy(model)
            setattr(changed, name, other.copy())
            refused(changed, X, coin, weight)
    plain = VotedPerceptron(shuffle=False).fit(X, coin)
    assert qed.verify(plain, X, coin).holds


def test_v10_everything_that_changes_an_answer_is_derived_again():
    lookup = LookupClassifier().fit(np.round(X), coin)
    assert qed.verify(lookup, np.round(X), coin).holds
    lookup.default_ = 1 - lookup.default_
    refused(lookup, np.round(X), coin, match="default")
    target = TransformedTargetRegressor(Ridge(), func=np.exp, inverse_func=np.log).fit(X, number)
    target.flat_ = False
    refused(target, X, number)
    code = OutputCodeClassifier(LogisticRegression(), code_size=3.0, random_state=0).fit(X, three)
    for change in (1, -1, 2):
        changed = deepcopy(code)
        changed.code_book_[0, 0] += change
        refused(changed, X, three)
    dummy = DummyClassifier().fit(X, coin)
    dummy.n_classes_ = 7
    refused(dummy, X, coin)
    analysis = LinearDiscriminantAnalysis().fit(X, three)
    assert qed.verify(analysis, X, three).holds
    analysis.scalings_ = analysis.scalings_[:, ::-1].copy()
    refused(analysis, X, three)
    cut = ThresholdClassifier().fit(X, coin)
    cut.threshold_ *= 1.0001
    refused(cut, X, coin)


def test_v11_cached_values_are_dropped():
    model = DecisionTreeClassifier(max_depth=3).fit(X, coin)
    honest = model.predict(X)
    cached = [name for name in vars(model.tree_) if name not in type(model.tree_).__dataclass_fields__]
    assert "labels" in cached
    vars(model.tree_)["labels"] = 1 - np.asarray(model.tree_.labels)
    assert not np.array_equal(model.predict(X), honest)
    assert qed.verify(model, X, coin).holds
    assert np.array_equal(model.predict(X), honest)


# -- V12: only CertificateError --------------------------------------------------------------------------------

ODD = [None, "x", np.nan, -1, 10**6, [], np.zeros((2, 2))]


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (Ridge(), number),
        (RidgeCV(), number),
        (Lasso(0.1), number),
        (LogisticRegressionCV(Cs=3, cv=3), coin),
        (RidgeClassifier(), coin),
        (SGDClassifier(), three),
        (Perceptron(), three),
        (VotedPerceptron(), coin),
        (OrdinalRegressor(), three),
        (LinearDiscriminantAnalysis(), three),
        (GaussianNB(), three),
        (DecisionTreeRegressor(max_depth=1), number),
        (ThresholdClassifier(), coin),
        (RandomLinearClassifier(random_state=0), coin),
        (DummyRegressor(), number),
        (pipe(), number),
        (VotingRegressor([("a", Ridge())]), number),
        (StackingRegressor([("a", Ridge())], Ridge(), cv=2), number),
        (OneVsOneClassifier(LogisticRegression()), three),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2), number),
    ],
    ids=lambda value: type(value).__name__,
)
def test_v12_whatever_a_model_holds_the_error_is_one(model, target):
    model.fit(X, target)
    state = dict(vars(model))
    for name in state:
        for value in ODD:
            changed = deepcopy(model)
            vars(changed)[name] = value
            try:
                qed.verify(changed, X, target)
            except qed.CertificateError:
                continue
    for name in (
        ()
        if not hasattr(type(model.certificate_), "__dataclass_fields__")
        else type(model.certificate_).__dataclass_fields__
    ):
        for value in ODD:
            changed = deepcopy(model)
            carrier = changed if "certificate_" in vars(changed) else changed.best_estimator_
            carrier.certificate_ = replace(model.certificate_, **{name: value})
            try:
                qed.verify(changed, X, target)
            except qed.CertificateError:
                continue


def test_v12_the_users_own_mistakes_are_told_as_such():
    model = Ridge().fit(X, number)
    for data in (
        (X[:, :3], number),
        (np.where(X > 2, np.nan, X), number),
        (X, None),
        (X, number[:5]),
        (X, number, -weight),
    ):
        with pytest.raises(qed.InvalidData):
            qed.verify(model, *data)
    with pytest.raises(qed.InvalidParameter):
        qed.verify("Ridge", X, number)
    with pytest.raises(qed.NotFitted):
        qed.verify(Ridge(), X, number)


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


# -- the checker reads, computes and answers by itself ---------------------------------------------------------

ALLOWED = {
    "_agree.py": {"getattr"},  # the one place where parts are asked; every answer is compared with its definition
    "_neighbors.py": {"getattr", "kneighbors", "score_samples"},  # answers that are compared with all rows
    "_sparse_components.py": {"transform"},  # codes for given atoms, which dual points bound
    "_rounds.py": {"predict"},  # means and deviations of a posterior, which are compared with it
    "_refits.py": {"fit", "predict"},  # proposals, verified before they are used; estimators of the user
    "_explanations.py": {"getattr"},  # of a model that is explained, which may be anybody's
}


def test_the_checker_calls_no_method_of_a_model_that_learns_or_answers():
    banned = re.compile(
        r"\.(_fit_data|_new_data|predict|predict_proba|decision_function|kneighbors|fit|fit_transform|transform|inverse_transform"
        r"|score_samples)\(|(getattr)\([^()]*(?:\([^()]*\))?[^()]*\)\((?!\))"
    )
    folder = Path(qed.verify.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        code = "\n".join(
            line for line in path.read_text().splitlines() if not line.lstrip().startswith((">>>", '"', 'f"', "#"))
        )
        found = {one for pair in banned.findall(code) for one in pair if one}
        assert found <= ALLOWED.get(path.name, set()), path.name


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_v7_a_bound_on_trees_speaks_of_depths_that_were_searched(criterion):
    """A bound over trees of depth two says nothing about deeper ones, which may leave nothing at all."""
    table = np.repeat(np.array(list(itertools.product([0.0, 1.0], repeat=3))), 3, axis=0)
    target = np.repeat(np.arange(8.0) ** 1.5, 3)
    model = DecisionTreeRegressor(max_depth=2, criterion=criterion).fit(table, target)
    assert qed.verify(model, table, target).holds
    assert model.certificate_.depth == 2
    for depth in (0, 1, 3, 4):
        model.certificate_ = replace(model.certificate_, depth=depth)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, table, target)


@pytest.mark.parametrize(
    "model", [HuberRegressor(), SGDRegressor(loss="huber", random_state=0), SGDClassifier(random_state=0)]
)
def test_the_objective_of_the_null_model_is_neither_raised_nor_lowered(model):
    """Where its best constant has no closed form it was compared from above only."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + draw.standard_t(2, 40)
    y = np.where(y > 0, "yes", "no") if isinstance(model, SGDClassifier) else y
    model.fit(X, y)
    certificate = model.certificate_
    assert qed.verify(model, X, y).holds
    for factor in (0.999, 1.001):
        model.certificate_ = replace(certificate, null_objective=factor * certificate.null_objective)
        with pytest.raises(qed.CertificateError, match="null model"):
            qed.verify(model, X, y)
