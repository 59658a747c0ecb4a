"""Decision trees, checked: every row is sent down again, every node summed up again, and the bound searched again.

Rows go down level by level, all at once. Each node must then hold the rows, weights, values and impurity that it states; the
threshold of a best cut lies midway between the values that it parts. What every tree must leave comes from groups of equal rows,
or from all trees of depth one or two. That a split is the best of its node is checked for as many nodes, the largest first, as a
budget of values allows: all nodes of small tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._category_sets import goes_left, orders, set_problem
from qed.verify._cuts import Directions, Sample, least_of_depth, least_of_one_cut, mass_of
from qed.verify._drawn_trees import check_drawn
from qed.verify._forest_splits import looked_at
from qed.verify._label_weights import class_factors
from qed.verify._names import called
from qed.verify._quantiles import off_medians
from qed.verify._refusals import refuse
from qed.verify._rows import holds_categories, read_data
from qed.verify._small_trees import can_compare, least_within
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import TreeCertificate


Array = np.ndarray[Any, Any]
BUDGET = 4_000_000  # values sorted to see that splits are the best ones
RELATIVE_TOLERANCE = 1e-9  # relative, of sums in double precision
TIE_TOLERANCE = 2.0**-37  # of the impurity of the root, by which a search may take cuts for equal
UNIT = 2.0**-51  # what a term of a sum is rounded by at most, twice over, for the fit and for this check


def check(model: Any, certificate: TreeCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute every node and the bound; raise CertificateError when they are not as stated."""
    rows = _read(model, X, y, sample_weight)
    tree = model.tree_
    paths = _descend(model, tree, rows)
    masses, limits = _check_nodes(model, tree, rows, paths)
    _check_limits(model, tree, certificate, rows)
    leaf = tree.children_left < 0
    flags = tree.missing_go_to_left
    if not np.isin(flags, (0, 1)).all() or flags[leaf].any():
        refuse(model, "its leaves ask where missing values go, or a node answers with another number than 0 and 1")
    total = float(rows.sample.s.sum())
    objective, null = float(masses[leaf].sum() / total), float(masses[0] / total)
    is_class = "classes_" in model.__dict__
    rounding = (len(rows.X) + 16) * UNIT * max(null, float(is_class)) + TIE_TOLERANCE * null
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    slack = 2 * rounding + RELATIVE_TOLERANCE * null
    if (certificate.rows, certificate.leaves) != (len(rows.sample.s), int(leaf.sum())):
        refuse(model, f"it states {certificate.rows} rows and {certificate.leaves} leaves")
    for what, stated, found in (
        ("its leaves leave", certificate.objective, objective),
        ("its root leaves", certificate.null_objective, null),
    ):
        if not abs(stated - found) <= slack:
            refuse(model, f"{what} an impurity of {found:.10g}, not {stated:.10g}")
    lower = _lower(model, certificate, rows, total)
    if not certificate.lower <= lower + slack:
        refuse(model, f"a tree leaves {lower:.10g}, and at least {certificate.lower:.10g} is claimed")
    if _is_searched(model) and not lower - slack <= model.lower_bound_ <= objective + slack:
        refuse(
            model, f"a search is said to have proved {model.lower_bound_:.10g}, of trees that leave {objective:.10g}"
        )
    words = certificate.statement
    if _is_searched(model) and certificate.depth == 0:
        words += " Its lower_bound_ is what the search says: all trees are too many to be compared again."
    if not _is_searched(model):
        check_drawn(model, tree, rows.X, rows.sample, (paths, masses, limits))
    if certificate.is_greedy:
        words += _check_splits(model, tree, rows, paths, masses, limits)
    return Verdict(words, objective, max(objective - lower, 0.0), slack, certificate.gap)


class _Rows(NamedTuple):
    """Rows of positive weight: a dense table, and targets with weights."""

    X: Array
    sample: Sample


