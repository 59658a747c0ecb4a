"""One row in so many of a design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.designs import Chunked, Dense, Sparse

if TYPE_CHECKING:
    from qed.convex._problem import Problem


FEW = 10_000  # rows of a sample that are copied
GATHERED = 1 << 26  # bytes of the sample of a source, which is held in memory whatever the size of the source


def least_step(problem: Problem) -> int:
    """Return the least step between rows of a sample that memory allows."""
    n, p = problem.shape
    return -(-8 * n * p // GATHERED) if isinstance(problem.design, Chunked) else 1


def rows_apart(problem: Problem, every: int) -> Any:
    """Return the design of each so many rows, kept with the problem; None where the design cannot tell its rows apart.

    Few rows are copied, since they are read many times and rows apart are slow to find; compiled passes find many themselves.
    """
    key, design = f"one row in {every}", problem.design
    if every == 1:
        return design
    if key not in problem.kept:
        part: Any = None
        if isinstance(design, Dense):
            rows = design.table[::every]
            part = Dense(rows if len(rows) > FEW and rows.strides[1] == rows.itemsize else np.ascontiguousarray(rows))
        elif isinstance(design, Sparse):
            part = Sparse(design.table.tocsr()[::every])
        elif isinstance(design, Chunked):
            part = design.rows(slice(None, None, every))
        problem.kept[key] = part
    return problem.kept[key]
