"""Many strengths of ridge on many folds: one pass over the rows, one decomposition a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import clone
from qed.core._threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


DIGITS = 1e-8  # what squaring the columns may cost the predictions, relative


def predict_folds(
    model: Any, X: Any, y: Any, sample_weight: Any, folds: Sequence[Any], settings: Sequence[Mapping[str, Any]]
) -> Iterator[Array] | None:
    """Return predictions of the test rows fold by fold, (rows, settings), as if each had been fitted alone.

    None is returned for settings of anything but the strength and the intercept, for several targets, priors, and columns
    so nearly dependent that the single fits would not use products of columns either.
    """
    from qed.linear_model._choose import predictions_of_folds  # noqa: PLC0415  not needed by a single fit

    if any(set(setting) - {"alpha", "fit_intercept"} for setting in settings) or model.prior is not None:
        return None
    alphas = [setting.get("alpha", model.alpha) for setting in settings]
    intercepts = [setting.get("fit_intercept", model.fit_intercept) for setting in settings]
    if any(np.ndim(alpha) or isinstance(alpha, str) or not alpha > 0 for alpha in alphas):
        return None
    data = clone(model)._fit_data(X, y, sample_weight)  # noqa: SLF001
    weight = data.weight
    if data.y.ndim > 1 or (weight is not None and any(not weight[train].any() for train, _ in folds)):
        return None
    target, strengths = data.y[:, np.newaxis].astype(np.float64), np.array(alphas, dtype=np.float64)
    parts = []
    for intercept in set(intercepts):
        at = [k for k, one in enumerate(intercepts) if one == intercept]
        distinct, place = np.unique(strengths[at], return_inverse=True)  # of equal settings the scores are equal bits
        options: dict[str, Any] = {"intercept": intercept, "digits": DIGITS}
        try:
            with one_blas_thread():
                found = predictions_of_folds(list(folds), data.X, target, weight, distinct, **options)[0]
                parts.append((at, place, found))
        except FloatingPointError:
            return None
    return (_joined(together, len(settings)) for together in zip(*(_labelled(*part) for part in parts), strict=True))


def _labelled(at: list[int], place: Any, predictions: Iterator[Array]) -> Iterator[tuple[list[int], Array]]:
    return ((at, predicted[:, 0, place]) for predicted in predictions)


def _joined(parts: tuple[tuple[list[int], Array], ...], n_settings: int) -> Array:
    """Put the columns of settings with and without intercept where they belong."""
    result = np.empty((len(parts[0][1]), n_settings))
    for at, predicted in parts:
        result[:, at] = predicted
    return result
