"""Names of fitted attributes in docstrings, set as code: reStructuredText would take ``coef_`` for a link.

Examples, formulas and what is quoted already stay as they are.
"""

from __future__ import annotations

import re

NAME = r"(?<![`\w])([A-Za-z]\w*_)(?![\w`])"
SPANS = re.compile(r"(``.+?``|:\w+:`[^`]*`|`[^`]*`_?)|" + NAME)


def quoted(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with names that end in an underscore as literals."""
    found, verbatim = [], ""
    depth = 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if (verbatim == "example" and not line.strip()) or (verbatim == "block" and line.strip() and indent <= depth):
            verbatim = ""
        if not verbatim and line.lstrip().startswith(">>>"):
            verbatim = "example"
        elif not verbatim and (".. math::" in line or line.rstrip().endswith("::")):
            verbatim, depth = "block", indent
            found.append(line)
            continue
        found.append(line if verbatim else SPANS.sub(lambda m: m[1] or f"``{m[2]}``", line))
    return found
