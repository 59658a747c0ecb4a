"""Calibrated classifiers and isotonic regression."""

from __future__ import annotations

from qed.certificates import ExactCertificate
from qed.verify import _calibrated, _isotonic
from qed.verify._answers import _columns, _composites
from qed.verify._answers._compare import defined
from qed.verify._families._entry import by, of

ENTRIES = {
    "CalibratedClassifierCV": of(
        _calibrated.calibrated,
        {"predict": _composites.calibrated_label, "predict_proba": _composites.calibrated_chances},
    ),
    "IsotonicRegression": by(
        ExactCertificate, _isotonic.check, defined(predict=_columns.rising, transform=_columns.rising)
    ),
}
