"""What all embeddings share: points, their orientation, and their certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import EmbeddingCertificate
from qed.core import Array, InvalidData, Transformer, fitted
from qed.core._tables import is_sparse
from qed.designs._range import fingerprint
from qed.manifold._faithfulness import COMPARED, compared_rows, faithfulness
from qed.neighbors._rows import require_magnitude

if TYPE_CHECKING:
    from qed.certificates import Fingerprint
    from qed.core import FitData
    from qed.manifold._neighborhoods import Space


class Ending(NamedTuple):
    """How a method came to its points.

    Attributes
    ----------
    what : str
        Name of the objective.
    objective : float
        Its value at the points.
    residual : float
        How far the points are from rest, relative.
    outcome : str
        "solved", "max_iter", "stopped" or "interrupted".
    """

    what: str
    objective: float
    residual: float
    outcome: str


def oriented(points: Array) -> Array:
    """Return points about their mean, along their principal axes, the largest coordinate of each axis positive."""
    points = points - points.mean(axis=0)
    points -= points.mean(axis=0)
    size = float(np.abs(points).max(initial=0.0))
    if size == 0:
        return points
    scaled = points / size
    axes = np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1]
    return with_signs(points @ axes)


def with_signs(points: Array) -> Array:
    """Return points whose coordinate of largest size is positive along every axis."""
    largest = points[np.argmax(np.abs(points), axis=0), np.arange(points.shape[1])]
    return np.asarray(points * np.where(largest < 0, -1.0, 1.0))


class Embedding(Transformer, min_samples=2):
    """A model that places its rows; `fit_transform` returns where."""

    embedding_: Array = fitted("A point for each row of the fit, (n, n_components).", shape="(n, *)", dtype="float")
    certificate_: EmbeddingCertificate = fitted("What is proven about the fit.")

    def _seen(self, data: FitData) -> Fingerprint:
        values = data.X.data if is_sparse(data.X) else data.X
        require_magnitude(float(np.max(np.abs(values), initial=0.0)), type(self).__name__)
        return fingerprint(data.X, np.empty((data.n_rows, 0)), None)

    def _certify(self, space: Space, seen: Fingerprint, ending: Ending) -> None:
        """State what the stored points keep of the neighbourhoods of the rows."""
        points = np.asarray(self.embedding_, dtype=np.float64)
        if not np.isfinite(points).all():
            raise InvalidData(
                f"The points of this {type(self).__name__} left float64. Scale the columns, as StandardScaler does."
            )
        n = len(points)
        rows = compared_rows(n, space.rows.shape[1])
        k = max(1, min(COMPARED, (n - 1) // 2))
        trust, kept = faithfulness(space, points, rows, k)
        self.certificate_ = EmbeddingCertificate(
            what=ending.what,
            objective=float(ending.objective),
            residual=float(ending.residual),
            trustworthiness=trust,
            continuity=kept,
            n_neighbors=k,
            compared=len(rows),
            outcome=ending.outcome,
            fingerprint=seen,
        )

    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the points of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        y : array-like, optional
            For methods that look at targets; others do not.
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        ndarray of shape (n, n_components)
            ``embedding_``.
        """
        return self.fit(X, y, **fit_params).embedding_  # type: ignore[attr-defined]
