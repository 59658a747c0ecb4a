"""Names of fitted attributes in docstrings, set as code: reStructuredText would take ``coef_`` for a link.

Examples, formulas, what is quoted already and what is emphasised, such as types, stay as they are. A backtick that a reader would
see says that quoting went wrong, and the build warns of it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

EMPHASIS = r"(?<![\w*])\*\*?(?=[^\s*])[^*]*[^\s*]\*\*?(?![\w*])"
NAME = r"(?<![`\w])([A-Za-z]\w*_)(?![\w`])"
SPANS = re.compile(r"(``.+?``|:\w+:`[^`]*`|`[^`]*`_?|" + EMPHASIS + ")|" + NAME)


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


def stray(document: Any) -> list[str]:
    """Return every text of a page that shows a backtick: in prose, in a formula or in an example; other code may hold them."""
    found = []
    for text in document.findall(nodes.Text):
        inside = text.parent
        is_code = isinstance(inside, nodes.literal | nodes.literal_block | nodes.raw | nodes.comment)
        if "`" in text and (not is_code or text.lstrip().startswith(">>>")):
            found.append(str(text))
    return found
