"""Forests, checked: rows are drawn again from the seed, sent down every tree, summed up at every leaf, and judged again.

What is drawn follows from a seed by a mixing of 64 bits that is written down here a second time: rows for a tree, columns for a
node, thresholds for a column. Every leaf must hold what its rows weigh or mean, every threshold must lie where the rule says,
and rows out of a sample must give the stated error. That a split is the best among the drawn columns, and that a leaf of
several targets could not be split, is checked for as many nodes of each tree, the largest first, as a budget of values allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._bounds import Bounds, refuse
from qed.verify._cuts import LABELS, Sample, least_of_one_cut, mass_of
from qed.verify._names import called
from qed.verify._rows import read_data
from qed.verify._seeds import columns_of_node, drawn_sides, mixed, rows_with_replacement, stream, uniform
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import OutOfBagCertificate


Array = np.ndarray[Any, Any]
BUDGET = 8_000_000  # values sorted, over all trees, to see that splits are the best ones
RELATIVE = 1e-9  # of sums in double precision
SMALLEST = 4_000  # values whose sorting takes as long as looking at a column at all
SORTED_ROWS = 64  # rows of a node above which thresholds lie between bins
BINS = 255


class Nodes(NamedTuple):
    """One tree: its nodes in the order of a walk that goes left first."""

    feature: Array
    right: Array
    threshold: Array  # by node
    missing_left: Array  # by node
    value: Array  # by node, meaningless above leaves
    weight: Array


class _Rows(NamedTuple):
    """Rows of positive weight."""

    X: Array
    sample: Sample  # s: what multiplies the times that a row is drawn
    share: Array
    weighted: bool
    draws: int
    is_class: bool


def check(model: Any, certificate: OutOfBagCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Draw, descend, sum and judge again; raise CertificateError when it is not as stated."""
    rows = _read(model, X, y, sample_weight)
    n, trees = len(rows.X), model.trees_
    if not 0 <= model.seed_ < 2**63:
        refuse(model, "its seed is none")
    stated = (certificate.trees, certificate.rows, certificate.is_greedy)
    if stated != (len(trees.sizes), n, not model._is_random) or certificate.delta != 0.05:  # noqa: SLF001
        refuse(model, f"it states {stated[0]} trees and {stated[1]} rows")
    sums, judged = np.zeros((n, rows.sample.target.shape[1])), np.zeros(n)
    rank_bins = None if model._is_random else bins_of(rows.X, rows.share if rows.weighted else None, BINS)  # noqa: SLF001
    budget = BUDGET // len(trees.sizes)
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        times = _times(model, rows, number)
        weight = _weights(model, rows, times)
        _check_tree(model, number, tree, rows, np.flatnonzero(times > 0), weight, rank_bins, budget)
        out = np.flatnonzero(times == 0) if rows.draws else np.arange(n)
        if len(out):
            leaf = levels_of(model, tree, rows.X[out])
            own = tree.value[leaf]
            sums[out] += own / own.sum(axis=1, keepdims=True) if rows.is_class else own
            judged[out] += 1
    error, low, high, seen = _judge(rows, sums, judged)
    slack = RELATIVE * max(error, high, 1e-300)
    if not (abs(certificate.error - error) <= slack and certificate.judged == (seen if rows.draws else 0)):
        refuse(model, f"its {certificate.measure} is {error:.10g}, and {certificate.error:.10g} is stated")
    where = "out-of-bag" if rows.draws else "training"
    if certificate.measure != f"{where} {'error rate' if rows.is_class else 'squared error'}":
        refuse(model, "it states another measure than it was judged by")
    if not (certificate.low <= low + slack and certificate.high >= high - slack):
        refuse(model, f"the interval is {low:.6g} to {high:.6g}, and a narrower one is stated")
    _check_out_of_bag(model, rows, sums, judged, X, y, sample_weight)
    return Verdict(certificate.statement, error, abs(error - certificate.error), slack, slack, certificate.measure)


