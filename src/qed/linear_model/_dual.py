"""Fewer rows than columns: least squares by the products of rows.

With ``K = X̃X̃ᵀ`` (rows scaled by the square root of their weight, columns centred), the coefficients are
``w = prior + X̃ᵀa`` where ``(K + alpha I) a = ỹ - X̃ prior``: a system of n equations instead of p. The residual of an exact
solution is ``alpha a``, which is also the best dual point, so the gap of any ``(w, a)`` is a sum of squares,

    ‖r - alpha a‖² + alpha ‖X̃ᵀa - (w - prior)‖²,

nonnegative term by term. Without penalty the rows are interpolated, and the gap is at most ``‖r‖²``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._memory import require_memory
from qed.core._threads import one_blas_thread
from qed.designs import Dense, design
from qed.linear_model._factors import CONDITION_LIMIT
from qed.linear_model._kernels import cholesky, solve_lower, solve_lower_t
from qed.linear_model._quadratic import UNIT
from qed.linear_model._solve import DIGITS, Fit, Proof, in_single

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.designs import Design
    from qed.linear_model._quadratic import Penalty

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Wide:
    """A design with few rows, seen centred and weighted; nothing of its size is copied."""

    X: Any  # (n, p), an array or a sparse container
    design: Design  # over X
    root: Array  # (n, 1), square roots of the weights
    mean_x: Array  # (p,), zero without intercept
    mean_y: Array  # (m,)
    y: Array  # (n, m), centred and weighted
    has_intercept: bool
    plain_y: Array  # (n, m), as it came
    weight: Array | None  # (n,), as they came
    length: float = 0.0  # ‖X̃‖, Frobenius: the root of the trace of K, known once that is

    @classmethod
    def of(cls, X: Any, y: Array, s: Array | None, *, intercept: bool) -> Wide:
        """Centre targets, find the means of the columns; rows of weight zero must be gone."""
        n, p = X.shape
        table = design(X)
        weight, s = s, np.ones(n) if s is None else s
        mean_x, mean_y = np.zeros(p), np.zeros(y.shape[1])
        if intercept:
            share = s / s.sum()
            mean_x = table.T @ share
            mean_y = y[0] + share @ (y - y[0])
        root = np.sqrt(s)[:, None]
        return cls(X, table, root, mean_x, mean_y, root * (y - mean_y), intercept, y, weight)

    def products(self) -> Array:
        """Return ``K``, exactly centred and symmetric."""
        n = self.X.shape[0]
        require_memory(3 * 8 * n * n, f"The {n} x {n} matrix of products of rows", "Use fewer rows or a sparse design.")
        # what float32 products lose is won back from residuals, which are summed in float64
        K = Dense(self.X).rows_gram(self.mean_x if self.has_intercept else None, fast=True)
        if self.weight is not None:
            K *= self.root
            K *= self.root.T
        if self.has_intercept:
            v = self.direction
            Kv = K @ v
            if np.linalg.norm(Kv) * n > 1e-13 * np.trace(K):  # what rounding left of the mean is taken out of K itself
                K -= np.multiply.outer(v, Kv)
                K -= np.multiply.outer(Kv - v * (v @ Kv), v)
        return K

    @property
    def direction(self) -> Array:
        """The unit vector along the weights' square roots, which centring removes."""
        return self.root[:, 0] / np.linalg.norm(self.root)

    def balanced(self, a: Array) -> Array:
        """Return ``a`` without its part along the intercept."""
        return a - np.multiply.outer(self.direction, self.direction @ a) if self.has_intercept else a

    def mean(self, r: Array) -> Array:
        """Return the weighted mean of residuals: what the intercept still has to take up."""
        return self.root[:, 0] @ r / np.sum(self.root**2) if self.has_intercept else np.zeros(r.shape[1])

    def offset(self, w: Array, b: Array, mean_r: Array, r: Array) -> tuple[Array, Array]:
        """Return what the rounding of the intercept costs, and a bound on the rounding of that number."""
        if not self.has_intercept:
            return np.zeros_like(b), np.zeros_like(b)
        weight = np.sum(self.root**2)
        off = np.abs(self.mean_y - self.mean_x @ w + mean_r - b)
        rounding_error = (len(w) + 4) * UNIT * (np.abs(self.mean_y) + np.abs(self.mean_x) @ np.abs(w) + np.abs(b))
        rounding_error = rounding_error + (len(r) + 4) * UNIT * np.linalg.norm(r, axis=0) / np.sqrt(weight)
        return weight * off**2, weight * (2 * off * rounding_error + rounding_error**2)

    def dot(self, w: Array) -> Array:
        """Return ``X̃ w``."""
        return self.root * self.design.product(w, self.mean_x)

    def adjoint(self, a: Array) -> Array:
        """Return ``X̃ᵀ a``."""
        return self.design.adjoint_product(self.root * a, self.mean_x)


