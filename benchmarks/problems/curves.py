"""Monotone curves through many rows, and through few: one column, a target that rises along it with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.problems._problem import Data, Problem, model_of, sample
from benchmarks.problems.scores import numbers

if TYPE_CHECKING:
    from collections.abc import Callable


def run(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any] | None:
    """Fit and predict; None for a library that has no such model."""
    if library not in ("qed", "sklearn"):
        return None
    kind = model_of(library, "isotonic", "IsotonicRegression")
    return lambda X, y: kind(**params).fit(X, y).predict(X)


def expected(data: Data, _: dict[str, Any]) -> Any:
    """The least-squares curve by SciPy, for the rows that are compared."""
    from scipy.optimize import isotonic_regression

    order = data.X[:, 0].argsort()
    values = data.y.copy()
    values[order] = isotonic_regression(data.y[order]).x
    return values[sample(len(values))]


def curve(name: str, title: str, n: int) -> Problem:
    return Problem(name, title, (n, 1), numbers, "IsotonicRegression", measure="workflow", run=run, expected=expected)


PROBLEMS = (
    curve("isotonic-few", "IsotonicRegression 1e3", 1000),
    curve("isotonic", "IsotonicRegression 1e6", 1_000_000),
)
