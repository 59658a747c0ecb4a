"""Gaps filled in rounds, part by part: every model is checked with the rows as they were filled when it was fitted.

The rounds are taken again from the first filling. A model is verified with the rows that the models before it left, and then asked
for its own gaps, which its answers by definition must agree with. Drawn numbers follow from the seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._records import public_name
from qed.verify._answers._compare import table_of
from qed.verify._answers._rounds import fill, first_filled, gaps_of
from qed.verify._part import Part
from qed.verify._refusals import refuse_changed

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


def imputation(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:  # noqa: ARG001
    """Yield the first filling and the models, each with the rows that reached it; compare orders and the end of the rounds."""
    rows = np.asarray(table_of(model, X))
    gaps = gaps_of(model, rows)
    first, marks = model.initial_imputer_, model.indicator_
    yield Part("first filling", first, _first_filling(model, first), rows)
    given = model.random_state
    if isinstance(given, int | np.integer) and model.seed_ != int(np.random.default_rng(given).integers(2**62)):
        refuse_changed(model, "draws from another seed than its random_state gives")
    if model.add_indicator != (marks is not None):
        refuse_changed(model, "marks gaps, or does not, against its parameters")
    if marks is not None:
        wanted = type(marks)(missing_values=model.missing_values, error_on_new=False)
        yield Part("marks", marks, wanted, rows)
    empty = np.array([column.all() for column in gaps.T])
    kept = [j for j in range(rows.shape[1]) if model.keep_empty_features or not empty[j]]
    if model.features_.tolist() != kept:
        refuse_changed(model, f"lets the columns {model.features_.tolist()!r:.60} out, and its rows give {kept!r:.60}")
    filled, mask = first_filled(model, rows), (gaps & ~empty)[:, kept]
    places = [j for j in range(len(kept)) if (mask[:, j].any() if model.skip_complete else not empty[kept[j]])]
    most = int(model.max_iter) if len(kept) > 1 and places and not mask.all() else 0
    _require_rounds(model, mask, places, most)
    largest = float(np.abs(filled[~mask]).max(initial=0.0))
    changes: list[float] = []
    before = filled.copy()
    for number, (column, read, part) in enumerate(
        zip(model.columns_.tolist(), model.neighbors_, model.estimators_, strict=True)
    ):
        known = ~mask[:, column]
        template = _template(model, part)
        yield Part(f"step {number}, column {column}", part, template, filled[known][:, read], filled[known, column])
        fill(model, filled, mask, number)
        if (number + 1) % len(places) == 0:
            changes.append(float(np.abs(filled - before).sum(axis=1).max(initial=0.0)))
            before = filled.copy()
    _require_end(model, changes, most, model.tol * largest)


def _require_rounds(model: Any, mask: Array, places: list[int], most: int) -> None:
    """Refuse steps that are not whole rounds over the columns, in their order, each reading other columns."""
    columns, reads = model.columns_, model.neighbors_
    count = len(places) if most else 0
    if model.n_features_with_missing_ != count or len(columns) != model.n_iter_ * count or model.n_iter_ > most:
        refuse_changed(
            model, f"holds {len(columns)} steps, and {model.n_iter_} rounds over {count} columns were stated"
        )
    times = mask.sum(axis=0)
    order = sorted(places, key=lambda j: (int(times[j]), j))
    order = {"roman": places, "arabic": places[::-1], "ascending": order, "descending": order[::-1]}.get(
        model.imputation_order, places
    )
    for number in range(model.n_iter_):
        told = columns[number * count : (number + 1) * count].tolist()
        same = sorted(told) == places if model.imputation_order == "random" else told == order
        if not same:
            refuse_changed(model, f"fills its columns in the order {told!r:.60}, and its parameters name another")
    q = len(model.features_)
    wish = model.n_nearest_features
    width = q - 1 if wish is None else min(int(wish), q - 1)
    for column, read in zip(columns.tolist(), reads.tolist(), strict=True):
        if len(set(read)) != width or len(read) != width or column in read:
            refuse_changed(model, f"reads the columns {read!r:.60} for column {column}, and should read {width} others")


def _require_end(model: Any, changes: list[float], most: int, limit: float) -> None:
    """Refuse rounds that went on after they had converged; fewer than asked for may have been stopped by their user."""
    if model.sample_posterior:
        return
    early = [one for one in changes[:-1] if one < limit * (1 - 1e-9)]
    if early or len(changes) > most:
        refuse_changed(
            model, f"goes on after entries changed by {min(early, default=0):.3g} only, and its limit is {limit:.3g}"
        )


def _first_filling(model: Any, part: Any) -> Any:
    return type(part)(
        missing_values=model.missing_values,
        strategy=model.initial_strategy,
        fill_value=model.fill_value,
        keep_empty_features=model.keep_empty_features,
    )


def _template(model: Any, part: Any) -> Any:
    if model.estimator is not None:
        return model.estimator
    if public_name(type(part)) != "qed.linear_model.BayesianRidge":
        refuse_changed(model, f"has a {type(part).__name__}, and without a name for one it is BayesianRidge")
    return type(part)()
