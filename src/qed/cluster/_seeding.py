r"""Where centres begin: far from each other, anywhere, at the means of groups found bottom-up, or where the user says.

===================  ================================================================================================
name                 the next centre
===================  ================================================================================================
k-means++            a row drawn in proportion to its squared distance from the nearest centre; the best of 2 + log k draws
distance             a row drawn in proportion to that distance itself
farthest             the row farthest from all centres; outliers are chosen first
random               a row drawn in proportion to its weight
bottom-up            the mean of one of k groups that ward linkage finds among at most 2000 rows
===================  ================================================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.cluster._link import link
from qed.cluster._space import Space
from qed.core import InvalidData
from qed.neighbors._metric import Metric

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.cluster._kernels import Places

    Array = NDArray[np.float64]


BOTTOM_UP_ROWS = 2000  # rows drawn for a start from the bottom up, whose cost is their square
Init = Literal["k-means++", "random", "distance", "farthest", "bottom-up"]
STARTS = (
    "Where centres begin: rows drawn by squared distances ('k-means++'), by distances ('distance') or evenly ('random'), rows"
    " farthest from each other ('farthest'), means of groups that ward linkage finds ('bottom-up'), an array of shape (k, p), or a"
    " function of (X, n_clusters, random_state) that returns one."
)


def starts(init: Any, n_init: int | str, many: int) -> int:
    """Return how many starts there are: one from given centres, ``many`` of rows that are drawn evenly, else one."""
    if n_init != "auto":
        return 1 if hasattr(init, "__array__") or isinstance(init, list | tuple) else int(n_init)
    return many if callable(init) or (isinstance(init, str) and init == "random") else 1


def starting_centres(init: Any, X: Any, places: Places, k: int, rng: Generator) -> Array:
    """Return centres to begin from, in the coordinates of the places."""
    if callable(init):
        state = np.random.RandomState(rng.integers(2**31))
        return given(init(X, k, random_state=state), places, k, "init")
    if not isinstance(init, str):
        return given(init, places, k, "init")
    if init == "bottom-up":
        return bottom_up(places, k, rng)
    if init == "random":
        return anywhere(places, k, rng)
    if init == "farthest":
        rows = draw_farthest(places, k, rng)
    elif init == "distance":
        rows = draw_apart(places, k, rng, 1, power=1.0)
    else:
        rows = draw_apart(places, k, rng, 2 + int(math.log(k)))
    return np.stack([places.row(int(i)) for i in rows])


def bottom_up(places: Places, k: int, rng: Generator) -> Array:
    """Return the means of k groups that ward linkage finds; among a sample where there are many rows."""
    used = np.arange(places.shape[0]) if places.s is None else np.flatnonzero(places.s)
    if len(used) > max(BOTTOM_UP_ROWS, k):
        used = np.sort(rng.choice(used, max(BOTTOM_UP_ROWS, k), replace=False))
    rows = np.stack([places.row(int(i)) for i in used])
    s = np.ones(len(used)) if places.s is None else places.s[used]
    if len(rows) <= k:
        return np.resize(rows, (k, rows.shape[1]))
    labels = link(Space(rows, Metric("euclidean")), "ward").cut(k)
    return np.stack([np.average(rows[labels == j], axis=0, weights=s[labels == j]) for j in range(k)])


def draw_farthest(places: Places, k: int, rng: Generator, first: int | None = None) -> NDArray[np.intp]:
    """Take the row farthest from those before, again and again; of equal ones the first."""
    weights = np.ones(places.shape[0]) if places.s is None else places.s
    found = np.empty(k, np.intp)
    found[0] = rng.choice(len(weights), p=weights / weights.sum()) if first is None else first
    closest: Array | None = None
    for j in range(1, k):
        closest = places.approach(places.row(int(found[j - 1]))[None], closest)[0][0]
        found[j] = np.argmax(np.where(weights > 0, closest, -1.0))
    return found


def draw_apart(places: Places, k: int, rng: Generator, trials: int, power: float = 2.0) -> NDArray[np.intp]:
    """Draw rows one after the other, with probability in proportion to a power of the distance from those before.

    Of ``trials`` rows drawn each time the one is taken that leaves the least sum of squared distances (greedy k-means++).
    """
    return places.draw_apart(rng.random(1 + (k - 1) * trials), k, trials, power)


def chances(closest: Array, power: float) -> Array:
    """Turn squared distances into what rows are drawn in proportion to."""
    return closest if power == 2.0 else np.asarray(closest ** (power / 2))


def anywhere(places: Places, k: int, rng: Generator) -> Array:
    """Draw k rows, no row twice, in proportion to their weights."""
    n = places.shape[0]
    if places.s is None:
        rows = rng.choice(n, k, replace=False)
    else:
        used = int(np.count_nonzero(places.s))
        rows = rng.choice(n, min(k, used), replace=False, p=places.s / places.s.sum())
        rows = np.resize(rows, k)  # fewer rows of positive weight than centres
    return np.stack([places.row(int(i)) for i in rows])


def given(centres: Any, places: Places, k: int, what: str) -> Array:
    """Take centres from the user."""
    start = np.array(centres, dtype=np.float64)
    if start.shape != (k, places.shape[1]):
        raise InvalidData(
            f"The shape of the initial centers {start.shape} does not match the number of clusters {k} and of features"
            f" {places.shape[1]}: {what} must give shape ({k}, {places.shape[1]})."
        )
    if not np.isfinite(start).all():
        raise InvalidData(f"{what} gives centres that hold NaN or infinity.")
    return start - places.origin
