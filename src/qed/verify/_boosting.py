"""Boosted trees, checked: rows are sent down every tree, and every step of every leaf is derived again.

From the constant on, slopes and curvatures of the loss are written out again at the scores so far; each leaf must take the step
that minimises the second-order model over its rows (or the loss itself, for medians and quantiles), within the limits that
directions of columns impose on its path. Every threshold must lie midway between two neighbouring values of its column.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._validation import is_source
from qed.verify._boosted_splits import BoostedSplits, Grown
from qed.verify._forest_nodes import right_children
from qed.verify._names import called
from qed.verify._quantiles import TIE_TOLERANCE, distance_from_quantile, huber_levels, quantiles
from qed.verify._refusals import refuse
from qed.verify._rows import holds_categories, read_data, read_on_disk, rows_where
from qed.verify._seeds import mixed
from qed.verify._trees import directions_of
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import StagedCertificate


Array = np.ndarray[Any, Any]
RELATIVE = 1e-7  # of steps, whose bounds on paths come from sums in fixed point
BYTES_OF_CUTS, LEAST_ROWS_OF_CUTS = 1 << 28, 1 << 14  # as the guide states them
LOSSES = 1e-9  # relative, of mean losses


class TrainingData(NamedTuple):
    """TrainingData of positive weight."""

    X: Array
    y: Array
    s: Array
    counts: Array
    k: int
    loss: str


class Tree(NamedTuple):
    """One tree: its nodes in the order of a walk that goes left first."""

    feature: Array
    right: Array
    threshold: Array
    missing_left: Array
    value: Array
    weight: Array
    sets: dict[int, Array]  # by node


def check(model: Any, certificate: StagedCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Go through all rounds again; raise CertificateError when they are not as stated."""
    read = read_rows(model, X, y, sample_weight)
    _check_level(model, read[0])
    rows, held = parted_rows(model, read)
    k, trees = rows.k, model.trees_
    rounds = len(trees.sizes) // k
    fewer = check_rounds(model, rounds, model.max_iter)
    if (len(trees.sizes), model.n_iter_, model.n_trees_per_iteration_) != (rounds * k, rounds, k):
        refuse(model, "its trees are not whole rounds")
    stated = np.asarray(certificate.losses)
    if len(stated) != rounds + 1 or certificate.rows != len(rows.X) or certificate.leaves != len(trees.value):
        refuse(model, f"it states {len(stated) - 1} rounds over {certificate.rows} rows")
    base = np.asarray(model.baseline_, dtype=np.float64)
    _check_constant(model, rows, base)
    values = [np.unique(column[~np.isnan(column)]) for column in rows.X.T]
    scores = np.tile(base, (len(rows.X), 1))
    found, taken = [_mean_loss(model, rows, scores)], trees_of(model, trees)
    p = rows.X.shape[1]
    _check_questions(model, taken, p)
    splits = None
    if not (is_source(X) and len(rows.X) > rows_of_cuts(p)):  # from more rows a fit draws those that it cuts columns by
        splits = BoostedSplits(model, rows, taken, groups_of(model, p), directions_of(model, p))
    for first in range(rounds):
        _, slope, curvature = curve(rows.loss, model.loss_level_, scores, rows.y)
        steps = np.empty_like(scores)
        for c in range(k):
            tree = taken[first * k + c]
            where = f"tree {c} of round {first}" if k > 1 else f"the tree of round {first}"
            grown, leaf = _check_tree(
                model, where, tree, rows, slope[:, c], curvature[:, c], rows.y - scores[:, 0], values
            )
            weighted = rows.s * slope[:, c], rows.s * curvature[:, c]
            wrong = None if splits is None else splits.check(first * k + c, where, grown, *weighted)
            if wrong is not None:
                refuse(model, wrong)
            steps[:, c] = tree.value[leaf]
        scores = scores + steps
        found.append(_mean_loss(model, rows, scores))
    check_held(model, held, lambda X: np.tile(base, (len(X), 1)), taken, model.loss_level_)
    found_array = np.array(found)
    size = LOSSES * np.maximum(np.abs(found_array), np.abs(found_array[0]))
    if not (np.abs(found_array - stated) <= size).all() or not (np.abs(model.train_score_ + stated) <= size).all():
        place = int(np.argmax(np.abs(found_array - stated)))
        refuse(model, f"its training loss after {place} rounds is {found_array[place]:.10g}, not {stated[place]:.10g}")
    rises = int(np.count_nonzero(np.diff(found_array) > 1e-12 * np.abs(found_array[:-1]) + size[1:]))
    shown = int(np.count_nonzero(np.diff(stated) > 1e-12 * np.abs(stated[:-1])))
    if certificate.rises < rises or certificate.rises != shown:
        refuse(model, f"its training loss rises {max(rises, shown)} times, and {certificate.rises} are stated")
    words = "Splits were not compared with other cuts: so many rows of a source are cut by a sample of them."
    return Verdict(
        f"{certificate.statement}{fewer} {words if splits is None else splits.looked.words()}",
        found[-1],
        abs(found[-1] - stated[-1]),
        float(size[-1]),
        float(size[-1]),
        "training loss",
    )


