"""How far the coefficients of an online learner are from the best ones: the certificate of its objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import (
    L2,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Perceptron,
    Problem,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from qed.convex._bowl import Bowl
from qed.convex._floor import Floor
from qed.convex._mixture import Met, mixed
from qed.convex._passes import Passes
from qed.convex.penalties import ElasticNet
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._online import diverged

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex import Gap
    from qed.linear_model._learn_convex import TrainingData
    from qed.linear_model._online import Rule


EFFORT = 1e-3  # relative gap from which no dearer proof is looked for: random steps rarely end below
NEAR = 0.1  # relative distance, as curvature tells it, up to which a step of Newton's method leads to the optimum
LOOSE = 2.0  # times that distance: no dearer proof is looked for below
NARROW = 32  # columns whose second derivatives cost no more than the passes
LARGE = 1e6  # numbers in a table beyond which a dearer proof takes longer than the passes it is about,
ROUGH = 0.5  # so that one within this share is left as it is
TINY = float(np.finfo(np.float64).tiny)
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
    rows: TrainingData,
    y: Any,
    rule: Rule,
    w: Any,
    b: float,
    *,
    n_rows: int,
    tol: float,
    outcome: str,
    met: Met | None = None,
) -> DualityGapCertificate:
    """Bound the distance of one hyperplane from the optimum of ``Σ s ℓ / n + ridge |w|²/2 + lasso |w|_1``.

    Parameters
    ----------
    owner : str
        Name of the model.
    rows : TrainingData
        The rows, weights of classes included.
    y : ndarray of shape (n,)
        ±1 or numbers.
    rule : Rule
        Loss and penalty.
    w, b : ndarray, float
        The hyperplane.
    n_rows : int
        What sums of losses are divided by.
    tol : float
        Tolerance asked for.
    outcome : str
        How the course ended.
    met : Met, optional
        Mean slope that each row's loss had when the row was met. Where coefficients have converged, the steps of the rows
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
        gap = _gap(problem, w, level, None if met is None else Met(met.numbers, met.times / times), tol)
    if not gap.objective <= FAR * max(problem.null_objective, TINY):
        nothing = float(rows.share @ problem.loss.value(np.zeros(len(rows.share))))
        if nothing > 0 and not gap.objective <= FAR * nothing:
            raise diverged(owner)
    if gap.value - gap.rounding <= target:
        outcome = "solved" if outcome in ("stalled", "max_iter") else outcome
    # near the optimum of a curved loss everybody finds a dual point; steps at random often end far from it
    is_found = problem.loss.traits.has_curvature and gap.value - gap.rounding <= target
    return DualityGapCertificate(
        gap=unit * gap.value,
        rounding=unit * gap.rounding,
        objective=unit * gap.objective,
        null_objective=unit * problem.null_objective,
        tol=tol,
        radius=gap.radius,
        outcome=outcome,
        fingerprint=rows.seen,
        dual=None if is_found or not gap.u.size else times * gap.u,
    )


def _gap(problem: Problem, w: Any, b: float, met: Met | None, tol: float) -> Gap:
    """Bound the distance by a proof that costs no more than some of the passes it is about."""
    n, p = problem.shape
    is_large = n * p > LARGE
    traits, penalty = problem.loss.traits, problem.penalty.traits
    if traits.has_curvature and (penalty.is_bounding or traits.is_quadratic) and p <= NARROW and not is_large:
        found = _by_curvature(problem, w, b, met, tol)
        if found is not None:
            return found
    is_thorough = traits.has_curvature and not is_large
    enough = max(tol, ROUGH if is_large else EFFORT) * problem.null_objective
    if met is None or traits.pieces is None:
        return problem.certify(w, b, _dual(met), target=enough, is_thorough=is_thorough)
    # with squares as the penalty and straight losses, the mixture is the best of all that would follow
    is_best = not traits.has_curvature and penalty.is_smooth and penalty.is_bounding
    known = mixed(problem, w, b, met)
    return problem.certify(w, b, target=np.inf if is_best else enough, known=known, is_thorough=is_thorough)


def _by_curvature(problem: Problem, w: Any, b: float, met: Met | None, tol: float) -> Gap | None:
    """Bound the distance with second derivatives; None where they are too flat.

    What Newton's method expects to gain says how far the optimum is, and so which proof is good enough. Near the optimum the
    slopes after the step of that method are, to first order, those of the optimum; far from it those that were met are tried.
    """
    traits = problem.loss.traits
    seen = Passes(problem).at(w, b, hessian=True)
    bowl = Bowl.of(problem, np.asarray(seen.hessian))
    if bowl is None:
        return None
    if traits.is_quadratic and problem.penalty.traits.is_smooth:  # what it says is the distance itself
        problem.kept["floor"] = bowl
        return problem.certify(w, b, target=np.inf, known=seen.known)
    g = np.append(seen.slope_w + problem.penalty.slope(w), seen.slope_b)
    step = bowl.step(g)
    gain = 0.5 * float(g[: len(step)] @ step)
    enough = max(LOOSE * gain, tol * problem.null_objective)
    is_near = met is None or gain <= NEAR * problem.null_objective
    if traits.pieces is None:
        floor = Floor.of(problem, slice(None), seen.t, problem.design, seen.hessian) if is_near else None
        problem.kept.update({} if floor is None else {"floor": floor})
        return problem.certify(w, b, _dual(met), target=enough, known=seen.known)
    if is_near:
        change = problem.design.product(step[: len(w)], problem.centre) + (step[-1] if problem.free_intercept else 0.0)
        slope = problem.loss.slope(seen.t) - problem.loss.curvature(seen.t) * change
        met = Met(slope.astype(np.float32))
    return problem.certify(w, b, target=enough, known=seen.known if met is None else mixed(problem, w, b, met))


def _dual(met: Met | None) -> Any:
    """Return a dual point that was noted as one number a row."""
    return None if met is None else met.times * met.numbers.astype(np.float64)
