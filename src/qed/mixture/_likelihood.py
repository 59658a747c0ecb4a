r"""Decomposition of the likelihood of Gaussian mixtures: what a step of EM raises, and its gradient in unconstrained numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.distributions import MultivariateGaussian, kl_divergence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class MixtureParameters(NamedTuple):
    """Weights (k,), means (k, p) and whole covariances (k, p, p) of a Gaussian mixture."""

    weights: Array
    means: Array
    covariances: Array


def mixture_parameters(model: Any) -> MixtureParameters:
    """Return the parameters of a fitted mixture, with whole covariances whatever their structure.

    Parameters
    ----------
    model : GaussianMixture
        Fitted.

    Returns
    -------
    MixtureParameters
        Weights, means and covariances.
    """
    k, p = model.means_.shape
    given, unit = np.asarray(model.covariances_, dtype=np.float64), np.eye(p)
    whole = {
        "full": lambda: given,
        "tied": lambda: np.broadcast_to(given, (k, p, p)),
        "diag": lambda: given[:, :, None] * unit,
        "spherical": lambda: given[:, None, None] * unit,
    }[model.covariance_type]()
    return MixtureParameters(np.array(model.weights_), np.array(model.means_), np.array(whole))


def joint_log_densities(parameters: MixtureParameters, X: Any) -> Array:
    """Return log(w_j N_j(x_i)), shape (n, k)."""
    x = np.asarray(X, dtype=np.float64)
    parts = [
        np.log(weight) + MultivariateGaussian(mean, covariance).log_density(x)
        for weight, mean, covariance in zip(*parameters, strict=True)
    ]
    return np.column_stack(parts)


def _responsibilities(joint: Array) -> tuple[Array, Array]:
    """Return responsibilities, and log-densities of the rows."""
    top = joint.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    return np.exp(joint - total[:, None]), total


def expected_log_likelihood(model: Any, X: Any, responsibilities: Any) -> float:
    """Return Q, the expected log-likelihood of rows and components together, for given responsibilities.

    Parameters
    ----------
    model : GaussianMixture or MixtureParameters
        The mixture whose densities are taken.
    X : array-like of shape (n, p)
        Rows.
    responsibilities : array-like of shape (n, k)
        Probabilities of the components of each row, those of an earlier step for instance.

    Returns
    -------
    float
        The sum over rows and components; the maximisation step of EM finds its maximum.
    """
    parameters = model if isinstance(model, MixtureParameters) else mixture_parameters(model)
    joint, shares = joint_log_densities(parameters, X), np.asarray(responsibilities, dtype=np.float64)
    if shares.shape != joint.shape or np.any(shares < 0) or not np.allclose(shares.sum(axis=1), 1, atol=1e-8):
        raise InvalidData(
            f"responsibilities must have shape {joint.shape}, with rows that sum to one; got shape {shares.shape}."
        )
    return float(np.sum(np.where(shares > 0, shares * joint, 0.0)))


@dataclass(frozen=True)
class LikelihoodDecomposition:
    """Decomposition of the log-likelihood of a mixture: expected log-likelihood, entropy and Kullback-Leibler divergence.

    Attributes
    ----------
    log_likelihood : float
        Of the rows: ``expected - posterior``.
    expected : float
        Q, the expected log-likelihood of rows and components together.
    posterior : float
        The expected logarithm of the responsibilities of the mixture itself.
    divergence : float
        Kullback-Leibler divergence of its responsibilities from the other ones, summed over rows: never negative.
    """

    log_likelihood: float
    expected: float
    posterior: float
    divergence: float


def decompose_likelihood(model: Any, X: Any, before: Any) -> LikelihoodDecomposition:
    """Decompose the log-likelihood of a mixture by the responsibilities of another one, such as that of the EM step before.

    The gain of a step is the gain of ``expected`` plus ``divergence``. Neither is negative for a step of EM.

    Parameters
    ----------
    model : GaussianMixture or MixtureParameters
        The mixture whose likelihood is decomposed.
    X : array-like of shape (n, p)
        Rows.
    before : GaussianMixture or MixtureParameters
        The mixture that the responsibilities are those of.

    Returns
    -------
    LikelihoodDecomposition
        The parts.
    """
    now, then = (one if isinstance(one, MixtureParameters) else mixture_parameters(one) for one in (model, before))
    shares, _ = _responsibilities(joint_log_densities(then, X))
    joint = joint_log_densities(now, X)
    own, total = _responsibilities(joint)
    logs = joint - total[:, None]
    posterior = float(np.sum(np.where(shares > 0, shares * logs, 0.0)))
    divergence = sum(kl_divergence(p / p.sum(), q / q.sum()) for p, q in zip(shares, own, strict=True))
    return LikelihoodDecomposition(
        float(total.sum()), expected_log_likelihood(now, X, shares), posterior, float(divergence)
    )


class MixtureLikelihood:
    r"""The mean log-likelihood of a Gaussian mixture as a function of unconstrained numbers.

    Weights are the softmax of k numbers, and covariances are L L' with lower triangular L whose diagonal is an exponential: every
    vector is a mixture, so that any method for smooth functions can climb. EM needs no step size and is usually faster.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    n_components : int
        Number of components.
    """

    def __init__(self, X: Any, n_components: int) -> None:
        self.X = np.asarray(X, dtype=np.float64)
        if self.X.ndim != 2 or not len(self.X) or not np.isfinite(self.X).all():
            raise InvalidData(f"MixtureLikelihood takes a table of finite numbers, got shape {self.X.shape}.")
        if n_components < 1:
            raise InvalidParameter(f"n_components must be at least 1, got {n_components}.")
        self.n_components = int(n_components)
        self._lower = np.tril_indices(self.X.shape[1])
        self._diagonal = self._lower[0] == self._lower[1]

    @property
    def size(self) -> int:
        """How many numbers a mixture has."""
        p = self.X.shape[1]
        return int(self.n_components * (1 + p + p * (p + 1) // 2))

    def encode(self, model: Any) -> Array:
        """Return a mixture as a vector.

        Parameters
        ----------
        model : GaussianMixture or MixtureParameters
            With positive weights.

        Returns
        -------
        ndarray of shape (size,)
            Logarithms of weights, means, and Cholesky factors with logarithms on the diagonal.
        """
        given = model if isinstance(model, MixtureParameters) else mixture_parameters(model)
        entries = np.linalg.cholesky(given.covariances)[:, self._lower[0], self._lower[1]]
        entries[:, self._diagonal] = np.log(entries[:, self._diagonal])
        return np.concatenate([np.log(given.weights), given.means.ravel(), entries.ravel()])

    def decode(self, vector: Any) -> MixtureParameters:
        """Return the mixture of a vector: weights sum to one and covariances are positive definite, whatever it holds.

        Parameters
        ----------
        vector : array-like of shape (size,)
            Any numbers.

        Returns
        -------
        MixtureParameters
            Weights, means and covariances.
        """
        logits, means, factors = self._parts(vector)
        return MixtureParameters(_softmax(logits), means, factors @ np.swapaxes(factors, -1, -2))

    def _parts(self, vector: Any) -> tuple[Array, Array, Array]:
        v, k, p = np.asarray(vector, dtype=np.float64), self.n_components, self.X.shape[1]
        if v.shape != (self.size,):
            raise InvalidData(
                f"A mixture of {k} components in {p} columns has {self.size} numbers, got shape {v.shape}."
            )
        entries = v[k + k * p :].reshape(k, -1).copy()
        entries[:, self._diagonal] = np.exp(entries[:, self._diagonal])
        factors = np.zeros((k, p, p))
        factors[:, self._lower[0], self._lower[1]] = entries
        return v[:k], v[k : k + k * p].reshape(k, p), factors

    def value(self, vector: Any) -> float:
        """Return the mean log-density of the rows.

        Parameters
        ----------
        vector : array-like of shape (size,)
            A mixture.

        Returns
        -------
        float
            Larger is better.
        """
        return float(_responsibilities(joint_log_densities(self.decode(vector), self.X))[1].mean())

    def gradient(self, vector: Any) -> Array:
        """Return the gradient, which is that of Q at the same mixture: responsibilities are held fixed.

        Parameters
        ----------
        vector : array-like of shape (size,)
            A mixture.

        Returns
        -------
        ndarray of shape (size,)
            The gradient of `value`.
        """
        logits, means, factors = self._parts(vector)
        shares, _ = _responsibilities(joint_log_densities(self.decode(vector), self.X))
        n = len(self.X)
        slopes: list[Array] = [shares.sum(axis=0) / n - _softmax(logits)]
        of_means, of_factors = np.empty_like(means), np.empty((len(means), len(self._diagonal)))
        for j, (mean, lower) in enumerate(zip(means, factors, strict=True)):
            white = np.linalg.solve(lower, (self.X - mean).T)  # (p, n)
            back = np.linalg.solve(lower.T, white * shares[:, j])
            of_means[j] = back.sum(axis=1) / n
            matrix = back @ white.T / n - shares[:, j].sum() / n * np.linalg.inv(lower).T
            entries = matrix[self._lower]
            entries[self._diagonal] *= np.diagonal(lower)
            of_factors[j] = entries
        return np.concatenate([slopes[0], of_means.ravel(), of_factors.ravel()])


def _softmax(logits: Array) -> Array:
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum())
