"""Scores of a model on a source: each chunk is answered and tallied where it is read, and tallies are merged."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _validation
from qed.core._errors import InvalidData
from qed.data import fold
from qed.data._sources import OneChunk
from qed.metrics._recipes import RECIPES
from qed.metrics._tally import Tally, recipe_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.data import Chunk, Schema, Source


def _knows_labels(recipe: Any) -> bool:
    """Tell whether a score has a column for each label, and so must know labels that a chunk lacks."""
    names = list(signature(recipe.function).parameters)
    return "labels" in names and names[1] not in ("y_pred", "y2")


def merges(score: Any, model: Any, options: dict[str, Any]) -> bool:
    """Tell whether a score is a function of `qed.metrics` whose tallies merge: rankings do for two classes."""
    known = RECIPES.get(getattr(score, "__name__", ""))
    if known is None or known.function is not score:
        return False
    if known.of is not RECIPES["roc_auc_score"].of:
        return True
    return len(getattr(model, "classes_", ())) == 2 and options.get("multi_class", "raise") == "raise"


def folded(score: str, model: Any, source: Source, ask: Callable[[Any, Any], Any], options: dict[str, Any]) -> Tally:
    """Tally a score of a fitted model over the rows of a source.

    Parameters
    ----------
    score : str
        Name of a function of `qed.metrics`.
    model : estimator
        It is fitted.
    source : Source
        It names one target; its weights count.
    ask : callable
        From the model and rows to what is scored.
    options : dict
        Options of the score. Labels are those of the model, where the score wants to know them and they are not given.
    """
    _validation.require_source_target(model, source)
    if source.schema.n_targets > 1:
        raise InvalidData(f"{score} of a source is of one target, and the source names {source.schema.n_targets}.")
    classes = getattr(model, "classes_", None)
    if _knows_labels(recipe_of(score)) and options.get("labels") is None and isinstance(classes, np.ndarray):
        options = {**options, "labels": classes}  # a chunk may lack some
    of = partial(_tallied, score=score, model=model, schema=source.schema, ask=ask, classes=classes, options=options)
    return fold(source, of, name=score)


def _tallied(
    chunk: Chunk, score: str, model: Any, schema: Schema, ask: Any, classes: Any, options: dict[str, Any]
) -> Tally:
    if not chunk.n_rows:
        return Tally.empty(score, **options)
    target: Any = chunk.y
    y = target[:, 0]
    if isinstance(classes, np.ndarray) and classes.dtype.kind in "iub" and (y == np.rint(y)).all():
        y = y.astype(classes.dtype)
    return Tally.of(score, y, ask(model, OneChunk(chunk, schema)), chunk.s, **options)
