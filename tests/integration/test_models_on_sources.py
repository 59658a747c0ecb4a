"""Models fitted on sources of chunks: the answer of the same rows in memory, here and on a cluster, and verified by streaming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from clusters import two_workers

import qed
from qed.cluster import KMeans
from qed.decomposition import PCA
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from qed.mixture import GaussianMixture
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from qed.preprocessing import MaxAbsScaler, MinMaxScaler, SimpleImputer, StandardScaler
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
]


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
        np.testing.assert_allclose(getattr(chunked, name), getattr(whole, name), rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(getattr(there, name), getattr(chunked, name))
    assert qed.verify(chunked, source).holds
    assert qed.verify(whole, source).holds


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
    for model, name in ((StandardScaler(), "mean_"), (MinMaxScaler(), "data_min_"), (SimpleImputer(), "statistics_")):
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
    with pytest.raises(qed.InvalidParameter, match=r"strategy='median'"):
        SimpleImputer(strategy="median").fit(source)
    with pytest.raises(qed.InvalidParameter, match=r"Pass a finite C"):
        LinearSVC(C=np.inf).fit(source_of(FRAME, "label"))
    with pytest.raises(qed.InvalidData, match=r"should be >= n_clusters=501"):
        KMeans(501).fit(source_of(FRAME, None))
    with pytest.raises(qed.InvalidData, match=r"StandardScaler got a source without rows"):
        StandardScaler().fit(qed.scan(FRAME[:0], features=NAMES))
    bad = FRAME.assign(b=FRAME["b"].where(FRAME.index != 77, np.inf))
    with pytest.raises(qed.InvalidData, match=r"infinity: row 77 of partition 0, column 'b'"):
        StandardScaler().fit(qed.scan(bad, features=NAMES))
