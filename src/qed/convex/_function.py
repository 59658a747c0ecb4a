"""A problem as a function of one vector, for optimisers that know nothing of designs, losses and penalties.

The vector holds the coefficients, row after row where there are several scores, and last the intercepts, if they are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._once import cached_property
from qed.optimize import Bound, Function, Split

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


EXACT = 2000  # variables up to which the largest curvature is found by eigenvalues


@dataclass(frozen=True, eq=False)
class FlatProblem:
    """The parts of a problem as functions of one vector.

    Parameters
    ----------
    problem : Problem
        The problem.
    """

    problem: Problem

    @property
    def size(self) -> int:
        """Length of the vector."""
        w, b = self.problem.null_point
        return w.size + (np.size(b) if self.problem.free_intercept else 0)

    def parted(self, v: Vector) -> tuple[Vector, Any]:
        """Return coefficients and intercept, in the shapes that the problem has them."""
        w0, _ = self.problem.null_point
        w, b = v[: w0.size].reshape(w0.shape), v[w0.size :]
        if not self.problem.free_intercept:
            return w, (0.0 if w0.ndim == 1 else np.zeros(w0.shape[1]))
        return w, (float(b[0]) if w0.ndim == 1 else b)

    def joined(self, w: Vector, b: Any) -> Vector:
        """Return coefficients and intercept as one vector."""
        parts = [np.ravel(w), np.atleast_1d(b)] if self.problem.free_intercept else [np.ravel(w)]
        return np.concatenate(parts)

    @cached_property
    def _last(self) -> dict[str, tuple[Vector, Vector]]:
        """The point that was looked at last, with its scores: a gradient mostly follows a value."""
        return {}

    def scores(self, v: Vector) -> Vector:
        """Return the scores of a point."""
        last = self._last.get("looked at")  # point and scores in one piece: other threads may look elsewhere
        if last is None or not np.array_equal(last[0], v):
            last = self._last["looked at"] = (v.copy(), self.problem.scores(*self.parted(v)))
        return last[1]

    def loss(self, v: Vector) -> float:
        """Return the weighted mean loss."""
        return float(self.problem.share @ self.problem.loss.value(self.scores(v)))

    def loss_gradient(self, v: Vector) -> Vector:
        """Return the gradient of the weighted mean loss."""
        slope = self.problem.loss.slope(self.scores(v))
        return self.joined(self.problem.adjoint(slope), self.problem.share @ slope)

    def loss_curvature(self, v: Vector) -> Vector:
        """Return the second derivatives of the weighted mean loss, from one product for each variable."""
        t = self.scores(v)
        columns = []
        for unit in np.eye(self.size):
            bent = self.problem.loss.curvature_product(t, self.problem.scores(*self.parted(unit)))
            columns.append(self.joined(self.problem.adjoint(bent), self.problem.share @ bent))
        H = np.array(columns)
        return 0.5 * (H + H.T)

    def penalty(self, v: Vector) -> float:
        """Return the penalty of the coefficients."""
        return self.problem.penalty.value(self.parted(v)[0])

    def penalty_gradient(self, v: Vector) -> Vector:
        """Return the gradient of the penalty; where it is not smooth its shortest subgradient."""
        w, b = self.parted(v)
        return self.joined(self.problem.penalty.slope(w), np.zeros_like(np.atleast_1d(b)))

    def penalty_curvature(self, v: Vector) -> Vector:
        """Return the diagonal of the second derivatives of the penalty."""
        w, b = self.parted(v)
        return self.joined(self.problem.penalty.curvature(w), np.zeros_like(np.atleast_1d(b)))

    def part_gradient(self, v: Vector, rows: Any) -> Vector:
        """Return an unbiased gradient of the objective from some rows: the mean of their own, weights included."""
        problem, (w, b) = self.problem, self.parted(v)
        some = problem.design.rows(rows)
        t = np.asarray(some.product(w, problem.centre) + b)
        slope = problem.loss.take(rows).slope(t)
        c = problem.share[rows] * (problem.shape[0] / len(rows))  # equal weights: one over the number of rows
        c = c if slope.ndim == 1 else c[:, np.newaxis]
        own = self.joined(some.adjoint_product(c * slope, problem.centre), np.sum(c * slope, axis=0))
        return own + self.penalty_gradient(v)

    def bound(self, v: Vector) -> Bound:
        """Return the gap that duality proves."""
        gap = self.problem.certify(*self.parted(v))
        return Bound(gap.value, gap.radius)

    @cached_property
    def curvature_bound(self) -> float:
        """Bound on the curvature of the mean loss: that of one row, times the largest eigenvalue of the Gram matrix."""
        problem, traits = self.problem, self.problem.loss.traits
        if not np.isfinite(traits.curvature_bound) or problem.shape[1] > EXACT:
            return np.inf
        G = problem.design.gram(problem.share, problem.centre)
        if problem.free_intercept:
            means = problem.adjoint(np.ones(problem.shape[0]))
            G = np.block([[G, means[:, np.newaxis]], [means[np.newaxis], np.ones((1, 1))]])
        largest = float(np.linalg.eigvalsh(G)[-1]) if len(G) else 0.0
        return traits.curvature_bound * largest * (1 + 1e-12 * len(G))

    def function(self) -> Function:
        """Return the objective, with its split, its bound and the gradients of single rows."""
        loss, penalty = self.problem.loss.traits, self.problem.penalty.traits
        has_curvature = loss.has_curvature
        smooth = Function(
            self.loss,
            self.loss_gradient,
            self.loss_curvature if has_curvature else None,
            is_smooth=has_curvature,
            is_convex=loss.is_convex,
            is_quadratic=loss.is_quadratic,
            curvature_bound=self.curvature_bound,
            size=self.size,
            name="mean loss",
        )
        ridge = self.penalty_curvature(np.zeros(self.size)) if penalty.is_smooth else np.zeros(1)
        is_whole = has_curvature and penalty.is_smooth
        return Function(
            lambda v: self.loss(v) + self.penalty(v),
            lambda v: self.loss_gradient(v) + self.penalty_gradient(v),
            (lambda v: self.loss_curvature(v) + np.diag(self.penalty_curvature(v))) if is_whole else None,
            self.part_gradient,
            self.problem.shape[0],
            is_smooth=is_whole,
            is_convex=loss.is_convex,
            is_quadratic=loss.is_quadratic and penalty.is_smooth,
            curvature_bound=self.curvature_bound + float(np.max(ridge, initial=0.0)) if is_whole else np.inf,
            convexity=0.0 if self.problem.free_intercept or not loss.is_convex else penalty.convexity,
            bound=self.bound if loss.is_convex else None,
            split=Split(smooth, _FlatPenalty(self), penalty.is_separable) if has_curvature else None,
            size=self.size,
            name="convex problem",
        )


@dataclass(frozen=True, eq=False)
class _FlatPenalty:
    """The penalty as a function of the whole vector; intercepts are free."""

    flat: FlatProblem

    def value(self, v: Vector) -> float:
        return self.flat.penalty(v)

    def prox(self, v: Vector, step: float) -> Vector:
        w, b = self.flat.parted(v)
        return self.flat.joined(self.flat.problem.penalty.prox(w, step), b)
