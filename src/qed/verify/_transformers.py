"""Transformers, checked: what they learnt is computed again from the rows, by definition, and compared.

A transformer's certificate says that its numbers are those of the rows. Here they are summed in extended precision, sorted or
collected into sets, and compared with what the model stores, up to the rounding that the certificate states. Of a model of
models every part is checked on what reached it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.core._mixed import read as read_columns
from qed.core._tables import is_sparse
from qed.verify._levels import check_bins, check_centres, check_knots, check_quantiles
from qed.verify._names import called
from qed.verify._steps import check_steps
from qed.verify._verdict import Verdict
from qed.verify._words import check_encodings, check_rare, check_vocabulary, check_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._certificates import ExactCertificate

__all__ = ["check", "check_scaler"]

EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]


def check(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Compute again what the model learnt; raise CertificateError when it is something else."""
    X = X if hasattr(X, "shape") else list(X)
    _require_rows(model, certificate, X)
    off = 0.0
    if model.__dict__.get("encodings_") is not None:
        off = check_encodings(model, X, y, certificate.rounding)
    if model.__dict__.get("order_") is not None and model.__dict__.get("support_") is not None:
        off = check_steps(model, X, y, sample_weight)
    for attribute, test in _CHECKS.items():
        if model.__dict__.get(attribute) is not None:
            off = max(off, test(model, X, sample_weight, certificate.rounding))
    return Verdict(certificate.statement, 0.0, off, certificate.rounding, certificate.rounding, measure="")


def check_scaler(scaler: Any, X: Any, sample_weight: Any, rounding: float) -> float:
    """Check means and deviations of a scaler whose rows were computed with a stated relative rounding."""
    return _mean_and_variance(scaler, X, sample_weight, scaler.certificate_.rounding + rounding)


def _require_rows(model: Any, certificate: ExactCertificate, X: Any) -> None:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if certificate.rows not in (0, n_rows) and certificate.rows >= n_rows:
        msg = (
            f"These are not the data of the certificate: {type(model).__name__} learnt from {certificate.rows} rows, these are"
            f" {n_rows}. Pass the rows of the fit."
        )
        raise CertificateError(msg)


def _columns(X: Any) -> list[Array]:
    """Return the entries of each column that are there, in extended precision."""
    if is_sparse(X):
        X = X.toarray()
    table = read_columns(X, "qed.verify")
    found = []
    for column in table.columns:
        values = np.asarray(column.dense, dtype=EXTENDED)
        found.append(values)
    return found


def _refuse(model: Any, what: str, column: int, stored: Any, true: Any) -> None:
    msg = (
        f"{type(model).__name__} stores {what} {stored!s:.40} for {called(model, column)}, and the rows give {true!s:.40}. The"
        " model was changed, or the data are others."
    )
    raise CertificateError(msg)


def _compare(model: Any, what: str, stored: Any, true: list[Any], slack: list[Any]) -> float:
    """Compare numbers column by column; NaN agrees with NaN."""
    numbers = np.atleast_1d(np.asarray(stored, dtype=EXTENDED))
    if numbers.shape != (len(true),):
        _refuse(model, what, -1, numbers.shape, (len(true),))
    largest = 0.0
    for j, (one, other, bound) in enumerate(zip(numbers, true, slack, strict=True)):
        if np.isnan(one) and np.isnan(other):
            continue
        if not abs(one - other) <= bound:
            _refuse(model, what, j, float(one), float(other))
        largest = max(largest, float(abs(one - other)))
    return largest


