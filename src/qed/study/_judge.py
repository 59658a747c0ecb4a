"""The winner, judged on rows that took no part in choosing it: how good, how sure, which columns matter, where it fails."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._densities import Density, densities
from qed.study._effects import Effect, effects
from qed.study._losses import FLOOR, answers, decided, row_losses
from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.certificates import HeldOutCertificate
    from qed.metrics import Score
    from qed.study._clock import Clock
    from qed.study._contributions import Contributions
    from qed.study._raw import RawTable
    from qed.study._schema import ColumnSchema, TargetSchema


Array = np.ndarray[Any, Any]

MOST_ROWS = 20_000  # an interval from so many rows is narrow enough
SHUFFLED_ROWS = 2_000
FEWEST_SHUFFLED = 200  # rows
SHUFFLES = 3
ALWAYS_SHUFFLED = 30  # columns: with few rows they take a moment, and people want to see them all
MOST_EFFECTS = 6
RARE = 0.1  # share of a class below which accuracy says little, and it is worth knowing whom to look at first
TOP = "found in the top tenth"
COST = "cost a row"
FEWEST_SCORED = 3  # rows that an interval can be made of


@dataclass(frozen=True)
class Importance:
    """How much worse the model is without a column: the rise of its loss when the column's entries are shuffled."""

    name: str
    rise: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Group:
    """How the model does on some of the rows."""

    column: str
    label: str
    n_rows: int
    loss: float
    lower: float
    upper: float
    bias: float


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows say about the winner, fitted without them.

    Attributes
    ----------
    actual : ndarray of shape (n,)
        The truth: numbers, or numbers of classes.
    predicted : ndarray of shape (n,)
        The predictions, likewise.
    shares : ndarray of shape (n, classes) or None
        The probabilities.
    scores, baseline : dict of str to Score
        Scores with intervals, of the model and of a constant.
    importances : tuple of Importance
        Columns, the most important first; of a wide table those that there was time for.
    groups : tuple of Group
        Groups of rows, the worst first.
    overall : float
        The mean loss in the unit of the groups: absolute error, or share of mistakes.
    bound : HeldOutCertificate or None
        For numbers: what the errors of new rows stay below.
    effects : tuple of Effect
        How the prediction moves with the most important columns.
    rows : ndarray of int or None
        Where the rows stand among those of the table that have a target, counted from zero.
    contributions : Contributions or None
        What each column contributes to the predictions of some of the rows; None for a constant.
    densities : tuple of Density
        How the values of the most important columns are spread in each class.
    """

    actual: Array
    predicted: Array
    shares: Array | None
    scores: dict[str, Score]
    baseline: dict[str, Score]
    importances: tuple[Importance, ...]
    groups: tuple[Group, ...]
    overall: float
    bound: HeldOutCertificate | None
    effects: tuple[Effect, ...] = ()
    rows: Array | None = None
    contributions: Contributions | None = None
    densities: tuple[Density, ...] = ()

    def with_costs(self, alarm: float, missed: float) -> HeldOut:
        """Return the same with what mistakes cost a row, before the other scores; of a constant, that of the cheaper class."""
        truth, called = self.actual[:MOST_ROWS] > 0, self.predicted[:MOST_ROWS] > 0
        if len(truth) < FEWEST_SCORED:
            return self
        own, never, always = (alarm * (one & ~truth) + missed * (~one & truth) for one in (called, False, True))
        cheaper = min(never, always, key=np.mean)
        scores = {COST: _mean_interval(own), **self.scores}
        return replace(self, scores=scores, baseline={COST: _mean_interval(cheaper), **self.baseline})


def judge(
    model: Any,
    X: Array,
    y: Array,
    constant: Any,
    columns: Sequence[ColumnSchema],
    target: TargetSchema,
    rows: RawTable,
    *,
    clock: Clock,
    seed: int,
) -> HeldOut:
    """Judge a fitted pipeline on rows it has not seen.

    Parameters
    ----------
    model : Pipeline
        The winner, fitted on other rows.
    X, y : ndarray
        Held-out rows.
    constant : float or ndarray
        What a constant would say: the mean, or the shares of the classes.
    columns, target : schemas
        What they are.
    rows : RawTable
        The same rows as they were read, for groups.
    clock : Clock
        Time for shuffling columns.
    seed : int
        For the shuffles.
    """
    said = answers(model, X, target)
    shares = None if target.task == "regression" else said
    predicted = said if shares is None else decided(shares, target).astype(np.float64)
    if shares is None:
        guess: Any = np.full(len(y), float(constant))
        guessed_shares = None
    else:
        guessed_shares = np.tile(np.asarray(constant, np.float64), (len(y), 1))
        guess = np.full(len(y), float(np.argmax(constant)))
    errors = np.abs(y - predicted) if shares is None else (y != predicted).astype(np.float64)
    bound = None
    if shares is None:
        from qed.certificates import error_quantile  # noqa: PLC0415

        bound = error_quantile(errors, 0.05, 0.9)
    ranked = importances(model, X, y, columns, target, clock=clock, seed=seed)
    leading = [one.name for one in ranked if one.lower > 0][:MOST_EFFECTS]
    return HeldOut(
        y,
        predicted,
        shares,
        scores_of(y, predicted, shares, target),
        scores_of(y, guess, guessed_shares, target),
        ranked,
        groups(errors, y - predicted, rows, columns),
        float(errors.mean()),
        bound,
        effects(model, X, columns, target, leading, seed),
        densities=densities(X, y, columns, target, leading),
    )


def scores_of(y: Array, predicted: Array, shares: Array | None, target: TargetSchema) -> dict[str, Score]:
    """Return the scores of a task, each with a 95 % interval."""
    from qed.metrics import score_interval  # noqa: PLC0415

    y, predicted = y[:MOST_ROWS], predicted[:MOST_ROWS]
    found: dict[str, Score] = {}
    if len(y) < FEWEST_SCORED:
        return found
    if shares is None:
        found["mean absolute error"] = score_interval("mean_absolute_error", y, predicted)
        found["root mean squared error"] = score_interval("root_mean_squared_error", y, predicted, n_resamples=300)
        found["R²"] = score_interval("r2_score", y, predicted, n_resamples=300)
        return found
    shares = np.clip(shares[:MOST_ROWS], FLOOR, 1)
    labels = y.astype(np.int64)
    found["accuracy"] = score_interval("accuracy_score", labels, predicted.astype(np.int64))
    losses = -np.log(shares[np.arange(len(y)), labels])
    found["log loss"] = _mean_interval(losses)
    if target.task == "binary" and min(np.count_nonzero(labels), np.count_nonzero(labels == 0)) >= 2:
        found["ROC area"] = score_interval("roc_auc_score", labels, shares[:, 1])
        rare = int(np.mean(labels) < 0.5)
        if np.mean(labels == rare) < RARE and np.ptp(shares[:, rare]) > 0:
            first = np.zeros(len(labels), np.int64)
            first[np.argsort(-shares[:, rare], kind="stable")[: math.ceil(0.1 * len(labels))]] = 1
            found[TOP] = score_interval("recall_score", (labels == rare).astype(np.int64), first)
    return found


def _mean_interval(losses: Array) -> Score:
    from qed.metrics import Score  # noqa: PLC0415

    half = 1.96 * float(losses.std(ddof=1)) / math.sqrt(len(losses))
    value = float(losses.mean())
    return Score(value, max(0.0, value - half), value + half, 0.95, len(losses), "student")


def importances(
    model: Any, X: Array, y: Array, columns: Sequence[ColumnSchema], target: TargetSchema, *, clock: Clock, seed: int
) -> tuple[Importance, ...]:
    """Shuffle one column at a time and see how much the loss rises; the interval is over rows.

    Columns that move with the prediction come first; of a wide table those that time does not allow are left out.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(y))[:SHUFFLED_ROWS]
    begin = clock.now()
    before = row_losses(model, X[rows], y[rows], target)
    # where time is short, fewer rows for all columns and not fewer columns
    used = [column for column in columns if column.is_used]
    needed = (clock.now() - begin) * len(used)
    rows = rows[: max(FEWEST_SHUFFLED, int(len(rows) * min(1.0, 0.7 * clock.budget / max(needed, 1e-9))))]
    X, y, before = np.array(X[rows], order="F"), y[rows], before[: len(rows)]
    places = _places(used)
    found: list[Importance] = []
    for at in _promising(X, places, answers(model, X, target)):
        spent = clock.now() - begin
        if len(found) >= ALWAYS_SHUFFLED and spent > clock.budget:
            break
        place = places[at]
        kept = X[:, place].copy()
        rise = np.zeros(len(y))
        repeats = SHUFFLES if spent < clock.budget / 2 else 1
        for _ in range(repeats):
            X[:, place] = kept[random.permutation(len(y))]
            rise += (row_losses(model, X, y, target) - before) / repeats
        X[:, place] = kept
        half = 1.96 * float(rise.std(ddof=1)) / math.sqrt(len(y)) if len(y) > 1 else math.inf
        mean = float(rise.mean())
        found.append(Importance(used[at].name, mean, mean - half, mean + half))
    return tuple(sorted(found, key=lambda one: -one.rise))


