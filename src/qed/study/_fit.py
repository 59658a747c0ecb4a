"""From a table to a model: read, understand, compare, judge, fit, check, within a budget of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.study._checked import Checked
from qed.study._clock import Clock, seconds_of
from qed.study._compare import compare, most_categories, row_limit
from qed.study._contributions import BACKGROUND, SHARE, Contributions, contributions
from qed.study._duplicates import together, twins_of
from qed.study._encode import encode
from qed.study._judge import HeldOut, judge
from qed.study._leaderboard import Comparison, Entry, cost_of_a_row
from qed.study._model import TableModel
from qed.study._recipes import candidates, constant, pipeline, prepared_width
from qed.study._remarks import of_copies, of_few, of_leaks
from qed.study._source import digest_of, read_table
from qed.study._stage import Rows, fit_quietly
from qed.study._table_pipeline import shuffled
from qed.study._understand import understood, with_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.model_selection._candidate import Candidate
    from qed.study._raw import RawTable
    from qed.study._schema import TableSchema, TargetSchema


Array = np.ndarray[Any, Any]
T = TypeVar("T")

HELD_SHARE = 0.2
MOST_HELD = 20_000
# The independent check reads all rows in extended precision: it is part of a fit only where that takes a moment.
MOST_CHECKED = 20_000_000  # numbers
# What it takes of a number of a prepared table, of a row for each of several classes and for a hundred trees, on the machine
# this was written on.
SECONDS_TO_CHECK = 1.5e-6
SECONDS_TO_CHECK_CLASS = 5e-6
SECONDS_TO_CHECK_TREES = 2e-3
BOUND = "90 % of errors below"  # a bound on the error of new rows
MOMENT = 0.02  # of the budget, which is kept to 5 % or 2 s
SHUFFLE_SHARE = 0.05  # of the budget, for the importance of columns
TRIAL_SHARE = 0.45  # of the time for two fits, the second of which has the rows kept aside besides
AFTER_INTERRUPT = 5_000  # rows that a model is fitted on when Ctrl-C leaves no time
LISTED = 6  # candidates that a notebook shows


@dataclass(frozen=True, repr=False)
class Study:
    """A fitted model and all that was found on the way.

    Attributes
    ----------
    model : TableModel
        The winner, fitted on all rows that time allowed.
    comparison : Comparison
        What was tried, and how each candidate did.
    held_out : HeldOut
        The winner judged on rows it had not seen.
    checked : Checked or None
        The independent check; None where the table is too large to do it on the way.
    winner : Entry
        The winner's place in the comparison.
    """

    model: TableModel
    comparison: Comparison
    held_out: HeldOut
    checked: Checked | None
    winner: Entry

    @property
    def schema(self) -> TableSchema:
        """Columns, target, and how the model was made."""
        return self.model.schema

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {score.value:.4g}" for name, score in self.held_out.scores.items())
        n = len(self.comparison.latest)
        tried = f"best of {n} candidates" if n > 1 else "the only candidate"
        return f"<qed study of {self.schema.target.name!r}: {self.winner.title}, {tried}; held out: {scores}>"

    def _repr_html_(self) -> str:
        from qed.study._model import as_table, html_table  # noqa: PLC0415  (notebooks only)

        first = [*self.comparison.listed(self.winner, LISTED), *self.comparison.baselines]
        judged = self.comparison.rows_judged
        rows = [(one.title, f"{one.loss:.4g}", f"± {1.96 * one.error:.2g}", f"{judged(one):,}") for one in first]
        loss = "squared error" if self.schema.target.task == "regression" else "log loss"
        board = html_table(rows, ("tried, best first", loss, "95 %", "rows"))
        return as_table(self.schema, self.held_out.scores) + board

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison early."""
        return self.schema.fit_record.is_interrupted


