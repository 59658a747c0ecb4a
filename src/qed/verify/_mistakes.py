"""Online learners, checked: are the rows those of the certificate, is every row where it says, can so many mistakes have been made.

Lengths of rows and distances from the plane are computed again in extended precision. Of the mistakes themselves nothing is
left but their number, which must not exceed the bound, and the length of the coefficients, which every mistake lengthens by at
most one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import EXTENDED, read
from qed.verify._same_data import look, require_same_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.core._certificates import MistakesCertificate

__all__ = ["check"]


def check(model: Any, certificate: MistakesCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute margins and lengths; raise CertificateError when they are not those of the certificate."""
    name = type(model).__name__
    if certificate.fingerprint is None:
        msg = f"{name} learnt from a stream that nobody kept: its mistakes were counted, and cannot be counted again."
        raise CertificateError(msg)
    rows = read(model, X, y, sample_weight)
    require_same_data(certificate.fingerprint, look(rows), rows.p)
    w, b = np.asarray(model.coef_, EXTENDED), np.asarray(model.intercept_, EXTENDED)
    one = EXTENDED(1.0 if model.fit_intercept else 0.0)
    longest = EXTENDED(0)
    least = np.full(len(w), np.inf, EXTENDED)
    for block in rows.blocks():
        X_block = np.asarray(block.X, EXTENDED)
        longest = max(longest, np.max(np.sum(X_block**2, axis=1)) + one**2)
        codes = block.y[:, 0].astype(int)
        own = np.arange(len(w)) if len(w) > 1 else np.ones(1)
        signs = np.where(codes[:, None] == own, 1, -1)
        least = np.minimum(least, np.min(signs * (X_block @ w.T + b), axis=0))
    length = np.sqrt(np.sum(w**2, axis=1) + (b * one) ** 2)
    margins = np.divide(least, length, out=np.zeros_like(least), where=length > 0)
    radius = np.sqrt(longest)
    slack = 1e-9 * (radius + np.abs(margins).max())
    if not (abs(radius - certificate.radius) <= slack and np.all(np.abs(margins - certificate.margins) <= slack)):
        msg = (
            f"{name} claims margins {np.round(certificate.margins, 6)} and rows up to {certificate.radius:.6g} long; these rows"
            f" give {np.round(margins.astype(float), 6)} and {float(radius):.6g}. The model was changed, or the data are others."
        )
        raise CertificateError(msg)
    if np.isfinite(certificate.bound):
        most = float(np.sum((radius / margins) ** 2)) if np.all(margins > 0) else np.inf
        if not (certificate.bound >= most * (1 - 1e-9) and certificate.mistakes <= certificate.bound * (1 + 1e-9)):
            msg = f"{name} claims a bound of {certificate.bound:.6g} on its mistakes; the theorem gives {most:.6g}."
            raise CertificateError(msg)
    return Verdict(
        certificate.statement,
        float(certificate.mistakes),
        float(np.max(np.abs(margins - certificate.margins))),
        float(slack),
        0.0,
        "mistakes",
    )
