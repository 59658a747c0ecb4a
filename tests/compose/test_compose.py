"""Models of models: agreement with scikit-learn's, both ways inside each other, files, names, proofs."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.compose
import sklearn.linear_model
import sklearn.model_selection
import sklearn.pipeline
import sklearn.preprocessing

import qed
from qed.certificates import CompositeCertificate
from qed.compose import (
    ColumnTransformer,
    FeatureUnion,
    MultiOutputClassifier,
    MultiOutputRegressor,
    Pipeline,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
    make_pipeline,
    make_union,
)
from qed.core import CertificateError, clone
from qed.ensemble import StackingRegressor, VotingRegressor
from qed.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from qed.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, SimpleImputer, StandardScaler

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 3)) + np.array([0, 5, -2])
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=80)
S = RNG.integers(0, 3, 80).astype(float)
FRAME = pd.DataFrame(
    {
        "age": X[:, 0],
        "size": np.where(RNG.random(80) < 0.1, np.nan, X[:, 1]),
        "colour": RNG.choice(["red", "green"], 80),
    }
)


def _mixed():
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "size"]),
            ("words", OneHotEncoder(), ["colour"]),
        ]
    )


def _mixed_theirs():
    skp = sklearn.preprocessing
    numbers = sklearn.pipeline.make_pipeline(sklearn.impute.SimpleImputer(), skp.StandardScaler())
    return sklearn.compose.ColumnTransformer(
        [("numbers", numbers, ["age", "size"]), ("words", skp.OneHotEncoder(), ["colour"])]
    )


def test_a_pipeline_is_its_steps_in_order():
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()).fit(X, Y)
    z = PolynomialFeatures(2).fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(pipeline.predict(X), Ridge().fit(z, Y).predict(z))
    assert pipeline.score(X, Y) == pytest.approx(Ridge().fit(z, Y).score(z, Y))
    np.testing.assert_array_equal(pipeline[:-1].transform(X), z)
    assert pipeline.named_steps.ridge is pipeline[-1] is pipeline["ridge"]
    assert len(pipeline) == 3
    assert pipeline.n_features_in_ == 3


def test_weights_reach_the_steps_that_count():
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(X, Y, sample_weight=S)
    twice = np.repeat(np.arange(80), S.astype(int))
    again = make_pipeline(StandardScaler(), Ridge()).fit(X[twice], Y[twice])
    np.testing.assert_allclose(pipeline.predict(X), again.predict(X), rtol=1e-8)


def test_parameters_reach_inside():
    pipeline = make_pipeline(StandardScaler(), Ridge(2.0))
    assert pipeline.get_params()["ridge__alpha"] == 2.0
    pipeline.set_params(ridge__alpha=3.0, standardscaler="passthrough")
    assert pipeline.steps[1][1].alpha == 3.0
    assert pipeline.fit(X, Y).predict(X).shape == (80,)
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        pipeline.set_params(nobody__alpha=1)
    with pytest.raises(ValueError, match="not unique"):
        Pipeline([("a", StandardScaler()), ("a", Ridge())]).fit(X, Y)
    with pytest.raises(ValueError, match="should be transformers"):
        Pipeline([("a", Ridge()), ("b", Ridge())]).fit(X, Y)
    with pytest.raises(ValueError, match="Say which step"):
        pipeline.fit(X, Y, alpha=1)
    assert not hasattr(make_pipeline(StandardScaler(), Ridge()), "transform")
    assert hasattr(make_pipeline(Ridge(), StandardScaler()), "inverse_transform") is False


@pytest.mark.parametrize("outer", [make_pipeline, sklearn.pipeline.make_pipeline])
@pytest.mark.parametrize("scaler", [StandardScaler, sklearn.preprocessing.StandardScaler])
@pytest.mark.parametrize("last", [Ridge, sklearn.linear_model.Ridge])
def test_parts_of_both_libraries_mix(outer, scaler, last):
    model = outer(scaler(), last(alpha=1.0)).fit(X, Y)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(model.predict(X), sklearn.linear_model.Ridge(alpha=1.0).fit(z, Y).predict(z), rtol=1e-8)
    grid = sklearn.model_selection.GridSearchCV(
        outer(scaler(), last()), {f"{last.__name__.lower()}__alpha": [0.1, 10.0]}, cv=3
    )
    assert grid.fit(X, Y).best_params_
    assert sklearn.base.clone(model) is not model


@pytest.mark.covers("DAT-17")
def test_columns_are_picked_in_their_order():
    picked = ColumnTransformer([("two", "passthrough", [2, 0])]).fit_transform(X)
    assert np.array_equal(picked, X[:, [2, 0]])


@pytest.mark.parametrize("columns", [[0, 1], slice(0, 2), [True, True, False], [-3, -2]])
@pytest.mark.parametrize("remainder", ["drop", "passthrough", "scaler"])
def test_column_transformers_are_scikit_learns(columns, remainder):
    theirs_rest = sklearn.preprocessing.MinMaxScaler() if remainder == "scaler" else remainder
    ours_rest = MinMaxScaler() if remainder == "scaler" else remainder
    a = ColumnTransformer([("scale", StandardScaler(), columns)], remainder=ours_rest).fit(X)
    b = sklearn.compose.ColumnTransformer(
        [("scale", sklearn.preprocessing.StandardScaler(), columns)], remainder=theirs_rest
    ).fit(X)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-9, atol=1e-12)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    assert a.output_indices_["scale"] == b.output_indices_["scale"]


def test_mixed_frames():
    a, b = _mixed().fit(FRAME), _mixed_theirs().fit(FRAME)
    np.testing.assert_allclose(a.transform(FRAME), b.transform(FRAME), rtol=1e-9, atol=1e-12)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
    np.testing.assert_allclose(a.transform(FRAME[["colour", "size", "age"]]), a.transform(FRAME))
    other = _mixed().fit_transform(pl.DataFrame(FRAME.to_dict("list")))
    np.testing.assert_allclose(other, a.transform(FRAME), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="columns are missing"):
        a.transform(FRAME[["age", "size"]])
    chosen = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")), ("drop", make_column_selector("colour"))
    )
    assert chosen.fit_transform(FRAME).shape == (80, 2)
    sparse = ColumnTransformer([("words", OneHotEncoder(), ["colour"])], sparse_threshold=1.0).fit_transform(FRAME)
    assert sp.issparse(sparse)


def test_unions_are_side_by_side():
    union = make_union(StandardScaler(), MinMaxScaler()).fit(X)
    assert np.array_equal(
        union.transform(X), np.hstack([StandardScaler().fit_transform(X), MinMaxScaler().fit_transform(X)])
    )
    assert union.get_feature_names_out()[0] == "standardscaler__x0"
    weighted = FeatureUnion([("a", StandardScaler()), ("b", "passthrough")], transformer_weights={"a": 10})
    np.testing.assert_array_equal(weighted.fit_transform(X)[:, :3], 10 * StandardScaler().fit_transform(X))
    shown = FeatureUnion([("a", StandardScaler())]).set_output(transform="pandas").fit_transform(FRAME[["age"]])
    assert list(shown.columns) == ["a__age"]


def test_targets_in_other_units():
    params = {"func": np.log, "inverse_func": np.exp}
    target = np.exp(Y / 4)
    a = TransformedTargetRegressor(LinearRegression(), **params).fit(X, target)
    b = sklearn.compose.TransformedTargetRegressor(sklearn.linear_model.LinearRegression(), **params).fit(X, target)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)
    assert qed.verify(a, X, target).holds
    with pytest.warns(UserWarning, match="not strictly inverse"):
        TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.sin).fit(X, target)
    with pytest.raises(ValueError, match="cannot both be set"):
        TransformedTargetRegressor(Ridge(), transformer=StandardScaler(), func=np.log, inverse_func=np.exp).fit(
            X, target
        )


def test_one_model_a_target():
    targets = np.column_stack([Y, -Y, X[:, 0]])
    model = MultiOutputRegressor(Ridge()).fit(X, targets)
    np.testing.assert_allclose(model.predict(X)[:, 1], Ridge().fit(X, -Y).predict(X))
    assert qed.verify(model, X, targets).holds
    labels = (targets > np.median(targets, axis=0)).astype(int)
    logistic = sklearn.linear_model.LogisticRegression()
    classifier = MultiOutputClassifier(logistic).fit(X, labels)
    np.testing.assert_array_equal(classifier.predict(X)[:, 0], logistic.fit(X, labels[:, 0]).predict(X))
    assert len(classifier.predict_proba(X)) == 3
    with pytest.raises(ValueError, match="at least two dimensions"):
        MultiOutputRegressor(Ridge()).fit(X, Y)


def test_one_stream_for_all_targets(tmp_path):
    targets = np.column_stack([Y, X[:, 0]])
    labels = (targets > np.median(targets, axis=0)).astype(int)
    weight = np.linspace(0.5, 2.0, len(X))
    model = MultiOutputClassifier(SGDClassifier(random_state=0, shuffle=False))
    numbers = MultiOutputRegressor(SGDRegressor(random_state=0, shuffle=False))
    alone = [SGDClassifier(random_state=0, shuffle=False) for _ in range(2)]
    every = [np.array([0, 1]), [0, 1]]
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[part], labels[part], classes=every, sample_weight=weight[part])
        numbers.partial_fit(X[part], targets[part])
        for k, one in enumerate(alone):
            one.partial_fit(X[part], labels[part, k], classes=[0, 1], sample_weight=weight[part])
    for k, one in enumerate(alone):
        np.testing.assert_array_equal(model.estimators_[k].coef_, one.coef_)
        np.testing.assert_array_equal(model.predict(X)[:, k], one.predict(X))
    assert [each.tolist() for each in model.classes_] == [[0, 1], [0, 1]]
    assert set(model.certificate_.parts) == {"target 0", "target 1"}
    assert numbers.predict(X).shape == targets.shape
    before = model.estimators_[0].coef_.copy()
    model.save(tmp_path / "model.qed")
    again = qed.load(tmp_path / "model.qed").partial_fit(X, labels)
    assert np.abs(again.estimators_[0].coef_ - before).max() > 0  # it goes on from where it was, and not in the file
    np.testing.assert_array_equal(qed.load(tmp_path / "model.qed").estimators_[0].coef_, before)
    with pytest.raises(ValueError, match="has learnt 2 targets, and y has 1"):
        model.partial_fit(X, labels[:, :1])
    with pytest.raises(ValueError, match="classes has 1 entries"):
        MultiOutputClassifier(SGDClassifier()).partial_fit(X, labels, classes=every[:1])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        MultiOutputClassifier(SGDClassifier()).partial_fit(X, labels)
    assert not hasattr(MultiOutputClassifier(LogisticRegression()), "partial_fit")


def test_a_whole_pipeline_in_a_file(tmp_path):
    model = make_pipeline(_mixed(), PolynomialFeatures(2), Ridge()).fit(FRAME, Y)
    model.save(tmp_path / "model.qed")
    back = qed.load(tmp_path / "model.qed")
    np.testing.assert_array_equal(back.predict(FRAME), model.predict(FRAME))
    assert qed.verify(back, FRAME, Y).holds
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(FRAME), model.predict(FRAME))
    sliced = ColumnTransformer([("a", StandardScaler(), slice(0, 2))]).fit(X)
    sliced.save(tmp_path / "sliced.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "sliced.qed").transform(X), sliced.transform(X))


def test_the_parts_are_verified():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y, sample_weight=S)
    assert isinstance(model.certificate_, CompositeCertificate)
    assert list(model.certificate_.parts) == ["standardscaler", "ridge"]
    assert qed.verify(model, X, Y, sample_weight=S).holds
    model[0].mean_[1] += 1e-3
    with pytest.raises(CertificateError, match="StandardScaler stores the mean"):
        qed.verify(model, X, Y, sample_weight=S)
    other = make_pipeline(sklearn.preprocessing.StandardScaler(), Ridge()).fit(X, Y)
    assert other.certificate_.silent == ["standardscaler"]
    assert "no certificate" in str(other.certificate_)
    with pytest.raises(CertificateError, match=r"'standardscaler' of this Pipeline is sklearn.*does not know"):
        qed.verify(other, X, Y)
    assert qed.verify(other[-1], other[:-1].transform(X), Y).holds


def test_notebooks_show_the_proof():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    assert "CompositeCertificate" in model._repr_html_()
    assert "StandardScaler()" in repr(model)
    assert "Verified" in qed.verify(model, X, Y)._repr_html_()


def test_notebooks_draw_the_parts():
    columns = ColumnTransformer([("few", StandardScaler(with_mean=False), [0, 1]), ("none", "drop", [2])])
    votes = VotingRegressor([("first", Ridge(2.0)), ("<second>", sklearn.linear_model.Ridge())], weights=[1, 2])
    html = make_pipeline(columns, votes)._repr_html_()
    drawn = html[html.index('class="qed-diagram"') :]
    inside = ["Pipeline", "ColumnTransformer", "few: 0, 1", "StandardScaler", "with_mean=False", "none: 2", "drop"]
    inside += ["&#8595;", "VotingRegressor(weights=[1, 2])", "first", "Ridge(alpha=2.0)", "&lt;second&gt;"]
    places = [drawn.index(one) for one in inside]
    assert places == sorted(places)
    assert drawn.count("qed-follow") == 1
    assert drawn.count("qed-beside") == 2
    assert html.count("<div") == html.count("</div>")
    assert "qed-diagram" not in Ridge()._repr_html_()


def test_threads_give_the_same():
    parts = [("a", StandardScaler(), [0]), ("b", MinMaxScaler(), [1, 2])]
    np.testing.assert_array_equal(
        ColumnTransformer(parts, n_jobs=2).fit_transform(X), ColumnTransformer(parts).fit_transform(X)
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_verbose_shows_what_each_part_takes(capsys, n_jobs):
    scalers = [("standard", StandardScaler()), ("range", MinMaxScaler())]
    models = [
        FeatureUnion(scalers, n_jobs=n_jobs),
        ColumnTransformer([(name, one, [k]) for k, (name, one) in enumerate(scalers)], n_jobs=n_jobs),
        VotingRegressor([("standard", Ridge()), ("range", LinearRegression())], n_jobs=n_jobs),
        StackingRegressor([("standard", Ridge()), ("range", LinearRegression())], Ridge(), cv=2, n_jobs=n_jobs),
        Pipeline([("standard", StandardScaler()), ("range", Ridge())]),
    ]
    for model in models:
        clone(model).fit(X, Y)
        assert capsys.readouterr().err == ""
        model.set_params(verbose=1 if isinstance(model, StackingRegressor) else True).fit(X, Y)
        shown = capsys.readouterr().err
        for part in ("standard", "range"):
            lines = [line for line in shown.splitlines() if line.startswith(f"{type(model).__name__}: {part}")]
            assert len(lines) == 2
            assert "finished" in lines[1]
            assert lines[1].endswith(" s")


def test_classifiers_of_several_targets_take_sparse_rows():
    labels = np.column_stack([X[:, 0] > 0, X[:, 1] > 5])
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (
        MultiOutputClassifier(LogisticRegression(tol=1e-10)).fit(table, labels) for table in (rows, sp.csr_array(rows))
    )
    for one, other in zip(dense.predict_proba(rows), sparse.predict_proba(sp.csr_array(rows)), strict=True):
        assert one.shape == (80, 2)
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_targets_without_rows_are_refused():
    with pytest.raises(qed.InvalidData, match="0 sample"):
        TransformedTargetRegressor(Ridge()).fit(np.zeros((0, 2)), np.zeros(0))
