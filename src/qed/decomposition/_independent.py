r"""Fixed-point steps of independent component analysis, on rows that are white.

Sources :math:`y = W z`, W with orthonormal rows, are as far from normal as they can be where :math:`\sum_i s_i E\,G(y_i)` is
stationary, which is where the moments :math:`s_i E[g(y_i) y_j]`, :math:`g = G'`, are symmetric. The sign :math:`s_i` of
:math:`E[g(y_i) y_i] - E[g'(y_i)]` says whether a source is flatter or more peaked than a normal variable. A step is Newton's for
each source, :math:`w_i \leftarrow E[g(y_i) z] - E[g'(y_i)]\, w_i`, made orthonormal for all at once or source by source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidParameter
from qed.core._events import STOP, Progress
from qed.core._threads import one_blas_thread
from qed.decomposition import _kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PART = 8  # of rows: steps on this part of them cost so much less, and end near where steps on all of them do
ENOUGH_ROWS = 100  # rows of the part for each source: with fewer the part is no picture of the whole
BLOCK_ROWS = 1 << 12  # rows at a time of contrasts that are given as functions


class Moments(NamedTuple):
    """Means over rows: of g(y) z' (m, k), of g'(y) (m,), and of G(y) (m,), where it is known."""

    slopes: Array
    curvatures: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Fixed:
    """Sources that were found: W (m, k), passes over all rows, how the steps ended."""

    W: Array
    steps: int
    outcome: str


def contrast_of(fun: Any, fun_args: Any) -> tuple[str | Callable[..., Any], dict[str, Any], float]:
    """Read the contrast: a name or function, its arguments, and the factor of 'logcosh'."""
    given = dict(fun_args or {})
    a = float(given.get("alpha", 1.0))
    if fun == "logcosh" and not 1 <= a <= 2:
        raise InvalidParameter(f"alpha must be in [1,2], got {a:g} in fun_args of 'logcosh'.")
    return fun, given, a


def moments(Z: Array, W: Array, contrast: tuple[Any, dict[str, Any], float]) -> Moments:
    """Go through the rows once."""
    fun, given, a = contrast
    n = len(Z)
    if isinstance(fun, str):
        return Moments(*(total / n for total in _kernels.contrast_pass(Z, W, fun, a)))
    slopes, curvatures = np.zeros(W.shape), np.zeros(len(W))
    for first in range(0, n, BLOCK_ROWS):
        z = Z[first : first + BLOCK_ROWS]
        y = _kernels.product(z, np.ascontiguousarray(W.T))
        g, curved = fun(np.ascontiguousarray(y.T), **given)
        g, curved = np.asarray(g, dtype=np.float64), np.asarray(curved, dtype=np.float64)
        if g.shape != (len(W), len(z)) or curved.shape not in ((len(W),), g.shape):
            raise InvalidParameter(
                f"fun must return g(x) and the mean of g'(x) along the last axis, for x of shape {g.shape}; got shapes"
                f" {g.shape} and {curved.shape}."
            )
        slopes += _kernels.product(np.ascontiguousarray(g), z)
        curvatures += len(z) * (curved if curved.ndim == 1 else curved.mean(axis=1))
    return Moments(slopes / n, curvatures / n, np.zeros(len(W)))


def orthonormal(W: Array) -> Array:
    """Return the nearest matrix with orthonormal rows, (W W')^(-1/2) W."""
    with one_blas_thread(W.size):
        U, _, Vt = np.linalg.svd(W, full_matrices=False)
        return np.asarray(U @ Vt)


def all_at_once(
    Z: Array, W: Array, contrast: Any, rule: tuple[int, float], progress: Progress, rng: Generator | None = None
) -> Fixed:
    """Step with all sources together, on a part of many rows first.

    Ends when directions turn by no more than ``tol`` and the equations lack no more than that share of their size.
    """
    most, tol = rule
    W = orthonormal(W)
    part = len(Z) // PART
    try:
        if rng is not None and part >= ENOUGH_ROWS * len(W):
            near = np.ascontiguousarray(Z[np.sort(rng.choice(len(Z), part, replace=False))])
            W = _steps(near, W, contrast, (most, max(tol, 1e-4)), progress).W
        return _steps(Z, W, contrast, rule, progress)
    except KeyboardInterrupt:
        return Fixed(W, 0, "interrupted")


def _steps(Z: Array, W: Array, contrast: Any, rule: tuple[int, float], progress: Progress) -> Fixed:
    most, tol = rule
    taken = 0
    try:
        for taken in range(1, most + 1):
            now = moments(Z, W, contrast)
            after = orthonormal(now.slopes - now.curvatures[:, None] * W)
            turned = float(np.max(np.abs(np.abs(np.sum(after * W, axis=1)) - 1)))
            lacking, size = imbalance(now, W, "parallel")
            W = after
            if turned < tol and lacking <= tol * size:
                return Fixed(W, taken, "solved")
            if progress.step(turned) is STOP:
                return Fixed(W, taken, "stopped")
    except KeyboardInterrupt:
        return Fixed(W, taken, "interrupted")
    return Fixed(W, taken, "max_iter")


def one_by_one(Z: Array, start: Array, contrast: Any, rule: tuple[int, float], progress: Progress) -> Fixed:
    """Find sources in turn, each orthogonal to those before it."""
    most, tol = rule
    W, longest, outcome = np.zeros_like(start), 0, "solved"
    try:
        for j in range(len(start)):
            w = start[j] / np.linalg.norm(start[j])
            for taken in range(1, most + 1):
                now = moments(Z, w[None], contrast)
                after = now.slopes[0] - now.curvatures[0] * w
                for _ in range(2):  # once more for what rounding left
                    after = after - W[:j].T @ (W[:j] @ after)
                rest = after / np.linalg.norm(after)
                turned, w = abs(abs(float(rest @ w)) - 1), rest
                longest = max(longest, taken)
                if turned < tol:
                    break
                if progress.step(turned) is STOP:
                    outcome = "stopped"
                    break
            else:
                outcome = "max_iter" if outcome == "solved" else outcome
            W[j] = w
    except KeyboardInterrupt:
        outcome = "interrupted"
        W[j:] = _completed(W[:j], start[j:])
    return Fixed(W, longest, outcome)


def _completed(W: Array, start: Array) -> Array:
    """Make the starts of sources that were not reached orthonormal, and orthogonal to those that were."""
    return orthonormal(start - (start @ W.T) @ W) if len(start) else start


def imbalance(now: Moments, W: Array, algorithm: str) -> tuple[float, float]:
    """Return how far the moments E[g(y_i) y_j] are from those of a stationary point, squared, and the squared size of all of them.

    All at once they must be symmetric after multiplication by signs; one by one, those with later sources must vanish.
    """
    B = now.slopes @ W.T
    above = np.triu_indices(len(B), 1)
    signed = B * np.where(B.diagonal() < now.curvatures, -1.0, 1.0)[:, None]
    off = signed[above] - signed.T[above] if algorithm == "parallel" else B[above]
    return float(np.sum(off**2)), float(np.sum(B * B))
