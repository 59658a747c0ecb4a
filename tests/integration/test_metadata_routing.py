"""Metadata by request: models of models give their parts what scikit-learn's give theirs, and verify knows who got it."""

import numpy as np
import pytest
import sklearn
import sklearn.calibration
import sklearn.compose
import sklearn.ensemble
import sklearn.feature_selection
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.multiclass
import sklearn.multioutput
import sklearn.neighbors
import sklearn.pipeline
import sklearn.preprocessing

import qed
import qed.calibration
import qed.compose
import qed.ensemble
import qed.feature_selection
import qed.linear_model
import qed.metrics
import qed.model_selection
import qed.multiclass
import qed.multioutput
import qed.neighbors
import qed.pipeline
import qed.preprocessing

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X @ [1.0, -2.0, 0.5] + rng.normal(size=90)
LABEL = Y > 0
W = rng.integers(1, 5, 90).astype(float)
GROUPS = np.arange(90) % 6


@pytest.fixture(params=["ours", "theirs"])
def routing(request):
    """Routing switched on by qed's own setting, or by scikit-learn's: both count."""
    other = sklearn if request.param == "theirs" else qed
    with sklearn.config_context(enable_metadata_routing=True), other.config_context(enable_metadata_routing=True):
        yield


def both(build):
    """Return what a function makes of qed and of scikit-learn."""
    return build(qed), build(sklearn)


def weighted(model):
    return model.set_fit_request(sample_weight=True)


def unweighted(model):
    return model.set_fit_request(sample_weight=False)


@pytest.mark.usefixtures("routing")
def test_pipelines_unions_and_columns():
    def pipe(lib):
        p, c = lib.preprocessing, lib.compose
        steps = c.ColumnTransformer(
            [("a", weighted(p.StandardScaler()), [0, 1]), ("b", unweighted(p.StandardScaler()), [1, 2])]
        )
        pair = lib.pipeline.FeatureUnion([("s", weighted(p.StandardScaler())), ("m", p.MinMaxScaler())])
        last = lib.linear_model.Ridge().set_fit_request(sample_weight="mine")
        return lib.pipeline.make_pipeline(steps, pair, last).fit(X, Y, sample_weight=W, mine=W**2)

    ours, others = both(pipe)
    np.testing.assert_allclose(ours.predict(X), others.predict(X), rtol=1e-9)
    np.testing.assert_allclose(ours[0].transformers_[0][1].mean_, np.average(X[:, :2], axis=0, weights=W))
    np.testing.assert_allclose(ours[0].transformers_[1][1].mean_, X[:, 1:].mean(axis=0))
    for part, rows, y in ((ours[0], X, None), (ours[1], ours[0].transform(X), None)):
        assert qed.verify(part, rows, y, W).holds
        with pytest.raises(qed.CertificateError):
            qed.verify(part, rows, y)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", ["VotingClassifier", "StackingClassifier", "VotingRegressor", "StackingRegressor"])
def test_votes_and_stacks(kind):
    is_class = "Classifier" in kind

    def model(lib):
        linear = lib.linear_model
        first, second = (linear.LogisticRegression(C=0.1), linear.RidgeClassifier())
        first, second = (first, second) if is_class else (linear.Ridge(2.0), linear.LinearRegression())
        members = [("a", weighted(first)), ("b", unweighted(second))]
        last = {"final_estimator": weighted(linear.LogisticRegression() if is_class else linear.Ridge())}
        options = last if kind.startswith("Stacking") else {}
        return getattr(lib.ensemble, kind)(members, **options).fit(X, LABEL if is_class else Y, sample_weight=W)

    ours, others = both(model)
    assert (
        np.mean(ours.predict(X) == others.predict(X)) > 0.98
        if is_class
        else np.allclose(ours.predict(X), others.predict(X))
    )
    assert ours.weighted_ == ["a"] + ["final_estimator"] * kind.startswith("Stacking")
    assert qed.verify(ours, X, LABEL if is_class else Y, W).holds


LINEAR = {
    "chain": lambda lib, model: lib.multioutput.RegressorChain(model, order=[1, 0]),
    "outputs": lambda lib, model: lib.multioutput.MultiOutputRegressor(model),
    "target": lambda lib, model: lib.compose.TransformedTargetRegressor(model, func=np.sinh, inverse_func=np.arcsinh),
    "elimination": lambda lib, model: lib.feature_selection.RFE(model, n_features_to_select=2),
    "selection": lambda lib, model: lib.feature_selection.SelectFromModel(model, threshold=0.8),
}
CLASSES = {
    "one against rest": lambda lib, model: lib.multiclass.OneVsRestClassifier(model),
    "pairs": lambda lib, model: lib.multiclass.OneVsOneClassifier(model),
    "codes": lambda lib, model: lib.multiclass.OutputCodeClassifier(model, random_state=0),
    "chain": lambda lib, model: lib.multioutput.ClassifierChain(model),
    "outputs": lambda lib, model: lib.multioutput.MultiOutputClassifier(model),
    "calibration": lambda lib, model: lib.calibration.CalibratedClassifierCV(model, cv=3),
    "threshold": lambda lib, model: lib.model_selection.FixedThresholdClassifier(model, threshold=0.3),
}
THREE = np.digitize(Y, [-1.0, 1.0])


