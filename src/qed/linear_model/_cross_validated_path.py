"""Choosing the strength of a sparse model: all strengths, for all folds, judged by the rows that each fold left out.

Few columns are known by their products, which each fold makes once for all strengths. Of many, dense designs with one target
solve all folds side by side, so that one pass over X serves them all; sparse designs and several targets solve fold after fold,
each from its solution for the strength before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.convex import Problem, Squared, solve
from qed.convex._fold_paths import FoldPaths
from qed.convex._fold_products import FoldProducts, descend_folds
from qed.convex.penalties import ElasticNet, Group
from qed.convex.solvers import CoordinateDescent
from qed.core import InvalidParameter
from qed.core._events import STOP, Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._folds import folds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from qed.convex._penalty import Penalty

    Array = NDArray[np.float64]
    Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


NARROW = 512  # columns whose products are made, if there are as many rows
NOTHING = 1e-15  # a largest strength below this: there is nothing to explain


@dataclass(frozen=True)
class Choice:
    """What to choose from, and how each candidate is solved."""

    owner: str
    alphas: Any  # a number of strengths, or the strengths
    eps: float
    l1_ratios: Array
    intercept: bool
    nonnegative: bool
    together: bool  # whether rows of coefficients are penalised by their lengths
    cv: Any
    tol: float
    max_iter: int
    verbose: int


class PathResult(NamedTuple):
    """The choice, and what it rests on.

    Attributes
    ----------
    alpha, l1_ratio : float
        Strength and ratio with the least mean squared error.
    alphas : ndarray of shape (r, k)
        Strengths for each ratio, from strong to weak.
    errors : ndarray of shape (r, k, f)
        Mean squared error for each ratio, strength and fold; NaN where the search was stopped before.
    is_interrupted : bool
        Whether Ctrl-C ended the search.
    """

    alpha: float
    l1_ratio: float
    alphas: Array
    errors: Array
    is_interrupted: bool


def penalty_of(alpha: float, l1_ratio: float, *, nonnegative: bool, together: bool) -> Penalty:
    """Return the penalty of a strength and a ratio."""
    if together:
        return Group(alpha * l1_ratio, None, alpha * (1.0 - l1_ratio))
    return ElasticNet(alpha * l1_ratio, alpha * (1.0 - l1_ratio), nonnegative)


def strengths(choice: Choice, X: Any, y: Array, weight: Array | None, l1_ratio: float) -> Array:
    """Return the strengths to try, from strong to weak; the strongest makes all coefficients zero."""
    if not isinstance(choice.alphas, int | np.integer):
        given = np.asarray(choice.alphas, dtype=np.float64)
        if given.ndim != 1 or not len(given) or not (np.all(np.isfinite(given)) and np.all(given >= 0)):
            msg = f"{choice.owner}.alphas must be a number of penalty strengths, or finite ones >= 0, got {choice.alphas!r:.200}."
            raise InvalidParameter(msg)
        return np.sort(given)[::-1]
    if l1_ratio == 0:
        msg = (
            f"{choice.owner}.alphas must be given with l1_ratio=0: no finite penalty strength makes all coefficients zero."
            " Pass the penalty strengths to try."
        )
        raise InvalidParameter(msg)
    share = np.full(len(y), 1.0 / len(y)) if weight is None else weight / weight.sum()
    plain = design(X)
    centre = plain.adjoint_product(share) if choice.intercept else None
    start = y - (share @ y if choice.intercept else 0.0)
    pull = plain.adjoint_product(share * start if y.ndim == 1 else share[:, np.newaxis] * start, centre)
    size = (
        pull.max(initial=0.0)
        if choice.nonnegative
        else np.sqrt(np.max(np.sum(pull.reshape(len(pull), -1) ** 2, axis=1)))
    )
    most = max(float(size), 0.0) / l1_ratio
    if most <= NOTHING:
        return np.full(int(choice.alphas), NOTHING)
    return np.asarray(np.geomspace(most, most * choice.eps, int(choice.alphas)))


def choose_strength(choice: Choice, X: Any, y: Array, weight: Array | None) -> PathResult:
    """Judge every ratio and strength by folds; Ctrl-C or a callback leaves the choice among those judged so far."""
    folds = folds_of(choice.owner, choice.cv, X, y, weight)
    by_products = X.shape[1] <= NARROW and X.shape[1] <= X.shape[0]
    side_by_side = isinstance(X, np.ndarray) and y.ndim == 1
    grids = np.array([strengths(choice, X, y, weight, float(ratio)) for ratio in choice.l1_ratios])
    errors = np.full((*grids.shape, len(folds)), np.nan)
    is_interrupted = False
    with one_blas_thread(), Progress(choice.owner, grids.size, verbose=choice.verbose) as progress:
        try:
            for at in np.ndindex(grids.shape):
                if at[1] == 0:
                    ratio = float(choice.l1_ratios[at[0]])
                    wide = _side_by_side if side_by_side and ratio > 0 else _one_by_one
                    judged = (_by_products if by_products else wide)(choice, folds, X, y, weight, grids[at[0]], ratio)
                errors[at] = next(judged)
                if progress.step(float(errors[at].mean())) is STOP:
                    break
        except KeyboardInterrupt:
            if np.isnan(errors).all():
                raise
            is_interrupted = True
    means = errors.mean(axis=2)
    best = np.unravel_index(int(np.nanargmin(means)), means.shape)
    return PathResult(float(grids[best]), float(choice.l1_ratios[best[0]]), grids, errors, is_interrupted)


def _by_products(
    choice: Choice, folds: list[Fold], X: Any, y: Array, weight: Array | None, grid: Array, ratio: float
) -> Iterator[Array]:
    """Yield the errors of all folds, strength after strength: descents on products, all strengths judged together."""
    s, p = np.ones(len(y)) if weight is None else weight, X.shape[1]
    targets, plain = y.reshape(len(y), -1), design(X)
    parts = [np.bincount(train, minlength=len(y)) * s for train, _ in folds]
    known = [FoldProducts.of(plain, targets, part / part.sum(), intercept=choice.intercept) for part in parts]
    paths = []
    for alpha in grid:
        penalty = penalty_of(float(alpha), ratio, nonnegative=choice.nonnegative, together=choice.together)
        paths.append(descend_folds(known, penalty.numbers(p), choice.tol))
    errors = np.empty((len(grid), len(folds)))
    for at, ((_, test), fold, path) in enumerate(zip(folds, known, zip(*paths, strict=True), strict=True)):
        errors[:, at] = fold.errors(np.stack(path), design(X[test]), targets[test], s[test])
    yield from errors


def _side_by_side(
    choice: Choice, folds: list[Fold], X: Any, y: Array, weight: Array | None, grid: Array, ratio: float
) -> Iterator[Array]:
    """Yield the errors of all folds, strength after strength."""
    n = len(y)
    s = np.ones(n) if weight is None else weight
    counts = np.stack([np.bincount(train, minlength=n) * s for train, _ in folds], axis=1).astype(np.float64)
    plain = design(X)
    paths = FoldPaths(
        plain,
        y,
        counts,
        intercept=choice.intercept,
        centre=plain.adjoint_product(s / s.sum()),
        nonnegative=choice.nonnegative,
    )
    for alpha in grid:
        found = paths.at(alpha * ratio, alpha * (1.0 - ratio), choice.tol)
        residual = found.residual
        is_solved = found.gap <= choice.tol * paths.null_objective
        for at in np.flatnonzero(~is_solved):  # lost its way among dependent columns
            w, b = next(_path(choice, folds[at][0], X, y, s, np.array([alpha]), ratio))
            residual = residual.copy()
            residual[:, at] = y - plain.product(w) - b
        yield np.array([np.average(residual[test, at] ** 2, weights=s[test]) for at, (_, test) in enumerate(folds)])


def _one_by_one(
    choice: Choice, folds: list[Fold], X: Any, y: Array, weight: Array | None, grid: Array, ratio: float
) -> Iterator[Array]:
    """Yield the same, for designs and targets that are solved one after the other."""
    s = np.ones(len(y)) if weight is None else weight
    solved = [_path(choice, train, X, y, s, grid, ratio) for train, _ in folds]
    for points in zip(*solved, strict=True):
        errors = []
        for (_, test), (w, b) in zip(folds, points, strict=True):
            squares = (design(X[test]).product(w) + b - y[test]) ** 2
            errors.append(np.average(squares if y.ndim == 1 else squares.mean(axis=1), weights=s[test]))
        yield np.array(errors)


def _path(
    choice: Choice, train: NDArray[np.intp], X: Any, y: Array, s: Array, grid: Array, ratio: float
) -> Iterator[tuple[Array, Any]]:
    """Yield coefficients and intercept of one fold, strength after strength."""
    rows = train[s[train] > 0]
    share = s[rows] / s[rows].sum()
    part = design(X[rows])
    centre = part.adjoint_product(share) if choice.intercept else None
    lengths = part.column_norms(share, centre)
    start = None
    for alpha in grid:
        penalty = penalty_of(float(alpha), ratio, nonnegative=choice.nonnegative, together=choice.together)
        problem = Problem(part, Squared(y[rows]), penalty, share, choice.intercept, centre, lengths)
        with Progress(choice.owner, choice.max_iter) as progress:
            found = solve(
                problem, CoordinateDescent(), tol=choice.tol, max_iter=choice.max_iter, progress=progress, start=start
            )
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        start = (found.w, found.b)
        yield found.w, found.b - (0.0 if centre is None else centre @ found.w)
