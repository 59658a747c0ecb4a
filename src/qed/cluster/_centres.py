"""Models that are known by their centres: what they answer, and what is proved of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster._bound import Scatter
from qed.cluster._kernels import Places, assign_once
from qed.core import Array, Clusterer, FitData, InvalidData, Transformer
from qed.core._tables import is_sparse
from qed.core._targets import weights
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.designs import design
from qed.designs._range import MAX_MAGNITUDE, MIN_MAGNITUDE, require_range

if TYPE_CHECKING:
    from qed.cluster._lloyd import Run
    from qed.cluster._passes import Coordinates


class CentreModel(Clusterer, Transformer, sparse=True):
    """What models of centres share: rows go to the nearest one."""

    n_clusters: int
    tol: float
    cluster_centers_: Array
    labels_: Array
    inertia_: float
    n_iter_: int
    certificate_: Any

    def _read_rows(self, data: FitData) -> tuple[Places, Scatter]:
        """Return rows about their mean, and their spread; refuse too few of them, and those without squares."""
        if data.n_rows < self.n_clusters:
            raise InvalidData(
                f"n_samples={data.n_rows} should be >= n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        scatter = Scatter(data.X, data.weight)
        require_range(ArraySource(data.X, None, data.weight), scatter.seen)
        places = Places.of(data.X, scatter.seen.mean, data.weight)
        _require_squares(float(places.squares.max(initial=0.0)), scatter)
        return places, scatter

    def _store(self, run: Run, places: Places | Coordinates, scatter: Scatter) -> None:
        bound, rounding_error = scatter.least_inertia(self.n_clusters)
        self.cluster_centers_ = run.centres + places.origin
        # centres are stored in the coordinates of the rows, however far these are from zero
        moved = UNIT * float(np.linalg.norm(np.abs(self.cluster_centers_).max(axis=0))) * scatter.seen.weight**0.5
        rounding_error += moved * (moved + 2 * (run.drift + UNIT * scatter.total**0.5))
        self.labels_ = run.labels
        self.inertia_ = run.inertia
        self.n_iter_ = run.steps
        self.certificate_ = ClustersCertificate(
            objective=run.inertia,
            bound=bound,
            rounding=rounding_error + (places.shape[1] + 64) * UNIT * (run.inertia + scatter.total),
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
        origin = np.zeros(X.shape[1]) if is_sparse(X) else self.cluster_centers_.mean(axis=0)
        step, found = assign_once(X, origin, s, self.cluster_centers_ - origin, sums=False)
        return found.labels, step.inertia

    def predict(self, X: Any) -> Array:
        """Return the nearest centre of rows.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of centres.
        """
        return self._nearest(self._new_data(X))[0]

    def transform(self, X: Any) -> Any:
        """Return the distances of rows to all centres.

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

        Returns
        -------
        float
            Larger is better; never above zero.
        """
        X = self._new_data(X)
        return -self._nearest(X, weights(sample_weight, X.shape[0]))[1]


def _require_squares(largest: float, scatter: Scatter) -> None:
    """Refuse rows whose squared distances leave float64 though weights bring their sums back into it."""
    if scatter.total > 0 and not MIN_MAGNITUDE <= largest <= MAX_MAGNITUDE:
        raise InvalidData(
            f"The largest squared distance from the mean is {largest:.3g}; squares below {MIN_MAGNITUDE:g} and above"
            f" {MAX_MAGNITUDE:g} lose digits. Multiply the columns by a power of ten."
        )
