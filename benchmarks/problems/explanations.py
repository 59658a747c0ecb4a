"""Explanations of fitted models: contributions that must add up, and the columns that a shuffled score must find.

scikit-learn has no Shapley values: shap explains scikit-learn's forest of the same settings.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem

if TYPE_CHECKING:
    from collections.abc import Callable


def numbers(rng: np.random.Generator, n: int, p: int) -> Data:
    """Four columns that matter, one pair of them as a product; values that float32 holds, as scikit-learn rounds to it."""
    X = rng.standard_normal((n, p), dtype=np.float32).astype(np.float64)
    return Data(X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + rng.standard_normal(n))


def fitted(library: str, kind: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """A model that is fitted at the first call, before the clock of later ones."""
    kept: list[Any] = []

    def model(X: Any, y: Any) -> Any:
        if not kept:
            kept.append(getattr(import_module(f"{library}.ensemble"), kind)(random_state=0, **params).fit(X, y))
        return kept[0]

    return model


def shuffled(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """How many of the four columns that matter are the four whose shuffling costs most."""
    model, inspection = fitted(library, "HistGradientBoostingRegressor", params), import_module(f"{library}.inspection")

    def run(X: Any, y: Any) -> float:
        found = inspection.permutation_importance(model(X, y), X, y, n_repeats=5, random_state=0)
        return float(np.count_nonzero(np.argsort(found.importances_mean)[-4:] < 4))

    return run


def contributions(
    rows: int, background: int, library: str, params: dict[str, Any]
) -> Callable[[Any, Any], float] | None:
    """How far contributions are from adding up to prediction minus base value, relative to the largest prediction."""
    if library == "sklearn":
        return None
    model = fitted("qed" if library == "qed" else "sklearn", "RandomForestRegressor", params)
    if library == "qed":
        from qed.inspection import shapley_values

        def ours(X: Any, y: Any) -> float:
            found = shapley_values(model(X, y), X[:rows], background=X[-background:] if background else None)
            return float(np.abs(found.values.sum(axis=1) + found.base_value - found.predictions).max())

        return ours
    import shap

    def theirs(X: Any, y: Any) -> float:
        forest = model(X, y)
        explainer = shap.TreeExplainer(forest, X[-background:] if background else None)
        values = explainer.shap_values(X[:rows])
        return float(np.abs(values.sum(axis=1) + explainer.expected_value - forest.predict(X[:rows])).max())

    return theirs


def row(name: str, title: str, shape: tuple[int, int], run: Any, expected: list[float], **params: Any) -> Problem:
    peers = ("shap",) if name.startswith("shapley") else ()
    return Problem(
        name, title, shape, numbers, name, params, "workflow", run=run, expected=lambda *_: expected, peers=peers
    )


PROBLEMS = (
    row("shuffled-columns", "permutation_importance of boosting, 20000×30", (20_000, 30), shuffled, [4.0]),
    row(
        "shapley-forest",
        "Shapley values, 100 trees of depth 12, 200 rows",
        (20_000, 20),
        partial(contributions, 200, 0),
        [0.0],
        n_estimators=100,
        max_depth=12,
    ),
    row(
        "shapley-deep",
        "Shapley values, 100 full trees, 200 rows",
        (5_000, 20),
        partial(contributions, 200, 0),
        [0.0],
        n_estimators=100,
    ),
    row(
        "shapley-background",
        "Shapley values against 100 rows, 100 full trees, 50 rows",
        (5_000, 20),
        partial(contributions, 50, 100),
        [0.0],
        n_estimators=100,
    ),
)
