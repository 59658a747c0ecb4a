"""Reading X: whatever holds a table of numbers becomes an array or a sparse container, copied only if it must be."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _kernels
from qed.core._arrays import as_array, floats
from qed.core._errors import InvalidData, InvalidDataType

if TYPE_CHECKING:
    from qed.core._params import Array
    from qed.core._traits import Traits


def read(X: Any, what: str, traits: Traits, owner: str) -> tuple[Any, Array | None]:
    """Read a table as float rows and columns, with the names of its columns.

    Parameters
    ----------
    X : object
        An array, list, frame, sparse container, or anything that NumPy can see as an array.
    what : str
        What to call it in messages.
    traits : Traits
        What the model accepts.
    owner : str
        The name of the model.

    Returns
    -------
    ndarray or scipy.sparse container
        Float32 or float64.
    ndarray or None
        Names of the columns.
    """
    names = None
    if type(X) is not np.ndarray:
        if is_sparse(X):
            return _sparse(X, what, traits, owner), None
        if not isinstance(X, np.ndarray | list | tuple):
            from qed.core import _frames  # noqa: PLC0415  (loads narwhals)

            frame = _frames.table(X, what)
            if frame is not None:
                X, names = frame
        X = as_array(X, what)
    if X.ndim != 2:
        raise InvalidData(_wrong_dimension(X, owner))
    return floats(X, what), names


def is_sparse(X: Any) -> bool:
    """Tell whether X is a SciPy sparse container, without loading SciPy to find out."""
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return issparse is not None and bool(issparse(X))


def _wrong_dimension(X: Array, owner: str) -> str:
    reshape = (
        "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or"
        " array.reshape(1, -1) if it contains a single sample."
    )
    if X.ndim == 0:
        return f"Expected 2D array, got scalar array instead:\narray={X!r:.100}.\n{reshape}"
    if X.ndim == 1:
        with np.printoptions(threshold=10):
            return f"Expected 2D array, got 1D array instead:\narray={X!s:.200}.\n{reshape}"
    return (
        f"Found array with dim {X.ndim}, while dim <= 2 is required by {owner}. Its shape is {X.shape}; make"
        " it one of rows and columns, such as X.reshape(len(X), -1)."
    )


def _sparse(X: Any, what: str, traits: Traits, owner: str) -> Any:
    if not traits.sparse:
        raise InvalidDataType(
            f"Sparse data was passed for {what}, but dense data is required by {owner}. Use '.toarray()' to convert"
            " to a dense numpy array, if it fits in memory."
        )
    if X.ndim != 2:
        raise InvalidData(f"Expected 2D input, got input with shape {X.shape}.\nReshape your data to rows and columns.")
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    data = floats(X.data, what)
    require_indices(X, what)
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:  # one width for both, as native code reads them
        wide = np.promote_types(indices.dtype, indptr.dtype)
        indices, indptr = indices.astype(wide, copy=False), indptr.astype(wide, copy=False)
    if data is not X.data or indices is not X.indices or indptr is not X.indptr:
        X = type(X)((data, indices, indptr), shape=X.shape)
        # The constructor may narrow 64-bit indices it finds small enough, which costs a copy but no meaning.
    if not X.has_canonical_format:
        # Two entries in one place mean their sum, and products of entries would see them apart.
        X = X.copy()
        X.sum_duplicates()
    return X


def require_indices(X: Any, what: str) -> None:
    """Refuse a container whose indices point outside it: native code would follow them."""
    major, minor = X.shape if X.format == "csr" else X.shape[::-1]
    indices, indptr = X.indices, X.indptr
    sound = len(indptr) == major + 1 and indptr[0] == 0 and indptr[-1] <= min(len(indices), len(X.data))
    sound = sound and bool((indptr[1:] >= indptr[:-1]).all())
    used = indices[: indptr[-1]] if sound else indices
    if not sound or not _kernels.all_within(used, minor):
        raise InvalidData(
            f"{what} is a sparse container whose indices point outside its shape {X.shape}. Rebuild it with"
            " scipy.sparse.coo_array((data, (rows, columns)), shape=shape).tocsr()."
        )


def csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int], *, is_sorted: bool = False) -> Any:
    """Make a CSR matrix of its parts, and look at them: one whose indices leave its shape cannot be made.

    SciPy does not look, and writes outside of its arrays later. `is_sorted` says that indices rise within every row.
    """
    from scipy import sparse  # noqa: PLC0415

    if data.dtype.kind not in "biuf":
        raise InvalidData(f"A sparse result holds numbers, and {data.dtype} was asked for. Choose another dtype.")
    made = sparse.csr_matrix((data, indices, indptr), shape=shape)
    require_indices(made, "The result")
    if is_sorted:
        made.has_sorted_indices = made.has_canonical_format = True
    return made


def only_column(table: Any) -> Any:
    """Return the single column of a table as a sequence of its values."""
    if hasattr(table, "iloc"):  # pandas
        return table.iloc[:, 0]
    if hasattr(table, "to_series"):  # polars
        return table.to_series(0)
    return table.column(0).to_numpy() if hasattr(table, "column") else table[:, 0]  # Arrow; arrays
