"""Settings of the site."""

from importlib import import_module

import qed

project = "qed"
author = "The qed developers"
project_copyright = "the qed developers"
version = release = qed.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# the three sections every estimator's docstring has beside numpydoc's own
napoleon_custom_sections = ["Objective", "Certificate", "Cost"]
napoleon_google_docstring = False
napoleon_use_rtype = False
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "qed"
html_static_path = ["_static"]
templates_path = ["_templates"]


def setup(_app: object) -> None:
    """Load the lazy packages once, so that autosummary finds what their doors export."""
    for name in ("linear_model", "data", "datasets", "designs", "verify", "report"):
        import_module(f"qed.{name}")
