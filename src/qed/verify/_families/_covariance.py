"""Estimates of covariance."""

from __future__ import annotations

from qed.certificates import DualityGapCertificate, ExactCertificate, StationaryCertificate
from qed.verify import _covariances
from qed.verify._families._entry import by

_EMPIRICAL = by(ExactCertificate, _covariances.check_empirical)
_GRAPHICAL = by(DualityGapCertificate, _covariances.check_graphical_lasso)
_ROBUST = by(StationaryCertificate, _covariances.check_robust)

ENTRIES = {
    "EllipticEnvelope": _ROBUST,
    "EmpiricalCovariance": _EMPIRICAL,
    "GraphicalLasso": _GRAPHICAL,
    "GraphicalLassoCV": _GRAPHICAL,
    "LedoitWolf": _EMPIRICAL,
    "MinCovDet": _ROBUST,
    "OAS": _EMPIRICAL,
    "ShrunkCovariance": _EMPIRICAL,
}
