"""Models of several targets, one after the other: each sees what those before it say."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    Regressor,
    Seed,
    Traits,
    clone,
    fitted,
    generator,
    param,
)
from qed.core._arrays import require_kind
from qed.core._parts import copies_with, traits_of
from qed.core._routing import RoutesToOne
from qed.core._tables import is_sparse
from qed.core._targets import as_target
from qed.model_selection import check_cv
from qed.model_selection._judge import is_classifier

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def beside(X: Any, columns: Array) -> Any:
    """Return rows with further columns."""
    if is_sparse(X):
        from scipy import sparse  # noqa: PLC0415

        return sparse.hstack([X, columns]).tocsr()
    return np.hstack([X, columns])


class _Chain(RoutesToOne):
    """What both share: the order, and models that see the targets before theirs."""

    def _read(self, X: Any, Y: Any) -> tuple[Any, Array]:
        owner: Any = self
        if owner.estimator is None or isinstance(owner.estimator, type) or not hasattr(owner.estimator, "fit"):
            raise InvalidParameter(f"{type(self).__name__}.estimator must be a model, got {owner.estimator!r:.100}.")
        if Y is None:
            raise InvalidData(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        target = as_target(Y, "y")
        if target.dtype.kind == "c":
            require_kind(target, "y")
        rows = owner._fit_data(X, np.zeros(len(target))).X  # noqa: SLF001  (targets are read by the models, one by one)
        if target.ndim != 2:
            raise InvalidData(f"y must have one column for each target, got an array of shape {target.shape}.")
        return rows, target

    def _order(self, count: int) -> list[int]:
        owner: Any = self
        if owner.order is None:
            return list(range(count))
        if isinstance(owner.order, str):
            if owner.order != "random":
                raise InvalidParameter(f"{type(self).__name__}.order must be 'random', a list of columns or None.")
            found = generator(owner.random_state).permutation(count).tolist()
            return [int(one) for one in found]
        listed = [int(one) for one in owner.order]
        if sorted(listed) != list(range(count)):
            raise InvalidParameter(f"invalid order: {owner.order!r:.100} must name each of {count} targets once.")
        return listed

    def _learn(self, X: Any, Y: Any, fit_params: dict[str, Any], method: str | None) -> None:
        owner: Any = self
        fit_params = self._options_inside(fit_params)
        rows, target = self._read(X, Y)
        owner.order_ = np.array(self._order(target.shape[1]), dtype=np.int64)
        owner.estimators_ = []
        for place, column in enumerate(owner.order_.tolist()):
            told = self._told(rows, target, place, method, fit_params)
            model = clone(owner.estimator)
            model.fit(beside(rows, told) if place else rows, target[:, column], **fit_params)
            owner.estimators_.append(model)
        owner.certificate_ = composite_certificate(
            [(f"target {column}", one) for column, one in zip(owner.order_, owner.estimators_, strict=True)]
        )

    def _told(self, rows: Any, target: Array, place: int, method: str | None, fit_params: dict[str, Any]) -> Array:
        """Return what a model is told about the targets before its own: the truth, or predictions by folds."""
        owner: Any = self
        before = owner.order_[:place]
        if owner.cv is None or method is None:
            return np.column_stack([_told_number(target[:, one]) for one in before] or [np.zeros((len(target), 0))])
        columns = np.zeros((rows.shape[0], place))
        for at, column in enumerate(before.tolist()):
            y = target[:, column]
            X = beside(rows, columns[:, :at]) if at else rows
            for train, test in check_cv(owner.cv, y, classifier=is_classifier(owner.estimator)).split(X, y):
                cut = {k: v[train] if hasattr(v, "shape") and len(v) == len(y) else v for k, v in fit_params.items()}
                model = clone(owner.estimator).fit(X[train], y[train], **cut)
                columns[test, at] = _one_column(getattr(model, method)(X[test]), np.unique(y))
        return columns

    def _walk(self, X: Any, method: str, told: str) -> list[Any]:
        """Ask the models in order; each is told what those before it answered by another method."""
        owner: Any = self
        rows = owner._new_data(X)  # noqa: SLF001
        answers: list[Any] = [None] * len(owner.estimators_)
        columns = np.zeros((rows.shape[0], 0))
        for column, model in zip(owner.order_.tolist(), owner.estimators_, strict=True):
            seen = beside(rows, columns) if columns.shape[1] else rows
            answers[column] = getattr(model, method)(seen)
            answer = answers[column] if method == told else getattr(model, told)(seen)
            columns = np.column_stack([columns, _one_column(answer, getattr(model, "classes_", None))])
        return answers

    def _inner_traits(self, own: Traits) -> Traits:
        owner: Any = self
        if owner.estimator is None or isinstance(owner.estimator, type):
            return own
        inner = traits_of(owner.estimator)
        return own._replace(sparse=inner.sparse, allow_nan=inner.allow_nan, positive_only=inner.positive_only)


def _told_number(labels: Array) -> Array:
    """Return a target as later models see it: as it is, or of words the numbers of the labels."""
    if labels.dtype.kind in "biuf":
        return labels.astype(np.float64)
    return np.unique(labels, return_inverse=True)[1].astype(np.float64)


def _one_column(answer: Any, classes: Any = None) -> Array:
    """Return an answer as one number for each row: of probabilities that of the last class, of words their numbers."""
    array = np.asarray(answer)
    if array.dtype.kind not in "biuf":
        array = np.searchsorted(classes, array)
    return array.astype(np.float64) if array.ndim == 1 else array[:, -1].astype(np.float64)


class RegressorChain(Regressor, _Chain, multi_output=True, single_output=False):
    """Regressor chain for several targets: each regressor also uses the targets before its own.

    Objective
    ---------
    That of the regressor, target by target, on the rows and the earlier targets.

    Certificate
    -----------
    CompositeCertificate: the model of each target keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the regressor, once for each target; with ``cv`` once more for each fold and earlier target.

    Examples
    --------
    >>> from qed.multioutput import RegressorChain
    >>> from qed.linear_model import LinearRegression
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]]
    >>> RegressorChain(LinearRegression()).fit(X, Y).predict([[3.0]]).round(6)
    array([[3., 7.]])
    """

    estimator: Any = param(None, "The regressor.")
    _: KW_ONLY
    order: Any = param(None, "The order of the targets: a list of columns, 'random', or None for their own.")
    cv: Any = param(None, "None to tell the truth about earlier targets in the fit; folds to tell predictions.")
    random_state: Seed = param(None, "Seed of a random order.")
    verbose: bool = param(False, "Not supported.", kind="refused", instead="Listen with qed.listen.")

    order_: Array = fitted(
        "The order of the targets.", dtype="int64", shape="(*,)", permutation=True, length="estimators_"
    )
    estimators_: list[Any] = fitted("The fitted regressors, in this order.", check=copies_with("predict"))
    certificate_: CompositeCertificate = fitted("The certificates of the regressors.")

    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Fit the regressors in order.

        Parameters
        ----------
        Y : array-like of shape (n, m)
            Targets.
        **fit_params : object
            Passed to ``fit`` of every regressor.
        """
        self._learn(X, Y, fit_params, "predict")
        return self

    def predict(self, X: Any) -> Array:
        """Predict every target, each from the rows and the predictions before it.

        Returns
        -------
        ndarray of shape (n, m)
            Predictions.
        """
        return np.column_stack(self._walk(X, "predict", "predict"))

    def _traits(self) -> Traits:
        return self._inner_traits(super()._traits())


