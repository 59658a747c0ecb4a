"""Two tables every course begins with, drawn from a stated law instead of copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import generator
from qed.datasets._dataset import Dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

GEYSER = """\
A geyser that keeps two habits (drawn, not measured)
----------------------------------------------------
    duration_min   length of an eruption in minutes: short (about 2) once in three, long (about 4.3) otherwise
    waiting_min    the target: minutes until the next eruption, 33.5 + 10.7 * duration plus normal noise

The law resembles Old Faithful in Yellowstone: a longer eruption is followed by a longer wait.
"""

HOUSES = """\
House prices (drawn, not measured)
----------------------------------
    area_m2        living area in square metres
    rooms          number of rooms, about one for each 25 square metres
    age_years      age of the house in years
    distance_km    distance to the centre in kilometres
    price_k        the target: price in thousands,
                   60 + 2.4 * area + 6 * rooms - 0.7 * age - 4.5 * distance plus normal noise
"""


def make_geyser(n_samples: int = 272, *, noise: float = 5.9, random_state: Any = None) -> Dataset:
    """Draw eruptions of a geyser: predict the wait from the length of the eruption before it.

    Parameters
    ----------
    n_samples : int, default=272
        Number of eruptions.
    noise : float, default=5.9
        Standard deviation of the wait around its line, in minutes.
    random_state : int, Generator, RandomState or None, default=None
        The seed.

    Returns
    -------
    Dataset
        One column, `duration_min`; the target is `waiting_min`.

    Examples
    --------
    >>> from qed.datasets import make_geyser
    >>> make_geyser(random_state=0)
    Dataset(272 rows, 1 features, target 'waiting_min')
    """
    rng = generator(random_state)
    is_long = rng.random(n_samples) < 2 / 3
    duration = np.where(is_long, 4.3, 2.0) + np.where(is_long, 0.4, 0.25) * rng.standard_normal(n_samples)
    duration = np.clip(duration, 1.5, 5.2)
    waiting = 33.5 + 10.7 * duration + noise * rng.standard_normal(n_samples)
    return Dataset(_columns(duration), waiting, ("duration_min",), "waiting_min", GEYSER)


def make_house_prices(n_samples: int = 500, *, noise: float = 25.0, random_state: Any = None) -> Dataset:
    """Draw houses: predict the price from area, rooms, age and distance.

    Parameters
    ----------
    n_samples : int, default=500
        Number of houses.
    noise : float, default=25.0
        Standard deviation of the price around its law, in thousands.
    random_state : int, Generator, RandomState or None, default=None
        The seed.

    Returns
    -------
    Dataset
        Four columns; the target is `price_k`.

    Examples
    --------
    >>> from qed.datasets import make_house_prices
    >>> make_house_prices(random_state=0).feature_names
    ('area_m2', 'rooms', 'age_years', 'distance_km')
    """
    rng = generator(random_state)
    area = np.clip(rng.lognormal(4.6, 0.35, n_samples), 25.0, 400.0)
    rooms = np.maximum(1.0, np.round(area / 25.0 + rng.standard_normal(n_samples)))
    age = rng.uniform(0.0, 100.0, n_samples)
    distance = rng.gamma(2.0, 4.0, n_samples)
    price = 60.0 + 2.4 * area + 6.0 * rooms - 0.7 * age - 4.5 * distance + noise * rng.standard_normal(n_samples)
    names = ("area_m2", "rooms", "age_years", "distance_km")
    return Dataset(_columns(area, rooms, age, distance), price, names, "price_k", HOUSES)


def _columns(*columns: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.column_stack(columns))
