"""Groups by density, checked by definition: core rows are counted, groups joined and trees built again from distances.

Up to ``WHOLE`` rows everything is found again. Of more, counts and neighbours of a sample of rows are, each against all rows; edges
of a spanning tree are measured one by one, and no distance of a sampled row may undercut it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._distances import distances
from qed.verify._refusals import refuse
from qed.verify._rows import read_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate

Array = np.ndarray[Any, Any]
WHOLE = 1500  # rows of which everything is found again
SAMPLED = 400  # rows of larger tables that are compared with all
RELATIVE_TOLERANCE = 1e-10  # relative, of distances


def check_dbscan(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Count rows within eps again; raise CertificateError where core rows or groups are others."""
    rows, weight = _read(model, certificate, X, sample_weight, f"Groups of rows within {model.eps:g} of core rows")
    n = len(rows)
    labels, core = np.asarray(model.labels_), np.zeros(n, bool)
    if labels.shape != (n,) or np.any(model.core_sample_indices_ >= n):
        refuse(model, "its labels are not those of these rows")
    core[model.core_sample_indices_] = True
    given = np.asarray(model.components_)
    if given.shape != (core.sum(), rows.shape[1]) or not np.array_equal(given.astype(np.float64), rows[core]):
        refuse(model, "the core rows that it keeps are others")
    some = np.arange(n) if n <= WHOLE else np.unique(np.linspace(0, n - 1, SAMPLED).astype(int))
    _require_numbers(model, labels, core)
    links = []
    for first in range(0, len(some), 64):
        part = some[first : first + 64]
        D = _measure(model, rows, part)
        sure, maybe = model.eps * (1 - RELATIVE_TOLERANCE) >= D, model.eps * (1 + RELATIVE_TOLERANCE) >= D
        low, high = sure @ weight, maybe @ weight
        slack = 1e-12 * weight.sum()
        if np.any(core[part] & ~(high >= model.min_samples - slack)) or np.any(
            ~core[part] & ~(low < model.min_samples + slack)
        ):
            refuse(model, "rows are core whose neighbours are too few, or are not although they have enough")
        for at, row in enumerate(part):
            _require_group(model, int(row), labels, core, np.flatnonzero(sure[at]), np.flatnonzero(maybe[at]))
            if core[row] and n <= WHOLE:
                links.append((int(row), np.flatnonzero(maybe[at] & core)))
    if n <= WHOLE:
        _require_connected(model, labels, core, links)
    return Verdict(certificate.statement, float(n), 0.0, certificate.rounding, certificate.rounding, "rows compared")


def _require_group(model: Any, row: int, labels: Array, core: Array, sure: Array, maybe: Array) -> None:
    near = labels[sure[core[sure]]]
    if core[row]:
        good = bool(np.all(near == labels[row]))
    elif labels[row] < 0:
        good = not len(near)
    else:
        good = labels[row] in labels[maybe[core[maybe]]] and (not len(near) or labels[row] <= near.min())
    if not good:
        refuse(model, f"row {row} belongs to another group")


def _require_numbers(model: Any, labels: Array, core: Array) -> None:
    """Refuse groups that are not numbered by their first core rows, or core rows without a group."""
    own = labels[core]
    _, first = np.unique(own, return_index=True)
    count = int(labels.max(initial=-1)) + 1
    if np.any(own < 0) or len(first) != count or np.any(np.diff(first) < 0):
        refuse(model, "its groups are not numbered by their first core rows")


def _require_connected(model: Any, labels: Array, core: Array, links: list[tuple[int, Array]]) -> None:
    """Refuse a group whose core rows do not hang together."""
    root = np.arange(len(labels))
    changed = True
    while changed:  # the smallest number spreads along links
        changed = False
        for _row, near in links:
            least = root[near].min()
            if np.any(root[near] != least):
                root[near] = least
                changed = True
    for label in np.unique(labels[core]):
        if len(np.unique(root[core & (labels == label)])) > 1:
            refuse(model, f"group {label} does not hang together")


# -- OPTICS ----------------------------------------------------------------------------------------------------


