"""How much one column tells about the target, for every column by itself: tests of variance, correlations, counts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, Traits, _finite, _tables, _targets
from qed.core._arrays import floats
from qed.core._records import named_function
from qed.data import ColumnMoments

if TYPE_CHECKING:
    from qed.core import Array

ROWS_AT_ONCE = 4096  # a block of rows about their mean stays in the cache
SPARSE = Traits(sparse=True)


def read_rows(X: Any, y: Any, owner: str) -> tuple[Any, Array]:
    """Read a table of finite numbers, and one target for each row."""
    rows, names = _tables.read(X, "X", SPARSE, owner)
    _finite.require(rows, "X", None if names is None else list(names), owner)
    target = _targets.as_target(y, "y")
    target = target.reshape(-1) if target.ndim == 2 and target.shape[1] == 1 else target
    if target.ndim != 1 or len(target) != rows.shape[0]:
        raise InvalidData(
            f"{owner} needs one target for each of {rows.shape[0]} rows, got y of shape {target.shape}. Found input variables with"
            " inconsistent numbers of samples, or several targets."
        )
    return rows, target


def read_labels(target: Array) -> tuple[Array, Array]:
    """Return the distinct labels and the number of each row's label; numbers of any kind may be labels."""
    if target.dtype.kind == "f":
        _finite.require(floats(target, "y"), "y", None, "a test of classes")
        labels, codes = np.unique(target, return_inverse=True)
        return labels, codes
    return _targets.encode(target)


def _membership(codes: Array, n_classes: int) -> Any:
    """Return a sparse table with a one where a class (row) holds a sample (column)."""
    from scipy import sparse  # noqa: PLC0415

    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    return sparse.csr_array((np.ones(len(codes)), order, starts), shape=(n_classes, len(codes)))


def _about_means(weights: Any, X: Any, mean: Array) -> Array:
    """Return ``weights @ (X - mean)``, block by block of columns of the weights, without a copy of X."""
    if _tables.is_sparse(X):
        product = weights @ X
        product = product.toarray() if _tables.is_sparse(product) else np.asarray(product)
        return np.asarray(product - np.outer(np.asarray(weights.sum(axis=1)).reshape(-1), mean))
    total = np.zeros((weights.shape[0], X.shape[1]))
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        total += weights[:, some] @ (X[some] - mean)
    return total


def _scatter(X: Any) -> tuple[Array, Array]:
    """Return means, and sums of squares about them: exactly zero for constant columns."""
    moments = ColumnMoments.of(X)
    return moments.mean, np.where(moments.low == moments.high, 0.0, moments.scatter)


def _variance_ratio(X: Any, codes: Array, n_classes: int) -> tuple[Array, Array]:
    """Return F of the one-way analysis of variance of every column, and its p-value."""
    from scipy.special import fdtrc  # noqa: PLC0415

    n = X.shape[0]
    mean, total = _scatter(X)
    sums = _about_means(_membership(codes, n_classes), X, mean)
    between = np.sum(sums**2 / np.bincount(codes, minlength=n_classes)[:, None], axis=0)
    between = np.where(total > 0, np.minimum(between, total), 0.0)
    low, high = n_classes - 1, n - n_classes
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (between / low if low else between * np.nan) / ((total - between) / high if high else total * 0.0)
    constant = np.flatnonzero(total == 0)
    if len(constant):
        warnings.warn(f"Features {constant} are constant.", UserWarning, stacklevel=4)
    return statistic, fdtrc(low, high, statistic)


def f_oneway(*samples: Any) -> tuple[Array, Array]:
    """Test whether several samples have the same mean: the one-way analysis of variance.

    Parameters
    ----------
    *samples : array-like of shape (n_k, p) or sparse
        The samples of each class, two at least, with the same columns.

    Returns
    -------
    statistic : ndarray of shape (p,)
        F: the variance between the classes relative to that within them.
    p_value : ndarray of shape (p,)
        The probability of so large an F when all classes have the same normal distribution.

    Examples
    --------
    >>> from qed.feature_selection import f_oneway
    >>> f_oneway([[1.0], [2.0], [3.0]], [[3.0], [4.0], [5.0]])[0].round(6).tolist()
    [6.0]
    """
    if len(samples) < 2:
        raise InvalidData(f"f_oneway compares two samples at least, got {len(samples)}.")
    tables = [
        _tables.read(np.asarray(one)[:, None] if np.ndim(one) == 1 else one, "samples", SPARSE, "f_oneway")[0]
        for one in samples
    ]
    if _tables.is_sparse(tables[0]):
        from scipy import sparse  # noqa: PLC0415

        X = sparse.vstack(tables).tocsr()
    else:
        X = np.vstack(tables)
    _finite.require(X, "samples", None, "f_oneway")
    return _variance_ratio(X, np.repeat(np.arange(len(tables)), [one.shape[0] for one in tables]), len(tables))


