"""Shapley values of models: against all subsets, at any depth, on any number of threads, and against the checker."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import qed
from qed.compose import ColumnTransformer, Pipeline
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.datasets import load_iris
from qed.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.inspection import explain, permutation_importance, shapley_values
from qed.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from qed.neighbors import KNeighborsRegressor
from qed.preprocessing import OneHotEncoder, SimpleImputer, StandardScaler
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

N, P = 200, 5


def table(seed=0, *, gaps=True):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, P))
    X[:, 4] = random.integers(0, 4, N)
    y = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 4] == 2)
    if gaps:
        X[random.random((N, P)) < 0.1] = np.nan
    return X, y


def models():
    X, y = table()
    classes = np.digitize(y, [-0.5, 0.7])
    small = {"max_iter": 6, "min_samples_leaf": 5}
    return [
        DecisionTreeRegressor().fit(X, y),
        DecisionTreeClassifier().fit(X, classes),
        RandomForestRegressor(4, random_state=0).fit(X, y),
        RandomForestRegressor(3, random_state=0).fit(X, np.column_stack([y, -y, y**2])),
        RandomForestClassifier(4, random_state=0).fit(X, classes),
        RandomForestClassifier(4, random_state=0).fit(X, classes > 0),
        ExtraTreesRegressor(3, random_state=0).fit(X, y),
        GradientBoostingClassifier(n_estimators=4).fit(X, classes),
        HistGradientBoostingRegressor(categorical_features=[4], **small).fit(X, y),
        HistGradientBoostingRegressor(loss="poisson", **small).fit(X, np.exp(y / 3)),
        HistGradientBoostingClassifier(**small).fit(X, classes),
        HistGradientBoostingClassifier(**small).fit(X, classes > 0),
    ]


def by_subsets(worth, p):
    """Shapley values by definition."""
    known = {S: worth(S) for r in range(p + 1) for S in itertools.combinations(range(p), r)}
    return np.array(
        [
            sum(
                math.factorial(len(S))
                * math.factorial(p - len(S) - 1)
                / math.factorial(p)
                * (known[tuple(sorted((*S, j)))] - worth_of)
                for S, worth_of in known.items()
                if j not in S
            )
            for j in range(p)
        ]
    )


def said(model, found, X):
    told = np.asarray(getattr(model, found.output.removeprefix("log of "))(X), dtype=float).reshape(len(X), -1)
    told = np.log(told) if found.output.startswith("log of ") else told
    return told[:, 1:] if found.output == "predict_proba" and told.shape[1] == 2 else told


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_trees_against_a_background_are_those_of_all_subsets(model):
    X, _ = table()
    background = X[100:120]
    found = shapley_values(model, X[:3], background=background)
    values = found.values.reshape(3, P, -1)
    for row in range(3):

        def worth(S, row=row):
            mixed = background.copy()
            mixed[:, list(S)] = X[row, list(S)]
            return said(model, found, mixed).mean(axis=0)

        assert np.allclose(by_subsets(worth, P), values[row], atol=1e-13, rtol=0)
    assert found.certificate.reached
    assert qed.verify(found, model, background).holds


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_path_dependent_values_add_up_and_are_verified(model):
    X, _ = table()
    found = shapley_values(model, X[:20])
    total = found.values.sum(axis=1) + found.base_value
    assert np.allclose(total, said(model, found, X[:20]).reshape(total.shape), atol=1e-13, rtol=0)
    assert found.certificate.reached
    assert qed.verify(found, model).holds
    for changed in (found.values[:, ::-1].copy(), found.values + 1e-9, np.full_like(found.values, np.nan)):
        with pytest.raises(CertificateError):
            qed.verify(dataclasses.replace(found, values=changed), model)


def path_worth(tree, x, S, node=0):
    """The path-dependent game by its definition: splits on absent columns are followed both ways, by weight."""
    if tree.children_left[node] < 0:
        return tree.value[node].ravel()
    left, right, column = tree.children_left[node], tree.children_right[node], tree.feature[node]
    if column in S:
        goes_left = bool(tree.missing_go_to_left[node]) if np.isnan(x[column]) else x[column] <= tree.threshold[node]
        return path_worth(tree, x, S, left if goes_left else right)
    weight = tree.weighted_n_node_samples
    return (weight[left] * path_worth(tree, x, S, left) + weight[right] * path_worth(tree, x, S, right)) / weight[node]


def test_path_dependent_game_of_a_tree_by_definition():
    X, y = table()
    weight = np.random.default_rng(1).integers(1, 4, N).astype(float)
    model = DecisionTreeRegressor().fit(X, y, sample_weight=weight)
    found = shapley_values(model, X[:4])
    for row in range(4):
        expected = by_subsets(lambda S, row=row: path_worth(model.tree_, X[row], S), P)[:, 0]
        assert np.allclose(expected, found.values[row], atol=1e-13, rtol=0)


@pytest.mark.parametrize("depth", [30, 100, 400])
def test_values_add_up_at_any_depth(depth):
    X = np.eye(depth)[np.arange(3 * depth) % depth]
    y = np.arange(3 * depth) % depth * 1.0
    model = DecisionTreeRegressor().fit(X, y)
    assert model.get_depth() >= depth - 2
    found = shapley_values(model, X[:4])
    assert found.certificate.residual < 1e-11 * depth
    against = shapley_values(model, X[:4], background=X)
    assert against.certificate.residual < 1e-11 * depth


def test_the_same_bits_on_any_number_of_threads():
    X, y = table()
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8, 64):
            qed.set_num_threads(threads)
            found.append((shapley_values(model, X).values, shapley_values(model, X, background=X[:70]).values))
    finally:
        qed.set_num_threads(before)
    for path, against in found[1:]:
        assert (path == found[0][0]).all()
        assert (against == found[0][1]).all()


def test_walks_and_tables_agree():
    X, y = table()
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    many = shapley_values(model, np.tile(X, (20, 1)), background=X[:150]).values[:N]  # tables
    few = np.concatenate([shapley_values(model, X[i : i + 1], background=X[:150]).values for i in range(10)])  # walks
    assert np.allclose(many[:10], few, atol=1e-13, rtol=0)


def test_groups_of_columns_are_players():
    X, y = table()
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    groups = [0, 1, 1, 0, 2]
    found = shapley_values(model, X[:2], background=X[:15], players=groups)
    for row in range(2):

        def worth(S, row=row):
            mixed, inside = X[:15].copy(), np.isin(groups, S)
            mixed[:, inside] = X[row, inside]
            return model.predict(mixed).mean()

        assert np.allclose(by_subsets(worth, 3), found.values[row], atol=1e-13, rtol=0)
    assert found.feature_names == ("x0 + x3", "x1 + x2", "x4")
    assert np.allclose(
        shapley_values(model, X[:2], players=groups).values.sum(axis=1) + model_base(model, X), model.predict(X[:2])
    )


def model_base(model, X):
    return shapley_values(model, X[:1]).base_value


@pytest.mark.covers("INT-18")
def test_linear_models():
    X, y = table(gaps=False)
    model = LinearRegression().fit(X, y)
    found = shapley_values(model, X[:9], background=X)
    assert np.allclose(found.values, model.coef_ * (X[:9] - X.mean(axis=0)), atol=1e-13, rtol=0)
    assert qed.verify(found, model, X).holds
    for other, target in (
        (LogisticRegression(), y > 0),
        (LogisticRegression(), np.digitize(y, [-0.5, 0.5])),
        (PoissonRegressor(), np.exp(y / 2)),
    ):
        other.fit(X, target)
        found = shapley_values(other, X[:9], background=X[:50])
        assert found.certificate.method == "linear"
        assert found.certificate.reached
        assert qed.verify(found, other, X[:50]).holds
        with pytest.raises(CertificateError):
            qed.verify(dataclasses.replace(found, values=found.values[:, ::-1].copy()), other, X[:50])


@pytest.mark.covers("INT-17")
@pytest.mark.parametrize("kind", [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB])
@pytest.mark.parametrize("k", [2, 3])
def test_naive_bayes_adds_log_odds_to_the_prior(kind, k):
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (N, P)).astype(float)
    y = np.digitize(X[:, 0] + 3 * random.random(N), [2.0, 4.0])
    model = kind().fit(X, y if k == 3 else y > 0)
    found = shapley_values(model, X[:20])
    assert found.output == "log-odds"
    odds = np.log(model.predict_proba(X[:20]))
    expected = odds[:, 1] - odds[:, 0] if k == 2 else odds - odds.mean(axis=1, keepdims=True)
    assert np.allclose(found.values.sum(axis=1) + found.base_value, expected, atol=1e-5)
    assert qed.verify(found, model).holds
    with pytest.raises(CertificateError):
        qed.verify(dataclasses.replace(found, values=found.values[:, ::-1].copy()), model)


def test_any_model_by_enumeration_and_by_permutations():
    X, y = table(gaps=False)
    model = KNeighborsRegressor().fit(X, y)
    exact = shapley_values(model, X[:2], background=X[:20])
    assert exact.certificate.method == "enumeration"
    assert qed.verify(exact, model, X[:20]).holds
    sampled = shapley_values(model, X[:2], background=X[:20], max_evals=31, random_state=0)
    assert sampled.certificate.method == "permutations"
    assert sampled.certificate.reached
    assert sampled.certificate.standard_error > 0
    scores = (sampled.values - exact.values) / np.maximum(sampled.standard_errors, 1e-12)
    assert np.abs(scores[sampled.standard_errors > 0]).max() < 40  # four pairs: Student's law of three degrees
    tight = shapley_values(model, X[:1], background=X[:20], max_evals=30 * 8, tol=10.0, random_state=0)
    assert (np.abs(tight.values - exact.values[:1]) <= 7 * tight.standard_errors + 1e-12).all()
    again = shapley_values(model, X[:2], background=X[:20], max_evals=31, random_state=0)
    assert (again.values == sampled.values).all()


def test_pipelines_are_explained_in_their_own_columns():
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=90),
            "kind": np.array(["u", "v", "w"])[random.integers(0, 3, 90)],
            "b": random.normal(size=90),
        }
    )
    frame.loc[::9, "a"] = np.nan
    y = np.nan_to_num(frame["a"]) * 2 + (frame["kind"] == "v") + frame["b"]
    prepare = ColumnTransformer(
        [
            (
                "numbers",
                Pipeline([("fill", SimpleImputer(add_indicator=True)), ("scale", StandardScaler())]),
                ["a", "b"],
            ),
            ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    )
    for last, method in ((Ridge(), "linear"), (RandomForestRegressor(5, random_state=0), "trees")):
        model = Pipeline([("prepare", prepare), ("model", last)]).fit(frame, y)
        found = explain(model, frame.iloc[:7], background=frame)
        assert found.feature_names == ("a", "kind", "b")
        assert found.certificate.method == method
        assert np.allclose(found.values.sum(axis=1) + found.base_value, model.predict(frame.iloc[:7]))
        whole = shapley_values(model, frame.iloc[:7], background=frame)  # by predictions alone
        assert np.allclose(whole.values, found.values, atol=1e-10)
    names = explain(model, frame.iloc[:7], background=frame, feature_names=["A", "K", "B"]).feature_names
    assert names == ("A", "K", "B")


def test_iris_and_input_that_is_odd():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    found = explain(model, X)
    assert found.values.shape == (150, 4, 3)
    assert found.of_output("2").values.shape == (150, 4)
    assert set(np.argsort(found.importance().sum(axis=1))[-2:]) == {2, 3}  # petals tell the species
    assert np.allclose(
        explain(model, X[::-1][:5].astype(np.float32)).values,
        explain(model, X[::-1][:5].astype(np.float32).astype(float)).values,
    )
    for call in (
        lambda: explain(model, X[:0]),
        lambda: shapley_values(model, X, output="other"),
        lambda: shapley_values(model, X, players=[0, 1]),
        lambda: shapley_values(model, X, players=[0, 2, 2, 3]),
        found.of_output,
        lambda: found.of_output("none"),
        lambda: found.column("none"),
        lambda: explain(model, X[:2], feature_names=["a"]),
        lambda: qed.verify(shapley_values(model, X[:2], background=X[:9]), model),
    ):
        with pytest.raises((InvalidData, InvalidParameter)):
            call()


@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_permutation_importance_skips_only_what_cannot_change(target):
    X, y = table()
    if target == "classes":
        y = np.digitize(y, [-0.5, 0.7])
        candidates = [
            RandomForestClassifier(7, random_state=0),
            HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, categorical_features=[4]),
        ]
    else:
        candidates = [
            RandomForestRegressor(7, random_state=0),
            HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5),
        ]

    class Plain:
        def __init__(self, model):
            self.model = model

        def fit(self, X, y):
            return self

        def score(self, X, y):
            return self.model.score(X, y)

    for model in candidates:
        model.fit(X, y)
        fast = permutation_importance(model, X, y, random_state=0)
        plain = permutation_importance(Plain(model), X, y, random_state=0)
        assert np.allclose(fast.importances, plain.importances, atol=1e-12)
        assert fast.importances.shape == (P, 5)
        assert np.allclose(fast.importances_std, fast["importances"].std(axis=1))
        few = permutation_importance(model, X, y, random_state=0, max_samples=0.5, n_repeats=2, scoring=None)
        assert few.importances.shape == (P, 2)
    several = permutation_importance(
        model, X, y, random_state=0, scoring=["accuracy"] if target == "classes" else ["r2", "neg_mean_squared_error"]
    )
    assert np.allclose(next(iter(several.values())).importances, fast.importances, atol=1e-12)


def test_permutation_importance_of_frames_and_bad_input():
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(N)[::-1])
    model = RandomForestRegressor(5, random_state=0).fit(frame, y)
    found = permutation_importance(model, frame, y, random_state=0).importances
    bare = RandomForestRegressor(5, random_state=0).fit(X, y)
    assert np.allclose(found, permutation_importance(bare, X, y, random_state=0).importances, atol=1e-12)
    for call in (
        lambda: permutation_importance(bare, X, y[:5]),
        lambda: permutation_importance(bare, X, y, n_repeats=0),
        lambda: permutation_importance(bare, X, y, max_samples=2.0),
        lambda: permutation_importance(bare, X, y, n_jobs="all"),
    ):
        with pytest.raises((InvalidData, InvalidParameter)):
            call()
