"""Sums and spreads by class: what they state about their rounding is true, whatever the layout of the table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.moments import exact_moments
from tests.reference.tables import laid_out, tables

from qed.core._errors import InvalidData
from qed.data import CategoryCounts, Chunk, ClassSpreads, ClassSums
from qed.data._kernels import class_sums

UNIT = 2.0**-53


@given(table=tables(), place=st.integers(0, 24))
def test_stated_rounding_bounds_the_error(table, place):
    codes = (np.arange(len(table.X)) * 7 % 3).astype(np.float64)
    cut = slice(None, place), slice(place, None)
    parts = [
        ClassSpreads.of(Chunk(table.X[rows], codes[rows, None], None if table.s is None else table.s[rows]), 3)
        for rows in cut
    ]
    found = parts[0].merge(parts[1])
    for k in range(3):
        mine = codes == k
        exact = exact_moments(table.X[mine].astype(np.float64), None if table.s is None else table.s[mine])
        assert found.rows[k] == exact.rows
        if not exact.rows:
            continue
        for j, mean in enumerate(exact.mean):
            peak, weight = found.peak[k, j], found.weight[k]
            slack = found.mean_rounding * np.sqrt(peak / weight) + UNIT * abs(float(mean))
            assert abs(float(type(mean)(float(found.mean[k, j])) - mean)) <= slack
            value = exact.scatter[j][j]
            assert abs(float(type(value)(float(found.spread[k, j])) - value)) <= found.rounding * peak * (1 + 1e-12)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_by_class_in_every_layout(layout, dtype):
    rng = np.random.default_rng(0)
    for n, p, k in ((1, 1, 1), (7, 3, 2), (700, 5, 4), (5000, 17, 3), (900, 9, 200)):
        X = laid_out(rng.normal(size=(n, p)).astype(dtype), layout)
        codes, s, shift = rng.integers(0, k, n).astype(float), rng.random(n), rng.normal(size=(k, p))
        both, terms = class_sums(X, codes, k, s, shift, squares=True)
        for c in range(k):
            mine = codes == c
            z = X[mine].astype(np.float64) - shift[c]
            np.testing.assert_allclose(both[c], s[mine] @ z, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(both[k + c], s[mine] @ z**2, rtol=1e-12, atol=1e-12)
        plain, _ = class_sums(X, codes, k, None)
        np.testing.assert_allclose(plain.sum(axis=0), X.sum(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-9)
        assert terms <= max(256, 8 * k) + 72
    with pytest.raises(ValueError, match="numbers of classes"):
        class_sums(np.ones((2, 1)), np.array([0.0, 2.0]), 2, None)


def test_statistics_of_other_classes_do_not_merge():
    rows = Chunk(np.ones((2, 2)), np.array([[0.0], [1.0]]))
    for kind in (ClassSpreads, ClassSums):
        with pytest.raises(InvalidData, match="Only statistics of the same classes"):
            kind.of(rows, 2).merge(kind.of(rows, 3))
    more = CategoryCounts.of(Chunk(np.array([[4.0], [0.0]]), np.array([[0.0], [1.0]])), 2)
    few = CategoryCounts.of(Chunk(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])), 2)
    both = few.merge(more)
    assert both.sizes.tolist() == [5]
    assert both.parts[0].tolist() == [[0, 1, 0, 0, 1], [2, 0, 0, 0, 0]]
    assert both.subtract(more) == few
