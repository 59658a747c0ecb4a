"""Candidates compared by cross-validation, on more and more rows, for as long as time allows.

Every stage takes more rows and fewer candidates than the one before. A candidate is judged by the mean loss of rows it has not
seen, squared error or log loss; the interval comes from how much that loss varies from row to row. After the first candidate of
the first stage there is a best one, and from then on a stop at any moment loses nothing.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, QedError
from qed.core._events import STOP, Progress, listen
from qed.study._recipes import MOST_CATEGORIES, Candidate, pipeline, prepared_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.core._events import Event
    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema, TargetSchema

__all__ = ["Comparison", "Entry", "compare", "fit_quietly", "most_categories", "row_losses"]

Array = np.ndarray[Any, Any]

FIRST_ROWS = 5_000
GROWTH = 10
FOLDS = 5
MEMORY = 700e6  # bytes that a prepared table may take
FLOOR = 1e-15


@dataclass(frozen=True)
class Entry:
    """How one candidate did.

    Attributes
    ----------
    title : str
        Its name.
    candidate : Candidate or None
        None for a constant.
    loss, error : float
        Mean loss on unseen rows, and its standard error.
    n_rows, n_folds : int
        Rows that took part, and folds that were finished.
    seconds : float
        How long the fastest fold took.
    """

    title: str
    candidate: Candidate | None
    loss: float
    error: float
    n_rows: int
    n_folds: int
    seconds: float


@dataclass
class Comparison:
    """What the comparison has found so far; it is filled in place, so that a stop finds all of it."""

    entries: list[Entry]
    baselines: list[Entry]
    notes: list[str]
    n_rows: int = 0
    is_interrupted: bool = False

    @property
    def latest(self) -> list[Entry]:
        """For every candidate its last entry, best first among those that took part in the largest stage."""
        last = {entry.title: entry for entry in self.entries}
        return sorted(last.values(), key=lambda entry: (-entry.n_rows, entry.loss))

    @property
    def best(self) -> Entry:
        """The candidate with the least loss among those on the most rows."""
        found = self.latest
        if not found:
            raise InvalidData("No candidate could be fitted: see the notes.")
        return found[0]


def most_categories(columns: Sequence[ColumnSchema], n_rows: int) -> int:
    """Return how many categories of a column get a place of their own, so that the prepared table fits in memory."""
    for most in (MOST_CATEGORIES, 15, 10, 6, 4):
        if 8 * n_rows * prepared_width(columns, most, curved=False) <= MEMORY:
            return most
    return 3


def compare(
    X: Array,
    y: Array,
    order: Array,
    columns: Sequence[ColumnSchema],
    target: TargetSchema,
    options: Sequence[Candidate],
    clock: Clock,
    *,
    reserve: float,
    seed: int,
    into: Comparison,
) -> None:
    """Compare candidates until the time, less the reserve for what follows, is over.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        Rows.
    order : ndarray of int
        Those that take part, in random order.
    columns, target : schemas
        What they are.
    options : sequence of Candidate
        What to try, most promising first.
    clock : Clock
        The time.
    reserve : float
        Seconds for each million numbers of a final fit, guessed before anything is measured.
    seed : int
        For the folds.
    into : Comparison
        Filled as results come in.
    """
    n_all = len(order)
    stages = _stages(n_all)
    into.baselines[:] = _baselines(y[order], target)
    alive = list(options)
    for number, n_rows in enumerate(stages):
        is_last = number == len(stages) - 1
        if number and not _has_time(into, alive, n_rows, n_all, clock, reserve):
            into.notes.append(
                f"Candidates were compared on {into.n_rows:,} of {n_all:,} rows: the time allows no more."
            )
            return
        rows = order[:n_rows]
        if len(stages) > 1 and not is_last:
            _say(f"looking at {n_rows:,} of {n_all:,} rows first")
        done = _stage(X[rows], y[rows], columns, target, alive, clock, reserve, seed, into, n_all)
        into.n_rows = n_rows
        if not done:
            return
        ranked = sorted((e for e in into.entries if e.n_rows == n_rows and e.candidate), key=lambda e: e.loss)
        keep = max(2, len(alive) // 3)
        alive = [entry.candidate for entry in ranked[:keep] if entry.candidate is not None]


def _stages(n: int) -> list[int]:
    stages = [n]
    while stages[0] > 2 * FIRST_ROWS:
        stages.insert(0, max(FIRST_ROWS, stages[0] // GROWTH))
    return stages


def _has_time(
    into: Comparison, alive: Sequence[Candidate], n_rows: int, n_all: int, clock: Clock, reserve: float
) -> bool:
    """Guess whether a stage ends in time: a fit grows with its rows."""
    latest = {entry.title: entry for entry in into.entries}
    costs = [latest[one.title] for one in alive if one.title in latest]
    if not costs:
        return False
    first = costs[0]
    stage = first.seconds * n_rows / first.n_rows * FOLDS  # at least its best candidate, on all folds
    return stage + _final_cost(costs, n_all, reserve) < clock.left


def _final_cost(entries: Sequence[Entry], n_all: int, reserve: float) -> float:
    slowest = max((entry.seconds / entry.n_rows for entry in entries[:2]), default=0.0)
    return 1.6 * slowest * n_all + reserve


def _stage(
    X: Array,
    y: Array,
    columns: Sequence[ColumnSchema],
    target: TargetSchema,
    alive: Sequence[Candidate],
    clock: Clock,
    reserve: float,
    seed: int,
    into: Comparison,
    n_all: int,
) -> bool:
    """Judge every candidate on the same folds; False when time ran out."""
    n = len(y)
    folds = _folds(y, target, seed)
    most = most_categories(columns, n_all)
    with Progress("comparing", len(alive)) as progress:
        for candidate in alive:
            if 8 * n * prepared_width(columns, most, curved=candidate.curved) > 2 * MEMORY:
                into.notes.append(f"{candidate.title} was not tried on {n:,} rows: it would need too much memory.")
                continue
            losses = np.full(n, np.nan)
            seconds, done = math.inf, 0
            for test in folds:
                if into.entries and clock.left < _final_cost(into.latest, n_all, reserve):
                    break
                train = np.ones(n, bool)
                train[test] = False
                begin = time.perf_counter()
                fitted = _tried(candidate, X, y, train, columns, most, clock, reserve, into)
                if fitted is None:
                    break
                losses[test] = row_losses(fitted, X[test], y[test], target)
                seconds, done = min(seconds, time.perf_counter() - begin), done + 1
            seen = losses[~np.isnan(losses)]
            if done and np.isfinite(seen).all():
                error = float(seen.std() / math.sqrt(len(seen)))
                into.entries.append(Entry(candidate.title, candidate, float(seen.mean()), error, n, done, seconds))
                progress.step(into.best.loss, f"{candidate.title}: {_shown(seen.mean(), target)}")
            if into.entries and clock.left < _final_cost(into.latest, n_all, reserve):
                into.notes.append(f"Time was over after {len({e.title for e in into.entries})} candidates.")
                return False
    return True


def _shown(loss: float, target: TargetSchema) -> str:
    return f"error {math.sqrt(loss):.4g}" if target.task == "regression" else f"log loss {loss:.4g}"


def _say(words: str) -> None:
    with Progress("note", 1) as progress:
        progress.step(message=words)


def _tried(
    candidate: Candidate,
    X: Array,
    y: Array,
    train: Array,
    columns: Sequence[ColumnSchema],
    most: int,
    clock: Clock,
    reserve: float,
    into: Comparison,
) -> Any:
    spread = float(y[train].std())
    model = pipeline(candidate, columns, int(train.sum()), spread, most)
    try:
        return fit_quietly(model, X[train], y[train], clock.left - reserve if into.entries else clock.left)
    except (QedError, FloatingPointError, np.linalg.LinAlgError, MemoryError) as error:
        into.notes.append(f"{candidate.title} could not be fitted: {str(error).splitlines()[0][:160]}")
        return None


def fit_quietly(model: Any, X: Array, y: Array, seconds: float) -> Any:
    """Fit within so many seconds: a solver that is still at work then stops, and its certificate says how far it came."""
    end = time.perf_counter() + max(0.5, seconds)

    def stop(event: Event) -> object:
        return STOP if event.kind == "step" and time.perf_counter() > end else None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with listen(stop):
            return model.fit(X, y)


def _folds(y: Array, target: TargetSchema, seed: int) -> list[Array]:
    """Split the rows; every class is spread evenly over the folds."""
    n = len(y)
    order = np.random.default_rng(seed).permutation(n)
    if target.task != "regression":
        order = order[np.argsort(y[order], kind="stable")]
    k = min(FOLDS, n)
    return [np.sort(order[at::k]) for at in range(k)]


def _baselines(y: Array, target: TargetSchema) -> list[Entry]:
    if target.task == "regression":
        losses = (y - y.mean()) ** 2
        title = "always the mean"
    else:
        share = np.bincount(y.astype(np.int64), minlength=len(target.labels)) / len(y)
        losses = -np.log(np.maximum(share[y.astype(np.int64)], FLOOR))
        title = "always the usual shares"
    return [Entry(title, None, float(losses.mean()), float(losses.std() / math.sqrt(len(y))), len(y), 0, 0.0)]


def row_losses(model: Any, X: Array, y: Array, target: TargetSchema) -> Array:
    """Return the loss of every row: squared error, or minus the logarithm of the probability of what happened."""
    if target.task == "regression":
        return np.asarray((np.asarray(model.predict(X), np.float64) - y) ** 2)
    shares = probabilities(model, X, target)
    return np.asarray(-np.log(np.maximum(shares[np.arange(len(y)), y.astype(np.int64)], FLOOR)))


def probabilities(model: Any, X: Array, target: TargetSchema) -> Array:
    """Return the probabilities of all classes, also of those that a fold has not seen."""
    found = np.asarray(model.predict_proba(X), np.float64)
    out = np.zeros((len(X), len(target.labels)))
    out[:, np.asarray(model.classes_, np.int64)] = found
    return out
