"""How far the coefficients of an online learner are from the best ones: the certificate of its objective."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import (
    L2,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Known,
    Logistic,
    Perceptron,
    Problem,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from qed.convex.penalties import ElasticNet
from qed.core._certificates import DualityGapCertificate
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._online import diverged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.linear_model._learn_convex import Rows
    from qed.linear_model._online import Rule

__all__ = ["prove"]

EFFORT = 0.1  # relative gap from which no dearer proof is looked for: random steps end about there
LARGE = 1e6  # numbers in a table beyond which a dearer proof takes longer than the passes it is about,
ROUGH = 0.5  # so that one within this share is left as it is
FAR = 1e6  # times the objective of predicting nothing: no step in the right direction leads there

# each loss of the documentation as a multiple of one of the convex floor
LOSSES: dict[str, tuple[float, Callable[[Any, float], Any]]] = {
    "perceptron": (1.0, lambda y, _: Perceptron(y)),
    "hinge": (1.0, lambda y, _: Hinge(y)),
    "squared_hinge": (2.0, lambda y, _: SquaredHinge(y)),
    "modified_huber": (4.0, lambda y, _: SmoothedHinge(y, knee=2.0)),
    "log_loss": (1.0, lambda y, _: Logistic(y)),
    "squared_error": (1.0, lambda y, _: Squared(y)),
    "huber": (1.0, lambda y, width: Huber(y, knee=width)),
    "epsilon_insensitive": (1.0, lambda y, width: EpsilonInsensitive(y, epsilon=width)),
    "squared_epsilon_insensitive": (2.0, lambda y, width: SquaredEpsilonInsensitive(y, epsilon=width)),
}


def prove(
    owner: str,
    rows: Rows,
    y: Any,
    rule: Rule,
    w: Any,
    b: float,
    *,
    n_rows: int,
    tol: float,
    outcome: str,
    met: Any = None,
) -> DualityGapCertificate:
    """Bound the distance of one plane from the optimum of ``Σ s ℓ / n + ridge |w|²/2 + lasso |w|_1``.

    Parameters
    ----------
    owner : str
        Name of the model.
    rows : Rows
        The rows, weights of classes included.
    y : ndarray of shape (n,)
        ±1 or numbers.
    rule : Rule
        Loss and penalty.
    w, b : ndarray, float
        The plane.
    n_rows : int
        What sums of losses are divided by.
    tol : float
        Tolerance asked for.
    outcome : str
        How the course ended.
    met : ndarray of shape (n,), optional
        Mean slope that each row's loss had when the row was met. Where coefficients have come to rest, the steps of the rows
        and of the penalty cancel: these slopes are then nearly the multipliers of the optimum.
    """
    times, make = LOSSES[rule.loss]
    unit = times * rows.weight / n_rows
    penalty: Any = L2(rule.ridge / unit) if rule.lasso == 0 else ElasticNet(rule.lasso / unit, rule.ridge / unit)
    centre = rows.mean if rule.intercept else None
    length = rows.length if rule.intercept else np.hypot(rows.length, rows.mean)
    problem = Problem(design(rows.X), make(y, rule.width), penalty, rows.share, rule.intercept, centre, length)
    level = b + float(rows.mean @ w) if rule.intercept else 0.0
    target = tol * problem.null_objective
    with one_blas_thread(rows.share.size * rows.mean.size):
        u = None if met is None else met / times
        is_large = u is not None and rows.share.size * rows.mean.size > LARGE
        enough = max(tol, ROUGH if is_large else EFFORT) * problem.null_objective
        if problem.loss.traits.has_curvature:
            gap = problem.certify(w, level, u, target=enough, is_thorough=not is_large)
        else:
            known = Known(t=problem.scores(w, level))
            points = itertools.chain(() if u is None else (u,), _softened(problem, rule, known.t))
            gap = problem.certify(w, level, next(points), target=np.inf, known=known)
            for point in points:
                if gap.value <= enough:
                    break
                found = problem.certify(w, level, point, target=np.inf, known=known)
                gap = found if found.value < gap.value else gap
    nothing = float(rows.share @ problem.loss.value(np.zeros(len(rows.share))))
    if not gap.objective <= FAR * max(problem.null_objective, nothing, np.finfo(np.float64).tiny) and nothing > 0:
        raise diverged(owner)
    if gap.value - gap.rounding <= target:
        outcome = "solved" if outcome in ("stalled", "max_iter") else outcome
    return DualityGapCertificate(
        gap=unit * gap.value,
        rounding=unit * gap.rounding,
        objective=unit * gap.objective,
        null_objective=unit * problem.null_objective,
        tol=tol,
        radius=gap.radius,
        outcome=outcome,
        fingerprint=rows.seen,
        dual=None if problem.loss.traits.has_curvature else gap.u,
    )


def _softened(problem: Problem, rule: Rule, t: Any) -> Iterator[Any]:
    """Yield dual points for losses with a kink: their slopes, with the jump spread over some width."""
    spread = problem.length(t - float(problem.share @ t))
    for width in (0.5, 0.1):
        if rule.loss == "hinge":
            yield SmoothedHinge(problem.loss.y, knee=width * max(spread, 1e-300)).slope(t)
        else:
            steps = np.linspace(-0.5, 0.5, 9) * width * spread
            yield np.mean([problem.loss.slope(t + step) for step in steps], axis=0)
