"""Gaps, checked: what fills them is computed again from what is there, and the columns that have any are counted again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from qed.certificates import ExactCertificate
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.verify._learnt import DOUBLE, EXTENDED, Learnt, key
from qed.verify._names import called

Array = np.ndarray[Any, Any]


def _entries(fit: Learnt) -> tuple[list[Array], list[int], bool]:
    """Return the entries of each column, how many zeros are not stored, and whether all are numbers."""
    if is_sparse(fit.X):
        table = fit.X.tocsc(copy=True)
        table.sum_duplicates()
        parts = [table.data[table.indptr[j] : table.indptr[j + 1]] for j in range(fit.p)]
        return parts, [fit.n - len(one) for one in parts], True
    columns = [np.asarray(column.dense) for column in fit.table.columns]
    if all(column.dtype.kind in "fiub" for column in columns):
        return columns, [0] * len(columns), True
    if fit.table.whole is not None and not any(isinstance(one, str | bytes) for column in columns for one in column):
        try:
            return [column.astype(np.float64) for column in columns], [0] * len(columns), True
        except (TypeError, ValueError):
            pass
    return [column.astype(object) for column in columns], [0] * len(columns), False


def _gaps(column: Array, missing: Any, *, numbers: bool) -> Array:
    """Return where a column has what stands for a gap."""
    is_nan = key(missing) == ("NaN",)
    if numbers and (is_nan or missing is None):
        return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)
    if is_nan:
        found = [key(one) == ("NaN",) or type(one).__name__ == "NAType" for one in column.tolist()]
    elif missing is None or type(missing).__name__ == "NAType":
        found = [one is missing for one in column.tolist()]
    else:
        found = [bool(one == missing) for one in column.tolist()]
    return np.array(found, dtype=bool)


def check_marks(fit: Learnt) -> float:
    """Check which columns have gaps."""
    fit.require_claim(f"gaps of {fit.p} columns", fit.n, 0.0)
    columns, _, numbers = _entries(fit)
    model = fit.model
    marked = [
        j
        for j, column in enumerate(columns)
        if model.features == "all" or _gaps(column, model.missing_values, numbers=numbers).any()
    ]
    stored = model.features_
    good = (
        isinstance(stored, np.ndarray) and stored.dtype.kind in "iu" and stored.ndim == 1 and stored.tolist() == marked
    )
    fit.require(good, f"marks the columns {stored!s:.60}, and gaps are in {marked!s:.60}")
    return 0.0


def check_fillings(fit: Learnt) -> float:
    """Check what gaps become, and the model that marks them."""
    model, p = fit.model, fit.p
    is_rounded = callable(model.strategy) or model.strategy in ("mean", "median")
    what = model.strategy if isinstance(model.strategy, str) else "function"
    fit.require_claim(f"{what} of {p} columns", fit.n, (fit.n + 16) * DOUBLE if is_rounded else 0.0)
    if is_source(fit.X):
        return _check_source(fit)
    columns, zeros, numbers = _entries(fit)
    stored, off = model.statistics_, 0.0
    kinds = "fiu" if numbers else "O"
    good = isinstance(stored, np.ndarray) and stored.shape == (p,) and stored.dtype.kind in kinds
    fit.require(good, "stores no filling for each column")
    for j, (column, left_out) in enumerate(zip(columns, zeros, strict=True)):
        there = column[~_gaps(column, model.missing_values, numbers=numbers)]
        if left_out:
            there = np.concatenate([there, np.zeros(left_out, there.dtype)])
        true = _filling(model, there, numbers=numbers)
        if isinstance(true, str | bytes | None) or not numbers:
            same = key(stored[j]) == key(true) and isinstance(stored[j], str) == isinstance(true, str)
            fit.require(same, f"fills {called(model, j)} with {stored[j]!r:.40}, and the rows give {true!r:.40}")
            continue
        size = float(np.max(np.abs(there.astype(np.float64)), initial=0))
        slack = (fit.certificate.rounding + 2 * DOUBLE) * size if is_rounded else 0.0
        off = max(off, fit.compare("the filling", np.asarray(stored[j], EXTENDED), true, slack, j))
    if not model.add_indicator:
        fit.nothing("indicator_")
    else:
        _check_indicator(fit)
    return off


def _check_source(fit: Learnt) -> float:
    """Check what gaps of columns become that come in chunks."""
    model = fit.model
    fit.require(not callable(model.strategy) and not model.add_indicator, "has a strategy that no source allows")
    fit.nothing("indicator_")
    empty = EXTENDED(0 if model.keep_empty_features else np.nan)
    if model.strategy == "constant":
        true = [EXTENDED(0 if model.fill_value is None else model.fill_value)] * fit.p
    elif model.strategy == "most_frequent":
        true = [_most_frequent(fit.times(j), empty) for j in range(fit.p)]
    elif model.strategy == "median":
        true = [own[0] if n else empty for n, _, own in fit.quantiles([EXTENDED(0.5)])]
    else:
        true = [one.mean if one.entries else empty for one in fit.summaries]
    size = np.array([one.size if one.entries else EXTENDED(0) for one in fit.summaries])
    is_rounded = model.strategy in ("mean", "median")
    slack = (fit.certificate.rounding + 2 * DOUBLE) * size if is_rounded else np.zeros(fit.p)
    return fit.compare("the filling", fit.numbers("statistics_", (fit.p,)), np.array(true, EXTENDED), slack)


def _most_frequent(times: Counter[Any], empty: Any) -> Any:
    """Return the least of the most frequent numbers."""
    known = {one: count for one, count in times.items() if one != ("NaN",)}
    return min(one for one, count in known.items() if count == max(known.values())) if known else empty


def _filling(model: Any, there: Array, *, numbers: bool) -> Any:
    """Return what gaps of a column become, from what is there."""
    default = 0 if numbers else "missing_value"
    if model.strategy == "constant":
        return default if model.fill_value is None else model.fill_value
    if not len(there):
        return default if model.keep_empty_features else np.nan
    if callable(model.strategy):
        return model.strategy(there)
    if model.strategy == "most_frequent":
        times = Counter(key(one) for one in there.tolist())
        most = max(times.values())
        often = [one for one, count in times.items() if count == most]
        plain = [one for one in often if one is not None and one != ("NaN",)]
        return min(plain) if plain else None if None in often else np.nan  # of equally frequent ones the least
    wide = np.sort(there.astype(np.float64)).astype(EXTENDED)
    if model.strategy == "mean":
        return wide.sum() / len(wide)
    half = len(wide) // 2
    return wide[half] if len(wide) % 2 else (wide[half - 1] + wide[half]) / 2


def check_donors(fit: Learnt) -> float:
    """Check that the rows that gaps are filled from are those of the fit, entry by entry, and the model that marks gaps."""
    model = fit.model
    fit.require_claim(f"rows of {fit.p} columns", fit.n, 0.0)
    stored = fit.numbers("rows_", (fit.n, fit.p))
    fit.require(model.rows_.dtype == (np.float32 if fit.is_single else np.float64), "stores rows of another type")
    columns, _, numbers = _entries(fit)
    for j, column in enumerate(columns):
        true = column.astype(np.float64).astype(EXTENDED)
        true[_gaps(column, model.missing_values, numbers=numbers)] = np.nan
        fit.compare("the entry", stored[:, j], true, 0.0, j)
    if not model.add_indicator:
        fit.nothing("indicator_")
    else:
        _check_indicator(fit)
    return 0.0


def _check_indicator(fit: Learnt) -> None:
    marks, model = fit.model.indicator_, fit.model
    fit.require(type(marks).__name__ == "MissingIndicator", f"holds {marks!r:.40} where a MissingIndicator belongs")
    same = type(marks.missing_values) is type(model.missing_values) and marks.error_on_new is False
    same = same and key(marks.missing_values) == key(model.missing_values)
    same = same and marks.features == "missing-only" and marks.sparse == "auto"
    fit.require(same, "marks gaps with other parameters than its own")
    fit.require(type(marks.certificate_) is ExactCertificate, "holds marks without their certificate")
    inner = Learnt(marks, marks.certificate_, fit.X)
    inner.require_columns()
    check_marks(inner)