def fit(
    table: Any,
    target: str,
    *,
    budget: float | str = 60.0,
    task: str | None = None,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    prefer: str = "",
    costs: tuple[float, float] | None = None,
    command: str = "",
    clock: Clock | None = None,
) -> Study:
    """Find and fit a certified model for one column of a table.

    Parameters
    ----------
    table : frame, dict of columns, path, query, or what `read_table` gave
        The rows.
    target : str
        The column to predict.
    budget : float or str
        Seconds, or ``"60s"``, ``"5m"``, ``"1h"``; kept to 5 % or 2 s.
    task : {"regression", "counts", "binary", "multiclass"}, optional
        What there is to do; inferred from the target unless said.
    types : mapping of str to str, optional
        What columns are, by name, where the inference is wrong.
    drop : sequence of str
        Columns to leave out.
    seed : int
        What every random choice follows from.
    prefer : {"", "simple", "best"}
        "simple" takes the simplest candidate within one standard error of the best; "best" the one with the least loss. Usually
        that one too, but tuned settings only where they gain more than the best of so many settings gains by chance, and an
        average of models only where it gains more than one standard error.
    costs : tuple of float, optional
        What a false alarm and a missed case cost, for a target of two classes: the second class is then predicted from the
        probability on at which that costs less on average than predicting the first.
    command : str
        What was typed, for the record.
    clock : Clock, optional
        A clock that runs already, whose budget is then the one that counts.

    Returns
    -------
    Study
        The model and the comparison, held-out judgement and check behind it.

    Raises
    ------
    InvalidData
        When the table cannot be learnt from; the message names the column and what to do.
    """
    clock = clock or Clock(seconds_of(budget))
    if not isinstance(seed, int) or seed < 0:
        raise InvalidParameter(f"The seed must be a whole number of at least zero, got {seed!r}.")
    if prefer not in ("", "simple", "best"):
        raise InvalidParameter(f"prefer must be '', 'simple' or 'best', got {prefer!r}.")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what overflows is infinite, and loses
        return _studied(table, target, task, types or {}, drop, seed, prefer, costs, command, clock)


def _studied(
    table: Any,
    target: str,
    task: str | None,
    types: Mapping[str, str],
    drop: Sequence[str],
    seed: int,
    prefer: str,
    costs: tuple[float, float] | None,
    command: str,
    clock: Clock,
) -> Study:
    with Progress("reading") as progress:
        raw = read_table(table, clock=clock)
        digest = raw.digest or digest_of(table)
        progress.step(message=raw.size)
    schema, rows, y = understood(raw, target, task, types, drop, seed, digest, command, clock)
    schema = with_costs(schema, costs)
    X = encode(rows, schema.columns)
    work = _Work(X, y, rows, schema, clock, seed, prefer)
    work.costs = costs if schema.target.task == "binary" else None
    work.places = np.flatnonzero(~raw.column(target).gaps)
    del raw, rows, table  # what was read is not needed beside the numbers made of it
    return work.done()


