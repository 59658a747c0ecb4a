"""Least squares with a penalty for many strengths and several folds, each known by the products of its columns.

Products are made once; from then on a strength costs a descent among p coefficients and touches no row. Made for few columns:
`_fold_paths` looks for the few that matter among many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.convex import _kernels

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.designs import Design


SWEEPS = 10_000  # over the columns for one strength, at most
SCORES = 1 << 21  # made at once when strengths are judged


@dataclass
class FoldProducts:
    """One fold, and where it stands.

    Attributes
    ----------
    gram : ndarray of shape (p, p)
        Products of the centred columns.
    linear : ndarray of shape (p, m)
        Products of columns and targets.
    constant : float
        Half the mean square of the targets, summed over them: the objective of the null model.
    mean : ndarray of shape (p,) or None
        Means of the columns; None without an intercept.
    level : ndarray of shape (m,)
        Means of the targets, or zeros.
    w : ndarray of shape (p, m)
        Coefficients for the last strength.
    factor : object
        What descents on these products keep from one to the next.
    """

    gram: Vector
    linear: Vector
    constant: float
    mean: Vector | None
    level: Vector
    w: Vector
    factor: Any

    @classmethod
    def of(cls, design: Design, y: Vector, share: Vector, *, intercept: bool) -> FoldProducts:
        """Make the products of rows with shares that sum to one, zero for those left out; ``y`` is (n, m)."""
        mean = design.adjoint_product(share) if intercept else None
        level = share @ y if intercept else np.zeros(y.shape[1])
        start = y - level
        linear = design.adjoint_product(share[:, np.newaxis] * start, mean)
        constant = 0.5 * float(np.sum(share @ start**2))
        factor = _kernels.face_factor()
        return cls(design.gram(share, mean), linear, constant, mean, level, np.zeros_like(linear), factor)

    def errors(self, w: Vector, rows: Design, y: Vector, s: Vector) -> Vector:
        """Return the weighted mean squared error of each of many coefficients (k, p, m) on rows, some at a time."""
        k, p, m = w.shape
        found = np.empty(k)
        size = max(1, SCORES // max(1, y.size))
        for first in range(0, k, size):
            some = w[first : first + size]
            shift = self.level - (np.zeros((len(some), m)) if self.mean is None else self.mean @ some)
            scores = rows.product(some.transpose(1, 0, 2).reshape(p, -1)).reshape(len(y), len(some), m)
            squares = ((scores + shift - y[:, np.newaxis]) ** 2).mean(axis=2)
            found[first : first + size] = np.average(squares, axis=0, weights=s)
        return found


def descend_folds(folds: list[FoldProducts], penalty: tuple[Any, ...], tol: float) -> list[Vector]:
    """Bring each fold within ``tol`` of its null model's objective from the optimum; return coefficients (p, m).

    ``penalty`` holds the numbers of a non-smooth one (lower and upper slopes, ridge), or of one on the lengths of rows (strengths,
    ridge). Folds of one target run in threads.
    """
    goals = [(tol * fold.constant, SWEEPS) for fold in folds]
    if folds[0].w.shape[1] == 1 and len(penalty) == 3:
        problems = [
            ((fold.gram, fold.linear[:, 0], fold.constant), penalty, goal, (fold.w[:, 0], None), fold.factor)
            for fold, goal in zip(folds, goals, strict=True)
        ]
        solved = [w[:, np.newaxis] for w, _, _, _ in _kernels.descend_grams(problems)]
    else:
        kernel = _kernels.descend_rows if len(penalty) == 2 else _kernels.descend_targets
        solved = [
            kernel(fold.gram, fold.linear, fold.constant, penalty, goal, fold.w)[0]
            for fold, goal in zip(folds, goals, strict=True)
        ]
    for fold, w in zip(folds, solved, strict=True):
        fold.w = w
    return solved
