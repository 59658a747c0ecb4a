"""Entropy, divergences and mutual information, of tables of probabilities and of distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import weights as read_weights
from qed.distributions._discrete import Bernoulli, Categorical, plogq
from qed.distributions._distribution import Distribution, Unit, simplex, unit_in_nats
from qed.distributions._multivariate import MultivariateGaussian
from qed.distributions._scalar import Gaussian

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

F_DIVERGENCES: dict[str, Callable[[Array], Array]] = {  # f(p/q) with f(1) = 0, convex: the divergence is E_q f(p/q)
    "kl": lambda t: plogq(t, t),
    "reverse-kl": lambda t: -np.log(t),
    "chi-squared": lambda t: (t - 1) ** 2,
    "jensen-shannon": lambda t: 0.5 * (plogq(t, t) - (t + 1) * np.log((t + 1) / 2)),
    "total-variation": lambda t: 0.5 * np.abs(t - 1),
    "hellinger": lambda t: (np.sqrt(t) - 1) ** 2,
}
LIMIT_SLOPES = {  # f(t)/t as t grows: what mass that q misses costs
    "kl": np.inf,
    "reverse-kl": 0.0,
    "chi-squared": np.inf,
    "jensen-shannon": 0.5 * np.log(2),
    "total-variation": 0.5,
    "hellinger": 1.0,
}


def information_content(probability: Any, unit: Unit = "nats") -> Array:
    """Return how surprising an event is: the logarithm of one over its probability.

    Parameters
    ----------
    probability : float or array-like
        In [0, 1].
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    ndarray
        Infinity of an impossible event.
    """
    p = np.asarray(probability, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise InvalidParameter(f"A probability lies in [0, 1], got {p!r:.100}.")
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(p) / unit_in_nats(unit))


def entropy(distribution: Any, unit: Unit = "nats") -> float:
    """Return the entropy: the expected information content.

    Parameters
    ----------
    distribution : array-like or Distribution
        Probabilities that sum to one, of any shape (the joint table of several variables, for instance), or a distribution.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        From 0 to the logarithm of the number of probabilities; of a density it may be negative.
    """
    if isinstance(distribution, Distribution):
        return distribution.entropy(unit)
    p = simplex(distribution, "The probabilities")
    return max(float(-plogq(p, p).sum()), 0.0) / unit_in_nats(unit)


def _joint(joint: Any) -> Array:
    table = simplex(joint, "The joint probabilities")
    if table.ndim != 2:
        raise InvalidParameter(f"A joint table has two axes, those of X and Y, got shape {table.shape}.")
    return table


def joint_table(x: Any, y: Any, sample_weight: Any = None) -> Array:
    """Return the joint frequencies of two columns of categories.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Categories: numbers or strings.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    ndarray of shape (categories of x, categories of y)
        Frequencies that sum to one; categories are sorted.
    """
    rows, columns = (np.unique(np.asarray(one), return_inverse=True)[1].reshape(-1) for one in (x, y))
    if len(rows) != len(columns) or not len(rows):
        raise InvalidData(
            f"Two columns of the same, positive length are needed, got {len(rows)} and {len(columns)} values."
        )
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    s = read_weights(sample_weight, len(rows))
    np.add.at(table, (rows, columns), 1.0 if s is None else s)
    if not table.any():
        raise InvalidData("A joint table needs a row of positive weight.")
    return np.asarray(table / table.sum())


def conditional_entropy(joint: Any, unit: Unit = "nats") -> float:
    """Return H(X | Y), what is not known of X when Y is known: the mean over Y of the entropies of X given it.

    Parameters
    ----------
    joint : array-like of shape (a, b)
        Joint probabilities, rows for X and columns for Y.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        At most the entropy of X; zero when X is a function of Y.
    """
    table = _joint(joint)
    return float(sum(p * entropy(table[:, j] / p, unit) for j, p in enumerate(table.sum(axis=0)) if p > 0))


def mutual_information(joint: Any, unit: Unit = "nats") -> float:
    """Return what two variables tell about each other: the divergence of their joint distribution from independence.

    Parameters
    ----------
    joint : array-like of shape (a, b)
        Joint probabilities.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        Zero when they are independent.
    """
    table = _joint(joint)
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    return kl_divergence(table.reshape(-1), product.reshape(-1), unit)


def information_gain(attribute: Any, label: Any, unit: Unit = "nats", sample_weight: Any = None) -> float:
    """Return how much an attribute lowers the entropy of the label, on average over rows.

    Parameters
    ----------
    attribute, label : array-like of shape (n,)
        Categories.
    unit : {"nats", "bits"}
        Natural or binary logarithms.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        The mutual information of the two columns.
    """
    table = joint_table(label, attribute, sample_weight)
    return max(entropy(table.sum(axis=1), unit) - conditional_entropy(table, unit), 0.0)


def _pair(p: Any, q: Any) -> tuple[Distribution, Distribution]:
    first, second = (one if isinstance(one, Distribution) else Categorical(np.reshape(one, -1)) for one in (p, q))
    if type(first) is not type(second):
        raise InvalidData(
            f"A divergence compares distributions of one kind, got {type(first).__name__} and {type(second).__name__}."
        )
    return first, second


def _tables(p: Any, q: Any) -> tuple[Array, Array]:
    """Read two tables of probabilities of the same categories."""
    first, second = _pair(p, q)
    if not isinstance(first, Bernoulli | Categorical) or not isinstance(second, Bernoulli | Categorical):
        raise InvalidData(
            f"This divergence compares tables of probabilities, got two of {type(first).__name__}. kl_divergence takes them."
        )
    a, b = first.table(), second.table()
    if a.shape != b.shape:
        raise InvalidData(f"The distributions have {len(a)} and {len(b)} categories. Give both the same.")
    return a, b


def kl_divergence(p: Any, q: Any, unit: Unit = "nats") -> float:
    """Return the Kullback-Leibler divergence of p from q: what coding values of p by a code for q costs more.

    Parameters
    ----------
    p, q : array-like or Distribution
        Probabilities of the same categories, or two distributions of the same kind.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        Zero when they are equal; infinity when q rules out what p allows.
    """
    first, second = _pair(p, q)
    return first.divergence(second, unit)


def cross_entropy(p: Any, q: Any, unit: Unit = "nats") -> float:
    """Return the expected length of a code for q when values follow p: the entropy of p plus the divergence from q.

    Parameters
    ----------
    p, q : array-like or Distribution
        Probabilities of the same categories, or two distributions of the same kind.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        The cross-entropy.
    """
    first, second = _pair(p, q)
    return first.entropy(unit) + kl_divergence(first, second, unit)


def f_divergence(p: Any, q: Any, f: str | Callable[[Array], Array]) -> float:
    """Return an f-divergence of two tables of probabilities, in nats where f uses logarithms.

    Parameters
    ----------
    p, q : array-like of shape (k,)
        Probabilities of the same categories.
    f : str or callable
        "kl", "reverse-kl", "chi-squared", "jensen-shannon", "total-variation" or "hellinger"; or a convex function with f(1) = 0,
        for tables in which q is positive.

    Returns
    -------
    float
        The mean of f(p / q) under q.
    """
    a, b = _tables(p, q)
    if isinstance(f, str):
        if f not in F_DIVERGENCES:
            raise InvalidParameter(f"f must be one of {', '.join(F_DIVERGENCES)}, or a function, got {f!r}.")
        function, at_infinity = F_DIVERGENCES[f], LIMIT_SLOPES[f]
    else:
        function, at_infinity = f, np.nan
    missed = float(a[b == 0].sum())
    if missed > 0 and np.isnan(at_infinity):
        raise InvalidData(
            "q rules out a category that p allows, and the limit of f(t)/t is not known. Use a named divergence."
        )
    with np.errstate(divide="ignore"):
        found = float(b[b > 0] @ function(a[b > 0] / b[b > 0]))
    return found + (missed * at_infinity if missed > 0 else 0.0)


def jensen_shannon(p: Any, q: Any, unit: Unit = "nats") -> float:
    """Return the Jensen-Shannon divergence: the mean divergence of two tables from the table midway between them.

    Some texts leave out the mean, and state twice this number.

    Parameters
    ----------
    p, q : array-like of shape (k,)
        Probabilities of the same categories.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        From 0 to one bit.
    """
    a, b = _tables(p, q)
    return 0.5 * (kl_divergence(a, (a + b) / 2, unit) + kl_divergence(b, (a + b) / 2, unit))


def renyi_divergence(p: Any, q: Any, order: float, unit: Unit = "nats") -> float:
    """Return Rényi's divergence, which grows with its order: Kullback-Leibler's at one, the largest log-ratio at infinity.

    Parameters
    ----------
    p, q : array-like or Distribution
        Probabilities of the same categories, or two Gaussians.
    order : float
        At least zero.
    unit : {"nats", "bits"}
        Natural or binary logarithms.

    Returns
    -------
    float
        The divergence.
    """
    if not order >= 0:
        raise InvalidParameter(f"order must be at least 0, got {order!r}.")
    first, second = _pair(p, q)
    if order == 1:
        return kl_divergence(first, second, unit)
    if isinstance(first, Gaussian):
        first, second = (MultivariateGaussian([one.mean], [[one.variance]]) for one in (first, second))  # type: ignore[attr-defined]
    if isinstance(first, MultivariateGaussian):
        return _renyi_gaussians(first, second, order) / unit_in_nats(unit)
    a, b = _tables(first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(a[a > 0]) - np.log(b[a > 0])
        if np.isinf(order):
            return float(ratios.max()) / unit_in_nats(unit)
        terms = np.log(a[a > 0]) + (order - 1) * ratios
    top = float(terms.max())
    found = top if np.isinf(top) else top + float(np.log(np.exp(terms - top).sum()))
    return max(found / (order - 1), 0.0) / unit_in_nats(unit)


def _renyi_gaussians(p: Any, q: Any, order: float) -> float:
    mixed = order * q.covariance + (1 - order) * p.covariance
    signs, log_mixed = np.linalg.slogdet(mixed)
    if np.isinf(order) or signs <= 0 or np.linalg.eigvalsh(mixed)[0] <= 0:
        return 0.0 if np.array_equal(p.covariance, q.covariance) and np.array_equal(p.mean, q.mean) else np.inf
    step = p.mean - q.mean
    distance = 0.5 * order * float(step @ np.linalg.solve(mixed, step))
    logs = log_mixed - (1 - order) * p.log_det - order * q.log_det
    return float(max(distance + 0.5 * logs / (1 - order), 0.0))


def fisher_divergence(p: Any, q: Any) -> float:
    """Return half the expected squared distance between the scores of two Gaussians, under the first.

    Parameters
    ----------
    p, q : Gaussian or MultivariateGaussian
        Two distributions of the same kind.

    Returns
    -------
    float
        Zero when they are equal.
    """
    first, second = _pair(p, q)
    if isinstance(first, Gaussian):
        first, second = (MultivariateGaussian([one.mean], [[one.variance]]) for one in (first, second))  # type: ignore[attr-defined]
    if not isinstance(first, MultivariateGaussian) or not isinstance(second, MultivariateGaussian):
        raise InvalidData("The Fisher divergence has a formula for Gaussians alone.")
    # the difference of scores is linear, (Q - P)(x - m) + Q (m - n), with P and Q the precisions
    change = np.linalg.inv(second.covariance) - np.linalg.inv(first.covariance)
    shift = np.linalg.solve(second.covariance, first.mean - second.mean)
    return 0.5 * float(np.sum((change @ first.factor) ** 2) + shift @ shift)
