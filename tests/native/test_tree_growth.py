"""Trees of ensembles: what is shared by several classes, and how values are kept, changes no bit of what is grown."""

import numpy as np
import pytest

ANY = 1 << 20


def columns(rng, n, p):
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    X[:, 1] = rng.integers(0, 5, n)
    X[rng.random(n) < 0.1, 2] = np.nan
    return X


def steep(rng, n, k):
    """Slopes of which some classes hold a single large one, so that few bits would not tell the others apart."""
    slope = rng.standard_normal((n, k))
    slope[0, ::3] = 1e9
    return slope


@pytest.mark.parametrize("k", [1, 3, 8, 11])
def test_classes_share_a_pass_and_no_bit_changes(native, k):
    rng = np.random.default_rng(k)
    n, p = 70_000, 10  # enough rows for several threads to add up parts of them
    X, slope, curvature = columns(rng, n, p), steep(rng, n, k), rng.uniform(0.1, 0.3, (n, k))
    table = native.rank_table(X, None, 255, "bins")
    rule, free = (8, ANY, 20, 0.5, 0.1, p, 7), (None, None, [])
    before = rng.standard_normal((n, k))

    def grown(first, last, seed):
        parts = (np.ascontiguousarray(part[:, first:last]).reshape(-1) for part in (slope, curvature, before))
        own, curved, scores = parts
        rows = (own, curved, None, None)
        return native.grow_boosted(table, last - first, rows, scores, (*rule[:-1], seed), *free)

    for threads in (1, 2, 3, 8):
        native.set_num_threads(threads)
        trees, after = grown(0, k, 7)
        assert len(trees) == k
        for c, tree in enumerate(trees):
            (alone,), scores = grown(c, c + 1, 7 + c)
            for one, other in zip(tree, alone, strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(after.reshape(n, k)[:, c], scores)


@pytest.mark.parametrize("k", [2, 9])
def test_root_sums_of_classes_are_those_of_all_rows(native, k):
    """Stumps: both leaves hold the Newton step of their rows, by another way of adding up."""
    rng = np.random.default_rng(k)
    n, p = 3000, 9
    X, slope, curvature = columns(rng, n, p), rng.standard_normal((n, k)), rng.uniform(0.1, 0.3, (n, k))
    slope += X[:, :1] * np.linspace(-1, 1, k)
    table = native.rank_table(X, None, 255, "bins")
    trees, _ = native.grow_boosted(
        table,
        k,
        (slope.reshape(-1), curvature.reshape(-1), None, None),
        None,
        (2, ANY, 20, 0.0, 1.0, p, 7),
        None,
        None,
        [],
    )
    for c, (feature, threshold, missing_left, values, weight, *_, leaf) in enumerate(trees):
        x = X[:, feature[0]]
        left = np.where(np.isnan(x), missing_left[0] == 1, x <= threshold[0])
        np.testing.assert_array_equal(leaf, np.where(left, 0, 1))
        np.testing.assert_array_equal(weight, [left.sum(), (~left).sum()])
        want = [-slope[side, c].sum() / curvature[side, c].sum() for side in (left, ~left)]
        np.testing.assert_allclose(values, want, rtol=1e-12)


@pytest.mark.parametrize(("criterion", "width"), [("gini", 2), ("gini", 3), ("squared_error", 1), ("squared_error", 2)])
@pytest.mark.parametrize("leaves", [0, 50])
def test_random_splits_do_not_depend_on_the_type_of_values(native, criterion, width, leaves):
    rng = np.random.default_rng(5)
    n, p = 3000, 12
    X = columns(rng, n, p - 1)
    y = rng.integers(0, width, n) if criterion == "gini" else rng.standard_normal(n * width)
    s = rng.uniform(0.5, 2.0, n)

    def grown(constant):
        table = native.rank_table(np.column_stack([X, np.full(n, constant)]), None, 255, "values")
        limits, rules = (ANY, 2, 1, 0.0, 0.0, leaves, p), (True, 0, 3, 0, False, 42)
        return native.grow_forest(table, criterion, width, y, s, None, limits, rules, None, None)

    for narrow, wide in zip(grown(1.0), grown(0.1), strict=True):  # a tenth is no number of single precision
        np.testing.assert_array_equal(narrow, wide)
