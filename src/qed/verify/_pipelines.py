"""Pipelines and unions of transformers, part by part: every step with the rows that reached it.

A function for each class yields the parts in their order, compared by name and number with the parameters of the whole; the
caller verifies each before the next is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._targets import as_target
from qed.verify._answers import agreed
from qed.verify._blocks import column_names, picked
from qed.verify._handed_on import block_of, handed_on
from qed.verify._part import Part, is_nothing, named, require_names, weight_for
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]


def pipeline(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield steps, each with the rows that the steps before it hand on."""
    steps = named(model, "steps_", 2)
    require_names(model, [name for name, _ in steps], [name for name, _ in model.steps])
    weighted = vars(model).get("weighted_")  # None in files of versions that did not keep it
    for at, ((name, part), (_, template)) in enumerate(zip(steps, model.steps, strict=True)):
        if is_nothing(template):
            if not is_nothing(part):
                refuse_changed(model, f"has a model as {name!r}, and its parameters pass the rows through")
            continue
        weight = weight_for(part, sample_weight) if weighted is None or name in weighted else None
        yield Part(name, part, template, X, y, weight)
        if at + 1 < len(steps):
            X = handed_on(part, X, y)


def column_transformer(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield transformers with their columns; which columns those are is settled again."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    parts, blocks = named(model, "transformers_", 3), []
    weighted = vars(model).get("weighted_")  # None in files of versions that did not keep it
    names, p = column_names(X), int(X.shape[1])
    wanted = _assigned(model, X, names, p)
    require_names(model, [name for name, _, _ in parts], [name for name, _, _ in wanted])
    for (name, part, columns), (_, template, right) in zip(parts, wanted, strict=True):
        if list(columns) != right:
            refuse_changed(
                model, f"gives the columns {columns!r:.100} to {name!r}, and its parameters name {right!r:.100}"
            )
        if isinstance(template, str):
            if not isinstance(part, str) or part != template:
                refuse_changed(model, f"has {part!r:.60} as {name!r}, and its parameters say {template!r}")
        else:
            weight = weight_for(part, sample_weight) if weighted is None or name in weighted else None
            yield Part(name, part, template, picked(X, columns), y, weight)
        blocks.append(block_of(part, X, y, columns))
    _require_layout(model, [name for name, _, _ in parts], blocks)


def _require_layout(model: Any, names: list[str], blocks: list[Any]) -> None:
    """Compare where the columns of each part stand in the result, and whether that is sparse."""
    widths = [0 if block is None else int(block.shape[1]) for block in blocks]
    ends = np.cumsum(widths)
    right = {name: slice(int(end - width), int(end)) for name, width, end in zip(names, widths, ends, strict=True)}
    given = [block for block in blocks if block is not None]
    sparse = False
    if any(hasattr(block, "tocsr") for block in given):
        stored = sum(block.nnz if hasattr(block, "tocsr") else block.shape[0] * block.shape[1] for block in given)
        total = sum(block.shape[0] * block.shape[1] for block in given)
        sparse = total > 0 and stored / total < model.sparse_threshold
    if model.output_indices_ != right or model.sparse_output_ is not sparse:
        refuse_changed(model, "stores another layout of its result than its parts give")


def _assigned(model: Any, X: Any, names: Any, p: int) -> list[tuple[str, Any, list[Any]]]:
    """Settle the columns of every part, and of the part for all others; parts without columns are left out."""
    parts: list[tuple[str, Any, list[Any]]] = []
    used: set[int] = set()
    for name, template, wanted in model.transformers:
        columns = _chosen(wanted, X, names, p)
        used.update(names.index(one) if isinstance(one, str) else one for one in columns)
        if columns:
            parts.append((name, template, columns))
    rest = [j for j in range(p) if j not in used]
    if rest:
        by_name = names is not None and all(isinstance(one, str) for _, _, columns in parts for one in columns)
        parts.append(("remainder", model.remainder, [names[j] for j in rest] if by_name else rest))
    return parts


def _chosen(wanted: Any, X: Any, names: Any, p: int) -> list[Any]:
    """Return the names or numbers of the columns that a parameter means."""
    wanted = wanted(X) if callable(wanted) else wanted
    if isinstance(wanted, slice):
        first = names.index(wanted.start) if isinstance(wanted.start, str) else wanted.start
        last = names.index(wanted.stop) + 1 if isinstance(wanted.stop, str) else wanted.stop
        return list(range(p)[slice(first, last, wanted.step)])
    listed = [wanted] if isinstance(wanted, str | int | np.integer) else list(wanted)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return [j for j, chosen in enumerate(listed) if chosen]
    return [str(one) if isinstance(one, str) else int(one) + p if one < 0 else int(one) for one in listed]


def feature_union(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield transformers that all see the same rows; weights are given to those that asked for them."""
    parts = named(model, "transformers_", 2)
    require_names(model, [name for name, _ in parts], [name for name, _ in model.transformer_list])
    X = X if hasattr(X, "shape") else np.asarray(X)
    for (name, part), (_, template) in zip(parts, model.transformer_list, strict=True):
        if isinstance(template, str):
            if not isinstance(part, str) or part != template:
                refuse_changed(model, f"has {part!r:.60} as {name!r}, and its parameters say {template!r}")
        else:
            weight = weight_for(part, sample_weight) if name in vars(model).get("weighted_", ()) else None
            yield Part(name, part, template, X, y, weight)


def transformed_target(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the transformer of the target, and the regressor with what it makes of it."""
    given = as_target(y, "y")
    if model.flat_ is not (given.ndim == 1):
        raise OtherData(f"This {type(model).__name__} was fitted to targets of another shape than {given.shape}.")
    table = (given if given.dtype.kind == "f" else given.astype(np.float64)).reshape(len(given), -1)
    changed, part = table, model.transformer_
    if (model.transformer is None) != (part is None):
        refuse_changed(model, "has a fitted transformer, or lacks one, against its parameters")
    if part is not None:
        weight = weight_for(part, sample_weight)
        yield Part("transformer", part, model.transformer, table, None, weight)
        changed = np.asarray(agreed(part, "transform", table))
    elif model.func is not None:
        changed = np.asarray(model.func(table))
    target = changed[:, 0] if changed.ndim == 2 and changed.shape[1] == 1 else changed
    last = model.regressor_
    yield Part("regressor", last, model.regressor, X, target, weight_for(last, sample_weight))
