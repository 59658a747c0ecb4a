"""The docstrings of methods, completed with what every model says in the same words.

The author of a method writes its summary, and of its arguments those of which there is something special to say. The others are
described here, once, from the traits of the class: which containers ``X`` may come in, what ``y`` holds, what comes back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import FunctionType

    from qed.core._traits import Traits

FITS = ("fit", "partial_fit", "fit_transform", "fit_predict")
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform")
METHODS = (*FITS, *ANSWERS, "score", "get_feature_names_out")


class Described(NamedTuple):
    """An entry of a docstring: what stands on its first line, and the text below."""

    head: str
    text: str

    def __str__(self) -> str:
        return f"{self.head}\n    {self.text}"


def completed(method: FunctionType, traits: Traits) -> str | None:
    """Return the docstring of a method with entries for its arguments and result, where it has none of its own.

    Parameters
    ----------
    method : function
        A method that a class defines.
    traits : Traits
        What the class declares.
    """
    code = getattr(method, "__wrapped__", method).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    shared = {name: found for name in names if (found := _argument(method.__name__, name, traits)) is not None}
    return complete(method.__doc__, names, shared, _returned(method.__name__, traits))


def complete(
    written: str | None, names: tuple[str, ...], shared: dict[str, Described], returned: Described | None
) -> str | None:
    """Return a docstring with entries for arguments and result, where it has none of its own.

    Parameters
    ----------
    written : str or None
        What the author wrote; nothing stays nothing.
    names : tuple of str
        The arguments, in order.
    shared : dict of str to Described
        What is said of some of them wherever they occur.
    returned : Described or None
        The same of the result.
    """
    if not written or not (shared or returned):
        return written
    lines = _dedented(written)
    own = _section(lines, "Parameters")
    if shared:
        described = {**{name: str(found) for name, found in shared.items()}, **_entries(lines, own)}
        order = [*(name for name in names if name in described), *(name for name in described if name not in names)]
        entries = "\n".join(described[name] for name in order if described[name])
        lines[own or slice(*[_first_section(lines)] * 2)] = ["Parameters", "----------", *entries.splitlines(), ""]
    if returned is not None and _section(lines, "Returns") is None:
        after = _section(lines, "Parameters")
        at_line = after.stop if after is not None else _first_section(lines)
        lines[at_line:at_line] = ["Returns", "-------", *str(returned).splitlines(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _argument(method: str, name: str, traits: Traits) -> Described | None:
    """Return what is said of an argument wherever it occurs; None where each class has something of its own to say."""
    if name == "sample_weight":
        return Described("sample_weight : array-like of shape (n,), optional", "How often each row counts.")
    if not traits.table or traits.mappings or traits.labels_only:
        return None
    if name == "X":
        return Described(f"X : {_containers(method, traits)}", _rows(method, traits))
    if name == "y":
        return _targets(method, traits)
    if name == "input_features":
        words = "The names of the columns that go in; those of the fit when left out."
        return Described("input_features : array-like of str, optional", words)
    return None


def _targets(method: str, traits: Traits) -> Described | None:
    if traits.target:
        words = "The truth." if method == "score" else "Labels." if traits.target == "label" else "Targets."
        return Described(f"y : array-like of shape {_shape_of_targets(traits)}", words)
    return Described("y : None", f"Not used; here because every ``{method}`` takes it.") if traits.validates else None


def _shape_of_targets(traits: Traits) -> str:
    return "(n,) or (n, m)" if traits.multi_output or traits.multi_label else "(n,)"


def _containers(method: str, traits: Traits) -> str:
    if not traits.validates:
        return "table of n rows"
    kinds = ["array-like", "frame"]
    if traits.sparse:
        kinds.append("sparse container")
    if traits.chunks or method in ANSWERS:
        kinds.append("source")
    return f"{', '.join(kinds[:-1])} or {kinds[-1]} of shape (n, p)"


def _rows(method: str, traits: Traits) -> str:
    if method not in FITS:
        return "Rows with the columns of the fit."
    words = "More rows to learn from" if method == "partial_fit" else "Rows to learn from"
    if traits.min_samples > 1:
        words += f", at least {traits.min_samples}"
    if traits.allow_nan:
        words += "; NaN is a missing value"
    if traits.chunks and traits.target:
        words += "; a source (``qed.scan``) brings its own target and weights"
    return f"{words}."


def _returned(method: str, traits: Traits) -> Described | None:
    """Return what is said of a result wherever the method occurs."""
    found = {
        "fit": Described("self", "The fitted model."),
        "partial_fit": Described("self", "The model of all rows so far."),
        "get_feature_names_out": Described("ndarray of str", "The names."),
    }
    if traits.role in ("classifier", "regressor"):
        words = "Labels." if traits.role == "classifier" else "Predictions."
        found["predict"] = Described(f"ndarray of shape {_shape_of_targets(traits)}", words)
    if traits.role == "classifier" and not traits.multi_label and not traits.multi_output:
        words = "in the order of ``classes_``"
        found["predict_proba"] = Described("ndarray of shape (n, k)", f"Probabilities, {words}; a row sums to one.")
        found["predict_log_proba"] = Described("ndarray of shape (n, k)", f"Log-probabilities, {words}.")
    return found.get(method)


# -- sections of a docstring -----------------------------------------------------------------------------------


def _dedented(written: str) -> list[str]:
    """Return the lines of a docstring without the indentation that all but the first share, and an empty one at the end."""
    first, *rest = written.expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    lines = [first.strip(), *(line[margin:].rstrip() for line in rest)]
    while not lines[-1]:
        lines.pop()
    return [*lines, ""]


def _is_title(lines: list[str], i: int) -> bool:
    return i + 1 < len(lines) and bool(re.fullmatch(r"-{4,}", lines[i + 1])) and bool(lines[i])


def _first_section(lines: list[str]) -> int:
    return next((i for i in range(len(lines)) if _is_title(lines, i)), len(lines))


def _section(lines: list[str], title: str) -> slice | None:
    """Return where a section stands, up to the next."""
    for i, line in enumerate(lines):
        if line == title and _is_title(lines, i):
            end = next((j for j in range(i + 2, len(lines)) if _is_title(lines, j)), len(lines))
            return slice(i, end)
    return None


def _entries(lines: list[str], section: slice | None) -> dict[str, str]:
    """Return the entries of a section by name; one for several names stands under the first."""
    found: dict[str, str] = {}
    name = ""
    for line in lines[section.start + 2 : section.stop] if section is not None else []:
        if line and not line.startswith(" "):
            names = [one.strip() for one in line.split(" : ")[0].split(",")]
            name = names[0]
            found.update(dict.fromkeys(names[1:], ""))
            found[name] = line
        elif name:
            found[name] += f"\n{line}" if line else "\n"
    return {one: text.rstrip() for one, text in found.items()}
