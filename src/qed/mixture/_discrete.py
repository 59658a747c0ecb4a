"""Mixtures of components whose columns are independent: of ones and zeros, of counts, of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.cluster import KMeans
from qed.core import (
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Number,
    Numbers,
    Positive,
    PositiveInt,
    fitted,
    generator,
    param,
)
from qed.core._validation import is_source
from qed.data import ArraySource, fold
from qed.data._kernels import products, transposed_products
from qed.designs._range import fingerprint, require_range
from qed.mixture._ascent import decompose
from qed.mixture._independent import (
    Bernoulli,
    Categorical,
    Independent,
    IndependentFamily,
    Kind,
    Poisson,
    blocks,
    counted_columns,
    joint_levels,
    require_categories,
    responsibilities,
)
from qed.mixture._mixture import LikelihoodMixture, best_ascent, draw_components, keep_ascent, require_as_many_rows

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from qed.data import Chunk, Source
    from qed.mixture._ascent import Ascent
else:  # naming it for real would load numpy.typing at import
    ArrayLike = object

START_ENTRIES = 1 << 24  # numbers of the table that starts are chosen from
START_ROWS = 1 << 16
WHAT = "log-likelihood plus the logarithm of the prior"


class IndependentMixture(LikelihoodMixture, chunks=True):
    """A mixture of components of independent columns; its kind of components is a declaration."""

    alpha: Positive = param(1.0, "Weight of the prior: so many rows of every value are added to each component.")
    init_params: Literal["kmeans", "random", "random_from_data"] = param(
        "kmeans", "Where to begin: clusters of k-means, random responsibilities, or rows blended with the mean."
    )

    if TYPE_CHECKING:  # every kind has its own

        def _kind(self) -> Kind: ...
        def _learn_columns(self, source: Source) -> Kind: ...
        def _theta(self) -> Array: ...
        def _store(self, theta: Array) -> None: ...

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the weights and the parameters of the components.

        Parameters
        ----------
        X : array-like, frame, sparse container (where the model takes one) or source of shape (n, p)
            Rows, at least as many as components.
        """
        data = self._fit_data(X, None, sample_weight)
        rng = generator(self.random_state)
        if is_source(X):
            from qed.cluster._passes import FoldedScatter, sampled  # noqa: PLC0415  (most rows are in memory)

            scatter = FoldedScatter(X, type(self).__name__)
            source, seen, rows = X, scatter.seen, scatter.rows
            some, places = sampled(X, seen.mean, rng)
            weights = places.s
            warm = bool(self.warm_start) and hasattr(self, "weights_")
        else:
            table = data.X if isinstance(data.X, np.ndarray) else data.X.tocsr()
            source = ArraySource(table, None, data.weight)
            seen = fingerprint(data.X, np.empty((data.n_rows, 0)), data.weight)
            require_range(source, seen)
            rows = data.n_rows if data.weight is None else int(np.count_nonzero(data.weight))
            some, weights, warm = table, data.weight, data.warm
        require_as_many_rows(rows, self.n_components)
        kind = self._learn_columns(source)
        totals = fold(source, partial(counted_columns, kind=kind), name=type(self).__name__)
        kind = _with_mean(kind, totals)
        family = IndependentFamily(
            kind,
            source,
            totals.weight,
            totals.totals / totals.weight,
            totals.base / totals.weight,
            totals.offset / totals.weight,
            type(self).__name__,
        )
        start = Start(some, weights, self.n_components, self.init_params)
        first = (lambda _: Independent(self.weights_, self._theta())) if warm else partial(start.begin, family)
        run: Ascent[Independent, Any] = best_ascent(family, first, 1 if warm else self.n_init, self)
        self.weights_ = run.parameters.weights
        self._store(run.parameters.theta)
        rounding = family.rounding(run.parameters, float(np.max(np.abs(run.trace))))
        keep_ascent(self, run, WHAT, rounding, seen, decompose(family, run, rounding))
        return self

    def _densities(self, X: Any, *, shares: bool) -> tuple[Array, Array | None]:
        X = self._new_data(X)
        rows = X if isinstance(X, np.ndarray) else X.tocsr()
        kind, n = self._kind(), rows.shape[0]
        natural, levels = joint_levels(kind, Independent(self.weights_, self._theta()))
        density, out = np.empty(n), np.empty((n, len(levels))) if shares else None
        for part in blocks(n):
            counted, base = kind.counts(rows[part]), kind.base(rows[part])
            density[part], found = responsibilities(products(counted, natural, levels))
            if base is not None:
                density[part] += base
            if out is not None:
                out[part] = found
        return density, out

    def _draw(self, n_samples: int, rng: Generator) -> tuple[Array, Array]:
        labels = draw_components(self, n_samples, rng)
        return self._kind().draw(self._theta(), labels, rng), labels

    def _n_parameters(self) -> int:
        return int(self._theta().size + len(self.weights_) - 1)


