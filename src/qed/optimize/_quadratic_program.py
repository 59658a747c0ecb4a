"""Quadratic and linear programmes, by an interior point method of our own, with the optimality conditions as proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData
from qed.core._events import STOP, Progress
from qed.optimize._certificates import KKTCertificate
from qed.optimize._evaluate import Calls, at_least
from qed.optimize._result import Interrupted, OptimizationResult
from qed.optimize._trace import Trace

if TYPE_CHECKING:
    from qed.optimize._function import Vector


UNIT = 2.0**-53
BACK = 0.99  # share of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class _Data:
    """``min x'Px/2 + q'x`` subject to ``Gx <= h`` and ``Ax = b``."""

    P: Vector
    q: Vector
    G: Vector
    h: Vector
    A: Vector
    b: Vector

    @property
    def scale(self) -> float:
        return max(1.0, *map(_largest, (self.P, self.q, self.G, self.h, self.A, self.b)))

    def joined(self, pairs: list[tuple[int, int]]) -> _Data:
        """Return the same programme with pairs of opposite inequalities as equalities, after those that there are."""
        if not pairs:
            return self
        firsts = [i for i, _ in pairs]
        kept = np.setdiff1d(np.arange(self.h.size), np.ravel(pairs))
        A, b = np.vstack([self.A, self.G[firsts]]), np.append(self.b, self.h[firsts])
        return _Data(self.P, self.q, self.G[kept], self.h[kept], A, b)

    def balanced(self) -> tuple[_Data, float, Vector, Vector]:
        """Return the same programme with rows of length one and an objective of size one, and what they were divided by."""
        unit = max(_largest(self.P), _largest(self.q)) or 1.0
        rows, others = _lengths(self.G), _lengths(self.A)
        G, h = self.G / rows[:, np.newaxis], self.h / rows
        A, b = self.A / others[:, np.newaxis], self.b / others
        return _Data(self.P / unit, self.q / unit, G, h, A, b), unit, rows, others

    def value(self, x: Vector) -> float:
        return float(0.5 * x @ self.P @ x + self.q @ x)


class _State(NamedTuple):
    x: Vector
    s: Vector
    z: Vector
    y: Vector


def quadratic_program(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    *,
    start: Any = None,
    tol: float = 1e-9,
    max_iter: int = 200,
    verbose: int = 0,
) -> OptimizationResult:
    r"""Solve a convex quadratic programme.

    Objective
    ---------
    .. math:: \min_x \tfrac12 x^\top P x + q^\top x \quad \text{subject to} \quad G x \le h, \; A x = b

    Certificate
    -----------
    The conditions of Karush, Kuhn and Tucker at the point and its multipliers. They suffice, because P has no negative
    eigenvalue; a P that has one raises an error.

    Cost
    ----
    Some fifteen systems of p + k equations, p variables and k equalities; O(m p^2) each for m inequalities.

    Parameters
    ----------
    P : array-like of shape (p, p)
        Symmetric, without negative eigenvalues.
    q : array-like of shape (p,)
        The linear part.
    G, h : array-like of shapes (m, p) and (m,), optional
        Inequalities.
    A, b : array-like of shapes (k, p) and (k,), optional
        Equalities.
    start : array-like of shape (p,), optional
        A first point; it need not be feasible, and the optimum does not depend on it.
    tol : float
        Violations of the conditions that are small enough, relative to the largest number of the programme.
    max_iter : int
        Most steps.
    verbose : int
        Above zero, progress is shown.

    Returns
    -------
    OptimizationResult
        With ``multipliers`` of inequalities and equalities. A programme without a feasible point, or whose objective falls
        without bound, raises an error that says so.

    Examples
    --------
    >>> from qed.optimize import quadratic_program
    >>> result = quadratic_program([[2.0, 0.0], [0.0, 2.0]], [0.0, 0.0], A=[[1.0, 1.0]], b=[1.0])
    >>> result.point.tolist(), result.multipliers["equalities"].tolist()
    ([0.5, 0.5], [-1.0])
    """
    data = _read(P, q, G, h, A, b)
    at_least("tol", tol, 0, strictly=True)
    eigenvalues = np.linalg.eigvalsh(data.P)
    if eigenvalues[0] < -8 * len(eigenvalues) * UNIT * max(float(np.abs(eigenvalues).max()), 1e-300):
        raise InvalidData(
            f"quadratic_program needs a convex objective, and P has the eigenvalue {eigenvalues[0]:.3g}: the programme may "
            "have many local minima."
        )
    x = np.zeros(data.q.size) if start is None else _vector(start, data.q.size, "start")
    return _solve(data, x, tol, int(at_least("max_iter", max_iter, 1)), verbose)


def linear_program(
    c: Any, G: Any = None, h: Any = None, A: Any = None, b: Any = None, **settings: Any
) -> OptimizationResult:
    r"""Solve a linear programme: a quadratic one without curvature.

    Objective
    ---------
    .. math:: \min_x c^\top x \quad \text{subject to} \quad G x \le h, \; A x = b

    Certificate
    -----------
    As for `quadratic_program`.

    Cost
    ----
    As for `quadratic_program`.

    Parameters
    ----------
    c : array-like of shape (p,)
        The costs.
    G, h, A, b : array-like, optional
        Inequalities and equalities.
    **settings
        ``start``, ``tol``, ``max_iter`` and ``verbose``, as for `quadratic_program`.
    """
    c = np.atleast_1d(np.asarray(c, dtype=np.float64))
    return quadratic_program(np.zeros((c.size, c.size)), c, G, h, A, b, **settings)


def _solve(given: _Data, x: Vector, tol: float, max_iter: int, verbose: int) -> OptimizationResult:
    """Follow the central path to its end, then settle on the constraints that hold there."""
    pairs = _opposites(given)
    joined = given.joined(pairs)
    data, unit, rows, others = joined.balanced()
    at = _first(data, x)
    outcome, values = "max_iter", [given.value(at.x)]
    best = (at, _certificate(data, at, tol))
    interrupted = False
    with Progress("quadratic programme", max_iter, verbose=verbose) as progress, np.errstate(all="ignore"):
        try:
            for _ in range(max_iter):
                new = _step(data, at)
                if new is None:
                    outcome = "stalled"
                    break
                at = new
                values.append(given.value(at.x))
                found = _certificate(data, at, tol)
                best = (at, found) if found.relative <= best[1].relative else best
                if best[1].reached:
                    outcome = "solved"
                    break
                if progress.step(found.relative) is STOP:
                    outcome = "stopped"
                    break
                if max(float(np.max(np.abs(at.x))), float(np.max(at.z, initial=0.0))) > 1e13 * data.scale:
                    outcome = "stalled"
                    break
        except KeyboardInterrupt:
            interrupted, outcome = True, "interrupted"
        if not interrupted:
            best = _polished(data, *best, tol)
    at = _State(best[0].x, best[0].s * rows, best[0].z * unit / rows, best[0].y * unit / others)
    at = _parted(given, at, pairs)
    certificate = _certificate(given, at, tol)
    if certificate.reached and not interrupted:
        outcome = "solved"
    if outcome in ("stalled", "max_iter"):
        _explain(data, tol, np.setdiff1d(np.arange(given.h.size), np.ravel(pairs)))
    steps = np.ones(len(values) - 1)
    trace = Trace("quadratic programme", np.arange(len(values)), np.asarray(values), np.zeros(0), steps)
    reason = f"the optimality conditions hold up to {certificate.relative:.2g} after {len(steps)} steps"
    prices = {"inequalities": at.z, "equalities": at.y}
    result = OptimizationResult(
        at.x, given.value(at.x), outcome, reason, len(steps), certificate, trace, Calls(), multipliers=prices
    )
    if interrupted:
        raise Interrupted(result)
    return result


def _opposites(data: _Data) -> list[tuple[int, int]]:
    """Return pairs of inequalities that are one equality: a set without an inside stops interior points."""
    sides = np.column_stack([data.G, data.h])
    place: dict[bytes, int] = {}
    pairs = []
    for i, side in enumerate(sides):
        other = place.pop((-side + 0.0).tobytes(), None)  # adding zero makes minus zero plus zero
        if other is None:
            place[(side + 0.0).tobytes()] = i
        else:
            pairs.append((other, i))
    return pairs


def _parted(data: _Data, at: _State, pairs: list[tuple[int, int]]) -> _State:
    """Give the prices of joined inequalities back to the side that holds."""
    if not pairs:
        return at
    kept = np.setdiff1d(np.arange(data.h.size), np.ravel(pairs))
    z, y = np.zeros(data.h.size), at.y[data.b.size :]
    z[kept] = at.z
    for (i, j), price in zip(pairs, y, strict=True):
        z[i], z[j] = max(price, 0.0), max(-price, 0.0)
    return _State(at.x, np.maximum(data.h - data.G @ at.x, 0.0), z, at.y[: data.b.size])


def _first(data: _Data, x: Vector) -> _State:
    """Begin with slacks and multipliers of ordinary size, away from the boundary."""
    room = data.h - data.G @ x
    size = max(1.0, float(np.max(np.abs(room), initial=0.0)))
    s = np.maximum(room, 0.1 * size)
    return _State(
        x, s, np.full(data.h.size, max(1.0, float(np.max(np.abs(data.q), initial=0.0)))), np.zeros(data.b.size)
    )


def _step(data: _Data, at: _State) -> _State | None:
    """Take one step of Mehrotra's: predict along the affine direction, then correct for its curvature and centre."""
    x, s, z, y = at
    r_d = data.P @ x + data.q + data.G.T @ z + data.A.T @ y
    r_g, r_a = data.G @ x + s - data.h, data.A @ x - data.b
    m = s.size
    mu = float(s @ z) / m if m else 0.0
    factor = _Factor(data, s, z)
    if m == 0:
        move = factor.solve(-r_d, -r_g, -r_a, np.zeros(0))
        return None if move is None else _State(x + move.x, s, z, y + move.y)
    ahead = factor.solve(-r_d, -r_g, -r_a, -s * z)
    if ahead is None:
        return None
    reach = min(_reach(s, ahead.s), _reach(z, ahead.z), 1.0)
    later = float((s + reach * ahead.s) @ (z + reach * ahead.z)) / m
    target = mu * (later / mu) ** 3 if mu > 0 else 0.0
    move = factor.solve(-r_d, -r_g, -r_a, target - s * z - ahead.s * ahead.z)
    if move is None:
        return None
    primal, dual = min(1.0, BACK * _reach(s, move.s)), min(1.0, BACK * _reach(z, move.z))
    if data.P.any():  # with curvature the two sides share a residual, and must go together
        primal = dual = min(primal, dual)
    new = _State(x + primal * move.x, s + primal * move.s, z + dual * move.z, y + dual * move.y)
    return new if all(np.isfinite(part).all() for part in new) else None


