"""Folds: pairs of rows to learn from and rows to judge by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]

__all__ = ["folds_of"]

USUAL = 5  # folds, where nobody says how many


def folds_of(owner: str, cv: Any, X: Any, y: Any, weight: Any) -> list[tuple[Indices, Indices]]:
    """Return pairs of (train, test) indices.

    Parameters
    ----------
    owner : str
        Name of the model, for messages.
    cv : None, int, splitter or iterable
        None means five contiguous folds, a number so many of them, as in scikit-learn.
    X, y : array-like
        What a splitter is shown.
    weight : ndarray of shape (n,) or None
        Weights of the rows; both sides of a fold need a positive one.
    """
    n = len(y)
    cv = USUAL if cv is None else cv
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if not 2 <= cv <= n:
            msg = f"{owner}.cv must be between 2 and the number of rows, got {cv} for n_samples={n}. It is the number of folds."
            raise InvalidParameter(msg)
        every = np.arange(n)
        folds = [(np.setdiff1d(every, test), test) for test in np.array_split(every, cv)]
    else:
        split = None if isinstance(cv, str) else getattr(cv, "split", None)
        try:
            pairs = cv if split is None else split(X, y)
            folds = [(_indices(train, n), _indices(test, n)) for train, test in pairs]
        except (TypeError, ValueError, IndexError) as error:
            msg = f"{owner}.cv must be None, a number of folds, a splitter or pairs of (train, test) indices, got {cv!r:.200}."
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


def _indices(rows: Any, n: int) -> Indices:
    """Read indices of rows, or a mask of them, as NumPy would; refuse what points nowhere."""
    given = np.asarray(rows)
    if given.ndim != 1 or (given.dtype.kind not in "iub" and given.size):
        raise TypeError
    return np.asarray(np.arange(n)[given if given.size else given.astype(np.intp)])
