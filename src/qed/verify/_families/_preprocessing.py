"""Transformers of columns, entries and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.certificates import BracketCertificate, ExactCertificate
from qed.verify import _powers, _transformers
from qed.verify import _rounds as _imputation
from qed.verify._answers import _bases, _columns, _composites, _entries, _nearest, _rounds, _texts
from qed.verify._answers._compare import defined
from qed.verify._families._entry import Entry, by, of

if TYPE_CHECKING:
    from qed.verify._answers._compare import Rule
    from qed.verify._verdict import Verdict


def _power_transformer(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    return _powers.check(model, certificate, X, sample_weight)


def _exact(transform: Rule) -> Entry:
    return by(ExactCertificate, _transformers.check, {"transform": transform})


def _rows(**answers: Any) -> Entry:
    return by(ExactCertificate, _transformers.check, defined(**answers))


_OF_TARGETS = by(ExactCertificate, _transformers.check)  # no step of a pipeline sees what they return

ENTRIES = {
    "BasisFunctions": Entry(
        answers={"transform": _composites.functions},
        claims_nothing="nothing is learnt, and the functions are the user's",
    ),
    "Binarizer": _rows(transform=_columns.above),
    "CountVectorizer": _exact(_texts.counts),
    "DateFeatures": _exact(_entries.dates),
    "DictVectorizer": _exact(_texts.named_columns),
    "FactoredEncoder": _exact(_entries.factored),
    "FeatureHasher": _exact(_texts.hashed_names),
    "FunctionTransformer": Entry(
        answers={
            "transform": _composites.function("func", "kw_args"),
            "inverse_transform": _composites.function("inverse_func", "inv_kw_args"),
        },
        claims_nothing="the function is the user's, and nothing is known about it",
    ),
    "HashingVectorizer": _exact(_texts.hashed_texts),
    "IterativeImputer": of(_imputation.imputation, {"transform": _rounds.filled_in_rounds}),
    "KBinsDiscretizer": _rows(transform=_bases.bins),
    "KNNImputer": _exact(_nearest.donors),
    "LabelBinarizer": _OF_TARGETS,
    "LabelEncoder": _OF_TARGETS,
    "MaxAbsScaler": _rows(transform=_columns.largest, inverse_transform=_columns.largest_back),
    "MinMaxScaler": _rows(transform=_columns.ranges, inverse_transform=_columns.ranges_back),
    "MissingIndicator": _exact(_entries.marks),
    "MultiLabelBinarizer": _OF_TARGETS,
    "Normalizer": _exact(_columns.unit_rows),
    "OneHotEncoder": _exact(_entries.one_hot),
    "OrdinalEncoder": _exact(_entries.ordinal),
    "PiecewiseBasis": _rows(transform=_bases.pieces),
    "PolynomialFeatures": _rows(transform=_bases.monomials),
    "PowerTransformer": by(
        BracketCertificate,
        _power_transformer,
        defined(transform=_columns.powers, inverse_transform=_columns.powers_back),
    ),
    "QuantileTransformer": by(
        ExactCertificate,
        _transformers.check,
        {"transform": _columns.quantiles, **defined(inverse_transform=_columns.quantiles_back)},
    ),
    "RadialBasis": _rows(transform=_bases.bumps),
    "RobustScaler": _rows(transform=_columns.robust, inverse_transform=_columns.robust_back),
    "SimpleImputer": _exact(_entries.fillings),
    "SplineTransformer": _exact(_bases.splines),
    "StandardScaler": _rows(transform=_columns.standard, inverse_transform=_columns.standard_back),
    "TargetEncoder": _exact(_entries.mean_targets),
    "TfidfTransformer": _exact(_texts.weighed_table),
    "TfidfVectorizer": _exact(_texts.weighed_counts),
    "ThermometerEncoder": _exact(_entries.thermometer),
}
