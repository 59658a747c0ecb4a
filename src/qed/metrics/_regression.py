"""Scores of predicted numbers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import UndefinedMetricWarning
from qed.metrics import _losses
from qed.metrics._losses import combined, mean_losses, read_pair, wide
from qed.metrics._quantiles import Largest, Sample, median_in_place, weighted_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array
    from qed.data import Moments


def _mean(y_true: Any, y_pred: Any, sample_weight: Any, loss: Callable[[Array, Array], Array]) -> Array:
    return mean_losses(*read_pair(y_true, y_pred, sample_weight), loss)


def mean_squared_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the mean of the squared errors.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,) or (n, m)
        True and predicted numbers.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    multioutput : {"raw_values", "uniform_average"} or array-like of shape (m,)
        One number an output, their mean, or their mean with these weights.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_squared_error
    >>> mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.375
    """
    return combined(_mean(y_true, y_pred, sample_weight, _losses.squared), multioutput)


def root_mean_squared_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the root of the mean of the squared errors, in the units of the target.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_squared_error`; roots are taken before outputs are averaged.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import root_mean_squared_error
    >>> root_mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.612...
    """
    return combined(np.sqrt(_mean(y_true, y_pred, sample_weight, _losses.squared)), multioutput)


def mean_absolute_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the mean of the absolute errors.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_squared_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_absolute_error
    >>> mean_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    return combined(_mean(y_true, y_pred, sample_weight, _losses.absolute), multioutput)


def mean_pinball_loss(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, alpha: float = 0.5, multioutput: Any = "uniform_average"
) -> Any:
    """Return the mean quantile loss: what a prediction of the quantile `alpha` minimises.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_squared_error`.
    alpha : float
        Level of the quantile, from 0 to 1.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_pinball_loss
    >>> mean_pinball_loss([1, 2, 3], [0, 2, 3], alpha=0.75)
    0.25
    """
    return combined(_mean(y_true, y_pred, sample_weight, _losses.pinball(alpha)), multioutput)


def mean_absolute_percentage_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the mean of the absolute errors relative to the truth, as a fraction.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_squared_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; enormous when some truth is zero.

    Examples
    --------
    >>> from qed.metrics import mean_absolute_percentage_error
    >>> mean_absolute_percentage_error([4.0, 2.0], [5.0, 2.0])
    0.125
    """
    return combined(_mean(y_true, y_pred, sample_weight, _losses.relative), multioutput)


def mean_squared_log_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the mean squared error of log(1 + y).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,) or (n, m)
        Numbers above -1.
    sample_weight, multioutput
        As for `mean_squared_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_squared_log_error
    >>> mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8])
    0.0397...
    """
    return combined(_mean_log(y_true, y_pred, sample_weight, "Mean Squared Logarithmic Error"), multioutput)


def root_mean_squared_log_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the root of `mean_squared_log_error`.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_squared_log_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import root_mean_squared_log_error
    >>> root_mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8])
    0.199...
    """
    mean = _mean_log(y_true, y_pred, sample_weight, "Root Mean Squared Logarithmic Error")
    return combined(np.sqrt(mean), multioutput)


def _mean_log(y_true: Any, y_pred: Any, sample_weight: Any, name: str) -> Array:
    truth, guess, s = read_pair(y_true, y_pred, sample_weight)
    _losses.check_logarithm(truth, guess, name)
    return mean_losses(truth, guess, s, _losses.squared_log)


def mean_tweedie_deviance(y_true: Any, y_pred: Any, *, sample_weight: Any = None, power: float = 0) -> float:
    """Return the mean deviance of a Tweedie distribution.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True numbers and predicted means.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    power : float
        0 is the squared error, 1 Poisson, 2 gamma, 3 inverse Gaussian; no number strictly between 0 and 1.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_tweedie_deviance
    >>> mean_tweedie_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0], power=1)
    1.4260...
    """
    truth, guess, s = read_pair(y_true, y_pred, sample_weight, outputs=False)
    _losses.check_deviance(truth, guess, power)
    return float(mean_losses(truth, guess, s, _losses.deviance(power))[0])


def mean_poisson_deviance(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the mean Poisson deviance, for counts.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Numbers at least 0.
    y_pred : array-like of shape (n,)
        Predicted means, above 0.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_poisson_deviance
    >>> mean_poisson_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0])
    1.4260...
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


def mean_gamma_deviance(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the mean gamma deviance, for positive numbers whose spread grows with their mean.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Numbers and predicted means, above 0.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import mean_gamma_deviance
    >>> mean_gamma_deviance([2, 0.5, 1, 4], [0.5, 0.5, 2.0, 2.0])
    1.0568...
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)


def median_absolute_error(
    y_true: Any, y_pred: Any, *, multioutput: Any = "uniform_average", sample_weight: Any = None
) -> Any:
    """Return the median of the absolute errors.

    Parameters
    ----------
    y_true, y_pred, multioutput, sample_weight
        As for `mean_squared_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import median_absolute_error
    >>> median_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    return combined(_medians(*read_pair(y_true, y_pred, sample_weight)), multioutput)


