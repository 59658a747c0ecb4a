"""A model that learns how much to believe others: on what they say of rows they have not seen."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.compose._steps import announced, models_of_codes, one_column
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    NonNegativeInt,
    Regressor,
    Traits,
    Transformer,
    clone,
    fitted,
    param,
)
from qed.core._jobs import mapped
from qed.core._parts import copy_columns, models_with
from qed.core._roles import _input_names as input_names
from qed.core._tables import is_sparse
from qed.core._targets import as_target, encode
from qed.ensemble._voting import Members, are_members, inner_traits, pairs
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._cross_validate import by_class
from qed.model_selection._judge import Table, is_classifier
from qed.model_selection._subset import countable, rows_of

METHODS = ("predict_proba", "decision_function", "predict")


def _are_known(model: Any, methods: list[str]) -> str:
    for part, method in zip(model.estimators_, methods, strict=True):
        if not hasattr(part, method):
            return f"should be methods of the members, and {type(part).__name__} has no {method}"
    return ""


def default_final_estimator(classifies: bool) -> Any:
    """Return what learns from the answers of the members when nothing else is named."""
    linear_model = import_module(
        "qed.linear_model"
    )  # by its public name: packages of one layer do not import each other
    return linear_model.LogisticRegression() if classifies else linear_model.RidgeCV()


class _Stack(Members):
    """What both share: members asked about unseen rows, and a model of their answers."""

    final_estimator: Any
    cv: Any
    passthrough: bool

    def _learn(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        owner: Any = self
        if sample_weight is not None:
            sample_weight = as_target(sample_weight, "sample_weight")
        members = self._required()
        metadata = self._metadata_of_fit(sample_weight, {name: countable(one) for name, one in fit_params.items()})
        prefit = isinstance(self.cv, str) and self.cv == "prefit"
        owner.estimators_ = (
            [model for _, model in members] if prefit else self._fitted_members(members, X, y, sample_weight, metadata)
        )
        owner.stack_method_ = [self._method(name, model) for name, model in members]
        table = self._unseen_answers(X, y, sample_weight, metadata, prefit=prefit)
        last = clone(self._final())
        # a final model that nobody named cannot ask: it gets the weights
        options = self._fit_options(last, sample_weight, None if self.final_estimator is None else metadata)
        owner.weighted_ = [*([] if prefit else owner.weighted_), *["final_estimator"] * ("sample_weight" in options)]
        with announced(owner, "final_estimator", verbose=owner.verbose):
            last.fit(table, y, **options)
        owner.final_estimator_ = last
        copy_columns(owner, owner.estimators_[0])
        owner.certificate_ = composite_certificate([*pairs(members, owner.estimators_), ("final_estimator", last)])

    def _routed_parts(self, method: str) -> list[tuple[Any, str]]:
        final = [] if self.final_estimator is None else [(self.final_estimator, method)]
        return [*super()._routed_parts(method), *final] if method == "fit" else final

    def _unseen_answers(
        self, X: Any, y: Any, sample_weight: Any, metadata: dict[str, Any] | None, *, prefit: bool
    ) -> Any:
        """Return the rows of the final model: what members say of rows that they were not fitted on.

        The members of each fold are kept, so that anybody can see that these were their answers.
        """
        owner: Any = self
        owner.folds_, owner.fold_estimators_ = None, []
        if prefit:
            return self._beside(self._answers(X), X)
        X = countable(X)
        pairs_ = list(check_cv(self.cv, y, classifier=is_classifier(owner)).split(X, y))
        owner.folds_ = _fold_numbers(pairs_, len(y))
        said = []
        for (_, model), method in zip(self._required(), owner.stack_method_, strict=True):

            def learnt(pair: Any, model: Any = model) -> Any:
                options = Table(X, y, self._fit_options(model, sample_weight, metadata)).rows(pair[0])[2]
                return clone(model).fit(rows_of(X, pair[0]), y[pair[0]], **options)

            members = list(mapped(learnt, pairs_, self.n_jobs))
            owner.fold_estimators_.append(members)
            said.append(_answers_of_folds(members, pairs_, X, y, method))
        return self._beside(said, X)

    def _final(self) -> Any:
        if self.final_estimator is None:
            return default_final_estimator(is_classifier(self))
        if not hasattr(self.final_estimator, "fit"):
            raise InvalidParameter(
                f"{type(self).__name__}.final_estimator must be a model, got {self.final_estimator!r}."
            )
        return self.final_estimator

    def _method(self, name: str, model: Any) -> str:  # noqa: ARG002
        return "predict"

    def _answers(self, X: Any) -> list[Any]:
        owner: Any = self
        return [
            np.asarray(getattr(model, method)(X))
            for model, method in zip(owner.estimators_, owner.stack_method_, strict=True)
        ]

    def _beside(self, said: list[Any], X: Any) -> Any:
        owner: Any = self
        columns = []
        for one, method in zip(said, owner.stack_method_, strict=True):
            block = np.asarray(one)
            block = block[:, np.newaxis] if block.ndim == 1 else block
            if block.ndim != 2:
                raise InvalidData(f"A member answers in shape {block.shape}, and rows of numbers are needed.")
            # With two classes the second probability says all.
            columns.append(block[:, 1:] if method == "predict_proba" and block.shape[1] == 2 else block)
        if not self.passthrough:
            return np.hstack(columns)
        if is_sparse(X):
            from scipy import sparse  # noqa: PLC0415

            return sparse.hstack([*columns, X]).tocsr()
        return np.hstack([*columns, X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)])

    def _names(self, input_features: Any) -> Any:
        owner: Any = self
        owner._check_is_fitted()  # noqa: SLF001
        inside, names = input_names(owner, input_features), []
        for (name, _), method in zip(self._required(), owner.stack_method_, strict=True):
            k = len(owner.classes_) if method != "predict" else 1
            k = 1 if k == 2 else k
            title = f"{type(self).__name__.lower()}_{name}"
            names += [title] if k == 1 else [f"{title}{number}" for number in range(k)]
        return np.asarray([*names, *(inside if self.passthrough else [])], dtype=object)

    def _stacked(self, X: Any) -> Any:
        owner: Any = self
        owner._check_is_fitted()  # noqa: SLF001
        return self._beside(self._answers(X), X)


def _fold_numbers(pairs_: list[Any], n_rows: int) -> Any:
    """Return the fold of each row; None where a model was not fitted on all the others, so that the number does not tell."""
    fold, times = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    for number, (_, test) in enumerate(pairs_):
        fold[test] = number
        times[test] += 1
    if not pairs_ or not (times == 1).all():
        raise InvalidData(
            "Stacking only works for partitions: every row must be tested exactly once. Use KFold or a similar splitter."
        )
    whole = all(
        np.array_equal(np.sort(train), np.flatnonzero(fold != number)) for number, (train, _) in enumerate(pairs_)
    )
    return fold.astype(np.min_scalar_type(len(pairs_))) if whole else None


def _answers_of_folds(members: list[Any], pairs_: list[Any], X: Any, y: Any, method: str) -> Any:
    """Return what the member of each fold says of the rows that it has not seen, in the order of the rows."""
    classes, parts = np.unique(y), []
    for member, (_, test) in zip(members, pairs_, strict=True):
        answers = np.asarray(getattr(member, method)(rows_of(X, test)))
        parts.append(answers if method == "predict" else by_class(answers, member, classes, method))
    stacked = np.concatenate(parts)
    result = np.empty_like(stacked)
    result[np.concatenate([test for _, test in pairs_])] = stacked
    return result


class StackingRegressor(Regressor, Transformer, _Stack, keeps_dtype=None):
    """Stacking: a final regressor learns from the cross-validated predictions of several models.

    Objective
    ---------
    That of ``final_estimator``, on predictions of the members for rows they were not fitted on.

    Certificate
    -----------
    CompositeCertificate: the members and the final model keep their own.

    Cost
    ----
    Each member once, and once for every fold; then the final model.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.ensemble import StackingRegressor
    >>> from qed.linear_model import Lasso, Ridge, RidgeCV
    >>> X, y = make_regression(n_samples=60, n_features=3, noise=1.0, random_state=0)
    >>> stack = StackingRegressor([("ridge", Ridge()), ("lasso", Lasso())], RidgeCV()).fit(X, y)
    >>> stack.transform(X).shape
    (60, 2)
    >>> bool(stack.score(X, y) > 0.99)
    True
    """

    estimators: Any = param((), "Pairs of name and regressor; 'drop' leaves one out.")
    final_estimator: Any = param(None, "The regressor of the predictions; None is RidgeCV().")
    _: KW_ONLY
    cv: Any = param(None, "Folds, as in model_selection; 'prefit' for members that are fitted already.")
    n_jobs: Any = param(None, "Members fitted at the same time, in threads.")
    passthrough: bool = param(False, "Whether the final model sees the rows themselves too.")
    verbose: NonNegativeInt = param(0, "Whether to show how long each member and the final model take.")

    estimators_: list[Any] = fitted("The fitted members.", check=are_members)
    final_estimator_: Any = fitted("The fitted final model.", check=models_with("predict"))
    stack_method_: list[str] = fitted(
        "What each member is asked.", length="estimators_", one_of=METHODS, check=_are_known
    )
    folds_: Array | None = fitted(
        "The fold of each row, in their order; None for members that were fitted already.",
        dtype="uint8 or uint16 or uint32",
        shape="(*,)",
        answers=False,
        optional=True,
    )
    fold_estimators_: Any = fitted("Of each member the models fitted without each fold.", answers=False, optional=True)
    certificate_: CompositeCertificate = fitted("The certificates of the members and of the final model.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members, then the final model.

        Parameters
        ----------
        X : table of n rows
            Rows.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self._validate_params()
        self._learn(X, one_column(self, y), sample_weight, fit_params)
        return self

    def predict(self, X: Any) -> Any:
        """Predict by the final model.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        table = self._stacked(X)
        return np.asarray(self.final_estimator_.predict(table))

    def transform(self, X: Any) -> Any:
        """Return what the members predict, side by side.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        ndarray of shape (n, members)
            Predictions.
        """
        return self._stacked(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns of what the members say: class and name of the member."""
        return self._names(input_features)

    def _traits(self) -> Traits:
        return inner_traits(super()._traits(), self.estimators)


def _predicts_by_number(model: Any, last: Any) -> str:
    return models_of_codes(model, [last], len(model.classes_))


class StackingClassifier(Classifier, Transformer, _Stack, keeps_dtype=None):
    """Stacking: a final classifier learns from the cross-validated predictions of several models.

    Objective
    ---------
    That of ``final_estimator``, on answers of the members for rows they were not fitted on.

    Certificate
    -----------
    CompositeCertificate: the members and the final model keep their own.

    Cost
    ----
    Each member once, and once for every fold; then the final model.

    Examples
    --------
    >>> from qed.ensemble import StackingClassifier
    >>> from qed.linear_model import LogisticRegression
    >>> X, y = [[float(k)] for k in range(20)], [k > 9 for k in range(20)]
    >>> members = [("weak", LogisticRegression(C=0.01)), ("strong", LogisticRegression(C=10.0))]
    >>> stack = StackingClassifier(members, LogisticRegression()).fit(X, y)
    >>> stack.predict([[2.0], [17.0]]).tolist()
    [False, True]
    """

    estimators: Any = param((), "Pairs of name and classifier; 'drop' leaves one out.")
    final_estimator: Any = param(None, "The classifier of the answers; None is LogisticRegression().")
    _: KW_ONLY
    cv: Any = param(None, "Folds, as in model_selection; 'prefit' for members that are fitted already.")
    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = param(
        "auto", "What members are asked; 'auto' for the first of these that they have."
    )
    n_jobs: Any = param(None, "Members fitted at the same time, in threads.")
    passthrough: bool = param(False, "Whether the final model sees the rows themselves too.")
    verbose: NonNegativeInt = param(0, "Whether to show how long each member and the final model take.")

    estimators_: list[Any] = fitted("The fitted members.", check=are_members)
    final_estimator_: Any = fitted("The fitted final model.", check=_predicts_by_number)
    stack_method_: list[str] = fitted(
        "What each member is asked.", length="estimators_", one_of=METHODS, check=_are_known
    )
    folds_: Array | None = fitted(
        "The fold of each row, in their order; None for members that were fitted already.",
        dtype="uint8 or uint16 or uint32",
        shape="(*,)",
        answers=False,
        optional=True,
    )
    fold_estimators_: Any = fitted("Of each member the models fitted without each fold.", answers=False, optional=True)
    classes_: Array = fitted("The labels.", dtype="label", shape="(k,)", order="strictly rising")
    certificate_: CompositeCertificate = fitted("The certificates of the members and of the final model.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members, then the final model.

        Parameters
        ----------
        X : table of n rows
            Rows.
        **fit_params : object
            Metadata for parts that ask for them, with metadata routing (`qed.set_config`).
        """
        self._validate_params()
        labels = one_column(self, y)
        self.classes_, codes = encode(labels)
        self._learn(X, codes, sample_weight, fit_params)
        return self

    def _method(self, name: str, model: Any) -> str:
        if self.stack_method != "auto":
            if not hasattr(model, self.stack_method):
                raise InvalidParameter(f"Member {name!r} has no {self.stack_method}.")
            return self.stack_method
        for method in METHODS:
            if hasattr(model, method):
                return method
        raise InvalidParameter(f"Member {name!r} has neither predict_proba, decision_function nor predict.")

    def predict(self, X: Any) -> Any:
        """Predict by the final model.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        table = self._stacked(X)
        return self.classes_[np.asarray(self.final_estimator_.predict(table)).astype(np.intp)]

    @property
    def predict_proba(self) -> Any:
        """Return the probabilities of the final model; there if it has them."""
        inner = self.__dict__.get("final_estimator_") or self._final()
        if not hasattr(inner, "predict_proba"):
            raise AttributeError("The final model of this StackingClassifier has no predict_proba.")
        return lambda X: self._ask("predict_proba", X)

    @property
    def decision_function(self) -> Any:
        """Return the scores of the final model; there if it has them."""
        inner = self.__dict__.get("final_estimator_") or self._final()
        if not hasattr(inner, "decision_function"):
            raise AttributeError("The final model of this StackingClassifier has no decision_function.")
        return lambda X: self._ask("decision_function", X)

    def _ask(self, method: str, X: Any) -> Any:
        table = self._stacked(X)
        return getattr(self.final_estimator_, method)(table)

    def transform(self, X: Any) -> Any:
        """Return what the members say, side by side.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        ndarray
            Probabilities, scores or labels.
        """
        return self._stacked(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns of what the members say: class and name of the member."""
        return self._names(input_features)

    def _traits(self) -> Traits:
        return inner_traits(super()._traits(), self.estimators)
