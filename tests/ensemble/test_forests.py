"""Forests: agreement with single trees and scikit-learn, laws, certificates that are checked, and changed models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_array

import qed
from qed.core import CertificateError, InvalidParameter, ModelFileError, NotSupported, clone
from qed.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from qed.ensemble._forest_model import hoeffding_interval
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor)


def table(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = np.round(X[:, 3], 1)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


def target(kind: Any, y: Any) -> Any:
    return y if "Regressor" in kind.__name__ else np.digitize(y, [-1.0, 1.0])


@pytest.mark.covers("TRE-14")
def test_one_tree_without_drawing_is_the_tree() -> None:
    X, y = table(60)  # so few rows that all thresholds are compared
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None).fit(X, y > 0)
    tree = DecisionTreeClassifier().fit(X, y > 0)
    new = table(500, 1)[0]
    np.testing.assert_array_equal(forest.predict_proba(new), tree.predict_proba(new))
    numbers = RandomForestRegressor(1, bootstrap=False).fit(X, y)
    np.testing.assert_allclose(numbers.predict(new), DecisionTreeRegressor().fit(X, y).predict(new), rtol=1e-12)


@pytest.mark.covers("TRE-14")
def test_votes_of_pure_leaves_sum_to_the_number_of_trees_and_their_order_is_irrelevant() -> None:
    X, y = table()
    forest = RandomForestClassifier(7, random_state=0).fit(X, y > 0)
    trees = forest.trees_
    leaves = forest.apply(X)
    votes = np.zeros((len(X), 2))
    for number in range(len(trees)):  # the trees in another order
        own = trees.starts[number] + leaves[:, number]
        votes += trees.shares[trees.leaf_numbers[own]]
    np.testing.assert_allclose(votes.sum(axis=1), 7)
    np.testing.assert_allclose(forest.predict_proba(X), votes[:, :] / 7, rtol=1e-12)
    assert (forest.predict(X) == forest.classes_[votes.argmax(axis=1)]).all()


@pytest.mark.covers("TRE-15")
def test_a_moved_row_changes_a_tree_more_than_a_forest() -> None:
    X, y = table(80, 3)
    labels, new = (y > 0).astype(int), table(2000, 4)[0]
    moved = X.copy()
    moved[np.argmax(X[:, 0])] = X[np.argmin(X[:, 0])]
    tree = [DecisionTreeClassifier().fit(one, labels).predict(new) for one in (X, moved)]
    forest = [RandomForestClassifier(random_state=0).fit(one, labels).predict(new) for one in (X, moved)]
    assert (tree[0] != tree[1]).mean() > (forest[0] != forest[1]).mean()
    # both columns cut these rows equally well; one moved point makes the second column the better one
    near = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    other = near.copy()
    other[1, 0] = 2.5
    roots = [DecisionTreeClassifier().fit(one, [0, 0, 1, 1]).tree_.feature[0] for one in (near, other)]
    assert roots == [0, 1]


@pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)
def test_held_out_scores_are_those_of_scikit_learn(kind: Any) -> None:
    X, y = table(600)
    new, truth = table(3000, 1)
    theirs = getattr(sklearn.ensemble, kind.__name__)
    scores = [
        [model(30, random_state=seed).fit(X, target(kind, y)).score(new, target(kind, truth)) for seed in range(5)]
        for model in (kind, theirs)
    ]
    assert np.mean(scores[0]) > np.mean(scores[1]) - 0.01


@pytest.mark.parametrize("weighted", [None, "any"])
@pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)
def test_predictions_rise_and_fall_as_asked(kind: Any, weighted: str | None) -> None:
    X, y = table()
    y = y if "Regressor" in kind.__name__ else (y > 0).astype(int)
    s = weights(weighted, len(y))
    model = kind(n_estimators=6, random_state=0, monotonic_cst=[1, -1] + [0] * (X.shape[1] - 2)).fit(X, y, s)
    free = kind(n_estimators=6, random_state=0).fit(X, y, s)
    rng = np.random.default_rng(1)
    low, high = X + rng.normal(size=X.shape), np.zeros_like(X)
    for column, sign in ((0, 1), (1, -1)):
        high[:] = low
        high[:, column] += rng.exponential(size=len(X))
        gaps = [sign * (score(high) - score(low)) for score in (scores_of(model), scores_of(free))]
        assert gaps[0].min() >= -1e-12
        assert gaps[1].min() < -0.01
    assert qed.verify(model, X, y, s)
    model.trees_.value[:] = model.trees_.value[::-1].copy()
    with pytest.raises(CertificateError):
        qed.verify(model, X, y, s)


def scores_of(model: Any) -> Any:
    """Return the share of the second label, or the number, as a function of rows."""
    return model.predict if not hasattr(model, "predict_proba") else lambda rows: model.predict_proba(rows)[:, 1]


def test_directions_of_several_labels_and_targets_are_refused() -> None:
    X, y = table()
    several = np.column_stack([y, -y])
    with pytest.raises(InvalidParameter, match="multiclass"):
        RandomForestClassifier(monotonic_cst=[1] + [0] * (X.shape[1] - 1)).fit(X, np.digitize(y, [-1, 0, 1]))
    with pytest.raises(InvalidParameter, match="several targets"):
        RandomForestRegressor(monotonic_cst=[1] + [0] * (X.shape[1] - 1)).fit(X, several)


@pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)
def test_threads_change_nothing(kind: Any) -> None:
    X, y = table()
    before, found = qed.get_num_threads(), []
    for threads in (1, 2, 3, 8, 64):
        qed.set_num_threads(threads)
        try:
            model = kind(20, random_state=5).fit(X, target(kind, y))
            answers = model.predict(X)
        finally:
            qed.set_num_threads(before)
        found.append((model.trees_.threshold, model.trees_.value, answers, model.certificate_))
    for other in found[1:]:
        for mine, theirs in zip(found[0][:3], other[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert found[0][3] == other[3]


CASES: list[tuple[Any, str | None]] = [
    (RandomForestClassifier(8, oob_score=True), None),
    (RandomForestClassifier(4, criterion="entropy", class_weight="balanced", min_samples_leaf=5), "whole"),
    (RandomForestClassifier(4, class_weight="balanced_subsample", max_depth=4), "any"),
    (RandomForestClassifier(4, bootstrap=False, max_features=None), "any"),
    (RandomForestClassifier(4), "uneven"),
    (RandomForestClassifier(3, criterion="misclassification"), "any"),
    (ExtraTreesClassifier(4), None),
    (ExtraTreesClassifier(4, bootstrap=True, max_samples=0.5), "whole"),
    (ExtraTreesClassifier(4), "uneven"),
    (RandomForestRegressor(4, oob_score=True), None),
    (RandomForestRegressor(2, criterion="absolute_error"), "any"),
    (RandomForestRegressor(3, max_leaf_nodes=9, min_impurity_decrease=1e-3), None),
    (ExtraTreesRegressor(4), "any"),
    (ExtraTreesRegressor(2, criterion="absolute_error"), None),
]


def weights(kind: str | None, n: int) -> Any:
    rng = np.random.default_rng(9)
    if kind is None:
        return None
    if kind == "whole":
        return rng.integers(0, 4, n).astype(float)
    return 3 * rng.random(n) if kind == "any" else np.where(rng.random(n) < 0.5, 1e-6, 1.0)


@pytest.mark.parametrize(("model", "weighted"), CASES, ids=[f"{model!r}-{kind}" for model, kind in CASES])
def test_certificates_are_verified(model: Any, weighted: str | None) -> None:
    X, y = table()
    X[np.random.default_rng(2).random(X.shape) < 0.05] = np.nan
    s = weights(weighted, len(X))
    model = clone(model)
    labels = target(type(model), y)
    model.set_params(random_state=3).fit(X, labels, s)
    verdict = qed.verify(model, X, labels, s)
    assert verdict.holds
    assert abs(verdict.objective - model.certificate_.error) <= 1e-9


def test_poisson_and_several_targets_are_verified() -> None:
    X, y = table()
    counts = np.abs(np.round(2 * y))
    model = RandomForestRegressor(3, criterion="poisson", random_state=0).fit(X, counts)
    assert qed.verify(model, X, counts).holds
    both = np.column_stack([y, -(y**2)])
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        several = kind(3, max_features=2, random_state=0).fit(X, both)
        assert several.predict(X).shape == (300, 2)
        assert qed.verify(several, X, both).holds


CHANGES: dict[str, Any] = {
    "threshold": lambda trees: replace(trees, threshold=trees.threshold + np.eye(1, len(trees.threshold))[0] * 1e-9),
    "value": lambda trees: replace(trees, value=trees.value + np.eye(1, trees.value.size).reshape(trees.value.shape)),
    "missing": lambda trees: replace(trees, missing_left=trees.missing_left ^ np.uint8(128)),
    "feature": lambda trees: replace(trees, feature=np.where(trees.feature == 0, 1, trees.feature)),
}


@pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("change", CHANGES)
def test_changed_trees_are_refused(kind: Any, change: str) -> None:
    X, y = table(120)
    model = kind(3, random_state=0).fit(X, target(kind, y))
    model.trees_ = CHANGES[change](model.trees_)
    with pytest.raises(CertificateError):
        qed.verify(model, X, target(kind, y))


def test_other_rows_seeds_and_statements_are_refused() -> None:
    X, y = table(120)
    labels = y > 0
    model = RandomForestClassifier(3, random_state=0, oob_score=True).fit(X, labels)
    assert qed.verify(model, X, labels).holds
    with pytest.raises(CertificateError):
        qed.verify(model, X, ~labels)
    for name, value in (
        ("seed_", model.seed_ + 1),
        ("certificate_", replace(model.certificate_, error=0.1, low=0.05)),
        ("certificate_", replace(model.certificate_, low=model.certificate_.error)),
        ("tree_importances_", model.tree_importances_[:, ::-1]),
        ("oob_score_", 0.99),
        ("oob_decision_function_", model.oob_decision_function_[::-1]),
    ):
        changed = RandomForestClassifier(3, random_state=0, oob_score=True).fit(X, labels)
        setattr(changed, name, value)
        with pytest.raises(CertificateError):
            qed.verify(changed, X, labels)


def test_warm_start_adds_the_trees_that_are_missing() -> None:
    X, y = table()
    whole = RandomForestRegressor(12, random_state=4).fit(X, y)
    grown = RandomForestRegressor(5, random_state=4, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), grown.predict(X))
    assert qed.verify(grown, X, y).holds
    with pytest.raises(InvalidParameter, match="must be larger or equal"):
        grown.set_params(n_estimators=3).fit(X, y)


def test_model_files_hold_few_bytes_a_node(tmp_path: Any) -> None:
    X, y = table(2000)
    model = RandomForestClassifier(10, random_state=0).fit(X, y > 0)
    model.save(tmp_path / "forest.qed")
    again = qed.load(tmp_path / "forest.qed")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    nodes = len(model.trees_.feature)
    assert (tmp_path / "forest.qed").stat().st_size < 10 * nodes + 4000
    broken = replace(model.trees_, sizes=model.trees_.sizes + 1)
    with pytest.raises(ModelFileError):
        broken.check()


def test_sparse_and_dense_tables_give_the_same_trees() -> None:
    X, y = table()
    X[np.abs(X) < 0.5] = 0.0
    for kind in FORESTS:
        dense = kind(5, random_state=1).fit(X, target(kind, y))
        sparse = kind(5, random_state=1).fit(csr_array(X), target(kind, y))
        np.testing.assert_array_equal(dense.trees_.threshold, sparse.trees_.threshold)
        np.testing.assert_array_equal(dense.predict(X), sparse.predict(csr_array(X)))


def test_whole_weights_are_repetitions_in_distribution() -> None:
    X, y = table(40, 5)
    s = np.random.default_rng(0).integers(0, 4, 40)
    new = table(20, 6)[0]
    weighted, repeated = [], []
    order = np.random.default_rng(1).permutation(int(s.sum()))
    rows = np.repeat(np.arange(40), s)[order]
    for seed in range(300):
        weighted.append(RandomForestRegressor(1, random_state=seed).fit(X, y, s).predict(new))
        repeated.append(RandomForestRegressor(1, random_state=1000 + seed).fit(X[rows], y[rows]).predict(new))
    gap = np.mean(weighted, axis=0) - np.mean(repeated, axis=0)
    error = np.sqrt((np.var(weighted, axis=0) + np.var(repeated, axis=0)) / 300)
    assert (np.abs(gap) < 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
def test_hoeffding_intervals_cover(share: float) -> None:
    low, high = hoeffding_interval(share, 200, 0.05)
    assert 0 <= low <= share <= high <= 1
    rng = np.random.default_rng(0)
    for mean in (max(low - 1e-3, 0.0), min(high + 1e-3, 1.0)):
        if low - 1e-3 > 0 and mean < share:
            assert (rng.binomial(200, mean, 4000) >= 200 * share).mean() <= 0.05
        elif high + 1e-3 < 1 and mean > share:
            assert (rng.binomial(200, mean, 4000) <= 200 * share).mean() <= 0.05


def test_bad_input_is_explained() -> None:
    X, y = table(30)
    with pytest.raises(NotSupported, match="pruned"):
        RandomForestClassifier(ccp_alpha=0.1).fit(X, y > 0)
    with pytest.raises(InvalidParameter, match="Out of bag"):
        ExtraTreesClassifier(oob_score=True).fit(X, y > 0)
    with pytest.raises(InvalidParameter, match="max_samples"):
        RandomForestRegressor(max_samples=31).fit(X, y)
    one = RandomForestClassifier(3).fit(X[:1], y[:1] > 0)
    assert one.predict_proba(X).tolist() == [[1.0]] * 30
    constant = RandomForestRegressor(3).fit(np.ones((5, 2)), np.arange(5.0))
    assert np.ptp(constant.predict(X[:, :2])) == 0
    missing = RandomForestRegressor(3, random_state=0).fit(np.column_stack([X[:, 0], np.full(30, np.nan)]), y)
    assert qed.verify(missing, np.column_stack([X[:, 0], np.full(30, np.nan)]), y).holds


@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"min_samples_split": 60}, {"min_impurity_decrease": 0.02}])
@pytest.mark.parametrize("kind", FORESTS)
def test_leaves_that_should_have_been_split_are_noticed(kind: Any, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    X[::17, 2] = np.nan
    y = X[:, 0] + rng.standard_normal(300)
    y = (y > 0).astype(int) if "Classifier" in kind.__name__ else y
    model = kind(5, random_state=0, **limits).fit(X, y)
    qed.verify(model, X, y)
    for name in limits:  # the trees stopped for a reason that is then denied
        setattr(model, name, type(model)().get_params()[name])
    with pytest.raises(CertificateError, match="could be split"):
        qed.verify(model, X, y)


def test_limits_are_shares_of_all_rows() -> None:
    X = np.random.default_rng(1).standard_normal((300, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    qed.verify(RandomForestClassifier(5, min_samples_leaf=0.05, random_state=0).fit(X, y), X, y)
