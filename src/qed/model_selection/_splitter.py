"""What a splitter is, and what all of them share: counts, random streams, and the step from a test set to its complement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from math import ceil, floor
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._validation import is_source
from qed.data._selected import count_rows as rows_of_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    Indices = np.ndarray[Any, np.dtype[np.intp]]


class Splitter(ABC):
    """Cuts rows into pairs of training and test indices."""

    @abstractmethod
    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield pairs of training and test indices.

        Parameters
        ----------
        X : array-like of n rows
            The rows; only their number matters.
        y : array-like of shape (n,), optional
            Targets, for splitters that look at them.
        groups : array-like of shape (n,), optional
            Which rows belong together, for splitters that look at them.

        Yields
        ------
        (ndarray, ndarray)
            Indices of training rows and of test rows.
        """

    @abstractmethod
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of pairs that `split` yields.

        Parameters
        ----------
        X, y, groups : array-like, optional
            As for `split`; needed only where the number depends on them.
        """

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in sorted(values.items()))})"


def complements(n_rows: int, tests: Iterator[Indices]) -> Iterator[tuple[Indices, Indices]]:
    """Turn test sets into pairs, both in the order of the rows."""
    for test in tests:
        chosen = np.zeros(n_rows, dtype=bool)
        chosen[test] = True
        yield np.flatnonzero(~chosen), np.flatnonzero(chosen)


def count_rows(X: Any, y: Any = None) -> int:
    """Return the number of rows of whatever holds them."""
    for rows in (X, y):
        shape = getattr(rows, "shape", None)
        if shape is not None and len(shape):
            return int(shape[0])
        if rows is not None and hasattr(rows, "__len__"):
            return len(rows)
    if is_source(X):
        return rows_of_source(X)
    raise InvalidData(f"A splitter needs rows to count, got {type(X).__name__}. Pass X, or any sequence of its length.")


def draws(random_state: Any) -> Any:
    """Return a stream with ``shuffle``, ``permutation`` and ``choice``; a seed gives the splits that scikit-learn gives."""
    random = np.random
    if random_state is None or isinstance(random_state, Integral):
        return random.RandomState(None if random_state is None else int(random_state))
    if isinstance(random_state, random.RandomState | random.Generator):
        return random_state
    raise InvalidParameter(
        f"random_state must be None, a whole number, a Generator or a RandomState, got {random_state!r}. It seeds the splits."
    )


def at_least(owner: Splitter, name: str, value: Any, least: int) -> None:
    """Refuse a count below the least that makes sense."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidParameter(f"{type(owner).__name__}.{name} must be a whole number >= {least}, got {value!r}.")


def seed_without_shuffle(owner: Splitter, shuffle: Any, random_state: Any) -> None:
    """Refuse a seed that would decide nothing."""
    if shuffle not in (True, False):
        raise InvalidParameter(f"{type(owner).__name__}.shuffle must be True or False, got {shuffle!r}.")
    if not shuffle and random_state is not None:
        raise InvalidParameter(
            f"{type(owner).__name__}: random_state={random_state!r} decides nothing while shuffle=False. Leave it None, or say"
            " shuffle=True."
        )


def label_codes(y: Any, owner: str) -> tuple[Indices, int]:
    """Give each class a number, in the order in which they appear, and count them."""
    if y is None:
        raise InvalidData(f"{owner} keeps the shares of the classes and needs y, got None.")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InvalidData(f"{owner} takes one label for each row, got an array of shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.any(labels != np.floor(labels)):
        raise InvalidData(
            f"{owner} keeps the shares of classes, and y holds fractions: that is a continuous target. Supported target types are:"
            " ('binary', 'multiclass'). Use KFold, or bin y into classes first."
        )
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes.reshape(-1)], len(first)


def group_codes(groups: Any, n_rows: int, owner: str) -> tuple[Indices, int]:
    """Give each group a number, in sorted order, and count them."""
    if groups is None:
        raise InvalidData(f"{owner}: the 'groups' parameter should not be None. Pass one group for each row.")
    values = np.asarray(groups)
    if values.shape[:1] != (n_rows,) or values.ndim != 1:
        raise InvalidData(f"{owner} needs one group for each of {n_rows} rows, got groups of shape {values.shape}.")
    names, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1), len(names)


def sizes_of_random_split(n: int, test_size: Any, train_size: Any, default_test: float) -> tuple[int, int]:
    """Return the numbers of training and test rows that were asked for.

    Parameters
    ----------
    n : int
        Rows there are.
    test_size, train_size : float, int or None
        Shares in (0, 1), or numbers of rows; what is not given is what the other leaves.
    default_test : float
        Share of the test rows when neither is given.
    """
    if test_size is None and train_size is None:
        test_size = default_test
    test, train = _size("test_size", test_size, n, up=True), _size("train_size", train_size, n, up=False)
    if test is None and train is not None:
        test = n - train
    elif train is None and test is not None:
        train = n - test
    asked = (test or 0) + (train or 0)
    if asked > n:
        raise InvalidParameter(
            f"test_size={test_size!r} and train_size={train_size!r} ask for {asked} of {n} rows. Ask for fewer."
        )
    if not train:
        raise InvalidParameter(
            f"With n_samples={n}, test_size={test_size!r} and train_size={train_size!r} the resulting train set will be empty."
            " Adjust any of them."
        )
    return int(train), int(test or 0)


def _size(name: str, size: Any, n: int, *, up: bool) -> int | None:
    if size is None:
        return None
    if isinstance(size, Integral) and not isinstance(size, bool):
        if not 0 < int(size) < n:
            raise InvalidParameter(
                f"{name}={size!r} should be a number of rows between 1 and {n - 1}, or a share in (0, 1)."
            )
        return int(size)
    if isinstance(size, Real) and not isinstance(size, bool) and 0 < float(size) < 1:
        return ceil(float(size) * n) if up else floor(float(size) * n)
    raise InvalidParameter(f"{name} must be a share in (0, 1), a number of rows or None, got {size!r}.")
