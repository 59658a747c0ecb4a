"""Nodes of the trees of an ensemble: taken out of arrays, gone through by rows, thresholds and sides of missing values checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed.verify._category_sets import bits_of, drawn_left, goes_left, set_problem
from qed.verify._names import called
from qed.verify._refusals import refuse
from qed.verify._rows import holds_categories
from qed.verify._seeds import stream, uniform

Array = np.ndarray[Any, Any]
RELATIVE = 1e-9  # of sums in double precision


class Nodes(NamedTuple):
    """One tree: its nodes in the order of a walk that goes left first."""

    feature: Array
    right: Array
    threshold: Array  # by node
    missing_left: Array  # by node
    value: Array  # by node, meaningless above leaves
    weight: Array
    sets: dict[int, Array]  # of categories, by node


def nodes_of(model: Any, trees: Any, number: int) -> Nodes:
    """Take one tree out of the arrays of all of them."""
    ends = np.concatenate([[0], np.cumsum(np.asarray(trees.sizes, dtype=np.int64))])
    first, last = int(ends[number]), int(ends[number + 1])
    if not 0 <= first < last <= len(trees.feature) or ends[-1] != len(trees.feature):
        refuse(model, "the sizes of its trees do not add up")
    feature = np.asarray(trees.feature[first:last], dtype=np.int64)
    inner = feature >= 0
    before = int(np.count_nonzero(np.asarray(trees.feature[:first]) >= 0))
    inners = before + np.cumsum(inner) - 1
    leaves = first - before + np.cumsum(~inner) - 1
    bits = np.unpackbits(trees.missing_left)
    if len(bits) < len(trees.threshold) or inners[-1] >= len(trees.threshold) or leaves[-1] >= len(trees.value):
        refuse(model, "its nodes are incomplete")
    threshold, missing = np.full(len(feature), np.nan), np.zeros(len(feature), dtype=bool)
    threshold[inner], missing[inner] = trees.threshold[inners[inner]], bits[inners[inner]] == 1
    value = np.asarray(trees.value, dtype=np.float64)[leaves]
    weight = np.asarray(trees.weight, dtype=np.float64)[leaves] if len(trees.weight) else value.sum(axis=1)
    sets = _sets_of(model, trees, inner, before)
    return Nodes(feature, right_children(model, inner), threshold, missing, value, weight, sets)


def _sets_of(model: Any, trees: Any, inner: Array, before: int) -> dict[int, Array]:
    """Return the sets of categories that nodes of a tree ask about, by node."""
    if not len(trees.by_set):
        return {}
    places, numbers = np.flatnonzero(inner), np.asarray(trees.by_set, dtype=np.int64)
    if numbers.min() < 0 or numbers.max() >= len(trees.threshold) or len(np.unique(numbers)) != len(numbers):
        refuse(model, "its sets of categories are not those of its nodes")
    own = np.flatnonzero((numbers >= before) & (numbers < before + len(places)))
    return {int(places[numbers[k] - before]): np.asarray(trees.sets[k]) for k in own}


def right_children(model: Any, inner: Array) -> Array:
    """Find right children: each follows the whole of the left branch of its parent."""
    right = np.full(len(inner), -1, dtype=np.int64)
    open_: list[int] = []
    for node, is_inner in enumerate(inner.tolist()):
        if node and not open_:
            refuse(model, "nodes follow the end of a tree")
        if node and right[open_[-1]] == -2:
            right[open_.pop()] = node
        if is_inner:
            right[node] = -3
            open_.append(node)
        else:
            while open_ and right[open_[-1]] != -3:
                open_.pop()
            if open_:
                right[open_[-1]] = -2
    if open_ or (right < -1).any():
        refuse(model, "a tree ends before all its branches do")
    return right


def levels_of(model: Any, tree: Nodes, X: Array, visit: Any = None) -> Array:
    """Send rows down, all at once; call ``visit(rows, nodes)`` at each level, and return the leaf of each row."""
    leaf = np.zeros(len(X), dtype=np.int64)
    here, at = np.arange(len(X)), np.zeros(len(X), dtype=np.int64)
    while len(here):
        if visit is not None:
            visit(here, at)
        inner = tree.feature[at] >= 0
        leaf[here[~inner]] = at[~inner]
        here, at = here[inner], at[inner]
        if len(here) and tree.feature[at].max() >= X.shape[1]:
            refuse(model, "it asks about columns that are not there")
        value = X[here, tree.feature[at]]
        is_left = np.where(np.isnan(value), tree.missing_left[at], value <= tree.threshold[at])
        for node in set(tree.sets) & set(at.tolist()):
            own = at == node
            is_left[own] = goes_left(tree.sets[node], value[own], bool(tree.missing_left[node]))
        at = np.where(is_left, at + 1, tree.right[at])
    return leaf


def check_thresholds(model: Any, number: int, tree: Nodes, X: Array, here: Array, at: Array, seed: Array) -> None:
    """See that best thresholds lie midway between the values that they part, and drawn ones where the seed puts them."""
    inner = tree.feature[at] >= 0
    here, at = here[inner], at[inner]
    by_category = holds_categories(model, X.shape[1])
    if by_category.any() or tree.sets:
        nodes = np.unique(at)
        if not np.array_equal(nodes[by_category[tree.feature[nodes]]], nodes[np.isin(nodes, list(tree.sets))]):
            refuse(
                model, f"tree {number} asks for the order of categories, or about numbers as if they were categories"
            )
        for node in set(tree.sets) & set(nodes.tolist()):
            _check_drawn_set(model, number, tree, node, X[here[at == node], tree.feature[node]], int(seed[node]))
        by_threshold = ~by_category[tree.feature[at]]
        here, at = here[by_threshold], at[by_threshold]
    if not len(here):
        return
    nodes, local = np.unique(at, return_inverse=True)
    local = local.reshape(-1)
    value, threshold = X[here, tree.feature[at]], tree.threshold[nodes]
    known = ~np.isnan(value)
    if model._is_random:  # noqa: SLF001
        least, most = np.full(len(nodes), np.inf), np.full(len(nodes), -np.inf)
        np.minimum.at(least, local[known], value[known])
        np.maximum.at(most, local[known], value[known])
        share = uniform(stream(seed[nodes], tree.feature[nodes]))
        expected = least * (1 - share) + most * share
        expected = np.where((expected >= least) & (expected < most), expected, least)
        expected = np.where(least == most, np.inf, expected)
        # products that are added in one step round once less
        with np.errstate(invalid="ignore"):
            near = np.abs(threshold - expected) <= 2.0**-50 * (np.abs(least) + np.abs(most))
        expected = np.where(near & (threshold >= least) & (threshold < most), threshold, expected)
    else:
        is_left = known & (value <= threshold[local])
        is_right = known & ~is_left
        low, high = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
        np.maximum.at(low, local[is_left], value[is_left])
        np.minimum.at(high, local[is_right], value[is_right])
        with np.errstate(invalid="ignore"):
            middle = low / 2 + high / 2
        expected = np.where(np.isinf(high), np.inf, np.where((middle >= low) & (middle < high), middle, low))
    off = threshold != expected
    if off.any():
        k = int(np.flatnonzero(off)[0])
        what = called(model, int(tree.feature[nodes[k]]))
        refuse(
            model,
            f"the threshold {threshold[k]:.12g} of node {int(nodes[k])} of tree {number} in {what} should be {expected[k]:.12g}",
        )


def _check_drawn_set(model: Any, number: int, tree: Nodes, node: int, value: Array, seed: int) -> None:
    """See that a set knows the categories of its rows, and is the one that the seed draws where sets are drawn."""
    what = f"node {node} of tree {number}"
    wrong = set_problem(tree.sets[node], value)
    if wrong:
        refuse(model, f"{what} {wrong}")
    if tree.threshold[node] != 0:
        refuse(model, f"{what} asks about categories and has a threshold")
    if model._is_random:  # noqa: SLF001
        left, missing_left = drawn_left(value, seed, int(tree.feature[node]))
        off = not np.array_equal(np.flatnonzero(bits_of(tree.sets[node])[0]), np.sort(left).astype(np.int64))
        if off or (np.isnan(value).any() and bool(tree.missing_left[node]) != missing_left):
            refuse(model, f"{what} sends other categories to the left than its seed draws")


def check_sides(
    model: Any, number: int, tree: Nodes, X: Array, levels: list[tuple[Array, Array]], count: Array
) -> None:
    """See that missing values which no row of the node had go to the side of more rows."""
    has_missing = np.zeros(len(tree.feature), dtype=bool)
    for here, at in levels:
        inner = tree.feature[at] >= 0
        value = X[here[inner], tree.feature[at[inner]]]
        has_missing[at[inner][np.isnan(value)]] = True
    nodes = np.flatnonzero((tree.feature >= 0) & ~has_missing)
    off = tree.missing_left[nodes] != (count[nodes + 1] > count[tree.right[nodes]])
    if off.any():
        refuse(model, f"node {int(nodes[off][0])} of tree {number} sends missing values to the side of fewer rows")


def number_of_rows(given: Any, n: int) -> int:
    """Return a number of rows that is given as such, or as a share."""
    return int(given) if isinstance(given, int | np.integer) else int(np.ceil(given * n))
