"""Classes as shells around a centre, and tables whose rows and columns fall into blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.datasets._shapes import require_count
from qed.datasets._stream import shuffled, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def make_gaussian_quantiles(
    *,
    mean: Any = None,
    cov: float = 1.0,
    n_samples: int = 100,
    n_features: int = 2,
    n_classes: int = 3,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw normal rows, and call shells of equal size around their mean classes.

    Parameters
    ----------
    mean : array-like of shape (n_features,), optional
        The mean; zero by default.
    cov : float
        Variance of each column.
    n_samples, n_features : int
        Shape of X.
    n_classes : int
        Classes, from the inside out.
    shuffle : bool
        Whether rows are shuffled; otherwise the nearest to the mean comes first.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X, y : ndarray
        Rows and classes.
    """
    owner = "make_gaussian_quantiles"
    require_count(owner, n_samples=n_samples, n_features=n_features, n_classes=n_classes)
    if n_samples < n_classes:
        raise InvalidParameter(f"{owner}: n_samples={n_samples} must be at least n_classes={n_classes}.")
    centre = np.zeros(n_features) if mean is None else np.asarray(mean, dtype=np.float64)
    if centre.shape != (n_features,):
        raise InvalidParameter(f"{owner}: mean must have a number for each of {n_features} columns, got {mean!r}.")
    rng = stream(random_state)
    X = rng.multivariate_normal(centre, cov * np.identity(n_features), (n_samples,))
    X = X[np.argsort(np.sum((X - centre) ** 2, axis=1))]
    y = np.minimum(np.arange(n_samples) // (n_samples // n_classes), n_classes - 1)
    if shuffle:
        X, y = shuffled(rng, X, y)
    return X, y


def make_hastie_10_2(n_samples: int = 12000, *, random_state: Any = None) -> tuple[Array, Array]:
    """Draw ten normal columns, with label 1 where their squares add up to more than 9.34, and -1 elsewhere.

    The classes have about equal size: 9.34 is nearly the median of chi-squared with ten degrees of freedom.

    Parameters
    ----------
    n_samples : int
        Rows.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 10)
        Rows.
    y : ndarray of shape (n_samples,)
        Labels.
    """
    require_count("make_hastie_10_2", n_samples=n_samples)
    X = stream(random_state).normal(size=(n_samples, 10))
    return X, np.where((X**2).sum(axis=1) > 9.34, 1.0, -1.0)


def make_biclusters(
    shape: tuple[int, int],
    n_clusters: int,
    *,
    noise: float = 0.0,
    minval: float = 10,
    maxval: float = 100,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Draw a table that is constant on blocks along its diagonal and zero elsewhere, with rows and columns shuffled.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    n_clusters : int
        Blocks.
    noise : float
        Standard deviation of the noise.
    minval, maxval : float
        Between which the constants are drawn.
    shuffle : bool
        Whether rows and columns are shuffled.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape ``shape``
        The table.
    rows, columns : ndarray of bool, shape (n_clusters, n_rows) and (n_clusters, n_columns)
        Which rows and columns belong to each block.
    """
    require_count("make_biclusters", n_clusters=n_clusters, n_rows=shape[0], n_columns=shape[1])
    rng = stream(random_state)
    values = rng.uniform(minval, maxval, n_clusters)
    rows, columns = (_block_of(rng, size, n_clusters) for size in shape)
    X = np.where(rows[:, np.newaxis] == columns, values[rows][:, np.newaxis], 0.0)
    X, rows, columns = _finished(rng, random_state, X, rows, columns, noise=noise, shuffle=shuffle)
    every = np.arange(n_clusters)[:, np.newaxis]
    return X, rows == every, columns == every


def make_checkerboard(
    shape: tuple[int, int],
    n_clusters: Any,
    *,
    noise: float = 0.0,
    minval: float = 10,
    maxval: float = 100,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Draw a table that is constant on each field of a board, with rows and columns shuffled.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    n_clusters : int or (int, int)
        Groups of rows and of columns.
    noise : float
        Standard deviation of the noise.
    minval, maxval : float
        Between which the constants are drawn.
    shuffle : bool
        Whether rows and columns are shuffled.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape ``shape``
        The table.
    rows, columns : ndarray of bool, shape (fields, n_rows) and (fields, n_columns)
        Which rows and columns belong to each field.
    """
    down, across = n_clusters if hasattr(n_clusters, "__len__") else (n_clusters, n_clusters)
    require_count("make_checkerboard", n_clusters=down, n_rows=shape[0], n_columns=shape[1])
    require_count("make_checkerboard", n_clusters=across)
    rng = stream(random_state)
    rows, columns = _block_of(rng, shape[0], down), _block_of(rng, shape[1], across)
    X = rng.uniform(minval, maxval, (down, across))[rows][:, columns]
    X, rows, columns = _finished(rng, random_state, X, rows, columns, noise=noise, shuffle=shuffle)
    row, column = np.indices((down, across)).reshape(2, -1, 1)
    return X, rows == row, columns == column


def _block_of(rng: Any, size: int, count: int) -> Array:
    """Draw how many rows or columns each block has, and return the block of each of them."""
    return np.repeat(np.arange(count), rng.multinomial(size, np.repeat(1.0 / count, count)))


def _finished(
    rng: Any, random_state: Any, X: Array, rows: Array, columns: Array, *, noise: float, shuffle: bool
) -> tuple[Array, Array, Array]:
    if noise > 0:
        X = X + rng.normal(scale=noise, size=X.shape)
    if not shuffle:
        return X, rows, columns
    again = stream(random_state)  # scikit-learn starts from the seed once more
    down, across = again.permutation(X.shape[0]), again.permutation(X.shape[1])
    return X[down][:, across], rows[down], columns[across]
