"""Embeddings by eigenvectors of neighbourhoods, checked: locally linear patches and Laplacians."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import _tables
from qed.verify._embeddings import Measure, StationaryPoint, checker, require_neighbors
from qed.verify._refusals import refuse

Array = np.ndarray[Any, Any]
LARGE = 1500  # rows from which smaller eigenvalues are not searched for


class _Forms:
    """A sum of small quadratic forms: entry i is a matrix on some of the rows."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.parts: list[tuple[Array, Array]] = []

    def add(self, nodes: Array, matrix: Array) -> None:
        self.parts.append((nodes, matrix))

    def times(self, Y: Array) -> Array:
        out = np.zeros(Y.shape)
        for nodes, matrix in self.parts:
            out[nodes] += matrix @ Y[nodes]
        return out

    def dense(self) -> Array:
        out = np.zeros((self.n, self.n))
        for nodes, matrix in self.parts:
            out[np.ix_(nodes, nodes)] += matrix
        return out

    def size(self) -> float:
        """Return the largest sum of a row's entries without their signs, of the sum of all forms: a bound on its eigenvalues."""
        rows, columns, entries = (
            np.concatenate([part.reshape(-1) for part in parts])
            for parts in zip(
                *((*np.broadcast_arrays(nodes[:, None], nodes), matrix) for nodes, matrix in self.parts), strict=True
            )
        )
        places, own = np.unique(rows.astype(np.int64) * self.n + columns, return_inverse=True)
        sums = np.bincount(places // self.n, np.abs(np.bincount(own, entries)), minlength=self.n)
        return float(sums.max(initial=0.0))


def _weights(away: Array, reg: float) -> Array:
    """Return the weights of sum one of differences from a row: by a least-squares problem with a ridge."""
    products = away @ away.T
    trace = float(np.trace(products))
    ridge = reg * trace if trace > 0 else reg
    weights = np.linalg.solve(products + ridge * np.eye(len(away)), np.ones(len(away)))
    return np.asarray(weights / weights.sum())


def _forms(model: Any, rows: Array, ids: Array) -> _Forms:
    n, k = ids.shape
    d, forms = model.n_components, _Forms(n)
    if model.method == "modified":
        _add_modified(model, rows, ids, forms)
        return forms
    for i in range(n):
        if model.method == "standard":
            line = np.concatenate([[1.0], -_weights(rows[ids[i]] - rows[i], model.reg)])
            forms.add(np.concatenate([[i], ids[i]]), np.outer(line, line))
            continue
        local = rows[ids[i]] - rows[ids[i]].mean(axis=0)
        values, vectors = np.linalg.eigh(local @ local.T)
        tangent = vectors[:, np.argsort(-values, kind="stable")[:d]]
        if model.method == "ltsa":
            # what rounding leaves of a neighbourhood of equal rows is no tangent
            floor = 8 * k * 2.0**-52 * np.abs(rows[ids[i]]).max(initial=0.0)
            tangent = tangent * (np.linalg.norm(tangent.T @ local, axis=1) > floor)
            inside = np.column_stack([np.full(k, 1 / np.sqrt(k)), tangent])
            forms.add(ids[i], np.eye(k) - inside @ inside.T)
        else:
            products = [tangent[:, a] * tangent[:, b] for a in range(d) for b in range(a, d)]
            Q, _ = np.linalg.qr(np.column_stack([np.ones(k), tangent, *products]))
            W = Q[:, d + 1 :]
            sums = W.sum(axis=0)
            W = W / np.where(np.abs(sums) < model.hessian_tol, 1.0, sums)
            forms.add(ids[i], W @ W.T)
    return forms


def _add_modified(model: Any, rows: Array, ids: Array, forms: _Forms) -> None:
    n, k = ids.shape
    d = model.n_components
    spectra = []
    for i in range(n):
        vectors, lengths, _ = np.linalg.svd(rows[ids[i]] - rows[i])
        values = np.zeros(k)
        values[: len(lengths)] = lengths**2
        spectra.append((values[::-1], vectors[:, ::-1]))  # smallest first
    tiny = np.finfo(float).tiny
    eta = float(np.median([v[: k - d].sum() / max(v[k - d :].sum(), tiny) for v, _ in spectra]))
    for i, (values, vectors) in enumerate(spectra):
        low = np.cumsum(values)[:-1]
        high = np.maximum(values.sum() - low, tiny)
        # the median of an odd number of shares is one of them, and must not lie beyond itself by rounding
        s = min(max(int(np.searchsorted(low / high, eta * (1 - 1e-9))), k - min(k, rows.shape[1]), 1), k - 1)
        V = vectors[:, :s][:, ::-1]
        alpha = float(np.linalg.norm(V.sum(axis=0))) / np.sqrt(s)
        h = np.full(s, alpha) - V.sum(axis=0)
        length = float(np.linalg.norm(h))
        reflect = np.eye(s) if length < model.modified_tol else np.eye(s) - 2 * np.outer(h, h) / length**2
        W = V @ reflect + (1 - alpha) * _weights(rows[ids[i]] - rows[i], model.reg)[:, None]
        line = np.vstack([-np.ones(s), W])
        forms.add(np.concatenate([[i], ids[i]]), line @ line.T)


def _axes(model: Any, points: Array) -> Array:
    """Return the axes that there are, one less than points at most; none of them is zero."""
    many = min(model.n_components, len(points) - 1)
    if not np.linalg.norm(points[:, :many], axis=0).all() or points[:, many:].any():
        refuse(model, "an axis of its points is zero")
    return points[:, :many]


def _lle(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    ids = np.asarray(model.neighbors_, np.int64)
    if ids.shape != (measure.n, model.n_neighbors):
        refuse(model, "it names another number of neighbours")
    require_neighbors(model, measure, ids)
    forms = _forms(model, measure.rows, ids)
    size = max(forms.size(), float(np.finfo(float).eps))
    tolerance = 1e-4 if model.embedding_.dtype == np.float32 else 1e-7
    Y = _axes(model, points)
    if not np.abs(Y.T @ Y - np.eye(Y.shape[1])).max(initial=0.0) <= tolerance or not np.abs(Y.sum(axis=0)).max(
        initial=0.0
    ) <= np.sqrt(len(Y)) * max(tolerance, 1e-5):
        refuse(model, "its points are not orthonormal, about zero")
    image = forms.times(Y)
    values = np.einsum("ij,ij->j", Y, image)
    residual = float(np.linalg.norm(image - Y * values, axis=0).max(initial=0.0)) / size
    if not residual <= tolerance:
        refuse(model, "its points are no eigenvectors")
    known = values
    if measure.n <= LARGE:
        # the constant vector, of value zero, is moved to the other end
        known = np.sort(np.linalg.eigvalsh(forms.dense() + 2 * size / measure.n))[: len(values)]
    _require_settled(model, Y, image, known, size, measure.rows)
    objective = float(values.sum())
    allowed = 1e-9 * size * len(values) + (tolerance * size if model.embedding_.dtype == np.float32 else 0.0)
    if not abs(model.reconstruction_error_ - objective) <= SUM_TOLERANCE * abs(objective) + allowed:
        refuse(model, f"its reconstruction error is {objective:.6g}, and it says {model.reconstruction_error_:.6g}")
    if measure.n <= LARGE and not objective <= known.sum() + SUM_TOLERANCE * abs(
        objective
    ) + allowed + 1e-10 * size * len(values):
        refuse(model, "there are eigenvectors with smaller eigenvalues")
    return StationaryPoint("reconstruction error", model.reconstruction_error_, residual)


SUM_TOLERANCE = 1e-5  # relative, of sums of eigenvalues near zero
TIE_TOLERANCE = (
    1e-10  # of the size of a matrix: eigenvalues that are nearer leave their axes to the columns of the rows
)
PIVOT = 0.1  # share of the largest part of a column in such a space, from which the column names an axis


def _require_settled(model: Any, V: Array, image: Array, known: Array, size: float, rows: Array) -> None:
    """Refuse axes that are not in the order of their values; where these tie, axes that columns of the rows do not name.

    ``V`` are axes up to single precision, of which quotients with their image lose the square; ``known`` the values in their order.
    """
    quotients = np.einsum("ij,ij->j", V, image) / np.einsum("ij,ij->j", V, V)
    ties = (
        np.abs(np.diff(known)) <= 0.99 * TIE_TOLERANCE * size
    )  # at the limit itself rounding decides, and either axes are right
    ascends = len(known) == 0 or known[-1] >= known[0]
    if not np.all(np.diff(quotients) * (1 if ascends else -1) >= -1.01 * TIE_TOLERANCE * size):
        refuse(model, "its axes are not in order")
    centred = rows - rows[:1]  # exact where a column is constant: its mean is rounded
    centred = centred - centred.mean(axis=0)
    extent = np.linalg.norm(centred, axis=0)
    near = 1e-4 if model.embedding_.dtype == np.float32 else 1e-6
    for own in np.split(np.arange(V.shape[1]), np.flatnonzero(~ties) + 1):
        left = V[:, own].T @ centred
        left = left * (
            np.linalg.norm(left, axis=0) > 2e-8 * extent
        )  # the others lie outside, up to the digits of the axes
        whole = float(np.abs(left).max(initial=0.0))
        while len(left) > 1:
            lengths = np.sqrt(np.sum(left * left, axis=0))
            if not lengths.max(initial=0.0) > 2e-8 * whole:
                break  # no column tells these axes apart
            first = left[:, np.argmax(lengths >= PIVOT * lengths.max())]
            if not np.linalg.norm(first[1:]) <= near * np.linalg.norm(first):
                refuse(model, "its axes are turned where eigenvalues tie")
            left = left[1:]


def _spectral(model: Any, measure: Measure, points: Array, y: Any) -> StationaryPoint:  # noqa: ARG001
    A = _affinities(model, measure)
    stored = model.affinity_matrix_
    dense = np.asarray(stored.toarray() if _tables.is_sparse(stored) else stored, np.float64)
    # one by one: the sums of some rows may be next to nothing
    if dense.shape != A.shape or not np.all(np.abs(dense - A) <= (1e-9 + _rounding_error(model, measure)) * A + 1e-300):
        refuse(model, "its affinities are others")
    A = dense.copy()
    np.fill_diagonal(A, 0.0)
    degrees = A.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    matrix = A / roots / roots[:, None]
    tolerance = 1e-4 if model.embedding_.dtype == np.float32 else 1e-7
    V = _axes(model, points) * roots[:, None]
    first = np.sqrt(degrees / max(float(degrees.sum()), 1e-300))  # of value one, and left out
    if (
        not np.abs(V.T @ V - np.eye(V.shape[1])).max(initial=0.0) <= tolerance
        or not np.abs(first @ V).max(initial=0.0) <= 10 * tolerance
    ):
        refuse(model, "its points are not orthonormal with the weights of their degrees, about zero")
    image = matrix @ V
    values = np.einsum("ij,ij->j", V, image)
    residual = float(np.linalg.norm(image - V * values, axis=0).max(initial=0.0))
    if not residual <= tolerance:
        refuse(model, "its points are no eigenvectors")
    best = values
    if measure.n <= LARGE:
        best = np.sort(np.linalg.eigvalsh(matrix - 2 * np.outer(first, first)))[::-1][: len(values)]
    _require_settled(model, V, image, best, 1.0, measure.rows)
    if measure.n <= LARGE and not values.sum() >= best.sum() - 10 * tolerance * len(values):
        refuse(model, "there are eigenvectors with larger eigenvalues")
    objective = float(np.sum(np.maximum(1 - values, 0.0)))
    size = 1e-6 * len(values) + (10 * tolerance / 1e-6 * 1e-2 if model.embedding_.dtype == np.float32 else 0.0)
    return StationaryPoint("sum of eigenvalues", objective, residual, size)


def _rounding_error(model: Any, measure: Measure) -> Any:
    """Bound the relative error of affinities by distances that were computed from products of rows about their mean."""
    if model.affinity != "rbf":
        return 0.0
    squares, p = np.sum((measure.rows - measure.rows.mean(axis=0)) ** 2, axis=1), measure.rows.shape[1]
    gamma = 1.0 / p if model.gamma is None else model.gamma
    return np.expm1(gamma * (p + 8) * 2.0**-51 * np.add.outer(squares, squares))


def _affinities(model: Any, measure: Measure) -> Array:
    n = measure.n
    if model.affinity == "precomputed":
        return measure.rows
    if callable(model.affinity):
        given = model.affinity(measure.rows)
        return np.asarray(given.toarray() if _tables.is_sparse(given) else given, np.float64)
    if model.affinity == "rbf":
        gamma = 1.0 / measure.rows.shape[1] if model.gamma is None else model.gamma
        return np.asarray(np.exp(-gamma * measure.square() ** 2))
    k = min(model.n_neighbors if model.n_neighbors is not None else max(n // 10, 1), n)
    links = np.eye(n)
    if k > 1:
        ids = np.asarray(model.neighbors_, np.int64)
        if ids.shape != (n, k - 1):
            refuse(model, "it names another number of neighbours")
        require_neighbors(model, measure, ids)
        links[np.arange(n)[:, None], ids] = 1.0
    return np.asarray(0.5 * (links + links.T))


def _rows(model: Any, data: Array) -> Measure:  # noqa: ARG001
    return Measure(data, "euclidean", None)


def _graph_rows(model: Any, data: Array) -> Measure:
    return Measure(data, "precomputed" if model.affinity == "precomputed_nearest_neighbors" else "euclidean", None)


check_patches = checker(_rows, _lle, turned=False)
check_laplacian = checker(_graph_rows, _spectral, turned=False)
