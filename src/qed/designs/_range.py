"""What is looked at before anything is solved: means and spreads of all columns, and whether float64 can hold them.

A column of 1e-200 has a square that float64 takes for zero, so that the column would be taken for a constant and the
certificate would say nothing true about it; one of 1e200 has none at all. Both raise an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import Fingerprint
from qed.core._errors import InvalidData
from qed.data import ColumnMoments, fold
from qed.data._finite import raise_not_finite
from qed.data._kernels import UNIT
from qed.designs._choice import design
from qed.designs._kernels import column_spreads, moment_rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Chunk, Moments, Source

    Array = NDArray[np.float64]


MIN_MAGNITUDE, MAX_MAGNITUDE = (
    1e-290,
    1e300,
)  # some digits from the ends of float64, which double-double arithmetic needs
SMALLEST_SUBNORMAL = 5e-324
STEP = 1e-17  # neighbouring floats are further apart than this, relative to their size


def fingerprint_of(moments: Moments) -> Fingerprint:
    """Recognise the rows of a statistic, up to the rounding that it has tracked."""
    size = np.sqrt(moments.peak) / np.sqrt(max(moments.weight, SMALLEST_SUBNORMAL))
    mean_rounding = moments.mean_rounding * size + UNIT * np.abs(moments.mean)
    return Fingerprint(
        moments.rows,
        moments.weight,
        moments.mean.copy(),
        moments.scatter.diagonal().copy(),
        weight_rounding=(moments.weight_error + UNIT) * moments.weight,
        mean_rounding=mean_rounding,
        spread_rounding=moments.rounding * moments.peak,
    )


def fingerprint_of_columns(source: Source, y: Array, weight: Array | None) -> Fingerprint:
    """Recognise rows of positive weight that come in chunks, in one pass that refuses what is not finite."""
    columns = fold(source, _column_moments)
    total = float(len(y)) if weight is None else float(weight.sum())
    mean_y, spread_y, _ = _of_targets(y, weight, total)
    mean, spread = np.concatenate([columns.mean, mean_y]), np.concatenate([columns.scatter, spread_y])
    # each column was summed about one of its values: rounding is that of its length about zero or better
    return with_rounding(Fingerprint(len(y), total, mean, spread), max(columns.terms, len(y)), np.zeros_like(mean))


def _column_moments(chunk: Chunk) -> ColumnMoments:
    columns = ColumnMoments.of(chunk.X, chunk.s)
    finite = np.isfinite(columns.mean).all() and np.isfinite(columns.scatter).all()
    if not finite or (columns.count < chunk.n_rows).any():  # a statistic of columns takes NaN for a gap
        raise_not_finite(chunk)
    return columns


def fingerprint(X: Any, y: Array, weight: Array | None, *, about: Array | None = None) -> Fingerprint:
    """Recognise rows whose products of columns are never formed; a table that is no array is summed about ``about`` or zero."""
    n = X.shape[0]
    rows, total = (n, float(n)) if weight is None else (int(np.count_nonzero(weight)), float(weight.sum()))
    if isinstance(X, np.ndarray):
        mean, spread, origin = column_spreads(X, y, weight, total)
        return with_rounding(Fingerprint(rows, total, mean, spread), n, origin)
    plain, s = design(X), np.ones(n) if weight is None else weight
    first = np.zeros(X.shape[1]) if about is None else about
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused in words
        mean = first + plain.adjoint_product(s, first) / total
        spread = plain.column_norms(s, mean) ** 2
    targets = _of_targets(y, weight, total)
    mean, spread, origin = (np.concatenate(both) for both in zip((mean, spread, first), targets, strict=True))
    return with_rounding(Fingerprint(rows, total, mean, spread), n, origin)


def _of_targets(y: Array, s: Array | None, total: float) -> tuple[Array, Array, Array]:
    """Return means and spreads of the targets, and the first of them, about which they were summed."""
    return column_spreads(np.empty((len(y), 0)), y, s, total)


def with_rounding(seen: Fingerprint, terms: int, about: Array) -> Fingerprint:
    """Add bounds on rounding to means and spreads that were summed in any order, about a given row."""
    mean_rounding, spread_rounding = moment_rounding(seen.mean, seen.spread, about, seen.weight, terms)
    weight_rounding = (terms + 16) * UNIT * seen.weight
    return Fingerprint(seen.rows, seen.weight, seen.mean, seen.spread, weight_rounding, mean_rounding, spread_rounding)


def require_range(source: Source, seen: Fingerprint, *, centred: bool = True) -> None:
    """Refuse columns and targets whose squares leave float64; the rows are looked at again only if one may.

    Parameters
    ----------
    source : Source
        The rows.
    seen : Fingerprint
        Weighted means and spreads of all columns.
    centred : bool
        Whether a constant column says nothing: without an intercept its squares count too.
    """
    p = source.schema.n_features
    require_no_overflow(seen, p)
    if seen.weight < MIN_MAGNITUDE:
        raise InvalidData(
            f"The weights sum to {seen.weight:.3g}, too little for float64 to multiply with. Multiply them by a power of ten."
        )
    faint = _faint(seen)
    if len(faint):
        low, high = _ends(source, faint, p)
        _require_constant(faint, low, high, p)
        _require_visible(faint, low, seen, p, centred=centred)


def require_merged_range(old: Moments, new: Moments, merged: Moments, *, centred: bool = True) -> None:
    """Refuse to merge rows, each in range by themselves, whose squares leave float64 together."""
    seen = fingerprint_of(merged)
    require_no_overflow(seen, merged.n_features)
    faint = _faint(seen)  # constant in the old rows and in the new ones: their means are the values
    ends = np.stack([old.mean[faint], new.mean[faint]])
    low, high = ends.min(axis=0), ends.max(axis=0)
    same = high - low <= 1e-9 * np.maximum(np.abs(low), np.abs(high))  # a mean of sparse rows is rounded
    _require_constant(faint, low, np.where(same, low, high), merged.n_features)
    _require_visible(faint, low, seen, merged.n_features, centred=centred)


def require_finite_objective(owner: str, *numbers: float) -> None:
    """Refuse a fit whose objective or gap is not a number: a certificate would state nothing."""
    if not np.isfinite(numbers).all():
        found = ", ".join(f"{number:.3g}" for number in numbers)
        raise InvalidData(
            f"{owner} found an objective or a bound that leaves float64 ({found}): weights, columns and targets are too far apart"
            " in size. Bring each near one by a power of ten first."
        )


def require_no_overflow(seen: Fingerprint, p: int) -> None:
    """Refuse columns and targets whose squares are too large for float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = seen.spread + seen.weight * seen.mean**2
        if whole.sum() < MAX_MAGNITUDE:
            return
    at = int(np.argmax(np.where(np.isnan(whole), np.inf, whole)))
    size = f"{whole[at]:.3g}" if np.isfinite(whole[at]) else "out of range"
    raise InvalidData(
        f"Sums of squares overflow float64: the one of {_called(at, p)} is {size}. Divide the columns (or the"
        f" weights) by a power of ten so that the sum of weight * value**2 stays below {MAX_MAGNITUDE:g}."
    )


