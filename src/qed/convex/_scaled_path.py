"""The square-root lasso along the path of the lasso: its solution is the lasso's where strength and scale agree.

A lasso of strength a whose residuals have the scale σ solves the square-root lasso of strength α = a / σ. Going from a to
α σ(a), again and again, the strengths fall to that point; where they fall to nothing, the columns interpolate the rows, and the
residuals divided by a are the dual point of the least penalty among all that leave no residuals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed.convex._fold_paths import FoldPaths
from qed.designs import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._concomitant import Concomitant
    from qed.convex._loss import Vector


DIGITS = 1e-6  # of the penalty, to which each lasso is solved
SLOWLY = 0.6  # share of a strength that the next one has at least
LEAST = 1e-13  # strengths below this share of the first are rounding


class Scaled(NamedTuple):
    """A lasso on the path: coefficients, intercept of the columns as the problem centres them, scale, dual point."""

    w: Vector
    b: float
    scale: float
    u: Vector


class ScaledPath:
    """Lassos of falling strengths, each from the one before.

    Parameters
    ----------
    problem : Concomitant
        With an l1 penalty of one strength; see `takes`.
    """

    def __init__(self, problem: Concomitant) -> None:
        self._problem = problem
        self._alpha = float(problem.penalty.slope(np.ones(1))[0])
        centre = np.zeros(problem.shape[1]) if problem.centre is None else problem.centre
        share = problem.share[:, np.newaxis]
        self._paths = FoldPaths(problem.design, problem.y, share, intercept=problem.free_intercept, centre=centre)
        self.first = float(np.sqrt(2.0 * self._paths.null_objective[0]))  # the scale without coefficients
        self.scale = self.first

    @staticmethod
    def takes(problem: Concomitant) -> bool:
        """Say whether the table is dense, and all coefficients are penalised alike, on both sides of zero."""
        one = np.ones(problem.shape[1])
        strength = problem.penalty.slope(one)
        alike = bool(np.all(strength == strength[:1])) and bool(np.all(problem.penalty.slope(-one) == -strength))
        return isinstance(problem.design, Dense) and alike and bool(strength.min(initial=np.inf) > 0)

    def at(self, strength: float) -> Scaled:
        """Solve one lasso."""
        problem, paths = self._problem, self._paths
        size = strength * max(self.first, 1e-300)
        found = paths.at(strength, 0.0, max(DIGITS * size / float(paths.null_objective[0]), 1e-16))
        w: Vector = np.zeros(problem.shape[1])
        w[found.columns[0]] = found.coefficients[0]
        r = found.residual[:, 0]
        b = float(found.b[0]) + (0.0 if problem.centre is None else float(problem.centre @ w))
        self.scale = float(np.sqrt((problem.share * r) @ r))
        return Scaled(w, b, self.scale, -r * (self._alpha / strength))

    def falling(self) -> Iterator[Scaled]:
        """Yield lassos from the scale without coefficients on, until the scale stays or strengths are rounding."""
        scale, before = self.scale, self._paths.strongest
        while scale > LEAST * self.first:
            wanted = self._alpha * scale
            strength = max(wanted, SLOWLY * before)  # further down at once, columns would join that nobody needs
            found = self.at(strength)
            yield found
            if strength == wanted and found.scale > 0.99 * scale:
                return
            scale, before = found.scale, strength