class _Factor:
    """The linear system of a step, reduced to x and the prices of equalities."""

    def __init__(self, data: _Data, s: Vector, z: Vector) -> None:
        self.data, self.s, self.z = data, s, z
        p, k = data.q.size, data.b.size
        H = data.P + (data.G.T * (z / s)) @ data.G if s.size else data.P
        self.exact = np.block([[H, data.A.T], [data.A, np.zeros((k, k))]])
        nudge = 1e-13 * max(1.0, float(np.max(np.abs(H), initial=0.0)))
        ridge = np.concatenate([np.full(p, nudge), np.full(k, -nudge)])
        self.near = self.exact + np.diag(ridge)  # never singular; refinement takes the nudge out again

    def solve(self, r_d: Vector, r_g: Vector, r_a: Vector, r_c: Vector) -> _State | None:
        """Return the move that meets all four residuals; the last one is that of ``s z``."""
        data, s, z = self.data, self.s, self.z
        right = np.concatenate([r_d + data.G.T @ ((z * r_g - r_c) / s) if s.size else r_d, r_a])
        try:
            v = np.linalg.solve(self.near, right)
            for _ in range(3):
                v = v + np.linalg.solve(self.near, right - self.exact @ v)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(v).all():
            return None
        dx, dy = v[: data.q.size], v[data.q.size :]
        ds = r_g - data.G @ dx
        return _State(dx, ds, (r_c - z * ds) / s if s.size else z, dy)


