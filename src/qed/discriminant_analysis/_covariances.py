"""Covariances of classes from their moments, as they are or shrunk; and rows folded into those moments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import LikelihoodCertificate
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
SMALLEST_SUBNORMAL = 2.0**-1074  # the smallest number: what a product can be off by, however small it is
KEPT_BYTES = 1 << 24  # of a statistic that a model keeps in case more rows come


def class_moments(model: Any, data: FitData) -> ClassMoments:
    """Fold validated rows into the moments of each class."""
    p, k = model.n_features_in_, len(data.classes)
    require_memory(
        8 * 4 * k * p * p, f"The products of {p} columns in {k} classes", "Choose fewer columns, or GaussianNB."
    )
    return of_classes(model, data, ClassMoments.of)


def class_covariances(
    model: Any, moments: ClassMoments, data: FitData | None, shrinkage: Any
) -> tuple[list[Array], float]:
    """Return the covariance of each class, shrunk as asked, of a class without rows zeros; and the error of the shrinking."""
    scatters = [(part.XX / part.weight if part.rows else part.XX) for part in moments.parts]
    if shrinkage is None:
        return scatters, 0.0
    if shrinkage == "auto":
        rows, error = _require_rows(model, data), estimate_error(moments, pooled=False)
        fourth = [_fourth_moment(rows, part, k) for k, part in enumerate(moments.parts)]
        drawn = [
            _ledoit_wolf(part, scatter, number, error)
            for part, scatter, number in zip(moments.parts, scatters, fourth, strict=True)
        ]
        return [one for one, _ in drawn], max(off for _, off in drawn)
    return [shrunk_covariance(scatter, float(shrinkage)) for scatter in scatters], 0.0


def total_covariance(model: Any, moments: ClassMoments, data: FitData | None, shrinkage: Any) -> tuple[Array, float]:
    """Return the covariance of all rows, shrunk as asked, and the error of the shrinking."""
    total = moments.total()
    scatter: Array = total.XX / total.weight
    if shrinkage is None:
        return scatter, 0.0
    if shrinkage == "auto":
        error = estimate_error(replace(moments, parts=(total,)), pooled=False)
        return _ledoit_wolf(total, scatter, _fourth_moment(_require_rows(model, data), total, None), error)
    return shrunk_covariance(scatter, float(shrinkage)), 0.0


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
    lost = 8 * SMALLEST_SUBNORMAL * float(sum(part.rows for part in parts) + weight.sum()) / float(spread.min())
    error = max(float(of_mean), float(((whole / spread).max(axis=1) * of_spread).max()) + 8 * UNIT) + lost
    if not (np.isfinite([of_mean, error]).all() and lost <= LikelihoodCertificate.MOST_ROUNDING):
        raise InvalidData(
            "Squares of these columns, or their products with the weights, leave the range of float64, so that nothing can be said"
            " about covariances. Multiply columns or weights by a power of ten."
        )
    return error


def _ledoit_wolf(part: Moments, covariance: Array, fourth: float, error: float) -> tuple[Array, float]:
    """Shrink a covariance by the amount that Ledoit and Wolf's formula gives for columns divided by their deviations.

    Also return how much the amount can move an entry, in deviations, when moments have the relative ``error``.
    """
    if not part.rows:
        return covariance, 0.0
    deviation = np.sqrt(covariance.diagonal())
    deviation = np.where(deviation > 0, deviation, 1.0)
    scaled = covariance / deviation / deviation[:, np.newaxis]
    drawn = shrunk_covariance(scaled, ledoit_wolf_formula(scaled, fourth, part.weight))
    off = _amount_error(scaled, fourth, part.weight, 8 * error)
    if off:  # columns without deviation get all they have from what is shrunk
        least = float(drawn.diagonal().min())
        off = off / least if least > 0 else np.inf
    if not off <= LikelihoodCertificate.MOST_ROUNDING:
        raise InvalidData(
            "The amount by which shrinkage='auto' shrinks cannot be told: in some class it follows from the last digits of the rows"
            f" and their weights, which add up to {part.weight:.3g} (a weight counts as that many rows). Give shrinkage as a"
            " number, or weights that count rows."
        )
    return np.asarray(drawn * deviation * deviation[:, np.newaxis]), off


def _amount_error(scaled: Array, fourth: float, weight: float, error: float) -> float:
    """Bound how far the formula's amount moves a covariance of scaled columns, with moments that have a relative error."""
    p = len(scaled)
    squares = float(np.sum(scaled**2))
    spread = squares - float(np.trace(scaled)) ** 2 / p
    off = error * (fourth + squares)
    noise = fourth - squares
    if p == 1 or not spread > 0 or noise + off <= 0 or noise - off >= weight * (spread + off):
        return 0.0  # nothing to shrink, or shrunk by nothing or fully whatever the last digits are
    return min(1.0, (off / weight + off) / spread) * float(np.sqrt(spread))


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
