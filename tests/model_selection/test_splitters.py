"""Splitters: laws first, then the very splits of scikit-learn."""

import numpy as np
import pytest
import sklearn.model_selection as theirs
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import qed.model_selection as ours
from qed.core import InvalidData, InvalidParameter

SEEDED = [
    ("KFold", {"n_splits": 4}),
    ("KFold", {"n_splits": 4, "shuffle": True, "random_state": 3}),
    ("StratifiedKFold", {"n_splits": 3}),
    ("StratifiedKFold", {"n_splits": 3, "shuffle": True, "random_state": 1}),
    ("GroupKFold", {"n_splits": 3}),
    ("GroupKFold", {"n_splits": 3, "shuffle": True, "random_state": 1}),
    ("StratifiedGroupKFold", {"n_splits": 3}),
    ("StratifiedGroupKFold", {"n_splits": 3, "shuffle": True, "random_state": 2}),
    ("RepeatedKFold", {"n_splits": 3, "n_repeats": 4, "random_state": 5}),
    ("RepeatedStratifiedKFold", {"n_splits": 3, "n_repeats": 4, "random_state": 5}),
    ("TimeSeriesSplit", {"n_splits": 4}),
    ("TimeSeriesSplit", {"n_splits": 4, "max_train_size": 6, "test_size": 3, "gap": 2}),
    ("LeaveOneOut", {}),
    ("LeavePOut", {"p": 2}),
    ("LeaveOneGroupOut", {}),
    ("LeavePGroupsOut", {"n_groups": 2}),
    ("ShuffleSplit", {"n_splits": 3, "random_state": 0}),
    ("ShuffleSplit", {"n_splits": 3, "test_size": 0.3, "train_size": 10, "random_state": 0}),
    ("StratifiedShuffleSplit", {"n_splits": 3, "test_size": 0.3, "random_state": 0}),
    ("StratifiedShuffleSplit", {"n_splits": 3, "test_size": 7, "train_size": 9, "random_state": 4}),
    ("GroupShuffleSplit", {"n_splits": 3, "random_state": 0}),
]


def table(n=31, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.choice(["c", "a", "b"], size=n, p=[0.3, 0.5, 0.2]), rng.integers(0, 7, size=n)


@pytest.mark.parametrize(("name", "settings"), SEEDED)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_same_splits_as_scikit_learn(name, settings, seed):
    X, y, groups = table(seed=seed)
    groups = groups if "Group" in name else None
    mine, other = getattr(ours, name)(**settings), getattr(theirs, name)(**settings)
    pairs, expected = list(mine.split(X, y, groups)), list(other.split(X, y, groups))
    assert mine.get_n_splits(X, y, groups) == other.get_n_splits(X, y, groups) == len(pairs)
    for (train, test), (train_, test_) in zip(pairs, expected, strict=True):
        np.testing.assert_array_equal(train, train_)
        np.testing.assert_array_equal(test, test_)


@pytest.mark.covers("SEL-03")
@given(n=st.integers(2, 60), k=st.integers(2, 12), shuffle=st.booleans())
def test_k_fold_tests_every_row_once(n, k, shuffle):
    if k > n:
        with pytest.raises(InvalidData, match="greater than the number of samples"):
            next(ours.KFold(k).split(np.empty(n)))
        return
    pairs = list(ours.KFold(k, shuffle=shuffle, random_state=0 if shuffle else None).split(np.empty(n)))
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in pairs])), np.arange(n))
    sizes = [len(test) for _, test in pairs]
    assert max(sizes) - min(sizes) <= 1
    for train, test in pairs:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))


@given(y=st.lists(st.sampled_from("abc"), min_size=6, max_size=60), k=st.integers(2, 4))
def test_stratified_folds_keep_the_shares(y, k):
    y = np.array(y)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    if min(counts.values()) < k:
        return
    for _, test in ours.StratifiedKFold(k).split(y, y):
        for label, count in counts.items():
            assert abs(np.sum(y[test] == label) - count / k) <= 1


@given(groups=st.lists(st.integers(0, 6), min_size=4, max_size=40))
def test_no_group_is_ever_cut(groups):
    groups = np.array(groups)
    if len(np.unique(groups)) < 3:
        return
    y = groups % 2
    for splitter in (ours.GroupKFold(2), ours.LeaveOneGroupOut(), ours.GroupShuffleSplit(3, random_state=0)):
        for train, test in splitter.split(groups, y, groups):
            assert not set(groups[train]) & set(groups[test])


