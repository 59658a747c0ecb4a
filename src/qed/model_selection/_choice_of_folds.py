"""From what a user passes as ``cv`` to pairs of indices; and the plain split in two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.model_selection._folds import KFold, StratifiedKFold
from qed.model_selection._random_splits import ShuffleSplit, StratifiedShuffleSplit
from qed.model_selection._splitter import Splitter, count_rows, sizes_of_random_split
from qed.model_selection._subset import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.model_selection._splitter import Indices


def check_cv(cv: Any = 5, y: Any = None, *, classifier: bool = False) -> Any:
    """Return a splitter for what was passed as ``cv``.

    Parameters
    ----------
    cv : None, int, splitter, or iterable of (train, test)
        None means five folds. A number means so many, stratified for classifiers with labels.
    y : array-like, optional
        Targets.
    classifier : bool
        Whether classes are to be predicted.

    Returns
    -------
    splitter
        With ``split`` and ``get_n_splits``.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        return StratifiedKFold(int(cv)) if classifier and _are_labels(y) else KFold(int(cv))
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv
    if isinstance(cv, str) or not hasattr(cv, "__iter__"):
        raise InvalidParameter(
            f"cv must be a number of folds, a splitter such as KFold(5), or pairs of (train, test) indices; got {cv!r}."
        )
    return _Given(tuple((np.asarray(train), np.asarray(test)) for train, test in cv))


def _are_labels(y: Any) -> bool:
    if y is None:
        return False
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        return False
    return labels.dtype.kind != "f" or not np.any(labels != np.floor(labels))


@dataclass(frozen=True, repr=False)
class _Given(Splitter):
    """Pairs of indices that somebody else has made."""

    pairs: tuple[tuple[Any, Any], ...]

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        for train, test in self.pairs:
            yield _as_indices(train), _as_indices(test)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return len(self.pairs)


def _as_indices(rows: Any) -> Indices:
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def train_test_split(
    *arrays: Any,
    test_size: Any = None,
    train_size: Any = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> list[Any]:
    """Split tables in two, all in the same way.

    Parameters
    ----------
    *arrays : array-like, frame, sparse container or list
        Tables of equally many rows.
    test_size, train_size : float, int or None
        Shares or numbers of rows; a quarter is tested by default.
    random_state : None, int, Generator or RandomState
        Seed; a whole number gives the split that scikit-learn gives.
    shuffle : bool
        Whether to draw rows at random; otherwise the last ones are tested.
    stratify : array-like of shape (n,), optional
        Labels whose shares both parts are to keep.

    Returns
    -------
    list
        Training part and test part of each table, in its own type.

    Examples
    --------
    >>> from qed.model_selection import train_test_split
    >>> train_test_split([1, 2, 3, 4], shuffle=False)
    [[1, 2, 3], [4]]
    """
    if not arrays:
        raise InvalidParameter("train_test_split got nothing to split. Pass at least one array as input.")
    lengths = [count_rows(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise InvalidData(
            f"train_test_split needs tables of equally many rows, got {lengths}: inconsistent numbers of samples."
        )
    n = lengths[0]
    train, test = sizes_of_random_split(n, test_size, train_size, 0.25)
    if not shuffle:
        if stratify is not None:
            raise InvalidParameter(
                "Stratified train/test split is not implemented for shuffle=False. Say shuffle=True."
            )
        pair = np.arange(train), np.arange(train, train + test)
    else:
        kind = ShuffleSplit if stratify is None else StratifiedShuffleSplit
        splitter = kind(1, test_size=test, train_size=train, random_state=random_state)
        pair = next(splitter.split(np.empty(n), stratify))
    return list(chain.from_iterable((rows_of(array, pair[0]), rows_of(array, pair[1])) for array in arrays))
