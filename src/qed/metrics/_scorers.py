"""Scorers: from a fitted model and rows to one number that is higher where the model is better.

They work in scikit-learn's searches as its own do, and its scorers work wherever qed takes one: both are called as
``scorer(model, X, y)``.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _sklearn
from qed.core._errors import InvalidData, InvalidDataType, InvalidParameter
from qed.core._validation import is_source, source_targets
from qed.metrics import _areas, _classification, _precision_recall, _probabilities, _regression
from qed.metrics._on_sources import folded, merges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

METHODS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


class Scorer:
    """A score of a fitted model: ``scorer(model, X, y)``; higher is better.

    Attributes
    ----------
    score : callable
        ``score(y_true, y_pred, **options)``.
    sign : int
        -1 where lower is better.
    options : dict
        Options of the score.
    response_method : str or sequence of str
        The method of the model that is asked; of several the first that it has.
    """

    def __init__(
        self, score: Callable[..., Any], sign: int, options: dict[str, Any], response_method: str | tuple[str, ...]
    ) -> None:
        self.score, self.sign, self.options, self.response_method = score, sign, options, response_method
        self._metadata_requests: dict[str, dict[str, Any]] = {}

    # what scikit-learn calls them
    _response_method = property(lambda self: self.response_method)
    _score_func = property(lambda self: self.score)
    _sign = property(lambda self: self.sign)
    _kwargs = property(lambda self: self.options)

    def __call__(self, model: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> Any:
        """Score the model's predictions for the rows; those of a source, which brings its targets and weights, chunk by chunk."""
        if is_source(X) and sample_weight is None:
            if merges(self.score, model, {**self.options, **options}):
                ask = partial(_ask, methods=self.response_method, pos_label=self._pos_label())
                return self.sign * folded(self.score.__name__, model, X, ask, {**self.options, **options}).value
            y, sample_weight = source_targets(X, labels=role_of(model) == "classifier")
        if sample_weight is not None:
            options["sample_weight"] = sample_weight
        predicted = response(model, X, self.response_method, self._pos_label())[0]
        return self.sign * self.score(y, predicted, **{**self.options, **options})

    def _pos_label(self) -> Any:
        if "pos_label" in self.options:
            return self.options["pos_label"]
        parameter = inspect.signature(self.score).parameters.get("pos_label")
        return None if parameter is None else parameter.default

    def __repr__(self) -> str:
        name = (
            repr(self.score) if isinstance(self.score, partial) else getattr(self.score, "__name__", repr(self.score))
        )
        lower = "" if self.sign > 0 else ", greater_is_better=False"
        rest = "".join(f", {key}={value}" for key, value in self.options.items())
        return f"make_scorer({name}{lower}, response_method={self.response_method!r}{rest})"

    def _accept_sample_weight(self) -> bool:
        return "sample_weight" in inspect.signature(self.score).parameters

    def set_score_request(self, **requests: Any) -> Scorer:
        """Say which metadata a router of scikit-learn passes to this scorer."""
        if not _sklearn.setting("enable_metadata_routing", False):
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. You can enable it using"
                " sklearn.set_config(enable_metadata_routing=True), or qed.set_config(enable_metadata_routing=True)."
            )
        self._metadata_requests = {"score": dict(requests)}
        return self

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's record of the metadata that this scorer asks for."""
        accepted = sorted({*(["sample_weight"] if self._accept_sample_weight() else []), *self._asked()})
        return _sklearn.routing(self, {"score": tuple(accepted)}, self._metadata_requests)

    def _requests(self, method: str) -> dict[str, Any]:
        """Return what this scorer asks for, by name; None for what nobody has decided."""
        own = self._metadata_requests.get(method, {})
        return {**({"sample_weight": None} if self._accept_sample_weight() else {}), **own}

    def _asked(self) -> Iterable[str]:
        return self._metadata_requests.get("score", {})


def _ask(model: Any, X: Any, methods: Any, pos_label: Any) -> Any:
    return response(model, X, methods, pos_label)[0]


