"""Models of models: one step after the other, columns side by side, a target in other units.

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

from typing import TYPE_CHECKING

from qed.core._missing import later

if TYPE_CHECKING:
    from qed.compose._choose_columns import make_column_selector
    from qed.compose._columns import ColumnTransformer, FeatureUnion, make_column_transformer, make_union
    from qed.compose._multi_output import MultiOutputClassifier, MultiOutputRegressor
    from qed.compose._one_vs_one import OneVsOneClassifier
    from qed.compose._one_vs_rest import Claims, OneVsRestClassifier
    from qed.compose._output_code import OutputCodeClassifier, binary_codes
    from qed.compose._pipeline import Pipeline, make_pipeline
    from qed.compose._target import TransformedTargetRegressor

__all__ = [
    "Claims",
    "ColumnTransformer",
    "FeatureUnion",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "Pipeline",
    "TransformedTargetRegressor",
    "binary_codes",
    "make_column_selector",
    "make_column_transformer",
    "make_pipeline",
    "make_union",
]

# A pipeline loads pipelines: what takes classes apart, with folds and scores behind it, waits until it is named.
_HOMES = {
    "_choose_columns": ("make_column_selector",),
    "_columns": ("ColumnTransformer", "FeatureUnion", "make_column_transformer", "make_union"),
    "_multi_output": ("MultiOutputClassifier", "MultiOutputRegressor"),
    "_one_vs_one": ("OneVsOneClassifier",),
    "_one_vs_rest": ("Claims", "OneVsRestClassifier"),
    "_output_code": ("OutputCodeClassifier", "binary_codes"),
    "_pipeline": ("Pipeline", "make_pipeline"),
    "_target": ("TransformedTargetRegressor",),
}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
