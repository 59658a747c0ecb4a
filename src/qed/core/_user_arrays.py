"""Small functions that scripts import from ``utils``: products and norms of rows, batches, kinds of targets, lists of models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


def softmax(X: Any, copy: bool = True) -> Array:
    """Return exponentials divided by their sum, for each row.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Scores.
    copy : bool, default=True
        Whether an array of floats is left as it is; with False the answer is written into it.

    Returns
    -------
    ndarray of shape (n, p)
        Rows that add up to 1.

    Examples
    --------
    >>> from qed.utils.extmath import softmax
    >>> softmax([[0.0, 0.0], [1000.0, 0.0]]).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    given = np.asarray(X)
    out = np.array(given, dtype=np.result_type(given, np.float32), copy=True if copy else None)
    out -= out.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def row_norms(X: Any, squared: bool = False) -> Array:
    """Return the Euclidean norm of each row of a dense or sparse table.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p)
        Rows.
    squared : bool, default=False
        Whether to return squares of the norms.

    Returns
    -------
    ndarray of shape (n,)
        Norms.
    """
    rows: Any = X.tocsr() if is_sparse(X) else np.asarray(X)
    squares = (
        np.asarray(rows.multiply(rows).sum(axis=1)).ravel() if is_sparse(rows) else np.einsum("ij,ij->i", rows, rows)
    )
    return np.asarray(squares if squared else np.sqrt(squares))


def squared_norm(x: Any) -> float:
    """Return the sum of squares of all entries.

    Parameters
    ----------
    x : array-like
        Numbers.

    Returns
    -------
    float
        The squared Euclidean or Frobenius norm.
    """
    flat = np.ravel(np.asarray(x))
    return float(np.dot(flat, flat))


def safe_sparse_dot(a: Any, b: Any, *, dense_output: bool = False) -> Any:
    """Return the product of two tables, dense or sparse.

    Parameters
    ----------
    a, b : array-like or sparse matrix
        Tables of at most two dimensions.
    dense_output : bool, default=False
        Whether the product of two sparse matrices is returned as an array.

    Returns
    -------
    ndarray or sparse matrix
        The product.
    """
    left, right = (one if is_sparse(one) else np.asarray(one) for one in (a, b))
    if left.ndim > 2 or right.ndim > 2:
        raise InvalidData(
            f"safe_sparse_dot takes tables of at most two dimensions, got {left.shape} and {right.shape}."
        )
    product = left @ right
    return product.toarray() if dense_output and is_sparse(product) else product


