"""Least squares with an elastic-net penalty for many strengths and several weightings of the same rows, side by side.

A weighting is a fold: held-out rows weigh nothing. Every fold has a working set of its own, which it keeps from one strength
to the next together with the products of its columns and a factor of those that are not zero: from the optimum of one strength
the next is a few solves away. One pass over the design, with the residuals of all folds side by side, tells what is missing
in each, and how far each is from its optimum; two such passes foretell what the next strength will miss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import _kernels

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.designs import Design


SWEEPS = 2000  # of one descent, at most
AHEAD = 0.97  # columns whose pull is this share of the penalty join before they are needed
TIGHTER = 0.3  # a working set is solved to this share of the gap asked for
NEAR = 0.8  # share of the last strength down to which pulls are extrapolated: further on, too many signs have changed
ROUNDS = 50  # working sets for one strength, at most
FOLLOWED = (
    1e-8  # gap, relative to the null model's, to which a path is followed: faces are solved exactly or not at all
)
SWEPT = 1e-6  # the same with a ridge, where digits cost sweeps
ROOM, BYTES = 2000, 1 << 26  # columns that a fold has room for at first, and how much memory they may span
STUCK = 0.5  # share of a gap that a round must leave behind when nothing is missing


class Strength(NamedTuple):
    """The solutions of all folds for one strength.

    Attributes
    ----------
    columns : list of ndarray
        Columns of the working set of each fold; all other coefficients are zero.
    coefficients : list of ndarray
        Coefficients of those columns.
    b : ndarray of shape (f,)
        Intercepts.
    residual : ndarray of shape (n, f)
        Targets less predictions of each fold, for all rows.
    gap : ndarray of shape (f,)
        Duality gaps, rounding left aside.
    rounds : int
        Working sets that were solved for.
    """

    columns: list[np.ndarray[Any, Any]]
    coefficients: list[Vector]
    b: Vector
    residual: Vector
    gap: Vector
    rounds: int


class FoldPaths:
    """Solutions of all folds, from strong penalties to weak ones.

    Parameters
    ----------
    design : Design
        X, of n rows, dense.
    y : ndarray of shape (n,)
        Targets.
    weights : ndarray of shape (n, f)
        How much each row counts in each fold; every column must have a positive sum.
    intercept : bool
        Whether each fold has an intercept.
    centre : ndarray of shape (p,)
        About the means of the columns, so that products keep their digits; not used without an intercept.
    nonnegative : bool
        Whether coefficients must be nonnegative.
    """

    def __init__(
        self, design: Design, y: Vector, weights: Vector, *, intercept: bool, centre: Vector, nonnegative: bool = False
    ) -> None:
        self._design = design
        self._nonnegative = nonnegative
        self._share = weights / weights.sum(axis=0)
        folds = weights.shape[1]
        self.null = self._share.T @ y if intercept else np.zeros(folds)
        self._start = y[:, np.newaxis] - self.null
        self.null_objective = 0.5 * np.einsum("nf,nf->f", self._share, self._start**2)
        self._centre = centre if intercept else None
        means = np.zeros((design.shape[1], folds))
        if intercept:
            means = centre[:, np.newaxis] + design.adjoint_product(self._share, centre)
        self._folds = [
            _Fold(design, self._share[:, at], self._start[:, at], means[:, at] if intercept else None)
            for at in range(folds)
        ]
        self._residual = self._start.copy()
        self._look()
        self._at, self._before = np.inf, (np.inf, self._pull)  # strength of these pulls; the one before, and its pulls

    @property
    def strongest(self) -> float:
        """Strength from which on all coefficients are zero, at the start."""
        return float(self._most.max())

    def _look(self) -> None:
        """Make one pass: minus the gradient of every fold, (p, f). The weighted residuals of a fold add up to nothing."""
        weighted = self._share * self._residual
        self._pull = self._design.adjoint_product(weighted, self._centre)
        self._most = self._pull.max(axis=0) if self._nonnegative else np.abs(self._pull).max(axis=0)
        self._half = 0.5 * np.einsum("nf,nf->f", weighted, self._residual)
        for at, fold in enumerate(self._folds):
            fold.pull = self._pull[fold.index, at]

    def at(self, alpha: float, ridge: float, tol: float) -> Strength:
        """Solve all folds for one strength, each to a gap of ``tol`` of its null model's objective."""
        target = min(tol, SWEPT if ridge > 0 else FOLLOWED) * self.null_objective
        gap = self._gaps(alpha, ridge)
        before = np.full_like(gap, np.inf)
        tighter, rounds = TIGHTER, 0
        open_, start = np.flatnonzero(gap > target), (self._at, self._pull)
        while len(open_) and rounds < ROUNDS:
            rounds += 1
            grew = self._add(open_, alpha, self._pull if rounds > 1 else self._expected(alpha))
            if rounds > 1 and not grew:
                tighter *= 0.1  # nothing is missing: more digits
                if tighter < 1e-9 or np.all(gap[open_] > STUCK * before[open_]):
                    break
            before = gap
            self._descend(open_, alpha, ridge, tighter * target)
            _kernels.fold_residuals([(*self._folds[at].model(), int(at)) for at in open_], self._residual)
            self._look()
            gap = self._gaps(alpha, ridge)
            open_ = np.flatnonzero(gap > target)
        self._at, self._before = alpha, start
        folds = self._folds
        b = np.array([null - fold.shift() for null, fold in zip(self.null, folds, strict=True)])
        return Strength([fold.index for fold in folds], [fold.w for fold in folds], b, self._residual, gap, rounds)

    def _expected(self, alpha: float) -> Vector:
        """Return the pulls that a weaker penalty should leave: they change along lines while signs stay."""
        before, pull = self._before
        if not (NEAR * self._at <= alpha < self._at and NEAR * before <= self._at < before < np.inf):
            return self._pull
        return np.asarray(self._pull + (self._at - alpha) / (before - self._at) * (self._pull - pull))

    def _add(self, open_: np.ndarray[Any, Any], alpha: float, pull: Vector) -> bool:
        """Let each fold take up the columns that are missing by these pulls, and make their products; say whether any is."""
        grown = []
        for at in open_:
            fold = self._folds[at]
            fresh = self._missing(pull[:, at], fold, alpha)
            if len(fresh):
                grown.append(fold.add(fresh, self._pull[fresh, at]))
        _kernels.extend_products(grown)
        return bool(grown)

    def _missing(self, pull: Vector, fold: _Fold, alpha: float) -> np.ndarray[Any, Any]:
        """Return columns outside a fold's working set whose pull is near alpha, if one of them is above."""
        size = pull.copy() if self._nonnegative else np.abs(pull)
        size[fold.index] = -1.0
        return np.flatnonzero(size >= AHEAD * alpha) if np.any(size > alpha) else np.zeros(0, dtype=np.int64)

    def _descend(self, open_: np.ndarray[Any, Any], alpha: float, ridge: float, target: Vector) -> None:
        problems = []
        for at in open_:
            fold = self._folds[at]
            high = np.full(len(fold.index), alpha)
            low = np.full(len(fold.index), -np.inf) if self._nonnegative else -high
            quadratic = (fold.gram, fold.linear, float(self.null_objective[at]))
            problems.append(
                (quadratic, (low, high, ridge), (float(target[at]), SWEEPS), (fold.w, -fold.pull), fold.factor)
            )
        for at, (w, _, _, _) in zip(open_, _kernels.descend_grams(problems), strict=True):
            self._folds[at].w = w

    def _gaps(self, alpha: float, ridge: float) -> Vector:
        """Return the gap of each fold, with its residuals as the dual point."""
        z, most = self._pull, self._most
        factor = np.ones_like(most)
        if ridge > 0:
            out = np.maximum((z if self._nonnegative else np.abs(z)) - alpha, 0.0)
            total = np.einsum("pf,pf->f", out, out) / (2 * ridge)
        else:
            factor = np.minimum(1.0, np.divide(alpha, most, out=factor, where=most > 0))
            total = (1 - factor) ** 2 * self._half
        for at, fold in enumerate(self._folds):
            w, pull = fold.w, factor[at] * fold.pull
            inside = np.minimum(pull, alpha) if self._nonnegative else np.clip(pull, -alpha, alpha)
            total[at] += float(np.abs(w) @ np.maximum(alpha - np.sign(w) * inside, 0.0))
            if ridge > 0:
                rest = pull - inside
                total[at] += float(np.sum((ridge * w - rest) ** 2 - rest**2)) / (2 * ridge)
        return np.asarray(total)