def rows_of_cuts(p: int) -> int:
    """Return from how many rows of a source, at most, cuts are chosen: those that fit into 256 MiB, at least 16,384."""
    return max(LEAST_ROWS_OF_CUTS, BYTES_OF_CUTS // (8 * p))


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingData, Array | None]:
    """Return rows of positive weight as losses take them, and the classes of labels."""
    data = read_on_disk(model, X) if is_source(X) else read_data(model, X, y, sample_weight)
    s = np.ones(data.n_rows) if data.weight is None else data.weight
    whole = data.weight is not None and bool((s == np.rint(s)).all()) and s.sum() < 2**31
    counts = s if whole else np.ones(data.n_rows)
    strata = None
    if "classes_" in model.__dict__:
        if not np.array_equal(data.classes, model.classes_):
            refuse(model, f"the labels are {data.classes.tolist()!r:.100}")
        codes, labels = data.y.astype(np.intp), len(data.classes)
        given = getattr(model, "class_weight", None)
        if isinstance(given, str):
            sums = np.bincount(codes, s, minlength=labels)
            s = s * (s.sum() / (labels * np.where(sums > 0, sums, 1.0)))[codes]
        elif given is not None:
            s = s * np.array([float(given.get(label, 1.0)) for label in model.classes_.tolist()])[codes]
        k, strata = (1 if labels <= 2 else labels), codes
        target = np.where(codes == 1, 1.0, -1.0) if labels <= 2 else codes.astype(np.float64)
        loss = "softmax" if labels > 2 else model.loss
    else:
        k, target, loss = 1, data.y.astype(np.float64), model.loss
    used = s > 0
    table = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    rows = TrainingData(
        rows_where(np.asanyarray(table, dtype=np.float64), used), target[used], s[used], counts[used], k, loss
    )
    return rows, None if strata is None else strata[used]


def parted_rows(model: Any, read: tuple[TrainingData, Array | None]) -> tuple[TrainingData, TrainingData | None]:
    """Return rows that trees learnt from, and those that early stopping looked at: drawn from the seed, from each label alike."""
    rows, strata = read
    n = len(rows.X)
    if len(model.validation_score_) == 0 or model.validation_fraction is None or model.certificate_.rows == n:
        return rows, None
    with np.errstate(over="ignore"):
        keys = mixed(np.arange(n, dtype=np.uint64) + np.uint64(model.seed_))
    size = model.validation_fraction
    share = size / n if isinstance(size, int) else float(size)
    kept = np.zeros(n, dtype=bool)
    for label in [None] if strata is None else np.unique(strata).tolist():
        group = np.arange(n) if label is None else np.flatnonzero(strata == label)
        many = min(round(share * len(group)), len(group) - 1)
        kept[group[np.argsort(keys[group], kind="stable")[:many]]] = True
    if not kept.any():
        refuse(model, "it was stopped by rows that nothing is drawn of")
    train, held = (
        rows._replace(X=rows_where(rows.X, own), y=rows.y[own], s=rows.s[own], counts=rows.counts[own])
        for own in (~kept, kept)
    )
    return train, held


