"""From a table to a model: read, understand, compare, judge, fit, check, within a budget of time."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.study._checked import Checked
from qed.study._clock import Clock, seconds_of
from qed.study._column_types import describe, said_form
from qed.study._compare import compare, most_categories, row_limit
from qed.study._contributions import BACKGROUND, SHARE, Contributions, contributions
from qed.study._describe_table import begin_record, describe_column, doubts, read_as_said, require_used
from qed.study._duplicates import together, twins_of
from qed.study._encode import encode
from qed.study._judge import TOP, HeldOut, judge
from qed.study._leaderboard import Comparison, Entry, cost_of_a_row
from qed.study._model import TableModel, usable_rows
from qed.study._recipes import candidates, constant, pipeline, prepared_width
from qed.study._schema import ColumnSchema, TableSchema, TargetSchema
from qed.study._source import digest_of, read_table
from qed.study._stage import Rows, fit_quietly
from qed.study._table_pipeline import shuffled
from qed.study._task import describe_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.model_selection._candidate import Candidate
    from qed.study._raw import RawColumn, RawTable


Array = np.ndarray[Any, Any]
T = TypeVar("T")

FEWEST_ROWS = 20
HELD_SHARE = 0.2
MOST_HELD = 20_000
FEW_HELD = 30
# The independent check reads all rows in extended precision: it is part of a fit only where that takes a moment.
MOST_CHECKED = 20_000_000  # numbers
# What it takes of a number of a prepared table, and of a row for a hundred trees, on the machine this was written on.
SECONDS_TO_CHECK = 1.5e-6
SECONDS_TO_CHECK_TREES = 2e-3
BOUND = "90 % of errors below"  # a bound on the error of new rows
MOMENT = 0.02  # of the budget, which is kept to 5 % or 2 s
SHORTEST_NAME = 4  # letters of a target whose name inside another is no accident
NEARLY_PERFECT = 0.01  # of the error of a constant that is left
AFTER_INTERRUPT = 5_000  # rows that a model is fitted on when Ctrl-C leaves no time


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
    def sheet(self) -> TableSchema:
        """Columns, target and story."""
        return self.model.sheet

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {score.value:.4g}" for name, score in self.held_out.scores.items())
        tried = len(self.comparison.latest)
        return f"<qed study of {self.sheet.target.name!r}: {self.winner.title}, best of {tried} candidates; held out: {scores}>"

    def _repr_html_(self) -> str:
        from qed.study._model import as_table  # noqa: PLC0415  (notebooks only)

        return as_table(self.sheet)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison early."""
        return self.sheet.story.is_interrupted


