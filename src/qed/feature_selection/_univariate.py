"""Columns that are kept or not by a score of their own, each without a look at the others."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Probability,
    fitted,
    param,
)
from qed.core._params import AnyFunction  # noqa: TC001  (read from the annotation)
from qed.core._rules import Number
from qed.core._targets import as_target
from qed.feature_selection._scores import f_classif
from qed.feature_selection._selector import Selector

Percentage = Annotated[float, Number(0, 100)]
SCORE = (
    "Function of (X, y) that gives the scores of the columns, or scores and p-values: f_classif, chi2, mutual_info_classif,"
    " f_regression, r_regression, mutual_info_regression, or your own. Large scores are good."
)


def _ordered(scores: Array) -> Array:
    """Return finite scores, in which undefined ones come last."""
    largest = float(np.finfo(np.float64).max)
    return np.clip(np.where(np.isnan(scores), -largest, scores), -largest, largest)


def best_columns(scores: Array, count: int) -> Array:
    """Return which columns have the largest scores, ``count`` of them; of equal ones the last."""
    kept = np.zeros(len(scores), dtype=bool)
    kept[np.argsort(_ordered(scores), kind="stable")[len(scores) - min(count, len(scores)) :]] = True
    return kept


def best_share(scores: Array, percentile: float) -> Array:
    """Return which columns are in the best percentage; of those exactly at its edge the first, while there is room."""
    if percentile in (0, 100):
        return np.full(len(scores), percentile == 100)
    values = _ordered(scores)
    with np.errstate(over="ignore", invalid="ignore"):  # between the largest numbers there are
        edge = np.percentile(values, 100 - percentile)
    kept: Array = np.asarray(values > edge)
    at_edge = np.flatnonzero(values == edge)
    if len(at_edge):
        kept[at_edge[: max(int(len(scores) * percentile / 100) - int(kept.sum()), 0)]] = True
    return kept


def below_rate(p_values: Array, alpha: float) -> Array:
    """Return which columns have a p-value below a rate."""
    return p_values < alpha


def below_family_rate(p_values: Array, alpha: float) -> Array:
    """Return which columns have a p-value below a rate divided by the number of columns (Bonferroni)."""
    return p_values < alpha / len(p_values)


def below_discovery_rate(p_values: Array, alpha: float) -> Array:
    """Return which columns the procedure of Benjamini and Hochberg keeps."""
    p = len(p_values)
    ordered = np.sort(p_values)
    below = ordered[ordered <= float(alpha) / p * np.arange(1, p + 1)]
    return np.asarray(p_values <= below.max()) if len(below) else np.zeros(p, dtype=bool)


class _Univariate(Selector):
    """What all share: the scores."""

    score_func: Any

    scores_: Array = fitted("The score of each column.", shape="(p,)", finite=False, nan=True)
    pvalues_: Array | None = fitted("Its p-value.", shape="(p,)", low=0, high=1, nan=True)
    certificate_: ExactCertificate = fitted("What is proved about the scores.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the columns.

        Parameters
        ----------
        y : array-like of shape (n,), optional
            Targets, for scores that compare with one.
        """
        data = self._fit_data(X, None)
        p = data.X.shape[1]
        target = None if y is None else as_target(y, "y")
        if target is not None and len(target) != data.n_rows:
            raise InvalidData(
                f"Found input variables with inconsistent numbers of samples: {[data.n_rows, len(target)]}. X and y must be of the"
                " same rows."
            )
        self._look(p)
        found = self.score_func(data.X, target)
        scores, p_values = found if isinstance(found, tuple | list) and len(found) == 2 else (found, None)
        self.scores_ = np.array(scores, dtype=np.float64)
        self.pvalues_ = None if p_values is None else np.array(p_values, dtype=np.float64)
        for numbers in (self.scores_, self.pvalues_):
            if numbers is not None and numbers.shape != (p,):
                raise InvalidData(
                    f"score_func must return one number for each of {p} columns, got shape {numbers.shape}."
                )
        self.certificate_ = ExactCertificate(f"scores of {p} columns", data.n_rows, (data.n_rows + 64) * 2.0**-53)
        return self

    def _look(self, p: int) -> None:
        """Say what is odd about the parameters for so many columns."""

    def _p_values(self) -> Array:
        if self.pvalues_ is None:
            raise InvalidData(
                f"{type(self).__name__} needs p-values, and {getattr(self.score_func, '__name__', 'score_func')} gives none."
                " Use SelectKBest or SelectPercentile, or a score with p-values such as f_classif."
            )
        return self.pvalues_


