"""Classification problems to order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.datasets._shapes import require_count
from qed.datasets._stream import shuffled, some_of, stream, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def make_classification(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    n_informative: int = 2,
    n_redundant: int = 2,
    n_repeated: int = 0,
    n_classes: int = 2,
    n_clusters_per_class: int = 2,
    weights: Any = None,
    flip_y: float = 0.01,
    class_sep: float = 1.0,
    hypercube: bool = True,
    shift: float | None = 0.0,
    scale: float | None = 1.0,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw classes made of normal clouds at the corners of a cube, among columns that repeat them or say nothing.

    The names are scikit-learn's, and so are the numbers that a whole number as seed gives.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    n_informative, n_redundant, n_repeated : int
        Columns that hold the clouds, mixtures of those, and copies of either; all others are noise.
    n_classes, n_clusters_per_class : int
        Classes, and clouds of each; there must be corners enough: ``2 ** n_informative`` of them.
    weights : array-like of float, optional
        Shares of the classes (the last may be left out); equal ones by default.
    flip_y : float
        Share of rows whose label is drawn at random.
    class_sep : float
        Half the length of an edge of the cube.
    hypercube : bool
        Whether clouds sit at the corners themselves; otherwise corners are moved about at random.
    shift, scale : float or None
        What each column is moved by and multiplied with; None for random numbers.
    shuffle : bool
        Whether rows and columns are shuffled; otherwise informative columns come first, then mixtures, then copies.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Labels 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from qed.datasets import make_classification
    >>> X, y = make_classification(1000, weights=[0.75], flip_y=0.0, random_state=0)
    >>> np.bincount(y).tolist()
    [750, 250]
    """
    owner = "make_classification"
    require_count(owner, n_samples=n_samples, n_features=n_features, n_classes=n_classes, n_informative=n_informative)
    require_count(owner, n_clusters_per_class=n_clusters_per_class)
    known = n_informative + n_redundant + n_repeated
    clouds = n_classes * n_clusters_per_class
    if known > n_features:
        raise InvalidParameter(
            f"{owner}: n_features={n_features} must be at least n_informative + n_redundant + n_repeated = {known}."
        )
    if clouds > 2**n_informative:
        raise InvalidParameter(
            f"{owner}: n_classes * n_clusters_per_class = {clouds} clouds need as many corners, and n_informative="
            f"{n_informative} columns have {2**n_informative}."
        )
    rng = stream(random_state)
    counts = _counts(n_samples, n_classes, n_clusters_per_class, weights)
    centres = class_sep * (2.0 * _corners(rng, clouds, n_informative) - 1.0)
    if not hypercube:
        centres *= rng.random((clouds, 1))
        centres *= rng.random((1, n_informative))
    X, y = np.zeros((n_samples, n_features)), np.repeat(np.arange(clouds) % n_classes, counts)
    X[:, :n_informative] = rng.standard_normal((n_samples, n_informative))
    for centre, part in zip(centres, np.split(X[:, :n_informative], np.cumsum(counts)[:-1]), strict=True):
        mix = 2 * rng.random((n_informative, n_informative)) - 1  # every cloud has a shape of its own
        part[...] = part @ mix + centre
    mixed = n_informative + n_redundant
    if n_redundant:
        X[:, n_informative:mixed] = X[:, :n_informative] @ (2 * rng.random((n_informative, n_redundant)) - 1)
    if n_repeated:
        X[:, mixed:known] = X[:, ((mixed - 1) * rng.random(n_repeated) + 0.5).astype(np.intp)]
    if known < n_features:
        X[:, known:] = rng.standard_normal((n_samples, n_features - known))
    flipped = rng.random(n_samples) < flip_y
    y[flipped] = whole_numbers(rng, n_classes, int(flipped.sum()))
    X += (2 * rng.random(n_features) - 1) * class_sep if shift is None else shift
    X *= 1 + 100 * rng.random(n_features) if scale is None else scale
    if shuffle:
        X, y = shuffled(rng, X, y)
        columns = np.arange(n_features)
        rng.shuffle(columns)
        X = np.ascontiguousarray(X[:, columns])
    return X, y


def _corners(rng: Any, count: int, dimensions: int) -> Array:
    """Draw different corners of a cube, as rows of zeros and ones."""
    if dimensions > 30:
        first = whole_numbers(rng, 2, (count, dimensions - 30))
        return np.hstack([first, _corners(rng, count, 30)])
    return (some_of(rng, 2**dimensions, count)[:, np.newaxis] >> np.arange(dimensions)[::-1]) & 1


