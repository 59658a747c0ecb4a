"""Every score as a recipe: the statistic it is computed from, the formula, and what is known about its interval."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.data import Counts, Moments
from qed.metrics import (
    _areas,
    _classification,
    _intervals,
    _losses,
    _precision_recall,
    _probabilities,
    _regression,
)
from qed.metrics._confusion import Confusion
from qed.metrics._intervals import NeedsRows
from qed.metrics._losses import combined, loss_moments, read_pair
from qed.metrics._precision_recall import Scored
from qed.metrics._quantiles import Largest, Sample
from qed.metrics._ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.metrics._intervals import Score


@dataclass(frozen=True)
class Recipe:
    """How a score is made.

    Attributes
    ----------
    of : callable
        From ``(y_true, y_pred, sample_weight, **options)`` to a statistic.
    value : callable
        From ``(statistic, **options)`` to the score.
    function : callable
        The public function; its signature says which options there are.
    interval : callable, optional
        From ``(statistic, level, method, **options)`` to a `Score`, or to None where these options have no formula.
    resample : callable, optional
        From ``(statistic, random)`` to the statistic of as many rows drawn with replacement.
    """

    of: Callable[..., Any]
    value: Callable[..., Any]
    function: Callable[..., Any]
    interval: Callable[..., Score | None] | None = None
    resample: Callable[[Any, Any], Any] | None = None

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Fill in the defaults of the public function, and refuse options that it does not have."""
        known = _defaults(self.function)
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InvalidParameter(
                f"{self.function.__name__} has no option {', '.join(unknown)}. It has: {', '.join(known) or 'none'}."
            )
        filled = {**known, **given}
        missing = [name for name, value in filled.items() if value is inspect.Parameter.empty]
        if missing:
            raise InvalidParameter(f"{self.function.__name__} needs the option {', '.join(missing)}.")
        return filled


@cache
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = list(inspect.signature(function).parameters.values())[2:]
    return {each.name: each.default for each in parameters if each.name != "sample_weight"}


# ---- scores of labels


def _drawn_confusion(confusion: Confusion, random: Any) -> Confusion:
    weight = confusion.counts.weight
    if (weight != np.floor(weight)).any():
        raise NeedsRows("The weights are not whole numbers, so rows cannot be drawn again from their counts alone.")
    drawn = random.multinomial(int(weight.sum()), weight / weight.sum())
    kept = drawn > 0
    counts = Counts(confusion.counts.values[kept], drawn[kept], drawn[kept].astype(np.float64), np.zeros(kept.sum()))
    return Confusion(confusion.labels, counts)


def _confusion_of(y_true: Any, y_pred: Any, sample_weight: Any, **_: Any) -> Confusion:
    return Confusion.of(y_true, y_pred, sample_weight)


def _of_labels(
    function: Callable[..., Any], value: Callable[..., Any], interval: Callable[..., Score | None] | None = None
) -> Recipe:
    return Recipe(_confusion_of, value, function, interval, _drawn_confusion)


def _accuracy_interval(confusion: Confusion, level: float, method: str, **_: Any) -> Score:
    return _intervals.share(float(confusion.right.sum()), confusion.total, level, method)


def _error_interval(confusion: Confusion, level: float, method: str, **_: Any) -> Score:
    total = confusion.total
    return _intervals.share(total - float(confusion.right.sum()), total, level, method)


def _prf(index: int) -> Callable[..., Any]:
    def value(confusion: Confusion, **options: Any) -> Any:
        name = ("precision", "recall", "f-score")[index]
        scored = Scored.of_confusion(confusion)
        return _precision_recall.precision_recall_fscore(scored, warn_for=(name,), **options)[index]

    return value


def _prf_interval(part: str) -> Callable[..., Score | None]:
    """Precision is a share of the rows predicted positive, recall of those that are: binomial, given their number."""

    def interval(confusion: Confusion, level: float, method: str, **options: Any) -> Score | None:
        scored = Scored.of_confusion(confusion)
        average = options["average"]
        wanted = _precision_recall.chosen_labels(scored, average, options["labels"], options["pos_label"])
        sums = scored.sums(wanted)
        if average == "micro":
            sums = sums.micro()
        if len(sums.right) != 1:
            return None
        return _intervals.share(float(sums.right[0]), float(getattr(sums, part)[0]), level, method)

    return interval


def _f1_value(confusion: Confusion, **options: Any) -> Any:
    return _prf(2)(confusion, beta=1.0, **options)


# ---- mean losses


