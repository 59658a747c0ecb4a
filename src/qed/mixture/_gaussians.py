"""Gaussian components: parameters, the structures of their covariances, and the two halves of a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidData
from qed.core._once import cached_property
from qed.data._kernels import UNIT
from qed.mixture._kernels import Components, Sums, gaussian_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.mixture._kernels import Kind

    Array = NDArray[np.float64]
    Structure = Literal["full", "tied", "diag", "spherical"]

LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Weights, means and covariances of k components in p columns.

    ``covariances`` has scikit-learn's shapes: (k, p, p), (p, p), (k, p) or (k,), by structure.
    """

    weights: Array
    means: Array
    covariances: Array
    structure: Structure

    @cached_property
    def whiten(self) -> Array:
        """Inverses of the lower Cholesky factors, (k, p, p) or (p, p); of the standard deviations, (k, p)."""
        if self.structure in ("diag", "spherical"):
            variances = self.covariances if self.structure == "diag" else self.covariances[:, None]
            if not np.all(variances > 0) or not np.isfinite(variances).all():
                raise collapsed()
            return np.broadcast_to(1 / np.sqrt(variances), self.means.shape).copy()
        try:
            if not np.isfinite(self.covariances).all():
                raise collapsed()
            factors = np.linalg.cholesky(self.covariances)
            return np.tril(np.linalg.inv(factors))
        except np.linalg.LinAlgError:
            raise collapsed() from None

    def components(self, floor: float = 0.0) -> Components:
        """Return what a pass over rows needs; with a floor, half of it times the trace of each precision is taken off."""
        p = self.means.shape[1]
        diagonal = self.structure in ("diag", "spherical")
        roots = self.whiten if diagonal else np.diagonal(self.whiten, axis1=-2, axis2=-1)
        axes = (-1,) if diagonal else (-2, -1)
        fixed = np.log(roots).sum(axis=-1) - 0.5 * p * LOG_TWO_PI - 0.5 * floor * np.sum(self.whiten**2, axis=axes)
        with np.errstate(divide="ignore"):  # a component that no row belongs to
            levels = np.log(self.weights) + fixed
        return Components(self.means, self.whiten, levels, "diag" if diagonal else self.structure)  # type: ignore[arg-type]

    @property
    def condition(self) -> float:
        """Bound on the condition numbers of the Cholesky factors, columns in units of their deviations."""
        if self.structure in ("diag", "spherical"):
            return 1.0
        deviations = np.sqrt(np.diagonal(self.covariances, axis1=-2, axis2=-1))
        factors = np.linalg.norm(np.linalg.inv(self.whiten) / deviations[..., :, None], axis=(-2, -1))
        return float(np.max(factors * np.linalg.norm(self.whiten * deviations[..., None, :], axis=(-2, -1))))


def collapsed() -> InvalidData:
    """Return the error of components whose covariance is singular, or cannot be told from one that is."""
    return InvalidData(
        "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance caused by"
        " singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale the input data."
    )


@dataclass(frozen=True, eq=False)
class CovariancePrior:
    """An inverse-Wishart prior of every covariance: its scale, as a diagonal, and its degrees of freedom."""

    scale: Array  # (p,)
    degrees: float

    @property
    def weight(self) -> float:
        """How many rows the prior counts for in the divisor of a covariance."""
        return self.degrees + len(self.scale) + 1

    def log_density(self, gaussians: Gaussians) -> float:
        """Return the logarithm of the prior density of the covariances, constants left out."""
        whiten, p = gaussians.whiten, len(self.scale)
        if gaussians.structure in ("diag", "spherical"):
            logs, traces = np.log(whiten).sum(axis=-1), whiten**2 @ self.scale
        else:
            logs = np.log(np.diagonal(whiten, axis1=-2, axis2=-1)).sum(axis=-1)
            traces = np.sum(whiten**2 @ self.scale, axis=-1)
        return float(np.sum((self.degrees + p + 1) * logs - 0.5 * traces))


@dataclass(frozen=True, eq=False)
class GaussianExpectation:
    """Moments of one pass, about the means that responsibilities were found with."""

    sums: Sums
    means: Array
    covariances: Array  # of those means; a component that no row belongs to keeps its own
    objective: float

    def moments(self) -> tuple[Array, Array, Array]:
        """Return weights, means, and scatters about them: (k, p, p), or (k, p) of components without correlations."""
        n = self.sums.weights
        step = self.sums.firsts / np.where(n > 0, n, 1.0)[:, None]
        if self.sums.squares.ndim == 2:
            scatter = np.maximum(self.sums.squares - n[:, None] * step**2, 0.0)
        else:  # symmetric to the last bit
            scatter = self.sums.squares - n[:, None, None] * (step[:, :, None] * step[:, None, :])
        return n, self.means + step, scatter


