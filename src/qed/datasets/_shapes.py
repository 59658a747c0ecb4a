"""Classes of simple shapes in two columns and around centres: blobs, moons, rings, elongated and unequal classes."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, generator
from qed.datasets._stream import shuffled, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def shares(n_samples: int, parts: int) -> list[int]:
    """Share rows out evenly, the first parts having one more."""
    return [n_samples // parts + (k < n_samples % parts) for k in range(parts)]


def require_count(owner: str, **counts: Any) -> None:
    """Refuse numbers of rows or columns below one."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
            raise InvalidParameter(f"{owner}: {name} must be an integer >= 1, got {count!r}.")


def make_blobs(
    n_samples: Any = 100,
    n_features: int = 2,
    *,
    centers: Any = None,
    cluster_std: Any = 1.0,
    center_box: tuple[float, float] = (-10.0, 10.0),
    shuffle: bool = True,
    random_state: Any = None,
    return_centers: bool = False,
) -> tuple[Array, ...]:
    """Draw normal clouds around centres.

    Parameters
    ----------
    n_samples : int or sequence of int
        Rows in all, shared out evenly; or rows of each blob, unequal ones for unbalanced classes.
    n_features : int
        Columns.
    centers : int, array-like of shape (k, n_features), or None
        Number of centres to draw (three by default), or the centres.
    cluster_std : float, sequence of float, or array-like of shape (k, n_features)
        Standard deviation: of all blobs, of each, or of each along each column, for elongated ones.
    center_box : (float, float)
        Between which numbers the coordinates of centres are drawn.
    shuffle : bool
        Whether rows are shuffled; otherwise blob follows blob.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.
    return_centers : bool
        Whether the centres are returned too.

    Returns
    -------
    X, y : ndarray
        Rows and numbers of their blobs; and the centres when asked for.

    Examples
    --------
    >>> from qed.datasets import make_blobs
    >>> X, y = make_blobs([5, 2], centers=[[0.0, 0.0], [9.0, 9.0]], cluster_std=0.0, shuffle=False)
    >>> X[-1].tolist(), y.tolist()
    ([9.0, 9.0], [0, 0, 0, 0, 0, 1, 1])
    """
    rng = stream(random_state)
    given = None if centers is None or isinstance(centers, Integral) else np.asarray(centers, dtype=np.float64)
    unequal = None if isinstance(n_samples, Integral) else [int(n) for n in n_samples]
    if given is not None:
        if given.ndim != 2:
            raise InvalidParameter(
                f"make_blobs: centers must be a table of shape (k, features), got shape {given.shape}."
            )
        k, n_features = given.shape
    else:
        k = int(centers) if centers is not None else 3 if unequal is None else len(unequal)
        require_count("make_blobs", n_features=n_features, centers=k)
        given = rng.uniform(*center_box, (k, n_features))
    if unequal is None:
        require_count("make_blobs", n_samples=n_samples)
        unequal = shares(int(n_samples), k)
    if len(unequal) != k or min(unequal) < 0:
        raise InvalidParameter(
            f"make_blobs: n_samples must list a number >= 0 for each of {k} centers, got {n_samples!r}."
        )
    width = np.asarray(cluster_std, dtype=np.float64)
    if width.ndim == 1:
        width = width[:, np.newaxis]
    if width.ndim and width.shape not in ((k, 1), (k, n_features)):
        raise InvalidParameter(
            f"make_blobs: cluster_std must be a number, one for each of {k} centers, or one for each of their"
            f" {n_features} columns, got shape {np.shape(cluster_std)}."
        )
    each = np.broadcast_to(width, (k, n_features))
    parts = [rng.normal(given[c], each[c], (n, n_features)) for c, n in enumerate(unequal)]
    X, y = np.concatenate(parts), np.repeat(np.arange(k), unequal)
    if shuffle:
        X, y = shuffled(rng, X, y)
    return (X, y, given) if return_centers else (X, y)


def _two_counts(owner: str, n_samples: Any) -> tuple[int, int]:
    if isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool) and n_samples >= 1:
        return int(n_samples) // 2, int(n_samples) - int(n_samples) // 2
    try:
        first, second = n_samples
        require_count(owner, n_samples=first)
        require_count(owner, n_samples=second)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"{owner}: n_samples must be an integer >= 1 or two of them, got {n_samples!r}."
        ) from None
    return int(first), int(second)


