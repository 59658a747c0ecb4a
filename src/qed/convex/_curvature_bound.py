r"""A bound without a dual point and without a radius: from gradient and curvature, for losses that cannot flatten at once.

Of a loss with ``|ℓ'''| <= swing ℓ''`` (logistic and Poisson 1, softmax √2, squared 0), the curvature along a step of length h,
measured by the second derivative H at the point, is at least ``exp(-S h)`` times that at the point, where S is swing times
the longest row measured by H⁺. Integrated twice, with ``λ² = g'H⁺g`` and ``x = λ S < 1``,

    P - min P  <=  ((1 - x) log(1 - x) + x) / S²,          which is ½ λ² for S = 0.

It is the answer where there is no penalty: no dual point but one with ``X'(c u) = 0`` exactly is feasible there, and floating
point holds none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem

__all__ = ["curvature_bound"]

UNIT = 2.0**-53
LARGEST = 1500  # coordinates whose second derivatives are worth factorising for a proof
FLATTEST = 1e-11  # least eigenvalue, relative to the largest, that is told from zero


def curvature_bound(
    problem: Problem, w: Vector, t: Vector, slope: Vector, z: Vector, off: float
) -> tuple[float, float] | None:
    """Return a bound on the distance from the optimum and the rounding to be added; None where it does not apply.

    Parameters
    ----------
    problem : Problem
        The problem, with a penalty that is smooth and quadratic, or none.
    w, t, slope, z : ndarray
        Coefficients, scores, slopes there, and minus the adjoint product of the slopes.
    off : float
        Bound on the error of the scores, root mean square.
    """
    traits = problem.loss.traits
    swing = 0.0 if traits.is_quadratic else traits.swing
    n, p = problem.shape
    if w.ndim == 2 or not np.isfinite(swing) or not problem.penalty.traits.is_smooth or min(p, LARGEST) < p or p >= n:
        return None
    bend = problem.loss.curvature(t)
    used = np.flatnonzero(problem.spans > 0)
    part = problem.design if len(used) == p else problem.design.columns(used)
    centre = None if problem.centre is None else problem.centre[used]
    c, size = problem.share * bend, problem.sizes[used]
    steep = float(c.sum())
    if not (np.isfinite(steep) and steep > 0):
        return None
    second = part.gram(c, centre) / np.multiply.outer(size, size)
    second[np.diag_indices_from(second)] += problem.penalty.curvature(w)[used] / size**2
    g = (-z + problem.penalty.slope(w))[used] / size
    if problem.free_intercept:
        edge = part.adjoint_product(c, centre) / size
        second = np.block([[second, edge[:, np.newaxis]], [edge[np.newaxis, :], np.array([[steep]])]])
        g = np.append(g, problem.share @ slope)
    length = np.sqrt(np.maximum(second.diagonal(), 0.0))
    if not np.all(length > 0):
        return None
    values, vectors = np.linalg.eigh(second / np.multiply.outer(length, length))
    terms = min(n, 8192) + 64 if problem.design.centres_first else 2 * n
    error = 4 * UNIT * (terms + 8 * len(values)) * len(values)
    if not values[0] > max(FLATTEST * values[-1], 4 * error):
        return None
    sure = 1.0 / (1.0 - error / values[0])
    along = vectors.T @ (g / length)
    decrement = float(np.sqrt(np.sum(along**2 / values) * sure))
    doubt = (terms + 8) * UNIT * problem.length(slope) + 2 * float(np.max(bend, initial=0.0)) * off
    doubt += 8 * UNIT * float(np.max(np.abs(g), initial=0.0))
    rounding = float(np.linalg.norm(doubt / length)) * np.sqrt(sure / values[0])
    longest = swing / np.sqrt(float(c.min())) if swing > 0 and c.min() > 0 else (0.0 if swing == 0 else np.inf)
    if (decrement + rounding) * longest > 0.1:  # the cheap bound of a row by its weight is too weak: measure the rows
        to = (vectors / np.sqrt(values)) / length[:, np.newaxis]
        longest = swing * _longest_row(problem, part, centre, to[: len(used)] / size[:, np.newaxis], to[len(used) :])
        longest *= np.sqrt(sure) * 1.001
    value, whole = _fall(decrement, longest), _fall(decrement + rounding, longest)
    return None if not np.isfinite(whole) else (value, whole - value)


def _longest_row(problem: Problem, part: object, centre: Vector | None, to: Vector, last: Vector) -> float:
    """Return the length of the longest row after a linear map, a few columns at a time."""
    squares = np.zeros(problem.shape[0])
    for first in range(0, to.shape[1], 16):
        some = slice(first, first + 16)
        rows = part.product(to[:, some], centre)  # type: ignore[attr-defined]
        squares += np.sum((rows + last[0, some] if len(last) else rows) ** 2, axis=1)
    return float(np.sqrt(squares.max()))


def _fall(decrement: float, longest: float) -> float:
    """Return the largest possible fall for a Newton decrement and a longest row."""
    x = decrement * longest
    if not x < 1:
        return np.inf
    if x < 1e-3:  # the series, where the closed form would cancel
        return decrement**2 * (1 / 2 + x * (1 / 6 + x * (1 / 12 + x / 20 + x**2 / 15)))
    return float(((1 - x) * np.log1p(-x) + x) / longest**2)
