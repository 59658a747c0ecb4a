"""Random splits (Monte-Carlo cross-validation) and resampling: how often a row is tested is left to chance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.model_selection._splitter import (
    Splitter,
    at_least,
    count_rows,
    draws,
    group_codes,
    label_codes,
    sizes_of_random_split,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.model_selection._splitter import Indices


@dataclass(frozen=True, repr=False)
class ShuffleSplit(Splitter):
    """Random train/test splits, repeated.

    Parameters
    ----------
    n_splits : int
        Number of draws.
    test_size, train_size : float, int or None
        Shares or numbers of rows; a tenth is tested by default.
    random_state : None, int, Generator or RandomState
        Seed; a whole number gives the splits that scikit-learn gives.

    Examples
    --------
    >>> from qed.model_selection import ShuffleSplit
    >>> [len(test) for _, test in ShuffleSplit(2, test_size=0.25, random_state=0).split(range(8))]
    [2, 2]
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: Any = None
    train_size: Any = None
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        train, test = sizes_of_random_split(n, self.test_size, self.train_size, 0.1)
        stream = draws(self.random_state)
        for _ in range(self.n_splits):
            order = stream.permutation(n)
            yield order[test : test + train], order[:test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


@dataclass(frozen=True, repr=False)
class StratifiedShuffleSplit(Splitter):
    """Stratified random train/test splits, repeated.

    Parameters
    ----------
    n_splits : int
        Number of draws.
    test_size, train_size : float, int or None
        Shares or numbers of rows; a tenth is tested by default.
    random_state : None, int, Generator or RandomState
        Seed; a whole number gives the splits that scikit-learn gives.
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: Any = None
    train_size: Any = None
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        train, test = sizes_of_random_split(n, self.test_size, self.train_size, 0.1)
        codes = _sorted_codes(y, type(self).__name__)
        counts = np.bincount(codes)
        _require_every_class(counts, train, test)
        members = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
        stream = draws(self.random_state)
        for _ in range(self.n_splits):
            to_train = _shares(counts, train, stream)
            to_test = _shares(counts - to_train, test, stream)
            chosen: tuple[list[Indices], list[Indices]] = ([], [])
            for rows, k, m in zip(members, to_train, to_test, strict=True):
                order = rows[stream.permutation(len(rows))]
                chosen[0].append(order[:k])
                chosen[1].append(order[k : k + m])
            yield stream.permutation(np.concatenate(chosen[0])), stream.permutation(np.concatenate(chosen[1]))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


def _sorted_codes(y: Any, owner: str) -> Indices:
    """Give each class a number, in sorted order; rows of several labels are classes of their own."""
    labels = np.asarray(y) if y is not None else None
    if labels is not None and labels.ndim == 2 and labels.shape[1] > 1:
        return np.unique(labels.astype(str), axis=0, return_inverse=True)[1].reshape(-1)
    label_codes(y, owner)
    return np.unique(np.asarray(y).reshape(-1), return_inverse=True)[1].reshape(-1)


def _require_every_class(counts: Indices, train: int, test: int) -> None:
    if counts.min() < 2:
        raise InvalidData(
            f"The least populated class in y has only {counts.min()} member, which is too few. The minimum number of groups for"
            " any class cannot be less than 2."
        )
    for name, size in (("train_size", train), ("test_size", test)):
        if size < len(counts):
            raise InvalidData(
                f"The {name} = {size} should be greater or equal to the number of classes = {len(counts)}."
            )


def _shares(counts: Indices, n_draws: int, stream: Any) -> Indices:
    """Share out draws among classes in proportion: whole parts first, then to the largest remainders, ties at random."""
    exact = counts / counts.sum() * n_draws
    shares = np.floor(exact)
    left = int(n_draws - shares.sum())
    remainder = exact - shares
    for value in np.unique(remainder)[::-1]:
        if left <= 0:
            break
        tied = np.flatnonzero(remainder == value)
        given = min(len(tied), left)
        shares[stream.choice(tied, size=given, replace=False)] += 1
        left -= given
    return np.asarray(shares, dtype=np.intp)


@dataclass(frozen=True, repr=False)
class GroupShuffleSplit(Splitter):
    """Random train/test splits by groups.

    Parameters
    ----------
    n_splits : int
        Number of draws.
    test_size, train_size : float, int or None
        Shares or numbers of groups; a fifth is tested by default.
    random_state : None, int, Generator or RandomState
        Seed; a whole number gives the splits that scikit-learn gives.
    """

    n_splits: int = 5
    _: KW_ONLY
    test_size: Any = None
    train_size: Any = None
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        codes, n_groups = group_codes(groups, count_rows(X, y), type(self).__name__)
        train, test = sizes_of_random_split(n_groups, self.test_size, self.train_size, 0.2)
        stream = draws(self.random_state)
        for _ in range(self.n_splits):
            order = stream.permutation(n_groups)
            tested, learnt = order[:test], order[test : test + train]
            yield np.flatnonzero(np.isin(codes, learnt)), np.flatnonzero(np.isin(codes, tested))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


@dataclass(frozen=True, repr=False)
class Bootstrap(Splitter):
    """Bootstrap splits: train on a bootstrap sample, test on the out-of-bag rows.

    Of n rows a share of ``1 - (1 - 1/n)**n``, about 0.632, is drawn at least once.

    Parameters
    ----------
    n_splits : int
        Number of resamples.
    random_state : None, int, Generator or RandomState
        Seed.

    Examples
    --------
    >>> from qed.model_selection import Bootstrap
    >>> train, test = next(Bootstrap(1, random_state=0).split(range(6)))
    >>> len(train), set(train) & set(test)
    (6, set())
    """

    n_splits: int = 10
    _: KW_ONLY
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        if n < 2:
            raise InvalidData(f"Bootstrap needs at least two rows, so that one can stay out; got {n}.")
        stream = draws(self.random_state)
        for _ in range(self.n_splits):
            drawn = stream.choice(n, size=n, replace=True)
            while len(np.unique(drawn)) == n:  # nothing stayed out: a resample without a test set is no use
                drawn = stream.choice(n, size=n, replace=True)
            yield drawn, np.setdiff1d(np.arange(n), drawn)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits
