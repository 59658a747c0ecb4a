"""One model for each target."""

from __future__ import annotations

from typing import Any, Self

from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.compose._steps import stacked
from qed.core import KW_ONLY, Array, Classifier, InvalidData, InvalidParameter, Regressor, Traits, clone, fitted, param
from qed.core._arrays import require_kind
from qed.core._jobs import mapped
from qed.core._parts import accepts_weight, copies_with, copy_columns, traits_of
from qed.core._routing import RoutesToOne
from qed.core._targets import as_target


def _targets(model: Any, Y: Any, sample_weight: Any) -> Any:
    """Return the targets as a table, once model and weights are known to go with them."""
    title, inner = type(model).__name__, model.estimator
    if inner is None or not hasattr(inner, "fit"):
        raise InvalidParameter(f"{title}.estimator must be a model, got {inner!r}.")
    if Y is None:
        raise InvalidData(f"This {title} estimator requires y to be passed, but the target y is None. Pass y after X.")
    table = as_target(Y, "y")
    if table.dtype.kind == "c":
        require_kind(table, "y")
    if table.ndim == 1:
        raise InvalidData("y must have at least two dimensions for multi-output regression but has only one.")
    if sample_weight is not None and not accepts_weight(inner):
        raise InvalidParameter("Underlying estimator does not support sample weights.")
    return table


def _with_weight(params: dict[str, Any], sample_weight: Any) -> dict[str, Any]:
    return {**params, **({} if sample_weight is None else {"sample_weight": sample_weight})}


