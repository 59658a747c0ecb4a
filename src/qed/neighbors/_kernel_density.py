"""Densities as sums of windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import SearchCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidParameter,
    NonNegative,
    NotSupported,
    Positive,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._memory import require_memory
from qed.core._once import cached_property
from qed.core._targets import weights
from qed.neighbors import _kernels
from qed.neighbors._index import Index, pays
from qed.neighbors._metric import Metric, named
from qed.neighbors._model import is_a_metric
from qed.neighbors._rows import look
from qed.neighbors._windows import NUMBERS, WindowName, log_integral

if TYPE_CHECKING:
    from qed.core import FitData


UNIT = 2.0**-53
FEW_COLUMNS = 6  # in more, windows that are not wide reach no row at all
Rule = Literal["scott", "silverman"]


class KernelDensity(Estimator, role="density_estimator"):
    r"""Kernel density estimation (Parzen windows).

    Objective
    ---------
    .. math:: \hat f(q) = \frac{1}{h^p \, Z \sum_i s_i} \sum_i s_i K(d(x_i, q) / h)

    where K is the window of bandwidth h and Z its integral over all space, so that the density integrates to one.

    Certificate
    -----------
    SearchCertificate: densities are sums over all rows, up to the rounding stated, whatever ``atol`` and ``rtol`` allow.

    Cost
    ----
    O(n p log n) to fit rows of at most six columns, O(n p) otherwise; O(n (p + 1)) a point at most, and less where windows reach
    few boxes of rows. The rows are kept twice: 16 n p bytes, and a third more for the boxes.

    Notes
    -----
    Weights are repetition, also in the rules for the bandwidth, which go by the sum of the weights. Z is that of the metric;
    scikit-learn takes the Euclidean one for all.

    Examples
    --------
    >>> from qed.neighbors import KernelDensity
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0], [1.5]])
    >>> model.score_samples([[1.0], [9.0]]).round(3).tolist()
    [-0.769, -113.824]
    """

    _: KW_ONLY
    bandwidth: Positive | Rule = param(
        1.0,
        "Bandwidth h; 'scott' for n^(-1/(p+4)) and 'silverman' for (n (p+2)/4)^(-1/(p+4)), n being the sum of the weights.",
    )
    algorithm: Literal["auto", "kd_tree", "ball_tree"] = param("auto", "Tree that scikit-learn would use.", kind="hint")
    kernel: WindowName = param("gaussian", "Window, by name.")
    metric: Literal["euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski"] = param(
        "euclidean", "Distance, by name."
    )
    atol: NonNegative = param(0.0, "Absolute error that would be allowed; none is made.", kind="hint")
    rtol: NonNegative = param(0.0, "Relative error that would be allowed; none is made.", kind="hint")
    breadth_first: bool = param(True, "Order in which scikit-learn would walk its tree.", kind="hint")
    leaf_size: PositiveInt = param(40, "Rows in a leaf of scikit-learn's trees.", kind="hint")
    metric_params: dict[str, Any] | None = param(None, "``p`` of the metric 'minkowski'.")

    rows_: Array = fitted("The rows of positive weight, (n, p).", shape="(n, p)", length="at least 1")
    weights_: Array | None = fitted("Their weights; None when each counts once.", shape="(n,)", above=0)
    bandwidth_: float = fitted("The bandwidth.", above=0)
    effective_metric_: str = fitted(
        "Name of the metric, powers that have a name by theirs.",
        one_of=("euclidean", "manhattan", "chebyshev", "minkowski"),
        check=is_a_metric,
    )
    effective_metric_params_: dict[str, Any] = fitted("Its parameters.")
    certificate_: SearchCertificate = fitted("What is proved about the sums.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Keep the rows."""
        data = self._fit_data(X, None, sample_weight, finite=False)
        metric = self._metric(data.X.shape[1])
        data = _without_idle(data)
        seen = look(data)
        require_memory(3 * data.X.size * 8, f"keeping {data.n_rows} rows twice", "Fit fewer rows.")
        self.__dict__.pop("_index", None)
        self.rows_ = np.array(data.X, dtype=np.float64, order="C")
        self.weights_ = None if data.weight is None else np.array(data.weight)
        self.effective_metric_ = metric.name
        self.effective_metric_params_ = {"p": metric.power} if metric.name == "minkowski" else {}
        n, p = seen.weight, self.rows_.shape[1]
        self.bandwidth_ = self._bandwidth(n, p)
        # a window may be rounded as its exponent is, and sums of five hundred windows are added one by one
        rounding = (4.0 * p * max(1.0, metric.power) + 128 + len(self.rows_) / 512) * UNIT
        self.certificate_ = SearchCertificate(f"Log-densities by {self.kernel} windows", rounding, seen)
        self._index  # noqa: B018  made now, kept for every question
        return self

    def _bandwidth(self, n: float, p: int) -> float:
        if self.bandwidth == "scott":
            return float(n ** (-1 / (p + 4)))
        if self.bandwidth == "silverman":
            return float((n * (p + 2) / 4) ** (-1 / (p + 4)))
        return float(self.bandwidth)

    def _metric(self, n_columns: int) -> Metric:
        params = self.metric_params
        if params and "w" in params:
            raise NotSupported(
                "KernelDensity.metric_params['w'] is not in qed: multiply the columns by w^(1/p) instead, and the density by the"
                " product of these."
            )
        return named("KernelDensity", self.metric, 2.0, params, n_columns)

    @cached_property
    def _index(self) -> Index:
        """The rows as they are summed; files hold the rows alone."""
        n_rows, n_columns = self.rows_.shape
        return Index(self.rows_, self._fitted_metric(), tree=pays(n_rows, n_columns, few=FEW_COLUMNS))

    def _fitted_metric(self) -> Metric:
        """Return the metric of the fit, whatever became of the parameters since."""
        return named("KernelDensity", self.effective_metric_, 2.0, self.effective_metric_params_, self.rows_.shape[1])

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Points.

        Returns
        -------
        ndarray of shape (m,)
            Minus infinity where no window reaches.
        """
        points = _kernels.plain(self._new_data(X))
        index, h, p = self._index, self.bandwidth_, self.rows_.shape[1]
        sums = _kernels.log_densities(index.parts, points, self.weights_, (NUMBERS[self.kernel], h), index.metric.sums)
        total = float(len(self.rows_)) if self.weights_ is None else float(self.weights_.sum())
        return np.asarray(sums - (log_integral(self.kernel, index.metric, p) + p * math.log(h) + math.log(total)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return the sum of the log-densities: the log-likelihood of the points.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Points.
        sample_weight : array-like of shape (m,), optional
            How often each point counts.

        Returns
        -------
        float
            Log-likelihood.
        """
        logs = self.score_samples(X)
        weight = weights(sample_weight, len(logs))
        return float(logs.sum() if weight is None else weight[weight > 0] @ logs[weight > 0])

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw points from the density; for gaussian and tophat windows of Euclidean distance.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, Generator, RandomState or None
            Seed, or where random numbers come from.

        Returns
        -------
        ndarray of shape (n_samples, p)
            Points.
        """
        self._check_is_fitted()
        metric = self._fitted_metric()
        if self.kernel not in ("gaussian", "tophat") or metric.name != "euclidean":
            raise NotSupported(
                f"Sampling from {self.kernel!r} windows of {metric.name} distance is not in qed; those of 'gaussian' and 'tophat'"
                " windows of Euclidean distance are."
            )
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise InvalidParameter(f"n_samples must be an integer >= 1, got {n_samples!r}.")
        stream = generator(random_state)
        n, p = self.rows_.shape
        if self.weights_ is None:
            chosen = stream.integers(n, size=n_samples)
        else:
            ends = np.cumsum(self.weights_)
            chosen = np.minimum(np.searchsorted(ends, stream.random(n_samples) * ends[-1], side="right"), n - 1)
        steps = stream.standard_normal((n_samples, p))
        if self.kernel == "tophat":  # a direction, and a length whose p-th power is uniform
            steps /= np.sqrt((steps**2).sum(axis=1, keepdims=True))
            steps *= stream.random((n_samples, 1)) ** (1 / p)
        return np.asarray(self.rows_[chosen] + self.bandwidth_ * steps)


def _without_idle(data: FitData) -> FitData:
    """Leave out rows of no weight: they count as often as rows that are not there."""
    if data.weight is None or (data.weight > 0).all():
        return data
    data.raise_if_not_finite()
    used = data.weight > 0
    return data._replace(X=data.X[used], weight=data.weight[used], n_rows=int(used.sum()))
