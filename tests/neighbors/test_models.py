"""Votes and means of the nearest rows."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn import neighbors as theirs

import qed
from qed.core._persistence import dumps, loads
from qed.datasets import load_iris
from qed.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from qed.neighbors import KernelDensity, KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

rng = np.random.default_rng(1)
X = rng.standard_normal((200, 3))
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.standard_normal(200), [-0.5, 0.5])]
NUMBERS = X[:, 0] + 0.1 * rng.standard_normal(200)
NEW = rng.standard_normal((50, 3))


def squared(d):
    return np.exp(-(d**2))


@pytest.mark.parametrize("weights", ["uniform", "distance", None, squared])
@pytest.mark.parametrize("params", [{}, {"p": 1, "n_neighbors": 8}, {"metric": "cosine", "n_neighbors": 1}], ids=str)
def test_answers_are_those_of_scikit_learn(weights, params):
    points = np.vstack([NEW, X[:20]])  # some at no distance from a row
    ours, other = (
        kind(weights=weights, **params).fit(X, LABELS) for kind in (KNeighborsClassifier, theirs.KNeighborsClassifier)
    )
    np.testing.assert_allclose(ours.predict_proba(points), other.predict_proba(points), atol=1e-12)
    assert np.array_equal(ours.predict(points), other.predict(points))
    for y in (NUMBERS, np.column_stack([NUMBERS, X[:, 1]])):
        ours, other = (
            kind(weights=weights, **params).fit(X, y) for kind in (KNeighborsRegressor, theirs.KNeighborsRegressor)
        )
        np.testing.assert_allclose(ours.predict(points), other.predict(points), rtol=1e-10, atol=1e-12)


@pytest.mark.covers("KNN-01", "KNN-02")
def test_one_neighbour_all_neighbours_and_signs():
    assert KNeighborsClassifier(1).fit(X, LABELS).score(X, LABELS) == 1.0
    values, counts = np.unique(LABELS, return_counts=True)
    assert set(KNeighborsClassifier(len(X)).fit(X, LABELS).predict(NEW)) == {values[counts.argmax()]}
    signs = np.where(NUMBERS > 0, 1, -1)
    for k in (1, 3, 7):
        model = KNeighborsClassifier(k).fit(X, signs)
        far = ((NEW[:, None] - X) ** 2).sum(axis=2)
        among = np.argsort(far, axis=1, kind="stable")[:, :k]  # of all rows
        assert np.array_equal(model.predict(NEW), np.sign(signs[among].sum(axis=1)))
    weighted = KNeighborsClassifier(7, weights=squared).fit(X, signs)
    votes = (signs[among] * np.exp(-np.take_along_axis(far, among, axis=1))).sum(axis=1)
    assert np.array_equal(weighted.predict(NEW), np.sign(votes))


@pytest.mark.covers("KNN-03")
def test_means_of_targets():
    ids = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(NEW, return_distance=False)
    np.testing.assert_allclose(
        KNeighborsRegressor(4).fit(X, NUMBERS).predict(NEW), NUMBERS[ids].mean(axis=1), rtol=1e-13
    )
    np.testing.assert_allclose(KNeighborsRegressor(len(X)).fit(X, NUMBERS).predict(NEW), NUMBERS.mean(), rtol=1e-12)


@pytest.mark.covers("KNN-11", "KNN-13")
def test_errors_of_one_neighbour_and_of_many():
    """Exact risks of fitted rules: the truth is known, and the rule is asked on a fine grid."""
    n = 10_000
    x = np.sort(rng.random(n))
    grid = (np.arange(8_000) + 0.5) / 8_000
    eta = np.where(grid < 0.5, 0.8, 0.2)
    y = rng.random(n) < np.where(x < 0.5, 0.8, 0.2)

    def risk(k):
        says = KNeighborsClassifier(k).fit(x[:, None], y).predict(grid[:, None])
        return np.mean(np.where(says, 1 - eta, eta))

    best = 0.2
    assert risk(101) <= 0.22
    assert abs(risk(1) - 0.32) <= 0.02
    assert risk(1) <= best * (2 - 2 * best) + 0.02  # twice the best risk, less something, in the limit
    coin = rng.random(n) < 0.1  # labels that know nothing of the rows: 1 - 0.9² - 0.1²
    says = KNeighborsClassifier(1).fit(x[:, None], coin).predict(grid[:, None])
    assert abs(np.mean(np.where(says, 0.9, 0.1)) - 0.18) <= 0.02


@pytest.mark.covers("KNN-34")
def test_the_number_of_neighbours_by_folds():
    iris = load_iris()
    table, kinds = iris.data[::2], iris.target[::2]
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 25]}, cv=folds).fit(table, kinds)
    for k, mean in zip([1, 5, 25], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in folds.split(table):
            far = ((table[test][:, None] - table[train]) ** 2).sum(axis=2)
            votes = kinds[train][np.argsort(far, axis=1, kind="stable")[:, :k]]
            says = np.array([np.bincount(row, minlength=3).argmax() for row in votes])
            scores.append(np.mean(says == kinds[test]))
        assert mean == pytest.approx(np.mean(scores), abs=1e-12)
    one = KNeighborsClassifier(1).fit(table, kinds)
    left_out = cross_val_score(KNeighborsClassifier(1), table, kinds, cv=LeaveOneOut())
    assert np.mean(one.predict(None) == kinds) == np.mean(left_out)  # each row by the others


def test_rows_that_come_in_parts_are_rows_that_came_at_once():
    whole = KNeighborsClassifier(3).fit(X, LABELS)
    parts = KNeighborsClassifier(3)
    for at in (slice(0, 50), slice(50, 51), slice(51, 200)):
        parts.partial_fit(X[at], LABELS[at], classes=["a", "b", "c", "never"])
    assert np.array_equal(parts.predict(NEW), whole.predict(NEW))
    assert np.array_equal(parts.kneighbors(NEW)[0], whole.kneighbors(NEW)[0])
    assert parts.predict_proba(NEW)[:, 3].max() == 0
    assert qed.verify(parts, X, LABELS).holds
    with pytest.raises(qed.InvalidData, match="not among those of the first call"):
        parts.partial_fit(X[:1], ["d"])
    with pytest.raises(qed.InvalidParameter, match="classes must be passed"):
        KNeighborsClassifier().partial_fit(X, LABELS)


def test_the_model_keeps_its_own_rows():
    mine = X.copy()
    model = KNeighborsRegressor().fit(mine, NUMBERS)
    before = model.predict(NEW)
    mine[:] = 0
    assert np.array_equal(model.predict(NEW), before)
    model.set_params(metric="cosine", n_neighbors=5)
    assert np.array_equal(loads(dumps(copy.deepcopy(model))).predict(NEW), before), (
        "the metric of the fit stays until the next"
    )


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(3),
        KNeighborsRegressor(weights="distance"),
        NearestNeighbors(metric="cosine"),
        KNeighborsRegressor(p=3),
        KernelDensity(bandwidth=0.4),
        KernelDensity(bandwidth="scott", kernel="cosine", metric="manhattan"),
    ],
    ids=repr,
)
def test_the_checker_believes_models_and_not_their_changes(model):
    y = LABELS if isinstance(model, KNeighborsClassifier) else NUMBERS
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    order = rng.permutation(len(X))
    assert qed.verify(model, X[order], y[order]).holds
    assert qed.verify(loads(dumps(model)), X, y).holds

    def refused(changed, X=X, y=y):
        changed.__dict__.pop("_index", None)
        with pytest.raises(qed.CertificateError):
            qed.verify(changed, X, y)

    changes = {"rows_": (3, 1)}
    if "targets_" in model.__dict__:
        changes["targets_"] = (5,)
    for name, at in changes.items():
        other = copy.deepcopy(model)
        value = getattr(other, name)
        value[at] = (value[at] + 1) % 3 if value.dtype.kind == "i" else value[at] * (1 + 1e-12)
        refused(other)
    if isinstance(model, KernelDensity):
        other = copy.deepcopy(model)
        other.bandwidth_ *= 1 + 1e-9
        refused(other)
    other = copy.deepcopy(model)
    other.effective_metric_ = "chebyshev"
    other.effective_metric_params_ = {}
    if "bandwidth_" not in other.__dict__:  # an index that measures something else than the model says
        other._index = model._index
        with pytest.raises(qed.CertificateError):
            qed.verify(other, X, y)
    changed = X.copy()
    changed[7, 0] += 1e-5
    refused(copy.deepcopy(model), X=changed)
    refused(copy.deepcopy(model), X=X[:-1], y=y[:-1])


def test_an_index_that_leaves_rows_out_is_made_again():
    model = KNeighborsRegressor().fit(X, NUMBERS)
    parts = list(model._index.parts)
    parts[0] = parts[0].copy()
    parts[0][3:9] = 1e9  # rows that nobody finds any more
    model._index.__dict__["parts"] = tuple(parts)
    honest = KNeighborsRegressor().fit(X, NUMBERS).predict(X)
    assert not np.array_equal(model.predict(X), honest)
    assert qed.verify(model, X, NUMBERS).holds
    assert np.array_equal(model.predict(X), honest)


def test_containers_types_and_strides_give_the_same_answers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ["u", "v", "w"]
    plain = KNeighborsClassifier().fit(X, LABELS).predict_proba(NEW)
    read_only = X.copy()
    read_only.flags.writeable = False
    for table in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only, X.tolist()):
        assert np.array_equal(KNeighborsClassifier().fit(table, LABELS).predict_proba(NEW), plain)
    for frame in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        model = KNeighborsClassifier().fit(frame, LABELS)
        new = (
            type(frame)(NEW, columns=names)
            if frame.__class__.__module__.startswith("pandas")
            else polars.DataFrame(NEW, schema=names)
        )
        assert np.array_equal(model.predict_proba(new), plain)
        assert model.feature_names_in_.tolist() == names
    small = X.astype(np.float32)
    told, ids = NearestNeighbors().fit(small).kneighbors(NEW.astype(np.float32))
    wide, same = NearestNeighbors().fit(small.astype(np.float64)).kneighbors(NEW.astype(np.float32).astype(np.float64))
    assert np.array_equal(told, wide)
    assert np.array_equal(ids, same)


def test_corners():
    one = KNeighborsClassifier(1).fit([[3.0]], ["only"])
    assert one.predict([[0.0]]).tolist() == ["only"]
    assert one.predict_proba([[0.0]]).tolist() == [[1.0]]
    same = KNeighborsRegressor(2, weights="distance").fit([[1.0, 5.0]] * 3, [1.0, 2.0, 6.0])
    assert same.predict([[1.0, 5.0]]).tolist() == [1.5]  # constant columns; the first two of equal rows
    tiny = KNeighborsRegressor(2, weights="distance").fit([[0.0], [3e-130]], [0.0, 1.0])
    assert tiny.predict([[1e-130]])[0] == pytest.approx(1 / 3)
    with pytest.raises(qed.InvalidData, match="1d array"):
        KNeighborsClassifier().fit(X, np.column_stack([LABELS, LABELS]))
    for weights in (lambda d: d[:, :1], lambda d: -d, np.zeros_like):
        model = KNeighborsClassifier(weights=weights).fit(X, LABELS)
        with pytest.raises(qed.InvalidData, match="weights"):
            model.predict(NEW)
    with pytest.raises(TypeError, match="n_neighbors does not take"):
        NearestNeighbors().fit(X).kneighbors(NEW, 2.5)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (KNeighborsClassifier, "targets_", np.full(200, 3)),
        (KNeighborsClassifier, "targets_", np.zeros(199, np.int64)),
        (KNeighborsRegressor, "targets_", np.full(200, np.nan)),
        (NearestNeighbors, "rows_", np.full((200, 3), np.inf)),
        (NearestNeighbors, "rows_", np.zeros((200, 2))),
        (NearestNeighbors, "effective_metric_", "nothing"),
        (NearestNeighbors, "effective_metric_params_", {"p": -1.0}),
        (NearestNeighbors, "algorithm_used_", "magic"),
        (KernelDensity, "bandwidth_", -1.0),
        (KernelDensity, "weights_", np.zeros(200)),
        (KernelDensity, "effective_metric_", "cosine"),
    ],
)
def test_files_that_make_no_sense_are_refused(kind, name, value):
    model = kind().fit(X, LABELS if kind is KNeighborsClassifier else NUMBERS)
    setattr(model, name, value)
    with pytest.raises(qed.ModelFileError):
        dumps(model)


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    monkeypatch.setenv("QED_MEMORY_LIMIT", "1000")
    with pytest.raises(qed.MemoryLimit, match="keeping 200 rows"):
        KNeighborsClassifier().fit(X, LABELS)
