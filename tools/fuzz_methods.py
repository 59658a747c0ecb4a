"""Every public method of a loaded model, on small inputs: each answers, or refuses with an error of qed."""

from __future__ import annotations

import functools
import inspect
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import QedError
from qed.core._persistence import dumps
from qed.core._records import field_hints, is_record

if TYPE_CHECKING:
    from collections.abc import Callable

# Learning is work that parameters choose, and those of a file are its author's: whoever calls fit decides to do it.
LEARNING = ("fit", "fit_transform", "fit_predict")
# They write to the disk, change what the model is, or give functions for other programs.
LEFT_OUT = ("save", "set_params", "set_output", "get_metadata_routing", *(f"set_{one}_request" for one in (
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "transform",
    "inverse_transform", "forget",
)))  # fmt: skip
LAST = ("score", "certify", "forget", "partial_fit", "update", "merge", "restrict")


@functools.cache
def methods_of(cls: type) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the public names of a class, those that change the model last, with the arguments that a method needs."""
    fields = getattr(cls, "_fields", {})
    names = [name for name in dir(cls) if not name.startswith("_") and name not in (*LEARNING, *LEFT_OUT, *fields)]
    names.sort(key=lambda name: (LAST.index(name) if name in LAST else -2 if name == "transform" else -1, name))
    return tuple((name, _needed(inspect.getattr_static(cls, name))) for name in names)


def _needed(found: Any) -> tuple[str, ...]:
    function = getattr(found, "__func__", getattr(found, "__wrapped__", found))
    if isinstance(found, property) or not callable(function):
        return ()
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one.name for one in parameters if one.default is inspect.Parameter.empty and one.kind in plain]
    return tuple(needed[1:] if needed[:1] == ["self"] else needed)


TARGETS = ("y", "y_held", "y_true", "y_new")


ROWS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "inverse_transform", "score_samples",
    "kneighbors", "radius_neighbors", "staged_predict",
)  # fmt: skip
ARGUMENTS = {
    **dict.fromkeys(ROWS, ("X",)),
    **dict.fromkeys(("score", "certify", "partial_fit", "forget"), ("X", "y")),
    "restrict": (),
    "error_norm": ("X",),  # no matrix of the right shape: refused in words
}
SPARSE = ("transform", "predict")
REFUSED = object()


class Inputs:
    """What methods are called with."""

    def __init__(self, model: Any, rows: Any, target: Any) -> None:
        self.model, self.rows, self.target = model, rows, target
        self.changed: Any = REFUSED  # what transform made of the rows
        self.is_table = isinstance(rows, np.ndarray)

    def arguments(self, method: str, names: tuple[str, ...]) -> list[Any]:
        """Return the arguments of a method."""
        if method == "inverse_transform":
            return [self.changed]
        if method == "decode":
            return ["a text"]
        if method == "restrict":
            return [[0]]
        given = {"other": self.model, "i": 0, "cut_distance": 0.5, **dict.fromkeys(TARGETS, self.target)}
        return [given.get(name, self.rows) for name in names]


def exercise(model: Any, rows: Any, target: Any) -> bool:
    """Ask a model everything; return whether it answered anything at all. Only errors of qed are expected."""
    inputs, answered = Inputs(model, rows, target), False
    repr(model)
    model._repr_html_()
    touch(vars(model))
    attempt(dumps, model)
    for name, needed in methods_of(type(model)):
        try:
            found = getattr(model, name)
        except (AttributeError, QedError):
            continue  # a method that this model has not, or not before a fit
        if not callable(found) or name.endswith("_"):
            touch(found)
            continue
        if name == "inverse_transform" and inputs.changed is REFUSED:
            continue
        # a method that hands a call on says what it needs by its name
        wanted = ARGUMENTS.get(name, needed)
        result = attempt(functools.partial(found, **_named(found)), *inputs.arguments(name, wanted))
        if result is not REFUSED:
            answered = True
            touch(result)
            if name == "transform":
                inputs.changed = result
        if name in SPARSE and inputs.is_table:
            from scipy.sparse import csr_matrix

            touch(attempt(found, csr_matrix(inputs.rows)))
    if hasattr(model, "partial_fit"):
        attempt(dumps, model)  # what it has learnt meanwhile can be saved, or is refused in words
    return answered


def _named(method: Callable[..., Any]) -> dict[str, int]:
    """Return what a method asks for by name alone: sizes, such as the words of a text that is drawn."""
    asked = inspect.signature(method).parameters.values()
    return {one.name: 3 for one in asked if one.kind is one.KEYWORD_ONLY and one.default is one.empty}


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; errors of qed are answers."""
    try:
        return function(*arguments)
    except QedError:
        return REFUSED
    except AttributeError as error:
        # scikit-learn's way to say that a model has no such method, for one that only finds out when it is called
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "/qed/" in last.filename and (last.line or "").startswith("raise AttributeError"):
            return REFUSED
        raise


def touch(value: Any, depth: int = 0) -> None:
    """Use every part of a value, as a program would: what was accepted must not crash later."""
    if depth > 70:
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value[:1000]:
            touch(item, depth + 1)
    elif isinstance(value, np.ndarray):
        if value.size < 100_000:
            value.tolist()
    elif is_record(value):
        touch([getattr(value, name) for name in field_hints(type(value))], depth + 1)
    elif hasattr(value, "indptr"):
        value.tocoo()
        if np.prod(value.shape, dtype=float) < 1e6:
            value.toarray()
    elif hasattr(value, "standard_normal"):
        value.standard_normal()
    elif hasattr(value, "get_params") and not isinstance(value, type):
        touch(vars(value), depth + 1)
