r"""Temperature scaling: one number by which the scores of all classes are divided.

With scores :math:`z_{ic}` and the class :math:`y_i` of each row, the loss of an inverse temperature :math:`\beta` is
:math:`\sum_i s_i \log \sum_c e^{\beta (z_{ic} - z_{iy_i})}`, which is convex in :math:`\beta`. Newton steps kept inside an
interval find its minimum: slopes of opposite signs at the ends enclose it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import BracketCertificate
from qed.core import InvalidData

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

MIN_INVERSE_TEMPERATURE = float(np.exp(-10.0))  # scikit-learn's range
MAX_INVERSE_TEMPERATURE = float(np.exp(10.0))
WIDTH = 1e-10  # of the interval, relative
TOLERANCE = 1e-12  # nats a row: far below what any number of rows can tell apart
MAX_STEPS = 200


def class_logits(said: Array, *, are_probabilities: bool) -> Array:
    """Return a score for each class: logarithms of probabilities, both signs of a single score, or the scores as they are."""
    if are_probabilities:
        both = said if said.ndim == 2 else np.column_stack([1 - said, said])
        return np.log(both + np.finfo(np.float64).eps)
    return np.column_stack([-said, said]) if said.ndim == 1 or said.shape[1] == 1 else said


def find_temperature(scores: Array, codes: Array, s: Array | None) -> tuple[float, BracketCertificate]:
    """Return the best temperature for scores of rows whose classes are known, and what is proven about it."""
    apart = scores - np.take_along_axis(scores, codes[:, np.newaxis], axis=1)
    if not np.abs(apart).max(initial=0.0) < np.finfo(np.float64).max / MAX_INVERSE_TEMPERATURE:
        raise InvalidData("Scores as large as these have no temperature: divide them by their largest size first.")
    share = np.full(len(codes), 1 / len(codes)) if s is None else s / s.sum()

    def slope(beta: float) -> tuple[float, float]:
        top = (beta * apart).max(axis=1, keepdims=True)
        chance = np.exp(beta * apart - top)
        chance /= chance.sum(axis=1, keepdims=True)
        mean = (chance * apart).sum(axis=1)
        return float(share @ mean), float(share @ ((chance * apart**2).sum(axis=1) - mean**2))

    low, high = MIN_INVERSE_TEMPERATURE, MAX_INVERSE_TEMPERATURE
    first, last = slope(low)[0], slope(high)[0]
    beta = 1.0
    if first >= 0 and last <= 0:
        first = last = 0.0  # every temperature is as good: keep the scores as they are
    elif first >= 0:
        beta = high = low
    elif last <= 0:
        beta = low = high
    else:
        low, high = _enclosed(slope, low, high)
        beta = low + (high - low) / 2
    gap = abs(slope(beta)[0]) * (high - low) if first or last else 0.0
    ends = (np.array([low]), np.array([high]))
    return 1 / beta, BracketCertificate("the inverse temperature", len(codes), *ends, float(gap), TOLERANCE)


def _enclosed(slope: Any, low: float, high: float) -> tuple[float, float]:
    """Return an interval around the root of a rising function, by Newton steps that end a little beyond the root."""
    beta = 1.0
    for _ in range(MAX_STEPS):
        height, rise = slope(beta)
        low, high = (beta, high) if height <= 0 else (low, beta)
        if high - low <= WIDTH * high:
            break
        beyond = WIDTH / 4 * beta * (1 if height <= 0 else -1)
        beta = beta - height / rise + beyond if rise > 0 else low
        if not low < beta < high:
            beta = float(np.sqrt(low * high))
    return low, high
