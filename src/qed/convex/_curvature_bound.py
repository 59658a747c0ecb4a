r"""A bound without a dual point and without a radius: from gradient and curvature, for losses that cannot flatten at once.

Of a loss with ``|ℓ'''| <= M ℓ''``, M its self-concordance (logistic and Poisson 1, softmax √2, squared 0), the curvature along a
step of length h, measured by the second derivative H at the point, is at least ``exp(-S h)`` times that at the point, where S is M
times the longest row measured by H⁺. Integrated twice, with ``λ² = g'H⁺g`` and ``x = λ S < 1``,

    P - min P  <=  ((1 - x) log(1 - x) + x) / S²,          which is ½ λ² for S = 0.

It is the answer where there is no penalty: no dual point but one with ``X'(c u) = 0`` exactly is feasible there, and floating
point holds none. It is also the cheapest one where a penalty is weak beside the loss, which makes the gap of a slope far larger
than the distance.

No row bends the objective downwards, so that the curvature of some of the rows is a lower bound of that of all: with one row
in so many the bound is about so many times as large, and where Newton's method squares what is left at each step that is
less than another read of the design.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem
    from qed.designs import Design


UNIT = 2.0**-53
LARGEST = 1500  # coordinates whose second derivatives are worth factorising for a proof
ROWS, MOST = 2048, 32  # rows whose curvature is enough, and the longest step between them
FLATTEST = 1e-11  # least eigenvalue, relative to the largest, that is told from zero


def step_between_rows(problem: Problem) -> int | None:
    """Return the step between rows whose curvature proves enough; None where reading the design again is cheaper."""
    n, p = problem.shape
    traits = problem.loss.traits
    knows_curvature = (
        traits.n_scores == 1
        and problem.loss.y.ndim == 1
        and (traits.is_quadratic or np.isfinite(traits.self_concordance))
    )
    if not (knows_curvature and problem.penalty.traits.is_smooth and p <= LARGEST and p < n):
        return None
    step = max(1, min(MOST, n // max(ROWS, 20 * p)))
    return step if step > 1 and n // step * p <= 20 * n else None  # few rows: dual points are tighter


def curvature_bound(
    problem: Problem, w: Vector, t: Vector, slope: Vector, z: Vector, error: tuple[float, float], step: int = 1
) -> tuple[float, float] | None:
    """Return a bound on the distance from the optimum and the rounding to be added; None where it does not apply.

    Parameters
    ----------
    problem : Problem
        The problem, with a penalty that is smooth and quadratic, or none.
    w, t, slope, z : ndarray
        Coefficients, scores, slopes there, and minus the adjoint product of the slopes.
    error : tuple of float
        Bounds on the error of the scores, root mean square, and on the curvature near them.
    step : int
        The curvature of one row in so many is looked at.
    """
    traits = problem.loss.traits
    self_concordance = 0.0 if traits.is_quadratic else traits.self_concordance
    p = problem.shape[1]
    if w.ndim == 2 or not np.isfinite(self_concordance) or not problem.penalty.traits.is_smooth or p > LARGEST:
        return None
    rows = slice(None, None, step)
    design, share, n = problem.design, problem.share[rows], -(-problem.shape[0] // step)
    if p >= n:
        return None
    if step > 1:
        design = design.rows(rows)
    bend = problem.loss.take(rows).curvature(t[rows])
    used = np.flatnonzero(problem.spans > 0)
    part = design if len(used) == p else design.columns(used)
    centre = None if problem.centre is None else problem.centre[used]
    c, size = share * bend, problem.sizes[used]
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
    off = 4 * UNIT * (terms + 8 * len(values)) * len(values)
    if (
        not problem.design.centres_first
    ):  # what was summed has the whole length of the columns, not that of their spread
        off *= max(1.0, float(np.max(bend, initial=0.0)) / float(np.min(length)) ** 2)
    if not values[0] > max(FLATTEST * values[-1], 4 * off):
        return None
    sure = 1.0 / (1.0 - off / values[0])
    along = vectors.T @ (g / length)
    decrement = float(np.sqrt(np.sum(along**2 / values) * sure))
    terms = min(problem.shape[0], 8192) + 64 if problem.design.centres_first else 2 * problem.shape[0]
    rounding_error = (terms + 8) * UNIT * problem.length(slope) + error[0] * error[1]
    rounding_error += 8 * UNIT * float(np.max(np.abs(g), initial=0.0))
    if not traits.is_quadratic:  # a slope such as exp(t) - y is off by what rounds in its terms, however small it is
        rounding_error += 8 * UNIT * error[1]
    rounding = float(np.linalg.norm(rounding_error / length)) * np.sqrt(sure / values[0])
    longest = (
        self_concordance / np.sqrt(float(c.min()))
        if self_concordance > 0 and c.min() > 0
        else (0.0 if self_concordance == 0 else np.inf)
    )
    if (decrement + rounding) * longest > 0.1:  # the cheap bound of a row by its weight is too weak: measure the rows
        to = (vectors / np.sqrt(values)) / length[:, np.newaxis]
        longest = self_concordance * longest_row(part, centre, to[: len(used)] / size[:, np.newaxis], to[len(used) :])
        longest *= np.sqrt(sure) * 1.001
    value, whole = fall(decrement, longest), fall(decrement + rounding, longest)
    return None if not np.isfinite(whole) else (value, whole - value)


def longest_row(part: Design, centre: Vector | None, to: Vector, last: Vector) -> float:
    """Return the length of the longest row after a linear map, a few columns at a time."""
    squares = np.zeros(part.shape[0])
    for first in range(0, to.shape[1], 16):
        some = slice(first, first + 16)
        rows = part.product(to[:, some], centre)
        squares += np.sum((rows + last[0, some] if len(last) else rows) ** 2, axis=1)
    return float(np.sqrt(squares.max()))


def fall(decrement: float, longest: float) -> float:
    """Return the largest possible fall for a Newton decrement and a longest row."""
    x = decrement * longest
    if not x < 1:
        return np.inf
    if x < 1e-3:  # the series, where the closed form would cancel
        return decrement**2 * (1 / 2 + x * (1 / 6 + x * (1 / 12 + x / 20 + x**2 / 15)))
    return ((1 - x) * math.log1p(-x) + x) / longest**2
