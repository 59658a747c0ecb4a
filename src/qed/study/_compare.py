"""Candidates compared by cross-validation, on more and more rows, for as long as time allows.

Every stage takes more rows and fewer candidates than the one before. A candidate is judged by the mean loss of rows it has not
seen, squared error or log loss; the interval comes from how much that loss varies from row to row. One is given up only when its
loss is above the best by more than its standard error allows, and the best of each preparation never is: families learn at
different speeds. What remains of the time goes to further candidates, and to a weighted average of the best. After the first
candidate of the first stage there is a best one, and from then on a stop at any moment loses nothing.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import QedError
from qed.core._events import Progress
from qed.model_selection._candidate import LATER, Candidate
from qed.study._leaderboard import Comparison, Entry, cost_of_a_row, final_cost
from qed.study._losses import constant_losses
from qed.study._recipes import MOST_CATEGORIES, constant, pipeline, prepared_width
from qed.study._stage import Rows, Stage, fit_quietly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema, TargetSchema

Array = np.ndarray[Any, Any]

FIRST_ROWS = 5_000
GROWTH = 10
WARM_ROWS = 100
MEMORY = 700e6  # bytes that a prepared table may take


def most_categories(columns: Sequence[ColumnSchema], n_rows: int) -> int:
    """Return how many categories of a column get a place of their own, so that the prepared table fits in memory."""
    for most in (MOST_CATEGORIES, 15, 10, 6, 4):
        if 8 * n_rows * prepared_width(columns, most, form="linear") <= MEMORY:
            return most
    return 3


def row_limit(candidate: Candidate, columns: Sequence[ColumnSchema], most: int) -> int:
    """Return how many rows of a candidate's prepared table fit in memory."""
    forms = {part.preparation for part, _ in candidate.parts} or {candidate.preparation}
    return int(MEMORY / (8 * max(prepared_width(columns, most, form=form) for form in forms)))


def compare(
    data: Rows,
    order: Array,
    options: Sequence[Candidate],
    clock: Clock,
    *,
    reserve: float,
    seed: int,
    into: Comparison,
) -> None:
    """Compare candidates until the time, less what the winner's own fits will take, is over.

    Parameters
    ----------
    data : Rows
        Rows, columns, target.
    order : ndarray of int
        The rows that take part, in random order.
    options : sequence of Candidate
        What to try, most promising first.
    clock : Clock
        The time.
    reserve : float
        Seconds for what follows besides fits.
    seed : int
        For the folds.
    into : Comparison
        Filled as results come in.
    """
    n_all, room = len(order), max(0.0, clock.left)
    into.baselines[:] = _baselines(data.y[order], data.target)
    alive = [one for one in options if one.priority < LATER]
    later = [one for one in options if one.priority >= LATER]
    waiting: list[Candidate] = []
    n_rows = _stages(n_all)[0]
    _warm_up(
        data.of(order[:WARM_ROWS]), options, clock
    )  # times are guessed from fits, and must not contain what is loaded once
    while True:
        if into.entries and not _has_time(into, n_rows, n_all, clock, reserve, room):
            into.notes.append(
                f"Candidates were compared on {into.n_rows:,} of {n_all:,} rows: the time allows no more."
            )
            break
        if n_rows < n_all:
            _say(f"looking at {n_rows:,} of {n_all:,} rows" + ("" if into.entries else " first"))
        stage = Stage(data.of(order[:n_rows]), alive, clock, reserve, into, n_all, room, seed)
        into.n_rows = n_rows
        in_time = stage.judged()
        waiting += stage.waiting
        alive = stage.survivors()
        if not in_time or not alive:
            break
        limit = min(row_limit(one, data.columns, data.most) for one in alive)
        larger = [n for n in _stages(n_all) if n > n_rows]
        if not larger or n_rows >= limit:
            best = into.best.candidate
            kin = {one for one in options if best is not None and one.family == best.family}
            # what fell behind on few rows may lead on many: larger models of the best family learn later
            stage.judge_later([one for one in options if one in kin and one not in stage.said])
            stage.refine(best_only=True)
            families = {one.family for one in stage.alive}
            stage.judge_later([one for one in later if one.family in families] + waiting)
            stage.refine()
            break
        n_rows = min(larger[0], limit)
    stage.blend()
    stage.settle()


def _warm_up(data: Rows, options: Sequence[Candidate], clock: Clock) -> None:
    for candidate in {one.preparation: one for one in reversed(options)}.values():  # the first of each preparation
        with contextlib.suppress(QedError, FloatingPointError, np.linalg.LinAlgError):  # the comparison will say it
            fit_quietly(pipeline(candidate, data.columns, data.target, data.y, data.most), data.X, data.y, 1.0, clock)


def _stages(n: int) -> list[int]:
    stages = [n]
    while stages[0] > 2 * FIRST_ROWS:
        stages.insert(0, max(FIRST_ROWS, stages[0] // GROWTH))
    return stages


def _has_time(into: Comparison, n_rows: int, n_all: int, clock: Clock, reserve: float, room: float) -> bool:
    """Guess whether two folds of a stage end in time: a fit grows with its rows."""
    best = into.best
    return 2 * 2 * cost_of_a_row(best) * n_rows + final_cost(best, n_all, reserve, room) < clock.left


def _baselines(y: Array, target: TargetSchema) -> list[Entry]:
    losses = constant_losses(y, y, target)
    title = constant(target).title
    return [Entry(title, None, float(losses.mean()), float(losses.std() / math.sqrt(len(y))), len(y), 0, 0.0)]


def _say(words: str) -> None:
    with Progress("note", 1) as progress:
        progress.step(message=words)
