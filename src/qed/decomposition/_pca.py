"""Principal component analysis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import SubspaceCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Seed,
    Traits,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.decomposition import _kernels
from qed.decomposition._learn import learn, merge

if TYPE_CHECKING:
    from qed.data import Moments


BLOCK = 1 << 20  # entries of residuals in memory at a time


def _have_its_columns(model: Any, moments: Moments) -> str:
    return "" if moments.n_features == model.n_features_in_ else f"should be of {model.n_features_in_} columns"


class PCA(Transformer, sparse=True, min_samples=2):
    r"""Directions of largest variance, and the coordinates of rows along them.

    Objective
    ---------
    .. math:: \min_{V V^\top = I_k} \frac{1}{\sum_i s_i - 1} \sum_i s_i \left\| (x_i - \mu) - V^\top V (x_i - \mu) \right\|^2

    the variance that k orthonormal directions leave out, :math:`\mu` being the mean. The best ones are eigenvectors of the
    covariance for its largest eigenvalues: what is left out is least where what is explained is most.

    Certificate
    -----------
    SubspaceCertificate: no k directions leave out less of the variance by more than this.

    Cost
    ----
    O(np min(n, p)) once, then O(min(n, p)^3), or O(k min(n, p)^2) for few components; by products alone O(npk) a pass. Memory
    beyond X: at most 48 p^2 bytes for a table that is tall, 32 n^2 for a wide one, O((n + p) k) by products alone.

    Notes
    -----
    A tall table is folded into the same statistic as for least squares, so that rows may come in chunks (``qed.scan``), by
    ``partial_fit``, and go by ``forget``: the model is that of all rows at once. The largest entry of each direction is positive.

    A weight counts a row so many times; variances are divided by the sum of weights less one.

    Examples
    --------
    >>> from qed.decomposition import PCA
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]]
    >>> model = PCA(1).fit(X)
    >>> model.components_.round(4)
    array([[0.8385, 0.5449]])
    >>> float(model.explained_variance_ratio_[0].round(4))
    0.9924
    """

    n_components: (
        NonNegativeInt | Annotated[float, Number(0, 1, open_low=True, open_high=True)] | Literal["mle"] | None
    ) = param(
        None,
        "How many components to keep: a number; a share of the variance, as a number between 0 and 1; 'mle' for the most probable"
        " number (Minka); None for all.",
    )
    _: KW_ONLY
    copy: bool = param(True, "Whether the given array may not be written over; it never is.", kind="hint")
    whiten: bool = param(False, "Whether to divide coordinates by their deviations, so that their variances are one.")
    svd_solver: Literal["auto", "full", "covariance_eigh", "arpack", "randomized"] = param(
        "auto",
        "How components are found: 'full' by singular values, 'covariance_eigh' from products of columns, 'arpack' by products"
        " alone until rounding, 'randomized' by ``iterated_power`` of them; 'auto' takes the cheapest. Of small tables all find"
        " the same. See ``solver_used_``.",
    )
    tol: NonNegative = param(
        0.0, "Residual at which 'arpack' stops, relative to the largest variance; 0 means at rounding."
    )
    iterated_power: NonNegativeInt | Literal["auto"] = param(
        "auto", "Products of a block that 'randomized' takes; 'auto' means 7, or 4 for many components."
    )
    n_oversamples: PositiveInt = param(10, "Vectors in a block beyond the components.")
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = param(
        "auto", "How scikit-learn keeps the vectors of a block apart; here they are made orthonormal.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the random vectors; no component depends on it beyond the certificate.")

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

    def _traits(self) -> Traits:
        return super()._traits()._replace(sparse=self.svd_solver in ("auto", "arpack", "covariance_eigh"))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the directions.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows, at least two.
        y : None
            Not looked at; here because every ``fit`` takes it.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
            Fitted.
        """
        learn(self, X, sample_weight, partial(generator, self.random_state))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            More rows.
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
            Fitted.
        """
        known = self._statistic() if self.__sklearn_is_fitted__() else None
        merge(self, X, sample_weight, partial(generator, self.random_state), known)
        return self

    def forget(self, X: Any, sample_weight: Any = None) -> Self:
        """Take rows out again that were taken in before.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows that are among those of the fit.
        sample_weight : array-like of shape (n,), optional
            Their weights in it.

        Returns
        -------
        self
            The model of the other rows. It is refused where rounding would show.
        """
        self._check_is_fitted()
        merge(self, X, sample_weight, partial(generator, self.random_state), self._statistic(), takes_out=True)
        return self

    def _statistic(self) -> Moments:
        if "moments_" not in self.__dict__:
            raise InvalidData(
                f"This PCA was fitted without products of columns (solver_used_ = {self.solver_used_!r}), so rows can be neither"
                " added nor taken out. Learn by partial_fit from the start, or fit all rows."
            )
        return self.moments_

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows along the directions.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.

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
            raise InvalidData(f"PCA has {self.n_components_} components, got coordinates of shape {given.shape}.")
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

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.

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
        step = max(1, BLOCK // p)
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

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.
        y : None
            Not looked at.

        Returns
        -------
        float
            The mean.
        """
        return float(np.mean(self.score_samples(X)))
