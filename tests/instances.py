"""An instance of every model of qed: those that hold other models are given some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qed
from qed.linear_model import Ridge

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["every_model", "instance"]

SMALL = {"alpha": [0.1, 1.0]}
HOLDING: dict[str, Callable[[Any], Any]] = {
    "GridSearchCV": lambda kind: kind(Ridge(), SMALL, cv=2, error_score="raise"),
    "RandomizedSearchCV": lambda kind: kind(Ridge(), SMALL, cv=2, n_iter=2, random_state=0, error_score="raise"),
}


def instance(kind: Any) -> Any:
    """Return an unfitted model of a class."""
    return HOLDING.get(kind.__name__, lambda kind: kind())(kind)


def every_model() -> list[Any]:
    """Return one unfitted model of every public class."""
    return [instance(kind) for _, kind in qed.all_estimators()]
