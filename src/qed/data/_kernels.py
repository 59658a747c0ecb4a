"""The one interface of `qed.data` to native code: fixes layout and types, and says how much the kernels round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed import _native
from qed.core._errors import InvalidData
from qed.core._kernels import all_within
from qed.core._tables import is_sparse
from qed.data._double_double import Pair

if TYPE_CHECKING:
    from qed.data._chunk import Chunk

UNIT = 2.0**-53
FLOAT64 = np.dtype(np.float64)
Array = np.ndarray[Any, Any]


class Moments(NamedTuple):
    """Weight, sums and products of the rows of a chunk, less a shift; None means zero."""

    weight: float
    shift: Array | None
    sums: Array
    products: Array

    def centred(self) -> tuple[Pair, Pair]:
        """Return mean and scatter in double-double; no diagonal entry of the scatter is negative."""
        mean, mean_low, scatter, scatter_low = _native.centre_moments(*self)
        return Pair(mean, mean_low), Pair(scatter, scatter_low)


def moments(chunk: Chunk, step: int, rows: Array | None) -> Moments:
    """Sum the rows of a chunk that are listed, or all, in one pass, about a row near their mean that every step-th row tells.

    Sparse chunks are summed about zero: a shift would fill them.
    """
    y = np.empty((chunk.n_rows, 0)) if chunk.y is None else strided(chunk.y)
    s = None if chunk.s is None else np.ascontiguousarray(chunk.s if rows is None else chunk.s[rows])
    if is_sparse(chunk.X):
        check_indices(chunk.X)
        X = canonical(chunk.X.tocsr())
        X, y = (X, y) if rows is None else (X[rows], y[rows])
        weight, sums, products = _native.csr_moments(*csr_arrays(X), X.shape, y, s)
        return Moments(weight, None, sums, products)
    X = strided(chunk.X)
    if rows is None:
        shift = _native.typical_row(X, y, s, step)
    else:
        looked = rows[::step]
        shift = _native.typical_row(X[looked], y[looked], None if s is None else s[::step].copy(), 1)
    weight, sums, products = _native.moments(X, y, s, shift, rows)
    return Moments(weight, shift, sums, products)


def rounding(chunk: Chunk, n: int) -> tuple[float, float]:
    """Bound the relative errors γ of the sums and products, and η of the weight, that `moments` gives of n rows of a chunk.

    The dense kernel sums panels, adds panels to blocks and merges blocks with compensation: its longest chain of
    roundings is `product_terms`, however many rows there are. The number of rows covers any order of summation.
    """
    most = int(_native.product_terms)
    roundings = (n if is_sparse(chunk.X) else min(n, most)) + 16  # sixteen: shift, root of the weight, centring
    gamma = roundings * UNIT / (1 - roundings * UNIT)
    # The weight is summed with compensation: two roundings, and a term of second order.
    eta = 0.0 if chunk.s is None else 4 * UNIT + 2 * (n * UNIT) ** 2
    return gamma, eta


def class_sums(
    X: Array, codes: Array, n_classes: int, s: Array | None, shift: Array | None = None, *, squares: bool = False
) -> tuple[Array, int]:
    """Sum ``s (x - shift)`` for each class and column, (k, p); with ``squares`` their squares below, (2 k, p).

    With the longest chain of roundings behind a sum.
    """
    s = None if s is None else np.ascontiguousarray(s)
    sums, terms = _native.class_sums(strided(X), np.ascontiguousarray(codes), n_classes, s, shift, squares)
    return sums, int(terms)


def sparse_class_sums(X: Any, codes: Array, n_classes: int, s: Array | None) -> tuple[Array, int]:
    """Do the same for compressed rows or columns, about zero: one addition for each entry, however many classes there are."""
    n, p = X.shape
    place = codes.astype(np.int64) * p
    values = X.data.astype(np.float64, copy=False)
    if X.format == "csr":
        counts = np.diff(X.indptr)
        at = np.repeat(place, counts)
        at += X.indices
        weight = None if s is None else np.repeat(s, counts)
    else:
        at = place[X.indices]
        at += np.repeat(np.arange(p), np.diff(X.indptr))
        weight = None if s is None else s[X.indices]
    sums = np.bincount(at, values if weight is None else values * weight, n_classes * p)
    return sums.reshape(n_classes, p).astype(np.float64, copy=False), n


def category_sums(X: Array, sizes: Array, place: Array, n_classes: int, s: Array | None) -> Array:
    """Sum the weights of each category of each column in each class, (k, total of sizes)."""
    starts, columns, ones = category_entries(X, sizes)
    shape = (len(X), int(sizes.sum()))
    sums = _native.csr_rmatmul(starts, columns, ones, shape, _of_class(place, n_classes, s))
    return np.ascontiguousarray(sums.T)


def category_entries(X: Array, sizes: Array) -> tuple[Array, Array, Array]:
    """Return a table of whole numbers as compressed rows with a one for each, in the column of its category."""
    n, p = X.shape
    width = np.int32 if max(n * p, int(sizes.sum())) < 2**31 else np.int64
    columns: Array = X.astype(width)
    np.add(columns, (np.cumsum(sizes) - sizes).astype(width), out=columns)
    return np.arange(0, n * p + 1, p, dtype=width), columns.reshape(-1), np.ones(n * p)


def _of_class(place: Array, n_classes: int, s: Array | None) -> Array:
    """Return the weight of each row in the column of its class, and zeros elsewhere."""
    of_class = np.zeros((len(place), n_classes))
    of_class[np.arange(len(place)), place] = 1.0 if s is None else s
    return of_class


def plain(a: Any) -> Array:
    """Return float64 that is contiguous and aligned; what is so already is returned at once."""
    if type(a) is np.ndarray and a.dtype is FLOAT64 and a.flags.carray:
        return a
    return np.require(a, dtype=np.float64, requirements=["C", "A"])


def strided(a: Array) -> Array:
    """Return the array as the kernels want it: aligned, native byte order, strides in whole elements; else a copy."""
    if a.flags.aligned and a.dtype.isnative and all(stride % a.itemsize == 0 for stride in a.strides):
        return a
    return np.array(a, dtype=a.dtype.newbyteorder("="), order="C")  # a copy: misaligned data stay misaligned otherwise


def products(X: Any, weights: Array, levels: Array) -> Array:
    """Return ``X @ weights.T + levels`` in float64, for dense or compressed rows or columns."""
    w, b = np.ascontiguousarray(weights.T), np.ascontiguousarray(levels)
    if isinstance(X, np.ndarray):
        return np.asarray(_native.matmul(strided(X), w, b, None, True))
    if X.format == "csc":  # the rows of the transpose
        return np.asarray(_native.csr_rmatmul(*csr_arrays(X), X.shape[::-1], w) + b)
    wide = X.astype(np.float64) if X.dtype == np.float32 else X  # or sums would be rounded to float32
    return np.asarray(_native.csr_matmul(*csr_arrays(wide), X.shape, w, b))


def transposed_products(X: Any, shares: Array) -> Array:
    """Return ``shares.T @ X``, (k, p), for dense rows or compressed rows."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(np.asarray(_native.rmatmul(strided(X), plain(shares))).T)
    return np.ascontiguousarray(np.asarray(_native.csr_rmatmul(*csr_arrays(X), X.shape, plain(shares))).T)


