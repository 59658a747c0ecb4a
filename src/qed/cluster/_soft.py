"""k-means with shares instead of labels."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.cluster import _kernels
from qed.cluster._centres import CentreModel
from qed.cluster._seeding import STARTS, Init, starting_centres, starts
from qed.core import (
    KW_ONLY,
    Array,
    Matrix,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.core._tables import is_sparse
from qed.data._kernels import UNIT

if TYPE_CHECKING:
    from qed.cluster._kernels import Places


class _Pass(NamedTuple):
    """What one pass over the rows found: the objective, and the means of all rows by their shares."""

    value: float
    means: Array
    counts: Array


class SoftKMeans(CentreModel, sparse=False):
    r"""Soft k-means: each sample has a degree of membership in every cluster.

    Objective
    ---------
    .. math:: \min_{c, z} \sum_i s_i \Big( \sum_j z_{ij} \| x_i - c_j \|^2 + \frac{1}{\beta} \sum_j z_{ij} \log z_{ij} \Big)
              = \min_c -\frac{1}{\beta} \sum_i s_i \log \sum_j e^{-\beta \| x_i - c_j \|^2}

    over shares z that sum to one for each row. Without the entropy the objective is linear in z and its solutions are hard: that is
    the limit of large beta. The shares are :math:`z_{ij} \propto e^{-\beta \| x_i - c_j \|^2}`.

    Certificate
    -----------
    AscentCertificate: minus the objective, per unit of weight and of variance, never fell from step to step; and what one more
    step adds.

    Cost
    ----
    O(npk) a step; memory beyond X: a few rows of k shares.

    Notes
    -----
    These are the steps of expectation-maximisation for a mixture of k Gaussians of equal weights and variance 1 / (2 beta). For
    small beta all centres meet at the mean.

    Examples
    --------
    >>> from qed.cluster import SoftKMeans
    >>> model = SoftKMeans(2, beta=0.5, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(model.cluster_centers_[:, 0].round(6).tolist())
    [0.5, 10.5]
    >>> model.predict_proba([[5.5]]).round(3).tolist()
    [[0.5, 0.5]]
    """

    n_clusters: PositiveInt = param(8, "Number of clusters.")
    _: KW_ONLY
    beta: Positive = param(1.0, "How hard shares are: one over twice the variance of a cluster, in units of X squared.")
    init: Init | Callable[..., Any] | Matrix = param("k-means++", STARTS)
    n_init: Literal["auto"] | PositiveInt = param("auto", "How many starts, of which the best is kept, as in `KMeans`.")
    max_iter: PositiveInt = param(300, "Most steps of one start.")
    tol: NonNegative = param(
        1e-9, "Gain of a step a row, in units of the mean squared distance from the mean, to stop at."
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of the starts.")

    cluster_centers_: Array = fitted("Centres, shape (k, p).", shape="(c, p)", length="at least 1")
    labels_: Array = fitted(
        "The cluster of the largest share of each row of the fit.",
        dtype="int32", shape="(n,)", low=0, below="cluster_centers_",
    )  # fmt: skip
    inertia_: float = fitted("Weighted sum of squared distances of rows to their nearest centres.", low=0)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find centres.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least as many as clusters.
        """
        data = self._fit_data(X, None, sample_weight)
        places, scatter = self._read_rows(data)
        rng = generator(self.random_state)
        unit = scatter.total / scatter.seen.weight or 1.0
        rows = np.asarray(data.X, dtype=np.float64) - places.origin
        s = np.ones(len(rows)) if data.weight is None else data.weight
        best: tuple[list[float], Array, _Pass, str] | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(starts(self.init, self.n_init, 10)):
                centres = starting_centres(self.init, data.X, places, self.n_clusters, rng)
                run = self._ascend(rows, s, centres, unit, progress)
                best = run if best is None or run[0][-1] > best[0][-1] else best
                if run[3] in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        self._store_ascent(best, places, scatter.seen, unit)
        self.labels_, self.inertia_ = self._nearest(data.X, data.weight)
        if best[3] == "interrupted":
            raise KeyboardInterrupt
        return self

    def _ascend(
        self, rows: Array, s: Array, centres: Array, unit: float, progress: Progress
    ) -> tuple[list[float], Array, _Pass, str]:
        here = _pass(rows, s, centres, self.beta, unit)
        trace, outcome = [here.value], "max_iter"
        try:
            for _ in range(self.max_iter):
                there = _pass(rows, s, here.means, self.beta, unit)
                centres, here = here.means, there
                trace.append(there.value)
                if trace[-1] - trace[-2] <= self.tol:
                    outcome = "solved"
                    break
                if progress.step(-there.value) is STOP:
                    outcome = "stopped"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
        return trace, centres, here, outcome

    def _store_ascent(self, run: tuple[list[float], Array, _Pass, str], places: Places, seen: Any, unit: float) -> None:
        trace, centres, here, outcome = run
        self.cluster_centers_ = centres + places.origin
        self.n_iter_ = len(trace) - 1
        rows = np.asarray(places.X, dtype=np.float64) - places.origin
        s = np.ones(len(rows)) if places.s is None else places.s
        after = _pass(rows, s, here.means, self.beta, unit)
        moved = float(np.sum(here.counts @ (here.means - centres) ** 2) / seen.weight)
        size = (
            float(np.max(places.squares[s > 0], initial=0.0))
            + float(np.max(np.abs(self.cluster_centers_), initial=0.0)) ** 2
        )
        rounding = 64 * (places.shape[1] + 8) * UNIT * ((size + 1 / self.beta) / unit + abs(trace[-1]))
        gain, displacement = after.value - here.value, float(np.sqrt(moved / unit))
        noise = 2e-9 + 2e3 * UNIT * float(np.sqrt(unit * seen.weight + size) / np.sqrt(unit))
        self.certificate_ = AscentCertificate(
            what="negative soft inertia, in units of that of one centre,",
            objective=trace[-1],
            rounding=rounding,
            trace=np.array(trace),
            gain=gain if abs(gain) > 16 * rounding else 0.0,  # less is rounding
            displacement=displacement if displacement > noise else 0.0,
            tol=float(self.tol),
            outcome=outcome,
            fingerprint=seen,
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the shares of rows in all clusters.

        Returns
        -------
        ndarray of shape (n, k)
            Shares, which sum to one for each row.
        """
        X = self._new_data(X)
        assert not is_sparse(X)  # noqa: S101  (refused before)
        origin = self.cluster_centers_.mean(axis=0)
        rows = np.asarray(X, dtype=np.float64) - origin
        return _kernels.soft_shares(rows, self.cluster_centers_ - origin, self.beta)


def _pass(rows: Array, s: Array, centres: Array, beta: float, unit: float) -> _Pass:
    """Go through the rows once: minus the objective per unit of weight and of variance, and the means by shares."""
    total, counts, sums = _kernels.soft_sums(rows, s, centres, beta)
    used = counts > 0
    means = centres + np.where(used[:, None], sums / np.where(used, counts, 1.0)[:, None], 0.0)
    return _Pass(total / beta / float(s.sum()) / unit, means, counts)
