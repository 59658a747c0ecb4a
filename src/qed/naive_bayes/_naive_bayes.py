"""What all naive Bayes models share: they are learnt from a statistic of the classes, which merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from qed.core._posterior import PosteriorClassifier
from qed.data._by_class import all_rows, fewer_rows, more_rows

if TYPE_CHECKING:
    from qed.core import Array
    from qed.data import Chunk


class NaiveBayes(PosteriorClassifier, chunks=True):
    """A classifier of sums over the rows of each class."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sum up the rows of each class, and find the parameters that follow.

        Parameters
        ----------
        X : array-like, frame, sparse container (where the model takes one) or source of shape (n, p)
            Rows to learn from; a source from ``qed.scan`` brings its own target.
        """
        moments, classes = all_rows(self, X, y, sample_weight, self._counted)
        self._learn(moments, classes)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the start.

        Parameters
        ----------
        X : array-like, frame, sparse container (where the model takes one) or source of shape (n, p)
            More rows.
        classes : array-like, optional
            All labels there will be; needed in the first call.
        """
        self._learn(more_rows(self, X, y, sample_weight, classes, self._counted), self.classes_)
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows, as if they had never been there: exact for whole counts, else up to a tracked rounding.

        This corrects a model; it is no guarantee of privacy.

        Parameters
        ----------
        X : array-like, frame, sparse container (where the model takes one) or source of shape (n, p)
            The rows to take out.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            The weights they were learnt with.

        Returns
        -------
        self
            The model of the rows that remain.

        Raises
        ------
        ForgetError
            When the rows cannot have been learnt, or rounding would be visible in what remains.
        """
        self._learn(fewer_rows(self, X, y, sample_weight, self._counted), self.classes_)
        return self

    def _counted(self, chunk: Chunk, n_classes: int) -> Any:
        """Return the statistic of a chunk."""
        raise NotImplementedError

    def _learn(self, moments: Any, classes: Array) -> None:
        """Store the parameters that follow from the statistic, and what is proved about them."""
        raise NotImplementedError
