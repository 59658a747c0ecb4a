r"""Nonnegative factors of a table, X ≈ W H: starts, steps, and what is known where they end.

Squared error: for fixed H the rows of W are independent quadratic problems over :math:`w \ge 0`, told by H H' and X H' alone, and
so are the columns of H for fixed W. They are lowered by exact steps along single coordinates (HALS), several sweeps for each
product with X. Other beta-divergences: multiplicative steps, which never raise them (Févotte and Idier 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, Progress
from qed.core._tables import is_sparse
from qed.core._threads import one_blas_thread
from qed.decomposition import _kernels
from qed.designs import design

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


SWEEPS = 4  # over the coordinates for each product with X, which costs as much as dozens
ROUNDS_PER_CHECK = 10  # whose gain together says whether going on is worth it: of single ones it depends on momentum
ROUNDING = float(np.finfo(np.float64).eps)
EXACT = 1e-11  # share of half the squared length of a row that a last sweep may still gain
MOST_SWEEPS = 20_000
FLOOR = float(np.finfo(np.float32).eps)  # of entries of W H that are divided by, as in scikit-learn
BLOCK_ENTRIES = 1 << 20  # entries of W H in memory at a time
LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


@dataclass(frozen=True)
class Penalty:
    """Strengths on codes and on components: of absolute values, and of halves of squares."""

    l1_W: float = 0.0
    l2_W: float = 0.0
    l1_H: float = 0.0
    l2_H: float = 0.0

    @classmethod
    def of(cls, model: Any, n: int, p: int) -> Penalty:
        """Read the parameters of a model: each factor is penalised by as much as the other side has entries."""
        same = model.alpha_W if model.alpha_H == "same" else model.alpha_H
        W, H, ratio = p * model.alpha_W, n * same, model.l1_ratio
        return cls(W * ratio, W * (1 - ratio), H * ratio, H * (1 - ratio))

    def on_codes(self, W: Array) -> float:
        return _penalised(W, self.l1_W, self.l2_W)

    def on_components(self, H: Array) -> float:
        return _penalised(H, self.l1_H, self.l2_H)


def _penalised(factor: Array, l1: float, l2: float) -> float:
    return l1 * float(np.sum(factor)) + l2 / 2 * float(np.sum(np.square(factor))) if l1 or l2 else 0.0


@dataclass(eq=False)
class Factors:
    """Codes W (n, k), components as columns, H' (p, k), and how they were found."""

    W: Array
    Ht: Array
    steps: int
    outcome: str


def beta_of(loss: Any) -> float:
    """Return the number of a divergence that may have a name."""
    return LOSSES[loss] if isinstance(loss, str) else float(loss)


def squares(X: Any) -> Array:
    """Return the squared length of each row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def start(X: Any, k: int, init: str | None, rng: Generator) -> tuple[Array, Array]:
    """Return nonnegative W and H' to begin with: from singular vectors, or random with the right mean."""
    n, p = X.shape
    if init not in (None, "random") and k > min(n, p):
        raise InvalidParameter(
            f"init={init!r} can only be used when n_components <= min(n_samples, n_features) = {min(n, p)}, got {k}. Use"
            " init='random'."
        )
    mean = float(X.mean())
    init = init or ("nndsvda" if k <= min(n, p) else "random")
    if init == "random":
        size = np.sqrt(mean / k)
        return np.abs(size * rng.standard_normal((n, k))), np.abs(size * rng.standard_normal((p, k)))
    W, Ht = _from_singular_vectors(X, k, rng)
    for factor in (W, Ht):
        zero = factor == 0
        if init == "nndsvda":
            factor[zero] = mean
        elif init == "nndsvdar":
            factor[zero] = np.abs(mean * rng.standard_normal(int(zero.sum())) / 100)
    return W, Ht


