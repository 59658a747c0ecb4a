"""The certificates of all hyperplanes of a small table in one call of compiled code: what is small costs little but calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.linear_model._kernels import online_proofs
from qed.linear_model._online import LOSSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qed.certificates import Fingerprint
    from qed.linear_model._learn_convex import TrainingData
    from qed.linear_model._learn_online import OnlineData
    from qed.linear_model._online import Rule

    Array = NDArray[np.float64]


WIDEST = 32  # columns
WORK = 5e5  # multiply-adds of second derivatives: part of a millisecond for each hyperplane
EFFORT = 1e-3  # share of the null objective by which no other proof would be better
FAR = 1e6  # times the null objective: what is further is for others to judge


def prove_small(
    looked: TrainingData,
    rows: OnlineData,
    rule: Rule,
    hyperplanes: tuple[Array, Array],
    seen: Sequence[Fingerprint],
    *,
    tol: float,
    outcome: str,
) -> list[DualityGapCertificate] | None:
    """Bound the distances of hyperplanes from the optima of their problems; None where this method does not apply.

    Parameters
    ----------
    looked, rows : TrainingData, OnlineData
        The rows, and as learners see them.
    rule : Rule
        Loss and penalty.
    hyperplanes : tuple of ndarray
        Coefficients of shape (k, p) and intercepts of shape (k,).
    seen : sequence of Fingerprint
        How to recognise the rows of each problem.
    tol : float
        Tolerance asked for.
    outcome : str
        How the course ended.
    """
    n, p = looked.X.shape
    if not isinstance(looked.X, np.ndarray) or p > WIDEST or n * p * p > WORK:
        return None
    if rows.favour is not None and not rows.favour.all():
        return None
    if rule.loss == "squared_error" and rule.ridge == rule.lasso == 0:
        return None  # its curvature proves more: against all coefficients
    model = (LOSSES.index(rule.loss), rule.width, rule.ridge, rule.lasso, rule.intercept, max(EFFORT, tol))
    columns = (looked.mean, looked.length) if rule.intercept else (None, np.hypot(looked.mean, looked.length))
    u, found = online_proofs(looked.X, rows.y, rows.weight, rows.favour, model, columns, hyperplanes)
    if not all(is_tight and (objective <= FAR * null or null == 0) for objective, _, _, null, _, is_tight in found):
        return None
    ended = outcome in ("stalled", "max_iter")
    return [
        DualityGapCertificate(
            gap=gap,
            rounding=rounding,
            objective=objective,
            null_objective=null,
            tol=tol,
            radius=radius,
            outcome="solved" if ended and gap - rounding <= tol * null else outcome,
            fingerprint=own,
            dual=dual,  # nearer to the best than slopes of the hyperplane lead
        )
        for (objective, gap, rounding, null, radius, _), own, dual in zip(found, seen, u, strict=True)
    ]
