"""Proximal points, each found by Newton's method in one dual variable a row: for many columns, of which a weak penalty uses many.

A proximal point minimises ``objective + |w - w_k|²/(2 reach)``. With v the adjoint product of the dual variables u, its
coefficients are ``prox(w_k - reach v)``, exact zeros among them, and u minimises

    Σ c ℓ*(u)  +  what is left of the penalty at w_k - reach v         between the ends of u,

whose second derivatives are ``c bend`` on the diagonal and the products of rows over the columns in use alone. Projected Newton
steps solve that; then w_k moves, the reach grows, and few points later it is as good as infinite. Where coordinates must
follow each other along narrow valleys, thousands of sweeps long, this is some tens of systems of equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex._gap import PointCache
from qed.convex._solve import Iterate
from qed.convex.solvers._dual_ascent import read_ascent
from qed.designs import Dense, Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


LARGEST = 4000  # unknowns of a system of equations that is worth factorising
GROW = 5.0  # of the reach, from point to point
POINTS, STEPS = 60, 150  # proximal points, and Newton steps towards each
LOST = 5  # points that were not found
SHARE = 0.3  # of what the point has moved, that its own gap may leave
STRONG = 150.0  # pull on a coefficient, in units of its penalty, beyond which valleys are narrow
HALVINGS = 30


class _Seen(NamedTuple):
    """Dual variables, what follows from them, and the value that is minimised."""

    u: Vector
    w: Vector
    t: Vector
    v: Vector
    value: float


class ProximalNewton:
    """Newton's method on proximal points, for an l1 penalty and losses with a quadratic piece between two straight ones."""

    name = "proximal newton"

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Refuse what is not absolute values, one score a row, a bend of the conjugate, and a table in memory."""
        n, p = problem.shape
        told = problem.penalty.numbers(p)
        if (
            problem.penalty.traits.native != "kinks"
            or len(told) != 3
            or told[2] != 0
            or not problem.penalty.traits.is_bounding
        ):
            return "it needs a penalty of absolute values"
        if problem.free_intercept or problem.centre is not None:
            return "it needs an intercept that is the coefficient of a constant column, or none"
        if not isinstance(problem.design, Dense | Sparse) or n > LARGEST:
            return f"it needs a table of at most {LARGEST} rows in memory"
        if problem.loss.traits.n_scores > 1 or problem.loss.y.ndim > 1 or not problem.loss.traits.is_convex:
            return "it needs a convex loss, one score a row"
        losses = None if problem.loss.traits.native == "logistic" else read_ascent(problem)
        if losses is None or not losses.bend > 0 or losses.width > 0:
            return "it needs a loss whose conjugate is quadratic"
        return None

    @staticmethod
    def takes(n: int, p: int, pull: float) -> bool:
        """Say whether it is the best choice for a wide array, where losses pull up to so many times as hard as penalties."""
        return n < p and n <= LARGEST and pull > STRONG

    def cost(self, problem: Problem, tol: float) -> float:  # noqa: ARG002
        """Predict some tens of systems of equations."""
        n, p = problem.shape
        small = min(n, p)
        entries = n * p if isinstance(problem.design, Dense) else problem.design.table.nnz  # type: ignore[attr-defined]
        return float(40 * (1e-3 + 5e-9 * entries + 1e-10 * small**3))

    def run(self, problem: Problem, start: tuple[Vector, Any], target: float) -> Iterator[Iterate]:
        """Yield the proximal points."""
        inner = _Inner(problem)
        w = np.asarray(start[0], dtype=np.float64)
        u = inner.clipped((problem.scores(w, 0.0) - inner.kink) / inner.bend)
        spans = problem.spans[problem.spans > 0]
        if not len(spans):
            yield Iterate(w, start[1])
            return
        inner.reach = inner.bend / float(np.median(spans**2))
        lost = 0
        for _ in range(POINTS):
            at, steps, is_found = inner.point(w, u, 0.1 * target)
            if not is_found:  # too far for its equations: a point nearer by
                lost += 1
                if lost > LOST:
                    return
                inner.reach /= GROW**2
                yield Iterate(w, start[1], hint=np.inf, steps=max(1, steps))
                continue
            w, u = at.w, at.u
            yield Iterate(w, start[1], u, inner.gap(at), PointCache(t=at.t), more_coming=True, steps=max(1, steps))
            inner.reach *= GROW


class _Inner:
    """The problem of one proximal point."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        losses = read_ascent(problem)
        assert losses is not None  # noqa: S101  refused before
        self.kink, self.low, self.high, self.bend = losses.kink, losses.low, losses.high, losses.bend
        self.c = problem.share
        self.reach = self.length = 1.0
        table = problem.design.table  # type: ignore[attr-defined]  # in memory, or refused
        self.table = table if isinstance(table, np.ndarray) else table.tocsc()

    def clipped(self, u: Vector) -> Vector:
        """Return dual variables between their ends."""
        return np.clip(u, self.low, self.high)

    def point(self, w: Vector, u: Vector, target: float) -> tuple[_Seen, int, bool]:
        """Find the proximal point of w; return it, the steps that led there, and whether they did."""
        at = self._look(w, u)
        for step in range(STEPS):
            gradient = self.c * (self.bend * at.u + self.kink - at.t)
            left = float(self.c @ self.problem.loss.excess(at.t, at.u))
            moved = 0.5 * float(np.sum((at.w - w) ** 2)) / self.reach
            if left <= max(target, SHARE * moved):
                return at, step, True
            new = self._step(w, at, gradient)
            if new is None:
                return at, step, False
            at = new
        return at, STEPS, False

    def _look(self, w: Vector, u: Vector) -> _Seen:
        problem = self.problem
        v = problem.adjoint(u)
        new = problem.penalty.prox(w - self.reach * v, self.reach)
        t = self._scores(new)
        away = new - w
        value = float(self.c @ (u * (0.5 * self.bend * u + self.kink)))
        value -= float(v @ new) + problem.penalty.value(new) + 0.5 * float(away @ away) / self.reach
        return _Seen(u, new, t, v, value)

    def _scores(self, w: Vector) -> Vector:
        used = np.flatnonzero(w)
        if 4 * len(used) > len(w):
            return self.problem.scores(w, 0.0)
        return np.asarray(self.table[:, used] @ w[used], dtype=np.float64)

    def _step(self, w: Vector, at: _Seen, gradient: Vector) -> _Seen | None:
        """Take a Newton step in the variables that are free to move, bent where it meets their ends."""
        held = ((at.u <= self.low) & (gradient > 0)) | ((at.u >= self.high) & (gradient < 0))
        free = np.flatnonzero(~held)
        if not len(free):
            return None
        d = -self._solve(free, np.flatnonzero(at.w), gradient[free])
        length = min(1.0, 4.0 * self.length)
        for _ in range(HALVINGS):
            u = at.u.copy()
            u[free] = u[free] + length * d
            u = self.clipped(u)
            new = self._look(w, u)
            if new.value <= at.value + 1e-4 * float(gradient @ (u - at.u)):
                self.length = length
                return new
            length *= 0.5
        return None

    def _solve(self, free: Any, used: Any, g: Vector) -> Vector:
        """Solve ``(c bend + reach c X X' c) d = g`` over free rows and used columns, in the smaller of both."""
        c = self.c[free]
        root = np.sqrt(c / self.bend)
        part = self.table[:, used][free] if len(used) else np.zeros((len(free), 0))
        part = np.asarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype=np.float64)
        A = part * root[:, np.newaxis]
        h = g / (root * self.bend)  # in units of root: (1 + reach A A') (root bend d) = h
        m, k = A.shape
        if k == 0:
            x = h
        elif m <= k:
            matrix = self.reach * (A @ A.T)
            matrix[np.arange(m), np.arange(m)] += 1.0
            x = np.linalg.solve(matrix, h)
        else:
            matrix = A.T @ A
            matrix[np.arange(k), np.arange(k)] += 1.0 / self.reach + 1e-15 * float(matrix.trace())
            x = h - A @ np.linalg.solve(matrix, A.T @ h)
        return np.asarray(x / (root * self.bend))

    def gap(self, at: _Seen) -> float:
        """Return what separates the coefficients from the dual variables, shrunk until they are feasible."""
        problem, nothing = self.problem, np.zeros_like(at.v)
        best = np.inf
        for u, v in ((at.u, at.v), (problem.loss.slope(at.t), None)):
            z = -(problem.adjoint(u) if v is None else v)
            factor = problem.penalty.shrink(z, nothing)
            excess = float(self.c @ problem.loss.excess(at.t, factor * u))
            best = min(best, excess + problem.penalty.excess(at.w, factor * z, nothing)[0])
        return best
