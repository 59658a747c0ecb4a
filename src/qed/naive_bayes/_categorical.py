"""Naive Bayes for categories: each class takes every value of a column with its own probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from qed.core import (
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    Number,
    Numbers,
    PositiveInt,
    _finite,
    fitted,
    param,
)
from qed.core._kernels import all_finite
from qed.core._posterior import Generative
from qed.data._class_sums import CategoryCounts
from qed.naive_bayes._counting import CountingClassifier, draw_categories, logarithms, times
from qed.naive_bayes._kernels import category_products

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from qed.data import Chunk
else:  # naming it for real would load numpy.typing at import
    ArrayLike = object


MOST_CATEGORIES = 1 << 24


def _has_its_columns(model: Any, moments: CategoryCounts) -> str:
    good = np.array_equal(moments.sizes, model.n_categories_) and moments.sums.n_classes == len(model.classes_)
    return "" if good else "should be of the columns and classes of the model"


class CategoricalNB(CountingClassifier, Generative, categorical=True):
    r"""Naive Bayes with categorical distributions; values are numbered from 0.

    Objective
    ---------
    .. math::
        \max_{\pi, \theta} \; \sum_i s_i \Big( \log \pi_{y_i} + \sum_j \log \theta_{y_i j x_{ij}} \Big)
        + \alpha \sum_k \sum_j \sum_c \log \theta_{kjc}, \qquad \sum_c \theta_{kjc} = 1

    The likelihood with ``alpha`` rows of each value added to every class, which is a Dirichlet prior. Its maximum is at shares
    of the counts; those of one column sum to one.

    Certificate
    -----------
    LikelihoodCertificate: shares of classes and of values are the best ones, exact for whole weights up to the last bits of a
    logarithm, and the log-likelihood is as stated.

    Cost
    ----
    One pass, O(n p K) for K classes, and O(K) memory for each value of each column; a prediction the same. Rows can come in
    chunks, be added by ``partial_fit`` and taken out again by ``forget``, exactly for whole weights.

    See Also
    --------
    qed.preprocessing.OrdinalEncoder : Encodes the values of string columns.
    BernoulliNB : Columns of two values.

    Notes
    -----
    Numbers with a fraction are cut to whole ones, as scikit-learn does; `qed.preprocessing.OrdinalEncoder` numbers categories and
    `qed.preprocessing.KBinsDiscretizer` cuts measurements on purpose. A column has as many values as its largest number says, at
    least ``min_categories``. Values that were never seen below that number get the probability that ``alpha`` gives them. A row
    with a value above it is judged by its other columns: no class has shown it (scikit-learn raises IndexError). With
    ``alpha=0`` a value that a class never had excludes it; a row that all classes exclude gets their prior probabilities.

    Examples
    --------
    >>> from qed.naive_bayes import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [1, 1], [2, 0], [2, 0]], ["a", "a", "b", "b"])
    >>> model.predict([[0, 1], [2, 0]]).tolist()
    ['a', 'b']
    """

    alpha: NonNegative = param(1.0, "What is added to the count of every value of every column.")
    min_categories: PositiveInt | Annotated[ArrayLike, Numbers(1, Number(low=1, whole=True))] | None = param(
        None, "Least number of values of the columns: one for all, or one for each; None for what the rows show."
    )

    category_count_: list[Array] = fitted(
        "For each column the weight of each value in each class, (k, values).",
        length="p",
        shape="(k, n_categories_[j])",
    )
    feature_log_prob_: list[Array] = fitted(
        "For each column the logarithm of the probability of each value, (k, values).",
        length="p",
        shape="(k, n_categories_[j])",
        finite=False,
        high=1e-12,
    )
    n_categories_: Array = fitted("How many values each column has.", dtype="int64", shape="(p,)", low=1)
    moments_: CategoryCounts = fitted(
        "The statistic that everything follows from; more rows are merged into it.",
        check=_has_its_columns,
        answers=False,
    )

    def _counted(self, chunk: Chunk, n_classes: int) -> CategoryCounts:
        _require_numbers(chunk.X)
        return CategoryCounts.of(chunk, n_classes)

    def _learn(self, moments: CategoryCounts, classes: Array) -> None:
        share = self._learn_classes(moments.sums, classes)
        p = len(moments.sizes)
        counted = moments.widened(np.maximum(moments.sizes, self._least(p)))
        alpha = self._smoothing(p)
        self.category_count_, self.feature_log_prob_, columns = [], [], 0.0
        for counts in counted.parts:
            smooth = counts + alpha
            total = smooth.sum(axis=1, keepdims=True)
            known = np.where(total > 0, smooth, 1.0)  # a class without rows, and none added: nothing is known
            logs = logarithms(known / known.sum(axis=1, keepdims=True))
            columns += float(times(counts, logs).sum())
            self.category_count_.append(counts.copy())
            self.feature_log_prob_.append(logs)
        self.n_categories_, self.moments_ = counted.sizes.copy(), moments
        what = f"Shares of {len(classes)} classes and of the values of {p} columns"
        self._certified(what, moments.sums, share, columns / float(moments.sums.weight.sum()))

    def _draw(self, code: Any, stream: Generator) -> Array:
        X = np.empty((len(code), len(self.feature_log_prob_)))
        for j, logs in enumerate(self.feature_log_prob_):
            X[:, j] = draw_categories(np.exp(logs)[code], stream)
        return X

    def _least(self, p: int) -> Array:
        least = np.asarray(1 if self.min_categories is None else self.min_categories, dtype=np.int64)
        if least.shape not in ((), (p,)):
            raise InvalidParameter(
                f"'min_categories' should have shape ({p},) when an array-like is provided. Got {least.shape} instead:"
                " CategoricalNB.min_categories is one number, or one for each column."
            )
        return np.broadcast_to(least, (p,))

    def _joint(self, rows: Any) -> Array:
        _require_numbers(rows)
        weights = np.concatenate(self.feature_log_prob_, axis=1)
        return category_products(rows, self.n_categories_, weights, self.class_log_prior_)


def _require_numbers(rows: Array) -> None:
    """Refuse what is no number of a category."""
    if not all_finite(rows):
        _finite.require(rows, "X", None, "CategoricalNB")
    low, high = (float(rows.min()), float(rows.max())) if rows.size else (0.0, 0.0)
    if low < 0:
        raise InvalidData(
            f"Negative values in data passed to CategoricalNB (input X): {low:g}. Values are numbered from 0."
        )
    if high >= MOST_CATEGORIES:
        raise InvalidData(f"CategoricalNB got the value {high:g}: a column can have {MOST_CATEGORIES} values at most.")
