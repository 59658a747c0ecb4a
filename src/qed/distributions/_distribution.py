"""What every distribution can do, and how its numbers are read."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator
from qed.core._posterior import whole_number
from qed.core._targets import weights as read_weights

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Unit = Literal["nats", "bits"]
LOG_TWO_PI = float(np.log(2 * np.pi))
SUM_TO_ONE = 1e-8  # how far probabilities may be from a sum of one: they are divided by it


class Distribution(abc.ABC):
    """A probability distribution.

    Values of a scalar distribution may have any shape. Those of a vector or matrix distribution have it in their last axis or axes.
    """

    event_ndim = 0  # axes of one value: none of a number, one of a vector, two of a matrix

    @abc.abstractmethod
    def _log_density(self, x: Array) -> Array:
        """Return the logarithm of the density or probability of values that were read."""

    @abc.abstractmethod
    def _sample(self, n: int, rng: Generator) -> Array:
        """Draw n values."""

    @classmethod
    @abc.abstractmethod
    def _fit(cls, x: Array, s: Array) -> Self:
        """Return the most likely parameters for values and their weights."""

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return ()

    def log_density(self, x: Any) -> Array:
        """Return the logarithm of the density, or of the probability of a discrete value.

        Parameters
        ----------
        x : array-like
            Values.

        Returns
        -------
        ndarray
            One number a value; minus infinity outside of the support.
        """
        values = numbers(x, f"Values of {type(self).__name__}")
        shape = self.event_shape
        if shape and values.shape[-len(shape) :] != shape:
            raise InvalidData(
                f"{type(self).__name__} is a distribution of values of shape {shape}, got an array of shape {values.shape}."
            )
        if np.isnan(values).any():
            raise InvalidData(
                f"The density of {type(self).__name__} is not defined at NaN. Remove missing values first."
            )
        axes = tuple(range(-self.event_ndim, 0))
        far = np.isinf(values).any(axis=axes)  # no value is infinite, and infinity less infinity would be NaN
        if not far.any():
            return np.asarray(self._log_density(values))
        found = self._log_density(np.where(np.expand_dims(far, axes), 0.0, values))
        return np.where(far, -np.inf, found)

    def density(self, x: Any) -> Array:
        """Return the density, or the probability of a discrete value.

        Parameters
        ----------
        x : array-like
            Values.

        Returns
        -------
        ndarray
            One number a value.
        """
        return np.exp(self.log_density(x))

    def log_likelihood(self, x: Any, sample_weight: Any = None) -> float:
        """Return the logarithm of the joint density of independent values: the sum of their logarithms.

        Parameters
        ----------
        x : array-like
            Values.
        sample_weight : array-like of shape (n,), optional
            How often each value counts.

        Returns
        -------
        float
            The sum.
        """
        logs = np.atleast_1d(self.log_density(x)).reshape(-1)
        s = read_weights(sample_weight, len(logs))
        return float(np.sum(logs if s is None else np.where(s > 0, s, 0.0) @ np.where(s > 0, logs, 0.0)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw independent values.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : None, int, Generator or RandomState
            Seed.

        Returns
        -------
        ndarray
            Values, the first axis counts them.
        """
        return np.asarray(self._sample(whole_number(n_samples, "n_samples"), generator(random_state)))

    @classmethod
    def fit(cls, x: Any, sample_weight: Any = None) -> Self:
        """Return the distribution of this kind that values are most likely for.

        Parameters
        ----------
        x : array-like
            Values; the first axis counts them.
        sample_weight : array-like of shape (n,), optional
            How often each value counts.

        Returns
        -------
        Distribution
            The maximum likelihood estimate.
        """
        values = numbers(x, f"Values of {cls.__name__}")
        if values.ndim != 1 + cls.event_ndim or not len(values):
            raise InvalidData(
                f"{cls.__name__}.fit takes at least one value, counted by the first of {1 + cls.event_ndim} axes, got shape"
                f" {values.shape}."
            )
        if not np.isfinite(values).all():
            raise InvalidData(f"{cls.__name__}.fit cannot learn from NaN or infinity. Remove those values first.")
        s = read_weights(sample_weight, len(values))
        s = np.ones(len(values)) if s is None else s
        if not s.sum() > 0:
            raise InvalidData(f"{cls.__name__}.fit needs a value of positive weight.")
        return cls._fit(values[s > 0], s[s > 0])

    def entropy(self, unit: Unit = "nats") -> float:
        """Return the entropy; of a density the differential entropy, which may be negative.

        Parameters
        ----------
        unit : {"nats", "bits"}
            Natural or binary logarithms.

        Returns
        -------
        float
            The entropy.
        """
        return self._entropy() / unit_in_nats(unit)

    def _entropy(self) -> float:
        raise InvalidData(
            f"The entropy of {type(self).__name__} has no formula here. Average -log_density over a sample."
        )

    def divergence(self, other: Any, unit: Unit = "nats") -> float:
        """Return the Kullback-Leibler divergence from another distribution.

        Parameters
        ----------
        other : Distribution
            Of the same kind and shape.
        unit : {"nats", "bits"}
            Natural or binary logarithms.

        Returns
        -------
        float
            Zero when they are equal.
        """
        if type(self) is not type(other) or self.event_shape != other.event_shape:
            raise InvalidData(
                f"A divergence compares distributions of one kind and shape, got {type(self).__name__} and {type(other).__name__}."
            )
        return max(float(self._divergence(other)), 0.0) / unit_in_nats(unit)

    def _divergence(self, other: Any) -> float:
        """Return the Kullback-Leibler divergence from another distribution of the same kind, in nats."""
        raise InvalidData(
            f"The divergence between {type(self).__name__} and {type(other).__name__} has no formula here. Average the difference"
            " of log_density over a sample."
        )


