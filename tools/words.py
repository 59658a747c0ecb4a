"""Checks that the documentation uses the standard terms of the field.

``python tools/words.py`` checks README, CONTRIBUTING, SECURITY, docs/, the docstrings of the gallery; public docstrings, error
messages and names in src/: those of functions, classes, arguments, attributes and variables. In convex, linear_model and svm only
the name ``doubt`` is looked for: inside the solvers the names that no other package sees are as they were.

Code, inline code and generated text are not checked. A phrase is matched as whole words, in any case, across line ends.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# phrase: what to write instead
INSTEAD = {
    "anew": "again",
    "are refused": "are rejected, raise an error",
    "book of codes": "code matrix",
    "coefficients of limited size": "norm-constrained coefficients",
    "columns of words": "string columns",
    "come to rest": "converge",
    "comes to rest": "converges",
    "convex floor": "convex optimisation layer",
    "cross-validated kin": "cross-validated versions",
    "cut point": "threshold",
    "cut points": "thresholds",
    "door": "input validation, interface",
    "doors": "input validation, interface",
    "for ever": "without limit, never stops",
    "is refused": "is rejected, raises an error",
    "judging and choosing": "model selection",
    "kink": "non-differentiable point",
    "kinks": "non-differentiable points",
    "made white": "whitened",
    "multi-task kin": "multi-task versions",
    "near row": "nearest neighbour",
    "near rows": "nearest neighbours",
    "of the house": "of the package",
    "plane": "hyperplane, linear classifier, binary problem",
    "planes": "hyperplanes, linear classifiers, binary problems",
    "price of leaves": "penalty on the number of leaves",
    "pull harder": "have a larger correlation",
    "pull of a class": "class weight",
    "pulls harder": "has a larger correlation",
    "refused in words": "raises an error that says why",
    "row by row": "online, for each sample",
    "said in words": "reported, the message says",
    "sigmoid of a plane": "sigmoid of a linear function",
    "strength of a pull": "penalty strength",
    "taken apart": "decomposition",
    "the house": "the package",
    "this house": "the package",
    "told in words": "reported, the message says",
    "way is taken": "method is used",
    "way that is open": "applicable method",
    "way was taken": "method was used",
    "ways that are open": "applicable methods",
    "what is odd": "unexpected values",
    "wild row": "outlier",
    "wild rows": "outliers",
}
# name (a constant) or part of one between underscores: what to write instead
NAMES = {
    "bend": "curvature",
    "bends": "curvature",
    "bent": "the name of the function that was applied",
    "doubt": "rounding, rounding_error; ambiguity; reject",
    "doubts": "rounding, rounding_error; ambiguity; reject",
    "fades": "self_concordance",
    "swing": "self_concordance",
    "FEW": "MAX_ and what it limits",
    "LARGEST": "MAX_ and what it limits",
    "NEAR": "RELATIVE_TOLERANCE",
}
NAMED_BEFORE = re.compile(r"src/qed/(convex|linear_model|svm)/")
PHRASES = re.compile(
    r"(?<![\w-])(?:" + "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in INSTEAD) + r")(?![\w-])",
    re.IGNORECASE,
)
# fenced code but not its prose around it, inline code, generated tables, targets of links
NOT_PROSE = re.compile(
    r"^ *```.*?^ *```$|`+[^`]*`+|<!-- results:begin.*?results:end -->|\]\([^)]*\)|^ *:\w+: .*?$",
    re.MULTILINE | re.DOTALL,
)


def faults(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and replacement for every phrase that a text should not use."""
    prose = NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in PHRASES.finditer(prose):
        phrase = " ".join(match[0].split()).casefold()
        yield prose.count("\n", 0, match.start()) + 1, phrase, INSTEAD[phrase]


def pages() -> list[Path]:
    """Return the pages that are written by hand."""
    generated = {"_build", "_output", "reference"}
    found = sorted(page for page in (ROOT / "docs").rglob("*.md") if not generated & set(page.parts))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *found]


def docstrings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield first line and text of the docstrings of a module's public names, and of the module itself."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if getattr(node, "name", "").startswith("_"):
                continue
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.lineno, first.value.value
            waiting += node.body


def messages(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of every string within a ``raise`` or a call of ``warn``."""
    for node in ast.walk(module):
        warns = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "warn"
        if isinstance(node, ast.Raise) or warns:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and part of every name that a module defines or uses and that says nothing to a reader."""
    for node in ast.walk(module):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                parts = {name} if name.isupper() else {name, *name.split("_")}
                yield from ((getattr(node, "lineno", 1), part) for part in sorted(parts & NAMES.keys()))


def misnamed() -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and part of every name in src/ that should be another."""
    for file in sorted((ROOT / "src").rglob("*.py")):
        is_solver = NAMED_BEFORE.match(file.relative_to(ROOT).as_posix())
        for line, name in names(ast.parse(file.read_text(encoding="utf-8"))):
            if not is_solver or name.startswith("doubt"):
                yield file, line, name


def texts() -> Iterator[tuple[Path, int, str]]:
    """Yield every text to check: its file, its first line, its words."""
    for page in pages():
        yield page, 1, page.read_text(encoding="utf-8")
    for script in sorted((ROOT / "docs" / "gallery").glob("*.py")):
        for line, text in docstrings(ast.parse(script.read_text(encoding="utf-8"))):
            yield script, line, text
    for file in sorted((ROOT / "src").rglob("*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        for line, text in (*docstrings(module), *messages(module)):
            yield file, line, text


def main() -> int:
    """Print every phrase and its replacement; return 1 when there is one."""
    count = 0
    for path, first, text in texts():
        for line, phrase, instead in faults(text):
            count += 1
            print(f"{path.relative_to(ROOT)}:{first + line - 1}: {phrase!r}. Write: {instead}.")
    for path, line, name in misnamed():
        count += 1
        print(f"{path.relative_to(ROOT)}:{line}: the name {name!r}. Write: {NAMES[name]}.")
    if not count:
        print(f"none of {len(INSTEAD)} phrases and {len(NAMES)} names to avoid is used.")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
