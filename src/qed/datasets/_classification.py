"""Classification problems to order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, generator
from qed.datasets._shapes import require_count, shuffled

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

    The names are scikit-learn's; the drawn numbers differ from scikit-learn's for the same seed.

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
        The seed.

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
    >>> X, y = make_classification(1000, weights=[0.9], flip_y=0.0, random_state=0)
    >>> np.bincount(y).tolist()
    [900, 100]
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
    rng = generator(random_state)
    counts = _counts(n_samples, n_classes, n_clusters_per_class, weights)
    corners = rng.choice(2**n_informative, clouds, replace=False) if n_informative < 30 else np.arange(clouds)
    bits = (corners[:, np.newaxis] >> np.arange(min(n_informative, 60))) & 1
    signs = np.zeros((clouds, n_informative), dtype=np.int64)
    signs[:, : bits.shape[1]] = bits
    centres = class_sep * (2.0 * signs - 1.0)
    if not hypercube:
        centres = centres * rng.random((clouds, 1)) * rng.random((1, n_informative))
    X, y = np.empty((n_samples, n_features)), np.repeat(np.arange(clouds) % n_classes, counts)
    start = 0
    for cloud, count in enumerate(counts):
        mix = rng.uniform(-1, 1, (n_informative, n_informative))  # every cloud has a shape of its own
        part = rng.standard_normal((count, n_informative)) @ mix + centres[cloud]
        X[start : start + count, :n_informative] = part
        start += count
    mixed = n_informative + n_redundant
    X[:, n_informative:mixed] = X[:, :n_informative] @ rng.uniform(-1, 1, (n_informative, n_redundant))
    X[:, mixed:known] = X[:, rng.integers(0, mixed, n_repeated)]
    X[:, known:] = rng.standard_normal((n_samples, n_features - known))
    flipped = rng.random(n_samples) < flip_y
    y[flipped] = rng.integers(0, n_classes, int(flipped.sum()))
    X += class_sep * rng.uniform(-1, 1, n_features) if shift is None else shift
    X *= 1 + 100 * rng.random(n_features) if scale is None else scale
    if shuffle:
        X, y = shuffled(rng, X, y)
        X = np.ascontiguousarray(X[:, rng.permutation(n_features)])
    return X, y


def _counts(n_samples: int, n_classes: int, per_class: int, weights: Any) -> list[int]:
    """Return the rows of each cloud: classes by their shares, clouds of a class evenly."""
    shares = [1 / n_classes] * n_classes if weights is None else [float(one) for one in weights]
    if len(shares) == n_classes - 1:
        shares.append(1.0 - sum(shares))
    if len(shares) != n_classes or min(shares) < 0 or sum(shares) > 1 + 1e-9:
        raise InvalidParameter(
            f"make_classification: weights must be shares of {n_classes} classes (or of all but the last), got {weights!r}."
        )
    ends = np.round(np.cumsum(shares) / sum(shares) * n_samples).astype(int)
    rows = np.diff(np.concatenate([[0], ends])).tolist()
    return [rows[c] // per_class + (k < rows[c] % per_class) for k in range(per_class) for c in range(n_classes)]


def make_multilabel_classification(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    n_classes: int = 5,
    n_labels: int = 2,
    length: int = 50,
    allow_unlabeled: bool = True,
    random_state: Any = None,
) -> tuple[Array, Array]:
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
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Counts.
    Y : ndarray of shape (n_samples, n_classes)
        Zeros and ones.
    """
    require_count("make_multilabel_classification", n_samples=n_samples, n_features=n_features, n_classes=n_classes)
    rng = generator(random_state)
    popularity = rng.dirichlet(np.ones(n_classes))
    words = rng.dirichlet(np.ones(n_features), n_classes)
    X, Y = np.zeros((n_samples, n_features)), np.zeros((n_samples, n_classes), dtype=np.int64)
    for i in range(n_samples):
        count = min(rng.poisson(n_labels), n_classes)
        if count == 0 and not allow_unlabeled:
            count = 1
        topics = rng.choice(n_classes, count, replace=False, p=popularity)
        Y[i, topics] = 1
        mixture = words[topics].mean(axis=0) if count else np.full(n_features, 1 / n_features)
        X[i] = rng.multinomial(rng.poisson(length), mixture)
    return X, Y
