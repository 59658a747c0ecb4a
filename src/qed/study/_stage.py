"""Candidates on the same rows and folds, and their weighted average."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import QedError
from qed.core._events import STOP, Progress, listen
from qed.core._jobs import mapped
from qed.model_selection import KFold, StratifiedKFold
from qed.model_selection._candidate import Candidate
from qed.study._blend import honest_losses, weights_of
from qed.study._leaderboard import FINAL_FITS, Comparison, Entry, final_cost, gain_by_chance
from qed.study._losses import FLOOR, answers, constant_losses
from qed.study._recipes import preparation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qed.core._events import Event
    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema, TargetSchema

Array = np.ndarray[Any, Any]

FOLDS = 5
CLEARLY = 3.0  # standard errors behind the best, row by row, after which a candidate is given up
PERHAPS = 2.0  # likewise, to take part among more rows
MOST_ALIVE = 8
PATIENCE = 10  # variations in a row that gain nothing
GAIN = 0.1  # of a standard error: less is luck
EXPENSIVE = 0.1  # of the time for comparing: what one that is behind may take on its remaining folds without waiting
MEMBERS = 3.0  # of an average of models: what time is kept for before further candidates are tried


@dataclass(frozen=True)
class Rows:
    """What a comparison is about.

    Attributes
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        Rows.
    columns, target : schemas
        What they are.
    most : int
        Most categories of a column.
    twins : ndarray of int of shape (n,) or None
        The same number for copies of one row, which then stay in one fold.
    """

    X: Array
    y: Array
    columns: Sequence[ColumnSchema]
    target: TargetSchema
    most: int
    twins: Array | None = None

    def of(self, chosen: Array) -> Rows:
        """Return some of the rows."""
        twins = None if self.twins is None else self.twins[chosen]
        return replace(self, X=self.X[chosen], y=self.y[chosen], twins=twins)


class Stage:
    """All candidates that are still alive, on the same rows and folds; columns are prepared once for all of them."""

    def __init__(
        self,
        data: Rows,
        alive: Sequence[Candidate],
        clock: Clock,
        reserve: float,
        into: Comparison,
        n_all: int,
        room: float,
        seed: int,
    ) -> None:
        self.data, self.target, self.y = data, data.target, data.y
        self.clock, self.reserve, self.into, self.n_all, self.room = clock, reserve, into, n_all, room
        self.folds = _folds(data.y, data.target, seed, data.twins)
        self.alive = list(alive)
        self.waiting: list[Candidate] = []  # behind, and expensive: they go on when all others are done
        self.said: dict[Candidate, list[Array]] = {one: [] for one in alive}  # of what happened, fold by fold
        self.blended: tuple[Candidate, Array] | None = None
        self.constants: list[Array] = []  # the losses of a constant, fold by fold
        self.seconds: dict[Candidate, float] = dict.fromkeys(alive, math.inf)
        self.tuned: Counter[str] = Counter()  # settings tried of each family

    def judged(self) -> bool:
        """Go through the folds; False when time ran out."""
        with Progress("comparing", len(self.folds) * len(self.alive)) as progress:
            try:
                for at, test in enumerate(self.folds):
                    train = self._others(test)
                    self.constants.append(constant_losses(self.y[train], self.y[test], self.target))
                    for group in self._groups():
                        if not self._fold(group, train, test, progress):
                            n, of_all = len(self.y), f"{self.n_all:,} rows"
                            rows = f"all {of_all}" if n == self.n_all else f"{n:,} of {of_all}"
                            self.into.notes.append(
                                f"The time was over before every candidate had met every fold of {rows}."
                            )
                            return False
                    self._give_up(at + 1)
                    self._postpone(at + 1)
            finally:  # also when Ctrl-C comes
                self._even_out()
        return True

    def judge_later(self, later: Sequence[Candidate]) -> None:
        """Try further candidates, one after the other, as long as there is time."""
        for one in later:
            if one not in self.alive and not self._tried(one):
                return

    def refine(self, *, best_only: bool = False) -> None:
        """Vary the best candidate, then those within one standard error of it, until that gains nothing any more."""
        fruitless, known = 0, {one.title for one in self.said}
        while fruitless < PATIENCE:
            one = self._next_variation(known, best_only=best_only)
            if one is None:
                return
            known.add(one.title)
            self.tuned[one.family] += 1
            before = self.into.best.loss
            if not self._tried(one):
                return
            level = [error for _, _, error in self._behind(len(self.folds)) if error > 0]
            fruitless = 0 if before - self.into.best.loss > GAIN * min(level, default=0.0) else fruitless + 1

    def _next_variation(self, known: set[str], *, best_only: bool) -> Candidate | None:
        for one, gap, error in self._behind(len(self.folds))[: 1 if best_only else None]:
            if gap > error or one.refine is None:
                continue
            fresh = [other for other in one.refine() if other.title not in known]
            if fresh:
                return replace(fresh[0], is_tuned=True)
        return None

    def _tried(self, one: Candidate) -> bool:
        """Judge one more candidate, fold by fold until it is clearly behind; False when there is no time."""
        met = self.said.setdefault(one, [])  # of one that has waited, some folds
        before = len(met)
        self.seconds.setdefault(one, math.inf)
        self.alive.append(one)
        with Progress("comparing", len(self.folds)) as progress:
            for at, test in list(enumerate(self.folds))[before:]:
                if self._is_late(MEMBERS) or not self._fold([one], self._others(test), test, progress):
                    self._take_back(one, before)
                    return False
                if one not in self.said:  # it could not be fitted
                    return True
                if at + 1 < len(self.folds) and self._is_clearly_behind(one, at + 1):
                    self._forget(one)
                    return True
        return True

    def _take_back(self, one: Candidate, before: int) -> None:
        """Leave a candidate where it was before time ran out."""
        if not before:
            self.into.entries[:] = [entry for entry in self.into.entries if entry.candidate != one]
            self._forget(one)
            return
        del self.said[one][before:]
        self._enter(one, None)
        self.alive.remove(one)

    def _is_clearly_behind(self, one: Candidate, n_folds: int) -> bool:
        """Compare with the best on the rows that both have met."""
        best = self.into.best.candidate
        if best is None or best == one or len(self.said.get(best, [])) < n_folds:
            return False
        theirs = self._losses(best)[: len(self._losses(one))]
        gap, error = paired(self._losses(one), theirs)
        return gap > CLEARLY * error

    def _others(self, test: Array) -> Array:
        train = np.ones(len(self.y), bool)
        train[test] = False
        return train

    def _groups(self) -> list[list[Candidate]]:
        """Return the candidates by what their columns become, done once for all of them; the leader's group comes first.

        In the first fold the first candidate of each preparation comes before all others, so that little time is shared fairly.
        """
        groups: dict[str, list[Candidate]] = {}
        for one in self.alive:
            groups.setdefault(one.preparation, []).append(one)
        if len(self.constants) > 1:
            return list(groups.values())
        first = [group[:1] for group in groups.values()]
        return first + [group[1:] for group in groups.values() if len(group) > 1]

    def _losses(self, candidate: Candidate) -> Array:
        """Return the losses of the rows that a candidate has met, fold by fold."""
        said = np.concatenate(self.said[candidate])
        if self.target.task != "regression":
            return np.asarray(-np.log(np.maximum(said, FLOOR)))
        met = np.concatenate(self.folds[: len(self.said[candidate])])
        with np.errstate(over="ignore", invalid="ignore"):  # what explodes is infinite, and loses
            return np.asarray((said - self.y[met]) ** 2)

    def _behind(self, n_folds: int) -> list[tuple[Candidate, float, float]]:
        """Return those that have met so many folds, best first, each with its distance to the best and the error of that."""
        losses = {one: self._losses(one) for one in self.alive if len(self.said[one]) == n_folds}
        ranked = sorted(losses, key=lambda one: float(losses[one].mean()))
        return [(one, *paired(losses[one], losses[ranked[0]])) for one in ranked]

    def _kept(self, n_folds: int, errors: float) -> list[Candidate]:
        """Return those within so many standard errors of the best, and the best of each preparation."""
        kept: list[Candidate] = []
        for one, gap, error in self._behind(n_folds):
            if gap <= errors * error or one.preparation not in {other.preparation for other in kept}:
                kept.append(one)
        return kept

    def _give_up(self, n_folds: int) -> None:
        kept = set(self._kept(n_folds, CLEARLY))
        self.alive = [one for one in self.alive if one in kept]

    def _postpone(self, n_folds: int) -> None:
        """Let those wait that are behind and would take much of the time: forests cost many times what boosting does."""
        room = self.clock.left - final_cost(self.into.best, self.n_all, self.reserve, self.room)
        for one, gap, error in self._behind(n_folds)[1:]:
            if gap > error and self.seconds[one] * (len(self.folds) - n_folds) > EXPENSIVE * room:
                self.alive.remove(one)
                self.waiting.append(one)

    def survivors(self) -> list[Candidate]:
        """Return those that go on to more rows, best first."""
        met = [len(said) for one, said in self.said.items() if said and one in self.alive]
        return self._kept(min(met), PERHAPS)[:MOST_ALIVE] if met else []

    def _even_out(self) -> None:
        """Judge all that have met a fold by the folds that all of these have met: the others had other rows."""
        met = [len(self.said[one]) for one in self.alive if self.said[one]]
        for candidate in self.alive:
            said = self.said[candidate]
            if said and len(said) > min(met):
                del said[min(met) :]
                self._enter(candidate, None)

    def _fold(self, group: Sequence[Candidate], train: Array, test: Array, progress: Progress) -> bool:
        if self._is_late():
            return False
        begin = self.clock.now()
        data = self.data
        prepare = preparation(data.columns, data.target, form=group[0].preparation, most=data.most)
        y = self.y[train]
        inside = quietly(lambda: prepare.fit_transform(data.X[train], y))
        outside = prepare.transform(data.X[test])
        prepared = self.clock.now() - begin
        work = partial(
            _answered,
            _Fold(inside, y, outside, self.y[test], self.target),
            self.clock,
            self.reserve if self.into.entries else 0.0,
        )
        with closing(mapped(work, group, None, pure=True)) as results:
            for candidate in group:
                if self._is_late(ahead=self.seconds[candidate]):
                    return False
                said, problem, took = next(results)
                if said is None:
                    self._failed(candidate, problem)
                    continue
                self.said[candidate].append(said)
                if not np.isfinite(self._losses(candidate)).all():
                    self._failed(candidate, "its predictions are not finite")
                    continue
                self.seconds[candidate] = min(self.seconds[candidate], prepared + took)
                self._enter(candidate, progress)
        return True

    def _is_late(self, members: float = 1.0, ahead: float = 0.0) -> bool:
        """Say whether, after a fit of so many seconds, what is left is needed for the winner, made of so many members."""
        if not self.into.entries:
            return False
        best = self.into.best
        if math.isinf(ahead):  # not fitted yet: as long as the best one, at least
            ahead = best.seconds
        return self.clock.left - ahead < final_cost(
            replace(best, seconds=members * best.seconds), self.n_all, self.reserve, self.room
        )

    def _failed(self, candidate: Candidate, problem: str) -> None:
        self.into.notes.append(f"{candidate.title} could not be fitted: {(problem.splitlines() or [''])[0][:160]}")
        self._forget(candidate)
        self.into.entries[:] = [entry for entry in self.into.entries if entry.candidate != candidate]

    def _forget(self, candidate: Candidate) -> None:
        del self.said[candidate]
        self.alive.remove(candidate)

    def _enter(self, candidate: Candidate, progress: Progress | None) -> None:
        losses, folds = self._losses(candidate), len(self.said[candidate])
        entry = self._entry(candidate, losses, folds, self.seconds[candidate])
        if progress is None:
            return
        is_whole = folds == len(self.folds)
        progress.step(entry.loss, f"{candidate.title}: {_shown(entry.loss, self.target)}" if is_whole else "")

    def _entry(self, candidate: Candidate, losses: Array, folds: int, seconds: float) -> Entry:
        error = float(losses.std() / math.sqrt(len(losses)))
        n = len(self.y)
        gain, gain_error = paired(np.concatenate(self.constants[:folds]), losses)
        entry = Entry(candidate.title, candidate, float(losses.mean()), error, n, folds, seconds, gain, gain_error)
        self.into.entries[:] = [one for one in self.into.entries if (one.candidate, one.n_rows) != (candidate, n)]
        self.into.entries.append(entry)
        return entry

    def blend(self) -> None:
        """Enter the weighted average of the candidates whose weights are best, as the last candidate."""
        met = [len(said) for one, said in self.said.items() if said and one in self.alive]
        if not met or min(met) < 2:
            return
        whole = [one for one in self.alive if len(self.said[one]) == min(met)]
        folds = self.folds[: min(met)]
        rows = np.concatenate(folds)
        truth, is_number = self.y[rows], self.target.task == "regression"
        table = np.column_stack([np.concatenate(self.said[one]) for one in whole])
        if not is_number:
            table = np.maximum(table, FLOOR)
        room = (self.clock.left - self.reserve) * len(self.y) / (FINAL_FITS * self.n_all)
        kept = self._affordable(whole, table, truth, room)
        whole, table = [whole[at] for at in kept], table[:, kept]
        weights = weights_of(table, truth, is_number=is_number)
        members = np.flatnonzero(weights)
        if len(members) < 2:
            return
        seconds = float(sum(self.seconds[whole[at]] for at in members))
        ends = np.cumsum([0, *(len(fold) for fold in folds)])
        places = [np.arange(low, high) for low, high in itertools.pairwise(ends)]
        losses = honest_losses(table, truth, places, FLOOR, is_number=is_number)
        parts = sorted(((whole[at], float(weights[at])) for at in members), key=lambda part: -part[1])
        named = f"weighted average of {len(parts)} models"
        candidate = Candidate(named, "", parts[0][0].make, parts[0][0].preparation, parts=tuple(parts))
        self._entry(candidate, losses, min(met), seconds)
        self.blended = candidate, losses

    def _affordable(self, whole: Sequence[Candidate], table: Array, truth: Array, seconds: float) -> Array:
        """Leave out who earns least for its time, until one fit of all members takes no longer than this."""
        kept, times = np.arange(len(whole)), np.array([self.seconds[one] for one in whole])
        while len(kept) > 1:
            weights = weights_of(table[:, kept], truth, is_number=self.target.task == "regression")
            members = np.flatnonzero(weights)
            if times[kept[members]].sum() <= seconds:
                break
            kept = np.delete(kept, members[np.argmin(weights[members] / times[kept[members]])])
        return kept

    def settle(self) -> None:
        """Note which tuned settings gain no more than chance gives, and how far others are behind the best on each row."""
        if not self.into.entries:
            return
        entries, first = self.into.entries, self.into.best
        losses = {one: self._losses(one) for one in self.alive if len(self.said[one]) == first.n_folds}
        if self.blended is not None:
            losses[self.blended[0]] = self.blended[1]
        met = [
            (at, one)
            for at, entry in enumerate(entries)
            if (one := entry.candidate) is not None and entry.n_rows == first.n_rows and one in losses
        ]
        for at, one in met:
            if one.is_tuned and self._gains_by_chance(one, losses):
                entries[at] = replace(entries[at], is_by_chance=True)
        best = self.into.best.candidate
        if best not in losses:
            return
        for at, one in met:
            gap, error = paired(losses[one], losses[best])
            entries[at] = replace(entries[at], behind=gap, behind_error=error)

    def _gains_by_chance(self, tuned: Candidate, losses: dict[Candidate, Array]) -> bool:
        """Compare a tuned setting with the best of its family that was not tuned; one without such kin is taken as it is."""
        kin = [one for one in losses if one.family == tuned.family and not one.is_tuned]
        if not kin:
            return False
        least = min(kin, key=lambda one: float(losses[one].mean()))
        gain, error = paired(losses[least], losses[tuned])
        return not gain > gain_by_chance(self.tuned[tuned.family]) * error


def paired(losses: Array, others: Array) -> tuple[float, float]:
    """Return by how much losses are larger than others of the same rows, on average, and its standard error."""
    gaps = losses - others
    return float(gaps.mean()), float(gaps.std() / math.sqrt(len(gaps)))


class _Fold(NamedTuple):
    """Prepared rows to learn from and to answer about, and the truth of the latter."""

    inside: Any
    y: Array
    outside: Any
    truth: Array
    target: TargetSchema


def _answered(fold: _Fold, clock: Clock, reserve: float, candidate: Candidate) -> tuple[Array | None, str, float]:
    """Fit a candidate; return what it says of what happened, or what is wrong, and the seconds it took.

    Nothing else is touched, so that the workers of a cluster can do it, each on its own clock.
    """
    begin, y = clock.now(), fold.y
    try:
        model = candidate.make(len(y), float(y.std()) or 1.0)
        model = fit_quietly(model, fold.inside, y, clock.left - reserve, clock)
        said = answers(model, fold.outside, fold.target)
    except (QedError, FloatingPointError, np.linalg.LinAlgError, MemoryError) as error:
        return None, str(error), clock.now() - begin
    if said.ndim == 2:
        said = said[np.arange(len(said)), fold.truth.astype(np.int64)]
    return said, "", clock.now() - begin


def _shown(loss: float, target: TargetSchema) -> str:
    return f"error {math.sqrt(loss):.4g}" if target.task == "regression" else f"log loss {loss:.4g}"


def fit_quietly(model: Any, X: Array, y: Array | None, seconds: float, clock: Clock) -> Any:
    """Fit within so many seconds: a solver that is still at work then stops, and its certificate says how far it came."""
    end = clock.now() + max(0.5, seconds)

    def stop(event: Event) -> object:
        return STOP if event.kind == "step" and clock.now() > end else None

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