def unit_in_nats(unit: str) -> float:
    """Return one unit of information in nats."""
    if unit not in ("nats", "bits"):
        raise InvalidParameter(f"unit must be 'nats' or 'bits', got {unit!r}.")
    return 1.0 if unit == "nats" else float(np.log(2.0))


def number(value: Any, owner: str, low: float = -np.inf, high: float = np.inf, *, open_ends: bool = True) -> float:
    """Read a parameter that is one number in an interval."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{owner} must be a number, got {value!r:.100}.") from None
    inside = low < found < high if open_ends else low <= found <= high
    if not inside or not np.isfinite(found):
        ends = f"({low:g}, {high:g})" if open_ends else f"[{low:g}, {high:g}]"
        raise InvalidParameter(f"{owner} must be a finite number in {ends}, got {found:g}.")
    return found


def numbers(value: Any, owner: str) -> Array:
    """Read an array of numbers."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{owner} must be an array of numbers, got {value!r:.100}.") from None


def simplex(value: Any, owner: str) -> Array:
    """Read probabilities: nonnegative numbers that sum to one."""
    found = numbers(value, owner)
    if found.ndim < 1 or not found.size or not np.isfinite(found).all() or np.any(found < 0):
        raise InvalidParameter(f"{owner} must be nonnegative numbers that sum to one, got {found!r:.200}.")
    total = float(found.sum())
    if not abs(total - 1) <= SUM_TO_ONE:
        raise InvalidParameter(f"{owner} must sum to one, got a sum of {total:.10g}. Divide by it if they are counts.")
    return np.asarray(found / total)


def vector(value: Any, owner: str, *, positive: bool = False) -> Array:
    """Read a parameter that is a list of numbers."""
    found = numbers(value, owner)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or (positive and not np.all(found > 0)):
        kind = "positive " if positive else ""
        raise InvalidParameter(f"{owner} must be a list of finite {kind}numbers, got {found!r:.200}.")
    return found


def definite(value: Any, p: int | None, owner: str) -> Array:
    """Read a symmetric positive-definite matrix; a singular covariance has no density."""
    found = numbers(value, owner)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or p not in (None, len(found)):
        raise InvalidParameter(
            f"{owner} must be a square matrix{'' if p is None else f' of {p} rows'}, got shape {found.shape}."
        )
    if not np.isfinite(found).all() or not np.allclose(
        found, found.T, rtol=1e-10, atol=1e-12 * float(np.abs(found).max())
    ):
        raise InvalidParameter(f"{owner} must be finite and symmetric.")
    found = (found + found.T) / 2
    if not is_definite(found):
        raise InvalidParameter(f"{owner} must be positive definite: with a singular matrix there is no density.")
    return found


def is_definite(matrix: Array) -> bool:
    """Return whether a symmetric matrix is positive definite by more than rounding.

    The pivots of a factorisation, rows and columns scaled to a diagonal of ones, are the shares of a variance that the columns
    before do not explain; float64 cannot tell those below a few units of 2^-53 for each column from zero.
    """
    diagonal = np.diagonal(matrix)
    if not np.all(diagonal > 0):
        return False
    root = np.sqrt(diagonal)
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrix / root / root[:, np.newaxis])) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > 4 * len(matrix) * 2.0**-53)


def counts(x: Array, owner: str) -> Array:
    """Read values that count something."""
    if np.any(x < 0) or np.any(x != np.floor(x)):
        raise InvalidData(
            f"{owner} counts things: values must be nonnegative integers, got {x[(x < 0) | (x != np.floor(x))][0]:g}."
        )
    return x
