"""Distributions of counts and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._memory import require_memory
from qed.distributions._distribution import Distribution, counts, number, simplex

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_TERMS = (
    1000  # rate of a Poisson distribution from which on four terms of a series give its entropy to the last digits
)


def plogq(p: Array, q: Array) -> Array:
    """Return p log q, with 0 log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(q), 0.0)


def drawn_counts(rates: Array, rng: Generator) -> Array:
    """Draw Poisson counts; from a rate of 2^53 on, float64 holds no single counts."""
    if np.any(rates >= 2.0**53):
        raise InvalidData(f"Counts at a rate of {rates.max():.3g} are too large to draw one by one.")
    return rng.poisson(rates).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Bernoulli(Distribution):
    """A coin: 1 with a probability, otherwise 0.

    Parameters
    ----------
    probability : float
        Of a one.
    """

    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "probability", number(self.probability, "Bernoulli.probability", 0, 1, open_ends=False)
        )

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.probability

    @property
    def variance(self) -> float:
        """Variance."""
        return self.probability * (1 - self.probability)

    @property
    def mode(self) -> float:
        """The more probable value."""
        return float(self.probability > 0.5)

    @property
    def fisher_information(self) -> float:
        """Information of one value about the probability; its inverse is the limit of n times the variance of the estimate."""
        return 1 / self.variance if self.variance > 0 else float("inf")

    def table(self) -> Array:
        """Return the probabilities of 0 and 1.

        Returns
        -------
        ndarray of shape (2,)
            Probabilities.
        """
        return np.array([1 - self.probability, self.probability])

    def _log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.select([x == 1, x == 0], [np.log(self.probability), np.log1p(-self.probability)], -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return (rng.random(n) < self.probability).astype(np.float64)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        if not np.isin(x, (0, 1)).all():
            raise InvalidData(f"Bernoulli.fit takes zeros and ones, got {x[~np.isin(x, (0, 1))][0]:g}.")
        return cls(float(s @ x / s.sum()))

    def _entropy(self) -> float:
        return float(-plogq(self.table(), self.table()).sum())

    def _divergence(self, other: Any) -> float:
        return Categorical(self.table()).divergence(Categorical(other.table()))


@dataclass(frozen=True, eq=False)
class Categorical(Distribution):
    """One of k categories, 0 to k-1: a single draw of a multinomial distribution.

    Parameters
    ----------
    probabilities : array-like of shape (k,)
        Of the categories; they sum to one.
    """

    probabilities: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", simplex(self.probabilities, "Categorical.probabilities"))

    @property
    def mean(self) -> Array:
        """Expectation of the indicator vector: the probabilities."""
        return np.array(self.probabilities)

    @property
    def variance(self) -> Array:
        """Covariance of the indicator vector."""
        return np.diag(self.probabilities) - np.outer(self.probabilities, self.probabilities)

    @property
    def mode(self) -> int:
        """The most probable category."""
        return int(np.argmax(self.probabilities))

    def table(self) -> Array:
        """Return the probabilities.

        Returns
        -------
        ndarray of shape (k,)
            Probabilities.
        """
        return np.array(self.probabilities)

    def _log_density(self, x: Array) -> Array:
        k = len(self.probabilities)
        known = (x >= 0) & (x < k) & (x == np.floor(x))
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        return np.where(known, logs[np.where(known, x, 0).astype(np.intp)], -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.choice(len(self.probabilities), n, p=self.probabilities).astype(np.float64)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        most = float(counts(x, "Categorical.fit").max())
        require_memory(
            32 * int(most + 1), f"Probabilities of {most + 1:.3g} categories", "Number the categories from 0 on."
        )
        return cls(np.bincount(x.astype(np.intp), s) / s.sum())

    def _entropy(self) -> float:
        return float(-plogq(self.probabilities, self.probabilities).sum())

    def _divergence(self, other: Any) -> float:
        p, q = self.probabilities, other.probabilities
        if p.shape != q.shape:
            raise InvalidData(f"The distributions have {len(p)} and {len(q)} categories. Give both the same.")
        return float(max(np.sum(plogq(p, p) - plogq(p, q)), 0.0))


@dataclass(frozen=True, eq=False)
class Multinomial(Distribution):
    """Counts of k categories in a number of independent draws.

    Parameters
    ----------
    trials : int
        Number of draws.
    probabilities : array-like of shape (k,)
        Of the categories.
    """

    trials: int
    probabilities: Any
    event_ndim = 1

    def __post_init__(self) -> None:
        trials = number(self.trials, "Multinomial.trials", 0, np.inf, open_ends=False)
        if trials != int(trials):
            raise InvalidParameter(f"Multinomial.trials must be a whole number, got {trials:g}.")
        object.__setattr__(self, "trials", int(trials))
        object.__setattr__(self, "probabilities", simplex(self.probabilities, "Multinomial.probabilities"))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return (len(self.probabilities),)

    @property
    def mean(self) -> Array:
        """Expected counts."""
        return np.asarray(self.trials * self.probabilities)

    @property
    def variance(self) -> Array:
        """Covariance of the counts."""
        return np.asarray(self.trials * Categorical(self.probabilities).variance)

    def _log_density(self, x: Array) -> Array:
        from scipy.special import gammaln, xlogy  # noqa: PLC0415  (SciPy costs a fifth of a second)

        valid = np.all((x >= 0) & (x == np.floor(x)), axis=-1) & (x.sum(axis=-1) == self.trials)
        x = np.where(valid[..., None], x, 0.0)
        logs = gammaln(self.trials + 1) - gammaln(x + 1).sum(axis=-1) + xlogy(x, self.probabilities).sum(axis=-1)
        return np.where(valid, logs, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return rng.multinomial(self.trials, self.probabilities, n).astype(np.float64)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        totals = counts(x, "Multinomial.fit").sum(axis=1)
        if not np.all(totals == totals[0]) or totals[0] == 0:
            raise InvalidData(
                "Multinomial.fit takes rows of counts that have the same positive sum, the number of trials."
            )
        return cls(int(totals[0]), s @ x / (s @ totals))


@dataclass(frozen=True, eq=False)
class Poisson(Distribution):
    """The number of events, where events are independent and come at a constant rate.

    Parameters
    ----------
    rate : float
        Expected number of events.
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", number(self.rate, "Poisson.rate", 0, np.inf, open_ends=False))

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.rate

    @property
    def variance(self) -> float:
        """Variance, which equals the mean."""
        return self.rate

    @property
    def mode(self) -> float:
        """The most probable number; the larger one where two are."""
        return float(np.floor(self.rate))

    @property
    def fisher_information(self) -> float:
        """Information of one value about the rate."""
        return 1 / self.rate if self.rate > 0 else float("inf")

    def _log_density(self, x: Array) -> Array:
        from scipy.special import gammaln, xlogy  # noqa: PLC0415

        valid = (x >= 0) & (x == np.floor(x))
        x = np.where(valid, x, 0.0)
        return np.where(valid, xlogy(x, self.rate) - self.rate - gammaln(x + 1), -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return drawn_counts(np.full(n, self.rate), rng)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        return cls(float(s @ counts(x, "Poisson.fit") / s.sum()))

    def _entropy(self) -> float:
        r = self.rate
        if r > MOST_TERMS:  # Stirling's series; the next term is of the size of 1 / r^4
            return float(
                0.5 * (np.log(2 * np.pi) + 1 + np.log(r)) - 1 / (12 * r) - 1 / (24 * r * r) - 19 / (360 * r * r * r)
            )
        last = r + 20 * np.sqrt(r) + 40  # Chernoff: less than 1e-17 of the probability lies beyond
        logs = self._log_density(np.arange(np.ceil(last)))
        return float(-np.exp(logs) @ np.where(np.isfinite(logs), logs, 0.0))

    def _divergence(self, other: Any) -> float:
        if self.rate == 0 or other.rate == 0:
            return other.rate if self.rate == 0 else float("inf")
        return float(self.rate * np.log(self.rate / other.rate) + other.rate - self.rate)


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Distribution):
    """A Poisson count whose rate is gamma distributed: the predictive distribution of `GammaPoisson`.

    Parameters
    ----------
    shape, rate : float
        Of the gamma distribution.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", number(self.shape, "NegativeBinomial.shape", 0))
        object.__setattr__(self, "rate", number(self.rate, "NegativeBinomial.rate", 0))

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.shape / self.rate

    @property
    def variance(self) -> float:
        """Variance: that of a Poisson distribution, and that of the rate."""
        return self.mean + self.shape / self.rate**2

    def _log_density(self, x: Array) -> Array:
        from scipy.special import gammaln  # noqa: PLC0415

        valid = (x >= 0) & (x == np.floor(x))
        x = np.where(valid, x, 0.0)
        logs = gammaln(self.shape + x) - gammaln(self.shape) - gammaln(x + 1)
        logs = logs - self.shape * np.log1p(1 / self.rate) - x * np.log1p(self.rate)
        return np.where(valid, logs, -np.inf)

    def _sample(self, n: int, rng: Generator) -> Array:
        return drawn_counts(rng.gamma(self.shape, 1 / self.rate, n), rng)

    @classmethod
    def _fit(cls, x: Array, s: Array) -> Self:  # noqa: ARG003
        raise InvalidData(
            "NegativeBinomial arises from a gamma prior of a Poisson rate; fit that pair, GammaPoisson, instead."
        )
