from __future__ import annotations

import numpy as np
import pytest

from qed.core._errors import InvalidData
from qed.designs import Dense, Standardised


def test_it_wraps_and_never_copies():
    inner = Dense(np.ones((4, 2)))
    centre = np.zeros(2)
    made = Standardised(inner, centre)
    assert made._inner is inner
    centre[:] = 9.0
    assert (made @ np.ones(2)).tolist() == [2.0] * 4, "what the caller does to the centre later has no effect"


def test_columns_of_mean_zero_and_length_one():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1e8, 1e-8] + [1e6, 0, 1]
    centre = X.mean(axis=0)
    made = Standardised(Dense(X), centre, Dense(X).column_norms(centre=centre))
    np.testing.assert_allclose(made.column_norms(), 1.0, rtol=1e-14)
    np.testing.assert_allclose(made.T @ np.ones(50), 0.0, atol=1e-6)
    np.testing.assert_allclose(made.gram().diagonal(), 1.0, rtol=1e-12)


def test_rows_are_checked():
    inner = Dense(np.ones((4, 2)))
    with pytest.raises(InvalidData, match=r"Standardised.scale must not be 0, got it for column 1"):
        Standardised(inner, None, [1.0, 0.0])
    with pytest.raises(InvalidData, match=r"Standardised.centre must be 2 finite numbers"):
        Standardised(inner, [1.0, np.nan])
    with pytest.raises(InvalidData, match=r"Standardised.scale must be 2 finite numbers"):
        Standardised(inner, None, [1.0])
