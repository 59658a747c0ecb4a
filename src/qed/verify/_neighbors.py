"""Models of nearest neighbours, checked: are their rows those of the certificate, and do their answers follow from all rows.

Distances, votes, means and sums of windows are computed by definition, from every row, in extended precision, at some of the
rows and at points between them, and compared with the answers of the model.
"""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._declared import declares
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import SearchCertificate


Array = np.ndarray[Any, Any]
ROUNDINGS = 128  # of a sum for each of its terms: angles and powers take several operations
QUERIES = 24
BLOCK_ROWS = 4096
DISTANCES = 100_000_000  # differences of entries that are taken to follow answers about many rows


def check(model: Any, certificate: SearchCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Compare the rows, then answers about some points; raise CertificateError where they differ."""
    rows = read(model, X, y, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    _require_rows(model, rows)
    if y is not None and np.ndim(y) == 1 and np.ndim(vars(model).get("targets_", ())) == 2:
        refuse(model, "it keeps a table of targets, and these are one number a row")
    _require_metric(model)
    _require_rounding(model, certificate)
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # compared before; questions come without names
    queries = _points(model.rows_)
    test = _density if declares(model, "bandwidth_") else _neighbours
    off = test(model, model.rows_, queries, certificate.rounding)
    claimed = certificate.rounding
    return Verdict(certificate.statement, float(len(queries)), off, claimed, claimed, "points asked")


def _require_rounding(model: Any, certificate: SearchCertificate) -> None:
    """Refuse a stated rounding that sums over columns, of powers, and over rows do not have."""
    rows, power = model.rows_, float(model.effective_metric_params_.get("p", 1.0))
    times = max(power, 1 / power) if 0 < power < np.inf else 1.0
    most = ROUNDINGS * (rows.shape[1] * times + 64 + len(rows) / 512) * DOUBLE
    if not certificate.rounding <= most:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and distances round by {most:.3g} at most")


def _require_metric(model: Any) -> None:
    """Refuse another metric than the parameters name."""
    params = dict(model.metric_params or {})
    name = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}.get(model.metric, model.metric)
    right: dict[str, Any] = {}
    if name == "minkowski":
        power, weights = float(params.get("p", getattr(model, "p", 2.0))), params.get("w")
        plain = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}.get(power)
        name = plain if plain is not None and weights is None else name
        right = (
            {}
            if name == plain
            else {"p": power}
            if weights is None
            else {"p": power, "w": np.asarray(weights, np.float64)}
        )
    stored = model.effective_metric_params_
    same = model.effective_metric_ == name and stored.keys() == right.keys()
    if not same or not all(np.array_equal(stored[key], right[key]) for key in right):
        refuse(
            model,
            f"its metric is {model.effective_metric_!r:.40} {stored!r:.80}, and {name!r} {right!r:.80} was asked for",
        )


def _require_rows(model: Any, rows: Rows) -> None:
    """Refuse rows that are not those of the model, each with its target and weight, whatever their order."""
    kept = np.asarray(model.rows_, np.float64)
    beside = model.__dict__.get("targets_")
    own = np.zeros((len(kept), 0)) if beside is None else np.asarray(beside, np.float64).reshape(len(kept), -1)
    if rows.classes is not None:  # labels that never occurred have no number among those that did
        used, places = np.unique(beside, return_inverse=True)
        exist = 0 <= used[0] <= used[-1] < len(model.classes_)
        if not exist or not np.array_equal(model.classes_[used], rows.classes):
            refuse(model, "its labels are others")
        own = places.reshape(-1, 1).astype(np.float64)
    weight = model.__dict__.get("weights_")
    mine = np.hstack([kept, own, (np.ones(len(kept)) if weight is None else weight)[:, None]])
    given = np.vstack([np.hstack([block.X, block.y, block.s[:, None]]) for block in rows.blocks()]).astype(np.float64)
    if mine.shape != given.shape:
        refuse(model, f"it keeps {len(mine)} rows of {mine.shape[1] - 1} numbers, and these are {given.shape}")
    mine, given = (table[np.lexsort(table.T[::-1])] + 0.0 for table in (mine, given))
    if not np.array_equal(mine, given):
        refuse(model, "a row, target or weight that it keeps is none of these")


def _points(rows: Array) -> Array:
    """Choose rows from all over the table, and points between them and others."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, QUERIES // 2).astype(int))
    some = rows[chosen]
    return np.vstack([some, 0.75 * some + 0.25 * rows[(chosen * 7 + 3) % len(rows)]])


def _distances(model: Any, rows: Array, query: Array) -> Array:
    """Measure block by block."""
    query = np.asarray(query, EXTENDED)
    cuts = range(0, len(rows), BLOCK_ROWS)
    return np.concatenate([_measured(model, np.asarray(rows[at : at + BLOCK_ROWS], EXTENDED), query) for at in cuts])


def _measured(model: Any, rows: Array, query: Array) -> Array:
    """Measure by definition."""
    name, params = model.effective_metric_, model.effective_metric_params_
    if name in ("cosine", "correlation"):
        if name == "correlation":
            rows, query = rows - rows.mean(axis=1, keepdims=True), query - query.mean()
        lengths, length = np.sqrt(np.sum(rows**2, axis=1)), np.sqrt(np.sum(query**2))
        both = lengths * length
        cosine = np.divide(rows @ query, both, out=np.zeros(len(rows), EXTENDED), where=both > 0)
        return np.asarray(1 - cosine)
    d = np.abs(rows - query)
    if name == "hamming":
        return np.asarray(np.mean(d != 0, axis=1), EXTENDED)
    if name == "chebyshev":
        return np.asarray(d.max(axis=1))
    if name == "manhattan":
        return np.asarray(d.sum(axis=1))
    if name in ("euclidean", "sqeuclidean"):
        squares = np.sum(d**2, axis=1)
        return np.asarray(squares if name == "sqeuclidean" else np.sqrt(squares))
    power = EXTENDED(params["p"])
    if params.get("w") is not None:
        d = d * np.asarray(params["w"], EXTENDED) ** (1 / power)
    top = d.max(axis=1)  # powers of the largest difference may leave any precision
    shares = d / np.where(top > 0, top, 1)[:, None]
    return np.asarray(top * np.sum(shares**power, axis=1) ** (1 / power))


def _neighbours(model: Any, rows: Array, queries: Array, rounding: float) -> float:
    k = min(model.n_neighbors, len(rows))
    told, ids = model.kneighbors(queries, k)
    worst = 0.0
    for query, stated, found in zip(queries, told, ids, strict=True):
        worst = max(worst, _require_nearest(model, rows, query, stated, found, rounding))
    if "targets_" in model.__dict__ and k == model.n_neighbors:
        for method in ("predict", "predict_proba") if "classes_" in model.__dict__ else ("predict",):
            _require_answers(model, method, np.asarray(getattr(model, method)(queries)), told, ids)
    return worst


def _require_nearest(model: Any, rows: Array, query: Array, stated: Array, found: Array, rounding: float) -> float:
    """Refuse neighbours at other distances than stated, or that a row is nearer than; return how far distances are off."""
    true = _distances(model, rows, query)
    slack = 4 * (rounding + 2.0**-50) * (true + (1 if model.effective_metric_ in ("cosine", "correlation") else 0))
    if len(set(found.tolist())) != len(stated) or not np.all(np.abs(true[found] - stated) <= slack[found]):
        refuse(model, "the distances of its neighbours are others")
    left = np.ones(len(rows), bool)
    left[found] = False
    if left.any():
        nearest = np.flatnonzero(left)[np.argmin(true[left])]
        if not true[nearest] + slack[nearest] >= stated[-1]:
            refuse(model, f"row {nearest} is nearer than a neighbour that it names")
        twins = left & np.all(rows == rows[found[-1]], axis=1)
        if twins[: found[-1]].any():
            refuse(model, "of equal rows it does not name the first")
    if np.any(np.diff(stated) < 0) or np.any((np.diff(stated) == 0) & (np.diff(found) < 0)):
        refuse(model, "its neighbours are not in order")
    return float(np.max(np.abs(true[found] - stated)))


def require_neighbours(model: Any, rows: Array, method: str, told: Any) -> None:
    """Refuse answers about rows that are not those of their nearest neighbours; of very many rows, answers about some."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)
    answers, few = np.asarray(told), max(QUERIES, DISTANCES // max(1, np.size(model.rows_)))
    some = np.unique(np.linspace(0, len(rows) - 1, min(few, len(rows))).astype(int))
    queries = rows[some]
    near, ids = model.kneighbors(queries, model.n_neighbors)
    if len(answers) != len(rows):
        refuse(model, f"{method} does not answer about every row")
    for query, stated, found in zip(queries, near, ids, strict=True):
        _require_nearest(model, model.rows_, query, stated, found, 2.0**-20 if rows.dtype == np.float32 else 2.0**-44)
    _require_answers(model, method, answers[some], near, ids)


def _require_answers(model: Any, method: str, answers: Array, told: Array, ids: Array) -> None:
    """Refuse votes or means that are not those of the neighbours."""
    if callable(model.weights):
        v = np.asarray(model.weights(told), EXTENDED)
    elif model.weights == "distance":
        with np.errstate(divide="ignore"):
            v = 1 / told.astype(EXTENDED)
        at_none = np.isinf(v).any(axis=1)
        v[at_none] = np.isinf(v[at_none])
    else:
        v = np.ones(told.shape, EXTENDED)
    v = v / v.sum(axis=1, keepdims=True)
    labels = model.__dict__.get("classes_")
    near = 1e-5 if answers.dtype == np.float32 else 1e-12
    if labels is None:
        y = np.asarray(model.targets_, EXTENDED)[ids]
        size = np.einsum("ij...,ij->i...", np.abs(y), v)
        wrong = ~(np.abs(np.einsum("ij...,ij->i...", y, v) - answers) <= near * size)
    else:
        wrong = _wrong_votes(model, method, answers, v, ids, labels, near)
    if wrong.any():
        refuse(model, "what it predicts is not what its neighbours say")


def _wrong_votes(model: Any, method: str, answers: Array, v: Array, ids: Array, labels: Any, near: float) -> Array:
    shares = np.stack([np.sum(v * (model.targets_[ids] == c), axis=1) for c in range(len(labels))], axis=1)
    if method == "predict_proba":
        return np.asarray(~(np.abs(shares - answers) <= near))
    chosen = answers[:, None] == labels
    best = shares >= shares.max(axis=1, keepdims=True) - near
    return np.asarray(~(chosen & best).any(axis=1))


def _density(model: Any, rows: Array, queries: Array, rounding: float) -> float:
    h, p = model.bandwidth_, rows.shape[1]
    s = np.ones(len(rows)) if model.weights_ is None else model.weights_
    total = float(s.sum())
    rules = {"scott": total ** (-1 / (p + 4)), "silverman": (total * (p + 2) / 4) ** (-1 / (p + 4))}
    asked = rules.get(model.bandwidth, model.bandwidth) if isinstance(model.bandwidth, str) else model.bandwidth
    if not abs(h - asked) <= 1e-12 * asked:
        refuse(model, f"its bandwidth is {h:.12g}, and {asked:.12g} is asked for")
    constant = _log_constant(model, p) + p * math.log(h) + math.log(total)
    worst = 0.0
    for query, stated in zip(queries, model.score_samples(queries), strict=True):
        u = _distances(model, rows, query) / h
        log = _log_sum(model.kernel, u, s)
        if np.isinf(log) and np.isinf(stated):
            continue
        true = log - constant
        slack = 8 * (rounding + 2.0**-50) * (1 + abs(log) + abs(constant) + abs(true))
        if not abs(true - stated) <= slack:
            # a row on the rim of its window may be rounded in or out
            if model.kernel in ("gaussian", "exponential") or not np.any(np.abs(u - 1) < 1e-12):
                refuse(model, f"a log-density is {float(true):.12g}, and it says {float(stated):.12g}")
            continue
        worst = max(worst, float(abs(true - stated)))
    return worst


def _log_sum(kernel: str, u: Array, s: Array) -> Any:
    if kernel in ("gaussian", "exponential"):
        power = -(u**2) / 2 if kernel == "gaussian" else -u
        return power.max() + np.log(np.sum(s * np.exp(power - power.max())))
    inside = u[u < 1]
    windows: dict[str, Any] = {
        "tophat": np.ones_like,
        "epanechnikov": lambda r: 1 - r**2,
        "linear": lambda r: 1 - r,
        "cosine": lambda r: np.sin(np.pi / 2 * (1 - r)),
    }
    with np.errstate(divide="ignore"):
        return np.log(np.sum(s[u < 1] * windows[kernel](inside)))


def _log_constant(model: Any, p: int) -> float:
    """Integrate a window over all space: shells of the unit ball, whose volume is built up from one dimension."""
    name, params = model.effective_metric_, model.effective_metric_params_
    power = {"manhattan": 1.0, "euclidean": 2.0, "chebyshev": math.inf}.get(name, params.get("p", 2.0))
    ball = p * math.log(2)
    if math.isfinite(power):
        for j in range(1, p):  # the next dimension adds slices whose radius is (1 - t^power)^(1/power)
            ball += math.lgamma(1 + 1 / power) + math.lgamma(1 + j / power) - math.lgamma(1 + (j + 1) / power)
    if model.kernel in ("gaussian", "exponential"):
        shells = math.log(2) * (p / 2) + math.lgamma(1 + p / 2) if model.kernel == "gaussian" else math.lgamma(p + 1)
        return ball + shells
    nodes, weights = np.polynomial.legendre.leggauss(p + 40)
    r = (nodes + 1) / 2
    window = np.exp([_log_sum(model.kernel, np.array([one]), np.ones(1)) for one in r])
    return ball + math.log(p * float(weights @ (window * r ** (p - 1))) / 2)
