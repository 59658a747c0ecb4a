"""Trees of merges, checked: each merge joins two clusters that are nearest, at the distance that their linkage defines.

Up to ``WHOLE`` rows all merges are made again from the table of all distances, by the formula of Lance and Williams. For more,
heights of a sample of merges are found by definition, from the rows of both clusters; the last merges are made again from the
clusters they begin with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._distances import distances
from qed.verify._refusals import refuse
from qed.verify._rows import read_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate

Array = np.ndarray[Any, Any]
WHOLE = 600  # rows whose merges are all made again
SAMPLED = 300  # merges of larger trees whose heights are found by definition
PAIRS = 40_000  # most pairs of rows of a sampled merge
CENTROIDS = ("ward", "centroid", "median")


def check(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Make merges again; raise CertificateError where another is due."""
    rows = _rows(model, X)
    n = len(rows)
    if certificate.rows != n or model.n_leaves_ != n:
        refuse(model, f"it is about {certificate.rows} rows, and these are {n}")
    if certificate.what != f"Merges of the nearest clusters by {model.linkage} linkage":
        refuse(model, "it claims another linkage")
    children, heights = np.asarray(model.children_), np.asarray(model.distances_)
    if (
        model.linkage not in ("centroid", "median")
        and model.connectivity is None
        and not np.all(heights[1:] >= heights[:-1] - 1e-9 * heights.max(initial=0.0))
    ):
        refuse(model, "its heights fall")
    if model.connectivity is not None:
        off = _require_graph(model, rows, children, heights)
    elif n <= WHOLE:
        off = _replay(model, rows, children, heights)
    else:
        off = _sample(model, rows, children, heights)
    _require_cut(model, children, heights)
    return Verdict(
        certificate.statement, float(n), off, certificate.rounding, certificate.rounding, "height of a merge"
    )


