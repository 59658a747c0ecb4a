"""The docstring of a model, completed on first reading with what the class declares.

The author writes the summary, Objective, Certificate, Cost and whatever else; Parameters and Attributes are
written from the declarations, so that they cannot disagree with the constructor.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qed.core._params import Field, Fitted


# In numpydoc's order these follow Parameters and Attributes; the sections of this house come before.
_LATER = {"Methods", "See Also", "Notes", "References", "Examples", "Warnings", "Attributes"}
_KINDS = {
    "honoured": "Honoured.",
    "hint": "A hint: it cannot change the optimum.",
    "refused": "Not supported: other values raise an error.",
}
_ALWAYS = (
    ("n_features_in_", "int", "Number of columns seen by ``fit``."),
    ("feature_names_in_", "ndarray of str", "Their names, when ``X`` had names that are strings."),
)


class Docstring:
    """What stands in ``cls.__doc__``: text written when somebody reads it."""

    def __init__(self, written: str | None) -> None:
        self.written = written
        self.complete: str | None = None

    def __get__(self, model: object, owner: type[Any]) -> str:
        """Return the whole docstring."""
        if self.complete is None:
            self.complete = _write(self.written or f"{owner.__name__}.", owner)
        return self.complete


def _write(written: str, owner: Any) -> str:
    from inspect import cleandoc  # noqa: PLC0415  (for readers of documentation only)

    lines = cleandoc(written).splitlines()
    sections = _parameters(owner._fields.values())
    if "Attributes" not in lines:
        sections += _attributes(owner._results.values())  # noqa: SLF001
    at = _first_later(lines)
    head, tail = "\n".join(lines[:at]).rstrip(), "\n".join(lines[at:]).strip()
    return "\n\n".join(part for part in [head, sections.rstrip(), tail] if part) + "\n"


def _first_later(lines: list[str]) -> int:
    for i in range(len(lines) - 1):
        if lines[i].strip() in _LATER and set(lines[i + 1].strip()) == {"-"}:
            return i
    return len(lines)


def _parameters(fields: Iterable[Field]) -> str:
    entries = []
    for field in fields:
        written = f"{field.rule.words}, default={field.default!r}"
        text = f"{field.text.rstrip()} {_KINDS[field.kind]} {field.instead}".rstrip()
        entries.append(_entry(field.name, written, text))
    return _section("Parameters", entries)


def _attributes(results: Iterable[Fitted]) -> str:
    entries = [_entry(result.name, result.written, result.text) for result in results]
    return _section("Attributes", entries + [_entry(*always) for always in _ALWAYS])


def _entry(name: str, written: str, text: str) -> str:
    return f"{name} : {written}\n" + textwrap.indent(textwrap.fill(text, 96), "    ")


def _section(title: str, entries: list[str]) -> str:
    return f"{title}\n{'-' * len(title)}\n" + "\n".join(entries) + "\n\n" if entries else ""
