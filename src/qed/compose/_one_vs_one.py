"""Each class against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.compose._codes import CodedClassifier, has_learnt
from qed.core import KW_ONLY, Array, param


class OneVsOneClassifier(CodedClassifier):
    """One-vs-one multiclass classification: a classifier for each pair of classes, and a majority vote.

    Objective
    ---------
    That of the classifier, pair by pair, on the rows of both classes.

    Certificate
    -----------
    CompositeCertificate: the classifier of each pair keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the classifier on the rows of two classes, c (c - 1) / 2 times for c classes.

    See Also
    --------
    OneVsRestClassifier : One classifier for each class.

    Notes
    -----
    Between classes with equally many votes the larger sum of scores decides, as far as it exceeds rounding; of equal sums the
    first class wins. `tied` names the rows for which votes alone did not decide.

    Examples
    --------
    >>> from qed.compose import OneVsOneClassifier
    >>> from qed.svm import LinearSVC
    >>> X, y = [[0.0], [0.5], [2.0], [2.5], [5.0], [5.5]], list("aabbcc")
    >>> model = OneVsOneClassifier(LinearSVC(C=100.0)).fit(X, y)
    >>> model.predict([[0.0], [2.2], [6.0]]).tolist()
    ['a', 'b', 'c']
    >>> model.votes([[0.0]]).tolist()
    [[2, 1, 0]]
    """

    estimator: Any = param(None, "The classifier of two classes.")
    _: KW_ONLY
    n_jobs: Any = param(None, "Pairs at the same time, in threads; -1 for as many as there are processors.")

    def predict(self, X: Any) -> Array:
        """Return the label with most votes."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def decision_function(self, X: Any) -> Array:
        """Return votes, plus less than half a vote for the sum of scores; with two classes the score of the second.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Scores.
        """
        said = self._answers(X)
        if len(self.classes_) == 2:
            return said[:, 0]
        book = self.code_book_.T.astype(np.float64)
        total = said @ book
        return self._counted(said) + total / (3.0 * (np.abs(total) + 1.0))

    def votes(self, X: Any) -> Array:
        """Count the votes of each class.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n, k)
            Votes; every row sums to the number of pairs.
        """
        return self._counted(self._answers(X))

    def tied(self, X: Any) -> Array:
        """Return the rows for which two or more classes have most votes.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int
            Numbers of rows.
        """
        votes = self.votes(X)
        return np.flatnonzero((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1)

    def _counted(self, said: Array) -> Array:
        book = self.code_book_
        learnt = np.array([has_learnt(part) for part in self.estimators_])  # in a stream some have met no row yet
        for_second, for_first = ((said > 0) & learnt).astype(np.intp), ((said <= 0) & learnt).astype(np.intp)
        return np.asarray(for_second @ (book.T > 0).astype(np.intp) + for_first @ (book.T < 0).astype(np.intp))

    def _book(self, n_classes: int) -> Array:
        first, second = np.triu_indices(n_classes, 1)
        book = np.zeros((n_classes, len(first)), dtype=np.int8)
        book[first, np.arange(len(first))] = -1
        book[second, np.arange(len(first))] = 1
        return book
