"""Forests and boosting as candidates for a table.

Linear models are tried first: they take a moment, and a stop after them leaves a model. Within the family, boosting is the most
promising. Seeds are fixed, so that the same table gives the same model.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from qed.ensemble._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.ensemble._hist_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.model_selection._candidate import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.model_selection._candidate import TableTask

AFTER_LINEAR = 1  # priority
SEED = 0
LEAF_ROWS = 3  # of forests of labels: a leaf of one row says zero or one, whose log loss is infinite


def candidates(task: TableTask) -> list[Candidate]:
    """List forests and boosting for a table, most promising first."""
    return _regressors(task) if task.kind == "regression" else _classifiers()


def _regressors(task: TableTask) -> list[Candidate]:
    found = _boosting("gradient boosting", HistGradientBoostingRegressor)
    if task.counts:
        found += _boosting("Poisson boosting", partial(HistGradientBoostingRegressor, loss="poisson"))
    return [
        *found,
        _candidate("extra trees", "", ExtraTreesRegressor, random_state=SEED),
        _candidate("random forest", "", RandomForestRegressor, random_state=SEED),
        # a third of the columns: trees that differ more, whose mean varies less
        _candidate(
            "random forest", "a third of the columns", RandomForestRegressor, max_features=1 / 3, random_state=SEED
        ),
    ]


def _classifiers() -> list[Candidate]:
    options = {"min_samples_leaf": LEAF_ROWS, "random_state": SEED}
    return [
        *_boosting("gradient boosting", HistGradientBoostingClassifier),
        _candidate("extra trees", "", ExtraTreesClassifier, **options),
        _candidate("random forest", "", RandomForestClassifier, **options),
    ]


def _boosting(family: str, estimator: Callable[..., Any]) -> list[Candidate]:
    """Offer three sizes, of which the last is for noisy tables; on large tables rows that no tree has seen stop the rounds."""
    sizes = ((31, 0.1, 100), (8, 0.05, 300), (4, 0.05, 100))
    return [
        _candidate(
            family,
            f"{leaves} leaves",
            estimator,
            max_leaf_nodes=leaves,
            learning_rate=rate,
            max_iter=rounds,
            random_state=SEED,
        )
        for leaves, rate, rounds in sizes
    ]


def _candidate(family: str, detail: str, estimator: Callable[..., Any], **options: Any) -> Candidate:
    return Candidate(family, detail, lambda *_: estimator(**options), priority=AFTER_LINEAR)
