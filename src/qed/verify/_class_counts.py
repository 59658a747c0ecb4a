"""Naive Bayes models of counts, checked: rows counted again class by class, shares and likelihood by definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._validation import is_source
from qed.verify._by_class import MAX_BELIEVED_ROUNDING, Estimate, require_near
from qed.verify._declared import declares
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read_data, require_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.certificates import LikelihoodCertificate


Array = np.ndarray[Any, Any]
BLOCK_ROWS = 4096


def check_counts(model: Any, certificate: LikelihoodCertificate, X: Any, y: Any, sample_weight: Any) -> Estimate:
    """Check counts, priors, smoothed shares and the likelihood."""
    parts = list(_parts(model, X, y, sample_weight))
    rows = sum(int(np.count_nonzero(s)) for _, _, s in parts)
    if rows != certificate.rows:
        refuse(model, f"it learnt from {certificate.rows} rows of positive weight, and these are {rows}")
    k = len(model.classes_)
    weight = np.array([sum(s[code == c].sum() for _, code, s in parts) for c in range(k)], EXTENDED)
    own = rows * 2.0**-53
    near = min(certificate.rounding, MAX_BELIEVED_ROUNDING) + own + 2.0**-50
    require_near(model, "the weight of a class", model.class_count_, weight, near * weight)
    prior = _require_prior(model, weight, near)
    counts = _categories if declares(model, "category_count_") else _sums
    likelihood, off = counts(model, parts, weight, prior, near)
    return Estimate(likelihood, off, own)


def _parts(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Array, Array]]:
    """Go through the rows: some of them as they came, the number of the class of each, and their weights."""
    known = model.classes_.tolist()
    if is_source(X):
        require_columns(model, X.schema.n_features, X.schema.names)
        tables = [(chunk.X, chunk.y[:, 0], chunk.s) for chunk in X.chunks()]
    else:
        data = read_data(model, X, y, sample_weight)
        tables = [(data.X, np.asarray(data.classes)[data.y], data.weight)]
    for table, labels, s in tables:
        strange = sorted(set(labels.tolist()) - set(known))
        if strange:
            refuse(model, f"the labels {strange[:5]!r} are not among its classes")
        code = np.array([known.index(label) for label in labels.tolist()], dtype=np.intp)
        yield table, code, np.ones(len(code), EXTENDED) if s is None else s.astype(EXTENDED)


def _require_prior(model: Any, weight: Array, near: float) -> Array:
    k = len(weight)
    true = weight / weight.sum() if model.fit_prior else np.full(k, EXTENDED(1) / k)
    if model.class_prior is not None:
        true = np.asarray(model.class_prior, dtype=EXTENDED)
    with np.errstate(divide="ignore"):
        logs = np.log(true)
    require_near(
        model, "the logarithm of a prior", model.class_log_prior_, logs, 4 * near * (1 + np.abs(_finite(logs)))
    )
    return np.asarray(logs)


def _finite(numbers: Array) -> Array:
    return np.where(np.isfinite(numbers), numbers, 0)


def _presence(model: Any, table: Any) -> Any:
    """Return counts as the model takes them: of properties whether they are there."""
    if "binarize" not in model.get_params(deep=False) or model.binarize is None:
        return table
    if isinstance(table, np.ndarray):
        return (table > model.binarize).astype(np.float64)
    table = table.copy()
    table.data = (table.data > model.binarize).astype(np.float64)
    return table


def _sums(model: Any, parts: list[Any], weight: Array, prior: Array, near: float) -> tuple[float, float]:
    """Check sums of columns and what follows from them."""
    k, p = len(weight), model.n_features_in_
    total = np.zeros((k, p), EXTENDED)
    for table, code, s in parts:
        present = _presence(model, table)
        for c in range(k):
            mine = np.flatnonzero((code == c) & (s > 0))
            if isinstance(present, np.ndarray):
                for first in range(0, len(mine), BLOCK_ROWS):
                    some = mine[first : first + BLOCK_ROWS]
                    total[c] += s[some] @ present[some]
            else:
                total[c] += present.tocsr()[mine].T @ s[mine].astype(np.float64)
    off = require_near(model, "the count of a column", model.feature_count_, total, 4 * near * np.abs(total))
    if not np.array_equal(model.moments_.total, model.feature_count_):
        refuse(model, "its statistic has other counts than it stores")
    alpha = np.asarray(model.alpha, dtype=EXTENDED)
    alpha = alpha if model.force_alpha else np.maximum(alpha, EXTENDED(1e-10))
    if type(model).__name__ == "PoissonNB":
        return _rates(model, total, alpha, weight, prior, near), off
    if declares(model, "feature_all_"):
        return _complements(model, total, alpha, weight, near), off
    with np.errstate(divide="ignore"):
        if declares(model, "feature_log_absence_"):
            both = weight[:, np.newaxis] + 2 * alpha
            both = np.where(both > 0, both, 1)
            logs = np.log((total + alpha) / both)
            rest = np.maximum(weight[:, np.newaxis] - total, 0) + alpha
            absent = np.log(rest) - np.log(both)
            # an absence is what a presence leaves of one: the rounding of the presence, as a share of that
            growth = 1 + (total + alpha) / np.where(rest > 0, rest, np.inf)
            _require_logs(
                model, "a logarithm of an absence", model.feature_log_absence_, absent, near * growth, weight > 0
            )
        else:
            smooth = total + alpha
            whole = smooth.sum(axis=1, keepdims=True)
            logs = np.where(whole > 0, np.log(smooth / np.where(whole > 0, whole, 1)), -np.log(EXTENDED(p)))
            absent = None
    _require_logs(model, "a logarithm of a share", model.feature_log_prob_, logs, near, weight > 0)
    found = (weight * _finite(prior)).sum()
    if (np.isneginf(prior) & (weight > 0)).any():
        return -np.inf, off
    with np.errstate(invalid="ignore"):
        found = found + np.where(total > 0, total * logs, 0).sum()
        if absent is not None:
            missing = weight[:, np.newaxis] - total
            found = found + np.where(missing > near * weight[:, np.newaxis], missing * absent, 0).sum()
    return float(found / weight.sum()), off


def _rates(model: Any, total: Array, alpha: Array, weight: Array, prior: Array, near: float) -> float:
    """Check rates of events: means of the classes, rows at the mean of all rows and of one row of ones among them."""
    middle = (total.sum(axis=0) + 1) / (weight.sum() + 1)
    whole = weight[:, np.newaxis] + alpha
    rates = np.where(whole > 0, (total + alpha * middle) / np.where(whole > 0, whole, 1), middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rates)
        events = np.where(total > 0, total * logs, 0) - weight[:, np.newaxis] * rates
    _require_logs(model, "a logarithm of a rate", model.feature_log_prob_, logs, near, np.ones(len(weight), bool))
    if (np.isneginf(prior) & (weight > 0)).any():
        return -np.inf
    return float(((weight * _finite(prior)).sum() + events.sum()) / weight.sum())


def _require_logs(model: Any, what: str, stored: Any, true: Array, near: Any, seen: Array) -> None:
    """Compare logarithms of the classes that have rows, those of probabilities of zero included."""
    numbers = np.asarray(stored)
    if numbers.shape != true.shape:
        refuse(model, f"{what} has the shape {numbers.shape}, and {true.shape} was expected")
    near = near[seen] if np.ndim(near) else near
    slack = 16 * near * (1 + np.abs(_finite(true[seen])))
    require_near(model, what, numbers[seen], true[seen], slack)


def _complements(model: Any, total: Array, alpha: Array, weight: Array, near: float) -> float:
    """Check weights from the rows outside of each class, summed over the other classes."""
    every = total.sum(axis=0)
    require_near(model, "the count of a column in all classes", model.feature_all_, every, 4 * near * every)
    k = len(weight)
    outside = np.stack([np.delete(total, c, axis=0).sum(axis=0) for c in range(k)])
    smooth = outside + alpha
    logs = np.log(smooth / smooth.sum(axis=1, keepdims=True))
    # what is outside is found by taking away, so its rounding is that of the whole
    rounding_error = 16 * near * (1 + np.abs(logs) + every / smooth)
    true = logs / logs.sum(axis=1, keepdims=True) if model.norm else -logs
    if model.norm:
        rounding_error = rounding_error / np.abs(logs.sum(axis=1, keepdims=True)) * (1 + np.abs(true))
    require_near(model, "the weight of a column", model.feature_log_prob_, true, rounding_error)
    return float((outside * logs).sum() / weight.sum())


def _categories(model: Any, parts: list[Any], weight: Array, prior: Array, near: float) -> tuple[float, float]:
    """Check how often each value of each column occurs in each class."""
    k, p = len(weight), model.n_features_in_
    used = [(table[s > 0].astype(np.int64), code[s > 0], s[s > 0]) for table, code, s in parts]
    least = np.broadcast_to(np.asarray(1 if model.min_categories is None else model.min_categories), (p,))
    largest = np.max([table.max(axis=0, initial=0) for table, _, _ in used], axis=0)
    sizes = np.maximum(largest + 1, least)
    if not np.array_equal(sizes, model.n_categories_):
        refuse(model, "its columns have other numbers of values")
    alpha = EXTENDED(model.alpha if model.force_alpha else max(model.alpha, 1e-10))
    found, off = (weight * _finite(prior)).sum(), 0.0
    for j in range(p):
        counts = np.zeros((k, int(sizes[j])), EXTENDED)
        for table, code, s in used:
            for value in np.unique(table[:, j]).tolist():
                for c in range(k):
                    counts[c, value] += s[(table[:, j] == value) & (code == c)].sum()
        off = max(off, require_near(model, "the count of a value", model.category_count_[j], counts, 4 * near * counts))
        whole = weight[:, np.newaxis] + alpha * counts.shape[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log((counts + alpha) / whole)
            found = found + np.where(counts > 0, counts * logs, 0).sum()
        _require_logs(model, "a logarithm of a share", model.feature_log_prob_[j], logs, near, weight > 0)
    if (np.isneginf(prior) & (weight > 0)).any():
        return -np.inf, off
    return float(found / weight.sum()), off
