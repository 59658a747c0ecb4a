"""t-SNE and UMAP, checked: probabilities or memberships of the neighbours, objective and forces, all computed again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qed.core import _targets
from qed.verify._embeddings import Measure, StationaryPoint, checker, compared, require_neighbors, spread_evenly
from qed.verify._refusals import refuse

Array = np.ndarray[Any, Any]
SQUARED_DISTANCE_OFFSET = 1e-3  # what UMAP adds to squared distances


def _solved(value: Any, wanted: float, start: Array) -> Array:
    """Return where falling functions, one for each row, meet a number: by doubling and halving in logarithms."""
    low, high = np.log(start) - 60.0, np.log(start) + 60.0
    for _ in range(90):
        middle = (low + high) / 2
        above = value(np.exp(middle)) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.exp((low + high) / 2)


def _matrix(ids: Array, values: Array) -> Any:
    """Return directed numbers of neighbours as a sparse matrix."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415

    n, k = ids.shape
    return coo_matrix((values.reshape(-1), (np.repeat(np.arange(n), k), ids.reshape(-1))), shape=(n, n)).tocsr()


def _probabilities(distances: Array, perplexity: float) -> Array:
    away = distances**2 - distances[:, :1] ** 2
    mean = away.mean(axis=1)

    def shares(rate: Array) -> Array:
        weights = np.exp(-rate[:, None] * away)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def entropy(rate: Array) -> Array:
        weights = np.exp(-rate[:, None] * away)
        total = weights.sum(axis=1)
        return np.asarray(np.log(total) + rate * (away * weights).sum(axis=1) / total)

    rate = _solved(entropy, math.log(perplexity), np.where(mean > 0, 1 / np.where(mean > 0, mean, 1.0), 1.0))
    return shares(rate)


