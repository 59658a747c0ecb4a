"""What is raced. A new row is one `Problem` in one of these modules; the runner finds it, and every module with `PROBLEMS`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.problems._problem import Data, Problem

PROBLEMS: tuple[Problem, ...] = tuple(
    problem
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
    for problem in import_module(f"{__name__}.{module.name}").PROBLEMS
)

__all__ = ["PROBLEMS", "Data", "Problem", "chosen"]


def chosen(only: str | None) -> list[Problem]:
    """The problems whose name contains one of the comma-separated words of `only`; all of them without it."""
    words = [word.strip() for word in (only or "").split(",") if word.strip()]
    found = [problem for problem in PROBLEMS if not words or any(word in problem.name for word in words)]
    if not found:
        raise SystemExit(
            f"No problem's name contains {only!r}. Names: {', '.join(problem.name for problem in PROBLEMS)}."
        )
    return found
