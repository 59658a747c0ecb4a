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

from dataclasses import KW_ONLY
from importlib import import_module
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from qed.core import _threads as _threads  # settles the number of threads when native code is first used
from qed.core._errors import (
    CertificateError,
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

if TYPE_CHECKING:
    from qed.core._certificates import *  # noqa: F403

__all__ = [
    "KW_ONLY",
    "Array",
    "CertificateError",
    "Classifier",
    "Clusterer",
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


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):  # certificates, which were here before they had a package
        return getattr(import_module("qed.core._certificates"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