def _moments(X: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return mean, variance and mean square of each column, weighted, without gaps."""
    columns = _columns(X)
    s = np.ones(len(columns[0]), EXTENDED) if sample_weight is None else np.asarray(sample_weight, dtype=EXTENDED)
    found = []
    for values in columns:
        here = ~np.isnan(values) & (s > 0)
        x, w = values[here], s[here]
        if not len(x):
            found.append((np.nan, np.nan, 0.0))
            continue
        total = w.sum()
        mean = x[0] + (w @ (x - x[0])) / total
        found.append((mean, (w @ (x - mean) ** 2) / total, (w @ x**2) / total))
    return found


def _mean_and_variance(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:
    moments = _moments(X, sample_weight)
    slack = rounding + 4 * 2.0**-53
    sizes = [np.sqrt(square) for _, _, square in moments]
    off = _compare(model, "the mean", model.mean_, [one[0] for one in moments], [slack * size for size in sizes])
    if model.__dict__.get("var_") is not None:
        bounds = [4 * slack * var + (4 * slack * size) ** 2 for (_, var, _), size in zip(moments, sizes, strict=True)]
        off = max(off, _compare(model, "the variance", model.var_, [one[1] for one in moments], bounds))
        steady = [var <= 16 * slack * slack * square for _, var, square in moments]
        roots = [
            1.0 if flat or not var > 0 else np.sqrt(var) for flat, (_, var, _) in zip(steady, moments, strict=True)
        ]
        near = [
            size * 8 * slack + 1e-300 if root != 1.0 else 1e-12 + size for root, size in zip(roots, sizes, strict=True)
        ]
        wide = [
            max(near_one, 4 * slack * float(root)) if var == var else np.inf  # noqa: PLR0124  no entry at all
            for near_one, root, (_, var, _) in zip(near, roots, moments, strict=True)
        ]
        _compare(model, "the scale", np.where(np.isnan(model.scale_), 1.0, model.scale_), roots, wide)
    return off


def _least_and_largest(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    low = [np.nanmin(values) if not np.isnan(values).all() else np.nan for values in _columns(X)]
    high = [np.nanmax(values) if not np.isnan(values).all() else np.nan for values in _columns(X)]
    exact = [0.0] * len(low)
    off = _compare(model, "the least entry", model.data_min_, low, exact)
    off = max(off, _compare(model, "the largest entry", model.data_max_, high, exact))
    a, b = (EXTENDED(end) for end in model.feature_range)
    scale = [(b - a) / (top - bottom if top - bottom > 2.3e-15 else 1) for bottom, top in zip(low, high, strict=True)]
    near = [8 * 2.0**-53 * abs(one) for one in scale]
    return max(off, _compare(model, "the scale", model.scale_, scale, near))


def _largest_size(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    sizes = [np.nanmax(np.abs(v)) if not np.isnan(v).all() else np.nan for v in _columns(X)]
    off = _compare(model, "the largest size", model.max_abs_, sizes, [0.0] * len(sizes))
    scale = [one if one > 2.3e-15 else 1.0 for one in sizes]
    return max(off, _compare(model, "the scale", model.scale_, scale, [0.0] * len(sizes)))


def _quantile(sorted_values: Array, share: float) -> Any:
    """Return a quantile by linear interpolation, from its definition."""
    place = share * (len(sorted_values) - 1)
    below = int(np.floor(place))
    above = min(below + 1, len(sorted_values) - 1)
    return sorted_values[below] + (place - below) * (sorted_values[above] - sorted_values[below])


def _quantiles(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    columns = [np.sort(values[~np.isnan(values)]) for values in _columns(X)]
    size = [1e-12 * float(np.max(np.abs(c))) if len(c) else 0.0 for c in columns]
    off = 0.0
    if model.center_ is not None:
        middle = [_quantile(c, 0.5) if len(c) else np.nan for c in columns]
        off = _compare(model, "the median", model.center_, middle, size)
    if model.scale_ is not None and not model.unit_variance:
        a, b = (share / 100 for share in model.quantile_range)
        width = [_quantile(c, b) - _quantile(c, a) if len(c) else np.nan for c in columns]
        width = [1.0 if one < 2.3e-15 else one for one in width]
        off = max(off, _compare(model, "the quantile range", model.scale_, width, size))
    return off


def _key(value: Any) -> Any:
    return "gap: NaN" if isinstance(value, float | np.floating) and np.isnan(value) else value


def _categories(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    given = model.get_params(deep=False)
    chosen = given.get("categories", given.get("levels", "auto"))
    if not isinstance(chosen, str) or given.get("separator") is not None:
        return 0.0  # listed by the user, not learnt
    for j, column in enumerate(read_columns(X, "qed.verify").columns):
        true, stored = {_key(one) for one in column.dense.tolist()}, model.categories_[j].tolist()
        if true != {_key(one) for one in stored} or len(stored) != len(true):
            lost = sorted(map(str, true ^ {_key(one) for one in stored}))[:5]
            _refuse(model, "categories that differ in", j, lost, "others")
    return 0.0


def _labels(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    if (
        model.__dict__.get("encodings_") is not None  # labels of y, not of X
        or model.__dict__.get("y_type_") == "multilabel-indicator"
        or model.get_params(deep=False).get("classes") is not None
    ):
        return 0.0
    rows = X.tolist() if hasattr(X, "tolist") else list(X)
    true = (
        {one for row in rows for one in row}
        if type(model).__name__.startswith("Multi")
        else {_key(one) for one in rows}
    )
    if true != {_key(one) for one in model.classes_.tolist()}:
        _refuse(model, "labels", 0, model.classes_, sorted(map(str, true)))
    return 0.0


def _filling(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:  # noqa: ARG001
    if model.strategy == "most_frequent":
        return _most_frequent(model, X)
    if model.strategy not in ("mean", "median") or model.missing_values == model.missing_values:
        return 0.0  # given by the user, not learnt
    columns = [values[~np.isnan(values)] for values in _columns(X)]
    middle = np.mean if model.strategy == "mean" else np.median
    empty = 0.0 if model.keep_empty_features else np.nan
    true = [middle(one) if len(one) else empty for one in columns]
    slack = [(rounding + 2.0**-50) * (float(np.sqrt(np.mean(one**2))) if len(one) else 0.0) for one in columns]
    return _compare(model, "the filling", model.statistics_.astype(np.float64), true, slack)


def _most_frequent(model: Any, X: Any) -> float:
    gap = _key(model.missing_values)
    table = X.toarray() if is_sparse(X) else X
    for j, column in enumerate(read_columns(table, "qed.verify").columns):
        entries = [_key(one) for one in column.dense.tolist()]
        times = Counter(one for one in entries if one not in (gap, "gap: NaN", None))
        if not times:
            continue
        most = max(times.values())
        true = min(value for value, often in times.items() if often == most)  # of equally frequent ones the least
        if model.statistics_[j] != true:
            _refuse(model, "the filling", j, model.statistics_[j], true)
    return 0.0


def _statistics_or_filling(model: Any, X: Any, sample_weight: Any, rounding: float) -> float:
    if "strategy" in model.get_params(deep=False):
        return _filling(model, X, sample_weight, rounding)
    return 0.0


# What a model stores says what it learnt, whatever its name is.
_CHECKS: dict[str, Callable[[Any, Any, Any, float], float]] = {
    "mean_": _mean_and_variance,
    "data_min_": _least_and_largest,
    "max_abs_": _largest_size,
    "center_": _quantiles,
    "categories_": _categories,
    "classes_": _labels,
    "statistics_": _statistics_or_filling,
    "rare_": lambda model, X, *_: check_rare(model, X),
    "bin_edges_": lambda model, X, s, _: check_bins(model, X, s),
    "quantiles_": lambda model, X, s, _: check_quantiles(model, X, s),
    "knots_": lambda model, X, s, _: check_knots(model, X, s),
    "centers_": lambda model, X, s, _: check_centres(model, X, s),
    "vocabulary_": lambda model, X, *_: check_vocabulary(model, X),
    "idf_": lambda model, X, *_: check_weights(model, X),
}
