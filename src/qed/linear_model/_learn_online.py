"""From the input of ``fit`` and ``partial_fit`` to stored attributes, for models that learn one row at a time."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import Classifier, InvalidParameter, generator
from qed.core._class_weights import class_weights
from qed.core._events import STOP, Progress
from qed.core._validation import stream_data
from qed.linear_model._online import Memory, Rule, Stop, Trail, Visits, learn, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qed.core import FitData

    Array = NDArray[np.float64]


SLICE = 2e7  # multiplications between looks at listeners and clocks
HALF_UNIT = 2.0**-24  # of float32: the largest relative error of a rounding


class OnlineData(NamedTuple):
    """Rows as a learner sees them: those of positive weight, targets as ±1, numbers or numbers of classes."""

    X: Any
    y: Array
    problems: int
    weight: Array | None = None
    favour: Array | None = None


class Course(NamedTuple):
    """How long a learner learns.

    Attributes
    ----------
    passes : int
        Most passes over the rows.
    tol : float or None
        A pass counts as progress when its measure falls by more than this, per row; None never stops for lack of it.
    patience : int
        Passes without progress that end the course.
    when_clean : bool
        Whether a pass without mistakes ends it; mistakes are then the measure.
    visits : Visits
        The order of the rows.
    average_from : float or None
        Steps before running means begin.
    slower : bool
        Whether lack of progress makes steps five times shorter instead of ending the course, until they are tiny.
    """

    passes: int
    tol: float | None
    patience: int
    when_clean: bool
    visits: Visits
    average_from: float | None = None
    slower: bool = False


def shown(data: FitData, *, classes: bool, favour: Array | None = None) -> OnlineData:
    """Return the rows of a fit as a learner sees them."""
    X, y, weight = data.X, np.asarray(data.y, dtype=np.float64), data.weight
    if weight is not None and not weight.all():
        used = np.flatnonzero(weight)
        X, y, weight = X[used], y[used], weight[used]
    problems = 1
    if classes and len(data.classes) > 2:
        problems = len(data.classes)
    elif classes:
        y = 2.0 * y - 1.0
    return OnlineData(X, y, problems, weight, favour)


def favours(owner: str, given: Any, classes: Any, codes: Array, weight: Array | None) -> Array | None:
    """Return the weights of the negative and positive rows of each problem, None when all are one."""
    factor = class_weights(owner, given, classes, codes, weight, may_vanish=True)
    if factor is None:
        return None
    if len(factor) == 2:
        return factor.reshape(1, 2)
    return np.column_stack([np.ones(len(factor)), factor])


def show(
    model: Any,
    memory: Memory,
    rows: OnlineData,
    rule: Rule,
    *,
    visits: Visits,
    stop: Stop,
    trail: Trail | None = None,
    logs: bool = False,
) -> Any:
    """Let a learner go through rows."""
    return learn(
        memory,
        rows.X,
        rows.y,
        rule,
        weight=rows.weight,
        favour=rows.favour,
        visits=visits,
        stop=stop,
        trail=trail,
        logs=logs,
        owner=type(model).__name__,
    )


def run(
    model: Any,
    memory: Memory,
    rows: OnlineData,
    rule: Rule,
    course: Course,
    *,
    score: Callable[[Memory], float] | None = None,
    trail: Trail | None = None,
) -> tuple[Memory, int, str]:
    """Pass over the rows until the course ends; return the memory, the number of passes and how it ended.

    ``score`` judges a memory on rows that were held out: then the best one is returned, and lack of progress is of the score.
    """
    n, p = rows.X.shape
    together = 1 if score is not None else int(max(1, min(course.passes, SLICE // max(1, n * p * rows.problems))))
    least = None if course.tol is None or score is not None else course.tol * n
    trail = Trail(rows.problems) if trail is None else trail
    done, outcome = 0, "max_iter"
    best, best_score, idle = memory, -np.inf, 0
    with Progress(type(model).__name__, course.passes, verbose=model.verbose) as progress:
        try:
            while done < course.passes:
                most = min(together, course.passes - done)
                # steps that shorten, shorten for all problems
                stop = Stop(most, least, course.patience, course.when_clean, course.slower)
                found = show(model, memory, rows, rule, visits=course.visits, stop=stop, trail=trail)
                memory, done = found.memory, done + len(found.losses)
                idles = trail.idle[: 1 if rule.competes else rows.problems].tolist()
                if max(idles) < 0:
                    outcome = "solved"
                    break
                reached = sum(trail.best.tolist()) / n
                value = reached if math.isfinite(reached) else None
                if score is not None:
                    value = score(memory)
                    idle = 0 if value > best_score + (course.tol or 0.0) else idle + 1
                    if value > best_score:
                        best, best_score = memory, value
                if progress.step(value, count=len(found.losses)) is STOP:
                    outcome = "stopped"
                    break
                stalled = all(passes < 0 or passes >= course.patience for passes in idles)
                if course.tol is not None and (stalled or idle >= course.patience):
                    if course.slower and rule.eta > 1e-6:
                        rule, idle = rule._replace(eta=rule.eta / 5), 0
                        trail.idle[:] = 0
                        continue
                    outcome = "stalled"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
    return (best if score is not None and outcome != "interrupted" else memory), max(done, 1), outcome


def stream(
    model: Any, X: Any, y: Any, sample_weight: Any, classes: Any, state: str = "memory_"
) -> tuple[FitData, bool]:
    """Let the rows of ``partial_fit`` in; the labels must be known from the first call on, which finds no ``state``."""
    if model.class_weight == "balanced":
        raise InvalidParameter(
            "class_weight 'balanced' is not supported for partial_fit: the share of each label in the stream is not known."
            " Pass a dict of weights."
        )
    return stream_data(model, X, y, sample_weight, classes, state)


def seed_of(model: Any) -> int:
    """Draw the seed of a learner's order; from nobody's seed, what the system has."""
    if model.random_state is None:
        return int.from_bytes(os.urandom(8), "little") >> 1
    return int(generator(model.random_state).integers(0, 2**63))


def begin(model: Any, rows: OnlineData, rule: Rule, course: Course) -> Memory:
    """Return a memory of nothing for these rows."""
    return start(rows.problems, rows.X.shape[1], seed_of(model), rule, average_from=course.average_from)


def stored(w: Array, dtype: Any) -> Any:
    """Return coefficients as numbers of the type of the rows: of float32 rows rounded to it, where no more than a digit is lost.

    A coefficient off by one rounding scores as one whose column is off by one, which the rows are already; one so small that
    float32 has fewer digits for it, or none, is kept as it is, and so are the others.
    """
    w = np.ascontiguousarray(w)
    if dtype != np.float32:
        return w
    with np.errstate(over="ignore", under="ignore"):
        short = w.astype(np.float32)
    return short if np.all(np.abs(short - w) <= HALF_UNIT * np.abs(w)) else w


def held_out(model: Any, rows: OnlineData, strata: Any) -> tuple[OnlineData, Any]:
    """Hold rows out; return the others, and a score of a memory on those held out."""
    from qed.model_selection import ShuffleSplit, StratifiedShuffleSplit  # noqa: PLC0415  (few fits need it)

    splitter = StratifiedShuffleSplit if isinstance(model, Classifier) else ShuffleSplit
    split = splitter(1, test_size=model.validation_fraction, random_state=model.random_state)
    inside, outside = next(iter(split.split(np.zeros((len(strata), 1)), strata)))
    part = rows._replace(
        X=rows.X[inside], y=rows.y[inside], weight=None if rows.weight is None else rows.weight[inside]
    )
    held, truth = rows.X[outside], rows.y[outside]

    def score(memory: Memory) -> float:
        w, b = memory.coefficients
        told = held @ w.T + b
        if len(w) > 1:
            return float(np.mean(told.argmax(axis=1) == truth))
        if isinstance(model, Classifier):
            return float(np.mean((told[:, 0] > 0) == (truth > 0)))
        return -float(np.mean((told[:, 0] - truth) ** 2))

    return part, score
