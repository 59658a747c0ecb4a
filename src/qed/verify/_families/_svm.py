"""Support vector machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.verify import _duality, _hard_margin
from qed.verify._answers._linear import HYPERPLANES, NUMBER
from qed.verify._families._entry import by

if TYPE_CHECKING:
    from qed.verify._verdict import Verdict


def _linear_svc(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    check = _duality.check if np.isfinite(model.C) else _hard_margin.check
    return check(model, certificate, X, y, sample_weight)


ENTRIES = {
    "LinearSVC": by(DualityGapCertificate, _linear_svc, HYPERPLANES),
    "LinearSVR": by(DualityGapCertificate, _duality.check, NUMBER),
}
