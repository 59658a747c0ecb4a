"""Splits of the trees of a forest, checked: no other cut of the drawn columns leaves less, and no leaf could have been split.

All cuts of all nodes are looked at, nodes of like size together, up to a budget of values over all trees. Where that is not
enough, the largest nodes of each tree are looked at; the verdict says how many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._category_sets import drawn_side, orders
from qed.verify._cuts import Cuts, Sample
from qed.verify._forest_nodes import RELATIVE, Nodes, number_of_rows
from qed.verify._refusals import refuse
from qed.verify._rows import holds_categories
from qed.verify._seeds import columns_of_node, drawn_sides

if TYPE_CHECKING:
    from qed.verify._bounds import Bounds

Array = np.ndarray[Any, Any]
BUDGET = 60_000_000  # values that are put in order, over all trees: some ten seconds
SORTED_ROWS = 64  # rows of a node above which thresholds lie between bins
BINS = 255


class Bag(NamedTuple):
    """Rows of a tree."""

    X: Array
    sample: Sample
    total: int  # rows of the table, of which limits may be shares
    ranks: Array | None  # the bins of values
    bounds: Bounds


class Grown(NamedTuple):
    """A tree with what its rows have told: where they end, how deep nodes are, what they weigh, and seeds of nodes."""

    tree: Nodes
    levels: list[tuple[Array, Array]]
    leaf: Array
    depth: Array
    masses: Array
    seed: Array


class ComparedSplits(NamedTuple):
    """How many splits and impure leaves were compared with all other cuts, and how many there are."""

    splits: int = 0
    all_splits: int = 0
    leaves: int = 0
    all_leaves: int = 0

    def plus(self, other: ComparedSplits) -> ComparedSplits:
        """Add up."""
        return ComparedSplits(*(a + b for a, b in zip(self, other, strict=True)))

    def words(self) -> str:
        """Say how many."""
        return (
            f"{self.splits} of {self.all_splits} splits were compared with every other cut of their columns, and"
            f" {self.leaves} of {self.all_leaves} leaves that could be split with every cut."
        )


def bins_of(X: Array, weight: Array | None, most: int) -> list[Array]:
    """Return for each column the values after which a bin ends: all of them where they are few."""
    ends = []
    for column in X.T:
        known = ~np.isnan(column)
        values, group = np.unique(column[known], return_inverse=True)
        if len(values) <= most:
            ends.append(values)
            continue
        seen = np.cumsum(np.bincount(group.reshape(-1), None if weight is None else weight[known]))
        own: list[float] = []
        total, first = seen[-1], 0
        while len(own) < most - 1 and first < len(values):
            end = max(int(np.searchsorted(seen * most, total * (len(own) + 1))), first)
            if end >= len(values) - 1:
                break
            own.append(values[end])
            first = end + 1
        ends.append(np.array([*own, values[-1]]))
    return ends


def ranks_of(X: Array, bins: list[Array]) -> Array:
    """Return the bin of each entry; missing ones stay missing."""
    found = np.empty(X.shape)
    for j, ends in enumerate(bins):
        found[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.searchsorted(ends, X[:, j]))
    return found


def _affordable(sizes: Array, features: int, sample: Sample, budget: float) -> int:
    """Return how many nodes, the largest first, a budget of values allows; one at least."""
    cost = np.cumsum(features * sizes.astype(np.float64) * (sizes if sample.criterion == "absolute_error" else 1))
    return max(int(np.searchsorted(cost, budget, side="right")), 1)


def check_splits(model: Any, number: int, grown: Grown, bag: Bag, budget: float) -> ComparedSplits:
    """See that no other cut of the drawn columns gains more, and that leaves of several targets could not be split."""
    tree, count = grown.tree, np.zeros(len(grown.tree.feature), dtype=np.int64)
    for _, at in grown.levels:
        count += np.bincount(at, minlength=len(count))
    fewest = number_of_rows(model.min_samples_leaf, bag.total)
    lightest = float(model.min_weight_fraction_leaf * bag.sample.s.sum())
    inner = np.flatnonzero(tree.feature >= 0)
    inner = inner[np.argsort(-count[inner], kind="stable")]
    some = inner[: _affordable(count[inner], looked_at(model, bag.X.shape[1]), bag.sample, budget)]
    least = _least(model, number, grown, bag, some, (fewest, lightest))
    left = grown.masses[some + 1] + grown.masses[tree.right[some]]
    worse = np.flatnonzero(~(left <= least + 1e-8 * grown.masses[some]))
    if len(worse):
        k = int(worse[0])
        refuse(
            model,
            f"another split of node {int(some[k])} of tree {number} leaves {least[k]:.10g}, and its own leaves {left[k]:.10g}",
        )
    ends = _open_leaves(model, grown, bag, count, fewest, lightest)
    few = ends[: _affordable(count[ends], looked_at(model, bag.X.shape[1]), bag.sample, budget)]
    after = _least(model, number, grown, bag, few, (fewest, lightest * (1 + RELATIVE)))
    whole = bag.sample.s.sum()
    gain = np.where(np.isinf(after), -np.inf, grown.masses[few] - after) / whole
    split = gain > model.min_impurity_decrease * (1 + RELATIVE) + RELATIVE * grown.masses[few] / whole
    if split.any():
        refuse(model, f"leaf {int(few[np.argmax(split)])} of tree {number} holds several targets, and could be split")
    return ComparedSplits(len(some), len(inner), len(few), len(ends))


def _open_leaves(model: Any, grown: Grown, bag: Bag, count: Array, fewest: int, lightest: float) -> Array:
    """Return leaves of different targets that the limits would let be split, the largest first."""
    ends = np.flatnonzero(grown.tree.feature < 0)
    if model.max_leaf_nodes is not None and len(ends) >= model.max_leaf_nodes:
        return ends[:0]
    n_nodes, sample = len(grown.tree.feature), bag.sample
    held = np.bincount(grown.leaf, sample.s, minlength=n_nodes)
    shape = (n_nodes, sample.target.shape[1])
    least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(least, grown.leaf, sample.target)
    np.maximum.at(most, grown.leaf, sample.target)
    may = (most > least).any(axis=1) & (count >= max(number_of_rows(model.min_samples_split, bag.total), 2 * fewest, 2))
    may &= held >= 2 * lightest * (1 + RELATIVE)
    if model.max_depth is not None:
        may &= grown.depth < model.max_depth
    ends = ends[may[ends]]
    return np.asarray(ends[np.argsort(-count[ends], kind="stable")])


def _least(model: Any, number: int, grown: Grown, bag: Bag, nodes: Array, limits: tuple[int, float]) -> Array:
    """Return the least that a cut of the drawn columns leaves at each node, infinity if the limits allow none."""
    cuts, features = Cuts(bag.sample, *limits, len(nodes)), looked_at(model, bag.X.shape[1])
    by_category = holds_categories(model, bag.X.shape[1])
    place = np.full(len(grown.tree.feature), -1)
    place[nodes] = np.arange(len(nodes))
    for here, at in grown.levels:
        own = np.flatnonzero(place[at] >= 0)
        own = own[np.argsort(at[own], kind="stable")]
        for rows in np.split(here[own], np.flatnonzero(np.diff(at[own])) + 1) if len(own) else ():
            node = int(at[np.searchsorted(here, rows[0])])
            seed = int(grown.seed[node])
            columns = columns_of_node(bag.X[rows], seed, features)
            if grown.tree.feature[node] >= 0 and grown.tree.feature[node] not in columns:
                refuse(model, f"node {node} of tree {number} looks at a column that was not drawn for it")
            for j, column in zip(columns, _seen(model, bag, rows, np.array(columns), seed).T, strict=True):
                for seen in _as_cuts(model, bag, rows, j, seed) if by_category[j] else (column,):
                    cuts.add(int(place[node]), rows, seen, bag.bounds.allowed(node, int(j)))
    return cuts.found()


def _as_cuts(model: Any, bag: Bag, rows: Array, j: int, seed: int) -> list[Array]:
    """Return a column of categories as columns whose cuts are its sets: the drawn one, or first parts of its orders."""
    values = bag.X[rows, j]
    if model._is_random:  # noqa: SLF001
        return [drawn_side(values, seed, j)]
    return orders(values, bag.sample.of(rows))


def _seen(model: Any, bag: Bag, rows: Array, columns: Array, seed: int) -> Array:
    """Return columns as cuts see them: sides of the drawn thresholds, bins where rows are many, or values."""
    values = bag.X[np.ix_(rows, columns)]
    if model._is_random:  # noqa: SLF001
        return drawn_sides(values, seed, columns)
    if bag.ranks is None or len(rows) <= SORTED_ROWS or bag.sample.criterion == "absolute_error":
        return np.asarray(values)
    ranks = bag.ranks[np.ix_(rows, columns)]
    return np.asarray(np.where(np.isnan(ranks).any(axis=0) | (np.ptp(ranks, axis=0) > 0), ranks, values))


def looked_at(model: Any, p: int) -> int:
    """Return how many columns a split looks at."""
    given = model.max_features
    if given is None:
        return p
    if isinstance(given, str):
        return max(1, int(np.sqrt(p) if given == "sqrt" else np.log2(p)))
    return min(int(given) if isinstance(given, int | np.integer) else max(1, int(given * p)), p)
