"""Splits of histogram boosting, checked: no other cut of the binned columns gains more, and no leaf could have been split.

Slopes and curvatures are rounded to whole numbers once for each tree, as the fit does it, so that sums over bins are compared as
they stand; a row whose number lies next to the middle of two whole ones is charged with one unit. The growth of each tree is then
followed: the node that gains most must be split first, until a limit is reached or nothing is gained. Nodes are looked at up to a
budget of values over all trees, the largest first; the verdict says how many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._forest_splits import BUDGET, ComparedSplits, bins_of, ranks_of
from qed.verify._rows import holds_categories
from qed.verify._seeds import mixed, shuffled

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
PLACES = 256  # bins of a column, that of missing values last
MISSING = 255
LEAST_CURVATURE = 1e-3  # of a leaf, as in scikit-learn
SLOPE_BITS, CURVATURE_BITS = 14, 12  # of the largest ones, where these tell rows apart
TYPICAL_SLOPE, TYPICAL_CURVATURE = 32.0, 16.0  # units, from which they do
MOST_COUNTED = 2**25  # rows, up to which they do
SAME = 1e-11  # relative: two computations of one slope or curvature
GROUPED = 8  # columns of which the first of equal cuts is taken; between groups the last bits of a gain decide
ROUNDING = 2.0**-36  # of scores; the fit takes those within 2^-40 for equal


class Numbers(NamedTuple):
    """Slopes and curvatures of rows, rounded as a tree sums them, and by how much each may be another number."""

    slope: Array
    curvature: Array
    slope_rounding: Array
    curvature_rounding: Array

    @classmethod
    def of(cls, slope: Array, curvature: Array, counts: Array, *, is_fine: bool) -> Numbers | None:
        """Round; None where rounding decides which units are taken."""
        total = float(counts.sum())
        up = SLOPE_BITS - _exponent(float((np.abs(slope) / counts).max()))
        up_curvature = CURVATURE_BITS - _exponent(float((curvature / counts).max()))
        typical = np.ldexp(np.sqrt(float((slope**2 / counts).sum()) / total), up) / TYPICAL_SLOPE
        typical_curvature = np.ldexp(float(curvature.sum()) / total, up_curvature) / TYPICAL_CURVATURE
        if not is_fine and min(abs(typical - 1), abs(typical_curvature - 1)) <= 1e-9:
            return None
        if is_fine or total > MOST_COUNTED or min(typical, typical_curvature) < 1:
            exact = 2.0**-44  # units are 61 bits below the sums
            return cls(slope, curvature, exact * np.abs(slope), exact * curvature)
        found = []
        for values, bits, most in ((slope, up, SLOPE_BITS), (curvature, up_curvature, CURVATURE_BITS)):
            own = np.ldexp(values / counts, bits)
            whole = np.rint(np.clip(own, 1 - 2**most, 2**most - 1))
            is_between = np.abs(np.abs(own - np.floor(own)) - 0.5) <= SAME * np.abs(own)
            found += [np.ldexp(counts * whole, -bits), np.ldexp(counts * is_between, -bits)]
        return cls(found[0], found[2], found[1], found[3])


def _exponent(number: float) -> int:
    return int(np.frexp(number if number > 0 else 1.0)[1])


class Side(NamedTuple):
    """Sums over the rows of a side, of one cut or of many."""

    slope: Any
    curvature: Any
    count: Any

    def minus(self, other: Side) -> Side:
        """Return the other side."""
        return Side(self.slope - other.slope, self.curvature - other.curvature, self.count - other.count)


class Grown(NamedTuple):
    """A tree of which rows have told where they go."""

    tree: Any
    levels: list[tuple[Array, Array]]  # rows, and where they are
    counts: Array  # of rows, by node
    depth: Array
    low: Array
    high: Array

    def reached(self, node: int) -> Array:
        """Return the rows of a node."""
        here, at = self.levels[int(self.depth[node])]
        return np.asarray(here[at == node])


class Best(NamedTuple):
    """What the best cut of a node gains at least, and what its own gains at most."""

    least: float
    own: float


class BoostedSplits:
    """The binned columns of a fit, and which nodes of its trees are looked at."""

    def __init__(self, model: Any, rows: Any, trees: list[Any], groups: Array | None, directions: Array | None) -> None:
        self.model, self.rows, self.groups, self.directions = model, rows, groups, directions
        n, p = rows.X.shape
        weight = None if (rows.s == 1).all() else rows.s
        self.ends = bins_of(rows.X, weight, int(model.max_bins))
        ranks = ranks_of(rows.X, self.ends)
        self.bins = np.where(np.isnan(ranks), MISSING, ranks).astype(np.int64)
        self.by_category = holds_categories(model, p)
        self.features = max(1, int(np.ceil(model.max_features * p)))
        self.places = min(max((len(ends) for ends in self.ends), default=1) + 1, PLACES)
        self.chosen = self._afforded(trees, n)
        self.looked = ComparedSplits()

    def _afforded(self, trees: list[Any], n: int) -> list[Array]:
        """Return the nodes of each tree that are looked at: the largest of all trees that a budget of values allows."""
        sizes = [_sizes(tree, n) for tree in trees]
        flat = np.concatenate(sizes)
        order = np.argsort(-flat, kind="stable")
        cost = np.cumsum(self.features * (flat[order] + 2.0 * self.places))
        taken = np.zeros(len(flat), dtype=bool)
        taken[order[: max(int(np.searchsorted(cost, BUDGET, side="right")), 1)]] = True
        return np.split(taken, np.cumsum([len(one) for one in sizes])[:-1])

    def check(self, number: int, where: str, grown: Grown, slope: Array, curvature: Array) -> str | None:
        """Return what is wrong with the splits of a tree; None if nothing is."""
        model, tree, counts = self.model, grown.tree, self.rows.counts
        inner = tree.feature >= 0
        numbers = Numbers.of(slope, curvature, counts, is_fine=self.directions is not None)
        least, most = np.full(len(inner), -np.inf), np.full(len(inner), np.inf)
        some = self.chosen[number]
        may = grown.counts >= 2 * model.min_samples_leaf
        if model.max_depth is not None:
            may &= grown.depth < model.max_depth
        open_, met = ~inner & may, self._met(tree)
        seeds = self._seeds(number, tree) if self.features < self.rows.X.shape[1] else None
        nodes = np.flatnonzero(some & (inner | may)) if numbers is not None else np.zeros(0, dtype=np.intp)
        for node in nodes.tolist():
            columns = self._columns(met[node], None if seeds is None else int(seeds[node]))
            found = _Node(self, grown, node, numbers).judged(columns)
            if isinstance(found, str):
                return f"node {node} of {where} {found}"
            least[node], most[node] = found.least, found.own
        splits = int(inner[nodes].sum())
        self.looked = self.looked.plus(ComparedSplits(splits, int(inner.sum()), len(nodes) - splits, int(open_.sum())))
        return self._grows(where, tree, least, most, open_, is_whole=len(nodes) == int((inner | may).sum()))

    def _grows(self, where: str, tree: Any, least: Array, most: Array, open_: Array, *, is_whole: bool) -> str | None:
        """See that a leaf gains only where the limit on leaves was reached by nodes that may gain more.

        The node that gains most is split first. When a node is split, one node on the way to each leaf that is not below it is
        waiting; so it may not gain surely less than the leaf and every node on that way, from where the two ways part.
        """
        inner, limit = tree.feature >= 0, self.model.max_leaf_nodes
        is_full = limit is not None and int((~inner).sum()) >= limit
        gaining = np.flatnonzero(open_ & ~(least <= 0))
        if not is_full:
            return f"leaf {int(gaining[0])} of {where} could be split" if len(gaining) else None
        if not is_whole or not len(gaining):
            return None
        nodes = np.flatnonzero(inner)[::-1]  # children come after their parents
        parent, other = np.full(len(inner), -1), np.full(len(inner), -1)
        weakest = np.where(inner, most, np.inf)  # of the splits of a node and those below it
        for node in nodes.tolist():
            left, right = node + 1, int(tree.right[node])
            parent[[left, right]], other[left], other[right] = node, right, left
            weakest[node] = min(weakest[node], weakest[left], weakest[right])
        for leaf in gaining.tolist():
            node, surely = leaf, float(least[leaf])
            while parent[node] >= 0:
                if not surely <= weakest[other[node]]:
                    return f"leaf {leaf} of {where} gains more by a split than a node that is split"
                node = int(parent[node])
                surely = min(surely, float(least[node]))
        return None

    def _met(self, tree: Any) -> Array:
        """Return which groups of columns hold all columns above each node."""
        if self.groups is None:
            return np.zeros((len(tree.feature), 0), dtype=bool)
        met = np.ones((len(tree.feature), len(self.groups)), dtype=bool)
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            met[node + 1] = met[tree.right[node]] = met[node] & self.groups[:, tree.feature[node]]
        return met

    def _seeds(self, number: int, tree: Any) -> Array:
        """Return the seed of each node."""
        found = np.zeros(len(tree.feature), dtype=np.uint64)
        first, k = number - number % self.rows.k, number % self.rows.k
        found[0] = mixed(np.uint64(((int(self.model.seed_) + first) % 2**63 + k) % 2**64))
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            for side, child in enumerate((node + 1, int(tree.right[node]))):
                found[child] = mixed(np.uint64((2 * int(found[node]) + side) % 2**64))
        return found

    def _columns(self, met: Array, seed: int | None) -> Array:
        """Return the columns that a node looks at: drawn ones, and of those the ones that may meet all above."""
        p = self.rows.X.shape[1]
        looks = np.ones(p, dtype=bool)
        if seed is not None:
            looks[:] = False
            looks[[j for j, _ in zip(shuffled(seed, p), range(self.features), strict=False)]] = True
        if self.groups is not None:
            looks &= self.groups[met].any(axis=0)
        return np.flatnonzero(looks)


def _sizes(tree: Any, n: int) -> Array:
    """Return about how many rows reach each node: what leaves hold, added up from below."""
    found = np.where(tree.feature < 0, np.nan_to_num(tree.weight), 0.0)
    for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
        found[node] = found[node + 1] + found[tree.right[node]]
    return np.asarray(np.clip(found, 1, n))


class _Node:
    """One node: its rows, their sums, and what cuts of its columns gain."""

    def __init__(self, splits: BoostedSplits, grown: Grown, node: int, numbers: Any) -> None:
        self.splits, self.grown, self.node = splits, grown, node
        self.own = own = grown.reached(node)
        self.ridge = float(splits.model.l2_regularization)
        self.fewest = int(splits.model.min_samples_leaf)
        self.numbers = Numbers(*(one[own] for one in numbers))
        self.counts = splits.rows.counts[own]
        self.all = self._side(np.ones(len(own), dtype=bool))
        self.rounding_error = float(self.numbers.slope_rounding.sum()), float(self.numbers.curvature_rounding.sum())
        self.low, self.high = float(grown.low[node]), float(grown.high[node])
        value = self._value(self.all)
        self.base = -(2 * self.all.slope + (self.all.curvature + self.ridge) * value) * value
        self.near = (
            ROUNDING * abs(self.base) + float(self._rounding_errors(self.all, value)) + np.finfo(np.float64).tiny
        )

    def _side(self, mask: Array) -> Side:
        slope, curvature = self.numbers.slope[mask].sum(), self.numbers.curvature[mask].sum()
        return Side(float(slope), float(curvature), float(self.counts[mask].sum()))

    def _value(self, side: Side) -> Any:
        total = side.curvature + self.ridge
        return np.clip(-side.slope / np.where(total > 0, total, np.inf), self.low, self.high)

    def _rounding_errors(self, side: Side, value: Any) -> Any:
        slope, curvature = self.rounding_error
        least = np.maximum(side.curvature + self.ridge, LEAST_CURVATURE)
        return 2 * np.abs(value) * slope + value**2 * curvature + slope**2 / least

    def _gains(self, left: Side, direction: Any) -> tuple[Array, Array, Array, Array]:
        """Return what cuts gain, how far rounding may change that, and whether the rules allow them: surely, and perhaps."""
        right = self.all.minus(left)
        here, there = self._value(left), self._value(right)
        gain = -(2 * left.slope + (left.curvature + self.ridge) * here) * here
        gain = gain - (2 * right.slope + (right.curvature + self.ridge) * there) * there
        rounding_error = (
            self._rounding_errors(left, here) + self._rounding_errors(right, there) + ROUNDING * np.abs(gain)
        )
        slope, curvature = self.rounding_error
        smaller = np.minimum(left.curvature, right.curvature)
        is_large = np.minimum(left.count, right.count) >= self.fewest
        off = (slope + np.maximum(np.abs(here), np.abs(there)) * curvature) / np.maximum(smaller, LEAST_CURVATURE)
        off = off + ROUNDING * (np.abs(here) + np.abs(there))
        rises = direction * (there - here)
        least = LEAST_CURVATURE * (1 + ROUNDING)
        surely = is_large & (smaller >= least + curvature) & ((direction == 0) | (rises >= off))
        perhaps = is_large & (smaller >= LEAST_CURVATURE * (1 - ROUNDING) - curvature) & (rises >= -off)
        return gain, rounding_error, surely, perhaps

    def judged(self, columns: Array) -> Best | str:  # noqa: PLR0911  one line for each thing that may be wrong
        """Compare the split of the node with all other cuts of its columns."""
        tree, node = self.grown.tree, self.node
        least, way = -np.inf, self.splits.directions
        own, left, feature = None, None, int(tree.feature[node])
        if feature >= 0:
            if feature not in columns:
                return "looks at a column that it may not look at, or that was not drawn for it"
            left = self._side(self._goes_left())
            gain, rounding_error, _, perhaps = self._gains(left, 0 if way is None else int(way[feature]))
            if not perhaps:
                return "has smaller leaves, or flatter ones, than its parameters allow"
            own = float(gain) + float(rounding_error)
        for lefts, found in self._cuts(columns):
            direction = 0 if way is None else way[found][:, None, None]
            gain, rounding_error, surely, _ = self._gains(lefts, direction)
            least = max(least, float(np.where(surely, gain - rounding_error, -np.inf).max(initial=-np.inf)))
            if left is not None and node not in tree.sets and not self.splits.by_category[found[0]]:
                alike = surely & (lefts.slope == left.slope) & (lefts.curvature == left.curvature)
                if self.rounding_error == (0.0, 0.0) and self._has_earlier(found, alike):
                    return "parts its rows as an earlier bin or column does"
        if own is None:
            return Best(least - self.base - self.near, -np.inf)
        if not own >= least:
            return f"gains {own - self.base:.10g}, and another split gains {least - self.base:.10g}"
        if not own - self.base + self.near > 0:
            return "gains nothing by its split"
        if node not in tree.sets and not self._is_first(columns, feature):
            return "parts its rows as an earlier bin or column does"
        return Best(least - self.base - self.near, own - self.base + self.near)

    def _place(self) -> tuple[int, bool, int]:
        """Return column, side of missing values and bin of the split."""
        tree, feature = self.grown.tree, int(self.grown.tree.feature[self.node])
        threshold, ends = tree.threshold[self.node], self.splits.ends[feature]
        place = len(ends) - 1 if np.isinf(threshold) else int(np.searchsorted(ends, threshold, "right")) - 1
        has_missing = bool((self.splits.bins[self.own, feature] == MISSING).any())
        return feature, has_missing and bool(tree.missing_left[self.node]), place

    def _has_earlier(self, columns: Array, alike: Array) -> bool:
        """Tell whether one of some cuts that sum up to the same is looked at before the split: the first is taken."""
        feature, side, place = self._place()
        many = alike.shape[2]
        order = (columns[:, None, None] * 2 + np.arange(2)[:, None]) * many + np.arange(many)
        near = (columns // GROUPED == feature // GROUPED)[:, None, None]
        return bool((alike & near & (order < (feature * 2 + side) * many + place)).any())

    def _goes_left(self) -> Array:
        here, at = self.grown.levels[int(self.grown.depth[self.node]) + 1]
        return np.isin(self.own, here[at == self.node + 1], assume_unique=True)

    def _histogram(self, columns: Array) -> Side:
        """Return the sums of bins, (columns, places)."""
        many = self.splits.places
        codes = self.splits.bins[np.ix_(self.own, columns)]
        codes = np.where(codes == MISSING, many - 1, codes) + many * np.arange(len(columns))
        shape, flat = (len(columns), many), codes.ravel()
        sums = (
            np.bincount(flat, np.repeat(one, len(columns)), minlength=many * len(columns)).reshape(shape)
            for one in (self.numbers.slope, self.numbers.curvature, self.counts)
        )
        return Side(*sums)

    def _cuts(self, columns: Array) -> Iterator[tuple[Side, Array]]:
        """Yield the left sides of all cuts, (columns, 2, bins): missing values right, then left; and those of sets."""
        by_set = self.splits.by_category[columns]
        plain = columns[~by_set]
        if len(plain):
            bins = self._histogram(plain)
            sides = []
            for one in bins:
                lefts = np.cumsum(one[:, :-1], axis=1)
                sides.append(np.stack([lefts, lefts + one[:, -1:]], axis=1))
            has_missing = bins.count[:, -1] > 0
            sides[2][:, 1] = np.where(has_missing[:, None], sides[2][:, 1], 0.0)  # no cut of its own
            yield Side(*sides), plain
        for j in columns[by_set]:
            bins = self._histogram(np.array([j]))
            met = np.flatnonzero(bins.count[0] > 0)
            order = np.argsort(bins.slope[0, met] / (bins.curvature[0, met] + self.ridge + 1e-12), kind="stable")
            sides = [np.cumsum(one[0, met[order]])[None, None, :-1] for one in bins]
            yield Side(*sides), np.array([j])

    def _is_first(self, columns: Array, feature: int) -> bool:
        """Tell whether no earlier cut parts the rows alike, where sums are rounded: the first is taken."""
        splits, left, mine = self.splits, self._goes_left(), self._place()
        way = np.zeros(splits.rows.X.shape[1]) if splits.directions is None else splits.directions
        free = (way[columns] == 0) | (columns == feature)  # other columns may part the rows against their direction
        free &= columns // GROUPED == feature // GROUPED
        for j in columns[(columns <= feature) & ~splits.by_category[columns] & free].tolist():
            code = splits.bins[self.own, j]
            known = code != MISSING
            last = int(code[known & left].max(initial=0))
            side = bool(left[~known].any())
            if (code[known & ~left] > last).all() and (left[~known] == side).all():
                return (j, side, last) >= mine
        return True
