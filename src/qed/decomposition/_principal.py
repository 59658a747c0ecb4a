"""What models of principal components share: coordinates, reconstructions, and the probabilistic model of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import SubspaceCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import Array, InvalidData, Transformer, fitted
from qed.decomposition import _kernels

if TYPE_CHECKING:
    from qed.data import Moments


BLOCK_ENTRIES = 1 << 20  # entries of residuals in memory at a time


def _have_its_columns(model: Any, moments: Moments) -> str:
    return "" if moments.n_features == model.n_features_in_ else f"should be of {model.n_features_in_} columns"


class PrincipalComponents(Transformer, sparse=True, min_samples=2):
    """Directions of largest variance about a mean, however they were found."""

    if TYPE_CHECKING:
        whiten: bool

    components_: Array = fitted("Directions, largest variance first, shape (k, p).", shape="(n_components_, p)")
    explained_variance_: Array = fitted(
        "Variance along each direction, shape (k,); the divisor is n - 1.", shape="(n_components_,)", low=0
    )
    explained_variance_ratio_: Array = fitted(
        "The same as shares of the total variance, shape (k,).", shape="(n_components_,)", low=0
    )
    singular_values_: Array = fitted(
        "Lengths of the coordinates of all rows along each direction, shape (k,).", shape="(n_components_,)", low=0
    )
    mean_: Array = fitted("Mean of each column, shape (p,).", shape="(p,)")
    n_components_: int = fitted("Number of components.", low=0)
    n_samples_: int | float = fitted("Number of rows, or their weight.", low=0)
    noise_variance_: float = fitted(
        "Mean variance of the directions that were left out, as in probabilistic PCA.", low=0
    )
    solver_used_: str = fitted("What components were found from: 'columns', 'rows', 'full' or 'krylov'.", answers=False)
    moments_: Moments = fitted(
        "The statistic of the rows, if products of columns were formed.",
        optional=True,
        answers=False,
        check=_have_its_columns,
    )
    certificate_: SubspaceCertificate = fitted("What is proven about the fit.")

    def _statistic(self) -> Moments:
        if "moments_" not in self.__dict__:
            raise InvalidData(
                f"This {type(self).__name__} was fitted without products of columns (solver_used_ = {self.solver_used_!r}), so rows"
                " can be neither"
                " added nor taken out. Learn by partial_fit from the start, or fit all rows."
            )
        return self.moments_

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows along the directions.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        axes = self.components_.T
        if self.whiten:
            axes = axes / self._deviations()
        return _kernels.mapped(X, axes, None, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their coordinates: the nearest ones within the directions.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Coordinates, as ``transform`` gives them.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the coordinates.
        """
        self._check_is_fitted()
        given = np.asarray(X)
        given = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
        if given.ndim != 2 or given.shape[1] != self.n_components_:
            raise InvalidData(
                f"{type(self).__name__} has {self.n_components_} components, got coordinates of shape {given.shape}."
            )
        axes = self.components_ * self._deviations()[:, None] if self.whiten else self.components_
        return _kernels.mapped(given, axes, self.mean_)

    def _deviations(self) -> Array:
        """Return what whitening divides by; a direction without variance is divided by next to nothing, as in scikit-learn."""
        return np.maximum(np.sqrt(self.explained_variance_), np.finfo(np.float64).eps)

    @property
    def eigenvalues_(self) -> Array:
        """Eigenvalues of the covariance matrix with divisor n, as maximum likelihood has it; ``explained_variance_`` has n - 1."""
        self._check_is_fitted()
        return np.asarray(self.singular_values_**2 / self.n_samples_)

    def get_covariance(self) -> Array:
        """Return the covariance of the probabilistic model: that of the components, and the noise in all directions.

        Returns
        -------
        ndarray of shape (p, p)
            The covariance.
        """
        self._check_is_fitted()
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (self.components_.T * above) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance

    def get_precision(self) -> Array:
        """Return the inverse of ``get_covariance()``.

        Returns
        -------
        ndarray of shape (p, p)
            The precision.
        """
        self._check_is_fitted()
        inside, outside = self._precisions()
        precision = (self.components_.T * (inside - outside)) @ self.components_
        precision.flat[:: len(precision) + 1] += outside
        return precision

    def _precisions(self) -> tuple[Array, float]:
        """Return the inverses of the variances of the model, along the components and outside of them."""
        p, noise = len(self.mean_), self.noise_variance_
        # eigenvalues are rounded by this much: a direction without variance may have got less or none
        rounding = p * np.finfo(np.float64).eps * float(np.max(self.explained_variance_, initial=0.0))
        variances = np.maximum(self.explained_variance_, max(noise, rounding))
        if (not noise > 0 and self.n_components_ < p) or not (variances > 0).all():
            raise InvalidData(
                "The covariance of this PCA has no inverse: some direction has no variance at all. Keep fewer components, so that"
                " noise_variance_ is above zero; or fit more rows than columns."
            )
        return 1 / variances, 1 / noise if noise > 0 else 0.0

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density of each row under the probabilistic model.

        Returns
        -------
        ndarray of shape (n,)
            Log-densities.
        """
        X = self._new_data(X)
        inside, outside = self._precisions()
        n, p = X.shape
        k = self.n_components_
        volume = float(np.sum(np.log(inside))) + ((p - k) * np.log(outside) if k < p else 0.0)
        squares = np.empty(n)
        step = max(1, BLOCK_ENTRIES // p)
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        for first in range(0, n, step):
            rows = X[first : first + step]
            x = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64) - self.mean_
            z = _kernels.mapped(x, self.components_.T)
            far = 0.0
            if k < p:  # what is outside of the components, itself and not as a difference of squares
                far = outside * np.sum((x - _kernels.mapped(z, self.components_)) ** 2, axis=1)
            squares[first : first + step] = z**2 @ inside + far
        return np.asarray(-0.5 * (squares + p * np.log(2 * np.pi) - volume))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean of the log-densities of rows.

        Returns
        -------
        float
            The mean.
        """
        return float(np.mean(self.score_samples(X)))
