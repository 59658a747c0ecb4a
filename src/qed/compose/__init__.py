"""Composite estimators: pipelines, column transformers, multiclass and multi-output strategies.

One rule: **a part is known by the estimator contract alone**, so that parts of scikit-learn and qed mix freely, both ways.

::

    _pipeline            one step after the other
    _columns             different columns, different transformations
    _choose_columns      which columns are meant
    _target              a regressor in other units
    _multi_output        one model for each target
    _codes               several classes by classifiers of two: _one_vs_rest, _one_vs_one, _output_code
    _steps               named parts: parameters inside parameters, methods handed over
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
