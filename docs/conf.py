"""Settings of the site."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import qed

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import what_exists  # noqa: E402  (found by the path above)
from quoting import quoted  # noqa: E402

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
templates_path = ["_templates"]


# a name such as Estimator is public twice, as qed.X and as qed.core.X, and either link is right
suppress_warnings = ["ref.python"]


def quote_fitted(_app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Set names of fitted attributes (`coef_`) as code; reStructuredText would take them for links."""
    lines[:] = quoted(lines)


def setup(app: Any) -> None:
    """Load the lazy packages once, so that autosummary finds what their doors export."""
    for name in ("linear_model", "data", "datasets", "designs", "metrics", "verify", "report"):
        import_module(f"qed.{name}")
    app.connect("autodoc-process-docstring", quote_fitted)
    # from the code, at every build
    (HERE / "reference" / "what_exists.md").write_text(what_exists.page(), encoding="utf-8")