def _from_singular_vectors(X: Any, k: int, rng: Generator) -> tuple[Array, Array]:
    """Keep the positive or the negative side of each pair of singular vectors, whichever is longer (NNDSVD)."""
    from qed.decomposition._randomized_svd import randomized_svd  # noqa: PLC0415  (one of the starts)

    found = randomized_svd(X, k, random_state=rng)
    W, Ht = np.zeros((X.shape[0], k)), np.zeros((X.shape[1], k))
    for j in range(k):
        u, v = found.U[:, j], found.Vt[j]
        if j == 0:
            u, v = np.abs(u), np.abs(v)
        sides = []
        for sign in (1.0, -1.0):
            left, right = np.maximum(sign * u, 0), np.maximum(sign * v, 0)
            sides.append((float(np.linalg.norm(left) * np.linalg.norm(right)), left, right))
        size, left, right = max(sides, key=lambda side: side[0])
        if size > 0:
            scale = np.sqrt(found.s[j] * size)
            W[:, j] = scale * left / np.linalg.norm(left)
            Ht[:, j] = scale * right / np.linalg.norm(right)
    tiny = 1e-6  # as in scikit-learn: what is so small is zero
    W[tiny > W], Ht[Ht < tiny] = 0.0, 0.0
    return W, Ht


def codes(X: Any, H: Array, penalty: Penalty, W: Array | None = None) -> Array:
    """Return the best codes of rows for squared error, each row to rounding."""
    P = _kernels.mapped(X, np.ascontiguousarray(H.T)).astype(np.float64)
    W = np.zeros((X.shape[0], len(H))) if W is None else W
    G = _kernels.product(H, np.ascontiguousarray(H.T))
    _kernels.code_rows(G, P, W, EXACT / 2 * squares(X), penalty.l1_W, penalty.l2_W, positive=True, sweeps=MOST_SWEEPS)
    return W


def squared_slopes(x: Any, W: Array, H: Array, penalty: Penalty, *, converge: bool) -> tuple[float, Array, Array]:
    """Lower codes W of some rows, in place, by a few sweeps or until they converge.

    Return the cost, and the two parts of the slope of squared error by components.
    """
    A, Ht, sizes = design(x), np.ascontiguousarray(H.T), squares(x)
    G, P, l1, l2 = _kernels.product(H, Ht), A.product(Ht), penalty.l1_W, penalty.l2_W
    if converge:
        value, _ = _kernels.code_rows(G, P, W, EXACT / 2 * sizes, l1, l2, positive=True, sweeps=MOST_SWEEPS)
    else:
        value, _ = _kernels.sweep_rows(G, P, W, l1, l2, sweeps=SWEEPS)
    up, down = np.ascontiguousarray(A.adjoint_product(W).T), _kernels.product(_kernels.adjoint(W, W), H)
    return max(float(np.sum(sizes)) / 2 + value, 0.0), up, down


def descend(X: Any, W: Array, Ht: Array, penalty: Penalty, rule: tuple[int, float], progress: Progress) -> Factors:
    """Lower the squared error by coordinates of both factors in turn, each from a point ahead of where it stands.

    Ends where single entries could gain no more than ``tol`` of the objective, and ten rounds did not gain more either.
    """
    most, tol = rule
    A, null = design(X), float(np.sum(squares(X))) / 2
    ahead, momentum, values = (W, Ht), Momentum(), [np.inf]
    taken, outcome = 0, "max_iter"
    try:
        for taken in range(1, most + 1):  # noqa: B007  (counted)
            W_next, H_next = (factor.copy() for factor in ahead)
            G, P = _kernels.adjoint(H_next, H_next), A.product(H_next)
            _, gain = _kernels.sweep_rows(G, P, W_next, penalty.l1_W, penalty.l2_W, sweeps=SWEEPS)
            W_ahead = momentum.beyond(W, W_next)
            G, P = _kernels.adjoint(W_ahead, W_ahead), A.adjoint_product(W_ahead)
            value, more = _kernels.sweep_rows(G, P, H_next, penalty.l1_H, penalty.l2_H, sweeps=SWEEPS)
            objective = null + value + penalty.on_codes(W_ahead)
            if momentum.overshoots(objective):
                ahead = W, Ht
            else:
                ahead = W_ahead, momentum.beyond(Ht, H_next)
                W, Ht = W_next, H_next
            values.append(min(values[-1], objective))
            enough = tol * max(values[-1], ROUNDING * null)
            if gain + more <= enough and values[-min(len(values), 1 + ROUNDS_PER_CHECK)] - values[-1] <= enough:
                outcome = "solved"
                break
            if progress.step(values[-1]) is STOP:
                outcome = "stopped"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    return Factors(W, Ht, taken, outcome)


