"""Gaussian mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import (
    Array,
    InvalidData,
    Matrix,
    NonNegative,
    NonNegativeVector,
    Positive,
    Vector,
    fitted,
    generator,
    param,
)
from qed.core._validation import is_source
from qed.data import ArraySource
from qed.designs._range import fingerprint, require_range
from qed.mixture import _stored
from qed.mixture._ascent import decompose
from qed.mixture._gaussians import CovariancePrior, GaussianFamily, Gaussians
from qed.mixture._kernels import gaussian_densities
from qed.mixture._mixture import LikelihoodMixture, best_ascent, keep_ascent, require_as_many_rows
from qed.mixture._starts import begin, with_given
from qed.mixture._stored import (
    COVARIANCES,
    INIT_PARAMS,
    MEANS,
    PRECISION_FACTORS,
    PRECISIONS,
    REG_COVAR,
    STRUCTURE,
    Structure,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.mixture._ascent import Ascent


class GaussianMixture(LikelihoodMixture, chunks=True):
    r"""Gaussian mixture model, fitted by expectation-maximisation (EM).

    Objective
    ---------
    .. math:: \max_{w, \mu, \Sigma} \frac{1}{\sum_i s_i} \sum_i s_i \log \sum_k w_k \, N(x_i \mid \mu_k, \Sigma_k) \,
              e^{-\frac{v}{2} \operatorname{tr} \Sigma_k^{-1}}

    with v = ``reg_covar``: the expected log-likelihood of rows that are blurred by a variance of v. It keeps a component from
    collapsing onto a row, where the likelihood itself has no maximum. With ``covariance_prior`` the logarithm of an inverse-Wishart
    density of every covariance is added.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, what one more step would add, and the
    log-likelihood as a sum of expected log-likelihood, entropy and divergence of the responsibilities.

    Cost
    ----
    O(n k p^2) a step, O(n k p) for "diag" and "spherical"; a step is one pass over X, by blocks of rows. Memory beyond X: 64 k p^2
    bytes a thread, 256 k p^2 bytes for all, and 8 n k while starting.

    Notes
    -----
    The objective has many maxima; ``n_init`` starts find better ones. A component with one row, or with rows in a hyperplane, has
    variances near ``reg_covar``: ``degenerate_components_`` lists those.

    Parameters have scikit-learn's names. Three things differ. The blur by ``reg_covar`` enters the responsibilities too, so that
    the objective never falls. "k-means++" and "random_from_data" begin with rows as means and with the covariance of all rows.
    ``sample_weight`` says how often a row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import GaussianMixture
    >>> X = np.array([[-2.1], [-2.0], [-1.9], [1.9], [2.0], [2.1]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(6).tolist())
    [-2.0, 2.0]
    >>> model.certificate_.reached
    True
    """

    covariance_type: Structure = STRUCTURE
    reg_covar: NonNegative = REG_COVAR
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = INIT_PARAMS
    weights_init: NonNegativeVector | None = param(None, "First weights, shape (k,), with sum one.")
    means_init: Matrix | None = param(None, "First means, shape (k, p).")
    precisions_init: Vector | Matrix | Any = param(
        None, "First inverses of covariances, in the shape that ``covariance_type`` gives them."
    )
    algorithm: Literal["soft", "hard"] = param(
        "soft", "Whether a row belongs to every component in part (EM), or to the most probable one alone (hard EM)."
    )
    covariance_prior: Positive | Vector | None = param(
        None, "Scale of an inverse-Wishart prior of the covariances: a number or the diagonal; None for no prior."
    )
    degrees_of_freedom_prior: Positive | None = param(
        None, "Degrees of freedom of the inverse-Wishart prior, at least p; None means p."
    )

    means_: Array = MEANS
    covariances_: Array = COVARIANCES
    precisions_: Array = PRECISIONS
    precisions_cholesky_: Array = PRECISION_FACTORS
    degenerate_components_: list[int] = fitted(
        "Components with a variance near ``reg_covar``, or no rows.", low=0, answers=False
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find weights, means and covariances.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least as many as components.
        """
        data = self._fit_data(X, None, sample_weight)
        if is_source(X):
            return self._fit_source(X, warm=bool(self.warm_start) and hasattr(self, "means_"))
        require_as_many_rows(
            data.n_rows if data.weight is None else int(np.count_nonzero(data.weight)), self.n_components
        )
        seen = fingerprint(data.X, np.empty((data.n_rows, 0)), data.weight)
        require_range(ArraySource(data.X, None, data.weight), seen)
        prior = self._prior(data.X.shape[1])
        family = GaussianFamily(
            data.X, data.weight, seen.mean, self.covariance_type, float(self.reg_covar), prior, self.algorithm
        )
        return self._climb(family, seen, warm=data.warm)

    def _fit_source(self, source: Any, *, warm: bool) -> Self:
        """Find components of rows that come in chunks: a pass for each step, from a start on a sample."""
        from qed.cluster._passes import FoldedScatter, sampled  # noqa: PLC0415  (most rows are in memory)
        from qed.mixture._chunked import SourceFamily  # noqa: PLC0415

        scatter = FoldedScatter(source, type(self).__name__)
        require_as_many_rows(scatter.rows, self.n_components)
        mean = scatter.seen.mean
        rows, places = sampled(source, mean, generator(self.random_state))
        options = (self.covariance_type, float(self.reg_covar), self._prior(len(mean)), self.algorithm)
        family = SourceFamily(rows, places.s, mean, *options, source=source, total_weight=scatter.seen.weight)
        return self._climb(family, scatter.seen, warm=warm)

    def _climb(self, family: GaussianFamily, seen: Any, *, warm: bool) -> Self:
        """Climb from every start, and keep the best ascent."""
        start = (lambda _: _stored.stored(self)) if warm else (lambda rng: self._start(family, rng))
        run: Ascent[Gaussians, Any] = best_ascent(family, start, 1 if warm else self.n_init, self)
        found = run.parameters
        _stored.store(self, found)
        self.degenerate_components_ = degenerate(found, float(self.reg_covar), run.expected.sums.weights)
        what = "log-likelihood" if self.algorithm == "soft" else "log-likelihood of the most probable components"
        rounding = _stored.rounding(found, run.trace)
        keep_ascent(self, run, what, rounding, seen, decompose(family, run, rounding))
        return self

    def _prior(self, p: int) -> CovariancePrior | None:
        if self.covariance_prior is None:
            if self.degrees_of_freedom_prior is not None:
                raise InvalidData("degrees_of_freedom_prior belongs to a prior: set covariance_prior too.")
            return None
        scale = np.array(self.covariance_prior, dtype=np.float64)
        if scale.shape not in ((), (p,)) or not np.all(scale > 0):
            raise InvalidData(
                f"covariance_prior must be a positive number or {p} of them, the diagonal of a matrix; got shape {scale.shape}."
            )
        degrees = float(p if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior)
        if degrees < p:
            raise InvalidData(f"degrees_of_freedom_prior must be at least the number of columns, {p}; got {degrees:g}.")
        return CovariancePrior(np.broadcast_to(scale, (p,)).copy(), degrees)

    def _start(self, family: GaussianFamily, rng: Generator) -> Gaussians:
        k, p = self.n_components, family.X.shape[1]
        weights, means, covariances = self.weights_init, self.means_init, self.precisions_init
        if weights is not None:
            weights = np.array(weights, dtype=np.float64)
            if weights.shape != (k,) or not abs(float(weights.sum()) - 1.0) <= 1e-8:
                raise InvalidData(
                    f"weights_init must be {k} numbers that sum to one, got {weights.size} with a sum of {weights.sum():.10g}."
                )
        if means is not None:
            means = np.array(means, dtype=np.float64)
            if means.shape != (k, p):
                raise InvalidData(f"means_init must have shape ({k}, {p}), got {means.shape}.")
        if covariances is not None:
            covariances = _inverted(covariances, self.covariance_type, k, p)
        if weights is not None and means is not None and covariances is not None:
            return Gaussians(weights, means, covariances, self.covariance_type)
        return with_given(begin(family, k, self.init_params, rng), weights, means, covariances)

    def _densities(self, X: Any, *, shares: bool) -> tuple[Array, Array | None]:
        X = self._new_data(X)
        return gaussian_densities(X, self.weights_ @ self.means_, _stored.stored(self).components(), shares=shares)

    def _draw(self, n_samples: int, rng: Generator) -> tuple[Array, Array]:
        return _stored.draw(self, n_samples, rng)

    def _n_parameters(self) -> int:
        k, p = self.means_.shape
        of_covariances: dict[str, int] = {
            "full": k * p * (p + 1) // 2,
            "tied": p * (p + 1) // 2,
            "diag": k * p,
            "spherical": k,
        }
        return int(of_covariances[self.covariance_type] + k * p + k - 1)


def _inverted(precisions: Any, structure: str, k: int, p: int) -> Array:
    """Return the covariances of given precisions."""
    given = np.array(precisions, dtype=np.float64)
    shape = _stored.shape_of(structure, k, p)
    if given.shape != shape:
        raise InvalidData(
            f"precisions_init must have shape {shape} for covariance_type={structure!r}, got {given.shape}."
        )
    wrong = InvalidData("precisions_init must hold positive numbers, or symmetric positive-definite matrices.")
    if structure in ("diag", "spherical"):
        if not np.all(given > 0):
            raise wrong
        return 1 / given
    try:
        np.linalg.cholesky(given)
    except np.linalg.LinAlgError:
        raise wrong from None
    if not np.allclose(given, np.swapaxes(given, -1, -2)):
        raise wrong
    return np.linalg.inv(given)


def degenerate(found: Gaussians, floor: float, weights: Array) -> list[int]:
    """Return components that hold no rows, or that are flat in some direction but for the floor."""
    if found.structure == "tied":
        flat = np.broadcast_to(np.linalg.eigvalsh(found.covariances).min() <= 2 * floor, len(weights))
    elif found.structure == "full":
        flat = np.linalg.eigvalsh(found.covariances).min(axis=-1) <= 2 * floor
    else:
        flat = found.covariances.reshape(len(weights), -1).min(axis=1) <= 2 * floor
    return np.flatnonzero(flat | (weights <= 0)).tolist()
