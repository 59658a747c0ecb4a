"""Edges, knots and quantiles, checked: placed again from the sorted rows, by definition, and compared.

What was learnt from rows that were drawn is held to what a draw can promise: the empirical distribution of m drawn rows is within
``sqrt(log(2 / delta) / (2 m))`` of that of all rows (Dvoretzky, Kiefer, Wolfowitz, with Massart's constant), delta being 1e-9.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import CertificateError
from qed.core._mixed import read as read_columns
from qed.core._tables import is_sparse
from qed.verify._names import called

__all__ = ["check_bins", "check_centres", "check_knots", "check_quantiles"]

EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]
LINEAR = "linear"


class _Column:
    """The entries of a column that count, sorted, with the weight up to each."""

    def __init__(self, values: Array, s: Array | None) -> None:
        x = np.asarray(values, dtype=EXTENDED)
        here = ~np.isnan(x) if s is None else ~np.isnan(x) & (s > 0)
        order = np.argsort(x[here], kind="stable")
        self.x = x[here][order]
        self.weights = np.ones(len(self.x), EXTENDED) if s is None else s[here][order]
        self.reached = np.cumsum(self.weights)

    def quantile(self, share: float, method: str) -> Any:
        """Return a quantile by its definition: linear between rows, or the inverse of the distribution function."""
        n = len(self.x)
        if method == LINEAR:
            place = EXTENDED(share) * (n - 1)
            below = int(np.floor(place))
            return self.x[below] + (place - below) * (self.x[min(below + 1, n - 1)] - self.x[below])
        wanted = share * self.reached[-1]
        slack = 1e-12 * self.reached[-1]
        below = min(int(np.count_nonzero(self.reached < wanted - slack)), n - 1)
        if method == "inverted_cdf":
            return self.x[below]
        above = min(int(np.count_nonzero(self.reached <= wanted + slack)), n - 1)
        return (self.x[below] + self.x[0 if wanted <= slack else above]) / 2

    def ranks(self, value: Any) -> tuple[float, float]:
        """Return the shares of the weight below a value, and up to it."""
        whole = self.reached[-1]
        return float(self.weights[self.x < value].sum() / whole), float(self.weights[self.x <= value].sum() / whole)


def _read(X: Any, sample_weight: Any) -> list[_Column]:
    s = None if sample_weight is None else np.asarray(sample_weight, dtype=EXTENDED)
    table = read_columns(X.toarray() if is_sparse(X) else X, "qed.verify")
    return [_Column(column.dense, s) for column in table.columns]


def _refuse(model: Any, what: str, j: int, stored: Any, true: Any) -> None:
    raise CertificateError(
        f"{type(model).__name__} stores {what} {stored!s:.60} for {called(model, j)}, and the rows give {true!s:.60}. The model was"
        " changed, or the data are others."
    )


def _compare(model: Any, what: str, j: int, stored: Any, true: Any, size: float) -> float:
    stored, true = np.asarray(stored, dtype=EXTENDED), np.asarray(true, dtype=EXTENDED)
    if stored.shape != true.shape or not (np.abs(stored - true) <= size).all():
        _refuse(model, what, j, np.asarray(stored, dtype=float), np.asarray(true, dtype=float))
    return float(np.max(np.abs(stored - true), initial=0))


def _size(column: _Column) -> float:
    """Return the rounding that placing among these numbers may cost."""
    return 64 * 2.0**-53 * float(np.max(np.abs(column.x), initial=0)) if len(column.x) else 0.0


def _of_a_draw(drawn: int) -> float:
    """Return how far shares of the rows that were drawn may be from those of all rows."""
    return float(np.sqrt(np.log(2e9) / (2 * drawn))) + 1.0 / drawn


def _require_ranks(model: Any, what: str, j: int, column: _Column, levels: Any, stored: Any, off: float) -> float:
    """Hold quantiles to shares of the rows up to them, to within ``off``."""
    if (np.diff(stored) < 0).any():
        _refuse(model, what, j, stored, "numbers that never fall")
    for level, value in zip(levels, stored, strict=True):
        below, upto = column.ranks(value)
        if not below - off <= level <= upto + off:
            _refuse(model, f"{what}: the quantile {level:.4g} is", j, value, f"a share of {upto:.4g} up to it")
    return off


def check_bins(model: Any, X: Any, sample_weight: Any) -> float:
    """Check the edges of bins."""
    columns = _read(X, sample_weight)
    if len(model.bin_edges_) != len(columns):
        _refuse(model, "edges of", -1, len(model.bin_edges_), len(columns))
    given, off = np.broadcast_to(np.asarray(model.n_bins), len(columns)), 0.0
    drawn = model.subsample is not None and (X.shape[0] if hasattr(X, "shape") else len(X)) > model.subsample
    for j, (column, stored) in enumerate(zip(columns, model.bin_edges_, strict=True)):
        if len(stored) != model.n_bins_[j] + 1:
            _refuse(model, "a number of bins", j, model.n_bins_[j], len(stored) - 1)
        if not (np.diff(stored) > 0).all():
            _refuse(model, "edges", j, stored, "edges that rise")
        if column.x[0] == column.x[-1]:
            if not np.array_equal(stored, [-np.inf, np.inf]):
                _refuse(model, "edges", j, stored, [-np.inf, np.inf])
            continue
        off = max(off, _bins_of(model, j, column, np.asarray(stored), int(given[j]), drawn=drawn))
    return off


def _bins_of(model: Any, j: int, column: _Column, stored: Array, n_bins: int, *, drawn: bool) -> float:
    ends = (stored[0], stored[-1]) if drawn else (column.x[0], column.x[-1])
    if drawn and model.strategy != "quantile":
        _require_ranks(model, "outer edges", j, column, [0.0, 1.0], np.array(ends), _of_a_draw(model.subsample))
    if model.strategy == "uniform":
        return _compare(model, "edges", j, stored, np.linspace(*ends, n_bins + 1), _size(column))
    if model.strategy == "kmeans":
        return _centres_of(model, j, column, stored, ends, drawn=drawn)
    levels = np.linspace(0, 1, n_bins + 1)
    method = model.quantile_method
    if drawn or (method not in (LINEAR, "inverted_cdf", "averaged_inverted_cdf")):
        if len(stored) != n_bins + 1:
            return 0.0  # narrow bins were joined: which, only the drawn rows tell
        off = _of_a_draw(model.subsample) if drawn else 1.0 / len(column.x)
        return _require_ranks(model, "edges", j, column, levels, stored, off)
    true = np.array([column.quantile(level, method) for level in levels])
    true = true[np.ediff1d(true, to_begin=np.inf) > 1e-8]
    return _compare(model, "edges", j, stored, true, _size(column))


def _centres_of(model: Any, j: int, column: _Column, stored: Array, ends: Any, *, drawn: bool) -> float:
    """Check that edges lie halfway between the means of the bins beside them, as far as Lloyd's iteration and a draw go."""
    _compare(model, "outer edges", j, stored[[0, -1]], ends, _size(column))
    spread = float(np.sqrt(np.mean((column.x - column.x.mean()) ** 2)))
    places = np.searchsorted(stored[1:-1], column.x, side="right")
    mass = np.bincount(places, column.weights.astype(float), len(stored) - 1)
    mean = np.bincount(places, (column.weights * column.x).astype(float), len(stored) - 1) / np.where(mass > 0, mass, 1)
    beside = (mass[1:] > 0) & (mass[:-1] > 0)  # a bin without rows keeps a centre that nothing tells
    halves = (mean[1:] + mean[:-1]) / 2
    allowed = (1e-2 + (3 * np.sqrt(len(stored) / model.subsample) if drawn else 0.0)) * spread
    return _compare(model, "edges", j, stored[1:-1][beside], halves[beside], allowed)