def _read(model: Any, X: Any, y: Any, sample_weight: Any) -> _Rows:
    data = read_data(model, X, y, sample_weight)
    table = np.asarray(data.X if isinstance(data.X, np.ndarray) else data.X.toarray(), dtype=np.float64)
    s = np.ones(data.n_rows) if data.weight is None else data.weight
    criterion = {"log_loss": "entropy", "friedman_mse": "squared_error"}.get(model.criterion, model.criterion)
    if "classes_" in model.__dict__:
        several = isinstance(data.classes, list)
        found, stored = (data.classes, model.classes_) if several else ([data.classes], [model.classes_])
        if several != isinstance(model.classes_, list) or len(found) != len(stored):
            refuse(model, f"y has {len(found)} column(s) of labels, and it knows others")
        if not all(np.array_equal(seen, known) for seen, known in zip(found, stored, strict=True)):
            refuse(model, f"the labels are {[labels.tolist() for labels in found]!r:.100}")
        codes = data.y.astype(np.intp).reshape(data.n_rows, -1)
        s = s * class_factors(model, found, codes, s)
        target = np.concatenate([np.eye(len(labels))[own] for labels, own in zip(found, codes.T, strict=True)], axis=1)
        if several:  # the Gini impurities of columns are the variances of their indicators, added up
            if criterion != "gini":
                refuse(model, f"{criterion} is for one column of labels, and y has {len(found)}")
            criterion, target = "squared_error", target * _indicator(found)
    else:
        target = data.y.astype(np.float64).reshape(data.n_rows, -1)
    used = s > 0
    return _Rows(table[used], Sample(criterion, target[used], s[used]))


def _indicator(classes: list[Array]) -> float:
    """Return how large indicators are for the mean of their variances to be the mean impurity of the columns."""
    return float(np.sqrt(sum(len(labels) for labels in classes) / len(classes)))


def _descend(model: Any, tree: Any, rows: _Rows) -> list[tuple[Array, Array]]:
    """Return for each level the rows that reach it and their nodes."""
    n_nodes = len(tree.children_left)
    seen = np.zeros(n_nodes, dtype=np.int64)
    here, at = np.arange(len(rows.X)), np.zeros(len(rows.X), dtype=np.int64)
    levels, sets = [], _sets(model, tree, rows)
    while len(here):
        levels.append((here, at))
        seen[np.unique(at)] += 1
        left, right = tree.children_left[at], tree.children_right[at]
        inner = (left >= 0) & (right >= 0)
        if ((left >= 0) != (right >= 0)).any() or max(left.max(), right.max()) >= n_nodes or (seen > 1).any():
            refuse(model, "its children are not those of a tree")
        here, at = here[inner], at[inner]
        feature = tree.feature[at]
        if ((feature < 0) | (feature >= rows.X.shape[1])).any():
            refuse(model, "it asks about columns that are not there")
        value = rows.X[here, feature]
        is_left = np.where(np.isnan(value), tree.missing_go_to_left[at] == 1, value <= tree.threshold[at])
        for node, words in sets.items():
            own = at == node
            is_left[own] = goes_left(words, value[own], tree.missing_go_to_left[node] == 1)
        at = np.where(is_left, left[inner], right[inner])
    if (seen != 1).any():
        refuse(model, f"node {int(np.flatnonzero(seen != 1)[0])} is reached by no row")
    return levels


def _sets(model: Any, tree: Any, rows: _Rows) -> dict[int, Array]:
    """Return the sets of categories by node; columns of categories are asked about sets alone, and others never."""
    by_set, sets = np.asarray(tree.by_set), np.asarray(tree.sets)
    n_nodes, p = len(tree.children_left), rows.X.shape[1]
    is_sound = by_set.shape == np.unique(by_set).shape and sets.shape == (len(by_set), 16)
    if not is_sound or (len(by_set) and not (by_set.min() >= 0 and by_set.max() < n_nodes)):
        refuse(model, "its sets of categories are not those of its nodes")
    inner = (tree.children_left >= 0) & (tree.feature >= 0) & (tree.feature < p)
    asks = np.zeros(n_nodes, dtype=bool)
    asks[by_set.astype(np.intp)] = True
    if (asks & ~inner).any() or (holds_categories(model, p)[tree.feature[inner]] != asks[inner]).any():
        refuse(model, "it asks for the order of categories, or about numbers as if they were categories")
    if (tree.threshold[asks] != 0).any():
        refuse(model, "a node that asks about categories has a threshold")
    return dict(zip(by_set.tolist(), sets, strict=True))