def from_rows(wide: Wide, penalty: Penalty, products: Array | None = None, *, single: float | None = None) -> Fit:
    """Solve by the products of rows; where those are too singular, by the singular values of the design itself.

    ``products``, if they are known already, are overwritten. ``single`` is the tolerance of `in_single`.
    """
    K = wide.products() if products is None else products
    wide = replace(wide, length=1.001 * float(np.sqrt(np.trace(K))))
    rhs = wide.balanced(wide.y - (wide.dot(penalty.prior) if np.any(penalty.prior) else 0.0))
    systems = _factorise(wide, K, penalty)
    if systems is None:
        return _by_singular_values(wide, penalty, rhs, single)
    a, left = np.zeros_like(rhs), rhs
    condition = max(system.condition for system in systems)
    for rounds in range(1, 5):  # each round wins the digits that the products of float32 rows, or their condition, lost
        for (_, targets), system in zip(penalty.groups(), systems, strict=True):
            a[:, targets] += system.solve(left[:, targets])
        a = wide.balanced(a)
        fit, left = certified(wide, penalty, rhs, a, condition)
        is_close = fit.proof.gap - fit.proof.rounding <= 1e-13 * fit.proof.null_objective
        if is_close and (rounds > 1 or condition**2 * UNIT <= DIGITS):
            break
    else:
        if fit.proof.gap > 1e-10 * fit.proof.null_objective:
            return _by_singular_values(wide, penalty, rhs, single)
    if single is None:
        return fit
    return in_single(lambda w: certified(wide, penalty, rhs, a, condition, w)[0], fit.w, single)


@dataclass(frozen=True, eq=False)
class _System:
    """A Cholesky factor of ``D (K + alpha I) D``."""

    L: Array
    d: Array
    condition: float

    def solve(self, rhs: Array) -> Array:
        return self.d * solve_lower_t(self.L, solve_lower(self.L, self.d * rhs))


def _factorise(wide: Wide, K: Array, penalty: Penalty) -> list[_System] | None:
    """Factorise once for every strength; None when rows are dependent and nothing else holds the system."""
    n = len(K)
    if wide.has_intercept and not np.all(penalty.alpha > 0):
        # centring made one direction singular; the right-hand side has no part in it
        v = wide.direction
        K += np.trace(K) / max(n, 1) * np.multiply.outer(v, v)
    largest = _largest_eigenvalue(K)
    groups = penalty.groups()
    systems = []
    for alpha, _ in groups:
        M = K.copy() if len(groups) > 1 else K  # K is not needed afterwards
        M.flat[:: n + 1] += alpha
        diagonal = M.diagonal()
        if not np.all(diagonal > 0):
            return None
        d = 1 / np.sqrt(diagonal)[:, None]
        M *= d
        M *= d.T
        L, bad = cholesky(M)
        if bad >= 0:
            return None
        if alpha > 0:  # K has no negative eigenvalue: alpha is a floor
            condition = np.sqrt((largest + alpha) / alpha)
        else:
            condition = float(np.linalg.norm(solve_lower(L, np.eye(n))) * np.sqrt(n))
            if condition > CONDITION_LIMIT:
                return None
        systems.append(_System(L, d, condition))
    return systems


def _largest_eigenvalue(K: Array) -> float:
    """Estimate from below, by a few multiplications: it only decides whether digits must be won back."""
    v = np.ones(len(K)) + np.arange(len(K)) % 3
    size = 0.0
    for _ in range(3):
        v = K @ v
        size = float(np.linalg.norm(v))
        v /= max(size, 1e-300)
    return size


def certified(
    wide: Wide, penalty: Penalty, rhs: Array, a: Array, condition: float, stored: Array | None = None
) -> tuple[Fit, Array]:
    """Certify the coefficients that ``a`` stands for, or those ``stored`` in their place; return what is left of its equations."""
    n, p = wide.X.shape
    w = penalty.prior + wide.adjoint(a)
    moved = (
        0.0 if stored is None else np.linalg.norm(stored - w, axis=0)
    )  # the gap is that in X̃w plus alpha times this squared
    w = w if stored is None else stored
    r = wide.y - wide.dot(w)
    mean_r = wide.mean(r)
    b = wide.mean_y - wide.mean_x @ w + mean_r
    off, off_rounding = wide.offset(w, b, mean_r, r)
    r = wide.balanced(r)
    left = r - penalty.alpha * a
    # rounding: of the residuals, row by row; of X̃ᵀa; of the sum with the prior
    rounding_r = (p + 8) * UNIT * (wide.length * np.linalg.norm(w, axis=0) + np.linalg.norm(wide.y, axis=0))
    rounding_w = (n + 8) * UNIT * wide.length * np.linalg.norm(a, axis=0) + UNIT * np.linalg.norm(w, axis=0)
    size = np.where(penalty.alpha > 0, np.linalg.norm(left, axis=0), np.linalg.norm(r, axis=0))
    exact_gap = size**2 + penalty.alpha * moved**2
    gap = (size + rounding_r) ** 2 + penalty.alpha * (moved + rounding_w) ** 2
    squares = np.einsum("nm,nm->m", r, r)
    whole = np.linalg.norm(wide.y, axis=0) + wide.length * np.linalg.norm(w, axis=0)
    proof = Proof(
        gap=float(np.sum(gap + off + off_rounding)),
        rounding=float(np.sum(gap - exact_gap + off_rounding)),
        objective=float(np.sum(squares + off + penalty.value(w))),
        null_objective=float(np.sum(rhs**2)),
        backward_error=float(np.max((size + rounding_r) / np.where(whole > 0, whole, 1.0), initial=0.0)),
        radius=np.inf,
        condition=condition,
        rank=p if np.all(penalty.alpha > 0) else min(n - wide.has_intercept, p),
    )
    return Fit(w, b, squares, proof, "dual cholesky"), left


