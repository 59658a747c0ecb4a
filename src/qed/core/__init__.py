"""The base of every estimator: parameter declarations, input validation, errors and records.

One rule: **a model is a declaration**. Parameters are annotated fields, abilities are class keywords, and
constructor, validation, documentation and scikit-learn's protocol follow from them.

::

    _params, _rules        fields and what they may hold    _validation, _tables, _targets, _finite   data in
    _estimator, _roles     Estimator and the five roles     _frames                              frames, in and out
                                                            _mixed                               columns of any type
    _docstring, _display   how a model reads and prints     _sklearn                             the protocol
    _errors                the tree of errors               _random                              random streams
    _records, _persistence values with names, model files   _events                              progress and interrupts
    _threads, _memory      how much of the machine is used   _canvas                             where figures are drawn
"""

from __future__ import annotations

#: Parameters declared below ``_: KW_ONLY`` are passed by name.
from dataclasses import KW_ONLY
from importlib import import_module
from typing import Any

#: A parameter that takes one of a few values: ``typing.Literal`` under the name of its meaning.
from typing import Literal as OneOf

from qed.core import _missing
from qed.core import _threads as _threads  # settles the number of threads when native code is first used
from qed.core._errors import (
    CertificateError,
    ClusterLost,
    ConvergenceWarning,
    DataConversionWarning,
    FitFailedWarning,
    ForgetError,
    InvalidData,
    InvalidDataType,
    InvalidParameter,
    MemoryLimit,
    ModelFileError,
    NotFitted,
    NotSupported,
    QedError,
    ToleranceNotReached,
    UndefinedMetricWarning,
)
from qed.core._estimator import Estimator, clone
from qed.core._params import (
    Array,
    Fraction,
    Matrix,
    NonNegative,
    NonNegativeInt,
    NonNegativeVector,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Probability,
    Seed,
    Vector,
    fitted,
    param,
)
from qed.core._random import generator
from qed.core._roles import Classifier, Clusterer, OutlierDetector, Regressor, Transformer
from qed.core._rules import Number, Numbers
from qed.core._traits import Traits
from qed.core._validation import FitData
from qed.core._version import __version__

__all__ = [
    "KW_ONLY",
    "Array",
    "CertificateError",
    "Classifier",
    "ClusterLost",
    "Clusterer",
    "ConvergenceWarning",
    "DataConversionWarning",
    "Estimator",
    "FitData",
    "FitFailedWarning",
    "ForgetError",
    "Fraction",
    "InvalidData",
    "InvalidDataType",
    "InvalidParameter",
    "Matrix",
    "MemoryLimit",
    "ModelFileError",
    "NonNegative",
    "NonNegativeInt",
    "NonNegativeVector",
    "NotFitted",
    "NotSupported",
    "Number",
    "Numbers",
    "OneOf",
    "OutlierDetector",
    "Positive",
    "PositiveInt",
    "PositiveOrInfinite",
    "Probability",
    "QedError",
    "Regressor",
    "Seed",
    "ToleranceNotReached",
    "Traits",
    "Transformer",
    "UndefinedMetricWarning",
    "Vector",
    "__version__",
    "clone",
    "fitted",
    "generator",
    "param",
]


# What scikit-learn has in ``base``, ``exceptions`` and ``utils``: for estimators that users write, loaded when first named.
_FOR_USERS = {
    **dict.fromkeys(
        (
            "BaseEstimator",
            "BiclusterMixin",
            "ClassNamePrefixFeaturesOutMixin",
            "ClassifierMixin",
            "ClusterMixin",
            "DensityMixin",
            "MetaEstimatorMixin",
            "MultiOutputMixin",
            "OneToOneFeatureMixin",
            "OutlierMixin",
            "RegressorMixin",
            "TransformerMixin",
            "check_is_fitted",
            "is_classifier",
            "is_clusterer",
            "is_outlier_detector",
            "is_regressor",
        ),
        "qed.core._user_models",
    ),
    **dict.fromkeys(
        (
            "as_float_array",
            "assert_all_finite",
            "check_X_y",
            "check_array",
            "check_consistent_length",
            "check_non_negative",
            "check_random_state",
            "check_scalar",
            "check_symmetric",
            "column_or_1d",
            "has_fit_parameter",
            "indexable",
            "resample",
            "shuffle",
            "validate_data",
        ),
        "qed.core._user_checks",
    ),
    **dict.fromkeys(("Bunch", "compute_class_weight", "compute_sample_weight"), "qed.core._user_values"),
    **dict.fromkeys(
        (
            "all_estimators",
            "estimator_html_repr",
            "gen_batches",
            "gen_even_slices",
            "row_norms",
            "safe_sparse_dot",
            "softmax",
            "squared_norm",
            "type_of_target",
            "unique_labels",
        ),
        "qed.core._user_arrays",
    ),
    "randomized_svd": "qed.decomposition",
}


def __getattr__(name: str) -> Any:
    if name in _FOR_USERS:
        return getattr(import_module(_FOR_USERS[name]), name)
    if name == "NotFittedError":
        return NotFitted
    if not name.startswith("_"):
        raise _missing.missing(__name__, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
