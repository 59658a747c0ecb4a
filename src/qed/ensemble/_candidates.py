"""Forests and boosting as candidates for a table.

Linear models are tried first: they take a moment, and a stop after them leaves a model. Within the family, boosting is the most
promising. Seeds are fixed, so that the same table gives the same model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.calibration import CalibratedClassifierCV
from qed.compose import TransformedTargetRegressor
from qed.ensemble._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.ensemble._hist_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.model_selection._candidate import CALIBRATION_FOLDS, LATER, RARE, Candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.model_selection._candidate import Preparation, TableTask

AFTER_LINEAR = 1  # priority
SEED = 0
MOST_ROUNDS, MOST_LEAVES, LEAST_SHARE = 4000, 127, 0.2  # where variations end
LEAF_ROWS = 3  # of forests of labels: a leaf of one row says zero or one, whose log loss is infinite


def candidates(task: TableTask) -> list[Candidate]:
    """List forests and boosting for a table, most promising first."""
    return _regressors(task) if task.kind == "regression" else _classifiers(task)


def _regressors(task: TableTask) -> list[Candidate]:
    codes = list(range(task.n_codes))
    plain = partial(HistGradientBoostingRegressor, categorical_features=codes)
    found = _boosting("gradient boosting", plain) + _with_means(task, plain)
    if task.counts:
        found += _boosting("Poisson boosting", partial(plain, loss="poisson"))
    if task.is_positive:
        found += _boosting("gradient boosting of the logarithm", lambda **options: _of_logarithm(plain(**options)))
    return [
        *found,
        _forest("extra trees", ExtraTreesRegressor, 1, 1.0),
        _forest("random forest", RandomForestRegressor, 1, 1.0),
        # a third of the columns: trees that differ more, whose mean varies less
        _forest("random forest", RandomForestRegressor, 1, 1 / 3),
    ]


def _classifiers(task: TableTask) -> list[Candidate]:
    boosting = partial(HistGradientBoostingClassifier, categorical_features=list(range(task.n_codes)))
    weighted = []
    if task.rarest < RARE:  # one of them: it is fitted once a fold besides
        offered = _boosting(
            "calibrated class-weighted gradient boosting", lambda **options: _calibrated(boosting(**options))
        )
        weighted = [one for one in offered if one.detail == "8 leaves"]
    return [
        *_boosting("gradient boosting", boosting),
        *_with_means(task, boosting),
        *weighted,
        _forest("extra trees", ExtraTreesClassifier, LEAF_ROWS, "sqrt"),
        _forest("random forest", RandomForestClassifier, LEAF_ROWS, "sqrt"),
    ]


def _calibrated(model: Any) -> Any:
    """Give every class the same weight in the fit, and the probabilities their frequencies back on other folds."""
    model.set_params(class_weight="balanced")
    return CalibratedClassifierCV(model, method="sigmoid", cv=CALIBRATION_FOLDS, ensemble=False)


@dataclass(frozen=True)
class Boosting:
    """What candidates of boosting differ in: leaves, learning rate, rounds, share of columns, fewest rows of a leaf, l2 penalty."""

    leaves: int
    rate: float
    rounds: int
    share: float = 1.0
    leaf_rows: int = 20
    penalty: float = 0.0

    @property
    def detail(self) -> str:
        """Name the sizes that everybody is offered by their leaves; of variations say what differs from the usual."""
        if self in SIZES:
            return f"{self.leaves} leaves" + (", slow" if self.share < 1 else "")
        words = [f"{self.leaves} leaves", f"{self.rounds} rounds", f"rate {self.rate:g}"]
        words += [f"{100 * self.share:g} % of the columns"] if self.share < 1 else []
        words += [f"leaves of {self.leaf_rows} rows"] if self.leaf_rows != 20 else []
        words += [f"penalty {self.penalty:g}"] if self.penalty else []
        return ", ".join(words)

    def near(self) -> list[Boosting]:
        """Vary one thing at a time."""
        found = [
            replace(self, rate=self.rate / 2, rounds=2 * self.rounds) if self.rounds <= MOST_ROUNDS / 2 else self,
            replace(self, share=self.share / 2) if self.share > LEAST_SHARE else self,
            replace(self, leaf_rows=5 if self.leaf_rows == 20 else 20),
            replace(self, leaves=2 * self.leaves) if self.leaves < MOST_LEAVES else self,
            replace(self, leaves=self.leaves // 2) if self.leaves >= 6 else self,
            replace(self, leaf_rows=60 if self.leaf_rows == 20 else 20),
            replace(self, penalty=3.0 if self.penalty == 0 else 0.0),
        ]
        return [one for one in dict.fromkeys(found) if one != self]


# The third is for noisy tables. Slow learners with columns drawn at random come last: they are often a little better, and cost
# several times as much.
SIZES = (
    Boosting(31, 0.1, 100),
    Boosting(8, 0.05, 300),
    Boosting(4, 0.05, 100),
    Boosting(16, 0.03, 500, 0.5),
    Boosting(31, 0.05, 500, 0.5),
)


def _boosting(family: str, estimator: Callable[..., Any]) -> list[Candidate]:
    """Offer sizes of trees."""
    return [_boosted(family, estimator, one) for one in SIZES]


def _with_means(task: TableTask, estimator: Callable[..., Any]) -> list[Candidate]:
    """Offer two sizes behind target means of whole numbers, where those may be identifiers."""
    family = "gradient boosting with target means"
    return [_boosted(family, estimator, one, "trees and means") for one in SIZES[:2]] if task.has_identifiers else []


def _boosted(
    family: str, estimator: Callable[..., Any], size: Boosting, preparation: Preparation = "trees"
) -> Candidate:
    def make(*_: Any) -> Any:
        return estimator(
            max_leaf_nodes=size.leaves,
            learning_rate=size.rate,
            max_iter=size.rounds,
            max_features=size.share,
            min_samples_leaf=size.leaf_rows,
            l2_regularization=size.penalty,
            early_stopping=False,  # the comparison chooses the rounds, and no tenth of the rows is lost to it
            random_state=SEED,
        )

    priority = AFTER_LINEAR if size.share == 1 else LATER
    again = partial(_boosted, family, estimator, preparation=preparation)
    return Candidate(
        family, size.detail, make, preparation, priority, refine=lambda: [again(one) for one in size.near()]
    )


def _forest(family: str, estimator: Callable[..., Any], leaf_rows: int, share: float | str) -> Candidate:
    """Offer a forest; where it is among the best, other leaves and other shares of the columns are tried too."""
    words = [f"leaves of {leaf_rows} rows"] if leaf_rows not in (1, LEAF_ROWS) else []
    words += [f"{100 * share:.0f} % of the columns"] if isinstance(share, float) and share < 1 else []

    def make(*_: Any) -> Any:
        return estimator(min_samples_leaf=leaf_rows, max_features=share, random_state=SEED)

    def refine() -> list[Candidate]:
        shares = [one for one in (1 / 3, 0.6) if one != share]
        leaves = [one for one in (LEAF_ROWS, 6) if one > leaf_rows]
        found = [_forest(family, estimator, leaf_rows, one) for one in shares]
        return found + [_forest(family, estimator, one, share) for one in leaves]

    return Candidate(family, ", ".join(words), make, "trees", AFTER_LINEAR, refine=refine)


def _of_logarithm(model: Any) -> Any:
    return TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp, check_inverse=False)
