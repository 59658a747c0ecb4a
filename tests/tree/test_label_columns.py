"""Several columns of labels: one tree with the mean impurity of the columns, as scikit-learn's where nothing ties."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import sklearn.tree as theirs
from scipy.sparse import csr_array

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter, NotSupported
from qed.core._persistence import dumps, loads
from qed.ensemble import StackingClassifier, VotingClassifier
from qed.inspection import partial_dependence, shapley_values
from qed.model_selection import GridSearchCV
from qed.tree import DecisionTreeClassifier, ExtraTreeClassifier, export_graphviz, export_text, plot_tree

ARRAYS = ("children_left", "children_right", "feature", "threshold", "impurity", "n_node_samples", "value")
rng = np.random.default_rng(5)
X = rng.standard_normal((200, 4)).astype(np.float32).astype(np.float64)  # scikit-learn rounds to float32
Y = np.column_stack(
    [
        X[:, 0] + 0.3 * rng.standard_normal(200) > 0,
        rng.integers(5, 8, 200),
        np.digitize(X[:, 1] * X[:, 2], [-1.0, 0.0, 0.5, 1.0]),
    ]
).astype(np.int64)
WEIGHT = rng.uniform(0.5, 2.0, 200)
WORDS = np.column_stack([np.where(Y[:, 0], "yes", "no"), np.array(["low", "middle", "top"])[Y[:, 1] - 5]])


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 3},
        {"max_depth": 4, "min_samples_leaf": 9},
        {"min_impurity_decrease": 0.006},
        {"ccp_alpha": 0.01},
        {"max_depth": 3, "class_weight": [{0: 2.0}, {6: 3.0, 7: 0.5}, {1: 0.25}]},
    ],
)
def test_the_tree_is_scikit_learns(options, weight):
    ours = DecisionTreeClassifier(**options).fit(X, Y, weight)
    other = theirs.DecisionTreeClassifier(**options, random_state=0).fit(X, Y, weight)
    for name in ARRAYS:
        a, b = getattr(ours.tree_, name), getattr(other.tree_, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    for mine, shares, labels, known in zip(
        ours.predict_proba(X), other.predict_proba(X), ours.classes_, other.classes_, strict=True
    ):
        np.testing.assert_allclose(mine, shares, atol=1e-12)
        np.testing.assert_array_equal(labels, known)
    assert (ours.n_outputs_, ours.n_classes_) == (3, [2, 3, 5])
    assert qed.verify(ours, X, Y, weight).holds


def test_balanced_weights_are_multiplied_over_the_columns():
    ours = DecisionTreeClassifier(class_weight="balanced", max_depth=2).fit(X, Y)
    other = theirs.DecisionTreeClassifier(class_weight="balanced", max_depth=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(ours.tree_.value, other.tree_.value, atol=1e-12)
    assert qed.verify(ours, X, Y).holds


def test_the_impurity_is_the_mean_gini_and_the_first_cut_leaves_least():
    def left(rows):
        shares = [np.unique(column, return_counts=True)[1] / len(rows) for column in Y[rows].T]
        return len(rows) * np.mean([1 - (p**2).sum() for p in shares])

    everything = np.arange(len(X))
    best = min(
        left(everything[column <= t]) + left(everything[column > t]) for column in X.T for t in np.sort(column)[:-1]
    )
    model = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    assert model.tree_.impurity[0] == pytest.approx(left(everything) / len(X), abs=1e-14)
    assert model.certificate_.objective == pytest.approx(best / len(X), abs=1e-13)
    assert model.certificate_.lower == pytest.approx(best / len(X), abs=1e-13)


def test_a_column_written_twice_is_the_tree_of_the_column():
    twice = DecisionTreeClassifier(max_depth=4).fit(X, Y[:, [2, 2]])
    once = DecisionTreeClassifier(max_depth=4).fit(X, Y[:, 2])
    np.testing.assert_array_equal(twice.tree_.threshold, once.tree_.threshold)
    np.testing.assert_array_equal(twice.predict(X), np.column_stack([once.predict(X)] * 2))
    np.testing.assert_allclose(twice.tree_.impurity, once.tree_.impurity, atol=1e-14)
    single = DecisionTreeClassifier(max_depth=4).fit(X, Y[:, [2]])
    np.testing.assert_array_equal(single.predict(X), once.predict(X))
    assert single.score(X, Y[:, [2]]) == once.score(X, Y[:, 2])


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), ExtraTreeClassifier(random_state=1)])
def test_words_sparse_rows_and_files(model):
    model.fit(X, WORDS)
    assert model.predict(X).tolist() == WORDS.tolist()
    assert model.score(X, WORDS) == 1.0
    assert [labels.tolist() for labels in model.classes_] == [["no", "yes"], ["low", "middle", "top"]]
    assert [np.isneginf(part).sum() for part in model.predict_log_proba(X)] == [200, 400]
    again = loads(dumps(model))
    assert again.predict(X).tolist() == WORDS.tolist()
    assert qed.verify(again, X, WORDS).holds
    thin = csr_array(np.where(np.abs(X) > 1, X, 0.0))
    assert qed.verify(model.fit(thin, WORDS), thin, WORDS).holds
    dense = model.predict(thin.toarray())
    assert model.predict(thin).tolist() == dense.tolist()


def test_equal_shares_go_to_the_first_label():
    same = np.ones((10, 1))
    labels = np.column_stack([[2, 2, 1, 1, 3] * 2, [0, 1] * 5])
    model = DecisionTreeClassifier().fit(same, labels)
    assert model.predict([[1.0]]).tolist() == [[1, 0]]
    assert model.predict_proba([[1.0]])[0].tolist() == [[0.4, 0.4, 0.2]]
    assert model.certificate_.lower == pytest.approx((0.64 + 0.5) / 2)
    assert qed.verify(model, same, labels).holds


def test_changed_models_and_other_labels_are_refused():
    model = DecisionTreeClassifier(max_depth=3).fit(X, WORDS)

    def swapped(changed):
        changed.tree_.value[:, 0] = changed.tree_.value[:, 0][:, [1, 0, 2]]

    def beyond(changed):
        changed.tree_.value[3, 0, 2] = 0.1

    def renamed(changed):
        changed.classes_[1] = np.array(["low", "middle", "up"])

    def reversed_(changed):
        changed.classes_.reverse()

    def fewer(changed):
        changed.n_classes_ = [2, 2]

    def another(changed):
        changed.criterion = "entropy"

    for change in (swapped, beyond, renamed, reversed_, fewer, another):
        changed = copy.deepcopy(model)
        change(changed)
        with pytest.raises(CertificateError):
            qed.verify(changed, X, WORDS)
    for labels in (WORDS[:, 0], WORDS[:, ::-1], WORDS[::-1], WORDS[:, [0, 1, 1]]):
        with pytest.raises(CertificateError):
            qed.verify(model, X, labels)


def test_what_several_columns_cannot_have_is_refused_in_words():
    for criterion in ("entropy", "log_loss", "misclassification"):
        with pytest.raises(InvalidData, match="for one column of labels, and y has 2"):
            DecisionTreeClassifier(criterion=criterion).fit(X, WORDS)
    with pytest.raises(InvalidParameter, match="several targets"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, WORDS)
    for weights, labels in (({"no": 2.0}, WORDS), ([{"no": 2.0}], WORDS), ([{"no": 2.0}], WORDS[:, 0])):
        with pytest.raises(InvalidParameter, match="For multi-output"):
            DecisionTreeClassifier(class_weight=weights).fit(X, labels)
    with pytest.raises(InvalidData, match="continuous"):
        DecisionTreeClassifier().fit(X, X)
    with pytest.raises(InvalidData, match="contains NaN"):
        DecisionTreeClassifier().fit(X, np.where(WORDS == "no", np.nan, WORDS.astype(object)))
    model = DecisionTreeClassifier(max_depth=2).fit(X, WORDS)
    for show in (export_text, plot_tree, export_graphviz):
        with pytest.raises(NotSupported, match="one column of labels"):
            show(model)
    with pytest.raises(InvalidParameter, match="columns of labels"):
        partial_dependence(model, X, [0])
    with pytest.raises(InvalidParameter, match="columns of labels"):
        shapley_values(model, X[:5])
    for many in (VotingClassifier, StackingClassifier):
        with pytest.raises(InvalidData, match="1d array"):
            many([("tree", DecisionTreeClassifier())]).fit(X, WORDS)


def test_a_search_knows_the_labels_of_all_columns():
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=3).fit(X, WORDS)
    assert [len(labels) for labels in search.classes_] == [2, 3]
    assert search.predict(X).shape == (200, 2)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("make", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_poor_tables_have_a_defined_tree(make, columns):
    def fitted(rows, labels):
        labels = np.asarray(labels) if columns == 1 else np.column_stack([labels, labels])
        model = make(random_state=0).fit(rows, labels)
        assert qed.verify(model, rows, labels).holds
        return model, labels

    one_class, labels = fitted(X[:9], ["a"] * 9)
    assert one_class.get_n_leaves() == 1
    assert one_class.predict(X).tolist() == np.resize(labels, (200, *labels.shape[1:])).tolist()
    constant, _ = fitted(np.ones((4, 2)), [0, 1, 1, 1])
    assert constant.get_n_leaves() == 1
    assert constant.certificate_.lower == pytest.approx(constant.certificate_.objective) == pytest.approx(0.375)
    missing, _ = fitted(np.column_stack([np.full(4, np.nan), [1.0, 2, 3, 4]]), [0, 0, 1, 1])
    assert set(missing.tree_.feature.tolist()) == {1, -2}
    nothing, _ = fitted(np.full((4, 2), np.nan), [0, 0, 1, 0])
    assert nothing.get_n_leaves() == 1
    one_row, labels = fitted(X[:1], [3])
    assert one_row.predict(X[:1]).tolist() == labels.tolist()
    all_different, labels = fitted(X[:6], list("abcdef"))
    assert all_different.predict(X[:6]).tolist() == labels.tolist()
