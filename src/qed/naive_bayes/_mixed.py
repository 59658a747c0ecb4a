"""Naive Bayes for tables of several kinds of columns, with gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Positive,
    Vector,
    _finite,
    fitted,
    param,
)
from qed.core._posterior import Generative, PosteriorClassifier, given_shares
from qed.naive_bayes._counting import draw_categories

if TYPE_CHECKING:
    from numpy.random import Generator

KINDS = ("gaussian", "bernoulli", "poisson", "categorical")
CIRCLE = float(np.log(2 * np.pi))
UNIT = 2.0**-53
MOST_CATEGORIES = 1 << 20


def _are_kinds(value: Any) -> str:
    listed = [value] if isinstance(value, str) else list(value)
    wrong = [one for one in listed if one not in KINDS]
    return f"should be among {KINDS}, and holds {wrong[0]!r}" if wrong else ""


def _fit_their_kinds(model: Any, tables: list[Array]) -> str:
    for kind, table in zip(model.kinds_, tables, strict=True):
        if kind == "gaussian" and (table.shape[1] != 2 or not np.all(table[:, 1] > 0)):
            return "should hold a mean and a positive variance for each class of a normal column"
        if kind == "poisson" and (table.shape[1] != 1 or not np.all(table > 0)):
            return "should hold a positive rate for each class of a column of counts"
        if kind in ("bernoulli", "categorical") and not (
            np.all(table > 0) and np.all(np.abs(table.sum(axis=1) - 1) < 1e-6)
        ):
            return "should hold positive probabilities that add up to 1 for each class of a column of values"
    return ""


class _Column(NamedTuple):
    """What is learnt of a column: parameters (k, r), and the log-likelihood of its entries, summed."""

    table: Array
    likelihood: float


class MixedNB(PosteriorClassifier, Generative, allow_nan=True):
    r"""Naive Bayes with a distribution of its own kind for each column; missing values are marginalised.

    Objective
    ---------
    .. math::
        \max_{\pi, \theta} \; \sum_i s_i \Big( \log \pi_{y_i} + \sum_{j : x_{ij} \text{ is there}} \log p_j(x_{ij} \mid
        \theta_{y_i j}) \Big) + \sum_k \sum_j \log p_j(\theta_{kj})

    with :math:`p_j` a normal density ("gaussian": measurements), a probability of one ("bernoulli": entries above 0 count as one),
    a rate of events ("poisson": counts) or a probability of each value ("categorical": numbered from 0). Priors are those of
    `BernoulliNB`, `PoissonNB` and `CategoricalNB` with ``alpha``; variances are blurred as in `GaussianNB`.

    Certificate
    -----------
    LikelihoodCertificate: shares of classes and parameters of columns are the best ones up to rounding, and the log-likelihood,
    factorials left out, is as stated.

    Cost
    ----
    A few passes over the rows, O(n p), and O(K) memory for each parameter of each column, K classes; a prediction O(n p K).

    See Also
    --------
    GaussianNB : All columns normal; rows in chunks.
    PoissonNB : All columns counts; sparse tables.
    CategoricalNB : All columns categories.

    Notes
    -----
    The log-posterior is the sum of those of the columns. An entry that is NaN is integrated out, which leaves its column out for
    that row: the answer is that of a model without the column. A column with one class that has no entries there raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.naive_bayes import MixedNB
    >>> X = np.array([[1.7, 0], [1.8, 0], [1.6, 1], [1.5, 1], [np.nan, 0]])
    >>> model = MixedNB(["gaussian", "bernoulli"]).fit(X, ["a", "a", "b", "b", "a"])
    >>> model.predict([[1.75, 0], [np.nan, 1]]).tolist()
    ['a', 'b']
    """

    distributions: Any = param(
        "gaussian",
        "Kind of the columns, 'gaussian', 'bernoulli', 'poisson' or 'categorical': one for all, or a list with one for each.",
        in_files=_are_kinds,
    )
    _: KW_ONLY
    alpha: Positive = param(
        1.0, "Weight of the prior of counts: so many rows of every value, or at the mean of all rows."
    )
    var_smoothing: NonNegative = param(
        1e-9, "What is added to variances, as a part of the largest variance of a column."
    )
    priors: Vector | None = param(
        None, "Probabilities of the classes, in the order of ``classes_``; None for their shares."
    )

    class_count_: Array = fitted("Weight of the rows of each class.", shape="(k,)", low=0)
    class_prior_: Array = fitted("Probability of each class.", shape="(k,)", low=0, high=1)
    kinds_: list[str] = fitted("Kind of each column.", length="p", check=lambda _, kinds: _are_kinds(kinds))
    sizes_: Array = fitted("How many numbers each class has for each column.", dtype="int64", shape="(p,)", low=1)
    parameters_: list[Array] = fitted(
        "For each column its parameters, one row a class: mean and variance, rate, or the probability of each value.",
        length="p",
        shape="(k, sizes_[j])",
        check=_fit_their_kinds,
    )
    epsilon_: float = fitted("What was added to the variances.", low=0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find shares of the classes and the parameters of every column.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows; NaN for what is not known.
        """
        data = self._fit_data(X, y, sample_weight)
        rows, p, k = np.asarray(data.X, dtype=np.float64), data.X.shape[1], len(data.classes)
        kinds = _read_kinds(self.distributions, p)
        weight = np.ones(len(rows)) if data.weight is None else data.weight
        shares = np.zeros((len(rows), k))
        shares[np.arange(len(rows)), data.y.astype(np.intp)] = weight
        counted = shares.sum(axis=0)
        if not counted.all():
            raise InvalidData(
                f"{type(self).__name__} has no row of positive weight of class {data.classes[int(np.argmin(counted))]!s}."
            )
        spreads = [_spread(rows[:, j], weight) for j, kind in enumerate(kinds) if kind == "gaussian"]
        self.epsilon_ = float(self.var_smoothing * max(spreads, default=0.0))
        columns = []
        for j, kind in enumerate(kinds):
            there = ~np.isnan(rows[:, j])
            own = shares[there]
            if not own.sum(axis=0).all():
                label = data.classes[int(np.argmin(own.sum(axis=0)))]
                raise InvalidData(f"Column {j} has no entry in class {label!s}. Leave it out, or fill its gaps.")
            columns.append(self._column(kind, rows[there, j], own, j))
        self.classes_, self.class_count_, self.kinds_ = data.classes, counted, kinds
        share = counted / counted.sum()
        self.class_prior_ = share if self.priors is None else given_shares("MixedNB", "priors", self.priors, k)
        self.parameters_ = [one.table for one in columns]
        self.sizes_ = np.array([one.table.shape[1] for one in columns], dtype=np.int64)
        with np.errstate(divide="ignore"):
            level = float(share @ np.log(self.class_prior_))
        self.certificate_ = LikelihoodCertificate(
            what=f"Shares of {k} classes and parameters of {p} columns",
            rows=int(np.count_nonzero(weight)),
            log_likelihood=level + sum(one.likelihood for one in columns) / float(counted.sum()),
            rounding=(len(rows) + 64) * UNIT,
        )
        return self

    def _column(self, kind: str, x: Array, shares: Array, j: int) -> _Column:
        """Learn from the entries of a column; shares are weights of rows by class."""
        n = shares.sum(axis=0)
        if kind == "gaussian":
            mean = (shares.T @ x) / n
            mean = (
                mean + np.einsum("ik,ik->k", shares, x[:, None] - mean) / n
            )  # again, about itself: offsets do not cancel
            variance = np.einsum("ik,ik->k", shares, (x[:, None] - mean) ** 2) / n + self.epsilon_
            if not np.all(variance > 0) and len(x) == 1:
                raise InvalidData("MixedNB got 1 sample, and one sample has no variance. Pass more rows.")
            if not np.all(variance > 0):
                raise InvalidData(
                    f"The variance of column {j} within a class is zero, and MixedNB has no density there: give var_smoothing a"
                    " value above zero, or leave out columns that are constant."
                )
            logs = -0.5 * (CIRCLE + np.log(variance) + 1 - self.epsilon_ / variance)
            return _Column(np.column_stack([mean, variance]), float(n @ logs))
        if kind == "poisson":
            require_counts(x, j)
            middle = (np.sum(shares * x[:, None]) + 1) / (n.sum() + 1)
            rate = (shares.T @ x + self.alpha * middle) / (n + self.alpha)
            return _Column(rate[:, None], float((shares.T @ x) @ np.log(rate) - n @ rate))
        codes = _codes(x, kind, j)
        counted = shares.any(axis=1)  # rows of no weight are no rows: their categories are not known
        codes, shares = codes[counted], shares[counted]
        size = 2 if kind == "bernoulli" else int(codes.max()) + 1
        counts = np.zeros((len(n), size))
        for c in range(len(n)):
            counts[c] = np.bincount(codes, shares[:, c], size)
        table = (counts + self.alpha) / (n[:, None] + self.alpha * size)
        return _Column(table, float(np.sum(counts * np.log(table))))

    def _class_shares(self) -> Array:
        return np.asarray(self.class_prior_ / self.class_prior_.sum())

    def _draw(self, code: Any, stream: Generator) -> Array:
        X = np.empty((len(code), len(self.kinds_)))
        for j, (kind, table) in enumerate(zip(self.kinds_, self.parameters_, strict=True)):
            own = table[code]
            if kind == "gaussian":
                X[:, j] = stream.normal(own[:, 0], np.sqrt(own[:, 1]))
            elif kind == "poisson":
                X[:, j] = stream.poisson(own[:, 0])
            else:
                X[:, j] = draw_categories(own, stream)
        return X

    def _joint(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.class_prior_), (len(rows), 1))
        _finite.require(rows, "X", None, "MixedNB", allow_nan=True)
        for j, (kind, table) in enumerate(zip(self.kinds_, self.parameters_, strict=True)):
            x = np.asarray(rows[:, j], dtype=np.float64)
            there = np.flatnonzero(~np.isnan(x))
            if len(there):
                joint[there] += log_densities(kind, table, x[there], j)
        return joint

    def _rescued(self, rows: Any) -> Array:
        """Return the probabilities of the classes, for rows whose squares overflow."""
        with np.errstate(divide="ignore"):
            return np.tile(np.log(self.class_prior_), (len(rows), 1))