def _reach(a: Vector, d: Vector) -> float:
    """Return how many times d can be added before an entry of a becomes negative."""
    down = d < 0
    return float(np.min(-a[down] / d[down], initial=np.inf))


def _certificate(data: _Data, at: _State, tol: float) -> KKTCertificate:
    """Return how well the conditions are met."""
    x, _, z, y = at
    room = data.h - data.G @ x
    off = data.A @ x - data.b
    pulls = (data.P @ x, data.q, data.G.T @ z, data.A.T @ y)
    slope = np.sum(pulls, axis=0)
    least = np.finfo(np.float64).tiny
    within = max(1.0, *map(_largest, (data.G @ x, data.h, data.A @ x, data.b)))
    worth = max(abs(float(x @ data.P @ x)), abs(float(data.q @ x)), abs(float(data.h @ z)), abs(float(data.b @ y)))
    steepest = max(least, *map(_largest, pulls))
    scales = (within, steepest, max(steepest, worth))
    dual = -0.5 * float(x @ data.P @ x) - float(data.h @ z) - float(data.b @ y)
    return KKTCertificate(
        float(max(np.max(-room, initial=0.0), np.max(np.abs(off), initial=0.0))),
        float(np.max(np.abs(slope), initial=0.0)),
        float(np.max(np.abs(z * room), initial=0.0)),
        data.value(x) - dual,
        tol,
        scales,
    )


