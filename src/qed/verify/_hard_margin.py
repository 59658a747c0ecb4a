"""Hard margins, checked: every row beyond its margin, and two mixtures of rows whose distance bounds every margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read
from qed.verify._same_data import difference, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import DualityGapCertificate

UNIT = 2.0**-53


def check(model: Any, certificate: DualityGapCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute margins and mixtures; raise CertificateError when they are not as claimed."""
    rows = read(model, X, y, sample_weight)
    words = difference(certificate.fingerprint, summarize_columns(rows), rows.p)
    if words is not None:
        raise CertificateError(words)
    blocks = list(rows.blocks())
    used = [block.s > 0 for block in blocks]
    table = np.vstack([block.X[some] for block, some in zip(blocks, used, strict=True)]).astype(EXTENDED)
    codes = np.concatenate([block.y[some, 0] for block, some in zip(blocks, used, strict=True)])
    labels = [1] if len(model.classes_) == 2 else range(len(model.classes_))
    w, b = np.asarray(model.coef_, dtype=EXTENDED), np.asarray(model.intercept_, dtype=EXTENDED)
    dual = None if certificate.dual is None else certificate.dual.reshape(len(certificate.dual), -1).astype(EXTENDED)
    if dual is None or dual.shape != (len(table), len(labels)) or w.shape != (len(labels), rows.p):
        refuse(model, "it does not have one weight for each row and binary problem")
    objective, proved, size = EXTENDED(0), EXTENDED(0), EXTENDED(1)
    for place, label in enumerate(labels):
        sign = np.where(codes == label, EXTENDED(1), EXTENDED(-1))
        least = np.min(sign * (table @ w[place] + b[place]))
        size = max(size, np.max(np.abs(table) @ np.abs(w[place])) + abs(b[place]))
        if not least >= 1 - (rows.p + 8) * EXTENDED(UNIT) * size:  # as coefficients round that are stored as float64
            refuse(model, f"a row has a margin of {float(least):.10g}, and at least 1 is claimed")
        # coefficients as long as a margin of one asks for
        objective += w[place] @ w[place] / (2 * min(least, EXTENDED(1)) ** 2)
        proved += _least_objective(table, sign, dual[:, place], through_origin=not model.fit_intercept)
    distance = float(max(objective - proved, EXTENDED(0)))
    # relative errors of sums over rows and columns, in extended precision
    rounding = 4 * (len(table) + rows.p) * float(np.finfo(EXTENDED).eps) * float(size * objective)
    if not abs(float(objective) - certificate.objective) <= 1e-9 * float(objective) + certificate.gap:
        refuse(model, f"the objective is {float(objective):.10g}, not {certificate.objective:.10g}")
    if not distance <= certificate.gap + rounding:
        refuse(
            model, f"the margin could only be shown to be within {distance:.3g} of the best, not {certificate.gap:.3g}"
        )
    return Verdict(certificate.statement, float(objective), distance, rounding, certificate.gap)


def _least_objective(table: Any, sign: Any, weights: Any, *, through_origin: bool) -> Any:
    """Return what half the squared length of the coefficients cannot be below, by the distance of two mixtures."""
    weights = np.maximum(weights, 0)
    sides = [np.ones(len(sign), dtype=bool)] if through_origin else [sign > 0, sign < 0]
    for side in sides:
        total = weights[side].sum()
        if not total > 0:
            return EXTENDED(0)
        weights[side] /= total
    mixed = (weights * sign) @ table
    square = mixed @ mixed
    if not square > 0:
        return EXTENDED(np.inf)
    return (1 if through_origin else 4) / (2 * square)
