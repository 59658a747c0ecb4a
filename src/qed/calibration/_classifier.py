"""A classifier whose scores become probabilities by a curve learnt on rows that it has not seen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.calibration._isotonic import IsotonicRegression
from qed.calibration._temperature import class_logits, find_temperature
from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    Traits,
    clone,
    fitted,
    param,
)
from qed.core._jobs import mapped
from qed.core._parts import accepts_weight, copy_columns, models_with, traits_of
from qed.core._routing import OwnRequest, RoutesToOne, is_enabled, require_taken, routed
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._judge import Table
from qed.model_selection._subset import countable, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

METHODS = ("decision_function", "predict_proba")
TOL = 1e-10  # of the sigmoid's gap: probabilities are then right to about five digits


def _have_scores(model: Any, parts: list[Any]) -> str:
    if not all(any(hasattr(part, method) for method in METHODS) for part in parts):
        return "should have decision_function or predict_proba"
    return models_with("predict")(model, parts)


def _pairs_up(model: Any, curves: list[Any]) -> str:
    if model.method == "temperature":
        good = len(getattr(model, "temperatures_", ())) == len(model.estimators_) and not any(map(len, curves))
        return "" if good else "should be empty, beside a temperature for each classifier"
    count = 1 if len(model.classes_) == 2 else len(model.classes_)
    if len(curves) != len(model.estimators_) or any(not isinstance(one, list) or len(one) != count for one in curves):
        return f"should be {count} curves for each of {len(model.estimators_)} classifiers"
    asked = "predict" if model.method == "isotonic" else "predict_proba"
    return next((wrong for one in curves if (wrong := models_with(asked)(model, one))), "")


class CalibratedClassifierCV(Classifier, RoutesToOne):
    r"""Probability calibration of any classifier, by sigmoid, isotonic or temperature scaling on held-out folds.

    Objective
    ---------
    That of the classifier on the other folds; then, for each class, the best curve from scores to labels on the fold left out:
    ``"isotonic"`` by least squares among all that rise, ``"sigmoid"`` by likelihood among logistic curves

    .. math:: \min_{a, b} \sum_i s_i \left[\log(1 + e^{a f_i + b}) - t_i (a f_i + b)\right]

    with Platt's targets :math:`t = (n_+ + 1) / (n_+ + 2)` for rows of the class and :math:`1 / (n_- + 2)` for others;
    ``"temperature"`` by likelihood among all :math:`\operatorname{softmax}(z / T)` of the scores z of all classes together.

    Certificate
    -----------
    CompositeCertificate: classifiers and curves keep their own; a temperature has a BracketCertificate, an interval that holds
    the best one. ``qed.verify`` checks each with the rows and scores that reached it.

    Cost
    ----
    The classifier once for each fold (and once more with ``ensemble=False``), and a sort or a logistic fit of one column for each
    class.

    See Also
    --------
    IsotonicRegression : The curve of ``method="isotonic"``.

    Notes
    -----
    With ``ensemble=True`` the probabilities of as many calibrated classifiers as there are folds are averaged; with False one
    classifier is fitted on all rows, and its curve learnt from the scores of the folds together. Of three classes or more each is
    calibrated against the rest, and probabilities are divided by their sum.

    Examples
    --------
    >>> from qed.calibration import CalibratedClassifierCV
    >>> from qed.svm import LinearSVC
    >>> X, y = [[float(k)] for k in range(40)], [k > 18 for k in range(40)]
    >>> model = CalibratedClassifierCV(LinearSVC(), cv=2).fit(X, y)
    >>> model.predict([[2.0], [37.0]]).tolist()
    [False, True]
    """

    estimator: Any = param(None, "The classifier; None is LinearSVC().")
    _: KW_ONLY
    method: Literal["sigmoid", "isotonic", "temperature"] = param("sigmoid", "The curve from scores to probabilities.")
    cv: Any = param(None, "Folds, as in model_selection; None is five.")
    n_jobs: Any = param(None, "Folds at the same time, in threads.")
    ensemble: bool | Literal["auto"] = param(
        "auto", "Whether to average one classifier for each fold; 'auto' does unless the classifier is frozen."
    )

    estimators_: list[Any] = fitted("The fitted classifiers: of each fold, or one.", check=_have_scores)
    calibrators_: list[Any] = fitted(
        "Of each classifier its curves: one of two classes, else of each.", check=_pairs_up
    )
    temperatures_: Array = fitted(
        "With ``method='temperature'``, what the scores of each classifier are divided by.",
        shape="(*,)",
        above=0,
        optional=True,
    )
    folds_: Array | None = fitted(
        "The fold of each row, in their order; None where the folds do not share out the rows.",
        dtype="uint8 or uint16 or uint32",
        shape="(*,)",
        answers=False,
    )
    fold_estimators_: list[Any] = fitted("With one classifier, those fitted without each fold.", answers=False)
    classes_: Array = fitted("The labels.", dtype="label", shape="(k,)", order="strictly rising")
    weighted_: list[str] = fitted(
        "What was fitted with weights: 'estimator', 'curves', both or none.", answers=False, optional=True
    )
    certificate_: CompositeCertificate = fitted("The certificates of the classifiers and of the curves.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit classifiers, and the curves of their scores.

        Parameters
        ----------
        X : table of n rows
            Rows.
        sample_weight : array-like of shape (n,), optional
            How often each row counts for the curves, and for classifiers that take weights; where metadata are routed, for
            those that ask for them.
        **fit_params : object
            Passed to ``fit`` of the classifiers; what has one entry for each row is cut like the rows.
        """
        self._validate_params()
        given = {**{name: countable(value) for name, value in fit_params.items()}, "sample_weight": sample_weight}
        options = self._options_inside(given, counts=accepts_weight(self._template()))
        own = options.get("sample_weight")
        if not (own is None or sample_weight is None or np.array_equal(np.asarray(own), np.asarray(sample_weight))):
            raise InvalidParameter(
                "CalibratedClassifierCV takes one weight a row, and got sample_weight for its curves and others for its"
                " classifier, which asks for them by another name. Pass one of them."
            )
        data = self._fit_data(X, y, sample_weight if own is None else own)
        X, codes, weight = countable(X), data.y.astype(np.intp), data.weight
        table = Table(X, codes, options if own is None else {**options, "sample_weight": weight})
        s = None if sample_weight is None else weight
        self.weighted_ = [*["estimator"] * (own is not None), *["curves"] * (s is not None)]
        self.classes_ = data.classes
        if len(self.classes_) < 2:
            raise InvalidData("CalibratedClassifierCV needs rows of two classes at least, and y has one class.")
        pairs = list(check_cv(self.cv, codes, classifier=True).split(X, codes))
        self.folds_ = fold_numbers(pairs, len(codes))
        models = list(mapped(lambda pair: self._learnt(table, pair[0]), pairs, self.n_jobs))
        said = [self._scores(model, rows_of(X, test)) for model, (_, test) in zip(models, pairs, strict=True)]
        if self._averages():
            self.estimators_, self.fold_estimators_ = models, []
            used = [(scores, test) for scores, (_, test) in zip(said, pairs, strict=True)]
        else:
            every = np.arange(len(codes))
            self.estimators_, self.fold_estimators_ = [self._learnt(table, every)], models
            used = [(self._gathered(said, pairs, len(codes)), every)]
        self._calibrate([(scores, codes[rows], None if s is None else s[rows]) for scores, rows in used])
        copy_columns(self, self.estimators_[0])
        return self

    @staticmethod
    def _gathered(said: list[Array], pairs: list[Any], n_rows: int) -> Array:
        """Return the scores of all rows, each by the classifier that was fitted without it."""
        scores = np.empty((n_rows, said[0].shape[1]))
        times = np.zeros(n_rows, np.intp)
        for one, (_, test) in zip(said, pairs, strict=True):
            scores[test] = one
            times[test] += 1
        if not (times == 1).all():
            raise InvalidData(
                "With ensemble=False every row must be tested exactly once. Use KFold or a similar splitter."
            )
        return scores

    def _calibrate(self, used: list[tuple[Array, Array, Array | None]]) -> None:
        """Learn the curves of each classifier, or its temperature, and gather the certificates."""
        self.__dict__.pop("temperatures_", None)
        proofs: dict[str, Any] = {}
        if self.method == "temperature":
            found = [find_temperature(*one) for one in used]
            self.calibrators_ = [[] for _ in used]
            self.temperatures_ = np.array([one for one, _ in found])
            proofs = {f"temperature of classifier {number}": proof for number, (_, proof) in enumerate(found)}
        else:
            self.calibrators_ = [self._curves(*one) for one in used]
        parts = []
        for number, (model, curves) in enumerate(zip(self.estimators_, self.calibrators_, strict=True)):
            parts += [(f"classifier {number}", model)]
            parts += [(f"curve {place} of classifier {number}", one) for place, one in enumerate(curves)]
        self.certificate_ = CompositeCertificate({**composite_certificate(parts).parts, **proofs})

    _inside = "_classifier"
    _classifier = property(lambda self: self._template())

    def _routed_parts(self, method: str) -> list[tuple[Any, str]] | None:
        return [(self._asked(), method), (OwnRequest(self, "sample_weight"), method)] if method == "fit" else None

    def _options_inside(self, metadata: Mapping[str, Any], *, counts: bool = True) -> dict[str, Any]:
        """Return what the classifier is given; the curves take weights whether or not it does."""
        if not is_enabled():
            return super()._options_inside(metadata, counts=counts)
        given = {name: value for name, value in metadata.items() if value is not None}
        others = {name: value for name, value in given.items() if name != "sample_weight"}
        require_taken(self, "fit", others, [(self._asked(), "fit")])
        return routed(self, self._asked(), "fit", given)

    def _asked(self) -> Any:
        """Return the classifier whose requests count: without one it is LinearSVC, with weights."""
        return self._template().set_fit_request(sample_weight=True) if self.estimator is None else self.estimator

    def _template(self) -> Any:
        # by its public name: packages above are not imported
        return import_module("qed.svm").LinearSVC() if self.estimator is None else self.estimator

    def _averages(self) -> bool:
        if self.ensemble == "auto":
            return type(self._template()).__name__ != "FrozenEstimator"
        return bool(self.ensemble)

    def _learnt(self, table: Table, train: Array) -> Any:
        model = clone(self._template())
        if not any(hasattr(model, method) for method in METHODS):
            raise InvalidParameter(
                f"CalibratedClassifierCV.estimator must have decision_function or predict_proba; {type(model).__name__} has"
                " neither."
            )
        X, codes, options = table.rows(train)
        model.fit(X, codes, **options)
        known = np.asarray(model.classes_)  # numbers of labels; of a frozen classifier the labels themselves
        if not (np.array_equal(known, np.arange(len(self.classes_))) or np.array_equal(known, self.classes_)):
            raise InvalidData(
                f"A classifier knows {len(known)} classes, {known.tolist()!r:.100}, and there are {len(self.classes_)}. Take fewer"
                " folds, so that each class is in all of them, or a frozen classifier of the same labels."
            )
        return model

    def _scores(self, model: Any, X: Any) -> Array:
        """Return a column of scores for each curve, or of all classes for a temperature."""
        method = next(one for one in METHODS if hasattr(model, one))
        scores = np.asarray(getattr(model, method)(X), dtype=np.float64)
        if self.method == "temperature":
            return class_logits(scores, are_probabilities=method == "predict_proba")
        if scores.ndim == 1:
            return scores[:, np.newaxis]
        return scores[:, 1:] if scores.shape[1] == 2 else scores

    def _curves(self, scores: Array, codes: Array, s: Array | None) -> list[Any]:
        first = 1 if scores.shape[1] == 1 else 0
        return [self._curve(column, codes == first + place, s) for place, column in enumerate(scores.T)]

    def _curve(self, column: Array, is_own: Array, s: Array | None) -> Any:
        if self.method == "isotonic":
            return IsotonicRegression(out_of_bounds="clip").fit(column[:, np.newaxis], is_own.astype(np.float64), s)
        rows, labels, weight = platt(column, is_own, s)
        return import_module("qed.linear_model").LogisticRegression(C=np.inf, tol=TOL).fit(rows, labels, weight)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        ndarray of shape (n, k)
            Probabilities, averaged over the calibrated classifiers.
        """
        self._check_is_fitted()
        if self.method == "temperature":
            pairs = zip(self.estimators_, self.temperatures_.tolist(), strict=True)
            every = [_softmax(self._scores(model, X) / temperature) for model, temperature in pairs]
        else:
            every = [self._calibrated(*pair, X) for pair in zip(self.estimators_, self.calibrators_, strict=True)]
        return np.asarray(np.mean(every, axis=0))

    def _calibrated(self, model: Any, curves: list[Any], X: Any) -> Array:
        columns = self._scores(model, X).T[:, :, np.newaxis]
        if len(columns) != len(curves):
            raise InvalidData(
                f"{type(model).__name__} tells {len(columns)} scores a row, and there are {len(curves)} curves. Fit again, or load"
                " the model from its file."
            )
        isotonic = self.method == "isotonic"
        own = np.column_stack(
            [
                one.predict(column) if isotonic else one.predict_proba(column)[:, 1]
                for one, column in zip(curves, columns, strict=True)
            ]
        )
        if own.shape[1] == 1:
            return np.hstack([1 - own, own])
        total = own.sum(axis=1, keepdims=True)
        # where no curve gives anything, nothing is known
        return np.where(total > 0, own / np.where(total > 0, total, 1), 1 / own.shape[1])

    def predict(self, X: Any) -> Array:
        """Return the label of the largest probability.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def _traits(self) -> Traits:
        inner = traits_of(self._template())
        return (
            super()
            ._traits()
            ._replace(sparse=inner.sparse, allow_nan=inner.allow_nan, positive_only=inner.positive_only)
        )