def _polished(data: _Data, at: _State, proof: KKTCertificate, tol: float) -> tuple[_State, KKTCertificate]:
    """Solve with the constraints that hold as equalities; keep the answer if it meets the conditions better."""
    held = at.z > at.s
    C = np.vstack([data.G[held], data.A])
    k = len(C)
    K = np.block([[data.P, C.T], [C, np.zeros((k, k))]])
    v, *_ = np.linalg.lstsq(K, np.concatenate([-data.q, data.h[held], data.b]), rcond=None)
    p, z = data.q.size, np.zeros(at.z.size)
    z[held] = np.maximum(v[p : p + int(held.sum())], 0.0)
    new = _State(v[:p], np.maximum(data.h - data.G @ v[:p], 0.0), z, v[p + int(held.sum()) :])
    found = _certificate(data, new, tol)
    return (new, found) if found.relative < proof.relative else (at, proof)


def _explain(data: _Data, tol: float, numbers: Vector) -> None:
    """Say why a balanced programme has no solution, if it has none: no feasible point, or no lowest one.

    ``numbers`` are those under which the user knows the inequalities.
    """
    p, m = data.q.size, data.h.size
    if data.b.size:
        x, *_ = np.linalg.lstsq(data.A, data.b, rcond=None)
        miss = _largest(data.A @ x - data.b)
        if miss > 1e-9 * max(1.0, _largest(data.b)):
            raise InvalidData(f"The equalities contradict each other: the best point misses one by {miss:.3g}.")
    if m:
        # least t with Gx - t <= h, t >= -1: always feasible, never unbounded
        G = np.block([[data.G, -np.ones((m, 1))], [np.zeros((1, p)), -np.ones((1, 1))]])
        A = np.hstack([data.A, np.zeros((data.b.size, 1))])
        flat = _Data(np.zeros((p + 1, p + 1)), np.append(np.zeros(p), 1.0), G, np.append(data.h, 1.0), A, data.b)
        at, proof = _walk(flat, tol)
        z, y = at.z[:m], at.y
        # by prices z >= 0 of sum one that cancel all slopes no point does better than -(h'z + b'y)
        least = -float(data.h @ z + data.b @ y)
        if least > 1e-8 * proof.scales[0] and _largest(data.G.T @ z + data.A.T @ y) <= 1e-9:
            blame = ", ".join(map(str, numbers[z > 1e-6 * z.max()]))
            and_more = " and the equalities" if _largest(y) > 1e-6 else ""
            raise InvalidData(
                f"No point meets all constraints: the best one violates some by {least:.3g}. Inequalities {blame}{and_more} "
                "contradict each other."
            )
    # a direction that stays feasible, feels no curvature and goes down
    G = np.vstack([data.G, np.eye(p), -np.eye(p)])
    A = np.vstack([data.A, data.P / max(_largest(data.P), 1e-300)])
    flat = _Data(np.zeros((p, p)), data.q, G, np.append(np.zeros(m), np.ones(2 * p)), A, np.zeros(len(A)))
    d = _walk(flat, tol)[0].x
    strays = max(_largest(A @ d), float(np.max(data.G @ d, initial=0.0)))
    if float(data.q @ d) < -1e-6 * _largest(data.q) and strays <= 1e-10:
        with np.printoptions(precision=3, threshold=6):
            raise InvalidData(f"The objective falls without bound, along the feasible direction {d}.")