def _counts(n_samples: int, n_classes: int, per_class: int, weights: Any) -> list[int]:
    """Return the rows of each cloud, classes in turn: shares rounded down, and what is left goes to the first clouds."""
    given = [1.0 / n_classes] * n_classes if weights is None else [float(one) for one in weights]
    if len(given) == n_classes - 1:
        given.append(1.0 - sum(given))
    if len(given) != n_classes or min(given) < 0 or sum(given) > 1 + 1e-9:
        raise InvalidParameter(
            f"make_classification: weights must be shares of {n_classes} classes (or of all but the last), got {weights!r}."
        )
    clouds = n_classes * per_class
    counts = [int(n_samples * given[k % n_classes] / per_class) for k in range(clouds)]
    for k in range(n_samples - sum(counts)):
        counts[k % clouds] += 1
    return counts


def make_multilabel_classification(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    n_classes: int = 5,
    n_labels: int = 2,
    length: int = 50,
    allow_unlabeled: bool = True,
    sparse: bool = False,
    return_indicator: Any = "dense",
    return_distributions: bool = False,
    random_state: Any = None,
) -> tuple[Any, ...]:
    """Draw texts as counts of words, each with several topics.

    Parameters
    ----------
    n_samples, n_features : int
        Texts and words.
    n_classes : int
        Topics.
    n_labels : int
        Mean number of topics of a text (Poisson).
    length : int
        Mean number of words of a text (Poisson).
    allow_unlabeled : bool
        Whether a text may have no topic.
    sparse : bool
        Whether the counts are returned as compressed sparse rows.
    return_indicator : {"dense", "sparse", False}
        How topics are returned: as a table of zeros and ones, or as a list of tuples.
    return_distributions : bool
        Whether the probabilities of topics, and of words given topics, are returned too.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Counts.
    Y : ndarray of shape (n_samples, n_classes)
        Zeros and ones.
    p_c, p_w_c : ndarray of shape (n_classes,) and (n_features, n_classes)
        Probabilities of topics and of words, if asked for.
    """
    require_count("make_multilabel_classification", n_samples=n_samples, n_features=n_features, n_classes=n_classes)
    rng = stream(random_state)
    popularity = rng.random(n_classes)
    popularity /= popularity.sum()
    words = rng.random((n_features, n_classes))
    words /= words.sum(axis=0)
    X, topics = np.zeros((n_samples, n_features)), []
    for i in range(n_samples):
        chosen = _topics(rng, np.cumsum(popularity), n_labels, allow_unlabeled=allow_unlabeled)
        topics.append(chosen)
        count = 0
        while count == 0:
            count = rng.poisson(length)
        if chosen:
            share = words[:, chosen].sum(axis=1).cumsum()
            drawn = np.searchsorted(share / share[-1], rng.random(count))
        else:
            drawn = whole_numbers(rng, n_features, count)
        X[i] = np.bincount(drawn, minlength=n_features)
    made = [_compressed(X) if sparse else X, _indicated(topics, n_classes, return_indicator)]
    return (*made, popularity, words) if return_distributions else tuple(made)


def _topics(rng: Any, cumulated: Array, n_labels: int, *, allow_unlabeled: bool) -> list[int]:
    """Draw the topics of a text: how many, then which, until they differ."""
    count = len(cumulated) + 1
    while count > len(cumulated) or (count == 0 and not allow_unlabeled):
        count = rng.poisson(n_labels)
    chosen: set[int] = set()
    while len(chosen) != count:
        chosen.update(np.searchsorted(cumulated, rng.random(count - len(chosen))).tolist())
    return list(chosen)


def _indicated(topics: list[list[int]], n_classes: int, form: Any) -> Any:
    if form is False:
        return topics
    if form not in (True, "dense", "sparse"):
        raise InvalidParameter(
            f"make_multilabel_classification: return_indicator must be 'dense', 'sparse' or False, got {form!r}."
        )
    Y = np.zeros((len(topics), n_classes), dtype=np.int64)
    for i, chosen in enumerate(topics):
        Y[i, chosen] = 1
    return _compressed(Y) if form == "sparse" else Y


def _compressed(table: Array) -> Any:
    from scipy.sparse import csr_matrix  # noqa: PLC0415  only where it is asked for

    return csr_matrix(table)
