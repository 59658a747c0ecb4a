"""t-SNE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    Matrix,
    NonNegative,
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
from qed.decomposition import PCA
from qed.manifold._embedding import Embedding, Ending, oriented
from qed.manifold._faithfulness import compared_rows
from qed.manifold._kernels import Descent, Edges, student_sum
from qed.manifold._neighborhoods import AnyMetric, Space
from qed.manifold._tsne_loss import divergence, imbalance, normaliser_rows, probabilities, require_perplexity

if TYPE_CHECKING:
    from numpy.random import Generator

EXPLORING = 250  # steps with exaggerated probabilities
STRIDE = 50  # steps between two looks at the divergence
BOXES_UP_TO = 3  # dimensions
GRIDS_UP_TO = 2


class TSNE(Embedding):
    r"""t-SNE: an embedding that matches neighbour probabilities, for visualisation in two or three dimensions.

    Objective
    ---------
    .. math:: \min_Y \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad q_{ij} \propto \frac{1}{1 + \| y_i - y_j \|^2}

    the Kullback-Leibler divergence between two distributions over pairs: p falls with the distance of rows, so that every row has
    ``perplexity`` neighbours in effect; q falls with the distance of points. (With more than two dimensions the tail of q is that
    of Student's t with one degree of freedom less than there are dimensions.) Neighbours are matched, not distances: gaps and sizes
    of groups in the picture mean little.

    Certificate
    -----------
    EmbeddingCertificate: the divergence from exact similarities, what is left of the forces on the points, and how many
    neighbours are kept. Stated is the divergence of the p that was fitted, `joint_probabilities`: of the 3 perplexity + 1 nearest
    rows of each row, which hold all of its probability; of all rows with ``method="exact"``. Values of different p do not compare.

    Cost
    ----
    O(n^2 p) at most for neighbours; a step takes O(n k + n log n), k being three times the perplexity. Memory: 60 n k bytes, and
    at most 2 kB a point for a grid. ``method="exact"`` takes O(n^2) a step and 40 n^2 bytes.

    Notes
    -----
    ``method="interpolation"`` lets points push through a grid of nodes at most 0.4 apart: forces are interpolated by cubic splines
    at both ends, and nodes are convolved by fast Fourier transforms. They are off by about a percent, like those of Barnes-Hut with
    the angle 0.5. Steps whose grid would have more than twelve nodes a point are taken by Barnes-Hut, which then is quicker.
    ``method="barnes_hut"``: points in a box whose diagonal is shorter than ``angle`` times its distance push as one, eight to
    sixteen points at a time. The same seed gives the same points on any number of threads. They are centred and turned to their
    principal axes.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.manifold import TSNE
    >>> model = TSNE(random_state=0, max_iter=300).fit(load_iris().data)
    >>> model.certificate_.trustworthiness > 0.97
    True
    """

    n_components: PositiveInt = param(2, "Dimensions of the embedding; more than three need method='exact'.")
    _: KW_ONLY
    perplexity: Positive = param(30.0, "Effective number of neighbours of a row; below the number of rows.")
    early_exaggeration: Positive = param(
        12.0, "Factor of the probabilities in the first 250 steps, which gathers groups."
    )
    learning_rate: Positive | Literal["auto"] = param(
        "auto", "Length of steps; 'auto' is n / early_exaggeration / 4, at least 50."
    )
    max_iter: PositiveInt = param(1000, "Most steps, those of exaggeration included.")
    n_iter_without_progress: PositiveInt = param(300, "Steps without a lower divergence after which to stop.")
    min_grad_norm: NonNegative = param(1e-7, "Norm of the gradient at which to stop.")
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' if X holds distances."
    )
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w`` of the metric 'minkowski', or what a function takes."
    )
    init: Literal["pca", "random"] | Matrix = param(
        "pca", "Where points begin: principal components, at random, or an array."
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of a random start; the only random numbers there are.")
    method: Literal["auto", "interpolation", "barnes_hut", "exact"] = param(
        "auto",
        "How points push each other: through a grid, where they are interpolated; far ones in groups; or each by itself. 'auto' is"
        " 'interpolation' up to two dimensions, 'barnes_hut' with three.",
    )
    angle: Positive = param(0.5, "Size of a group, relative to its distance, up to which it pushes as one.")
    n_jobs: int | None = param(
        None, "Number of threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )

    neighbors_: Array = fitted(
        "Numbers of the neighbours of each row, nearest first, (n, k).",
        dtype="int32",
        shape="(n, *)",
        low=0,
        answers=False,
    )
    kl_divergence_: float = fitted("The divergence at the points.")
    learning_rate_: float = fitted("Length of steps.", above=0, answers=False)
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self.metric == "precomputed", sparse=self.metric != "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the rows.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        """
        data = self._fit_data(X)
        n = data.n_rows
        require_perplexity(float(self.perplexity), n)
        method = self._method()
        space = Space.of(type(self).__name__, data.X, self.metric, self.metric_params)
        k = n - 1 if method == "exact" else min(n - 1, int(3 * self.perplexity + 1))
        require_memory(
            60 * n * k,
            f"probabilities of {k} neighbours of {n} rows",
            "Take method='interpolation'." if method == "exact" else "Take a smaller perplexity, or fewer rows.",
        )
        distances, ids = space.nearest(k)
        p = Edges.of(probabilities(distances, ids, float(self.perplexity)))
        rate = max(n / self.early_exaggeration / 4, 50.0) if self.learning_rate == "auto" else float(self.learning_rate)
        start = self._start(space, generator(self.random_state))
        angle = 0.0 if method == "exact" else float(self.angle)
        descent = Descent(p, start, rate, angle, by_grid=method == "interpolation")
        steps, outcome = self._descend(descent)
        self.neighbors_, self.learning_rate_, self.n_iter_ = ids.astype(np.int32), float(rate), steps
        self.embedding_ = oriented(descent.points).astype(data.X.dtype)
        points = np.asarray(self.embedding_, dtype=np.float64)
        rows = normaliser_rows(n)
        self.kl_divergence_ = divergence(p, points, rows)
        total = student_sum(points, rows) * (n / len(rows))
        residual = imbalance(p, points, compared_rows(n, 1), total)
        self._certify(
            space,
            self._seen(data),
            Ending("Kullback-Leibler divergence", self.kl_divergence_, residual, outcome),
        )
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _method(self) -> str:
        method, d = self.method, self.n_components
        if method == "auto":
            method = "interpolation" if d <= GRIDS_UP_TO else "barnes_hut"
        if method == "interpolation" and d > GRIDS_UP_TO:
            raise InvalidParameter(
                f"TSNE.method 'interpolation' needs n_components of at most {GRIDS_UP_TO}, got {d}. Take method='barnes_hut'"
                f" (up to {BOXES_UP_TO}) or 'exact'."
            )
        if method == "barnes_hut" and d > BOXES_UP_TO:
            raise InvalidParameter(
                f"'n_components' should be inferior to 4 for the barnes_hut algorithm, got {d}. Take method='exact'."
            )
        if self.metric == "precomputed" and isinstance(self.init, str) and self.init == "pca":
            raise InvalidParameter(
                'The parameter init="pca" cannot be used with metric="precomputed": distances have no principal components.'
                ' Take init="random".'
            )
        return method

    def _start(self, space: Space, rng: Generator) -> Array:
        shape = (space.n_rows, self.n_components)
        if not isinstance(self.init, str):
            given = np.array(self.init, dtype=np.float64)
            if given.shape != shape or not np.isfinite(given).all():
                raise InvalidData(f"init must hold finite numbers of shape {shape}, got shape {given.shape}.")
            return given
        if self.init == "pca":
            scores = (
                PCA(min(self.n_components, *space.rows.shape)).set_output(transform="default").fit_transform(space.rows)
            )
            spread = float(np.std(scores[:, 0]))
            if spread > 0 and scores.shape == shape:
                return np.asarray(scores * (1e-4 / spread))
        return 1e-4 * rng.standard_normal(shape)

    def _descend(self, descent: Descent) -> tuple[int, str]:
        """Go down, first with exaggerated probabilities; return the steps taken and how it ended."""
        done, outcome = 0, "solved"  # a whole schedule is a whole fit
        best, best_at = np.inf, 0
        try:
            with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
                while done < self.max_iter:
                    exploring = done < EXPLORING
                    count = min(STRIDE, (EXPLORING if exploring else self.max_iter) - done, self.max_iter - done)
                    value, norm = descent.steps(
                        count, self.early_exaggeration if exploring else 1.0, 0.5 if exploring else 0.8
                    )
                    done += count
                    if exploring and done == EXPLORING:
                        descent.rest()
                    if progress.step(value=value) is STOP:
                        return done, "stopped"
                    if exploring:
                        continue
                    if value < best:
                        best, best_at = value, done
                    if norm <= self.min_grad_norm or done - best_at > self.n_iter_without_progress:
                        return done, "solved"
        except KeyboardInterrupt:
            outcome = "interrupted"
        return done, outcome
