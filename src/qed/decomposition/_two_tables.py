r"""Two tables with the same rows, and pairs of directions along which they vary together.

Both tables are centred, and divided by the standard deviations of their columns where asked. X is never copied: its products are
those of the given table, less what its means contribute. With weights w of a pair found, the scores are t = X_j w, and X_{j+1} =
X_j - t p' with p = X_j't / t't is what is left of X. Rotations r hold the same scores as X r, so that X_j itself is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import Array, InvalidParameter
from qed.core._interruptible import interruptible
from qed.core._threads import one_blas_thread
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.decomposition import _kernels
from qed.decomposition._proof import product_rounding
from qed.designs._range import fingerprint, require_range

if TYPE_CHECKING:
    from qed.certificates import Fingerprint

SINGULAR = 1e6 * float(
    np.finfo(np.float64).eps
)  # share of the largest singular value below which CCA drops a direction


@dataclass(frozen=True, eq=False)
class Table:
    """A table, what is subtracted from its columns and what they are divided by."""

    values: Array
    mean: Array
    scale: Array

    def times(self, W: Array) -> Array:
        """Return the standardised table times columns."""
        return _kernels.mapped(self.values, np.ascontiguousarray(W / self.scale[:, None]), None, self.mean)

    def adjoint(self, T: Array) -> Array:
        """Return the transposed standardised table times columns."""
        return _kernels.shifted_adjoint(self.values, T, self.mean) / self.scale[:, None]

    def standardised(self) -> Array:
        """Return a standardised copy."""
        return np.asarray((self.values - self.mean) / self.scale)


@dataclass(frozen=True, eq=False)
class TwoTables:
    """Both tables, and what recognises them."""

    X: Table
    Y: Table
    seen: Fingerprint

    @classmethod
    def of(cls, X: Any, y: Any, *, scale: bool) -> TwoTables:
        """Look at both tables."""
        n, p = X.shape
        x = np.ascontiguousarray(X, dtype=np.float64)
        t = np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(n, -1))
        seen = fingerprint(x, t, None)
        require_range(ArraySource(x, t, None), seen)
        deviation = np.sqrt(seen.spread / (n - 1)) if scale else np.ones(len(seen.mean))
        deviation = np.where(deviation > 0, deviation, 1.0)
        return cls(Table(x, seen.mean[:p], deviation[:p]), Table(t, seen.mean[p:], deviation[p:]), seen)

    @property
    def lengths(self) -> tuple[float, float]:
        """The Frobenius norms of both standardised tables."""
        squares = self.seen.spread / np.concatenate([self.X.scale, self.Y.scale]) ** 2
        p = len(self.X.mean)
        return float(np.sqrt(np.sum(squares[:p]))), float(np.sqrt(np.sum(squares[p:])))

    @property
    def rounding(self) -> float:
        """Bound on the rounding of sums of products of both tables, relative to their lengths."""
        n, p = self.X.values.shape
        return 8 * product_rounding(n) + 2 * product_rounding(p)

    def require_components(self, k: int, most: int) -> None:
        """Refuse more components than there can be."""
        if k > most:
            raise InvalidParameter(f"`n_components` upper bound is {most}. Got {k} instead. Reduce `n_components`.")


class Pairs(NamedTuple):
    """What is found: for each component a column of each, zeros beyond the last one that the tables have."""

    x_weights: Array
    y_weights: Array
    x_loadings: Array
    y_loadings: Array
    x_rotations: Array
    y_rotations: Array
    left: float  # squares of covariances, or of correlations, that the pairs leave out
    total: float  # all of them
    gap: float  # by how much other pairs could leave out less, rounding included
    residual: float  # of singular pairs, relative to the lengths of both tables
    orthogonality: float


class _Side:
    """One table: scores of components, their rotations and loadings, kept orthogonal."""

    def __init__(self, table: Table, k: int) -> None:
        n, p = table.values.shape
        self.table = table
        self.W, self.P, self.R = np.zeros((p, k)), np.zeros((p, k)), np.zeros((p, k))
        self.T, self.squares = np.zeros((n, k)), np.zeros(k)

    def scores(self, j: int, w: Array) -> Array:
        """Return the scores of weights on what is left of the table after j components."""
        R, T = self.R[:, :j], self.T[:, :j]
        r = w - R @ (self.P[:, :j].T @ w)
        t = self.table.times(r[:, None])[:, 0]
        again = (T.T @ t) / self.squares[:j]  # rounding leaves a little of the scores before
        t, r = t - T @ again, r - R @ again
        self.W[:, j], self.R[:, j], self.T[:, j], self.squares[j] = w, r, t, float(t @ t)
        return np.asarray(t)


def _leading(C: Array) -> tuple[Array, Array, float]:
    """Return the leading singular pair of a matrix, and its largest squared singular value."""
    wide = C.shape[0] < C.shape[1]
    A = C.T if wide else C
    if A.shape[1] == 1:
        square = float(A[:, 0] @ A[:, 0])
        left, right = A[:, 0] / np.sqrt(square), np.ones(1)
    else:
        values, vectors = interruptible(np.linalg.eigh, A.T @ A, work=9.0 * A.shape[1] ** 3)
        square, right = float(values[-1]), vectors[:, -1]
        for _ in range(2):  # what squaring rounded away
            left = A @ right
            left /= np.sqrt(left @ left)
            right = A.T @ left
            right /= np.sqrt(right @ right)
    w, v = (right, left) if wide else (left, right)
    sign = -1.0 if w[np.argmax(np.abs(w))] < 0 else 1.0
    return sign * w, sign * v, square


def covarying(tables: TwoTables, k: int, *, symmetric: bool) -> Pairs:
    """Find pairs of largest covariance, one after the other, each of what those before it leave.

    ``symmetric`` takes away from Y what its own scores explain; else what the scores of X do (regression).
    """
    x, y = _Side(tables.X, k), _Side(tables.Y, k)
    rest = tables.Y.standardised()
    n, (long_x, whole_y) = len(rest), tables.lengths
    unit = (n - 1.0) ** 2
    rounding = tables.rounding
    left = total = gap = worst = 0.0
    with one_blas_thread(rest.size):
        C = tables.X.adjoint(rest)
        for j in range(k):
            long_y = float(np.sqrt(np.sum(rest * rest)))
            size = float(np.sum(C * C))
            rounding_error = rounding * long_x * long_y
            if np.sqrt(size) <= rounding_error or long_y <= rounding * whole_y:  # what is left is rounding
                break
            w, v, most = _leading(C)
            reached = float(w @ C @ v)
            off = np.hypot(np.linalg.norm(C @ v - reached * w), np.linalg.norm(C.T @ w - reached * v))
            worst = max(worst, float(off + rounding_error) / max(long_x * long_y, np.finfo(np.float64).tiny))
            total, left = total + size / unit, left + max(size - reached**2, 0.0) / unit
            gap += (
                max(most - reached**2, 0.0) + 4 * np.sqrt(size) * rounding_error + (C.size + 8) * UNIT * size
            ) / unit
            t = x.scores(j, w)
            if symmetric:
                u = y.scores(j, v)
                loading = rest.T @ u / y.squares[j]
                rest = rest - np.outer(u, loading)
            else:
                loading = v = rest.T @ t / x.squares[j]
                y.W[:, j] = v
                rest = rest - np.outer(t, loading)
            y.P[:, j] = loading
            both = tables.X.adjoint(np.column_stack([t, rest]))
            x.P[:, j] = both[:, 0] / x.squares[j]
            T = x.T[:, : j + 1]
            C = both[:, 1:] - x.P[:, : j + 1] @ (T.T @ rest) if symmetric else both[:, 1:]
        turned = y.R if symmetric else _rotations(y.W, y.P)
        skew = _skew(x.W) + (len(x.W) + 8) * UNIT * k
    return Pairs(x.W, y.W, x.P, y.P, x.R, turned, left, total, gap, worst, skew)


def _rotations(W: Array, P: Array) -> Array:
    inside = P.T @ W
    return np.asarray(W @ np.linalg.pinv(inside, rcond=len(inside) * float(np.finfo(np.float64).eps)))


def _skew(W: Array) -> float:
    used = W[:, np.any(W != 0, axis=0)]
    return float(np.linalg.norm(used.T @ used - np.eye(used.shape[1])))


def correlated(tables: TwoTables, k: int) -> tuple[Pairs, Array]:
    r"""Find pairs of largest correlation, and those correlations.

    With :math:`X = U_x S_x V_x^\top` and :math:`Y` alike, they are the singular values of :math:`U_x^\top U_y`, and directions are
    :math:`V_x S_x^{-1}` times the singular vectors (Björck and Golub 1973). Tall tables are first reduced to their triangular
    factor.
    """
    n, p = tables.X.values.shape
    q = tables.Y.values.shape[1]
    if n > p + q:
        whole = _kernels.triangle_of_both(
            tables.X.values,
            tables.Y.values,
            np.concatenate([tables.X.mean, tables.Y.mean]),
            1 / np.concatenate([tables.X.scale, tables.Y.scale]),
        )
        A, B = whole[:, :p], whole[:, p:]
    else:
        A, B = tables.X.standardised(), tables.Y.standardised()
    work = 14.0 * len(A) * (p * min(len(A), p) + q * min(len(A), q))
    with one_blas_thread(A.size):
        (Ux, sx, Vx), (Uy, sy, Vy) = interruptible(lambda: (_basis(A), _basis(B)), work=work)
        K = Ux.T @ Uy
        left, rho, right = np.linalg.svd(K, full_matrices=False)
        used = min(k, len(rho))
        rho = np.minimum(rho, 1.0)
        x = _directed(Vx, sx, left[:, :used], k)
        y = _directed(Vy, sy, right[:used].T, k)
        sign = np.where(x[0][np.argmax(np.abs(x[0]), axis=0), np.arange(k)] < 0, -1.0, 1.0)
        off = np.hypot(
            np.linalg.norm(K @ right[:used].T - left[:, :used] * rho[:used]),
            np.linalg.norm(K.T @ left[:, :used] - right[:used].T * rho[:used]),
        )
        skew = float(np.linalg.norm(left[:, :used].T @ left[:, :used] - np.eye(used)))
    condition = max(float(sx[0] / sx[-1]) if len(sx) else 1.0, float(sy[0] / sy[-1]) if len(sy) else 1.0)
    rounding_error = tables.rounding * condition
    correlations = np.zeros(k)
    correlations[:used] = rho[:used]
    pairs = Pairs(
        x[0] * sign, y[0] * sign, x[1] * sign, y[1] * sign, x[2] * sign, y[2] * sign,
        left=float(np.sum(rho[used:] ** 2)),
        total=float(np.sum(rho**2)),
        gap=4 * rounding_error * (1 + float(np.sum(rho))),
        residual=float(off) + rounding_error,
        orthogonality=skew + rounding_error,
    )  # fmt: skip
    return pairs, correlations


def _basis(A: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of a table, without what is not more than rounding."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = int(np.sum(s > SINGULAR * s[0])) if s[0] > 0 else 0
    return U[:, :kept], s[:kept], np.ascontiguousarray(Vt[:kept].T)


def _directed(V: Array, s: Array, turn: Array, k: int) -> tuple[Array, Array, Array]:
    """Return weights, loadings and rotations of canonical directions V S^-1 turn.

    What is left of a table after the components before has no part along their rotations, so weights are the directions made
    orthonormal in their order, and rotations the directions themselves, as long as the weights are.
    """
    W, P, R = (np.zeros((len(V), k)) for _ in range(3))
    used = turn.shape[1]
    if used:
        A = (V / s) @ turn
        Q, upper = np.linalg.qr(A)
        length = np.abs(upper.diagonal())
        W[:, :used] = Q * np.where(upper.diagonal() < 0, -1.0, 1.0)
        R[:, :used], P[:, :used] = A / length, ((V * s) @ turn) * length
    return W, P, R