def _check_nodes(model: Any, tree: Any, rows: _Rows, levels: list[tuple[Array, Array]]) -> tuple[Array, _Limits]:
    """Sum every node up again; return the weight times impurity of each, and what limits their values."""
    target, s = rows.sample.target, rows.sample.s
    limits = _Limits(model, tree)
    n_nodes, is_class = len(tree.children_left), "classes_" in model.__dict__
    width = target.shape[1]
    value = _values(model, tree)
    if value.shape[1] != width:
        refuse(model, "its values do not fit the targets")
    masses = np.zeros(n_nodes)
    for here, at in levels:
        nodes, local = np.unique(at, return_inverse=True)
        local = local.reshape(-1)
        weight = np.bincount(local, s[here])
        count = np.bincount(local)
        if not np.array_equal(count, tree.n_node_samples[nodes]):
            bad = int(nodes[np.flatnonzero(count != tree.n_node_samples[nodes])[0]])
            refuse(model, f"node {bad} holds other rows than it states: a threshold was moved, or a row")
        _compare(model, nodes, tree.weighted_n_node_samples[nodes], weight, weight, "weight")
        stated = value[nodes]
        own = target[here]
        size = np.zeros(len(nodes)) + (1.0 if is_class else 0.0)
        np.maximum.at(size, local, np.abs(own).max(axis=1))
        if rows.sample.criterion == "absolute_error":
            for off in off_medians(stated[:, 0], local, own[:, 0], s[here]):
                refuse(model, f"node {int(nodes[off])} does not predict the median")
            mass = np.bincount(local, s[here] * np.abs(own[:, 0] - stated[local, 0]), minlength=len(nodes))
        else:
            shift = np.zeros((len(nodes), width))
            shift[local[::-1]] = own[::-1]  # means about the first row of each node
            mean = np.empty((len(nodes), width))
            for k in range(width):
                mean[:, k] = shift[:, k] + np.bincount(local, s[here] * (own[:, k] - shift[local, k])) / weight
            limits.read(model, nodes, mean[:, -1], RELATIVE_TOLERANCE * size)
            for k in range(width):
                _compare(
                    model, nodes, stated[:, k], limits.kept(nodes, mean[:, k], is_last=k == width - 1), size, "value"
                )
            mass = mass_of(rows.sample.criterion, own, s[here], local, mean)
        masses[nodes] = mass
        rounded = np.minimum(
            64 * (count + 16) * UNIT / RELATIVE_TOLERANCE, 1.0
        )  # of shares, whose impurity is at most about one
        scale = rounded if is_class else np.maximum(mass / weight, size**2 * RELATIVE_TOLERANCE)
        _compare(model, nodes, tree.impurity[nodes], mass / weight, scale, "impurity")
        _check_thresholds(model, tree, rows, here, at)
    return masses, limits


def _values(model: Any, tree: Any) -> Array:
    """Return what each node predicts, one column for each of the targets."""
    n_nodes, classes = len(tree.children_left), model.__dict__.get("classes_")
    if not isinstance(classes, list):
        return np.asarray(tree.value.reshape(n_nodes, -1))
    widths = [len(labels) for labels in classes]
    if tree.value.shape != (n_nodes, len(widths), max(widths)) or (model.n_outputs_, model.n_classes_) != (
        len(widths),
        widths,
    ):
        refuse(model, "its values do not fit the labels")
    if any(tree.value[:, c, k:].any() for c, k in enumerate(widths)):
        refuse(model, "it holds shares of labels that a column does not have")
    return _indicator(classes) * np.concatenate([tree.value[:, c, :k] for c, k in enumerate(widths)], axis=1)


