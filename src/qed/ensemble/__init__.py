"""Ensembles: several models that predict together.

One rule: **members are known by the estimator contract alone**, so that models of qed and of scikit-learn vote side by side.

::

    _voting      labels vote, predictions are averaged
    _stacking    a model learns how much to believe the others
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
