r"""Newton's method for sparse precision matrices, with a duality gap.

The primal minimises :math:`-\log\det\Theta + \operatorname{tr}(S\Theta) + \alpha \sum_{i \ne j} |\Theta_{ij}|`; the dual
maximises :math:`\log\det U + p` over matrices whose entries off the diagonal differ from those of S by at most :math:`\alpha`, and
whose diagonal is that of S. A direction is found by coordinate descent on the quadratic model, over entries that are not zero or
want to leave it; where signs have settled, conjugate gradients finish it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData
from qed.core._events import STOP
from qed.covariance._kernels import newton_direction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._events import Progress

    Array = NDArray[np.float64]

DECREASE = 1e-3  # share of the predicted decrease that a step must achieve (Armijo's rule)
LEAST_STEP = 2.0**-40
UNIT = 2.0**-53
CONJUGATE_STEPS = 50


class Solved(NamedTuple):
    """A precision matrix, its inverse, objective and gap; both of the latter above the dual value of `simple_dual`."""

    precision: Array
    covariance: Array
    objective: float
    gap: float
    null_objective: float
    rounding: float
    costs: list[tuple[float, float]]
    outcome: str


def simple_dual(S: Array, alpha: float) -> tuple[Array, float]:
    """Return a feasible dual point that needs no search, S with its correlations lessened, and its dual value."""
    p = len(S)
    largest = float(np.max(np.abs(S[~np.eye(p, dtype=bool)]), initial=0.0))
    share = 1.0 if largest <= alpha else alpha / largest
    U = (1 - share) * S
    U.flat[:: p + 1] = np.diagonal(S)
    return U, dual_value(U)


def dual_value(U: Array) -> float:
    """Return the dual objective, minus infinity of a matrix that is not positive definite."""
    unit = np.sqrt(np.diagonal(U))
    try:
        lower = np.linalg.cholesky(U / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        return -np.inf
    return 2 * float(np.log(np.diagonal(lower) * unit).sum()) + len(U)


def best_dual(S: Array, W: Array, alpha: float, simple: Array) -> float:
    """Return the dual value of the inverse of the precision, moved into the feasible set, and towards a simple point if it must."""
    U = S + np.clip(W - S, -alpha, alpha)
    U.flat[:: len(U) + 1] = np.diagonal(S)
    for share in (0.0, 0.1, 0.5):
        value = dual_value((1 - share) * U + share * simple)
        if np.isfinite(value):
            return value
    return dual_value(simple)


def factored(T: Array) -> tuple[Array, float] | None:
    """Return the inverse of the Cholesky factor and the log-determinant; None of a matrix that is not positive definite."""
    unit = np.sqrt(np.maximum(np.diagonal(T), 0.0))
    if not np.all(unit > 0):
        return None
    try:
        lower = np.linalg.cholesky(T / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        return None
    return np.linalg.inv(lower) / unit, 2 * float(np.log(np.diagonal(lower) * unit).sum())


def solve(S: Array, alpha: float, *, tol: float, most: int, start: Array | None, progress: Progress | None) -> Solved:
    """Minimise until the gap is at most ``tol`` times the objective of the diagonal precision.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance of the rows.
    alpha : float
        Strength of the penalty.
    tol : float
        Relative gap to reach.
    most : int
        Most steps.
    start : ndarray of shape (p, p) or None
        A precision matrix to begin with.
    progress : Progress or None
        Told of every step; it may ask to stop.
    """
    p = len(S)
    if not np.all(np.diagonal(S) > 0):
        at = int(np.argmin(np.diagonal(S)))
        raise InvalidData(f"Column {at} is constant: its variance is zero, and there is no precision. Remove it.")
    simple, base = simple_dual(S, alpha)
    if not np.isfinite(base):
        raise InvalidData(
            "The system is too ill-conditioned for this solver: the covariance is singular, and alpha is too small. Increase alpha."
        )
    null = float(np.log(np.diagonal(S)).sum()) + p - base
    T = np.diag(1 / np.diagonal(S)) if start is None else start
    found = factored(T)
    if found is None:
        T = np.diag(1 / np.diagonal(S))
        found = factored(T)
    assert found is not None  # noqa: S101  (a positive diagonal)
    value, W = _value(S, T, alpha, found[1]) - base, found[0].T @ found[0]
    costs, outcome, dual = [], "max_iter", -np.inf
    try:
        for taken in range(most + 1):
            dual = best_dual(S, W, alpha, simple) - base
            costs.append((value, value - dual))
            noise = _rounding(S, T, W, alpha, simple)
            if value - dual <= max(tol * null, noise):
                is_last, outcome = outcome == "solved", "solved"
                if is_last or value - dual <= noise:
                    break  # after one step more, which squares a small gap
            if taken == most:
                break
            if progress is not None and progress.step(value - dual) is STOP:
                outcome = "stopped"
                break
            step = _step(S, T, W, alpha, value + base, 2 + taken // 2)
            if step is None:
                outcome = outcome if outcome == "solved" else "stalled"
                break
            T, W, value = step[0], step[1], step[2] - base
    except KeyboardInterrupt:
        outcome = "interrupted"
    if outcome == "interrupted" or not np.isfinite(dual):
        dual = best_dual(S, W, alpha, simple) - base
    rounding, excess = 2 * _rounding(S, T, W, alpha, simple), max(value - dual, 0.0)
    excess = excess if excess > rounding / 2 else 0.0  # less than that is no gap but rounding
    return Solved(T, W, max(value, 0.0), excess + rounding, max(null, 0.0), rounding, costs, outcome)


def _rounding(S: Array, T: Array, W: Array, alpha: float, simple: Array) -> float:
    """Bound the rounding of objective and dual value.

    A Cholesky factor is that of a matrix whose entries are off by a rounding of the roots of its diagonal, times p: the
    log-determinant moves by as much, times the entries of the inverse.
    """
    size = len(S) + abs(dual_value(simple)) + float(np.sum(np.abs(S * T))) + alpha * float(np.sum(np.abs(T)))
    moved = [np.sqrt(np.diagonal(one)) for one in (T, simple)]
    inverses = (W, np.linalg.inv(simple))
    size += sum(float(unit @ np.abs(inverse) @ unit) for unit, inverse in zip(moved, inverses, strict=True))
    return 64 * (len(S) + 8) * UNIT * size


def _value(S: Array, T: Array, alpha: float, log_det: float) -> float:
    return float(np.sum(S * T)) - log_det + alpha * float(np.sum(np.abs(T)) - np.sum(np.abs(np.diagonal(T))))


def _step(S: Array, T: Array, W: Array, alpha: float, value: float, sweeps: int) -> tuple[Array, Array, float] | None:
    """Go along the Newton direction until the objective falls by enough; None where rounding leaves nothing to gain."""
    off = ~np.eye(len(S), dtype=bool)
    D = newton_direction(S, T, W, alpha, sweeps)
    signs = np.sign(T)
    if np.array_equal(np.sign(T + D), signs):
        finished = _refined(S - W + alpha * np.where(off, signs, 0.0), W, signs != 0, D)
        D = finished if np.array_equal(np.sign(T + finished), signs) else D
    penalty = float(np.sum(np.abs((T + D)[off])) - np.sum(np.abs(T[off])))
    decrease = float(np.sum((S - W) * D)) + alpha * penalty
    length = 1.0
    while decrease < 0 and length >= LEAST_STEP:
        at = T + length * D
        found: Any = factored(at)
        if found is not None:
            there = _value(S, at, alpha, found[1])
            if there <= value + DECREASE * length * decrease:
                return at, found[0].T @ found[0], there
        length /= 2
    return None


def _refined(gradient: Array, W: Array, free: Array, D: Array) -> Array:
    """Solve W D W = -gradient over the free entries by conjugate gradients, beginning with D."""
    heights = np.diagonal(W)
    scale = 1 / (np.outer(heights, heights) + W**2)  # the diagonal of the system
    left = np.where(free, -gradient - W @ D @ W, 0.0)
    z = scale * left
    along, before = z.copy(), float(np.sum(left * z))
    goal = 1e-6 * before
    for _ in range(CONJUGATE_STEPS):
        if not before > goal or not before > 0:
            break
        image = np.where(free, W @ along @ W, 0.0)
        length = before / float(np.sum(along * image))
        D, left = D + length * along, left - length * image
        z = scale * left
        now = float(np.sum(left * z))
        along, before = z + (now / before) * along, now
    return (D + D.T) / 2
