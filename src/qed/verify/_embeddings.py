"""Embeddings, checked: neighbourhoods kept, objective and residual, computed again from rows and points.

What every method shares is here: distances by definition, neighbours that the model names, trustworthiness and continuity as ranges
where distances tie, and the orientation of the points. Each method says in a file of its own what its objective is.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._neighbors import _measured
from qed.verify._refusals import refuse
from qed.verify._rows import read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import EmbeddingCertificate

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-9  # relative: distances that differ by less may be in either order
SAME = 1e-6  # relative, of objectives and residuals


class StationaryPoint(NamedTuple):
    """Objective and residual at the stored points, and the name of the objective."""

    what: str
    objective: float
    residual: float
    size: float = 0.0  # of the terms of the objective, where they cancel


class Measure:
    """Rows and how they are measured: by the parameters of the model, or distances themselves."""

    def __init__(self, rows: Array, metric: Any, params: dict[str, Any] | None, p: float = 2.0) -> None:
        self.rows, self.n = rows, len(rows)
        self.is_given = metric == "precomputed"
        options = dict(params or {})
        self._function = partial(metric, **options) if callable(metric) else None
        name = (
            "function"
            if callable(metric)
            else {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}.get(metric, metric)
        )
        if name == "minkowski":
            power = float(options.get("p", p))
            plain = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}.get(power)
            name = plain if plain is not None and options.get("w") is None else name
            options = {"p": power, "w": options.get("w")}
        self.name = name
        self._metric = SimpleNamespace(effective_metric_=name, effective_metric_params_=options)

    def to_all(self, query: Array) -> Array:
        """Return the distances of one row to all rows, in double precision from differences."""
        if self.is_given:
            return np.array(query, np.float64)  # a copy: what is checked belongs to the user
        if self._function is not None:
            return np.array([float(self._function(query, row)) for row in self.rows])
        if self.name == "euclidean":
            away = self.rows - query
            return np.asarray(np.sqrt(np.einsum("ij,ij->i", away, away)))
        if self.name in ("cosine", "correlation"):
            away = _direction(self.rows, self.name) - _direction(query[None, :], self.name)
            return np.asarray(0.5 * np.sum(away**2, axis=1))
        return np.asarray(_measured(self._metric, self.rows, query), np.float64)

    def square(self) -> Array:
        """Return all distances, in an array of their own."""
        if self.is_given:
            return self.rows.copy()
        return np.stack([self.to_all(row) for row in self.rows])


def _direction(rows: Array, name: str) -> Array:
    """Return rows, or their deviations from their means, of length one; a row without direction stands by itself."""
    rows = rows - rows.mean(axis=1, keepdims=True) if name == "correlation" else rows
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.hstack([rows / np.where(length > 0, length, 1.0), length == 0])


def checker(
    measure_of: Callable[[Any, Array], Measure], found_of: Callable[..., StationaryPoint], *, turned: bool
) -> Any:
    """Return the check of a method: how its rows are measured, what its objective is, whether points are turned to their axes."""

    def check(model: Any, certificate: EmbeddingCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
        rows = read(model, X, None, sample_weight)
        require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
        table = read_data(model, X, None, None).X
        data = np.asarray(table if isinstance(table, np.ndarray) else table.toarray(), np.float64)
        points = np.asarray(model.embedding_, np.float64)
        if points.shape != (len(data), model.n_components) or not np.isfinite(points).all():
            refuse(model, f"its points have shape {points.shape}, and there are {len(data)} rows")
        if "rows_" in vars(model) and not np.array_equal(model.rows_, data):
            refuse(model, "the rows that it keeps are others")
        require_orientation(model, points, turned=turned)
        measure = measure_of(model, data)
        _require_faithfulness(model, certificate, measure, points)
        found = found_of(model, measure, points, y)
        if found.what != certificate.what:
            refuse(model, f"its objective is called {certificate.what!r:.60}, and is {found.what!r}")
        allowed = SAME * (abs(found.objective) + found.size) + 1e-12
        if not abs(found.objective - certificate.objective) <= allowed:
            refuse(model, f"the {found.what} is {found.objective:.10g}, and {certificate.objective:.10g} is stated")
        # eigenvectors that are stored in single precision have its residual
        stored = 1e-5 if model.embedding_.dtype == np.float32 else 1e-8
        if not abs(found.residual - certificate.residual) <= 1e-4 * found.residual + stored:
            refuse(model, f"the residual is {found.residual:.4g}, and {certificate.residual:.4g} is stated")
        off = abs(found.objective - certificate.objective)
        return Verdict(certificate.statement, found.objective, off, allowed, allowed, found.what)

    return check


def require_orientation(model: Any, points: Array, *, turned: bool) -> None:
    """Refuse points that were mirrored, moved or turned: a fit has one orientation."""
    tolerance = 1e-4 if model.embedding_.dtype == np.float32 else 1e-7
    size = float(np.abs(points).max(initial=0.0))
    if size == 0:
        return
    scaled = points / size
    if not np.all(scaled.max(axis=0) >= -scaled.min(axis=0) - tolerance):
        refuse(model, "its points are mirrored")
    if not turned:
        return
    products = scaled.T @ scaled / len(scaled)
    spread = np.diag(products)
    outside = products - np.diag(spread)
    if (
        not np.abs(scaled.mean(axis=0)).max() <= tolerance
        or not np.abs(outside).max(initial=0.0) <= tolerance * spread.max()
    ):
        refuse(model, "its points are not about their mean, along their principal axes")
    if not np.all(np.diff(spread) <= tolerance * spread.max()):
        refuse(model, "its axes are not in order")


def spread_evenly(n: int, count: int) -> Array:
    """Return so many rows, spread evenly."""
    return np.unique(np.linspace(0, n - 1, count).astype(np.int64))


def compared(n: int, p: int) -> Array:
    """Return the rows that a certificate compares."""
    return spread_evenly(n, min(n, max(64, min(1000, int(5e7 / (n * p))))))


def _require_faithfulness(model: Any, certificate: EmbeddingCertificate, measure: Measure, points: Array) -> None:
    n = measure.n
    rows, k = compared(n, measure.rows.shape[1]), max(1, min(5, (n - 1) // 2))
    if certificate.n_neighbors != k or certificate.compared != len(rows):
        refuse(
            model,
            f"{certificate.n_neighbors} neighbours of {certificate.compared} rows are stated, not {k} of {len(rows)}",
        )
    flat = Measure(points, "euclidean", None)
    sums = np.zeros((2, 2))
    for i in rows:
        high = measure.to_all(measure.rows[i])
        low = flat.to_all(points[i])
        sums[0] += _penalties(high, low, i, k)
        sums[1] += _penalties(low, high, i, k)
    most = k * (2 * n - 3 * k - 1) / 2 * len(rows)
    shares = sums / most if most > 0 else np.zeros((2, 2))
    for name, stated, (least, largest) in zip(
        ("trustworthiness", "continuity"), (certificate.trustworthiness, certificate.continuity), shares, strict=True
    ):
        if not 1 - largest - 1e-9 <= stated <= 1 - least + 1e-9:
            refuse(model, f"its {name} is {1 - least:.6f}, and {stated:.6f} is stated")


def _penalties(reference: Array, other: Array, own: int, k: int) -> Array:
    """Return the least and the largest penalty of a row, over the orders in which equal distances can stand."""
    reference, other = reference.copy(), other.copy()
    reference[own] = other[own] = np.inf
    edge = np.partition(other, k - 1)[k - 1]
    sure = np.flatnonzero(other < edge * (1 - RELATIVE_TOLERANCE))
    tied = np.flatnonzero(np.abs(other - edge) <= RELATIVE_TOLERANCE * edge)
    open_places = k - len(sure)
    bounds = []
    for factor, rank in (
        (1 + RELATIVE_TOLERANCE, 1),
        (1 - RELATIVE_TOLERANCE, 0),
    ):  # equal distances behind, or before, where each counts itself
        farther = reference * factor
        beyond = np.sort(_beyond(farther, reference[tied], k - rank))
        chosen = beyond[:open_places] if rank else beyond[len(beyond) - open_places :]
        bounds.append(_beyond(farther, reference[sure], k - rank).sum() + chosen.sum())
    return np.array(bounds, np.float64)


def _beyond(away: Array, edges: Array, k: int) -> Array:
    """Return how many more than k distances are below each of some."""
    return np.asarray(np.maximum(np.count_nonzero(away < edges[:, None], axis=1) - k, 0))


def require_neighbors(model: Any, measure: Measure, ids: Array) -> Array:
    """Refuse neighbours that are not the nearest; return their distances."""
    n, k = ids.shape
    if ids.min(initial=0) < 0 or ids.max(initial=0) >= n or np.any(ids == np.arange(n)[:, None]):
        refuse(model, "it names neighbours that are no other rows")
    if np.any(np.diff(np.sort(ids, axis=1), axis=1) == 0):
        refuse(model, "it names a neighbour twice")
    distances = np.empty((n, k))
    for i in range(n):
        away = measure.to_all(measure.rows[i])
        away[i] = np.inf
        distances[i] = away[ids[i]]
        farthest = distances[i].max(initial=0.0) * (1 - RELATIVE_TOLERANCE)
        if np.count_nonzero(away < farthest) != np.count_nonzero(distances[i] < farthest):
            refuse(model, f"a row is nearer to row {i} than a neighbour that it names")
        if not np.all(distances[i][1:] * (1 + RELATIVE_TOLERANCE) >= distances[i][:-1]):
            refuse(model, "its neighbours are not in order")
    return distances
