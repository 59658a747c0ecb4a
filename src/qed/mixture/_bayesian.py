"""Gaussian mixtures with a prior: the posterior of weights, means and covariances, approximated by factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import Array, InvalidData, Matrix, NonNegative, Positive, Vector, fitted, param
from qed.data import ArraySource
from qed.designs._range import fingerprint, require_range
from qed.mixture import _stored
from qed.mixture._gaussians import GaussianFamily
from qed.mixture._kernels import gaussian_densities
from qed.mixture._mixture import Mixture, best_ascent, keep_ascent, require_as_many_rows
from qed.mixture._starts import expected_at_start
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
from qed.mixture._variational import Posterior, Prior, VariationalFamily

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.mixture._ascent import Ascent

SMALLEST_SHARE = 1e-3  # of the weight of all rows: below it a component explains next to nothing


class BayesianGaussianMixture(Mixture):
    r"""Bayesian Gaussian mixture, fitted by variational inference: weights of components that are not needed shrink towards zero.

    Objective
    ---------
    .. math:: \max_q \frac{1}{\sum_i s_i} \Big( \sum_i s_i \log \sum_k e^{\rho_k(x_i)} -
              \operatorname{KL}\big(q(w, \mu, \Lambda) \,\|\, p(w, \mu, \Lambda)\big) \Big), \qquad
              \rho_k(x) = \mathrm{E}_q \log w_k + \mathrm{E}_q \log N(x \mid \mu_k, \Lambda_k^{-1})

    over posteriors :math:`q(w) \prod_k q(\mu_k, \Lambda_k)`: a lower bound of the logarithm of the evidence, per unit of weight. As
    in `GaussianMixture` each row is blurred by a variance of ``reg_covar``.

    Certificate
    -----------
    AscentCertificate: the bound after each step, none of which lowered it, and what one more step would add.

    Cost
    ----
    That of `GaussianMixture`: O(n k p^2) a step, O(n k p) for "diag" and "spherical".

    See Also
    --------
    GaussianMixture : Maximum likelihood, without a prior.

    Notes
    -----
    Parameters, attributes and updates are scikit-learn's. The bound is the whole one, constants included, of a model that the
    updates belong to; scikit-learn leaves out constants, and uses the expected log-determinant of full covariances for "diag" and
    "spherical" too, where its bound can fall. ``covariance_prior=None`` is the covariance of the blurred rows, larger by
    ``reg_covar`` than scikit-learn's. ``score_samples`` is the logarithm of the sum above, as in scikit-learn: less than the
    logarithm of any density by what is unknown of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import BayesianGaussianMixture
    >>> X = np.concatenate([np.linspace(-6, -4, 40), np.linspace(4, 6, 40)])[:, None]
    >>> model = BayesianGaussianMixture(6, max_iter=500, weight_concentration_prior=1e-3, random_state=0).fit(X)
    >>> model.n_effective_components_
    2
    """

    covariance_type: Structure = STRUCTURE
    reg_covar: NonNegative = REG_COVAR
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = INIT_PARAMS
    weight_concentration_prior_type: Literal["dirichlet_process", "dirichlet_distribution"] = param(
        "dirichlet_process", "Prior of the weights: a Dirichlet process of as many sticks, or a Dirichlet distribution."
    )
    weight_concentration_prior: Positive | None = param(
        None, "Concentration of the weights: small values leave few components; None means 1 / n_components."
    )
    mean_precision_prior: Positive | None = param(None, "How many rows the prior of a mean counts for; None means 1.")
    mean_prior: Vector | None = param(None, "Mean of the means, shape (p,); None for that of the rows.")
    degrees_of_freedom_prior: Positive | None = param(
        None, "How many rows the prior of a covariance counts for, more than p - 1; None means p."
    )
    covariance_prior: Positive | Vector | Matrix | None = param(
        None,
        "Scatter of those rows, in the shape of one component: a matrix, variances, or a variance; None for the covariance of all"
        " rows.",
    )

    means_: Array = MEANS
    covariances_: Array = COVARIANCES
    precisions_: Array = PRECISIONS
    precisions_cholesky_: Array = PRECISION_FACTORS
    weight_concentration_: Array = fitted(
        "Parameters of the posterior of the weights: (k,) of a Dirichlet distribution; (2, k), a pair for each stick.",
        shape="(c,) or (2, c)",
        above=0,
    )
    mean_precision_: Array = fitted(
        "How many rows each mean rests on, its prior included, (k,).", shape="(c,)", above=0
    )
    degrees_of_freedom_: Array | float = fitted(
        "How many rows each covariance rests on, its prior included, (k,); one number for all if tied.",
        shape="(c,)",
        above=0,
    )
    weight_concentration_prior_: float = fitted("Concentration of the prior of the weights.", above=0, answers=False)
    mean_precision_prior_: float = fitted("How many rows the prior of a mean counts for.", above=0, answers=False)
    mean_prior_: Array = fitted("Mean of the means.", shape="(p,)", answers=False)
    degrees_of_freedom_prior_: float = fitted(
        "How many rows the prior of a covariance counts for.", above=0, answers=False
    )
    covariance_prior_: Array | float = fitted("Scatter of those rows.", shape="(p, p) or (p,)", answers=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the posterior of weights, means and covariances.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least as many as components.
        """
        data = self._fit_data(X, None, sample_weight)
        used = data.n_rows if data.weight is None else int(np.count_nonzero(data.weight))
        require_as_many_rows(used, self.n_components)
        seen = fingerprint(data.X, np.empty((data.n_rows, 0)), data.weight)
        require_range(ArraySource(data.X, None, data.weight), seen)
        rows = GaussianFamily(data.X, data.weight, seen.mean, self.covariance_type, float(self.reg_covar))
        prior = self._prior(rows)
        family = VariationalFamily(rows, prior)
        if data.warm:
            begin, starts = (lambda _: self._posterior()), 1
        else:
            begin, starts = (lambda rng: self._start(family, rng)), self.n_init
        run: Ascent[Posterior, Any] = best_ascent(family, begin, starts, self)
        self._store(prior, run.parameters)
        rounding = _stored.rounding(run.parameters.gaussians, run.trace)
        keep_ascent(self, run, "variational lower bound of the evidence", rounding, seen)
        return self

    def _start(self, family: VariationalFamily, rng: Any) -> Posterior:
        return family.maximise(expected_at_start(family.rows, self.n_components, self.init_params, rng))

    def _prior(self, rows: GaussianFamily) -> Prior:
        p, k = rows.X.shape[1], self.n_components
        degrees = float(p if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior)
        if not degrees > p - 1:
            raise InvalidData(
                f"The parameter 'degrees_of_freedom_prior' should be greater than {p - 1}, but got {degrees:.3f}: with fewer the"
                " prior of a covariance is no distribution."
            )
        mean = rows.shift if self.mean_prior is None else np.array(self.mean_prior, dtype=np.float64)
        if mean.shape != (p,):
            raise InvalidData(
                f"The parameter 'means' should have the shape of ({p},), but got {mean.shape}: mean_prior is one number a column."
            )
        concentration = 1 / k if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        precision = 1.0 if self.mean_precision_prior is None else float(self.mean_precision_prior)
        sticks = self.weight_concentration_prior_type == "dirichlet_process"
        covariance = self._covariance_of_rows(rows) if self.covariance_prior is None else self._given_covariance(p)
        return Prior(concentration, sticks, mean, precision, degrees, covariance)

    def _covariance_of_rows(self, rows: GaussianFamily) -> Array:
        """Return the covariance of the rows, blurred, in the shape of one component."""
        if not rows.weight > 1:
            raise InvalidData(
                f"Rows that weigh {rows.weight:.3g} together, such as one sample, have no covariance that could be a prior. Give"
                " covariance_prior, or pass more rows."
            )
        scatter = rows.given(np.ones((rows.X.shape[0], 1)), rows.shift[None]).moments()[2][0]
        found = scatter / (rows.weight - 1)
        if found.ndim == 2:
            found = found + rows.floor * np.eye(len(found))
            good = bool(np.isfinite(found).all() and np.linalg.eigvalsh(found)[0] > 0)
        else:
            found = np.asarray((found if self.covariance_type == "diag" else found.mean()) + rows.floor)
            good = bool(np.all(found > 0))
        if not good:
            raise InvalidData(
                "The covariance of the rows is singular, and cannot be a prior. Leave out columns that are constant or depend on"
                " others, give covariance_prior, or increase reg_covar."
            )
        return np.asarray(found)

    def _given_covariance(self, p: int) -> Array:
        given = np.array(self.covariance_prior, dtype=np.float64)
        shape: tuple[int, ...] = {"diag": (p,), "spherical": ()}.get(self.covariance_type, (p, p))
        if given.shape != shape:
            raise InvalidData(
                f"The parameter '{self.covariance_type} covariance_prior' should have the shape of {shape}, but got {given.shape}."
            )
        wrong = InvalidData(
            "covariance_prior must hold positive numbers, or be a symmetric positive-definite matrix, for"
            f" covariance_type={self.covariance_type!r}."
        )
        if given.ndim < 2:
            if not np.all(given > 0):
                raise wrong
            return given
        if not np.allclose(given, given.T) or not np.linalg.eigvalsh(given)[0] > 0:
            raise wrong
        return given

    def _store(self, prior: Prior, found: Posterior) -> None:
        _stored.store(self, found.gaussians)
        self.weight_concentration_, self.mean_precision_ = found.concentration, found.mean_precision
        self.degrees_of_freedom_ = found.degrees if found.degrees.ndim else float(found.degrees)
        self.weight_concentration_prior_, self.mean_precision_prior_ = prior.concentration, prior.mean_precision
        self.mean_prior_, self.degrees_of_freedom_prior_ = np.array(prior.mean), prior.degrees
        self.covariance_prior_ = prior.covariance if prior.covariance.ndim else float(prior.covariance)

    def _posterior(self) -> Posterior:
        return Posterior(
            self.weight_concentration_,
            self.means_,
            self.mean_precision_,
            np.asarray(self.degrees_of_freedom_),
            self.covariances_,
            self.covariance_type,
        )

    @property
    def n_effective_components_(self) -> int:
        """How many components explain more than a thousandth of the rows."""
        self._check_is_fitted()
        rows = self.mean_precision_ - self.mean_precision_prior_
        return int(np.count_nonzero(rows > SMALLEST_SHARE * rows.sum()))

    def _densities(self, X: Any, *, shares: bool) -> tuple[Array, Array | None]:
        X = self._new_data(X)
        return gaussian_densities(X, self.weights_ @ self.means_, self._posterior().components(0.0), shares=shares)

    def _draw(self, n_samples: int, rng: Generator) -> tuple[Array, Array]:
        return _stored.draw(self, n_samples, rng)
