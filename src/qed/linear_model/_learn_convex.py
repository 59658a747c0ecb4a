"""From the input of ``fit`` to stored attributes, for models that are a loss and a penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import DualityGapCertificate, Fingerprint
from qed.convex import Problem, Solution, choose, solve
from qed.convex._solve import MAX_CHEAP_ENTRIES
from qed.core import InvalidData
from qed.core._errors import tell_unreached
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.core._validation import is_source
from qed.data import ArraySource
from qed.data._fold import expect_passes
from qed.data._sources import Positive
from qed.designs import Chunked, design
from qed.designs._range import fingerprint, fingerprint_of_columns, require_finite_objective, require_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.convex import Solver
    from qed.convex._loss import Loss, Vector
    from qed.convex._penalty import Penalty
    from qed.core import FitData


LEAST_SHARE = (
    1e-30  # of the largest weight: squares of what rounding leaves of a heavy row weigh more than a lighter one
)


class ObjectiveSpec(NamedTuple):
    """A model as a loss and a penalty, and what the mean objective is multiplied by to give the documented one.

    ``outcome`` names how a solution ended, for models that have a word of their own for it.
    """

    loss: Loss
    penalty: Penalty
    unit: float = 1.0
    outcome: Callable[[Solution, Problem], str] | None = None


@dataclass(frozen=True)
class TrainingData:
    """Rows of positive weight, looked at once.

    Attributes
    ----------
    X : ndarray, sparse or Chunked
        The columns; of a source, the design that reads it again for each product.
    y : ndarray
        Targets as float64, (n,) or (n, k); for a classifier the numbers of the classes.
    weight : float
        Sum of the weights.
    share : ndarray of shape (n,)
        Weights as shares of one.
    mean, length : ndarray of shape (p,)
        Weighted means of the columns, and root mean squares of what is left without them.
    seen : Fingerprint
        How to recognise the rows.
    """

    X: Any
    y: Vector
    weight: float
    share: Vector
    mean: Vector
    length: Vector
    seen: Fingerprint

    @classmethod
    def of(cls, data: FitData, *, centred: bool) -> TrainingData:
        """Look at the rows of a fit: drop those without weight, refuse what is not finite or out of range.

        Without an intercept (``centred`` is False) constant columns must be in range too.
        """
        if is_source(data.X):
            return cls._of_source(data, centred=centred)
        X, y, weight = data.X, data.y, data.weight
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            X, y, weight = X[used], y[used], weight[used]
        if (
            not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= MAX_CHEAP_ENTRIES
        ):  # zeros among them: as well an array
            X = X.toarray()
        y = np.ascontiguousarray(y, dtype=np.float64)
        table = y.reshape(len(y), -1)
        seen = fingerprint(X, table, weight)
        try:
            require_range(ArraySource(X, table, weight), seen, centred=centred)
        except InvalidData:
            data.raise_if_not_finite()  # says so with the name of the column
            raise
        return cls._seen(X, y, weight, seen)

    @classmethod
    def _of_source(cls, data: FitData, *, centred: bool) -> TrainingData:
        """Look at rows that come in chunks, in the first of several passes; they are not kept here."""
        y, weight = np.asarray(data.y, dtype=np.float64), data.weight
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            y, weight = y[used], weight[used]
        source = data.X if data.weight is None else Positive(data.X, data.weight)
        expect_passes(source)
        seen = fingerprint_of_columns(source, y.reshape(len(y), -1), weight)
        require_range(source, seen, centred=centred)
        return cls._seen(design(source), y, weight, seen)

    @classmethod
    def _seen(cls, X: Any, y: Vector, weight: Vector | None, seen: Fingerprint) -> TrainingData:
        n, p = X.shape
        share = np.full(n, 1.0 / n) if weight is None else weight / seen.weight
        if weight is not None and not weight.min() >= LEAST_SHARE * weight.max():
            raise InvalidData(
                f"Weights lie between {weight.min():.3g} and {weight.max():.3g}: beside the heaviest row the lightest is less than"
                f" rounding. Leave out rows of less than {LEAST_SHARE:g} of the largest weight."
            )
        return cls(X, y, seen.weight, share, seen.mean[:p], np.sqrt(seen.spread[:p] / seen.weight), seen)

    def weighed(self, factor: Vector) -> TrainingData:
        """Return the rows with each weight times a factor > 0; they are still recognised by the weights they came with."""
        weight = self.weight * self.share * factor
        about = self.mean if isinstance(self.X, Chunked) else None  # a source has no first row at hand
        seen = fingerprint(self.X, self.y.reshape(len(self.y), -1), weight, about=about)
        p = self.X.shape[1]
        length = np.sqrt(seen.spread[:p] / seen.weight)
        return replace(self, weight=seen.weight, share=weight / seen.weight, mean=seen.mean[:p], length=length)

    def problem(self, declared: ObjectiveSpec, *, intercept: bool) -> Problem:
        """Return the problem of a declaration; with an intercept the columns are centred on the way."""
        centre = self.mean if intercept else None
        length = self.length if intercept else np.hypot(self.length, self.mean)
        return Problem(design(self.X), declared.loss, declared.penalty, self.share, intercept, centre, length)


class FitOptions(NamedTuple):
    """What a model asks of its fit."""

    intercept: bool
    tol: float
    max_iter: int
    strict: bool = False
    verbose: int = 0


def learn_convex(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    declare: Callable[[TrainingData], ObjectiveSpec],
    solvers: Sequence[Solver],
    options: FitOptions,
) -> None:
    """Fit a model on arrays, frames, sparse containers or a source of chunks, and store what was learnt."""
    start = (model.__dict__.get("coef_"), model.__dict__.get("intercept_"))
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    rows = TrainingData.of(data, centred=options.intercept)
    learn_rows(model, rows, declare=declare, solvers=solvers, options=options, start=start if data.warm else None)


def learn_rows(
    model: Any,
    rows: TrainingData,
    *,
    declare: Callable[[TrainingData], ObjectiveSpec],
    solvers: Sequence[Solver],
    options: FitOptions,
    start: tuple[Any, Any] | None = None,
) -> None:
    """Fit a model on rows that have been looked at, and store what was learnt; ``start`` holds earlier coefficients."""
    declared = declare(rows)
    problem = rows.problem(declared, intercept=options.intercept)
    chosen = choose(problem, solvers, options.tol)
    with (
        one_blas_thread(rows.share.size * rows.mean.size),
        Progress(type(model).__name__, options.max_iter, verbose=options.verbose) as progress,
    ):
        begin = None if start is None else from_model(problem, start)
        solution = solve(problem, chosen, tol=options.tol, max_iter=options.max_iter, progress=progress, start=begin)
    if rows.X.dtype == np.float32:
        solution = in_single(problem, solution, options.tol)
    if declared.outcome is not None:
        solution = replace(solution, outcome=declared.outcome(solution, problem))
    # whoever verifies finds a dual point of a curved loss near its optimum; further away the proof is what was found here, and
    # so it is where signs of coefficients of several classes settle in the last digits, and where groups of them are rounded
    penalty = declared.penalty.traits
    is_plain = penalty.is_smooth or declared.loss.traits.n_scores == 1
    is_near = solution.outcome == "solved" and (penalty.is_separable or solution.dtype == np.float64)
    is_found = declared.loss.traits.has_curvature and is_plain and is_near
    dual = None if is_found or not solution.gap.u.size else solution.gap.u
    store(model, solution, problem, unit=declared.unit, rows=rows, options=options, dual=dual)


def in_single(problem: Problem, solution: Solution, tol: float) -> Solution:
    """Return the solution with coefficients rounded to float32, as the rows are, and proved again there.

    Where rounding would leave the tolerance unmet that was met, it keeps the digits that it has.
    """
    with np.errstate(over="ignore"):
        short = solution.w.astype(np.float32)
    if not np.isfinite(short).all():
        return solution
    w, target = short.astype(np.float64), tol * problem.null_objective
    u = solution.gap.u if solution.gap.u.size else None
    gap = problem.certify(w, solution.b, u, target=target)
    if gap.value > max(target, solution.gap.value):
        return solution
    return replace(solution, w=w, gap=gap, dtype=np.float32)


def from_model(problem: Problem, start: tuple[Any, Any]) -> tuple[Vector, Any] | None:
    """Return the coefficients of an earlier fit as a point of this problem, if their shape allows."""
    coef, intercept = start
    w, b = problem.null_point
    if coef is None or np.size(coef) != w.size:
        return None
    w = np.ascontiguousarray(np.asarray(coef, dtype=np.float64).T.reshape(w.shape))
    if not problem.free_intercept:
        return w, b
    shift = 0.0 if problem.centre is None else problem.centre @ w
    return w, np.reshape(np.asarray(intercept, dtype=np.float64), np.shape(b)) + shift


def store(
    model: Any,
    solution: Solution,
    problem: Problem,
    *,
    unit: float,
    rows: TrainingData,
    options: FitOptions,
    dual: Vector | None,
) -> None:
    """Keep coefficients and proof, in the units of the documented objective."""
    w, b, gap = solution.w, solution.b, solution.gap
    if not np.all(np.isfinite(w)):
        raise InvalidData(f"{type(model).__name__} found no finite coefficients; scale the columns.")
    require_finite_objective(type(model).__name__, unit * gap.objective, unit * problem.null_objective)
    if problem.centre is not None:
        b = b - problem.centre @ w
    model.coef_ = np.ascontiguousarray(w.T, dtype=solution.dtype)
    model.intercept_ = float(b) if np.ndim(b) == 0 else np.asarray(b)
    model.n_iter_ = solution.n_iter
    model.solver_used_ = solution.solver
    model.certificate_ = DualityGapCertificate(
        gap=unit * gap.value,
        rounding=unit * gap.rounding,
        objective=unit * gap.objective,
        null_objective=unit * problem.null_objective,
        tol=float(options.tol),
        radius=gap.radius,
        outcome=solution.outcome,
        fingerprint=rows.seen,
        dual=dual,
    )
    if solution.outcome == "interrupted":
        raise KeyboardInterrupt
    if not model.certificate_.reached and (options.strict or solution.outcome == "max_iter"):
        tell_unreached(
            f"{type(model).__name__} stopped at a relative gap of {model.certificate_.relative_gap:.2e}, above tol="
            f"{options.tol:.1e} ({solution.outcome}). The model so far is stored; raise max_iter or tol",
            strict=options.strict,
        )