def goal(name, kind):
    if name in ("chain", "outputs"):
        return (
            np.column_stack([LABEL, X[:, 0] > 0.3]).astype(int)
            if kind == "class"
            else np.column_stack([Y, X @ [1.0, 1, 1]])
        )
    if kind == "class":
        return LABEL if name in ("calibration", "threshold") else THREE
    return Y


def answered(model):
    return model.get_support() if hasattr(model, "get_support") else model.predict(X)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(("kind", "name"), [("class", one) for one in CLASSES] + [("number", one) for one in LINEAR])
def test_models_around_one_model_give_it_what_it_asks_for(kind, name):
    build, target = (CLASSES if kind == "class" else LINEAR)[name], goal(name, kind)

    def inner(lib):
        linear = lib.linear_model
        return linear.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000) if kind == "class" else linear.Ridge(0.1)

    skewed = W**4  # so that weights matter
    ours, others = both(lambda lib: build(lib, weighted(inner(lib))).fit(X, target, sample_weight=skewed))
    plain = build(qed, inner(qed)).fit(X, target)
    same = np.isclose(answered(ours), answered(others), rtol=1e-4)
    # codes are drawn by generators of their own, and answers of classes may differ where two are nearly as likely
    assert np.mean(same) > (0.5 if name == "codes" else 0.97)
    if not hasattr(ours, "get_support"):
        assert not np.array_equal(answered(plain), answered(ours))
    assert qed.verify(ours, X, target, skewed).holds
    if name == "calibration":
        return  # its curves count weights in any case: below
    renamed = build(qed, inner(qed).set_fit_request(sample_weight="mine")).fit(X, target, mine=skewed)
    np.testing.assert_array_equal(answered(renamed), answered(ours))
    with pytest.raises(qed.InvalidParameter, match=r"\[sample_weight\] are passed but are not explicitly set"):
        build(qed, inner(qed)).fit(X, target, sample_weight=skewed)
    with pytest.raises(TypeError, match=r"got unexpected argument\(s\) \['sample_weight'\]"):
        build(qed, unweighted(inner(qed))).fit(X, target, sample_weight=skewed)
    with pytest.raises(TypeError, match=r"got unexpected argument\(s\) \['other'\]"):
        build(qed, weighted(inner(qed))).fit(X, target, other=skewed)


def calibrated(lib, kind, request, method):
    inner = {
        "no weights": lib.neighbors.KNeighborsClassifier,
        "none": lambda: None,
        "logistic": lambda: lib.linear_model.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000),
    }[kind]()
    if request is not None:
        inner.set_fit_request(sample_weight=request)
    return lib.calibration.CalibratedClassifierCV(inner, cv=3, method=method)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize(
    ("kind", "request_", "reached"),
    [
        ("no weights", None, ["curves"]),
        ("logistic", False, ["curves"]),
        ("logistic", True, ["estimator", "curves"]),
        ("logistic", "mine", ["estimator"]),
        ("none", None, ["estimator", "curves"]),
    ],
)
def test_curves_count_weights_and_the_classifier_those_that_it_asks_for(kind, request_, reached, method):
    given = {"mine" if request_ == "mine" else "sample_weight": W**4}
    ours, others = both(lambda lib: calibrated(lib, kind, request_, method).fit(X, LABEL, **given))
    # isotonic curves are flat: a score that differs in its last digits may lie on the next step
    same = np.isclose(ours.predict_proba(X), others.predict_proba(X), atol=1e-3)
    assert np.mean(same) > (0.95 if kind != "none" else 0.8)
    assert ours.weighted_ == reached
    assert qed.verify(ours, X, LABEL, W**4).holds
    if reached == ["curves"]:
        ours.weighted_ = ["estimator", "curves"]
        if kind == "logistic":
            with pytest.raises(qed.CertificateError):
                qed.verify(ours, X, LABEL, W**4)
        ours.weighted_ = []
        with pytest.raises(qed.CertificateError):
            qed.verify(ours, X, LABEL, W**4)


