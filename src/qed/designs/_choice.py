"""Pick a design for what is given, by what it can do."""

from __future__ import annotations

from typing import Any

from qed.core._errors import InvalidDataType
from qed.data import Source
from qed.designs._chunked import Chunked
from qed.designs._design import Design
from qed.designs._tables import is_table, table_design


def design(X: Any) -> Design:
    """Return a design over X, without copying it.

    Parameters
    ----------
    X : ndarray, scipy.sparse CSR or CSC, Source, or Design
        A design is returned as it is; a source is read again for each product.
    """
    if is_table(X):
        return table_design(X)
    if isinstance(X, Design):
        return X
    if isinstance(X, Source):
        return Chunked(X)
    raise InvalidDataType(
        f"A design is made of a NumPy array, a SciPy CSR or CSC matrix, or a source (qed.scan); got {type(X).__name__}."
    )