class _Limits:
    """Between what nodes must predict where predictions rise or fall in a column: each side of a split keeps to its side."""

    def __init__(self, model: Any, tree: Any) -> None:
        self.directions = directions_of(model, tree.n_features)
        self.tree, n_nodes = tree, len(tree.children_left)
        self.low, self.high = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)

    def read(self, model: Any, nodes: Array, value: Array, near: Array) -> None:
        """See that the values of a level keep to the limits of the level above, and find those of the level."""
        if self.directions is None or 0 in nodes:
            return
        found = dict(zip(nodes.tolist(), value.tolist(), strict=True))
        slack = dict(zip(nodes.tolist(), near.tolist(), strict=True))
        for parent in np.unique(self.tree.parents[nodes]).tolist():
            left, right = int(self.tree.children_left[parent]), int(self.tree.children_right[parent])
            low, high, direction = self.low[parent], self.high[parent], int(self.directions[self.tree.feature[parent]])
            self.low[[left, right]], self.high[[left, right]] = low, high
            if not direction:
                continue
            between, most = (found[left] + found[right]) / 2, 2 * max(slack[left], slack[right])
            inside = all(low - most <= found[side] <= high + most for side in (left, right))
            if not (inside and (found[right] - found[left]) * direction >= -most):
                refuse(
                    model,
                    f"node {parent} moves predictions against the direction of {called(model, int(self.tree.feature[parent]))}",
                )
            lower, upper = (left, right) if direction > 0 else (right, left)
            self.high[lower] = self.low[upper] = between

    def kept(self, nodes: Array, value: Array, *, is_last: bool) -> Array:
        """Return values within their limits; of two classes the first has what the second leaves."""
        if self.directions is None:
            return value
        low, high = self.low[nodes], self.high[nodes]
        return np.clip(value, low, high) if is_last else 1 - np.clip(1 - value, low, high)

    def of(self, node: int, size: float) -> Directions | None:
        """Return what the cuts of a node are limited by."""
        if self.directions is None:
            return None
        return Directions(self.directions, float(self.low[node]), float(self.high[node]), RELATIVE_TOLERANCE * size)


def directions_of(model: Any, n_columns: int) -> Array | None:
    """Return 1, -1 or 0 by column; None if all are free."""
    given = getattr(model, "monotonic_cst", None)
    if given is None:
        return None
    if isinstance(given, dict):
        given = [given.get(str(name), 0) for name in model.feature_names_in_]
    found = np.asarray(given)
    if found.shape != (n_columns,) or not np.isin(found, (-1, 0, 1)).all():
        refuse(model, "its monotonic_cst is not 1, -1 or 0 for each column")
    return found if found.any() else None


def _compare(model: Any, nodes: Array, stated: Array, found: Array, size: Array, what: str) -> None:
    off = ~(np.abs(stated - found) <= RELATIVE_TOLERANCE * size + 1e-300)
    if off.any():
        k = int(np.flatnonzero(off)[0])
        refuse(model, f"the {what} of node {int(nodes[k])} is {found[k]:.12g}, and {stated[k]:.12g} is stated")


