"""Trees whose splits are drawn, checked: rows and thresholds are drawn again, rows are sent down, leaves and paths counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._forest_nodes import (
    RELATIVE,
    Nodes,
    check_sides,
    check_thresholds,
    levels_of,
    nodes_of,
    number_of_rows,
)
from qed.verify._refusals import refuse_changed
from qed.verify._rows import read_data
from qed.verify._seeds import (
    columns_of_part,
    drawn_sides,
    has_several,
    mixed,
    numbers_of,
    rows_with_replacement,
    shuffled,
    side_of_missing,
    stream,
    uniform,
)
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate


Array = np.ndarray[Any, Any]
COLUMNS, GROWTH = 2**40, 2**42  # first numbers of the seeds that draw columns, and splits
ROUNDING = 2.0**-40


def isolation(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Derive path lengths and the threshold of outliers again; raise CertificateError when they are others."""
    data = read_data(model, X, None, sample_weight)
    table = _dense(data.X)
    pool, rate = _pool(model, len(table), data.weight)
    draws, trees = _draws(model, len(pool)), model.trees_
    if model.max_samples_ != draws:
        refuse_changed(model, f"states {model.max_samples_} rows a tree, and {draws} are drawn")
    stated = (certificate.what, certificate.rows, certificate.rounding)
    if stated != (f"path lengths in {len(trees.sizes)} trees of {draws} rows", len(table), ROUNDING):
        refuse_changed(model, "states something else than path lengths of these rows")
    if not 1 <= len(trees.sizes) <= model.n_estimators:
        refuse_changed(model, f"has {len(trees.sizes)} trees, and {model.n_estimators} were asked for")
    most, total, worst = int(np.ceil(np.log2(max(draws, 2)))), np.zeros(len(table)), 0.0
    for number in range(len(trees.sizes)):
        tree, own = nodes_of(model, trees, number), _drawn(model, pool, rate, number, draws)
        columns = columns_of_part(model.seed_, COLUMNS + number, table.shape[1], model.max_features)
        seed = np.uint64(int(mixed(np.uint64((int(model.seed_) + GROWTH + number) % 2**64))) % 2**63)
        rows = _Rows(table[own], columns, np.ones(len(own)), _Limits(most))
        depth, count = _descended(model, number, tree, rows, stream(seed, np.int64(0)))
        ends = np.flatnonzero(tree.feature < 0)
        length = depth[ends] + usual_length(count[ends])
        worst = max(worst, float(np.abs(tree.value[ends, 0] - length).max()))
        if not (np.abs(tree.value[ends, 0] - length) <= ROUNDING * np.maximum(length, 1.0)).all():
            refuse_changed(model, f"a leaf of tree {number} states another path length than its rows have")
        total += tree.value[levels_of(model, tree, table), 0]
    usual = len(trees.sizes) * float(usual_length(np.array([draws]))[0])
    offset = -0.5
    if model.contamination != "auto":
        scores = -np.exp2(-(total / usual if usual > 0 else np.ones(len(total))))
        offset = float(np.quantile(scores, float(model.contamination)))
    if not abs(model.offset_ - offset) <= ROUNDING:
        refuse_changed(model, f"its threshold is {offset:.10g}, and {model.offset_:.10g} is stated")
    return Verdict(certificate.statement, 0.0, worst, ROUNDING, ROUNDING, measure="")


