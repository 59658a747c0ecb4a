"""Naive Bayes for yes and no: each class has every property, or not, with its own probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, InvalidData, NonNegative, _finite, fitted, param
from qed.core._kernels import all_finite
from qed.core._posterior import Generative
from qed.data._kernels import products
from qed.naive_bayes._counting import LinearCounts, logarithms, times

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.data._class_sums import ClassSums


class BernoulliNB(LinearCounts, Generative, positive_only=False):
    r"""Naive Bayes with Bernoulli distributions, for binary features.

    Objective
    ---------
    .. math::
        \max_{\pi, \theta} \; \sum_i s_i \Big( \log \pi_{y_i} + \sum_j \big[ x_{ij} \log \theta_{y_i j}
        + (1 - x_{ij}) \log (1 - \theta_{y_i j}) \big] \Big)
        + \sum_k \sum_j \alpha_j \log \theta_{kj} (1 - \theta_{kj})

    with :math:`x_{ij} = 1` where an entry is above ``binarize`` and 0 elsewhere: the likelihood with ``alpha`` rows that have a
    property and ``alpha`` that do not, a Beta prior. Its maximum is at shares of the counts.

    Certificate
    -----------
    LikelihoodCertificate: shares of classes and of properties are the best ones, exact for whole weights up to the last bits of
    a logarithm, and the log-likelihood is as stated.

    Cost
    ----
    One pass, O(nnz K) for K classes, and O(K p) memory; a prediction the same. Rows can come in chunks, be added by
    ``partial_fit`` and taken out again by ``forget``, exactly for whole weights.

    See Also
    --------
    MultinomialNB : How often a word occurs.
    CategoricalNB : Properties with more than two values.

    Notes
    -----
    That a property is missing counts as evidence, unlike in `MultinomialNB`. Scores are linear in the binarised columns. With
    ``alpha=0`` what a class never showed excludes it; a row that all classes exclude gets their prior probabilities.

    Examples
    --------
    >>> from qed.naive_bayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[1, 0]]).round(3).tolist()
    [[0.75, 0.25]]
    """

    binarize: NonNegative | None = param(
        0.0, "Entries above this count as one, others as zero; None for columns that hold only zeros and ones."
    )

    feature_log_absence_: Array = fitted(
        "Logarithm of the probability that a property is not there, (k, p).", shape="(k, p)", high=0, finite=False
    )

    def _prepared(self, rows: Any) -> Any:
        dense = isinstance(rows, np.ndarray)
        values = rows if dense else rows.data
        if not all_finite(values):  # a comparison would hide it
            _finite.require(rows, "X", None, "BernoulliNB")
        if self.binarize is None:
            _require_binary(values)
            return rows
        present = (values > self.binarize).astype(rows.dtype)
        return present if dense else type(rows)((present, rows.indices, rows.indptr), shape=rows.shape)

    def _draw(self, code: Any, stream: Generator) -> Array:
        """Draw zeros and ones; with a bound above zero, that bound and one more, which are read as zeros and ones."""
        present = np.exp(self.feature_log_prob_)
        drawn = stream.random((len(code), present.shape[1])) < present[code]
        return np.asarray(drawn + float(self.binarize or 0.0))

    def _learn(self, moments: ClassSums, classes: Array) -> None:
        share = self._learn_classes(moments, classes)
        self.feature_count_, self.moments_ = moments.total.copy(), moments
        present, absent = self._logs(moments)
        self.feature_log_prob_, self.feature_log_absence_ = present, absent
        missing = moments.weight[:, np.newaxis] - moments.total
        rows = float((times(moments.total, present) + times(missing, absent)).sum() / moments.weight.sum())
        what = f"Shares of {len(classes)} classes and of {moments.n_features} properties"
        self._certified(what, moments, share, rows)

    def _logs(self, moments: ClassSums) -> tuple[Array, Array]:
        """Return logarithms of the probabilities that a property is there, and that it is not."""
        alpha = self._smoothing(moments.n_features)
        with_it, without = moments.total + alpha, moments.weight[:, np.newaxis] - moments.total
        np.maximum(without, 0.0, out=without)
        without += alpha
        whole = with_it + without
        unknown = whole <= 0  # a class without rows, and none added
        with_it[unknown], without[unknown], whole[unknown] = 1.0, 1.0, 2.0
        with_it /= whole
        without /= whole
        return logarithms(with_it), logarithms(without)

    def _weights(self) -> tuple[Array, Array]:
        absent = self.feature_log_absence_
        with np.errstate(invalid="ignore"):
            weights = np.where(np.isneginf(self.feature_log_prob_), -np.inf, self.feature_log_prob_ - absent)
        return weights, np.asarray(self.class_log_prior_ + absent.sum(axis=1))

    def _joint(self, rows: Any) -> Array:
        present, absent = self.feature_log_prob_, self.feature_log_absence_
        rows = self._prepared(rows)
        if min(present.min(), absent.min()) > -np.inf:
            return products(rows, present - absent, self.class_log_prior_ + absent.sum(axis=1))
        never, always = np.isneginf(present), np.isneginf(absent)
        # zero times minus infinity is nothing at all: contradictions are counted, and exclude a class
        present, absent = np.where(never, 0.0, present), np.where(always, 0.0, absent)
        joint = products(rows, present - absent, self.class_log_prior_ + absent.sum(axis=1))
        against = products(rows, never.astype(np.float64) - always, always.sum(axis=1).astype(np.float64))
        joint[against > 0.5] = -np.inf
        return joint


def _require_binary(values: Array) -> None:
    other = (values != 0) & (values != 1)
    if other.any():
        raise InvalidData(
            f"BernoulliNB(binarize=None) takes zeros and ones, and X holds {float(values[other][0]):g}. Give binarize a bound."
        )
