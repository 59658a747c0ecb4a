"""Densities that are sums of Gaussians, fitted by expectation-maximisation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample
from benchmarks.problems.groundwork import blobs

if TYPE_CHECKING:
    from collections.abc import Callable

FLOOR = 1e-6  # the default of reg_covar


def start(X: Any, k: int) -> dict[str, Any]:
    """The first rows as means, equal weights, and unit covariances."""
    p = X.shape[1]
    return {"means_init": X[:k], "weights_init": np.full(k, 1 / k), "precisions_init": np.stack([np.eye(p)] * k)}


def steps(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Minus the log-densities of some rows after a number of steps."""
    mixture = model_of(library, "mixture", "GaussianMixture")

    def run(X: Any, _: Any) -> Any:
        model = mixture(**params, **start(X, params["n_components"]), tol=0.0, reg_covar=FLOOR)
        return -model.fit(X).score_samples(X[sample(len(X))])

    return run


def plain_steps(data: Data, params: dict[str, Any]) -> Any:
    """The same from the formulas, component by component."""
    X, k = data.X, params["n_components"]
    given = start(X, k)
    weights, means, covariances = given["weights_init"], given["means_init"], given["precisions_init"]
    for _ in range(params["max_iter"]):
        logs = np.log(weights) + joint(X, means, covariances)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        n = shares.sum(axis=0)
        weights, means = n / n.sum(), shares.T @ X / n[:, None]
        covariances = np.stack([
            (shares[:, j, None] * (X - means[j])).T @ (X - means[j]) / n[j] + FLOOR * np.eye(X.shape[1]) for j in range(k)
        ])  # fmt: skip
    return -np.logaddexp.reduce(np.log(weights) + joint(X[sample(len(X))], means, covariances), axis=1)


def joint(X: Any, means: Any, covariances: Any) -> Any:
    """Log-densities of components, (n, k)."""
    out = np.empty((len(X), len(means)))
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        factor = np.linalg.cholesky(covariance)
        squares = np.sum(np.linalg.solve(factor, (X - mean).T) ** 2, axis=0)
        out[:, j] = -0.5 * (squares + len(mean) * np.log(2 * np.pi)) - np.log(np.diag(factor)).sum()
    return out


def row(name: str, title: str, shape: tuple[int, int], k: int, most: int) -> Problem:
    params = {"n_components": k, "max_iter": most}
    return Problem(
        name, title, shape, partial(blobs, k=k), "GaussianMixture", params=params, measure="workflow", run=steps,
        expected=plain_steps,
    )  # fmt: skip


