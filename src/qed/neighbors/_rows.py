"""Looking at the rows that a model will keep: are they finite, are they of a size that has squares, which are they."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates import Fingerprint
from qed.core import InvalidData
from qed.data import ColumnMoments

if TYPE_CHECKING:
    from qed.core import FitData
    from qed.core._params import Array


MAX_MAGNITUDE, MIN_MAGNITUDE = 1e150, 1e-130  # beyond, squares of differences overflow, or lose digits
UNIT = 2.0**-53


def require_magnitude(largest: float, owner: str = "") -> None:
    """Refuse a largest absolute value whose square leaves float64."""
    if not (largest <= MAX_MAGNITUDE and (largest >= MIN_MAGNITUDE or largest == 0)):
        raise InvalidData(
            f"{owner and owner + ': '}X holds values of the size {largest:.3g}, and distances need values between"
            f" {MIN_MAGNITUDE} and {MAX_MAGNITUDE}: squares of others leave float64. Scale the columns first, as"
            " StandardScaler does."
        )


def look(data: FitData) -> Fingerprint:
    """Refuse rows that have no distances, and recognise the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = ColumnMoments.of(data.X, data.weight)
    low, high = columns.low, columns.high
    if not (columns.count == len(data.X)).all() or not (np.isfinite(low).all() and np.isfinite(high).all()):
        data.raise_if_not_finite()
    largest = float(np.maximum(-low, high).max())
    require_magnitude(largest)
    mean, spread, terms = columns.mean, columns.scatter, columns.terms
    if data.y is not None:
        y = ColumnMoments.of(np.asarray(data.y, dtype=np.float64).reshape(len(data.X), -1))
        mean, spread = np.concatenate([mean, y.mean]), np.concatenate([spread, y.scatter])
    return fingerprint_of(len(data.X), data.weight, mean, spread, terms)


def fingerprint_of(n_rows: int, weight: Array | None, mean: Array, spread: Array, terms: int) -> Fingerprint:
    """State moments with a bound on their rounding."""
    total = float(n_rows) if weight is None else float(weight.sum())
    size = np.abs(mean) + np.sqrt(spread / total)
    rounding_error = 2 * (terms + 16) * UNIT
    return Fingerprint(
        n_rows,
        total,
        mean,
        spread,
        (n_rows + 16) * UNIT * total,
        rounding_error * size,
        rounding_error * total * size**2,
    )
