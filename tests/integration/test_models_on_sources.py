"""Models fitted on sources of chunks: the answer of the same rows in memory, here and on a cluster, and verified by streaming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from clusters import two_workers
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed.cluster import KMeans
from qed.compose import make_pipeline
from qed.decomposition import PCA
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.linear_model import (
    ElasticNet,
    GroupLasso,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskElasticNet,
    MultiTaskLasso,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SquareRootLasso,
)
from qed.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    GaussianMixtureClassifier,
    PoissonMixture,
)
from qed.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB
from qed.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    SimpleImputer,
    StandardScaler,
    TargetEncoder,
)
from qed.svm import LinearSVC, LinearSVR

pytestmark = pytest.mark.filterwarnings("default")  # Dask warns of ports in use

RNG = np.random.default_rng(3)
N, NAMES = 500, list("abcd")
CENTRES = RNG.normal(size=(3, 4)) * 3
CODES = RNG.integers(0, 3, N)
X = CENTRES[CODES] + RNG.normal(size=(N, 4)) + 20
FRAME = pd.DataFrame(X, columns=NAMES).assign(
    number=X @ RNG.normal(size=4) + RNG.normal(size=N),
    label=CODES.astype(float),
    count=RNG.poisson(3, N).astype(float),
    none=0.0,
    weight=RNG.integers(0, 3, N).astype(float),
)
COUNTS = FRAME.assign(**{name: np.floor(FRAME[name] % 4) for name in NAMES})
CODED = COUNTS.assign(a=COUNTS["a"].where(RNG.random(N) > 0.1))
BITS = COUNTS.assign(**{name: COUNTS[name] % 2 for name in NAMES})
GAPS = FRAME.assign(a=FRAME["a"].where(RNG.random(N) > 0.1))

# model, target, table, attributes that must agree to 1e-10
EXACT = [
    (LinearRegression(), "number", FRAME, ["coef_", "intercept_"]),
    (Ridge(2.0), "number", FRAME, ["coef_", "intercept_"]),
    (RidgeCV(np.logspace(-2, 3, 6), cv=4), "number", FRAME, ["coef_", "alpha_", "best_score_"]),
    (GaussianNB(), "label", FRAME, ["theta_", "var_", "class_prior_"]),
    (MultinomialNB(), "label", COUNTS, ["feature_log_prob_", "class_log_prior_"]),
    (ComplementNB(), "label", COUNTS, ["feature_log_prob_"]),
    (BernoulliNB(binarize=1.5), "label", COUNTS, ["feature_log_prob_"]),
    (CategoricalNB(), "label", COUNTS, ["class_log_prior_"]),
    (LinearDiscriminantAnalysis(), "label", FRAME, ["coef_", "intercept_", "means_"]),
    (QuadraticDiscriminantAnalysis(), "label", FRAME, ["means_", "priors_"]),
    (PCA(2), None, FRAME, ["components_", "explained_variance_", "mean_"]),
    (KMeans(3, random_state=0), None, FRAME, ["cluster_centers_", "inertia_", "labels_"]),
    (GaussianMixture(3, random_state=0), None, FRAME, ["means_", "covariances_", "lower_bound_"]),
    (StandardScaler(), None, GAPS, ["mean_", "var_", "scale_"]),
    (MinMaxScaler(), None, GAPS, ["data_min_", "scale_"]),
    (MaxAbsScaler(), None, GAPS, ["scale_"]),
    (SimpleImputer(), None, GAPS, ["statistics_"]),
    (SimpleImputer(strategy="median"), None, GAPS, ["statistics_"]),
    (SimpleImputer(strategy="most_frequent"), None, CODED, ["statistics_"]),
    (SimpleImputer(strategy="constant", fill_value=2), None, GAPS, ["statistics_"]),
    (RobustScaler(quantile_range=(10, 80)), None, GAPS, ["center_", "scale_"]),
    (RobustScaler(unit_variance=True), None, COUNTS, ["center_", "scale_"]),
    (QuantileTransformer(n_quantiles=30), None, GAPS, ["quantiles_", "references_"]),
    (QuantileTransformer(n_quantiles=30, subsample=200, random_state=1), None, GAPS, ["quantiles_"]),
    (KBinsDiscretizer(4, random_state=0), None, FRAME, ["bin_edges_"]),
    (KBinsDiscretizer(4, subsample=100, random_state=0), None, FRAME, ["bin_edges_"]),
    (OneHotEncoder(drop="first"), None, CODED, ["categories_"]),
    (OneHotEncoder(min_frequency=0.2, max_categories=3), None, CODED, ["categories_", "rare_"]),
    (OrdinalEncoder(encoded_missing_value=-1), None, CODED, ["categories_"]),
    (TargetEncoder(), "number", CODED, ["categories_", "encodings_", "target_mean_"]),
    (TargetEncoder(smooth=3.0), "label", CODED, ["categories_", "encodings_", "target_mean_"]),
    (PoissonNB(), "label", COUNTS, ["class_log_prior_"]),
    (BernoulliMixture(2, random_state=0), None, BITS, ["weights_", "lower_bound_"]),
    (PoissonMixture(2, random_state=0), None, COUNTS, ["weights_", "lower_bound_"]),
    (CategoricalMixture(2, random_state=0), None, COUNTS, ["weights_", "lower_bound_"]),
    (GaussianMixtureClassifier(1, random_state=0), "label", FRAME, ["classes_"]),
    (HistGradientBoostingRegressor(max_iter=5, random_state=0), "number", GAPS, ["baseline_", "train_score_"]),
    (HistGradientBoostingClassifier(max_iter=5, random_state=0), "label", GAPS, ["baseline_", "train_score_"]),
]
# models without a finite statistic: both are within their certified gap
ITERATIVE = [
    (LogisticRegression(), "label"),
    (PoissonRegressor(alpha=0.1), "count"),
    (HuberRegressor(), "number"),
    (Lasso(0.1), "number"),
    (LinearSVC(), "label"),
    (LinearSVC(loss="hinge"), "label"),
    (LinearSVR(epsilon=0.5), "number"),
    (ElasticNet(0.1), "number"),
    (GroupLasso(alpha=0.1, groups=[0, 0, 1, 1]), "number"),
    (QuantileRegressor(alpha=0.01), "number"),
    (SquareRootLasso(), "number"),
    (MultiTaskLasso(0.1), ["number", "count"]),
    (MultiTaskElasticNet(0.1), ["number", "count"]),
]


def test_every_model_that_takes_sources_is_compared():
    takes = {cls for _, cls in qed.all_estimators() if cls._declared_traits.chunks}
    compared = {type(case[0]) for case in EXACT} | {type(case[0]) for case in ITERATIVE}
    assert takes <= compared, sorted(cls.__name__ for cls in takes - compared)


def source_of(table, target, *, weight=None, cuts=(0, 1, 1, 90, 300), batch_rows=40):
    edges = [0, *cuts, N]
    parts = [table[a:b] for a, b in pairwise(edges)]
    return qed.scan(parts, features=NAMES, target=target, weight=weight, batch_rows=batch_rows)


def in_memory(model, table, target, weight=None):
    y = () if target is None else (table[target].astype(int) if target == "label" else table[target],)
    extra = {} if weight is None else {"sample_weight": table[weight]}
    return qed.clone(model).fit(table[NAMES], *y, **extra)


def ids(case):
    return f"{type(case[0]).__name__}-{case[1]}"


@pytest.mark.parametrize("case", EXACT, ids=ids)
def test_statistics_of_chunks_give_the_answer_of_all_rows(case):
    model, target, table, names = case
    whole = in_memory(model, table, target)
    source = source_of(table, target)
    chunked = qed.clone(model).fit(source)
    with qed.executor(two_workers()):
        there = qed.clone(model).fit(source)
    for name in names:
        for one, other, third in zip(*(listed(getattr(model, name)) for model in (chunked, whole, there)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(one, third)
    assert qed.verify(chunked, source).holds
    assert qed.verify(whole, source).holds


def listed(value):
    return [np.nan if one is None else one for one in value] if isinstance(value, list) else [value]


@pytest.mark.parametrize("case", [EXACT[0], EXACT[3], EXACT[10], EXACT[11], EXACT[13]], ids=ids)
def test_weights_of_a_source_count(case):
    model, target, table, names = case
    source = source_of(table, target, weight="weight")
    whole, chunked = in_memory(model, table, target, "weight"), qed.clone(model).fit(source)
    for name in names:
        np.testing.assert_allclose(getattr(chunked, name), getattr(whole, name), rtol=1e-10, atol=1e-10)
    assert qed.verify(chunked, source).holds


@pytest.mark.parametrize(
    ("model", "target"), ITERATIVE, ids=lambda one: type(one).__name__ if not isinstance(one, str) else one
)
def test_a_chunked_design_reaches_the_certified_gap(model, target):
    whole, source = in_memory(model, FRAME, target), source_of(FRAME, target)
    chunked = qed.clone(model).fit(source)
    claims = [one.certificate_ for one in (whole, chunked)]
    assert all(claim.reached for claim in claims)
    near = sum(claim.gap for claim in claims) + 1e-9 * abs(claims[0].objective)
    assert abs(claims[0].objective - claims[1].objective) <= near
    assert qed.verify(chunked, source).holds


def test_a_chunked_design_on_a_cluster_gives_the_same_bits():
    source = source_of(FRAME, "label", weight="weight", cuts=(200, 210, 400))
    here = LinearSVC().fit(source)
    with qed.executor(two_workers()):
        there = LinearSVC().fit(source)
    np.testing.assert_array_equal(here.coef_, there.coef_)
    assert qed.verify(there, source).holds


def test_a_changed_model_is_refused_on_a_source():
    source = source_of(GAPS, None)
    for model, name in (
        (StandardScaler(), "mean_"),
        (MinMaxScaler(), "data_min_"),
        (SimpleImputer(), "statistics_"),
        (SimpleImputer(strategy="median"), "statistics_"),
        (SimpleImputer(strategy="most_frequent"), "statistics_"),
        (RobustScaler(), "center_"),
        (RobustScaler(), "scale_"),
        (QuantileTransformer(n_quantiles=20), "quantiles_"),
    ):
        changed = model.fit(source)
        getattr(changed, name)[1] += 1e-6
        with pytest.raises(qed.CertificateError):
            qed.verify(changed, source)
    kmeans = KMeans(3, random_state=0).fit(source_of(FRAME, None))
    kmeans.labels_[7] = (kmeans.labels_[7] + 1) % 3
    with pytest.raises(qed.CertificateError, match=r"labels"):
        qed.verify(kmeans, source_of(FRAME, None))


def test_empty_clusters_are_given_far_rows():
    table = pd.DataFrame({"a": [0.0, 0, 0, 0, 1, 1, 1, 5]})
    start = np.array([[0.0], [100.0], [200.0]])
    model = KMeans(3, init=start).fit(qed.scan([table[:3], table[3:]], batch_rows=2))
    assert sorted(model.cluster_centers_[:, 0].tolist()) == [0.0, 1.0, 5.0]


def test_what_a_source_cannot_do_is_said():
    source = source_of(GAPS, "number")
    with pytest.raises(qed.InvalidData, match=r"contains NaN: row \d+ of partition \d, column 'a'"):
        Ridge().fit(source)
    with pytest.raises(qed.InvalidData, match=r"leave each one out.*cv=5"):
        RidgeCV().fit(source_of(FRAME, "number"))
    with pytest.raises(qed.InvalidParameter, match=r"add_indicator=False from a source of chunks"):
        SimpleImputer(add_indicator=True).fit(source)
    with pytest.raises(qed.InvalidParameter, match=r"give subsample"):
        QuantileTransformer(n_quantiles=9, subsample=None).fit(source)
    with pytest.raises(qed.InvalidData, match=r"codes each row by the other folds"):
        TargetEncoder().fit_transform(source)
    with pytest.raises(qed.InvalidData, match=r"brings its own targets"):
        cross_validate(Ridge(), source, FRAME["number"])
    with pytest.raises(qed.InvalidParameter, match=r"Pass a finite C"):
        LinearSVC(C=np.inf).fit(source_of(FRAME, "label"))
    with pytest.raises(qed.InvalidData, match=r"should be >= n_clusters=501"):
        KMeans(501).fit(source_of(FRAME, None))
    with pytest.raises(qed.InvalidData, match=r"StandardScaler got a source without rows"):
        StandardScaler().fit(qed.scan(FRAME[:0], features=NAMES))
    bad = FRAME.assign(b=FRAME["b"].where(FRAME.index != 77, np.inf))
    with pytest.raises(qed.InvalidData, match=r"infinity: row 77 of partition 0, column 'b'"):
        StandardScaler().fit(qed.scan(bad, features=NAMES))


def test_counted_models_that_were_changed_are_refused_on_a_source():
    source = source_of(CODED, "number")
    for model, change in (
        (OneHotEncoder(), lambda one: one.categories_.__setitem__(1, one.categories_[1] + 1)),
        (OrdinalEncoder(max_categories=2), lambda one: one.rare_.__setitem__(1, np.array([0]))),
        (TargetEncoder(), lambda one: one.encodings_[2].__setitem__(0, 0.5)),
    ):
        change(model.fit(source))
        with pytest.raises(qed.CertificateError):
            qed.verify(model, source)
    drawn = QuantileTransformer(n_quantiles=9, subsample=300).fit(source_of(GAPS, None))
    drawn.quantiles_[1:8] = drawn.quantiles_[8]
    with pytest.raises(qed.CertificateError, match=r"is no quantile"):
        qed.verify(drawn, source_of(GAPS, None))


# -- asking, judging and searching -----------------------------------------------------------------------------------


def pipeline():
    return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), Ridge(0.1))


def test_a_pipeline_fits_answers_and_is_verified_on_a_source():
    source, (X, y) = source_of(GAPS, "number"), (GAPS[NAMES], GAPS["number"])
    here, chunked = pipeline().fit(X, y), pipeline().fit(source)
    with qed.executor(two_workers()):
        there = pipeline().fit(source)
        np.testing.assert_array_equal(there.predict(source), chunked.predict(source))
    np.testing.assert_allclose(chunked.predict(source), here.predict(X), rtol=1e-10)
    assert chunked.score(source) == pytest.approx(here.score(X, y), rel=1e-10)
    assert qed.verify(chunked, source).holds
    chunked.steps_[1][1].scale_[0] *= 1.001
    with pytest.raises(qed.CertificateError):
        qed.verify(chunked, source)


def test_transformed_chunks_are_the_rows_transformed():
    source = source_of(CODED, "label", weight="weight")
    encoder = OneHotEncoder().fit(source)
    changed = encoder.transform(source)
    assert changed.schema.names == tuple(encoder.get_feature_names_out())
    rows = np.vstack([chunk.X.toarray() for chunk in changed.chunks()])
    np.testing.assert_array_equal(rows, encoder.transform(CODED[NAMES]).toarray())
    model = LogisticRegression().fit(changed)
    assert qed.verify(model, changed).holds
    frame = pd.DataFrame(rows, columns=changed.schema.names)
    np.testing.assert_array_equal(model.predict(changed), model.predict(frame))
    y, s = CODED["label"].astype(int), CODED["weight"]
    assert model.score(changed) == pytest.approx(model.score(frame, y, s), rel=1e-12)
    with pytest.raises(qed.InvalidData, match=r"feature names should match"):
        encoder.transform(qed.scan(CODED, features=["number", "b", "c", "d"]))


@pytest.mark.parametrize(
    "case", [(pipeline(), "number"), (LogisticRegression(tol=1e-8), "label")], ids=["ridge", "log"]
)
def test_folds_of_a_source_are_judged_as_folds_of_rows(case):
    model, target = case
    table = GAPS if target == "number" else FRAME
    X, y = table[NAMES], table[target].astype(int) if target == "label" else table[target]
    source, names = source_of(table, target), ["r2"] if target == "number" else ["accuracy", "neg_log_loss"]
    cv = KFold(3, shuffle=True, random_state=0)
    here = cross_validate(model, X, y, cv=cv, scoring=names)
    for where in ("threads", two_workers()):
        with qed.executor(where):
            there = cross_validate(model, source, cv=cv, scoring=names)
        for name in names:
            np.testing.assert_allclose(there[f"test_{name}"], here[f"test_{name}"], rtol=1e-4)
    own = cross_val_predict(model, source, cv=cv)
    np.testing.assert_allclose(own, cross_val_predict(model, X, y, cv=cv), rtol=1e-4)


def test_a_search_on_a_source_finds_the_same_table():
    search = GridSearchCV(pipeline(), {"ridge__alpha": [0.1, 100.0]}, cv=3)
    source = source_of(GAPS, "number")
    here, there = qed.clone(search).fit(GAPS[NAMES], GAPS["number"]), qed.clone(search).fit(source)
    assert here.best_params_ == there.best_params_
    np.testing.assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], rtol=1e-10)
    assert qed.verify(there, source).holds


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.integers(0, N), max_size=6),
    st.sampled_from([1, 7, 64, 1000]),
    st.permutations(range(4)),
    st.floats(0, 100),
)
def test_order_statistics_do_not_depend_on_how_rows_are_cut(cuts, batch_rows, order, percent):
    table = GAPS.assign(b=np.where(GAPS["b"] < 21, -0.0, GAPS["b"] * -1e-310), c=GAPS["c"] * -1e300)
    columns = [NAMES[j] for j in order]
    edges = [0, *sorted(cuts), N]
    parts = [table[a:b] for a, b in pairwise(edges)]
    source = qed.scan(parts, features=columns, batch_rows=max(batch_rows, 7))
    model = RobustScaler(quantile_range=(min(percent, 50.0), max(percent, 50.0)))
    whole, chunked = qed.clone(model).fit(table[columns]), qed.clone(model).fit(source)
    np.testing.assert_array_equal(chunked.center_, whole.center_)
    np.testing.assert_array_equal(chunked.scale_, whole.scale_)


MODELS_OF_RANDOM_TABLES = {
    "ridge": (Ridge(), "number", ["coef_", "intercept_"]),
    "bayes": (GaussianNB(), "label", ["theta_", "var_"]),
    "components": (PCA(1), None, ["mean_", "explained_variance_"]),
    "boosting": (
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3, random_state=0),
        "label",
        ["baseline_"],
    ),
    "logistic": (LogisticRegression(), "label", []),
}


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    batch_rows=st.sampled_from([1, 5, 1000]),
    name=st.sampled_from(sorted(MODELS_OF_RANDOM_TABLES)),
)
def test_one_chunk_is_many_chunks_is_a_cluster(seed, cuts, batch_rows, name):
    """Random splits of random tables: the bits of many chunks here and on workers, and the answer of all rows in memory."""
    model, target, names = MODELS_OF_RANDOM_TABLES[name]
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(np.round(rng.normal(size=(60, 2)) * 10.0 ** rng.integers(-2, 3), 2), columns=["a", "b"])
    table["label"] = (np.arange(60) % 2).astype(float)
    table["number"] = table["a"] + rng.normal(size=60)
    edges = [0, *sorted(cuts), 60]
    columns = {"features": ["a", "b"], "target": target}
    source = qed.scan([table[a:b] for a, b in pairwise(edges)], batch_rows=batch_rows, **columns)
    here = qed.clone(model).fit(source)
    with qed.executor(two_workers()):
        there = qed.clone(model).fit(source)
    y = () if target is None else (table[target].astype(int) if target == "label" else table[target],)
    whole = qed.clone(model).fit(table[["a", "b"]], *y)
    for attribute in names:
        np.testing.assert_array_equal(getattr(here, attribute), getattr(there, attribute))
        wanted = getattr(whole, attribute)
        np.testing.assert_allclose(getattr(here, attribute), wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
    if name == "logistic":
        np.testing.assert_array_equal(here.coef_, there.coef_)
        claims = here.certificate_, whole.certificate_
        near = sum(claim.gap for claim in claims) + 1e-9 * abs(claims[0].objective)
        assert abs(claims[0].objective - claims[1].objective) <= near
    if name == "boosting":
        np.testing.assert_array_equal(here.trees_.value, there.trees_.value)
        np.testing.assert_array_equal(here.trees_.threshold, whole.trees_.threshold)
        np.testing.assert_allclose(here.trees_.value, whole.trees_.value, rtol=1e-10, atol=1e-12)
