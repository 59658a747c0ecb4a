"""Chosen columns."""

from __future__ import annotations

from qed.certificates import ExactCertificate
from qed.verify import _selected, _transformers
from qed.verify._answers import _columns, _composites
from qed.verify._answers._compare import METHODS
from qed.verify._families._entry import by, of

_KEPT = by(ExactCertificate, _transformers.check, {"transform": _columns.kept_columns})
_ELIMINATION = of(
    _selected.elimination,
    {"transform": _columns.kept_columns, **{one: _composites.inside("estimator_", one) for one in METHODS[:3]}},
)

ENTRIES = {
    "GenericUnivariateSelect": _KEPT,
    "RFE": _ELIMINATION,
    "RFECV": _ELIMINATION,
    "SelectFdr": _KEPT,
    "SelectFpr": _KEPT,
    "SelectFromModel": of(_selected.from_model, {"transform": _columns.kept_columns}),
    "SelectFwe": _KEPT,
    "SelectKBest": _KEPT,
    "SelectPercentile": _KEPT,
    "SequentialFeatureSelector": _KEPT,
    "VarianceThreshold": _KEPT,
}