class _Work:
    """One study on its way."""

    def __init__(
        self, X: Array, y: Array, rows: RawTable, schema: TableSchema, clock: Clock, seed: int, prefer: str
    ) -> None:
        self.X, self.y, self.schema, self.clock, self.seed, self.prefer = X, y, schema, clock, seed, prefer
        self.costs: tuple[float, float] | None = None
        self.places = np.arange(len(y))  # of the rows in the table that was read
        self.found = Comparison([], [], [])
        if clock.left < 0.5:
            self.found.notes.append(
                f"Reading the table took {clock.spent:.1f} s of {clock.budget:g} s, so that one model was fitted and nothing"
                " compared. Give it more time with --budget."
            )
        self.options = candidates(schema.target, schema.columns, y)
        n = len(y)
        self.most = most_categories(schema.columns, n)
        self.order = shuffled(X, y, seed)
        found = twins_of(X, y, schema.columns, is_number=schema.target.task == "regression")
        self.twins: Array | None = None if found is None else found[0]
        self.copies = 0 if found is None else found[1]
        self.held = self._kept_aside()
        self.train = self.order[~self.held]
        self.held_rows = rows.rows(self.order[self.held])
        # What comes after the comparison besides fits: checking and writing, and judging before. A guess, on the safe side.
        width = prepared_width(schema.columns, self.most, form="splines")
        room = max(0.0, clock.left)
        self.writing = min(0.2 * room, 0.6 + 0.01 * len(schema.used) + 1.5e-8 * n * width)
        self.classes = len(schema.target.labels) if schema.target.task == "multiclass" else 0
        check = n * (SECONDS_TO_CHECK * width + SECONDS_TO_CHECK_CLASS * self.classes + 2 * SECONDS_TO_CHECK_TREES)
        if check < 0.2 * room:
            self.writing += check
        self.reserve = self.writing + min(0.1 * room, (SHARE + SHUFFLE_SHARE) * clock.budget)

    def _kept_aside(self) -> Array:
        """Mark rows, in their shuffled order, to judge by: copies of one row are all among them or none."""
        y, target = self.y[self.order], self.schema.target
        held = _held(y, target)
        if self.twins is None:
            return held
        rows = np.empty(len(y), bool)
        rows[self.order] = held
        apart = together(rows, self.twins)[self.order]
        classes = len(target.labels) or 1
        if min(apart.sum(), (~apart).sum()) >= 4 and all(
            len(np.unique(y[side])) >= classes for side in (apart, ~apart)
        ):
            return apart
        self.twins = None  # too few different rows to keep copies together
        return held

    def done(self) -> Study:
        try:
            data = Rows(self.X, self.y, self.schema.columns, self.schema.target, self.most, self.twins)
            compare(data, self.train, self.options, self.clock, reserve=self.reserve, seed=self.seed, into=self.found)
        except KeyboardInterrupt:
            self._interrupt()
        winner = self._winner()
        candidate = winner.candidate
        assert candidate is not None  # noqa: S101  (constants are no candidates)
        limit = min(len(self.y), row_limit(candidate, self.schema.columns, self.most))
        trial = min(
            len(self.train), limit, self._affordable(cost_of_a_row(winner), winner.n_rows, TRIAL_SHARE, self.reserve)
        )
        (held_out, model, seconds), trial = self._or_quickly(self._judged, candidate, trial)
        rows = self.train[:trial]
        final = min(limit, self._affordable(seconds / trial, trial, 0.95, self.writing))
        if final > trial:  # where time is short, the model that was judged is as good as one of fewer rows
            model, final = self._or_quickly(self._fitted, candidate, final)
            rows = self.order[:final]
        try:
            checked = self._checked(model, rows, candidate)
        except KeyboardInterrupt:
            self._interrupt()
            checked = None
        schema = self._told(winner, held_out, len(rows), trial)
        return Study(TableModel(model, schema), self.found, held_out, checked, winner)

    def _or_quickly(self, work: Callable[[Candidate, int], T], candidate: Candidate, rows: int) -> tuple[T, int]:
        """Do something on so many rows; after Ctrl-C on few, so that there is a model all the same. A second Ctrl-C ends all."""
        if not self.found.is_interrupted:
            try:
                return work(candidate, rows), rows
            except KeyboardInterrupt:
                self._interrupt()
        rows = min(rows, AFTER_INTERRUPT)
        return work(candidate, rows), rows

    def _interrupt(self) -> None:
        """Note that Ctrl-C came, and say at once what happens now."""
        self.found.is_interrupted = True
        with Progress("interrupted") as progress:
            progress.step(message="the best so far is fitted on few rows and written; Ctrl-C again ends without a file")

    def _affordable(self, cost: float, measured: int, share: float, reserve: float) -> int:
        """Return how many rows can be fitted in a share of the time that is left beside a reserve, if one of some costs so much."""
        # what a moment is enough for is done on all rows, however late it is
        room = max(share * (self.clock.left - reserve), MOMENT * self.clock.budget)
        rows = len(self.y)
        # larger tables leave the caches: a row costs more among many than among few
        while rows > AFTER_INTERRUPT and 1.15 * cost * rows * max(1.0, rows / measured) ** 0.2 > room:
            rows = max(AFTER_INTERRUPT, int(0.9 * rows))
        return rows

    def _winner(self) -> Entry:
        if self.found.entries:
            best, base = self.found.chosen(self.prefer), self.found.baselines
            if base and best.is_no_better_than_a_constant:
                return replace(base[0], candidate=constant(self.schema.target))
            return best
        if not self.found.is_interrupted:
            reasons = " ".join(self.found.notes[:2])
            raise InvalidData(f"No candidate could be fitted. {reasons}")
        first = self.options[0]
        return Entry(first.title, first, float("nan"), float("nan"), min(len(self.y), AFTER_INTERRUPT), 0, 0.0)

    def _pipeline(self, candidate: Candidate, rows: Array) -> Any:
        return pipeline(candidate, self.schema.columns, self.schema.target, self.y[rows], self.most)

    def _judged(self, candidate: Candidate, trial: int) -> tuple[HeldOut, Any, float]:
        """Fit without the rows kept aside and judge on them; also return the model and how long its fit took."""
        target = self.schema.target
        with Progress("judging") as progress:
            rows = self.train[:trial]
            begin = self.clock.now()
            model = fit_quietly(
                self._pipeline(candidate, rows), self.X[rows], self.y[rows], self.clock.left, self.clock
            )
            spent = self.clock.now() - begin
            held = self.order[self.held]
            y = self.y[rows]
            constant: Any = float(y.mean())
            if target.task != "regression":
                constant = np.bincount(y.astype(np.int64), minlength=len(target.labels)) / len(y)
            most = min(5.0, SHUFFLE_SHARE * self.clock.budget, self.clock.left / 3)
            seconds = 0.3 if self.found.is_interrupted else max(0.3, most)
            found = judge(
                model, self.X[held], self.y[held], constant, self.schema.columns, target, self.held_rows,
                clock=self.clock.part(seconds), seed=self.seed,
            )  # fmt: skip
            found = found if self.costs is None else found.with_costs(*self.costs)
            shared = None if candidate.is_constant else self._contributions(model, held, rows)
            progress.step(message=f"on {len(held):,} rows that were kept aside")
        return replace(found, rows=self.places[held], contributions=shared), model, spent

    def _contributions(self, model: Any, held: Array, rows: Array) -> Contributions:
        """Explain some of the rows kept aside, compared with rows of the fit, in the share of time that is kept for it."""
        if self.found.is_interrupted:
            return Contributions(None, "Ctrl-C came")
        seconds = min(max(1.0, SHARE * self.clock.budget), self.clock.left / 4)
        X, background = self.X[held], self.X[rows[:BACKGROUND]]  # in random order already
        schema = self.schema
        clock = self.clock.part(seconds)
        return contributions(model, X, background, schema.columns, schema.target, clock=clock, seed=self.seed)

    def _fitted(self, candidate: Candidate, final: int) -> Any:
        with Progress("fitting") as progress:
            model = self._fitted_on(candidate, final)
            progress.step(message=f"{candidate.title} on {final:,} rows")
        return model

    def _fitted_on(self, candidate: Candidate, final: int) -> Any:
        rows = self.order[:final]
        model = self._pipeline(candidate, rows)
        seconds = max(1.0, self.clock.left - 0.3 * self.writing)
        return fit_quietly(model, self.X[rows], self.y[rows], seconds, self.clock)

    def _checked(self, model: Any, rows: Array, candidate: Candidate) -> Checked | None:
        fitted = len(rows)
        parts = [part for part, _ in candidate.parts] or [candidate]
        size = fitted * sum(prepared_width(self.schema.columns, self.most, form=one.preparation) for one in parts)
        trees = sum(one.is_of_trees for one in parts)
        scores = SECONDS_TO_CHECK_CLASS * self.classes * (len(parts) - trees)
        seconds = SECONDS_TO_CHECK * size + fitted * (scores + SECONDS_TO_CHECK_TREES * trees) + 0.5
        if size > MOST_CHECKED or self.clock.left < seconds or self.found.is_interrupted:
            return None
        from qed.verify import verify  # noqa: PLC0415

        with Progress("checking") as progress:
            try:
                verify(model, self.X[rows], self.y[rows])
                found = Checked(
                    True, "Every claim was computed again by code that shares nothing with the fit, and is true."
                )
            except CertificateError as error:
                found = Checked(False, str(error))
            progress.step(message="accepted" if found.is_accepted else "refused")
        return found

    def _told(self, winner: Entry, held_out: HeldOut, fitted: int, trial: int) -> TableSchema:
        fit_record = self.schema.fit_record
        notes = [*fit_record.notes, *self.found.notes]
        if fitted < len(self.y):
            limit = row_limit(winner.candidate, self.schema.columns, self.most) if winner.candidate else fitted
            why = "memory allows no more" if fitted == limit else "the time allows no more"
            why = "Ctrl-C came" if self.found.is_interrupted else why
            notes.append(f"The model was fitted on {fitted:,} of {len(self.y):,} rows: {why}.")
        if trial < min(fitted, len(self.train)):
            notes.append(f"The held-out judgement is about a model fitted on {trial:,} rows.")
        notes += of_few(held_out, self.schema.target.labels, float(np.mean(self.y)))
        notes += of_leaks(held_out)
        if self.copies:
            notes.append(of_copies(self.copies, are_together=self.twins is not None))
        if winner.candidate is not None and winner.candidate.is_constant:
            notes.append(
                f"No candidate was better than a constant, on rows it had not seen, by more than chance allows: these columns tell"
                f" nothing about {self.schema.target.name!r} that can be relied on. The model is that constant."
            )
        scores = {name: float(score.value) for name, score in held_out.scores.items()}
        if held_out.bound is not None and np.isfinite(held_out.bound.bound):
            scores[BOUND] = float(held_out.bound.bound)
        new = replace(
            fit_record,
            rows_fitted=fitted,
            held_out=int(self.held.sum()),
            seconds=self.clock.spent,
            candidate=winner.title,
            scores=scores,
            notes=tuple(notes),
            is_interrupted=self.found.is_interrupted,
        )
        return replace(self.schema, fit_record=new)


def _held(y: Array, target: TargetSchema) -> Array:
    """Mark the rows, in their shuffled order, that are kept aside: the same share of every class."""
    n = len(y)
    share = min(HELD_SHARE, MOST_HELD / n)
    held = np.zeros(n, bool)
    if target.task == "regression":
        held[n - max(4, round(share * n)) :] = True
        return held
    for label in range(len(target.labels)):
        own = np.flatnonzero(y == label)
        held[own[len(own) - max(1, round(share * len(own))) :]] = True
    return held
