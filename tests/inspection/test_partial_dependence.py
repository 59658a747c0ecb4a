"""Partial dependence: blocks of grid points against one point at a time."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from qed.ensemble import HistGradientBoostingRegressor
from qed.inspection import _partial_dependence, partial_dependence

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"x": rng.normal(size=90), "k": rng.integers(0, 9, 90), "c": pd.Categorical(rng.choice(["a", "b", "z"], 90))},
    index=np.arange(90)[::-1] * 2,
)
Y = FRAME["x"] * FRAME["k"] + 3.0 * (FRAME["c"] == "z")
MODEL = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=3).fit(FRAME, Y)


@pytest.mark.parametrize("features", [["x"], ["k"], ["c"], ["x", "c"], ["k", "x"]])
@pytest.mark.parametrize("size", [1, 100, 1 << 15])
def test_each_point_is_a_table_of_its_own(features, size, monkeypatch):
    monkeypatch.setattr(_partial_dependence, "ROWS", size)
    found = partial_dependence(MODEL, FRAME, features, kind="both", grid_resolution=7)
    for place in np.ndindex(*found.average.shape[1:]):
        rows = FRAME.copy()
        for name, grid, i in zip(features, found.grid_values, place, strict=True):
            rows[name] = pd.Series(grid[i], index=rows.index).astype(FRAME[name].dtype)
        np.testing.assert_array_equal(found.individual[(0, slice(None), *place)], MODEL.predict(rows))
        np.testing.assert_allclose(found.average[(0, *place)], MODEL.predict(rows).mean(), rtol=1e-12)


def test_frames_of_polars_and_arrays_give_the_same():
    numbers = FRAME[["x", "k"]].astype(float)
    found = []
    for table in (numbers.to_numpy(), numbers, pl.from_pandas(numbers.reset_index(drop=True))):
        model = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=3).fit(table, Y)
        found.append(partial_dependence(model, table, [0, 1], grid_resolution=7).average)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
