"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from qed import _native
from qed.core._tables import is_sparse
from qed.data._kernels import UNIT, canonical, check_indices, csr_arrays, plain, strided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    AnyArray = NDArray[Any]
    Gaussians = tuple[Array, AnyArray | None, tuple[Array, Array, Array], bool, bool, Literal["soft"]]


class Step(NamedTuple):
    """What one pass over the rows found."""

    sums: Array
    weights: Array
    inertia: float
    changed: int
    evaluated: int


@dataclass(frozen=True, eq=False)
class Bounds:
    """What is known of each row: its centre, and bounds on distances, for centres that stand in groups."""

    labels: NDArray[np.int32]
    upper: Array
    lower: Array
    starts: NDArray[np.int64]

    @classmethod
    def empty(cls, n: int, starts: NDArray[np.int64]) -> Bounds:
        """Return room for n rows."""
        return cls(np.zeros(n, np.int32), np.empty(n), np.empty((n, len(starts) - 1)), starts)


@dataclass(frozen=True, eq=False)
class State:
    """Centres of a run, sums and weights of their rows, and how far centres and groups moved last; written in place."""

    centres: Array
    sums: Array
    weights: Array
    moved: Array
    group_moved: Array

    @classmethod
    def begin(cls, centres: Array, groups: int) -> State:
        """Return the state before the first pass."""
        k = len(centres)
        return cls(np.array(centres, order="C"), np.zeros(centres.shape), np.zeros(k), np.zeros(k), np.zeros(groups))


def assign_once(X: Any, origin: Array, s: Array | None, centres: Array, *, sums: bool = True) -> tuple[Step, Bounds]:
    """Assign rows to the nearest centres, in coordinates about the origin (about zero for compressed rows), with no later pass.

    The upper bounds are the distances themselves; for compressed rows with a little rounding.
    """
    bounds = Bounds.empty(X.shape[0], np.array([0, len(centres)], np.int64))
    if is_sparse(X):
        return Places.of(X, origin, s).step(centres, bounds, sums=sums), bounds
    weights = None if s is None else np.ascontiguousarray(s)
    c, still = plain(centres), np.zeros(len(centres))
    around = (c, 0.5 * np.sum(c * c, axis=1))
    motion, known = (still, np.zeros(1), still, 0.0), (bounds.labels, bounds.upper, bounds.lower)
    found = _native.assign_nearest(
        strided(X), plain(origin), None, weights, around, bounds.starts, motion, *known, True, sums
    )
    return Step(*found), bounds


OUT_OF_BATCHES, RESTED, POOR = 0, 1, 2  # how batches end


class BatchRule(NamedTuple):
    """When batches end.

    Attributes
    ----------
    ratio, every : float
        The share of the largest count below which a centre is poor, and rows after which to look for such.
    rate : float
        Of the averages of the mean squared distance and of the squared move.
    tol, patience : float
        The averaged squared move that is small enough, and steps to wait for a lower average distance.
    """

    ratio: float
    every: float
    rate: float = 1.0
    tol: float = 0.0
    patience: float = np.inf