@pytest.mark.covers("SEL-10")
def test_bootstrap_draws_with_replacement_and_tests_on_the_rest():
    n = 400
    shares = []
    for train, test in ours.Bootstrap(300, random_state=0).split(np.empty(n)):
        assert len(train) == n
        np.testing.assert_array_equal(test, np.setdiff1d(np.arange(n), train))
        shares.append(len(np.unique(train)) / n)
    expected = 1 - (1 - 1 / n) ** n
    # the share of distinct rows has a standard deviation below 0.5 / sqrt(n); seven of the mean's are one in 1e11
    assert abs(np.mean(shares) - expected) < 7 * 0.5 / np.sqrt(n * 300)
    values = np.random.default_rng(1).normal(size=n)
    means = [values[train].mean() for train, _ in ours.Bootstrap(4000, random_state=0).split(values)]
    assert abs(np.std(means) / (values.std() / np.sqrt(n)) - 1) < 0.08  # seven times 1 / sqrt(2 * 4000)


@pytest.mark.covers("SEL-05")
def test_random_splits_have_the_sizes_asked_for():
    for train, test in ours.ShuffleSplit(20, test_size=0.25, train_size=0.5, random_state=0).split(np.empty(41)):
        assert (len(train), len(test)) == (20, 11)
        assert not set(train) & set(test)


@pytest.mark.covers("SEL-01")
def test_three_parts_are_disjoint_complete_and_seeded():
    rows = np.arange(100)
    rest, test = ours.train_test_split(rows, test_size=0.2, random_state=7)
    train, validation = ours.train_test_split(rest, test_size=0.25, random_state=7)
    assert (len(train), len(validation), len(test)) == (60, 20, 20)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, validation, test])), rows)
    again, _ = ours.train_test_split(rows, test_size=0.2, random_state=7)
    np.testing.assert_array_equal(again, rest)


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize("size", [{}, {"test_size": 0.3}, {"test_size": 9, "train_size": 11}])
def test_train_test_split_as_scikit_learn(stratify, size):
    X, y, groups = table()
    extra = {"stratify": y} if stratify else {}
    mine = ours.train_test_split(X, y, groups, random_state=3, **size, **extra)
    other = theirs.train_test_split(X, y, groups, random_state=3, **size, **extra)
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_train_test_split_keeps_containers():
    pd, pl, sparse = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("scipy.sparse")
    n = 12
    frame, series = pd.DataFrame({"a": range(n)}), pd.Series(range(n))
    other, csr = pl.DataFrame({"a": range(n)}), sparse.csr_array(np.eye(n))
    parts = ours.train_test_split(frame, series, other, csr, list(range(n)), random_state=0)
    for table_, part in zip((frame, series, other, csr, []), parts[::2], strict=True):
        assert type(part) is type(table_)
    np.testing.assert_array_equal(parts[0]["a"], parts[8])
    np.testing.assert_array_equal(parts[4]["a"].to_numpy(), parts[8])


@pytest.mark.parametrize("cv", [3, None, ours.KFold(4), theirs.KFold(4), [([0, 1], [2]), ([2], [0, 1])]])
def test_check_cv_takes_what_scikit_learn_takes(cv):
    X, y, _ = table()
    mine = ours.check_cv(cv, y, classifier=True)
    other = theirs.check_cv(cv, y, classifier=True)
    for a, b in zip(mine.split(X, y), other.split(X, y), strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_splitters_work_inside_scikit_learn():
    X, y, _ = table()
    scores = theirs.cross_val_score(LogisticRegression(), X, y, cv=ours.StratifiedKFold(3))
    np.testing.assert_array_equal(
        scores, theirs.cross_val_score(LogisticRegression(), X, y, cv=theirs.StratifiedKFold(3))
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ours.KFold(1), "n_splits must be a whole number >= 2"),
        (lambda: ours.KFold(2.5), "whole number"),
        (lambda: ours.KFold(3, random_state=1), "decides nothing"),
        (lambda: ours.KFold(3, shuffle="yes"), "True or False"),
        (lambda: next(ours.ShuffleSplit(2, test_size=1.5).split(range(9))), "test_size must be a share"),
        (ours.train_test_split, "at least one array"),
        (lambda: ours.train_test_split(range(4), test_size=4), "between 1 and 3"),
        (lambda: ours.check_cv("five"), "number of folds"),
    ],
)
def test_bad_settings_are_refused_in_words(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: next(ours.StratifiedKFold(2).split(range(4), [0.5, 1.5, 2.5, 3.5])), "continuous"),
        (lambda: next(ours.StratifiedKFold(2).split(range(4))), "needs y"),
        (lambda: next(ours.GroupKFold(2).split(range(4))), "should not be None"),
        (lambda: next(ours.GroupKFold(3).split(range(4), None, [0, 0, 1, 1])), "number of groups"),
        (lambda: next(ours.StratifiedShuffleSplit(2).split(range(4), [0, 0, 0, 1])), "least populated"),
        (lambda: next(ours.LeaveOneOut().split([1])), "n_samples=1"),
        (lambda: ours.train_test_split([1, 2], [1]), "inconsistent"),
    ],
)
def test_bad_rows_are_refused_in_words(make, words):
    with pytest.raises(InvalidData, match=words):
        make()
