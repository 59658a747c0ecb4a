"""How a model prints itself: the parameters that were changed, and in a notebook the certificate as well."""

from __future__ import annotations

from typing import Any

from qed.core._params import changed

_WIDTH = 100
_LONGEST = 300  # characters of one value; an array of strengths is not worth a screen


def text(model: Any) -> str:
    """Write the constructor call that differs from the default only where the model does."""
    given = [f"{name}={_value(value)}" for name, value in _differing(model)]
    name = type(model).__name__
    line = f"{name}({', '.join(given)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    indent = " " * (len(name) + 1)
    return f"{name}(" + f",\n{indent}".join(one.replace("\n", f"\n{indent}") for one in given) + ")"


def html(model: Any) -> str:
    """Write the model as a small self-contained block: parameters, changed ones marked, a diagram of its parts, certificate."""
    from qed.core._diagram import diagram, parts_of  # noqa: PLC0415  (notebooks only)
    from qed.core._escape import escaped  # noqa: PLC0415

    differing = {name for name, _ in _differing(model)}
    rows = "".join(
        f"<tr><td>{'<b>' + name + '</b>' if name in differing else name}</td>"
        f"<td><code>{escaped(_value(getattr(model, name)))}</code></td><td>{escaped(field.text)}</td></tr>"
        for name, field in model._fields.items()
    )
    state = "fitted" if model.__sklearn_is_fitted__() else "not fitted"
    certificate = model.__dict__.get("certificate_")
    proof = "" if certificate is None else _embedded(certificate)
    drawn = diagram(model) if parts_of(model) else ""
    title = type(model).__name__ if drawn else text(model)  # the diagram says the rest
    return (
        '<div class="qed-model"><details><summary>'
        f"<code>{escaped(title)}</code> <i>({state})</i></summary>"
        f"<table><thead><tr><th>parameter</th><th>value</th><th>meaning</th></tr></thead><tbody>{rows}</tbody></table>"
        f"</details>{drawn}{proof}</div>"
    )


def _embedded(certificate: Any) -> str:
    from qed.core._escape import escaped  # noqa: PLC0415  (notebooks only)

    show = getattr(certificate, "_repr_html_", None)
    return str(show()) if show is not None else f"<pre>{escaped(str(certificate))}</pre>"


def _differing(model: Any) -> list[tuple[str, Any]]:
    values = ((name, getattr(model, name), field) for name, field in model._fields.items())
    return [(name, value) for name, value, field in values if changed(value, field.default)]


def _value(value: object) -> str:
    written = repr(value)
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST // 2]}...{written[-_LONGEST // 4 :]}"