def check_optics(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Follow the order; raise CertificateError where another row is nearer."""
    rows, _ = _read(model, certificate, X, None, "Order and reachability")
    n = len(rows)
    order, reach, core = np.asarray(model.ordering_), np.asarray(model.reachability_), np.asarray(model.core_distances_)
    parent = np.asarray(model.predecessor_)
    near = int(model.min_samples) if model.min_samples > 1 else max(2, int(model.min_samples * n))
    if any(one.shape != (n,) for one in (order, reach, core, parent, model.labels_)):
        refuse(model, "it is about other rows")
    some = np.arange(n) if n <= WHOLE else np.unique(np.linspace(0, n - 1, SAMPLED).astype(int))
    _require_core(model, rows, some, core, near, model.max_eps)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    best = np.full(n, np.inf)
    for step in range(n if n <= WHOLE else 0):
        row = int(order[step])
        least = float(np.min(np.where(place >= step, best, np.inf)))
        same = best[row] == reach[row] if np.isinf(best[row]) or np.isinf(reach[row]) else _close(best[row], reach[row])
        if not same or (step and not (best[row] <= least * (1 + RELATIVE_TOLERANCE) or np.isinf(least))):
            refuse(
                model, f"row {row} comes at place {step} with a reachability of {reach[row]:.8g}, not {best[row]:.8g}"
            )
        if np.isinf(best[row]) and row != np.flatnonzero(place >= step)[0]:
            refuse(model, f"place {step} begins anew with row {row}, which is not the first that is left")
        key = np.maximum(_measure(model, rows, np.array([row]))[0], core[row])
        key[key > model.max_eps * (1 + RELATIVE_TOLERANCE)] = np.inf
        best = np.where(place > step, np.minimum(best, key), best)
    has = np.flatnonzero(parent >= 0)
    if (
        np.any(np.isinf(reach[has]))
        or np.any(np.isfinite(reach[parent < 0]))
        or np.any(place[parent[has]] >= place[has])
    ):
        refuse(model, "rows are reached from rows after them")
    for row in has if n <= WHOLE else has[:: max(1, len(has) // SAMPLED)]:
        far = max(
            float(core[parent[row]]),
            float(_measure(model, rows, np.array([row]), rows[[parent[row]]], int(parent[row]))[0, 0]),
        )
        if not _close(far, reach[row]):
            refuse(model, f"row {row} is reached at {far:.8g}, not {reach[row]:.8g}")
    _require_optics_labels(model, order, reach, core, near)
    return Verdict(certificate.statement, float(n), 0.0, certificate.rounding, certificate.rounding, "rows compared")


def _require_optics_labels(model: Any, order: Array, reach: Array, core: Array, near: int) -> None:
    n = len(order)
    if model.cluster_method == "dbscan":
        eps = model.max_eps if model.eps is None else model.eps
        labels, group = np.full(n, -1, np.int64), -1
        for row in order:
            group += bool(reach[row] > eps and core[row] <= eps)
            labels[row] = -1 if reach[row] > eps and core[row] > eps else group
    else:
        size = near if model.min_cluster_size is None else model.min_cluster_size
        size = int(size) if size > 1 else max(2, int(size * n))
        groups = np.asarray(vars(model).get("cluster_hierarchy_", np.empty((0, 2))))
        want = _valleys(np.append([_rounded(one) for one in reach[order]], np.inf), model, order, near, size)
        if groups.shape != (len(want), 2) or not np.array_equal(groups, np.array(want).reshape(-1, 2)):
            refuse(model, "its valleys are others")
        plain, count = np.full(n, -1, np.int64), 0
        for first, last in want:
            if (plain[first : last + 1] < 0).all():
                plain[first : last + 1] = count
                count += 1
        labels = np.empty(n, np.int64)
        labels[order] = plain
    if not np.array_equal(labels, model.labels_):
        refuse(model, "its groups are others")


def _rounded(value: float) -> float:
    """Round to 13 digits, as ties are seen."""
    if not 0 < value < np.inf:
        return float(value)
    unit = 10.0 ** (np.floor(np.log10(value)) - 12)
    return float(np.round(value / unit) * unit)


def _valleys(plot: Array, model: Any, order: Array, near: int, size: int) -> list[tuple[int, int]]:
    """Find valleys between steep slopes, step by step."""
    n, keep = len(plot) - 1, 1 - model.xi
    falls, rises, down, up = [], [], [], []
    for i in range(n):
        a, b = plot[i], plot[i + 1]
        known = not (np.isinf(a) and np.isinf(b)) and not (a == 0 and b == 0)
        falls.append(known and a > b)
        rises.append(known and a < b)
        down.append(known and a > b and a * keep >= b)
        up.append(known and a < b and a <= b * keep)

    def area(steep: list[bool], against: list[bool], at: int) -> int:
        end, flat = at, 0
        while at < n and not (not steep[at] and against[at]):
            flat = 0 if steep[at] else flat + 1
            if flat > near:
                break
            end = at if steep[at] else end
            at += 1
        return end

    found: list[tuple[int, int]] = []
    open_: list[list[Any]] = []  # first and last place of a fall, and the highest since
    at, highest = 0, 0.0
    while at < n:
        highest = max(highest, plot[at])
        if not (down[at] or up[at]):
            at += 1
            continue
        open_ = [] if np.isinf(highest) else [one for one in open_ if highest <= plot[one[0]] * keep]
        for one in open_:
            one[2] = max(one[2], highest)
        end = area(down, rises, at) if down[at] else area(up, falls, at)
        if down[at]:
            open_.append([at, end, 0.0])
        else:
            inside = [_valley(plot, one, at, end, keep, model, order) for one in open_]
            found += [one for one in inside if one is not None and one[1] - one[0] + 1 >= size][::-1]
        at = end + 1
        highest = plot[at]
    return found


def _valley(plot: Array, fall: list[Any], begin: int, last: int, keep: float, model: Any, order: Array) -> Any:
    first, bottom, between = fall
    edge, top = plot[last + 1], plot[first]
    if edge * keep < between:
        return None
    if top * keep >= edge:
        while first < bottom and plot[first + 1] > edge:
            first += 1
    elif edge * keep >= top:
        while last > begin and plot[last - 1] > top:
            last -= 1
    if model.predecessor_correction:
        while (
            first < last and not plot[first] > plot[last] and model.predecessor_[order[last]] not in order[first:last]
        ):
            last -= 1
        if first >= last:
            return None
    return (first, last) if first <= bottom and last >= begin else None


# -- HDBSCAN ---------------------------------------------------------------------------------------------------


def check_hdbscan(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Find core distances, the weight of a spanning tree, groups and their choice again."""
    rows, _ = _read(model, certificate, X, None, "Groups that last longest among all densities")
    n = len(rows)
    core, children, heights = (
        np.asarray(model.core_distances_),
        np.asarray(model.tree_children_),
        np.asarray(model.tree_distances_),
    )
    if core.shape != (n,) or children.shape != (n - 1, 2) or heights.shape != (n - 1,) or model.labels_.shape != (n,):
        refuse(model, "it is about other rows")
    made = n + np.arange(n - 1)
    is_tree = (
        len(np.unique(children)) == 2 * n - 2
        and np.all(children < made[:, None])
        and np.all(children[:, 0] < children[:, 1])
    )
    if not is_tree or not np.all(heights[1:] >= heights[:-1]):
        refuse(model, "its merges are no tree")
    near = model.min_cluster_size if model.min_samples is None else model.min_samples
    some = np.arange(n) if n <= WHOLE else np.unique(np.linspace(0, n - 1, SAMPLED).astype(int))
    _require_core(model, rows, some, core, near, np.inf)
    _require_merges(model, rows, some, core, children, heights)
    labels, shares = _groups(model, children, heights, n)
    if not np.array_equal(labels, model.labels_):
        refuse(model, "its groups are others")
    if not np.allclose(shares, model.probabilities_, rtol=1e-9, atol=1e-12):
        refuse(model, "its probabilities are others")
    _require_centres(model, rows)
    return Verdict(certificate.statement, float(n), 0.0, certificate.rounding, certificate.rounding, "rows compared")


def _require_merges(model: Any, rows: Array, some: Array, core: Array, children: Array, heights: Array) -> None:
    """Refuse heights other than the least mutual reachability of the two clusters of each merge."""
    n = len(rows)
    up = np.full(2 * n - 1, -1, np.int64)
    up[children.ravel()] = np.repeat(n + np.arange(n - 1), 2)
    least = np.full(n - 1, np.inf)
    for row in some:
        away = np.maximum(_measure(model, rows, np.array([row]))[0] / model.alpha, np.maximum(core, core[row]))
        seen = np.zeros(n, np.int64) - 1  # the merge at which each row meets this one
        node, side = int(row), {int(row)}
        below = _below(children, n)
        while up[node] >= 0:
            node = int(up[node])
            fresh = [i for i in below(node) if i not in side]
            seen[fresh] = node - n
            side.update(fresh)
        met = seen >= 0
        np.minimum.at(least, seen[met], away[met])
        if not np.all(away[met] >= heights[seen[met]] * (1 - RELATIVE_TOLERANCE)):
            refuse(model, "rows are nearer than the height at which they meet")
    if n <= WHOLE and not np.allclose(least, heights, rtol=1e-9, atol=0):
        refuse(model, "merges are at other heights than the least distance of their clusters")


def _below(children: Array, n: int) -> Any:
    order = np.empty(n, np.int64)
    begin, size = np.zeros(2 * n - 1, np.int64), np.ones(2 * n - 1, np.int64)
    for t, (a, b) in enumerate(children):
        size[n + t] = size[a] + size[b]
    for t in range(n - 2, -1, -1):
        a, b = children[t]
        begin[a], begin[b] = begin[n + t], begin[n + t] + size[a]
    order[begin[:n]] = np.arange(n)
    return lambda node: order[begin[node] : begin[node] + size[node]].tolist()


class _Group:
    """A group: when it begins, what leaves it and when, and the groups it falls into."""

    def __init__(self, number: int, birth: float, size: int, parent: Any) -> None:
        self.number, self.birth, self.size, self.parent = number, birth, size, parent
        self.leaving: list[tuple[int, float]] = []
        self.parts: list[_Group] = []

    @property
    def death(self) -> float:
        return max([at for _, at in self.leaving] + [part.birth for part in self.parts])

    @property
    def stability(self) -> float:
        times = [at for _, at in self.leaving] + [part.birth for part in self.parts for _ in range(part.size)]
        return float(sum(0.0 if at == self.birth else at - self.birth for at in times))


def _groups(model: Any, children: Array, heights: Array, n: int) -> tuple[Array, Array]:
    """Let rows leave as the density rises, and choose groups."""
    below = _below(children, n)
    with np.errstate(divide="ignore"):
        density = 1 / heights
    root = _Group(n, 0.0, n, None)
    every, waiting = [root], [(2 * n - 2, root)]
    while waiting:
        node, group = waiting.pop()
        if node < n:
            group.leaving.append((node, np.inf))
            continue
        pair = [int(one) for one in children[node - n]]
        rows = [below(one) for one in pair]
        large = [len(one) >= model.min_cluster_size for one in rows]
        for part, own, is_large in zip(pair, rows, large, strict=True):
            if all(large):
                fresh = _Group(n + len(every), float(density[node - n]), len(own), group)
                every.append(fresh)
                group.parts.append(fresh)
                waiting.append((part, fresh))
            elif is_large:
                waiting.append((part, group))
            else:
                group.leaving += [(i, float(density[node - n])) for i in own]
    chosen = _choose(model, root, every)
    labels, left = np.full(n, -1, np.int64), np.zeros(n)
    number = {id(one): k for k, one in enumerate(chosen)}
    tops = np.ones(n)
    for group in every:
        home = group
        while id(home) not in number and home.parent is not None:
            home = home.parent
        for row, at in group.leaving:
            left[row] = at
            if id(home) in number:
                labels[row], tops[row] = number[id(home)], home.death
    if model.allow_single_cluster and chosen == [root]:
        epsilon = model.cluster_selection_epsilon
        labels[left < (1 / epsilon if epsilon > 0 else root.death)] = -1
    shares = np.ones(n)
    usual = np.isfinite(tops) & (tops > 0)
    shares[usual] = np.minimum(left[usual], tops[usual]) / tops[usual]
    return labels, np.where(labels >= 0, shares, 0.0)


def _choose(model: Any, root: _Group, every: list[_Group]) -> list[_Group]:
    def lasting(group: _Group) -> tuple[float, list[_Group]]:
        inner = [lasting(part) for part in group.parts]
        total, below = sum(value for value, _ in inner), [one for _, some in inner for one in some]
        if group is root and not model.allow_single_cluster:
            return total, below
        large = model.max_cluster_size is not None and group.size > model.max_cluster_size
        if group.parts and (large or total > group.stability):
            return total, below
        return (0.0, []) if large else (group.stability, [group])

    if model.cluster_selection_method == "leaf":
        chosen = [one for one in every if not one.parts and (one is not root or model.allow_single_cluster)]
    else:
        chosen = lasting(root)[1]
    epsilon = model.cluster_selection_epsilon
    if epsilon > 0:
        raised = []
        for start in chosen:
            group = start
            while group.parent is not None and group.birth * epsilon > 1:
                if group.parent is root and not model.allow_single_cluster:
                    break
                group = group.parent
            raised.append(group)
        unique = {id(one): one for one in raised}

        def is_inside(one: _Group) -> bool:
            while one.parent is not None:
                one = one.parent
                if id(one) in unique:
                    return True
            return False

        chosen = [one for one in unique.values() if not is_inside(one)]
    return sorted(chosen, key=lambda one: one.number)


def _require_centres(model: Any, rows: Array) -> None:
    stored, labels, shares = vars(model), model.labels_, model.probabilities_
    wanted = {"centroid": ["centroids_"], "medoid": ["medoids_"], "both": ["centroids_", "medoids_"]}
    names = wanted.get(model.store_centers, []) if model.metric != "precomputed" else []
    if {"centroids_", "medoids_"} & stored.keys() != set(names):
        refuse(model, "it keeps other centres than were asked for")
    for name in names:
        centres = np.asarray(stored[name])
        if centres.shape != (labels.max() + 1, rows.shape[1]):
            refuse(model, "it has other centres")
        for k, centre in enumerate(centres):
            own = np.flatnonzero(labels == k)
            if name == "centroids_":
                good = np.allclose(centre, shares[own] @ rows[own] / shares[own].sum(), rtol=1e-9)
            else:
                sums = distances(rows[own], rows[own], model.metric, params=model.metric_params) @ shares[own]
                same = np.all(rows[own] == centre, axis=1)
                good = bool(same.any()) and sums[same].min() <= sums.min() * (1 + 1e-9)
            if not good:
                refuse(model, f"the centre of group {k} is another")


# -- shared ----------------------------------------------------------------------------------------------------


def _read(model: Any, certificate: ExactCertificate, X: Any, sample_weight: Any, what: str) -> tuple[Array, Array]:
    data = read_data(model, X, None, sample_weight)
    rows = np.asarray(data.X, np.float64)
    if certificate.rows != len(rows) or certificate.what != what:
        refuse(model, f"its certificate is about {certificate.rows} rows and says {certificate.what!r:.60}")
    return rows, np.ones(len(rows)) if data.weight is None else np.asarray(data.weight, np.float64)


def _measure(model: Any, rows: Array, some: Array, others: Array | None = None, other: int | None = None) -> Array:
    """Return distances of some rows to others, all by default."""
    if model.metric == "precomputed":
        return rows[some] if other is None else rows[some][:, [other]]
    p = 2.0 if getattr(model, "p", None) is None else model.p
    return distances(rows[some], rows if others is None else others, model.metric, p, model.metric_params)


def _close(a: Any, b: Any) -> bool:
    return bool(a == b or abs(a - b) <= RELATIVE_TOLERANCE * min(abs(a), abs(b)))  # infinity is close to itself alone


def _require_core(model: Any, rows: Array, some: Array, core: Array, near: int, most: float) -> None:
    for row in some:
        away = _measure(model, rows, np.array([row]))[0]
        away[row] = 0.0
        true = float(np.partition(away, near - 1)[near - 1])
        beyond = true > most * (1 - RELATIVE_TOLERANCE) and np.isinf(core[row])
        if not beyond and not (true <= most * (1 + RELATIVE_TOLERANCE) and _close(true, core[row])):
            refuse(model, f"the core distance of row {row} is {true:.8g}, not {core[row]:.8g}")