def fit(
    table: Any,
    target: str,
    *,
    budget: float | str = 60.0,
    task: str | None = None,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    lean: str = "",
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
    lean : {"", "simple", "best"}
        "simple" takes the simplest candidate within one standard error of the best; "best" the one with the least loss. Usually
        that one too, but an average of models only where it gains more than one standard error.
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
    if lean not in ("", "simple", "best"):
        raise InvalidParameter(f"lean must be '', 'simple' or 'best', got {lean!r}.")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what overflows is infinite, and loses
        return _studied(table, target, task, types or {}, drop, seed, lean, costs, command, clock)


def _studied(
    table: Any,
    target: str,
    task: str | None,
    types: Mapping[str, str],
    drop: Sequence[str],
    seed: int,
    lean: str,
    costs: tuple[float, float] | None,
    command: str,
    clock: Clock,
) -> Study:
    with Progress("reading") as progress:
        raw = read_table(table, clock=clock)
        digest = raw.digest or digest_of(table)
        progress.step(message=f"{raw.n_rows:,} rows, {len(raw.columns)} columns")
    sheet, rows, y = _understood(raw, target, task, types, drop, seed, digest, command, clock)
    sheet = _with_costs(sheet, costs)
    X = encode(rows, sheet.columns)
    work = _Work(X, y, rows, sheet, clock, seed, lean)
    work.places = np.flatnonzero(~raw.column(target).gaps)
    del raw, rows, table  # what was read is not needed beside the numbers made of it
    return work.done()


def _with_costs(sheet: TableSchema, costs: tuple[float, float] | None) -> TableSchema:
    """Set the threshold of least expected cost, where p times the cost of a miss equals (1 - p) times that of an alarm."""
    if costs is None or sheet.target.task != "binary":
        return sheet
    alarm, missed = costs
    if not (alarm >= 0 and missed >= 0 and 0 < alarm + missed < float("inf")):
        raise InvalidParameter(f"Costs must be two numbers of at least zero, and not both zero, got {costs}.")
    return replace(sheet, target=replace(sheet.target, threshold=alarm / (alarm + missed)))


def _understood(
    raw: RawTable,
    target: str,
    task: str | None,
    types: Mapping[str, str],
    drop: Sequence[str],
    seed: int,
    digest: str,
    command: str,
    clock: Clock,
) -> tuple[TableSchema, RawTable, Array]:
    """Decide task and columns; return them with the rows that have a target."""
    raw.column(target, "target column", InvalidParameter)
    raw = read_as_said(raw, types, drop)
    column = raw.column(target)
    if target in drop or (target in types and not said_form(target, types)):
        raise InvalidParameter(f"{target!r} is the target: say what it is with --task, and do not drop it.")
    present = ~column.gaps
    rows = raw if present.all() else raw.rows(present)
    lost = raw.n_rows - rows.n_rows
    notes = list(raw.notes)
    if lost:
        notes.append(f"{lost:,} row{'s' if lost > 1 else ''} without {target!r} left out.")
    notes += [f"The target {target!r}: {note}." for note in column.notes if "counted as missing" in note]
    notes += doubts(raw, drop)
    if rows.n_rows < FEWEST_ROWS:
        raise InvalidData(
            f"{rows.n_rows} rows have a value of {target!r}, and at least {FEWEST_ROWS} are needed to learn and to check. Add"
            " rows, or choose another target."
        )
    with Progress("columns") as progress:
        goal = describe_target(rows.column(target), task)
        columns = tuple(
            describe_column(one, types, drop, rows.column(target)) for one in rows.columns if one.name != target
        )
        progress.step(message=f"{goal.task}: {sum(one.is_used for one in columns)} of {len(columns)} columns used")
    if not columns:
        raise InvalidData("The target is the only column, so there is nothing to predict it from.")
    require_used(columns, purpose="to predict from")
    notes += _leaks(columns, types, rows, rows.column(target))
    notes += _namesakes(columns, target)
    story = begin_record(raw, rows.n_rows, seed=seed, digest=digest, command=command, clock=clock, notes=notes)
    sheet = TableSchema(columns, goal, story)
    _, y = usable_rows(rows, sheet)
    return sheet, rows, y


def _leaks(columns: Sequence[ColumnSchema], types: Mapping[str, str], rows: RawTable, target: RawColumn) -> list[str]:
    """Warn of columns that say the same as the target, left out or, where the user said so, used."""
    words = []
    for one in columns:
        if one.kind == "copy":
            words.append(
                f"Column {one.name!r} {one.reason}: left out, as it would not be known beforehand. Say --types {one.name}=… to"
                " keep it."
            )
        elif one.name in types and one.is_used:
            seen = describe(rows.column(one.name), {}, target)
            if seen.kind == "copy":
                words.append(f"Column {one.name!r} {seen.reason}, and is used because you said so.")
    return words


def _namesakes(columns: Sequence[ColumnSchema], target: str) -> list[str]:
    """Name the columns that are called after the target: they may be made of it, or known only after it."""
    plain = "".join(sign for sign in target.lower() if sign.isalnum())
    if len(plain) < SHORTEST_NAME:
        return []
    found = [
        one.name for one in columns if one.is_used and plain in "".join(s for s in one.name.lower() if s.isalnum())
    ]
    if not found:
        return []
    listed = ", ".join(repr(name) for name in found[:5])
    verb = "is" if len(found) == 1 else "are"
    return [f"{listed} {verb} called after the target: made of it, or known only after it? Then leave out with --drop."]


class _Work:
    """One study on its way."""

    def __init__(
        self, X: Array, y: Array, rows: RawTable, sheet: TableSchema, clock: Clock, seed: int, lean: str
    ) -> None:
        self.X, self.y, self.sheet, self.clock, self.seed, self.lean = X, y, sheet, clock, seed, lean
        self.places = np.arange(len(y))  # of the rows in the table that was read
        self.found = Comparison([], [], [])
        if clock.left < 0.5:
            self.found.notes.append(
                f"Reading the table took {clock.spent:.1f} s of {clock.budget:g} s, so that one model was fitted and nothing"
                " compared. Give it more time with --budget."
            )
        self.options = candidates(sheet.target, sheet.columns, y)
        n = len(y)
        self.most = most_categories(sheet.columns, n)
        self.order = shuffled(X, y, seed)
        found = twins_of(X, y, sheet.columns, is_number=sheet.target.task == "regression")
        self.twins: Array | None = None if found is None else found[0]
        self.copies = 0 if found is None else found[1]
        self.held = self._kept_aside()
        self.train = self.order[~self.held]
        self.held_rows = rows.rows(self.order[self.held])
        # What comes after the comparison besides fits: judging, checking, writing. A guess, on the safe side.
        width = prepared_width(sheet.columns, self.most, form="splines")
        room = max(0.0, clock.left)
        self.reserve = min(0.3 * room, 0.6 + 0.01 * len(sheet.used) + 1.5e-8 * n * width + SHARE * clock.budget)
        check = SECONDS_TO_CHECK * n * width + 2 * SECONDS_TO_CHECK_TREES * n
        if check < 0.2 * room:
            self.reserve += check

    def _kept_aside(self) -> Array:
        """Mark rows, in their shuffled order, to judge by: copies of one row are all among them or none."""
        y, target = self.y[self.order], self.sheet.target
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
            data = Rows(self.X, self.y, self.sheet.columns, self.sheet.target, self.most, self.twins)
            compare(data, self.train, self.options, self.clock, reserve=self.reserve, seed=self.seed, into=self.found)
        except KeyboardInterrupt:
            self._interrupt()
        winner = self._winner()
        candidate = winner.candidate
        assert candidate is not None  # noqa: S101  (constants are no candidates)
        limit = min(len(self.y), row_limit(candidate, self.sheet.columns, self.most))
        trial = min(len(self.train), limit, self._affordable(cost_of_a_row(winner), winner.n_rows, 0.35))
        (held_out, seconds), trial = self._or_quickly(self._judged, candidate, trial)
        final = min(limit, self._affordable(seconds / trial, trial, 0.95))
        model, fitted = self._or_quickly(self._fitted, candidate, final)
        try:
            checked = self._checked(model, fitted, candidate)
        except KeyboardInterrupt:
            self._interrupt()
            checked = None
        sheet = self._told(winner, held_out, fitted, trial)
        return Study(TableModel(model, sheet), self.found, held_out, checked, winner)

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

    def _affordable(self, cost: float, measured: int, share: float) -> int:
        """Return how many rows can be fitted in a share of the time that is left, if one row of some cost so much."""
        # what a moment is enough for is done on all rows, however late it is
        room = max(share * (self.clock.left - self.reserve), MOMENT * self.clock.budget)
        rows = len(self.y)
        # larger tables leave the caches: a row costs more among many than among few
        while rows > AFTER_INTERRUPT and 1.15 * cost * rows * max(1.0, rows / measured) ** 0.2 > room:
            rows = max(AFTER_INTERRUPT, int(0.9 * rows))
        return rows

    def _winner(self) -> Entry:
        if self.found.entries:
            best, base = self.found.chosen(self.lean), self.found.baselines
            if base and best.is_no_better_than_a_constant:
                return replace(base[0], candidate=constant(self.sheet.target))
            return best
        if not self.found.is_interrupted:
            reasons = " ".join(self.found.notes[:2])
            raise InvalidData(f"No candidate could be fitted. {reasons}")
        first = self.options[0]
        return Entry(first.title, first, float("nan"), float("nan"), min(len(self.y), AFTER_INTERRUPT), 0, 0.0)

    def _pipeline(self, candidate: Candidate, rows: Array) -> Any:
        return pipeline(candidate, self.sheet.columns, self.sheet.target, self.y[rows], self.most)

    def _judged(self, candidate: Candidate, trial: int) -> tuple[HeldOut, float]:
        """Fit without the rows kept aside and judge on them; also return how long the fit took."""
        target = self.sheet.target
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
            seconds = (
                0.3 if self.found.is_interrupted else max(0.3, min(5.0, 0.1 * self.clock.budget, self.clock.left / 3))
            )
            found = judge(
                model, self.X[held], self.y[held], constant, self.sheet.columns, target, self.held_rows,
                seconds=seconds, seed=self.seed,
            )  # fmt: skip
            shared = None if candidate.is_constant else self._contributions(model, held, rows)
            progress.step(message=f"on {len(held):,} rows that were kept aside")
        return replace(found, rows=self.places[held], contributions=shared), spent

    def _contributions(self, model: Any, held: Array, rows: Array) -> Contributions:
        """Explain some of the rows kept aside, compared with rows of the fit, in the share of time that is kept for it."""
        if self.found.is_interrupted:
            return Contributions(None, "Ctrl-C came")
        seconds = min(SHARE * self.clock.budget, self.clock.left / 4)
        X, background = self.X[held], self.X[rows[:BACKGROUND]]  # in random order already
        sheet = self.sheet
        return contributions(model, X, background, sheet.columns, sheet.target, seconds=seconds, seed=self.seed)

    def _fitted(self, candidate: Candidate, final: int) -> Any:
        with Progress("fitting") as progress:
            model = self._fitted_on(candidate, final)
            progress.step(message=f"{candidate.title} on {final:,} rows")
        return model

    def _fitted_on(self, candidate: Candidate, final: int) -> Any:
        rows = self.order[:final]
        model = self._pipeline(candidate, rows)
        seconds = max(1.0, self.clock.left - 0.3 * self.reserve)
        return fit_quietly(model, self.X[rows], self.y[rows], seconds, self.clock)

    def _checked(self, model: Any, fitted: int, candidate: Candidate) -> Checked | None:
        parts = [part for part, _ in candidate.parts] or [candidate]
        size = fitted * sum(prepared_width(self.sheet.columns, self.most, form=one.preparation) for one in parts)
        trees = fitted * sum(one.is_of_trees for one in parts)
        seconds = SECONDS_TO_CHECK * size + SECONDS_TO_CHECK_TREES * trees + 0.5
        if size > MOST_CHECKED or self.clock.left < seconds or self.found.is_interrupted:
            return None
        from qed.verify import verify  # noqa: PLC0415

        rows = self.order[:fitted]
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
        story = self.sheet.story
        notes = [*story.notes, *self.found.notes]
        if fitted < len(self.y):
            limit = row_limit(winner.candidate, self.sheet.columns, self.most) if winner.candidate else fitted
            why = "memory allows no more" if fitted == limit else "the time allows no more"
            why = "Ctrl-C came" if self.found.is_interrupted else why
            notes.append(f"The model was fitted on {fitted:,} of {len(self.y):,} rows: {why}.")
        if trial < len(self.train):
            notes.append(f"The held-out judgement is about a model fitted on {trial:,} rows.")
        notes += self._told_of_few(held_out)
        notes += self._told_of_leaks(held_out)
        if self.copies:
            notes.append(self._told_of_copies())
        if winner.candidate is not None and winner.candidate.is_constant:
            notes.append(
                f"No candidate was better than a constant, on rows it had not seen, by more than chance allows: these columns tell"
                f" nothing about {self.sheet.target.name!r} that can be relied on. The model is that constant."
            )
        scores = {name: float(score.value) for name, score in held_out.scores.items()}
        if held_out.bound is not None and np.isfinite(held_out.bound.bound):
            scores[BOUND] = float(held_out.bound.bound)
        new = replace(
            story,
            rows_fitted=fitted,
            held_out=int(self.held.sum()),
            seconds=self.clock.spent,
            candidate=winner.title,
            scores=scores,
            notes=tuple(notes),
            is_interrupted=self.found.is_interrupted,
        )
        return replace(self.sheet, story=new)

    def _told_of_few(self, held_out: HeldOut) -> list[str]:
        """Warn where scores rest on few rows, or where one class is rare."""
        words = []
        if len(held_out.actual) < FEW_HELD:
            words.append(
                f"Only {len(held_out.actual)} rows could be kept aside, so that the scores are rough. The comparison by"
                " cross-validation rests on more rows."
            )
        if TOP in held_out.scores:
            labels = self.sheet.target.labels
            share = float(np.mean(self.y))
            rare, often = (labels[1], labels[0]) if share < 0.5 else (labels[0], labels[1])
            small = 100 * min(share, 1 - share)
            words.append(
                f"Only {small:.2g} % of rows are {rare!r}, so that accuracy says little: always {often!r} is right in"
                f" {100 - small:.4g} %. Rank rows by their probability instead: {TOP!r} says how many of {rare!r} are among the"
                " tenth of rows with the highest."
            )
        return words

    def _told_of_leaks(self, held_out: HeldOut) -> list[str]:
        """Question a nearly perfect score, and name the column that alone nearly decides the target."""
        scores, base = held_out.scores, held_out.baseline
        name = "R²" if "R²" in scores else "log loss"
        if name not in scores or name not in base:
            return []
        left = 1 - scores["R²"].value if name == "R²" else scores[name].value / max(base[name].value, 1e-300)
        if left > NEARLY_PERFECT:
            return []
        constant = float(np.var(held_out.actual)) if name == "R²" else base[name].value
        alone = [one.name for one in held_out.importances if one.rise > 0.5 * constant]
        if len(alone) != 1:
            return [
                "The score is nearly perfect. Is one of the columns known only after the target? Then leave it out with --drop."
            ]
        words = (
            f"The score is nearly perfect, and one column alone, {alone[0]!r}, nearly decides the target: is it known beforehand?"
            f" If not, leave it out with --drop {shlex.quote(alone[0])}."
        )
        return [words]

    def _told_of_copies(self) -> str:
        verb = "rows are copies" if self.copies > 1 else "row is a copy"
        head = f"{self.copies:,} {verb} of other rows, in every column used and in the target. "
        if self.twins is None:
            return (
                head
                + "They stand on both sides of the splits, so that the scores look better than they are. Remove them."
            )
        return head + (
            "Copies stay on one side of every split, so that no row is judged by a model that has seen its twin. If they are"
            " there by mistake, remove them: they count twice in the model."
        )


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
