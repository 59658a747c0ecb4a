"""The door of this package to compiled code: dtype, order and length are fixed here and nowhere else."""

from __future__ import annotations

from qed._native import cholesky, gram, matmul, projected_squares, rmatmul, solve_lower, solve_lower_t
from qed.core._threads import one_blas_thread

__all__ = [
    "cholesky",
    "gram",
    "matmul",
    "one_blas_thread",
    "projected_squares",
    "rmatmul",
    "solve_lower",
    "solve_lower_t",
]
