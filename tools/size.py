"""Prints how long files and functions are, beside the sizes the house aims for. A compass: nothing fails on it."""

from __future__ import annotations

import ast
import statistics
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREES = {
    "src/qed": "*.py",
    "tests": "*.py",
    "tools": "*.py",
    "benchmarks": "*.py",
    "native/include": "*.hpp",
    "native/src": "*.[ch]pp",
    "native/bindings": "*.cpp",
}
AIM = "aim: files 150 / 400 / 600 lines (median / p90 / longest), functions up to 60, every return annotated"


@dataclass(frozen=True)
class Function:
    """One function of one file."""

    where: str
    lines: int
    is_annotated: bool


def functions(path: Path) -> list[Function]:
    """List the functions of a Python file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node)
            found.append(
                Function(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", length, node.returns is not None)
            )
    return found


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    # a long docstring is a virtue, a long body is not
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or first.lineno) - first.lineno + 1
    return 0


def describe(tree: str, pattern: str) -> None:
    """Print one line for a tree, and the files and functions above the aim."""
    paths = sorted((ROOT / tree).rglob(pattern))
    if not paths:
        return
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    ordered = sorted(lengths.values())
    p90 = ordered[min(len(ordered) - 1, round(0.9 * len(ordered)))]
    line = f"{tree:<16}{len(paths):4d} files {sum(ordered):7d} lines"
    line += f"   {statistics.median(ordered):4.0f} / {p90:4d} / {ordered[-1]:4d}"
    found = [function for path in paths if path.suffix == ".py" for function in functions(path)]
    if found:
        longest = max(function.lines for function in found)
        annotated = sum(function.is_annotated for function in found) / len(found)
        line += f"   longest function {longest:3d}   returns annotated {annotated:4.0%}"
    print(line)
    for path, lines in sorted(lengths.items(), key=lambda item: -item[1]):
        if lines > 600:
            print(f"    {lines:5d} lines     {path.relative_to(ROOT)}")
    for function in sorted(found, key=lambda function: -function.lines):
        if function.lines > 60:
            print(f"    {function.lines:5d} in a function  {function.where}")


def main() -> None:
    """Print all trees."""
    for tree, pattern in TREES.items():
        describe(tree, pattern)
    print(AIM)


if __name__ == "__main__":
    main()