def _places(used: Sequence[ColumnSchema]) -> list[slice]:
    """Return where each column stands in the matrix."""
    ends = np.cumsum([0, *(column.width for column in used)]).tolist()
    return [slice(low, high) for low, high in itertools.pairwise(ends)]


def _promising(X: Array, places: Sequence[slice], said: Array) -> list[int]:
    """Order columns by their correlation with what the model says, the largest first."""
    filled = np.where(np.isnan(X), 0.0, X)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        centred, goal = filled - filled.mean(axis=0), said.reshape(len(said), -1)
        goal = goal - goal.mean(axis=0)
        sizes = np.linalg.norm(centred, axis=0)[:, np.newaxis] * np.linalg.norm(goal, axis=0)
        found = np.nan_to_num(np.abs(centred.T @ goal) / sizes, nan=0.0, posinf=0.0).max(axis=1)
    return sorted(range(len(places)), key=lambda at: -float(found[places[at]].max(initial=0.0)))


def groups(errors: Array, residuals: Array, rows: RawTable, columns: Sequence[ColumnSchema]) -> tuple[Group, ...]:
    """Return the groups of rows on which the model does worst: categories, yes and no, and quarters of numbers."""
    found = []
    overall = float(errors.mean())
    for column in columns:
        if column.kind not in ("category", "code", "yes/no", "number"):
            continue
        raw = rows.column(column.name)
        if column.kind == "number":
            labels, codes = _quarters(raw.values)
        else:
            codes, labels = raw.as_words()
        for at, label in enumerate(labels):
            inside = codes == at
            n = int(np.count_nonzero(inside))
            if n < 10 or n > 0.9 * len(errors):
                continue
            mean = float(errors[inside].mean())
            half = 1.96 * float(errors[inside].std(ddof=1)) / math.sqrt(n)
            found.append(
                Group(column.name, label, n, mean, max(0.0, mean - half), mean + half, float(residuals[inside].mean()))
            )
    # the worst of many small groups is bad by chance: rank by the lower end of the interval
    worst = [group for group in found if group.loss > overall]
    return tuple(sorted(worst, key=lambda group: -group.lower)[:8])


def _quarters(values: Any) -> tuple[list[str], Array]:
    if values is None or np.isnan(values).all():
        return [], np.zeros(0, np.int64)
    edges = np.unique(np.nanquantile(values, [0.25, 0.5, 0.75]))
    codes = np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
    spread = float(np.nanmax(values) - np.nanmin(values))
    digits = 3 - math.floor(math.log10(spread)) if spread > 0 else 3  # enough to tell the edges apart
    shown = [text_of(round(float(edge), digits)).replace("-", "\u2212") for edge in edges]
    labels = [f"below {shown[0]}"]
    labels += [f"{low} to {high}" for low, high in itertools.pairwise(shown)]
    labels.append(f"{shown[-1]} and above")
    return labels, codes
