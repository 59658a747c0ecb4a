"""k-means that halves clusters, one after the other."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ClustersCertificate  # noqa: TC001  (read from an annotation)
from qed.cluster._centres import CentreModel
from qed.cluster._kernels import Places
from qed.cluster._lloyd import Run, lloyd
from qed.cluster._seeding import Init, starting_centres
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._tables import is_sparse

if TYPE_CHECKING:
    from numpy.random import Generator


def _is_a_tree(model: Any, value: Any) -> str:
    """Say what is wrong with a tree: children stand behind their parents, and leaves name centres."""
    inner = value[:, 0] >= 0
    behind = value[inner] > np.flatnonzero(inner)[:, None]
    leaves = value[~inner, 1]
    fits = behind.all() and (value[inner] < len(value)).all()
    fits = fits and ((leaves >= 0) & (leaves < len(model.cluster_centers_))).all() and len(value) > 0
    return "" if fits else "should hold children behind their parents, and labels of centres at leaves"


class BisectingKMeans(CentreModel):
    r"""Bisecting k-means: one cluster after another is split in two by k-means.

    Objective
    ---------
    .. math:: \sum_i s_i \| x_i - c_{\ell(i)} \|^2

    the inertia of the leaves, lowered by each split. Rows go down the tree, at each node to the nearer of two centres: a leaf
    need not be the nearest of all.

    Certificate
    -----------
    ClustersCertificate: the inertia is at most so many times that of the best k centres. The centre of each node is the mean of its
    rows; ``drift`` is the root of the weighted squared distances from these means, over all nodes.

    Cost
    ----
    O(np) a split and step, of the rows of one cluster; k - 1 splits. Memory beyond X: a copy of the rows that are split.

    Examples
    --------
    >>> from qed.cluster import BisectingKMeans
    >>> model = BisectingKMeans(3, random_state=0).fit([[0.0], [1.0], [10.0], [11.0], [30.0]])
    >>> sorted(model.cluster_centers_[:, 0].tolist())
    [0.5, 10.5, 30.0]
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    init: Init | Callable[..., Any] = param(
        "random", "Where the two centres of a split begin: a name as in `KMeans`, or a function that returns them."
    )
    n_init: PositiveInt = param(1, "How many starts of each split, of which the best is kept.")
    random_state: Seed = param(None, "Seed of the starts.")
    max_iter: PositiveInt = param(300, "Most steps of one start.")
    verbose: NonNegativeInt = VERBOSE
    tol: NonNegative = param(
        1e-4, "Squared shift of both centres, relative to the mean variance of the columns, that is small enough."
    )
    copy_x: bool = param(True, "Whether X may not be written over; it never is.", kind="hint")
    algorithm: Literal["lloyd", "elkan"] = param("lloyd", "Which bounds scikit-learn keeps.", kind="hint")
    bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = param(
        "biggest_inertia", "Which cluster is split next: the one of the largest inertia, or of the most rows."
    )

    cluster_centers_: Array = fitted("Centres of the leaves, shape (k, p).", shape="(c, p)", length="at least 1")
    labels_: Array = fitted(
        "The leaf of each row of the fit, shape (n,).", dtype="int32", shape="(n,)", low=0, below="cluster_centers_"
    )
    inertia_: float = fitted("Weighted sum of squared distances of rows to the centres of their leaves.", low=0)
    tree_centers_: Array = fitted("Centres of all nodes, the root first, shape (m, p).", shape="(m, p)")
    tree_children_: Array = fitted(
        "Two children of each node, shape (m, 2); of a leaf -1 and its label.",
        dtype="int64",
        shape="(m, 2)",
        low=-1,
        check=_is_a_tree,
    )
    n_iter_: int = fitted("Splits.", low=0, answers=False)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Split clusters until there are enough.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X, None, sample_weight)
        places, scatter = self._read_rows(data)
        table = data.X.tocsr() if is_sparse(data.X) else data.X
        rng = generator(self.random_state)
        root_mean = np.asarray(scatter.seen.mean, dtype=np.float64)
        tree = _Tree(root_mean, data.n_rows, scatter.total)
        evaluations, outcome = 0, "solved"
        with Progress(type(self).__name__, self.n_clusters - 1, verbose=self.verbose) as progress:
            while len(tree.leaves) < self.n_clusters:
                leaf = self._next(tree)
                rows = tree.rows[leaf]
                weight = None if data.weight is None else data.weight[rows]
                own, run = self._halve(table[rows], weight, tree.centres[leaf], rng, progress)
                evaluations += run.evaluations
                if run.outcome in ("stopped", "interrupted"):
                    outcome = run.outcome
                    break
                outcome = "max_iter" if run.outcome == "max_iter" else outcome
                tree.split(leaf, rows, run, own.origin, _inertias(own, run))
        self.tree_centers_, self.tree_children_ = tree.arrays()
        self.labels_ = tree.labels()
        centres = np.stack([tree.centres[leaf] for leaf in tree.leaves])
        inertia, weights, sums = _measured(places, centres - places.origin, self.labels_)
        drift = _drift((self.tree_centers_ - places.origin, self.tree_children_), weights, sums)
        run = Run(
            centres - places.origin, self.labels_, inertia, len(centres) - 1, drift, np.zeros(0), evaluations, outcome
        )
        self._store(run, places, scatter)
        self.cluster_centers_ = centres  # as in the tree, to the last bit
        if outcome == "interrupted":  # what is there is stored, with fewer leaves
            raise KeyboardInterrupt
        return self

    def _next(self, tree: _Tree) -> int:
        """Choose the leaf to split: of those with two rows or more."""
        several = [leaf for leaf in tree.leaves if len(tree.rows[leaf]) > 1]
        size = (
            tree.inertia if self.bisecting_strategy == "biggest_inertia" else {at: len(tree.rows[at]) for at in several}
        )
        return max(several, key=lambda leaf: (size[leaf], -leaf))

    def _halve(
        self, X: Any, weight: Array | None, mean: Array, rng: Generator, progress: Progress
    ) -> tuple[Places, Run]:
        places = Places.of(X, mean, weight)
        spread = float(np.sum(places.squares if weight is None else weight * places.squares))
        total = float(X.shape[0] if weight is None else weight.sum())
        tol = self.tol * spread / max(total, np.finfo(float).tiny) / X.shape[1]
        best: Run | None = None
        for _ in range(self.n_init):
            centres = starting_centres(self.init, X, places, 2, rng)
            run = lloyd(places, centres, most=self.max_iter, tol=tol, progress=progress)
            best = run if best is None or run.inertia < best.inertia else best
        if best is None or min(np.bincount(best.labels, minlength=2)) == 0:
            return places, _by_order(places, best)  # rows coincide: half of them each
        return places, best

    def predict(self, X: Any) -> Array:
        """Return the leaf of rows: at each node they go to the nearer of two centres.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of leaves.
        """
        X = self._new_data(X)
        return self._descend(X.tocsr() if is_sparse(X) else X)

    def _descend(self, X: Any) -> Array:
        labels = np.zeros(X.shape[0], np.int32)
        waiting = [(0, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            a, b = self.tree_children_[node]
            if a < 0:
                labels[rows] = b
            elif len(rows):
                pair = self.tree_centers_[[a, b]]
                middle = pair.mean(axis=0)
                # the nearer of two centres lies on its side of the hyperplane between them
                side = np.asarray(X[rows] @ (pair[1] - pair[0])) - middle @ (pair[1] - pair[0])
                waiting += [(int(a), rows[side <= 0]), (int(b), rows[side > 0])]
        return labels

    def _nearest(self, X: Any, s: Array | None = None) -> tuple[Array, float]:
        table = X.tocsr() if is_sparse(X) else X
        labels = self._descend(table)
        places = Places.of(X, self.cluster_centers_.mean(axis=0), s)
        return labels, _measured(places, self.cluster_centers_ - places.origin, labels)[0]


def _by_order(places: Places, run: Run | None) -> Run:
    """Halve rows that no centres tell apart, in their order."""
    n = places.shape[0]
    if run is None:
        raise InvalidData("A split needs at least one start: n_init >= 1.")
    labels = (np.arange(n) >= n // 2).astype(np.int32)
    return Run(np.repeat(run.centres[:1], 2, axis=0), labels, run.inertia, 1, 0.0, np.zeros(0), 0, run.outcome)


def _measured(places: Places, centres: Array, labels: Array) -> tuple[float, Array, Array]:
    """Return the inertia about given centres, and weights and sums of the rows of each."""
    inertia, weights, sums = 0.0, np.zeros(len(centres)), np.zeros(centres.shape)
    for label, centre in enumerate(centres):
        rows = np.flatnonzero(labels == label)
        if not len(rows):
            continue
        own = np.stack([places.row(int(i)) for i in rows]) if places.shift is None else places.X[rows] - places.shift
        s = np.ones(len(rows)) if places.s is None else places.s[rows]
        step = own - centre
        inertia += float(np.sum(s @ step**2))
        weights[label] = s.sum()
        sums[label] = weights[label] * centre + s @ step
    return inertia, weights, sums


def _drift(tree: tuple[Array, Array], weights: Array, sums: Array) -> float:
    """Return the root of the weighted squared distances of all nodes from the means of their rows."""
    centres, children = tree
    weight, total, off = np.zeros(len(centres)), np.zeros(centres.shape), 0.0
    for node in range(len(centres) - 1, -1, -1):  # children come after their parents
        a, b = children[node]
        weight[node] = weights[b] if a < 0 else weight[a] + weight[b]
        total[node] = sums[b] if a < 0 else total[a] + total[b]
        if weight[node] > 0:
            off += weight[node] * float(np.sum((total[node] / weight[node] - centres[node]) ** 2))
    return float(np.sqrt(off))


def _inertias(places: Places, run: Run) -> Array:
    """Return the inertia of each half."""
    near = places.approach(run.centres, None)[0][run.labels, np.arange(len(run.labels))]
    return np.bincount(run.labels, near if places.s is None else places.s * near, 2)


class _Tree:
    """Nodes with centre, rows and inertia; leaves in the order in which they will be numbered."""

    def __init__(self, mean: Array, n: int, total: float) -> None:
        self.centres = [mean]
        self.children: list[tuple[int, int]] = [(-1, 0)]
        self.rows = {0: np.arange(n)}
        self.inertia = {0: total}
        self.leaves = [0]

    def split(self, leaf: int, rows: Array, run: Run, origin: Array, inertias: Array) -> None:
        """Replace a leaf by its two halves."""
        a = len(self.centres)
        self.children[leaf] = (a, a + 1)
        for half in (0, 1):
            self.centres.append(run.centres[half] + origin)
            self.children.append((-1, 0))
            self.rows[a + half], self.inertia[a + half] = rows[run.labels == half], float(inertias[half])
        at = self.leaves.index(leaf)
        self.leaves[at : at + 1] = [a, a + 1]

    def arrays(self) -> tuple[Array, Array]:
        """Return centres and children of all nodes."""
        children = np.array(self.children, np.int64)
        for number, leaf in enumerate(self.leaves):
            children[leaf] = (-1, number)
        return np.stack(self.centres), children

    def labels(self) -> Array:
        """Return the number of the leaf of each row."""
        found = np.empty(len(self.rows[0]), np.int32)
        for number, leaf in enumerate(self.leaves):
            found[self.rows[leaf]] = number
        return found
