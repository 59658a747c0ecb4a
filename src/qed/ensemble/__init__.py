"""Ensembles: several models that predict together.

One rule: **members are known by the estimator contract alone**, so that models of qed and of scikit-learn vote side by side; trees
that are grown together are arrays, one entry for each node of all of them.

::

    _voting            labels vote, predictions are averaged
    _stacking          a model learns how much to believe the others
    _forests           random forests and extra trees; _forest_model, what they share
    _bagging           copies of any estimator on drawn rows and columns; _copies, what they share with AdaBoost
    _adaboost          copies of any estimator that look harder at what those before got wrong
    _boosting          rounds of boosting; _boost_losses, losses; _boosted, what sums of trees predict
    _hist_boosting     boosting by histograms; _hist_model, its parameters and trees; _constraints
    _gradient_boosting boosting by exact splits; _exact_model, its parameters and trees
    _isolation_forest  random trees without targets: scores of outliers, leaves as features
    _candidates        what the family offers to ``qed fit``
    _tree_ensemble     the nodes of many trees, as arrays
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