def _with_mean(kind: Kind, totals: Any) -> Kind:
    """Return the kind with a prior at the mean of all rows and one row of ones, which is never zero."""
    if not isinstance(kind, Poisson):
        return kind
    return replace(kind, mean=(totals.totals + 1) / (totals.weight + 1))


@dataclass(frozen=True, eq=False)
class Start:
    """Rows that a start is chosen from."""

    X: Any
    s: Array | None
    k: int
    how: str

    def begin(self, family: IndependentFamily, rng: Generator) -> Independent:
        """Return first parameters."""
        X, s = self._some(len(family.mean), rng)
        counted = family.kind.counts(X)
        n = X.shape[0]
        if self.how == "random_from_data":
            chance = None if s is None else s / s.sum()
            used = n if s is None else int(np.count_nonzero(s))
            rows = np.resize(rng.choice(n, min(self.k, used), replace=False, p=chance), self.k)
            own = counted[rows] if isinstance(counted, np.ndarray) else counted[rows].toarray()
            theta = family.kind.estimate(np.full(self.k, 2.0), own + family.mean)
            return Independent(np.full(self.k, 1 / self.k), theta)
        if self.how == "kmeans":
            dense = counted if isinstance(counted, np.ndarray) else counted.toarray()
            seed = int(rng.integers(2**31))
            shares = np.zeros((n, self.k))
            labels = KMeans(self.k, n_init=1, random_state=seed).fit(dense, sample_weight=s).labels_
            shares[np.arange(n), labels] = 1.0
        else:
            shares = rng.random((n, self.k))
            shares /= shares.sum(axis=1, keepdims=True)
        shares = shares if s is None else shares * s[:, None]
        weights = shares.sum(axis=0)
        return Independent(weights / weights.sum(), family.kind.estimate(weights, transposed_products(counted, shares)))

    def _some(self, columns: int, rng: Generator) -> tuple[Any, Array | None]:
        """Return rows of positive weight, as many as a dense table of their counts may have."""
        used = np.arange(self.X.shape[0]) if self.s is None else np.flatnonzero(self.s)
        most = max(16 * self.k, min(START_ROWS, START_ENTRIES // max(columns, 1)))
        if len(used) > most:
            used = np.sort(rng.choice(used, most, replace=False))
        return self.X[used], None if self.s is None else self.s[used]


def _inside(model: Any, theta: Array) -> str:  # noqa: ARG001  the form of a check
    return "" if np.all((theta > 0) & (theta < 1)) else "should be between 0 and 1"


class BernoulliMixture(IndependentMixture, sparse=True):
    r"""Mixture of Bernoulli distributions for binary data, fitted by expectation-maximisation.

    Objective
    ---------
    .. math::
        \max_{w, \theta} \; \frac{1}{\sum_i s_i} \Big( \sum_i s_i \log \sum_k w_k \prod_j \theta_{kj}^{x_{ij}}
        (1 - \theta_{kj})^{1 - x_{ij}} + \alpha \sum_k \sum_j \log \theta_{kj} (1 - \theta_{kj}) \Big)

    with :math:`x_{ij} = 1` where an entry is above ``binarize`` and 0 elsewhere. The second term is a Beta prior: ``alpha`` rows of
    ones and ``alpha`` rows of zeros in every component.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, what one more step would add, and the
    log-likelihood as a sum of expected log-likelihood, entropy and divergence of the responsibilities.

    Cost
    ----
    O(nnz(X) k) a step; memory beyond X: 131072 k bytes of a block of rows, and O(k p). Rows can come in chunks.

    See Also
    --------
    qed.naive_bayes.BernoulliNB : The same components where labels are known.
    GaussianMixture : Measurements.

    Notes
    -----
    Columns are independent within a component; over all rows they are not, which is what a mixture finds. Also known as latent
    class analysis. The objective has many maxima; ``n_init`` starts find better ones.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import BernoulliMixture
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> model.predict_proba([[1, 1, 0, 0]]).max().round(3).item()
    1.0
    """

    binarize: NonNegative | None = param(
        0.0, "Entries above this count as one, others as zero; None for columns that hold only zeros and ones."
    )

    probabilities_: Array = fitted(
        "Probability of a one in each component and column, (k, p).", shape="(c, p)", low=0, high=1, check=_inside
    )

    def _kind(self) -> Bernoulli:
        return Bernoulli(float(self.alpha), None if self.binarize is None else float(self.binarize))

    def _learn_columns(self, source: Source) -> Bernoulli:  # noqa: ARG002  the form of all kinds
        return self._kind()

    def _theta(self) -> Array:
        return self.probabilities_

    def _store(self, theta: Array) -> None:
        self.probabilities_ = theta


class PoissonMixture(IndependentMixture, sparse=True, positive_only=True):
    r"""Mixture of Poisson distributions for counts, fitted by expectation-maximisation.

    Objective
    ---------
    .. math::
        \max_{w, \lambda} \; \frac{1}{\sum_i s_i} \Big( \sum_i s_i \log \sum_k w_k \prod_j
        \frac{\lambda_{kj}^{x_{ij}} e^{-\lambda_{kj}}}{x_{ij}!} + \alpha \sum_k \sum_j (m_j \log \lambda_{kj} - \lambda_{kj}) \Big)

    The second term is a gamma prior: ``alpha`` rows in every component at m, the mean of all rows and one row of ones.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, what one more step would add, and the
    log-likelihood as a sum of expected log-likelihood, entropy and divergence of the responsibilities.

    Cost
    ----
    O(nnz(X) k) a step; memory beyond X: 131072 k bytes of a block of rows, and O(k p). Rows can come in chunks.

    See Also
    --------
    GaussianMixture : Measurements.
    BernoulliMixture : Whether something occurs, not how often.

    Notes
    -----
    Columns are independent within a component. Fractions are taken as they are, with the gamma function as factorial. Negative
    numbers raise an error. The objective has many maxima; ``n_init`` starts find better ones.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import PoissonMixture
    >>> X = np.repeat([[1, 20], [20, 1]], 20, axis=0)
    >>> model = PoissonMixture(2, alpha=1e-6, random_state=0).fit(X)
    >>> sorted(model.rates_[:, 0].round(3).tolist())
    [1.0, 20.0]
    """

    rates_: Array = fitted("Mean count in each component and column, (k, p).", shape="(c, p)", above=0)

    def _kind(self) -> Poisson:
        return Poisson(float(self.alpha), np.zeros(0))

    def _learn_columns(self, source: Source) -> Poisson:  # noqa: ARG002  the form of all kinds
        return self._kind()

    def _theta(self) -> Array:
        return self.rates_

    def _store(self, theta: Array) -> None:
        self.rates_ = theta


def _sum_to_one(model: Any, tables: list[Array]) -> str:  # noqa: ARG001  the form of a check
    good = all(np.all(one > 0) and np.all(np.abs(one.sum(axis=1) - 1) < 1e-6) for one in tables)
    return "" if good else "should be positive, and add up to 1 over the values of a column"


class CategoricalMixture(IndependentMixture, categorical=True, positive_only=True):
    r"""Mixture of categorical distributions (latent class analysis), fitted by EM; values are numbered from 0.

    Objective
    ---------
    .. math::
        \max_{w, \theta} \; \frac{1}{\sum_i s_i} \Big( \sum_i s_i \log \sum_k w_k \prod_j \theta_{kjx_{ij}}
        + \alpha \sum_k \sum_j \sum_c \log \theta_{kjc} \Big), \qquad \sum_c \theta_{kjc} = 1

    The second term is a Dirichlet prior: ``alpha`` rows of each value in every component.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, what one more step would add, and the
    log-likelihood as a sum of expected log-likelihood, entropy and divergence of the responsibilities.

    Cost
    ----
    O(n p k) a step; memory beyond X: 131072 (k + 2 p) bytes of a block of rows, and O(k) for each value of each column. Rows can
    come in chunks.

    See Also
    --------
    qed.naive_bayes.CategoricalNB : The same components where labels are known.
    qed.preprocessing.OrdinalEncoder : Encodes the values of string columns.

    Notes
    -----
    Numbers with a fraction are cut to whole ones. A column has as many values as its largest number says, at least
    ``min_categories``; a row with a value beyond raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import CategoricalMixture
    >>> X = np.repeat([[0, 2, 1], [2, 0, 0]], 20, axis=0)
    >>> model = CategoricalMixture(2, random_state=0).fit(X)
    >>> model.predict(X[:20]).tolist() == [model.predict(X[:1])[0]] * 20
    True
    """

    min_categories: PositiveInt | Annotated[ArrayLike, Numbers(1, Number(low=1, whole=True))] | None = param(
        None, "Least number of values of the columns: one for all, or one for each; None for what the rows show."
    )

    probabilities_: list[Array] = fitted(
        "For each column the probability of each value in each component, (k, values).",
        length="p",
        shape="(c, n_categories_[j])",
        low=0,
        high=1,
        check=_sum_to_one,
    )
    n_categories_: Array = fitted("How many values each column has.", dtype="int64", shape="(p,)", low=1)

    def _kind(self) -> Categorical:
        return Categorical(float(self.alpha), self.n_categories_)

    def _learn_columns(self, source: Source) -> Categorical:
        largest = fold(source, _largest_values, name=type(self).__name__).values
        least = np.asarray(1 if self.min_categories is None else self.min_categories, dtype=np.int64)
        if least.shape not in ((), largest.shape):
            raise InvalidParameter(
                f"CategoricalMixture.min_categories is one number, or one for each of {len(largest)} columns; got shape"
                f" {least.shape}."
            )
        self.n_categories_ = np.maximum(largest + 1, least)
        return self._kind()

    def _theta(self) -> Array:
        return np.concatenate(self.probabilities_, axis=1)

    def _store(self, theta: Array) -> None:
        ends = np.cumsum(self.n_categories_)
        self.probabilities_ = [np.ascontiguousarray(part) for part in np.split(theta, ends[:-1], axis=1)]

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return int(k * np.sum(self.n_categories_ - 1) + k - 1)


@dataclass(frozen=True, eq=False)
class LargestValues:
    """The largest number of each column."""

    values: Any

    def merge(self, other: Self) -> Self:
        """Return the larger of both."""
        return type(self)(np.maximum(self.values, other.values))


MOST_CATEGORIES = 1 << 24


def _largest_values(chunk: Chunk) -> LargestValues:
    X: Any = chunk.X
    require_categories(X, "CategoricalMixture")
    if X.size and X.max() >= MOST_CATEGORIES:
        raise InvalidData(
            f"CategoricalMixture got the value {float(X.max()):g}: a column can have {MOST_CATEGORIES} values at most."
        )
    return LargestValues(X.max(axis=0).astype(np.int64))
