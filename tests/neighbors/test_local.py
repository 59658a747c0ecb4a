"""Windows of local averages."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.neighbors import localisation_kernel

AT_ZERO = {
    "gaussian": 1.0,
    "epanechnikov": 0.75,
    "tricube": 70 / 81,
    "quartic": 15 / 16,
    "cosine": np.pi / 4,
    "truncated_gaussian": 1.0,
    "triangle": 1.0,
}


@pytest.mark.covers("KNN-25")
@pytest.mark.parametrize("name", AT_ZERO)
def test_values_and_integrals_of_windows(name):
    assert localisation_kernel(0.0, name) == pytest.approx(AT_ZERO[name], rel=1e-15)
    u = np.linspace(-3, 3, 60_001)
    values = localisation_kernel(u, name)
    assert np.array_equal(values, localisation_kernel(-u, name))
    assert np.all(np.diff(values[u >= 0]) <= 0)
    outside = values[np.abs(u) >= 1 + 1e-12]
    if name == "gaussian":
        np.testing.assert_allclose(values, np.exp(-(u**2) / 2), rtol=1e-14)
        return
    assert np.all(outside == 0)
    assert localisation_kernel([1.0, 5.0], name).tolist() == [0, 0]
    whole = np.trapezoid(values, u)
    assert whole == pytest.approx(1.7112487837842973 if name == "truncated_gaussian" else 1.0, abs=1e-4)


def test_other_names_and_no_numbers_are_refused():
    with pytest.raises(qed.InvalidParameter, match="one of 'gaussian'"):
        localisation_kernel([0.0], "box")
    with pytest.raises(qed.InvalidData, match="NaN"):
        localisation_kernel([np.nan])
