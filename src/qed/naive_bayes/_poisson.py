"""Naive Bayes for counts of events: each class has a rate for every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, NonNegative, NonNegativeVector, fitted, param
from qed.core._posterior import Generative
from qed.data._kernels import products
from qed.mixture._independent import log_factorials
from qed.naive_bayes._counting import LinearCounts, logarithms, times

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.data._class_sums import ClassSums


class PoissonNB(LinearCounts, Generative):
    r"""Naive Bayes with Poisson distributions, for counts.

    Objective
    ---------
    .. math::
        \max_{\pi, \lambda} \; \sum_i s_i \Big( \log \pi_{y_i} + \sum_j \big[ x_{ij} \log \lambda_{y_i j} - \lambda_{y_i j}
        - \log x_{ij}! \big] \Big) + \sum_k \sum_j \alpha_j (m_j \log \lambda_{kj} - \lambda_{kj})

    The likelihood with ``alpha`` rows at m in every class, a gamma prior; m is the mean of all rows and one row of ones. Its
    maximum is at the means of the classes, these rows included.

    Certificate
    -----------
    LikelihoodCertificate: shares of classes and rates of columns are the best ones, exact for whole counts up to the last bits of
    a logarithm, and the log-likelihood, factorials left out, is as stated.

    Cost
    ----
    One pass over the entries that are not zero, O(nnz K) for K classes, and O(K p) memory; a prediction the same. Rows can come in
    chunks, be added by ``partial_fit`` and taken out again by ``forget``, exactly for whole counts.

    See Also
    --------
    MultinomialNB : Shares of words, whatever the length of a text.
    qed.mixture.PoissonMixture : Groups of counts without labels.

    Notes
    -----
    Unlike in `MultinomialNB` the total of a row is evidence too: a class of long texts has larger rates. Scores are linear in the
    counts. With ``alpha=0`` an event that a class never had excludes it; a row that all classes exclude gets their prior
    probabilities.

    Examples
    --------
    >>> from qed.naive_bayes import PoissonNB
    >>> model = PoissonNB(alpha=0.0).fit([[2, 0], [4, 2], [0, 9], [0, 7]], ["day", "day", "night", "night"])
    >>> model.rates_.round(6).tolist()
    [[3.0, 1.0], [0.0, 8.0]]
    >>> model.predict([[3, 1], [0, 6]]).tolist()
    ['day', 'night']
    """

    alpha: NonNegative | NonNegativeVector = param(
        1.0, "How many rows at the mean of all rows are added to every class: one number, or one for each column."
    )

    feature_log_prob_: Array = fitted(
        "Logarithm of the rate of each column in each class, (k, p).", shape="(k, p)", below=np.inf, finite=False
    )

    @property
    def rates_(self) -> Array:
        """Mean count of each column in each class, those of the prior among the rows, (k, p)."""
        return np.asarray(np.exp(self.feature_log_prob_))

    def _learn(self, moments: ClassSums, classes: Array) -> None:
        share = self._learn_classes(moments, classes)
        alpha, weight = self._smoothing(moments.n_features), moments.weight[:, np.newaxis]
        mean = (moments.total.sum(axis=0) + 1) / (moments.weight.sum() + 1)
        whole = weight + alpha
        # a class without rows, and none added: nothing is known, and it has the rates of all
        rates = np.where(whole > 0, (moments.total + alpha * mean) / np.where(whole > 0, whole, 1.0), mean)
        self.feature_count_, self.moments_ = moments.total.copy(), moments
        self.feature_log_prob_ = logarithms(rates)
        events = times(moments.total, self.feature_log_prob_) - weight * rates
        what = f"Shares of {len(classes)} classes and rates of {moments.n_features} columns"
        self._certified(what, moments, share, float(events.sum() / moments.weight.sum()))

    def _weights(self) -> tuple[Array, Array]:
        return self.feature_log_prob_, np.asarray(self.class_log_prior_ - self.rates_.sum(axis=1))

    def _joint(self, rows: Any) -> Array:
        return super()._joint(rows) - log_factorials(rows)[:, np.newaxis]

    def _comparable(self, rows: Any) -> Array:
        """Return scores without factorials, which are the same for all classes."""
        weights, levels = self._weights()
        if weights.min() > -np.inf:
            with np.errstate(over="ignore", invalid="ignore"):
                joint = products(rows, weights, levels)
            if np.isfinite(joint).all():
                return joint
        return super()._comparable(rows)  # which looks for what is not finite

    def _draw(self, code: Any, stream: Generator) -> Array:
        return np.asarray(stream.poisson(self.rates_[code]))
