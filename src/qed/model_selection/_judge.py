"""One setting on one fold: fit, predict, score, and what it took."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from inspect import isfunction
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidParameter, clone
from qed.core._routing import is_enabled, require_taken, routed
from qed.core._validation import is_source
from qed.metrics import get_scorer
from qed.model_selection._subset import countable, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from qed.model_selection._splitter import Indices


@dataclass(frozen=True)
class Table:
    """The rows that are judged on, and what is passed to ``fit`` beside them."""

    X: Any
    y: Any
    extra: Mapping[str, Any] = field(default_factory=dict)
    for_scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by name of the score

    def rows(self, index: Indices) -> tuple[Any, Any, dict[str, Any]]:
        """Return some rows, and what belongs to them."""
        return rows_of(self.X, index), rows_of(self.y, index), self._cut(self.extra, index)

    def score_options(self, index: Indices) -> dict[str, dict[str, Any]]:
        """Return what each score is given beside some rows."""
        return {name: self._cut(extra, index) for name, extra in self.for_scores.items()}

    def _cut(self, extra: Mapping[str, Any], index: Indices) -> dict[str, Any]:
        n = _length(self.X)
        return {name: rows_of(value, index) if _length(value) == n else value for name, value in extra.items()}


def table_for(
    owner: Any, estimator: Any, X: Any, y: Any, metadata: Mapping[str, Any], scorers: Mapping[str, Any]
) -> Table:
    """Return the rows with what ``fit`` is given beside them, and the scores too where parts get metadata by request."""
    given = {name: countable(value) for name, value in metadata.items()}
    if not is_enabled():
        return Table(X, y, given)
    scored = score_parts(estimator, scorers)
    require_taken(owner, "fit", given, [(estimator, "fit"), *scored.values()])
    extra = routed(owner, estimator, "fit", given)
    return Table(X, y, extra, {name: routed(owner, *part, given) for name, part in scored.items()})


def groups_apart(params: Mapping[str, Any] | None, groups: Any) -> tuple[dict[str, Any], Any]:
    """Return metadata without the groups, which are for the splitter alone where metadata are routed."""
    params = dict(params or {})
    if is_enabled() and groups is None:
        groups = params.pop("groups", None)
    return params, groups


def score_parts(estimator: Any, scorers: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """Return who answers for each score, the scorer or the model itself, and by which method."""
    return {name: (estimator if scorer is _own_score else scorer, "score") for name, scorer in scorers.items()}


def _length(values: Any) -> int | None:
    shape = getattr(values, "shape", None)
    if shape:
        return int(shape[0])
    return len(values) if hasattr(values, "__len__") and not isinstance(values, str | dict) else None


def fitted_to(model: Any, X: Any, y: Any, extra: Mapping[str, Any]) -> Any:
    """Fit a model; targets are passed beside rows unless there are none, or the rows come from a source, which has its own."""
    return model.fit(X, **extra) if y is None or is_source(X) else model.fit(X, y, **extra)


class Judged(NamedTuple):
    """What a fold says of a setting."""

    scores: dict[str, float]
    train_scores: dict[str, float] | None
    fit_time: float
    score_time: float
    estimator: Any
    failure: str | None = None


def judge(
    estimator: Any,
    table: Table,
    pair: tuple[Indices, Indices],
    setting: Mapping[str, Any],
    scorers: Mapping[str, Callable[..., float]],
    *,
    error_score: Any,
    with_train: bool,
    keep: bool,
) -> Judged:
    """Fit a copy of the estimator on the training rows and score it on the test rows."""
    train, test = pair
    model = clone(estimator)
    start = time.perf_counter()
    try:
        if setting:
            model.set_params(**{name: clone(value) for name, value in setting.items()})
        X, y, extra = table.rows(train)
        fitted_to(model, X, y, extra)
    except Exception:
        if error_score == "raise":
            raise
        took, failed = time.perf_counter() - start, dict.fromkeys(scorers, float(error_score))
        return Judged(failed, dict(failed) if with_train else None, took, 0.0, None, traceback.format_exc())
    fitted = time.perf_counter()
    held_X, held_y, _ = table.rows(test)
    scores, failure = _scored(model, held_X, held_y, scorers, error_score, table.score_options(test))
    scored = time.perf_counter()
    learnt = _scored(model, X, y, scorers, error_score, table.score_options(train))[0] if with_train else None
    return Judged(scores, learnt, fitted - start, scored - fitted, model if keep else None, failure)


def _scored(
    model: Any,
    X: Any,
    y: Any,
    scorers: Mapping[str, Callable[..., float]],
    error_score: Any,
    options: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, float], str | None]:
    values: dict[str, float] = {}
    failure = None
    for name, scorer in scorers.items():
        try:
            extra = options.get(name, {})
            value = scorer(model, X, **extra) if y is None else scorer(model, X, y, **extra)
        except Exception:
            if error_score == "raise":
                raise
            value, failure = error_score, traceback.format_exc()
        if not isinstance(value, Real | np.number):
            value = getattr(value, "item", lambda value=value: value)()
        if not isinstance(value, Real):
            raise InvalidParameter(
                f"scoring must return a number, got {value!r} ({type(value)}) instead (scorer={name})."
            )
        values[name] = float(value)
    return values, failure


def _function_of_models(scorer: Any) -> Any:
    """Return a scorer of the caller, unless it is a function of numbers, a metric or a type: those a model file may name."""
    is_metric = isfunction(scorer) and (scorer.__module__ or "").startswith("qed.")
    if not callable(scorer) or is_metric or isinstance(scorer, np.ufunc | type):
        raise InvalidParameter(
            f"A scorer must be a function of (model, X, y), got {scorer!r}. qed.metrics.make_scorer makes one of a metric."
        )
    return scorer


def scorer_of(owner: str, estimator: Any, scoring: Any) -> Callable[..., float]:
    """Return the one scorer of a model that chooses by it; refuse several."""
    scorers, several = scorers_of(estimator, scoring)
    if several:
        raise InvalidParameter(
            f"{owner}.scoring takes one score, got {scoring!r:.200}: one number must say what is best."
        )
    return scorers["score"]


def scorers_of(estimator: Any, scoring: Any) -> tuple[dict[str, Callable[..., float]], bool]:
    """Return the scorers by name, and whether several were asked for.

    Parameters
    ----------
    estimator : object
        What is judged; without ``scoring`` its own ``score`` does.
    scoring : None, str, callable, sequence of str, or dict
        As in scikit-learn.
    """
    if scoring is None:
        if not hasattr(estimator, "score"):
            raise InvalidParameter(
                "If no scoring is specified, the estimator passed should have a 'score' method. The estimator"
                f" {estimator!r} does not."
            )
        return {"score": _own_score}, False
    if isinstance(scoring, str):
        return {"score": get_scorer(scoring)}, False
    if callable(scoring):
        return {"score": _function_of_models(scoring)}, False
    if isinstance(scoring, dict):
        names = {
            name: get_scorer(one) if isinstance(one, str) else _function_of_models(one) for name, one in scoring.items()
        }
    elif isinstance(scoring, list | tuple | set) and all(isinstance(one, str) for one in scoring):
        if len(set(scoring)) != len(scoring):
            raise InvalidParameter(f"scoring names a score twice: {scoring!r}.")
        names = {name: get_scorer(name) for name in scoring}
    else:
        raise InvalidParameter(
            f"scoring must be None, a name, a function, a list of names or a dict of name to scorer; got {scoring!r}."
        )
    if not names:
        raise InvalidParameter("scoring holds no scorer. Name at least one, or pass None.")
    return names, True


def _own_score(model: Any, X: Any, y: Any = None, **extra: Any) -> float:
    if not hasattr(model, "score"):
        raise InvalidParameter(
            f"{type(model).__name__} has no score of its own. Say which one is meant: scoring='...'."
        )
    return float(model.score(X, **extra) if y is None else model.score(X, y, **extra))


def is_classifier(estimator: Any) -> bool:
    """Say whether an estimator, of qed or not, predicts classes."""
    own = getattr(estimator, "_traits", None)  # of a model of qed, or of a user's; tags need scikit-learn to be loaded
    if own is not None:
        return bool(own().role == "classifier")
    tags = getattr(estimator, "__sklearn_tags__", None)
    try:
        return tags is not None and tags().estimator_type == "classifier"
    except AttributeError:
        return hasattr(estimator, "classes_") or hasattr(estimator, "predict_proba")