def check_quantiles(model: Any, X: Any, sample_weight: Any) -> float:  # noqa: ARG001
    """Check the quantiles that ranks are read from."""
    columns = _read(X, None)
    if is_sparse(X) and model.ignore_implicit_zeros:
        by_columns = X.tocsc()
        parts = np.split(by_columns.data, by_columns.indptr[1:-1])
        columns = [_Column(part if len(part) else np.zeros(1), None) for part in parts]
    off = 0.0
    levels = np.linspace(0, 1, model.n_quantiles_)
    _compare(model, "levels", -1, model.references_, levels, 1e-15)
    for j, column in enumerate(columns):
        stored = model.quantiles_[:, j]
        if not len(column.x):
            if not np.isnan(stored).all():
                _refuse(model, "quantiles", j, stored, np.nan)
            continue
        if model.subsample is not None and max(len(column.x), len(columns[0].x)) > model.subsample:
            off = max(off, _require_ranks(model, "quantiles", j, column, levels, stored, _of_a_draw(model.subsample)))
        else:
            true = [column.quantile(level, LINEAR) for level in levels]
            off = max(off, _compare(model, "quantiles", j, stored, true, _size(column)))
    return off


def check_knots(model: Any, X: Any, sample_weight: Any) -> float:
    """Check the knots of splines and of pieces."""
    columns, off = _read(X, sample_weight), 0.0
    degree = model.degree if "extrapolation" in model.get_params(deep=False) else 0
    for j, column in enumerate(columns):
        if isinstance(model.knots_, list):
            stored, true = model.knots_[j], _pieces(model, column, j)
        else:
            stored = model.knots_[:, j]
            true = _with_outer(_base(model, column, j, weighted=sample_weight is not None), degree, model.extrapolation)
        size = _size(column) + 64 * 2.0**-53 * float(np.max(np.abs(np.asarray(true, dtype=float)), initial=0))
        off = max(off, _compare(model, "knots", j, stored, true, size * (1 + degree)))
    return off


