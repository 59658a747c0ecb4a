"""k-means."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster._bound import Scatter
from qed.cluster._kernels import Bounds, Places
from qed.cluster._lloyd import Run, lloyd
from qed.cluster._seeding import anywhere, apart, given
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    InvalidData,
    Matrix,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._tables import is_sparse
from qed.core._targets import weights
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.designs import design
from qed.designs._range import LEAST, MOST, require_range

if TYPE_CHECKING:
    from numpy.random import Generator


class KMeans(Clusterer, Transformer, sparse=True):
    r"""Rows in k groups, each about its mean.

    Objective
    ---------
    .. math:: \min_{c_1, \dots, c_k} \sum_i s_i \min_j \| x_i - c_j \|^2

    the inertia, which has many local minima: Lloyd's algorithm ends in one of them.

    Certificate
    -----------
    ClustersCertificate: the inertia is at most so many times that of the best centres. No clusters have less inertia than the
    variance that the best k - 1 directions leave out.

    Cost
    ----
    O(npk) for seeding and for the first step; later steps look at the rows whose centre may have changed. The certificate takes
    O(np min(n, p)) once. Memory beyond X: n (28 + 8 g) bytes with g groups of centres, at most 16, 8 n log k while seeding, and
    24 min(n, p)^2.

    Notes
    -----
    Rows go to the nearest centre, centres to the means of their rows, so that the inertia never rises; ``trace`` of the certificate
    shows it. An empty cluster is given the row farthest from its centre. A fixed point need not be a minimum even nearby; more
    starts (``n_init``) find better ones, and the certificate says how much better any could be.

    Examples
    --------
    >>> from qed.cluster import KMeans
    >>> model = KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(model.cluster_centers_[:, 0].tolist())
    [0.5, 10.5]
    >>> model.inertia_
    1.0
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    init: Literal["k-means++", "random"] | Callable[..., Any] | Matrix = param(
        "k-means++",
        "Where centres begin: rows drawn by squared distances, rows drawn evenly, an array of shape (k, p), or a function of"
        " (X, n_clusters, random_state) that returns one.",
    )
    n_init: Literal["auto"] | PositiveInt = param(
        "auto", "How many starts, of which the best is kept: 'auto' means one for 'k-means++' and arrays, else ten."
    )
    max_iter: PositiveInt = param(300, "Most steps of one start.")
    tol: NonNegative = param(
        1e-4, "Squared shift of all centres, relative to the mean variance of the columns, that is small enough."
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of the starts.")
    copy_x: bool = param(True, "Whether X may not be written over; it never is.", kind="hint")
    algorithm: Literal["lloyd", "elkan"] = param(
        "lloyd", "Which bounds scikit-learn keeps; here rows keep as many as pay.", kind="hint"
    )

    cluster_centers_: Array = fitted("Centres, shape (k, p).", shape="(c, p)", length="at least 1")
    labels_: Array = fitted(
        "The cluster of each row of the fit, shape (n,).", dtype="int32", shape="(n,)", low=0, below="cluster_centers_"
    )
    inertia_: float = fitted("Weighted sum of squared distances of rows to their centres.", low=0)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find centres.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows, at least as many as clusters.
        y : None
            Not looked at; here because every ``fit`` takes it.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
            Fitted.
        """
        data = self._fit_data(X, None, sample_weight)
        k = self.n_clusters
        if data.n_rows < k:
            raise InvalidData(f"n_samples={data.n_rows} should be >= n_clusters={k}. Ask for fewer clusters.")
        X, s = data.X, data.weight
        scatter = Scatter(X, s)
        require_range(ArraySource(X, None, s), scatter.seen)
        places = Places.of(X, scatter.seen.mean, s)
        _require_squares(float(places.squares.max(initial=0.0)), scatter)
        rng = generator(self.random_state)
        total = float(np.sum(places.squares if s is None else s * places.squares))
        tol = self.tol * scatter.total / scatter.seen.weight / X.shape[1]
        best: Run | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(self._starts()):
                run = lloyd(places, self._start(X, places, rng), total, most=self.max_iter, tol=tol, progress=progress)
                best = run if best is None or run.inertia < best.inertia else best
                if run.outcome in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        self._store(best, places, scatter)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _starts(self) -> int:
        if self.n_init != "auto":
            return 1 if hasattr(self.init, "__array__") or isinstance(self.init, list | tuple) else int(self.n_init)
        return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1

    def _start(self, X: Any, places: Places, rng: Generator) -> Array:
        k = self.n_clusters
        if isinstance(self.init, str):
            return (apart if self.init == "k-means++" else anywhere)(places, k, rng)
        if callable(self.init):
            state = np.random.RandomState(rng.integers(2**31))
            return given(self.init(X, k, random_state=state), places, k, "init")
        return given(self.init, places, k, "init")

    def _store(self, run: Run, places: Places, scatter: Scatter) -> None:
        bound, doubt = scatter.least_inertia(self.n_clusters)
        self.cluster_centers_ = run.centres + places.origin
        # centres are stored in the coordinates of the rows, however far these are from zero
        moved = UNIT * float(np.linalg.norm(np.abs(self.cluster_centers_).max(axis=0))) * scatter.seen.weight**0.5
        doubt += moved * (moved + 2 * (run.drift + UNIT * scatter.total**0.5))
        self.labels_ = run.labels
        self.inertia_ = run.inertia
        self.n_iter_ = run.steps
        self.certificate_ = ClustersCertificate(
            objective=run.inertia,
            bound=bound,
            rounding=doubt + (places.shape[1] + 64) * UNIT * (run.inertia + scatter.total),
            null_objective=scatter.total,
            drift=run.drift,
            trace=run.trace,
            evaluations=run.evaluations,
            tol=float(self.tol),
            outcome=run.outcome,
            fingerprint=scatter.seen,
        )

    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _nearest(self, X: Any, s: Array | None = None) -> tuple[Array, float]:
        """Return the nearest centre of each row, and the weighted sum of squared distances."""
        origin = self.cluster_centers_.mean(axis=0)
        places = Places.of(X, origin, s)
        k = len(self.cluster_centers_)
        bounds = Bounds.empty(X.shape[0], np.array([0, k], np.int64))
        step = places.step(self.cluster_centers_ - places.origin, bounds, sums=False)
        return bounds.labels, step.inertia

    def predict(self, X: Any) -> Array:
        """Return the nearest centre of rows.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of centres.
        """
        return self._nearest(self._new_data(X))[0]

    def transform(self, X: Any) -> Any:
        """Return the distances of rows to all centres.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, k)
            Distances, in the type of X.
        """
        X = self._new_data(X)
        origin = None if is_sparse(X) else self.cluster_centers_.mean(axis=0)
        centres = self.cluster_centers_ if origin is None else self.cluster_centers_ - origin
        squares = Places.of(X, np.zeros(X.shape[1]) if origin is None else origin, None).squares
        away = -2 * design(X).product(centres.T, origin)
        away += squares[:, None]
        away += np.sum(centres**2, axis=1)
        np.sqrt(np.maximum(away, 0.0, out=away), out=away)
        return away.astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return minus the weighted sum of squared distances of rows to their nearest centres.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        float
            Larger is better; never above zero.
        """
        X = self._new_data(X)
        return -self._nearest(X, weights(sample_weight, X.shape[0]))[1]


def _require_squares(largest: float, scatter: Scatter) -> None:
    """Refuse rows whose squared distances leave float64 though weights bring their sums back into it."""
    if scatter.total > 0 and not LEAST <= largest <= MOST:
        raise InvalidData(
            f"The largest squared distance from the mean is {largest:.3g}; squares below {LEAST:g} and above {MOST:g} lose digits."
            " Multiply the columns by a power of ten."
        )
