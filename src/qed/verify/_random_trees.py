"""Trees whose splits are drawn, checked: rows and thresholds are drawn again, rows are sent down, leaves and paths counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from qed.core import CertificateError
from qed.verify._forests import (
    Nodes,
    _check_sides,
    _check_thresholds,
    _stream,
    _uniform,
    levels_of,
    mixed,
    nodes_of,
)
from qed.verify._rows import read_data
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
        _refuse(model, f"states {model.max_samples_} rows a tree, and {draws} are drawn")
    stated = (certificate.what, certificate.rows, certificate.rounding)
    if stated != (f"path lengths in {len(trees.sizes)} trees of {draws} rows", len(table), ROUNDING):
        _refuse(model, "states something else than path lengths of these rows")
    if not 1 <= len(trees.sizes) <= model.n_estimators:
        _refuse(model, f"has {len(trees.sizes)} trees, and {model.n_estimators} were asked for")
    most, total, worst = int(np.ceil(np.log2(max(draws, 2)))), np.zeros(len(table)), 0.0
    for number in range(len(trees.sizes)):
        tree, own = nodes_of(model, trees, number), _drawn(model, pool, rate, number, draws)
        columns = _columns(model, table.shape[1], number)
        seed = np.uint64(int(mixed(np.uint64((int(model.seed_) + GROWTH + number) % 2**64))) % 2**63)
        depth, count = _descended(model, number, tree, table[own], columns, _stream(seed, np.int64(0)))
        ends = np.flatnonzero(tree.feature < 0)
        if depth.max() > most:
            _refuse(model, f"tree {number} is deeper than {most}")
        length = depth[ends] + _usual(count[ends])
        worst = max(worst, float(np.abs(tree.value[ends, 0] - length).max()))
        if not (np.abs(tree.value[ends, 0] - length) <= ROUNDING * np.maximum(length, 1.0)).all():
            _refuse(model, f"a leaf of tree {number} states another path length than its rows have")
        total += tree.value[levels_of(model, tree, table), 0]
    usual = len(trees.sizes) * float(_usual(np.array([draws]))[0])
    offset = -0.5
    if model.contamination != "auto":
        scores = -np.exp2(-(total / usual if usual > 0 else np.ones(len(total))))
        offset = float(np.quantile(scores, float(model.contamination)))
    if not abs(model.offset_ - offset) <= ROUNDING:
        _refuse(model, f"its threshold is {offset:.10g}, and {model.offset_:.10g} is stated")
    return Verdict(certificate.statement, 0.0, worst, ROUNDING, ROUNDING, measure="")


def embedding(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Draw the trees again; raise CertificateError when they are others."""
    data = read_data(model, X, None, sample_weight)
    table, trees = _dense(data.X), model.trees_
    s = np.ones(len(table)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    table, s = table[s > 0], s[s > 0]
    stated = (certificate.what, certificate.rows, certificate.rounding)
    if stated != (f"leaves of {len(trees.sizes)} random trees", len(table), 0.0):
        _refuse(model, "states something else than leaves of random trees of these rows")
    if not 1 <= len(trees.sizes) <= model.n_estimators:
        _refuse(model, f"has {len(trees.sizes)} trees, and {model.n_estimators} were asked for")
    for number in range(len(trees.sizes)):
        tree = nodes_of(model, trees, number)
        every = np.arange(table.shape[1])
        depth, _ = _descended(model, number, tree, table, every, _stream(np.uint64(model.seed_), np.int64(number)), s)
        if model.max_depth is not None and depth.max() > model.max_depth:
            _refuse(model, f"tree {number} is deeper than {model.max_depth}")
        if tree.value.any():
            _refuse(model, "its leaves hold values, and they mean nothing")
    return Verdict(certificate.statement, 0.0, 0.0, 0.0, 0.0, measure="")


def _descended(
    model: Any, number: int, tree: Nodes, X: Array, columns: Array, first: Array, s: Array | None = None
) -> tuple[Array, Array]:
    """Send rows down; check thresholds, sides and the weights of leaves. Return depth and weight of every node."""
    n_nodes = len(tree.feature)
    inner = tree.feature >= 0
    if not np.isin(tree.feature[inner], columns).all():
        _refuse(model, f"tree {number} asks about columns that its seed does not draw")
    place = np.where(inner, np.searchsorted(columns, tree.feature), -1)
    # streams of thresholds number the columns of the tree, not those of the table
    local = tree._replace(feature=place)
    own = X[:, columns]
    depth, seed = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.uint64)
    count, weight = np.zeros(n_nodes), np.zeros(n_nodes)
    seed[0] = mixed(first)
    levels: list[tuple[Array, Array]] = []
    s = np.ones(len(X)) if s is None else s

    def visit(here: Array, at: Array) -> None:
        nodes = np.unique(at)
        count[:] += np.bincount(at, minlength=n_nodes)
        weight[:] += np.bincount(at, s[here], minlength=n_nodes)
        depth[nodes] = len(levels)
        with np.errstate(over="ignore"):
            open_ = nodes[place[nodes] >= 0]
            seed[open_ + 1] = mixed(seed[open_] * np.uint64(2))
            seed[tree.right[open_]] = mixed(seed[open_] * np.uint64(2) + np.uint64(1))
        _check_thresholds(model, number, local, own, here, at, seed)
        levels.append((here, at))

    levels_of(model, local, own, visit)
    if (count == 0).any():
        _refuse(model, f"a node of tree {number} is reached by no row")
    _check_sides(model, number, local, own, levels, count)
    ends = np.flatnonzero(~inner)
    if not (np.abs(tree.weight[ends] - weight[ends]) <= 1e-9 * weight[ends]).all():
        _refuse(model, f"a leaf of tree {number} states another weight than its rows have")
    return depth, count


