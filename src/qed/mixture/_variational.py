r"""Variational posteriors of Gaussian mixtures, and the two halves of a step.

Weights have a Dirichlet prior, or break sticks (a Dirichlet process, cut off after k of them). Given its precision matrix the mean
of a component is normal, and the precision has a Wishart prior. Structures differ in the matrices that are unknown:

=========  =======================================  =====================================
structure  unknown                                  degrees of freedom of its Wishart
=========  =======================================  =====================================
full       a p × p matrix for each component        those stored
tied       one p × p matrix                         k times those stored: the prior counts once a component
diag       p numbers for each component             those stored, of each number
spherical  one number for each component            p times those stored: a row tells of p columns
=========  =======================================  =====================================

In every structure ``covariances`` is the inverse of the expected precision, in scikit-learn's shapes, and the updates of parameters
are scikit-learn's. The bound is that of the model above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._once import cached_property
from qed.mixture._gaussians import LOG_TWO_PI, GaussianExpectation, GaussianFamily, Gaussians
from qed.mixture._kernels import Components, gaussian_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.mixture._gaussians import Structure

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prior:
    """What is believed before any row is seen.

    Attributes
    ----------
    concentration : float
        Of the weights: of each component, or of the second part of each stick.
    breaks_sticks : bool
        Whether weights come from a Dirichlet process; otherwise from a Dirichlet distribution.
    mean : ndarray of shape (p,)
        Of the means.
    mean_precision : float
        How many rows the prior of a mean counts for.
    degrees : float
        How many rows the prior of a covariance counts for.
    covariance : ndarray of shape (p, p), (p,) or ()
        That of those rows times their number, in the shape of one component.
    """

    concentration: float
    breaks_sticks: bool
    mean: Array
    mean_precision: float
    degrees: float
    covariance: Array


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is believed after some rows: parameters of the factors, with names as in `Prior`."""

    concentration: Array  # (k,), or (2, k) for sticks
    means: Array  # (k, p)
    mean_precision: Array  # (k,)
    degrees: Array  # (k,), or () for tied
    covariances: Array  # inverses of the expected precisions
    structure: Structure

    @cached_property
    def log_weights(self) -> Array:
        """Expected logarithms of the weights, (k,)."""
        from scipy.special import digamma  # noqa: PLC0415  (loaded by who needs it)

        c = self.concentration
        if c.ndim == 1:
            return np.asarray(digamma(c) - digamma(c.sum()))
        whole = digamma(c[0] + c[1])
        left = np.cumsum(digamma(c[1]) - whole)
        return np.asarray(digamma(c[0]) - whole + np.concatenate([[0.0], left[:-1]]))

    @property
    def weights(self) -> Array:
        """Expected weights, (k,), with sum one."""
        c = self.concentration
        if c.ndim == 1:
            return np.asarray(c / c.sum())
        total = c[0] + c[1]
        left = np.cumprod(c[1] / total)
        found = c[0] / total * np.concatenate([[1.0], left[:-1]])
        return np.asarray(found / found.sum())  # the stick that is left after the last one is dealt out too

    @cached_property
    def gaussians(self) -> Gaussians:
        """Gaussians with expected weights, means and precisions."""
        return Gaussians(self.weights, self.means, self.covariances, self.structure)

    @property
    def log_determinants(self) -> Array:
        """Logarithms of the determinants of the expected precisions, (k,) or () for tied."""
        whiten = self.gaussians.whiten
        roots = whiten if whiten.ndim == 2 and self.structure != "tied" else np.diagonal(whiten, axis1=-2, axis2=-1)
        return np.asarray(2 * np.log(roots).sum(axis=-1))

    @property
    def true_degrees(self) -> Array:
        """Degrees of freedom of the Wishart distributions."""
        k, p = self.means.shape
        return np.asarray(self.degrees * {"full": 1, "tied": k, "diag": 1, "spherical": p}[self.structure])

    def expected_log_determinants(self) -> Array:
        """Return expected logarithms of the determinants of the precisions, (k,) or ()."""
        p = self.means.shape[1]
        size, copies = (p, 1) if self.structure in ("full", "tied") else (1, p)
        return self.log_determinants + copies * _log_determinant_shift(self.true_degrees, size)

    def components(self, floor: float) -> Components:
        """Return what a pass over rows needs: expected logarithms of weights and densities, of rows blurred by the floor."""
        p, whiten = self.means.shape[1], self.gaussians.whiten
        diagonal = self.structure in ("diag", "spherical")
        traces = np.sum(whiten**2, axis=(-1,) if diagonal else (-2, -1))
        levels = self.log_weights + 0.5 * (
            self.expected_log_determinants() - p * LOG_TWO_PI - p / self.mean_precision - floor * traces
        )
        return Components(self.means, whiten, levels, "diag" if diagonal else self.structure)  # type: ignore[arg-type]

    def divergence(self, prior: Prior) -> float:
        """Return the Kullback-Leibler divergence of the posterior from the prior."""
        return self._of_weights(prior) + self._of_means(prior) + self._of_precisions(prior)

    def _of_weights(self, prior: Prior) -> float:
        c = self.concentration
        if c.ndim == 1:
            return float(_dirichlet_divergence(c, np.full(len(c), prior.concentration)))
        before = np.array([1.0, prior.concentration])
        return float(sum(_dirichlet_divergence(one, before) for one in c.T))

    def _of_means(self, prior: Prior) -> float:
        p, ratio = self.means.shape[1], prior.mean_precision / self.mean_precision
        away, whiten = self.means - prior.mean, self.gaussians.whiten
        z = away * whiten if self.structure in ("diag", "spherical") else (whiten @ away[:, :, None])[:, :, 0]
        squares = prior.mean_precision * np.sum(z**2, axis=1)
        return float(0.5 * np.sum(p * (ratio - 1 - np.log(ratio)) + squares))

    def _of_precisions(self, prior: Prior) -> float:
        """Add up divergences of Wishart distributions, one for each unknown matrix or number."""
        p = self.means.shape[1]
        size, copies = (p, 1) if self.structure in ("full", "tied") else (1, p if self.structure == "diag" else 1)
        after, scale = self.true_degrees, self.true_degrees / self.degrees
        before = prior.degrees * scale
        # of the mean of the prior, in units of the expected precision: trace, and logarithms of determinants
        first = prior.covariance / prior.degrees
        whiten = self.gaussians.whiten
        if self.structure in ("full", "tied"):
            trace = np.sum((whiten @ first) * whiten, axis=(-2, -1))
            first_log = -np.linalg.slogdet(first)[1]
            own_log = self.log_determinants
        else:
            ratios = whiten**2 * first
            trace = ratios.sum(axis=1) / (1 if self.structure == "diag" else p)
            first_log = -np.sum(np.log(np.broadcast_to(first, (copies,))))
            own_log = self.log_determinants / (1 if self.structure == "diag" else p)
        parts = [
            _wishart_divergence(float(a), float(b), size, copies, float(own), float(first_log), float(t))
            for a, b, own, t in np.broadcast(after, before, own_log, trace)
        ]
        return float(sum(parts))


