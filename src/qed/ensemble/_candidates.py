"""Forests and boosting as candidates for a table.

Linear models are tried first: they take a moment, and a stop after them leaves a model. Within the family, boosting is the most
promising. Seeds are fixed, so that the same table gives the same model.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.compose import TransformedTargetRegressor
from qed.ensemble._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.ensemble._hist_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.model_selection._candidate import LATER, Candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.model_selection._candidate import TableTask

AFTER_LINEAR = 1  # priority
SEED = 0
LEAF_ROWS = 3  # of forests of labels: a leaf of one row says zero or one, whose log loss is infinite


def candidates(task: TableTask) -> list[Candidate]:
    """List forests and boosting for a table, most promising first."""
    return _regressors(task) if task.kind == "regression" else _classifiers(task)


def _regressors(task: TableTask) -> list[Candidate]:
    codes = list(range(task.n_codes))
    plain = partial(HistGradientBoostingRegressor, categorical_features=codes)
    found = _boosting("gradient boosting", plain)
    if task.counts:
        found += _boosting("Poisson boosting", partial(plain, loss="poisson"))
    if task.is_positive:
        found += _boosting("gradient boosting of the logarithm", lambda **options: _of_logarithm(plain(**options)))
    return [
        *found,
        _candidate("extra trees", "", ExtraTreesRegressor, random_state=SEED),
        _candidate("random forest", "", RandomForestRegressor, random_state=SEED),
        # a third of the columns: trees that differ more, whose mean varies less
        _candidate(
            "random forest", "a third of the columns", RandomForestRegressor, max_features=1 / 3, random_state=SEED
        ),
    ]


def _classifiers(task: TableTask) -> list[Candidate]:
    options = {"min_samples_leaf": LEAF_ROWS, "random_state": SEED}
    boosting = partial(HistGradientBoostingClassifier, categorical_features=list(range(task.n_codes)))
    return [
        *_boosting("gradient boosting", boosting),
        _candidate("extra trees", "", ExtraTreesClassifier, **options),
        _candidate("random forest", "", RandomForestClassifier, **options),
    ]


def _boosting(family: str, estimator: Callable[..., Any]) -> list[Candidate]:
    """Offer sizes of trees, the third for noisy tables; on large tables rows that no tree has seen stop the rounds.

    Slow learners with columns drawn at random come last: they are often a little better, and cost several times as much.
    """
    sizes = ((31, 0.1, 100, 1.0), (8, 0.05, 300, 1.0), (4, 0.05, 100, 1.0), (16, 0.03, 500, 0.5), (31, 0.05, 500, 0.5))
    return [
        _candidate(
            family,
            f"{leaves} leaves" + (", slow" if share < 1 else ""),
            estimator,
            AFTER_LINEAR if share == 1 else LATER,
            max_leaf_nodes=leaves,
            learning_rate=rate,
            max_iter=rounds,
            max_features=share,
            random_state=SEED,
        )
        for leaves, rate, rounds, share in sizes
    ]


def _candidate(
    family: str, detail: str, estimator: Callable[..., Any], priority: int = AFTER_LINEAR, **options: Any
) -> Candidate:
    return Candidate(family, detail, lambda *_: estimator(**options), "trees", priority)


def _of_logarithm(model: Any) -> Any:
    return TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp, check_inverse=False)
