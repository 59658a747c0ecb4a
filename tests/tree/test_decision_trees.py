"""Decision trees: greedy splits as by exhaustive search, as scikit-learn's where nothing ties, and the same for any layout."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn.tree as theirs
from scipy.sparse import csc_array, csr_array

import qed
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

ARRAYS = ("children_left", "children_right", "feature", "threshold", "impurity", "n_node_samples", "value")
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5)).astype(np.float32).astype(np.float64)  # scikit-learn rounds to float32
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(300)
LABELS = np.digitize(SCORE, [-0.7, 0.6])


def assert_same_tree(ours, other):
    for name in ARRAYS:
        a, b = getattr(ours.tree_, name), getattr(other.tree_, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=name)


CASES = [
    (DecisionTreeClassifier, theirs.DecisionTreeClassifier, {}, LABELS),
    (
        DecisionTreeClassifier,
        theirs.DecisionTreeClassifier,
        {"criterion": "entropy", "class_weight": {1: 0.25, 2: 2.0}},
        LABELS,
    ),
    (
        DecisionTreeClassifier,
        theirs.DecisionTreeClassifier,
        {"class_weight": {0: 3.0}, "max_leaf_nodes": 9},
        LABELS > 0,
    ),
    (DecisionTreeClassifier, theirs.DecisionTreeClassifier, {"criterion": "log_loss", "ccp_alpha": 0.01}, LABELS > 0),
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {"min_impurity_decrease": 0.01}, SCORE),
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 4}, SCORE),
    (
        DecisionTreeRegressor,
        theirs.DecisionTreeRegressor,
        {"criterion": "poisson", "max_leaf_nodes": 12},
        np.exp(SCORE),
    ),
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {"ccp_alpha": 0.02}, np.column_stack([SCORE, X[:, 3]])),
    (DecisionTreeRegressor, theirs.DecisionTreeRegressor, {"min_weight_fraction_leaf": 0.1}, SCORE),
]


# so different that hardly two cuts gain the same; sums are exact, or scikit-learn would split pure nodes
WEIGHTS = rng.integers(2**19, 2**21, 300) / 2**20 * (rng.random(300) > 0.1)


@pytest.mark.parametrize(
    ("ours", "other", "params", "y"), CASES, ids=[f"{case[0].__name__}-{case[2]}" for case in CASES]
)
def test_trees_are_those_of_scikit_learn_where_nothing_ties(ours, other, params, y):
    params = {"min_samples_leaf": 5, **params}
    model = ours(**params).fit(X, y, WEIGHTS)
    reference = other(random_state=0, **params).fit(X, y, WEIGHTS)
    new = rng.standard_normal((200, 5))
    if model.max_leaf_nodes is None:
        assert_same_tree(model, reference)
        np.testing.assert_array_equal(model.apply(new), reference.apply(new))
    else:  # its nodes are numbered in the order of their making
        np.testing.assert_allclose(np.sort(model.tree_.threshold), np.sort(reference.tree_.threshold))
    np.testing.assert_allclose(model.predict(new), reference.predict(new), rtol=1e-9)
    np.testing.assert_allclose(model.feature_importances_, reference.feature_importances_, atol=1e-9)
    assert (model.get_depth(), model.get_n_leaves()) == (reference.get_depth(), reference.get_n_leaves())
    assert model.decision_path(new).sum() == reference.decision_path(new).sum()
    assert qed.verify(model, X, y, WEIGHTS).holds


def test_missing_values_go_where_they_gain_most():
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.15] = np.nan
    gaps[SCORE > 1.2, 0] = np.nan  # here the gap itself tells something
    for ours, other, y in (
        (DecisionTreeClassifier, theirs.DecisionTreeClassifier, LABELS),
        (DecisionTreeRegressor, theirs.DecisionTreeRegressor, SCORE),
    ):
        model = ours(min_samples_leaf=5).fit(gaps, y, WEIGHTS)
        reference = other(min_samples_leaf=5, random_state=0).fit(gaps, y, WEIGHTS)
        assert_same_tree(model, reference)
        np.testing.assert_array_equal(model.tree_.missing_go_to_left, reference.tree_.missing_go_to_left)
        new = rng.standard_normal((200, 5))
        new[rng.random(new.shape) < 0.3] = np.nan
        np.testing.assert_allclose(model.predict(new), reference.predict(new), rtol=1e-12)
        assert qed.verify(model, gaps, y, WEIGHTS).holds
    only = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    model = DecisionTreeClassifier().fit(only, [0, 0, 1, 1])
    assert model.tree_.threshold[0] == np.inf
    assert model.predict([[7.0], [np.nan]]).tolist() == [0, 1]
    with pytest.raises(qed.InvalidData, match="infinity"):
        DecisionTreeClassifier().fit([[1.0], [np.inf]], [0, 1])


def impurity(codes, kind):
    shares = np.bincount(codes) / len(codes)
    shares = shares[shares > 0]
    return 1 - np.sum(shares**2) if kind == "gini" else -np.sum(shares * np.log2(shares))


@pytest.mark.covers("TRE-06")
@pytest.mark.parametrize("kind", ["gini", "entropy"])
def test_the_first_split_is_the_best_of_all_midpoints(kind):
    for trial in range(6):
        some = np.random.default_rng(trial)
        table, y = some.integers(0, 5, (25, 3)).astype(float), some.integers(0, 3, 25)
        found = []
        for j in range(3):
            values = np.unique(table[:, j])
            for t in (values[1:] + values[:-1]) / 2:
                low = table[:, j] <= t
                left = sum(side.mean() * impurity(y[side], kind) for side in (low, ~low))
                found.append((round(left, 12), j, t))
        model = DecisionTreeClassifier(criterion=kind, max_depth=1).fit(table, y)
        least, j, t = min(found)  # of equal ones the first column and the lowest threshold
        assert (model.tree_.feature[0], model.tree_.threshold[0]) == (j, t)
        np.testing.assert_allclose(model.certificate_.objective, least, atol=1e-12)
        # a monotone transform of the columns moves thresholds, and no row
        curved = DecisionTreeClassifier(criterion=kind).fit(np.exp(table) - 7, y)
        np.testing.assert_array_equal(
            curved.apply(np.exp(table) - 7), DecisionTreeClassifier(criterion=kind).fit(table, y).apply(table)
        )


@pytest.mark.covers("TRE-03", "TRE-04")
def test_impurities_of_a_quarter_and_of_a_half():
    quarter, half = [0, 1, 1, 1], [0, 1]
    for kind, want, even in (("gini", 0.375, 0.5), ("entropy", 0.8112781244591328, 1.0)):

        def root(y, kind=kind):
            return DecisionTreeClassifier(criterion=kind).fit(np.zeros((len(y), 1)), y).tree_.impurity[0]

        np.testing.assert_allclose([root(quarter), root(half), root([1, 1])], [want, even, 0.0], atol=1e-15)
    two_draws = np.mean([a != b for a, b in itertools.product(quarter, quarter)])
    assert two_draws == 0.375


@pytest.mark.covers("TRE-07")
def test_limits_are_kept():
    model = DecisionTreeClassifier(max_depth=3, min_samples_split=40, min_samples_leaf=15).fit(X, LABELS)
    leaf = model.tree_.children_left < 0
    assert model.get_depth() <= 3
    assert model.tree_.n_node_samples[leaf].min() >= 15
    assert model.tree_.n_node_samples[~leaf].min() >= 40
    share = DecisionTreeClassifier(min_samples_leaf=0.05, min_samples_split=0.2).fit(X, LABELS).tree_
    assert share.n_node_samples.min() >= 15
    assert share.n_node_samples[share.children_left >= 0].min() >= 60
    assert DecisionTreeClassifier(max_leaf_nodes=4).fit(X, LABELS).get_n_leaves() == 4
    flat = DecisionTreeClassifier(min_impurity_decrease=10.0).fit(X, LABELS)  # depth zero is the majority
    assert flat.get_depth() == 0
    assert set(flat.predict(X)) == {np.bincount(LABELS).argmax()}


@pytest.mark.covers("TRE-09", "TRE-10")
def test_trees_that_grow_fully_are_consistent():
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    representable = set()
    for y in itertools.product([0, 1], repeat=4):  # all 2^(2^2) labelings of two binary attributes
        model = DecisionTreeClassifier().fit(corners, y)
        representable.add(tuple(model.predict(corners).tolist()))
        assert model.certificate_.objective == 0
    assert len(representable) == 16
    assert DecisionTreeClassifier().fit(X, rng.integers(0, 5, 300)).certificate_.objective == 0
    y = rng.standard_normal(300)
    np.testing.assert_array_equal(DecisionTreeRegressor().fit(X, y).predict(X), y)


def best_of_depth_two(table, y):
    """Gini impurity of the best tree of depth two, by trying all of them."""

    def impurity(rows):
        shares = np.bincount(y[rows], minlength=2) / max(rows.sum(), 1)
        return rows.sum() * (1 - shares @ shares)

    def splits(rows):
        for column in table.T:
            for threshold in np.unique(column[rows])[:-1]:
                yield rows & (column <= threshold), rows & (column > threshold)

    def best_stump(rows):
        return min([impurity(rows), *(impurity(left) + impurity(right) for left, right in splits(rows))])

    everything = np.ones(len(y), dtype=bool)
    two = [best_stump(left) + best_stump(right) for left, right in splits(everything)]
    return min([impurity(everything), *two]) / len(y)


@pytest.mark.covers("TRE-11")
def test_greedy_is_not_best():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    xor = DecisionTreeClassifier(max_depth=1).fit(corners, [0, 1, 1, 0])
    assert xor.certificate_.objective == xor.certificate_.null_objective == 0.5  # no first split gains anything
    assert DecisionTreeClassifier(max_depth=2).fit(corners, [0, 1, 1, 0]).certificate_.objective == 0
    # a third column that tempts the first split
    table = np.column_stack([np.repeat(corners, 4, axis=0), np.zeros(16)])
    y = np.repeat([0, 1, 1, 0], 4)
    table[[4, 5, 6, 8, 9], 2] = 1.0
    greedy = DecisionTreeClassifier(max_depth=2).fit(table, y)
    assert greedy.tree_.feature[0] == 2
    assert (
        greedy.certificate_.lower == 0 < greedy.certificate_.objective
    )  # a tree of depth two is perfect, and was found
    assert greedy.certificate_.depth == 2
    assert qed.verify(greedy, table, y).holds
    # with two labels turned no tree of depth two is perfect: the best of them, by trying all, still beats the greedy one
    table, y = np.repeat(table, 2, axis=0), np.repeat(y, 2)
    y[[1, 30]] = 1
    greedy = DecisionTreeClassifier(max_depth=2).fit(table, y)
    best = best_of_depth_two(table, y)
    assert 0 < best < greedy.certificate_.objective - 0.05
    assert greedy.certificate_.lower == pytest.approx(best, rel=1e-9)
    for seed in range(5):
        random = np.random.default_rng(seed)
        table, y = random.integers(0, 4, (30, 3)).astype(float), random.integers(0, 2, 30)
        model = DecisionTreeClassifier(max_depth=2).fit(table, y)
        best = best_of_depth_two(table, y)
        assert 0 < best <= model.certificate_.objective * (1 + 1e-12)
        assert model.certificate_.lower == pytest.approx(best, rel=1e-9)


@pytest.mark.covers("TRE-12")
def test_importances_add_up_to_what_the_tree_explains():
    model = DecisionTreeClassifier(max_depth=4).fit(X, LABELS)
    tree, total = model.tree_, model.tree_.compute_feature_importances(normalize=False).sum()
    np.testing.assert_allclose(total, tree.impurity[0] - model.certificate_.objective, rtol=1e-12)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


@pytest.mark.covers("TRE-13")
def test_steps_are_recovered():
    x = np.linspace(0, 1, 101)[:, None]
    steps = np.select([x[:, 0] <= 0.3, x[:, 0] <= 0.75], [2.0, -1.0], 0.5)
    model = DecisionTreeRegressor().fit(x, steps)
    assert model.get_n_leaves() == 3
    np.testing.assert_array_equal(model.predict(x), steps)
    noisy = DecisionTreeRegressor(max_depth=2).fit(X, SCORE)
    leaves = noisy.apply(X)
    for leaf in np.unique(leaves):
        np.testing.assert_allclose(noisy.predict(X)[leaves == leaf], SCORE[leaves == leaf].mean(), rtol=1e-12)
    left, right = noisy.tree_.children_left[0], noisy.tree_.children_right[0]
    low = X[:, noisy.tree_.feature[0]] <= noisy.tree_.threshold[0]
    np.testing.assert_allclose(
        noisy.tree_.impurity[[0, left, right]], [SCORE.var(), SCORE[low].var(), SCORE[~low].var()]
    )


def test_the_layout_of_the_rows_does_not_matter():
    table = X.copy()
    table[np.abs(table) < 0.8] = 0.0  # many zeros and many ties
    model = DecisionTreeClassifier().fit(table, LABELS)
    frozen = table.copy()
    frozen.flags.writeable = False
    wide = np.repeat(table, 2, axis=1)
    for other in (
        np.asfortranarray(table),
        frozen,
        wide[:, ::2],
        csr_array(table),
        csc_array(table),
        table.astype(np.float32),
    ):
        again = DecisionTreeClassifier().fit(other, LABELS)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(again.tree_, name), getattr(model.tree_, name), err_msg=name)
        np.testing.assert_array_equal(again.predict(other), model.predict(table))
        assert qed.verify(again, other, LABELS).holds
    assert (
        DecisionTreeRegressor().fit(table.astype(np.float32), SCORE).predict(table.astype(np.float32)).dtype
        == np.float32
    )
    order = rng.permutation(300)
    for kind, y in ((DecisionTreeClassifier, LABELS), (DecisionTreeRegressor, SCORE)):
        first, other = kind().fit(table, y), kind().fit(table[order], y[order])
        np.testing.assert_array_equal(first.tree_.threshold, other.tree_.threshold)
        np.testing.assert_array_equal(first.apply(table), other.apply(table))


@pytest.mark.parametrize("kind", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_weights_are_repetitions(kind):
    is_class = kind in ("gini", "entropy")
    make, y = (DecisionTreeClassifier, LABELS) if is_class else (DecisionTreeRegressor, np.exp(SCORE))
    table, s = X.round(1), rng.integers(0, 4, 300)
    weighed = make(criterion=kind, max_depth=6).fit(table, y, s)
    repeated = make(criterion=kind, max_depth=6).fit(np.repeat(table, s, axis=0), np.repeat(y, s))
    for name in ("feature", "threshold"):
        np.testing.assert_array_equal(getattr(weighed.tree_, name), getattr(repeated.tree_, name))
    np.testing.assert_allclose(weighed.tree_.value, repeated.tree_.value, rtol=1e-12)
    np.testing.assert_allclose(weighed.tree_.weighted_n_node_samples, repeated.tree_.n_node_samples)


def test_the_number_of_threads_does_not_matter():
    table = rng.standard_normal((6000, 40))
    y = (table[:, 0] * table[:, 1] + rng.standard_normal(6000) > 0).astype(int)
    before, trees = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8, 64):
            qed.set_num_threads(threads)
            model = DecisionTreeRegressor(max_features=7, random_state=3).fit(table, table[:, 1] + y)
            drawn = [kind(random_state=3).fit(table, y).tree_ for kind in (ExtraTreeClassifier, ExtraTreeRegressor)]
            trees.append((DecisionTreeClassifier().fit(table, y).tree_, model.tree_, *drawn))
    finally:
        qed.set_num_threads(before)
    for some in trees[1:]:
        for one, first in zip(some, trees[0], strict=True):
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(one, name), getattr(first, name))


def test_what_is_random_follows_the_seed():
    for params in ({"splitter": "random"}, {"max_features": 2}, {"max_features": "sqrt", "splitter": "random"}):
        trees = [DecisionTreeClassifier(random_state=seed, **params).fit(X, LABELS).tree_ for seed in (0, 0, 1)]
        np.testing.assert_array_equal(trees[0].threshold, trees[1].threshold)
        assert trees[0].node_count != trees[2].node_count or not np.array_equal(trees[0].threshold, trees[2].threshold)
        assert trees[0].n_leaves > 20
    # a threshold drawn between zero and one is uniform: its mean over seeds is a half, its variance a twelfth
    drawn = [
        DecisionTreeRegressor(splitter="random", random_state=seed).fit([[0.0], [1.0]], [0.0, 1.0]).tree_.threshold[0]
        for seed in range(300)
    ]
    assert abs(np.mean(drawn) - 0.5) < 4 * np.sqrt(1 / 12 / 300)
    assert abs(np.var(drawn) - 1 / 12) < 0.02
    # each of five columns is drawn as often as the others, and constant ones lead to another draw
    table = np.column_stack([X[:, 0]] * 4 + [np.zeros(300)])
    first = [
        DecisionTreeClassifier(max_features=1, max_depth=1, random_state=k).fit(table, LABELS).tree_.feature[0]
        for k in range(400)
    ]
    counts = np.bincount(first, minlength=5)
    assert counts[4] == 0
    assert counts[:4].min() > 60
    seedless = DecisionTreeClassifier(random_state=np.random.default_rng(5)).fit(X, LABELS)
    np.testing.assert_array_equal(seedless.tree_.threshold, DecisionTreeClassifier().fit(X, LABELS).tree_.threshold)


def test_small_and_extreme_tables():
    assert DecisionTreeRegressor().fit([[1.0]], [3.0]).predict([[9.0]]).tolist() == [3.0]
    one = DecisionTreeClassifier().fit(X, np.full(300, "a"))
    assert one.get_depth() == 0
    assert one.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    flat = DecisionTreeRegressor().fit(np.ones((5, 2)), np.arange(5.0))
    assert (flat.get_depth(), flat.predict([[1.0, 1.0]])[0]) == (0, 2.0)
    assert flat.certificate_.lower == flat.certificate_.objective == 2.0  # rows that agree cannot be told apart
    huge = DecisionTreeClassifier().fit([[-1e308], [1e308], [1.5e308]], [0, 1, 0])
    assert huge.predict([[-1e308], [1e308], [1.6e308]]).tolist() == [0, 1, 0]
    close = DecisionTreeRegressor().fit([[1.0], [np.nextafter(1.0, 2.0)]], [0.0, 1.0])
    assert close.predict([[1.0], [np.nextafter(1.0, 2.0)]]).tolist() == [0.0, 1.0]
    far = DecisionTreeRegressor(max_depth=2).fit(X, 1e9 + 1e-3 * np.sign(X[:, 2]))  # offsets do not cancel
    assert far.get_depth() == 1
    tiny = DecisionTreeRegressor(max_depth=1).fit(X, 1e-12 * np.sign(X[:, 2]))
    assert tiny.get_depth() == 1
    with pytest.raises(qed.InvalidData, match="overflow"):
        DecisionTreeRegressor().fit(X, 1e200 * SCORE)


def test_refusals_are_in_words(monkeypatch):
    with pytest.raises(qed.InvalidData, match="negative"):
        DecisionTreeRegressor(criterion="poisson").fit(X, SCORE)
    with pytest.raises(qed.InvalidData, match="one target"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, np.column_stack([SCORE, SCORE]))
    monkeypatch.setenv("QED_MEMORY_LIMIT", "10000")
    with pytest.raises(qed.MemoryLimit, match="sorted columns"):
        DecisionTreeRegressor().fit(X, SCORE)
