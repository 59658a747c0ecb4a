"""What the second derivatives of a quadratic objective prove: they are the same everywhere, so that no distance is left open.

Of other objectives they tell the step of Newton's method from where they were taken.

With gradient g and second derivatives H the objective falls by exactly ``g'H⁻¹g / 2`` to its optimum. Columns are scaled so that
the diagonal of H is one; its least eigenvalue, by which rounding is multiplied, is at least one over the trace of the inverse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.convex import _kernels
from qed.convex._curvature_bound import FLATTEST, UNIT

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


@dataclass(frozen=True, eq=False)
class Bowl:
    """Second derivatives of an objective, factorised.

    Attributes
    ----------
    size : ndarray of shape (q,)
        What columns, and the constant last, are divided by.
    unit : ndarray of shape (q,)
        Lengths of the columns, and one for the constant: what rounding_error in a gradient is measured by.
    factor : ndarray of shape (q, q)
        Lower triangle whose square is the matrix so scaled.
    least : float
        Lower bound on its eigenvalues.
    sure : float
        By how much rounding may have made its inverse too small.
    """

    size: Vector
    unit: Vector
    factor: Vector
    least: float
    sure: float

    @classmethod
    def of(cls, problem: Problem, second: Vector) -> Bowl | None:
        """Factorise second derivatives of the loss by the coefficients and the intercept; None where they are too flat.

        The loss has one score a row, and the penalty is a sum over coordinates. For `bound` both must be quadratic.
        """
        n, p = problem.shape
        q = p + 1 if problem.free_intercept else p
        matrix = second[:q, :q].copy()
        diagonal = np.einsum("ii->i", matrix)
        diagonal[:p] += problem.penalty.curvature(np.zeros(p))
        size = np.sqrt(np.maximum(diagonal, 0.0))
        if not 0 < size.min() <= size.max() < np.inf:
            return None
        matrix /= np.multiply.outer(size, size)
        factor = _kernels.cholesky(matrix)
        if factor is None:
            return None
        inverse = _kernels.solve_cholesky(factor, np.eye(q))
        least = 0.99 / float(inverse.trace())  # the inverse is rounded, by far less than that
        unit = np.ones(q)
        unit[:p] = problem.sizes
        terms = min(n, 8192) + 64 if problem.design.centres_first else 2 * n
        off = 4 * UNIT * (terms + 8 * q) * q
        if not problem.design.centres_first:
            # what was summed has the whole length of the columns, not that of their spread
            off *= max(1.0, float((unit / size).max()) ** 2)
        if not least > max(FLATTEST * q, 4 * off):
            return None
        return cls(size, unit, factor, least, 1.0 / (1.0 - off / least))

    def step(self, g: Vector) -> Vector:
        """Return ``H⁻¹ g`` for a gradient g, the intercept last if there is one."""
        return np.asarray(_kernels.solve_cholesky(self.factor, g[: len(self.size)] / self.size) / self.size)

    def bound(
        self,
        w: Vector,  # noqa: ARG002  where the point lies does not matter
        t: Vector,  # noqa: ARG002
        g: Vector,
        rounding_error: float = 0.0,
        target: float = 0.0,  # noqa: ARG002
    ) -> tuple[float, float]:
        """Return the distance from the optimum, and the rounding to be added; as `Floor.bound` does.

        ``g`` is the gradient of the objective, the intercept last, and ``rounding_error`` the error of its entries in units of the
        lengths of the columns.
        """
        g = g[: len(self.size)]
        error = (rounding_error * self.unit + 8 * UNIT * np.abs(g)) / self.size
        square = self.sure * max(0.0, float(g @ self.step(g)))
        rounding = math.sqrt(self.sure * float(error @ error) / self.least)
        return 0.5 * square, rounding * (math.sqrt(square) + 0.5 * rounding)
