"""The covariance of all rows, as it is and shrunk towards a multiple of the identity."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, Number, fitted, param
from qed.covariance._covariance import StoredPrecision, read_moments

Share = Annotated[float, Number(0, 1)]


def empirical_covariance(X: Any, *, assume_centered: bool = False) -> Array:
    """Return the maximum likelihood covariance of rows.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    assume_centered : bool
        Whether their mean is known to be zero.

    Returns
    -------
    ndarray of shape (p, p)
        The divisor is n.
    """
    return EmpiricalCovariance(assume_centered=assume_centered, store_precision=False).fit(X).covariance_


def shrunk_covariance(emp_cov: Any, shrinkage: float = 0.1) -> Array:
    """Return a covariance shrunk towards a multiple of the identity of the same trace.

    Parameters
    ----------
    emp_cov : array-like of shape (..., p, p)
        Covariances.
    shrinkage : float
        From 0, nothing is changed, to 1.

    Returns
    -------
    ndarray of shape (..., p, p)
        ``(1 - shrinkage) * emp_cov + shrinkage * mean variance * identity``.
    """
    S = np.asarray(emp_cov, dtype=np.float64)
    p = S.shape[-1]
    level = np.trace(S, axis1=-2, axis2=-1) / p
    return np.asarray((1 - shrinkage) * S + (shrinkage * level)[..., None, None] * np.eye(p))


class EmpiricalCovariance(StoredPrecision):
    r"""Maximum likelihood covariance.

    Objective
    ---------
    .. math:: \max_{\mu, \Sigma} \sum_i s_i \log N(x_i \mid \mu, \Sigma), \qquad
              \Sigma = \frac{1}{\sum_i s_i} \sum_i s_i (x_i - \mu)(x_i - \mu)^\top

    Certificate
    -----------
    ExactCertificate: location, covariance and its inverse are those of the rows, up to rounding.

    Cost
    ----
    One pass, O(n p^2), and O(p^3) for the inverse. Memory beyond X: 48 p^2 bytes.

    Examples
    --------
    >>> from qed.covariance import EmpiricalCovariance
    >>> EmpiricalCovariance().fit([[0.0, 1.0], [2.0, 3.0]]).covariance_.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find location and covariance."""
        moments, location, data = read_moments(self, X, sample_weight, centered=self.assume_centered)
        covariance = moments.XX / moments.weight
        amount = self._shrinkage(covariance, location, data, moments.weight)
        self._store(location, shrunk_covariance(covariance, amount) if amount else covariance)
        self.certificate_ = ExactCertificate("Location and covariance", moments.rows, moments.rounding)
        return self

    def _shrinkage(self, covariance: Array, location: Array, data: Any, weight: float) -> float:  # noqa: ARG002
        """Return how far the covariance is drawn towards the identity."""
        return 0.0


class ShrunkCovariance(EmpiricalCovariance):
    r"""Covariance shrunk towards a multiple of the identity.

    Objective
    ---------
    .. math:: (1 - \rho) \, \Sigma + \rho \, \frac{\operatorname{tr} \Sigma}{p} I

    Certificate
    -----------
    ExactCertificate: location, covariance and its inverse are those of the rows, up to rounding.

    Cost
    ----
    One pass, O(n p^2), and O(p^3) for the inverse. Memory beyond X: 48 p^2 bytes.

    Examples
    --------
    >>> from qed.covariance import ShrunkCovariance
    >>> ShrunkCovariance(shrinkage=0.5).fit([[0.0, 1.0], [2.0, 3.0]]).covariance_.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    _: KW_ONLY
    shrinkage: Share = param(0.1, "How far to draw the covariance, from 0 to 1.")

    def _shrinkage(self, covariance: Array, location: Array, data: Any, weight: float) -> float:  # noqa: ARG002
        return float(self.shrinkage)
