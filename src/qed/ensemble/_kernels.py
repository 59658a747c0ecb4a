"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.tree._kernels import Limits, Targets


Array = np.ndarray[Any, Any]


class SampleRule(NamedTuple):
    """Which trees are grown: whether thresholds are drawn, numbers of the trees, rows drawn (0: all once), balance, seed."""

    is_random: bool
    first: int
    trees: int
    draws: int
    balances: bool
    seed: int


class GrownTrees(NamedTuple):
    """Trees one after the other, nodes of each in the order of a walk that goes left first."""

    sizes: Array
    feature: Array
    threshold: Array
    missing_left: Array
    values: Array
    weight: Array
    importance: Array
    by_set: Array
    sets: Array
    leaf: Array  # of each row in each tree, counted within the tree; of trees that have seen all rows


def rank_table(X: Any, s: Array | None, bins: int, *, keeps: str) -> Any:
    """Bin the columns of a table, and keep "bins", or "ranks" too; or "values" alone."""
    return _native.rank_table(_columns(X), s, bins, keeps)


def grow_forest(
    ranked: Any,
    targets: Targets,
    share: Array | None,
    limits: Limits,
    rule: SampleRule,
    columns: tuple[Array | None, Array | None] = (None, None),
) -> GrownTrees:
    """Grow trees, each on rows of its own drawing; ``columns`` are rules of columns, as of a single tree."""
    return GrownTrees(*_native.grow_forest(ranked, *targets, share, limits, rule, *columns))


def draw_rows(seed: int, tree: int, draws: int, count: int, cumulated: Array | None) -> Array:
    """Return how often each row is drawn for a tree."""
    times: Array = _native.draw_rows(seed, tree, draws, count, cumulated)
    return times


def pack(n_features: int, width: int, nodes: tuple[Array, ...]) -> Any:
    """Lay nodes out for being followed; ValueError if they are no trees."""
    sizes, feature, threshold, missing_left, by_set, sets = nodes
    return _native.pack_forest(
        n_features,
        width,
        np.ascontiguousarray(sizes, dtype=np.int64),
        np.ascontiguousarray(feature, dtype=np.int32),
        np.ascontiguousarray(threshold, dtype=np.float64),
        np.ascontiguousarray(missing_left, dtype=np.uint8),
        np.ascontiguousarray(by_set, dtype=np.int64),
        np.ascontiguousarray(sets, dtype=np.uint32).reshape(-1),
    )


def sum_leaves(packed: Any, X: Any, values: Array, groups: int = 1, bags: Array | None = None) -> Array:
    """Add up the values of the leaves of each row over all trees, or over those whose bag lacks the row."""
    width = 0 if bags is None else bags.shape[1]
    flat = None if bags is None else bags.reshape(-1)
    total: Array = packed.sums(_rows(X), values.reshape(-1), groups, flat, width)
    return total


def leaves_of(packed: Any, X: Any) -> Array:
    """Return the number of the leaf, among those of all trees, of each row in each tree."""
    leaves: Array = packed.leaves(_rows(X))
    return leaves


def _rows(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else _compressed(X.tocsr(), X.shape)


def _columns(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else _compressed(X.tocsc(), X.shape[::-1])


def _compressed(X: Any, shape: tuple[int, int]) -> tuple[Any, ...]:
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return X.indptr, X.indices, X.data, shape


class BoostRule(NamedTuple):
    """Leaves (0: any number), depth, rows of a leaf, ridge, learning rate, columns looked at, and the seed that draws them."""

    leaves: int
    depth: int
    leaf_rows: int
    ridge: float
    rate: float
    features: int
    seed: int


class BoostLimits(NamedTuple):
    """Directions by column, whether columns hold categories, and groups of columns that may meet; None, None, [] for none."""

    monotone: Array | None
    by_category: Array | None
    groups: list[list[int]]


class BoostedTree(NamedTuple):
    """One tree, nodes in the order of a walk that goes left first, and the leaf of each row (empty if scores were given)."""

    feature: Array
    threshold: Array
    missing_left: Array
    values: Array
    weight: Array
    by_set: Array
    sets: Array
    low: Array
    high: Array
    leaf: Array


class BoostRows(NamedTuple):
    """Slopes and curvatures (n, k), weights that multiply them (None for ones), and whole counts (None for ones)."""

    slope: Array
    curvature: Array
    s: Array | None
    counts: Array | None


def grow_boosted(
    binned: Any, rows: BoostRows, scores: Array | None, rule: BoostRule, limits: BoostLimits
) -> tuple[list[BoostedTree], Array]:
    """Grow the trees, one for each class, that take most off the second-order model of a loss; and add them to scores (n, k).

    Without scores each tree says the leaf of each row instead.
    """
    k = rows.slope.shape[1]
    flat = (rows.slope.reshape(-1), rows.curvature.reshape(-1), rows.s, rows.counts)
    before = None if scores is None else scores.reshape(-1)
    grown, after = _native.grow_boosted(binned, k, flat, before, rule, *limits)
    return [BoostedTree(*tree) for tree in grown], after.reshape(-1, k)


class BoostScale(NamedTuple):
    """How slopes and curvatures are rounded to whole numbers."""

    slope: float
    curvature: float
    count_bits: int
    is_coarse: bool
    is_packed: bool


BoostPart = _native.BoostPart  # the rows of a part, dealt out to the nodes of a tree


def boost_extent(
    slope: Array, curvature: Array, which: tuple[int, int], s: Array | None, counts: Array | None
) -> Array:
    """Return what the scale of the slopes of class ``which[0]`` of ``which[1]`` depends on: three sums, two largest, rows."""
    found: Array = _native.boost_extent(slope, curvature, which, s, counts)
    return found


def boost_scale(extent: Array, has_counts: bool, fine: bool) -> BoostScale:
    """Return the scale that follows from the extent of all rows."""
    return BoostScale(*_native.boost_scale(tuple(extent.tolist()), has_counts, fine))


def grow_from(source: Any, columns: list[tuple[Array, Array]], rule: BoostRule, limits: BoostLimits) -> BoostedTree:
    """Grow a tree from the histograms that a source gives; it is asked ``start``, ``divide``, ``leaf_sums`` and ``finish``."""
    return BoostedTree(*_native.grow_from(source, columns, rule, *limits))


def bin_chunk(
    X: Array, cuts: Array, ends: Array, bins: tuple[Array, Array], first: int, extremes: tuple[Array, Array]
) -> None:
    """Write the bins of rows from a place on, by column and by row; widen the lowest and highest values of bins."""
    _native.bin_chunk(X, cuts, ends, *bins, first, *extremes)


def loss_curve(loss: str, t: Array, y: Array, classes: int) -> tuple[Array, Array, Array]:
    """Return value, slope and curvature of a loss at scores, one row of classes after the other."""
    value, slope, curvature = _native.loss_curve(loss, t, y, classes)
    return value, slope, curvature


def mix(seed: int, count: int) -> Array:
    """Return one number of 64 bits for each row, mixed from a seed (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        bits = np.arange(count, dtype=np.uint64) + np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)))


def stream(seed: int, number: int) -> int:
    """Return the seed of what is drawn as number so-and-so."""
    return int(mix((seed + number) % 2**64, 1)[0]) % 2**63
