"""The design of a table in memory: an array or a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._tables import is_sparse
from qed.designs._dense import Dense
from qed.designs._sparse import Sparse


def table_design(X: Any) -> Dense | Sparse:
    """Return the design over an array or a SciPy sparse matrix."""
    return Dense(X) if isinstance(X, np.ndarray) else Sparse(X)


def is_table(X: Any) -> bool:
    """Say whether X is an array or a SciPy sparse matrix; SciPy is never imported to find out."""
    return isinstance(X, np.ndarray) or is_sparse(X)