@named_function
def f_classif(X: Any, y: Any) -> tuple[Array, Array]:
    """Score columns for a classifier by the one-way analysis of variance.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Labels.

    Returns
    -------
    statistic : ndarray of shape (p,)
        F: the variance between the classes relative to that within them.
    p_value : ndarray of shape (p,)
        The probability of so large an F when the column does not depend on the class.

    Examples
    --------
    >>> from qed.feature_selection import f_classif
    >>> f_classif([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]], ["a", "a", "b", "b"])[0].tolist()
    [8.0, 0.0]
    """
    rows, target = read_rows(X, y, "f_classif")
    labels, codes = read_labels(target)
    if len(labels) < 2:
        raise InvalidData("f_classif compares classes, and y holds 1 class. Pass two classes at least.")
    return _variance_ratio(rows, codes, len(labels))


@named_function
def chi2(X: Any, y: Any) -> tuple[Array, Array]:
    """Score columns of counts for a classifier by the chi-squared test of independence.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows of frequencies or other numbers >= 0.
    y : array-like of shape (n,)
        Labels.

    Returns
    -------
    statistic : ndarray of shape (p,)
        Squared differences between observed and expected sums of each class, relative to the expected ones.
    p_value : ndarray of shape (p,)
        The probability of so large a statistic when the column does not depend on the class.

    Examples
    --------
    >>> from qed.feature_selection import chi2
    >>> chi2([[1, 1], [3, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"])[0].tolist()
    [4.0, 0.0]
    """
    from scipy.special import chdtrc  # noqa: PLC0415

    rows, target = read_rows(X, y, "chi2")
    data = rows.data if _tables.is_sparse(rows) else rows
    if data.size and data.min() < 0:
        raise InvalidData("Input X must be non-negative: chi2 compares counts or frequencies.")
    labels, codes = read_labels(target)
    observed = _about_means(_membership(codes, len(labels)), rows, np.zeros(rows.shape[1]))
    share = np.bincount(codes, minlength=len(labels)) / len(codes)
    expected = np.outer(share, observed.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.sum((observed - expected) ** 2 / expected, axis=0)
    return statistic, chdtrc(len(labels) - 1, statistic)


def _read_numbers(X: Any, y: Any, owner: str) -> tuple[Any, Array]:
    rows, target = read_rows(X, y, owner)
    numbers = floats(target, "y").astype(np.float64)
    _finite.require(numbers, "y", None, owner)
    return rows, numbers


@named_function
def r_regression(X: Any, y: Any, *, center: bool = True, force_finite: bool = True) -> Array:
    """Compute Pearson's correlation of every column with a target of numbers.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    center : bool
        Whether to subtract the means first.
    force_finite : bool
        Whether a constant column or target gives 0 instead of NaN.

    Returns
    -------
    ndarray of shape (p,)
        Correlations between -1 and 1.

    Examples
    --------
    >>> from qed.feature_selection import r_regression
    >>> r_regression([[0.0, 3.0], [1.0, 2.0], [2.0, 1.0]], [1.0, 2.0, 3.0]).round(6).tolist()
    [1.0, -1.0]
    """
    rows, target = _read_numbers(X, y, "r_regression")
    mean, scatter = _scatter(rows)
    if center:
        target = target - target.mean() if np.ptp(target) else np.zeros_like(target)
    else:
        scatter, mean = scatter + len(target) * mean**2, np.zeros_like(mean)
    products = _about_means(target[None, :], rows, mean)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = products / np.sqrt(scatter) / np.linalg.norm(target)
    correlation = np.clip(correlation, -1.0, 1.0)
    return np.where(np.isnan(correlation), 0.0, correlation) if force_finite else correlation


@named_function
def f_regression(X: Any, y: Any, *, center: bool = True, force_finite: bool = True) -> tuple[Array, Array]:
    """Score columns for a regressor by the F-test of a regression on each column alone.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    center : bool
        Whether the regression has an intercept.
    force_finite : bool
        Whether a perfect correlation gives the largest float instead of infinity, and a constant column 0 instead of NaN.

    Returns
    -------
    statistic : ndarray of shape (p,)
        F: the explained variance relative to that of the residuals.
    p_value : ndarray of shape (p,)
        The probability of so large an F when the target does not depend on the column.

    Examples
    --------
    >>> from qed.feature_selection import f_regression
    >>> f_regression([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 1.0, 2.0])[0].round(6).tolist()
    [18.0]
    """
    from scipy.special import fdtrc  # noqa: PLC0415

    correlation = r_regression(X, y, center=center, force_finite=force_finite)
    freedom = len(_targets.as_target(y, "y")) - (2 if center else 1)
    square = correlation**2
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = square / (1 - square) * freedom
    p_value = fdtrc(1, freedom, statistic)
    if force_finite:
        unknown = np.isnan(statistic)
        statistic = np.where(unknown, 0.0, np.minimum(statistic, np.finfo(np.float64).max))
        p_value = np.where(unknown, 1.0, p_value)
    return statistic, p_value
