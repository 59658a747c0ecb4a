"""Predictors that count, checked: shares of labels, best constants, best cuts, all by definition.

A share is a sum over the rows of a label. A best constant or cut is compared with every other one that could be better: the
losses of all of them are computed again, without the sorts and running sums of the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, _targets
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._certificates import ExactCertificate

__all__ = ["check"]

EXTENDED = np.longdouble
Array = np.ndarray[Any, Any]


def check(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Compute again what the model learnt from labels or targets; raise CertificateError when it is something else."""
    target = _targets.as_target(y, "y")
    if len(target) != certificate.rows:
        _refuse(model, f"it learnt from {certificate.rows} rows, and these are {len(target)}")
    weight = _targets.weights(sample_weight, len(target))
    s = np.ones(len(target), EXTENDED) if weight is None else weight.astype(EXTENDED)
    for attribute, test in _CHECKS.items():
        if attribute in model.__dict__:
            objective, distance = test(model, X, target, s, certificate.rounding)
            measure = "share of mistakes" if "classes_" in model.__dict__ else ""
            rounding = certificate.rounding
            return Verdict(certificate.statement, objective, distance, rounding, rounding, measure)
    msg = f"{type(model).__name__} stores nothing that this checker knows how to count."
    raise CertificateError(msg)


def _refuse(model: Any, what: str) -> None:
    msg = f"{type(model).__name__} is not what these data give: {what}. The model was changed, or the data are others."
    raise CertificateError(msg)


def _shares(model: Any, X: Any, y: Array, s: Array, rounding: float) -> tuple[float, float]:  # noqa: ARG001
    labels = model.classes_.tolist()
    strange = set(y.tolist()) - set(labels)
    if strange or len(model.class_prior_) != len(labels):
        _refuse(model, f"the labels {sorted(map(str, strange))[:5]} are not among its classes")
    total = s.sum()
    off = 0.0
    for label, stored in zip(labels, model.class_prior_, strict=True):
        share = s[y == label].sum() / total
        if not abs(share - stored) <= rounding + 2.0**-52:
            _refuse(model, f"label {label!r} has a share of {float(share):.12g}, and {float(stored):.12g} is stored")
        off = max(off, float(abs(share - stored)))
    return 1.0 - float(max(model.class_prior_)), off


def _constant(model: Any, X: Any, y: Array, s: Array, rounding: float) -> tuple[float, float]:  # noqa: ARG001
    Y = y.astype(EXTENDED).reshape(len(y), -1)
    if model.constant_.shape != (1, Y.shape[1]):
        _refuse(model, f"there are {Y.shape[1]} targets")
    if model.strategy == "constant":
        given = np.asarray(model.constant, dtype=np.float64).reshape(-1)
        if not np.array_equal(given, model.constant_[0]):
            _refuse(model, f"the constant asked for is {given}, and {model.constant_[0]} is stored")
        return 0.0, 0.0
    level = {"mean": None, "median": 0.5}.get(model.strategy, model.quantile)
    objective = distance = 0.0
    for stored, values in zip(model.constant_[0], Y.T, strict=True):
        size = s @ np.abs(values) / s.sum()
        if level is None:
            mean = s @ values / s.sum()
            off = float(abs(mean - stored))
            if not off <= 4 * (rounding + 2.0**-52) * size + 1e-300:
                _refuse(model, f"the mean of the target is {float(mean):.12g}, and {float(stored):.12g} is stored")
            distance = max(distance, off)
            continue
        # a pinball loss is least where the slopes to both sides do not point down: weights below against weights above
        total, slack = s.sum(), 8 * (rounding + 2.0**-52) * s.sum()
        under, upto = s[values < stored].sum(), s[values <= stored].sum()
        if not (under <= level * total + slack and upto >= level * total - slack):
            _refuse(
                model,
                f"{float(under / total):.6g} of the target lie below {float(stored):.12g} and {float(upto / total):.6g} up to it,"
                f" for a level of {level}",
            )
    return objective, distance


