"""What all models share that answer from nearest neighbours: how they keep rows, and how they find them again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qed.certificates import SearchCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidData,
    InvalidParameter,
    PositiveInt,
    PositiveOrInfinite,
    QedError,
    fitted,
    param,
)
from qed.core._memory import require_memory
from qed.core._once import cached_property
from qed.core._tables import csr
from qed.neighbors._index import Index, pays
from qed.neighbors._metric import Metric, MetricName, named
from qed.neighbors._rows import look

if TYPE_CHECKING:
    from qed.certificates import Fingerprint
    from qed.core import FitData


UNIT = 2.0**-53


def is_a_metric(model: Any, name: str) -> str:
    """Say what is wrong with the metric of a fitted model: its parameters go with its name."""
    try:
        model._fitted_metric()  # noqa: SLF001
    except (QedError, AttributeError, KeyError, TypeError, ValueError) as error:
        return f"is {name!r}, whose parameters make no sense: {error}"
    return ""


class NeighborModel(Estimator):
    """A model that keeps its rows and answers from the nearest of them."""

    n_neighbors: PositiveInt = param(5, "Number of neighbours.")
    _: KW_ONLY
    algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = param(
        "auto",
        "Search method. 'brute' looks at every row; all others use a k-d tree where that is faster.",
        kind="hint",
    )
    leaf_size: PositiveInt = param(30, "Rows in a leaf of scikit-learn's trees; leaves here have eight.", kind="hint")
    p: PositiveOrInfinite = param(2, "Power of the metric 'minkowski'.")
    metric: MetricName = param("minkowski", "Distance, by name.")
    metric_params: dict[str, Any] | None = param(
        None, "``p`` and ``w``, weights of the columns, of the metric 'minkowski'."
    )
    n_jobs: int | None = param(
        None, "Number of threads that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )

    rows_: Array = fitted("The rows, (n, p).", shape="(n_samples_fit_, p)")
    n_samples_fit_: int = fitted("How many they are.", low=1)
    effective_metric_: str = fitted(
        "Name of the metric, powers that have a name by theirs.", one_of=get_args(MetricName), check=is_a_metric
    )
    effective_metric_params_: dict[str, Any] = fitted("Its parameters.")
    algorithm_used_: str = fitted("``'kd_tree'`` or ``'brute'``.", one_of=("kd_tree", "brute"), answers=False)
    certificate_: SearchCertificate = fitted("What is proved about the search.")

    def _keep(self, data: FitData) -> Fingerprint:
        """Check the rows, and keep a copy of them."""
        metric = self._metric(data.X.shape[1])  # refuses before anything is learnt
        seen = look(data)
        require_memory(
            3 * data.X.size * 8, f"keeping {data.n_rows} rows twice, once in the order of the search", "Fit fewer rows."
        )
        self._store(np.array(data.X, dtype=np.float64, order="C"), metric, seen)
        if self._index.tree:
            self._index.parts  # noqa: B018  a tree is made now; rows that are scanned are arranged by the first question
        return seen

    def _store(self, rows: Array, metric: Metric, seen: Fingerprint) -> None:
        self.__dict__.pop("_index", None)
        self.rows_ = rows
        self.n_samples_fit_ = len(rows)
        self.effective_metric_ = metric.name if metric.factors is None else "minkowski"
        self.effective_metric_params_ = self._metric_params()
        tree = self.algorithm != "brute" and pays(*rows.shape)
        self.algorithm_used_ = "kd_tree" if tree else "brute"
        what = f"Nearest rows by {metric.name} distance"
        self.certificate_ = SearchCertificate(what, self._rounding(metric, rows.shape[1]), seen)

    @staticmethod
    def _rounding(metric: Metric, n_columns: int) -> float:
        """Bound the rounding of a distance, relative to itself; of angles, relative to one."""
        return (n_columns + 8) * UNIT * max(1.0, metric.power, 1.0 / metric.power) * (4.0 if metric.is_angle else 1.0)

    def _metric_params(self) -> dict[str, Any]:
        params = dict(self.metric_params or {})
        if self.metric != "minkowski":
            return params
        power = float(params.get("p", self.p))
        if "w" in params:
            return {"p": power, "w": np.asarray(params["w"], dtype=np.float64)}
        return {} if power in (1.0, 2.0) or math.isinf(power) else {"p": power}

    def _metric(self, n_columns: int) -> Metric:
        return named(type(self).__name__, self.metric, float(self.p), self.metric_params, n_columns)

    @cached_property
    def _index(self) -> Index:
        """The rows in the order of the search; files hold the rows alone."""
        return Index(self.rows_, self._fitted_metric(), tree=self.algorithm_used_ == "kd_tree")

    def _fitted_metric(self) -> Metric:
        """Return the metric of the fit, whatever became of the parameters since."""
        owner, params = type(self).__name__, self.effective_metric_params_
        return named(owner, self.effective_metric_, 2.0, params, self.rows_.shape[1])

    def _near(self, X: Any, k: int | None) -> tuple[Array, Array]:
        """Find the neighbours of new rows, or of each row of the fit among the others."""
        self._check_is_fitted()
        others = X is None
        queries = self.rows_ if others else np.asarray(self._new_data(X), dtype=np.float64)
        k = self.n_neighbors if k is None else _whole(k)
        if k > self.n_samples_fit_ - others:
            raise InvalidData(
                f"Expected n_neighbors {'<' if others else '<='} n_samples_fit, but n_neighbors = {k}, n_samples_fit ="
                f" {self.n_samples_fit_}, n_samples = {len(queries)}. Ask for fewer neighbours, or fit more rows."
            )
        require_memory(
            len(queries) * k * 16, f"{k} neighbours of each of {len(queries)} rows", "Ask about fewer rows at a time."
        )
        return self._index.nearest(queries, k, others=others)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest rows of the fit.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), optional
            Rows to find neighbours of. None asks for the neighbours of each row of the fit among the others.
        n_neighbors : int, optional
            How many; the parameter of the model by default.
        return_distance : bool
            Whether to return distances too.

        Returns
        -------
        distances : ndarray of shape (m, k)
            Nearest first; only with ``return_distance``.
        indices : ndarray of int of shape (m, k)
            Rows of the fit; of equally near ones the first comes first.
        """
        distances, ids = self._near(X, n_neighbors)
        return (distances, ids) if return_distance else ids

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: Literal["connectivity", "distance"] = "connectivity"
    ) -> Any:
        """Return the graph of nearest rows as a sparse matrix.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), optional
            Rows to find neighbours of; None as in `kneighbors`.
        n_neighbors : int, optional
            How many; the parameter of the model by default.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.

        Returns
        -------
        csr_matrix of shape (m, n_samples_fit)
            An entry for each neighbour.
        """
        require_mode(mode)
        distances, ids = self._near(X, n_neighbors)
        starts = np.arange(0, ids.size + 1, ids.shape[1])
        values = distances if mode == "distance" else np.ones(ids.shape)
        return graph(values.reshape(-1), ids.reshape(-1), starts, self.n_samples_fit_)


def _whole(k: Any) -> int:
    if isinstance(k, bool | np.bool_) or not isinstance(k, int | np.integer):
        raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
    if k < 1:
        raise InvalidParameter(f"Expected n_neighbors > 0. Got {k}")
    return int(k)


def require_mode(mode: str) -> None:
    """Refuse a graph of something else."""
    if mode not in ("connectivity", "distance"):
        raise InvalidParameter(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead'
        )


def graph(values: Array, ids: Array, starts: Array, n_columns: int) -> Any:
    """Return lists of rows as a sparse matrix."""
    return csr(values, ids, starts, (len(starts) - 1, n_columns))
