"""Judging strengths of logistic regression on folds: each fold follows its strengths from weak losses to strong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import Logistic, choose, solve
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._classes import require_classes
from qed.linear_model._coded import CodedLoss, Planes, Stretches
from qed.linear_model._learn_convex import TrainingData
from qed.linear_model._logistic_regression import LITTLE, SIDES, SOLVERS, Strength, declare_logistic
from qed.linear_model._penalised_intercept import with_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex._loss import Vector
    from qed.core import FitData


MOST_FOLDS = 50  # whose patterns a whole number holds

Indices = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class Path:
    """What a fold is asked: strengths, and what each fit shall reach."""

    strengths: tuple[Strength, ...]
    intercept: bool
    tol: float
    max_iter: int
    verbose: int
    constant: float | None = None  # value of a column whose coefficient is the penalised intercept


def follow_path(owner: str, path: Path, data: FitData, train: Indices) -> tuple[Vector, Vector]:
    """Return coefficients (s, k, p) and intercepts (s, k) of one fold for each strength, each started from the last."""
    part = data._replace(
        X=data.X[train],
        y=data.y[train],
        weight=None if data.weight is None else data.weight[train],
        n_rows=len(train),
    )
    rows = TrainingData.of(part, centred=path.intercept)
    require_classes(owner, data.classes, rows.y)
    intercept = path.intercept
    if path.constant is not None:
        rows, intercept = with_constant(rows, path.constant), False
    found, start = [], None
    with one_blas_thread(), Progress(owner, path.max_iter * len(path.strengths), verbose=path.verbose) as progress:
        solver = None
        for strength in path.strengths:
            problem = rows.problem(declare_logistic(rows, strength, len(data.classes)), intercept=intercept)
            if solver is None or solver.unsupported_reason(problem) is not None:
                solver = choose(problem, SOLVERS, path.tol)
            solution = solve(problem, solver, tol=path.tol, max_iter=path.max_iter, progress=progress, start=start)
            if solution.outcome == "interrupted":
                raise KeyboardInterrupt
            start = (solution.w, solution.b)
            shift = 0.0 if problem.centre is None else problem.centre @ solution.w
            found.append((np.atleast_2d(solution.w.T), np.atleast_1d(np.asarray(solution.b - shift, dtype=np.float64))))
    w, b = np.stack([w for w, _ in found]), np.stack([b for _, b in found])
    return (w, b) if path.constant is None else (w[:, :, :-1], path.constant * w[:, :, -1])


def follow_together(path: Path, data: FitData, trains: list[Indices]) -> tuple[Vector, Vector] | None:
    """Return coefficients (f, s, 1, p) and intercepts (f, s, 1) of all folds of two classes; None where this way is not open.

    Folds are a code matrix: rows that the same folds leave out, and that have the same label, are a class of it.
    """
    strengths = path.strengths
    plain = len(data.classes) == 2 and data.weight is None and path.constant is None and not path.verbose
    plain = plain and all(one.l1_ratio == 0.0 and np.isfinite(one.C) for one in strengths) and len(trains) <= MOST_FOLDS
    if not plain or data.n_rows * data.X.shape[1] ** 2 > LITTLE:
        return None
    often = np.stack([np.bincount(train, minlength=data.n_rows) for train in trains], axis=1)
    if often.max(initial=0) > 1:
        return None
    pattern, number = np.unique(often @ (1 << np.arange(len(trains))), return_inverse=True)
    codes = 2 * number + np.asarray(data.y).astype(np.intp)
    inside = (pattern[:, np.newaxis] >> np.arange(len(trains))) & 1
    book = np.stack([-inside, inside], axis=1).reshape(2 * len(pattern), len(trains)).astype(np.int8)
    loss = CodedLoss(Logistic(SIDES), 1.0, is_free=path.intercept)
    stretches = Stretches.of(data.X, codes, len(book), loss)
    if stretches is None or not stretches.has_both_sides(book):
        return None
    found: list[Planes] = []
    for strength in strengths:
        begin = (found[-1].w, found[-1].b) if found else None
        planes = stretches.planes(book, strength.C, path.tol, path.max_iter, begin)
        if planes is None:
            return None
        found.append(planes)
    w, b = (np.stack([planes[at] for planes in found], axis=1) for at in (0, 1))
    return w[:, :, np.newaxis, :], b[:, :, np.newaxis]


def log_probabilities(X: Any, w: Vector, b: Vector) -> list[Vector]:
    """Return log-probabilities (n, classes) of the rows under each of some coefficients (s, k, p)."""
    s, k, p = w.shape
    every = design(X) @ np.ascontiguousarray(w.reshape(s * k, p).T) + b.reshape(-1)
    found = []
    for t in np.split(every, s, axis=1):
        t = np.concatenate([-0.5 * t, 0.5 * t], axis=1) if k == 1 else t  # noqa: PLW2901
        t = t - t.max(axis=1, keepdims=True)  # noqa: PLW2901
        found.append(np.asarray(t - np.log(np.exp(t).sum(axis=1, keepdims=True))))
    return found


def _accuracy(log_p: Vector, codes: Indices, s: Vector) -> float:
    return float(s @ (log_p.argmax(axis=1) == codes) / s.sum())


def _balanced_accuracy(log_p: Vector, codes: Indices, s: Vector) -> float:
    right = log_p.argmax(axis=1) == codes
    total = np.bincount(codes, s, minlength=log_p.shape[1])
    hit = np.bincount(codes, s * right, minlength=log_p.shape[1])
    return float(np.mean(hit[total > 0] / total[total > 0]))


def _neg_log_loss(log_p: Vector, codes: Indices, s: Vector) -> float:
    return float(s @ log_p[np.arange(len(codes)), codes] / s.sum())


SCORES: dict[str, Callable[[Vector, Indices, Vector], float]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "neg_log_loss": _neg_log_loss,
}
