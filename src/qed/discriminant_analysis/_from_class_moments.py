"""What discriminant analyses share: they are learnt from the moments of the classes, which merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from qed.core import Classifier
from qed.core._posterior import Generative
from qed.core._validation import stream_data
from qed.data import ClassMoments
from qed.data._by_class import fewer_rows
from qed.discriminant_analysis._covariances import class_moments, keep_moments, require_part_of_stream
from qed.linear_model._classes import require_classes

if TYPE_CHECKING:
    from qed.core import Array, FitData


def are_of_its_classes(model: Any, moments: ClassMoments) -> str:
    """Say what is wrong with the statistic of a fitted model: it is of its classes and columns."""
    k, p = len(model.classes_), model.n_features_in_
    good = moments.n_classes == k and all(part.n_features == p for part in moments.parts)
    return "" if good else f"should be of {k} classes and {p} columns"


class FromClassMoments(Classifier, Generative):
    """A classifier of the means and covariances of its classes."""

    if TYPE_CHECKING:  # of every classifier that is one
        classes_: Array
        priors_: Array
        moments_: ClassMoments

        def _learn(self, moments: ClassMoments, classes: Array, data: FitData | None) -> None: ...

    def _class_shares(self) -> Array:
        return self.priors_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find shares, means and covariances of the classes, and what tells the classes apart.

        Parameters
        ----------
        X : array-like, frame or source of shape (n, p)
            Rows to learn from; a source from ``qed.scan`` brings its own target.
        """
        data = self._fit_data(X, y, sample_weight, finite=False)
        require_classes(type(self).__name__, data.classes, None)
        moments = class_moments(self, data)
        self._learn(moments, data.classes, data)
        keep_moments(self, moments, always=False)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the start.

        Parameters
        ----------
        X : array-like, frame or source of shape (n, p)
            More rows; those of the first call must hold every class, and enough of it for a covariance of its own.
        classes : array-like, optional
            All labels there will be; needed in the first call.
        """
        require_part_of_stream(self)
        data, first = stream_data(self, X, y, sample_weight, classes, "moments_")
        moments = class_moments(self, data)
        moments = moments if first else self.moments_.merge(moments)
        self._learn(moments, self.classes_, None)
        keep_moments(self, moments, always=True)
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt by ``partial_fit``, as if they had never been there, up to a tracked rounding.

        This corrects a model; it is no guarantee of privacy.

        Parameters
        ----------
        X : array-like, frame or source of shape (n, p)
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
        self._check_is_fitted()
        require_part_of_stream(self)
        moments = fewer_rows(self, X, y, sample_weight, ClassMoments.of)
        self._learn(moments, self.classes_, None)
        keep_moments(self, moments, always=True)
        return self
