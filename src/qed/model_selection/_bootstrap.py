"""How much an estimate depends on the rows that happened to be drawn: the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, clone
from qed.core._jobs import mapped
from qed.model_selection._splitter import count_rows, draws
from qed.model_selection._subset import countable, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """What `bootstrap_estimate` returns.

    Attributes
    ----------
    value : ndarray
        The estimate from all rows.
    resamples : ndarray of shape (n_resamples, ...)
        The estimate from each resample.
    """

    value: Array
    resamples: Array

    @property
    def standard_error(self) -> Array:
        """Standard deviation of the estimate over the resamples."""
        return np.asarray(self.resamples.std(axis=0, ddof=1))

    @property
    def bias(self) -> Array:
        """Mean of the resamples less the estimate: about how far the estimate lies from the truth on average."""
        return np.asarray(self.resamples.mean(axis=0) - self.value)

    @property
    def covariance(self) -> Array:
        """Covariance of an estimate of several numbers over the resamples."""
        return np.atleast_2d(np.cov(self.resamples.reshape(len(self.resamples), -1).T))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the percentile interval.

        Parameters
        ----------
        level : float
            Share of the resamples inside, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray
            Quantiles of the resamples.
        """
        if not 0 < level < 1:
            raise InvalidParameter(f"level must lie between 0 and 1, got {level!r}.")
        lower, upper = np.quantile(self.resamples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return lower, upper


def bootstrap_estimate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    statistic: Callable[[Any], Any] | None = None,
    n_resamples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapResult:
    """Fit a model to rows drawn with replacement, as many as there are, and collect an estimate from each fit.

    Parameters
    ----------
    estimator : estimator
        Of qed or scikit-learn; it is copied, never fitted itself.
    X : array-like, frame or sparse container of n rows
        Rows.
    y : array-like of shape (n,) or (n, m), optional
        Targets.
    statistic : callable, optional
        What to estimate, from the fitted model: numbers, always as many; coefficients, the intercept last, when left out.
        ``lambda model: model.predict(X_new)`` gives the uncertainty of predictions.
    n_resamples : int
        How many resamples, at least two.
    random_state : None, int, Generator or RandomState
        Seed.
    n_jobs : int, optional
        Fits at the same time, in threads; -1 for as many as there are processors.

    Returns
    -------
    BootstrapResult
        The estimate, and its distribution over the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import LinearRegression
    >>> from qed.model_selection import bootstrap_estimate
    >>> x = np.arange(20.0)[:, None]
    >>> found = bootstrap_estimate(LinearRegression(), x, 2 * x.ravel() + np.cos(9 * x.ravel()), random_state=0)
    >>> found.value.round(1).tolist(), found.standard_error.round(1).tolist()
    ([2.0, 0.1], [0.0, 0.3])
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int | np.integer) or n_resamples < 2:
        raise InvalidParameter(f"bootstrap_estimate: n_resamples must be a whole number >= 2, got {n_resamples!r}.")
    X, y, stream = countable(X), countable(y), draws(random_state)
    n = count_rows(X, y)
    read = _coefficients if statistic is None else statistic

    def estimate(index: Any) -> Array:
        rows, targets = (X, y) if index is None else (rows_of(X, index), rows_of(y, index))
        model = clone(estimator)
        return np.asarray(read(model.fit(rows) if targets is None else model.fit(rows, targets)), dtype=np.float64)

    value = estimate(None)
    drawn = (np.asarray(stream.choice(n, size=n, replace=True)) for _ in range(n_resamples))
    resamples = list(mapped(estimate, list(drawn), n_jobs))
    if any(one.shape != value.shape for one in resamples):
        raise InvalidData(
            "The statistic of a resample has another shape than that of all rows: it must not depend on the rows."
        )
    return BootstrapResult(value, np.stack(resamples))


def _coefficients(model: Any) -> Array:
    if not hasattr(model, "coef_"):
        raise InvalidParameter(f"{type(model).__name__} has no coefficients. Say in statistic= what to estimate.")
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
