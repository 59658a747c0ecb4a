"""Unequal classes made equal by their rows: fewer of the large ones, more of the small ones, or draws that favour them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator
from qed.core._targets import as_target, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def _classes(X: Any, y: Any) -> tuple[Array, Array, list[Array]]:
    """Return rows, labels, and the places of the rows of each class."""
    rows, labels = np.asarray(X), as_target(y, "y")
    if labels.ndim != 1 or len(labels) != len(rows) or not len(labels):
        raise InvalidData(f"One label for each row is needed, got labels of shape {labels.shape} for {len(rows)} rows.")
    classes, codes = encode(labels)
    return rows, labels, [np.flatnonzero(codes == code) for code in range(len(classes))]


def downsample(X: Any, y: Any, *, random_state: Any = None) -> tuple[Array, Array]:
    """Keep as many rows of every class as the smallest has, drawn without replacement; their order stays.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    X, y : ndarray
        Some of the rows, with their labels.

    Examples
    --------
    >>> from qed.preprocessing import downsample
    >>> X, y = downsample([[1], [2], [3], [4]], ["no", "no", "no", "yes"], random_state=0)
    >>> sorted(y.tolist())
    ['no', 'yes']
    """
    rows, labels, places = _classes(X, y)
    rng, least = generator(random_state), min(len(place) for place in places)
    kept = np.sort(np.concatenate([rng.choice(place, least, replace=False) for place in places]))
    return rows[kept], labels[kept]


def upsample(X: Any, y: Any, *, noise: float = 0.0, random_state: Any = None) -> tuple[Array, Array]:
    """Copy rows of the smaller classes until every class is as large as the largest.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels.
    noise : float
        Standard deviation of what is added to the entries of copies, in units of the column's own deviation; 0 for exact
        copies. The rows that are there already are never changed.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    X, y : ndarray
        The rows, and after them the copies. Every row of a class is copied as often as every other, to within one.
    """
    if not noise >= 0:
        raise InvalidParameter(f"upsample: noise must be a real number >= 0, got {noise!r}.")
    rows, labels, places = _classes(X, y)
    rng, most = generator(random_state), max(len(place) for place in places)
    copies = []
    for place in places:
        lacking = most - len(place)
        whole, rest = divmod(lacking, len(place))
        copies += [place] * whole + [rng.choice(place, rest, replace=False)]
    more = np.concatenate(copies)
    added = rows[more]
    if noise:
        added = added + noise * rows.std(axis=0) * rng.standard_normal(added.shape)
    return np.concatenate([rows, added]), np.concatenate([labels, labels[more]])


class Draws(NamedTuple):
    """Rows drawn, with replacement, and what each must count for means to stay those of all rows."""

    indices: Array
    weights: Array


def balanced_draws(y: Any, size: int, *, random_state: Any = None) -> Draws:
    """Draw rows for stochastic gradients: a class first, each as likely, then a row of it.

    A row of a class with ``n_c`` of n rows is drawn with probability ``1 / (k n_c)`` where uniform draws have ``1 / n``; the
    ratio of the two is its weight, so that a weighted mean over the draws has the mean over all rows as its expectation.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    size : int
        Number of draws.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    Draws
        ``indices`` and ``weights``, of shape (size,).

    Examples
    --------
    >>> from qed.preprocessing import balanced_draws
    >>> balanced_draws(["no", "no", "no", "yes"], 2, random_state=1).weights.tolist()
    [1.5, 0.5]
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise InvalidParameter(f"balanced_draws: size must be a whole number >= 0, got {size!r}.")
    labels = as_target(y, "y")
    _, _, places = _classes(labels, labels)
    rng = generator(random_state)
    classes = rng.integers(0, len(places), size)
    many = np.array([len(place) for place in places])
    within = (rng.random(size) * many[classes]).astype(np.intp)
    starts = np.concatenate([[0], np.cumsum(many)[:-1]])
    indices = np.concatenate(places)[starts[classes] + within]
    return Draws(indices, many[classes] * len(places) / len(labels))
