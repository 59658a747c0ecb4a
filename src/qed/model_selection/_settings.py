"""Settings to choose from: all combinations, or draws from distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from qed.core import InvalidParameter
from qed.model_selection._splitter import draws


class ParameterGrid:
    """All combinations of values, as a sequence of dictionaries.

    Parameters
    ----------
    param_grid : dict of str to sequence, or list of such
        Values by name of the parameter; of several dictionaries one after the other.

    Examples
    --------
    >>> from qed.model_selection import ParameterGrid
    >>> list(ParameterGrid({"alpha": [1, 2], "fit_intercept": [True]}))
    [{'alpha': 1, 'fit_intercept': True}, {'alpha': 2, 'fit_intercept': True}]
    """

    def __init__(self, param_grid: Any) -> None:
        self.param_grid = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
        for grid in self.param_grid:
            if not isinstance(grid, Mapping):
                raise InvalidParameter(
                    f"Parameter grid is not a dict ({grid!r}): pass {{'name': [values]}}, or a list of such."
                )
            for name, values in grid.items():
                _require_values(name, values)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the combinations, the last name in the alphabet varying fastest."""
        for grid in self.param_grid:
            names = sorted(grid)
            for values in product(*(grid[name] for name in names)):
                yield dict(zip(names, values, strict=True))

    def __len__(self) -> int:
        return sum(prod(len(values) for values in grid.values()) for grid in self.param_grid)

    def __getitem__(self, index: int) -> dict[str, Any]:
        for position, setting in enumerate(self):
            if position == index:
                return setting
        raise IndexError(f"ParameterGrid has {len(self)} settings, and has no number {index}.")


def _require_values(name: str, values: Any) -> None:
    if isinstance(values, np.ndarray) and values.ndim > 1:
        raise InvalidParameter(f"Parameter array for {name!r} should be one-dimensional, got: {values.shape}.")
    if isinstance(values, str) or not isinstance(values, np.ndarray | Sequence):
        raise InvalidParameter(
            f"Parameter grid for parameter {name!r} needs to be a list or a numpy array, but got {values!r}."
        )
    if len(values) == 0:
        raise InvalidParameter(
            f"Parameter grid for parameter {name!r} need to be a non-empty sequence, got: {values!r}."
        )


@dataclass(frozen=True)
class ParameterSampler:
    """Settings drawn at random, without repetition where all values are listed.

    Parameters
    ----------
    param_distributions : dict of str to sequence or distribution, or list of such
        Values to draw from, or objects with ``rvs(random_state=...)``.
    n_iter : int
        Number of draws.
    random_state : None, int, Generator or RandomState
        Seed.
    """

    param_distributions: Any
    n_iter: int
    random_state: Any = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the settings."""
        stream = draws(self.random_state)
        tables = self._tables()
        if _all_listed(tables):
            grid = list(ParameterGrid(tables))
            chosen = stream.permutation(len(grid))[: self.n_iter]
            yield from (grid[i] for i in chosen)
            return
        for _ in range(self.n_iter):
            table = tables[int(stream.choice(len(tables)))] if len(tables) > 1 else tables[0]
            yield {name: _drawn(values, stream) for name, values in sorted(table.items())}

    def __len__(self) -> int:
        tables = self._tables()
        return min(self.n_iter, len(ParameterGrid(tables))) if _all_listed(tables) else self.n_iter

    def _tables(self) -> list[Mapping[str, Any]]:
        given = self.param_distributions
        tables: Iterable[Any] = [given] if isinstance(given, Mapping) else given
        tables = list(tables)
        for table in tables:
            for name, values in table.items():
                if not hasattr(values, "rvs"):
                    _require_values(name, values)
        return tables


def _all_listed(tables: Sequence[Mapping[str, Any]]) -> bool:
    return all(not hasattr(values, "rvs") for table in tables for values in table.values())


def _drawn(values: Any, stream: Any) -> Any:
    if hasattr(values, "rvs"):
        return values.rvs(random_state=stream)
    return values[int(stream.choice(len(values)))]
