"""UMAP."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    Matrix,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Seed,
    Traits,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.core._targets import as_target
from qed.manifold import _kernels
from qed.manifold._embedding import Embedding, Ending, oriented
from qed.manifold._faithfulness import compared_rows
from qed.manifold._fuzzy_graph import fitted_curve, fuzzy_graph, relative_weights, with_classes, with_targets
from qed.manifold._kernels import Curve, Edges, Sampling
from qed.manifold._neighborhoods import AnyMetric, Space, dense_rows
from qed.manifold._spectral_start import spectral_start

if TYPE_CHECKING:
    from numpy.random import Generator

STRIDE = 50  # epochs between two looks at whether to stop
SQUARED_DISTANCE_OFFSET = 1e-3  # what the layout adds to squared distances
MOST_MOVES = 1 << 20  # of a new point for each of its neighbours: what a file asks for must end in seconds
MIN_ROWS_FOR_FEWER_EPOCHS = 10_000  # rows from which fewer epochs do
OBJECTIVE_PAIRS = 4e7  # pairs of points that the objective is computed from; beyond, some points with all others


def objective_rows(n: int) -> Array:
    """Return the rows over which the objective is stated, spread evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, max(500, int(OBJECTIVE_PAIRS / n)))).astype(np.int64))


class UMAP(Embedding):
    r"""UMAP: an embedding that matches the fuzzy graph of nearest neighbours, for visualisation and new samples.

    Objective
    ---------
    .. math:: \min_Y \frac1n \sum_i \Big( \sum_j w_{ij} \log \frac1{q_{ij}}
              + \frac{m \sum_j w_{ij}}{2n} \sum_j \log \frac1{1 - q_{ij}} \Big),
              \qquad q_{ij} = \frac{1}{1 + a \| y_i - y_j \|^{2b}}

    the cross-entropy between memberships w of rows and q of points, in which pairs that are no neighbours count as often as they
    are drawn: m times for each neighbour. Row i is a neighbour of j to the degree :math:`e^{-(d_{ij} - \rho_i)_+ / \sigma_i}`, with
    :math:`\rho_i` the distance of its nearest row and :math:`\sigma_i` such that the degrees of its k - 1 nearest rows sum to
    :math:`\log_2 k`; w is the union a + b - ab of the two directions.

    Certificate
    -----------
    EmbeddingCertificate: the objective, what is left of the forces on the points, and how many neighbours are kept.

    Cost
    ----
    O(n^2 p) at most for neighbours, O(nkm) an epoch. Memory: 100 n k bytes beyond the rows, which are kept.

    Notes
    -----
    Points begin at eigenvectors of the graph's Laplacian. In each epoch an edge of relative weight w is met w times in the mean:
    its ends move towards each other, and away from m random points. Edges without a common end are met at once, so that the same
    seed gives the same points on any number of threads. New rows are placed among the points, which stay.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.manifold import UMAP
    >>> model = UMAP(random_state=0).fit(load_iris().data)
    >>> model.certificate_.trustworthiness > 0.95
    True
    """

    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    _: KW_ONLY
    n_neighbors: Annotated[int, Number(2)] = param(
        15, "Size of a neighbourhood, the row itself included; at most all rows."
    )
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' if X holds distances."
    )
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w`` of the metric 'minkowski', or what a function takes."
    )
    n_epochs: PositiveInt | None = param(None, "Passes over the edges; None is 500, or 200 from 10,000 rows on.")
    learning_rate: Positive = param(1.0, "Length of the first moves; later ones are shorter, evenly down to zero.")
    init: Literal["spectral", "pca", "random"] | Matrix = param(
        "spectral", "Where points begin, or an array of points."
    )
    min_dist: NonNegative = param(0.1, "Distance up to which points are full neighbours; at most ``spread``.")
    spread: Positive = param(1.0, "Scale of the points.")
    set_op_mix_ratio: Annotated[float, Number(0, 1)] = param(
        1.0, "1 for the union of both directions, 0 for their product."
    )
    local_connectivity: NonNegative = param(1.0, "How many neighbours of a row count fully.")
    repulsion_strength: NonNegative = param(1.0, "Factor of what pushes points apart.")
    negative_sample_rate: NonNegativeInt = param(5, "Random points that push, for each neighbour that pulls.")
    a: Positive | None = param(None, "a of the curve; None fits it to ``min_dist`` and ``spread``.")
    b: Positive | None = param(None, "b of the curve; None fits it.")
    target_metric: Literal["categorical", "euclidean"] = param(
        "categorical", "Whether y holds labels, -1 for unknown, or numbers."
    )
    target_weight: Annotated[float, Number(0, 1)] = param(0.5, "How much y counts, if it is given.")
    target_n_neighbors: int = param(-1, "Size of neighbourhoods of targets that are numbers; -1 is ``n_neighbors``.")
    transform_seed: NonNegativeInt = param(42, "Seed of the draws in ``transform``.")
    random_state: Seed = param(None, "Seed of the draws in ``fit``.")
    verbose: NonNegativeInt = VERBOSE

    rows_: Array = fitted("The rows of the fit, (n, p).", shape="(n, p)")
    neighbors_: Array = fitted(
        "Numbers of the neighbours of each row, nearest first, (n, k).",
        dtype="int32",
        shape="(n, *)",
        low=0,
        answers=False,
    )
    a_: float = fitted("a of the curve.", above=0)
    b_: float = fitted("b of the curve.", above=0)

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self.metric == "precomputed", sparse=self.metric != "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the rows.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        y : array-like of shape (n,), optional
            Labels or numbers that pull rows together which share them.
        """
        data = self._fit_data(X)
        n = data.n_rows
        space = Space.of(type(self).__name__, data.X, self.metric, self.metric_params)
        rng = generator(self.random_state)
        curve = self._curve()
        distances, ids = space.nearest(min(self.n_neighbors, n) - 1)
        graph = self._graph(distances, ids, y)
        points = self._start(space, graph, rng)
        epochs = self.n_epochs or (500 if n <= MIN_ROWS_FOR_FEWER_EPOCHS else 200)
        edges = Edges.of(graph)
        drawn = edges._replace(values=relative_weights(graph, epochs))
        seed = int(rng.integers(2**63))
        sampling = Sampling(
            float(self.repulsion_strength), self.negative_sample_rate, float(self.learning_rate), epochs, seed
        )
        outcome = self._lay_out(drawn, points, None, curve, sampling)
        self.rows_, self.neighbors_ = np.array(space.rows), ids.astype(np.int32)
        self.a_, self.b_ = curve
        self.embedding_ = oriented(points).astype(data.X.dtype)
        placed = np.asarray(self.embedding_, dtype=np.float64)
        pushes = float(self.repulsion_strength * self.negative_sample_rate)
        rows = objective_rows(n)
        objective = _kernels.umap_cross_entropy(edges, placed, curve, pushes, rows) / len(rows)
        residual = imbalance(edges, placed, curve, pushes, compared_rows(n, 1))
        self._certify(space, self._seen(data), Ending("cross-entropy per row", objective, residual, outcome))
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _curve(self) -> Curve:
        if self.min_dist > self.spread:
            raise InvalidParameter(
                f"min_dist must be at most spread, got min_dist={self.min_dist}, spread={self.spread}."
            )
        if (self.a is None) != (self.b is None):
            raise InvalidParameter(f"a and b belong together: give both or none, got a={self.a}, b={self.b}.")
        if self.a is not None and self.b is not None:
            return Curve(float(self.a), float(self.b))
        return fitted_curve(float(self.spread), float(self.min_dist))

    def _graph(self, distances: Array, ids: Array, y: Any) -> Any:
        graph = fuzzy_graph(distances, ids, connected=float(self.local_connectivity), mix=float(self.set_op_mix_ratio))
        if y is None:
            return graph
        target = as_target(y, "y")
        target = target.reshape(-1) if target.ndim == 2 and target.shape[1] == 1 else target
        if target.shape != (len(ids),):
            raise InvalidData(
                f"y has shape {target.shape}, and there are {len(ids)} rows: one label or number for each."
            )
        if self.target_metric == "categorical":
            labels, codes = np.unique(target, return_inverse=True)
            if labels.dtype.kind in "if":
                codes = np.where(target == -1, -1, codes)
            return with_classes(graph, codes, float(self.target_weight))
        many = self.n_neighbors if self.target_n_neighbors == -1 else self.target_n_neighbors
        return with_targets(graph, target.astype(np.float64)[:, None], float(self.target_weight), max(many - 1, 1))

    def _start(self, space: Space, graph: Any, rng: Generator) -> Array:
        shape = (space.n_rows, self.n_components)
        if not isinstance(self.init, str):
            given = np.array(self.init, dtype=np.float64, order="C")
            if given.shape != shape or not np.isfinite(given).all():
                raise InvalidData(f"init must hold finite numbers of shape {shape}, got shape {given.shape}.")
            return given
        if self.init == "random":
            return rng.uniform(-10.0, 10.0, shape)
        return spectral_start(space, graph, self.n_components, rng, by_graph=self.init == "spectral")

    def _lay_out(self, edges: Edges, points: Array, fixed: Array | None, curve: Curve, sampling: Sampling) -> str:
        """Move points in place; return how it ended."""
        try:
            with Progress(type(self).__name__, total=sampling.epochs, verbose=self.verbose) as progress:
                for first in range(0, sampling.epochs, STRIDE):
                    last = min(first + STRIDE, sampling.epochs)
                    _kernels.umap_epochs(edges, points, fixed, curve, sampling, first, last)
                    if progress.step() is STOP:
                        return "stopped"
        except KeyboardInterrupt:
            return "interrupted"
        return "solved"

    def transform(self, X: Any) -> Any:
        """Place new rows among the points of the fit; a row of the fit gets its own point.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (m, p)
            Rows; distances to the rows of the fit if the metric is "precomputed".

        Returns
        -------
        ndarray of shape (m, n_components)
            Points. A row is placed alike whatever others come with it.
        """
        given = self._new_data(X)
        queries = dense_rows(type(self).__name__, given)
        space = Space.of(type(self).__name__, self.rows_, self.metric, self.metric_params)
        fixed = np.asarray(self.embedding_, dtype=np.float64)
        k = min(self.n_neighbors, len(fixed))
        distances, ids = space.nearest_of(queries, k)
        weights, _, _ = _kernels.membership_similarities(
            distances, math.log2(max(k, 2)), float(self.local_connectivity)
        )
        shares = weights / weights.sum(axis=1, keepdims=True)
        points = np.einsum("ij,ijk->ik", shares, fixed[ids])
        epochs = max(
            1,
            (self.n_epochs or (100 if len(queries) <= MIN_ROWS_FOR_FEWER_EPOCHS else 30))
            // (3 if self.n_epochs else 1),
        )
        m = len(queries)
        if epochs * (1 + self.negative_sample_rate) > MOST_MOVES:
            raise InvalidParameter(
                f"transform moves a point at most {MOST_MOVES} times for each neighbour, and n_epochs={self.n_epochs} with"
                f" negative_sample_rate={self.negative_sample_rate} ask for more. Lower one of them."
            )
        starts = np.arange(0, m * k + 1, k)
        relative = weights / weights.max(axis=1, keepdims=True)
        edges = Edges(
            starts, ids.reshape(-1).astype(np.int64), np.where(relative * epochs < 1.0, 0.0, relative).reshape(-1)
        )
        sampling = Sampling(
            float(self.repulsion_strength),
            self.negative_sample_rate,
            float(self.learning_rate) / 4.0,
            epochs,
            int(self.transform_seed),
        )
        if self._lay_out(edges, points, fixed, Curve(self.a_, self.b_), sampling) == "interrupted":
            raise KeyboardInterrupt
        known = distances[:, 0] == 0
        points[known] = fixed[ids[known, 0]]
        return points.astype(given.dtype)


def imbalance(edges: Edges, points: Array, curve: Curve, pushes: float, rows: Array) -> float:
    """Return what is left of the forces on some points, relative to what pulls them."""
    pulled, left = 0.0, 0.0
    for i in rows:
        away = points[i] - points
        squares = SQUARED_DISTANCE_OFFSET + np.einsum("ij,ij->i", away, away)
        odds = curve.a * squares**curve.b
        some = slice(edges.starts[i], edges.starts[i + 1])
        ends, w = edges.ends[some], edges.values[some]
        pull = (w * odds[ends] / ((1.0 + odds[ends]) * squares[ends])) @ away[ends]
        push = pushes * float(w.sum()) / (2 * len(points)) * ((1.0 / ((1.0 + odds) * squares)) @ away)
        pulled += float(pull @ pull)
        left += float(np.sum((pull - push) ** 2))
    return float(np.sqrt(left / pulled)) if pulled > 0 else 0.0