def _cut(model: Any, X: Any, y: Array, s: Array, rounding: float) -> tuple[float, float]:
    rows = np.asarray(model._new_data(X), dtype=np.float64)  # noqa: SLF001
    labels = model.classes_
    if model.class_weight is not None:
        s = s * _class_weights(model, y, s)
    total = s.sum()
    slack = (rounding + 2.0**-52) * total
    column = rows[:, model.column_]
    below = np.full(len(column), True) if np.isinf(model.threshold_) else column <= model.threshold_
    told = labels[np.where(below, *model.sides_)]
    mistakes = s[told != y].sum()
    if not abs(mistakes - model.mistakes_) <= slack:
        _refuse(model, f"its cut makes mistakes of weight {float(mistakes):.12g}, and {model.mistakes_:.12g} is stored")
    own = [(y == label) * s for label in labels.tolist()]
    fewest = total - max(part.sum() for part in own)
    for values in rows.T:
        for cut in np.unique(values[s > 0]):
            low = values <= cut
            right = max(part[low].sum() for part in own) + max(part[~low].sum() for part in own)
            fewest = min(fewest, total - right)
    if mistakes > fewest + slack:
        _refuse(model, f"another cut makes mistakes of weight {float(fewest):.12g}, and its own {float(mistakes):.12g}")
    return float(mistakes), float(max(mistakes - fewest, 0))


def _table(model: Any, X: Any, y: Array, s: Array, rounding: float) -> tuple[float, float]:
    rows = np.asarray(model._new_data(X), dtype=np.float64)  # noqa: SLF001
    seen: dict[tuple[float, ...], dict[Any, Any]] = {}
    for row, label, weight in zip(rows.tolist(), y.tolist(), s, strict=True):
        if weight > 0:
            votes = seen.setdefault(tuple(row), {})
            votes[label] = votes.get(label, EXTENDED(0)) + weight
    stored = {
        tuple(row): label
        for row, label in zip(model.rows_.tolist(), model.classes_[model.row_labels_].tolist(), strict=True)
    }
    if stored.keys() != seen.keys():
        _refuse(model, f"{len(seen)} different rows occur, and {len(stored)} are stored")
    slack = (rounding + 2.0**-52) * s.sum()
    mistakes = sum(sum(votes.values()) - votes.get(stored[row], 0) for row, votes in seen.items())
    fewest = sum(sum(votes.values()) - max(votes.values()) for votes in seen.values())
    if not (mistakes <= fewest + slack and abs(mistakes - model.mistakes_) <= slack):
        _refuse(
            model, f"its table makes mistakes of weight {float(mistakes):.12g}, and {float(fewest):.12g} are possible"
        )
    return float(mistakes), float(max(mistakes - fewest, 0))


def _drawn(model: Any, X: Any, y: Array, s: Array, rounding: float) -> tuple[float, float]:
    rows = model._new_data(X)  # noqa: SLF001
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=EXTENDED)
    signs = np.where(y == model.classes_[1], 1, -1)
    slack = (rounding + 2.0**-52) * s.sum()
    stream = np.random.default_rng(model.seed_)
    fewest, own = s.sum(), None
    for draw in range(model.n_draws):
        plane = stream.standard_normal(rows.shape[1] + 1)
        plane[-1] *= bool(model.fit_intercept)
        mistakes = s[signs * (rows @ plane[:-1] + plane[-1]) <= 0].sum()
        fewest = min(fewest, mistakes)
        if draw == model.draw_:
            own = mistakes
            if not (np.array_equal(plane[:-1], model.coef_[0]) and np.array_equal(plane[-1:], model.intercept_)):
                _refuse(model, f"its plane is not draw {draw} of its seed")
    if own is None or own > fewest + slack or abs(own - model.mistakes_) > slack:
        _refuse(
            model, f"a plane drawn makes mistakes of weight {float(fewest):.12g}, and {model.mistakes_:.12g} is stored"
        )
    return float(fewest), 0.0


def _class_weights(model: Any, y: Array, s: Array) -> Array:
    labels = model.classes_.tolist()
    if isinstance(model.class_weight, str):
        sums = {label: s[y == label].sum() for label in labels}
        return np.array([s.sum() / (len(labels) * sums[label]) for label in y.tolist()], EXTENDED)
    return np.array([model.class_weight.get(label, 1.0) for label in y.tolist()], EXTENDED)


_CHECKS: dict[str, Callable[[Any, Any, Array, Array, float], tuple[float, float]]] = {
    "threshold_": _cut,
    "draw_": _drawn,
    "row_labels_": _table,
    "class_prior_": _shares,
    "constant_": _constant,
}