def _read(model: Any, X: Any, y: Any, sample_weight: Any) -> _Rows:
    data = read_data(model, X, y, sample_weight)
    table = np.asarray(data.X if isinstance(data.X, np.ndarray) else data.X.toarray(), dtype=np.float64)
    share = np.ones(data.n_rows) if data.weight is None else data.weight
    criterion = {"log_loss": "entropy", "friedman_mse": "squared_error"}.get(model.criterion, model.criterion)
    factor, is_class = np.ones(data.n_rows), "classes_" in model.__dict__
    if is_class:
        if not np.array_equal(data.classes, model.classes_):
            refuse(model, f"the labels are {data.classes.tolist()!r:.100}")
        factor = _class_factors(model, data.y.astype(np.intp), share)
        target = np.eye(len(data.classes))[data.y.astype(np.intp)]
    else:
        target = data.y.astype(np.float64).reshape(data.n_rows, -1)
    used = share * factor > 0
    share, factor = share[used], factor[used]
    whole = data.weight is not None and bool((share == np.rint(share)).all()) and share.sum() < 2**31
    total = float(share.sum()) if whole else float(len(share))
    draws = 0
    if model.bootstrap:
        given = model.max_samples
        draws = int(total) if given is None else given if isinstance(given, int) else max(round(total * given), 1)
    s = factor if draws else share * factor
    return _Rows(table[used], Sample(criterion, target[used], s), share, data.weight is not None, draws, is_class)


def _class_factors(model: Any, codes: Array, s: Array) -> Array:
    given, labels = model.class_weight, model.classes_.tolist()
    if given is None or (isinstance(given, str) and given == "balanced_subsample"):
        return np.ones(len(codes))
    if isinstance(given, str):
        sums = np.bincount(codes, s, minlength=len(labels))
        return np.asarray((s.sum() / (len(labels) * np.where(sums > 0, sums, 1.0)))[codes])
    return np.asarray(np.array([float(given.get(label, 1.0)) for label in labels])[codes])


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
    return Nodes(feature, right_children(model, inner), threshold, missing, value, weight)


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


def _times(model: Any, rows: _Rows, number: int) -> Array:
    n = len(rows.X)
    if not rows.draws:
        return np.ones(n, dtype=np.int64)
    drawn = rows_with_replacement(model.seed_, number, rows.draws, n, rows.share if rows.weighted else None)
    return np.bincount(drawn, minlength=n)


def _weights(model: Any, rows: _Rows, times: Array) -> Array:
    weight = times * rows.sample.s
    if rows.is_class and isinstance(model.class_weight, str) and model.class_weight == "balanced_subsample":
        sums = weight @ rows.sample.target
        weight = (
            weight
            * (weight.sum() / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1.0)))[
                rows.sample.target.argmax(axis=1)
            ]
        )
    return np.asarray(weight)


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
        at = np.where(is_left, at + 1, tree.right[at])
    return leaf


def _check_tree(
    model: Any, number: int, tree: Nodes, rows: _Rows, bag: Array, weight: Array, bins: Any, budget: int
) -> None:
    X, target, s = rows.X[bag], rows.sample.target[bag], weight[bag]
    n_nodes = len(tree.feature)
    count, held = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes)
    depth, seed = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.uint64)
    seed[0] = mixed(stream(np.uint64(model.seed_), np.int64(number)))
    levels: list[tuple[Array, Array]] = []

    def visit(here: Array, at: Array) -> None:
        nodes = np.unique(at)
        count[:] += np.bincount(at, minlength=n_nodes)
        held[:] += np.bincount(at, s[here], minlength=n_nodes)
        depth[nodes] = len(levels)
        inner = nodes[tree.feature[nodes] >= 0]
        with np.errstate(over="ignore"):
            seed[inner + 1] = mixed(seed[inner] * np.uint64(2))
            seed[tree.right[inner]] = mixed(seed[inner] * np.uint64(2) + np.uint64(1))
        levels.append((here, at))
        check_thresholds(model, number, tree, X, here, at, seed)

    leaf = levels_of(model, tree, X, visit)
    if (count == 0).any():
        refuse(model, f"node {int(np.flatnonzero(count == 0)[0])} of tree {number} is reached by no row")
    check_sides(model, number, tree, X, levels, count)
    _check_limits(model, number, tree, len(rows.X), count, held, depth)
    sample = Sample(rows.sample.criterion, target, s)
    bounds = Bounds.of(model, number, tree, sample, levels)
    masses = _check_leaves(model, number, tree, sample, leaf, levels, bounds)
    _check_importance(model, number, tree, masses)
    own = _Bag(X, sample, len(rows.X), bounds)
    _check_splits(model, number, tree, own, levels, masses, seed, bins, budget)
    _check_ends(model, number, tree, own, leaf, depth, masses, seed, bins, budget)


