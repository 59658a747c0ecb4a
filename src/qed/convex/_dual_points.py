"""Dual points that make a gap tight.

The slope of the loss at the scores is feasible and cheap, but its gap shrinks only like the square root of the true error
under l1, and like error / alpha under a weak l2. One Newton step on the coordinates where the penalty is smooth mends
that: the scores that the step would lead to, to first order, have a slope whose gap is of the size of the true error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem

__all__ = ["newton_point"]

LARGEST = 1500  # coordinates (times scores) whose second derivatives are worth factorising for a proof


def newton_point(problem: Problem, w: Vector, t: Vector, slope: Vector) -> Vector | None:
    """Return the slope after a Newton step, to first order; None where the step would cost too much.

    Parameters
    ----------
    problem : Problem
        The problem.
    w, t, slope : ndarray
        Coefficients, scores and slopes there.
    """
    if w.ndim == 2:
        return None
    n = problem.shape[0]
    bend = problem.loss.curvature(t)
    z = -problem.adjoint(slope)
    # one diagonal proximal step, whatever the scales of the columns, tells which coordinates are free to move
    squares = problem.sizes**2 * max(float(problem.share @ bend), 1e-300)
    step = np.where(squares > 0, 1.0 / np.where(squares > 0, squares, 1.0), 0.0)
    free = np.flatnonzero(problem.penalty.free(w, z, step))
    if len(free) > min(LARGEST, max(n, 64)) or not np.all(np.isfinite(bend)):
        return None
    part = problem.design.columns(free)
    centre = None if problem.centre is None else problem.centre[free]
    c = problem.share
    penalty = problem.penalty.take(free)
    scale = problem.sizes[free]
    scale = np.where(scale > 0, scale, 1.0)
    hessian = part.gram(c * bend, centre) / np.multiply.outer(scale, scale)
    hessian[np.diag_indices_from(hessian)] += penalty.curvature(w[free]) / scale**2
    g = (-z[free] + penalty.slope(_moved(problem, w, z, step)[free])) / scale
    if problem.free_intercept:
        edge = part.adjoint_product(c * bend, centre) / scale
        hessian = np.block([[hessian, edge[:, np.newaxis]], [edge[np.newaxis, :], np.array([[c @ bend]])]])
        g = np.append(g, c @ slope)
    values, vectors = np.linalg.eigh(hessian)
    keep = values > values[-1:].max(initial=0.0) * len(values) * 1e-14
    d = vectors[:, keep] @ ((vectors[:, keep].T @ g) / values[keep])
    change = part.product(d[: len(free)] / scale, centre)
    if problem.free_intercept:
        change = change + d[-1]
    return np.asarray(slope - bend * change)


def _moved(problem: Problem, w: Vector, z: Vector, step: Vector) -> Vector:
    """Return the point after the proximal step: its signs are those that the free coordinates will have."""
    return problem.penalty.prox(w + step * z, step)
