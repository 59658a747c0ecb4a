"""Planes for a book of codes, all at once: what classes share is found once, and a problem is a few stretches of sorted rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import clone
from qed.core._certificates import DualityGapCertificate, Fingerprint
from qed.linear_model._kernels import coded_planes, column_sums
from qed.linear_model._range import with_doubt

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qed.convex._loss import LossTraits
    from qed.core import FitData

__all__ = ["CodedLoss", "fit_coded"]

WIDEST = 256  # columns up to which a factor of the curvature is cheap beside the rows
ORDINARY = 1e-60, 1e60  # sizes of entries whose squares and sums stay far from the ends of float64


class CodedLoss(NamedTuple):
    """What is minimised beside half the squared coefficients.

    Attributes
    ----------
    traits : LossTraits
        Of a loss of one score, with labels of -1 and +1, that compiled passes know.
    strength : float
        What losses are multiplied by.
    constant : float or None
        Value of a further column, whose coefficient is penalised like any other.
    level : function or None
        Gives the best constant score for the share of the rows on the side +1; None means that no intercept is free.
    """

    traits: LossTraits
    strength: float
    constant: float | None = None
    level: Callable[[Any], Any] | None = None


def fit_coded(model: Any, data: FitData, book: NDArray[np.int8], loss: CodedLoss) -> list[Any] | None:
    """Fit a copy of the model to each column of a book of codes; None where this way is not open.

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
    X = data.X
    if data.weight is not None or not isinstance(X, np.ndarray) or X.shape[1] >= WIDEST:
        return None
    largest = float(np.max(np.abs(X), initial=0.0))
    if not ORDINARY[0] < largest < ORDINARY[1] or not ((book > 0).any(axis=0) & (book < 0).any(axis=0)).all():
        return None
    codes = np.asarray(data.y).astype(np.intp)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(book))
    starts = np.concatenate([[0], np.cumsum(counts)])
    p = X.shape[1]
    rows = np.empty((len(order), p + (loss.constant is not None)))
    rows[:, :p] = X[order]
    if loss.constant is not None:
        rows[:, p] = loss.constant
    prints = _fingerprints(rows[:, :p], starts, book)
    begin, shift = np.zeros(book.shape[1]), np.zeros(rows.shape[1])
    if loss.level is not None:
        begin = np.asarray(loss.level(np.array([seen.mean[p] for seen in prints])), dtype=np.float64)
        shift = rows.mean(axis=0)
    declared = (loss.traits.native, loss.traits.bend, loss.strength, loss.level is not None)
    w, b, numbers = coded_planes(rows, starts, book.T, declared, (shift, begin), (model.tol, model.max_iter))
    objective, null, gap, rounding, steps = numbers.T
    if not np.all(gap - rounding <= model.tol * null):
        return None
    intercept = b - w @ shift if loss.constant is None else loss.constant * w[:, p]
    parts = []
    for k in range(book.shape[1]):
        part = clone(model)
        part.n_features_in_ = p
        part.classes_ = np.arange(2)
        part.coef_ = w[k : k + 1, :p].copy()
        part.intercept_ = intercept[k : k + 1].copy()
        part.n_iter_, part.solver_used_ = int(steps[k]), "newton"
        part.certificate_ = DualityGapCertificate(
            gap=float(gap[k]),
            rounding=float(rounding[k]),
            objective=float(objective[k]),
            null_objective=float(null[k]),
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
        found.append(with_doubt(seen, int(total), np.append(first, 0.0)))
    return found