class _Bag(NamedTuple):
    X: Array
    sample: Sample
    total: int  # rows of the table, of which limits may be shares
    bounds: Bounds


def check_thresholds(model: Any, number: int, tree: Nodes, X: Array, here: Array, at: Array, seed: Array) -> None:
    """See that best thresholds lie midway between the values that they part, and drawn ones where the seed puts them."""
    inner = tree.feature[at] >= 0
    here, at = here[inner], at[inner]
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


def _check_limits(model: Any, number: int, tree: Nodes, n: int, count: Array, held: Array, depth: Array) -> None:
    leaf, inner = tree.feature < 0, tree.feature >= 0
    fewest = number_of_rows(model.min_samples_leaf, n)
    bad = {
        "is deeper": model.max_depth is not None and depth.max() > model.max_depth,
        "has more leaves": model.max_leaf_nodes is not None and leaf.sum() > model.max_leaf_nodes,
        "splits smaller nodes": (count[inner] < max(number_of_rows(model.min_samples_split, n), 2)).any(),
        "has smaller leaves": leaf.sum() > 1 and (count[leaf] < fewest).any(),  # a root is what it is
        "has lighter leaves": (held[leaf] < model.min_weight_fraction_leaf * held[0] * (1 - RELATIVE)).any(),
    }
    for what, holds in bad.items():
        if holds:
            refuse(model, f"tree {number} {what} than its parameters allow")


def _check_leaves(
    model: Any,
    number: int,
    tree: Nodes,
    sample: Sample,
    leaf: Array,
    levels: list[tuple[Array, Array]],
    bounds: Bounds,
) -> Array:
    """Compare what leaves hold with their rows; return the weight times impurity of every node."""
    n_nodes, target, s = len(tree.feature), sample.target, sample.s
    width = target.shape[1]
    if tree.value.shape[1] != width:
        refuse(model, "its values do not fit the targets")
    ends = np.flatnonzero(tree.feature < 0)
    weight = np.bincount(leaf, s, minlength=n_nodes)
    if not (np.abs(tree.weight[ends] - weight[ends]) <= RELATIVE * weight[ends]).all():
        refuse(model, f"a leaf of tree {number} states another weight than its rows have")
    if sample.criterion in LABELS:
        for k in range(width):
            share = np.bincount(leaf, s * target[:, k], minlength=n_nodes)[ends] / weight[ends]
            held = weight[ends] * bounds.kept(ends, share, is_last=k == width - 1)
            if not (np.abs(tree.value[ends, k] - held) <= RELATIVE * weight[ends]).all():
                refuse(model, f"a leaf of tree {number} states other weights of its labels than its rows have")
    elif sample.criterion == "absolute_error":
        own = tree.value[leaf, 0]
        under = np.bincount(leaf, s * (target[:, 0] < own), minlength=n_nodes)
        over = np.bincount(leaf, s * (target[:, 0] > own), minlength=n_nodes)
        if not (np.maximum(under, over)[ends] <= 0.5 * weight[ends] * (1 + RELATIVE)).all():
            refuse(model, f"a leaf of tree {number} does not predict a median")
    else:
        size = np.zeros(n_nodes)
        np.maximum.at(size, leaf, np.abs(target).max(axis=1))
        for k in range(width):
            first = np.zeros(n_nodes)
            first[leaf[::-1]] = target[::-1, k]
            mean = first + np.bincount(leaf, s * (target[:, k] - first[leaf]), minlength=n_nodes) / np.where(
                weight > 0, weight, 1
            )
            kept = bounds.kept(ends, mean[ends], is_last=k == width - 1)
            if not (np.abs(tree.value[ends, k] - kept) <= RELATIVE * size[ends] + 1e-300).all():
                refuse(model, f"a leaf of tree {number} predicts another mean than its rows have")
    masses = np.zeros(n_nodes)
    for here, at in levels:
        masses += _masses(sample.of(here), at, n_nodes)
    return masses