def embedding(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Draw the trees again; raise CertificateError when they are others."""
    data = read_data(model, X, None, sample_weight)
    table, trees = _dense(data.X), model.trees_
    s = np.ones(len(table)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    table, s = table[s > 0], s[s > 0]
    stated = (certificate.what, certificate.rows, certificate.rounding)
    if stated != (f"leaves of {len(trees.sizes)} random trees", len(table), 0.0):
        refuse_changed(model, "states something else than leaves of random trees of these rows")
    if not 1 <= len(trees.sizes) <= model.n_estimators:
        refuse_changed(model, f"has {len(trees.sizes)} trees, and {model.n_estimators} were asked for")
    n, fewest = len(table), number_of_rows(model.min_samples_leaf, len(table))
    split = max(number_of_rows(model.min_samples_split, n), 2 * fewest, 2)
    limits = _Limits(model.max_depth, split, fewest, model.min_weight_fraction_leaf * s.sum(), model.max_leaf_nodes)
    rows = _Rows(table, np.arange(table.shape[1]), s, limits)
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        _descended(model, number, tree, rows, stream(np.uint64(model.seed_), np.int64(number)))
        if tree.value.any():
            refuse_changed(model, "its leaves hold values, and they mean nothing")
    return Verdict(certificate.statement, 0.0, 0.0, 0.0, 0.0, measure="")


class _Limits(NamedTuple):
    """Up to where nodes are split."""

    depth: int | None
    split: int = 2  # fewest rows of a node that is split
    leaf: int = 1
    leaf_weight: float = 0.0
    leaves: int | None = None


class _Rows(NamedTuple):
    """Rows of a tree, the columns that were drawn for it, weights, and limits."""

    X: Array
    columns: Array
    s: Array
    limits: _Limits


def _descended(model: Any, number: int, tree: Nodes, rows: _Rows, first: Array) -> tuple[Array, Array]:
    """Send rows down; check columns, thresholds, sides, limits and leaves. Return depth and rows of every node."""
    n_nodes = len(tree.feature)
    inner = tree.feature >= 0
    if not np.isin(tree.feature[inner], rows.columns).all():
        refuse_changed(model, f"tree {number} asks about columns that its seed does not draw")
    place = np.where(inner, np.searchsorted(rows.columns, tree.feature), -1)
    # streams of thresholds number the columns of the tree, not those of the table
    local = tree._replace(feature=place)
    own = rows.X[:, rows.columns]
    depth, seed = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.uint64)
    count, weight = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes)
    seed[0] = mixed(first)
    levels: list[tuple[Array, Array]] = []

    def visit(here: Array, at: Array) -> None:
        nodes = np.unique(at)
        count[:] += np.bincount(at, minlength=n_nodes)
        weight[:] += np.bincount(at, rows.s[here], minlength=n_nodes)
        depth[nodes] = len(levels)
        with np.errstate(over="ignore"):
            open_ = nodes[place[nodes] >= 0]
            seed[open_ + 1] = mixed(seed[open_] * np.uint64(2))
            seed[tree.right[open_]] = mixed(seed[open_] * np.uint64(2) + np.uint64(1))
        check_thresholds(model, number, local, own, here, at, seed)
        levels.append((here, at))

    levels_of(model, local, own, visit)
    if (count == 0).any():
        refuse_changed(model, f"a node of tree {number} is reached by no row")
    check_sides(model, number, local, own, levels, count)
    _check_limits(model, number, tree, rows.limits, depth, count, weight)
    ends = np.flatnonzero(~inner)
    if not (np.abs(tree.weight[ends] - weight[ends]) <= RELATIVE * weight[ends]).all():
        refuse_changed(model, f"a leaf of tree {number} states another weight than its rows have")
    may = (count >= rows.limits.split) & (weight >= 2 * rows.limits.leaf_weight * (1 + RELATIVE))
    if rows.limits.depth is not None:
        may &= depth < rows.limits.depth
    if rows.limits.leaves is not None and len(ends) >= rows.limits.leaves:
        may &= inner
    for here, at in levels:
        asked = (may | inner)[at]
        if asked.any():
            _check_draws(model, number, local, rows._replace(X=own), here[asked], at[asked], seed)
    return depth, count


def _check_limits(model: Any, number: int, tree: Nodes, limits: _Limits, depth: Array, count: Array, s: Array) -> None:
    leaf = tree.feature < 0
    fine = {
        "is deeper": limits.depth is None or depth.max() <= limits.depth,
        "has more leaves": limits.leaves is None or leaf.sum() <= limits.leaves,
        "splits smaller nodes": (count[~leaf] >= limits.split).all(),
        "has smaller leaves": leaf.sum() == 1 or (count[leaf] >= limits.leaf).all(),
        "has lighter leaves": leaf.sum() == 1 or (s[leaf] >= limits.leaf_weight * (1 - RELATIVE)).all(),
    }
    for what, holds in fine.items():
        if not holds:
            refuse_changed(model, f"holds tree {number}, which {what} than its parameters allow")


def _check_draws(model: Any, number: int, tree: Nodes, rows: _Rows, here: Array, at: Array, seed: Array) -> None:
    """See that nodes ask about the column that was drawn for them, and that no leaf had to be split in its own."""
    order = np.argsort(at, kind="stable")
    here = here[order]
    nodes, starts, sizes = np.unique(at[order], return_index=True, return_counts=True)
    parts, p = np.split(here, starts[1:]), rows.X.shape[1]
    column = np.minimum((uniform(seed[nodes]) * p).astype(np.int64), p - 1)
    value = rows.X[here, np.repeat(column, sizes)]
    several = np.logical_or.reduceat(value != np.repeat(value[starts], sizes), starts)
    several &= np.logical_or.reduceat(~np.isnan(value), starts)
    for k in np.flatnonzero(~several):  # more are drawn, while these hold a single value
        varies = has_several(rows.X[parts[k]])
        if varies.any():
            column[k] = next(j for j in shuffled(int(seed[nodes[k]]), p) if varies[j])
            several[k] = True
    inner = tree.feature[nodes] >= 0
    if not (several & (tree.feature[nodes] == column))[inner].all():
        refuse_changed(model, f"holds tree {number}, which asks a node about a column that was not drawn for it")
    value = rows.X[here, np.repeat(column, sizes)]
    missing = np.logical_or.reduceat(np.isnan(value), starts)
    ranges = np.fmin.reduceat(value, starts) < np.fmax.reduceat(value, starts)
    goes_left = ranges & side_of_missing(seed[nodes], column)
    if not (tree.missing_left[nodes] == goes_left)[inner & missing].all():
        refuse_changed(
            model, f"holds tree {number}, which sends missing values to the side that was not drawn for them"
        )
    for k in np.flatnonzero(~inner & several):
        right = (
            drawn_sides(rows.X[parts[k], column[k : k + 1, None]].T, int(seed[nodes[k]]), column[k : k + 1])[:, 0] == 1
        )
        s = rows.s[parts[k]]
        fewest, lightest = min(right.sum(), (~right).sum()), min(s[right].sum(), s[~right].sum())
        if fewest >= rows.limits.leaf and lightest >= rows.limits.leaf_weight * (1 + RELATIVE):
            refuse_changed(model, f"holds tree {number}, whose leaf {int(nodes[k])} had to be split")


def _dense(X: Any) -> Array:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def usual_length(rows: Array) -> Array:
    """Return the mean depth of a row among so many, by Euler's approximation of harmonic numbers."""
    found = np.zeros(len(rows))
    found[rows == 2] = 1.0
    more = rows > 2
    n = rows[more].astype(np.float64)
    found[more] = 2 * np.log(n - 1) + 2 * np.euler_gamma - 2 + 2 / n
    return found


def _pool(model: Any, n: int, weight: Array | None) -> tuple[Array, Array | None]:
    if weight is None:
        return np.arange(n), None
    s = np.asarray(weight, dtype=np.float64)
    if not s.sum() > 0:
        refuse_changed(model, "was fitted on rows of positive weight, and these have none")
    if (s == np.rint(s)).all() and s.sum() < 2**31:
        return np.repeat(np.arange(n), s.astype(np.int64)), None
    return np.flatnonzero(s > 0), s[s > 0]


def _draws(model: Any, total: int) -> int:
    given = model.max_samples
    if isinstance(given, str):
        return min(256, total)
    return min(given, total) if isinstance(given, int) else max(1, int(given * total))


def _drawn(model: Any, pool: Array, rate: Array | None, number: int, draws: int) -> Array:
    n = len(pool)
    if model.bootstrap:
        return np.asarray(pool[np.sort(rows_with_replacement(model.seed_, number, draws, n, rate))])
    if rate is not None:
        share = ((numbers_of(model.seed_, number, n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return pool[np.argsort(-np.log(share) / rate, kind="stable")[:draws]]
    if draws == n or 2 * draws > n:
        return pool[np.argsort(numbers_of(model.seed_, number, n), kind="stable")[:draws]]
    chosen: dict[int, None] = {}  # the first different ones
    count = 2 * draws
    while len(chosen) < draws:
        share = (numbers_of(model.seed_, number, count) >> np.uint64(11)).astype(np.float64)
        for place in (share * (2.0**-53 * n)).astype(np.int64).tolist():
            if len(chosen) < draws:
                chosen[place] = None
        count *= 2
    return np.asarray(pool[np.array(list(chosen))])
