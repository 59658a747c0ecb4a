"""Classes told apart by classifiers of two classes: a code matrix says which classes each of them sees, and as what.

The book has a row for each class and a column for each classifier: +1 and -1 name the side of a class, 0 leaves its rows out.
One against the rest, one against one and error-correcting codes are books; they differ in how answers are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.compose._steps import models_of_codes, stacked
from qed.core import Array, Classifier, InvalidData, InvalidParameter, Traits, clone, fitted
from qed.core._jobs import mapped
from qed.core._parts import accepts_weight, traits_of
from qed.core._routing import RoutesToOne
from qed.core._validation import stream_data
from qed.model_selection._judge import is_classifier

if TYPE_CHECKING:
    from qed.core import FitData


def _tell_two_sides(model: Any, parts: list[Any]) -> str:
    return models_of_codes(model, parts, 2)


class CodedClassifier(Classifier, RoutesToOne):
    """Several classes by classifiers of two."""

    if TYPE_CHECKING:  # parameters of every model that is one
        estimator: Any
        n_jobs: Any

    estimators_: list[Any] = fitted(
        "The fitted classifiers of two classes, one for each column of the book.", check=_tell_two_sides
    )
    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)")
    code_book_: Array = fitted(
        "Sides of the classes, (classes, classifiers): +1, -1, or 0 for rows left out.",
        dtype="int8",
        shape="(k, estimators_)",
        one_of=(-1, 0, 1),
    )
    certificate_: CompositeCertificate = fitted("The certificates of the classifiers.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit a classifier for each column of the book.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows to learn from.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.
        **fit_params : object
            Passed to ``fit`` of the classifiers; what has one entry for each row is cut like the rows.
        """
        inner = self._require_classifier()
        options = self._options_inside({**fit_params, "sample_weight": sample_weight})
        weight = options.pop("sample_weight", None)
        data = self._fit_data(X, y, weight, finite=not self._traits().allow_nan)
        self._require_weighing(inner, weight)
        self._require_two(data)
        self.classes_ = data.classes
        self.code_book_ = self._book(len(data.classes))
        self.estimators_ = self._fitted_parts(data, options)
        self.certificate_ = composite_certificate([(f"code {k}", part) for k, part in enumerate(self.estimators_)])
        return self

    @property
    def partial_fit(self) -> Any:
        """Learn from more rows, ``partial_fit(X, y, classes=None, sample_weight=None)``, where the classifiers inside can.

        All labels are named in the first call. A classifier that has met no row of either of its sides does not answer yet.
        """
        if not all(hasattr(one, "partial_fit") for one in (self.estimator, *self.__dict__.get("estimators_", ()))):
            raise AttributeError(f"{type(self.estimator).__name__} in this {type(self).__name__} has no partial_fit.")
        return self._learn_more

    def _learn_more(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        self._require_weighing(self._require_classifier(), sample_weight, "partial_fit")
        data, first = stream_data(self, X, y, sample_weight, classes, "estimators_")
        if first:
            self.code_book_ = self._book(len(self.classes_))
            self.estimators_ = [clone(self._require_classifier()) for _ in range(self.code_book_.shape[1])]
        sides = self.code_book_[data.y.astype(np.intp)]
        for k, part in enumerate(self.estimators_):
            used = np.flatnonzero(sides[:, k])
            if len(used):
                options = {} if data.weight is None else {"sample_weight": data.weight[used]}
                part.partial_fit(data.X[used], (sides[used, k] > 0).astype(np.intp), classes=[0, 1], **options)
        known = [(f"code {k}", part) for k, part in enumerate(self.estimators_) if has_learnt(part)]
        self.certificate_ = composite_certificate(known)
        return self

    def _fitted_parts(self, data: FitData, extra: dict[str, Any]) -> list[Any]:
        together = getattr(self.estimator, "_fit_coded", None)  # models that find the planes of many codes at once
        parts = None if together is None or extra else together(data, self.code_book_)
        if parts is not None:
            return list(parts)
        sides = self.code_book_[np.asarray(data.y).astype(np.intp)]

        def learnt(k: int) -> Any:
            used = sides[:, k] != 0
            every = bool(used.all())
            options = extra if data.weight is None else {**extra, "sample_weight": data.weight}
            options = options if every else _of_rows(options, used)
            rows = data.X if every else data.X[np.flatnonzero(used)]
            return clone(self.estimator).fit(rows, (sides[used, k] > 0).astype(np.intp), **options)

        return list(mapped(learnt, list(range(sides.shape[1])), self.n_jobs))

    def _require_classifier(self) -> Any:
        inner = self.estimator
        if inner is None or not hasattr(inner, "fit") or isinstance(inner, type):
            raise InvalidParameter(f"{type(self).__name__}.estimator must be a classifier, got {inner!r}.")
        return inner

    def _require_weighing(self, inner: Any, sample_weight: Any, method: str = "fit") -> None:
        if sample_weight is not None and not accepts_weight(inner, method):
            raise InvalidParameter(f"{type(self).__name__}: {type(inner).__name__} takes no sample_weight. Pass none.")

    def _require_two(self, data: FitData) -> None:
        if len(data.classes) < 2:
            raise InvalidData(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only one class:"
                f" {data.classes[0]!r}."
            )

    def _book(self, n_classes: int) -> Array:
        """Return the book of codes."""
        raise NotImplementedError

    def _answers(self, X: Any) -> Array:
        """Return what each classifier says of each row: positive for the side +1, zero if a stream has not brought it rows yet."""
        self._check_is_fitted()
        rows = self._new_data(X)
        return stacked(
            [answers(part, rows) if has_learnt(part) else np.zeros(rows.shape[0]) for part in self.estimators_]
        )

    def _traits(self) -> Traits:
        own, inner = super()._traits(), self.estimator
        if inner is None or isinstance(inner, type) or not hasattr(inner, "fit"):
            return own
        seen = traits_of(inner)
        return own._replace(
            sparse=seen.sparse, allow_nan=seen.allow_nan, positive_only=seen.positive_only, poor_score=seen.poor_score
        )


def has_learnt(part: Any) -> bool:
    """Say whether a model has met rows: then it has attributes that end in an underscore, as all models have by convention."""
    return any(name.endswith("_") and not name.startswith("_") for name in vars(part))


def answers(part: Any, X: Any) -> Array:
    """Return scores of the second class of two: of decisions, else of probabilities or numbers about one half, else labels."""
    if hasattr(part, "decision_function"):
        return np.asarray(part.decision_function(X), dtype=np.float64).ravel()
    if hasattr(part, "predict_proba"):
        shares = np.asarray(part.predict_proba(X), dtype=np.float64)
        if shares.ndim != 2 or shares.shape[1] != 2:
            raise InvalidData(
                f"{type(part).__name__} tells probabilities of shape {shares.shape}, and a classifier of two sides tells two a row."
                " Fit again, or load the model from its file."
            )
        return np.asarray(2.0 * shares[:, 1] - 1.0)
    said = np.asarray(part.predict(X))
    if not is_classifier(part):  # a regression on 0 and 1
        return np.asarray(2.0 * said.astype(np.float64).ravel() - 1.0)
    return np.where(said > 0, 1.0, -1.0)


def _of_rows(options: dict[str, Any], used: Any) -> dict[str, Any]:
    """Return metadata of some rows: what has an entry for each row is cut."""
    cut = {name: value for name, value in options.items() if getattr(value, "shape", ())[:1] == used.shape}
    return {**options, **{name: value[used] for name, value in cut.items()}}
