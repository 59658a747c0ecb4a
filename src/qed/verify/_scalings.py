"""Embeddings by distances, checked: strain of classical scaling and Isomap, stress of multidimensional scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._embeddings import Measure, StationaryPoint, checker, require_neighbors
from qed.verify._refusals import refuse

Array = np.ndarray[Any, Any]
LARGE = 2000  # rows from which other eigenvectors are searched for, not computed


def _doubly_centred(D: Array) -> Array:
    squares = D**2
    rows, columns = squares.mean(axis=1), squares.mean(axis=0)
    return np.asarray(-0.5 * (squares - rows[:, None] - columns[None, :] + squares.mean()))


def _require_leading(model: Any, B: Array, points: Array) -> tuple[float, float]:
    """Refuse points that are not leading eigenvectors times the roots of their values; return strain and residual."""
    values = np.asarray(model.eigenvalues_, np.float64)
    size = float(np.abs(B).max(initial=0.0)) * len(B)
    k = min(len(values), len(B))
    positive = np.maximum(values, 0.0)
    tolerance = (1e-5 if model.embedding_.dtype == np.float32 else 1e-8) * (
        abs(values).max(initial=0.0) + 1e-6 * size
    ) + 1e-300
    if not np.abs(points.T @ points - np.diag(positive)).max(initial=0.0) <= tolerance:
        refuse(model, "its points are not orthogonal, of lengths that its eigenvalues say")
    lengths = np.sqrt(positive)
    V = np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0)
    off = np.linalg.norm(B @ V - V * values, axis=0)[lengths > 0]
    if not off.max(initial=0.0) <= 100 * tolerance:
        refuse(model, "its points are no eigenvectors")
    if len(B) <= LARGE:
        best = np.sort(np.linalg.eigvalsh(B))[::-1][:k]
        if not np.abs(best - values[:k]).max(initial=0.0) <= tolerance:
            refuse(model, "its eigenvalues are not the largest")
    elif not _largest_outside(B, V) <= values[k - 1] + tolerance + 1e-6 * abs(values[0]):
        refuse(model, "there is a larger eigenvalue")
    strain = float(np.sum((B - points @ points.T) ** 2)) if len(B) <= LARGE else _strain(B, points)
    top = max(abs(float(values[0])), float(np.finfo(float).eps) * float(np.abs(B).max(initial=0.0)))
    return strain, float(off.max(initial=0.0)) / top if top > 0 else 0.0


def _strain(B: Array, points: Array) -> float:
    step = max(1, (1 << 22) // len(B))
    return sum(float(np.sum((B[i : i + step] - points[i : i + step] @ points.T) ** 2)) for i in range(0, len(B), step))


def _largest_outside(B: Array, V: Array) -> float:
    """Look for a large eigenvalue outside of some eigenvectors, by powers of the matrix."""
    block = np.random.default_rng(1).standard_normal((len(B), 8))
    for _ in range(12):
        block -= V @ (V.T @ block)
        block = np.linalg.qr(B @ block)[0]
    block -= V @ (V.T @ block)
    block = np.linalg.qr(block)[0]
    return float(np.linalg.eigvalsh(block.T @ B @ block).max())


def _classical(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    D = measure.square()
    _require_distances(model, D)
    B = _doubly_centred(D)
    strain, residual = _require_leading(model, B, points)
    return StationaryPoint("strain", strain, residual, SQUARES_TOLERANCE * float(np.sum(B**2)))


SQUARES_TOLERANCE = 1e-4  # share of all squares: strain is their difference


def _require_distances(model: Any, D: Array) -> None:
    stored = np.asarray(model.dissimilarity_matrix_, np.float64)
    size = float(np.abs(D).max(initial=0.0))
    if stored.shape != D.shape or not np.abs(stored - D).max(initial=0.0) <= 1e-6 * size:
        refuse(model, "the distances that it keeps are others")


def _stress(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    D = measure.square()
    _require_distances(model, D)
    d = Measure(points, "euclidean", None).square()
    upper = np.triu_indices(len(d), 1)
    own = d[upper]
    # equal distances share one disparity: which are equal, those say that were compared above
    wanted = D[upper] if model.metric_mds else _disparities(np.asarray(model.dissimilarity_matrix_)[upper], own)
    stress = float(np.sum((wanted - own) ** 2))
    squares = float(np.sum(own**2))
    normalised = (not model.metric_mds) if isinstance(model.normalized_stress, str) else model.normalized_stress
    stated = (np.sqrt(stress / squares) if squares > 0 else 0.0) if normalised else stress
    if not abs(stated - model.stress_) <= 1e-6 * (abs(stated) + 1e-6 * squares):
        refuse(model, f"its stress is {stated:.8g}, and it says {model.stress_:.8g}")
    ratio = np.zeros_like(d)
    ratio[upper] = np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
    ratio += ratio.T
    following = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / len(points)
    length = float(np.linalg.norm(points))
    residual = float(np.linalg.norm(following - points)) / length if length > 0 else 0.0
    return StationaryPoint("stress", stress, residual, 1e-6 * squares)


def _disparities(given: Array, own: Array) -> Array:
    """Return the nearest numbers to distances that rise with what is given, equal ones alike, of mean square one."""
    _, places, counts = np.unique(given, return_inverse=True, return_counts=True)
    means = np.bincount(places, own) / counts
    blocks: list[list[float]] = []  # value, weight, groups
    for value, weight in zip(means.tolist(), counts.tolist(), strict=True):
        blocks.append([value, float(weight), 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            last = blocks.pop()
            total = blocks[-1][1] + last[1]
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + last[0] * last[1]) / total, total, blocks[-1][2] + last[2]]
    levels = np.repeat([one[0] for one in blocks], [int(one[2]) for one in blocks])
    values = levels[places]
    size = float(np.sqrt(np.sum(values**2)))
    return np.asarray(values * (np.sqrt(len(values)) / size) if size > 0 else values)


def _isomap(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    links = _links(model, measure)
    _require_paths(model, links)
    B = _doubly_centred(np.asarray(model.dist_matrix_, np.float64))
    strain, residual = _require_leading(model, B, points)
    return StationaryPoint("strain", strain, residual, SQUARES_TOLERANCE * float(np.sum(B**2)))


def _links(model: Any, measure: Measure) -> list[dict[int, float]]:
    """Return the neighbours of each row in either direction, and what joins components that are apart."""
    n = measure.n
    links: list[dict[int, float]] = [{} for _ in range(n)]
    if model.n_neighbors is not None:
        ids = np.asarray(model.neighbors_, np.int64)
        if ids.shape != (n, model.n_neighbors):
            refuse(model, "it names another number of neighbours")
        pairs = zip(ids, require_neighbors(model, measure, ids), strict=True)
    else:
        listed = []
        for i in range(n):
            away = measure.to_all(measure.rows[i])
            near = np.flatnonzero(away <= model.radius)
            near = near[near != i]
            listed.append((near, away[near]))
        pairs = iter(listed)  # type: ignore[assignment]
    for i, (near, lengths) in enumerate(pairs):
        for j, length in zip(near.tolist(), lengths.tolist(), strict=True):
            links[i][j] = links[j][i] = max(length, links[i].get(j, 0.0))
    return _joined(links, measure)


def _joined(links: list[dict[int, float]], measure: Measure) -> list[dict[int, float]]:
    label = np.full(len(links), -1)
    for start in range(len(links)):
        if label[start] < 0:
            label[start], waiting = start, [start]
            while waiting:
                for j in links[waiting.pop()]:
                    if label[j] < 0:
                        label[j] = start
                        waiting.append(j)
    names = np.unique(label)
    for a, first in enumerate(names):
        for second in names[a + 1 :]:
            others = np.flatnonzero(label == second)
            nearest = min(
                (float(away[others].min()), int(i), int(others[np.argmin(away[others])]))
                for i in np.flatnonzero(label == first)
                for away in [measure.to_all(measure.rows[i])]
            )
            links[nearest[1]][nearest[2]] = links[nearest[2]][nearest[1]] = nearest[0]
    return links


def _require_paths(model: Any, links: list[dict[int, float]]) -> None:
    """Refuse lengths that are not those of shortest paths: each is the least of those of its neighbours and the step from there."""
    G = np.asarray(model.dist_matrix_, np.float64)
    n = len(links)
    if G.shape != (n, n) or not np.isfinite(G).all() or np.any(np.diag(G) != 0):
        refuse(model, "its matrix of paths is none")
    size = float(G.max(initial=0.0))
    for v, near in enumerate(links):
        if not near:
            continue
        others = np.fromiter(near, np.int64)
        least = np.min(G[:, others] + np.fromiter(near.values(), np.float64), axis=1)
        least[v] = 0.0
        if not np.abs(least - G[:, v]).max() <= 1e-9 * size:
            refuse(model, f"a path to row {v} is not the shortest")


def _metric(model: Any, data: Array) -> Measure:
    return Measure(data, model.metric, model.metric_params, float(getattr(model, "p", 2.0)))


def _mds_metric(model: Any, data: Array) -> Measure:
    return Measure(
        data, model.metric if model.dissimilarity == "deprecated" else model.dissimilarity, model.metric_params
    )


check_classical = checker(_metric, _classical, turned=False)
check_stress = checker(_mds_metric, _stress, turned=True)
check_isomap = checker(_metric, _isomap, turned=False)
