"""A model of models drawn for a notebook: boxes below each other where one follows the other, else side by side."""

from __future__ import annotations

from typing import Any

from qed.core._escape import escaped
from qed.core._params import changed

STYLE = (
    "<style>"
    ".qed-diagram{display:inline-block;font-size:13px;line-height:1.4}"
    ".qed-diagram .qed-box{border:1px solid #8886;border-radius:6px;padding:4px 8px;margin:3px;text-align:left}"
    ".qed-diagram .qed-follow{display:flex;flex-direction:column;align-items:stretch}"
    ".qed-diagram .qed-beside{display:flex;flex-direction:row;align-items:flex-start;flex-wrap:wrap}"
    ".qed-diagram .qed-beside>.qed-part{flex:1 1 auto}"
    ".qed-diagram .qed-name{opacity:.7;font-size:11px;margin:3px 4px 0;max-width:320px}"
    ".qed-diagram .qed-arrow{text-align:center;opacity:.5;line-height:1}"
    ".qed-diagram summary{cursor:pointer}"
    ".qed-diagram pre{margin:4px 0 2px;white-space:pre-wrap;font-size:11px;max-width:420px}"
    "</style>"
)
LONGEST = 60  # characters of the columns that a part takes


def parts_of(model: Any) -> list[tuple[str, Any, str]]:
    """Return the models among the parameters of a model: name, model (or a word such as "drop"), columns that it takes.

    >>> from qed.linear_model import Ridge
    >>> parts_of(Ridge())
    []
    """
    found: list[tuple[str, Any, str]] = []
    for name in getattr(model, "_fields", {}):
        value = getattr(model, name)
        if _is_model(value):
            found.append((name, value, ""))
        elif isinstance(value, list | tuple) and value and all(_is_part(one) for one in value):
            found += [(str(one[0]), one[1], _columns(one[2]) if len(one) > 2 else "") for one in value]
    return found


def diagram(model: Any) -> str:
    """Return a model of models as HTML that needs nothing else; every box opens to show the parameters that were changed."""
    return f'{STYLE}<div class="qed-diagram">{_box(model)}</div>'


def _box(model: Any) -> str:
    parts = parts_of(model) if not isinstance(model, str) else []
    if not parts:
        return f'<div class="qed-box">{_title(model)}</div>'
    follows = bool(getattr(type(model), "_parts_follow", False))
    drawn = [
        f'<div class="qed-part"><div class="qed-name">{escaped(name)}{f": {escaped(columns)}" if columns else ""}</div>'
        f"{_box(part)}</div>"
        for name, part, columns in parts
    ]
    inside = '<div class="qed-arrow">&#8595;</div>'.join(drawn) if follows else "".join(drawn)
    way = "qed-follow" if follows else "qed-beside"
    return f'<div class="qed-box">{_title(model)}<div class="{way}">{inside}</div></div>'


def _title(model: Any) -> str:
    if model is None or isinstance(model, str):
        return f"<i>{escaped(str(model or 'passthrough'))}</i>"
    name, written = type(model).__name__, _written(model)
    if written == f"{name}()":
        return f"<b>{escaped(name)}</b>"
    return f"<details><summary><b>{escaped(name)}</b></summary><pre>{escaped(written)}</pre></details>"


def _written(model: Any) -> str:
    """Return the call that makes a model, without the parts, which have boxes of their own."""
    parts = [part for _, part, _ in parts_of(model)]
    if not parts:
        return repr(model)
    shown = [
        f"{name}={getattr(model, name)!r}"
        for name, field in model._fields.items()
        if not _holds(getattr(model, name), parts) and changed(getattr(model, name), field.default)
    ]
    return f"{type(model).__name__}({', '.join(shown)})"


def _holds(value: Any, parts: list[Any]) -> bool:
    inside = [one[1] for one in value] if isinstance(value, list | tuple) and all(map(_is_part, value)) else [value]
    return bool(inside) and all(any(one is part for part in parts) for one in inside)


def _is_model(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type)


def _is_part(value: Any) -> bool:
    is_named = isinstance(value, tuple) and len(value) >= 2 and isinstance(value[0], str)
    return is_named and (value[1] is None or isinstance(value[1], str) or _is_model(value[1]))


def _columns(given: Any) -> str:
    written = ", ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    return written if len(written) <= LONGEST else f"{written[: LONGEST - 1]}…"
