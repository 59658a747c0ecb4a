"""k-means by small batches of rows."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ClustersCertificate, Uncertified
from qed.cluster._centres import CentreModel
from qed.cluster._kernels import POOR, RESTED, BatchRule, Bounds, Places, Step
from qed.cluster._kmeans import KMeans
from qed.cluster._lloyd import Run, finished
from qed.cluster._seeding import STARTS, Init, starting_centres, starts
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    Matrix,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE

if TYPE_CHECKING:
    from numpy.random import Generator


REASSIGN_EVERY = 10  # batches a centre, after which centres with few rows are put elsewhere
DRAWN = 1 << 14  # rows that are drawn at a time: some batches, so that few are drawn in vain


class MiniBatchKMeans(CentreModel):
    r"""Mini-batch k-means: k-means on small random batches, for large tables and streams.

    Objective
    ---------
    .. math:: \min_{c_1, \dots, c_k} \sum_i s_i \min_j \| x_i - c_j \|^2

    Each step draws ``batch_size`` rows and moves a centre towards the mean of those nearest to it, by their share in all rows it
    has seen: a stochastic gradient step with rate one over the count.

    Certificate
    -----------
    ClustersCertificate: the inertia, found in a pass over all rows at the end, is at most so many times that of the best centres.
    Centres need not be the means of their rows; ``drift`` says how far they are, and ``reached`` is true only if the means would
    lower the inertia by no more than ``tol``, which batches that stopped improving need not have met. After ``partial_fit`` nothing
    is claimed, as the rows were not kept.

    Cost
    ----
    O(b p k) a step, b the size of a batch; one pass of O(npk) at the end. Memory beyond X: 36 n bytes and b (p + k) numbers.

    Notes
    -----
    Models of different parts of a stream merge: ``merge`` clusters the centres of both, each with its count as weight.

    Examples
    --------
    >>> from qed.cluster import MiniBatchKMeans
    >>> model = MiniBatchKMeans(2, batch_size=4, random_state=0).fit([[0.0], [0.2], [10.0], [10.2]])
    >>> sorted(model.cluster_centers_[:, 0].round().tolist())
    [0.0, 10.0]
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    init: Init | Callable[..., Any] | Matrix = param("k-means++", STARTS)
    max_iter: PositiveInt = param(100, "Most passes: steps see at most so many times as many rows as there are.")
    batch_size: PositiveInt = param(1024, "Rows of a step.")
    verbose: NonNegativeInt = VERBOSE
    compute_labels: bool = param(
        True, "Whether labels are wanted; the pass that certifies the fit finds them anyway.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of starts and batches.")
    tol: NonNegative = param(
        0.0, "Smoothed squared shift of centres, relative to the mean variance of the columns, that is small enough."
    )
    max_no_improvement: PositiveInt | None = param(
        10, "Steps without a lower smoothed inertia after which to stop; None for never."
    )
    init_size: PositiveInt | None = param(
        None, "Rows that starts are chosen from; three batches, or three rows a cluster, by default."
    )
    n_init: Literal["auto"] | PositiveInt = param(
        "auto", "How many starts are compared: 'auto' means one for 'k-means++' and arrays, else three."
    )
    reassignment_ratio: NonNegative = param(
        0.01, "Share of the largest count below which a centre is put at a row of the batch."
    )

    cluster_centers_: Array = fitted("Centres, shape (k, p).", shape="(c, p)", length="at least 1")
    labels_: Array = fitted(
        "The cluster of each row of the fit or of the last batch, shape (n,).",
        dtype="int32", shape="(n,)", low=0, below="cluster_centers_", optional=True,
    )  # fmt: skip
    inertia_: float = fitted("Weighted sum of squared distances of these rows to their centres.", low=0, optional=True)
    counts_: Array = fitted("Weight of the rows that each centre has seen.", shape="(c,)", low=0, answers=False)
    n_iter_: int = fitted("Passes over as many rows as there are.", low=0, answers=False, optional=True)
    n_steps_: int = fitted("Batches seen.", low=0, answers=False)
    certificate_: ClustersCertificate | Uncertified = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find centres.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X, None, sample_weight)
        places, scatter = self._read_rows(data)
        n, rng = data.n_rows, generator(self.random_state)
        batch = min(self.batch_size, n)
        rule = BatchRule(
            float(self.reassignment_ratio),
            REASSIGN_EVERY * self.n_clusters,
            min(1.0, 2.0 * batch / (n + 1)),
            float(self.tol * scatter.total / scatter.seen.weight / data.X.shape[1]),
            np.inf if self.max_no_improvement is None else self.max_no_improvement,
        )
        stream = _Stream(self._first_centres(data.X, places, rng))
        most = max(1, self.max_iter * n // batch)
        outcome = "max_iter"
        try:
            with Progress(type(self).__name__, most, verbose=self.verbose) as progress:
                while stream.steps < most:
                    count = 1 if progress.has_listeners else min(max(1, DRAWN // batch), most - stream.steps)
                    if stream.learn(places, np.sort(rng.integers(0, n, (count, batch)), axis=1), rule, rng):
                        outcome = "solved"
                        break
                    if progress.step(stream.value) is STOP:
                        outcome = "stopped"
                        break
        except KeyboardInterrupt:
            outcome = "interrupted"
        k, steps = self.n_clusters, max(1, -(-stream.steps * batch // n))
        bounds = Bounds.empty(n, np.array([0, k], np.int64))
        run = Run(stream.centres, bounds.labels, 0.0, steps, 0.0, np.zeros(0), stream.evaluated, outcome)
        self._store(finished(places, stream.centres, bounds, run, np.arange(k)), places, scatter)
        self.counts_, self.n_steps_ = stream.counts, stream.steps
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _first_centres(self, X: Any, places: Places, rng: Generator) -> Array:
        """Return the best of some starts, each chosen from some rows and judged by others."""
        n, k = places.shape[0], self.n_clusters
        size = min(n, max(k, self.init_size or max(3 * self.batch_size, 3 * k)))
        used = np.flatnonzero(places.s) if places.s is not None and np.count_nonzero(places.s) >= k else np.arange(n)
        size = min(size, len(used))
        judge = _part(X, places, np.sort(rng.choice(used, size, replace=False)))
        best, least = np.empty(0), np.inf
        for _ in range(starts(self.init, self.n_init, 3)):
            rows = np.sort(rng.choice(used, size, replace=False))
            part = _part(X, places, rows)
            centres = starting_centres(self.init, X[rows], part, k, rng)
            value = _assigned(judge, centres).inertia
            if value < least or not len(best):
                best, least = centres, value
        return best

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn from one batch of a stream.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows; the first batch has at least as many as there are clusters.
        """
        is_first = "cluster_centers_" not in vars(self)
        data = self._fit_data(X, None, sample_weight, reset=is_first)
        places = Places.of(data.X, np.zeros(data.X.shape[1]), data.weight)
        rng = generator(self.random_state)
        if is_first:
            if data.n_rows < self.n_clusters:
                raise InvalidData(
                    f"n_samples={data.n_rows} should be >= n_clusters={self.n_clusters}. Begin with a larger batch."
                )
            stream = _Stream(self._first_centres(data.X, places, rng))
        else:
            stream = _Stream(self.cluster_centers_, self.counts_, self.n_steps_)
        rule = BatchRule(float(self.reassignment_ratio), REASSIGN_EVERY * self.n_clusters)
        stream.learn(places, np.arange(data.n_rows)[None], rule, rng)
        self.cluster_centers_, self.counts_, self.n_steps_ = stream.centres, stream.counts, stream.steps
        self.labels_, self.inertia_ = self._nearest(data.X, data.weight)
        self.certificate_ = Uncertified("it learnt from a stream that was not kept")
        return self

    def merge(self, other: MiniBatchKMeans) -> Self:
        """Join what another model learnt from other rows: cluster the centres of both, weighted by their counts.

        Parameters
        ----------
        other : MiniBatchKMeans
            A fitted model of the same columns.

        Returns
        -------
        self
            With centres and counts of both; labels and inertia belonged to rows that are gone, and are dropped.
        """
        self._check_is_fitted()
        if not isinstance(other, MiniBatchKMeans):
            raise InvalidData(f"A MiniBatchKMeans is merged with another one, and got {type(other).__name__}.")
        other._check_is_fitted()
        own, others = self.cluster_centers_.shape[1], other.cluster_centers_.shape[1]
        if own != others:
            raise InvalidData(f"The other model has {others} columns and this one {own}; they must be the same.")
        centres = np.vstack([self.cluster_centers_, other.cluster_centers_])
        counts = np.concatenate([self.counts_, other.counts_])
        counts = counts if counts.sum() > 0 else np.ones(len(counts))
        joint = KMeans(self.n_clusters, n_init=5, random_state=self.random_state).fit(centres, sample_weight=counts)
        self.cluster_centers_ = joint.cluster_centers_
        self.counts_ = np.bincount(joint.labels_, counts, self.n_clusters)
        self.n_steps_ = self.n_steps_ + other.n_steps_
        for name in ("labels_", "inertia_", "n_iter_"):
            vars(self).pop(name, None)
        self.certificate_ = Uncertified("it was merged with another model, and the rows of neither were kept")
        return self


def _part(X: Any, places: Places, rows: Array) -> Places:
    """Return some rows, in the same coordinates."""
    return Places.of(X[rows], places.origin, None if places.s is None else places.s[rows])


def _assigned(places: Places, centres: Array) -> Step:
    bounds = Bounds.empty(places.shape[0], np.array([0, len(centres)], np.int64))
    return places.step(centres, bounds)


class _Stream:
    """Centres that follow batches."""

    def __init__(self, centres: Array, counts: Array | None = None, steps: int = 0) -> None:
        self.centres = np.array(centres, dtype=np.float64, order="C")
        self.counts = np.zeros(len(centres)) if counts is None else np.array(counts, dtype=np.float64)
        self._seen = np.array([steps, 0, 0, 0, np.inf, np.inf, np.inf, 0])

    @property
    def steps(self) -> int:
        """Batches seen."""
        return int(self._seen[0])

    @property
    def evaluated(self) -> int:
        """Distances computed."""
        return int(self._seen[2])

    @property
    def value(self) -> float:
        """The mean squared distance of the last batch, before it moved centres."""
        return float(self._seen[3])

    def learn(self, places: Places, batches: Array, rule: BatchRule, rng: Generator) -> bool:
        """Take batches; return whether centres have come to rest, before the last perhaps."""
        while len(batches):
            end, taken = places.learn(batches, rule, self.centres, self.counts, self._seen)
            if end == POOR:
                self._reassign(places, batches[taken - 1], rule.ratio, rng)
            if end == RESTED:
                return True
            batches = batches[taken:]
        return False

    def _reassign(self, places: Places, rows: Array, ratio: float, rng: Generator) -> None:
        """Put centres of few rows at rows of the batch, as if they had seen as many as the least of the others."""
        is_poor = self.counts < ratio * self.counts.max()
        allowed = rows if places.s is None else rows[places.s[rows] > 0]
        poor = np.flatnonzero(is_poor)
        poor = poor[np.argsort(self.counts[poor], kind="stable")][: min(len(allowed), len(rows) // 2)]
        if len(poor):
            for centre, row in zip(poor, rng.choice(allowed, len(poor), replace=False), strict=True):
                self.centres[centre] = places.row(int(row))
            self.counts[poor] = self.counts[~is_poor].min()
