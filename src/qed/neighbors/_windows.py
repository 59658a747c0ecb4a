"""Windows: how much a row counts at a distance, and what makes a density of them.

With u the distance over the bandwidth, of a norm whose unit ball in p dimensions has volume V:

=============  ====================  ===========================================
name           window                integral over all space
=============  ====================  ===========================================
gaussian       exp(-u²/2)            p V 2^(p/2 - 1) Γ(p/2)
tophat         1 for u < 1           V
epanechnikov   1 - u²  for u < 1     2 V / (p + 2)
exponential    exp(-u)               p V Γ(p)
linear         1 - u  for u < 1      V / (p + 1)
cosine         cos(πu/2) for u < 1   p V ∫ cos(πr/2) r^(p-1) dr, 0 ≤ r ≤ 1
=============  ====================  ===========================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from qed.neighbors._metric import Metric


WindowName = Literal["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]
NUMBERS = {"gaussian": 0, "tophat": 1, "epanechnikov": 2, "exponential": 3, "linear": 4, "cosine": 5}


def log_integral(window: str, metric: Metric, p: int) -> float:
    """Return the logarithm of the integral of a window of bandwidth one over p dimensions."""
    ball = _log_ball(metric, p)
    if window == "gaussian":
        return ball + math.log(p) + (p / 2 - 1) * math.log(2) + math.lgamma(p / 2)
    if window == "tophat":
        return ball
    if window == "epanechnikov":
        return ball + math.log(2 / (p + 2))
    if window == "exponential":
        return ball + math.log(p) + math.lgamma(p)
    if window == "linear":
        return ball - math.log(p + 1)
    return ball + math.log(p) + math.log(_cosine_moment(p))


def _log_ball(metric: Metric, p: int) -> float:
    """Return the logarithm of the volume of the unit ball."""
    if metric.name == "chebyshev":
        return p * math.log(2)
    power = {"manhattan": 1.0, "euclidean": 2.0}.get(metric.name, metric.power)
    return p * (math.log(2) + math.lgamma(1 + 1 / power)) - math.lgamma(1 + p / power)


def _cosine_moment(p: int) -> float:
    """Integrate cos(πr/2) r^(p-1) from 0 to 1, by a rule exact for the power times the first forty of the series."""
    nodes, weights = np.polynomial.legendre.leggauss(p // 2 + 20)
    r = (nodes + 1) / 2
    return float(weights @ (np.sin(np.pi / 2 * (1 - r)) * r ** (p - 1))) / 2
