"""Forests, checked: rows are drawn again from the seed, sent down every tree, summed up at every leaf, and judged again.

What is drawn follows from a seed by a mixing of 64 bits that is written down here a second time: rows for a tree, columns for a
node, thresholds for a column. Every leaf must hold what its rows weigh or mean, every threshold must lie where the rule says,
and rows out of a sample must give the stated error. Splits are compared with all others in ``_forest_splits``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._bounds import Bounds
from qed.verify._cuts import LABELS, Sample, mass_of
from qed.verify._forest_nodes import (
    RELATIVE,
    Nodes,
    check_sides,
    check_thresholds,
    levels_of,
    nodes_of,
    number_of_rows,
)
from qed.verify._forest_splits import BINS, BUDGET, Bag, ComparedSplits, Grown, bins_of, check_splits, ranks_of
from qed.verify._label_weights import class_factors
from qed.verify._quantiles import off_medians
from qed.verify._refusals import refuse
from qed.verify._rows import read_data
from qed.verify._seeds import mixed, rows_with_replacement, stream
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import OutOfBagCertificate


Array = np.ndarray[Any, Any]


class _Rows(NamedTuple):
    """Rows of positive weight."""

    X: Array
    sample: Sample  # s: what multiplies the times that a row is drawn
    share: Array
    weighted: bool
    draws: int
    is_class: bool
    widths: list[int]  # labels of each column, where there are several

    @property
    def unit(self) -> float:
        """How large indicators of several columns are, for the mean of their variances to be the mean impurity."""
        return float(np.sqrt(sum(self.widths) / len(self.widths))) if self.widths else 1.0

    def blocks(self, table: Array) -> list[Array]:
        """Cut what is known of labels into those of each column."""
        return np.split(table, np.cumsum(self.widths[:-1]), axis=1) if self.widths else [table]

    def right(self, said: Array, truth: Array) -> Array:
        """Return the share of its labels that is told, for each row."""
        pairs = zip(self.blocks(said), self.blocks(truth), strict=True)
        return np.asarray(np.mean([own.argmax(axis=1) == true.argmax(axis=1) for own, true in pairs], axis=0))

    def nodes(self, tree: Nodes) -> Nodes:
        """Turn weights of the labels of several columns into means of their indicators."""
        if not self.widths:
            return tree
        weight = self.blocks(tree.value)[0].sum(axis=1)
        held = np.where(weight > 0, weight, 1.0)
        return tree._replace(value=self.unit * tree.value / held[:, None], weight=weight)


def check(model: Any, certificate: OutOfBagCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Draw, descend, sum and judge again; raise CertificateError when it is not as stated."""
    rows = _read(model, X, y, sample_weight)
    n, trees = len(rows.X), model.trees_
    if not 0 <= model.seed_ < 2**63:
        refuse(model, "its seed is none")
    if not 1 <= len(trees.sizes) <= model.n_estimators:
        refuse(model, f"it has {len(trees.sizes)} trees, and {model.n_estimators} were asked for")
    stated = (certificate.trees, certificate.rows, certificate.is_greedy)
    if stated != (len(trees.sizes), n, not model._is_random) or certificate.delta != 0.05:  # noqa: SLF001
        refuse(model, f"it states {stated[0]} trees and {stated[1]} rows")
    sums, judged = np.zeros((n, rows.sample.target.shape[1])), np.zeros(n)
    ranks = None
    if not model._is_random:  # noqa: SLF001
        ranks = ranks_of(rows.X, bins_of(rows.X, rows.share if rows.weighted else None, BINS))
    budget, looked = BUDGET / len(trees.sizes), ComparedSplits()
    for number in range(len(trees.sizes)):
        held = nodes_of(model, trees, number)
        tree = rows.nodes(held)
        times = _times(model, rows, number)
        weight = _weights(model, rows, times)
        looked = looked.plus(_check_tree(model, number, tree, rows, np.flatnonzero(times > 0), weight, ranks, budget))
        out = np.flatnonzero(times == 0) if rows.draws else np.arange(n)
        if len(out):
            leaf = levels_of(model, tree, rows.X[out])
            own = held.value[leaf]
            sums[out] += max(len(rows.widths), 1) * (own / own.sum(axis=1, keepdims=True)) if rows.is_class else own
            judged[out] += 1
    error, low, high, seen = _judge(rows, sums, judged)
    slack = RELATIVE * max(error, high, 1e-300)
    if not (abs(certificate.error - error) <= slack and certificate.judged == (seen if rows.draws else 0)):
        refuse(model, f"its {certificate.measure} is {error:.10g}, and {certificate.error:.10g} is stated")
    where = "out-of-bag" if rows.draws else "training"
    if certificate.measure != f"{where} {'error rate' if rows.is_class else 'squared error'}":
        refuse(model, "it states another measure than it was judged by")
    if not (abs(certificate.low - low) <= slack and abs(certificate.high - high) <= slack):
        refuse(model, f"the interval is {low:.6g} to {high:.6g}, and another one is stated")
    _check_out_of_bag(model, rows, sums, judged, X, y, sample_weight)
    words = f"{certificate.statement} {looked.words()}"
    return Verdict(words, error, abs(error - certificate.error), slack, slack, certificate.measure)


