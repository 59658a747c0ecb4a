"""One driver loop for every solver, and the choice among them by predicted cost.

A solver is a generator of iterates. The driver asks for the next one, proves how far it is from the optimum when the solver
thinks that it is near, tells listeners, and stops: on the gap, on a callback, on Ctrl-C, or after so many iterates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qed.convex._gap import Gap, PointCache
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


MAX_CHEAP_ENTRIES = 15_000  # entries of a table on which further digits cost next to nothing beside the calls


class Iterate(NamedTuple):
    """Where a solver stands after a step.

    Attributes
    ----------
    w, b : ndarray, float or ndarray
        The point.
    u : ndarray, optional
        A dual point, from solvers that have one.
    hint : float, optional
        The solver's own idea of the distance from the optimum; the driver proves it only if it is within reach of the
        tolerance. None asks for a proof now.
    known : PointCache, optional
        Products at exactly this point.
    more_coming : bool
        Whether further iterates will need no dear proof; what the last of them proves is then looked for all the same.
    steps : int
        Steps that led here from the iterate before; of compiled loops no more than `steps_allowed`.
    by : str, optional
        Name of the solver that the one asked handed over to.
    """

    w: Vector
    b: Any
    u: Vector | None = None
    hint: float | None = None
    known: PointCache | None = None
    more_coming: bool = False
    steps: int = 1
    by: str | None = None


class Solver(Protocol):
    """A way to the optimum: what it needs, what it costs, and its iterates."""

    @property
    def name(self) -> str:
        """As recorded in ``solver_used_``."""
        ...

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Say in words why the solver cannot take this problem; None if it can."""
        ...

    def cost(self, problem: Problem, tol: float) -> float:
        """Predict the seconds to the tolerance."""
        ...

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield iterates, each no worse than useful; end when no further progress is possible.

        ``target`` is the gap asked for, in units of the objective: solvers use it to set inner tolerances.
        """
        ...


@dataclass(frozen=True)
class Solution:
    """The answer, with its proof and how it was found.

    Attributes
    ----------
    w, b : ndarray, float or ndarray
        Coefficients, and the intercept of the centred columns.
    gap : Gap
        What is proved.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"``, ``"interrupted"`` or ``"stalled"`` (rounding allows no further progress).
    n_iter : int
        Iterates taken.
    solver : str
        Name of the solver; of two where the first handed over to another.
    trace : list of (int, float, float)
        Iterate number, objective and gap, each time a proof was made.
    dtype : type
        What the coefficients are numbers of: float32 for rows in float32, once they have been rounded.
    """

    w: Vector
    b: Any
    gap: Gap
    outcome: str
    n_iter: int
    solver: str
    trace: tuple[tuple[int, float, float], ...] = ()
    dtype: Any = np.float64


def solve(
    problem: Problem,
    solver: Solver,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
    start: tuple[Vector, Any] | None = None,
) -> Solution:
    """Follow a solver until its gap is within ``tol`` of the null model's objective."""
    target = tol * problem.null_objective
    at = Iterate(*(problem.null_point if start is None else start))
    iterates = solver.run(problem, (at.w, at.b), target)
    best: tuple[Iterate, Gap] | None = None
    trace: list[tuple[int, float, float]] = []
    outcome, taken = "stalled", 0
    try:
        problem.kept["steps"] = 1 if progress.has_listeners else max_iter
        for at in iterates:
            taken += at.steps
            last = taken >= max_iter
            if last or at.hint is None or at.hint <= target:
                dear = {"is_thorough": False} if at.more_coming and not last else {}
                gap = problem.certify(at.w, at.b, at.u, target=target, known=at.known, **dear)
                trace.append((taken, gap.objective, gap.value))
                best = (at, gap) if best is None or gap.value <= best[1].value else best
                if best[1].value - best[1].rounding <= target:
                    outcome = "solved"
                    break
            reached = at.hint if at.hint is not None else best[1].value if best else None
            heard = progress.step(reached) if at.steps == 1 else progress.step(reached, count=at.steps)
            if heard is STOP:
                outcome = "stopped"
                break
            if last:
                outcome = "max_iter"
                break
            problem.kept["steps"] = 1 if progress.has_listeners else max_iter - taken
    except KeyboardInterrupt:
        outcome = "interrupted"
    except np.linalg.LinAlgError as error:
        raise InvalidData(
            f"{solver.name} met equations that float64 cannot solve ({error}): columns, targets or weights are too far apart."
            " Bring the size of each near one by a power of ten first."
        ) from error
    if best is None or outcome in ("stopped", "interrupted") or (outcome == "stalled" and at.more_coming):
        # Who pressed Ctrl-C waits: dual points that cost as much as steps of the solver are left out then.
        gap = problem.certify(at.w, at.b, at.u, target=target, is_thorough=outcome != "interrupted")
        best = (at, gap) if best is None or gap.value <= best[1].value else best
    point, gap = best
    if outcome == "stalled" and gap.value - gap.rounding <= target:  # its last steps were never looked at
        outcome = "solved"
    name = solver.name if at.by is None else f"{solver.name}, {at.by}"
    return Solution(point.w, point.b, gap, outcome, max(taken, 1), name, tuple(trace))


def delegate(other: Solver, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
    """Yield the iterates of another solver that goes on from here, under its name."""
    for at in other.run(problem, start, target):
        yield at._replace(by=other.name)


def steps_allowed(problem: Problem) -> int:
    """Return how many steps a compiled loop may make before its next iterate: one if anyone listens to them."""
    allowed: int = problem.kept.get("steps", 1)
    return allowed


def choose(problem: Problem, solvers: Sequence[Solver], tol: float) -> Solver:
    """Return the solver with the least predicted cost among those that can take the problem."""
    able = [solver for solver in solvers if solver.unsupported_reason(problem) is None]
    if not able:
        reasons = "; ".join(f"{solver.name}: {solver.unsupported_reason(problem)}" for solver in solvers)
        raise InvalidParameter(f"No solver can take this problem. {reasons}.")
    if len(able) == 1:
        return able[0]
    return able[int(np.argmin([solver.cost(problem, tol) for solver in able]))]