def _masses(sample: Sample, at: Array, n_nodes: int) -> Array:
    """Return weight times impurity of the nodes that hold rows at one level."""
    masses = np.zeros(n_nodes)
    nodes, local = np.unique(at, return_inverse=True)
    local = local.reshape(-1)
    if sample.criterion == "absolute_error":
        order = np.argsort(local, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(local[order])) + 1)
        masses[nodes] = [sample.of(part).mass() for part in parts]
        return masses
    weight = np.bincount(local, sample.s)
    shift = sample.target.mean(axis=0)
    mean = np.stack(
        [
            shift[k] + np.bincount(local, sample.s * (sample.target[:, k] - shift[k])) / weight
            for k in range(sample.target.shape[1])
        ],
        axis=1,
    )
    masses[nodes] = mass_of(sample.criterion, sample.target, sample.s, local, mean)
    return masses


def _check_importance(model: Any, number: int, tree: Nodes, masses: Array) -> None:
    inner = np.flatnonzero(tree.feature >= 0)
    gains = masses[inner] - masses[inner + 1] - masses[tree.right[inner]]
    weight = tree.weight[tree.feature < 0].sum()
    found = np.bincount(tree.feature[inner], np.maximum(gains, 0), minlength=model.trees_.n_features) / weight
    stated = model.tree_importances_[number]
    if not (np.abs(stated - found) <= 1e-7 * max(masses[0] / weight, 1e-300)).all():
        refuse(model, f"the importances of the columns in tree {number} are others")


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


def _check_splits(
    model: Any, number: int, tree: Nodes, bag: _Bag, levels: Any, masses: Array, seed: Array, bins: Any, budget: int
) -> None:
    """See that no other cut of the drawn columns gains more, the largest nodes first."""
    p = bag.X.shape[1]
    features = _looked_at(model, p)
    fewest = number_of_rows(model.min_samples_leaf, bag.total)
    lightest = float(model.min_weight_fraction_leaf * bag.sample.s.sum())
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    count = np.zeros(len(tree.feature), dtype=np.int64)
    for level, (_, at) in enumerate(levels):
        depth[at] = level
        count += np.bincount(at, minlength=len(count))
    inner = np.flatnonzero(tree.feature >= 0)
    inner = inner[np.argsort(-count[inner], kind="stable")]
    spent = 0
    for node in inner:
        size = int(count[node])
        spent += features * max(size * (size if bag.sample.criterion == "absolute_error" else 1), SMALLEST)
        if spent > budget and node:
            return
        here, at = levels[int(depth[node])]
        own = here[at == node]
        columns = columns_of_node(bag.X[own], int(seed[node]), features)
        if tree.feature[node] not in columns:
            refuse(model, f"node {int(node)} of tree {number} looks at a column that was not drawn for it")
        least = _least(model, bag, int(node), own, columns, int(seed[node]), bins, (fewest, lightest))
        left = masses[node + 1] + masses[tree.right[node]]
        if not left <= least + 1e-8 * masses[node]:
            refuse(
                model,
                f"another split of node {int(node)} of tree {number} leaves {least:.10g}, and its own leaves {left:.10g}",
            )


