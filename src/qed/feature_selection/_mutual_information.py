"""Mutual information of a column and the target, by distances to nearest neighbours (Kraskov, Stögbauer and Grassberger; Ross)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, _finite
from qed.core._arrays import floats
from qed.core._jobs import mapped
from qed.core._records import named_function
from qed.core._tables import is_sparse
from qed.feature_selection._scores import read_labels, read_rows
from qed.neighbors import NearestNeighbors

if TYPE_CHECKING:
    from qed.core import Array

NOISE = 1e-10  # relative to the size of a column: breaks ties between equal values, and nothing else


@named_function
def mutual_info_classif(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,  # noqa: ARG001
    random_state: Any = None,
    n_jobs: Any = None,
) -> Array:
    """Estimate the mutual information of every column and the class, in nats.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows. Sparse tables hold discrete columns.
    y : array-like of shape (n,)
        Labels.
    discrete_features : {"auto"}, bool, or array-like of bool or int
        Which columns hold categories rather than measurements; "auto" is all of a sparse table and none of a dense one.
    n_neighbors : int
        How many neighbours distances are measured to; more have a smaller variance and a larger bias.
    copy : bool
        Not needed: X is never changed.
    random_state : int, RandomState or None
        Seed of the noise that breaks ties between equal measurements. None is a fixed seed: the answer depends on the data alone.
    n_jobs : int, optional
        Columns at the same time, in threads.

    Returns
    -------
    ndarray of shape (p,)
        Estimates >= 0; zero for independent columns.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.feature_selection import mutual_info_classif
    >>> y = np.arange(100) % 2
    >>> mutual_info_classif(np.column_stack([y, np.arange(100) // 50]), y, discrete_features=True).round(3).tolist()
    [0.693, 0.0]
    """
    rows, target = read_rows(X, y, "mutual_info_classif")
    _, codes = read_labels(target)
    return _information(rows, codes, discrete_features, n_neighbors, random_state, n_jobs, discrete_target=True)


@named_function
def mutual_info_regression(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,  # noqa: ARG001
    random_state: Any = None,
    n_jobs: Any = None,
) -> Array:
    """Estimate the mutual information of every column and a target of numbers, in nats.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows. Sparse tables hold discrete columns.
    y : array-like of shape (n,)
        Targets.
    discrete_features : {"auto"}, bool, or array-like of bool or int
        Which columns hold categories rather than measurements; "auto" is all of a sparse table and none of a dense one.
    n_neighbors : int
        How many neighbours distances are measured to; more have a smaller variance and a larger bias.
    copy : bool
        Not needed: X is never changed.
    random_state : int, RandomState or None
        Seed of the noise that breaks ties between equal measurements. None is a fixed seed: the answer depends on the data alone.
    n_jobs : int, optional
        Columns at the same time, in threads.

    Returns
    -------
    ndarray of shape (p,)
        Estimates >= 0; zero for independent columns.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.feature_selection import mutual_info_regression
    >>> x = np.linspace(-1, 1, 200)
    >>> bool(mutual_info_regression(x[:, None], x**2)[0] > 1)
    True
    """
    rows, target = read_rows(X, y, "mutual_info_regression")
    numbers = floats(target, "y").astype(np.float64)
    _finite.require(numbers, "y", None, "mutual_info_regression")
    return _information(rows, numbers, discrete_features, n_neighbors, random_state, n_jobs, discrete_target=False)


def _information(
    X: Any, y: Array, discrete: Any, k: int, random_state: Any, n_jobs: Any, *, discrete_target: bool
) -> Array:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidParameter(f"n_neighbors must be an integer >= 1, got {k!r}.")
    n, p = X.shape
    discrete = _discrete_columns(discrete, X, p)
    if is_sparse(X) and not discrete.all():
        raise InvalidData(
            "Sparse matrix `X` can't have continuous features. Use X.toarray(), or discrete_features=True."
        )
    if not discrete.all() or not discrete_target:
        if n <= k:
            raise InvalidData(f"{n} rows have no {k} neighbours each. Pass more rows, or a smaller n_neighbors.")
        draws = (
            random_state
            if isinstance(random_state, np.random.RandomState)
            else np.random.RandomState(random_state or 0)
        )
    columns = X.tocsc() if is_sparse(X) else X
    table: list[Array] = [
        np.asarray(columns[:, [j]].todense()).reshape(-1) if is_sparse(X) else X[:, j] for j in range(p)
    ]
    if not discrete.all():
        noise = iter(draws.standard_normal(size=(n, int((~discrete).sum()))).T)
        table = [one if fixed else _jittered(one, next(noise)) for one, fixed in zip(table, discrete, strict=True)]
    target = y if discrete_target else _jittered(y, draws.standard_normal(size=n))

    def estimate(j: int) -> float:
        x = table[j]
        if discrete[j]:
            codes = np.unique(x, return_inverse=True)[1]
            return _of_tables(codes, target) if discrete_target else _of_classes(target, codes, k)
        return _of_classes(x, target, k) if discrete_target else _of_numbers(x, target, k)

    return np.maximum(np.array(list(mapped(estimate, range(p), n_jobs)), dtype=np.float64), 0.0)


def _discrete_columns(wish: Any, X: Any, p: int) -> Array:
    if isinstance(wish, str):
        if wish != "auto":
            raise InvalidParameter(f"discrete_features must be 'auto', a bool or an array, got {wish!r}.")
        return np.full(p, is_sparse(X))
    if isinstance(wish, bool | np.bool_):
        return np.full(p, bool(wish))
    listed = np.asarray(wish)
    if listed.dtype == bool:
        if listed.shape != (p,):
            raise InvalidParameter(f"discrete_features has {listed.size} entries, and X has {p} columns.")
        return listed
    found = np.zeros(p, dtype=bool)
    found[listed.astype(np.intp)] = True
    return found


def _jittered(x: Array, noise: Array) -> Array:
    """Return a column divided by its standard deviation, with noise that makes its entries differ."""
    scale = np.std(x, dtype=np.float64)
    x = x.astype(np.float64) / (scale if scale > 10 * np.finfo(np.float64).eps * np.abs(x).max(initial=0.0) else 1.0)
    return np.asarray(x + NOISE * max(1.0, float(np.mean(np.abs(x)))) * noise)


def _of_tables(a: Array, b: Array) -> float:
    """Return the mutual information of two columns of categories."""
    counts = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(counts, (a, b), 1)
    joint = counts / len(a)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    some = joint > 0
    return float(np.sum(joint[some] * np.log(joint[some] / expected[some])))


def _of_classes(x: Array, codes: Array, k: int) -> float:
    """Return an estimate for numbers and categories: neighbours of the same category against all within their distance."""
    from scipy.special import digamma  # noqa: PLC0415

    radius, neighbours, sizes = np.zeros(len(x)), np.zeros(len(x)), np.bincount(codes)[codes]
    for label in np.flatnonzero(np.bincount(codes) > 1):
        own = np.flatnonzero(codes == label)
        order = own[np.argsort(x[own], kind="stable")]
        near = min(k, len(own) - 1)
        radius[order], neighbours[order] = _to_neighbour(x[order], near), near
    used = sizes > 1  # a category of one row has no neighbours
    if not used.any():
        return 0.0
    within = _count_nearer(x[used], radius[used]) + 1
    mean = np.mean(digamma(neighbours[used])) - np.mean(digamma(sizes[used])) - np.mean(digamma(within))
    return float(digamma(used.sum()) + mean)


def _of_numbers(x: Array, y: Array, k: int) -> float:
    """Return an estimate for two columns of numbers, from the largest difference to the k-th neighbour in the plane."""
    from scipy.special import digamma  # noqa: PLC0415

    plane = NearestNeighbors(n_neighbors=k, metric="chebyshev").fit(np.column_stack([x, y]))
    radius = plane.kneighbors()[0][:, -1]
    near = np.mean(digamma(_count_nearer(x, radius) + 1)) + np.mean(digamma(_count_nearer(y, radius) + 1))
    return float(digamma(len(x)) + digamma(k) - near)


def _to_neighbour(x: Array, k: int) -> Array:
    """Return the distance of each entry of a sorted column to its k-th neighbour: the best window of k + 1 entries around it."""
    n = len(x)
    padded = np.concatenate([np.full(k, -np.inf), x, np.full(k, np.inf)])
    best = np.full(n, np.inf)
    for left in range(k + 1):
        low, high = padded[k - left : k - left + n], padded[2 * k - left : 2 * k - left + n]
        best = np.minimum(best, np.maximum(x - low, high - x))
    return best


def _count_nearer(x: Array, radius: Array) -> Array:
    """Count for each entry the others that are nearer than its radius."""
    order = np.argsort(x, kind="stable")
    s, r = x[order], np.nextafter(radius[order], 0.0)
    n = len(s)
    low, high = np.searchsorted(s, s - r, "left"), np.searchsorted(s, s + r, "right")
    while True:  # the ends were rounded: what decides is the difference itself
        more = (low > 0) & (s - s[np.maximum(low - 1, 0)] <= r)
        less = s - s[low] > r
        up = (high < n) & (s[np.minimum(high, n - 1)] - s <= r)
        down = s[high - 1] - s > r
        if not (more.any() or less.any() or up.any() or down.any()):
            break
        low, high = low - more + less, high + up - down
    counts = np.empty(n)
    counts[order] = high - low - 1
    return counts