@dataclass(frozen=True, eq=False)
class GaussianFamily:
    """Rows, and what is asked of the covariances.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Rows.
    s : ndarray of shape (n,) or None
        Weights.
    shift : ndarray of shape (p,)
        The mean of the rows.
    structure : str
        Of the covariances.
    floor : float
        Variance that every row is blurred by, so that no covariance is less.
    prior : CovariancePrior or None
        Of the covariances.
    kind : {"soft", "hard"}
        Whether a row belongs to all components in part, or to the most probable one.
    """

    X: Any
    s: Array | None
    shift: Array
    structure: Structure
    floor: float
    prior: CovariancePrior | None = None
    kind: Kind = "soft"

    @cached_property
    def weight(self) -> float:
        """Sum of the weights of the rows."""
        return float(self.X.shape[0]) if self.s is None else float(np.sum(self.s))

    def expect(self, parameters: Gaussians) -> GaussianExpectation:
        """Find responsibilities, and sum moments by them."""
        sums = gaussian_sums(self.X, self.shift, self.s, parameters.components(self.floor), self.kind)
        objective = sums.likelihood + self._log_prior(parameters)
        return GaussianExpectation(sums, parameters.means, parameters.covariances, objective / self.weight)

    def expected_joint(self, expected: GaussianExpectation, parameters: Gaussians) -> float:
        """Return the expected log-likelihood of rows and components together, by moments of responsibilities."""
        sums, step = expected.sums, parameters.means - expected.means
        used, whiten = sums.weights > 0, parameters.whiten
        if sums.squares.ndim == 2:
            about = sums.squares - 2 * sums.firsts * step + sums.weights[:, None] * step**2
            squares = np.sum(whiten**2 * about, axis=1)
        else:
            cross = sums.firsts[:, :, None] * step[:, None, :]
            outer = sums.weights[:, None, None] * step[:, :, None] * step[:, None, :]
            about = sums.squares - cross - np.swapaxes(cross, -1, -2) + outer
            squares = np.sum((whiten @ about) * whiten, axis=(-2, -1))
        levels = parameters.components(self.floor).levels
        total = float(sums.weights[used] @ levels[used] - 0.5 * squares[used].sum())
        return (total + self._log_prior(parameters)) / self.weight

    def log_likelihood(self, expected: GaussianExpectation, parameters: Gaussians) -> float:
        """Return that of the rows alone: the objective, and one more pass where rows belong to one component each."""
        soft = self.kind == "soft"
        return expected.objective if soft else replace(self, kind="soft").expect(parameters).objective

    def _log_prior(self, parameters: Gaussians) -> float:
        return 0.0 if self.prior is None else self.prior.log_density(parameters)

    def given(self, shares: Array, about: Array) -> GaussianExpectation:
        """Sum moments by given responsibilities."""
        k, p = about.shape
        shape: Any = "diag" if self.structure in ("diag", "spherical") else "tied"
        unit = np.ones((k, p)) if shape == "diag" else np.eye(p)
        sums = gaussian_sums(self.X, self.shift, self.s, Components(about, unit, np.zeros(k), shape), "given", shares)
        return GaussianExpectation(sums, about, self._identity(k), -np.inf)

    def _identity(self, k: int) -> Array:
        p = self.X.shape[1]
        return {
            "full": np.broadcast_to(np.eye(p), (k, p, p)),
            "tied": np.eye(p),
            "diag": np.ones((k, p)),
            "spherical": np.ones(k),
        }[self.structure]

    def maximise(self, expected: GaussianExpectation) -> Gaussians:
        """Return weighted means and covariances."""
        n, means, scatter = expected.moments()
        used, safe = n > 0, np.where(n > 0, n, 1.0)
        covariances = self._covariances(scatter, n, safe)
        if self.structure != "tied":
            shape = (-1,) + (1,) * (covariances.ndim - 1)
            covariances = np.where(used.reshape(shape), covariances, expected.covariances)
        return Gaussians(n / n.sum(), means, covariances, self.structure)

    def _covariances(self, scatter: Array, n: Array, safe: Array) -> Array:
        """Divide scatters by weights; rows blurred by the floor, and those that a prior stands for, are among them."""
        extra, scale = 0.0, np.zeros(self.X.shape[1])
        if self.prior is not None:
            extra, scale = self.prior.weight, self.prior.scale
        if self.structure == "tied":
            total = float(n.sum())
            tied: Array = (scatter.sum(axis=0) + np.diag(scale + total * self.floor)) / (total + extra)
            return tied
        blurred: Array = scale + self.floor * safe[:, None]  # (k, p)
        if self.structure == "full":
            full: Array = (scatter + blurred[:, :, None] * np.eye(len(scale))) / (safe + extra)[:, None, None]
            return full
        variances: Array = (scatter + blurred) / (safe + extra)[:, None]
        return variances if self.structure == "diag" else np.asarray(variances.mean(axis=1))

    def displacement(self, before: Gaussians, after: Gaussians) -> float:
        """Root of the squared changes of weights, of whitened means and of whitened covariances."""
        w = np.maximum(before.weights, np.finfo(float).tiny)
        weights = np.sum((after.weights - before.weights) ** 2 / w)
        step = after.means - before.means
        if self.structure in ("diag", "spherical"):
            z = step * before.whiten
            change = (
                after.covariances if self.structure == "diag" else after.covariances[:, None]
            ) * before.whiten**2 - 1
            spread = np.sum(change**2, axis=-1)
        else:
            z = (before.whiten @ step[:, :, None])[:, :, 0]
            inner = before.whiten @ after.covariances @ np.swapaxes(before.whiten, -1, -2)
            spread = np.sum((inner - np.eye(step.shape[1])) ** 2, axis=(-2, -1))
        moved = float(np.sqrt(weights + before.weights @ np.sum(z**2, axis=1) + 0.5 * np.sum(before.weights * spread)))
        # what sums of rounded numbers move by, most in light and in flat components, is no move
        flat = 64 * (step.shape[1] + 8) * UNIT * before.condition**2
        noise = 1e-9 + 8 * UNIT * float(np.sqrt(np.sum(1 / w))) + flat
        return moved if moved > 4 * noise else 0.0