def _softmax(scores: Array) -> Array:
    up = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(up / up.sum(axis=1, keepdims=True))


def platt(column: Array, is_own: Array, s: Array | None) -> tuple[Array, Array, Array]:
    """Return rows, labels and weights whose logistic fit has Platt's targets: each row counts for both labels, in part."""
    s = np.ones(len(column)) if s is None else s
    above, below = float(s[is_own].sum()), float(s[~is_own].sum())
    target = np.where(is_own, (above + 1) / (above + 2), 1 / (below + 2))
    labels = np.repeat([1, 0], len(column))
    return np.tile(column, 2)[:, np.newaxis], labels, np.concatenate([s * target, s * (1 - target)])


def fold_numbers(pairs: list[Any], n_rows: int) -> Any:
    """Return the fold of each row; None unless every row is tested once, by a model of all other folds."""
    fold, times = np.zeros(n_rows, np.intp), np.zeros(n_rows, np.intp)
    for number, (_, test) in enumerate(pairs):
        fold[test] = number
        times[test] += 1
    whole = (times == 1).all() and all(
        np.array_equal(np.sort(train), np.flatnonzero(fold != number)) for number, (train, _) in enumerate(pairs)
    )
    return fold.astype(np.min_scalar_type(len(pairs))) if whole else None
