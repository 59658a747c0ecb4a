"""Courses over the rows: some at a time with a rule of steps, or all of them with quasi-Newton steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qed.core import InvalidData
from qed.core._events import STOP, Progress
from qed.neural_network._gradients import Gradients, Rows
from qed.neural_network._quasi_newton import minimise

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from qed.core import Array
    from qed.neural_network._layout import Layout, Parameters
    from qed.neural_network._steps import Steps


@dataclass(frozen=True)
class Task:
    """What is minimised: ``Σ s ℓ / Σ s + decay ‖W‖² / 2`` of a network on rows."""

    owner: str
    layout: Layout
    activation: str
    end: str
    rows: Rows
    decay: float


@dataclass(frozen=True)
class Course:
    """How long to learn.

    Attributes
    ----------
    passes : int
        Most passes over the rows; of quasi-Newton steps, most of them.
    batch : int
        Rows of a step.
    shuffle : bool
        Whether every pass has an order of its own.
    tol : float
        A pass counts as progress when its loss falls by more than this, or its score rises by as much.
    patience : float
        Passes without progress that are put up with.
    rng : Generator
        Draws the orders.
    score : callable or None
        Judges the parameters on rows that were held out.
    most_calls : int
        Most evaluations of all rows.
    verbose : int
        How much progress to show.
    """

    passes: int
    batch: int
    shuffle: bool
    tol: float
    patience: float
    rng: np.random.Generator
    score: Callable[[Parameters], float] | None = None
    most_calls: int = 0
    verbose: int = 0


@dataclass
class Trail:
    """What a course leaves; one that goes on from another is given its trail."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    idle: int = 0
    shown: int = 0
    best_loss: float = math.inf
    best_score: float = -math.inf
    best: Array | None = None
    passes: int = 0
    outcome: str = "max_iter"

    def note(self, loss: float, score: float | None, tol: float, theta: Any) -> None:
        """Judge a pass, by its score if there is one."""
        self.losses.append(loss)
        if score is None:
            self.idle = self.idle + 1 if loss > self.best_loss - tol else 0
            self.best_loss = min(self.best_loss, loss)
            return
        self.scores.append(score)
        self.idle = self.idle + 1 if score < self.best_score + tol else 0
        if score > self.best_score:
            self.best_score, self.best = score, theta.numpy().copy()


def descend(torch: Any, task: Task, theta: Parameters, steps: Steps, course: Course, trail: Trail) -> None:
    """Pass over the rows until progress ends, moving the parameters in place; Ctrl-C is an outcome, too."""
    rows, n = task.rows, task.rows.n
    gradient = task.layout.parts(torch.empty_like(theta.flat))
    weights, slopes = (flat[: task.layout.n_weights] for flat in (theta.flat, gradient.flat))
    whole = rows.mean_weight
    trail.passes, trail.outcome = 0, "max_iter"
    with (
        Gradients(torch, task.layout, task.activation, task.end, rows, most=course.batch, dtype=theta.flat.dtype) as at,
        Progress(task.owner, course.passes, verbose=course.verbose) as progress,
    ):
        try:
            while trail.passes < course.passes:
                # the order of rows that come all at once does not matter
                order = course.rng.permutation(n) if course.shuffle and course.batch < n else None
                total = 0.0
                for first in range(0, n, course.batch):
                    last = min(first + course.batch, n)
                    scale = 1 / ((last - first) * whole)
                    index = (first, last) if order is None else order[first:last]
                    loss, _ = at.at(theta, index, scale, gradient)
                    total += loss
                    if task.decay:
                        total += 0.5 * task.decay * float(torch.dot(weights, weights)) * (last - first) * whole
                        slopes.add_(weights, alpha=task.decay)
                    steps.step(theta.flat, gradient.flat)
                trail.passes += 1
                trail.shown += n
                total /= n * whole
                if not math.isfinite(total):
                    refuse_overflow(task.owner)
                score = None if course.score is None else course.score(theta)
                trail.note(total, score, course.tol, theta.flat)
                steps.pass_ends(trail.shown)
                if progress.step(total) is STOP:
                    trail.outcome = "stopped"
                    break
                if trail.idle > course.patience:
                    if not steps.slower():
                        trail.outcome = "stalled"
                        break
                    trail.idle = 0
        except KeyboardInterrupt:
            trail.outcome = "interrupted"


class _Enough(Exception):  # noqa: N818  a request, not an error
    """Asks the quasi-Newton method to end."""


def descend_by_all(torch: Any, task: Task, theta: Parameters, course: Course, trail: Trail) -> None:
    """Take quasi-Newton steps on the whole objective, moving the parameters in place; the lowest point that was seen is kept."""
    rows, flat, n_weights = task.rows, theta.flat, task.layout.n_weights
    weights, total = flat[:n_weights], rows.n * rows.mean_weight
    best, lowest = flat.clone(), math.inf
    trail.passes, trail.outcome = 0, "stalled"
    with (
        Gradients(torch, task.layout, task.activation, task.end, rows, most=rows.n, dtype=flat.dtype) as at,
        Progress(task.owner, course.passes, verbose=course.verbose) as progress,
    ):
        parts: dict[int, Parameters] = {}

        def value(gradient: Any) -> float:
            nonlocal lowest
            place = gradient.data_ptr()  # one of two vectors that take turns
            if place not in parts:
                parts[place] = task.layout.parts(gradient)
            loss, _ = at.at(theta, (0, rows.n), 1 / total, parts[place])
            loss = loss / total + 0.5 * task.decay * float(torch.dot(weights, weights))
            gradient[:n_weights].add_(weights, alpha=task.decay)
            if loss < lowest:
                lowest = loss
                best.copy_(flat)
                trail.losses.append(loss)
                if progress.step(loss) is STOP:
                    raise _Enough
            elif not math.isfinite(lowest):
                refuse_overflow(task.owner)
            return loss

        try:
            trail.passes, trail.outcome = minimise(
                torch, flat, value, tol=course.tol, most_steps=course.passes, most_calls=course.most_calls
            )
        except (_Enough, KeyboardInterrupt) as end:
            trail.passes = progress.steps
            trail.outcome = "stopped" if isinstance(end, _Enough) else "interrupted"
            flat.copy_(best)  # the search along a line may have been anywhere
    trail.best_loss = lowest


def refuse_overflow(owner: str) -> None:
    """Refuse rows on which the arithmetic of a network leaves the numbers."""
    raise InvalidData(
        f"Solver produced non-finite parameter weights. The input data may contain large values and need to be preprocessed:"
        f" {owner} learns from columns of like size, as StandardScaler makes them."
    )