def check_held(
    model: Any, held: TrainingData | None, start: Callable[[Array], Array], trees: list[Tree], level: float
) -> None:
    """Send the rows that early stopping looked at down the trees, and compare their losses; those of others are not at hand."""
    if held is None:
        return
    scores = start(held.X)
    losses = [held.s @ curve(held.loss, level, scores, held.y)[0] / held.s.sum()]
    for first in range(0, len(trees), held.k):
        steps = [tree.value[leaf_of(tree, held.X)] for tree in trees[first : first + held.k]]
        scores = scores + np.column_stack(steps)
        losses.append(held.s @ curve(held.loss, level, scores, held.y)[0] / held.s.sum())
    stated, found = np.asarray(model.validation_score_), -np.array(losses)
    size = LOSSES * np.maximum(np.abs(found), np.abs(found[0]))
    if stated.shape != found.shape or not (np.abs(stated - found) <= size).all():
        refuse(model, "validation_score_ is not minus the loss of the rows that its seed keeps from the trees")


def leaf_of(tree: Tree, X: Array) -> Array:
    """Return the leaf of each row; categories that a node has not met go where missing values go."""
    at = np.zeros(len(X), dtype=np.int64)
    open_ = np.flatnonzero(tree.feature[at] >= 0)
    while len(open_):
        here = at[open_]
        value = X[open_, tree.feature[here]]
        is_left = np.where(np.isnan(value), tree.missing_left[here], value <= tree.threshold[here])
        for node in set(tree.sets) & set(here.tolist()):
            own = (here == node) & ~np.isnan(value)
            goes, met = _bits_of(tree.sets[node])
            category = value[own].astype(np.intp)
            is_left[own] = np.where(met[category], goes[category], tree.missing_left[node])
        at[open_] = np.where(is_left, here + 1, tree.right[here])
        open_ = open_[tree.feature[at[open_]] >= 0]
    return at


def _bits_of(words: Array) -> tuple[Array, Array]:
    """Return which categories go left, and which a node has met."""
    bits = np.unpackbits(np.asarray(words, dtype=np.uint32).astype("<u4").view(np.uint8), bitorder="little")
    return bits[:256].astype(bool), bits[256:].astype(bool)


