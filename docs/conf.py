"""Settings of the site."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.addnodes import toctree
from sphinx.util.logging import getLogger

import qed

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import api_check  # noqa: E402  (found by the path above)
import what_exists  # noqa: E402  (found by the path above)
from quoting import quoted, stray  # noqa: E402

project = "qed"
author = "The qed developers"
project_copyright = "the qed developers"
version = release = qed.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# the three sections every estimator's docstring has beside numpydoc's own
napoleon_custom_sections = ["Objective", "Certificate", "Cost"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "qed"
html_static_path = ["_static"]
html_css_files = ["qed.css"]
templates_path = ["_templates"]


# a name such as Estimator is public twice, as qed.X and as qed.core.X, and either link is right
suppress_warnings = ["ref.python"]


def quote_fitted(_app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Set names of fitted attributes (`coef_`) as code; reStructuredText would take them for links."""
    lines[:] = quoted(lines)


def describe_value(_app: object, what: str, name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Show the comment of a constant; its docstring is that of its class."""
    package, _, last = name.rpartition(".")
    if what == "data" and (comment := api_check.value_comment(import_module(package), last)) is not None:
        lines[:] = comment


def shorten_navigation(_app: object, env: Any) -> None:
    """Leave the page of every single name out of the side bar, which stands on every page: 800 times 800 links."""
    for page, contents in env.tocs.items():
        for tree in contents.findall(toctree) if page.startswith("reference/") else ():
            tree["entries"] = [entry for entry in tree["entries"] if "/generated/" not in f"/{entry[1]}"]


def warn_of_backticks(app: Any, document: Any) -> None:
    """Warn of quoting that went wrong: neither parser calls a backtick too many an error."""
    for text in stray(document):
        getLogger(__name__).warning("a backtick is shown: %s", text, location=app.env.docname)


def setup(app: Any) -> None:
    """Load the lazy packages once, so that autosummary finds what their doors export."""
    for name in ("linear_model", "data", "datasets", "designs", "metrics", "verify", "report"):
        import_module(f"qed.{name}")
    # it sets the path of a script and reads no page, but does not say so, and pages would be read one by one
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("autodoc-process-docstring", describe_value)
    app.connect("autodoc-process-docstring", quote_fitted)
    app.connect("doctree-read", warn_of_backticks)
    app.connect("env-updated", shorten_navigation)
    # from the code, at every build
    (HERE / "reference" / "what_exists.md").write_text(what_exists.page(), encoding="utf-8")