def _read(model: Any, X: Any, y: Any, sample_weight: Any) -> _Rows:
    data = read_data(model, X, y, sample_weight)
    table = np.asarray(data.X if isinstance(data.X, np.ndarray) else data.X.toarray(), dtype=np.float64)
    share = np.ones(data.n_rows) if data.weight is None else data.weight
    criterion = {"log_loss": "entropy", "friedman_mse": "squared_error"}.get(model.criterion, model.criterion)
    factor, is_class, widths = np.ones(data.n_rows), "classes_" in model.__dict__, []
    if is_class:
        several = isinstance(data.classes, list)
        found, stored = (data.classes, model.classes_) if several else ([data.classes], [model.classes_])
        if several != isinstance(model.classes_, list) or len(found) != len(stored):
            refuse(model, f"y has {len(found)} column(s) of labels, and it knows others")
        if not all(map(np.array_equal, found, stored)):
            refuse(model, f"the labels are {[labels.tolist() for labels in found]!r:.100}")
        codes = data.y.astype(np.intp).reshape(data.n_rows, -1)
        factor = class_factors(model, found, codes, share)
        target = np.concatenate([np.eye(len(labels))[own] for labels, own in zip(found, codes.T, strict=True)], axis=1)
        if several:  # the Gini impurities of columns are the variances of their indicators, added up
            widths = [len(labels) for labels in found]
            if criterion != "gini" or model.n_outputs_ != len(widths):
                refuse(model, f"{criterion} is for one column of labels, and y has {len(widths)}")
            criterion, target = "squared_error", target * np.sqrt(sum(widths) / len(widths))
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
    sample = Sample(criterion, target[used], s)
    return _Rows(table[used], sample, share, data.weight is not None, draws, is_class, widths)


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


def _check_tree(
    model: Any, number: int, tree: Nodes, rows: _Rows, bag: Array, weight: Array, ranks: Any, budget: float
) -> ComparedSplits:
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
    own = Bag(X, sample, len(rows.X), None if ranks is None else ranks[bag], bounds)
    return check_splits(model, number, Grown(tree, levels, leaf, depth, masses, seed), own, budget)


def _check_limits(model: Any, number: int, tree: Nodes, n: int, count: Array, held: Array, depth: Array) -> None:
    leaf, inner = tree.feature < 0, tree.feature >= 0
    fewest = number_of_rows(model.min_samples_leaf, n)
    if (tree.feature[leaf] != -1).any():
        refuse(model, f"a leaf of tree {number} asks a question")
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
        for _ in off_medians(tree.value[:, 0], leaf, target[:, 0], s):
            refuse(model, f"a leaf of tree {number} does not predict the median")
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


def _judge(rows: _Rows, sums: Array, judged: Array) -> tuple[float, float, float, int]:
    """Return the error of the rows that were judged, Hoeffding's interval around it, and how many they are."""
    seen = judged > 0
    y = rows.sample.target
    if not seen.any():
        return 0.0, 0.0, 1.0 if rows.is_class else float(np.ptp(y) ** 2), 0
    s = rows.share[seen]
    said = sums[seen] / judged[seen, None]
    if rows.is_class:
        off, most = 1.0 - rows.right(said, y[seen]), 1.0
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
    low = 0.0 if share == 0 or excess(tiny) <= 0 else brentq(excess, tiny, share, xtol=1e-18, rtol=1e-12)
    high = 1.0 if share == 1 or excess(1 - 1e-16) <= 0 else brentq(excess, share, 1 - 1e-16, xtol=1e-18, rtol=1e-12)
    return float(low), float(high)


def _check_out_of_bag(model: Any, rows: _Rows, sums: Array, judged: Array, X: Any, y: Any, sample_weight: Any) -> None:
    """Compare what is stored about rows out of the samples with what was found."""
    name = "oob_decision_function_" if rows.is_class else "oob_prediction_"
    if name not in model.__dict__:
        return
    data = read_data(model, X, y, sample_weight)
    share = np.ones(data.n_rows) if data.weight is None else data.weight
    factor = np.ones(data.n_rows)
    if rows.is_class:
        codes = data.y.astype(np.intp).reshape(data.n_rows, -1)
        factor = class_factors(model, data.classes if rows.widths else [data.classes], codes, share)
    whole = np.full((data.n_rows, sums.shape[1]), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole[share * factor > 0] = sums / judged[:, None]
    stored = np.asarray(model.__dict__[name])
    if rows.widths:
        if stored.shape != (data.n_rows, max(rows.widths), len(rows.widths)):
            refuse(model, f"{name} has another shape than its labels")
        if any(stored[:, k:, c].any() for c, k in enumerate(rows.widths)):
            refuse(model, f"{name} holds chances of labels that a column does not have")
        stored = np.concatenate([stored[:, :k, c] for c, k in enumerate(rows.widths)], axis=1)
    stored = stored.reshape(data.n_rows, -1)
    size = np.nanmax(np.abs(whole), initial=1e-300)
    if stored.shape != whole.shape or not np.allclose(stored, whole, rtol=0, atol=RELATIVE * size, equal_nan=True):
        refuse(model, f"{name} is not what trees say of rows that they have not seen")
    seen = judged > 0
    truth, said, s = rows.sample.target[seen], sums[seen] / judged[seen, None], rows.share[seen]
    if rows.is_class:
        score = float(s @ rows.right(said, truth) / s.sum()) if seen.any() else np.nan
    else:
        mean = s @ truth / s.sum() if seen.any() else 0.0
        total, off = s @ (truth - mean) ** 2, s @ (truth - said) ** 2
        score = float(np.mean(np.where(total > 0, 1 - off / np.where(total > 0, total, 1), off == 0)))
    if seen.sum() > 1 and not abs(model.oob_score_ - score) <= 1e-7 * max(1.0, abs(score)):
        refuse(model, f"oob_score_ is {score:.10g}, and {model.oob_score_:.10g} is stated")
