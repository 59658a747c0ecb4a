"""Each class against all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.certificates._composite import composite_certificate
from qed.compose._codes import CodedClassifier
from qed.compose._steps import stacked
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, clone, fitted, param
from qed.core._jobs import mapped
from qed.core._targets import as_target

if TYPE_CHECKING:
    from qed.core import Traits


class Claims(NamedTuple):
    """Which classes claim each row, by the signs of their scores alone.

    Attributes
    ----------
    counts : ndarray of shape (n,)
        Classes that claim the row.
    none, several : ndarray of int
        Rows that no class claims, and rows that two or more do: where signs alone would not decide.
    """

    counts: Array
    none: Array
    several: Array


class OneVsRestClassifier(CodedClassifier):
    """One-vs-rest multiclass classification: a classifier for each class against all others.

    Objective
    ---------
    That of the classifier, class by class: rows of the class against all other rows.

    Certificate
    -----------
    CompositeCertificate: the classifier of each class keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the classifier, once for each class (once for two classes).

    See Also
    --------
    OneVsOneClassifier : One classifier for each pair of classes.

    Notes
    -----
    Of c classes of equal size each classifier sees one row in c on its positive side. Of equal scores the first class wins.

    Rows may have several labels, or none: y is then a table of zeros and ones with a column for each label, each column is learnt
    by itself, and predictions are such tables, with a one where the score is positive.

    Examples
    --------
    >>> from qed.compose import OneVsRestClassifier
    >>> from qed.svm import LinearSVC
    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [3.0, 0.0], [4.0, 0.0], [-3.0, 0.0], [-4.0, 0.0]], list("aabbcc")
    >>> OneVsRestClassifier(LinearSVC()).fit(X, y).predict([[0.0, 3.0], [5.0, 0.0], [-5.0, 0.0]]).tolist()
    ['a', 'b', 'c']
    """

    estimator: Any = param(None, "The classifier of two classes.")
    _: KW_ONLY
    n_jobs: Any = param(None, "Classes at the same time, in threads; -1 for as many as there are processors.")
    normalise: bool = param(
        False,
        "Whether to divide decision values by the norm of the coefficients: compares distances from the hyperplanes.",
    )

    multilabel_: bool = fitted("Whether rows have several labels, each with a column of y.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit a classifier for each class, or for each column of a table of labels.

        Parameters
        ----------
        y : array-like of shape (n,), or zeros and ones of shape (n, k)
            Labels, or which of k labels each row has.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.
        **fit_params : object
            Passed to ``fit`` of the classifiers.
        """
        has = _indicator(y)
        if has is None:
            super().fit(X, y, sample_weight, **fit_params)
        else:
            self._fit_columns(X, has, self._options_inside({**fit_params, "sample_weight": sample_weight}))
        self.multilabel_ = has is not None  # last: other columns than before make a model forget what it learnt
        return self

    def _learn_more(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        super()._learn_more(X, y, classes, sample_weight)
        self.multilabel_ = False
        return self

    def _fit_columns(self, X: Any, has: Array, extra: dict[str, Any]) -> Self:
        inner = self._require_classifier()
        weight = extra.pop("sample_weight", None)
        data = self._fit_data(X, has[:, 0], weight, finite=not self._traits().allow_nan)
        self._require_weighing(inner, weight)
        same = np.flatnonzero((has == has[0]).all(axis=0))
        if len(same):
            raise InvalidData(
                f"Column {same[0]} of y holds only {has[0, same[0]]}: there is nothing to tell apart. Leave the column out."
            )
        options = extra if data.weight is None else {**extra, "sample_weight": data.weight}

        def learnt(k: int) -> Any:
            return clone(inner).fit(data.X, has[:, k], **options)

        k = has.shape[1]
        self.classes_ = np.arange(k)
        self.code_book_ = (2 * np.eye(k, dtype=np.int8) - 1).astype(np.int8)
        self.estimators_ = list(mapped(learnt, list(range(k)), self.n_jobs))
        self.certificate_ = composite_certificate([(f"code {k}", part) for k, part in enumerate(self.estimators_)])
        return self

    def predict(self, X: Any) -> Array:
        """Return the label whose classifier has the largest score; of several labels a table of zeros and ones.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Labels.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.intp)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class; with two classes that of the second alone.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Scores.
        """
        scores = self._answers(X)
        if self.normalise:
            scores = scores / np.array([self._length(part) for part in self.estimators_])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def predict_proba(self) -> Any:
        """Return the probabilities of the classes, made to sum to one unless rows have several labels."""
        parts = self.__dict__.get("estimators_", [self.estimator])
        inner = next((one for one in parts if not hasattr(one, "predict_proba")), None)
        if inner is not None:
            raise AttributeError(f"{type(inner).__name__} in this OneVsRestClassifier has no predict_proba.")
        return self._probabilities

    def claims(self, X: Any) -> Claims:
        """Say which rows are claimed by no class, or by several, if signs alone decided.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        Claims
            Counts, and the rows undecided.
        """
        scores = self._answers(X)
        claimed = np.column_stack([scores <= 0, scores > 0]) if scores.shape[1] == 1 else scores > 0
        counts = claimed.sum(axis=1)
        return Claims(counts, np.flatnonzero(counts == 0), np.flatnonzero(counts > 1))

    def _probabilities(self, X: Any) -> Array:
        self._check_is_fitted()
        rows = self._new_data(X)
        shares = stacked([_second_share(part, rows) for part in self.estimators_])
        if shares.shape[1] == 1:
            return np.column_stack([1.0 - shares[:, 0], shares[:, 0]])
        if self.multilabel_:
            return shares
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1]))

    def _traits(self) -> Traits:
        own = super()._traits()
        return own._replace(multi_output=True) if self.__dict__.get("multilabel_", False) else own

    @staticmethod
    def _length(part: Any) -> float:
        if not hasattr(part, "coef_"):
            raise InvalidParameter(
                f"OneVsRestClassifier.normalise needs a classifier with coefficients; {type(part).__name__} has no coef_."
            )
        coef = part.coef_
        length = float(np.linalg.norm(coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)))
        return length if length > 0 else 1.0

    def _book(self, n_classes: int) -> Array:
        if n_classes == 2:
            return np.array([[-1], [1]], dtype=np.int8)
        return (2 * np.eye(n_classes, dtype=np.int8) - 1).astype(np.int8)


def _indicator(y: Any) -> Array | None:
    """Return a table of zeros and ones with several columns as integers; None for anything else, which the doors judge."""
    if y is None:
        return None
    table = y.toarray() if hasattr(y, "toarray") else as_target(y, "y")
    if table.ndim != 2 or table.shape[1] < 2 or not len(table) or table.dtype.kind not in "biuf":
        return None
    return table.astype(np.intp) if np.isin(table, (0, 1)).all() else None


def _second_share(part: Any, rows: Any) -> Array:
    shares = np.asarray(part.predict_proba(rows))
    if shares.ndim != 2 or shares.shape[1] < 2:
        raise InvalidData(f"{type(part).__name__} gives no probability of a second class. Fit it on two.")
    return np.asarray(shares[:, 1])
