"""What least squares costs, in multiplications: once and for all by equations, or step by step."""

from __future__ import annotations

from dataclasses import dataclass

from qed.optimize._evaluate import at_least


@dataclass(frozen=True)
class LeastSquaresCost:
    """Multiplications (and divisions) of least squares with n rows and d columns.

    Attributes
    ----------
    gram : int
        ``n d**2``: all entries of X'X.
    gram_by_symmetry : int
        ``n d (d + 1) / 2``: one triangle of it.
    solve : int
        ``d**3 / 3 + d**2 - d / 3``: elimination without pivoting, then back substitution.
    gradient_step : int
        ``2 n d``: residuals, and their product with X'; d more for the step.
    """

    gram: int
    gram_by_symmetry: int
    solve: int
    gradient_step: int

    @property
    def closed_form(self) -> int:
        """Equations and their solution."""
        return self.gram_by_symmetry + self.solve

    @property
    def break_even(self) -> float:
        """Gradient steps that cost as much as the closed form."""
        return self.closed_form / self.gradient_step


def least_squares_cost(n: int, d: int) -> LeastSquaresCost:
    """Count the multiplications of the normal equations and of one gradient step.

    Doubling d multiplies the equations by 4, their solution by 8 (for large d), and a gradient step by 2.

    Parameters
    ----------
    n, d : int
        Rows and columns.

    Examples
    --------
    >>> from qed.optimize import least_squares_cost
    >>> least_squares_cost(1000, 10).gram, least_squares_cost(1000, 10).gradient_step
    (100000, 20000)
    """
    n, d = int(at_least("n", n, 1)), int(at_least("d", d, 1))
    return LeastSquaresCost(n * d * d, n * d * (d + 1) // 2, (d**3 + 3 * d**2 - d) // 3, 2 * n * d)
