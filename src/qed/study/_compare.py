"""Candidates compared by cross-validation, on more and more rows, for as long as time allows.

Every stage takes more rows and fewer candidates than the one before. A candidate is judged by the mean loss of rows it has not
seen, squared error or log loss; the interval comes from how much that loss varies from row to row. After the first candidate of
the first stage there is a best one, and from then on a stop at any moment loses nothing.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, QedError
from qed.core._events import STOP, Progress, listen
from qed.model_selection import KFold, StratifiedKFold
from qed.study._recipes import MOST_CATEGORIES, constant, pipeline, preparation, prepared_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.core._events import Event
    from qed.model_selection._candidate import Candidate
    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema, TargetSchema

Array = np.ndarray[Any, Any]

FIRST_ROWS = 5_000
GROWTH = 10
FOLDS = 5
WARM_ROWS = 300
FIXED = 0.02  # seconds of a fit that do not grow with its rows
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
    gain, gain_error : float
        How much less it loses than a constant on the same rows, and the standard error of that, row by row.
    """

    title: str
    candidate: Candidate | None
    loss: float
    error: float
    n_rows: int
    n_folds: int
    seconds: float
    gain: float = math.nan
    gain_error: float = math.nan

    @property
    def is_no_better_than_a_constant(self) -> bool:
        """Whether its gain over a constant is less than what chance gives and takes."""
        return self.gain <= self.gain_error


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
        return sorted(last.values(), key=lambda entry: (-entry.n_rows, -entry.n_folds, entry.loss))

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
        if 8 * n_rows * prepared_width(columns, most, form="linear") <= MEMORY:
            return most
    return 3


