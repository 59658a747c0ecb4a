"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed import _native

Array = np.ndarray[Any, Any]


class Targets(NamedTuple):
    """What a tree is grown to predict: a criterion, classes or numbers a row, codes or numbers, and weights or None."""

    criterion: str
    width: int
    y: Array
    s: Array | None


class Limits(NamedTuple):
    """When a node is split no further; ``leaves`` of zero means any number, depth first."""

    depth: int
    split: int
    leaf: int
    leaf_weight: float
    decrease: float
    leaves: int
    features: int


class Grown(NamedTuple):
    """Nodes in the order of a walk that goes left first, and whether some column tells all rows apart."""

    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    impurity: Array
    rows: Array
    weight: Array
    values: Array
    by_set: Array
    sets: Array
    all_distinct: bool


class ColumnRules(NamedTuple):
    """By column 1, -1 or 0, where values rise, fall or are free; and whether it holds categories. None where none does."""

    monotone: Array | None = None
    by_category: Array | None = None


def grow(
    X: Any, targets: Targets, limits: Limits, *, is_random: bool, seed: int, rules: ColumnRules | None = None
) -> Grown:
    """Grow a tree."""
    own = rules or ColumnRules()
    return Grown(*_native.grow_tree(_columns(X), *targets, limits, (is_random, seed), *own))


def sort_table(X: Any) -> Any:
    """Sort the columns of a table once, for many trees; X must not change until the last of them is grown."""
    return _native.sort_table(_columns(X))


def grow_sorted(table: Any, targets: Targets, limits: Limits, *, seed: int) -> Grown:
    """Grow the tree of best splits on sorted columns; rows of weight zero are passed over."""
    return Grown(*_native.grow_sorted(table, *targets, limits, (False, seed)))


def least_impurity(X: Any, targets: Targets, depth: int, most: int) -> float:
    """Return the least mean impurity of trees of depth one or two; NaN if the search would take more steps than allowed."""
    return float(_native.least_impurity(_columns(X), *targets, depth, most))


def contradictions(X: Any, targets: Targets) -> float:
    """Return the mean impurity within rows that agree in all columns."""
    return float(_native.contradictions(_columns(X), *targets))


class Optimal(NamedTuple):
    """Nodes that send items up to a rank of an order to the left; what they leave, what all trees do, and values visited."""

    left: Array
    right: Array
    order: Array
    rank: Array
    objective: float
    lower: float
    visits: float


def optimal(
    criterion: str, ranks: Array, sums: Array, floors: Array, reach: float, limits: tuple[int, float, float]
) -> Optimal:
    """Search the tree of a depth that leaves least; ``ranks`` is (orders, items), ``sums`` (items, width)."""
    (orders, items), width = ranks.shape, sums.shape[1]
    flat = np.ascontiguousarray(ranks, dtype=np.uint32).reshape(-1)
    own = np.ascontiguousarray(sums).reshape(-1)
    return Optimal(*_native.optimal_tree(criterion, items, orders, width, flat, own, floors, reach, limits))


def pack(n_features: int, nodes: tuple[Array, ...]) -> Any:
    """Lay nodes out for being followed by ``leaves_of``; ValueError if they are no tree."""
    left, right, feature, threshold, missing_left = nodes
    return _native.pack_tree(
        n_features,
        np.ascontiguousarray(left, dtype=np.int64),
        np.ascontiguousarray(right, dtype=np.int64),
        np.ascontiguousarray(feature, dtype=np.int64),
        np.ascontiguousarray(threshold, dtype=np.float64),
        np.ascontiguousarray(missing_left, dtype=np.uint8),
    )


def pack_with_sets(n_features: int, nodes: tuple[Array, ...], by_set: Array, sets: Array) -> Any:
    """Lay out nodes of which some ask about sets of categories, as those of an ensemble of one tree."""
    left, _, feature, threshold, missing_left = nodes
    inner = left >= 0
    return _native.pack_forest(
        n_features,
        1,
        np.array([len(left)], dtype=np.int64),
        np.where(inner, feature, -1).astype(np.int32),
        np.ascontiguousarray(threshold[inner], dtype=np.float64),
        np.ascontiguousarray(missing_left[inner], dtype=np.uint8),
        np.ascontiguousarray((np.cumsum(inner) - 1)[by_set], dtype=np.int64),
        np.ascontiguousarray(sets, dtype=np.uint32).reshape(-1),
    )


def leaves_of(packed: Any, X: Any) -> Array:
    """Return the leaf of each row."""
    leaves: Array = packed.leaves(X if isinstance(X, np.ndarray) else _compressed(X.tocsr(), X.shape))
    return leaves


def _columns(X: Any) -> Any:
    """See a table as native code does: an array, or compressed columns as the rows of the transposed table."""
    return X if isinstance(X, np.ndarray) else _compressed(X.tocsc(), X.shape[::-1])


def _compressed(X: Any, shape: tuple[int, int]) -> tuple[Any, ...]:
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return X.indptr, X.indices, X.data, shape