@pytest.mark.usefixtures("routing")
def test_calibration_inside_a_pipeline_is_asked_as_its_classifier_is():
    def inside(lib, kind, request, own):
        model = calibrated(lib, kind, request, "sigmoid")
        model = model if own is None else model.set_fit_request(sample_weight=own)
        return lib.pipeline.make_pipeline(lib.preprocessing.MinMaxScaler(), model).fit(X, LABEL, sample_weight=W**4)

    for kind, request, own in (("no weights", None, True), ("logistic", True, True), ("logistic", True, False)):
        ours, others = both(lambda lib, k=kind, r=request, o=own: inside(lib, k, r, o))
        np.testing.assert_allclose(ours.predict_proba(X), others.predict_proba(X), rtol=1e-3)
        assert qed.verify(ours, X, LABEL, W**4).holds
    for kind, request, own in (
        ("no weights", None, None),
        ("no weights", None, False),
        ("logistic", None, True),
        ("logistic", True, None),
    ):
        for lib in (qed, sklearn):
            with pytest.raises((TypeError, ValueError), match="sample_weight"):
                inside(lib, kind, request, own)
    with pytest.raises(qed.InvalidParameter, match="one weight a row"):
        calibrated(qed, "logistic", "mine", "sigmoid").fit(X, LABEL, sample_weight=W, mine=W**2)


@pytest.mark.usefixtures("routing")
def test_selection_by_folds_and_tuned_thresholds_route_to_scores_too():
    skewed = W**4

    def scorer(lib, name, asks):
        return lib.metrics.make_scorer(getattr(lib.metrics, name)).set_score_request(sample_weight=asks)

    def eliminated(lib, asks):
        f, model = lib.feature_selection, weighted(lib.linear_model.Ridge(0.1))
        folds = lib.model_selection.GroupKFold(3)
        found = f.RFECV(model, scoring=scorer(lib, "r2_score", asks), cv=folds)
        return found.fit(X, Y, groups=GROUPS, sample_weight=skewed).cv_results_["mean_test_score"]

    def chosen(lib, asks):
        f, model = lib.feature_selection, weighted(lib.linear_model.Ridge(0.1))
        found = f.SequentialFeatureSelector(model, scoring=scorer(lib, "r2_score", asks), n_features_to_select=1, cv=3)
        return found.fit(X, Y, sample_weight=skewed).get_support()

    def tuned(lib, asks):
        model = weighted(lib.linear_model.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000))
        found = lib.model_selection.TunedThresholdClassifierCV(model, scoring=scorer(lib, "f1_score", asks), cv=3)
        return found.fit(X, LABEL, sample_weight=skewed).best_score_

    for build in (eliminated, chosen, tuned):
        for asks in (True, False):
            np.testing.assert_allclose(*both(lambda lib, a=asks, b=build: b(lib, a)), rtol=1e-4)
    assert not np.allclose(eliminated(qed, True), eliminated(qed, False))
    assert tuned(qed, True) != tuned(qed, False)
    with pytest.raises(qed.InvalidParameter, match=r"\[sample_weight\] are passed but are not explicitly set"):
        tuned(qed, None)


@pytest.mark.usefixtures("routing")
def test_models_around_one_model_stand_inside_pipelines_and_searches():
    inner = weighted(qed.linear_model.LogisticRegression(C=0.5))
    model = qed.pipeline.make_pipeline(
        unweighted(qed.preprocessing.StandardScaler()), qed.multiclass.OneVsRestClassifier(inner)
    )
    found = model.fit(X, THREE, sample_weight=W**4)
    assert not np.array_equal(found.predict(X), qed.clone(model).fit(X, THREE).predict(X))
    search = qed.model_selection.GridSearchCV(
        qed.multiclass.OneVsRestClassifier(inner).set_score_request(sample_weight=True), {"estimator__C": [0.1, 1.0]}
    )
    assert search.fit(X, THREE, sample_weight=W**4).best_params_