class ClassifierChain(Classifier, _Chain, multi_output=True, single_output=False):
    """Classifier chain for several targets: each classifier also uses the targets before its own.

    Objective
    ---------
    That of the classifier, target by target, on the rows and the earlier targets.

    Certificate
    -----------
    CompositeCertificate: the model of each target keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the classifier, once for each target; with ``cv`` once more for each fold and earlier target.

    Examples
    --------
    >>> from qed.multioutput import ClassifierChain
    >>> from qed.linear_model import LogisticRegression
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 0], [0, 1], [1, 1], [1, 1]]
    >>> ClassifierChain(LogisticRegression(C=100.0)).fit(X, Y).predict([[0.0], [3.0]]).tolist()
    [[0, 0], [1, 1]]
    """

    estimator: Any = param(None, "The classifier.")
    _: KW_ONLY
    order: Any = param(None, "The order of the targets: a list of columns, 'random', or None for their own.")
    cv: Any = param(None, "None to tell the truth about earlier targets in the fit; folds to tell predictions.")
    chain_method: Any = param(
        "predict",
        "What later classifiers are told of earlier ones: 'predict', 'predict_proba' or 'decision_function', or a list of these, of"
        " which the first counts that the classifier has.",
    )
    random_state: Seed = param(None, "Seed of a random order.")
    verbose: bool = param(False, "Not supported.", kind="refused", instead="Listen with qed.listen.")

    order_: Array = fitted(
        "The order of the targets.", dtype="int64", shape="(*,)", permutation=True, length="estimators_"
    )
    estimators_: list[Any] = fitted("The fitted classifiers, in this order.", check=copies_with("predict"))
    classes_: list[Array] = fitted("The labels of each target.", dtype="label", shape="(*,)", length="estimators_")
    chain_method_: str = fitted("What later classifiers are told.", one_of=METHODS)
    certificate_: CompositeCertificate = fitted("The certificates of the classifiers.")

    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Fit the classifiers in order.

        Parameters
        ----------
        Y : array-like of shape (n, m)
            Labels, one column a target; later classifiers see words as their numbers in order.
        **fit_params : object
            Passed to ``fit`` of every classifier.
        """
        listed = [self.chain_method] if isinstance(self.chain_method, str) else list(self.chain_method)
        usable = [one for one in listed if one in METHODS and hasattr(self.estimator, one)]
        if not usable:
            raise InvalidParameter(
                f"ClassifierChain.chain_method must name a method of the classifier among {METHODS}, got {self.chain_method!r}."
            )
        self.chain_method_ = usable[0]
        self._learn(X, Y, fit_params, self.chain_method_)
        self.classes_ = [self.estimators_[at].classes_ for at in np.argsort(self.order_)]
        return self

    def predict(self, X: Any) -> Array:
        """Predict every label, each from the rows and the answers before it.

        Returns
        -------
        ndarray of shape (n, m)
            Labels.
        """
        return np.column_stack(self._walk(X, "predict", self._told_by()))

    def _told_by(self) -> str:
        self._check_is_fitted()
        return self.chain_method_

    def _asked(self, method: str) -> Any:
        if not hasattr(self.estimator, method):
            raise AttributeError(f"{type(self.estimator).__name__} in this ClassifierChain has no {method}.")
        return lambda X: np.column_stack([_one_column(one) for one in self._walk(X, method, self._told_by())])

    @property
    def predict_proba(self) -> Any:
        """Return the probability of the last label of every target, shape (n, m); there if the classifier has them."""
        return self._asked("predict_proba")

    @property
    def decision_function(self) -> Any:
        """Return the score of every target, shape (n, m); there if the classifier has them."""
        return self._asked("decision_function")

    def _traits(self) -> Traits:
        return self._inner_traits(super()._traits())
