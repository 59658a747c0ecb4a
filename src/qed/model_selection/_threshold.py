"""Two classes told apart at another threshold than one half: a given one, or the best one on rows left out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (read from the annotation)
from qed.certificates._composite import composite_certificate
from qed.core import KW_ONLY, Array, Classifier, InvalidData, InvalidParameter, Seed, Traits, clone, fitted, param
from qed.core._delegated import Delegated
from qed.core._jobs import mapped
from qed.core._parts import accepts_weight, copy_columns, models_with, traits_of
from qed.core._routing import RoutesToOne, is_enabled, routed
from qed.metrics import get_scorer
from qed.metrics._scorers import response
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._cross_validate import require_folds
from qed.model_selection._judge import Table
from qed.model_selection._random_splits import StratifiedShuffleSplit
from qed.model_selection._subset import countable, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

METHODS = ("predict_proba", "decision_function")
Method = Literal["auto", "predict_proba", "decision_function"]
is_classifier = models_with("predict", "classes_")


def _tells_two_labels(model: Any, inner: Any) -> str:
    """Say what is wrong with the fitted model inside: it is a classifier of two labels."""
    return is_classifier(model, inner) or (
        "" if np.shape(inner.classes_) == (2,) else "should tell two labels apart, and tells others"
    )


class ThresholdModel(Classifier, RoutesToOne, multi_class=False):
    """What both share: a classifier inside, and the label of the positive class where its score reaches a threshold."""

    if TYPE_CHECKING:  # declared by each of them, in the order of its own constructor
        estimator: Any
        response_method: Any

    predict_proba = Delegated("Return the probabilities of the classifier inside.")
    predict_log_proba = Delegated("Return the log-probabilities of the classifier inside.")
    decision_function = Delegated("Return the scores of the classifier inside.")

    def _require_classifier(self) -> None:
        model = self.estimator
        if isinstance(model, type) or not hasattr(model, "fit") or not any(hasattr(model, one) for one in METHODS):
            raise InvalidParameter(
                f"{type(self).__name__}.estimator must be a classifier with predict_proba or decision_function, got {model!r}."
                " Pass an instance, such as LogisticRegression()."
            )

    def _learnt(self, X: Any, y: Any, options: Mapping[str, Any], rows: Any = None) -> Any:
        table = Table(X, y, options)
        X, y, options = (X, y, options) if rows is None else table.rows(rows)
        return clone(self.estimator).fit(X, y, **options)

    def _scores(self, model: Any, X: Any, positive: Any) -> tuple[Array, Any]:
        """Return the score of each row for the positive label, and that label."""
        if np.ndim(positive):
            raise InvalidParameter(f"pos_label must be one label, got {positive!r:.80}.")
        asked = METHODS if self.response_method == "auto" else self.response_method
        scores, label = response(model, X, asked, positive)
        return np.asarray(scores, dtype=np.float64), label

    def _cut(self, X: Any, threshold: float, positive: Any) -> Array:
        self._check_is_fitted()
        model: Any = self.__dict__["estimator_"]
        scores, label = self._scores(model, X, positive)
        classes = np.asarray(model.classes_)
        other = classes[0] if label == classes[1] else classes[1]
        return np.where(scores >= threshold, np.asarray(label, dtype=classes.dtype), other).astype(classes.dtype)

    def _delegate(self) -> Any:
        return self.__dict__.get("estimator_", self.estimator)

    def _ask(self, method: str, X: Any, **options: Any) -> Any:
        self._check_is_fitted()
        return getattr(self.__dict__["estimator_"], method)(X, **options)

    @property
    def classes_(self) -> Array:
        """The two labels."""
        if "estimator_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no classes_ before a fit.")
        return np.asarray(self.__dict__["estimator_"].classes_)

    def _traits(self) -> Traits:
        inner = traits_of(self.estimator)
        own = super()._traits()
        return own._replace(sparse=inner.sparse, allow_nan=inner.allow_nan, positive_only=inner.positive_only)


class FixedThresholdClassifier(ThresholdModel):
    """Binary classifier with a decision threshold of your choice.

    Objective
    ---------
    That of the classifier inside; the threshold changes predictions only.

    Certificate
    -----------
    CompositeCertificate: the classifier keeps its own.

    Cost
    ----
    That of the classifier.

    See Also
    --------
    TunedThresholdClassifierCV : The best threshold by cross-validation.

    Examples
    --------
    >>> from qed.linear_model import LogisticRegression
    >>> from qed.model_selection import FixedThresholdClassifier
    >>> X, y = [[float(k)] for k in range(20)], [k > 12 for k in range(20)]
    >>> careful = FixedThresholdClassifier(LogisticRegression(), threshold=0.05).fit(X, y)
    >>> int(careful.predict(X).sum()) > sum(y)
    True
    """

    estimator: Any = param(None, "The classifier.")
    _: KW_ONLY
    threshold: float | Literal["auto"] = param(
        "auto", "Where the positive class begins; 'auto' is 0.5 for probabilities and 0 for scores."
    )
    pos_label: Any = param(None, "The positive label; None is the second one.")
    response_method: Method = param("auto", "What is asked; 'auto' is predict_proba, or decision_function without one.")

    estimator_: Any = fitted("The fitted classifier.", check=_tells_two_labels)
    certificate_: CompositeCertificate = fitted("The certificate of the classifier.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, for classifiers that can count.
        **params : object
            Passed to ``fit`` of the classifier.
        """
        self._validate_params()
        self._require_classifier()
        weight = self._fit_data(X, y, sample_weight).weight
        options = self._options_inside({**params, "sample_weight": weight}, counts=accepts_weight(self.estimator))
        self.estimator_ = self._learnt(countable(X), countable(y), options)
        self.certificate_ = composite_certificate([("estimator", self.estimator_)])
        copy_columns(self, self.estimator_)
        return self

    def predict(self, X: Any) -> Array:
        """Return the positive label where the score reaches the threshold, and the other one elsewhere.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        threshold = self.threshold
        if isinstance(threshold, str):
            chances = self.response_method == "predict_proba" or (
                self.response_method == "auto" and hasattr(self.estimator_, "predict_proba")
            )
            threshold = 0.5 if chances else 0.0
        return self._cut(X, float(threshold), self.pos_label)


class TunedThresholdClassifierCV(ThresholdModel):
    """Binary classifier with the decision threshold tuned by cross-validation.

    Objective
    ---------
    That of the classifier inside; the threshold maximises ``scoring``, averaged over the folds, on rows that the classifier of a
    fold has not seen.

    Certificate
    -----------
    CompositeCertificate: the classifier keeps its own. The threshold must be the best of the table in ``cv_results_``.

    Cost
    ----
    The classifier once for each fold and once more; a score for each threshold and fold.

    See Also
    --------
    FixedThresholdClassifier : A threshold of your choice.

    Notes
    -----
    Scores of a fold are computed at thresholds between its lowest and its highest score, and interpolated at common thresholds
    before they are averaged, as in scikit-learn.

    Examples
    --------
    >>> from qed.datasets import make_classification
    >>> from qed.linear_model import LogisticRegression
    >>> from qed.model_selection import TunedThresholdClassifierCV
    >>> X, y = make_classification(500, weights=[0.9], flip_y=0.0, class_sep=0.5, random_state=0)
    >>> model = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1").fit(X, y)
    >>> model.best_threshold_ < 0.5
    True
    """

    estimator: Any = param(None, "The classifier.")
    _: KW_ONLY
    scoring: Any = param("balanced_accuracy", "What to maximise: the name of a score of labels, or a scorer.")
    response_method: Method = param("auto", "What is asked; 'auto' is predict_proba, or decision_function without one.")
    thresholds: Any = param(100, "How many thresholds are tried, or which.")
    cv: Any = param(
        None, "Folds, as in model_selection; a share of rows to leave out; or 'prefit' for a fitted classifier."
    )
    refit: bool = param(True, "Whether to fit the classifier on all rows at the end.")
    n_jobs: Any = param(None, "Folds at the same time, in threads.")
    random_state: Seed = param(None, "Seed of the split where cv is a share.")
    store_cv_results: bool = param(
        False, "Scores of all thresholds are always stored, so that the choice can be verified.", kind="hint"
    )

    estimator_: Any = fitted("The fitted classifier.", check=_tells_two_labels)
    best_threshold_: float = fitted("The threshold.", finite=False)
    best_score_: float = fitted("Its mean score.", finite=False, nan=True)
    cv_results_: dict[str, Any] = fitted(
        "Thresholds and their mean scores.", dtype="label or object", finite=False, nan=True, answers=False
    )
    certificate_: CompositeCertificate = fitted("The certificate of the classifier.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier, and choose the threshold on rows left out.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts: for the classifier, and in scores that can count.
        **params : object
            Passed to ``fit`` of the classifier, and to the score where metadata are routed; what has one entry for each row is cut
            like the rows.
        """
        self._validate_params()
        self._require_classifier()
        given, score, positive = self._goal()
        data = self._fit_data(X, y, sample_weight)
        X, y = countable(X), np.asarray(countable(y)).ravel()
        metadata = {**{name: countable(value) for name, value in params.items()}, "sample_weight": data.weight}
        options = self._options_inside(metadata, counts=accepts_weight(self.estimator))
        scored = Table(X, y, self._score_options(metadata))
        if len(data.classes) < 2:
            raise InvalidData("TunedThresholdClassifierCV needs rows of two classes, and y has one class.")
        if self._is_prefit():
            models, pairs = [self.estimator], [(None, np.arange(len(y)))]
        else:
            pairs = self._pairs(X, y, data.y.astype(np.intp))
            models = list(mapped(lambda pair: self._learnt(X, y, options, pair[0]), pairs, self.n_jobs))
        curves = []
        for model, (_, test) in zip(models, pairs, strict=True):
            said, label = self._scores(model, rows_of(X, test), positive)
            at = between(said.min(), said.max(), given) if isinstance(given, int) else given
            classes = np.asarray(model.classes_)
            other = classes[0] if label == classes[1] else classes[1]
            _, truth, own = scored.rows(test)
            curves.append((at, [score(truth, np.where(said >= one, label, other), own) for one in at]))
        self._choose(curves, given)
        if self._is_prefit():
            self.estimator_ = self.estimator
        else:
            self.estimator_ = self._learnt(X, y, options) if self.refit else models[0]
        self.certificate_ = composite_certificate([("estimator", self.estimator_)])
        copy_columns(self, self.estimator_)
        return self

    def _choose(self, curves: list[tuple[Array, list[float]]], given: Any) -> None:
        if isinstance(given, int):
            low, high = min(at.min() for at, _ in curves), max(at.max() for at, _ in curves)
            if np.isclose(low, high):
                raise InvalidData(
                    "The provided estimator makes constant predictions. Therefore, it is impossible to optimize the decision"
                    " threshold."
                )
            given = np.linspace(low, high, given)
        mean = np.mean([np.interp(given, at, scores) for at, scores in curves], axis=0)
        best = int(np.argmax(mean))
        self.best_threshold_, self.best_score_ = float(given[best]), float(mean[best])
        self.cv_results_ = {"thresholds": given, "scores": mean}

    def _scorer(self) -> Any:
        return get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring

    def _routed_parts(self, method: str) -> list[tuple[Any, str]] | None:
        return [(self.estimator, "fit"), (self._scorer(), "score")] if method == "fit" else None

    def _score_options(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return what scores are given beside labels: what they ask for, or weights where they can count."""
        given = {name: value for name, value in metadata.items() if value is not None}
        if is_enabled():
            return routed(self, self._scorer(), "score", given)
        counts = accepts_weight(self._scorer(), "_score_func")
        return {name: value for name, value in given.items() if name == "sample_weight" and counts}

    def _goal(self) -> tuple[Any, Callable[[Array, Array, Mapping[str, Any]], float], Any]:
        """Return the thresholds, a function of true labels, predictions and options that is largest at the best, and its label."""
        given = self.thresholds
        if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= 1:
            given = int(given)
        else:
            given = np.sort(np.asarray(given, dtype=np.float64)) if np.ndim(given) == 1 else given
            if not isinstance(given, np.ndarray) or not len(given) or np.isnan(given).any():
                raise InvalidParameter(
                    f"TunedThresholdClassifierCV.thresholds must be a whole number >= 1 or a list of numbers, got"
                    f" {self.thresholds!r}."
                )
        scorer = self._scorer()
        function = getattr(scorer, "_score_func", None)
        if function is None or getattr(scorer, "_response_method", None) != "predict":
            raise InvalidParameter(
                f"TunedThresholdClassifierCV.scoring must score labels, which a threshold changes ('f1', 'recall',"
                f" 'balanced_accuracy', or make_scorer of such a score); got {self.scoring!r}."
            )
        sign, options = scorer._sign, scorer._kwargs  # noqa: SLF001

        def score(truth: Array, predicted: Array, extra: Mapping[str, Any]) -> float:
            return float(sign * function(truth, predicted, **options, **extra))

        return given, score, options.get("pos_label")

    def _is_prefit(self) -> bool:
        prefit = isinstance(self.cv, str) and self.cv == "prefit"
        if prefit and self.refit:
            raise InvalidParameter("When cv='prefit', refit cannot be True: say refit=False.")
        return prefit

    def _pairs(self, X: Any, y: Array, codes: Array) -> list[Any]:
        if isinstance(self.cv, Real) and not isinstance(self.cv, Integral) and 0 < float(self.cv) < 1:
            splitter: Any = StratifiedShuffleSplit(1, test_size=self.cv, random_state=self.random_state)
        else:
            splitter = check_cv(self.cv, y, classifier=True)
        pairs = list(splitter.split(X, codes))
        require_folds(pairs)
        if len(pairs) > 1 and not self.refit:
            raise InvalidParameter(
                "When cv has several folds, refit cannot be False: which of their classifiers is meant?"
            )
        return pairs

    def predict(self, X: Any) -> Array:
        """Return the positive label where the score reaches the threshold, and the other one elsewhere.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        options = getattr(self.scoring, "_kwargs", {})  # scores by name say nothing of a label
        return self._cut(X, self.best_threshold_, options.get("pos_label"))


def between(low: float, high: float, count: int) -> Array:
    """Return thresholds at which the predictions of a fold change; where all scores are equal, that score and the next number."""
    return np.linspace(low, high, count) if high > low else np.array([low, np.nextafter(low, np.inf)])