class _Fold:
    """The working set of one fold: its columns for all rows, centred for the fold, and their weighted products."""

    def __init__(self, design: Design, share: Vector, start: Vector, means: Vector | None) -> None:
        self._design, self._means = design, means
        self._order = np.argsort(share == 0, kind="stable")  # rows that count come first: products need no others
        self._weight, self._start = share[self._order][: np.count_nonzero(share)], start[self._order]
        self._ones = np.ones(len(share))
        self._columns = np.zeros((len(share), 0), order="F")
        self._products = np.zeros((0, 0))
        self.index: np.ndarray[Any, Any] = np.zeros(0, dtype=np.int64)
        self.linear = np.zeros(0)
        self.w = np.zeros(0)
        self.pull = np.zeros(0)  # at the last look
        self.factor = _kernels.face_factor()

    @property
    def gram(self) -> Vector:
        """Weighted products of the columns."""
        k = len(self.index)
        return self._products[:k, :k]

    def model(self) -> tuple[Vector, Vector, Vector, np.ndarray[Any, Any]]:
        """Return the columns, their coefficients, the targets, and where the rows of both belong."""
        return self._columns[:, : len(self.w)], self.w, self._start, self._order

    def shift(self) -> float:
        """Return what centring adds to the intercept."""
        return 0.0 if self._means is None else float(self._means[self.index] @ self.w)

    def add(self, fresh: np.ndarray[Any, Any], pull: Vector) -> tuple[Vector, Vector, Vector]:
        """Take columns into the working set; return what their products need: all columns, these weighted, and the room."""
        used = np.flatnonzero(self.w)
        if len(self.index) + len(fresh) > max(2 * len(used) + len(fresh), 256):
            self._keep(used)  # columns that were left behind would cost more than they can save
        old = len(self.index)
        k = old + len(fresh)
        if k > len(self._products):
            first = min(ROOM, BYTES // (8 * len(self._start)))
            self._grow(max(k, min(max(2 * k, first), self._design.shape[1])))
        block = np.asarray(self._design.taken(fresh, self._ones, self._means))[self._order]
        self._columns[:, old:k] = block
        n = len(self._weight)
        weighted = block[:n] * self._weight[:, np.newaxis]
        self.index = np.concatenate([self.index, fresh])
        self.linear = np.concatenate([self.linear, self._start[:n] @ weighted])
        self.w = np.concatenate([self.w, np.zeros(len(fresh))])
        self.pull = np.concatenate([self.pull, pull])
        return self._columns[:, :k], weighted, self._products

    def _keep(self, some: np.ndarray[Any, Any]) -> None:
        k = len(some)
        self._columns[:, :k] = self._columns[:, some]
        self._products[:k, :k] = self._products[np.ix_(some, some)]
        self.index, self.linear, self.w, self.pull = self.index[some], self.linear[some], self.w[some], self.pull[some]
        self.factor = _kernels.face_factor()  # the coordinates have other numbers now

    def _grow(self, capacity: int) -> None:
        k = len(self.index)
        columns, products = _kernels.room(capacity, len(self._start)).T, _kernels.room(capacity, capacity)
        columns[:, :k], products[:k, :k] = self._columns[:, :k], self._products[:k, :k]
        self._columns, self._products = columns, products
