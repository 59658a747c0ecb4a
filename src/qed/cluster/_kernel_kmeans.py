"""k-means in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Seed,
    Traits,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._memory import require_memory
from qed.core._shared_params import VERBOSE
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint, require_range
from qed.metrics import pairwise_kernels

if TYPE_CHECKING:
    from numpy.random import Generator


# Rows for each one that changes its cluster, from which the sums change by these alone; gathering them copies part of the kernel.
# Tuned on one machine, 6000 rows: a quarter of them moved 17 ms against 35 for all anew, a third 26 against 36, half 39 against 39.
MIN_ROWS_PER_MOVED_ROW = 4
BOUND_ROWS = 1000  # rows of a kernel whose eigenvalues are found for the bound


class _Run(NamedTuple):
    labels: Array
    inertia: float
    trace: list[float]
    outcome: str


def _are_enough(model: Any, rows: Array) -> str:
    return "" if model.n_clusters <= len(rows) else f"should be at least {model.n_clusters} rows, and are {len(rows)}"


class KernelKMeans(Clusterer):
    r"""Kernel k-means: k-means in the feature space of a kernel, for clusters that are not convex.

    Objective
    ---------
    .. math:: \min_\ell \sum_i s_i \| \varphi(x_i) - \mu_{\ell(i)} \|^2, \qquad
              \| \varphi(x) - \mu_j \|^2 = k(x, x) - \frac{2}{n_j} \sum_{i \in j} s_i k(x, x_i)
              + \frac{1}{n_j^2} \sum_{i, i' \in j} s_i s_{i'} k(x_i, x_{i'})

    with :math:`n_j` the weight of cluster j. With the linear kernel this is k-means.

    Certificate
    -----------
    ClustersCertificate: the inertia is at most so many times that of the best clusters, by the eigenvalues of the kernel. The bound
    is stated for up to 1000 rows.

    Cost
    ----
    O(n^2) a step, and memory for the kernel: 8 n^2 bytes, refused beforehand where they do not fit.

    Examples
    --------
    >>> from qed.cluster import KernelKMeans
    >>> from qed.datasets import make_circles
    >>> rings, truth = make_circles(60, factor=0.2, random_state=0)
    >>> model = KernelKMeans(2, gamma=3.0, n_init=10, random_state=0).fit(rings)
    >>> len({(int(a), int(b)) for a, b in zip(model.labels_, truth, strict=True)})
    2
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    kernel: Literal["rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"] | Callable[..., Any] = (
        param("rbf", "Kernel: a name, a function of two rows, or 'precomputed' where X is the kernel itself.")
    )
    gamma: Positive | None = param(
        None, "Rate of 'rbf', 'laplacian', 'poly' and 'sigmoid'; one over the columns by default."
    )
    degree: Positive = param(3, "Degree of 'poly'.")
    coef0: float = param(1.0, "Constant of 'poly' and 'sigmoid'.")
    n_init: PositiveInt = param(1, "How many starts, of which the best is kept.")
    max_iter: PositiveInt = param(300, "Most steps of one start.")
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of the starts.")

    rows_: Array = fitted("The rows of the fit.", shape="(n, p)", check=_are_enough)
    weights_: Array = fitted("Their weights.", shape="(n,)", low=0)
    labels_: Array = fitted("Their clusters.", dtype="int32", shape="(n,)", low=0, below="n_clusters")
    inertia_: float = fitted("Weighted sum of squared distances of rows to their centres, in the feature space.", low=0)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.kernel == "precomputed")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find clusters.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or the kernel of shape (n, n)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X, None, sample_weight)
        n, k = data.n_rows, self.n_clusters
        if n < k:
            raise InvalidData(f"n_samples={n} should be >= n_clusters={k}. Ask for fewer clusters.")
        require_memory(
            16 * n * n, f"the kernel of {n} x {n} numbers", "Fit a sample of the rows, and predict the others."
        )
        rows = np.array(data.X, dtype=np.float64)
        seen = fingerprint(rows, np.empty((n, 0)), data.weight)
        require_range(ArraySource(rows, None, data.weight), seen)
        K, s = self._kernel(rows, None), np.ones(n) if data.weight is None else data.weight
        rng = generator(self.random_state)
        best: _Run | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(self.n_init):
                run = self._lloyd(K, s, _drawn_labels(K, s, k, rng), progress)
                best = run if best is None or run.inertia < best.inertia else best
                if run.outcome in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        self.rows_, self.weights_ = rows, s
        self.labels_, self.inertia_, self.n_iter_ = best.labels.astype(np.int32), best.inertia, len(best.trace)
        total, bound = _spread(K, s), _least(K, s, k)
        size = float(np.sum(s * np.abs(np.diag(K)))) + float(np.max(np.abs(K))) * float(s.sum())
        self.certificate_ = ClustersCertificate(
            objective=best.inertia,
            bound=max(bound - 64 * n * UNIT * size, 0.0),
            rounding=64 * n * UNIT * size,
            null_objective=total,
            drift=0.0,
            trace=np.array(best.trace),
            evaluations=n * k * (len(best.trace) + 1),
            tol=1e-4,
            outcome=best.outcome,
            fingerprint=seen,
        )
        if best.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _kernel(self, rows: Array, others: Array | None) -> Array:
        options = {} if callable(self.kernel) else {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        found = pairwise_kernels(rows, others, metric=self.kernel, filter_params=True, **options)
        if not np.isfinite(found).all():
            raise InvalidData(
                "The kernel holds NaN or infinity. Scale the columns, or choose a smaller gamma or degree."
            )
        if others is None and (callable(self.kernel) or self.kernel == "precomputed"):
            _require_symmetric(found)
        return found

    def _lloyd(self, K: Array, s: Array, labels: Array, progress: Progress) -> _Run:
        """Move rows to their nearest centre until none moves."""
        k, trace, outcome, own = self.n_clusters, [], "max_iter", np.diag(K)
        sums = K @ _members(s, labels, k)
        away = _distances(sums, s, labels, own)
        try:
            for _ in range(self.max_iter):
                after = _filled(np.argmin(away, axis=1), away, s, k)
                if np.array_equal(after, labels):
                    outcome = "solved"
                    break
                sums = _moved(K, s, sums, labels, after)
                labels = after
                away = _distances(sums, s, labels, own)
                trace.append(_inertia(away, s, labels))
                if progress.step(trace[-1]) is STOP:
                    outcome = "stopped"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
        # anew: sums to which steps added carry the rounding of all of them
        inertia = _inertia(_distances(K @ _members(s, labels, k), s, labels, own), s, labels)
        return _Run(labels, inertia, [*trace[:-1], inertia] if trace else trace, outcome)

    def predict(self, X: Any) -> Array:
        """Return the nearest centre of rows, in the feature space.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), or the kernel between rows and those of the fit, (m, n)
            Rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Numbers of clusters.
        """
        X = np.asarray(self._new_data(X), dtype=np.float64)
        if self.kernel == "precomputed":
            K, own = X, self.rows_
        else:
            K, own = self._kernel(X, self.rows_), self._kernel(self.rows_, None)
        within = _within(own, self.weights_, self.labels_, self.n_clusters)
        away = _between(K, self.weights_, self.labels_, self.n_clusters) + within
        return np.asarray(np.argmin(away, axis=1), dtype=np.int32)


def _require_symmetric(K: Array) -> None:
    """Refuse a kernel whose two directions differ by more than sums over all rows round by."""
    n, size = len(K), float(np.max(np.abs(K)))
    # a few rows at a time: a second kernel might not fit
    off = max(float(np.max(np.abs(K[i : i + 64] - K[:, i : i + 64].T))) for i in range(0, n, 64))
    if not off <= 64 * n * UNIT * size:
        raise InvalidData(
            f"The kernel must be symmetric: k(a, b) and k(b, a) differ by up to {off:.3g}, where its largest entry is {size:.3g}."
            " Give a symmetric kernel; of a table K that differs by rounding alone, (K + K.T) / 2."
        )


def _shares(s: Array, labels: Array, k: int) -> Array:
    """Return the weight of each row in the mean of each cluster, (n, k)."""
    Z = _members(s, labels, k)
    weight = Z.sum(axis=0)
    return np.asarray(Z / np.where(weight > 0, weight, 1.0))


def _between(K: Array, s: Array, labels: Array, k: int) -> Array:
    return np.asarray(-2 * (K @ _shares(s, labels, k)))


def _within(K: Array, s: Array, labels: Array, k: int) -> Array:
    """Return squared lengths of the centres; that of an empty cluster is infinite."""
    Z = _shares(s, labels, k)
    found = np.einsum("ij,ij->j", Z, K @ Z)
    return np.where(Z.any(axis=0), found, np.inf)


def _members(s: Array, labels: Array, k: int) -> Array:
    """Return the weight of each row in its cluster, (n, k)."""
    Z = np.zeros((len(labels), k))
    Z[np.arange(len(labels)), labels] = s
    return Z


def _moved(K: Array, s: Array, sums: Array, before: Array, after: Array) -> Array:
    """Return sums of the kernel over clusters when some rows changed theirs: of all rows, or where few did, of these alone."""
    k, rows = sums.shape[1], np.flatnonzero(before != after)
    if MIN_ROWS_PER_MOVED_ROW * len(rows) > len(K):
        return np.asarray(K @ _members(s, after, k))
    change = _members(s[rows], after[rows], k) - _members(s[rows], before[rows], k)
    return np.asarray(sums + K[rows].T @ change)


def _distances(sums: Array, s: Array, labels: Array, own: Array) -> Array:
    """Return squared distances of rows to all centres, from sums of the kernel over clusters; to empty ones they are infinite."""
    k = sums.shape[1]
    weight = np.bincount(labels, s, k)
    means = sums / np.where(weight > 0, weight, 1.0)
    inside = np.bincount(labels, s * means[np.arange(len(labels)), labels], k)
    within = np.where(weight > 0, inside / np.where(weight > 0, weight, 1.0), np.inf)
    return np.asarray(own[:, None] - 2 * means + within)


def _inertia(away: Array, s: Array, labels: Array) -> float:
    return float(np.sum(s * np.maximum(away[np.arange(len(labels)), labels], 0.0)))


def _filled(labels: Array, away: Array, s: Array, k: int) -> Array:
    """Give each empty cluster the row that is farthest from its centre."""
    labels = labels.copy()
    own = away[np.arange(len(labels)), labels] * (s > 0)
    for cluster in np.flatnonzero(np.bincount(labels, s, k) <= 0):
        counts = np.bincount(labels, s > 0, k)
        free = np.where(counts[labels] > 1, own, -1.0)
        row = int(np.argmax(free))
        if free[row] > 0:
            labels[row], own[row] = cluster, 0.0
    return labels


def _drawn_labels(K: Array, s: Array, k: int, rng: Generator) -> Array:
    """Draw rows as centres by k-means++ in the feature space, and assign rows to them."""
    diagonal = np.diag(K)
    chance = s / s.sum()
    closest = np.full(len(K), np.inf)
    labels = np.zeros(len(K), np.intp)
    for j in range(k):
        row = int(rng.choice(len(K), p=chance))
        away = np.maximum(diagonal + diagonal[row] - 2 * K[:, row], 0.0)
        labels[away < closest] = j
        closest = np.minimum(closest, away)
        mass = float(np.sum(closest * s))
        chance = closest * s / mass if mass > 0 else s / s.sum()
    return labels


def _spread(K: Array, s: Array) -> float:
    return max(float(s @ np.diag(K) - s @ K @ s / s.sum()), 0.0)


def _least(K: Array, s: Array, k: int) -> float:
    """Return what the best k - 1 directions of the feature space leave out."""
    if len(K) > BOUND_ROWS or k - 1 >= len(K):
        return 0.0
    root, share = np.sqrt(s), s / s.sum()
    centred = K - (K @ share)[:, None] - (K @ share)[None, :] + share @ K @ share
    values = np.linalg.eigvalsh(root[:, None] * centred * root)
    # a function that is no kernel has negative eigenvalues, and then nothing is known
    return float(np.sum(values[: len(values) - (k - 1)])) if values[0] >= -1e-10 * abs(values[-1]) else 0.0
