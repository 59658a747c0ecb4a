"""Searches and sums of windows against their definitions, on every level."""

import numpy as np
import pytest
from tests.reference.near_rows import distances, nearest

PLAIN = {"euclidean": (0, 2.0), "manhattan": (1, 2.0), "chebyshev": (2, 2.0), "cubes": (3, 3.0), "hamming": (4, 2.0)}
METRICS = {name: (*numbers, None) for name, numbers in PLAIN.items()}


@pytest.mark.parametrize("name", METRICS)
def test_boxes_and_scans_agree_with_their_twin(native, name):
    random = np.random.default_rng(3)
    for n, m, k in ((1, 3, 1), (70, 9, 5), (1000, 30, 50)):
        X, Q = random.normal(size=(n, 3)), random.normal(size=(m, 3))
        X[: n // 2] = np.round(X[: n // 2])
        true = distances(name, Q, X)
        answers = []
        for tree in (False, True):
            index = native.arrange_rows(X, tree)
            told, ids, looked = native.nearest_rows(index, Q, k, METRICS[name], False)
            np.testing.assert_allclose(told, np.take_along_axis(true, nearest(true, k), axis=1), rtol=1e-14)
            assert 0 < looked <= m * len(index[0])
            starts, near, _ = native.rows_within(index, Q, float(told.max()), METRICS[name], False)
            assert starts[-1] == len(near) == np.sum(true <= told.max() * (1 + 1e-14))
            answers.append((told, ids, near))
        assert all(np.array_equal(a, b) for a, b in zip(*answers, strict=True))


@pytest.mark.parametrize("window", range(6))
def test_sums_of_windows(native, window):
    random = np.random.default_rng(4)
    X, Q, s = random.normal(size=(3000, 2)), random.normal(size=(9, 2)), random.random(3000) + 0.1
    formulas = (
        lambda u: np.exp(-u * u / 2),
        lambda u: (u < 1) * 1.0,
        lambda u: np.maximum(1 - u * u, 0),
        lambda u: np.exp(-u),
        lambda u: np.maximum(1 - u, 0),
        lambda u: np.sin(np.pi / 2 * np.maximum(1 - u, 0)),
    )
    for h in (0.1, 2.0):
        with np.errstate(divide="ignore"):  # windows that reach no row
            want = np.log((s * formulas[window](distances("euclidean", Q, X) / h)).sum(axis=1))
        for tree in (False, True):
            told = native.log_densities(native.arrange_rows(X, tree), Q, s, (window, h), (0, 2.0, None))
            np.testing.assert_allclose(told, want, rtol=1e-12, atol=1e-12)


def test_what_does_not_fit_is_refused(native):
    index = native.arrange_rows(np.zeros((4, 2)), False)
    for queries, k in ((np.zeros((1, 3)), 1), (np.zeros((1, 2)), 5), (np.zeros((1, 2)), 0)):
        with pytest.raises(ValueError, match=r"index|k must be"):
            native.nearest_rows(index, queries, k, (0, 2.0, None), False)
    with pytest.raises(ValueError, match="metric"):
        native.nearest_rows(index, np.zeros((1, 2)), 1, (9, 2.0, None), False)
