"""Learning one row at a time: what is carried from row to row, and passes over rows.

A learner is a `Rule` (which loss, how long a step, what penalty) and a `Memory` (coefficients, sums for their running mean,
counts). ``learn`` gives a memory and some rows to compiled code and returns the memory after them. Several problems, one for
each class against the others, share every visit to a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._mixture import Met
from qed.core import InvalidData
from qed.core._records import expect, expect_array, record
from qed.linear_model._kernels import online_passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


# in the order of the compiled code
LOSSES = (
    "perceptron",
    "hinge",
    "squared_hinge",
    "modified_huber",
    "log_loss",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
STEPS = ("constant", "optimal", "invscaling", "pa1", "pa2")


class Rule(NamedTuple):
    """How a row moves the coefficients.

    Attributes
    ----------
    loss, steps : str
        One of ``LOSSES`` and one of ``STEPS``.
    eta, power, alpha, offset : float
        Length of a step: ``eta``, ``1 / (alpha (offset + t))``, ``eta / t**power``, or as far as the loss asks, at most ``eta``.
    ridge, lasso : float
        Strengths of half the sum of squares, and of the sum of absolute values.
    width : float
        Of the insensitive losses, and where Huber's turns straight.
    intercept : bool
        Whether the intercept moves.
    competes : bool
        Whether classes compete: the best wrong one loses what the right one gains.
    margin : float
        By which the right class must win.
    batch : int
        Rows that are scored before the coefficients move by their mean step.
    """

    loss: str
    steps: str = "constant"
    eta: float = 1.0
    power: float = 0.5
    alpha: float = 0.0
    offset: float = 0.0
    ridge: float = 0.0
    lasso: float = 0.0
    width: float = 0.0
    intercept: bool = True
    competes: bool = False
    margin: float = 0.0
    batch: int = 1


class Visits(NamedTuple):
    """In which order rows are visited: as they come, shuffled before every pass, or drawn with replacement."""

    shuffles: bool = False
    replaces: bool = False


class Stop(NamedTuple):
    """When passes end: after ``most``; or when every problem has ended.

    A problem ends after ``patience`` passes in a row whose sum of losses and penalties did not fall by ``least`` below the best,
    or, with ``when_clean``, without mistakes, which then take the place of losses. ``together`` lets none end before the others.
    """

    most: int = 1
    least: float | None = None
    patience: int = 1
    when_clean: bool = False
    together: bool = False


class Trail:
    """What a course leaves beside the memory, for each problem; passes write to it.

    Attributes
    ----------
    best : ndarray of shape (k,)
        Least sum of a pass.
    idle : ndarray of int of shape (k,)
        Passes without progress; -1 for a problem that ended without mistakes.
    slopes : ndarray of shape (k, n) or None
        Sums of the slopes that each row's loss had when the row was met, over the last ``recorded`` of ``passes`` passes.
    """

    def __init__(self, problems: int, rows: int | None = None) -> None:
        self.best = np.full(problems, np.inf)
        self.idle = np.zeros(problems, dtype=np.int64)
        self.slopes = None if rows is None else np.zeros((problems, rows), dtype=np.float32)
        self.passes = self.recorded = 0

    def met(self, problem: int) -> Met | None:
        """Return the mean slope that each row had, None if nobody wrote it down."""
        if self.slopes is None or not self.recorded:
            return None
        return Met(self.slopes[problem], 1.0 / self.recorded)


@record("online-memory")
class Memory:
    """What a learner carries from one row to the next.

    Attributes
    ----------
    w : ndarray of shape (k, p)
        Coefficients of k problems.
    b : ndarray of shape (k,)
        Intercepts.
    lag, b_sum, mass : ndarray or None
        The sum of all coefficients there have been is ``mass w - lag``, that of the intercepts ``b_sum``.
    paid : ndarray or None
        What the penalty of absolute values has taken from each coefficient, and ``owed``, what it could have taken.
    steps, averaged : float
        Steps taken, and those in the running mean.
    seed : int
        State of the stream that orders are drawn from.
    rows, mistakes : int
        Rows shown so far, and how many were on the wrong side when they were, in all problems.
    best, idle : float, int
        What older files say about when to stop; each course now keeps a `Trail` of its own.
    """

    w: NDArray[np.float64]
    b: NDArray[np.float64]
    mass: NDArray[np.float64]
    b_sum: NDArray[np.float64]
    seed: int
    lag: NDArray[np.float64] | None = None
    paid: NDArray[np.float64] | None = None
    owed: float = 0.0
    steps: float = 0.0
    averaged: float = 0.0
    average_from: float = 0.0
    rows: int = 0
    mistakes: int = 0
    best: float = float("inf")
    idle: int = 0

    def check(self) -> None:
        """Refuse a memory that no learner has."""
        k = len(self.b)
        expect_array(self.w, "online_memory.w", shape=(k, None), finite=True)
        for name in ("b", "mass", "b_sum"):
            expect_array(getattr(self, name), f"online_memory.{name}", shape=(k,), finite=True)
        for name in ("lag", "paid"):
            if getattr(self, name) is not None:
                expect_array(getattr(self, name), f"online_memory.{name}", shape=self.w.shape, finite=True)
        expect(
            min(self.steps, self.averaged, self.rows, self.mistakes, self.seed) >= 0,
            "online_memory has negative counts",
        )

    @property
    def coefficients(self) -> tuple[Array, Array]:
        """Coefficients and intercepts to predict with: running means where they are kept, else the last ones."""
        if self.lag is None or self.averaged < 1:
            return self.w, self.b
        return (self.mass[:, None] * self.w - self.lag) / self.averaged, self.b_sum / self.averaged


def start(problems: int, columns: int, seed: int, rule: Rule, *, average_from: float | None = None) -> Memory:
    """Return a memory of nothing; ``average_from`` counts the steps before running means begin, None for none."""
    shape = (problems, columns)
    return Memory(
        np.zeros(shape),
        np.zeros(problems),
        np.zeros(problems),
        np.zeros(problems),
        seed,
        lag=None if average_from is None else np.zeros(shape),
        paid=np.zeros(shape) if rule.lasso > 0 else None,
        average_from=average_from or 0.0,
    )


class Learnt(NamedTuple):
    """A memory after some passes, with the loss and the mistakes of each and where they were made."""

    memory: Memory
    losses: list[float]
    mistakes: list[int]
    log: NDArray[np.int64] | None = None


def learn(
    memory: Memory,
    X: Any,
    y: Array,
    rule: Rule,
    *,
    weight: Array | None = None,
    favour: Array | None = None,
    visits: Visits = Visits(),  # noqa: B008  (a tuple)
    stop: Stop = Stop(),  # noqa: B008
    trail: Trail | None = None,
    sums_losses: bool = False,
    logs: bool = False,
    owner: str = "the learner",
) -> Learnt:
    """Show rows to a learner, pass after pass.

    Parameters
    ----------
    memory : Memory
        What it knows so far; not changed.
    X : ndarray with contiguous rows, or CSR
        Rows.
    y : ndarray of shape (n,)
        ±1 or numbers for one problem, the number of the class for several.
    rule : Rule
        How it learns.
    weight : ndarray of shape (n,), optional
        Of the rows.
    favour : ndarray of shape (k, 2), optional
        Weights of the negative and the positive rows of each problem.
    visits, stop : Visits, Stop
        In which order, and how long.
    trail : Trail, optional
        That of the course, which is written to.
    sums_losses : bool
        Whether to sum the losses, each as it was before the row was learnt.
    logs : bool
        Whether to tell at which places of a pass the coefficients moved.
    owner : str
        Name of the model, for messages.

    Returns
    -------
    Learnt
        The memory after the rows.
    """
    n = X.shape[0]
    w, b, mass, b_sum = memory.w.copy(), memory.b.copy(), memory.mass.copy(), memory.b_sum.copy()
    lag, paid = (None if part is None else part.copy() for part in (memory.lag, memory.paid))
    scale = np.ones(len(b))
    trail = Trail(len(b)) if trail is None else trail
    counts = (trail.passes, trail.recorded)
    numbers = np.array([memory.owed, memory.steps, memory.averaged, memory.average_from, 0.0, *counts])
    log = np.empty(n * stop.most, dtype=np.int64) if logs else None
    by_loss = stop.least is not None
    losses, mistakes, seed = online_passes(
        X,
        y,
        weight,
        favour,
        (LOSSES.index(rule.loss), rule.width, STEPS.index(rule.steps), *rule[2:6], rule.ridge, rule.lasso, *rule[9:]),
        (w, b, scale, lag, b_sum, mass, paid, log, trail.slopes),
        numbers,
        visits,
        memory.seed,
        (stop.most, by_loss, stop.least or 0.0, *stop[2:], trail.best, trail.idle),
        sums_losses=sums_losses,
    )
    owed, steps, averaged, _, logged, passes, recorded = numbers.tolist()
    trail.passes, trail.recorded = int(passes), int(recorded)
    w *= scale[:, np.newaxis]
    mass /= scale
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise diverged(owner)
    rows, wrong = memory.rows + n * len(losses), memory.mistakes + sum(mistakes)
    after = Memory(
        w,
        b,
        mass,
        b_sum,
        seed,
        lag,
        paid,
        owed,
        steps,
        averaged,
        memory.average_from,
        rows,
        wrong,
        memory.best,
        memory.idle,
    )
    if lag is not None:  # sums may overflow where no term does
        with np.errstate(over="ignore", invalid="ignore"):
            if not all(np.isfinite(part).all() for part in after.coefficients):
                raise diverged(owner)
    return Learnt(after, losses, mistakes, None if log is None else log[: int(logged)])


def diverged(owner: str) -> InvalidData:
    """Say that steps were too long."""
    return InvalidData(
        f"The coefficients of {owner} grew beyond all bounds: its steps are too long for these columns. Standardise the columns,"
        " lower eta0, or choose learning_rate='optimal'."
    )


def optimal_offset(loss: str, alpha: float, width: float) -> float:
    """Return where the steps ``1 / (alpha (offset + t))`` begin, so that a first step is about as long as the answer.

    With a penalty of strength alpha, coefficients are about ``alpha**-(1/4)`` long; a step of that length along a row of
    length one is the longest that makes sense.
    """
    typical = np.sqrt(1.0 / np.sqrt(alpha))
    steepest = {
        "hinge": 1.0,
        "perceptron": 1.0,
        "log_loss": 1.0 / (1.0 + np.exp(-typical)),
        "squared_hinge": 2.0 * (1.0 + typical),
        "modified_huber": min(4.0, 2.0 * (1.0 + typical)),
        "squared_error": 1.0 + typical,
        "huber": min(width, 1.0 + typical),
        "epsilon_insensitive": 1.0,
        "squared_epsilon_insensitive": 2.0 * (1.0 + typical),
    }[loss]
    return float(max(1.0, steepest) / (typical * alpha))