def gen_batches(n: int, batch_size: int, *, min_batch_size: int = 0) -> Iterator[slice]:
    """Yield slices of equal length that cover n rows; the last one has what is left.

    Parameters
    ----------
    n : int
        Rows.
    batch_size : int
        Rows of each slice.
    min_batch_size : int, default=0
        The last slice takes in a rest of fewer rows than these.

    Yields
    ------
    slice
        The next rows.

    Examples
    --------
    >>> from qed.utils import gen_batches
    >>> list(gen_batches(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise InvalidParameter(f"gen_batches.batch_size must be a whole number >= 1, got {batch_size!r:.60}.")
    start = 0
    while start + batch_size + min_batch_size <= n:
        yield slice(start, start + int(batch_size))
        start += int(batch_size)
    if start < n:
        yield slice(start, int(n))


def gen_even_slices(n: int, n_packs: int, *, n_samples: int | None = None) -> Iterator[slice]:
    """Yield slices that share out n rows; lengths differ by one at most.

    Parameters
    ----------
    n : int
        Rows.
    n_packs : int
        Slices.
    n_samples : int, optional
        Where slices end at the latest.

    Yields
    ------
    slice
        The next rows.
    """
    if not isinstance(n_packs, int | np.integer) or n_packs < 1:
        raise InvalidParameter(f"gen_even_slices.n_packs must be a whole number >= 1, got {n_packs!r:.60}.")
    start = 0
    for number in range(int(n_packs)):
        length = n // n_packs + (number < n % n_packs)
        if length > 0:
            end = start + length
            yield slice(start, end if n_samples is None else min(int(n_samples), end))
            start = end


def type_of_target(y: Any, input_name: str = "") -> str:
    """Tell what kind of target a column or table of labels or numbers is, in scikit-learn's words.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, m), or sparse
        The target.
    input_name : str
        Its name in messages.

    Returns
    -------
    {"binary", "multiclass", "continuous", "multilabel-indicator", "multiclass-multioutput", "continuous-multioutput", "unknown"}
        Two labels at most; more; numbers with fractions; a table of zeros and ones; tables of labels or numbers; anything else.

    Examples
    --------
    >>> from qed.utils.multiclass import type_of_target
    >>> type_of_target([0, 1, 1]), type_of_target(["a", "b", "c"]), type_of_target([0.5, 2.0])
    ('binary', 'multiclass', 'continuous')
    """
    array = y.toarray() if is_sparse(y) else np.asarray(y)
    if isinstance(y, str) or array.ndim == 0:
        raise InvalidParameter(
            f"Expected array-like (array or non-string sequence), got {input_name or 'y'}={y!r:.60}."
        )
    words = array.dtype.kind == "O" and all(isinstance(one, str) for one in array.flat)
    if array.ndim > 2 or (array.dtype.kind == "O" and not words) or (array.ndim == 2 and array.shape[1] == 0):
        return "unknown"
    values = np.unique(array.astype(str) if words else array)
    several = array.ndim == 2 and array.shape[1] > 1
    if several and array.dtype.kind in "biuf" and len(values) <= 2 and bool(np.isin(values, (0, 1)).all()):
        return "multilabel-indicator"
    suffix = "-multioutput" if several else ""
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InvalidData(f"Input {input_name or 'y'} contains NaN or infinity.")
        if (array != np.trunc(array)).any():
            return f"continuous{suffix}"
    return f"multiclass{suffix}" if len(values) > 2 or several else "binary"


def unique_labels(*ys: Any) -> Array:
    """Return the labels that occur in any of several columns, sorted.

    Parameters
    ----------
    *ys : array-like of shape (n,)
        Labels; all words or all numbers.

    Returns
    -------
    ndarray
        Each label once.
    """
    if not ys:
        raise InvalidParameter("unique_labels needs a column of labels at least, got none.")
    every = [np.unique(np.asarray(y)) for y in ys]
    if len({one.dtype.kind in "USO" for one in every}) > 1:
        raise InvalidData("unique_labels got words and numbers. Give labels of one kind.")
    return np.unique(np.concatenate(every))


def estimator_html_repr(estimator: Any) -> str:
    """Return the diagram of a model that notebooks show, as HTML.

    Parameters
    ----------
    estimator : Estimator
        A model, fitted or not.

    Returns
    -------
    str
        HTML without links to other files.
    """
    show = getattr(estimator, "_repr_html_", None)
    if isinstance(estimator, type) or show is None:
        raise InvalidParameter(f"estimator_html_repr takes a model of qed, got {estimator!r:.60}.")
    return str(show())


def all_estimators(type_filter: Any = None) -> list[tuple[str, type[Any]]]:
    """List every model of qed, or those of some kinds.

    Parameters
    ----------
    type_filter : {"classifier", "regressor", "cluster", "transformer"} or list of them, optional
        The kinds wanted.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name.
    """
    found: list[tuple[str, type[Any]]] = import_module("qed").all_estimators()
    if type_filter is None:
        return found
    wanted = [type_filter] if isinstance(type_filter, str) else list(type_filter)
    roles = {"classifier": "classifier", "regressor": "regressor", "cluster": "clusterer"}
    strange = [one for one in wanted if one not in {*roles, "transformer"}]
    if strange:
        raise InvalidParameter(
            f"all_estimators.type_filter must be 'classifier', 'regressor', 'cluster' or 'transformer', got {strange!r:.80}."
        )
    kinds = {roles.get(one) for one in wanted} - {None}
    return [
        (name, kind)
        for name, kind in found
        if kind._declared_traits.role in kinds or ("transformer" in wanted and hasattr(kind, "transform"))  # noqa: SLF001
    ]
