"""Bagging and AdaBoost, part by part: rows, columns and weights of every copy are derived again before the copy is verified.

What is drawn follows from a seed by a mixing of 64 bits that is written down beside this module. A copy of AdaBoost is
verified with weights that follow from the errors of the copies before it, each of which was verified first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import clone
from qed.verify._answers import agreed
from qed.verify._answers._composites import member_shares
from qed.verify._forests import ends_of_interval
from qed.verify._part import Part
from qed.verify._refusals import refuse_changed
from qed.verify._rows import read_data
from qed.verify._seeds import columns_of_part, mixed, numbers_of, rows_with_replacement

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]
RELATIVE = 1e-9
COLUMNS, APART = 2**40, 2**41  # first numbers of the seeds that draw columns, and rows without replacement


def adaboost(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the copies, each with the weights or rows of its round; then compare errors, weights and the bound."""
    data = read_data(model, X, y, sample_weight)
    is_class = "classes_" in vars(model)
    rows, target = _rows(data.X), np.asarray(data.y, dtype=np.int64 if is_class else np.float64)
    s = np.ones(len(target)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    share, used = s / s.sum(), s > 0
    parts, k = vars(model)["estimators_"], len(model.classes_) if is_class else 0
    errors, weights = np.asarray(model.estimator_errors_), np.asarray(model.estimator_weights_)
    if not (1 <= len(parts) <= model.n_estimators) or errors.shape != (len(parts),) or weights.shape != (len(parts),):
        refuse_changed(
            model,
            f"holds {len(parts)} copies, and should hold an error and a weight for each, {model.n_estimators} at most",
        )
    votes = np.zeros((len(target), max(k, 1)))
    for number, part in enumerate(parts):
        share = np.where(used, np.maximum(share, np.finfo(np.float64).eps), 0.0)
        template = _template(model, number)
        if is_class:
            yield Part(f"round {number}", part, template, rows, target, share)
            said = np.asarray(agreed(part, "predict", rows), dtype=np.intp)
            error, weight, share = _samme(model, share, said != target, k)
            votes[np.arange(len(target)), said] += weight
        else:
            times = _drawn(model, len(target), _rows_of(len(target), s), share, number)
            own = np.repeat(np.arange(len(target)), times)
            yield Part(f"round {number}", part, template, rows[own], target[own])
            off = np.abs(np.asarray(agreed(part, "predict", rows), dtype=np.float64) - target)
            error, weight, share = _r2(model, share, off)
        if not (
            abs(error - errors[number]) <= RELATIVE and abs(weight - weights[number]) <= 1e-7 * max(1.0, abs(weight))
        ):
            refuse_changed(model, f"states another error or weight of round {number} than its rows give")
        if number + 1 < len(parts) and (error <= 0 or not share.sum() > 0):
            refuse_changed(model, f"goes on after round {number}, which was the last")
        share = share / share.sum() if share.sum() > 0 else share
    if is_class:
        _check_bound(model, s, votes, target, k)


def _samme(model: Any, share: Array, wrong: Array, k: int) -> tuple[float, float, Array]:
    error = float(share[wrong].sum() / share.sum())
    if error <= 0:
        return 0.0, 1.0, share
    if error >= 1 - 1 / max(k, 1):
        refuse_changed(model, "holds a copy that is no better than chance")
    weight = float(model.learning_rate) * float(np.log1p(-error) - np.log(error) + np.log(k - 1))
    new = share.copy()
    new[wrong] *= np.exp(weight)
    return error, weight, new


def _r2(model: Any, share: Array, off: Array) -> tuple[float, float, Array]:
    used = share > 0
    most = float(off[used].max())
    loss = off / most if most > 0 else off
    loss = {"linear": loss, "square": loss * loss, "exponential": 1 - np.exp(-loss)}[model.loss]
    error = float(share[used] @ loss[used] / share.sum())
    if error <= 0:
        return 0.0, 1.0, share
    if error >= 0.5:
        return error, 0.0, np.zeros(len(share))
    beta = error / (1 - error)
    new = np.zeros(len(share))
    new[used] = share[used] * np.exp(np.log(beta) * (1 - np.minimum(loss[used], 1.0)) * model.learning_rate)
    return error, float(-model.learning_rate * np.log(beta)), new


def _check_bound(model: Any, s: Array, votes: Array, target: Array, k: int) -> None:
    """Compare the training error with what is stated, and with the product of the normalisers of all rounds."""
    top = votes.max(axis=1)
    tied = (votes >= top[:, None] - RELATIVE * top[:, None]).sum(axis=1) > 1  # which label wins is then rounding
    wrong = votes.argmax(axis=1) != target
    error, slack = float(s @ wrong / s.sum()), float(s @ tied / s.sum()) + RELATIVE
    if not abs(error - model.training_error_) <= slack:
        refuse_changed(model, f"states a training error of {model.training_error_:.6g}, and it is {error:.6g}")
    bound = 1.0
    if k == 2:
        e, w = np.asarray(model.estimator_errors_), np.asarray(model.estimator_weights_)
        bound = min(1.0, float(np.exp(np.sum(np.log((1 - e) * np.exp(-w / 2) + e * np.exp(w / 2))))))
    if not abs(bound - model.error_bound_) <= 1e-7 * max(bound, 1e-9):
        refuse_changed(model, f"states a bound of {model.error_bound_:.6g}, and it is {bound:.6g}")
    # weights below the smallest share are lifted to it, which the product does not know
    if not error <= bound + slack + len(s) * len(model.estimators_) * np.finfo(np.float64).eps:
        refuse_changed(model, f"has a training error of {error:.6g}, above its bound {bound:.6g}")


def bagging(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the copies, each with the rows and columns of its drawing; then judge rows out of the samples again."""
    data = read_data(model, X, y, sample_weight)
    is_class = "classes_" in vars(model)
    rows, target = _rows(data.X), np.asarray(data.y, dtype=np.int64 if is_class else np.float64)
    n, p = rows.shape
    weight = None if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    draws = _draws(model, n, weight)
    parts, columns = vars(model)["estimators_"], np.asarray(model.estimators_features_)
    if not 1 <= len(parts) <= model.n_estimators or len(columns) != len(parts):
        refuse_changed(model, f"holds {len(parts)} copies, and {model.n_estimators} were asked for")
    width = len(model.classes_) if is_class else 1
    sums, judged = np.zeros((n, width)), np.zeros(n)
    for number, part in enumerate(parts):
        times = _drawn(model, n, draws, weight, number)
        wanted = _columns(model, p, number)
        if not np.array_equal(columns[number], wanted):
            refuse_changed(model, f"states other columns of copy {number} than its seed draws")
        own = np.repeat(np.arange(n), times)
        yield Part(f"copy {number}", part, _template(model, number), rows[own][:, wanted], target[own])
        out = np.flatnonzero(times == 0)
        if model.oob_score and len(out):
            sums[out] += _said(part, rows[out][:, wanted], width, is_class=is_class)
            judged[out] += 1
    if model.oob_score:
        _check_out_of_bag(model, sums, judged, target, weight, is_class=is_class)


def _check_out_of_bag(
    model: Any, sums: Array, judged: Array, target: Array, weight: Array | None, *, is_class: bool
) -> None:
    seen = judged > 0 if weight is None else (judged > 0) & (weight > 0)
    s = (np.ones(len(target)) if weight is None else weight)[seen]
    said = sums[judged > 0] / judged[judged > 0, None]
    stored = np.asarray(model.oob_decision_function_ if is_class else model.oob_prediction_[:, None])
    size = RELATIVE * max(1.0, float(np.abs(said).max(initial=0)))
    if (
        stored.shape != sums.shape
        or not np.isnan(stored[judged == 0]).all()
        or not (np.abs(stored[judged > 0] - said) <= size).all()
    ):
        refuse_changed(model, "states other predictions of rows out of the samples than its copies give")
    means = sums[seen] / judged[seen, None]
    if is_class:
        off, most = (means.argmax(axis=1) != target[seen]).astype(np.float64), 1.0
    else:
        off, most = (means[:, 0] - target[seen]) ** 2, float(np.ptp(target) ** 2)
    error = float(s @ off / s.sum())
    low = high = error
    if most > 0:
        ends = ends_of_interval(min(error / most, 1.0), np.log(2 / 0.05) * float(s @ s) / float(s.sum()) ** 2)
        low, high = min(ends[0] * most, error), max(ends[1] * most, error)
    score = 1 - error
    if not is_class:
        spread = float(s @ (target[seen] - s @ target[seen] / s.sum()) ** 2 / s.sum())
        score = 1 - error / spread if spread > 0 else float(error == 0)
    near = 1e-7 * max(error, high, 1e-300)
    given = np.asarray(model.oob_interval_)
    if not (abs(model.oob_error_ - error) <= near and abs(model.oob_score_ - score) <= 1e-7 * max(1.0, abs(score))):
        refuse_changed(model, f"states an out-of-bag error of {model.oob_error_:.6g}, and it is {error:.6g}")
    if not (abs(given[0] - low) <= near and abs(given[1] - high) <= near):
        refuse_changed(model, f"states an interval other than {low:.6g} to {high:.6g}")


def _said(part: Any, rows: Any, width: int, *, is_class: bool) -> Array:
    if not is_class:
        return np.asarray(agreed(part, "predict", rows), dtype=np.float64).reshape(-1, 1)
    return member_shares(part, rows, width)


def _rows(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.tocsr()


def _rows_of(n: int, weight: Array | None) -> int:
    """Return how many rows there are, counted by weights that are whole numbers."""
    whole = weight is not None and bool((weight == np.rint(weight)).all()) and weight.sum() < 2**31
    return int(weight.sum()) if whole and weight is not None else n


def _draws(model: Any, n: int, weight: Array | None) -> int:
    total, given = _rows_of(n, weight), model.max_samples
    draws = total if given is None else int(given) if isinstance(given, int) else max(round(total * float(given)), 1)
    return draws if model.bootstrap else min(draws, n if weight is None else int(np.count_nonzero(weight)))


def _drawn(model: Any, n: int, draws: int, weight: Array | None, number: int) -> Array:
    """Draw the rows of a copy again."""
    if getattr(model, "bootstrap", True):
        return np.bincount(rows_with_replacement(model.seed_, number, draws, n, weight), minlength=n)
    bits = numbers_of(model.seed_, APART + number, n)
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    wait = -np.log(uniform) / (1.0 if weight is None else np.where(weight > 0, weight, 1e-300))
    times = np.zeros(n, dtype=np.int64)
    times[np.argsort(wait, kind="stable")[:draws]] = 1
    return times


def _columns(model: Any, p: int, number: int) -> Array:
    given = model.max_features
    if model.bootstrap_features:
        many = int(given) if isinstance(given, int) else max(1, int(given * p))
        bits = numbers_of(model.seed_, COLUMNS + number, p)
        return np.asarray(((bits[:many] >> np.uint64(11)).astype(np.float64) * 2.0**-53 * p).astype(np.int64))
    return columns_of_part(model.seed_, COLUMNS + number, p, given)


def _template(model: Any, number: int) -> Any:
    """Return the estimator that is copied, with the random states of a copy."""
    made = clone(model._template())  # noqa: SLF001
    names = sorted(one for one in made.get_params(deep=True) if one == "random_state" or one.endswith("__random_state"))
    bits = [
        int(mixed(np.uint64((int(model.seed_) + 2**20 * number + at) % 2**64)) >> np.uint64(33))
        for at in range(len(names))
    ]
    return made.set_params(**dict(zip(names, bits, strict=True))) if names else made
