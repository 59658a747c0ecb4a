"""Calibrated classifiers, part by part: classifiers with the folds they were fitted on, curves with the scores of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import BracketCertificate
from qed.core._records import public_name
from qed.verify._answers._composites import class_scores, curve_scores
from qed.verify._blocks import rows_of
from qed.verify._part import Part, Stated, folds_of, numbered, weight_for
from qed.verify._refusals import refuse_changed
from qed.verify._rows import EXTENDED
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]
CURVES = {"isotonic": "qed.calibration.IsotonicRegression", "sigmoid": "qed.linear_model.LogisticRegression"}


def calibrated(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part | Stated]:
    """Yield the classifiers, each followed by its curves with the scores of rows that it has not seen; temperatures at the end."""
    target, state = numbered(model, y), vars(model)
    fold = folds_of(model, len(target), model.cv)
    weight = own = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weighted = state.get("weighted_")  # None in files of versions that did not keep it
    if weighted is not None:
        own = own if "estimator" in weighted else None
        weight = weight if "curves" in weighted else None
    count = int(fold.max()) + 1
    frozen = type(model.estimator).__name__ == "FrozenEstimator"
    averages = not frozen if isinstance(model.ensemble, str) else bool(model.ensemble)
    parts, curves, inner = state["estimators_"], state["calibrators_"], state["fold_estimators_"]
    if (len(parts), len(curves), len(inner)) != ((count, count, 0) if averages else (1, 1, count)):
        refuse_changed(model, "does not hold a classifier and its curves for each fold")
    template = model.estimator
    if template is None:
        if public_name(type(parts[0])) != "qed.svm.LinearSVC":
            refuse_changed(model, f"has a {type(parts[0]).__name__}, and without a name for one it is LinearSVC")
        template = type(parts[0])()
    if not averages:
        every = np.arange(len(target))
        yield _classifier("classifier 0", parts[0], template, X, target, own, every)
    gathered: list[Any] = []
    scores_of = class_scores if model.method == "temperature" else curve_scores
    for number, one in enumerate(parts if averages else inner):
        used, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        name = f"classifier {number}" if averages else f"classifier without fold {number}"
        yield _classifier(name, one, template, X, target, own, used, is_listed=averages)
        scores = scores_of(one, rows_of(X, held))
        if averages and model.method != "temperature":
            yield from _curves(model, number, scores, target[held], None if weight is None else weight[held])
        gathered.append((held, scores))
    if not averages:
        scores = np.empty((len(target), gathered[0][1].shape[1]))
        for held, said in gathered:
            scores[held] = said
        gathered = [(np.arange(len(target)), scores)]
    if model.method == "temperature":
        for number, (held, said) in enumerate(gathered):
            yield _temperature(model, number, said, target[held], None if weight is None else weight[held])
    elif not averages:
        yield from _curves(model, 0, scores, target, weight)


def _classifier(
    name: str, one: Any, template: Any, X: Any, target: Array, weight: Any, used: Array, *, is_listed: bool = True
) -> Part:
    own = None if weight is None else weight[used]
    rows = X if len(used) == len(target) else rows_of(X, used)
    return Part(name, one, template, rows, target[used], weight_for(one, own), is_listed=is_listed)


def _curves(model: Any, number: int, scores: Array, target: Array, weight: Any) -> Iterator[Part]:
    """Yield the curves of one classifier: of two classes that of the second, otherwise one for each class."""
    own, kind = model.calibrators_[number], CURVES.get(model.method)
    if len(own) != scores.shape[1]:
        refuse_changed(model, f"has {len(own)} curves for {scores.shape[1]} scores of a row")
    for place, curve in enumerate(own):
        if public_name(type(curve)) != kind:
            refuse_changed(model, f"has a {type(curve).__name__} as a curve, and its method is {model.method!r}")
        column, inside = scores[:, place : place + 1], target == (1 if len(own) == 1 else place)
        name = f"curve {place} of classifier {number}"
        if model.method == "isotonic":
            yield Part(name, curve, type(curve)(out_of_bounds="clip"), column, inside.astype(np.float64), weight)
            continue
        s = np.ones(len(column)) if weight is None else weight
        ups, downs = s[inside].sum(), s[~inside].sum()
        share = np.where(
            inside, (ups + 1) / (ups + 2), 1 / (downs + 2)
        )  # Platt's targets: a row counts for both labels
        both = np.concatenate([s * share, s * (1 - share)])
        labels = np.array([1] * len(column) + [0] * len(column))
        yield Part(name, curve, type(curve)(C=np.inf, tol=1e-10), np.vstack([column, column]), labels, both)


def _temperature(model: Any, number: int, scores: Array, target: Array, weight: Any) -> Stated:
    """Enclose the best inverse temperature of a classifier again, from slopes of its convex loss in extended precision."""
    name = f"temperature of classifier {number}"
    claim = model.certificate_.parts.get(name)
    if type(claim) is not BracketCertificate or claim.low.shape != (1,) or any(model.calibrators_):
        refuse_changed(model, f"states no interval for the {name}, or has curves besides")
    if claim.what != "the inverse temperature" or claim.rows != len(target) or claim.tol != 1e-12:
        refuse_changed(
            model, f"states {claim.what!r:.40} of {claim.rows} rows for the {name}, and these are {len(target)}"
        )
    wide = scores.astype(EXTENDED)
    apart = wide - wide[np.arange(len(target)), target][:, None]
    s = np.ones(len(target), EXTENDED) if weight is None else weight.astype(EXTENDED)

    def slope(beta: float) -> float:
        powers = np.exp(beta * apart - (beta * apart).max(axis=1, keepdims=True))
        return float(s @ ((powers * apart).sum(axis=1) / powers.sum(axis=1)) / s.sum())

    low, high, beta = float(claim.low[0]), float(claim.high[0]), 1 / float(model.temperatures_[number])
    least, most = float(np.exp(-10.0)), float(np.exp(10.0))
    slack = (len(target) + 64) * 2.0**-53 * float(np.abs(apart).max(initial=0))
    sound = least <= low <= high <= most and low * (1 - 1e-14) <= beta <= high * (1 + 1e-14)
    sound = sound and (low == least or slope(low) <= slack) and (high == most or slope(high) >= -slack)
    if sound and low == high:  # an end of the range: the loss still falls towards it, from inside
        sound = (low == least and slope(low) >= -slack) or (high == most and slope(high) <= slack)
    if not sound:
        refuse_changed(model, f"encloses the {name} between {low:.10g} and {high:.10g}, and slopes of the loss do not")
    distance = abs(slope(beta)) * (high - low)
    if not distance <= claim.gap + slack * (high - low) or not np.isfinite(claim.gap):
        refuse_changed(
            model,
            f"states that no {name} is better by more than {claim.gap:.3g} a row, and slopes allow {distance:.3g}",
        )
    return Stated(name, Verdict(claim.statement, 0.0, distance, slack * (high - low), claim.gap, ""))