def _finished(random_state: Any, X: Array, y: Array, *, shuffle: bool, noise: float | None) -> tuple[Array, Array]:
    rng = stream(random_state)
    if shuffle:
        X, y = shuffled(rng, X, y)
    return (X if noise is None else X + rng.normal(scale=noise, size=X.shape)), y


def make_moons(
    n_samples: Any = 100, *, shuffle: bool = True, noise: float | None = None, random_state: Any = None
) -> tuple[Array, Array]:
    """Draw two half circles that reach into each other.

    Parameters
    ----------
    n_samples : int or (int, int)
        Rows in all, or of each moon.
    shuffle : bool
        Whether rows are shuffled.
    noise : float or None
        Standard deviation of the noise; without it the points are on the half circles exactly.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape (n, 2)
        Points.
    y : ndarray of shape (n,)
        Which moon.

    Examples
    --------
    >>> from qed.datasets import make_moons
    >>> make_moons(4, shuffle=False)[0].round(3).tolist()
    [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [2.0, 0.5]]
    """
    outer, inner = _two_counts("make_moons", n_samples)
    a, b = np.linspace(0, np.pi, outer), np.linspace(0, np.pi, inner)
    X = np.concatenate([np.column_stack([np.cos(a), np.sin(a)]), np.column_stack([1 - np.cos(b), 1 - np.sin(b) - 0.5])])
    return _finished(random_state, X, np.repeat([0, 1], [outer, inner]), shuffle=shuffle, noise=noise)


def make_circles(
    n_samples: Any = 100,
    *,
    shuffle: bool = True,
    noise: float | None = None,
    random_state: Any = None,
    factor: float = 0.8,
) -> tuple[Array, Array]:
    """Draw a ring inside a ring.

    Parameters
    ----------
    n_samples : int or (int, int)
        Rows in all, or of the outer and the inner ring.
    shuffle : bool
        Whether rows are shuffled.
    noise : float or None
        Standard deviation of the noise; without it the points are on the circles exactly.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.
    factor : float
        Radius of the inner ring, in [0, 1); that of the outer one is 1.

    Returns
    -------
    X : ndarray of shape (n, 2)
        Points.
    y : ndarray of shape (n,)
        Which ring: 0 the outer, 1 the inner.
    """
    if not 0 <= factor < 1:
        raise InvalidParameter(f"make_circles: factor must be a real number in [0, 1), got {factor!r}.")
    outer, inner = _two_counts("make_circles", n_samples)
    a, b = (np.linspace(0, 2 * np.pi, count, endpoint=False) for count in (outer, inner))
    X = np.concatenate([np.column_stack([np.cos(a), np.sin(a)]), factor * np.column_stack([np.cos(b), np.sin(b)])])
    return _finished(random_state, X, np.repeat([0, 1], [outer, inner]), shuffle=shuffle, noise=noise)


def make_xor(
    n_samples: int = 4, *, coding: str = "signs", noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Make exclusive or: four corners of a square, labelled so that no linear classifier tells them apart.

    Parameters
    ----------
    n_samples : int
        Rows; the corners come in turn, so that four rows are the four corners.
    coding : {"signs", "bits"}
        With "signs", corners and labels are -1 and 1 and a label is the product of its two columns; with "bits" they are 0 and
        1 and a label is one where the columns differ, which is minus the other label.
    noise : float
        Standard deviation of normal noise that is added to the columns.
    random_state : int, Generator, RandomState or None
        The seed of the noise.

    Returns
    -------
    X, y : ndarray
        Corners, shape (n_samples, 2), and labels.

    Examples
    --------
    >>> from qed.datasets import make_xor
    >>> X, y = make_xor()
    >>> X.tolist(), y.tolist()
    ([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], [1, -1, -1, 1])
    >>> make_xor(coding="bits")[1].tolist()
    [0, 1, 1, 0]
    """
    require_count("make_xor", n_samples=n_samples)
    if coding not in ("signs", "bits"):
        raise InvalidParameter(f"make_xor: coding must be 'signs' or 'bits', got {coding!r}.")
    if not (np.isreal(noise) and 0 <= noise < np.inf):
        raise InvalidParameter(f"make_xor: noise must be a finite real number >= 0, got {noise!r}.")
    bits = np.column_stack([np.arange(n_samples) // 2 % 2, np.arange(n_samples) % 2])
    X: Array = bits.astype(np.float64)
    y: Array = bits[:, 0] ^ bits[:, 1]
    if coding == "signs":
        X, y = 2.0 * X - 1.0, 1 - 2 * y
    return (X + noise * generator(random_state).standard_normal(X.shape) if noise else X), y
