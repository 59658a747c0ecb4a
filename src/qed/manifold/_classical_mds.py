"""Classical multidimensional scaling."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import KW_ONLY, Array, PositiveInt, Traits, fitted, param
from qed.manifold._embedding import Embedding, Ending, with_signs
from qed.manifold._neighborhoods import AnyMetric, Space, require_symmetric
from qed.manifold._scaling import scaled


class ClassicalMDS(Embedding):
    r"""Classical multidimensional scaling: an embedding whose inner products are those that the distances imply.

    Objective
    ---------
    .. math:: \min_Y \left\| -\tfrac12 J D^{2} J - Y Y^\top \right\|_F^2, \qquad J = I - \tfrac1n 1 1^\top

    the strain, with :math:`D^{2}` the squared distances: solved by the leading eigenvectors, each times the root of its eigenvalue.

    Certificate
    -----------
    EmbeddingCertificate: the strain, the residual of the eigenvectors, and how many neighbours are kept.

    Cost
    ----
    O(n^2 p) for distances, O(n^2 k) a product of the eigensolver; 24 n^2 bytes.

    Notes
    -----
    With Euclidean distances the points are the principal component scores, up to sign, and as many components as the rows
    have dimensions reproduce all distances.

    Examples
    --------
    >>> from qed.manifold import ClassicalMDS
    >>> D = [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    >>> Y = ClassicalMDS(2, metric="precomputed").fit_transform(D)
    >>> float(round(((Y[1] - Y[2]) ** 2).sum() ** 0.5, 10))
    5.0
    """

    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    _: KW_ONLY
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' if X holds distances."
    )
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w`` of the metric 'minkowski', or what a function takes."
    )

    dissimilarity_matrix_: Array = fitted(
        "Distances of all pairs of rows, (n, n).", shape="(n, n)", low=0, answers=False
    )
    eigenvalues_: Array = fitted("Eigenvalues of the components, (n_components,).", shape="(n_components,)")

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self.metric == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        """
        data = self._fit_data(X)
        space = Space.of(type(self).__name__, data.X, self.metric, self.metric_params)
        D = require_symmetric(type(self).__name__, space.square())
        found = scaled(D, self.n_components)
        self.eigenvalues_ = found.values
        self.dissimilarity_matrix_ = np.array(D)
        self.embedding_ = with_signs(found.points).astype(data.X.dtype)
        self._certify(space, self._seen(data), Ending("strain", found.strain, found.residual, "solved"))
        return self
