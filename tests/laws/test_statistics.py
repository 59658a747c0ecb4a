"""Laws of every statistic: identity, order, split, merge then subtract; and the rounding that moments promise."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference.moments import Exact, exact_integer_moments, exact_moments
from tests.reference.tables import Table, make_table, tables

from qed.core._errors import ForgetError, InvalidData
from qed.data import CategoryCounts, Chunk, ClassMoments, ClassSpreads, ClassSums, Counts, Moments

UNIT = 2.0**-53


def moments_of(table: Table) -> Moments:
    return Moments.of(Chunk(*table))


def class_moments_of(table: Table) -> ClassMoments:
    codes = (np.arange(len(table.X)) * 7 % 3).astype(np.float64)[:, np.newaxis]
    return ClassMoments.of(Chunk(table.X, codes, table.s), 3)


def _labelled(table: Table, X: np.ndarray) -> Chunk:
    codes = (np.arange(len(X)) * 7 % 3).astype(np.float64)[:, np.newaxis]
    return Chunk(X, codes, table.s)


def class_spreads_of(table: Table) -> ClassSpreads:
    return ClassSpreads.of(_labelled(table, table.X), 3)


def class_sums_of(table: Table) -> ClassSums:
    return ClassSums.of(_labelled(table, np.floor(np.abs(table.X)) % 5), 3)


def category_counts_of(table: Table) -> CategoryCounts:
    return CategoryCounts.of(_labelled(table, np.floor(np.abs(table.X)) % 5), 3)


def counts_of(table: Table) -> Counts:
    return Counts.of_values(np.floor(np.abs(table.X[:, 0])) % 4, table.s)


def moments_agree(a: Moments, b: Moments) -> None:
    assert a.rows == b.rows
    if a.rows == 0:
        return
    assert abs(a.weight - b.weight) <= (a.weight_error + b.weight_error + 4 * UNIT) * max(a.weight, b.weight)
    allowed = sum(part.rounding * np.sqrt(np.outer(part.peak, part.peak)) for part in (a, b))
    assert (np.abs(a.scatter - b.scatter) <= allowed).all()
    means = sum(part.mean_rounding * np.sqrt(part.peak / part.weight) for part in (a, b))
    assert (np.abs(a.mean - b.mean) <= means + 2 * UNIT * np.abs(a.mean)).all()


def class_moments_agree(a: ClassMoments, b: ClassMoments) -> None:
    for part, other in zip(a.parts, b.parts, strict=True):
        moments_agree(part, other)


def class_spreads_agree(a: ClassSpreads, b: ClassSpreads) -> None:
    assert np.array_equal(a.rows, b.rows)
    for k in np.flatnonzero(a.rows):
        both = a.weight_error + b.weight_error + 4 * UNIT
        assert abs(a.weight[k] - b.weight[k]) <= both * max(a.weight[k], b.weight[k])
        assert (np.abs(a.spread[k] - b.spread[k]) <= sum(one.rounding * one.peak[k] for one in (a, b))).all()
        means = sum(one.mean_rounding * np.sqrt(one.peak[k] / one.weight[k]) for one in (a, b))
        assert (np.abs(a.mean[k] - b.mean[k]) <= means + 2 * UNIT * np.abs(a.mean[k])).all()


def class_sums_agree(a: ClassSums, b: ClassSums) -> None:
    assert np.array_equal(a.rows, b.rows)
    allowed = a.error + b.error + 4 * UNIT
    assert (np.abs(a.weight - b.weight) <= allowed * np.maximum(a.weight, b.weight)).all()
    assert (np.abs(a.total - b.total) <= allowed * 4 * np.maximum(a.total, b.total).max(initial=0)).all()


def category_counts_agree(a: CategoryCounts, b: CategoryCounts) -> None:
    assert np.array_equal(a.sizes, b.sizes)
    class_sums_agree(a.sums, b.sums)


def counts_agree(a: Counts, b: Counts) -> None:
    assert np.array_equal(a.values, b.values)
    assert np.array_equal(a.rows, b.rows)
    assert (np.abs(a.weight - b.weight) <= 2 * UNIT * np.maximum(a.weight, b.weight)).all()


STATISTICS = {
    "moments": (moments_of, moments_agree, lambda table: Moments.empty(table.X.shape[1], Chunk(*table).n_targets)),
    "class-moments": (class_moments_of, class_moments_agree, lambda table: ClassMoments.empty(3, table.X.shape[1])),
    "class-spreads": (class_spreads_of, class_spreads_agree, lambda table: ClassSpreads.empty(3, table.X.shape[1])),
    "class-sums": (class_sums_of, class_sums_agree, lambda table: ClassSums.empty(3, table.X.shape[1])),
    "category-counts": (
        category_counts_of,
        category_counts_agree,
        lambda table: CategoryCounts(np.ones(table.X.shape[1], np.int64), ClassSums.empty(3, table.X.shape[1])),
    ),
    "counts": (counts_of, counts_agree, lambda table: Counts.empty()),
}
every_statistic = pytest.mark.parametrize("name", STATISTICS)
cuts = st.lists(st.integers(0, 24), max_size=4)


def parts_of(table: Table, places: list[int]) -> list[Table]:
    edges = [0, *sorted(min(place, len(table.X)) for place in places), len(table.X)]
    return [table.rows(start, stop) for start, stop in pairwise(edges)]


@every_statistic
@given(table=tables())
def test_empty_is_the_identity(name, table):
    of, _, empty = STATISTICS[name]
    a, nothing = of(table), empty(table)
    assert a.merge(nothing) == a
    assert nothing.merge(a) == a
    assert a.subtract(nothing) == a
    a.check()
    nothing.check()


@every_statistic
@given(table=tables(), places=cuts)
def test_order_does_not_matter(name, table, places):
    of, agree, _ = STATISTICS[name]
    parts = [of(part) for part in parts_of(table, [*places, 5, 11])]
    a, b, c = parts[:3]
    agree(a.merge(b), b.merge(a))
    agree(a.merge(b).merge(c), a.merge(b.merge(c)))


@given(table=tables(), places=cuts)
def test_moments_of_the_whole_are_those_of_the_parts(table, places):
    merged = Moments.empty(table.X.shape[1], Chunk(*table).n_targets)
    for part in parts_of(table, places):
        merged = merged.merge(moments_of(part))
    moments_agree(merged, moments_of(table))
    merged.check()


@given(table=tables(), places=cuts)
def test_counts_of_the_whole_are_those_of_the_parts(table, places):
    merged = Counts.empty()
    for part in parts_of(table, places):
        merged = merged.merge(counts_of(part))
    counts_agree(merged, counts_of(table))


@given(table=tables(), place=st.integers(0, 24))
def test_class_moments_of_the_whole_are_those_of_the_parts(table, place):
    codes = (np.arange(len(table.X)) * 5 % 3).astype(np.float64)[:, np.newaxis]
    of = partial(ClassMoments.of, n_classes=3)
    cut = slice(None, place), slice(place, None)
    first, second = (of(Chunk(table.X[rows], codes[rows], None if table.s is None else table.s[rows])) for rows in cut)
    whole = of(Chunk(table.X, codes, table.s))
    class_moments_agree(first.merge(second), whole)
    expected = np.zeros((table.X.shape[1],) * 2)
    for k in range(3):
        expected += whole.scatter(k)
    assert (np.abs(whole.pooled() - expected) <= 1e-15 * np.sqrt(np.outer(whole.peak, whole.peak))).all()
    moments_agree(whole.total(), Moments.of(Chunk(table.X, None, table.s)))


@every_statistic
@given(table=tables(), place=st.integers(0, 24))
def test_subtract_undoes_merge_or_refuses(name, table, place):
    of, agree, _ = STATISTICS[name]
    kept, gone = (of(part) for part in parts_of(table, [place]))
    try:
        back = kept.merge(gone).subtract(gone)
    except ForgetError:
        assert name != "counts", "counts are exact: forgetting what was added never fails"
        return
    agree(back, kept)
    back.check()


@every_statistic
@given(table=tables())
def test_statistics_survive_pickling(name, table):
    a = STATISTICS[name][0](table)
    assert pickle.loads(pickle.dumps(a)) == a


def assert_within_bound(moments: Moments, exact: Exact) -> None:
    """The promises of `rounding` and `mean_rounding`, checked in exact arithmetic."""
    assert moments.rows == exact.rows
    if not moments.rows:
        return
    assert abs(float(moments.weight - exact.weight)) <= (moments.weight_error + 2 * UNIT) * moments.weight
    for i, mean in enumerate(exact.mean):
        slack = moments.mean_rounding * np.sqrt(moments.peak[i] / moments.weight) + UNIT * abs(float(mean))
        assert abs(float(type(mean)(float(moments.mean[i])) - mean)) <= slack
        for j, value in enumerate(exact.scatter[i]):
            bound = moments.rounding * np.sqrt(moments.peak[i] * moments.peak[j])
            assert abs(float(type(value)(float(moments.scatter[i, j])) - value)) <= bound * (1 + 1e-12)


@given(table=tables(), places=cuts)
def test_rounding_bounds_the_error(table, places):
    merged = Moments.empty(table.X.shape[1], Chunk(*table).n_targets)
    for part in parts_of(table, places):
        merged = merged.merge(moments_of(part))
    assert_within_bound(merged, exact_moments(table.whole, table.s))
    assert_within_bound(moments_of(table), exact_moments(table.whole, table.s))


@given(table=tables(), place=st.integers(0, 24))
def test_rounding_bounds_the_error_after_forgetting(table, place):
    kept, gone = parts_of(table, [place])
    assume(len(kept.X) > 0)
    try:
        left = moments_of(table).subtract(moments_of(gone))
    except ForgetError:
        return
    assert_within_bound(left, exact_moments(kept.whole, kept.s))
    if left.rows > 1:
        assert (left.rounding * left.peak <= 1.001e-6 * left.scatter.diagonal()).all()


@given(table=tables(), places=cuts)
def test_rounding_bounds_the_error_about_the_origin(table, places):
    merged = Moments.empty(table.X.shape[1], Chunk(*table).n_targets)
    for part in parts_of(table, places):
        merged = merged.merge(moments_of(part))
    origin = merged.about_origin()
    mirrored = np.concatenate([table.whole, -table.whole])
    weights = np.ones(len(mirrored)) if table.s is None else np.concatenate([table.s, table.s])
    exact = exact_moments(mirrored, weights / 2)  # rows and their mirror images: mean zero, half the weight each
    assert_within_bound(origin, exact._replace(rows=origin.rows))


@pytest.mark.parametrize("chunk_rows", [70_000, 8_192, 257])
@pytest.mark.parametrize("offset", [0, 10**8])
def test_rounding_bounds_the_error_over_many_rows(chunk_rows, offset):
    random = np.random.default_rng(chunk_rows)
    table = random.integers(-1000, 1000, size=(70_000, 3)).astype(np.float64) + offset
    s = random.integers(0, 1000, size=70_000).astype(np.float64)
    merged = Moments.empty(3)
    for start in range(0, len(table), chunk_rows):
        rows = slice(start, start + chunk_rows)
        merged = merged.merge(Moments.of(Chunk(table[rows], None, s[rows])))
    exact = exact_integer_moments(table, s)
    assert_within_bound(merged, exact)
    assert merged.rounding < 2e-13, "the bound does not grow with rows or merges"
    assert (merged.peak <= 1.1 * merged.scatter.diagonal()).all(), "an offset costs no accuracy"


@given(seed=st.integers(0, 2**32 - 1))
def test_forgetting_most_of_the_weight_is_refused_or_right(seed):
    """An outlier that held nearly all of the scatter takes it along: what remains is right, or not given."""
    random = np.random.default_rng(seed)
    size = 10.0 ** random.uniform(0, 12)
    ordinary = make_table(seed, 10, 2, 0, weighted=False)._replace(X=random.normal(size=(10, 2)))
    outlier = Chunk(np.full((1, 2), size))
    total = moments_of(ordinary).merge(Moments.of(outlier))
    if size > 1e6:
        with pytest.raises(ForgetError, match="Refit on the rows that remain"):
            total.subtract(Moments.of(outlier))
        return
    try:
        left = total.subtract(Moments.of(outlier))
    except ForgetError:
        assert size > 1e3, "a small outlier must be forgettable"
        return
    assert_within_bound(left, exact_moments(ordinary.whole))
    error = np.abs(left.scatter.diagonal() - moments_of(ordinary).scatter.diagonal())
    assert (error <= 2e-6 * left.scatter.diagonal()).all()


def test_different_columns_do_not_merge():
    with pytest.raises(InvalidData, match="1 features and 0 targets, the others of 2 and 0"):
        Moments.empty(1).merge(Moments.empty(2))
    with pytest.raises(InvalidData, match="of 2 classes, the others of 3"):
        ClassMoments.empty(2, 1).merge(ClassMoments.empty(3, 1))