def median_errors(sample: Sample) -> Array:
    """Median of the absolute errors of each output."""
    return _medians(sample.y_true, sample.y_pred, sample.s)


def _medians(truth: Array, guess: Array, s: Array | None) -> Array:
    medians = []
    for y, t in zip(truth.T, guess.T, strict=True):
        with np.errstate(invalid="ignore"):
            errors = np.subtract(y, t, dtype=np.float64)
        np.abs(errors, out=errors)
        if not errors.max() < np.inf:
            _losses.refuse(truth, guess)
        medians.append(median_in_place(errors) if s is None else weighted_quantile(errors, s, 0.5))
    return np.array(medians)


def max_error(y_true: Any, y_pred: Any) -> float:
    """Return the largest absolute error.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted numbers.

    Returns
    -------
    float
        At least 0; lower is better.

    Examples
    --------
    >>> from qed.metrics import max_error
    >>> max_error([3, 2, 7, 1], [4, 2, 7, 1])
    1.0
    """
    return Largest.of(y_true, y_pred).value


def residual_moments(y_true: Any, y_pred: Any, sample_weight: Any) -> Moments:
    """Moments of ``[y | y - prediction]``: what R² and explained variance are quotients of."""
    truth, guess, s = read_pair(y_true, y_pred, sample_weight)
    return _losses.fold_rows(truth, guess, s, lambda y, t: [y, y - t], truth.shape[1])


def r2_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = "uniform_average",
    force_finite: bool = True,
) -> Any:
    """Return R²: one minus the squared error relative to that of the mean of the truth.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,) or (n, m)
        True and predicted numbers.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    multioutput : {"raw_values", "uniform_average", "variance_weighted"}, array-like of shape (m,) or None
        How outputs are combined; None is the uniform average.
    force_finite : bool
        Whether a constant truth scores 1 when it is hit and 0 when it is not, instead of NaN and minus infinity.

    Returns
    -------
    float, or ndarray of shape (m,)
        1 is perfect; 0 is what the mean of the truth achieves. NaN, with a warning, for a single row.

    Examples
    --------
    >>> from qed.metrics import r2_score
    >>> r2_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.948...
    """
    truth, guess, s = read_pair(y_true, y_pred, sample_weight)
    residual, total = _losses.explained_sums(truth, guess, s, centred=False)
    if _too_few(y_pred, "R^2"):
        return float("nan")
    return _explained(residual, total, multioutput, force_finite=force_finite)


def r_squared(moments: Moments, *, multioutput: Any = "uniform_average", force_finite: bool = True) -> Any:
    """R² of moments of ``[y | y - prediction]``."""
    residual = moments.YY.diagonal() + moments.weight * moments.mean_y**2
    return _explained(residual, moments.XX.diagonal(), multioutput, force_finite=force_finite)


def explained_variance_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = "uniform_average",
    force_finite: bool = True,
) -> Any:
    """Return the share of the variance that is explained: R² that forgives a constant error.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput, force_finite
        As for `r2_score`.

    Returns
    -------
    float, or ndarray of shape (m,)
        1 is perfect.

    Examples
    --------
    >>> from qed.metrics import explained_variance_score
    >>> explained_variance_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.957...
    """
    truth, guess, s = read_pair(y_true, y_pred, sample_weight)
    residual, total = _losses.explained_sums(truth, guess, s, centred=True)
    return _explained(residual, total, multioutput, force_finite=force_finite)


def explained_variance(moments: Moments, *, multioutput: Any = "uniform_average", force_finite: bool = True) -> Any:
    """Explained variance of moments of ``[y | y - prediction]``."""
    return _explained(moments.YY.diagonal(), moments.XX.diagonal(), multioutput, force_finite=force_finite)


def _explained(residual: Array, total: Array, multioutput: Any, *, force_finite: bool) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1 - residual / total
    if force_finite:
        values = np.where(total == 0, np.where(residual == 0, 1.0, 0.0), values)
    return combined(values, multioutput, variances=total)


def _too_few(y_pred: Any, name: str) -> bool:
    few = len(y_pred) < 2
    if few:
        message = f"{name} score is not well-defined with less than two samples."
        warnings.warn(UndefinedMetricWarning(message), stacklevel=3)
    return few


