"""k-means."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import Any, Literal, Self

from qed.certificates import ClustersCertificate  # noqa: TC001  (read from an annotation)
from qed.cluster._centres import CentreModel
from qed.cluster._lloyd import Run, lloyd
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
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._validation import is_source


class KMeans(CentreModel, chunks=True):
    r"""k-means clustering: k centres that minimise the within-cluster sum of squares.

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
    init: Init | Callable[..., Any] | Matrix = param("k-means++", STARTS)
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
        X : array-like, frame or sparse container of shape (n, p), or a source from ``qed.scan``
            Rows, at least as many as clusters. A source is read once for each step.
        """
        data = self._fit_data(X, None, sample_weight)
        if is_source(X):
            return self._fit_source(X)
        places, scatter = self._read_rows(data)
        rng = generator(self.random_state)
        tol = self.tol * scatter.total / scatter.seen.weight / data.X.shape[1]
        best: Run | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(starts(self.init, self.n_init, 10)):
                centres = starting_centres(self.init, data.X, places, self.n_clusters, rng)
                run = lloyd(places, centres, most=self.max_iter, tol=tol, progress=progress)
                best = run if best is None or run.inertia < best.inertia else best
                if run.outcome in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        self._store(best, places, scatter)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _fit_source(self, source: Any) -> Self:
        """Find centres of rows that come in chunks."""
        from qed.cluster import _passes  # noqa: PLC0415  (most rows are in memory)

        scatter = _passes.FoldedScatter(source, type(self).__name__)
        if scatter.rows < self.n_clusters:
            raise InvalidData(
                f"n_samples={scatter.rows} should be >= n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        mean, rng = scatter.seen.mean, generator(self.random_state)
        X, places = _passes.sampled(source, mean, rng)
        tol = self.tol * scatter.total / scatter.seen.weight / len(mean)
        best: Run | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(starts(self.init, self.n_init, 10)):
                centres = starting_centres(self.init, X, places, self.n_clusters, rng)
                run = _passes.lloyd_by_passes(source, mean, centres, most=self.max_iter, tol=tol, progress=progress)
                best = run if best is None or run.inertia < best.inertia else best
                if run.outcome in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        self._store(best, _passes.Coordinates(mean, (scatter.rows, len(mean))), scatter)
        if run.outcome == "interrupted":
            raise KeyboardInterrupt
        return self
