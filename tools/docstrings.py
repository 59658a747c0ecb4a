"""Checks that every public docstring is well-formed, as the pages of docs/reference show it, without building the site.

A docstring goes the way that it goes on the site: sections read by Sphinx's napoleon, names quoted as in docs/quoting.py,
the rest read by docutils. Every warning of docutils is a fault, because the site is built with warnings as errors; so is every
phrase that tools/words.py lists.
"""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api_check
import words
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from sphinx.ext.napoleon import Config, NumpyDocstring

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from quoting import quoted  # noqa: E402  (found by the path above)

# what Sphinx adds to docutils: to read them as text is enough to see whether a docstring is well-formed
ROLES = (
    "class",
    "func",
    "meth",
    "attr",
    "mod",
    "data",
    "ref",
    "doc",
    "obj",
    "py:obj",
    "py:class",
    "py:func",
    "py:meth",
    "term",
)
DIRECTIVES = ("seealso", "versionadded", "versionchanged", "deprecated", "attribute", "method", "autosummary")
SETTINGS = Config(
    napoleon_google_docstring=False,
    napoleon_use_rtype=False,
    napoleon_use_ivar=True,
    napoleon_custom_sections=["Objective", "Certificate", "Cost"],
)


class Body(Directive):
    """A directive whose content is read as text."""

    has_content = True
    optional_arguments = 10

    def run(self) -> list[nodes.Node]:
        """Return the content."""
        block = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


def faults_of(lines: list[str]) -> list[str]:
    """Return what docutils says of a docstring."""
    read = quoted(NumpyDocstring(lines, SETTINGS, what="class").lines())
    said = io.StringIO()
    publish_doctree("\n".join(read), settings_overrides={"report_level": 2, "halt_level": 5, "warning_stream": said})
    return said.getvalue().splitlines()


def public_docstrings() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the docstring of every public class, method, function and value; each text once."""
    seen = set()
    for package in api_check.public_packages():
        for name in sorted(api_check.names_of(package)):
            value = getattr(package, name)
            comment = api_check.value_comment(package, name)
            texts = {name: "\n".join(comment)} if comment is not None else {name: inspect.getdoc(value) or ""}
            for method in _public_members(value):
                texts[f"{name}.{method}"] = inspect.getdoc(inspect.getattr_static(value, method)) or ""
            for where, text in texts.items():
                if text not in seen:
                    seen.add(text)
                    yield f"{package.__name__}.{where}", text.splitlines()


def _public_members(value: Any) -> list[str]:
    """Names of methods and properties of a class that its page shows."""
    if not inspect.isclass(value):
        return []
    shown = [one for one in value.__mro__ if one.__module__.startswith("qed.")]
    names = sorted({name for one in shown for name in vars(one) if not name.startswith("_")})
    kinds = (property, staticmethod, classmethod)
    statics = {name: inspect.getattr_static(value, name) for name in names}
    return [name for name, one in statics.items() if inspect.isroutine(one) or isinstance(one, kinds)]


def main() -> int:
    """Print every fault; return 1 when there is one."""
    for name in ROLES:
        roles.register_local_role(name, roles.GenericRole(name, nodes.literal))  # type: ignore[no-untyped-call]
    for name in DIRECTIVES:
        directives.register_directive(name, Body)  # type: ignore[no-untyped-call]
    count = failed = 0
    for where, lines in public_docstrings():
        count += 1
        phrases = [f"{phrase!r}. Write: {instead}." for _, phrase, instead in words.faults("\n".join(lines))]
        for fault in faults_of(lines) + phrases:
            failed += 1
            print(f"{where}: {fault}")
    if not failed:
        print(f"{count} docstrings, all well-formed, in standard terms.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
