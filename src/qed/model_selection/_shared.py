"""Work that folds and settings have in common, done once, by models that can.

A model that can predict the test rows of many folds and settings together says so by a method::

    def _predict_folds(self, X, y, sample_weight, folds, settings) -> Iterator[ndarray] | None

which yields, fold by fold, the predictions of its test rows for every setting, shape (rows, settings), as if each had been
fitted alone; or returns None for settings it cannot treat together. Scores then cost one product for all settings.

One that can do so for many sets of columns says::

    def _predict_columns(self, X, y, sample_weight, folds) -> Callable[[sets], list[ndarray]] | None

a function of sets of column numbers, (sets, k), whose result is by fold, (rows, sets), with NaN for sets that need a fit.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Regressor
from qed.core._validation import is_source
from qed.metrics import r2_score
from qed.model_selection._judge import Judged
from qed.model_selection._subset import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.model_selection._judge import Table
    from qed.model_selection._splitter import Indices


def judged_together(
    estimator: Any,
    table: Table,
    folds: Sequence[tuple[Indices, Indices]],
    settings: Sequence[Mapping[str, Any]],
    scorers: Mapping[str, Callable[..., float]],
) -> list[list[Judged]] | None:
    """Judge all settings on all folds with shared work; None when the model, the score or the settings do not allow it.

    Returns
    -------
    list of list of Judged, or None
        By setting, then by fold. Times are equal shares of the whole.
    """
    hook = getattr(estimator, "_predict_folds", None)
    measures = {name: _measure(estimator, scorer) for name, scorer in scorers.items()}
    plain = not set(table.extra) - {"sample_weight"} and not any(table.for_scores.values())
    if hook is None or is_source(table.X) or None in measures.values() or not plain:
        return None
    start = time.perf_counter()
    yielded = hook(table.X, table.y, table.extra.get("sample_weight"), folds, settings)
    if yielded is None:
        return None
    predictions = list(yielded)
    took = (time.perf_counter() - start) / (len(folds) * len(settings))
    columns: list[list[Judged]] = [[] for _ in settings]
    for (_, test), predicted in zip(folds, predictions, strict=True):
        start = time.perf_counter()
        truth = np.asarray(rows_of(table.y, test), dtype=np.float64)
        values = {name: measure(truth, predicted) for name, measure in measures.items() if measure is not None}
        spent = (time.perf_counter() - start) / len(settings)
        for k, column in enumerate(columns):
            scores = {name: float(value[k]) for name, value in values.items()}
            column.append(Judged(scores, None, took, spent, None))
    return columns


def columns_together(
    estimator: Any, table: Table, folds: Sequence[tuple[Indices, Indices]], scorer: Callable[..., float]
) -> Callable[[Any], Any] | None:
    """Return a function of sets of columns, (sets, k), that gives scores (sets, folds); None where nothing can be shared.

    NaN stands for sets that must be fitted one by one.
    """
    hook, measure = getattr(estimator, "_predict_columns", None), _measure(estimator, scorer)
    plain = not set(table.extra) - {"sample_weight"} and not any(table.for_scores.values())
    if hook is None or measure is None or table.y is None or not plain:
        return None
    predict = hook(table.X, table.y, table.extra.get("sample_weight"), folds)
    if predict is None:
        return None
    truths = [np.asarray(rows_of(table.y, test), dtype=np.float64) for _, test in folds]

    def score(sets: Any) -> Any:
        found = np.full((len(sets), len(folds)), np.nan)
        for fold, (truth, predicted) in enumerate(zip(truths, predict(sets), strict=True)):
            sure = ~np.isnan(predicted).any(axis=0)
            if sure.any():
                found[sure, fold] = measure(truth, predicted[:, sure])
        return found

    return score


def _measure(estimator: Any, scorer: Any) -> Callable[[Any, Any], Any] | None:
    """Return a function of truth and predictions, one column for each setting, that gives a score for each."""
    function = getattr(scorer, "_score_func", None)
    if function is None:
        own = scorer.__name__ == "_own_score" if hasattr(scorer, "__name__") else False
        if own and type(estimator).score is Regressor.score:
            return _all_r2
        return None
    if getattr(scorer, "_response_method", None) != "predict":
        return None
    if function is r2_score and not scorer._kwargs:  # noqa: SLF001
        return _all_r2
    return lambda truth, predicted: np.array(
        [scorer._sign * function(truth, column, **scorer._kwargs) for column in predicted.T]  # noqa: SLF001
    )


def _all_r2(truth: Any, predicted: Any) -> Any:
    """Return R² of each column."""
    if len(truth) < 2:
        return np.full(predicted.shape[1], np.nan)
    left = np.sum((truth[:, np.newaxis] - predicted) ** 2, axis=0)
    whole = float(np.sum((truth - truth.mean()) ** 2))
    if whole == 0.0:
        return np.where(left == 0.0, 1.0, 0.0)
    return 1.0 - left / whole