def _fitted_for_each(model: Any, X: Any, Y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> list[Any]:
    options = model._options_inside(_with_weight(fit_params, sample_weight))  # noqa: SLF001
    table = _targets(model, Y, options.get("sample_weight"))

    def learnt(column: int) -> Any:
        return clone(model.estimator).fit(X, table[:, column], **options)

    return list(mapped(learnt, range(table.shape[1]), model.n_jobs))


def _taught_more(
    model: Any, X: Any, Y: Any, sample_weight: Any, params: dict[str, Any], classes: Any = None
) -> list[Any]:
    """Return the models after more rows: clones in the first call, those there are in later ones."""
    table = _targets(model, Y, sample_weight)
    options, known = _with_weight(params, sample_weight), model.__dict__.get("estimators_")
    count, title = table.shape[1], type(model).__name__
    if known is not None and len(known) != count:
        raise InvalidData(f"{title} has learnt {len(known)} targets, and y has {count}. Pass the same targets again.")
    if classes is not None and len(classes) != count:
        raise InvalidData(
            f"classes must be a list with the labels of each target: y has {count} columns, and classes has {len(classes)}"
            " entries."
        )

    def taught(column: int) -> Any:
        part = clone(model.estimator) if known is None else known[column]
        own = {} if classes is None else {"classes": classes[column]}
        return part.partial_fit(X, table[:, column], **own, **options)

    return list(mapped(taught, range(count), model.n_jobs))


def _require_stream(model: Any) -> None:
    """Say that there is no such method where the model inside learns from whole tables alone."""
    if not all(hasattr(one, "partial_fit") for one in (model.estimator, *model.__dict__.get("estimators_", ()))):
        raise AttributeError(f"{type(model.estimator).__name__} in this {type(model).__name__} has no partial_fit.")


def _numbered(models: list[Any]) -> list[tuple[str, Any]]:
    return [(f"target {number}", model) for number, model in enumerate(models)]


class MultiOutputRegressor(Regressor, RoutesToOne, multi_output=True, single_output=False):
    """One regressor for each column of the target.

    Objective
    ---------
    That of the regressor, target by target.

    Certificate
    -----------
    CompositeCertificate: the model of each target keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the regressor, once for each target.

    Examples
    --------
    >>> from qed.compose import MultiOutputRegressor
    >>> from qed.linear_model import LinearRegression
    >>> model = MultiOutputRegressor(LinearRegression()).fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 3.0]])
    >>> model.predict([[2.0]]).round(6)
    array([[2., 5.]])
    """

    estimator: Any = param(None, "The regressor.")
    _: KW_ONLY
    n_jobs: Any = param(None, "Targets at the same time, in threads; -1 for as many as there are processors.")

    estimators_: list[Any] = fitted("The fitted regressors, one for each target.", check=copies_with("predict"))
    certificate_: CompositeCertificate = fitted("The certificates of the regressors.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit one regressor for each target.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n, m)
            Targets.
        **fit_params : object
            Passed to ``fit`` of every regressor.
        """
        self._validate_params()
        return self._keep(_fitted_for_each(self, X, y, sample_weight, fit_params))

    @property
    def partial_fit(self) -> Any:
        """Learn from more rows, ``partial_fit(X, y, sample_weight=None)``, where the regressors inside can."""
        _require_stream(self)
        return self._learn_more

    def _learn_more(self, X: Any, y: Any = None, sample_weight: Any = None, **partial_fit_params: Any) -> Self:
        self._validate_params()
        return self._keep(_taught_more(self, X, y, sample_weight, partial_fit_params))

    def _keep(self, models: list[Any]) -> Self:
        self.estimators_ = models
        copy_columns(self, models[0])
        self.certificate_ = composite_certificate(_numbered(models))
        return self

    def predict(self, X: Any) -> Any:
        """Predict every target.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        ndarray of shape (n, m)
            Predictions.
        """
        self._check_is_fitted()
        return stacked([model.predict(X) for model in self.estimators_])

    def _traits(self) -> Traits:
        return _outer(super()._traits(), self.estimator)


class MultiOutputClassifier(Classifier, RoutesToOne, multi_output=True, single_output=False):
    """One classifier for each column of the target.

    Objective
    ---------
    That of the classifier, target by target.

    Certificate
    -----------
    CompositeCertificate: the model of each target keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the classifier, once for each target.

    Examples
    --------
    >>> from qed.compose import MultiOutputClassifier
    >>> from qed.linear_model import LogisticRegression
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [["a", "x"], ["a", "y"], ["b", "y"], ["b", "y"]]
    >>> MultiOutputClassifier(LogisticRegression(C=100.0)).fit(X, Y).predict([[0.0], [3.0]]).tolist()
    [['a', 'x'], ['b', 'y']]
    """

    estimator: Any = param(None, "The classifier.")
    _: KW_ONLY
    n_jobs: Any = param(None, "Targets at the same time, in threads; -1 for as many as there are processors.")

    estimators_: list[Any] = fitted("The fitted classifiers, one for each target.", check=copies_with("predict"))
    classes_: list[Array] = fitted("The labels of each target.", dtype="label", shape="(*,)", length="estimators_")
    certificate_: CompositeCertificate = fitted("The certificates of the classifiers.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit one classifier for each target.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n, m)
            Labels.
        **fit_params : object
            Passed to ``fit`` of every classifier.
        """
        self._validate_params()
        return self._keep(_fitted_for_each(self, X, y, sample_weight, fit_params))

    @property
    def partial_fit(self) -> Any:
        """Learn from more rows, ``partial_fit(X, y, classes=None, sample_weight=None)``, where the classifiers inside can.

        ``classes`` is a list with all labels of each target; it is needed in the first call.
        """
        _require_stream(self)
        return self._learn_more

    def _learn_more(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, **partial_fit_params: Any
    ) -> Self:
        self._validate_params()
        return self._keep(_taught_more(self, X, y, sample_weight, partial_fit_params, classes))

    def _keep(self, models: list[Any]) -> Self:
        self.estimators_ = models
        self.classes_ = [model.classes_ for model in models]
        copy_columns(self, models[0])
        self.certificate_ = composite_certificate(_numbered(models))
        return self

    def predict(self, X: Any) -> Any:
        """Predict every label.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        ndarray of shape (n, m)
            Labels.
        """
        self._check_is_fitted()
        return stacked([model.predict(X) for model in self.estimators_])

    @property
    def predict_proba(self) -> Any:
        """Return the probabilities of every target, as a list; there if the classifier has them."""
        parts = self.__dict__.get("estimators_", [self.estimator])
        inner = next((one for one in parts if not hasattr(one, "predict_proba")), None)
        if inner is not None:
            raise AttributeError(f"{type(inner).__name__} in this MultiOutputClassifier has no predict_proba.")
        return self._probabilities

    def _probabilities(self, X: Any) -> list[Any]:
        self._check_is_fitted()
        return [model.predict_proba(X) for model in self.estimators_]

    def _traits(self) -> Traits:
        return _outer(super()._traits(), self.estimator)


def _outer(own: Traits, inner: Any) -> Traits:
    if inner is None or isinstance(inner, type):
        return own
    seen = traits_of(inner)
    return own._replace(sparse=seen.sparse, allow_nan=seen.allow_nan, positive_only=seen.positive_only)
