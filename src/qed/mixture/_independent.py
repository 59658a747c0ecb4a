"""Components whose columns are independent of each other: each kind is a declaration, and one family fits them all.

A kind says how a row is counted, and what follows from counts. With t(x) the counts of a row, the logarithm of a density is
``t(x) @ natural + level + base(x)``; the best parameters depend on the sums of t(x) over rows, weighted by responsibilities. Rows
come in chunks, and the sums of chunks merge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, _finite
from qed.core._kernels import all_finite
from qed.data import fold
from qed.data._kernels import UNIT, category_entries, products, transposed_products

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    from qed.data import Chunk, Source

    Array = NDArray[np.float64]

LARGEST_RATE = 1e18  # of a count that 64 bits hold


class Kind(Protocol):
    """A distribution of independent columns, with a conjugate prior."""

    def counts(self, X: Any) -> Any:
        """Return what is counted of each row, (n, q); refuse what the distribution cannot produce."""

    def base(self, X: Any) -> Array | None:
        """Return the part of the log-density of each row that depends on no parameter; None for zero."""

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Return what counts are multiplied by, (k, q), and the levels, (k,)."""

    def estimate(self, weights: Array, totals: Array) -> Array:
        """Return the parameters, (k, q), that are best for sums of counts and the prior."""

    def log_prior(self, theta: Array) -> float:
        """Return the logarithm of the prior density, constants left out."""

    def information(self, theta: Array) -> Array:
        """Return the Fisher information of each parameter, (k, q)."""

    def draw(self, theta: Array, labels: Any, rng: Generator) -> Array:
        """Draw a row for each component number."""


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Columns that are one with a probability, else zero; ``alpha`` rows of ones and ``alpha`` of zeros are the prior."""

    alpha: float
    binarize: float | None
    owner: str = "BernoulliMixture"

    def counts(self, X: Any) -> Any:
        """Return ones where an entry is above the bound."""
        dense = isinstance(X, np.ndarray)
        values = X if dense else X.data
        _require_finite(X, values, self.owner)
        if self.binarize is None:
            other = (values != 0) & (values != 1)
            if other.any():
                raise InvalidData(
                    f"{self.owner}(binarize=None) takes zeros and ones, and X holds {float(values[other][0]):g}. Give binarize a"
                    " bound."
                )
            return X
        present = (values > self.binarize).astype(np.float64)
        return present if dense else type(X)((present, X.indices, X.indptr), shape=X.shape)

    def base(self, X: Any) -> None:
        """Return nothing."""

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Return log-odds, and logarithms of the probability of zeros alone."""
        absent = np.log1p(-theta)
        return np.log(theta) - absent, absent.sum(axis=1)

    def estimate(self, weights: Array, totals: Array) -> Array:
        """Return shares of ones, those of the prior among them."""
        theta = (totals + self.alpha) / (weights[:, None] + 2 * self.alpha)
        return _inside(theta, self.alpha, self.owner)

    def log_prior(self, theta: Array) -> float:
        """Return that of Beta densities."""
        return float(self.alpha * np.sum(np.log(theta) + np.log1p(-theta)))

    def information(self, theta: Array) -> Array:
        """Return inverse variances."""
        return np.asarray(1 / (theta * (1 - theta)))

    def draw(self, theta: Array, labels: Any, rng: Generator) -> Array:
        """Toss a coin for every column."""
        return np.asarray(rng.random((len(labels), theta.shape[1])) < theta[labels], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Poisson:
    """Columns of counts with a rate; ``alpha`` rows at ``mean`` are the prior."""

    alpha: float
    mean: Array
    owner: str = "PoissonMixture"

    def counts(self, X: Any) -> Any:
        """Return the counts, none of which is negative."""
        values = X if isinstance(X, np.ndarray) else X.data
        _require_finite(X, values, self.owner)
        if values.size and values.min() < 0:
            raise InvalidData(
                f"Negative values in data passed to {self.owner} (input X): {float(values.min()):g}. Counts are zero or more."
            )
        return X

    def base(self, X: Any) -> Array:
        """Return minus the logarithms of factorials."""
        return -log_factorials(X)

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Return logarithms of rates, and minus their sums."""
        return np.log(theta), -theta.sum(axis=1)

    def estimate(self, weights: Array, totals: Array) -> Array:
        """Return means, the rows of the prior among the others."""
        theta = (totals + self.alpha * self.mean) / (weights[:, None] + self.alpha)
        if not np.isfinite(theta).all():
            raise InvalidData(
                f"Sums of these counts overflow float64, so that {self.owner} has no rates. Scale the columns."
            )
        return np.asarray(theta)

    def log_prior(self, theta: Array) -> float:
        """Return that of gamma densities."""
        return float(self.alpha * np.sum(self.mean * np.log(theta) - theta))

    def information(self, theta: Array) -> Array:
        """Return inverse variances."""
        return np.asarray(1 / theta)

    def draw(self, theta: Array, labels: Any, rng: Generator) -> Array:
        """Count events of every column."""
        if not theta.max(initial=0.0) <= LARGEST_RATE:
            raise InvalidData(
                f"A rate of {theta.max():.3g} is too large for whole numbers to be drawn: at most {LARGEST_RATE:.0g}."
            )
        return np.asarray(rng.poisson(theta[labels]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Categorical:
    """Columns that take values 0, 1, ... with probabilities; ``alpha`` rows of every value are the prior."""

    alpha: float
    sizes: NDArray[np.int64]
    owner: str = "CategoricalMixture"

    def counts(self, X: Any) -> Any:
        """Return a one in the column of each value, as compressed rows."""
        from scipy.sparse import csr_array  # noqa: PLC0415  (takes long to load)

        require_categories(X, self.owner)
        if (beyond := self.sizes <= X).any():
            row, j = map(int, np.argwhere(beyond)[0])
            raise InvalidData(
                f"X[{row}, {j}] is {float(X[row, j]):g}, and column {j} of {self.owner} has values 0 to {self.sizes[j] - 1}. Give"
                " min_categories, so that the model knows of values that its rows did not show."
            )
        starts, columns, ones = category_entries(X, self.sizes)
        return csr_array((ones, columns, starts), shape=(len(X), int(self.sizes.sum())))

    def base(self, X: Any) -> None:
        """Return nothing."""

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Return logarithms of probabilities; there are no levels."""
        return np.log(theta), np.zeros(len(theta))

    def estimate(self, weights: Array, totals: Array) -> Array:
        """Return shares of the values of each column, those of the prior among them."""
        values = np.repeat(self.sizes, self.sizes)
        theta = (totals + self.alpha) / (weights[:, None] + self.alpha * values)
        return _inside(theta, self.alpha, self.owner, ones=True)

    def log_prior(self, theta: Array) -> float:
        """Return that of Dirichlet densities."""
        return float(self.alpha * np.sum(np.log(theta)))

    def information(self, theta: Array) -> Array:
        """Return inverses of the probabilities."""
        return np.asarray(1 / theta)

    def draw(self, theta: Array, labels: Any, rng: Generator) -> Array:
        """Choose a value of every column."""
        ends = np.cumsum(self.sizes)
        out = np.empty((len(labels), len(self.sizes)))
        for j, (first, last) in enumerate(zip(ends - self.sizes, ends, strict=True)):
            steps = np.cumsum(theta[:, first:last], axis=1)[labels]
            out[:, j] = (rng.random((len(labels), 1)) * steps[:, -1:] >= steps).sum(axis=1)
        return out


def log_factorials(X: Any) -> Array:
    """Return the sum of the logarithms of the factorials of each row, by the gamma function."""
    from scipy.special import gammaln  # noqa: PLC0415  (takes long to load)

    if isinstance(X, np.ndarray):
        return np.asarray(gammaln(X.astype(np.float64) + 1.0).sum(axis=1))
    logs = X.copy()
    logs.data = np.asarray(gammaln(X.data.astype(np.float64) + 1.0))
    return np.asarray(logs.sum(axis=1), dtype=np.float64).reshape(-1)


def require_categories(X: Any, owner: str) -> None:
    """Refuse what is no number of a category."""
    _require_finite(X, X, owner)
    low = float(X.min()) if X.size else 0.0
    if low < 0:
        raise InvalidData(
            f"Negative values in data passed to {owner} (input X): {low:g}. Values are numbered from 0:"
            " qed.preprocessing.OrdinalEncoder numbers them."
        )


def _require_finite(X: Any, values: Any, owner: str) -> None:
    if not all_finite(values):
        _finite.require(X, "X", None, owner)


def _inside(theta: Array, alpha: float, owner: str, *, ones: bool = False) -> Array:
    """Refuse probabilities that round to zero or one: their logarithms are infinite."""
    if not (np.all(theta > 0) and (ones or np.all(theta < 1))):
        raise InvalidParameter(
            f"{owner}.alpha is {alpha:g}, too little beside the weight of the rows: a probability rounds to 0 or 1. Give"
            " a larger one."
        )
    return theta


class Independent(NamedTuple):
    """Weights of components, (k,), and parameters of their columns, (k, q)."""

    weights: Array
    theta: Array


@dataclass(frozen=True, eq=False)
class IndependentSums:
    """What a pass finds of some rows: log-likelihood; weights and sums of counts of each component."""

    likelihood: float
    weights: Array
    totals: Array

    def merge(self, other: Self) -> Self:
        """Return the sums of both."""
        return type(self)(self.likelihood + other.likelihood, self.weights + other.weights, self.totals + other.totals)


class IndependentExpectation(NamedTuple):
    """Sums of one pass, and the objective where they were taken."""

    sums: IndependentSums
    objective: float


@dataclass(frozen=True, eq=False)
class IndependentFamily:
    """Rows, and what their components are.

    Attributes
    ----------
    kind : Kind
        Of the components.
    source : Source
        The rows, in chunks.
    weight : float
        Sum of their weights.
    mean : ndarray of shape (q,)
        Mean of their counts.
    base : float
        Mean of what no parameter changes.
    offset : float
        Mean size of that.
    name : str
        Who is said to work.
    """

    kind: Kind
    source: Source
    weight: float
    mean: Array
    base: float
    offset: float
    name: str

    def expect(self, parameters: Independent) -> IndependentExpectation:
        """Find responsibilities, and sum counts by them, chunk by chunk."""
        natural, levels = joint_levels(self.kind, parameters)
        sums = fold(self.source, partial(_sums, kind=self.kind, natural=natural, levels=levels), name=self.name)
        objective = (sums.likelihood + self.kind.log_prior(parameters.theta)) / self.weight
        return IndependentExpectation(sums, float(objective))

    def expected_joint(self, expected: IndependentExpectation, parameters: Independent) -> float:
        """Return the expected log-likelihood of rows and components together, by counts of responsibilities."""
        natural, levels = joint_levels(self.kind, parameters)
        used, sums = expected.sums.weights > 0, expected.sums
        total = float(np.sum(sums.totals * natural) + sums.weights[used] @ levels[used])
        return (total + self.kind.log_prior(parameters.theta)) / self.weight + self.base

    def log_likelihood(self, expected: IndependentExpectation, parameters: Independent) -> float:  # noqa: ARG002
        """Return that of the rows alone."""
        return expected.objective

    def maximise(self, expected: IndependentExpectation) -> Independent:
        """Return shares of weights, and the best parameters of the counts."""
        n = expected.sums.weights
        return Independent(n / n.sum(), self.kind.estimate(n, expected.sums.totals))

    def displacement(self, before: Independent, after: Independent) -> float:
        """Root of the squared changes of weights and parameters, in units of their deviations."""
        w = np.maximum(before.weights, np.finfo(float).tiny)
        weights = np.sum((after.weights - before.weights) ** 2 / w)
        step = (after.theta - before.theta) ** 2 * self.kind.information(before.theta)
        moved = float(np.sqrt(weights + before.weights @ step.sum(axis=1)))
        # rounding of logarithms of densities is that of responsibilities, and moves a parameter by so many deviations
        noise = 1e-9 + 8 * UNIT * float(np.sqrt(np.sum(1 / w)))
        noise += 4 * float(np.sqrt(before.theta.shape[1])) * self.rounding(before, 0.0)
        return moved if moved > 4 * noise else 0.0

    def rounding(self, parameters: Independent, largest: float) -> float:
        """Bound the rounding of the objective, whose largest value is given."""
        natural, levels = self.kind.natural(parameters.theta)
        size = float(np.max(np.abs(natural) @ self.mean + np.abs(levels))) + self.offset
        return float(64 * (natural.shape[1] + 8) * UNIT * (1.0 + largest + size))


def joint_levels(kind: Kind, parameters: Independent) -> tuple[Array, Array]:
    """Return what counts are multiplied by, and levels with logarithms of weights."""
    natural, levels = kind.natural(parameters.theta)
    with np.errstate(divide="ignore"):  # a component that no row belongs to
        return natural, levels + np.log(parameters.weights)


def responsibilities(joint: Array) -> tuple[Array, Array]:
    """Return log-densities of rows, and turn joint ones into responsibilities in place."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    return top + np.log(total), joint


BLOCK_ROWS = 1 << 14  # rows whose joint densities are held at a time


def blocks(n: int) -> Iterator[slice]:
    """Cut rows into blocks."""
    return (slice(first, min(first + BLOCK_ROWS, n)) for first in range(0, n, BLOCK_ROWS))


def _sums(chunk: Chunk, kind: Kind, natural: Array, levels: Array) -> IndependentSums:
    likelihood, weights, totals = 0.0, np.zeros(len(levels)), np.zeros(natural.shape)
    rows: Any = chunk.X
    for part in blocks(rows.shape[0]):
        X, s = rows[part], None if chunk.s is None else chunk.s[part]
        counted = kind.counts(X)
        density, shares = responsibilities(products(counted, natural, levels))
        base = kind.base(X)
        density = density if base is None else density + base
        likelihood += float(density.sum() if s is None else np.sum(density * s))
        if s is not None:
            shares *= s[:, None]
        weights += shares.sum(axis=0)
        totals += transposed_products(counted, shares)
    return IndependentSums(likelihood, weights, totals)


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """Sums of counts, and of what no parameter changes and its sizes."""

    weight: float
    totals: Array
    base: float
    offset: float

    def merge(self, other: Self) -> Self:
        """Return the sums of both."""
        own = (self.weight, self.totals, self.base, self.offset)
        return type(self)(*map(add, own, (other.weight, other.totals, other.base, other.offset)))


def counted_columns(chunk: Chunk, kind: Kind) -> CountedColumns:
    """Sum up counts of all rows of a chunk."""
    rows: Any = chunk.X
    weight, totals, base, offset = 0.0, 0.0, 0.0, 0.0
    for part in blocks(rows.shape[0]):
        X = rows[part]
        s = np.ones(X.shape[0]) if chunk.s is None else chunk.s[part]
        constant = kind.base(X)
        weight += float(s.sum())
        totals = totals + transposed_products(kind.counts(X), s[:, None])[0]
        if constant is not None:
            base += float(s @ constant)
            offset += float(s @ np.abs(constant))
    return CountedColumns(weight, np.asarray(totals), base, offset)