def _walk(data: _Data, tol: float) -> tuple[_State, KKTCertificate]:
    """Follow the central path of a programme that is known to have a solution."""
    at = _first(data, np.zeros(data.q.size))
    proof = _certificate(data, at, tol)
    with np.errstate(all="ignore"):
        for _ in range(100):
            new = _step(data, at)
            if new is None or proof.reached:
                break
            at, proof = new, _certificate(data, new, tol)
        return _polished(data, at, proof, tol)


def _read(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any) -> _Data:
    """Look at the numbers of a programme."""
    q = np.atleast_1d(np.asarray(q, dtype=np.float64))
    p = q.size
    P = np.atleast_2d(np.asarray(P, dtype=np.float64))
    if P.shape != (p, p):
        raise InvalidData(f"P must have shape ({p}, {p}), to go with q of {p} numbers; got {P.shape}.")
    G, h = _rows(G, h, p, "G", "h")
    A, b = _rows(A, b, p, "A", "b")
    for name, part in {"P": P, "q": q, "G": G, "h": h, "A": A, "b": b}.items():
        if not np.isfinite(part).all():
            raise InvalidData(f"{name} holds NaN or infinity. Leave out constraints that do not bind.")
    return _Data(0.5 * (P + P.T), q, G, h, A, b)


def _rows(left: Any, right: Any, p: int, name: str, other: str) -> tuple[Vector, Vector]:
    if (left is None) != (right is None):
        raise InvalidData(f"{name} and {other} go together: give both, or neither.")
    if left is None:
        return np.zeros((0, p)), np.zeros(0)
    left = np.atleast_2d(np.asarray(left, dtype=np.float64))
    right = np.atleast_1d(np.asarray(right, dtype=np.float64))
    if left.shape != (right.size, p):
        raise InvalidData(f"{name} must have shape ({right.size}, {p}), to go with {other} and q; got {left.shape}.")
    return left, right


def _vector(given: Any, size: int, name: str) -> Vector:
    x = np.atleast_1d(np.array(given, dtype=np.float64))
    if x.shape != (size,) or not np.isfinite(x).all():
        raise InvalidData(f"{name} must be {size} finite numbers, got {given!r}.")
    return x


def _largest(a: Vector) -> float:
    return float(np.max(np.abs(a), initial=0.0))


def _lengths(rows: Vector) -> Vector:
    """Return the lengths of rows, one for rows of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.where(lengths > 0, lengths, 1.0)