@dataclass(frozen=True, eq=False)
class Places:
    """Rows in coordinates from which a shift was taken, with their squared lengths and weights."""

    X: Any  # an array, or starts, indices, values and shape
    shift: Array | None
    squares: Array
    s: Array | None
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any, mean: Array, s: Array | None) -> Places:
        """Wrap a table; compressed rows keep their origin, since a shift would fill them."""
        weights = None if s is None else np.ascontiguousarray(s)
        if is_sparse(X):
            check_indices(X)
            X = canonical(X.tocsr())
            rows = (*csr_arrays(X), tuple(map(int, X.shape)))
            return cls(rows, None, _native.row_squares(rows, None), weights, X.shape)  # type: ignore[arg-type]
        X, shift = strided(X), plain(mean)
        return cls(X, shift, _native.row_squares(X, shift), weights, X.shape)

    @property
    def origin(self) -> Array:
        """Where the coordinates begin."""
        return np.zeros(self.shape[1]) if self.shift is None else self.shift

    def row(self, i: int) -> Array:
        """Return one row, dense, in these coordinates."""
        if self.shift is not None:
            return np.asarray(self.X[i], dtype=np.float64) - self.shift
        starts, indices, values, _ = self.X
        some = slice(int(starts[i]), int(starts[i + 1]))
        out = np.zeros(self.shape[1])
        np.add.at(out, indices[some], values[some].astype(np.float64))
        return out

    def slack(self, centres: Array) -> float:
        """Bound the rounding of a squared distance that is found from a product."""
        far = float(np.sqrt(self.squares.max(initial=0.0)) + np.sqrt(np.max(np.sum(centres**2, axis=1), initial=0.0)))
        return 4 * (self.shape[1] + 8) * UNIT * far * far

    def step(
        self, centres: Array, bounds: Bounds, motion: tuple[Array, Array, Array] | None = None, *, sums: bool = True
    ) -> Step:
        """Look again at rows whose bounds do not tell their centre; at all of them without ``motion``."""
        centres = plain(centres)
        k, groups = len(centres), len(bounds.starts) - 1
        still = (np.zeros(k), np.zeros(groups), np.zeros(k)) if motion is None else tuple(map(plain, motion))
        return Step(
            *_native.assign_nearest(
                self.X,
                self.shift,
                self.squares,
                self.s,
                (centres, 0.5 * np.sum(centres * centres, axis=1)),
                bounds.starts,
                (*still, self.slack(centres)),
                bounds.labels,
                bounds.upper,
                bounds.lower,
                motion is None,
                sums,
            )
        )

    def run(
        self,
        bounds: Bounds,
        state: State,
        goal: tuple[float, float, float, float, int],
        *,
        is_first: bool,
        is_pending: bool,
    ) -> tuple[int, Array, int, int]:
        """Run Lloyd's algorithm; return how it ended, the inertia after each move, passes, and distances computed."""
        end, trace, moves, passes, evaluated = _native.run_lloyd(
            self.X,
            self.shift,
            self.squares,
            self.s,
            bounds.starts,
            goal,
            bounds.labels,
            bounds.upper,
            bounds.lower,
            (state.centres, state.sums, state.weights, state.moved, state.group_moved),
            is_first,
            is_pending,
        )
        return end, trace[:moves], passes, evaluated

    def draw_apart(self, uniforms: Array, k: int, trials: int, power: float) -> NDArray[np.int64]:
        """Return rows drawn far from each other, by ``1 + (k - 1) * trials`` uniform numbers."""
        return _native.draw_apart(self.X, self.shift, self.squares, self.s, uniforms, k, trials, power)

    def learn(
        self, batches: NDArray[np.int64], rule: BatchRule, centres: Array, counts: Array, seen: Array
    ) -> tuple[int, int]:
        """Move centres by batches of rows; return how they end, and how many were taken. Centres to ``seen`` are written."""
        return _native.run_batches(self.X, self.shift, self.squares, self.s, batches, rule, centres, counts, seen)

    def approach(self, candidates: Array, closest: Array | None) -> tuple[Array, Array]:
        """Return squared distances to the nearer of a candidate and what was closest, (l, n), and their weighted sums."""
        candidates = plain(candidates)
        half = 0.5 * np.sum(candidates * candidates, axis=1)
        return _native.approach(self.X, self.shift, self.squares, self.s, (candidates, half), closest)


LINKAGES = {
    name: number
    for number, name in enumerate(("single", "complete", "average", "weighted", "ward", "centroid", "median"))
}


class Merges(NamedTuple):
    """Clusters that were joined, in the order of the joins: ids, heights, and rows they hold together."""

    first: AnyArray
    second: AnyArray
    heights: AnyArray
    sizes: AnyArray


Parts = tuple["AnyArray", "AnyArray", "AnyArray", "AnyArray", int]
Sums = tuple[int, float, "AnyArray | None"]


def arrange(rows: AnyArray, *, tree: bool) -> Parts:
    """Put rows into groups of eight, in their order, or near ones together with boxes around them."""
    return _native.arrange_rows(rows, tree)


def nearest_others(index: Parts, rows: AnyArray, k: int, metric: Sums) -> tuple[AnyArray, AnyArray]:
    """Return distances and numbers of the k nearest other rows of each row."""
    distances, ids, _ = _native.nearest_rows(index, rows, k, metric, True)
    return distances, ids


def link_centroids(rows: AnyArray, linkage: str, nearest: tuple[AnyArray, AnyArray]) -> Merges:
    """Join clusters by their centroids: ward, centroid, median."""
    return Merges(*_native.link_centroids(rows, LINKAGES[linkage], nearest))


def link_rows(index: Parts, rows: AnyArray, metric: Sums, linkage: str, nearest: tuple[AnyArray, AnyArray]) -> Merges:
    """Join clusters by the distances of their rows: complete, average, weighted."""
    return Merges(*_native.link_rows(index, rows, metric, LINKAGES[linkage], nearest))


def link_matrix(distances: AnyArray, linkage: str) -> Merges:
    """Join clusters by given distances, which are written over; by their squares for ward, centroid and median."""
    return Merges(*_native.link_matrix(distances, LINKAGES[linkage]))


def measure(index: Parts, queries: AnyArray, metric: Sums) -> AnyArray:
    """Return the distances of queries to all rows, in their order."""
    return _native.measure_rows(index, queries, metric)


