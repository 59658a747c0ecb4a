"""Random numbers for generators that scikit-learn has too: with a whole number as seed they draw scikit-learn's numbers.

scikit-learn draws from NumPy's older ``RandomState``. A ``Generator`` is taken as well, and gives numbers of its own.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

SEED = "The seed. A whole number gives the numbers that scikit-learn draws."


def stream(random_state: Any) -> Any:
    """Return what numbers are drawn from: a new ``RandomState`` for a seed, or what was given."""
    random = np.random
    if random_state is None or (isinstance(random_state, Integral) and not isinstance(random_state, bool)):
        if random_state is not None and not 0 <= int(random_state) < 2**32:
            raise InvalidParameter(f"random_state must be a whole number from 0 to 2**32 - 1, got {random_state!r}.")
        return random.RandomState(None if random_state is None else int(random_state))
    if isinstance(random_state, random.RandomState | random.Generator):
        return random_state
    raise InvalidParameter(
        f"random_state must be None, a whole number, a Generator or a RandomState, got {random_state!r}. It is the seed."
    )


def whole_numbers(source: Any, below: int, size: Any = None) -> Any:
    """Draw whole numbers from zero up to a bound, which is left out."""
    draw = source.integers if isinstance(source, np.random.Generator) else source.randint
    return draw(0, below, size=size)


def shuffled(source: Any, *tables: Array) -> tuple[Array, ...]:
    """Return tables with their rows in one random order."""
    order = np.arange(len(tables[0]))
    source.shuffle(order)
    return tuple(table[order] for table in tables)


def some_of(source: Any, population: int, count: int) -> Array:
    """Draw different whole numbers below ``population``, in the way and order in which scikit-learn does.

    Few of many are drawn until they differ; nearly all of them by a reservoir; otherwise a permutation is cut off.
    """
    share = count / population
    if 0.01 < share < 0.99:
        return np.asarray(source.permutation(population)[:count])
    if share < 0.2:
        found: dict[int, None] = {}  # a set that keeps its order
        while len(found) < count:
            found[int(whole_numbers(source, population))] = None
        return np.array(list(found), dtype=np.int64)
    kept = np.arange(count)
    for k in range(count, population):
        place = int(whole_numbers(source, k + 1))
        if place < count:
            kept[place] = k
    return kept