def row_limit(candidate: Candidate, columns: Sequence[ColumnSchema], most: int) -> int:
    """Return how many rows of a candidate's prepared table fit in memory."""
    return int(MEMORY / (8 * prepared_width(columns, most, form=candidate.preparation)))


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
    twins: Array | None = None,
) -> None:
    """Compare candidates until the time, less what the winner's own fits will take, is over.

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
        Seconds for what follows besides fits.
    seed : int
        For the folds.
    into : Comparison
        Filled as results come in.
    twins : ndarray of int of shape (n,), optional
        The same number for copies of one row, which then stay in one fold.
    """
    n_all, room = len(order), max(0.0, clock.left)
    into.baselines[:] = _baselines(y[order], target)
    most = most_categories(columns, n_all)
    alive = list(options)
    n_rows = _stages(n_all)[0]
    if n_rows < n_all:  # times are guessed from the first fits: they must not contain what is loaded once
        _warm_up(X[order[:WARM_ROWS]], y[order[:WARM_ROWS]], columns, options, most)
    while True:
        if into.entries and not _has_time(into, n_rows, n_all, clock, reserve, room):
            into.notes.append(
                f"Candidates were compared on {into.n_rows:,} of {n_all:,} rows: the time allows no more."
            )
            return
        if n_rows < n_all:
            _say(f"looking at {n_rows:,} of {n_all:,} rows" + ("" if into.entries else " first"))
        rows = order[:n_rows]
        stage = _Stage(X[rows], y[rows], columns, target, alive, most, clock, reserve, into, n_all, room)
        into.n_rows = n_rows
        if not stage.judged(_folds(y[rows], target, seed, None if twins is None else twins[rows])):
            return
        ranked = [entry.candidate for entry in into.latest if entry.n_rows == n_rows]
        alive = [one for one in ranked[: max(2, len(alive) // 3)] if one is not None]
        if not alive:
            return
        limit = min(row_limit(one, columns, most) for one in alive)
        larger = [n for n in _stages(n_all) if n > n_rows]
        if not larger or n_rows >= limit:
            return
        n_rows = min(larger[0], limit)


def _warm_up(X: Array, y: Array, columns: Sequence[ColumnSchema], options: Sequence[Candidate], most: int) -> None:
    for candidate in {one.preparation: one for one in reversed(options)}.values():  # the first of each preparation
        with contextlib.suppress(QedError, FloatingPointError, np.linalg.LinAlgError):  # the comparison will say it
            fit_quietly(pipeline(candidate, columns, len(y), float(y.std()), most), X, y, 1.0)


def _stages(n: int) -> list[int]:
    stages = [n]
    while stages[0] > 2 * FIRST_ROWS:
        stages.insert(0, max(FIRST_ROWS, stages[0] // GROWTH))
    return stages


def _has_time(into: Comparison, n_rows: int, n_all: int, clock: Clock, reserve: float, room: float) -> bool:
    """Guess whether two folds of a stage end in time: a fit grows with its rows."""
    best = into.best
    return 2 * 2 * cost_of_a_row(best) * n_rows + final_cost(best, n_all, reserve, room) < clock.left


def cost_of_a_row(entry: Entry) -> float:
    """Guess the seconds that each further row adds to a fit."""
    return max(entry.seconds - FIXED, 0.2 * entry.seconds) / entry.n_rows


def final_cost(best: Entry, n_all: int, reserve: float, room: float) -> float:
    """Guess the seconds from the end of the comparison to the end of all: two fits of the winner, and the rest.

    It is at most half of the time that there was for all this: the right model on fewer rows is better than a poor one on all.
    """
    return min(2.4 * cost_of_a_row(best) * n_all, 0.5 * room) + reserve


class _Stage:
    """All candidates that are still alive, on the same rows and folds; columns are prepared once for all of them."""

    def __init__(
        self,
        X: Array,
        y: Array,
        columns: Sequence[ColumnSchema],
        target: TargetSchema,
        alive: Sequence[Candidate],
        most: int,
        clock: Clock,
        reserve: float,
        into: Comparison,
        n_all: int,
        room: float,
    ) -> None:
        self.X, self.y, self.columns, self.target, self.most = X, y, columns, target, most
        self.clock, self.reserve, self.into, self.n_all, self.room = clock, reserve, into, n_all, room
        self.losses: dict[Candidate, list[Array]] = {one: [] for one in alive}
        self.constants: list[Array] = []  # the losses of a constant, fold by fold
        self.seconds: dict[Candidate, float] = dict.fromkeys(alive, math.inf)

    def judged(self, folds: Sequence[Array]) -> bool:
        """Go through the folds; False when time ran out."""
        with Progress("comparing", len(folds) * len(self.losses)) as progress:
            try:
                for test in folds:
                    train = np.ones(len(self.y), bool)
                    train[test] = False
                    self.constants.append(constant_losses(self.y[train], self.y[test], self.target))
                    for group in self._groups():
                        if not self._fold(group, train, test, progress):
                            self.into.notes.append(
                                f"The time was over before every candidate had met every fold of {len(self.y):,} of"
                                f" {self.n_all:,} rows."
                            )
                            return False
            finally:  # also when Ctrl-C comes
                self._even_out()
        return True

    def _groups(self) -> list[list[Candidate]]:
        """Return the candidates by what their columns become, done once for all of them; the leader's group comes first."""
        groups: dict[str, list[Candidate]] = {}
        for one in self.losses:
            groups.setdefault(one.preparation, []).append(one)
        return list(groups.values())

    def _even_out(self) -> None:
        """Judge all that have met a fold by the folds that all of these have met: the others had other rows."""
        met = [len(losses) for losses in self.losses.values() if losses]
        for candidate, losses in self.losses.items():
            if losses and len(losses) > min(met):
                del losses[min(met) :]
                self._enter(candidate, None)

    def _fold(self, group: Sequence[Candidate], train: Array, test: Array, progress: Progress) -> bool:
        begin = time.perf_counter()
        prepare = preparation(self.columns, form=group[0].preparation, most=self.most)
        inside, y = quietly(lambda: prepare.fit_transform(self.X[train])), self.y[train]
        outside = prepare.transform(self.X[test])
        prepared = time.perf_counter() - begin
        for candidate in group:
            if self._is_late():
                return False
            begin = time.perf_counter()
            left = self.clock.left - self.reserve if self.into.entries else self.clock.left
            try:
                model = fit_quietly(candidate.make(len(y), float(y.std()) or 1.0), inside, y, left)
                losses = row_losses(model, outside, self.y[test], self.target)
            except (QedError, FloatingPointError, np.linalg.LinAlgError, MemoryError) as error:
                self._failed(candidate, str(error))
                continue
            if not np.isfinite(losses).all():
                self._failed(candidate, "its predictions are not finite")
                continue
            self.losses[candidate].append(losses)
            self.seconds[candidate] = min(self.seconds[candidate], prepared + time.perf_counter() - begin)
            self._enter(candidate, progress)
        return True

    def _is_late(self) -> bool:
        return bool(self.into.entries) and self.clock.left < final_cost(
            self.into.best, self.n_all, self.reserve, self.room
        )

    def _failed(self, candidate: Candidate, problem: str) -> None:
        self.into.notes.append(f"{candidate.title} could not be fitted: {(problem.splitlines() or [''])[0][:160]}")
        del self.losses[candidate]
        self.into.entries[:] = [entry for entry in self.into.entries if entry.candidate != candidate]

    def _enter(self, candidate: Candidate, progress: Progress | None) -> None:
        seen = np.concatenate(self.losses[candidate])
        error = float(seen.std() / math.sqrt(len(seen)))
        n, folds = len(self.y), len(self.losses[candidate])
        gains = np.concatenate(self.constants[:folds]) - seen
        gain, gain_error = float(gains.mean()), float(gains.std() / math.sqrt(len(gains)))
        seconds = self.seconds[candidate]
        entry = Entry(candidate.title, candidate, float(seen.mean()), error, n, folds, seconds, gain, gain_error)
        self.into.entries[:] = [one for one in self.into.entries if (one.candidate, one.n_rows) != (candidate, n)]
        self.into.entries.append(entry)
        if progress is None:
            return
        is_whole = folds == min(FOLDS, n)
        progress.step(entry.loss, f"{candidate.title}: {_shown(entry.loss, self.target)}" if is_whole else "")


def _shown(loss: float, target: TargetSchema) -> str:
    return f"error {math.sqrt(loss):.4g}" if target.task == "regression" else f"log loss {loss:.4g}"


def _say(words: str) -> None:
    with Progress("note", 1) as progress:
        progress.step(message=words)


def fit_quietly(model: Any, X: Array, y: Array, seconds: float) -> Any:
    """Fit within so many seconds: a solver that is still at work then stops, and its certificate says how far it came."""
    end = time.perf_counter() + max(0.5, seconds)

    def stop(event: Event) -> object:
        return STOP if event.kind == "step" and time.perf_counter() > end else None

    with listen(stop):
        return quietly(lambda: model.fit(X, y))


def quietly(work: Callable[[], Any]) -> Any:
    """Do something without its warnings: what they say is said by certificates and notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def _folds(y: Array, target: TargetSchema, seed: int, twins: Array | None) -> list[Array]:
    """Split the rows; every class is spread evenly over the folds, and copies of one row, target and all, are in the same."""
    _, first, inside = np.unique(np.arange(len(y)) if twins is None else twins, return_index=True, return_inverse=True)
    k, labels = min(FOLDS, len(first)), y[first]
    is_stratified = target.task != "regression" and np.bincount(labels.astype(np.int64)).max() >= k
    splitter = (StratifiedKFold if is_stratified else KFold)(k, shuffle=True, random_state=seed)
    fold = np.empty(len(first), np.int64)
    for number, (_, test) in enumerate(quietly(lambda: list(splitter.split(labels, labels)))):
        fold[test] = number
    return [np.flatnonzero(fold[inside] == number) for number in range(k)]


def _baselines(y: Array, target: TargetSchema) -> list[Entry]:
    losses = constant_losses(y, y, target)
    title = constant(target).title
    return [Entry(title, None, float(losses.mean()), float(losses.std() / math.sqrt(len(y))), len(y), 0, 0.0)]


def constant_losses(y: Array, new: Array, target: TargetSchema) -> Array:
    """Return the losses of new rows when the mean, or the shares, of others is said of each."""
    if target.task == "regression":
        return np.asarray((new - y.mean()) ** 2)
    share = np.bincount(y.astype(np.int64), minlength=len(target.labels)) / len(y)
    return np.asarray(-np.log(np.maximum(share[new.astype(np.int64)], FLOOR)))


def row_losses(model: Any, X: Array, y: Array, target: TargetSchema) -> Array:
    """Return the loss of every row: squared error, or minus the logarithm of the probability of what happened."""
    if target.task == "regression":
        with np.errstate(over="ignore", invalid="ignore"):  # what explodes is infinite, and loses
            return np.asarray((np.asarray(model.predict(X), np.float64) - y) ** 2)
    shares = probabilities(model, X, target)
    return np.asarray(-np.log(np.maximum(shares[np.arange(len(y)), y.astype(np.int64)], FLOOR)))


def probabilities(model: Any, X: Array, target: TargetSchema) -> Array:
    """Return the probabilities of all classes, also of those that a fold has not seen."""
    found = np.asarray(model.predict_proba(X), np.float64)
    out = np.zeros((len(X), len(target.labels)))
    out[:, np.asarray(model.classes_, np.int64)] = found
    return out
