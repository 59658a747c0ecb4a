r"""Rows that follow from few hidden normal variables.

Let :math:`x = \mu + L^\top z + \varepsilon`, with :math:`z \sim N(0, I_k)` and noise of variances :math:`\psi`. Then x is normal
with covariance :math:`L^\top L + \mathrm{diag}(\psi)`, and given x so is z, with covariance :math:`(I + L \Psi^{-1}
L^\top)^{-1}`. For given noise the most likely loadings have a closed form: with eigenpairs :math:`(\lambda_i, v_i)` of
:math:`\Psi^{-1/2} S \Psi^{-1/2}`, S the covariance of the rows with divisor n, they are :math:`l_i = \sqrt{(\lambda_i - 1)_+}\,
\Psi^{1/2} v_i` for the k largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import Array, InvalidData, Transformer, fitted, generator
from qed.core._interruptible import interruptible
from qed.core._threads import one_blas_thread
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.designs._range import fingerprint, require_range

if TYPE_CHECKING:
    from qed.certificates import Fingerprint

LEAST_NOISE = 1e-8  # of the variance of a column: with less, the covariance has no inverse that float64 can hold
BLOCK_ENTRIES = 1 << 20  # entries of residuals in memory at a time


class Posterior(NamedTuple):
    """Posterior of the latent variables: a mean for each row, and the covariance that all rows share.

    Attributes
    ----------
    mean : ndarray of shape (n, k)
        Means, one row for each.
    covariance : ndarray of shape (k, k)
        Covariance about each of them.
    """

    mean: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of centred rows with divisor n, by the smaller of two squares: S = A'A with A the rows over √n."""

    seen: Fingerprint
    variance: Array  # (p,) diagonal of S
    columns: Array | None  # S, where there are at least as many rows as columns
    rows: Array | None  # A, where there are fewer

    @classmethod
    def of(cls, X: Any) -> Spread:
        """Look at a table."""
        n, p = X.shape
        seen = fingerprint(X, np.empty((n, 0)), None)
        require_range(ArraySource(X, None, None), seen)
        A = (np.asarray(X, dtype=np.float64) - seen.mean) / np.sqrt(n)
        return cls(seen, seen.spread / n, _kernels.adjoint(A, A) if n >= p else None, A if n < p else None)

    @property
    def size(self) -> Array:
        """What is large for each column: its variance, that of the others where it has none, one where none has any."""
        mean = float(np.mean(self.variance))
        return np.where(self.variance > 0, self.variance, mean if mean > 0 else 1.0)

    def leading(self, noise: Array, k: int) -> tuple[Array, Array]:
        """Return the k largest eigenvalues of S scaled by noise, and their directions as rows (k, p), largest entry positive."""
        p = len(noise)
        root = np.sqrt(noise)
        square = self.columns / np.outer(root, root) if self.columns is not None else None
        if square is None:
            assert self.rows is not None  # noqa: S101  (one of the two is there)
            A = self.rows / root
            square = _kernels.product(A, np.ascontiguousarray(A.T))
        with one_blas_thread(square.size):
            values, vectors = interruptible(np.linalg.eigh, (square + square.T) / 2, work=9.0 * len(square) ** 3)
        values, V = np.maximum(values[::-1][:k], 0.0), vectors[:, ::-1][:, :k].T
        if self.rows is not None:
            V = V @ A
            V /= np.maximum(np.sqrt(np.sum(V * V, axis=1, keepdims=True)), np.finfo(np.float64).tiny)
        whole, every = np.zeros(k), np.zeros((k, p))
        whole[: len(values)], every[: len(V)] = values, V
        return whole, _signed(every)

    def most_likely(self, noise: Array, k: int) -> tuple[Array, float]:
        """Return the best loadings (k, p) for given noise, and the log-likelihood of a row with them."""
        values, V = self.leading(noise, k)
        loadings = np.sqrt(np.maximum(values - 1, 0.0))[:, None] * V * np.sqrt(noise)
        used = np.maximum(values, 1.0)
        rest = max(float(np.sum(self.variance / noise)) - float(np.sum(values)), 0.0)
        inside = float(np.sum(np.log(used) + values / used))
        return loadings, -0.5 * (len(noise) * np.log(2 * np.pi) + float(np.sum(np.log(noise))) + inside + rest)


def _signed(V: Array) -> Array:
    """Turn each row so that its largest entry is positive."""
    if V.size:
        V[V[np.arange(len(V)), np.argmax(np.abs(V), axis=1)] < 0] *= -1
    return V