def _least(
    model: Any, bag: _Bag, node: int, own: Array, columns: list[int], seed: int, bins: Any, limits: tuple[int, float]
) -> float:
    """Return the least that a cut of the drawn columns leaves of some rows, infinity if the limits allow none."""
    least, size = np.inf, float(np.abs(bag.sample.target).max(initial=0.0))
    for j in columns:
        column = bag.X[own, j]
        if model._is_random:  # noqa: SLF001
            column = drawn_sides(column, seed, int(j))
        elif len(own) > SORTED_ROWS and bag.sample.criterion != "absolute_error":
            ranks = np.where(np.isnan(column), np.nan, np.searchsorted(bins[j], column).astype(np.float64))
            if np.isnan(ranks).any() or np.ptp(ranks) > 0:
                column = ranks
        allowed = bag.bounds.allowed(node, int(j), size)
        least = min(least, least_of_one_cut(column[:, None], bag.sample.of(own), *limits, allowed))
    return least


def _check_ends(
    model: Any,
    number: int,
    tree: Nodes,
    bag: _Bag,
    leaf: Array,
    depth: Array,
    masses: Array,
    seed: Array,
    bins: Any,
    budget: int,
) -> None:
    """See that leaves of different targets could not be split: the limits forbid it, or no column tells their rows apart."""
    ends = np.flatnonzero(tree.feature < 0)
    if model.max_leaf_nodes is not None and len(ends) >= model.max_leaf_nodes:
        return
    n_nodes, sample = len(tree.feature), bag.sample
    count, held = np.bincount(leaf, minlength=n_nodes), np.bincount(leaf, sample.s, minlength=n_nodes)
    fewest = number_of_rows(model.min_samples_leaf, bag.total)
    lightest = float(model.min_weight_fraction_leaf * sample.s.sum())
    least, most = (
        np.full((n_nodes, sample.target.shape[1]), np.inf),
        np.full((n_nodes, sample.target.shape[1]), -np.inf),
    )
    np.minimum.at(least, leaf, sample.target)
    np.maximum.at(most, leaf, sample.target)
    may = (most > least).any(axis=1) & (count >= max(number_of_rows(model.min_samples_split, bag.total), 2 * fewest, 2))
    may &= held >= 2 * lightest * (1 + RELATIVE)
    if model.max_depth is not None:
        may &= depth < model.max_depth
    features, spent = _looked_at(model, bag.X.shape[1]), 0
    ends = ends[may[ends]]
    for place, node in enumerate(ends[np.argsort(-count[ends], kind="stable")]):
        own = np.flatnonzero(leaf == node)
        spent += features * max(len(own) * (len(own) if sample.criterion == "absolute_error" else 1), SMALLEST)
        if spent > budget and place:
            return
        columns = columns_of_node(bag.X[own], int(seed[node]), features)
        limits = (fewest, lightest * (1 + RELATIVE))
        after = _least(model, bag, int(node), own, columns, int(seed[node]), bins, limits)
        gain = (masses[node] - after) / sample.s.sum()
        if not gain <= model.min_impurity_decrease * (1 + RELATIVE) + RELATIVE * masses[node] / sample.s.sum():
            refuse(model, f"leaf {int(node)} of tree {number} holds several targets, and could be split")


def number_of_rows(given: Any, n: int) -> int:
    """Return a number of rows that is given as such, or as a share."""
    return int(given) if isinstance(given, int | np.integer) else int(np.ceil(given * n))


def _looked_at(model: Any, p: int) -> int:
    given = model.max_features
    if given is None:
        return p
    if isinstance(given, str):
        return max(1, int(np.sqrt(p) if given == "sqrt" else np.log2(p)))
    return min(int(given) if isinstance(given, int | np.integer) else max(1, int(given * p)), p)