def _check_thresholds(model: Any, tree: Any, rows: _Rows, here: Array, at: Array) -> None:
    """See that each question parts the values of its rows where it says, and sends missing values where it should."""
    inner = tree.children_left[at] >= 0
    here, at = here[inner], at[inner]
    if not len(here):
        return
    sets = dict(zip(np.asarray(tree.by_set).tolist(), tree.sets, strict=True))
    for node in set(sets) & set(np.unique(at).tolist()):
        own = rows.X[here[at == node], tree.feature[node]]
        wrong = set_problem(sets[node], own)
        if wrong:
            refuse(model, f"node {node} {wrong}")
    _check_sides(model, tree, rows, here, at)
    by_threshold = ~np.isin(at, list(sets))
    here, at = here[by_threshold], at[by_threshold]
    if not len(here):
        return
    nodes, local = np.unique(at, return_inverse=True)
    local = local.reshape(-1)
    value = rows.X[here, tree.feature[at]]
    missing, threshold = np.isnan(value), tree.threshold[nodes]
    low, high = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    known = ~missing
    is_left = known & (value <= threshold[local])
    is_right = known & ~is_left
    np.maximum.at(low, local[is_left], value[is_left])
    np.minimum.at(high, local[is_right], value[is_right])
    parts = np.isinf(high)  # nothing known lies above: known values are parted from missing ones
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    middle = np.where((middle >= low) & (middle < high), middle, low)
    middle = np.where(parts, np.inf, middle)
    right = np.where(parts, threshold == np.inf, (low <= threshold) & (threshold < high))
    off = ~right if not _is_searched(model) and model.splitter == "random" else threshold != middle
    if off.any():
        k = int(np.flatnonzero(off)[0])
        what = called(model, int(tree.feature[nodes[k]]))
        refuse(
            model,
            f"the threshold {threshold[k]:.12g} of node {int(nodes[k])} in {what} does not part {low[k]:.12g} from {high[k]:.12g}"
            " as it should",
        )


def _check_sides(model: Any, tree: Any, rows: _Rows, here: Array, at: Array) -> None:
    """See that missing values which no row of a node had go to the side of more rows."""
    nodes, local = np.unique(at, return_inverse=True)
    missing = np.isnan(rows.X[here, tree.feature[at]])
    has_missing = np.bincount(local.reshape(-1), missing, minlength=len(nodes)) > 0
    more_left = tree.n_node_samples[tree.children_left[nodes]] > tree.n_node_samples[tree.children_right[nodes]]
    off = ~has_missing & ((tree.missing_go_to_left[nodes] == 1) != more_left)
    if off.any():
        refuse(model, f"node {int(nodes[off][0])} sends missing values to the side of fewer rows")


def _is_searched(model: Any) -> bool:
    """Tell a tree that was searched among all of its depth from one that was grown."""
    return "lower_bound_" in type(model)._results  # noqa: SLF001  (what its class declares)


def _check_limits(model: Any, tree: Any, certificate: TreeCertificate, rows: _Rows) -> None:
    p = rows.X.shape[1]
    leaf = tree.children_left < 0
    if not np.all((tree.feature[leaf] == -2) & (tree.threshold[leaf] == -2)):
        refuse(model, "a leaf asks a question")
    if model.max_depth is not None and int(tree.depths.max()) > model.max_depth:
        refuse(model, f"it is {int(tree.depths.max())} deep, and {model.max_depth} is allowed")
    if _is_searched(model):
        _check_searched(model, certificate, rows)
        return
    looks_at = looked_at(model, p)
    if certificate.is_greedy and (model.splitter != "best" or looks_at < p):
        refuse(model, "its splits were drawn, and are said to be the best ones")
    if certificate.depth and holds_categories(model, p).any():
        refuse(model, "all trees of a depth are spoken of, and sets of categories were not compared")
    if certificate.depth not in (0, 1, 2):  # deeper trees are compared by nobody
        refuse(
            model,
            f"trees of depth {certificate.depth!s:.20} are spoken of, and a fit compares those of depth one or two",
        )
    if certificate.depth and (model.max_depth is None or model.max_depth > certificate.depth):
        leaves = model.max_leaf_nodes
        if leaves is None or leaves - 1 > certificate.depth:
            refuse(model, f"it may be deeper than {certificate.depth}, to which its bound refers")
    if model.max_leaf_nodes is not None and leaf.sum() > model.max_leaf_nodes:
        refuse(model, f"it has {int(leaf.sum())} leaves, and {model.max_leaf_nodes} are allowed")


def _check_searched(model: Any, certificate: TreeCertificate, rows: _Rows) -> None:
    """Refuse a claim about trees that nobody could compare again."""
    if certificate.is_greedy:
        refuse(model, "it was searched, and its splits are said to be the best ones of their nodes")
    if certificate.depth not in (0, model.max_depth):
        refuse(
            model, f"its bound refers to depth {certificate.depth!s:.20}, and it was searched within {model.max_depth}"
        )
    width = rows.sample.target.shape[1] + (2 if rows.sample.criterion == "squared_error" else 0)
    if certificate.depth and not can_compare(rows.X, max(width, 2), certificate.depth):
        refuse(
            model,
            f"a bound on all trees of depth {certificate.depth} is claimed, which are too many to be compared again",
        )


