"""Hyperplanes for a code matrix, all at once: what classes share is found once, and a problem is a few stretches of sorted rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import DualityGapCertificate, Fingerprint
from qed.convex._solve import MAX_CHEAP_ENTRIES
from qed.core import clone
from qed.core._events import STOP, Progress
from qed.designs._range import with_rounding
from qed.linear_model._kernels import coded_planes, column_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.convex._loss import Loss
    from qed.core import Array, FitData

    Book = NDArray[np.int8]


WIDEST = 256  # columns up to which a factor of the curvature is cheap beside the rows
LARGEST = 20_000_000  # entries of a table on which a few planes take no longer than Ctrl-C may wait
AT_ONCE = 10_000_000  # entries times planes of one call
FURTHER = 1e-6  # how much closer planes are sought where entries are few
ORDINARY = 1e-60, 1e60  # sizes of entries whose squares and sums stay far from the ends of float64


class CodedLoss(NamedTuple):
    """What is minimised beside half the squared coefficients.

    Attributes
    ----------
    loss : Loss
        Of one score, for two rows with the labels -1 and +1; compiled passes know it.
    strength : float
        What losses are multiplied by.
    constant : float or None
        Value of a further column, whose coefficient is penalised like any other.
    is_free : bool
        Whether there is an intercept without penalty.
    """

    loss: Loss
    strength: float
    constant: float | None = None
    is_free: bool = False


class Planes(NamedTuple):
    """One hyperplane for each problem, and what is known of it; coefficients of a constant column are left in ``w``."""

    w: Array
    b: Array  # for the columns as they came
    objective: Array
    null: Array
    gap: Array
    rounding: Array
    steps: Array


@dataclass(frozen=True, eq=False)
class Stretches:
    """Rows sorted by class.

    Attributes
    ----------
    rows : ndarray of shape (n, columns)
        The rows, and a constant column last where there is one.
    starts : ndarray of shape (classes + 1,)
        Where each class begins.
    loss : CodedLoss
        What is minimised on them, but for its strength.
    shift : ndarray of shape (columns,)
        Subtracted from each row, where an intercept is free to make up for it.
    """

    rows: Array
    starts: Any
    loss: CodedLoss
    shift: Array

    @classmethod
    def of(cls, X: Any, codes: Any, classes: int, loss: CodedLoss) -> Stretches | None:
        """Sort rows by the numbers of their classes; None for tables that are not small and ordinary."""
        if not isinstance(X, np.ndarray) or X.shape[1] >= WIDEST or X.size > LARGEST:
            return None
        largest = float(np.max(np.abs(X), initial=0.0))
        if not ORDINARY[0] < largest < ORDINARY[1]:
            return None
        p = X.shape[1]
        rows = np.empty((len(X), p + (loss.constant is not None)))
        rows[:, :p] = X[np.argsort(codes, kind="stable")]
        if loss.constant is not None:
            rows[:, p] = loss.constant
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=classes))])
        return cls(rows, starts, loss, rows.mean(axis=0) if loss.is_free else np.zeros(rows.shape[1]))

    @property
    def counts(self) -> Array:
        """Rows of each class."""
        return np.asarray(np.diff(self.starts), dtype=np.float64)

    def has_both_sides(self, book: Book) -> bool:
        """Say whether every problem of a book has rows on either side."""
        return bool(np.all(self.counts @ (book > 0) > 0) and np.all(self.counts @ (book < 0) > 0))

    def planes(
        self, book: Book, strength: float, tol: float, most: int, begin: tuple[Array, Array] | None = None
    ) -> Planes | None:
        """Solve the problems of a code matrix, from given hyperplanes for the columns as they came; None unless all are solved."""
        loss, traits = self.loss.loss, self.loss.loss.traits
        n, positive = self.counts @ (book != 0), self.counts @ (book > 0)
        shares = np.stack([1.0 - positive / n, positive / n], axis=1)
        level = np.array([float(loss.constant(share)) if self.loss.is_free else 0.0 for share in shares])
        sides = [loss.take(np.full(len(n), side)).value(level) for side in (0, 1)]
        null = strength * n * np.sum(shares * np.stack(sides, axis=1), axis=1)
        w = np.zeros((len(n), self.rows.shape[1]))
        if begin is not None:
            w, level = begin[0], begin[1] + begin[0] @ self.shift if self.loss.is_free else level
        model = (str(traits.native), float(traits.curvature_bound), float(strength), self.loss.is_free)
        table = (self.rows, self.starts, self.shift)
        aim = (FURTHER if self.rows.size <= MAX_CHEAP_ENTRIES else 1.0) * tol * null
        found = []
        at_once = max(4, AT_ONCE // self.rows.size)
        with Progress("planes", len(n)) as progress:
            for first in range(0, len(n), at_once):  # between calls Ctrl-C is heard
                some = slice(first, first + at_once)
                found.append(coded_planes(table, book.T[some], model, (w[some], level[some]), (aim[some], most)))
                if progress.step(count=len(found[-1][0])) is STOP:
                    return None
        w, b, numbers = (np.concatenate(part) for part in zip(*found, strict=True))
        objective, gap, rounding, steps = numbers.T
        if not np.all(gap - rounding <= tol * null):
            return None
        return Planes(w, b - w @ self.shift, objective, null, gap, rounding, steps)


def fit_coded(model: Any, data: FitData, book: Book, loss: CodedLoss) -> list[Any] | None:
    """Fit a copy of the model to each column of a code matrix; None where this way is not open.

    Parameters
    ----------
    model : estimator
        A linear classifier of two classes.
    data : FitData
        Rows and the number of the class of each.
    book : ndarray of shape (classes, codes)
        Sides: +1, -1, or 0 for rows left out.
    loss : CodedLoss
        What is minimised.
    """
    codes = np.asarray(data.y).astype(np.intp)
    stretches = None if data.weight is not None else Stretches.of(data.X, codes, len(book), loss)
    if stretches is None or not stretches.has_both_sides(book):
        return None
    found = stretches.planes(book, loss.strength, model.tol, model.max_iter)
    if found is None:
        return None
    p = data.X.shape[1]
    prints = _fingerprints(stretches.rows[:, :p], stretches.starts, book)
    intercept = found.b if loss.constant is None else loss.constant * found.w[:, p]
    parts = []
    for k in range(book.shape[1]):
        part = clone(model)
        part.n_features_in_ = p
        part.classes_ = np.arange(2)
        part.coef_ = found.w[k : k + 1, :p].copy()
        part.intercept_ = intercept[k : k + 1].copy()
        part.n_iter_, part.solver_used_ = int(found.steps[k]), "newton"
        part.certificate_ = DualityGapCertificate(
            gap=float(found.gap[k]),
            rounding=float(found.rounding[k]),
            objective=float(found.objective[k]),
            null_objective=float(found.null[k]),
            tol=float(model.tol),
            radius=np.inf,
            outcome="solved",
            fingerprint=prints[k],
        )
        parts.append(part)
    return parts


def _fingerprints(rows: Any, starts: Any, book: Any) -> list[Fingerprint]:
    """Recognise the rows of every problem: sums of classes about one row are added."""
    first = rows[0].copy()
    classes = [column_sums(rows[begin:end], np.ones(end - begin), first) for begin, end in itertools.pairwise(starts)]
    sums, squares = (np.stack(part) for part in zip(*classes, strict=True))
    used = (book != 0).astype(np.float64)
    counts = np.diff(starts).astype(np.float64)
    n = counts @ used
    positive = counts @ (book > 0)
    step = (used.T @ sums) / n[:, None]
    spread = np.maximum(used.T @ squares - n[:, None] * step**2, 0.0)
    found = []
    for k, total in enumerate(n):
        share = positive[k] / total
        mean = np.append(first + step[k], share)
        wide = np.append(spread[k], total * share * (1.0 - share))
        seen = Fingerprint(int(total), float(total), mean, wide)
        found.append(with_rounding(seen, int(total), np.append(first, 0.0)))
    return found