def log_densities(kind: str, table: Array, x: Array, j: int) -> Array:
    """Return log-densities of the entries of a column in each class, (n, k); nothing for values that no row of the fit had."""
    if kind == "gaussian":
        return np.asarray(-0.5 * (CIRCLE + np.log(table[:, 1]) + (x[:, None] - table[:, 0]) ** 2 / table[:, 1]))
    if kind == "poisson":
        from scipy.special import gammaln  # noqa: PLC0415  (takes long to load)

        require_counts(x, j)
        return np.asarray(x[:, None] * np.log(table[:, 0]) - table[:, 0] - gammaln(x + 1)[:, None])
    codes, logs = _codes(x, kind, j), np.log(table).T
    known = codes < len(logs)
    return np.where(known[:, None], logs[np.where(known, codes, 0)], 0.0)


def require_counts(x: Array, j: int) -> None:
    """Refuse negative counts."""
    if x.min(initial=0.0) < 0:
        raise InvalidData(
            f"Negative values in column {j} of data passed to MixedNB: {x.min():g}. Counts are zero or more."
        )


def _codes(x: Array, kind: str, j: int) -> Any:
    if kind == "bernoulli":
        return (x > 0).astype(np.intp)
    if x.min(initial=0.0) < 0 or x.max(initial=0.0) >= MOST_CATEGORIES:
        raise InvalidData(
            f"Column {j} of data passed to MixedNB holds {x.min():g} to {x.max():g}: values of categories are numbered from 0 to"
            f" {MOST_CATEGORIES - 1} at most. qed.preprocessing.OrdinalEncoder numbers them."
        )
    return x.astype(np.intp)


def _read_kinds(given: Any, p: int) -> list[str]:
    kinds = [given] * p if isinstance(given, str) else list(given)
    if len(kinds) != p or any(one not in KINDS for one in kinds):
        raise InvalidParameter(
            f"MixedNB.distributions must be one of {KINDS}, or a list with one for each of {p} columns; got {given!r:.200}."
        )
    return kinds


def _spread(x: Array, s: Array) -> float:
    """Return the variance of the entries of a column."""
    there = ~np.isnan(x)
    if not s[there].any():
        return 0.0
    mean = np.average(x[there], weights=s[there])
    return float(np.average((x[there] - mean) ** 2, weights=s[there]))
