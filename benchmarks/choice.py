"""`python -m benchmarks.choice [--only words] [--rounds N]`: is the solver with the least predicted cost also the fastest?

Every problem of a small grid is solved by each solver that takes it, to the same certified gap. An alternative is stopped once
it has taken twice as long as the chosen solver: by then it has lost. The table goes to CHOICE.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import L1, L2, Huber, Logistic, Poisson, Problem, Quantile, Softmax, Squared, choose, solve
from qed.convex import solvers as every
from qed.core._events import STOP, Progress, listen
from qed.core._threads import one_blas_thread
from qed.designs import design

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.convex import Solver

PAGE = Path(__file__).with_name("CHOICE.md")
TOL = 1e-6
STEPS = 100_000
LOST = 2.0  # times as long as the chosen solver, after which an alternative is stopped
FINE = 1.3  # times as long as the best, up to which a choice is a good one
SOLVERS: tuple[Solver, ...] = tuple(
    getattr(every, name)()
    for name in every.__all__
    if not name.startswith("Scaled")  # those take another problem
)


@dataclass(frozen=True)
class Case:
    """A loss and a penalty on a table of a kind."""

    name: str
    shape: tuple[int, int]
    loss: Callable[[np.random.Generator, np.ndarray], Any]
    penalty: Callable[[int], Any]
    kind: str = "dense"

    def problem(self) -> Problem:
        """Draw the table and the targets."""
        rng = np.random.default_rng(7)
        n, p = self.shape
        X: Any = rng.standard_normal((n, p))
        if self.kind == "stretched":
            X *= np.geomspace(1e-3, 1e3, p)
        elif self.kind == "alike":
            X = 0.1 * X + rng.standard_normal((n, 1))
        elif self.kind == "sparse":
            from scipy.sparse import random_array

            X = random_array((n, p), density=50 / p, rng=rng, format="csr", data_sampler=rng.standard_normal)
        w = np.where(np.arange(p) % 7 == 0, rng.standard_normal(p), 0.0)
        score = np.asarray(X @ w)
        plain = design(X)
        share = np.full(n, 1.0 / n)
        loss = self.loss(rng, score / max(float(score.std()), 1e-300))
        return Problem(plain, loss, self.penalty(n), share, True, plain.adjoint_product(share))


def noisy(rng: np.random.Generator, score: np.ndarray) -> np.ndarray:
    return score + 0.5 * rng.standard_normal(len(score))


def squared(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Squared(noisy(rng, score))


def logistic(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Logistic(np.where(noisy(rng, score) > 0, 1.0, -1.0))


def softmax(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Softmax(np.digitize(noisy(rng, score), [-0.7, 0.0, 0.7]).astype(np.float64), 4)


def huber(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Huber(noisy(rng, score) + 3.0 * (rng.random(len(score)) < 0.1), 0.7)


def poisson(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Poisson(rng.poisson(np.exp(score)).astype(np.float64))


def quantile(rng: np.random.Generator, score: np.ndarray) -> Any:
    return Quantile(noisy(rng, score), 0.3)


def ridge(n: int) -> Any:
    return L2(1.0 / n)


CASES = (
    Case("lasso, tall", (20_000, 100), squared, lambda _: L1(0.05)),
    Case("lasso, wide", (300, 3000), squared, lambda _: L1(0.05)),
    Case("lasso, sparse", (5000, 10_000), squared, lambda _: L1(0.005), "sparse"),
    Case("logistic, small", (200, 10), logistic, ridge),
    Case("logistic, tall", (50_000, 50), logistic, ridge),
    Case("logistic, wide", (300, 2000), logistic, ridge),
    Case("logistic, sparse", (5000, 10_000), logistic, ridge, "sparse"),
    Case("logistic, stretched columns", (5000, 100), logistic, ridge, "stretched"),
    Case("logistic, l1, wide", (500, 2000), logistic, lambda _: L1(0.01)),
    Case("softmax, 4 classes", (5000, 30), softmax, ridge),
    Case("Huber, tall", (20_000, 50), huber, ridge),
    Case("Poisson, columns alike", (20_000, 50), poisson, ridge, "alike"),
    Case("quantile, tall, l1", (2000, 20), quantile, lambda _: L1(0.01)),
    Case("quantile, wide, l2", (300, 600), quantile, ridge),
)


def seconds(problem: Problem, solver: Solver, limit: float) -> float:
    """Return how long a solver takes to the tolerance; infinity if it was stopped or does not get there."""
    begin = time.perf_counter()
    with (
        one_blas_thread(),
        listen(lambda _: STOP if time.perf_counter() - begin > limit else None),
        Progress("choice", STEPS) as progress,
    ):
        found = solve(problem, solver, tol=TOL, max_iter=STEPS, progress=progress)
    return time.perf_counter() - begin if found.outcome == "solved" else np.inf


def measured(case: Case, rounds: int) -> tuple[str, dict[str, float]]:
    """Return the name of the chosen solver, and the least time of each."""
    able = [solver for solver in SOLVERS if solver.unsupported_reason(case.problem()) is None]
    chosen = choose(case.problem(), able, TOL)
    best = {type(solver).__name__: np.inf for solver in able}
    for _ in range(rounds):
        for solver in (chosen, *(one for one in able if one is not chosen)):
            name, limit = type(solver).__name__, LOST * best[type(chosen).__name__]
            if solver is not chosen and best[name] == np.inf and _ > 0:
                continue  # it has lost
            best[name] = min(best[name], seconds(case.problem(), solver, 600.0 if solver is chosen else limit))
    return type(chosen).__name__, best


def row(case: Case, chosen: str, times: dict[str, float]) -> str:
    ratio = times[chosen] / min(times.values())
    others = ", ".join(
        f"{name} {1e3 * spent:.1f}" if np.isfinite(spent) else f"{name} slower"
        for name, spent in sorted(times.items(), key=lambda pair: pair[1])
        if name != chosen
    )
    n, p = case.shape
    word = f"{ratio:.2f}" if ratio <= FINE else f"**{ratio:.2f}**"
    return f"| {case.name} | {n}×{p} | {chosen} {1e3 * times[chosen]:.1f} | {others or '-'} | {word} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice", description=__doc__)
    parser.add_argument("--only", default="", help="comma-separated words; rows whose name contains one of them")
    parser.add_argument("--rounds", type=int, default=3, help="times that each solver is tried; the least counts")
    asked = parser.parse_args()
    words = [word.strip() for word in asked.only.split(",")]
    rows = []
    for case in CASES:
        if any(word in case.name for word in words):
            rows.append(row(case, *measured(case, asked.rounds)))
            print(rows[-1], flush=True)
    if not asked.only:
        head = (
            "# The choice of a solver\n\nA problem is given to the solver with the least predicted cost. Here all that take it"
            f" are timed, in milliseconds to a\ncertified gap of {TOL:g}, the least of {asked.rounds} rounds; one that takes"
            f" {LOST:g} times as long as the chosen one is stopped, and called slower.\nA choice is good up to {FINE:g} times"
            " the best. Written by `python -m benchmarks.choice`.\n\n| problem | shape | chosen | others | chosen / best |\n"
            "|---|---|---|---|---|\n"
        )
        PAGE.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