def check_splits(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Split clusters again; raise CertificateError where another split is due."""
    rows = _rows(model, X)
    n = len(rows)
    if certificate.rows != n or model.n_leaves_ != n or certificate.what != "Splits of the widest clusters":
        refuse(model, "it is about other rows, or claims something else")
    D = rows if model.metric == "precomputed" else distances(rows, rows, model.metric)
    children, heights = np.asarray(model.children_), np.asarray(model.distances_)
    members: list[list[int]] = [[i] for i in range(n)]
    slack, off = 1e-9 * float(D.max()), 0.0
    for t, (a, b) in enumerate(children):
        whole = members[a] + members[b]
        members.append(whole)
        part = D[np.ix_(whole, whole)]
        off = max(off, abs(float(part.max()) - heights[t]))
        if not off <= slack:
            refuse(model, f"split {t} is of a cluster of diameter {part.max():.8g}, not {heights[t]:.8g}")
        _require_split(model, D, set(members[a]), set(members[b]), slack)
    if not np.all(heights[1:] >= heights[:-1]):
        refuse(model, "its splits are not in order")
    if not np.array_equal(_labels(children, n, np.arange(n - 1) < n - model.n_clusters), model.labels_):
        refuse(model, "its labels are not those of its splits")
    return Verdict(certificate.statement, float(n), off, certificate.rounding, certificate.rounding, "diameter")


def _rows(model: Any, X: Any) -> Array:
    data = read_data(model, X, None, None)
    rows = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, np.float64)
    return rows.T if type(model).__name__ == "FeatureAgglomeration" else rows


def _require_split(model: Any, D: Array, one: set[int], two: set[int], slack: float) -> None:
    """Refuse a split that the rule does not make: rows leave one by one, from the one that is farthest from the others."""
    whole = sorted(one | two)
    means = np.array([D[i, whole].sum() for i in whole])
    firsts = {whole[k] for k in np.flatnonzero(means >= means.max() - len(whole) * slack)}
    for leavers in (one, two):
        for first in sorted(firsts & leavers):
            gone, stay = [first], [i for i in whole if i != first]
            while len(stay) > 1:
                gain = [D[i, stay].sum() / (len(stay) - 1) - D[i, gone].mean() for i in stay]
                best = int(np.argmax(gain))
                ties = [stay[k] for k in np.flatnonzero(np.array(gain) >= gain[best] - slack)]
                if gain[best] <= slack and set(gone) == leavers:
                    return
                if gain[best] < -slack:
                    break
                nextone = next((i for i in ties if i in leavers), stay[best])
                gone.append(nextone)
                stay.remove(nextone)
            if set(gone) == leavers:
                return
    refuse(model, "a cluster is split where the rule does not split it")


def _replay(model: Any, rows: Array, children: Array, heights: Array) -> float:
    """Make all merges again, on the table of all distances."""
    n, linkage = len(rows), model.linkage
    D = rows.copy() if model.metric == "precomputed" else distances(rows, rows, model.metric)
    D = D**2 if linkage in CENTROIDS else D
    np.fill_diagonal(D, np.inf)
    return _go_on(model, D, np.arange(n), np.ones(n), children, heights, n)


def _go_on(model: Any, D: Array, ids: Array, sizes: Array, children: Array, heights: Array, n: int) -> float:
    """Make merges from the clusters of a table on; ids and sizes are theirs."""
    linkage, ids, sizes = model.linkage, ids.astype(np.int64), sizes.astype(np.float64)
    root = np.sqrt if linkage in CENTROIDS else np.asarray
    scale = float(np.max(D[np.isfinite(D)], initial=0.0))
    slack, off = 1e-9 * math.sqrt(scale) if linkage in CENTROIDS else 1e-9 * scale, 0.0
    begin = len(children) - len(ids) + 1
    for t in range(begin, len(children)):
        place = [int(np.flatnonzero(ids == one)[0]) if one in ids else -1 for one in children[t]]
        a, b = place
        if a < 0 or b < 0:
            refuse(model, f"merge {t} joins clusters that are not there")
        here, least = float(root(max(D[a, b], 0.0))), float(root(max(float(D.min()), 0.0)))
        off = max(off, abs(here - heights[t]))
        if not abs(here - heights[t]) <= slack:
            refuse(model, f"merge {t} is at height {here:.8g}, not {heights[t]:.8g}")
        if not here <= least + slack:
            refuse(model, f"merge {t} joins clusters {here:.8g} apart, and others are {least:.8g} apart")
        D[a] = D[:, a] = _joined(linkage, D[a], D[b], D[a, b], sizes, a, b)
        D[a, a] = np.inf
        D[b] = D[:, b] = np.inf
        sizes[a] += sizes[b]
        ids[a], ids[b] = n + t, -1
    return off


def _joined(linkage: str, da: Array, db: Array, dab: float, sizes: Array, a: int, b: int) -> Array:
    """Return distances of the union of two clusters to all others: Lance and Williams."""
    na, nb, nx = sizes[a], sizes[b], sizes
    with np.errstate(invalid="ignore"):
        if linkage == "single":
            found = np.minimum(da, db)
        elif linkage == "complete":
            found = np.maximum(da, db)
        elif linkage == "average":
            found = (na * da + nb * db) / (na + nb)
        elif linkage == "weighted":
            found = (da + db) / 2
        elif linkage == "ward":
            found = ((na + nx) * da + (nb + nx) * db - nx * dab) / (na + nb + nx)
        elif linkage == "centroid":
            found = (na * da + nb * db) / (na + nb) - na * nb * dab / (na + nb) ** 2
        else:
            found = (da + db) / 2 - dab / 4
    return np.where(np.isfinite(da) & np.isfinite(db), found, np.inf)


def _members(children: Array, n: int) -> tuple[Array, Array, Array]:
    """Return rows in the order of the leaves, and where each cluster begins and how many rows it has."""
    size = np.ones(2 * n - 1, np.int64)
    for t, (a, b) in enumerate(children):
        size[n + t] = size[a] + size[b]
    begin = np.zeros(2 * n - 1, np.int64)
    for t in range(n - 2, -1, -1):
        a, b = children[t]
        begin[a], begin[b] = begin[n + t], begin[n + t] + size[a]
    order = np.empty(n, np.int64)
    order[begin[:n]] = np.arange(n)
    return order, begin, size


def _sample(model: Any, rows: Array, children: Array, heights: Array) -> float:
    """Find heights of a sample of merges by definition; make the last merges again."""
    n, linkage = len(rows), model.linkage
    order, begin, size = _members(children, n)
    off, scale = 0.0, float(heights.max())
    if linkage in CENTROIDS:
        centres, weights = _centres(rows, children, linkage)
        a, b = children.T
        step = np.sqrt(np.sum((centres[a] - centres[b]) ** 2, axis=1))
        if linkage == "ward":
            step = step * np.sqrt(2 * weights[a] * weights[b] / (weights[a] + weights[b]))
        off = float(np.max(np.abs(step - heights)))
        wrong = int(np.argmax(np.abs(step - heights)))
    else:
        small = np.flatnonzero(size[children[:, 0]] * size[children[:, 1]] <= PAIRS)
        shares = _shares(children, n) if linkage == "weighted" else None
        wrong = 0
        for t in small[np.linspace(0, len(small) - 1, min(SAMPLED, len(small))).astype(int)]:
            height = _height(model, rows, order, begin, size, children[t], shares)
            if abs(height - heights[t]) > off:
                off, wrong = abs(height - heights[t]), int(t)
    if not off <= 1e-9 * scale:
        refuse(model, f"merge {wrong} is at another height than {heights[wrong]:.8g}, off by {off:.3g}")
    if linkage in CENTROIDS:
        left = WHOLE // 2  # clusters there were before the last merges
        kept = np.setdiff1d(np.arange(2 * n - left), children[: n - left].ravel())
        D = np.sum((centres[kept][:, None] - centres[kept]) ** 2, axis=2)
        if linkage == "ward":
            D *= 2 * weights[kept][:, None] * weights[kept] / (weights[kept][:, None] + weights[kept])
        np.fill_diagonal(D, np.inf)
        off = max(off, _go_on(model, D, kept, weights[kept], children, heights, n))
    elif linkage == "single":  # no rows are nearer than the height at which they meet
        some = np.linspace(0, n - 1, 64).astype(int)
        away = rows[some] if model.metric == "precomputed" else distances(rows[some], rows, model.metric)
        if not np.all(_meetings(children, heights, some, n) <= away + 1e-9 * scale):
            refuse(model, "rows are nearer than the height at which they meet")
    return off


def _centres(rows: Array, children: Array, linkage: str) -> tuple[Array, Array]:
    """Return the centres of all clusters, about the medians of the columns, and their numbers of rows."""
    n = len(rows)
    centres, weights = np.vstack([rows - np.median(rows, axis=0), np.empty((n - 1, rows.shape[1]))]), np.ones(2 * n - 1)
    for t, (a, b) in enumerate(children):
        weights[n + t] = weights[a] + weights[b]
        share = 0.5 if linkage == "median" else weights[b] / weights[n + t]
        centres[n + t] = (1 - share) * centres[a] + share * centres[b]
    return centres, weights


def _shares(children: Array, n: int) -> Array:
    """Return the number of merges above each node, by which the share of a row halves."""
    depth = np.zeros(2 * n - 1, np.int64)
    for t in range(n - 2, -1, -1):
        depth[children[t]] = depth[n + t] + 1
    return depth


def _height(
    model: Any, rows: Array, order: Array, begin: Array, size: Array, pair: Array, depth: Array | None
) -> float:
    one, two = (order[begin[c] : begin[c] + size[c]] for c in pair)
    D = rows[np.ix_(one, two)] if model.metric == "precomputed" else distances(rows[one], rows[two], model.metric)
    if model.linkage == "single":
        return float(D.min())
    if model.linkage == "complete":
        return float(D.max())
    if depth is None:
        return float(D.mean())
    left, right = (0.5 ** (depth[part] - depth[c]).astype(float) for part, c in zip((one, two), pair, strict=True))
    return float(left @ D @ right)


def _meetings(children: Array, heights: Array, some: Array, n: int) -> Array:
    """Return the height at which some rows meet all others."""
    parent = np.full(2 * n - 1, -1, np.int64)
    for t, (a, b) in enumerate(children):
        parent[a] = parent[b] = n + t
    order, begin, size = _members(children, n)
    found = np.zeros((len(some), n))
    for at, row in enumerate(some):
        node = int(row)
        seen = np.zeros(n, bool)
        seen[node] = True
        while parent[node] >= 0:
            node = int(parent[node])
            below = order[begin[node] : begin[node] + size[node]]
            fresh = below[~seen[below]]
            found[at, fresh] = heights[node - n]
            seen[fresh] = True
    return found


def _require_graph(model: Any, rows: Array, children: Array, heights: Array) -> float:
    """Check merges along a graph: heights of ward by centroids; of others, that they lie between the rows of both clusters."""
    n = len(rows)
    if model.linkage == "ward":
        centres, weights = _centres(rows, children, "ward")
        a, b = children.T
        step = np.sqrt(
            np.sum((centres[a] - centres[b]) ** 2, axis=1) * 2 * weights[a] * weights[b] / (weights[a] + weights[b])
        )
        off = float(np.max(np.abs(step - heights)))
        if not off <= 1e-9 * float(heights.max()):
            refuse(model, f"a merge is at another height, off by {off:.3g}")
        return off
    order, begin, size = _members(children, n)
    slack = 1e-9 * float(heights.max())
    for t, (a, b) in enumerate(children):
        one, two = (order[begin[c] : begin[c] + size[c]] for c in (a, b))
        D = rows[np.ix_(one, two)] if model.metric == "precomputed" else distances(rows[one], rows[two], model.metric)
        if not D.min() - slack <= heights[t] <= D.max() + slack:
            refuse(
                model, f"merge {t} is at height {heights[t]:.8g}, and its rows are {D.min():.8g} to {D.max():.8g} apart"
            )
    return 0.0


def _require_cut(model: Any, children: Array, heights: Array) -> None:
    n = len(children) + 1
    if model.n_clusters is not None:
        made = np.arange(n - 1) < n - model.n_clusters
    else:
        top = np.concatenate([np.full(n, -np.inf), heights])
        for t, (a, b) in enumerate(children):
            top[n + t] = max(top[n + t], top[a], top[b])
        made = top[n:] < model.distance_threshold
    labels = _labels(children, n, made)
    if not np.array_equal(labels, model.labels_) or model.n_clusters_ != int(labels.max()) + 1:
        refuse(model, "its labels are not those of its merges")


def _labels(children: Array, n: int, made: Array) -> Array:
    """Return the clusters after some merges, numbered by their first rows."""
    cluster = np.arange(n)
    members: dict[int, list[int]] = {i: [i] for i in range(n)}
    for t in np.flatnonzero(made):
        a, b = map(int, children[t])
        members[n + int(t)] = members.pop(a) + members.pop(b)
    for rows in members.values():
        cluster[rows] = min(rows)
    return np.unique(cluster, return_inverse=True)[1].ravel()
