"""Classes by least squares, with a strength that is chosen by the rows it did not see."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import KW_ONLY, Array, Classifier, Positive, Vector, fitted, param
from qed.core._shared_params import FIT_INTERCEPT
from qed.linear_model._choose import SCORES, Choice
from qed.linear_model._classes import LinearClassifier
from qed.linear_model._folds import folds_of
from qed.linear_model._ridge import Ridge
from qed.linear_model._ridge_classifier import Signed, signs_of, store_signs
from qed.linear_model._ridge_cv import chosen, learn_chosen


class RidgeClassifierCV(LinearClassifier):
    r"""Ridge classifier with the penalty strength chosen by cross-validation.

    Objective
    ---------
    .. math:: \sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \|w\|^2, \qquad y_i = \pm 1

    with :math:`\alpha` the strength in ``alphas`` whose predictions of left-out rows score best; once for two classes (the
    second is +1), and of several classes once for each, with one strength for all.

    Certificate
    -----------
    CompositeCertificate: that of the least-squares fit on all rows inside, ``ridge_``; ``qed.verify`` makes the labels again and
    checks it.

    Cost
    ----
    That of `RidgeCV` with as many targets as there are classes: one decomposition for all classes and strengths.

    See Also
    --------
    RidgeClassifier : The same with a given strength.
    RidgeCV : Numbers instead of classes.

    Notes
    -----
    Without ``cv`` each row is left out exactly, from one decomposition, and the squared distance from its signs is the score.
    A row is left out whole, whatever its weight. In folds, class
    weights are those of all rows.

    Examples
    --------
    >>> from qed.linear_model import RidgeClassifierCV
    >>> model = RidgeClassifierCV([0.1, 1.0]).fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    alphas: Positive | Vector = param((0.1, 1.0, 10.0), "Strengths to choose from, all above zero.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    scoring: Any = param(
        None,
        "Score to maximise: 'accuracy', 'balanced_accuracy', the names of `RidgeCV` (of the signs), or a function of (model, X, y)"
        " as in scikit-learn, whose model predicts labels. None means the squared error for leave-one-out and accuracy for"
        " folds.",
    )
    cv: Any = param(None, "Folds: None for leave-one-out, a number, a splitter, or pairs of (train, test) indices.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    store_cv_results: bool = param(False, "Whether to keep what leave-one-out found for every row, class and strength.")

    alpha_: float = fitted("The chosen strength.", low=0)
    best_score_: float = fitted("Its score.", finite=False, answers=False)
    cv_results_: Array = fitted(
        "Squared errors of the signs (or their predictions, with ``scoring``), (n, m, k); if stored.",
        finite=False,
        nan=True,
        optional=True,
    )
    ridge_: Ridge = fitted("The least-squares fit to the signs of all rows.")
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: CompositeCertificate = fitted("What is proved about the fit inside.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strength and find the coefficients."""
        signed = signs_of(self, X, y, sample_weight)
        folds = None
        if self.cv is not None:
            folds = folds_of("RidgeClassifierCV", self.cv, signed.X, signed.codes, signed.weight, classes=True)
        choice = Choice(
            alphas=np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)),
            intercept=self.fit_intercept,
            scoring=_of_labels(self.scoring, signed) if callable(self.scoring) else self.scoring,
            cv=folds,
            per_target=False,
            keep=self.store_cv_results,
            owner="RidgeClassifierCV",
            scores={**SCORES, "accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy},
            score_of_folds="accuracy",
        )
        ridge = Ridge(fit_intercept=self.fit_intercept)
        data = ridge._fit_data(signed.X, signed.signs, signed.weight, finite=False)  # noqa: SLF001
        found = chosen(choice, data, signed.signs)
        self.alpha_, self.best_score_ = float(found.alpha[0]), float(found.score[0])
        ridge.alpha = self.alpha_
        learn_chosen(ridge, found, data, signed.signs, flat=False)
        self.__dict__.pop("cv_results_", None)
        if found.results is not None:
            self.cv_results_ = found.results
        store_signs(self, ridge, signed.classes)
        return self


def _codes(t: Array) -> Array:
    """Return the class of each row, by its signs or by their predictions."""
    return (t[:, 0] > 0).astype(np.intp) if t.shape[1] == 1 else t.argmax(axis=1)


def _accuracy(y: Array, t: Array, s: Array) -> Array:
    return np.full(y.shape[1], s @ (_codes(y) == _codes(t)) / s.sum())


def _balanced_accuracy(y: Array, t: Array, s: Array) -> Array:
    truth = _codes(y)
    total = np.bincount(truth, s)
    right = np.bincount(truth, s * (truth == _codes(t)))
    return np.full(y.shape[1], np.mean(right[total > 0] / total[total > 0]))


class _Answers(Classifier, requires_fit=False):
    """A classifier whose scores are what it is given: how a score of (model, X, y) sees predictions already made."""

    classes_: Array = fitted("Labels.", dtype="label", shape="(k,)", order="strictly rising")

    def decision_function(self, X: Any) -> Any:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Any) -> Any:
        return self.classes_[_codes(X)]


def _of_labels(scoring: Any, signed: Signed) -> Any:
    """Return a score of predicted signs that shows a function of (model, X, y) labels instead."""
    answers = _Answers()
    answers.classes_ = signed.classes

    def score(_: Any, t: Array, y: Array) -> float:
        truth = signed.classes[_codes(y.reshape(len(y), -1))]
        return float(scoring(answers, t.reshape(len(t), -1), truth))

    return score
