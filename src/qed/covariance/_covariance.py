"""What every estimator of a covariance shares."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.core import KW_ONLY, Array, Estimator, InvalidData, fitted, param
from qed.data import ArraySource, Moments, fold
from qed.designs._range import fingerprint_of, require_range

ASSUME_CENTERED = param(False, "Whether the mean of the rows is known to be zero, and is not estimated.")
LOG_TWO_PI = float(np.log(2 * np.pi))


class CovarianceEstimator(Estimator):
    """A location, a covariance and its inverse."""

    location_: Array = fitted("Location of the rows, shape (p,).", shape="(p,)")
    covariance_: Array = fitted("Covariance, shape (p, p).", shape="(p, p)")
    precision_: Array | None = fitted("Its (pseudo-)inverse, shape (p, p); None if it is not stored.", shape="(p, p)")

    def get_precision(self) -> Array:
        """Return the inverse of the covariance, or its pseudo-inverse where it is singular.

        Returns
        -------
        ndarray of shape (p, p)
            The precision.
        """
        self._check_is_fitted()
        return inverted(self.covariance_) if self.precision_ is None else self.precision_

    def mahalanobis(self, X: Any) -> Array:
        """Return squared Mahalanobis distances of rows from the location.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Squared distances.
        """
        X = self._new_data(X)
        return distances(np.asarray(X, dtype=np.float64), self.location_, self.get_precision())

    def score(self, X_test: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-density of rows under a Gaussian with this location and covariance.

        Parameters
        ----------
        X_test : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        float
            Larger is better.
        """
        X = np.asarray(self._new_data(X_test), dtype=np.float64) - self.location_
        return log_likelihood(X.T @ X / len(X), self.get_precision())

    def error_norm(
        self,
        comp_cov: Any,
        norm: Literal["frobenius", "spectral"] = "frobenius",
        scaling: bool = True,
        squared: bool = True,
    ) -> float:
        """Return how far another covariance is from this one.

        Parameters
        ----------
        comp_cov : array-like of shape (p, p)
            The other covariance.
        norm : {"frobenius", "spectral"}
            Root of the sum of squares, or largest singular value.
        scaling : bool
            Whether to divide the squared norm by p.
        squared : bool
            Whether to return the square of the norm.

        Returns
        -------
        float
            The distance.
        """
        self._check_is_fitted()
        other = np.asarray(comp_cov, dtype=np.float64)
        if other.shape != self.covariance_.shape:
            raise InvalidData(f"comp_cov must have shape {self.covariance_.shape}, and has {other.shape}.")
        error = other - self.covariance_
        if norm not in ("frobenius", "spectral"):
            raise NotImplementedError(f"norm must be 'frobenius' or 'spectral', got {norm!r}.")
        found = float(np.sum(error**2) if norm == "frobenius" else np.linalg.norm(error, 2) ** 2)
        found = found / len(error) if scaling else found
        return found if squared else float(np.sqrt(found))


class StoredPrecision(CovarianceEstimator):
    """An estimator that may leave the inverse to be computed when it is asked for."""

    _: KW_ONLY
    store_precision: bool = param(True, "Whether to store the inverse; otherwise it is computed when it is asked for.")
    assume_centered: bool = ASSUME_CENTERED

    def _store(self, location: Array, covariance: Array) -> None:
        self.location_, self.covariance_ = location, covariance
        self.precision_ = inverted(covariance) if self.store_precision else None


def read_moments(model: Any, X: Any, sample_weight: Any, *, centered: bool) -> tuple[Moments, Array, Any]:
    """Read rows; return their statistic, location, and the rows themselves."""
    data = model._fit_data(X, None, sample_weight)  # noqa: SLF001
    source = ArraySource(data.X, None, data.weight)
    moments = fold(source, Moments.of, name=type(model).__name__)
    if moments.rows == 0:
        raise InvalidData(f"{type(model).__name__} has no row of positive weight to learn from.")
    require_range(source, fingerprint_of(moments), centred=not centered)
    about = moments.about_origin() if centered else moments
    return about, about.mean_x.copy(), data


def inverted(covariance: Array) -> Array:
    """Return the inverse of a symmetric matrix, directions without variance left out."""
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    unit = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    keep = np.abs(values) > len(values) * np.finfo(np.float64).eps * np.max(np.abs(values), initial=0.0)
    scaled = vectors[:, keep] / unit[:, None]
    if keep.all():
        return symmetric((scaled / values[keep]) @ scaled.T)
    # a singular matrix has the pseudo-inverse of its own units, not of columns scaled to one
    values, vectors = np.linalg.eigh(covariance)
    keep = np.abs(values) > len(values) * np.finfo(np.float64).eps * np.max(np.abs(values), initial=0.0)
    return symmetric((vectors[:, keep] / values[keep]) @ vectors[:, keep].T)


def symmetric(matrix: Array) -> Array:
    """Return a matrix that is symmetric to the last bit."""
    return np.asarray((matrix + matrix.T) / 2)


def distances(X: Array, location: Array, precision: Array) -> Array:
    """Return squared Mahalanobis distances."""
    apart = X - location
    return np.asarray(np.einsum("ij,ij->i", apart @ precision, apart))


def log_likelihood(emp_cov: Any, precision: Any) -> float:
    """Return the mean Gaussian log-density of rows with a covariance, under a model with a precision and their location.

    Parameters
    ----------
    emp_cov : array-like of shape (p, p)
        Covariance of the rows.
    precision : array-like of shape (p, p)
        Inverse covariance of the model.

    Returns
    -------
    float
        Per row; minus infinity where the precision is not positive definite.
    """
    S, T = np.asarray(emp_cov, dtype=np.float64), np.asarray(precision, dtype=np.float64)
    sign, log_det = np.linalg.slogdet(T)
    if sign <= 0:
        return -np.inf
    return float(0.5 * (log_det - np.sum(S * T) - len(T) * LOG_TWO_PI))
