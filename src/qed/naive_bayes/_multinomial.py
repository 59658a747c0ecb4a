"""Naive Bayes for counts: each class draws words, one after the other, by its own probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, InvalidData, fitted, generator, param
from qed.core._posterior import drawn, whole_number
from qed.naive_bayes._counting import LinearCounts, logarithms, times

if TYPE_CHECKING:
    from qed.data._class_sums import ClassSums


class MultinomialNB(LinearCounts):
    r"""Naive Bayes with multinomial distributions, for word counts.

    Objective
    ---------
    .. math::
        \max_{\pi, \theta} \; \sum_i s_i \Big( \log \pi_{y_i} + \sum_j x_{ij} \log \theta_{y_i j} \Big)
        + \sum_k \sum_j \alpha_j \log \theta_{kj}, \qquad \sum_j \theta_{kj} = 1

    The likelihood of the words in their order, with ``alpha`` words of each kind added to every class, which is a Dirichlet
    prior. Its maximum is at shares of the counts.

    Certificate
    -----------
    LikelihoodCertificate: shares of classes and of words are the best ones, exact for whole counts up to the last bits of a
    logarithm, and the log-likelihood is as stated.

    Cost
    ----
    One pass over the entries that are not zero, O(nnz K) for K classes, and O(K p) memory; a prediction the same. Rows can come
    in chunks, be added by ``partial_fit`` and taken out again by ``forget``, exactly for whole counts.

    See Also
    --------
    ComplementNB : Learns each class from all others, for classes of very different sizes.
    BernoulliNB : Whether a word occurs, not how often.

    Notes
    -----
    Scores are linear in the counts: ``coef_`` and ``intercept_`` are there as for linear models. With ``alpha=0`` a word that a
    class never had excludes that class; a row that all classes exclude gets their prior probabilities.

    Examples
    --------
    >>> from qed.naive_bayes import MultinomialNB
    >>> words = ["win", "money", "meet", "today"]
    >>> X = [[1, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    >>> model = MultinomialNB().fit(X, ["spam", "spam", "other", "other"])
    >>> model.predict_proba([[1, 1, 0, 0]]).round(3).tolist()
    [[0.2, 0.8]]
    """

    def sample(self, n_samples: int = 1, random_state: Any = None, *, n_words: int) -> tuple[Array, Array]:
        """Draw rows and labels from the fitted distribution: a label by its probability, then the words of a text of that class.

        Parameters
        ----------
        n_samples : int
            How many rows.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        n_words : int
            How many words each row counts: the model says nothing of the length of a text.

        Returns
        -------
        X : ndarray of shape (n_samples, p)
            Counts of words.
        y : ndarray of shape (n_samples,)
            Their labels.
        """
        self._check_is_fitted()
        words, shares = whole_number(n_words, "n_words"), np.exp(self.feature_log_prob_)
        shares /= shares.sum(axis=1, keepdims=True)
        stream = generator(random_state)
        return drawn(
            self.classes_,
            self._class_shares(),
            n_samples,
            stream,
            lambda code, stream: stream.multinomial(words, shares[code]),
        )

    def _learn(self, moments: ClassSums, classes: Array) -> None:
        share = self._learn_classes(moments, classes)
        smooth = moments.total + self._smoothing(moments.n_features)
        total = smooth.sum(axis=1, keepdims=True)
        # a class without any word, and none added: nothing is known, and all words are as probable
        known = np.where(total > 0, smooth, 1.0)
        self.feature_count_, self.moments_ = moments.total.copy(), moments
        self.feature_log_prob_ = logarithms(known / known.sum(axis=1, keepdims=True))
        words = float(times(moments.total, self.feature_log_prob_).sum() / moments.weight.sum())
        self._certified(f"Shares of {len(classes)} classes and of {moments.n_features} words", moments, share, words)


class ComplementNB(LinearCounts):
    r"""Complement naive Bayes, for imbalanced text classification: each class is modelled by the words of all others.

    Objective
    ---------
    .. math::
        \max_{\theta} \; \sum_i s_i \sum_{k \neq y_i} \sum_j x_{ij} \log \theta_{kj}
        + \sum_k \sum_j \alpha_j \log \theta_{kj}, \qquad \sum_j \theta_{kj} = 1

    The likelihood of the rows outside of each class. Weights are :math:`-\log \theta_{kj}`, with ``norm`` divided by their sum.

    Certificate
    -----------
    LikelihoodCertificate: shares of the words outside of each class are the best ones, exact for whole counts up to the last
    bits of a logarithm, and the log-likelihood of the objective is as stated.

    Cost
    ----
    That of `MultinomialNB`.

    See Also
    --------
    MultinomialNB : Learns each class from its own rows.

    Notes
    -----
    Priors have no part in the scores of two or more classes, as in scikit-learn; probabilities are those of the scores, and no
    more calibrated than they are.

    Examples
    --------
    >>> from qed.naive_bayes import ComplementNB
    >>> ComplementNB().fit([[3, 0], [2, 1], [0, 2]], ["a", "a", "b"]).predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    norm: bool = param(False, "Whether the weights of a class are divided by their sum.")

    feature_all_: Array = fitted("Weighted sum of each column in all classes, (p,).", shape="(p,)")

    def _learn(self, moments: ClassSums, classes: Array) -> None:
        self._learn_classes(moments, classes)
        every = moments.total.sum(axis=0)
        outside = np.maximum(every - moments.total, 0.0)
        smooth = outside + self._smoothing(moments.n_features)
        if not (smooth > 0).all():
            k, j = map(int, np.argwhere(~(smooth > 0))[0])
            raise InvalidData(
                f"Column {j} occurs in no other class than number {k}, and its weight would be infinite: ComplementNB needs an"
                " alpha above zero."
            )
        logs = np.log(smooth / smooth.sum(axis=1, keepdims=True))
        self.feature_count_, self.feature_all_, self.moments_ = moments.total.copy(), every, moments
        self.feature_log_prob_ = logs / logs.sum(axis=1, keepdims=True) if self.norm else -logs
        words = float((outside * logs).sum() / moments.weight.sum())
        what = f"Shares of {moments.n_features} words outside of each of {len(classes)} classes"
        self._certified(what, moments, np.zeros(len(classes)), words)

    def _weights(self) -> tuple[Array, Array]:
        levels = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        return self.feature_log_prob_, levels
