"""Several models that answer together.

One rule: **members are known by the estimator contract alone**, so that models of qed and of scikit-learn vote side by side; trees
that are grown together are arrays, one entry for each node of all of them.

::

    _voting            labels vote, predictions are averaged
    _stacking          a model learns how much to believe the others
    _forests           random forests and extra trees; _forest_model, what they share
    _hist_boosting     histogram gradient boosting; _boosting, its rounds; _boost_losses, its losses; _constraints
    _tree_ensemble     the nodes of many trees, as arrays
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.ensemble._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from qed.ensemble._hist_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from qed.ensemble._stacking import StackingClassifier, StackingRegressor
from qed.ensemble._tree_ensemble import TreeEnsemble
from qed.ensemble._voting import VotingClassifier, VotingRegressor

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "TreeEnsemble",
    "VotingClassifier",
    "VotingRegressor",
]

__getattr__ = lacking(__name__)
