"""Searches, tuned thresholds and the simplest predictors."""

from __future__ import annotations

from qed.certificates import ExactCertificate
from qed.verify import _counts, _members
from qed.verify._answers import _composites, _nearest
from qed.verify._answers._compare import METHODS, defined
from qed.verify._families._entry import Entry, by, of

_SEARCH = Entry(
    answers={one: _composites.inside("best_estimator_", one) for one in METHODS},
    parts=_members.search,
    is_search=True,
)
_THRESHOLD = of(
    _members.threshold,
    {
        "predict": _composites.cut_label,
        "predict_proba": _composites.classifier_inside("predict_proba"),
        "decision_function": _composites.classifier_inside("decision_function"),
    },
)

ENTRIES = {
    "DummyClassifier": by(
        ExactCertificate,
        _counts.check_shares,
        {"predict": _composites.usual_label, "predict_proba": _composites.usual_chances},
    ),
    "DummyRegressor": by(ExactCertificate, _counts.check_constant, {"predict": _composites.usual_number}),
    "FixedThresholdClassifier": _THRESHOLD,
    "GridSearchCV": _SEARCH,
    "HalvingGridSearchCV": _SEARCH,
    "HalvingRandomSearchCV": _SEARCH,
    "LookupClassifier": by(ExactCertificate, _counts.check_table, defined(predict=_nearest.lookup)),
    "RandomizedSearchCV": _SEARCH,
    "TunedThresholdClassifierCV": _THRESHOLD,
}