def _mean_loss(
    function: Callable[..., Any],
    loss: Callable[..., Any],
    check: Callable[..., None] | None = None,
    *,
    root: bool = False,
    outputs: bool = True,
) -> Recipe:
    def of(y_true: Any, y_pred: Any, sample_weight: Any, **options: Any) -> Moments:
        truth, guess, s = read_pair(y_true, y_pred, sample_weight, outputs=outputs)
        if check is not None:
            check(truth, guess, options)
        return loss_moments(truth, guess, s, loss(options))

    def value(moments: Moments, *, multioutput: Any = "uniform_average", **_: Any) -> Any:
        return combined(np.sqrt(moments.mean) if root else moments.mean, multioutput)

    def interval(moments: Moments, level: float, method: str, **_: Any) -> Score | None:
        if method != "auto" or len(moments.mean) != 1:
            return None
        found = _intervals.mean(moments, level)
        if not root:
            return found
        value, lower, upper = (math.sqrt(max(end, 0.0)) for end in (found.value, found.lower, found.upper))
        return replace(found, value=value, lower=lower, upper=upper)

    return Recipe(of, value, function, interval)


def _row_loss(
    function: Callable[..., Any], of: Callable[..., Moments], names: tuple[str, ...], *, is_share: bool = False
) -> Recipe:
    def moments_of(y_true: Any, y_pred: Any, sample_weight: Any, **options: Any) -> Moments:
        return of(y_true, y_pred, sample_weight, **{name: options[name] for name in names})

    def value(moments: Moments, *, normalize: bool = True, **_: Any) -> float:
        return float(moments.mean[0] * (1.0 if normalize else moments.weight))

    def interval(moments: Moments, level: float, method: str, **_: Any) -> Score | None:
        if is_share:
            right = round(float(moments.mean[0]) * moments.weight, 6)
            return _intervals.share(right, moments.weight, level, method)
        if method != "auto":
            return None
        return _intervals.mean(moments, level)

    return Recipe(moments_of, value, function, interval)


def _check_deviance(truth: Any, guess: Any, options: dict[str, Any]) -> None:
    _losses.check_deviance(truth, guess, options["power"])


def _check_logarithm(truth: Any, guess: Any, _: dict[str, Any]) -> None:
    _losses.check_logarithm(truth, guess, "Mean Squared Logarithmic Error")


def _deviance(function: Callable[..., Any], power: float) -> Recipe:
    def check(truth: Any, guess: Any, _: dict[str, Any]) -> None:
        _losses.check_deviance(truth, guess, power)

    return _mean_loss(function, lambda _: _losses.deviance(power), check, outputs=False)


# ---- quotients, orders and ranks


def _residuals_of(y_true: Any, y_pred: Any, sample_weight: Any, **_: Any) -> Moments:
    return _regression.residual_moments(y_true, y_pred, sample_weight)


def _sample_of(y_true: Any, y_pred: Any, sample_weight: Any, **_: Any) -> Sample:
    return Sample.of(y_true, y_pred, sample_weight)


def _drawn_sample(sample: Sample, random: Any) -> Sample:
    rows = random.integers(len(sample.y_true), size=len(sample.y_true))
    return Sample(sample.y_true[rows], sample.y_pred[rows], None if sample.s is None else sample.s[rows])


def _median_interval(sample: Sample, level: float, method: str, **_: Any) -> Score | None:
    if method != "auto" or sample.s is not None or sample.y_true.shape[1] != 1:
        return None
    errors = np.abs(sample.y_true - sample.y_pred)[:, 0]
    return _intervals.median(errors, level, float(_regression.median_errors(sample)[0]))


def _no_interval(*_: Any, **__: Any) -> Score:
    raise InvalidData(
        "The largest error of a sample says nothing about how much larger the next can be. Bound a quantile of the errors"
        " instead: model.certify(X_held, y_held)."
    )


def _ranking_of(y_true: Any, y_pred: Any, sample_weight: Any, *, pos_label: Any = None, **options: Any) -> Ranking:
    if options.get("multi_class", "raise") != "raise":
        raise InvalidParameter(
            "A tally of roc_auc_score is of two classes. Tally each class against the rest by itself."
        )
    return Ranking.of(y_true, y_pred, sample_weight, pos_label=pos_label)


def _drawn_ranking(ranking: Ranking, random: Any) -> Ranking:
    if not ranking.is_counted:
        raise NeedsRows("The weights are not whole numbers, so rows cannot be drawn again from their counts alone.")
    both = np.concatenate([ranking.positive, ranking.negative])
    drawn = random.multinomial(int(both.sum()), both / both.sum()).astype(np.float64)
    positive, negative = np.split(drawn, 2)
    return Ranking(ranking.scores, positive, negative, ranking.rows)


def _area_interval(ranking: Ranking, level: float, method: str, *, max_fpr: Any = None, **_: Any) -> Score | None:
    if method != "auto" or max_fpr not in (None, 1):
        return None
    return _intervals.area(ranking, level)