class Momentum:
    """How far beyond a step the next one begins: further while the objective falls, and from the step again once it rose.

    Ang and Gillis 2019, with their rates. An entry that would fall to zero stays where the step left it: components that vanish
    on the way would not come back.
    """

    def __init__(self) -> None:
        self.share, self.most = 0.1, 1.0
        self.last = np.inf

    def beyond(self, before: Array, after: Array) -> Array:
        """Return a point on the other side of a step; the step itself where the last one was taken back."""
        if self.last == np.inf:
            return after
        further = after + self.share * (after - before)
        return np.where(further > 0, further, after)

    def overshoots(self, objective: float) -> bool:
        """Tell whether the objective rose; learn from it."""
        rose = objective > self.last
        if rose:
            self.share, self.most = self.share / 1.5, self.share
        else:
            self.share, self.most = min(self.most, 1.05 * self.share), min(1.0, 1.01 * self.most)
        self.last = np.inf if rose else objective
        return rose


def blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield rows as dense blocks."""
    step = max(1, BLOCK_ENTRIES // X.shape[1])
    X = X.tocsr() if is_sparse(X) else X
    for first in range(0, X.shape[0], step):
        rows = slice(first, first + step)
        x = X[rows]
        yield rows, np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)


def divergence(X: Any, W: Array, H: Array, beta: float) -> float:
    """Return the sum of beta-divergences between entries of X and of W H."""
    total = 0.0
    for rows, x in blocks(X):
        y = np.maximum(_kernels.product(W[rows], H), FLOOR)
        total += _divergence(x, y, beta)
    return max(total, 0.0)


def _divergence(x: Array, y: Array, beta: float) -> float:
    if beta == 2:
        return float(np.sum((x - y) ** 2)) / 2
    if beta == 1:
        some = x > 0
        return float(np.sum(x[some] * np.log(x[some] / y[some]))) + float(np.sum(y) - np.sum(x))
    if beta == 0:
        ratio = x / y
        return float(np.sum(ratio - np.log(ratio) - 1))
    terms = x**beta + (beta - 1) * y**beta - beta * x * y ** (beta - 1)
    return float(np.sum(terms)) / (beta * (beta - 1))


def power_of(beta: float) -> float:
    """Return the exponent with which multiplicative steps never raise a divergence."""
    return 1 / (2 - beta) if beta < 1 else 1.0 if beta <= 2 else 1 / (beta - 1)


def _halves(x: Array, W: Array, H: Array, beta: float) -> tuple[Array, Array]:
    """Return X (W H)^(beta - 2) and (W H)^(beta - 1), whose products are the two parts of a slope."""
    y = np.maximum(_kernels.product(W, H), FLOOR)
    if beta == 1:
        return x / y, np.ones_like(y)
    if beta == 2:
        return x, y
    down = y ** (beta - 2)
    return x * down, y * down


def code_step(x: Array, W: Array, H: Array, beta: float, penalty: Penalty) -> Array:
    """Return the codes of some rows after one multiplicative step."""
    up, down = _halves(x, W, H, beta)
    Ht = np.ascontiguousarray(H.T)
    below = _kernels.product(down, Ht) + penalty.l1_W + penalty.l2_W * W
    return np.asarray(W * (_kernels.product(up, Ht) / np.maximum(below, FLOOR)) ** power_of(beta))


def multiplied_codes(X: Any, H: Array, beta: float, penalty: Penalty, steps: int) -> Array:
    """Return codes after so many multiplicative steps from equal ones: each row by itself, so that others do not matter."""
    W = np.empty((X.shape[0], len(H)))
    for rows, x in blocks(X):
        w = np.full((len(x), len(H)), 1.0) * np.sqrt(np.maximum(x.mean(axis=1, keepdims=True), FLOOR) / len(H))
        for _ in range(steps):
            w = code_step(x, w, H, beta, penalty)
        W[rows] = w
    return W


def component_slopes(X: Any, W: Array, H: Array, beta: float) -> tuple[Array, Array]:
    """Return the two parts of the slope of a divergence by components."""
    up, down = np.zeros_like(H), np.zeros_like(H)
    for rows, x in blocks(X):
        above, below = _halves(x, W[rows], H, beta)
        up, down = up + _kernels.adjoint(W[rows], above), down + _kernels.adjoint(W[rows], below)
    return up, down


def component_step(X: Any, W: Array, H: Array, beta: float, penalty: Penalty) -> Array:
    """Return the components after one multiplicative step."""
    up, down = component_slopes(X, W, H, beta)
    down += penalty.l1_H + penalty.l2_H * H
    return np.asarray(H * (up / np.maximum(down, FLOOR)) ** power_of(beta))


def multiply(
    X: Any, W: Array, H: Array, beta: float, penalty: Penalty, rule: tuple[int, float], progress: Progress
) -> Factors:
    """Lower a divergence by multiplicative steps of both factors, until ten steps lower it by ``tol`` of the first value."""
    most, tol = rule
    first = before = np.sqrt(divergence(X, W, H, beta))  # as scikit-learn has it
    taken, outcome = 0, "max_iter"
    try:
        for taken in range(1, most + 1):
            for rows, x in blocks(X):
                W[rows] = code_step(x, W[rows], H, beta, penalty)
            H = component_step(X, W, H, beta, penalty)
            if progress.step() is STOP:
                outcome = "stopped"
                break
            if tol > 0 and taken % 10 == 0:
                now = np.sqrt(divergence(X, W, H, beta))
                if before - now < tol * first:
                    outcome = "solved"
                    break
                before = now
    except KeyboardInterrupt:
        outcome = "interrupted"
    return Factors(W, np.ascontiguousarray(H.T), taken, outcome)


@dataclass(frozen=True)
class Ending:
    """Where factors ended: the objective, that of no factors, what a step could still gain, and the error alone."""

    objective: float
    null: float
    gap: float
    error: float


def end_squared(X: Any, W: Array, H: Array, penalty: Penalty) -> Ending:
    """Judge factors by squared error: how much single entries, each alone, could lower it, all together."""
    A, Ht = design(X), np.ascontiguousarray(H.T)
    with one_blas_thread():
        G, K, P, Q = _kernels.product(H, Ht), _kernels.adjoint(W, W), A.product(Ht), A.adjoint_product(W)
        null = float(np.sum(squares(X))) / 2
        error = max(null - float(np.vdot(P, W)) + float(np.vdot(G, K)) / 2, 0.0)
        gap = _single_steps(W, G, P, penalty.l1_W, penalty.l2_W) + _single_steps(Ht, K, Q, penalty.l1_H, penalty.l2_H)
    objective = error + penalty.on_codes(W) + penalty.on_components(H)
    return Ending(objective, null, gap, error)


def _single_steps(W: Array, G: Array, P: Array, l1: float, l2: float) -> float:
    """Return what each entry of W gains when it alone goes to its best place, summed."""
    slope = _kernels.product(W, G) - P + l1 + l2 * W
    curvature = np.maximum(G.diagonal() + l2, np.finfo(np.float64).tiny)
    step = np.minimum(slope / curvature, W)
    return float(np.sum(np.maximum(slope * step - curvature / 2 * step**2, 0.0)))


def end_multiplied(X: Any, W: Array, H: Array, beta: float, penalty: Penalty) -> Ending:
    """Judge factors by a divergence: how much one more step of the components lowers it."""
    error = divergence(X, W, H, beta)
    objective = error + penalty.on_codes(W) + penalty.on_components(H)
    after = component_step(X, W, H, beta, penalty)
    lower = divergence(X, W, after, beta) + penalty.on_codes(W) + penalty.on_components(after)
    mean = float(X.mean())
    null = divergence(X, np.ones((X.shape[0], 1)), np.full((1, X.shape[1]), mean), beta)
    return Ending(objective, null, max(objective - lower, 0.0), error)


def require_loss(X: Any, beta: float) -> None:
    """Refuse zeros where a divergence has none."""
    entries = X.data if is_sparse(X) else X
    if beta <= 0 and (is_sparse(X) or not (np.min(entries) > 0)):
        raise InvalidData(
            "When beta_loss <= 0 and X contains zeros, the solver may diverge. Add a small constant to X, or use a positive"
            " beta_loss."
        )