def _tsne(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    n, d = points.shape
    k = n - 1 if model.method == "exact" else min(n - 1, int(3 * model.perplexity + 1))
    ids = np.asarray(model.neighbors_, np.int64)
    if ids.shape != (n, k):
        refuse(model, "it names another number of neighbours")
    directed = _matrix(ids, _probabilities(require_neighbors(model, measure, ids), float(model.perplexity)))
    joint = (directed + directed.T).tocoo()
    p = joint.data / joint.data.sum()
    f = max(d - 1, 1)
    away = points[joint.row] - points[joint.col]
    near = 1 + np.sum(away**2, axis=1) / f
    rows = spread_evenly(n, min(n, max(1000, int(4e8 / n))))
    total = 0.0
    for i in rows:
        total += float(np.sum((1 + np.sum((points - points[i]) ** 2, axis=1) / f) ** (-(f + 1) / 2))) - 1.0
    total *= n / len(rows)
    some = p > 0
    value = float(np.sum(p[some] * np.log(p[some])) + (f + 1) / 2 * np.sum(p * np.log(near)) + np.log(total))
    if not abs(value - model.kl_divergence_) <= 1e-6 * (1 + abs(value)):
        refuse(model, f"its divergence is {value:.8g}, and it says {model.kl_divergence_:.8g}")
    pull = np.stack([np.bincount(joint.row, p / near * away[:, c], n) for c in range(d)], axis=1)
    pulled = pushed = left = 0.0
    for i in compared(n, 1):
        apart = points[i] - points
        inverse = 1 / (1 + np.sum(apart**2, axis=1) / f)
        push = np.sum((inverse ** ((f + 1) / 2) * inverse)[:, None] * apart, axis=0) / total
        pulled, pushed = pulled + float(pull[i] @ pull[i]), pushed + float(push @ push)
        left += float(np.sum((pull[i] - push) ** 2))
    strongest = max(pulled, pushed)
    return StationaryPoint(
        "Kullback-Leibler divergence", value, math.sqrt(left / strongest) if strongest > 0 else 0.0, 1.0
    )


def _memberships(distances: Array, wanted: float, connected: float) -> Array:
    near = np.empty(len(distances))
    whole, part = math.floor(connected), connected - math.floor(connected)
    for i, row in enumerate(distances):
        positive = row[row > 1e-12 * row.mean()]  # rows that differ by rounding are one
        if len(positive) >= max(whole, 1):
            first = positive[whole - 1] if whole > 0 else 0.0
            after = positive[whole] if whole < len(positive) else positive[-1]
            near[i] = first + part * (after - first)
        else:
            near[i] = row[-1] if len(positive) else 0.0
    away = np.maximum(distances - near[:, None], 0.0)
    mean = distances.mean(axis=1)
    rate = _solved(lambda r: np.exp(-r[:, None] * away).sum(axis=1), wanted, 1 / np.where(mean > 0, mean, 1.0))
    spread = np.maximum(1 / rate, 1e-3 * mean)
    return np.exp(-away / np.where(spread > 0, spread, 1.0)[:, None])


def _union(directed: Any, mix: float) -> Any:
    product = directed.multiply(directed.T)
    return (mix * (directed + directed.T) + (1 - 2 * mix) * product).tocsr()


def _graph(model: Any, measure: Measure, y: Any) -> Any:
    n = measure.n
    k = min(model.n_neighbors, n) - 1
    ids = np.asarray(model.neighbors_, np.int64)
    if ids.shape != (n, k):
        refuse(model, "it names another number of neighbours")
    distances = require_neighbors(model, measure, ids)
    graph = _union(
        _matrix(ids, _memberships(distances, math.log2(k + 1), float(model.local_connectivity))), model.set_op_mix_ratio
    )
    if y is None:
        return graph
    target = np.asarray(_targets.as_target(y, "y")).reshape(n)
    if model.target_metric == "categorical":
        entries = graph.tocoo()
        far = 2.5 / (1 - model.target_weight) if model.target_weight < 1 else 1e12
        same = target[entries.row] == target[entries.col]
        unknown = (
            (target[entries.row] == -1) | (target[entries.col] == -1)
            if target.dtype.kind in "if"
            else np.zeros_like(same)
        )
        entries.data = entries.data * np.where(unknown, math.exp(-1.0), np.where(same, 1.0, math.exp(-far)))
        return _relative(entries.tocsr())
    other = _target_graph(model, target.astype(np.float64)[:, None])
    a, b = graph.toarray(), other.toarray()
    both = (a > 0) | (b > 0)
    a, b = (
        np.where(a > 0, a, graph.data[graph.data > 0].min() / 2),
        np.where(b > 0, b, other.data[other.data > 0].min() / 2),
    )
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    return _relative(csr_matrix(np.where(both, a ** (1 - model.target_weight) * b**model.target_weight, 0.0)))


def _target_graph(model: Any, target: Array) -> Any:
    n = len(target)
    many = model.n_neighbors if model.target_n_neighbors == -1 else model.target_n_neighbors
    k = min(max(many - 1, 1), n - 1)
    D = np.abs(target - target.T)
    np.fill_diagonal(D, np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return _union(_matrix(ids, _memberships(np.take_along_axis(D, ids, axis=1), math.log2(k + 1), 1.0)), 1.0)


def _relative(graph: Any) -> Any:
    from scipy.sparse import diags  # noqa: PLC0415

    largest = np.asarray(graph.max(axis=1).todense()).reshape(-1)
    return _union((diags(1 / np.where(largest > 0, largest, 1.0)) @ graph).tocsr(), 1.0)


def _require_curve(model: Any) -> None:
    """Refuse a curve that is neither given nor nearest to the one asked for: its squares must not fall in any direction."""
    if model.a is not None:
        if (model.a_, model.b_) != (float(model.a), float(model.b)):
            refuse(model, "its curve is not the one that was given")
        return
    r = np.linspace(0.0, 3.0 * model.spread, 300)[1:]
    wanted = np.where(r < model.min_dist, 1.0, np.exp(-(r - model.min_dist) / model.spread))

    def squares(a: float, b: float) -> float:
        return float(np.sum((1 / (1 + a * r ** (2 * b)) - wanted) ** 2))

    here = squares(model.a_, model.b_)
    for step in (1e-3, -1e-3):
        if squares(model.a_ * (1 + step), model.b_) < here or squares(model.a_, model.b_ * (1 + step)) < here:
            refuse(model, f"a = {model.a_:.6g} and b = {model.b_:.6g} are not the nearest curve")


def _umap(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:
    _require_curve(model)
    graph = _graph(model, measure, y).tocsr()
    n, a, b = measure.n, model.a_, model.b_
    pushes = float(model.repulsion_strength * model.negative_sample_rate)
    degrees = np.asarray(graph.sum(axis=1)).reshape(-1)
    shares = pushes * degrees / (2 * n)

    def odds(i: int) -> tuple[Array, Array, Array]:
        apart = points[i] - points
        squares = SQUARED_DISTANCE_OFFSET + np.sum(apart**2, axis=1)
        return apart, squares, a * squares**b

    rows = spread_evenly(n, min(n, max(500, int(4e7 / n))))
    value = 0.0
    for i in rows:
        _, _, v = odds(i)
        some = slice(graph.indptr[i], graph.indptr[i + 1])
        other = np.log1p(1 / v)
        value += float(graph.data[some] @ np.log1p(v[graph.indices[some]])) + shares[i] * float(other.sum() - other[i])
    pulled = left = 0.0
    for i in compared(n, 1):
        apart, squares, v = odds(i)
        some = slice(graph.indptr[i], graph.indptr[i + 1])
        ends = graph.indices[some]
        pull = (graph.data[some] * v[ends] / ((1 + v[ends]) * squares[ends])) @ apart[ends]
        push = shares[i] * np.sum((1 / ((1 + v) * squares))[:, None] * apart, axis=0)
        pulled += float(pull @ pull)
        left += float(np.sum((pull - push) ** 2))
    return StationaryPoint("cross-entropy per row", value / len(rows), math.sqrt(left / pulled) if pulled > 0 else 0.0)


def _metric(model: Any, data: Array) -> Measure:
    return Measure(data, model.metric, model.metric_params)


check_tsne = checker(_metric, _tsne, turned=True)
check_umap = checker(_metric, _umap, turned=True)
