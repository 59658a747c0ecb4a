"""Rows of the tests of what fuzzers found."""

import numpy as np
import pytest


@pytest.fixture(name="X")
def _rows():
    return np.random.default_rng(5).normal(size=(40, 4))


@pytest.fixture(name="y")
def _target(X):
    return X[:, 0] + 0.5 * X[:, 1] + np.random.default_rng(6).normal(size=40)