class SelectKBest(_Univariate):
    """Keep the k columns with the largest scores.

    Objective
    ---------
    The k largest scores; of equal ones the last columns.

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score: O(n p) for analysis of variance, correlation and counts, O(p n log n) for mutual information.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import SelectKBest
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectKBest(k=2).fit(X, y).get_support(indices=True).tolist()
    [2, 3]
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    k: Literal["all"] | NonNegativeInt = param(10, "How many columns to keep.")

    scores_: Array = fitted("The score of each column.", shape="(p,)", finite=False, nan=True)
    pvalues_: Array | None = fitted("Its p-value; None for scores without.", shape="(p,)", low=0, high=1, nan=True)
    certificate_: ExactCertificate = fitted("What is proved about the scores.")

    def _look(self, p: int) -> None:
        if not isinstance(self.k, str) and self.k > p:
            warnings.warn(
                f"k={self.k} is greater than n_features={p}. All the features will be returned.",
                UserWarning,
                stacklevel=4,
            )

    def _kept(self) -> Array:
        return best_columns(self.scores_, len(self.scores_) if isinstance(self.k, str) else self.k)


class SelectPercentile(_Univariate):
    """Keep a percentage of the columns, those with the largest scores.

    Objective
    ---------
    Scores above the percentile; of columns exactly at it the first, while there is room.

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import SelectPercentile
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectPercentile(percentile=50).fit(X, y).get_support(indices=True).tolist()
    [2, 3]
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    percentile: Percentage = param(10, "How many percent of the columns to keep.")

    scores_: Array = fitted("The score of each column.", shape="(p,)", finite=False, nan=True)
    pvalues_: Array | None = fitted("Its p-value; None for scores without.", shape="(p,)", low=0, high=1, nan=True)
    certificate_: ExactCertificate = fitted("What is proved about the scores.")

    def _kept(self) -> Array:
        return best_share(self.scores_, self.percentile)


class SelectFpr(_Univariate):
    """Feature selection by a false positive rate: columns whose p-value is below ``alpha``.

    Objective
    ---------
    p-values below alpha: of columns that do not depend on the target, a share of alpha is kept on average.

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import SelectFpr
    >>> X, y = load_iris(return_X_y=True)
    >>> int(SelectFpr(alpha=0.01).fit(X, y).get_support().sum())
    4
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    alpha: Probability = param(0.05, "The largest p-value that is not small enough.")

    def _kept(self) -> Array:
        return below_rate(self._p_values(), self.alpha)


class SelectFdr(_Univariate):
    """Feature selection with a bound on the false discovery rate.

    Objective
    ---------
    The procedure of Benjamini and Hochberg with level alpha.

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import SelectFdr
    >>> X, y = load_iris(return_X_y=True)
    >>> int(SelectFdr(alpha=0.01).fit(X, y).get_support().sum())
    4
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    alpha: Probability = param(0.05, "Bound on the expected share of false columns among those kept.")

    def _kept(self) -> Array:
        return below_discovery_rate(self._p_values(), self.alpha)


class SelectFwe(_Univariate):
    """Feature selection with a bound on the family-wise error rate.

    Objective
    ---------
    p-values below alpha / p (Bonferroni).

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import SelectFwe
    >>> X, y = load_iris(return_X_y=True)
    >>> int(SelectFwe(alpha=0.01).fit(X, y).get_support().sum())
    4
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    alpha: Probability = param(0.05, "Bound on the probability that any column is kept by chance.")

    def _kept(self) -> Array:
        return below_family_rate(self._p_values(), self.alpha)


class GenericUnivariateSelect(_Univariate):
    """Keep columns by a score, with the rule as a parameter that a search can vary.

    Objective
    ---------
    That of SelectPercentile, SelectKBest, SelectFpr, SelectFdr or SelectFwe.

    Certificate
    -----------
    ExactCertificate: the scores and p-values are those of the rows. ``qed.verify`` computes them again from their definition.

    Cost
    ----
    That of the score.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.feature_selection import GenericUnivariateSelect
    >>> X, y = load_iris(return_X_y=True)
    >>> GenericUnivariateSelect(mode="k_best", param=1).fit(X, y).get_support(indices=True).tolist()
    [2]
    """

    score_func: AnyFunction = param(f_classif, SCORE)
    _: KW_ONLY
    mode: Literal["percentile", "k_best", "fpr", "fdr", "fwe"] = param("percentile", "The rule.")
    param: NonNegative | Literal["all"] = param(
        1e-5, "Its percentage, number of columns ('all' for every one) or level."
    )

    scores_: Array = fitted("The score of each column.", shape="(p,)", finite=False, nan=True)
    pvalues_: Array | None = fitted("Its p-value; None for scores without.", shape="(p,)", low=0, high=1, nan=True)
    certificate_: ExactCertificate = fitted("What is proved about the scores.")

    def _kept(self) -> Array:
        if self.mode == "k_best":
            return best_columns(self.scores_, len(self.scores_) if self.param == "all" else int(self.param))
        if self.param == "all":
            raise InvalidParameter(
                f"GenericUnivariateSelect.param must be a number with mode={self.mode!r}, got 'all'."
            )
        if self.mode == "percentile":
            return best_share(self.scores_, self.param)
        rule = {"fpr": below_rate, "fdr": below_discovery_rate, "fwe": below_family_rate}[self.mode]
        return rule(self._p_values(), self.param)