def add_outer(scatter: Pair, other: Pair | None, step: Pair, factor: Pair) -> Pair:
    """Return ``scatter + other + factor * step step'`` in double-double, in one pass."""
    more, more_low = (None, None) if other is None else (square(other.high), square(other.low))
    step_high, step_low = (np.ascontiguousarray(part, dtype=np.float64) for part in step)
    high, low = _native.add_outer(
        square(scatter.high),
        square(scatter.low),
        more,
        more_low,
        step_high,
        step_low,
        float(factor.high),
        float(factor.low),
    )
    return Pair(high, low)


def square(a: Array) -> Array:
    """Return a matrix of float64 in C order."""
    return np.require(a, dtype=np.float64, requirements=["C", "A"])


def canonical(X: Any) -> Any:
    """Return a sparse matrix in which no entry is stored twice: X itself, or else a copy."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def check_indices(X: Any) -> None:
    """Refuse a sparse matrix whose indices leave its shape: SciPy and the kernels would follow them anywhere."""
    starts, indices = X.indptr, X.indices
    major, minor = X.shape if X.format == "csr" else X.shape[::-1]
    is_sound = len(starts) == major + 1 and starts[0] == 0 and starts[-1] == len(indices) == len(X.data)
    is_sound = is_sound and bool((starts[1:] >= starts[:-1]).all())
    if not is_sound or not all_within(indices, minor):
        raise InvalidData(
            f"The sparse matrix of shape {X.shape} is damaged: its indices do not fit its shape. "
            "Build it again, for instance with scipy.sparse.csr_array((data, (rows, columns)), shape=...)."
        )


def csr_arrays(X: Any) -> tuple[Array, Array, Array]:
    """Return starts, indices and values of compressed rows (or columns), the indices of one width.

    The same three arrays describe a matrix by columns and its transpose by rows.
    """
    width = np.promote_types(X.indptr.dtype, X.indices.dtype)
    starts, indices = (np.ascontiguousarray(a, dtype=width) for a in (X.indptr, X.indices))
    return starts, indices, strided(np.ascontiguousarray(X.data))


def look(X: Any, s: Array | None) -> tuple[Array, int]:
    """Count, weight, mean, scatter, least and largest entry of each column, (6, p); and the longest chain of roundings."""
    if not is_sparse(X):
        numbers, terms = _native.look(strided(X), None if s is None else np.ascontiguousarray(s))
        return numbers, int(terms)
    return _look_sparse(X, s), X.shape[0] + 16


def _weight_of_zeros(X: Any, s: Array, major: Array) -> Array:
    """Return the weight of the places of each column without an entry: that of all rows less that of entries.

    The difference cancels where almost all weight is on entries. Weights are therefore cut into multiples of the last place of
    their sum, whose sums are exact, and what is left of them.
    """
    rows, columns = (major, X.indices) if X.format == "csr" else (X.indices, major)
    most = 2.0 ** np.ceil(np.log2(max(float(s.sum()), np.finfo(np.float64).tiny)))
    whole = (s + most) - most
    parts = [float(part.sum()) - np.bincount(columns, part[rows], X.shape[1]) for part in (whole, s - whole)]
    return np.asarray(np.maximum(parts[0] + parts[1], 0.0))


def _look_sparse(X: Any, s: Array | None) -> Array:
    """Do the same for compressed rows or columns; places without an entry are zeros."""
    n, p = X.shape
    major = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
    rows, columns = (major, X.indices) if X.format == "csr" else (X.indices, major)
    values = X.data.astype(np.float64, copy=False)
    here = values == values  # noqa: PLR0124  not NaN
    if not here.all():
        rows, columns, gaps, values = rows[here], columns[here], columns[~here], values[here]
        gap_weight = np.bincount(
            gaps, None if s is None else s[major[~here] if X.format == "csr" else X.indices[~here]], p
        )
        n_gaps = np.bincount(gaps, minlength=p)
    else:
        gap_weight = n_gaps = np.zeros(p)
    w = None if s is None else s[rows]

    def summed(numbers: Array) -> Array:
        return np.bincount(columns, numbers if w is None else w * numbers, p)

    stored = np.bincount(columns, minlength=p)
    count, weight = n - n_gaps, (float(n) if s is None else float(s.sum())) - gap_weight
    zeros = n - n_gaps - stored if s is None else _weight_of_zeros(X, s, major)
    safe = np.where(weight > 0, weight, 1.0)
    mean = summed(values) / safe
    scatter = summed((values - mean[columns]) ** 2) + zeros * mean**2
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    np.minimum.at(low, columns, values)
    np.maximum.at(high, columns, values)
    holes = stored < count
    low, high = np.where(holes, np.minimum(low, 0), low), np.where(holes, np.maximum(high, 0), high)
    return np.stack([count.astype(np.float64), weight.astype(np.float64), mean, scatter, low, high])