def _pieces(model: Any, column: _Column, j: int) -> Array:
    if model.knots is not None:
        return np.unique(np.asarray(model.knots[j], dtype=np.float64))
    levels = np.linspace(0, 1, model.n_knots + 2)[1:-1]
    return np.unique(np.array([column.quantile(level, LINEAR) for level in levels], dtype=np.float64))


def _base(model: Any, column: _Column, j: int, *, weighted: bool) -> Array:
    if not isinstance(model.knots, str):
        return np.asarray(model.knots, dtype=EXTENDED)[:, j]
    if model.knots == "uniform":
        return np.linspace(column.x[0], column.x[-1], model.n_knots)
    method = "averaged_inverted_cdf" if weighted else LINEAR
    return np.array([column.quantile(level, method) for level in np.linspace(0, 1, model.n_knots)])


def _with_outer(base: Array, degree: int, extrapolation: str) -> Array:
    if extrapolation == "periodic":
        period = base[-1] - base[0]
        return np.concatenate([base[-degree - 1 : -1] - period, base, base[1 : degree + 1] + period])
    below = [base[0] - k * (base[1] - base[0]) for k in range(degree, 0, -1)]
    above = [base[-1] + k * (base[-1] - base[-2]) for k in range(1, degree + 1)]
    return np.concatenate([np.array(below, EXTENDED), base, np.array(above, EXTENDED)])


def check_centres(model: Any, X: Any, sample_weight: Any) -> float:  # noqa: ARG001
    """Check centres and widths of bumps."""
    if model.centers is not None:
        _compare(model, "centres", -1, model.centers_, model.centers, 0.0)
        return _compare(model, "the width", -1, model.width_, 1.0 if model.width is None else model.width, 0.0)
    off = 0.0
    for j, column in enumerate(_read(X, None)):
        true, size = np.linspace(column.x[0], column.x[-1], model.n_centers), _size(column)
        off = max(off, _compare(model, "centres", j, model.centers_[:, j], true, size))
        step = (column.x[-1] - column.x[0]) / max(model.n_centers - 1, 1)
        width = model.width if model.width is not None else step if step > 0 else 1.0
        off = max(off, _compare(model, "the width", j, model.width_[j], width, size))
    return off
