"""The divergence ``a log(a / m) - a + m`` between rates or probabilities, without cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector


NEAR = 0.03  # relative distance below which seven terms of the series are exact


def divergence(a: Vector, m: Vector, log_m: Vector) -> Vector:
    """Return ``a log(a / m) - a + m >= 0`` for ``a, m >= 0``, entry by entry.

    Parameters
    ----------
    a, m : ndarray
        Rates, not negative; m may have underflowed to zero.
    log_m : ndarray
        Logarithm of m, finite where m has underflowed.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        e = (a - m) / m
        far = a * (np.log(a) - log_m) - (a - m)
    far = np.where((a > 0) & (m < np.inf), far, m)
    near = np.abs(e) < NEAR
    e = np.where(near, e, 0.0)
    # (1 + e) log(1 + e) - e = e^2/2 - e^3/6 + e^4/12 - ...
    series = 1 / 2 - e * (1 / 6 - e * (1 / 12 - e * (1 / 20 - e * (1 / 30 - e * (1 / 42 - e * (1 / 56 - e / 72))))))
    with np.errstate(invalid="ignore"):  # an infinite m is far from everything
        return np.asarray(np.where(near, m * e * e * series, np.maximum(far, 0.0)))