class MultiScorer:
    """Several scorers asked together: ``scorer(model, X, y)`` gives a dictionary of scores.

    Attributes
    ----------
    scorers : dict
        Names and scorers.
    raise_exc : bool
        Whether a score that fails raises; otherwise its text takes the place of the number.
    """

    def __init__(self, scorers: dict[str, Any], *, raise_exc: bool = True) -> None:
        self.scorers, self.raise_exc = scorers, raise_exc

    def __call__(self, model: Any, X: Any, y: Any = None, **options: Any) -> dict[str, Any]:
        """Score the model's predictions for the rows, in every way."""
        scores: dict[str, Any] = {}
        for name, scorer in self.scorers.items():
            try:
                scores[name] = scorer(model, X, y, **options)
            except Exception as error:
                if self.raise_exc:
                    raise
                scores[name] = f"{type(error).__name__}: {error}"
        return scores

    def __repr__(self) -> str:
        return "MultiScorer(" + ", ".join(f'"{name}"' for name in self.scorers) + ")"


class PassthroughScorer:
    """The model's own ``score``."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, model: Any, *args: Any, **options: Any) -> Any:
        """Ask the model for its own score."""
        return model.score(*args, **options)

    def __repr__(self) -> str:
        return f"{type(self.model).__name__}.score"

    def _accept_sample_weight(self) -> bool:
        return "sample_weight" in inspect.signature(self.model.score).parameters


def role_of(model: Any) -> str | None:
    """Say whether a model is a "classifier", a "regressor" or something else; of qed, of scikit-learn or of neither."""
    traits = getattr(model, "_traits", None)
    if callable(traits):
        return str(traits().role)
    tags = getattr(model, "__sklearn_tags__", None)
    if callable(tags):
        return getattr(tags(), "estimator_type", None)
    return getattr(model, "_estimator_type", None)


def response(model: Any, X: Any, response_method: Any, pos_label: Any = None) -> tuple[Any, Any]:
    """Ask a model for predictions; of two classes, the column (or the sign) of the positive label.

    Returns
    -------
    (ndarray, label)
        The response, and the positive label of two classes.
    """
    names = [response_method] if isinstance(response_method, str) else list(response_method)
    name = next((each for each in names if hasattr(model, each)), None)
    if name is None:
        raise AttributeError(f"{type(model).__name__} has none of the following attributes: {', '.join(names)}.")
    answer = getattr(model, name)(X)
    if role_of(model) != "classifier":
        return answer, None
    classes = np.asarray(model.classes_) if not isinstance(model.classes_, list) else None
    if classes is None or len(classes) > 2:
        if isinstance(answer, list):  # one table for each label of several
            answer = np.vstack([table[:, -1] for table in answer]).T
        return answer, pos_label
    if pos_label is None:
        pos_label = classes[-1]
    elif pos_label not in classes.tolist():
        raise InvalidData(f"pos_label={pos_label} is not a valid label: It should be one of {classes.tolist()}")
    if name in ("predict_proba", "predict_log_proba"):
        if np.shape(answer)[1] < 2:
            raise InvalidData(f"Got predict_proba of shape {np.shape(answer)}, but need classifier with two classes.")
        return np.asarray(answer)[:, int(np.flatnonzero(classes == pos_label)[0])], pos_label
    if name == "decision_function" and pos_label == classes[0]:
        return -np.asarray(answer), pos_label
    return answer, pos_label


def make_scorer(
    score_func: Callable[..., Any], *, response_method: Any = "predict", greater_is_better: bool = True, **kwargs: Any
) -> Scorer:
    """Make a scorer of a score.

    Parameters
    ----------
    score_func : callable
        ``score_func(y_true, y_pred, **kwargs)``.
    response_method : {"predict", "predict_proba", "decision_function"} or a sequence of them
        Which method of the model is asked; of several the first that it has.
    greater_is_better : bool
        False for losses: the scorer changes their sign.
    **kwargs : dict
        Options of the score.

    Returns
    -------
    Scorer
        ``scorer(model, X, y)``.

    Examples
    --------
    >>> from qed.metrics import fbeta_score, make_scorer
    >>> make_scorer(fbeta_score, beta=2)
    make_scorer(fbeta_score, response_method='predict', beta=2)
    """
    if not callable(score_func):
        raise InvalidParameter(f"score_func must be a function of y_true and y_pred, got {score_func!r}.")
    names = [response_method] if isinstance(response_method, str) else response_method
    if not isinstance(names, list | tuple) or not names or not set(names) <= set(METHODS):
        raise InvalidParameter(
            f"response_method must be one of {', '.join(map(repr, METHODS[:3]))}, or a sequence of them, got"
            f" {response_method!r}."
        )
    return Scorer(score_func, 1 if greater_is_better else -1, kwargs, response_method)


def positive_likelihood_ratio(y_true: Any, y_pred: Any) -> float:
    """Sensitivity over one minus specificity; 1 where it is not defined."""
    return _classification.class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[0]


def negative_likelihood_ratio(y_true: Any, y_pred: Any) -> float:
    """One minus sensitivity over specificity; 1 where it is not defined."""
    return _classification.class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[1]


RANKED = ("decision_function", "predict_proba")
# Name, function, sign, method, options.
_TABLE: tuple[tuple[str, Callable[..., Any], int, Any, dict[str, Any]], ...] = (
    ("explained_variance", _regression.explained_variance_score, 1, "predict", {}),
    ("r2", _regression.r2_score, 1, "predict", {}),
    ("d2_absolute_error_score", _regression.d2_absolute_error_score, 1, "predict", {}),
    ("neg_max_error", _regression.max_error, -1, "predict", {}),
    ("neg_mean_squared_error", _regression.mean_squared_error, -1, "predict", {}),
    ("neg_mean_squared_log_error", _regression.mean_squared_log_error, -1, "predict", {}),
    ("neg_mean_absolute_error", _regression.mean_absolute_error, -1, "predict", {}),
    ("neg_mean_absolute_percentage_error", _regression.mean_absolute_percentage_error, -1, "predict", {}),
    ("neg_median_absolute_error", _regression.median_absolute_error, -1, "predict", {}),
    ("neg_root_mean_squared_error", _regression.root_mean_squared_error, -1, "predict", {}),
    ("neg_root_mean_squared_log_error", _regression.root_mean_squared_log_error, -1, "predict", {}),
    ("neg_mean_poisson_deviance", _regression.mean_poisson_deviance, -1, "predict", {}),
    ("neg_mean_gamma_deviance", _regression.mean_gamma_deviance, -1, "predict", {}),
    ("accuracy", _classification.accuracy_score, 1, "predict", {}),
    ("balanced_accuracy", _classification.balanced_accuracy_score, 1, "predict", {}),
    ("matthews_corrcoef", _classification.matthews_corrcoef, 1, "predict", {}),
    ("positive_likelihood_ratio", positive_likelihood_ratio, 1, "predict", {}),
    ("neg_negative_likelihood_ratio", negative_likelihood_ratio, -1, "predict", {}),
    ("d2_brier_score", _probabilities.d2_brier_score, 1, "predict_proba", {}),
    ("d2_log_loss_score", _probabilities.d2_log_loss_score, 1, "predict_proba", {}),
    ("neg_log_loss", _probabilities.log_loss, -1, "predict_proba", {}),
    ("neg_brier_score", _probabilities.brier_score_loss, -1, "predict_proba", {}),
    ("top_k_accuracy", _probabilities.top_k_accuracy_score, 1, RANKED, {}),
    ("roc_auc", _areas.roc_auc_score, 1, RANKED, {}),
    ("average_precision", _areas.average_precision_score, 1, RANKED, {}),
    ("roc_auc_ovo", _areas.roc_auc_score, 1, "predict_proba", {"multi_class": "ovo"}),
    ("roc_auc_ovr", _areas.roc_auc_score, 1, "predict_proba", {"multi_class": "ovr"}),
    ("roc_auc_ovo_weighted", _areas.roc_auc_score, 1, "predict_proba", {"multi_class": "ovo", "average": "weighted"}),
    ("roc_auc_ovr_weighted", _areas.roc_auc_score, 1, "predict_proba", {"multi_class": "ovr", "average": "weighted"}),
    *(
        (
            name if average == "binary" else f"{name}_{average}",
            function,
            1,
            "predict",
            {"average": average} if average == "binary" else {"pos_label": None, "average": average},
        )
        for name, function in (
            ("precision", _precision_recall.precision_score),
            ("recall", _precision_recall.recall_score),
            ("f1", _precision_recall.f1_score),
            ("jaccard", _precision_recall.jaccard_score),
        )
        for average in ("binary", "macro", "micro", "samples", "weighted")
    ),
)
_NAMED = {name: (function, sign, method, options) for name, function, sign, method, options in _TABLE}


def get_scorer_names() -> list[str]:
    """Return the names that `get_scorer` knows, sorted.

    Returns
    -------
    list of str
        Those of scikit-learn, short of scores of clusterings.

    Examples
    --------
    >>> from qed.metrics import get_scorer_names
    >>> "roc_auc" in get_scorer_names()
    True
    """
    return sorted(_NAMED)


def get_scorer(scoring: Any) -> Any:
    """Return the scorer of a name; a callable is returned as it is.

    Parameters
    ----------
    scoring : str or callable
        A name such as "roc_auc", or a scorer.

    Returns
    -------
    callable
        ``scorer(model, X, y)``.

    Examples
    --------
    >>> from qed.metrics import get_scorer
    >>> get_scorer("neg_mean_absolute_error")
    make_scorer(mean_absolute_error, greater_is_better=False, response_method='predict')
    """
    if not isinstance(scoring, str):
        if scoring is not None and not callable(scoring):
            raise InvalidParameter(f"scoring must be a name or a callable, got {scoring!r}.")
        return scoring
    if scoring not in _NAMED:
        near = [name for name in get_scorer_names() if scoring in name or name in scoring]
        hint = f" Did you mean {' or '.join(map(repr, near[:3]))}?" if near else ""
        raise InvalidData(
            f"{scoring!r} is not a valid scoring value.{hint} qed.metrics.get_scorer_names() lists them all."
        )
    function, sign, method, options = _NAMED[scoring]
    return Scorer(function, sign, dict(options), method)


def check_scoring(
    estimator: Any = None, scoring: Any = None, *, allow_none: bool = False, raise_exc: bool = True
) -> Any:
    """Turn whatever a user may pass as ``scoring`` into a scorer.

    Parameters
    ----------
    estimator : object, optional
        The model to be scored; its own ``score`` is used without `scoring`.
    scoring : str, callable, list, tuple, set or dict, optional
        A name, a scorer, or several.
    allow_none : bool
        Whether None is returned, instead of an error, for a model without ``score``.
    raise_exc : bool
        Whether one of several scores that fails raises.

    Returns
    -------
    callable or None
        ``scorer(model, X, y)``; of several, giving a dictionary.

    Examples
    --------
    >>> from qed.linear_model import Ridge
    >>> from qed.metrics import check_scoring
    >>> check_scoring(Ridge())
    Ridge.score
    """
    if estimator is not None and not hasattr(estimator, "fit"):
        raise InvalidParameter(f"estimator must be a model with a method 'fit', got {estimator!r}.")
    if isinstance(scoring, list | tuple | set | dict):
        return MultiScorer(_several(estimator, scoring), raise_exc=raise_exc)
    if callable(scoring):
        module = getattr(scoring, "__module__", None) or ""
        if module.startswith(("qed.metrics.", "sklearn.metrics.")) and inspect.isfunction(scoring):
            raise InvalidData(
                f"scoring value {scoring!r} looks like it is a metric function rather than a scorer. A scorer should"
                " require an estimator as its first parameter. Please use `make_scorer` to convert a metric to a scorer."
            )
        return scoring
    if scoring is not None:
        return get_scorer(scoring)
    if hasattr(estimator, "score"):
        return PassthroughScorer(estimator)
    if allow_none:
        return None
    raise InvalidDataType(
        "If no scoring is specified, the estimator passed should have a 'score' method. The estimator"
        f" {estimator!r} does not."
    )


def _several(estimator: Any, scoring: Any) -> dict[str, Any]:
    if not len(scoring):
        raise InvalidData(f"An empty {type(scoring).__name__} was passed as scoring. Name at least one score.")
    if any(not isinstance(name, str) for name in scoring):
        raise InvalidData(
            f"The keys of a dict, and the elements of a list, of scores are names; got {scoring!r}. Use a dict of score"
            " name mapped to the scorer callable."
        )
    if len(set(scoring)) != len(scoring):
        raise InvalidData(f"Duplicate elements were found in the given list: {scoring!r}. Name each score once.")
    named = scoring if isinstance(scoring, dict) else {name: name for name in scoring}
    return {name: check_scoring(estimator, scorer) for name, scorer in named.items()}