@pytest.mark.usefixtures("routing")
def test_searches_and_folds_route_to_model_scorer_and_splitter():
    def search(lib):
        ms, m = lib.model_selection, lib.metrics
        scorer = m.make_scorer(m.mean_squared_error, greater_is_better=False).set_score_request(sample_weight=True)
        grid = {"alpha": [0.1, 1.0, 10.0]}
        model = ms.GridSearchCV(weighted(lib.linear_model.Ridge()), grid, scoring=scorer, cv=ms.GroupKFold(3))
        return model.fit(X, Y, groups=GROUPS, sample_weight=W)

    def own_score(lib):
        model = weighted(lib.linear_model.Ridge()).set_score_request(sample_weight=True)
        params = {"sample_weight": W, "groups": GROUPS}
        found = lib.model_selection.cross_validate(model, X, Y, params=params, cv=lib.model_selection.GroupKFold(3))
        return found["test_score"]

    def half(lib):
        model = weighted(lib.linear_model.Ridge()).set_score_request(sample_weight=False)
        return lib.model_selection.cross_val_score(model, X, Y, params={"sample_weight": W})

    ours, others = both(search)
    assert ours.best_params_ == others.best_params_
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], others.cv_results_["mean_test_score"], rtol=1e-9)
    for build in (own_score, half):
        np.testing.assert_allclose(*both(build), rtol=1e-9)
    assert not np.allclose(own_score(qed), half(qed)[:3])


@pytest.mark.usefixtures("routing")
def test_models_of_the_other_library_are_asked_too():
    theirs = sklearn.pipeline.make_pipeline(
        weighted(sklearn.preprocessing.StandardScaler()), weighted(sklearn.linear_model.Ridge())
    )
    model = qed.pipeline.make_pipeline(unweighted(qed.preprocessing.StandardScaler()), theirs).fit(
        X, Y, sample_weight=W
    )
    expected = sklearn.linear_model.Ridge()
    scaled = sklearn.preprocessing.StandardScaler().fit(X, sample_weight=W).transform(X)
    np.testing.assert_allclose(model.predict(X), expected.fit(scaled, Y, W).predict(scaled), rtol=1e-7)
    inside = sklearn.pipeline.make_pipeline(weighted(qed.pipeline.make_pipeline(weighted(qed.linear_model.Ridge()))))
    np.testing.assert_allclose(
        inside.fit(X, Y, sample_weight=W).predict(X), qed.linear_model.Ridge().fit(X, Y, W).predict(X)
    )
    ridge = weighted(qed.linear_model.Ridge())
    nested = qed.model_selection.GridSearchCV(qed.pipeline.make_pipeline(ridge), {"ridge__alpha": [1.0]})
    with pytest.raises(qed.InvalidParameter, match=r"Ridge.score, which is used within Pipeline"):
        nested.fit(X, Y, sample_weight=W)
    ridge.set_score_request(sample_weight=True)
    assert nested.fit(X, Y, sample_weight=W).best_score_ > 0.5
    outer = qed.model_selection.cross_validate(nested, X, Y, params={"sample_weight": W}, cv=3)
    assert np.isfinite(outer["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_what_nobody_decided_or_asked_for_is_refused():
    plain = qed.pipeline.make_pipeline(qed.preprocessing.StandardScaler(), weighted(qed.linear_model.Ridge()))
    with pytest.raises(
        ValueError, match=r"\[sample_weight\] are passed but are not explicitly set .* StandardScaler.fit"
    ):
        plain.fit(X, Y, sample_weight=W)
    with pytest.raises(TypeError, match=r"Pipeline.fit got unexpected argument\(s\) \['other'\]"):
        plain.fit(X, Y, other=W)
    with pytest.raises(TypeError, match="cross_validate got unexpected"):
        qed.model_selection.cross_validate(unweighted(qed.linear_model.Ridge()), X, Y, params={"other": W})


def test_without_routing_weights_go_to_all_who_can_count():
    union = qed.pipeline.FeatureUnion([("s", qed.preprocessing.StandardScaler())])
    with pytest.raises(qed.InvalidParameter, match="enable_metadata_routing"):
        union.fit(X, sample_weight=W)
    model = qed.pipeline.make_pipeline(qed.preprocessing.StandardScaler(), qed.linear_model.Ridge()).fit(
        X, Y, sample_weight=W
    )
    assert model.weighted_ == ["standardscaler", "ridge"]


def test_settings():
    assert qed.get_config()["transform_output"] == "default"
    with qed.config_context(transform_output="pandas", display="text"):
        frame = qed.preprocessing.StandardScaler().fit_transform(X)
        assert list(frame.columns) == ["x0", "x1", "x2"]
        assert "text/html" not in qed.linear_model.Ridge()._repr_mimebundle_()
    assert isinstance(qed.preprocessing.StandardScaler().fit_transform(X), np.ndarray)
    with pytest.raises(qed.InvalidParameter, match=r"assume_finite is not in qed, use sklearn.set_config"):
        qed.set_config(assume_finite=True)
    with pytest.raises(qed.InvalidParameter, match="must be one of"):
        qed.set_config(transform_output="arrow")
    qed.set_config(enable_metadata_routing=True)
    try:
        assert qed.get_config()["enable_metadata_routing"]
    finally:
        qed.set_config(enable_metadata_routing=False)
