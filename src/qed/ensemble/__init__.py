"""Several models that answer together.

One rule: **members are known by the estimator contract alone**, so that models of qed and of scikit-learn vote side by side.

::

    _voting      labels vote, predictions are averaged
    _stacking    a model learns how much to believe the others
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.ensemble._stacking import StackingClassifier, StackingRegressor
from qed.ensemble._voting import VotingClassifier, VotingRegressor

__all__ = ["StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"]

__getattr__ = lacking(__name__)
