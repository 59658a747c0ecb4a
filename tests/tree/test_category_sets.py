"""Categories as sets: in trees and forests some go left, and no other set would be better."""

import itertools

import numpy as np
import pandas as pd
import pytest

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from qed.inspection import explain
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor, export_graphviz, export_text


def table(n=250, seed=0, missing=True):
    rng = np.random.default_rng(seed)
    words = rng.choice(list("abcdefg"), n).astype(object)
    level = dict(zip("abcdefg", 2 * rng.normal(size=7), strict=True))
    z = rng.normal(size=n)
    y = np.array([level[one] for one in words]) + z + 0.3 * rng.normal(size=n)
    if missing:
        words[::11], z[::13] = None, np.nan
    return pd.DataFrame({"kind": words, "z": z}), y


def mass(y, criterion):
    if criterion == "squared_error":
        return float(((y - y.mean()) ** 2).sum())
    share = np.bincount(y, minlength=2) / len(y)
    if criterion == "gini":
        return len(y) * float(1 - (share**2).sum())
    return -len(y) * float((share[share > 0] * np.log2(share[share > 0])).sum())


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
@pytest.mark.parametrize("seed", range(4))
def test_no_set_of_categories_leaves_less(criterion, seed):
    X, y = table(60, seed, missing=False)
    target = y if criterion == "squared_error" else (y > 0).astype(int)
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    model = kind(criterion=criterion, max_depth=1).fit(X[["kind"]], target)
    known = sorted(set(X["kind"]))
    least = min(
        mass(target[inside], criterion) + mass(target[~inside], criterion)
        for size in range(1, len(known))
        for some in itertools.combinations(known, size)
        for inside in [X["kind"].isin(some).to_numpy()]
    )
    assert model.certificate_.objective == pytest.approx(least / len(y))


MODELS = [
    (DecisionTreeRegressor(max_depth=5), "number"),
    (DecisionTreeRegressor(criterion="poisson", max_depth=3), "count"),
    (DecisionTreeRegressor(max_leaf_nodes=7, ccp_alpha=0.01), "number"),
    (DecisionTreeClassifier(max_depth=4), "two"),
    (DecisionTreeClassifier(criterion="entropy", max_depth=4), "three"),
    (DecisionTreeClassifier(max_depth=4), "columns"),
    (ExtraTreeRegressor(max_depth=5, random_state=0), "number"),
    (RandomForestRegressor(6, random_state=0), "number"),
    (RandomForestClassifier(6, random_state=0), "two"),
    (RandomForestClassifier(6, random_state=0, criterion="entropy", max_depth=5), "three"),
    (RandomForestClassifier(4, random_state=0), "columns"),
    (ExtraTreesClassifier(6, random_state=0, bootstrap=True), "three"),
    (ExtraTreesRegressor(6, random_state=0, max_leaf_nodes=12), "number"),
]


def target_of(y, kind):
    if kind == "count":
        return np.rint(np.exp(y / 3))
    if kind == "columns":
        return np.column_stack([y > 0, np.digitize(y, [-1, 1])])
    return {"number": y, "two": (y > 0).astype(int), "three": np.array(["x", "y", "z"])[np.digitize(y, [-1, 1])]}[kind]


def nodes_of(model):
    return model.trees_ if hasattr(model, "trees_") else model.tree_


@pytest.mark.parametrize(("model", "kind"), MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_verified_saved_and_changes_are_refused(model, kind, weighted, tmp_path):
    X, y = table()
    target, s = target_of(y, kind), np.arange(len(y)) % 3 + 1.0 if weighted else None
    model = qed.core.clone(model).fit(X, target, s)
    assert len(nodes_of(model).by_set) > 0
    qed.verify(model, X, target, s)
    model.save(tmp_path / "model.qed")
    loaded = qed.load(tmp_path / "model.qed")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    sets = nodes_of(loaded).sets.copy()
    sets[0, :8] ^= sets[0, 8:]  # left and right change places
    object.__setattr__(nodes_of(loaded), "sets", sets)
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, target, s)
    loaded = qed.load(tmp_path / "model.qed")
    loaded.categories_[0] = loaded.categories_[0][::-1].copy()
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, target, s)


def test_threads_and_row_order_change_nothing():
    X, y = table()
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 3):
            qed.set_num_threads(threads)
            found.append(RandomForestRegressor(4, random_state=0).fit(X, y).predict(X))
    finally:
        qed.set_num_threads(before)
    assert np.array_equal(*found)
    order = np.random.default_rng(1).permutation(len(y))
    one, other = DecisionTreeRegressor().fit(X, y), DecisionTreeRegressor().fit(X.iloc[order], y[order])
    assert np.allclose(one.predict(X), other.predict(X))


def test_unknown_categories_go_where_missing_ones_go():
    X, y = table()
    strange = pd.DataFrame({"kind": ["yak", None], "z": [0.1, 0.1]})
    for model in (DecisionTreeRegressor(), RandomForestRegressor(5, random_state=0)):
        assert len(set(model.fit(X, y).predict(strange).tolist())) == 1


def test_sets_are_written_in_words():
    X, y = table()
    model = DecisionTreeRegressor(max_depth=1).fit(X[["kind"]], y)
    left, right = model.tree_.categories_left(0)
    words = model.categories_[0]
    text = export_text(model)
    assert f"kind in {{{', '.join(words[left])}}}" in text
    assert f"kind in {{{', '.join(words[right])}}}" in text
    assert f"kind in {{{', '.join(words[left])}}}" in export_graphviz(model)


def test_contributions_of_categories_add_up():
    X, y = table(100)
    model = DecisionTreeRegressor(max_depth=4).fit(X, y)
    codes = model._new_data(X)
    found = explain(model, X.iloc[:5])
    assert np.allclose(found.values.sum(axis=1) + found.base_value, model.predict(X.iloc[:5]))
    assert codes.shape == (100, 2)


def test_numbers_named_as_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 200), rng.normal(size=200)]).astype(float)
    y = np.array([0.0, 5.0, 0.0, 5.0, 0.0, 5.0])[X[:, 0].astype(int)]
    assert DecisionTreeRegressor(categorical_features=[0]).fit(X, y).get_depth() == 1
    assert DecisionTreeRegressor().fit(X, y).get_depth() > 1


def test_what_sets_cannot_be_found_for_is_said():
    X, y = table()
    with pytest.raises(InvalidParameter, match="categories are not supported for absolute_error"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    with pytest.raises(InvalidParameter, match="cannot have monotonic constraints"):
        RandomForestRegressor(monotonic_cst={"kind": 1}).fit(X, y)
    with pytest.raises(InvalidData, match="300 categories, more than 255"):
        DecisionTreeRegressor().fit(pd.DataFrame({"kind": [f"w{k}" for k in range(300)]}), np.arange(300.0))
    with pytest.raises(InvalidData, match="String"):
        DecisionTreeRegressor(categorical_features=None).fit(X, y)