class LatentNormal(Transformer, min_samples=2):
    """What models of hidden normal variables share: posteriors, densities, and new rows."""

    components_: Array = fitted("Loadings L, one row for each hidden variable, shape (k, p).", shape="(c, p)")
    mean_: Array = fitted("Mean of each column, shape (p,).", shape="(p,)")

    def _noise(self) -> Array:
        """Return the variance of the noise of each column."""
        raise NotImplementedError

    def _posterior(self) -> tuple[Array, Array]:
        """Return the map (p, k) from centred rows to posterior means, and the posterior covariance (k, k)."""
        noise = self._noise()
        if not (noise > 0).all():
            raise InvalidData(
                f"This {type(self).__name__} stores a variance of the noise that is not positive. Fit again."
            )
        scaled = self.components_ / noise
        with one_blas_thread(scaled.size):
            precision = np.eye(len(scaled)) + scaled @ self.components_.T
            covariance = np.linalg.inv((precision + precision.T) / 2)
            return np.ascontiguousarray(scaled.T @ covariance), covariance

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return the posterior means of the hidden variables of rows.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        return _kernels.mapped(self._new_data(X), self._posterior()[0], None, self.mean_)

    def posterior(self, X: Any) -> Posterior:
        """Return what is known of the hidden variables of rows: a normal distribution for each.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        Posterior
            Means (n, k), and the covariance (k, k) that all rows share.
        """
        X = self._new_data(X)
        into, covariance = self._posterior()
        return Posterior(_kernels.mapped(X, into, None, self.mean_), covariance)

    def inverse_transform(self, X: Any) -> Array:
        """Return the expected rows of given hidden variables.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Hidden variables, such as ``transform`` returns.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the hidden variables.
        """
        self._check_is_fitted()
        given = np.asarray(X)
        given = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.components_):
            raise InvalidData(
                f"{type(self).__name__} has {len(self.components_)} hidden variables, got an array of shape {given.shape}."
            )
        return _kernels.mapped(given, self.components_, self.mean_)

    def get_covariance(self) -> Array:
        """Return the covariance of the model: that of the loadings, and the noise.

        Returns
        -------
        ndarray of shape (p, p)
            The covariance.
        """
        self._check_is_fitted()
        covariance = self.components_.T @ self.components_
        covariance.flat[:: len(covariance) + 1] += self._noise()
        return covariance

    def get_precision(self) -> Array:
        """Return the inverse of ``get_covariance()``.

        Returns
        -------
        ndarray of shape (p, p)
            The precision.
        """
        self._check_is_fitted()
        into, _ = self._posterior()
        noise = self._noise()
        precision = -(into @ (self.components_ / noise))
        precision.flat[:: len(precision) + 1] += 1 / noise
        return (precision + precision.T) / 2

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density of each row.

        Returns
        -------
        ndarray of shape (n,)
            Log-densities.
        """
        X = self._new_data(X)
        into, covariance = self._posterior()
        noise, (n, p) = self._noise(), X.shape
        volume = float(np.sum(np.log(noise))) - float(np.linalg.slogdet(covariance)[1])
        squares, step = np.empty(n), max(1, BLOCK_ENTRIES // p)
        for first in range(0, n, step):
            x = np.asarray(X[first : first + step], dtype=np.float64) - self.mean_
            z = _kernels.mapped(x, into)
            # the least of |x - L'z|² / noise + |z|², which is a sum of squares: nothing cancels
            rest = x - _kernels.mapped(z, self.components_)
            squares[first : first + step] = np.sum(rest**2 / noise, axis=1) + np.sum(z**2, axis=1)
        return np.asarray(-0.5 * (squares + p * np.log(2 * np.pi) + volume))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean of the log-densities of rows.

        Returns
        -------
        float
            The mean.
        """
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Draw new rows: hidden variables first, then rows about what is expected of them.

        Parameters
        ----------
        n_samples : int
            How many rows, at least one.
        random_state : None, int, Generator or RandomState
            Seed.

        Returns
        -------
        ndarray of shape (n_samples, p)
            Rows.
        """
        self._check_is_fitted()
        if n_samples < 1:
            raise InvalidData(f"n_samples must be at least 1, got {n_samples!r}.")
        rng, p = generator(random_state), len(self.mean_)
        hidden = rng.standard_normal((n_samples, len(self.components_)))
        noise = rng.standard_normal((n_samples, p)) * np.sqrt(self._noise())
        return _kernels.mapped(hidden, self.components_, self.mean_) + noise
