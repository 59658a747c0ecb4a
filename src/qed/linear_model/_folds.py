"""Folds of a model that chooses its strength: what ``cv`` says, read by `qed.model_selection`, in the words of the model."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]


def folds_of(
    owner: str, cv: Any, X: Any, y: Any, weight: Any, *, classes: bool = False
) -> list[tuple[Indices, Indices]]:
    """Return pairs of (train, test) indices.

    Parameters
    ----------
    owner : str
        Name of the model, for messages.
    cv : None, int, splitter or iterable
        As for `qed.model_selection.check_cv`.
    X, y : array-like
        What a splitter is shown.
    weight : ndarray of shape (n,) or None
        Weights of the rows; both sides of a fold need a positive one.
    classes : bool
        Whether y holds classes, which a number of folds keeps in proportion.
    """
    from qed.model_selection import check_cv  # noqa: PLC0415  a fit without folds does not load it

    n = len(y)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        _require_number(owner, int(cv), y, classes=classes)
    try:
        splitter = check_cv(cv, y, classifier=classes)
        folds = [(_indices(train, n), _indices(test, n)) for train, test in splitter.split(X, y)]
    except (TypeError, ValueError, IndexError) as error:
        msg = (
            f"{owner}.cv must be None, a number of folds, a splitter or pairs of (train, test) indices, got {cv!r:.200}:"
            f" {error}"
        )
        raise InvalidParameter(msg) from error
    if not folds:
        msg = f"{owner}.cv gave no fold, got {cv!r:.200}. Give at least one pair of (train, test) indices."
        raise InvalidParameter(msg)
    for number, fold_rows in enumerate(folds):
        for rows, what in zip(fold_rows, ("train on", "judge by"), strict=True):
            if not (len(rows) if weight is None else np.count_nonzero(weight[rows])):
                raise InvalidData(
                    f"Fold {number} of {owner}.cv has no row of positive weight to {what}. Use fewer folds, or shuffle the rows."
                )
    return folds


def _require_number(owner: str, number: int, y: Any, *, classes: bool) -> None:
    n = len(y)
    most = int(np.bincount(y).max()) if classes else n
    if not 2 <= number <= most:
        end = "the rows of the largest class" if classes else "the number of rows"
        members = ""
        if classes:  # scikit-learn's words, by which others recognise the mistake
            members = f" n_splits={number} cannot be greater than the number of members in each class."
        msg = f"{owner}.cv must be between 2 and {end}, got {number} for n_samples={n}. It is the number of folds.{members}"
        raise InvalidParameter(msg)


def _indices(rows: Any, n: int) -> Indices:
    """Read indices of rows, or a mask of them, as NumPy would; refuse what points nowhere."""
    given = np.asarray(rows)
    if given.ndim != 1 or (given.dtype.kind not in "iub" and given.size):
        raise TypeError(f"indices must be whole numbers, got an array of {given.dtype} and shape {given.shape}")
    return np.asarray(np.arange(n)[given if given.size else given.astype(np.intp)])
