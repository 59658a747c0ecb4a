"""Multidimensional scaling by majorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from qed.calibration._kernels import rising
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    Matrix,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Traits,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import VERBOSE
from qed.manifold._embedding import Embedding, Ending, oriented
from qed.manifold._kernels import guttman_step, pair_distances
from qed.manifold._neighborhoods import AnyMetric, Space, require_symmetric
from qed.manifold._scaling import scaled

if TYPE_CHECKING:
    from numpy.random import Generator


STRETCH = 1.8
"""How far points go along a step. Up to twice the step the stress falls all the same; directions in which a step makes little of
the way come near in about half as many steps, and those in which it would arrive overshoot by four fifths of their error."""


class Targets:
    """The distances that points should have: given ones, or whatever rises with them (non-metric scaling)."""

    def __init__(self, D: Array, *, is_metric: bool) -> None:
        self.n, self.is_metric = len(D), is_metric
        self.given = np.ascontiguousarray(D, dtype=np.float64)
        if not is_metric:
            flat = self.given[np.triu_indices(self.n, 1)]
            self._order = np.argsort(flat, kind="stable")
            self._sorted = flat[self._order]

    def of(self, columns: Array) -> Array:
        """Return the distances wanted of these points, (n, n): their own, made to rise with the dissimilarities."""
        if self.is_metric:
            return self.given
        own = pair_distances(columns)
        values = np.empty_like(own)
        values[self._order] = rising(self._sorted, own[self._order], None)
        size = float(np.sqrt(np.sum(values**2)))
        if size > 0:  # all points in one place fit every order: their scale is fixed
            values *= np.sqrt(len(values)) / size
        wanted = np.zeros((self.n, self.n))
        upper = np.triu_indices(self.n, 1)
        wanted[upper] = values
        wanted.T[upper] = values
        return wanted


class Placed(NamedTuple):
    """Points (n, k), the stress and squared distances that they leave, how far one more step moves them, and how it ended."""

    points: Array
    stress: float
    squares: float
    residual: float
    n_iter: int
    outcome: str


def majorise(targets: Targets, start: Array, *, eps: float, most: int, dtype: Any, progress: Progress) -> Placed:
    """Step until the stress falls by less than `eps` of the sum of squared distances; what is stated is so of points in a dtype."""
    columns = np.ascontiguousarray(start.T, dtype=np.float64)
    before, outcome, steps = np.inf, "max_iter", 0
    try:
        for steps in range(1, most + 1):
            following, stress, squares = guttman_step(targets.of(columns), columns)
            if before - stress <= eps * squares and steps > 1:
                outcome, columns = "solved", following
                break
            # the first step finds the scale
            before, columns = stress, following if steps == 1 else columns + STRETCH * (following - columns)
            if progress.step(value=stress) is STOP:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    points = oriented(columns.T).astype(dtype)
    columns = np.ascontiguousarray(points.T, dtype=np.float64)
    following, stress, squares = guttman_step(targets.of(columns), columns)
    size = float(np.linalg.norm(columns))
    residual = float(np.linalg.norm(following - columns)) / size if size > 0 else 0.0
    return Placed(points, stress, squares, residual, steps, outcome)


class MDS(Embedding):
    r"""Multidimensional scaling (MDS): an embedding that preserves the pairwise distances as well as possible (least stress).

    Objective
    ---------
    .. math:: \min_Y \sum_{i < j} \left( \hat d_{ij} - \| y_i - y_j \| \right)^2

    the stress. In metric scaling :math:`\hat d_{ij}` is the distance of the rows; in non-metric scaling it is any number that rises
    with it, of a fixed sum of squares: only the order of the distances counts. The objective has many local minima.

    Certificate
    -----------
    EmbeddingCertificate: the stress, how far one more step would move the points, and how many neighbours are kept.

    Cost
    ----
    O(n^2 k) a step, and O(n^2 log n) once in non-metric scaling; 16 n^2 bytes, 40 n^2 in non-metric scaling.

    Notes
    -----
    Each step leads towards the minimum of a quadratic function that lies above the stress and touches it (SMACOF), and 1.8 times
    as far: there that function is still below the stress of before, so that the stress never rises, and about half as many steps
    are needed. Points are centred and turned to their principal axes.

    Examples
    --------
    >>> from qed.manifold import MDS
    >>> model = MDS(1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> round(model.stress_, 6)
    0.0
    """

    n_components: PositiveInt = param(2, "Dimensions of the embedding.")
    _: KW_ONLY
    metric_mds: bool = param(True, "Whether distances themselves count (metric scaling), or only their order.")
    n_init: PositiveInt = param(1, "How many random starts, of which the best is kept.")
    init: Literal["classical_mds", "random"] = param(
        "classical_mds", "Where points begin: classical scaling, which has one answer, or at random."
    )
    max_iter: PositiveInt = param(300, "Most steps of one start.")
    verbose: NonNegativeInt = VERBOSE
    eps: NonNegative = param(
        1e-6, "Fall of the stress in a step, relative to the sum of squared distances, that is small enough."
    )
    n_jobs: int | None = param(
        None, "Number of processes that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of random starts.")
    dissimilarity: Literal["deprecated", "euclidean", "precomputed"] = param(
        "deprecated", "Former name of ``metric``; used if it is not 'deprecated'."
    )
    metric: AnyMetric = param(
        "euclidean", "Distance of rows: a name, a function of two rows, or 'precomputed' if X holds distances."
    )
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w`` of the metric 'minkowski', or what a function takes."
    )
    normalized_stress: bool | Literal["auto"] = param(
        "auto",
        "Whether ``stress_`` is Kruskal's stress-1, the root of its share of the squared distances; 'auto': if non-metric.",
    )

    stress_: float = fitted("The stress of the points.", low=0)
    dissimilarity_matrix_: Array = fitted(
        "Distances of all pairs of rows, (n, n).", shape="(n, n)", low=0, answers=False
    )
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)

    def _metric_name(self) -> AnyMetric:
        return self.metric if self.dissimilarity == "deprecated" else self.dissimilarity

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self._metric_name() == "precomputed")

    def fit(self, X: Any, y: Any = None, init: Any = None) -> Self:  # noqa: ARG002
        """Place the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows; distances of all pairs if the metric is "precomputed".
        init : array-like of shape (n, n_components), optional
            Where points begin, instead of the parameter of that name.
        """
        data = self._fit_data(X)
        space = Space.of(type(self).__name__, data.X, self._metric_name(), self.metric_params)
        D = require_symmetric(type(self).__name__, space.square())
        targets = Targets(D, is_metric=self.metric_mds)
        best = self._best_of(targets, self.init if init is None else init, data.X.dtype)
        self.embedding_ = best.points
        self.stress_ = _stress(best, _is_normalised(self.normalized_stress, is_metric=self.metric_mds))
        self.dissimilarity_matrix_ = np.array(D)
        self.n_iter_ = best.n_iter
        ending = Ending("stress", best.stress, best.residual, best.outcome)
        self._certify(space, self._seen(data), ending)
        if best.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _best_of(self, targets: Targets, start: Any, dtype: Any) -> Placed:
        """Return the points of the best start."""
        rng = generator(self.random_state)
        best: Placed | None = None
        with Progress("MDS", verbose=self.verbose) as progress:
            for _ in range(self.n_init if isinstance(start, str) and start == "random" else 1):
                first = _start(start, targets, self.n_components, rng)
                found = majorise(targets, first, eps=self.eps, most=self.max_iter, dtype=dtype, progress=progress)
                best = found if best is None or found.stress < best.stress else best
                if found.outcome in ("stopped", "interrupted"):
                    return best._replace(outcome=found.outcome)
        assert best is not None  # noqa: S101  (at least one start)
        return best


def _is_normalised(asked: Any, *, is_metric: bool) -> bool:
    return not is_metric if isinstance(asked, str) else bool(asked)


def _stress(placed: Placed, normalised: bool) -> float:
    if not normalised:
        return placed.stress
    return float(np.sqrt(placed.stress / placed.squares)) if placed.squares > 0 else 0.0


def _start(start: Any, targets: Targets, k: int, rng: Generator) -> Array:
    if not isinstance(start, str):
        given = np.array(start, dtype=np.float64)
        if given.shape != (targets.n, k) or not np.isfinite(given).all():
            raise InvalidData(f"init must hold finite numbers of shape ({targets.n}, {k}), got shape {given.shape}.")
        return given
    if start == "random":
        return rng.uniform(size=(targets.n, k))
    points = scaled(targets.given, k).points
    # points that classical scaling puts in one place would never part: a step between them has no direction
    size = float(np.abs(points).max(initial=0.0)) or 1.0
    return points + 1e-9 * size * np.random.default_rng(0).standard_normal(points.shape)


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Matrix | None = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | Literal["auto"] = "auto",
) -> Any:
    """Place points by their distances: the function behind `MDS`.

    Parameters
    ----------
    dissimilarities : array-like of shape (n, n)
        Distances of all pairs, symmetric.
    metric : bool
        Whether distances themselves count, or only their order.
    n_components : int
        Dimensions of the embedding.
    init : array-like of shape (n, n_components), optional
        Where points begin; at random by default.
    n_init : int
        How many random starts.
    n_jobs : int, optional
        Not needed; see `qed.set_num_threads`.
    max_iter : int
        Most steps of one start.
    verbose : int
        How much progress to show.
    eps : float
        Fall of the stress in a step, relative to the sum of squared distances, that is small enough.
    random_state : None, int, Generator or RandomState
        Seed of the starts.
    return_n_iter : bool
        Whether to return the number of steps too.
    normalized_stress : bool or "auto"
        Whether to return Kruskal's stress-1; "auto": if non-metric.

    Returns
    -------
    X : ndarray of shape (n, n_components)
        Points.
    stress : float
        Their stress.
    n_iter : int
        Steps of the best start; only with ``return_n_iter``.
    """
    del n_jobs
    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init="random",
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        random_state=random_state,
        metric="precomputed",
        normalized_stress=normalized_stress,
    ).fit(dissimilarities, init=init)
    return (model.embedding_, model.stress_, model.n_iter_) if return_n_iter else (model.embedding_, model.stress_)
