"""One hyperplane after the other over the same rows, and one certificate for all of them: objectives and gaps add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import Solution, choose, solve
from qed.convex.solvers import DualAscent
from qed.core import InvalidData
from qed.core._errors import tell_unreached
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs._range import require_finite_objective

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.certificates import Fingerprint
    from qed.convex import Problem, Solver
    from qed.convex._loss import Vector
    from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData


class BinaryProblem(NamedTuple):
    """One problem: what weights are multiplied by (None for one), and how it is declared for rows so weighted."""

    factor: Vector | None
    declare: Callable[[TrainingData], ObjectiveSpec]


class BinarySolution(NamedTuple):
    """A solution, and what its mean objective is multiplied by to give the documented one."""

    solution: Solution
    unit: float
    null_objective: float
    dual: Vector | None  # of the documented losses, where slopes do not tell it


def solve_binary_problems(
    model: Any, rows: TrainingData, planes: Sequence[BinaryProblem], solvers: Sequence[Solver], options: FitOptions
) -> list[BinarySolution]:
    """Solve every problem; once a listener or Ctrl-C has ended one, those that follow are left at their start."""
    found: list[BinarySolution] = []
    name = type(model).__name__
    with (
        one_blas_thread(rows.share.size * rows.mean.size),
        Progress(name, options.max_iter * len(planes), verbose=options.verbose) as progress,
    ):
        ended = ""
        for plane in planes:
            own = rows if plane.factor is None else rows.weighed(plane.factor)
            declared = plane.declare(own)
            problem = own.problem(declared, intercept=options.intercept)
            if ended:
                solution = _untouched(problem, ended)
            else:
                chosen = choose(problem, solvers, options.tol)
                solution = solve(problem, chosen, tol=options.tol, max_iter=options.max_iter, progress=progress)
                ended = solution.outcome if solution.outcome in ("stopped", "interrupted") else ""
            rests_on_slopes = declared.loss.traits.has_curvature and solution.solver != DualAscent.name
            dual = None if rests_on_slopes else _documented(declared, solution.gap.u)
            if dual is not None and plane.factor is not None and len(planes) > 1:
                dual = plane.factor * dual  # rows weigh the same in all planes; what differs belongs to the loss
            found.append(BinarySolution(solution, declared.unit, problem.null_objective, dual))
    return found


def _documented(declared: ObjectiveSpec, u: Vector) -> Vector:
    """Return dual variables of the documented losses, whose squares are not halved."""
    return 2.0 * u if declared.loss.traits.has_curvature else u


def _untouched(problem: Problem, outcome: str) -> Solution:
    w, b = problem.null_point
    return Solution(w, b, problem.certify(w, b), outcome, 0, "none")


def store_planes(model: Any, found: Sequence[BinarySolution], options: FitOptions, seen: Fingerprint) -> None:
    """Keep one certificate: no hyperplanes lower the sum of the objectives by more than the sum of the gaps."""
    solutions = [one.solution for one in found]
    outcomes = [solution.outcome for solution in solutions]
    outcome = next((one for one in outcomes if one != "solved"), "solved")
    model.n_iter_ = max(solution.n_iter for solution in solutions)
    model.solver_used_ = ", ".join(dict.fromkeys(s.solver for s in solutions if s.solver != "none")) or "none"
    if not all(np.all(np.isfinite(solution.w)) for solution in solutions):
        raise InvalidData(f"{type(model).__name__} found no finite coefficients; scale the columns.")
    worth = sum(one.unit * one.solution.gap.objective for one in found)
    require_finite_objective(type(model).__name__, worth, sum(one.unit * one.null_objective for one in found))
    duals = [one.dual for one in found if one.dual is not None]
    dual = None
    if len(duals) == len(found):
        dual = duals[0] if len(duals) == 1 else np.stack(duals, axis=1)
    model.certificate_ = DualityGapCertificate(
        gap=sum(one.unit * one.solution.gap.value for one in found),
        rounding=sum(one.unit * one.solution.gap.rounding for one in found),
        objective=worth,
        null_objective=sum(one.unit * one.null_objective for one in found),
        tol=float(options.tol),
        radius=np.inf,
        outcome=outcome,
        fingerprint=seen,
        dual=dual,
    )
    finish(model, options)


def finish(model: Any, options: FitOptions) -> None:
    """Pass an interruption on, and refuse what a strict model does not accept."""
    if model.certificate_.outcome == "interrupted":
        raise KeyboardInterrupt
    if not model.certificate_.reached and (options.strict or model.certificate_.outcome == "max_iter"):
        tell_unreached(
            f"{type(model).__name__} stopped at a relative gap of {model.certificate_.relative_gap:.2e}, above tol="
            f"{options.tol:.1e} ({model.certificate_.outcome}). The model so far is stored; raise max_iter or tol",
            strict=options.strict,
        )
