"""Means, ranges and quantile ranges of scalers, checked: summed or sorted again, in extended precision."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from qed.certificates import ExactCertificate
from qed.verify._learnt import DOUBLE, EXTENDED, Learnt

Array = np.ndarray[Any, Any]
EPSILON = 2.0**-52
STILL = 10 * EPSILON  # ranges below are those of columns that do not vary, and become one
# The longest chain of roundings behind a sum: blocks of at most 2**16 terms, then the merges of further rows.
TERMS = 2**16


def check_standard(fit: Learnt, extra: float = 0.0) -> float:
    """Check means, variances and deviations; ``extra`` is a relative rounding that the rows themselves came with."""
    model, p = fit.model, fit.p
    fit.require_claim(f"means and variances of {p} columns", fit.n, (TERMS + 8 * fit.n) * DOUBLE)
    slack = fit.certificate.rounding + 4 * DOUBLE + extra
    mean, var, square = _moments(fit)
    size = np.sqrt(square)
    spread = np.where(np.isnan(var), 0, var)
    near = 4 * slack * spread + (4 * slack * size) ** 2 + 4 * extra * size * np.sqrt(spread)
    off = _check_statistics(fit, mean, var, slack * size, near, extra=extra)
    _check_count(fit)
    if not (model.with_mean or model.with_std):
        fit.nothing("mean_")
    else:
        off = max(off, fit.compare("the mean", fit.numbers("mean_", (p,)), mean, slack * size))
    if not model.with_std:
        fit.nothing("var_", "scale_")
        return off
    stored, scale = fit.numbers("var_", (p,)), fit.numbers("scale_", (p,))
    off = max(off, fit.compare("the variance", stored, var, near))
    _check_deviations(fit, stored, scale)
    return off


def _check_deviations(fit: Learnt, var: Array, scale: Array) -> None:
    """Hold deviations to variances: their roots, and one where a column does not vary beyond rounding."""
    mean = fit.numbers("mean_", (fit.p,))
    for j, column in enumerate(fit.summaries):
        if np.isnan(var[j]):
            fit.require(np.isnan(scale[j]), f"stores a scale for column {j}, which has no entry")
            continue
        root = np.sqrt(var[j])
        still = column.entries * EPSILON * var[j] + (column.entries * mean[j] * EPSILON) ** 2
        is_root, is_one = abs(scale[j] - root) <= 4 * DOUBLE * root, scale[j] == 1
        if column.is_constant or var[j] <= still * (1 - 1e-9):
            good = is_one
        else:
            good = is_root or (is_one and var[j] <= still * (1 + 1e-9))
        fit.require(
            good, f"stores the scale {float(scale[j]):.10g} for column {j}, whose deviation is {float(root):.10g}"
        )


def _check_count(fit: Learnt) -> None:
    """Check how many rows, or which weight, each column was seen with."""
    true = np.array([one.weight if fit.is_weighted else EXTENDED(one.entries) for one in fit.summaries])
    stored = np.asarray(fit.model.n_samples_seen_)
    fit.require(stored.ndim == 0 or len(np.unique(stored)) > 1, "stores one number of rows for each column")
    if stored.ndim == 0 and stored.dtype.kind in "fiu":
        stored = np.full(fit.p, stored)
    fit.require(stored.dtype.kind in "fiu", "stores no number of rows")
    fit.compare("the number of rows", stored, true, (TERMS + 8 * fit.n) * DOUBLE * true)


def _check_statistics(fit: Learnt, mean: Any, var: Any, near_mean: Any, near_var: Any, *, extra: float = 0.0) -> float:
    """Check the statistics that further rows are merged into."""
    seen, p = fit.model.statistics_, fit.p
    fit.require(
        type(seen).__name__ == "ColumnMoments", f"stores {type(seen).__name__} where statistics of columns belong"
    )
    fit.require(type(seen.rows) is int and seen.rows == fit.n, "stores statistics of another number of rows")
    terms = seen.terms if type(seen.terms) is int else -1
    fit.require(0 <= terms <= TERMS + 8 * fit.n, f"stores an impossible number of roundings, {terms}")
    columns, own = fit.summaries, {name: fit.numbers(name, (p,), owner=seen) for name in _STATISTICS}
    fit.compare("the number of entries", own["count"], [one.entries for one in columns], 0.0)
    weight = np.array([one.weight for one in columns])
    fit.compare("the weight", own["weight"], weight, (TERMS + 8 * fit.n) * DOUBLE * weight)
    there = weight > 0
    off = fit.compare("the mean", own["mean"], np.where(there, mean, 0), near_mean)
    summed = (TERMS + 8 * fit.n) * DOUBLE * np.abs(var)  # weights are rounded, too
    fit.compare("the scatter", own["scatter"], np.where(there, var * weight, 0), (2 * near_var + summed) * weight)
    low, high = _ends(fit)
    near = extra * np.where(np.isfinite(low), np.maximum(np.abs(low), np.abs(high)), 0)
    fit.compare("the least entry", own["low"], low, near)
    fit.compare("the largest entry", own["high"], high, near)
    return off


_STATISTICS = ("count", "weight", "mean", "scatter", "low", "high")


def _ends(fit: Learnt) -> tuple[Array, Array]:
    """Return the least and the largest entry of each column; +inf and -inf where there is none."""
    return np.array([one.low for one in fit.summaries]), np.array([one.high for one in fit.summaries])


def _moments(fit: Learnt) -> tuple[Array, Array, Array]:
    """Return mean, variance and mean square of each column; NaN where nothing has weight."""
    mean, var, square = zip(*((one.mean, one.var, one.square) for one in fit.summaries), strict=True)
    return np.array(mean), np.array(var), np.array(square)


def _check_plain_statistics(fit: Learnt) -> None:
    mean, var, square = _moments(fit)
    slack, size = (TERMS + 8 * fit.n) * DOUBLE, np.sqrt(square)
    _check_statistics(
        fit, mean, var, slack * size, 4 * slack * np.where(np.isnan(var), 0, var) + (4 * slack * size) ** 2
    )
    fit.whole_number("n_samples_seen_", fit.n)


def check_ranges(fit: Learnt) -> float:
    """Check least and largest entries, and what follows from them."""
    p = fit.p
    fit.require_claim(f"least and largest entries of {p} columns", fit.n, 0.0)
    _check_plain_statistics(fit)
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in _ends(fit))
    fit.compare("the least entry", fit.numbers("data_min_", (p,)), low, 0.0)
    fit.compare("the largest entry", fit.numbers("data_max_", (p,)), high, 0.0)
    spread = (high.astype(np.float64) - low.astype(np.float64)).astype(
        EXTENDED
    )  # the difference of doubles, rounded once
    fit.compare("the range", fit.numbers("data_range_", (p,)), spread, 0.0)
    a, b = (EXTENDED(end) for end in fit.model.feature_range)
    scale = (b - a) / np.where(spread < STILL, 1, spread)
    off = fit.compare("the scale", fit.numbers("scale_", (p,)), scale, 4 * DOUBLE * np.abs(scale))
    near = 8 * DOUBLE * (abs(a) + np.abs(low * scale))
    return max(off, fit.compare("the shift", fit.numbers("min_", (p,)), a - low * scale, near))


def check_largest(fit: Learnt) -> float:
    """Check largest sizes."""
    p = fit.p
    fit.require_claim(f"largest sizes of {p} columns", fit.n, 0.0)
    _check_plain_statistics(fit)
    size = np.array([one.size for one in fit.summaries])
    fit.compare("the largest size", fit.numbers("max_abs_", (p,)), size, 0.0)
    return fit.compare("the scale", fit.numbers("scale_", (p,)), np.where(size < STILL, 1, size), 0.0)


def check_quantile_ranges(fit: Learnt) -> float:
    """Check medians and distances of quantiles."""
    model, p = fit.model, fit.p
    fit.require_claim(f"medians and quantiles of {p} columns", fit.n, 4 * DOUBLE)
    a, b = (EXTENDED(percent) / 100 for percent in model.quantile_range)
    found = fit.quantiles([a, EXTENDED(0.5), b])
    near = np.array([(16 + 4 * n) * DOUBLE * size for n, size, _ in found])
    nan, off = EXTENDED(np.nan), 0.0
    if model.with_centering:
        middle = [own[1] if n else nan for n, _, own in found]
        off = fit.compare("the median", fit.numbers("center_", (p,)), middle, near)
    else:
        fit.nothing("center_")
    if not model.with_scaling:
        fit.nothing("scale_")
        return off
    width = np.array([own[2] - own[0] if n else nan for n, _, own in found])
    stored, unit = fit.numbers("scale_", (p,)), _normal_width(a, b) if model.unit_variance else 1.0
    for j in range(p):
        # A range that is zero up to rounding may have been taken for zero, and only such a one.
        if abs(width[j] - STILL) <= 2 * near[j] and abs(stored[j] * unit - 1) <= 1e-12:
            continue
        true = (1 if width[j] < STILL else width[j]) / EXTENDED(unit)
        off = max(off, fit.compare("the scale", stored[j], true, 2 * near[j] / unit + 1e-14 * abs(true), j))
    return off


def _normal_width(a: Any, b: Any) -> float:
    """Return the distance of two quantiles of the normal distribution."""
    ends = [NormalDist().inv_cdf(float(share)) if 0 < share < 1 else np.inf * (2 * share - 1) for share in (a, b)]
    return float(ends[1] - ends[0])


def require_scaler(fit: Learnt, scaler: Any, X: Array, extra: float) -> float:
    """Check a scaler inside another transformer, on rows that were computed with a relative rounding."""
    fit.require(type(scaler).__name__ == "StandardScaler", f"holds {type(scaler).__name__} where a scaler belongs")
    fit.require(type(scaler.certificate_) is ExactCertificate, "holds a scaler without its certificate")
    fit.require(scaler.with_mean is True and scaler.with_std is True, "holds a scaler with other parameters")
    inner = Learnt(scaler, scaler.certificate_, X, None, fit.sample_weight)
    inner.require_columns()
    return check_standard(inner, extra)