def span(
    index: Parts, rows: AnyArray, metric: Sums, source: AnyArray | None, target: AnyArray | None, limit: float
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return rows in the order in which they are reached, from which row each is, and how far."""
    return _native.span_rows(index, rows, metric, source, target, limit)


def spanning_edges(
    index: Parts, rows: AnyArray, metric: Sums, core: AnyArray | None
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the ends and lengths of the edges of a minimum spanning tree; the index has boxes."""
    return _native.spanning_edges(index, rows, metric, core)


def join_edges(first: AnyArray, second: AnyArray) -> AnyArray:
    """Return the clusters that the edges of a tree join, one after the other."""
    return _native.join_edges(first, second)


def condense(children: AnyArray, density: AnyArray, least: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Return what leaves which cluster of at least so many rows, at which density, and how many rows it holds."""
    first, second = np.ascontiguousarray(children[:, 0]), np.ascontiguousarray(children[:, 1])
    return _native.condense(first, second, density, least)


def dense_groups(
    index: Parts, rows: AnyArray, metric: Sums, radius: float, least: float, weight: AnyArray | None
) -> tuple[AnyArray, AnyArray]:
    """Return the group of each row, -1 for none, and whether it is a core row."""
    return _native.dense_groups(index, rows, metric, radius, least, weight)


def swap_medoids(
    distances: AnyArray, weight: AnyArray | None, start: AnyArray, most: int, fee: AnyArray | None = None
) -> tuple[AnyArray, AnyArray, AnyArray, bool]:
    """Exchange medoids for other rows; return medoids, labels, the cost after each exchange, and whether none is left.

    With a fee for each row that is one, medoids also come and go alone.
    """
    medoids, labels, cost, taken, done = _native.swap_medoids(distances, weight, fee, start, most)
    return medoids, labels, cost[: taken + 1], done


def soft_sums(X: AnyArray, s: AnyArray, centres: AnyArray, beta: float) -> tuple[float, AnyArray, AnyArray]:
    """Sum over rows: logarithms of the sums of exp(-beta d^2), shares, and differences from the centres by shares."""
    sums = _native.mixture_pass(X, *_gaussians(X, s, centres, beta), None, None, True)
    assert sums is not None  # noqa: S101  (sums were asked for)
    return sums[0], sums[1], sums[2]


def soft_shares(X: AnyArray, centres: AnyArray, beta: float) -> AnyArray:
    """Return shares of rows in all clusters: exp(-beta d^2), divided by its sum."""
    density, shares = np.empty(len(X)), np.empty((len(X), len(centres)))
    _native.mixture_pass(X, *_gaussians(X, None, centres, beta), density, shares, False)
    return shares


def _gaussians(X: AnyArray, s: AnyArray | None, centres: AnyArray, beta: float) -> Gaussians:
    """Soft clusters as a pass over a mixture reads them: of equal weights and of variance 1 / (2 beta)."""
    widths = np.full(centres.shape, np.sqrt(2 * beta))
    parts = plain(centres), widths, np.zeros(len(centres))
    return np.zeros(X.shape[1]), s, parts, True, False, "soft"


def shift_means(index: Parts, points: AnyArray, radius: float) -> tuple[AnyArray, AnyArray]:
    """Return the means of the rows within a radius of each point, and how many they are."""
    return _native.shift_means(index, plain(points), radius)


def kth_distances(index: Parts, queries: AnyArray, k: int) -> AnyArray:
    """Return distances of queries to their k-th nearest rows."""
    return _native.kth_distances(index, plain(queries), k)


class Messages:
    """Messages between all rows, which elect exemplars.

    Parameters
    ----------
    similarity : ndarray of shape (n, n)
        Similarities; minus infinity on the diagonal.
    preference : ndarray of shape (n,)
        Similarity of each row to itself.
    damping : float
        Share of a message that stays as it was.
    """

    def __init__(self, similarity: AnyArray, preference: AnyArray, damping: float) -> None:
        n = len(similarity)
        self._similarity, self._preference, self._damping = similarity, plain(preference), damping
        self._responsibility, self._availability = np.zeros((n, n)), np.zeros((n, n))
        self._vectors = (np.zeros(n), np.zeros(n), np.zeros(n))
        self._is_first = True

    def step(self) -> AnyArray:
        """Pass one round of messages; return which rows elect themselves."""
        found = _native.pass_messages(
            self._similarity, self._preference, self._responsibility, self._availability, self._vectors, self._damping,
            self._is_first,
        )  # fmt: skip
        self._is_first = False
        return found


def raise_prices(similarity: AnyArray, best: AnyArray, fee: AnyArray, rounds: int) -> AnyArray:
    """Return prices of rows that rise together until fees hold them back."""
    return _native.raise_prices(similarity, plain(best), plain(fee), rounds)


class CfTree(NamedTuple):
    """Subclusters: means, weights and sums of squared distances; and the tree above them."""

    means: AnyArray
    weights: AnyArray
    squares: AnyArray
    starts: AnyArray
    children: AnyArray


def grow_cf_tree(X: AnyArray, tree: CfTree | None, threshold: float, branching: int) -> tuple[CfTree, AnyArray]:
    """Put rows into a tree; return it, and the subcluster of each row."""
    stored = None if tree is None else (*(plain(one) for one in tree[:3]), tree.starts, tree.children)
    *grown, place = _native.grow_cf_tree(plain(X), stored, threshold, branching)  # type: ignore[arg-type]
    return CfTree(*grown), place