def _log_determinant_shift(degrees: Array, size: int) -> Array:
    """Return what the expected logarithm of a Wishart determinant is above the logarithm of the expected determinant."""
    from scipy.special import digamma  # noqa: PLC0415

    halves = 0.5 * (degrees[..., None] - np.arange(size))
    return np.asarray(digamma(halves).sum(axis=-1) - size * np.log(0.5 * degrees))


def _wishart_divergence(
    after: float, before: float, size: int, copies: int, log_after: float, log_before: float, trace: float
) -> float:
    """Return the divergence of Wishart distributions with given degrees, and logarithms of determinants of their means.

    ``trace`` is that of the inverse of the prior's mean times the mean of the posterior. Sums over ``copies`` of them, which share
    their degrees of freedom, are given.
    """
    from scipy.special import digamma, gammaln  # noqa: PLC0415

    places = np.arange(size)
    gammas = np.sum(gammaln(0.5 * (after - places)) - gammaln(0.5 * (before - places)))
    shift = np.sum(digamma(0.5 * (after - places))) - size * np.log(0.5 * after)
    # each Wishart density about its own mean: determinants enter as a difference, which does not cancel
    sizes = 0.5 * size * (after * np.log(0.5 * after) - before * np.log(0.5 * before))
    constant = sizes - gammas + 0.5 * (after - before) * shift - 0.5 * after * size
    return float(copies * constant + 0.5 * before * (log_before - log_after + trace))


def _dirichlet_divergence(after: Array, before: Array) -> Any:
    from scipy.special import digamma, gammaln  # noqa: PLC0415

    gammas = gammaln(after.sum()) - gammaln(after).sum() - gammaln(before.sum()) + gammaln(before).sum()
    return gammas + np.sum((after - before) * (digamma(after) - digamma(after.sum())))


@dataclass(frozen=True, eq=False)
class VariationalFamily:
    """Rows of Gaussian components, and what was believed of these before."""

    rows: GaussianFamily
    prior: Prior

    def expect(self, parameters: Posterior) -> GaussianExpectation:
        """Find responsibilities, and sum moments by them; the objective is the lower bound of the evidence."""
        rows = self.rows
        sums = gaussian_sums(rows.X, rows.shift, rows.s, parameters.components(rows.floor), "soft")
        bound = sums.likelihood - parameters.divergence(self.prior)
        return GaussianExpectation(sums, parameters.means, parameters.covariances, bound / rows.weight)

    def maximise(self, expected: GaussianExpectation) -> Posterior:
        """Return the best posterior for given responsibilities."""
        n, means, scatter = expected.moments()
        prior, k = self.prior, len(n)
        counted = prior.mean_precision + n
        mean = (prior.mean_precision * prior.mean + n[:, None] * means) / counted[:, None]
        concentration = prior.concentration + n
        if prior.breaks_sticks:
            later = np.concatenate([np.cumsum(n[::-1])[-2::-1], [0.0]])
            concentration = np.stack([1 + n, prior.concentration + later])
        tied = self.rows.structure == "tied"
        degrees = np.asarray(prior.degrees + (n.sum() / k if tied else n))
        covariances = self._covariances(n, means - prior.mean, scatter, degrees)
        return Posterior(concentration, mean, counted, degrees, covariances, self.rows.structure)

    def _covariances(self, n: Array, away: Array, scatter: Array, degrees: Array) -> Array:
        prior, (k, p), floor = self.prior, away.shape, self.rows.floor
        pull = prior.mean_precision * n / (prior.mean_precision + n)
        if self.rows.structure in ("diag", "spherical"):
            each = scatter + floor * n[:, None] + pull[:, None] * away**2  # (k, p)
            total = each if self.rows.structure == "diag" else each.mean(axis=1)
            return np.asarray((prior.covariance + total) / degrees.reshape((-1,) + (1,) * (total.ndim - 1)))
        blur = floor * n[:, None, None] * np.eye(p)
        each = scatter + blur + pull[:, None, None] * (away[:, :, None] * away[:, None, :])
        if self.rows.structure == "tied":
            return np.asarray((prior.covariance + each.sum(axis=0) / k) / degrees)
        return np.asarray((prior.covariance + each) / degrees[:, None, None])

    def displacement(self, before: Posterior, after: Posterior) -> float:
        """Root of the squared changes of expected weights, of whitened means and of whitened covariances."""
        return self.rows.displacement(before.gaussians, after.gaussians)