def _dense(X: Any) -> Array:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def _usual(rows: Array) -> Array:
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
        _refuse(model, "was fitted on rows of positive weight, and these have none")
    if (s == np.rint(s)).all() and s.sum() < 2**31:
        return np.repeat(np.arange(n), s.astype(np.int64)), None
    return np.flatnonzero(s > 0), s[s > 0]


def _draws(model: Any, total: int) -> int:
    given = model.max_samples
    if isinstance(given, str):
        return min(256, total)
    return min(given, total) if isinstance(given, int) else max(1, int(given * total))


def _bits(seed: int, number: int, count: int) -> Array:
    with np.errstate(over="ignore"):
        first = np.uint64(int(mixed(np.uint64((int(seed) + number) % 2**64))) % 2**63)
        return mixed(np.arange(count, dtype=np.uint64) + first)


def _drawn(model: Any, pool: Array, rate: Array | None, number: int, draws: int) -> Array:
    n = len(pool)
    if model.bootstrap:
        own = _stream(np.uint64(model.seed_), np.int64(number))
        with np.errstate(over="ignore"):
            share = _uniform(_stream(own, np.int64(-1)) + np.arange(draws, dtype=np.uint64))
        cumulated = np.arange(1.0, n + 1) if rate is None else np.cumsum(rate)
        drawn = (
            (share * n).astype(np.int64)
            if rate is None
            else np.searchsorted(cumulated, share * cumulated[-1], side="right")
        )
        return np.asarray(pool[np.sort(np.minimum(drawn, n - 1))])
    if rate is not None:
        uniform = ((_bits(model.seed_, number, n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return pool[np.argsort(-np.log(uniform) / rate, kind="stable")[:draws]]
    if draws == n or 2 * draws > n:
        return pool[np.argsort(_bits(model.seed_, number, n), kind="stable")[:draws]]
    chosen: dict[int, None] = {}  # the first different ones
    count = 2 * draws
    while len(chosen) < draws:
        share = (_bits(model.seed_, number, count) >> np.uint64(11)).astype(np.float64)
        for place in (share * (2.0**-53 * n)).astype(np.int64).tolist():
            if len(chosen) < draws:
                chosen[place] = None
        count *= 2
    return np.asarray(pool[np.array(list(chosen))])


def _columns(model: Any, p: int, number: int) -> Array:
    given = model.max_features
    many = int(given) if isinstance(given, int) else max(1, int(given * p))
    return np.sort(np.argsort(_bits(model.seed_, COLUMNS + number, p), kind="stable")[:many])


def _refuse(model: Any, what: str) -> NoReturn:
    raise CertificateError(
        f"This {type(model).__name__} {what}. It was changed after the fit, or the data are others. Fit again, or load the model"
        " from its file."
    )
