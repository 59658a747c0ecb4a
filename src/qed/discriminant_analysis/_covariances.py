"""Covariances of classes from their moments, as they are or shrunk; and rows folded into those moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._memory import require_memory
from qed.covariance import shrunk_covariance
from qed.covariance._shrunk import ledoit_wolf_formula
from qed.data import ClassMoments
from qed.data._by_class import labelled_chunks, of_classes
from qed.discriminant_analysis._kernels import scaled_lengths

if TYPE_CHECKING:
    from qed.core import FitData
    from qed.data import Moments


Array = np.ndarray[Any, np.dtype[np.float64]]
UNIT = 2.0**-53
LEAST = 2.0**-1074  # the smallest number: what a product can be off by, however small it is
MOST_LOST = 1e-7  # share of a variance that may be lost so: beyond, products hold no digits worth a covariance
KEPT_BYTES = 1 << 24  # of a statistic that a model keeps in case more rows come


def class_moments(model: Any, data: FitData) -> ClassMoments:
    """Fold validated rows into the moments of each class."""
    p, k = model.n_features_in_, len(data.classes)
    require_memory(
        8 * 4 * k * p * p, f"The products of {p} columns in {k} classes", "Choose fewer columns, or GaussianNB."
    )
    return of_classes(model, data, ClassMoments.of)


def class_covariances(model: Any, moments: ClassMoments, data: FitData | None, shrinkage: Any) -> list[Array]:
    """Return the covariance of each class, shrunk as asked; of a class without rows zeros."""
    scatters = [(part.XX / part.weight if part.rows else part.XX) for part in moments.parts]
    if shrinkage is None:
        return scatters
    if shrinkage == "auto":
        rows = _require_rows(model, data)
        fourth = [_fourth_moment(rows, part, k) for k, part in enumerate(moments.parts)]
        return [
            _ledoit_wolf(part, scatter, number)
            for part, scatter, number in zip(moments.parts, scatters, fourth, strict=True)
        ]
    return [shrunk_covariance(scatter, float(shrinkage)) for scatter in scatters]


def total_covariance(model: Any, moments: ClassMoments, data: FitData | None, shrinkage: Any) -> Array:
    """Return the covariance of all rows, shrunk as asked."""
    total = moments.total()
    scatter: Array = total.XX / total.weight
    if shrinkage is None:
        return scatter
    if shrinkage == "auto":
        return _ledoit_wolf(total, scatter, _fourth_moment(_require_rows(model, data), total, None))
    return shrunk_covariance(scatter, float(shrinkage))


def estimate_error(moments: ClassMoments, *, pooled: bool) -> float:
    """Bound the relative error of means and variances within classes: of one covariance for all, or of one for each class."""
    parts = [part for part in moments.parts if part.rows]
    peak = np.stack([part.peak for part in parts])
    weight = np.array([[part.weight] for part in parts])
    of_parts = np.array([[part.mean_rounding, part.rounding] for part in parts])
    if pooled:
        spread = moments.pooled().diagonal()[np.newaxis]
        size, whole, of_spread = weight.sum(), peak.sum(axis=0)[np.newaxis], np.array([moments.rounding])
    else:
        spread = np.stack([part.scatter.diagonal() for part in parts])
        size, whole, of_spread = weight, peak, of_parts[:, 1]
    if not spread.all():  # columns that do not vary have nothing to be off by
        spread = np.where(spread > 0, spread, np.inf)
    squares = (peak / weight * (size / spread)).max(axis=1)
    offset = (UNIT * np.abs(np.stack([part.mean for part in parts])) * np.sqrt(size / spread)).max(axis=1)
    of_mean = (of_parts[:, 0] * np.sqrt(squares) + offset).max()
    # squares, and products with weights, next to the smallest number have few digits: each is off by that number
    lost = 8 * LEAST * float(sum(part.rows for part in parts) + weight.sum()) / float(spread.min())
    error = max(float(of_mean), float(((whole / spread).max(axis=1) * of_spread).max()) + 8 * UNIT) + lost
    if not (np.isfinite([of_mean, error]).all() and lost <= MOST_LOST):
        raise InvalidData(
            "Squares of these columns, or their products with the weights, leave the range of float64, so that nothing can be said"
            " about covariances. Multiply columns or weights by a power of ten."
        )
    return error


def _ledoit_wolf(part: Moments, covariance: Array, fourth: float) -> Array:
    """Shrink a covariance by the amount that Ledoit and Wolf's formula gives for columns divided by their deviations."""
    if not part.rows:
        return covariance
    deviation = np.sqrt(covariance.diagonal())
    deviation = np.where(deviation > 0, deviation, 1.0)
    scaled = covariance / deviation / deviation[:, np.newaxis]
    drawn = shrunk_covariance(scaled, ledoit_wolf_formula(scaled, fourth, part.weight))
    return np.asarray(drawn * deviation * deviation[:, np.newaxis])


def _fourth_moment(data: FitData, part: Moments, label: int | None) -> float:
    """Return the mean fourth power of the length of scaled rows about their mean, of one class or of all: a second pass."""
    deviation = np.sqrt(part.XX.diagonal() / max(part.weight, 1e-300))
    scale = 1 / np.where(deviation > 0, deviation, 1.0)
    total = 0.0
    for chunk in labelled_chunks(data):
        codes: Any = chunk.y
        mine = slice(None) if label is None else np.flatnonzero(codes[:, 0] == label)
        rows, s = chunk.X[mine], None if chunk.s is None else chunk.s[mine]
        if len(rows):
            square = scaled_lengths(rows, part.mean, scale) ** 2
            total += float(square.sum() if s is None else s @ square)
    return total / part.weight if part.rows else 0.0


def _require_rows(model: Any, data: FitData | None) -> FitData:
    if data is None:
        raise InvalidParameter(
            f"{type(model).__name__}(shrinkage='auto') looks at the rows twice, and rows that come by partial_fit are gone."
            " Give shrinkage as a number, or fit all rows at once."
        )
    return data


def keep_moments(model: Any, moments: ClassMoments, *, always: bool) -> None:
    """Keep the statistic of a stream, and that of a fit if it is small."""
    if always or 16 * moments.n_classes * moments.n_features**2 <= KEPT_BYTES:
        model.moments_ = moments
    else:
        model.__dict__.pop("moments_", None)


def require_part_of_stream(model: Any) -> None:
    """Refuse to add rows to a model that did not keep its statistic."""
    if "means_" in model.__dict__ and "moments_" not in model.__dict__:
        raise InvalidData(
            f"This {type(model).__name__} was fitted to all rows at once and did not keep their products, which are many, so"
            " rows can be neither added nor taken out. Learn by partial_fit from the start."
        )