def _by_singular_values(wide: Wide, penalty: Penalty, rhs: Array, single: float | None) -> Fit:
    """Solve from the singular values of a centred copy: dependent rows, or a penalty too weak to hold them apart."""
    n, p = wide.X.shape
    require_memory(4 * 8 * n * p, f"Centring and decomposing dependent rows of a {n} x {p} design", "Raise alpha.")
    Z = wide.root * (wide.X - wide.mean_x)
    with one_blas_thread():
        U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    keep = sigma > 2 * UNIT * max(n, p) * np.max(sigma, initial=0.0)
    U, sigma, Vt = U[:, keep], sigma[keep], Vt[keep]
    seen = U.T @ rhs
    w = penalty.prior + Vt.T @ (seen * sigma[:, None] / (sigma[:, None] ** 2 + penalty.alpha))
    shortest = np.sqrt(np.min(np.einsum("np,np->p", Z, Z), initial=np.inf, where=np.any(Z, axis=0)))
    return in_single(lambda w: _judged(wide, penalty, rhs, U, sigma, Vt, w, float(shortest)), w, single)


def _judged(
    wide: Wide, penalty: Penalty, rhs: Array, U: Array, sigma: Array, Vt: Array, w: Array, shortest: float
) -> Fit:
    """Certify by the singular vectors: exact along them, and up to a radius along what they do not see."""
    n, p = wide.X.shape
    r = wide.y - wide.dot(w)
    mean_r = wide.mean(r)
    b = wide.mean_y - wide.mean_x @ w + mean_r
    off, off_rounding = wide.offset(w, b, mean_r, r)
    r = wide.balanced(r)
    step = w - penalty.prior
    along = U.T @ r * sigma[:, None] - penalty.alpha * (Vt @ step)
    floor = sigma[:, None] ** 2 * 0.5 + penalty.alpha
    unseen = penalty.alpha * np.linalg.norm(step - Vt.T @ (Vt @ step), axis=0)
    cut = 8 * UNIT * max(n, p) * np.max(sigma, initial=0.0)
    span = np.linalg.norm(step, axis=0) + np.linalg.norm(wide.y, axis=0) / max(wide.length, 1e-300)
    reach = 10 * float(np.max(span, initial=0.0))  # one radius, whatever the units of the targets
    rounding_error = (
        (n + p + 16) * UNIT * wide.length * (wide.length * np.linalg.norm(w, axis=0) + np.linalg.norm(wide.y, axis=0))
    )
    exact = np.sum(along**2 / floor, axis=0)
    free = 2 * (cut * np.linalg.norm(r, axis=0) + rounding_error + unseen) * reach + (cut * reach) ** 2
    squares = np.einsum("nm,nm->m", r, r)
    whole = np.linalg.norm(wide.y, axis=0) + wide.length * np.linalg.norm(w, axis=0)
    # no objective is below zero: the objective itself, with what rounding may hide of it, is a bound too
    trivial = (np.sqrt(squares) + (p + 8) * UNIT * whole) ** 2 + (1 + 8 * UNIT) * penalty.value(w)
    charged = np.minimum(2 * (exact + rounding_error**2 / np.min(floor, axis=0, initial=np.inf)) + free, trivial)
    is_bounded = bool(np.any(charged < trivial))
    error = np.linalg.norm(along, axis=0) / max(wide.length, 1e-300)
    proof = Proof(
        gap=float(np.sum(charged + off + off_rounding)),
        rounding=float(np.sum(np.maximum(charged - exact, 0.0) + off_rounding)),
        objective=float(np.sum(squares + off + penalty.value(w))),
        null_objective=float(np.sum(rhs**2)),
        backward_error=float(np.max(error / np.where(whole > 0, whole, 1.0), initial=0.0)),
        radius=reach * shortest if is_bounded else np.inf,
        condition=float(np.max(sigma, initial=1.0) / np.min(sigma, initial=np.inf)) if len(sigma) else 1.0,
        rank=len(sigma),
    )
    return Fit(w, b, squares, proof, "dual svd")