def _faint(seen: Fingerprint) -> NDArray[np.intp]:
    """Find columns without a spread that float64 can see, though their values may differ.

    A mean far from zero leaves no room for deviations whose squares vanish: such a column is constant.
    """
    if seen.spread.min(initial=MIN_MAGNITUDE) >= MIN_MAGNITUDE:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero((seen.spread < MIN_MAGNITUDE) & (seen.weight * (STEP * seen.mean) ** 2 < MIN_MAGNITUDE))


def _require_constant(columns: NDArray[np.intp], low: Array, high: Array, p: int) -> None:
    varies = np.flatnonzero(low < high)
    if len(varies):
        at = int(varies[0])
        raise InvalidData(
            f"Sums of squares underflow float64: {_called(int(columns[at]), p)} lies between {low[at]:.3g} and {high[at]:.3g}."
            " Multiply it (or the weights) by a power of ten so that the sum of weight * value**2 is above"
            f" {MIN_MAGNITUDE:g}, or leave it out."
        )


def _require_visible(columns: NDArray[np.intp], value: Array, seen: Fingerprint, p: int, *, centred: bool) -> None:
    """Refuse constant columns that are not zero and whose squares vanish, where nothing is centred."""
    lost = np.flatnonzero((value != 0) & (seen.weight * value**2 < MIN_MAGNITUDE) & (columns < p))
    if not centred and len(lost):
        at = int(lost[0])
        raise InvalidData(
            f"Sums of squares underflow float64: {_called(int(columns[at]), p)} is {value[at]:.3g} in every row, and without an"
            " intercept it counts. Multiply it (or the weights) by a power of ten so that the sum of weight * value**2 is above"
            f" {MIN_MAGNITUDE:g}, or leave it out."
        )


def _called(at: int, p: int) -> str:
    return f"column {at} of X" if at < p else f"target {at - p}"


def _ends(source: Source, columns: NDArray[np.intp], p: int) -> tuple[Array, Array]:
    """Return the least and the largest value of some columns, over rows of positive weight."""
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    features, targets = columns[columns < p], columns[columns >= p] - p
    k = len(features)
    for chunk in source.chunks():  # rarely needed, and of few columns
        used = slice(None) if chunk.s is None else np.flatnonzero(chunk.s)
        if isinstance(chunk.X, np.ndarray):
            for at, column in enumerate(features):
                values = chunk.X[:, column][used]
                low[at], high[at] = min(low[at], values.min(initial=np.inf)), max(high[at], values.max(initial=-np.inf))
        elif k:
            part = chunk.X[:, features].tocsr()[used]
            if part.shape[0]:
                low[:k] = np.minimum(low[:k], part.min(axis=0).toarray().ravel())
                high[:k] = np.maximum(high[:k], part.max(axis=0).toarray().ravel())
        if len(targets) and chunk.y is not None:
            values = chunk.y[used][:, targets]
            low[k:] = np.minimum(low[k:], values.min(axis=0, initial=np.inf))
            high[k:] = np.maximum(high[k:], values.max(axis=0, initial=-np.inf))
    return low, high
