"""Single trees whose columns or thresholds were drawn, checked: what the seed draws is drawn again at every node.

The seed of a node follows from that of its parent, and draws the columns that are looked at and, for random splits, one threshold
for each of them. The split of a node is one of those, and none of the others leaves less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._category_sets import bits_of, drawn_left, drawn_side, orders
from qed.verify._cuts import Sample, least_of_one_cut
from qed.verify._forest_nodes import number_of_rows
from qed.verify._forest_splits import looked_at
from qed.verify._refusals import refuse
from qed.verify._rows import holds_categories
from qed.verify._seeds import columns_of_node, drawn_sides, mixed, stream, uniform

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

BUDGET = 4_000_000  # values of the nodes whose splits are compared with the other drawn ones


def check_drawn(model: Any, tree: Any, X: Array, sample: Sample, told: tuple[Any, Array, Any]) -> None:
    """Refuse splits that the seed of a tree does not draw; a tree of which nothing is drawn has none."""
    seed, is_random = model.__dict__.get("seed_", 0), model.splitter == "random"
    features = looked_at(model, X.shape[1])
    if not is_random and features >= X.shape[1]:
        if seed != 0:
            refuse(model, "it has a seed, and nothing is drawn")
        return
    if "seed_" not in model.__dict__:
        refuse(model, "it does not say from which seed it was drawn")
    levels, masses, limits = told
    seeds = _seeds_of_nodes(tree, seed)
    fewest = number_of_rows(model.min_samples_leaf, len(X))
    lightest = float(model.min_weight_fraction_leaf * sample.s.sum())
    spent, by_category = 0, holds_categories(model, X.shape[1])
    for node in np.argsort(-tree.n_node_samples, kind="stable"):
        if tree.children_left[node] < 0:
            continue
        here, at = levels[int(tree.depths[node])]
        own, j = here[at == node], int(tree.feature[node])
        columns = np.array(columns_of_node(X[own], int(seeds[node]), features))
        if j not in columns:
            refuse(model, f"node {int(node)} looks at a column that was not drawn for it")
        if is_random and by_category[j]:
            _require_drawn_set(model, tree, int(node), X[own, j], int(seeds[node]))
        elif is_random:
            _require_drawn(model, int(node), X[own, j], float(tree.threshold[node]), stream(seeds[node], np.int64(j)))
        spent += len(own) * len(columns)
        if spent > BUDGET:
            continue  # the largest nodes were compared
        some = columns[by_category[columns]]
        columns = columns[~by_category[columns]]
        values = X[np.ix_(own, columns)]
        seen = drawn_sides(values, int(seeds[node]), columns) if is_random and len(columns) else values
        size = float(max(np.abs(sample.target[own]).max(), 1.0))
        allowed = limits.of(int(node), size)
        allowed = None if allowed is None else allowed._replace(by_column=allowed.by_column[columns])
        least = least_of_one_cut(seen, sample.of(own), fewest, lightest, allowed)
        for k in some.tolist():  # sets of categories
            column = X[own, k]
            sides = [drawn_side(column, int(seeds[node]), k)] if is_random else orders(column, sample.of(own))
            least = min(least, least_of_one_cut(np.column_stack(sides), sample.of(own), fewest, lightest))
        left = masses[tree.children_left[node]] + masses[tree.children_right[node]]
        rounding = (len(own) + 16) * 2.0**-51 * float(sample.s[own].sum()) * size
        if not left <= least + 1e-8 * masses[node] + rounding:
            refuse(model, f"another drawn split of node {int(node)} leaves {least:.10g}, and its own {left:.10g}")


def _seeds_of_nodes(tree: Any, seed: int) -> Array:
    """Return the seed of every node: a mixing of that of its parent and its side."""
    found = np.zeros(len(tree.children_left), dtype=np.uint64)
    found[0] = mixed(np.uint64(seed))
    with np.errstate(over="ignore"):
        for node in np.argsort(tree.depths, kind="stable"):
            if tree.children_left[node] >= 0:
                found[tree.children_left[node]] = mixed(found[node] * np.uint64(2))
                found[tree.children_right[node]] = mixed(found[node] * np.uint64(2) + np.uint64(1))
    return found


def _require_drawn(model: Any, node: int, values: Array, threshold: float, bits: Array) -> None:
    """Hold a threshold to the place between the least and the largest value that its bits choose."""
    known = values[~np.isnan(values)]
    low, high = float(known.min()), float(known.max())
    if low == high:
        good = threshold == np.inf
    else:
        share = float(uniform(bits))
        expected = low * (1 - share) + high * share
        expected = expected if low <= expected < high else low
        # products that are added in one step round once less
        good = low <= threshold < high and abs(threshold - expected) <= 2.0**-50 * (abs(low) + abs(high))
    if not good:
        refuse(model, f"the threshold {threshold:.12g} of node {node} is not the one that the seed draws")


def _require_drawn_set(model: Any, tree: Any, node: int, values: Array, seed: int) -> None:
    """Hold a set of categories to the one that the seed of its node draws."""
    words = np.asarray(tree.sets)[int(np.searchsorted(tree.by_set, node))]
    left, missing_left = drawn_left(values, seed, int(tree.feature[node]))
    is_other = not np.array_equal(np.flatnonzero(bits_of(words)[0]), np.sort(left).astype(np.int64))
    if is_other or (np.isnan(values).any() and bool(tree.missing_go_to_left[node]) != missing_left):
        refuse(model, f"node {node} sends other categories to the left than the seed draws")
