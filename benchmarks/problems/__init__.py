"""What is raced. A new row is one `Problem` in one of these modules; the runner finds it."""

from __future__ import annotations

from benchmarks.problems import (
    classes,
    columns,
    generative,
    groundwork,
    hard,
    lasso,
    likelihood,
    limits,
    margins,
    near,
    networks,
    online,
    robust,
    scores,
    small,
    sparse,
    tables,
    tall,
    trees,
    wide,
)
from benchmarks.problems._problem import Data, Problem

PROBLEMS: tuple[Problem, ...] = (
    *small.PROBLEMS,
    *tall.PROBLEMS,
    *wide.PROBLEMS,
    *sparse.PROBLEMS,
    *hard.PROBLEMS,
    *lasso.PROBLEMS,
    *columns.PROBLEMS,
    *scores.PROBLEMS,
    *robust.PROBLEMS,
    *likelihood.PROBLEMS,
    *limits.PROBLEMS,
    *margins.PROBLEMS,
    *online.PROBLEMS,
    *networks.PROBLEMS,
    *classes.PROBLEMS,
    *near.PROBLEMS,
    *generative.PROBLEMS,
    *tables.PROBLEMS,
    *groundwork.PROBLEMS,
    *trees.PROBLEMS,
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