def curve(loss: str, level: float, t: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return loss (n,), slopes and curvatures (n, k), by definition."""
    if loss == "softmax":
        top = t.max(axis=1, keepdims=True)
        odds = np.exp(t - top)
        others = np.zeros_like(odds)  # added up, since one minus a probability near one is rounding
        others[:, 1:] += np.cumsum(odds[:, :-1], axis=1)
        others[:, :-1] += np.cumsum(odds[:, :0:-1], axis=1)[:, ::-1]
        total = odds.sum(axis=1, keepdims=True)
        p, rest, label = odds / total, others / total, y.astype(np.intp)
        own = np.eye(t.shape[1], dtype=bool)[label]
        return top[:, 0] + np.log(total[:, 0]) - t[own], np.where(own, -rest, p), p * rest
    t = t[:, 0]
    if loss == "log_loss":
        value = np.logaddexp(0, -y * t)
        p, rest = (
            np.exp(-np.logaddexp(0, y * t)),
            np.exp(-value),
        )  # of the other label and of its own: neither is one minus
        slope, curvature = -y * p, p * rest
    elif loss == "exponential":
        value = np.exp(-y * t)
        slope, curvature = -y * value, value
    elif loss == "poisson":
        rate = np.exp(t)
        safe = np.where(y > 0, y, 1.0)
        value = rate - y * t + np.where(y > 0, y * np.log(safe) - y, 0.0)
        slope, curvature = rate - y, rate
    elif loss == "gamma":
        ratio = y / np.exp(t)
        value, slope, curvature = ratio - np.log(ratio) - 1, 1 - ratio, ratio
    else:
        r = y - t
        curvature = np.ones(len(r))
        if loss == "squared_error":
            value, slope = r**2 / 2, -r
        elif loss == "absolute_error":
            value, slope = np.abs(r), np.where(r < 0, 1.0, -1.0)
        elif loss == "quantile":
            value, slope = np.maximum(level * r, (level - 1) * r), np.where(r < 0, 1 - level, -level)
        else:
            far = np.abs(r) > level
            value = np.where(far, level * np.abs(r) - level**2 / 2, r**2 / 2)
            slope = -np.where(far, level * np.sign(r), r)
    return value, slope[:, None], curvature[:, None]


def check_rounds(model: Any, rounds: int, most: int) -> str:
    """See that no more rounds were made than asked for; say so where they are fewer: nobody can tell why a fit ended."""
    if not 1 <= rounds <= most:
        refuse(model, f"it holds {rounds} rounds, and {most} were asked for")
    if rounds == most:
        return ""
    return f" These are {rounds} of the {most} rounds that its parameters allow: it stopped early, or was stopped."


def _mean_loss(model: Any, rows: TrainingData, scores: Array) -> float:
    value = curve(rows.loss, model.loss_level_, scores, rows.y)[0]
    return float(rows.s @ value / rows.s.sum())


def _check_level(model: Any, rows: TrainingData) -> None:
    """See that the quantile is the one asked for, and Huber's threshold that quantile of the errors of the median."""
    found = 0.5
    if rows.loss == "quantile" and model.quantile is not None:
        found = float(model.quantile)
    if rows.loss == "huber":
        levels = huber_levels(rows.y, rows.s, 0.9 if model.quantile is None else float(model.quantile))
        found = float(levels[np.argmin(np.abs(levels - model.loss_level_))])
    if not abs(model.loss_level_ - found) <= (1e-12 * found if rows.loss == "huber" else 0.0):
        refuse(model, f"the level of its loss is {found:.10g}, and {model.loss_level_:.10g} is stated")


def _check_constant(model: Any, rows: TrainingData, base: Array) -> None:
    """See that no other constant has a lower loss: slopes cancel, or change sign there."""
    if base.shape != (rows.k,):
        refuse(model, "it has no constant for each class")
    scores = np.tile(base, (len(rows.X), 1))
    if rows.loss in ("absolute_error", "quantile"):
        level = 0.5 if rows.loss == "absolute_error" else model.loss_level_
        check_quantile(model, rows, float(base[0]), level)
        return
    _, slope, _ = curve(rows.loss, model.loss_level_, scores, rows.y)
    off = np.abs(rows.s @ slope)
    if not (off <= 1e-8 * (rows.s @ np.abs(slope)) + 1e-13 * (rows.s @ np.abs(rows.y))).all():  # rounding of the mean
        refuse(model, "its constant is not the best one")
    if rows.k > 1 and not abs(base.sum()) <= 1e-8 * np.abs(base).sum() + 1e-12:
        refuse(model, "its constants do not sum to zero")


def check_quantile(model: Any, rows: TrainingData, value: float, level: float) -> None:
    """See that the constant is the quantile of the targets."""
    size = float(np.abs(rows.y).max(initial=0))
    if not distance_from_quantile(rows.y, rows.s, level, TIE_TOLERANCE, value) <= 1e-12 * size:
        refuse(model, f"its constant {value:.12g} is not the quantile {level:.4g} of the targets")


def trees_of(model: Any, trees: Any) -> list[Tree]:
    """Take the trees out of the arrays of all of them."""
    ends = np.concatenate([[0], np.cumsum(np.asarray(trees.sizes, dtype=np.int64))])
    feature = np.asarray(trees.feature, dtype=np.int64)
    inner = feature >= 0
    bits = np.unpackbits(trees.missing_left)
    whole = int(inner.sum())
    if ends[-1] != len(feature) or len(trees.threshold) != whole or len(bits) < whole:
        refuse(model, "the sizes of its trees do not add up")
    threshold, missing = np.full(len(feature), np.nan), np.zeros(len(feature), dtype=bool)
    threshold[inner], missing[inner] = trees.threshold, bits[:whole] == 1
    value, weight = np.full(len(feature), np.nan), np.full(len(feature), np.nan)
    value[~inner], weight[~inner] = np.asarray(trees.value, dtype=np.float64)[:, 0], trees.weight
    by_set = np.flatnonzero(inner)[np.asarray(trees.by_set, dtype=np.int64)]
    found = []
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = slice(first, last)
        sets = {
            int(node - first): trees.sets[place] for place, node in enumerate(by_set.tolist()) if first <= node < last
        }
        right = right_children(model, inner[own])
        found.append(Tree(feature[own], right, threshold[own], missing[own], value[own], weight[own], sets))
    return found


def _check_tree(
    model: Any,
    where: str,
    tree: Tree,
    rows: TrainingData,
    slope: Array,
    curvature: Array,
    left: Array,
    values: list[Array],
) -> tuple[Grown, Array]:
    """Send rows down, checking the questions; then derive the step of every leaf. Return where rows go, and the leaf of each."""
    n_nodes = len(tree.feature)
    if (tree.feature >= rows.X.shape[1]).any():
        refuse(model, f"{where} asks about columns that are not there")
    G, H, count = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    depth = np.zeros(n_nodes, dtype=np.int64)
    leaf = np.zeros(len(rows.X), dtype=np.int64)
    here, at, level = np.arange(len(rows.X)), np.zeros(len(rows.X), dtype=np.int64), 0
    levels = []
    while len(here):
        levels.append((here, at))
        G += np.bincount(at, rows.s[here] * slope[here], minlength=n_nodes)
        H += np.bincount(at, rows.s[here] * curvature[here], minlength=n_nodes)
        count += np.bincount(at, rows.counts[here], minlength=n_nodes)
        depth[at] = level
        inner = tree.feature[at] >= 0
        leaf[here[~inner]] = at[~inner]
        here, at, level = here[inner], at[inner], level + 1
        if len(here):
            at = _next(model, where, tree, rows, here, at, values)
    if not (count > 0).all():
        refuse(model, f"a node of {where} is reached by no row")
    _check_limits(model, where, tree, count, depth)
    _check_meetings(model, where, tree, rows.X.shape[1])
    ends = np.flatnonzero(tree.feature < 0)
    if not np.array_equal(tree.weight[ends], count[ends]):
        refuse(model, f"a leaf of {where} holds other rows than it states")
    low, high = _bounds(model, tree, G, H)
    grown = Grown(tree, levels, count, depth, low, high)
    rate = float(model.learning_rate)
    if rows.loss in ("absolute_error", "quantile"):
        share = 0.5 if rows.loss == "absolute_error" else model.loss_level_
        for node in ends:
            own = leaf == node
            step, size = tree.value[node] / rate, np.abs(left[own]).max() + np.abs(rows.y[own]).max()
            wanted = np.clip(quantiles(left[own], rows.s[own], share, TIE_TOLERANCE), low[node], high[node])
            is_held = (wanted == low[node]) | (wanted == high[node])  # by a limit, which is a sum of rounded slopes
            near = 1e-9 * size + 1e-300 + np.where(is_held, 1e-6 * np.abs(wanted) + 1e-9, 0.0)
            if not (np.abs(wanted - step) <= near).any():
                refuse(model, f"the step of leaf {int(node)} of {where} is {step:.12g}, and should be {wanted[0]:.12g}")
        return grown, leaf
    steep = H[ends] + model.l2_regularization
    step = np.clip(-G[ends] / np.where(steep > 0, steep, np.inf), low[ends], high[ends])
    size = np.bincount(leaf, rows.s * np.abs(slope), minlength=n_nodes)[ends] / np.where(steep > 0, steep, np.inf)
    off = ~(np.abs(tree.value[ends] - rate * step) <= RELATIVE * rate * np.maximum(np.abs(step), 1e-3 * size) + 1e-300)
    if off.any():
        worst = int(ends[np.flatnonzero(off)[0]])
        refuse(
            model, f"leaf {worst} of {where} should add {rate * step[off][0]:.12g}, and adds {tree.value[worst]:.12g}"
        )
    return grown, leaf


def _next(model: Any, where: str, tree: Tree, rows: TrainingData, here: Array, at: Array, values: list[Array]) -> Array:
    """Check the questions of one level, and return the children that rows go to."""
    value = rows.X[here, tree.feature[at]]
    known = ~np.isnan(value)
    is_left = np.where(known, value <= tree.threshold[at], tree.missing_left[at])
    for node in np.unique(at).tolist():
        own = at == node
        j, threshold = int(tree.feature[node]), tree.threshold[node]
        what = f"node {node} of {where} in {called(model, j)}"
        if node in tree.sets:
            is_left[own] = _in_set(model, what, tree, node, value[own])
        elif np.isinf(threshold):
            if threshold < 0 or not (~known[own]).any():
                refuse(model, f"{what} parts known values from missing ones, and none is missing")
        else:
            place = int(np.searchsorted(values[j], threshold, side="right"))
            low, high = (values[j][place - 1], values[j][place]) if 0 < place < len(values[j]) else (np.nan, np.nan)
            middle = low / 2 + high / 2
            if threshold != (middle if low <= middle < high else low):
                refuse(model, f"the threshold {threshold:.12g} of {what} is not midway between two values")
        if known[own].all():
            more = rows.counts[here[own]][is_left[own]].sum() * 2 > rows.counts[here[own]].sum()
            if bool(tree.missing_left[node]) != bool(more):
                refuse(model, f"{what} sends missing values to the side of fewer rows")
    return np.where(is_left, at + 1, tree.right[at])


def _in_set(model: Any, what: str, tree: Tree, node: int, value: Array) -> Array:
    goes, met = _bits_of(tree.sets[node])
    known = ~np.isnan(value)
    expected = np.zeros(256, dtype=bool)
    expected[value[known].astype(np.intp)] = True
    if not np.array_equal(met, expected) or (goes & ~met).any():
        refuse(model, f"{what} knows other categories than its rows have")
    found = np.full(len(value), bool(tree.missing_left[node]))
    found[known] = goes[value[known].astype(np.intp)]
    return found


def _check_questions(model: Any, trees: list[Tree], p: int) -> None:
    """See that nodes ask columns of categories about sets, and others about thresholds."""
    by_category = holds_categories(model, p)
    for tree in trees:
        inner = np.flatnonzero((tree.feature >= 0) & (tree.feature < p))
        by_set = np.isin(inner, list(tree.sets))
        if (by_category[tree.feature[inner]] != by_set).any():
            refuse(model, "it asks for the order of categories, or about numbers as if they were categories")


def _check_limits(model: Any, where: str, tree: Tree, count: Array, depth: Array) -> None:
    leaf = tree.feature < 0
    bad = {
        "is deeper": model.max_depth is not None and depth.max() > model.max_depth,
        "has more leaves": model.max_leaf_nodes is not None and leaf.sum() > model.max_leaf_nodes,
        "has smaller leaves": leaf.sum() > 1 and (count[leaf] < model.min_samples_leaf).any(),
    }
    for what, holds in bad.items():
        if holds:
            refuse(model, f"{where} {what} than its parameters allow")


def _check_meetings(model: Any, where: str, tree: Tree, p: int) -> None:
    """See that columns meet on a path only where a group holds them all."""
    groups = groups_of(model, p)
    if groups is None:
        return
    met = np.zeros((len(tree.feature), p), dtype=bool)
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        path = met[node].copy()
        path[tree.feature[node]] = True
        if not (groups | ~path).all(axis=1).any():
            names = " and ".join(called(model, int(j)) for j in np.flatnonzero(path))
            refuse(model, f"{names} meet on a path of {where}, and interaction_cst keeps them apart")
        met[node + 1] = met[tree.right[node]] = path


def groups_of(model: Any, p: int) -> Array | None:
    """Return which columns each group holds, None where all may meet."""
    given = model.interaction_cst
    if given is None:
        return None
    if isinstance(given, str):
        given = list(combinations(range(p), 1 if given == "no_interactions" else 2))
    groups = np.zeros((len(given) + 1, p), dtype=bool)
    for place, group in enumerate(given):
        groups[place, [int(j) for j in group]] = True
    groups[-1] = ~groups.any(axis=0)  # columns that no group names
    return groups


def _bounds(model: Any, tree: Tree, G: Array, H: Array) -> tuple[Array, Array]:
    """Return between what the value of each node must lie, from the directions of the columns above it."""
    n_nodes = len(tree.feature)
    low, high = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
    given = model.monotonic_cst
    if given is None:
        return low, high
    if isinstance(given, dict):
        given = [given.get(str(name), 0) for name in model.feature_names_in_]
    ridge = float(model.l2_regularization)
    for node in range(n_nodes):
        if tree.feature[node] < 0:
            continue
        children = (node + 1, int(tree.right[node]))
        for child in children:
            low[child], high[child] = low[node], high[node]
        way = int(given[int(tree.feature[node])])
        if way:
            a, b = (float(np.clip(-G[child] / (H[child] + ridge), low[node], high[node])) for child in children)
            if not way * (b - a) >= -1e-9 * (abs(a) + abs(b)):
                refuse(model, f"a split on {called(model, int(tree.feature[node]))} goes against its direction")
            first, second = children if way > 0 else children[::-1]
            high[first] = low[second] = (a + b) / 2
    return low, high
