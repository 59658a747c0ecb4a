"""Folds: every row is tested once (or once in each repetition)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.model_selection._splitter import (
    Splitter,
    at_least,
    complements,
    count_rows,
    draws,
    group_codes,
    label_codes,
    seed_without_shuffle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.model_selection._splitter import Indices


def _enough(owner: Splitter, n_splits: int, n: int) -> None:
    if n_splits > n:
        raise InvalidData(
            f"{type(owner).__name__}: cannot have number of splits n_splits={n_splits} greater than the number of samples:"
            f" n_samples={n}."
        )


def _pieces(order: Indices, n_splits: int) -> Iterator[Indices]:
    """Cut an order of rows into pieces whose sizes differ by one at most, longer ones first."""
    sizes = np.full(n_splits, len(order) // n_splits)
    sizes[: len(order) % n_splits] += 1
    ends = np.cumsum(sizes)
    return (order[end - size : end] for size, end in zip(sizes, ends, strict=True))


@dataclass(frozen=True, repr=False)
class KFold(Splitter):
    """k-fold cross-validation.

    Parameters
    ----------
    n_splits : int
        Number of pieces, at least 2.
    shuffle : bool
        Whether to shuffle the rows first.
    random_state : None, int, Generator or RandomState
        Seed of the shuffle; a whole number gives the folds that scikit-learn gives.

    Examples
    --------
    >>> from qed.model_selection import KFold
    >>> [test.tolist() for _, test in KFold(2).split([0, 1, 2, 3, 4])]
    [[0, 1, 2], [3, 4]]
    """

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        seed_without_shuffle(self, self.shuffle, self.random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        _enough(self, self.n_splits, n)
        order = np.arange(n)
        if self.shuffle:
            draws(self.random_state).shuffle(order)
        yield from complements(n, _pieces(order, self.n_splits))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


@dataclass(frozen=True, repr=False)
class StratifiedKFold(Splitter):
    """Stratified k-fold cross-validation: every class has its share in each fold, to within one row.

    Parameters
    ----------
    n_splits : int
        Number of pieces, at least 2.
    shuffle : bool
        Whether to shuffle the rows of each class first.
    random_state : None, int, Generator or RandomState
        Seed of the shuffle; a whole number gives the folds that scikit-learn gives.

    Examples
    --------
    >>> from qed.model_selection import StratifiedKFold
    >>> y = ["a", "a", "b", "a", "a", "b"]
    >>> [test.tolist() for _, test in StratifiedKFold(2).split(y, y)]
    [[0, 1, 2], [3, 4, 5]]
    """

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        seed_without_shuffle(self, self.shuffle, self.random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        codes, n_classes = label_codes(y, type(self).__name__)
        if len(codes) != n:
            raise InvalidData(f"StratifiedKFold got {n} rows and {len(codes)} labels.")
        _enough(self, self.n_splits, n)
        counts = np.bincount(codes, minlength=n_classes)
        if self.n_splits > counts.max():
            raise InvalidData(
                f"n_splits={self.n_splits} cannot be greater than the number of members in each class; the largest has"
                f" {counts.max()}. Ask for fewer folds."
            )
        if self.n_splits > counts.min():
            _warn_rare(int(counts.min()), self.n_splits)
        stream = draws(self.random_state) if self.shuffle else None
        # dealing the sorted labels round the folds gives each its share of every class, and the same total to within one
        ordered = np.sort(codes)
        shares = np.array([np.bincount(ordered[k :: self.n_splits], minlength=n_classes) for k in range(self.n_splits)])
        fold = np.empty(n, dtype=np.intp)
        for code in range(n_classes):
            dealt = np.repeat(np.arange(self.n_splits), shares[:, code])
            if stream is not None:
                stream.shuffle(dealt)
            fold[codes == code] = dealt
        yield from complements(n, (np.flatnonzero(fold == k) for k in range(self.n_splits)))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


def _warn_rare(fewest: int, n_splits: int) -> None:
    import warnings  # noqa: PLC0415

    warnings.warn(
        f"The least populated class in y has only {fewest} members, which is less than n_splits={n_splits}.",
        UserWarning,
        stacklevel=4,
    )


@dataclass(frozen=True, repr=False)
class GroupKFold(Splitter):
    """k-fold cross-validation that keeps groups together.

    Parameters
    ----------
    n_splits : int
        Number of pieces, at least 2 and at most the number of groups.
    shuffle : bool
        Whether to deal the groups at random, each piece as many groups, rather than by size.
    random_state : None, int, Generator or RandomState
        Seed of the shuffle.
    """

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        seed_without_shuffle(self, self.shuffle, self.random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        n = count_rows(X, y)
        codes, n_groups = group_codes(groups, n, type(self).__name__)
        if self.n_splits > n_groups:
            raise InvalidData(
                f"Cannot have number of splits n_splits={self.n_splits} greater than the number of groups: {n_groups}."
            )
        if self.shuffle:
            order = draws(self.random_state).permutation(np.arange(n_groups))
            tests: Iterator[Indices] = (
                np.flatnonzero(np.isin(codes, piece)) for piece in np.array_split(order, self.n_splits)
            )
        else:
            fold = _lightest_first(np.bincount(codes, minlength=n_groups), self.n_splits)[codes]
            tests = (np.flatnonzero(fold == k) for k in range(self.n_splits))
        yield from complements(n, tests)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


def _lightest_first(sizes: Indices, n_splits: int) -> Indices:
    """Give each group, largest first, to the fold that has the fewest rows so far."""
    fold = np.zeros(len(sizes), dtype=np.intp)
    weight = np.zeros(n_splits)
    for group in np.argsort(sizes, kind="stable")[::-1]:
        fold[group] = lightest = int(np.argmin(weight))
        weight[lightest] += sizes[group]
    return fold


@dataclass(frozen=True, repr=False)
class StratifiedGroupKFold(Splitter):
    """Stratified k-fold cross-validation that keeps groups together.

    Parameters
    ----------
    n_splits : int
        Number of pieces, at least 2.
    shuffle : bool
        Whether ties between groups are dealt at random.
    random_state : None, int, Generator or RandomState
        Seed of the shuffle.
    """

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        seed_without_shuffle(self, self.shuffle, self.random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        n = count_rows(X, y)
        codes, n_classes = label_codes(y, type(self).__name__)
        members, n_groups = group_codes(groups, n, type(self).__name__)
        totals = np.bincount(codes, minlength=n_classes)
        if self.n_splits > totals.max():
            raise InvalidData(
                f"n_splits={self.n_splits} cannot be greater than the number of members in each class ({totals.max()})."
            )
        if self.n_splits > totals.min():
            _warn_rare(int(totals.min()), self.n_splits)
        table = np.zeros((n_groups, n_classes))
        np.add.at(table, (members, codes), 1.0)
        order = np.arange(n_groups)
        if self.shuffle:
            draws(self.random_state).shuffle(order)
        # groups that are most unlike in their classes first: they are the hardest to even out
        order = order[np.argsort(-np.std(table[order], axis=1), kind="stable")]
        held = np.zeros((self.n_splits, n_classes))
        fold = np.zeros(n_groups, dtype=np.intp)
        for group in order:
            fold[group] = best = _most_even(held, table[group], totals)
            held[best] += table[group]
        chosen = fold[members]
        yield from complements(n, (np.flatnonzero(chosen == k) for k in range(self.n_splits)))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


def _most_even(held: np.ndarray[Any, Any], more: np.ndarray[Any, Any], totals: Indices) -> int:
    """Return the fold whose taking of a group leaves the shares most even; of several, the one with the fewest rows."""
    best, least, fewest = 0, np.inf, np.inf
    for k in range(len(held)):
        after = held.copy()
        after[k] += more
        unevenness = float(np.mean(np.std(after / totals, axis=0)))
        rows = float(after[k].sum())
        if unevenness < least or (np.isclose(unevenness, least) and rows < fewest):
            best, least, fewest = k, unevenness, rows
    return best


@dataclass(frozen=True, repr=False)
class _Repeated(Splitter):
    n_splits: int = 5
    n_repeats: int = 10
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        at_least(self, "n_repeats", self.n_repeats, 1)

    def _once(self, stream: Any) -> Splitter:
        raise NotImplementedError

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield the folds of one shuffle after the other."""
        stream = draws(self.random_state)
        for _ in range(self.n_repeats):
            yield from self._once(stream).split(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits * self.n_repeats


class RepeatedKFold(_Repeated):
    """Repeated k-fold cross-validation, with a new shuffle each time.

    Parameters
    ----------
    n_splits : int
        Folds of one repetition.
    n_repeats : int
        Repetitions.
    random_state : None, int, Generator or RandomState
        Seed.
    """

    def _once(self, stream: Any) -> Splitter:
        return KFold(self.n_splits, shuffle=True, random_state=stream)


class RepeatedStratifiedKFold(_Repeated):
    """Repeated stratified k-fold cross-validation, with a new shuffle each time.

    Parameters
    ----------
    n_splits : int
        Folds of one repetition.
    n_repeats : int
        Repetitions.
    random_state : None, int, Generator or RandomState
        Seed.
    """

    def _once(self, stream: Any) -> Splitter:
        return StratifiedKFold(self.n_splits, shuffle=True, random_state=stream)


@dataclass(frozen=True, repr=False)
class TimeSeriesSplit(Splitter):
    """Cross-validation for time series: test rows come after the training rows.

    Parameters
    ----------
    n_splits : int
        Number of pairs.
    max_train_size : int or None
        Most training rows: the latest ones are kept.
    test_size : int or None
        Test rows of each pair; ``n // (n_splits + 1)`` by default.
    gap : int
        Rows left out between training and test.
    """

    n_splits: int = 5
    _: KW_ONLY
    max_train_size: int | None = None
    test_size: int | None = None
    gap: int = 0

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_splits", self.n_splits, 2)
        at_least(self, "gap", self.gap, 0)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        if self.n_splits + 1 > n:
            raise InvalidData(
                f"Cannot have number of folds={self.n_splits + 1} greater than the number of samples={n}."
            )
        size = n // (self.n_splits + 1) if self.test_size is None else self.test_size
        if n - self.gap - size * self.n_splits <= 0:
            raise InvalidData(
                f"Too many splits={self.n_splits} for number of samples={n} with test_size={size} and gap={self.gap}."
            )
        rows = np.arange(n)
        for start in range(n - self.n_splits * size, n, size):
            end = start - self.gap
            first = max(0, end - self.max_train_size) if self.max_train_size else 0
            yield rows[first:end], rows[start : start + size]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits
