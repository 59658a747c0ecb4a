"""Gaps filled by models in rounds: what each model makes of them, and what comes out at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import CertificateError
from qed.core._records import public_name
from qed.verify._answers._agree import agreed
from qed.verify._answers._compare import dense, table_of
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]
WITH_POSTERIOR = ("qed.linear_model.ARDRegression", "qed.linear_model.BayesianRidge")


def filled_in_rounds(model: Any, X: Any, told: Any) -> None:
    """Take the rounds of the fit on other rows, and compare what comes out, with the marks beside."""
    rows = np.asarray(table_of(model, X))
    filled, mask = first_filled(model, rows), gaps_of(model, rows)[:, model.features_]
    for number in range(len(model.columns_)):
        fill(model, filled, mask, number)
    if model.indicator_ is not None:
        filled = np.hstack([filled, dense(agreed(model.indicator_, "transform", rows)).astype(filled.dtype)])
    answers = dense(told)
    if answers.shape != filled.shape or not np.array_equal(answers, filled, equal_nan=True):
        refuse_answer(model, "transform")


def gaps_of(model: Any, rows: Array) -> Array:
    """Return where the gaps of rows are."""
    gap = model.missing_values
    return np.isnan(rows) if gap != gap else rows == gap  # noqa: PLR0124


def first_filled(model: Any, rows: Array) -> Array:
    """Return rows with the first filling, in the columns that come out."""
    filled = np.array(dense(agreed(model.initial_imputer_, "transform", rows)))
    return filled if filled.shape[1] == len(model.features_) else filled[:, model.features_]


def fill(model: Any, filled: Array, mask: Array, number: int) -> None:
    """Fill the gaps of one step in place, by what its model answers."""
    column, read, part = int(model.columns_[number]), model.neighbors_[number], model.estimators_[number]
    missing = mask[:, column]
    if not missing.any():
        return
    rows = filled[missing][:, read]
    place = int(model.features_[column])
    low, high = _end(model.min_value, -np.inf, place), _end(model.max_value, np.inf, place)
    said = np.asarray(agreed(part, "predict", rows)).reshape(-1)
    if model.sample_posterior:
        said = _drawn(model, part, rows, said, missing, number, (low, high))
    filled[missing, column] = np.minimum(np.maximum(said, low), high)


def _end(given: Any, none: float, place: int) -> float:
    """Return one end of what a column may be filled with."""
    if given is None:
        return none
    return float(given if np.ndim(given) == 0 else given[place])


def _drawn(
    model: Any, part: Any, rows: Array, mean: Array, missing: Array, number: int, ends: tuple[float, float]
) -> Array:
    """Draw from the predictive distributions again, once their deviations are those of the posterior."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415

    if public_name(type(part)) not in WITH_POSTERIOR:
        raise CertificateError(
            f"The checker does not know the predictive deviations of {type(part).__name__}. Fit with BayesianRidge or"
            " ARDRegression, or without sample_posterior, to verify."
        )
    told, deviation = (np.asarray(one, dtype=np.float64) for one in part.predict(rows, return_std=True))
    kept = np.flatnonzero(part.lambda_ < part.threshold_lambda) if hasattr(part, "threshold_lambda") else slice(None)
    apart = (rows.astype(EXTENDED) - part.X_offset_)[:, kept]
    own = np.sqrt(np.maximum((apart @ part.sigma_.astype(EXTENDED) * apart).sum(axis=1), 0) + 1 / EXTENDED(part.alpha_))
    near = 2.0**-20 if rows.dtype == np.float32 else 2.0**-36
    if not np.array_equal(told, mean) or not (np.abs(deviation - own) <= near * own).all():
        refuse_answer(part, "predict")
    low, high = ends
    share = np.random.default_rng([int(model.seed_), 3, number]).random(len(missing))[missing] + 2.0**-54
    inside = (deviation > 0) & (told >= low) & (told <= high)
    scale = np.where(inside, deviation, 1.0)
    under, over = ndtr((low - told) / scale), ndtr((high - told) / scale)
    off = ndtri(np.clip(under + share * (over - under), 2.0**-54, 1 - 2.0**-53))
    return np.asarray(np.where(inside, told + scale * off, told))