def _judge(rows: _Rows, sums: Array, judged: Array) -> tuple[float, float, float, int]:
    """Return the error of the rows that were judged, Hoeffding's interval around it, and how many they are."""
    seen = judged > 0
    y = rows.sample.target
    if not seen.any():
        return 0.0, 0.0, 1.0 if rows.is_class else float(np.ptp(y) ** 2), 0
    s = rows.share[seen]
    said = sums[seen] / judged[seen, None]
    if rows.is_class:
        off, most = (said.argmax(axis=1) != y[seen].argmax(axis=1)).astype(np.float64), 1.0
    else:
        off, most = ((said - y[seen]) ** 2).mean(axis=1), float(np.ptp(y, axis=0).max() ** 2)
    error = float(s @ off / s.sum())
    if not (rows.draws and most > 0):
        return error, error, error, int(seen.sum())
    bound = np.log(2 / 0.05) * float(s @ s) / float(s.sum()) ** 2
    share = min(error / most, 1.0)
    grid_low, grid_high = ends_of_interval(share, bound)
    return error, min(grid_low * most, error), max(grid_high * most, error), int(seen.sum())


def ends_of_interval(share: float, bound: float) -> tuple[float, float]:
    """Return where the relative entropy of a coin of that share reaches the bound, by Newton's steps from outside."""
    from scipy.optimize import brentq  # noqa: PLC0415  (a root, found by other code than that of the fit)

    def excess(p: float) -> float:
        first = share * np.log(share / p) if share > 0 else 0.0
        second = (1 - share) * np.log((1 - share) / (1 - p)) if share < 1 else 0.0
        return float(first + second - bound)

    tiny = 1e-300
    low = 0.0 if share == 0 or excess(tiny) <= 0 else brentq(excess, tiny, share, xtol=1e-14, rtol=1e-12)
    high = 1.0 if share == 1 or excess(1 - 1e-16) <= 0 else brentq(excess, share, 1 - 1e-16, xtol=1e-14, rtol=1e-12)
    return float(low), float(high)


def _check_out_of_bag(model: Any, rows: _Rows, sums: Array, judged: Array, X: Any, y: Any, sample_weight: Any) -> None:
    """Compare what is stored about rows out of the samples with what was found."""
    name = "oob_decision_function_" if rows.is_class else "oob_prediction_"
    if name not in model.__dict__:
        return
    data = read_data(model, X, y, sample_weight)
    share = np.ones(data.n_rows) if data.weight is None else data.weight
    factor = _class_factors(model, data.y.astype(np.intp), share) if rows.is_class else np.ones(data.n_rows)
    whole = np.full((data.n_rows, sums.shape[1]), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole[share * factor > 0] = sums / judged[:, None]
    stored = np.asarray(model.__dict__[name]).reshape(data.n_rows, -1)
    size = np.nanmax(np.abs(whole), initial=1e-300)
    if stored.shape != whole.shape or not np.allclose(stored, whole, rtol=0, atol=RELATIVE * size, equal_nan=True):
        refuse(model, f"{name} is not what trees say of rows that they have not seen")
    seen = judged > 0
    truth, said, s = rows.sample.target[seen], sums[seen] / judged[seen, None], rows.share[seen]
    if rows.is_class:
        score = float(s @ (said.argmax(axis=1) == truth.argmax(axis=1)) / s.sum()) if seen.any() else np.nan
    else:
        mean = s @ truth / s.sum() if seen.any() else 0.0
        total, off = s @ (truth - mean) ** 2, s @ (truth - said) ** 2
        score = float(np.mean(np.where(total > 0, 1 - off / np.where(total > 0, total, 1), off == 0)))
    if seen.sum() > 1 and not abs(model.oob_score_ - score) <= 1e-7 * max(1.0, abs(score)):
        refuse(model, f"oob_score_ is {score:.10g}, and {model.oob_score_:.10g} is stated")