def d2_tweedie_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None, power: float = 0) -> float:
    """Return the share of the Tweedie deviance that is explained.

    Parameters
    ----------
    y_true, y_pred, sample_weight, power
        As for `mean_tweedie_deviance`.

    Returns
    -------
    float
        1 is perfect; 0 is what the mean of the truth achieves.

    Examples
    --------
    >>> from qed.metrics import d2_tweedie_score
    >>> d2_tweedie_score([0.5, 1, 2.5, 7], [1, 1, 5, 3.5], power=1)
    0.487...
    """
    truth, guess, s = read_pair(y_true, y_pred, sample_weight, outputs=False)
    _losses.check_deviance(truth, guess, power)
    if _too_few(y_pred, "D^2"):
        return float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        if power == 0:
            residual, total = _losses.explained_sums(truth, guess, s, centred=False)
            return float(1 - residual[0] / total[0])
        columns = _deviance_columns(power)
        deviance, mean, own = mean_losses(truth, guess, s, lambda y, t: np.concatenate(columns(wide(y), wide(t))))
        return float(1 - deviance / _null_deviance(mean, own, power))


def deviance_moments(y_true: Any, y_pred: Any, sample_weight: Any, power: float) -> Moments:
    """Moments of the deviance and, as targets, of y and of the part of the deviance that no prediction changes."""
    truth, guess, s = read_pair(y_true, y_pred, sample_weight, outputs=False)
    _losses.check_deviance(truth, guess, power)
    return _losses.fold_rows(truth, guess, s, _deviance_columns(power), 1 if power == 0 else 2)


def _deviance_columns(power: float) -> Callable[[Array, Array], list[Array]]:
    loss = _losses.deviance(power)

    def own(y: Array) -> Array:
        if power == 1:
            return np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
        if power == 2:
            return -np.log(y)
        lifted = np.where(y > 0, y, 0.0) if power < 0 else y
        return np.power(lifted, 2 - power) / ((1 - power) * (2 - power))

    if power == 0:
        return lambda y, t: [loss(y, t), y]
    return lambda y, t: [loss(y, t), y, own(y)]


def d2_tweedie(moments: Moments, *, power: float = 0) -> float:
    """Explained deviance of `deviance_moments`."""
    with np.errstate(all="ignore"):
        variance = moments.YY[0, 0] / moments.weight
        null = variance if power == 0 else _null_deviance(moments.mean_y[0], moments.mean_y[1], power)
        return float(1 - moments.mean_x[0] / null)


def _null_deviance(mean: Any, own: Any, p: float) -> Any:
    """Mean deviance of predicting the mean everywhere, for a power other than 0."""
    if p == 1:
        return 2 * (own - (mean * np.log(mean) if mean > 0 else 0.0))
    if p == 2:
        return 2 * (own + np.log(mean))
    return 2 * (own - mean ** (2 - p) / ((1 - p) * (2 - p)))


def d2_pinball_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, alpha: float = 0.5, multioutput: Any = "uniform_average"
) -> Any:
    """Return the share of the quantile loss that is explained.

    Parameters
    ----------
    y_true, y_pred, sample_weight, alpha, multioutput
        As for `mean_pinball_loss`.

    Returns
    -------
    float, or ndarray of shape (m,)
        1 is perfect; 0 is what the quantile of the truth achieves.

    Examples
    --------
    >>> from qed.metrics import d2_pinball_score
    >>> d2_pinball_score([1, 2, 3], [1, 2, 2], alpha=0.5)
    0.5
    """
    sample = Sample.of(y_true, y_pred, sample_weight)
    if _too_few(y_pred, "D^2"):
        return float("nan")
    return d2_pinball(sample, alpha=alpha, multioutput=multioutput)


def d2_pinball(sample: Sample, *, alpha: float = 0.5, multioutput: Any = "uniform_average") -> Any:
    """Explained quantile loss of a sample."""
    loss = _losses.pinball(alpha)
    s = np.ones(len(sample.y_true)) if sample.s is None else sample.s
    best = np.array([weighted_quantile(column, s, alpha) for column in sample.y_true.T])
    residual = mean_losses(sample.y_true, sample.y_pred, sample.s, loss)
    null = mean_losses(sample.y_true, np.broadcast_to(best, sample.y_true.shape), sample.s, loss)
    return _explained(residual, null, multioutput, force_finite=True)


def d2_absolute_error_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Any:
    """Return the share of the absolute error that is explained.

    Parameters
    ----------
    y_true, y_pred, sample_weight, multioutput
        As for `mean_absolute_error`.

    Returns
    -------
    float, or ndarray of shape (m,)
        1 is perfect; 0 is what the median of the truth achieves.

    Examples
    --------
    >>> from qed.metrics import d2_absolute_error_score
    >>> d2_absolute_error_score([1, 2, 3], [1, 2, 2])
    0.5
    """
    return d2_pinball_score(y_true, y_pred, sample_weight=sample_weight, alpha=0.5, multioutput=multioutput)
