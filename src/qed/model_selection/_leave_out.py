"""Leaving out: one row, every few rows, one group, or what a table says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData
from qed.model_selection._splitter import Splitter, at_least, complements, count_rows, group_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.model_selection._splitter import Indices


@dataclass(frozen=True, repr=False)
class LeaveOneOut(Splitter):
    """Leave-one-out cross-validation.

    Examples
    --------
    >>> from qed.model_selection import LeaveOneOut
    >>> LeaveOneOut().get_n_splits(range(7))
    7
    """

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        if n < 2:
            raise InvalidData(f"Cannot perform LeaveOneOut with n_samples={n}: one row must stay to learn from.")
        rows = np.arange(n)
        for i in range(n):
            yield np.delete(rows, i), rows[i : i + 1]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return count_rows(X, y)


@dataclass(frozen=True, repr=False)
class LeavePOut(Splitter):
    """Leave-p-out cross-validation.

    Parameters
    ----------
    p : int
        Rows to leave out.
    """

    p: int

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "p", self.p, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        n = count_rows(X, y)
        if n <= self.p:
            raise InvalidData(f"p={self.p} must be strictly less than the number of samples={n}.")
        yield from complements(n, (np.array(chosen) for chosen in combinations(range(n), self.p)))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return comb(count_rows(X, y), self.p)


@dataclass(frozen=True, repr=False)
class LeavePGroupsOut(Splitter):
    """Leave-p-groups-out cross-validation.

    Parameters
    ----------
    n_groups : int
        Groups to leave out.
    """

    n_groups: int

    def __post_init__(self) -> None:
        """Refuse settings without sense."""
        at_least(self, "n_groups", self.n_groups, 1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        yield from _without_groups(self, X, y, groups, self.n_groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return comb(_count_groups(self, groups), self.n_groups)


@dataclass(frozen=True, repr=False)
class LeaveOneGroupOut(Splitter):
    """Leave-one-group-out cross-validation."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        yield from _without_groups(self, X, y, groups, 1)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return _count_groups(self, groups)


def _without_groups(owner: Splitter, X: Any, y: Any, groups: Any, left_out: int) -> Iterator[tuple[Indices, Indices]]:
    n = count_rows(X, y)
    codes, n_groups = group_codes(groups, n, type(owner).__name__)
    if n_groups <= left_out:
        raise InvalidData(
            f"The groups parameter contains fewer than (or equal to) {left_out} unique groups ({n_groups}): at least"
            f" {left_out + 1} are needed, so that something is left to learn from."
        )
    chosen = combinations(range(n_groups), left_out)
    yield from complements(n, (np.flatnonzero(np.isin(codes, some)) for some in chosen))


def _count_groups(owner: Splitter, groups: Any) -> int:
    if groups is None:
        raise InvalidData(f"{type(owner).__name__}: the 'groups' parameter should not be None.")
    return len(np.unique(np.asarray(groups)))


@dataclass(frozen=True, repr=False)
class PredefinedSplit(Splitter):
    """Cross-validation with predefined folds.

    Parameters
    ----------
    test_fold : array-like of shape (n,)
        Number of the fold in which each row is tested; -1 for rows that are always learnt from.
    """

    test_fold: Any

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: ARG002
        fold = np.asarray(self.test_fold)
        yield from complements(len(fold), (np.flatnonzero(fold == k) for k in self._names()))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return len(self._names())

    def _names(self) -> Indices:
        names = np.unique(np.asarray(self.test_fold))
        return np.asarray(names[names != -1])