def _without(value: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Pass a formula only the options that it has."""

    def chosen(statistic: Any, **options: Any) -> Any:
        return value(statistic, **{name: options[name] for name in names})

    return chosen


RECIPES: dict[str, Recipe] = {
    recipe.function.__name__: recipe
    for recipe in (
        _of_labels(_classification.accuracy_score, _classification.accuracy, _accuracy_interval),
        _of_labels(
            _classification.zero_one_loss,
            lambda c, *, normalize=True: (
                1 - _classification.accuracy(c) if normalize else c.total - _classification.accuracy(c, normalize=False)
            ),
            _error_interval,
        ),
        _of_labels(_classification.hamming_loss, lambda c: 1 - _classification.accuracy(c), _error_interval),
        _of_labels(_classification.balanced_accuracy_score, _classification.balanced_accuracy),
        _of_labels(_classification.matthews_corrcoef, _classification.matthews),
        _of_labels(_classification.cohen_kappa_score, _classification.kappa),
        _of_labels(_precision_recall.precision_score, _prf(0), _prf_interval("predicted")),
        _of_labels(_precision_recall.recall_score, _prf(1), _prf_interval("true")),
        _of_labels(_precision_recall.f1_score, _f1_value),
        _of_labels(_precision_recall.fbeta_score, _prf(2)),
        _of_labels(
            _precision_recall.jaccard_score,
            lambda c, **options: _precision_recall.jaccard(Scored.of_confusion(c), **options),
        ),
        _mean_loss(_regression.mean_squared_error, lambda _: _losses.squared),
        _mean_loss(_regression.root_mean_squared_error, lambda _: _losses.squared, root=True),
        _mean_loss(_regression.mean_absolute_error, lambda _: _losses.absolute),
        _mean_loss(_regression.mean_absolute_percentage_error, lambda _: _losses.relative),
        _mean_loss(_regression.mean_squared_log_error, lambda _: _losses.squared_log, _check_logarithm),
        _mean_loss(_regression.root_mean_squared_log_error, lambda _: _losses.squared_log, _check_logarithm, root=True),
        _mean_loss(_regression.mean_pinball_loss, lambda options: _losses.pinball(options["alpha"])),
        _mean_loss(
            _regression.mean_tweedie_deviance,
            lambda options: _losses.deviance(options["power"]),
            _check_deviance,
            outputs=False,
        ),
        _deviance(_regression.mean_poisson_deviance, 1),
        _deviance(_regression.mean_gamma_deviance, 2),
        _row_loss(_probabilities.log_loss, _probabilities.log_loss_moments, ("labels",)),
        _row_loss(
            _probabilities.brier_score_loss, _probabilities.brier_moments, ("pos_label", "labels", "scale_by_half")
        ),
        _row_loss(_probabilities.hinge_loss, _probabilities.hinge_moments, ("labels",)),
        _row_loss(_probabilities.top_k_accuracy_score, _probabilities.top_k_moments, ("k", "labels"), is_share=True),
        Recipe(
            lambda y, t, s, *, labels: _probabilities.d2_log_loss_moments(y, t, s, labels=labels),
            _without(_probabilities.d2_log),
            _probabilities.d2_log_loss_score,
        ),
        Recipe(
            lambda y, t, s, *, pos_label, labels: _probabilities.d2_brier_moments(
                y, t, s, pos_label=pos_label, labels=labels
            ),
            _without(_probabilities.d2_brier),
            _probabilities.d2_brier_score,
        ),
        Recipe(
            lambda y, t, s, *, power: _regression.deviance_moments(y, t, s, power),
            _regression.d2_tweedie,
            _regression.d2_tweedie_score,
        ),
        Recipe(_residuals_of, _regression.r_squared, _regression.r2_score),
        Recipe(_residuals_of, _regression.explained_variance, _regression.explained_variance_score),
        Recipe(_sample_of, _regression.d2_pinball, _regression.d2_pinball_score, None, _drawn_sample),
        Recipe(_sample_of, _regression.d2_pinball, _regression.d2_absolute_error_score, None, _drawn_sample),
        Recipe(
            _sample_of,
            lambda sample, *, multioutput: combined(_regression.median_errors(sample), multioutput),
            _regression.median_absolute_error,
            _median_interval,
            _drawn_sample,
        ),
        Recipe(Largest.of, lambda largest: largest.value, _regression.max_error, _no_interval),
        Recipe(
            _ranking_of, _without(_areas.binary_area, "max_fpr"), _areas.roc_auc_score, _area_interval, _drawn_ranking
        ),
        Recipe(
            _ranking_of,
            _without(Ranking.average_precision),
            _areas.average_precision_score,
            None,
            _drawn_ranking,
        ),
    )
}