def variational(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Minus the scores of some rows, at rest."""
    mixture = model_of(library, "mixture", "BayesianGaussianMixture")

    def run(X: Any, _: Any) -> Any:
        return -mixture(**params).fit(X).score_samples(X[sample(len(X))])

    return run


def posterior_of_one(data: Data, params: dict[str, Any]) -> Any:  # noqa: ARG001  the form of an expectation
    """The same for one component, whose posterior is exact: a normal-Wishart distribution with the prior of the defaults."""
    from scipy.special import digamma

    X = data.X
    n, p = X.shape
    prior = np.atleast_2d(np.cov(X.T))
    degrees, counted = p + n, 1.0 + n
    scatter = prior + (n - 1) * prior + n * FLOOR * np.eye(p)
    factor = np.linalg.cholesky(scatter / degrees)
    logs = digamma(0.5 * (degrees - np.arange(p))).sum() - p * np.log(0.5 * degrees) - 2 * np.log(np.diag(factor)).sum()
    squares = np.sum(np.linalg.solve(factor, (X[sample(n)] - X.mean(axis=0)).T) ** 2, axis=0)
    # one stick: a of it is broken off, b is left
    weight = digamma(1.0 + n) - digamma(2.0 + n)
    return -(weight + 0.5 * (logs - p * np.log(2 * np.pi) - p / counted - squares))


def variational_row(name: str, title: str, shape: tuple[int, int]) -> Problem:
    params = {"n_components": 1, "max_iter": 5}
    return Problem(
        name, title, shape, partial(blobs, k=3), "BayesianGaussianMixture", params=params, measure="workflow",
        run=variational, expected=posterior_of_one,
    )  # fmt: skip


def apart(rng: np.random.Generator, n: int, p: int, *, k: int) -> Data:
    """Groups so far from each other that every start finds them."""
    homes = 8.0 * rng.standard_normal((k, p))
    return Data(homes[rng.integers(0, k, n)] + rng.standard_normal((n, p)), np.zeros(n))


def variational_steps(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Minus the scores of some rows, at rest; the order of components changes nothing."""
    mixture = model_of(library, "mixture", "BayesianGaussianMixture")
    kind = "dirichlet_distribution"

    def run(X: Any, _: Any) -> Any:
        prior = np.eye(X.shape[1])
        model = mixture(**params, weight_concentration_prior_type=kind, covariance_prior=prior, random_state=0)
        return -model.fit(X).score_samples(X[sample(len(X))])

    return run


def updates(data: Data, params: dict[str, Any]) -> Any:
    """The same by the updates of a normal-Wishart posterior, with responsibilities of the nearest groups to begin with."""
    from scipy.special import digamma
    from sklearn.cluster import KMeans

    X, k = data.X, params["n_components"]
    n, p = X.shape
    shares = np.eye(k)[KMeans(k, n_init=5, random_state=0).fit_predict(X)]
    for _ in range(params["max_iter"] + 1):
        counts = shares.sum(axis=0)
        means = shares.T @ X / counts[:, None]
        away, counted, degrees = means - X.mean(axis=0), 1.0 + counts, p + counts
        located = X.mean(axis=0) + away * (counts / counted)[:, None]
        logs = []
        for j in range(k):
            scatter = (
                np.eye(p) + (shares[:, j, None] * (X - means[j])).T @ (X - means[j]) + counts[j] * FLOOR * np.eye(p)
            )
            factor = np.linalg.cholesky((scatter + counts[j] / counted[j] * np.outer(away[j], away[j])) / degrees[j])
            log_det = digamma(0.5 * (degrees[j] - np.arange(p))).sum() - p * np.log(0.5 * degrees[j])
            log_det -= 2 * np.log(np.diag(factor)).sum()
            weight = digamma(1 / k + counts[j]) - digamma(1 + n)
            squares = np.sum(np.linalg.solve(factor, (X - located[j]).T) ** 2, axis=0)
            logs.append(weight + 0.5 * (log_det - p * np.log(2 * np.pi) - p / counted[j] - squares))
        joint_logs = np.stack(logs, axis=1)
        total = np.logaddexp.reduce(joint_logs, axis=1)
        shares = np.exp(joint_logs - total[:, None])
    return -total[sample(n)]


def several_row(name: str, title: str, shape: tuple[int, int], k: int, most: int) -> Problem:
    params = {"n_components": k, "max_iter": most}
    return Problem(
        name, title, shape, partial(apart, k=k), "BayesianGaussianMixture", params=params, measure="workflow",
        run=variational_steps, expected=updates,
    )  # fmt: skip


PROBLEMS = (
    several_row("bayesian-mixture-five-small", "BayesianGaussianMixture 1000×10, 5 components", (1_000, 10), 5, 10),
    several_row("bayesian-mixture-five", "BayesianGaussianMixture 200000×20, 5 components", (200_000, 20), 5, 10),
    variational_row("bayesian-mixture-small", "BayesianGaussianMixture 1000×10, 1 component", (1_000, 10)),
    variational_row("bayesian-mixture-tall", "BayesianGaussianMixture 200000×20, 1 component", (200_000, 20)),
    row("mixture-small", "GaussianMixture 1000×10, 3 components, 10 steps", (1_000, 10), 3, 10),
    row("mixture-tall", "GaussianMixture 200000×20, 10 components, 20 steps", (200_000, 20), 10, 20),
)