def _lower(model: Any, certificate: TreeCertificate, rows: _Rows, total: float) -> float:
    """Return what every tree of the depth of the claim leaves at least."""
    if certificate.lower == 0:
        return 0.0
    if _is_searched(model) and certificate.depth:
        least, unit = least_within(rows.X, rows.sample, certificate.depth, certificate.lower * total)
        return least * unit / total
    if certificate.depth:
        return least_of_depth(rows.X, rows.sample, certificate.depth) / total
    table = np.where(np.isnan(rows.X), np.nan, rows.X + 0.0)  # one zero, one NaN
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, table.itemsize * table.shape[1]))).reshape(-1)
    _, group = np.unique(keys, return_inverse=True)
    group = group.reshape(-1)
    s, target = rows.sample.s, rows.sample.target
    if rows.sample.criterion == "absolute_error":
        order = np.argsort(group, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        return sum(rows.sample.of(part).mass() for part in parts) / total
    weight = np.bincount(group, s)
    shift = target.mean(axis=0)
    mean = np.stack(
        [shift[k] + np.bincount(group, s * (target[:, k] - shift[k])) / weight for k in range(target.shape[1])], 1
    )
    return float(mass_of(rows.sample.criterion, target, s, group, mean).sum() / total)


def _check_splits(
    model: Any, tree: Any, rows: _Rows, levels: list[tuple[Array, Array]], masses: Array, limits: _Limits
) -> str:
    """See that no other cut of a node gains more, the largest nodes first; say how many were looked at where not all were."""
    inner = np.flatnonzero(tree.children_left >= 0)
    inner = inner[np.argsort(-tree.n_node_samples[inner], kind="stable")]
    p, spent = rows.X.shape[1], 0
    n, total = len(rows.X), float(rows.sample.s.sum())
    fewest = (
        model.min_samples_leaf if isinstance(model.min_samples_leaf, int) else int(np.ceil(model.min_samples_leaf * n))
    )
    lightest = model.min_weight_fraction_leaf * total
    is_absolute = rows.sample.criterion == "absolute_error"
    is_class = "classes_" in model.__dict__  # whose impurities are compared with one
    by_category = holds_categories(model, p)
    for done, node in enumerate(inner):
        size = int(tree.n_node_samples[node])
        spent += size * p * (size if is_absolute else 1)
        if spent > BUDGET:
            return f" {done} of {len(inner)} splits, those of the largest nodes, were compared with every other cut."
        here, at = levels[int(tree.depths[node])]
        own = here[at == node]
        sizes = float(max(np.abs(rows.sample.target[own]).max(), is_class))
        least = _least_left(rows, own, by_category, (int(fewest), float(lightest)), limits.of(int(node), sizes))
        left = masses[tree.children_left[node]] + masses[tree.children_right[node]]
        rounding = (size + 16) * UNIT * float(tree.weighted_n_node_samples[node]) if is_class else 0.0
        if not left <= least + 1e-8 * masses[node] + rounding:
            refuse(model, f"another split of node {int(node)} leaves {least:.10g}, and its own leaves {left:.10g}")
    return ""


def _least_left(
    rows: _Rows, own: Array, by_category: Array, limits: tuple[int, float], directions: Directions | None
) -> float:
    """Return the least that a cut, or a set of categories, leaves of some rows."""
    sample, X = rows.sample.of(own), rows.X[own]
    if directions is not None:
        directions = directions._replace(by_column=directions.by_column[~by_category])
    least = least_of_one_cut(X[:, ~by_category], sample, *limits, directions)
    for j in np.flatnonzero(by_category):
        least = min(least, least_of_one_cut(np.column_stack(orders(X[:, j], sample)), sample, *limits))
    return least
